#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs churn.c for CHURN_SECONDS: threads and faults at work on one datapath.
# By hand for longer, or with sanitizers, CHURN_PROGRAM is a built one.
set -euo pipefail

src=${OVS_TCB_SRC:?}
build=${OVS_BUILD:?}
program=${CHURN_PROGRAM-}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

if [ -z "$program" ]; then
    program=$tmp/churn
    mapfile -t wraps < <(sed -n 's/.* WRAP(\([a-z_]*\)).*/-Wl,--wrap=\1/p' \
        "$src/tests/vm/faulty-socket.c")
    ${CC:-gcc} -std=gnu11 -O1 -g -DHAVE_CONFIG_H -I"$build" \
        -I"$build/include" -I"$build/lib" -I"$src/provider" -I"$src/tests" \
        -I"$src/tests/oracle" -I"$src/tests/unit-ovs" -o "$program" \
        "$src"/tests/vm/{churn,disturbance,faulty-socket}.c \
        "$src"/tests/{tap,oracle/twin}.c \
        "$src"/tests/unit-ovs/{random-flow,flow-text}.c \
        "$build/lib/.libs/libopenvswitch.a" "${wraps[@]}" -lmnl -latomic -lm
fi

# shellcheck source=tests/oracle/twin-devices.sh
. "$src/tests/oracle/twin-devices.sh"
status=0
# Sanitizers want a fixed address space layout, and some of what they find is
# Open vSwitch's own.
export TSAN_OPTIONS="suppressions=$src/tests/tsan.supp"
setarch "$(uname -m)" -R "$program" &
pid=$!
(
    # Where the threads stand, if they do.
    sleep $((300 + 4 * ${CHURN_SECONDS:-10})) >/dev/null 2>&1
    echo "# the program does not end"
    gdb -p "$pid" -batch -ex 'thread apply all bt 16' 2>&1 | sed 's/^/#   /'
    kill -ABRT "$pid"
) &
watchdog=$!
wait "$pid" || status=$?
kill "$watchdog" 2>/dev/null || true
for twin in 0 1; do
    for port in 1 2; do
        ip link delete "twin$twin$port" || true
    done
done
exit "$status"
