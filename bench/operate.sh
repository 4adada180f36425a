#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs operate.c in the machine, for each size and profile, and leaves its
# lines in $LAB_OUT/operate: PROFILE FLOWS THREADS and then as operate.c prints
# them.  BENCH_PROGRAM is the built program; BENCH_FLOWS, BENCH_RUNS and
# BENCH_THREADS say how much.
set -euo pipefail

program=${BENCH_PROGRAM:?}
"${OVS_TCB_SRC:?}/tools/guest/ovs-down.sh"
for twin in 0 1; do
    for port in 1 2; do
        ip link add "twin$twin$port" type dummy
        ip link set "twin$twin$port" up
    done
done
: >"${LAB_OUT:?}/operate"
for threads in $BENCH_THREADS; do
    for flows in $BENCH_FLOWS; do
        for profile in 5tuple l2drop; do
            printf 'operate: %s, %d flows, %d threads\n' "$profile" "$flows" "$threads"
            "$program" "$profile" "$flows" "$BENCH_RUNS" "$threads" |
                sed "s/^/$profile $flows $threads /" >>"$LAB_OUT/operate"
        done
    done
done
