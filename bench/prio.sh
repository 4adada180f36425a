#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs prio.c in the machine and leaves its lines in $LAB_OUT/prio.
# BENCH_PROGRAM is the built program; BENCH_RUNS and BENCH_PAIRS say how much.
set -euo pipefail

# shellcheck source=tests/oracle/twin-devices.sh
. "${OVS_TCB_SRC:?}/tests/oracle/twin-devices.sh"
"${BENCH_PROGRAM:?}" "$BENCH_RUNS" "$BENCH_PAIRS" >"${LAB_OUT:?}/prio"
