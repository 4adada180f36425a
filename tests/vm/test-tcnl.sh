#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs tcnl-real.c, which compares what tcnl sends with what the kernel reports,
# on a dummy device in a network namespace of its own.  Takes the objects that
# Open vSwitch runs with, so it is those that are tested.
set -euo pipefail

src=${OVS_TCB_SRC:?}
objects=("${OVS_BUILD:?}"/lib/tc-batch/tcnl/*.o)
tmp=$(mktemp -d)
trap 'ip netns delete tcnl 2>/dev/null || true; rm -rf "$tmp"' EXIT

real=${TCNL_REAL:-}
if [ -z "$real" ]; then
    real=$tmp/tcnl-real
    ${CC:-gcc} -std=gnu11 -I"$src/provider" -I"$src/tests" -o "$real" \
        "$src/tests/vm/tcnl-real.c" "$src/tests/fake/fake-sample.c" \
        "${objects[@]}" -lmnl
fi

ip netns add tcnl
ip -n tcnl link add tcnl0 type dummy
ip -n tcnl link set tcnl0 up
ip netns exec tcnl "$real" tcnl0
