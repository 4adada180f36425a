#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs beside.c in the machine, for each size and profile, and leaves its lines
# in $LAB_OUT/beside: PROFILE FLOWS and then as beside.c prints them.
# BENCH_PROGRAM is the built program; BENCH_FLOWS, BENCH_PROFILES and BENCH_RUNS
# say how much.
set -euo pipefail

# shellcheck source=tests/oracle/twin-devices.sh
. "${OVS_TCB_SRC:?}/tests/oracle/twin-devices.sh"
: >"${LAB_OUT:?}/beside"
for flows in $BENCH_FLOWS; do
    for profile in $BENCH_PROFILES; do
        printf 'beside: %s, %d flows\n' "$profile" "$flows"
        "${BENCH_PROGRAM:?}" "$profile" "$flows" "$BENCH_RUNS" |
            sed -u "s/^/$profile $flows /" >>"$LAB_OUT/beside"
    done
done
