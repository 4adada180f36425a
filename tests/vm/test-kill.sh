#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# ovs-vswitchd is killed under traffic and started again: traffic goes on, what
# the killed one left is gone, and what is foreign stands where it stood.
# shellcheck source=tests/vm/lib.sh
. "${0%/*}/lib.sh"

# foreign: what others have put beside us.
foreign() {
    tc qdisc show dev v1 | grep -E 'ingress|clsact'
    tc filter show dev v1 ingress |
        awk '/^filter/ { show = /u32|matchall/ || /pref 2 .*handle 0x[12] / } show' |
        grep -E '^filter.*handle|dst_ip|match|matchall'
    police foreign
}

# flows_in_tc N: at least N flows for IPv4.
flows_in_tc() {
    [ "$(dp_flows tc 'eth_type\(0x0800\)')" -ge "$1" ]
}

# old_cookies: those of the run before that are still there.
old_cookies() {
    { cookies v1; cookies v2; cookies br0 egress; } | sort |
        comm -12 - "$scratch/cookies" | wc -l
}

old_gone() {
    [ "$(old_cookies)" = 0 ]
}

# foreign_stands: the same as in $scratch/foreign.
foreign_stands() {
    foreign | diff "$scratch/foreign" -
}

# survive NAME: kills, restarts and checks.
survive() {
    local killed
    { cookies v1; cookies v2; cookies br0 egress; } | sort >"$scratch/cookies"
    check "$1: there are filters to leave behind" [ -s "$scratch/cookies" ]
    now_ms
    killed=$NOW
    vswitchd_kill
    vswitchd_start
    check "$1: flows are in TC again" within 15 flows_in_tc 2
    check "$1: traffic goes on within 5 s" [ "$(ping_gap 1 "$killed")" -lt 5000 ]
    diag "longest pause: $(ping_gap 1 "$killed") ms"
    check "$1: no filter of the earlier run is left" within 5 old_gone
    check "$1: foreign qdisc, filters and police stand" foreign_stands
    # OpenFlow's meters and rules ended with the process.
    check "$1: its police action is gone" within 5 equals 0 police_count ours
    configure
    check "$1: a meter has one police action" equals 1 police_count ours
    check "$1: metered flows are in TC" within 5 metered_in_tc
}

configure() {
    ovs-ofctl -O OpenFlow13 add-meter br0 \
        meter=1,kbps,stats,bands=type=drop,rate=100000
    flows_set br0 <<'RULES'
priority=10,ip,in_port=v1 actions=meter:1,normal
priority=1 actions=normal
RULES
}

metered_in_tc() {
    [ "$(dp_flows tc 'in_port\(v1\).*eth_type\(0x0800\).*meter')" -ge 1 ] &&
        tc filter show dev v1 ingress | grep 'police 0x2' >/dev/null
}

host 1
host 2
tc qdisc add dev v1 ingress
# The handles of what keeps the prio alive, and of our first flow.
tc filter add dev v1 ingress prio 2 protocol ip handle 1 flower \
    dst_ip 203.0.113.1 action pass
tc filter add dev v1 ingress prio 2 protocol ip handle 2 flower \
    dst_ip 203.0.113.3 action pass
tc filter add dev v1 ingress prio 100 protocol ip u32 \
    match ip dst 203.0.113.2/32 action pass
tc filter add dev v1 ingress prio 200 protocol all matchall action pass
tc actions add action police rate 1mbit burst 10k conform-exceed drop/pipe \
    index 77
foreign >"$scratch/foreign"

ovs-vsctl add-br br0 -- add-port br0 v1 -- add-port br0 v2 -- \
    set bridge br0 protocols=OpenFlow13
ip addr add 10.0.0.100/24 dev br0
ip link set br0 up
configure
check "hosts reach each other" pings 1 10.0.0.2
check "the switch's own port is reached" pings 1 10.0.0.100
ping_start 1 10.0.0.2
check "flows are offloaded beside a filter at the same prio and handle" \
    within 5 flows_in_tc 2
is "none of them is left to the kernel datapath" \
    "$(dp_flows ovs 'in_port\(v1\).*eth_type\(0x0800\)')" 0
check "foreign qdisc, filters and police stand" foreign_stands

survive "killed"
# The second start finds what the first one did: qdiscs are not new any more.
survive "killed again"

ping_stop
ovs-vsctl del-br br0
is "no filter of ours is left after del-br" \
    "$(our_filters v1) $(our_filters v2)" "0 0"
check "no police action of ours is left" within 5 equals 0 police_count ours
check "foreign qdisc, filters and police stand to the end" foreign_stands
finish
