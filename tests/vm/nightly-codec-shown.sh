#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The flows of test-codec.sh are shown by dpctl with the actions that they have
# in the kernel datapath and with the in-tree provider.  It restarts the daemon
# for each and takes minutes, so "lab check" leaves it out; run it with
# "./lab shell -- tests/vm/nightly-codec-shown.sh".
# shellcheck source=tests/vm/lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=tests/vm/codec-cases.sh
. "${0%/*}/codec-cases.sh"

# compare MODE: the actions shown are those of MODE.
compare() {
    local i text=
    for ((i = 1; i <= n_flow; i++)); do
        [ "${shown[note-ours.$i]-}" = "${shown[$1.$i]-}" ] ||
            text+="${names[i]}:"$'\n'"  ours: ${shown[note-ours.$i]-}"$'\n'"  $1: ${shown[$1.$i]-}"$'\n'
    done
    is "all flows have the actions that they have with $2" "$text" ""
}

again() {
    mode=$1
    ovs-vsctl remove Open_vSwitch . other_config hw-offload-priority
    vswitchd_restart "$2"
    all_flows
    compare "$1" "$3"
}

codec_setup
mode=note-ours
all_flows
again off hw-offload=false "the kernel datapath"
ovs-vsctl set Open_vSwitch . other_config:hw-offload=true
again intree hw-offload-priority=tc "the in-tree provider"
finish
