#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs dump.c in the machine, for each size and profile, and leaves its lines in
# $LAB_OUT/dump: PROFILE FLOWS THREADS and then as dump.c prints them.
# BENCH_PROGRAM is the built program; BENCH_FLOWS, BENCH_RUNS, BENCH_THREADS,
# BENCH_PROFILES and BENCH_ACTIVE (percent) say how much.
set -euo pipefail

program=${BENCH_PROGRAM:?}
"${OVS_TCB_SRC:?}/tools/guest/ovs-down.sh"
# What comes in at a device of twin.c was sent at its peer.
for twin in 0 1; do
    for port in 1 2; do
        ip link add "twin$twin$port" type veth peer name "peer$twin$port"
        ip link set "twin$twin$port" up
        ip link set "peer$twin$port" up
    done
done

: >"${LAB_OUT:?}/dump"
for threads in $BENCH_THREADS; do
    for flows in $BENCH_FLOWS; do
        for profile in $BENCH_PROFILES; do
            printf 'dump: %s, %d flows, %d threads\n' "$profile" "$flows" "$threads"
            # shellcheck disable=SC2086
            "$program" "$profile" "$flows" "$BENCH_RUNS" "$threads" $BENCH_ACTIVE |
                sed -u "s/^/$profile $flows $threads /" >>"$LAB_OUT/dump"
        done
    done
done
