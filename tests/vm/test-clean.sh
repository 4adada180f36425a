#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What is left behind: nothing after del-br and after "exit --cleanup", and
# never less of what is foreign.
# shellcheck source=tests/vm/lib.sh
. "${0%/*}/lib.sh"

# ours: qdiscs, filters and police actions of ours.
ours() {
    local dev n_qdiscs=0 n_filters=0
    for dev in v2 v3 br0; do
        [ ! -e "/sys/class/net/$dev" ] ||
            n_qdiscs=$((n_qdiscs + $(tc qdisc show dev "$dev" | grep -cE 'ingress|clsact' || true)))
    done
    for dev in v1 v2 v3; do
        n_filters=$((n_filters + $(our_filters "$dev")))
    done
    printf '%d qdiscs, %d filters, %d police\n' \
        "$n_qdiscs" "$n_filters" "$(police_count ours)"
}

foreign() {
    tc qdisc show dev v1 | grep clsact
    tc filter show dev v1 ingress | grep -A9 -E 'matchall'
    tc filter show dev v1 egress
    police foreign
}

foreign_stands() {
    foreign | diff "$scratch/foreign" -
}

setup() {
    ovs-vsctl add-br br0 -- set bridge br0 protocols=OpenFlow10,OpenFlow13 -- \
        add-port br0 v1 -- add-port br0 v2 -- add-port br0 v3
    ip addr add 10.0.0.100/24 dev br0
    ip link set br0 up
    use
}

use() {
    ovs-ofctl -O OpenFlow13 add-meter br0 meter=1,kbps,stats,bands=type=drop,rate=100000
    flows_set br0 <<'RULES'
priority=10,ip,in_port=v1 actions=meter:1,normal
priority=1 actions=normal
RULES
    pings 1 10.0.0.2
    pings 1 10.0.0.100
    pings 2 10.0.0.3
    within 5 in_use
}

in_use() {
    [ "$(our_filters v1)" -ge 1 ] && [ "$(our_filters v2)" -ge 1 ]
}

for i in 1 2 3; do
    host "$i"
done
tc qdisc add dev v1 clsact
tc filter add dev v1 ingress prio 300 protocol all matchall action pass
tc filter add dev v1 egress prio 300 protocol all matchall action pass
tc actions add action police rate 1mbit burst 10k conform-exceed drop/pipe index 77
foreign >"$scratch/foreign"

check "flows, a meter, an internal port" setup
# A foreign filter in a qdisc of ours keeps that qdisc.
tc filter add dev v3 ingress prio 300 protocol all matchall action pass
ovs-vsctl del-port br0 v3
is "a qdisc of ours with a foreign filter stays" \
    "$(filters v3) $(our_filters v3)" "1 0"
tc qdisc delete dev v3 ingress
ovs-vsctl del-br br0
check "nothing of ours is left after del-br" \
    within 5 equals "0 qdiscs, 0 filters, 0 police" ours
check "what is foreign stands" foreign_stands
check "all of it again" setup
vswitchd_exit --cleanup
rm -f "$OVS_RUN/ovs-vswitchd.pid"
is "nothing of ours is left after exit --cleanup" "$(ours)" \
    "0 qdiscs, 0 filters, 0 police"
check "what is foreign stands after it" foreign_stands
vswitchd_start
ip addr replace 10.0.0.100/24 dev br0
ip link set br0 up
check "it is offloaded after a start" use

vswitchd_exit ''
diag "after exit: $(ours)"
check "what is foreign stands after exit" foreign_stands
vswitchd_start
check "it is offloaded after another start" use
ovs-vsctl del-br br0
check "nothing of ours is left after restart and del-br" \
    within 5 equals "0 qdiscs, 0 filters, 0 police" ours
check "what is foreign stands to the end" foreign_stands
finish
