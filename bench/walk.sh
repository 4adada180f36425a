#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Terse dumps of BENCH_FLOWS filters in one prio, BENCH_RUNS each, by the tests'
# tc-dump alone, in the machine.  Leaves lines "FILTERS VARIANT US" in
# $LAB_OUT/walk, US for one filter.  Variant "count" is the kernel's old walk,
# which kernel/baseline has, and is left out above 100,000: it is quadratic.
set -euo pipefail

switch=/sys/module/cls_flower/parameters/walk_by_count
tmp=$(mktemp -d)
trap 'ip link delete walk0 2>/dev/null || true; rm -rf "$tmp"' EXIT
gcc -std=gnu11 -O2 -o "$tmp/tc-dump" "${OVS_TCB_SRC:?}"/kernel/tests/*.c -lmnl
ip link add walk0 type dummy
tc qdisc add dev walk0 clsact

# measure FILTERS VARIANT
measure() {
    local run
    for ((run = 0; run < BENCH_RUNS; run++)); do
        "$tmp/tc-dump" dump walk0 terse count >"$tmp/out"
        awk -v n="$1" -v variant="$2" '
            $1 == "all" && $2 == n { printf "%d %s %.3f\n", n, variant, $NF / n
                                     found = 1 }
            END { exit !found }' "$tmp/out" >>"${LAB_OUT:?}/walk"
    done
}

: >"$LAB_OUT/walk"
for n in $BENCH_FLOWS; do
    "$tmp/tc-dump" add walk0 "0:1:1-$n"
    measure "$n" cursor
    if [ -e "$switch" ] && [ "$n" -le 100000 ]; then
        echo Y >"$switch"
        measure "$n" count
        echo N >"$switch"
    fi
    tc filter del dev walk0 egress
done
