#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: ovs-up.sh [--keep] [KEY=VALUE...]
#
# Starts ovsdb-server and ovs-vswitchd from $OVS_BUILD with hardware offload
# on from the first moment.  KEY=VALUE go into other_config of Open_vSwitch
# before ovs-vswitchd starts; "hw-offload=false" is one of them.  The
# database starts empty, except with --keep.  Does nothing when both run.
set -euo pipefail
. "${0%/*}/env.sh"

keep=
if [ "${1-}" = --keep ]; then
    keep=yes
    shift
fi

if lab_alive ovsdb-server && lab_alive ovs-vswitchd; then
    exit 0
fi

mkdir -p "$OVS_RUN" "$OVS_LOG" "$OVS_ETC"
modprobe openvswitch
modprobe -a vport-vxlan vport-geneve vport-gre 2>/dev/null || true

if ! lab_alive ovsdb-server; then
    if [ -z "$keep" ]; then
        rm -f "$OVS_ETC/conf.db" "$OVS_ETC/.conf.db.~lock~"
    fi
    if [ ! -e "$OVS_ETC/conf.db" ]; then
        ovsdb-tool create "$OVS_ETC/conf.db" "$OVS_BUILD/vswitchd/vswitch.ovsschema"
    fi
    ovsdb-server -vconsole:off -vsyslog:off "$OVS_ETC/conf.db" \
        --remote="punix:$OVS_RUN/db.sock" --pidfile --log-file --detach --no-chdir
fi
ovs-vsctl --no-wait init -- set Open_vSwitch . \
    other_config:hw-offload=true "${@/#/other_config:}"
rm -f "$OVS_RUN/ovs-vswitchd.pid"
ovs-vswitchd -vconsole:off -vsyslog:off "unix:$OVS_RUN/db.sock" \
    --pidfile --log-file --detach --no-chdir
