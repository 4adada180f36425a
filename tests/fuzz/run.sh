#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: run.sh SECONDS WORK CORPUS FUZZER...
#
# Runs each fuzzer for so many seconds and prints TAP.  New inputs and crashes
# go to WORK, never to the corpus: whoever fixes a crash adds its input there.

seconds=$1
work=$2
corpus=$3
shift 3

echo "1..$#"
n=0
failed=0
for fuzzer in "$@"; do
    n=$((n + 1))
    name=$(basename "$fuzzer" -libfuzzer)
    mkdir -p "$work/$name/found" "$work/$name/crashes"
    seeds=$corpus/${name#fuzz-}
    [ -d "$seeds" ] || seeds=
    if "$fuzzer" -max_total_time="$seconds" -timeout=10 -max_len=65536 \
            -artifact_prefix="$work/$name/crashes/" -print_final_stats=1 \
            "$work/$name/found" ${seeds:+"$seeds"} \
            > "$work/$name/log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' \
               "$work/$name/log")
        echo "ok $n - $name ran ${runs:-?} inputs in $seconds s"
    else
        failed=$((failed + 1))
        echo "not ok $n - $name, see $work/$name"
        tail -n 40 "$work/$name/log" | sed 's/^/# /'
    fi
done
[ $failed = 0 ]
