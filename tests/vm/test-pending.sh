#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Flows that are refused for a passing reason get into TC when it has passed,
# under traffic that never stands still: here an internal port whose qdisc
# somebody else has put up, in the wrong way, and flows that recirculate where
# the kernel lets them.
# shellcheck source=tests/vm/lib.sh
. "${0%/*}/lib.sh"

# local_flows TYPE: flows from the internal port, of all recirculations.
local_flows() {
    dp_flows "$1" 'in_port\(br0\).*eth_type\(0x0800\)'
}

all_in_tc() {
    [ "$(local_flows tc)" -ge "$n" ] && [ "$(local_flows ovs)" = 0 ]
}

# port_pending: flows that wait for a port.
port_pending() {
    tcb show .pending.port
}

host 1
ovs-vsctl add-br br0 -- add-port br0 v1
ip addr add 10.0.0.100/24 dev br0
ip link set br0 up
vswitchd_exit ''
tc qdisc del dev br0 clsact 2>/dev/null || true
tc qdisc add dev br0 ingress
vswitchd_start hw-offload=true
is "an internal port with an ingress qdisc fails" "$(tcb show .ports.br0.state)" failed
check "it says why" grep -q "remove the ingress qdisc" <<<"$(tcb show .ports.br0.error)"
# The flows from there, in the end.
n=1 first=output:v1
! able recirc_sharing || n=2 first='ct(table=1)'
flows_set br0 <<RULES
priority=10,ip,in_port=LOCAL actions=$first
table=1,priority=10,ip,in_port=LOCAL actions=output:v1
priority=1 actions=normal
RULES
check "its traffic passes" pings 1 10.0.0.100
ping_start 1 10.0.0.100
check "its flows are in the kernel datapath" within 5 at_least "$n" local_flows ovs
is "none of them is in TC" "$(local_flows tc)" 0
check "they are listed" at_least "$n" port_pending
pause 3
check "they stay while the port fails" at_least "$n" local_flows ovs
is "they were not offered" "$(tcb show .pending.offered)" 0

now_ms
start=$NOW
tc qdisc del dev br0 ingress
vsctl_config tried=again
is "the port is ready when nothing stands in its way any more" \
    "$(tcb show .ports.br0.state)" ready
check "all its flows are in TC within 10 s" within 10 all_in_tc
is "none is listed any more" "$(port_pending)" 0
gap=$(ping_gap 1 "$start")
ping_stop
check "the traffic did not stand still ($gap ms)" [ "$gap" -lt 2000 ]
is "all of it arrived" "$(grep -c 'no answer\|Unreachable' "$LAB_OUT/ping-1")" 0
check "table and kernel agree" within 10 equals true tcb audit .clean
finish
