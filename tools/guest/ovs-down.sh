#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: ovs-down.sh
#
# Stops ovs-vswitchd and ovsdb-server.  Exits 1 when one of them had crashed,
# or does not stop when it is asked to.
set -euo pipefail
. "${0%/*}/env.sh"

rc=0

# stop NAME [ARG...]: asks NAME to exit and waits for it.
stop() {
    local name=$1 pid i
    shift
    if lab_crashed "$name"; then
        echo "$name died (its log is $OVS_LOG/$name.log)" >&2
        tail -n 5 "$OVS_LOG/$name.log" >&2 || true
        rm -f "$OVS_RUN/$name.pid"
        rc=1
        return
    fi
    lab_alive "$name" || return 0
    read -r pid <"$OVS_RUN/$name.pid"
    ovs-appctl -T 20 -t "$name" exit "$@" || true
    for ((i = 0; i < 200; i++)); do
        kill -0 "$pid" 2>/dev/null || return 0
        sleep 0.1
    done
    echo "$name does not stop; killed" >&2
    kill -9 "$pid" || true
    rm -f "$OVS_RUN/$name.pid"
    rc=1
}

stop ovs-vswitchd --cleanup
stop ovsdb-server
exit "$rc"
