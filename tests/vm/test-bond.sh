#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A bond of two veths as a port: its filters sit in the ingress block that the
# members share; members that fail, restarts, and what stays behind.
# shellcheck source=tests/vm/lib.sh
. "${0%/*}/lib.sh"

# block DEVICE: the index of its ingress block, or nothing.
block() {
    tc qdisc show dev "$1" | sed -n 's/.* ingress_block \([0-9]*\).*/\1/p'
}

# block_cookies: one for each filter of ours in the bond's block.
block_cookies() {
    tc -s filter show block "$index" 2>/dev/null | grep -c cookie || true
}

# audit: is all in order, and filters that are not ours in the block.
audit() {
    tcb audit '| "\(.clean) \(.ports.b1.foreign)"'
}

in_tc() {
    [ "$(dp_flows tc 'in_port\(b1\).*eth_type\(0x0800\)')" -ge 1 ] &&
        [ "$(dp_flows tc 'in_port\(v2\).*eth_type\(0x0800\)')" -ge 1 ] &&
        [ "$(dp_flows ovs 'eth_type\(0x0800\)')" = 0 ]
}

in_tc_or_why() {
    in_tc || {
        : >"$scratch/check"
        tcb why '| to_entries[] | "\(.key): \(.value.refusals)"'
        dump_flows all 'eth_type\(0x0800\)'
        false
    }
}

# rule_packets PORT: what OpenFlow has counted of IP from PORT.
rule_packets() {
    ovs-ofctl dump-flows br0 "ip,in_port=$1" | sed -n 's/.*n_packets=\([0-9]*\).*/\1/p'
}

counted() {
    [ "$(rule_packets b1) $(rule_packets v2)" = "$1 $1" ]
}

host 2
bond_make
ovs-vsctl add-br br0 -- add-port br0 b1 -- add-port br0 v2
index=$(<"/sys/class/net/b1/ifindex")
flows_set br0 <<RULES
priority=10,ip,in_port=b1 actions=v2
priority=10,ip,in_port=v2 actions=b1
priority=1,arp actions=normal
RULES
is "the bond has an ingress block of its index" "$(block b1)" "$index"
is "tc-batch/show says so" "$(tcb show .ports.b1.hook)" block
check "hosts reach each other" pings 1 10.0.0.2
check "flows of both sides are in TC, none in the kernel datapath" \
    within 5 in_tc_or_why
is "audit: the block has just our filters" "$(audit)" "true 0"
check "tc shows them in the block" at_least 1 block_cookies

# Each packet is counted once, on both sides.
before=$(rule_packets b1)
check "the first requests are counted alike" within 5 counted "$before"
check "50 requests are answered" pings 1 10.0.0.2 50
check "each is counted once on each side" within 5 counted $((before + 50))

# The members: down, up, out of the bond, and in again.
ping_start 1 10.0.0.2
for member in b1a b1b; do
    now_ms
    ip link set "$member" down
    check "$member down: traffic goes on, longest pause below 2 s" \
        within 5 [ "$(ping_gap 1 "$NOW")" -lt 2000 ]
    pause 0.5
    ip link set "$member" up
    pause 0.5
done
check "flows are still in TC" within 5 in_tc_or_why
ip link set b1b nomaster
ip link set b1b down
ip link set b1b master b1
check "a member that was enslaved again is bound to the block" \
    within 5 equals "$index" block b1b
check "flows are in TC" within 5 in_tc_or_why
ping_stop

# Restarts.
for i in 1 2 3; do
    vswitchd_restart
    check "restart $i: hosts reach each other" within 5 pings 1 10.0.0.2
    check "restart $i: flows are in TC" within 5 in_tc_or_why
    is "restart $i: no filter of the earlier run is in the block" \
        "$(audit)" "true 0"
done
vswitchd_kill
vswitchd_start
check "after kill -9: hosts reach each other" within 5 pings 1 10.0.0.2
check "after kill -9: flows are in TC" within 5 in_tc_or_why
is "after kill -9: no filter of the earlier run is in the block" \
    "$(audit)" "true 0"

ovs-vsctl del-port br0 b1
check "the port deleted: no filter is left in the block" \
    within 5 equals 0 block_cookies
is "nor a qdisc at the bond" "$(tc qdisc show dev b1 | grep -c ingress || true)" 0

# Somebody's own ingress qdisc at the bond: it is used as it is.
tc qdisc add dev b1 ingress
ovs-vsctl add-port br0 b1
is "with a qdisc of somebody else the hook is the bond's ingress" \
    "$(tcb show .ports.b1.hook)" ingress
flows_set br0 <<<"actions=normal"
check "hosts reach each other over it" within 5 pings 1 10.0.0.2
check "flows are in TC over it" within 5 in_tc_or_why
ovs-vsctl del-br br0
is "somebody else's qdisc stands" "$(tc qdisc show dev b1 | grep -c ingress || true)" 1
finish
