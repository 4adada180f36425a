#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Who offloads: tc-batch by default, the in-tree provider where it is asked
# for, and one police action for each meter, not one for each provider.
# shellcheck source=tests/vm/lib.sh
. "${0%/*}/lib.sh"

# The in-tree provider cannot delete an action that its own filters still use.
LOG_ALLOWED+=('Failed to del(ete)? police')

# providers: "PROVIDER: PORTS" for each, as dpif/offload/show has them.
providers() {
    ovs-appctl --format json dpif/offload/show | jq -r '
        .. | objects | to_entries[]
        | select(.key == "tc" or .key == "tc-batch")
        | "\(.key): \([.value.ports // {} | keys[]
                       | select(. == "v1" or . == "v2")] | join(" "))"' | sort
}

meter_add() {
    ovs-ofctl -O OpenFlow13 add-meter br0 \
        meter=1,kbps,stats,bands=type=drop,rate=100000
}

# bridge: br0 with v1 and v2; further ovs-vsctl commands may follow.
bridge() {
    ovs-vsctl add-br br0 -- set bridge br0 protocols=OpenFlow13 -- \
        add-port br0 v1 -- add-port br0 v2 "$@"
    meter_add
    flows_set br0 <<'RULES'
priority=10,ip,in_port=v1 actions=meter:1,v2
priority=1 actions=normal
RULES
}

both_ways_in_tc() {
    [ "$(dp_flows tc 'eth_type\(0x0800\)')" -ge 2 ]
}

host 1
host 2
bridge
is "tc-batch has the ports by default" "$(providers)" \
    $'tc-batch: v1 v2\ntc: '
check "traffic passes" pings 1 10.0.0.2
check "its flows are in TC" within 5 both_ways_in_tc
is "a meter has one police action, and it is ours" \
    "$(police_count ours) $(police_count)" "1 1"
ovs-vsctl del-br br0
check "the police action goes with the bridge" within 5 equals 0 police_count

# For one port, in the transaction that adds it.
bridge -- set interface v2 other_config:hw-offload-priority=tc
is "one port is the in-tree provider's" "$(providers)" \
    $'tc-batch: v1\ntc: v2'
check "traffic passes between providers" pings 1 10.0.0.2
is "flows between the two stay in the kernel datapath" \
    "$(dp_flows tc 'eth_type\(0x0800\)')" 0
is "and say why" "$(tcb why '.v1.refusals[0].cause')" out-port
ovs-vsctl del-br br0
check "no police action is left" within 5 equals 0 police_count

# For all.
vswitchd_restart hw-offload-priority=tc
bridge
is "hw-offload-priority=tc gives the in-tree provider the ports" \
    "$(providers)" $'tc-batch: \ntc: v1 v2'
check "traffic passes through it" pings 1 10.0.0.2
check "its flows are in TC too" within 5 both_ways_in_tc
is "tc-batch has none of them" "$(show_flows)" 0
is "a meter has one police action, and it is the in-tree provider's" \
    "$(police_count intree) $(police_count)" "1 1"
ovs-vsctl del-br br0

# And back.
ovs-vsctl remove Open_vSwitch . other_config hw-offload-priority
vswitchd_restart
bridge
is "tc-batch has the ports again without it" "$(providers)" \
    $'tc-batch: v1 v2\ntc: '
check "traffic passes again" pings 1 10.0.0.2
is "one police action of ours again" "$(police_count ours)" 1
diag "police actions that the in-tree provider left: $(police_count intree)"
finish
