#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs operate.c in the machine, for each size and profile, and leaves its
# lines in $LAB_OUT/operate: PROFILE FLOWS THREADS and then as operate.c prints
# them.  BENCH_PROGRAM is the built program; BENCH_FLOWS, BENCH_PROFILES,
# BENCH_RUNS and BENCH_THREADS say how much.
set -euo pipefail

program=${BENCH_PROGRAM:?}
# shellcheck source=tests/oracle/twin-devices.sh
. "${OVS_TCB_SRC:?}/tests/oracle/twin-devices.sh"

: >"${LAB_OUT:?}/operate"
for threads in $BENCH_THREADS; do
    for flows in $BENCH_FLOWS; do
        for profile in $BENCH_PROFILES; do
            printf 'operate: %s, %d flows, %d threads\n' "$profile" "$flows" "$threads"
            "$program" "$profile" "$flows" "$BENCH_RUNS" "$threads" |
                sed -u "s/^/$profile $flows $threads /" >>"$LAB_OUT/operate"
        done
    done
done
