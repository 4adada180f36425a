#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: run.sh SECONDS WORK CORPUS FUZZER...
#
# Runs each fuzzer for so many seconds, as many at a time as there are CPUs,
# and prints TAP.  New inputs and crashes go to WORK, never to the corpus:
# whoever fixes a crash adds its input there.

seconds=$1
work=$2
corpus=$3
shift 3

name_of() {
    basename "$1" -libfuzzer
}

run() {
    name=$(name_of "$1")
    mkdir -p "$work/$name/found" "$work/$name/crashes"
    seeds=$corpus/${name#fuzz-}
    [ -d "$seeds" ] || seeds=
    "$1" -max_total_time="$seconds" -timeout=10 -max_len=65536 \
        -artifact_prefix="$work/$name/crashes/" -print_final_stats=1 \
        "$work/$name/found" ${seeds:+"$seeds"} > "$work/$name/log" 2>&1
    echo $? > "$work/$name/status"
}

echo "1..$#"
n=0
for fuzzer in "$@"; do
    rm -f "$work/$(name_of "$fuzzer")/status"
    run "$fuzzer" &
    n=$((n + 1))
    [ $((n % $(nproc))) -ne 0 ] || wait
done
wait

n=0
failed=0
for fuzzer in "$@"; do
    n=$((n + 1))
    name=$(name_of "$fuzzer")
    if [ "$(cat "$work/$name/status")" = 0 ]; then
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
