#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: run-tests.sh SCRIPT...
#
# Runs test scripts one after the other, each with a fresh Open vSwitch, and
# reports their counts on file descriptor 9 (see session.sh).  Exits 0 unless
# the tests could not be run at all: the counts say how they went.
set -euo pipefail
here=${0%/*}
. "$here/env.sh"

limit=${LAB_TEST_TIMEOUT:-600}

# sweep: what a script left behind must not trip the next one.
sweep() {
    local link
    ip -all netns delete >/dev/null 2>&1 || true
    ip -o link show | awk -F': ' '{ sub(/@.*/, "", $2); print $2 }' |
        while read -r link; do
            ip link delete "$link" >/dev/null 2>&1 || true
        done
}

# count TAP STATUS: sets pass, fail and skip.
count() {
    local line tap=$1 status=$2 plan='' seen=0
    pass=0 fail=0 skip=0
    while IFS= read -r line; do
        case $line in
        1..0*'#'*[Ss][Kk][Ii][Pp]*)
            skip=$((skip + 1))
            seen=$((seen + 1))
            ;;
        1..[0-9]*)
            plan=${line#1..}
            plan=${plan%%[!0-9]*}
            ;;
        'ok '*'# SKIP'* | 'ok '*'# skip'*)
            skip=$((skip + 1))
            seen=$((seen + 1))
            ;;
        'not ok '*'# TODO'*)
            skip=$((skip + 1))
            seen=$((seen + 1))
            ;;
        ok | 'ok '*)
            pass=$((pass + 1))
            seen=$((seen + 1))
            ;;
        'not ok'*)
            fail=$((fail + 1))
            seen=$((seen + 1))
            ;;
        'Bail out!'*) fail=$((fail + 1)) ;;
        esac
    done <"$tap"
    if [ "$seen" = 0 ] && [ "$fail" = 0 ]; then
        echo "not ok - $name printed no TAP (exit status $status)"
        fail=1
    elif [ -n "$plan" ] && [ "$plan" != "$seen" ]; then
        echo "not ok - $name planned $plan tests and ran $seen"
        fail=$((fail + 1))
    elif [ "$status" != 0 ] && [ "$fail" = 0 ]; then
        if [ "$status" = 124 ] || [ "$status" = 137 ]; then
            echo "not ok - $name took longer than $limit s"
        else
            echo "not ok - $name exited with $status"
        fi
        fail=1
    fi
}

for script in "$@"; do
    name=$(basename "$script" .sh)
    out=$LAB_OUT/$name
    mkdir -p "$out"
    echo "# $name"
    printf 'phase test %s\n' "$name" >&9
    "$here/ovs-down.sh" 9>&- || true
    sweep
    rm -f "$OVS_LOG"/*.log
    status=0
    if "$here/ovs-up.sh" 9>&- >"$out/ovs-up.log" 2>&1; then
        (
            cd "$OVS_TCB_SRC"
            LAB_OUT=$out timeout --kill-after=10 "$limit" "$script" </dev/null 9>&-
        ) 2>"$out/stderr" | tee "$out/tap" || status=$?
    else
        echo "not ok - Open vSwitch does not start" | tee "$out/tap"
        tail -n 15 "$out/ovs-up.log" "$OVS_LOG"/*.log >&2 || true
    fi
    count "$out/tap" "$status"
    if ! "$here/ovs-down.sh" 9>&- >"$out/ovs-down.log" 2>&1; then
        sed 's/^/# /' "$out/ovs-down.log"
        echo "not ok - Open vSwitch survives $name"
        fail=$((fail + 1))
    fi
    cp "$OVS_LOG"/*.log "$out/" 2>/dev/null || true
    if [ "$fail" != 0 ] && [ -s "$out/stderr" ]; then
        tail -n 20 "$out/stderr" | sed 's/^/# /'
    fi
    printf 'result %s %s %s %s\n' "$name" "$pass" "$fail" "$skip" >&9
done
