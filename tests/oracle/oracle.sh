#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs oracle.c, which compares our provider with OVS's own on this kernel.  It
# opens a datapath of its own, so that of ovs-vswitchd goes first.
# ORACLE_PROGRAM is the built program.
set -euo pipefail

program=${ORACLE_PROGRAM:?}
"${OVS_TCB_SRC:?}/tools/guest/ovs-down.sh"
for twin in 0 1; do
    for port in 1 2; do
        ip link add "twin$twin$port" type dummy
        ip link set "twin$twin$port" up
    done
done
status=0
"$program" || status=$?
for twin in 0 1; do
    for port in 1 2; do
        ip link delete "twin$twin$port"
    done
done
exit "$status"
