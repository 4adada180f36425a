#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# VXLAN and Geneve over a bond, with connection tracking and NAT on top: all of
# it in TC, counted on both sides, and again after restarts.  Where the kernel
# lets no flow recirculate in TC, what is tracked stays in the kernel datapath.
# shellcheck source=tests/vm/lib.sh
. "${0%/*}/lib.sh"

NAT=10.1.1.240
# What OVS says, with its own provider too, when it exits and when a tunnel goes
# away while flows recirculate.
LOG_ALLOWED+=('recirc_id [0-9]+ left allocated when ofproto'
    'receive tunnel port not found'
    # Of two packets of one new connection, one in TC and one in Open vSwitch's
    # hands, the kernel drops the one that is confirmed last.
    'execute ct\(commit.*failed \(Invalid argument\)')

# in_tc PORT...: IP flows from each of the ports, and no other than in TC.
in_tc() {
    local port
    for port; do
        [ "$(dp_flows tc "in_port\($port\).*eth_type\(0x0800\)")" -ge 1 ] || return 1
    done
    [ "$(dp_flows ovs 'eth_type\(0x0800\)')" = 0 ]
}

# where_it_can DEVICE: tracked flows are in TC if that is possible, and all
# others.
where_it_can() {
    if able recirc_sharing; then
        in_tc v2 "$1" b1 br-under
    else
        [ "$(dp_flows ovs "in_port\(v2\).*eth_type\(0x0800\)")" -ge 1 ] &&
            [ "$(dp_flows ovs "in_port\($1\).*eth_type\(0x0800\)")" -ge 1 ] &&
            [ "$(dp_flows tc "in_port\((v2|$1)\).*eth_type\(0x0800\)")" = 0 ] &&
            [ "$(dp_flows tc "in_port\(b1\).*eth_type\(0x0800\)")" -ge 1 ] &&
            [ "$(dp_flows tc "in_port\(br-under\).*eth_type\(0x0800\)")" -ge 1 ] &&
            [ "$(dp_flows ovs "in_port\((b1|br-under)\).*eth_type\(0x0800\)")" = 0 ]
    fi
}

# or_why COMMAND...
or_why() {
    "$@" || {
        : >"$scratch/check"
        tcb why '| to_entries[] | select(.value.refusals != []) | "\(.key): \(.value.refusals)"'
        dump_flows ovs 'eth_type\(0x0800\)'
        false
    }
}

# passed PORT: packets of tracked connections from PORT, by OpenFlow's count.
passed() {
    ovs-ofctl -O OpenFlow13 dump-flows br0 "table=1,ip,in_port=$1" |
        sed -n 's/.*n_packets=\([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n + 0 }'
}

both_passed() {
    [ "$(passed v2) $(passed tun)" = "$1 $2" ]
}

# still PORT...: counters stand, so that what is counted later is known.
still() {
    local before after=
    for _ in {1..30}; do
        before="$(passed v2) $(passed tun)"
        [ "$before" != "$after" ] || return 0
        after=$before
        pause 1.2
    done
}

tracked() {
    flows_set br0 <<RULES
table=0,priority=10,arp,in_port=v2 actions=$1tun
table=0,priority=10,arp,in_port=tun actions=v2
table=0,priority=10,ip,in_port=v2 actions=ct(table=1,zone=7,nat)
table=0,priority=10,ip,in_port=tun actions=ct(table=1,zone=7,nat)
table=0,priority=1 actions=drop
table=1,priority=10,in_port=v2,ip,ct_state=+trk+new actions=ct(commit,zone=7,nat(src=$NAT)),$1tun
table=1,priority=10,in_port=v2,ip,ct_state=+trk+est actions=$1tun
table=1,priority=10,in_port=tun,ip,ct_state=+trk+est actions=v2
table=1,priority=1 actions=drop
RULES
}

untracked() {
    flows_set br0 <<RULES
priority=10,in_port=v2 actions=$1tun
priority=10,in_port=tun actions=v2
RULES
}

# rules KIND tracked|untracked: with Geneve each packet to the tunnel gets an
# option.
rules() {
    if [ "$1" = geneve ]; then
        # The map is there until the daemon ends.
        [ "$2" = untracked ] ||
            ovs-ofctl add-tlv-map br0 "{class=0x0102,type=0x3,len=8}->tun_metadata0"
        "$2" 'set_field:0x1122334455667788->tun_metadata0,'
    else
        "$2" ''
    fi
}

pings_in_tunnel() {
    pings 2 10.1.1.1 3
}

# carries NAME DEVICE: the tunnel's device in the datapath.
carries() {
    local n m
    check "$1: hosts reach each other" within 10 pings_in_tunnel
    check "$1: all flows are in TC that can be" within 5 or_why where_it_can "$2"
    agent talk tcp h2 h1 10.1.1.1:5001 10.1.1.1:5001 100000 || diag "$REPLY"
    is "$1: TCP both ways, with its source address rewritten" \
        "${REPLY% *}" "$NAT"
    agent talk udp h2 h1 10.1.1.1:5002 10.1.1.1:5002 1000 || diag "$REPLY"
    is "$1: UDP both ways, with its source address rewritten" \
        "${REPLY% *}" "$NAT"
    still
    n=$(passed v2) m=$(passed tun)
    check "$1: 50 requests are answered" pings 2 10.1.1.1 50
    check "$1: each is counted once on each side" \
        within 10 both_passed $((n + 50)) $((m + 50))
    check "$1: all flows are still in TC" within 5 or_why where_it_can "$2"
}

# tunnel KIND DATAPATH-DEVICE [OPTIONS-FOR-IP]
tunnel() {
    local kind=$1 device=$2
    shift 2
    in_host 1 ip link add tun type "$kind" id 0 remote 10.0.0.100 "$@"
    in_host 1 ip link set tun address 02:00:00:00:00:0a mtu 1400 up
    in_host 1 ip addr add 10.1.1.1/24 dev tun
    in_host 1 ip neigh add "$NAT" lladdr 02:00:00:00:00:02 dev tun
    ovs-vsctl add-port br0 tun -- set interface tun type="$kind" \
        options:remote_ip=10.0.0.1 options:key=0
    rules "$kind" tracked
    carries "$kind" "$device"
    for i in 1 2 3; do
        vswitchd_restart
        rules "$kind" tracked
        carries "$kind, restart $i" "$device"
    done
    rules "$kind" untracked
    purge
    check "$kind, not tracked: hosts reach each other" within 10 pings_in_tunnel
    check "$kind, not tracked: all flows are in TC" \
        within 5 or_why in_tc v2 "$device" b1 br-under
    [ "$kind" != geneve ] || check "geneve: the option is in the filters" \
        grep -q '0102:03:1122334455667788' <<<"$(tc filter show dev v2 ingress)"
    ovs-vsctl del-port br0 tun
    in_host 1 ip link del tun
    is "$kind: no filter is left at the tunnel's device" "$(filters "$device" 2>/dev/null)" 0
}

host 2
ip -n h2 addr add 10.1.1.2/24 dev e2
# Room for the tunnel's headers.
ip -n h2 link set e2 mtu 1400
bond_make
ovs-vsctl add-br br-under -- add-port br-under b1 -- add-br br0 -- add-port br0 v2
# A slow machine looks at flows long after they were used.
vsctl_config max-idle=60000
ip addr add 10.0.0.100/24 dev br-under
ip link set br-under up
flows_set br-under <<<"actions=normal"
agent_start
tunnel vxlan vxlan_sys_4789 dstport 4789
tunnel geneve genev_sys_6081
finish
