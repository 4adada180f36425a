#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Meters: one police action each, changed in place and deleted while flows use
# it; its counters; restarts.
# shellcheck source=tests/vm/lib.sh
. "${0%/*}/lib.sh"

LOG_ALLOWED+=('[Mm]eter')

meter() {
    ovs-ofctl -O OpenFlow13 "$1-meter" br0 "$2"
}

# stat FIELD: of meter 1: packet_in_count, or packet_count of its band.
stat() {
    ovs-ofctl -O OpenFlow13 meter-stats br0 meter=1 |
        sed -n "s/.*\\b$1:\\([0-9]*\\).*/\\1/p" | head -n 1
}

rules() {
    flows_set br0 <<RULES
priority=10,udp,in_port=v1 actions=${1:-}v2
priority=1 actions=drop
RULES
}

police_text() {
    tc -s actions list action police
}

metered() {
    [ "$(dp_flows tc 'in_port\(v1\).*actions:meter')" -ge 1 ]
}

frames() {
    agent send 1 "$1" "$FRAME"
}

FRAME='eth_src=02:00:00:00:00:01 eth_dst=02:00:00:00:00:02 ip_src=10.0.0.1 ip_dst=10.0.0.2 udp size=1000'

host 1
host 2
# Somebody else's, which is nobody else's business.
tc actions add action police rate 1mbit burst 10k conform-exceed drop/pipe index 77
ovs-vsctl add-br br0 -- set bridge br0 protocols=OpenFlow10,OpenFlow13 -- \
    add-port br0 v1 -- add-port br0 v2
agent_start
agent open 1 h1 e1
agent open 2 h2 e2

meter add meter=1,pktps,burst,stats,bands=type=drop,rate=1,burst_size=10
is "a meter has one police action, before any flow" \
    "$(police_count ours) $(tcb show .meters.in_tc)" "1 1"
check "with the packet rate" grep -q 'pkts_rate 1 ' <<<"$(police_text)"
rules meter:1,
frames 1
check "a flow with it is offloaded" within 5 metered
# Linux 6.12 fills the byte bucket of a new police, not its packet bucket
# (tcf_police_init() leaves tcfp_pkttoks at 0): the burst is there when time
# has filled it.
sleep 7
frames 40
check "some frames pass" agent recv 2 20 5 udp
dropped() { [ "$(stat packet_count)" -ge 15 ]; }
check "the others are dropped and counted" within 5 dropped
is "each frame is counted once" "$(stat packet_in_count)" 41
rule_packets() {
    ovs-ofctl dump-flows br0 "udp,in_port=v1" | sed -n 's/.*n_packets=\([0-9]*\).*/\1/p'
}
check "the rule has counted them all, those that were dropped too" \
    within 5 equals 41 rule_packets
agent count 2 udp
is "received and dropped make what was sent" $((REPLY + $(stat packet_count))) 41

index=$(police ours)
meter mod meter=1,pktps,burst,stats,bands=type=drop,rate=1000,burst_size=1000
is "a change keeps the action, with a flow bound to it" "$(police ours)" "$index"
check "the rate is the new one" grep -q 'pkts_rate 1000 ' <<<"$(police_text)"
agent clear
frames 20
check "all frames pass at the new rate" agent recv 2 20 20 udp
meter mod meter=1,kbps,burst,stats,bands=type=drop,rate=50000,burst_size=4000
is "from packets to kilobits in place" "$(police ours)" "$index"
check "the rate in bits" grep -q 'rate 50Mbit' <<<"$(police_text)"
frames 5
check "frames pass" agent recv 2 20 25 udp

# A rate beyond 32 bits of bytes a second.
meter add meter=2,kbps,stats,bands=type=drop,rate=40000000
check "40 Gbit/s is kept" grep -q 'rate 40Gbit' <<<"$(police_text)"
# Many, and away with them.
for i in {3..20}; do
    meter add "meter=$i,kbps,stats,bands=type=drop,rate=$((i * 1000))"
done
is "twenty meters, twenty actions" "$(police_count ours)" 20
for i in {2..20}; do
    meter del "meter=$i"
done
is "deleting them leaves one" "$(police_count ours)" 1

# Deleted in use: OpenFlow deletes the flows that use it.
meter del meter=1
check "deleted in use, it goes when the flow has gone" \
    within 10 equals 0 police_count ours
is "nothing waits to be deleted" "$(tcb show .meters.being_deleted)" 0
is "no flow is left with it" "$(dp_flows all 'actions:meter')" 0
meter add meter=1,kbps,burst,stats,bands=type=drop,rate=50000,burst_size=4000
rules meter:1,
agent clear
frames 1
check "made again and used again" within 5 metered
frames 5
check "frames pass again" agent recv 2 20 6 udp

# A band that TC does not have.
meter add meter=9,kbps,stats,bands=type=drop,rate=1000,type=drop,rate=2000 || true
is "a meter with two bands makes no action" "$(police_count ours)" 1

vswitchd_restart
check "after a restart no action of the earlier run is left" \
    within 5 equals 0 police_count ours
meter add meter=1,pktps,stats,bands=type=drop,rate=1000
rules meter:1,
agent clear
frames 1
check "a meter is offloaded after the restart" within 5 metered
is "with one action" "$(police_count ours)" 1
ovs-vsctl del-br br0
check "nothing is left after del-br" within 5 equals 0 police_count ours
is "somebody else's police stands" "$(police)" 0x4d
finish
