#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Revalidation in each mode that the kernel can do: a flow with a packet now and
# then stays, one without goes in time, its counters are those of TC, and what
# others do to filters is noticed within five seconds.
# shellcheck source=tests/vm/lib.sh
. "${0%/*}/lib.sh"

IDLE=3000                       # max-idle, ms.
ROUND=500                       # max-revalidator, ms.
FRAME='eth_src=02:00:00:00:00:01 eth_dst=02:00:00:00:00:02 ip_src=10.0.0.1'

# frame N: one to 10.0.1.N, which makes flow N.
frame() {
    agent send 1 1 "$FRAME ip_dst=10.0.1.$1 udp"
}

flow() {
    dump_flows tc "[(,]dst=10\.0\.1\.$1[,)]"
}

is_in_tc() {
    [ -n "$(flow "$1")" ]
}

is_gone() {
    ! is_in_tc "$1"
}

# packets N: that the datapath counts for flow N, its first one included.
packets() {
    flow "$1" | sed -n 's/.* packets:\([0-9]*\),.*/\1/p'
}

# handle ADDRESS: of the filter in TC.
handle() {
    tc filter show dev v1 ingress | awk -v ip="$1" '
        / handle / { handle = $NF }
        $1 == "dst_ip" && $2 == ip { print handle }'
}

missed() {
    ovs-appctl dpctl/show | sed -nE 's/.*missed:([0-9]+) .*/\1/p'
}

rounds() {
    tcb show .last_dump.rounds
}

more_rounds() {
    [ "$(rounds)" -ge "$1" ]
}

# use_flow: a packet of flow 1 every 1.5 s, seven times; sets GAP to the longest
# time without one, ms, and EARLY to where flow 2 is after the first.
use_flow() {
    local i last
    GAP=0
    now_ms
    last=$NOW
    for ((i = 0; i < 7; i++)); do
        pause 1.5
        frame 1
        now_ms
        [ $((NOW - last)) -le "$GAP" ] || GAP=$((NOW - last))
        last=$NOW
        [ "$i" != 0 ] || EARLY=$(where 2)
    done
}

# where N
where() {
    if is_in_tc "$1"; then echo "in TC"; else echo gone; fi
}

# make_flows: flow 1, which will be used, and flow 2, which will not; sets MISSED
# to the packets that the kernel datapath had no flow for.
make_flows() {
    try purge
    frame 1
    within 5 is_in_tc 1 || true
    frame 2
    within 5 is_in_tc 2 || true
    MISSED=$(missed)
    # What a slow machine has taken for this does not count.
    frame 1
}

# age MODE: a flow in use and one that is not.
age() {
    local try
    # On a busy host the packets of a flow may come too late.
    for try in 1 2 3; do
        make_flows
        use_flow
        [ "$GAP" -gt $((IDLE - ROUND)) ] || break
        diag "try $try: $GAP ms without a packet"
    done
    is "$1: not idle for long enough, a flow stays" "$EARLY" "in TC"
    is "$1: a flow without packets is gone after 10 s" "$(where 2)" gone
    is "$1: a flow with a packet every 1.5 s is there" "$(where 1)" "in TC"
    is "$1: it has not been deleted in between" $(($(missed) - MISSED)) 0
    # The one that made the flow, one at once, and the others.
    check "$1: all its packets are counted" within 5 equals 9 total 1
}

# total N: packets of flow N with the one that made it, which TC has not seen.
total() {
    echo $(($(packets "$1") + 1))
}

# idle_time MODE: from the last packet until the flow is gone.
idle_time() {
    local now rounds
    frame 3
    within 5 is_in_tc 3 || true
    frame 3
    now_ms
    now=$NOW rounds=$(rounds)
    within 20 is_gone 3 || true
    now_ms
    rounds=$(($(rounds) - rounds))
    # A slow machine has fewer rounds in the same time, but not more.
    check "$1: an idle flow goes within max-idle and two rounds ($((NOW - now)) ms, $rounds rounds)" \
        [ "$rounds" -le $((IDLE / ROUND + 3)) ]
    check "$1: and not before max-idle" [ $((NOW - now)) -ge "$IDLE" ]
}

# comes_back N: packets that come before Open vSwitch has deleted the flow are
# forwarded, and make none.
comes_back() {
    is_in_tc "$1" || {
        frame "$1"
        false
    }
}

# removed: a filter that somebody deletes.
removed() {
    local handle
    vsctl_config max-idle=600000
    frame 4
    within 5 is_in_tc 4 || true
    # Some rounds later nothing is new any more.
    within 10 more_rounds $(($(rounds) + 4)) || true
    handle=$(handle 10.0.1.4)
    check "$1: filter $handle is deleted by somebody" \
        tc filter del dev v1 ingress protocol ip pref 2 handle "$handle" flower
    check "$1: its flow goes within five seconds and two rounds" within 6 is_gone 4
    check "$1: and is back with its next packets" within 5 comes_back 4
    vsctl_config max-idle=$IDLE
}

foreign() {
    tcb show .last_dump.foreign
}

# added: a filter that somebody adds, with a handle of the same prio.
added() {
    try tc filter add dev v1 ingress protocol ip pref 2 handle 0x7777 flower \
        dst_ip 10.9.9.9 action pass
    check "$1: a foreign filter is noticed within five seconds" \
        within 6 equals 1 foreign
    is "$1: and left alone" "$(handle 10.9.9.9)" 0x7777
    try tc filter del dev v1 ingress protocol ip pref 2 handle 0x7777 flower
}

mode_is() {
    [ "$(tcb show .last_dump.mode)" = "$1" ]
}

host 1
host 2
ovs-vsctl add-br br0 -- add-port br0 v1 -- add-port br0 v2
agent_start
agent open 1 h1 e1
flows_set br0 <<'RULES'
ip,in_port=v1 actions=move:NXM_OF_IP_DST[]->NXM_NX_REG0[],output:v2
RULES
vsctl_config max-idle=$IDLE max-revalidator=$ROUND

if able used_since; then
    best='delta'
    modes=(delta terse)
else
    best='terse'
    modes=(terse)
fi
is "the best mode is used by default" "$(tcb show .last_dump.mode)" "$best"
for mode in "${modes[@]}"; do
    vsctl_config tc-batch-dump-mode="$mode"
    check "mode $mode" within 5 mode_is "$mode"
    age "$mode"
    # All that is different from here on is in the best mode.
    [ "$mode" = "$best" ] || continue
    idle_time "$mode"
    removed "$mode"
    added "$mode"
done
vsctl_config tc-batch-dump-mode=full
check "mode full" within 5 mode_is full
vsctl_config tc-batch-dump-mode=delta
check "back to the best mode" within 5 mode_is "$best"
finish
