#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs tcnl-real.c, which compares what tcnl sends with what the kernel reports,
# and tcnl-fence.c, which compares what it takes for the results of a batch with
# what they were, on a dummy device in a network namespace of its own.  Takes
# the objects that Open vSwitch runs with, so it is those that are tested.
set -euo pipefail

src=${OVS_TCB_SRC:?}
objects=("${OVS_BUILD:?}"/lib/tc-batch/tcnl/*.o)
tmp=$(mktemp -d)
trap 'ip netns delete tcnl 2>/dev/null || true; rm -rf "$tmp"' EXIT

# run NAME [PROGRAM]: PROGRAM is a built one.  Its cases, without their plan.
run() {
    local program=${2:-$tmp/$1} status=0
    if [ -z "${2-}" ]; then
        ${CC:-gcc} -std=gnu11 -I"$src/provider" -I"$src/tests" -o "$program" \
            "$src/tests/vm/$1.c" "$src"/tests/{tap,fake/fake-sample}.c \
            "${objects[@]}" -lmnl
    fi
    ip netns exec tcnl "$program" tcnl0 >"$tmp/out" || status=$?
    grep -v '^1\.\.' "$tmp/out"
    n_cases=$((n_cases + $(grep -cE '^(not )?ok ' "$tmp/out")))
    [ "$status" = 0 ] || failed=1
}

n_cases=0
failed=0
ip netns add tcnl
ip -n tcnl link add tcnl0 type dummy
ip -n tcnl link set tcnl0 up
run tcnl-real "${TCNL_REAL-}"
run tcnl-fence "${TCNL_FENCE-}"
printf '1..%d\n' "$n_cases"
exit "$failed"
