# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# Flows of each kind that is offloaded, for the tests that source this: rules,
# a frame, and where it should arrive.  With mode "ours" each is a check; with
# other modes the flow's actions are only noted, in shown[MODE.NUMBER].

mode=ours
n_flow=0
names=()
declare -A shown

# The frames' parts.
E='eth_src=02:00:00:00:00:01 eth_dst=02:00:00:00:00:02'
V4="$E ip_src=10.0.0.1 ip_dst=10.0.0.2"
V6="$E ip_src=fd00::1 ip_dst=fd00::2"

# flows_of PORT TYPE: flows that this port's frames met, without IPv6 noise.
flows_of() {
    dump_flows "$2" "in_port\\($1\\)"
}

any_flow() {
    [ -n "$(flows_of "$1" all)" ]
}

# five_in_tc PORT: a flow counts five packets.
five_in_tc() {
    grep -q 'packets:5,' <<<"$(flows_of "$1" tc)"
}

# note_actions PORT
note_actions() {
    shown[$mode.$n_flow]=$(flows_of "$1" all | sed 's/.*actions:/actions:/')
}

# sees NAME WANT COUNT: COUNT frames with the words WANT, joined by commas.
sees() {
    local words=${2//,/ }
    [ "$3" = 0 ] || agent recv "$1" 20 "$3" "$words" || {
        trouble+="$1: $REPLY"$'\n'
        return
    }
    agent count "$1" "$words"
    [ "$REPLY" = "$3" ] ||
        trouble+="$1 received $REPLY frames with $words, not $3"$'\n'
}

# With ORDER=any the outputs have no order that stays.
# flow NAME IN OUTS FRAME: sends FRAME from IN (1, 2, 3 or 0 for br0) through
# the OpenFlow rules on standard input.  OUTS are words "PORT:WORD,WORD".
flow() {
    local name=$1 in=$2 out hook=ingress trouble='' port
    n_flow=$((n_flow + 1))
    names[n_flow]=$name
    port=v$in
    [ "$in" != 0 ] || port=br0 hook=egress
    flows_set br0
    purge
    agent clear
    agent send "$in" 1 "$4"
    if ! within 5 any_flow "$port"; then
        [ "$mode" != ours ] || not_ok "$name" "no flow"
        return
    fi
    [ "${ORDER-}" = any ] || note_actions "$port"
    [ "$mode" = ours ] || return 0

    agent send "$in" 5 "$4"
    within 5 five_in_tc "$port" || trouble+="no flow has 5 packets"$'\n'
    for out in $3; do
        sees "${out%%:*}" "${out#*:}" 6
    done
    for out in 0 1 2 3; do
        case " $3" in
        *" $out:"*) ;;
        *) sees "$out" "${OTHERS:-eth_src=02:00:00:00:00:01}" 0 ;;
        esac
    done
    [ "$(flows_of "$port" ovs)" = '' ] ||
        trouble+="in the kernel datapath: $(flows_of "$port" ovs)"$'\n'
    tc -s filter show dev "$port" "$hook" | grep ' 5 pkt' >/dev/null ||
        trouble+="no filter has 5 packets"$'\n'
    if [ "$trouble" = '' ]; then
        ok "$name"
    else
        not_ok "$name" "$trouble$(flows_of "$port" all)"$'\n'"$(tcb why ".$port.refusals")"
    fi
}

layer2() {
    flow "unicast between ordinary ports" 1 "2:type=0x88b5,untagged" "$E" \
        <<<"in_port=v1 actions=v2"
    flow "from an ordinary to the internal port" 1 "0:udp,csum=ok" "$V4 udp" \
        <<<"in_port=v1 actions=LOCAL"
    OTHERS=udp flow "from the internal to an ordinary port" 0 "2:udp,csum=ok" \
        "$V4 udp" <<<"in_port=LOCAL actions=v2"
    ORDER=any flow "flood, to each port once" 1 "0:udp 2:udp 3:udp" "$V4 udp" \
        <<<"in_port=v1 actions=flood"
    flow "drop" 1 "" "$V4 udp" <<<"in_port=v1 actions=drop"
    flow "set Ethernet addresses" 1 "2:eth_src=02:00:00:00:00:77,eth_dst=02:00:00:00:00:88" "$V4 udp" \
        <<<"in_port=v1 actions=mod_dl_src:02:00:00:00:00:77,mod_dl_dst:02:00:00:00:00:88,v2"
    flow "an output before a rewrite is not rewritten" 1 \
        "2:eth_dst=02:00:00:00:00:02,ttl=64 3:eth_dst=02:00:00:00:00:88,ttl=63,csum=ok" \
        "$V4 udp" <<<"ip,in_port=v1 actions=v2,mod_dl_dst:02:00:00:00:00:88,dec_ttl,v3"
}

vlans() {
    flow "push a VLAN tag" 1 "2:vlan=10/5,udp" "$V4 udp" \
        <<<"in_port=v1 actions=push_vlan:0x8100,set_field:4106->vlan_vid,set_field:5->vlan_pcp,v2"
    flow "pop a VLAN tag" 1 "2:untagged,udp" "$E vlan=10 ${V4#"$E"} udp" \
        <<<"dl_vlan=10,in_port=v1 actions=pop_vlan,v2"
    flow "match VLAN and priority, keep the tag" 1 "2:vlan=10/3,udp" \
        "$E vlan=10/3 ${V4#"$E"} udp" \
        <<<"dl_vlan=10,dl_vlan_pcp=3,in_port=v1 actions=v2"
    flow "set the VLAN" 1 "2:vlan=11/3,udp" "$E vlan=10/3 ${V4#"$E"} udp" \
        <<<"dl_vlan=10,in_port=v1 actions=mod_vlan_vid:11,v2"
    ovs-vsctl set port v1 tag=10 -- set port v3 tag=10
    ORDER=any flow "access port to trunk and access" 1 \
        "2:vlan=10/0,udp 3:untagged,udp 0:vlan=10/0" "$V4 udp" <<<"actions=normal"
    ORDER=any OTHERS=eth_src=02:00:00:00:00:02 flow "trunk to access ports" 2 \
        "1:untagged,udp 3:untagged,udp 0:vlan=10/0,udp" \
        "eth_src=02:00:00:00:00:02 eth_dst=ff:ff:ff:ff:ff:ff vlan=10 ${V4#"$E"} udp" \
        <<<"actions=normal"
    ovs-vsctl clear port v1 tag -- clear port v3 tag
}

protocols() {
    local v
    flow "ARP" 1 "2:arp=1,ip_dst=10.0.0.2" \
        "eth_src=02:00:00:00:00:01 eth_dst=ff:ff:ff:ff:ff:ff arp=1 ip_src=10.0.0.1 ip_dst=10.0.0.2" \
        <<<"arp,arp_op=1,arp_spa=10.0.0.1,arp_tpa=10.0.0.2,arp_sha=02:00:00:00:00:01,in_port=v1 actions=v2"
    flow "ICMP" 1 "2:icmp=8,csum=ok" "$V4 icmp=8" \
        <<<"icmp,icmp_type=8,icmp_code=0,in_port=v1 actions=v2"
    flow "ICMPv6" 1 "2:icmp6=128,csum=ok" "$V6 icmp6=128" \
        <<<"icmp6,icmp_type=128,in_port=v1 actions=v2"
    flow "TCP flags" 1 "2:tcp" "$V4 tcp" <<<"tcp,tcp_flags=+syn-ack,in_port=v1 actions=v2"
    flow "another IP protocol" 1 "2:proto=253" "$V4" \
        <<<"ip,nw_proto=253,in_port=v1 actions=v2"
    flow "IPv4 with masks, TOS and TTL" 1 "2:udp" "$V4 udp tos=32 ttl=7" \
        <<<"udp,nw_src=10.0.0.0/28,nw_dst=10.0.0.0/255.0.0.255,nw_tos=32,nw_ttl=7,in_port=v1 actions=v2"$'\n'"ip,nw_dst=10.0.0.2,in_port=v1,priority=1 actions=v2"
    flow "IPv6 with masks" 1 "2:udp" "$V6 udp tos=32" \
        <<<"udp6,ipv6_src=fd00::/16,ipv6_dst=fd00::2,nw_tos=32,in_port=v1 actions=v2"
    for v in tcp udp sctp; do
        flow "$v ports in IPv4" 1 "2:$v,csum=ok" "$V4 $v" \
            <<<"$v,tp_src=1000,tp_dst=2000,in_port=v1 actions=v2"
        flow "$v ports in IPv6" 1 "2:$v,csum=ok" "$V6 $v" \
            <<<"${v}6,tp_src=1000,tp_dst=0x7d0/0xfff0,in_port=v1 actions=v2"
    done
}

rewrites() {
    local v
    for v in tcp udp sctp icmp=8; do
        flow "set IPv4 addresses of ${v%=*}" 1 \
            "2:ip_src=192.0.2.1,ip_dst=192.0.2.2,csum=ok" "$V4 $v" \
            <<<"${v%=*},in_port=v1 actions=mod_nw_src:192.0.2.1,mod_nw_dst:192.0.2.2,v2"
    done
    flow "set TTL" 1 "2:ttl=63,csum=ok" "$V4 udp" <<<"ip,in_port=v1 actions=dec_ttl,v2"
    flow "set TOS" 1 "2:tos=32,ttl=64,csum=ok" "$V4 udp" \
        <<<"ip,in_port=v1 actions=mod_nw_tos:32,v2"
    for v in tcp6:tcp udp6:udp icmp6:icmp6=128; do
        flow "set IPv6 addresses of ${v%:*}" 1 \
            "2:ip_src=fd01::1,ip_dst=fd01::2,csum=ok" "$V6 ${v#*:}" \
            <<<"${v%:*},in_port=v1 actions=set_field:fd01::1->ipv6_src,set_field:fd01::2->ipv6_dst,v2"
    done
    flow "set hop limit" 1 "2:ttl=63,csum=ok" "$V6 udp" \
        <<<"udp6,in_port=v1 actions=dec_ttl,v2"
    flow "set traffic class" 1 "2:tos=32,ttl=64,csum=ok" "$V6 udp" \
        <<<"udp6,in_port=v1 actions=mod_nw_tos:32,v2"
    for v in tcp udp; do
        flow "set $v ports in IPv4" 1 "2:sport=11,dport=22,csum=ok" "$V4 $v" \
            <<<"$v,in_port=v1 actions=mod_tp_src:11,mod_tp_dst:22,v2"
        flow "set $v ports in IPv6" 1 "2:sport=11,dport=22,csum=ok" "$V6 $v" \
            <<<"${v}6,in_port=v1 actions=mod_tp_src:11,mod_tp_dst:22,v2"
    done
    flow "all rewrites and a tag at once" 1 \
        "2:eth_dst=02:00:00:00:00:88,vlan=10/0,ip_dst=192.0.2.2,ttl=63,dport=22,csum=ok" \
        "$V4 tcp" <<<"tcp,in_port=v1 actions=mod_dl_dst:02:00:00:00:00:88,mod_nw_dst:192.0.2.2,dec_ttl,mod_tp_dst:22,push_vlan:0x8100,set_field:4106->vlan_vid,v2"
    flow "meter in kilobits" 1 "2:udp" "$V4 udp" <<<"udp,in_port=v1 actions=meter:1,v2"
    flow "meter in packets" 1 "2:udp" "$V4 udp" <<<"udp,in_port=v1 actions=meter:2,v2"
}

meters() {
    ovs-ofctl -O OpenFlow13 add-meter br0 \
        meter=1,kbps,burst,stats,bands=type=drop,rate=10000,burst_size=10000
    ovs-ofctl -O OpenFlow13 add-meter br0 \
        meter=2,pktps,burst,stats,bands=type=drop,rate=1000,burst_size=1000
}

all_flows() {
    n_flow=0
    meters
    layer2
    vlans
    protocols
    rewrites
}


# codec_setup: three hosts, a bridge, and the agent with a port for each.
codec_setup() {
    host 1 inet6
    host 2 inet6
    host 3
    ovs-vsctl add-br br0 -- set bridge br0 protocols=OpenFlow10,OpenFlow13 \
        other_config:hwaddr=02:00:00:00:00:aa -- add-port br0 v1 -- \
        add-port br0 v2 -- add-port br0 v3
    ip link set br0 up
    agent_start
    agent open 0 - br0
    for i in 1 2 3; do
        agent open "$i" "h$i" "e$i"
    done
}
