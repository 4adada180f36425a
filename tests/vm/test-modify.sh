#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A flow's output changes a thousand times under traffic: each packet arrives,
# once, and is counted.  Then its mask changes, and its audit.
# shellcheck source=tests/vm/lib.sh
. "${0%/*}/lib.sh"

CHANGES=${MODIFY_CHANGES:-1000}
U=ufid:00000000-0000-0000-0000-000000000001

# key IPV4-SRC-MASK
key() {
    printf 'recirc_id(0),in_port(v1),eth(),eth_type(0x0800),ipv4(src=10.0.0.1/%s,frag=no)' "$1"
}

received() {
    in_host "$1" cat "/sys/class/net/e$1/statistics/rx_packets"
}

both() {
    echo $(($(received 2) + $(received 3)))
}

packets() {
    ovs-appctl dpctl/get-flow "$U" | sed -n 's/.*packets:\([0-9]*\),.*/\1/p'
}

# traffic_start: frames from h1, some hundred a second or more.
traffic_start() {
    # A shell has its jobs in the background ignore this signal.
    ip netns exec h1 env --default-signal=INT \
        ping -n -q -i 0.001 -s 100 10.0.0.2 >"$scratch/traffic" 2>&1 &
    traffic_pids=($!)
}

# traffic_stop: sets SENT.
traffic_stop() {
    kill -INT "${traffic_pids[@]}"
    wait "${traffic_pids[@]}" || true
    traffic_pids=()
    SENT=$(sed -n 's/^\([0-9]*\) packets transmitted.*/\1/p' "$scratch/traffic")
}

traffic_flows() {
    [ "$(both)" -gt "$base" ]
}

# change N: the N-th change of the output.
change() {
    agent ctl dpctl/mod-flow "$flow" "${out[$(($1 % 2))]}"
}

# run_changes: sets CHANGED.
run_changes() {
    local i
    CHANGED=0
    for ((i = 0; i < CHANGES; i++)); do
        change "$i" && CHANGED=$((CHANGED + 1))
    done
}

for n in 1 2 3; do
    host "$n"
done
ip -n h1 neigh replace 10.0.0.2 lladdr 02:00:00:00:00:02 dev e1
ovs-vsctl add-br br0 -- add-port br0 v1 -- add-port br0 v2 -- add-port br0 v3
flows_set br0 <<<"actions=drop"
ovs-appctl revalidator/pause
paused=yes
agent_start
ovs-appctl dpctl/del-flows
flow=$U,$(key 255.255.255.255)
out=("$(tcb show .ports.v3.port_no)" "$(tcb show .ports.v2.port_no)")
try ovs-appctl dpctl/add-flow "$flow" "${out[1]}"
is "the flow is in TC" "$(dp_flows tc)" 1

base=$(both)
traffic_start
check "traffic flows" within 5 traffic_flows
check "and is counted" within 5 at_least 1 packets
run_changes
traffic_stop
is "$CHANGES changes of the output under traffic" "$CHANGED" "$CHANGES"
pause 0.5
is "each of $SENT packets arrived, and once" $(($(both) - base)) "$SENT"
# An upcall would have met the rule that drops: there was none.
check "the two outputs had a fair part each" \
    [ $(($(received 2) * 10)) -gt "$SENT" -a $(($(received 3) * 10)) -gt "$SENT" ]
is "each was counted, and once" "$(packets)" "$SENT"
is "audit: table and kernel agree" "$(tcb audit .clean)" true

# Another mask: the new filter is there before the old one goes.
base=$(both)
before=$(packets)
traffic_start
check "traffic flows again" within 5 traffic_flows
for i in {1..50}; do
    ovs-appctl dpctl/mod-flow "$U,$(key 255.255.255.$((i % 2 ? 0 : 255)))" "${out[1]}"
done
traffic_stop
pause 0.5
is "another mask, 50 times: each of $SENT packets arrived, and once" \
    $(($(both) - base)) "$SENT"
is "another mask: each was counted, and once" $(($(packets) - before)) "$SENT"
is "another mask: one filter is left" "$(our_filters v1)" 1
is "another mask: table and kernel agree" "$(tcb audit .clean)" true

# The audit sees what somebody else did.
tc filter delete dev v1 ingress protocol ip pref 2
is "audit: a filter that somebody removed is missing" \
    "$(tcb audit '.findings[].what')" missing
tc filter add dev v1 ingress protocol ip pref 2 handle 77 flower \
    action drop cookie 11111111111111111111111111111111
is "audit: one with a cookie that no flow has is stranded" \
    "$(tcb audit '.findings[].what' | sort | paste -sd ' ' -)" "missing stranded"
check "audit as text names both" grep -q "stranded: chain 0 prio 2 handle 0x4d" \
    <<<"$(ovs-appctl tc-batch/audit)"
tc filter delete dev v1 ingress protocol ip pref 2
ovs-appctl dpctl/del-flow "$U" >/dev/null 2>&1 || true
is "audit: clean again" "$(tcb audit .clean)" true
finish
