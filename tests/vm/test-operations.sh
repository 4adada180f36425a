#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Put, modify, get and delete of single flows with dpctl, while the revalidators
# stand still: where the flow is afterwards, and what it has counted.
# shellcheck source=tests/vm/lib.sh
. "${0%/*}/lib.sh"

U=ufid:00000000-0000-0000-0000-0000000000
SRC='src=02:00:00:00:00:01,'
FRAME='eth_src=02:00:00:00:00:01 eth_dst=02:00:00:00:00:02 ip_src=10.0.0.1 ip_dst=10.0.0.2'

# match [ETH] [RECIRC-ID] [FRAGMENT]: the key of UDP frames from v1 to h2.
match() {
    printf 'recirc_id(%s),in_port(v1),eth(%sdst=02:00:00:00:00:02),eth_type(0x0800),ipv4(proto=17,frag=%s),udp(dst=2000)' \
        "${2:-0}" "${1-}" "${3:-no}"
}

dp() {
    ovs-appctl "dpctl/$1" "${@:2}"
}

# where UFID: the datapaths that have the flow: ovs, tc, both or nothing.
where() {
    dump_flows all "^$1" | grep -o 'dp:[a-z]*' | sort | paste -sd ' ' -
}

# packets UFID: what get-flow says.
packets() {
    dp get-flow "$1" | sed -n 's/.*packets:\([0-9]*\),.*/\1/p'
}

actions() {
    dp get-flow "$1" | sed 's/.*actions://'
}

# frames COUNT [WORDS]: sent from h1, and all arrived in h2.
frames() {
    agent clear
    agent send 1 "$1" "$FRAME ${2:-udp}" && agent recv 2 20 "$1" eth_src=02:00:00:00:00:01
}

refused() {
    tcb why '.v1.refusals[] | "\(.cause) \(.detail)"'
}

refused_by() {
    grep -q "^$1" <<<"$(refused)"
}

LOG_ALLOWED+=('failed to flow_get \(No such file' 'failed to put.*\(File exists\)')
host 1
host 2
host 3
ovs-vsctl add-br br0 -- add-port br0 v1 -- add-port br0 v2 -- add-port br0 v3
agent_start
agent open 1 h1 e1
agent open 2 h2 e2
agent open 3 h3 e3
flows_set br0 <<<"actions=drop"
ovs-appctl revalidator/pause
paused=yes
ovs-appctl dpctl/del-flows
f=${U}01 k=$(match)
p2=$(tcb show .ports.v2.port_no) p3=$(tcb show .ports.v3.port_no)

check "put" dp add-flow "$f,$k" "$p2"
is "the flow is in TC only" "$(where "$f")" "dp:tc"
check "its frames pass" frames 3
is "get: packets" "$(packets "$f")" 3
is "get: actions" "$(actions "$f")" "$p2"
check "get: the key" grep -q 'eth(dst=02:00:00:00:00:02)' <<<"$(dp get-flow "$f")"
try dp add-flow "$f,$k" "$p2"
is "the same put again leaves one filter" "$(where "$f") $(our_filters v1)" "dp:tc 1"

check "modify of the actions" dp mod-flow "$f,$k" "set(ipv4(ttl=9)),$p2"
is "modify: in TC only, one filter" "$(where "$f") $(our_filters v1)" "dp:tc 1"
is "modify keeps the counter" "$(packets "$f")" 3
check "modify: frames get the new actions" frames 2
check "modify: with the new TTL" agent recv 2 5 1 ttl=9 csum=ok
is "the counter goes on from the old one" "$(packets "$f")" 5

check "modify to what TC cannot do" dp mod-flow "$f,$k" "trunc(100),$p2"
is "it moves to the kernel datapath, without a copy" \
    "$(where "$f") $(our_filters v1)" "dp:ovs 0"
check "tc-batch/why names the action" refused_by "action trunc"
check "its frames pass there" frames 2
check "modify back" dp mod-flow "$f,$k" "$p2"
is "it moves back to TC, without a copy" "$(where "$f") $(our_filters v1)" "dp:tc 1"
check "its frames pass in TC again" frames 4
check "delete" dp del-flow "$f,$k"
is "nothing of it is left" "$(where "$f") $(our_filters v1)" " 0"
check "get of a flow that is gone fails" eval "! dp get-flow '$f'"
check "delete of a flow that is gone fails" eval "! dp del-flow '$f,$k'"

# Another mask under the same ufid.
try dp add-flow "$f,$k" "$p2"
try frames 2
check "modify with another mask" dp mod-flow "$f,$(match "$SRC")" "$p2"
is "another mask: one filter, in TC" "$(where "$f") $(our_filters v1)" "dp:tc 1"
check "another mask: frames pass" frames 1
check "another mask: the counter did not fall" [ "$(packets "$f")" -ge 1 ]
try dp del-flow "$f,$(match "$SRC")"

# A second flow with the same masked key.
try dp add-flow "${U}02,$k" "$p2"
check "the same key under another ufid is refused" \
    eval "! dp add-flow '${U}03,$k' $p3"
is "and leaves nothing" "$(where "${U}03") $(our_filters v1)" " 1"
try dp del-flow "${U}02,$k"

# Refusals.
while IFS='|' read -r name why key acts; do
    try dp add-flow "${U}04,$key" "$acts"
    is "$name stays in the kernel datapath" "$(where "${U}04")" "dp:ovs"
    check "$name: tc-batch/why says so" refused_by "$why"
    try dp del-flow "${U}04,$key"
done <<REFUSED
a match on skb_mark|match |skb_mark(0x1/0xff),$k|$p2
an output with a cut|action trunc|$k|trunc(64),$p2
sampling|action sample|$k|sample(sample=50.0%,actions($p2))
a rewrite in fragments|action set of headers of fragments|$(match '' 0 first)|set(udp(src=11,dst=22)),$p2
REFUSED

# Recirculation.
recirculation() {
    try dp add-flow "${U}05,$child" "$p2"
    is "a flow whose parent is not in TC is refused" "$(where "${U}05")" "dp:ovs"
    check "tc-batch/why names the parent" refused_by 'parent '
    try dp del-flow "${U}05,$child"
    check "put of the parent" dp add-flow "${U}06,$k" "set(ipv4(ttl=5)),recirc(119)"
    is "the parent is in TC" "$(where "${U}06")" "dp:tc"
    check "put of the child" dp add-flow "${U}05,$child" "$p2"
    is "the child is in TC now" "$(where "${U}05")" "dp:tc"
    check "it is in the chain of that number" \
        grep -q "chain 119" <<<"$(tc filter show dev v1 ingress)"
    check "frames pass through both" frames 3
    is "and both have counted them" "$(packets "${U}06") $(packets "${U}05")" "3 3"
    is "the parent's actions" "$(actions "${U}06")" "set(ipv4(ttl=5)),recirc(0x77)"
    try dp del-flow "${U}05,$child"
    try dp del-flow "${U}06,$k"
    try dp add-flow "${U}05,$child" "$p2"
    is "after the parent the child is refused again" "$(where "${U}05")" "dp:ovs"
    try dp del-flow "${U}05,$child"
}

# Without NET_TC_SKB_EXT the kernel loses the recirculation id on the way from
# TC to Open vSwitch.
no_recirculation() {
    try dp add-flow "${U}05,$child" "$p2"
    try dp add-flow "${U}06,$k" "set(ipv4(ttl=5)),recirc(119)"
    is "flows that recirculate stay in the kernel datapath" \
        "$(where "${U}05") $(where "${U}06")" "dp:ovs dp:ovs"
    check "tc-batch/why says so of both" \
        equals 2 eval "refused | grep -c '^recirculation recirc'"
    check "frames pass through both" frames 3
    is "and both have counted them" "$(packets "${U}06") $(packets "${U}05")" "3 3"
    try dp del-flow "${U}05,$child"
    try dp del-flow "${U}06,$k"
}

child=$(match '' 119)
if able recirc_sharing; then
    recirculation
else
    no_recirculation
fi

is "in the end nothing is left" \
    "$(tcb show .ports.v1.flows) $(our_filters v1) $(dp_flows all 'in_port\(v1\)')" "0 0 0"
ovs-appctl revalidator/resume
paused=
finish
