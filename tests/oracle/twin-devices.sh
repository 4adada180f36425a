# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# Sourced: makes the devices of twin.c.  The program opens a datapath of its
# own, so that of ovs-vswitchd goes first.
"${OVS_TCB_SRC:?}/tools/guest/ovs-down.sh"
for twin in 0 1; do
    for port in 1 2; do
        ip link add "twin$twin$port" type dummy
        ip link set "twin$twin$port" up
    done
done
