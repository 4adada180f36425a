#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# 10,000 flows from real traffic: installed in batches, counted alike by
# everyone who counts, neither lost nor doubled nor flapping, and gone at once.
# shellcheck source=tests/vm/lib.sh
. "${0%/*}/lib.sh"

N=10000

# pktgen_send ROUNDS PACE: each source address ROUNDS times.
pktgen_send() {
    pg e1 "count $((N * $1))" "$2"
    pg pgctrl start
}

# sums: flows, distinct ufids and packets in the datapath's dump.
sums() {
    ovs-appctl dpctl/dump-flows -m type=tc | awk '
        /^ufid:/ && /in_port\(v1\)/ && /eth_type\(0x0800\)/ {
            n++
            distinct += !seen[$1]++
            split($0, part, "packets:")
            packets += part[2] + 0
        }
        END { print n + 0, distinct + 0, packets + 0 }'
}

# kernel_sums: filters and packets, from TC itself.
kernel_sums() {
    tc -s filter show dev v1 ingress protocol ip pref 2 | awk '
        / handle / && $NF != "0x1" { n++ }
        $1 == "Sent" { packets += $4 }
        END { print n + 0, packets + 0 }'
}

# still: nothing is deleted or lowered while we count.
still() {
    raise_limit
    ovs-appctl revalidator/pause
    paused=yes
}

go_on() {
    raise_limit
    ovs-appctl revalidator/resume
    paused=
}

counts() {
    printf 'show %s, dump %s, filters %s\n' \
        "$(tcb show .ports.v1.flows)" "$(sums | cut -d' ' -f2)" \
        "$(kernel_sums | cut -d' ' -f1)"
}

packets_settle() {
    [ "$(sums | cut -d' ' -f3)" = "$(kernel_sums | cut -d' ' -f2)" ]
}

# raise_limit: a slow machine makes Open vSwitch lower its limit of flows, and
# then delete those above it.
raise_limit() {
    ovs-appctl upcall/set-flow-limit 200000 >/dev/null
}

all_in() {
    raise_limit
    [ "$(tcb show .ports.v1.flows)" -ge "$N" ] || {
        pktgen_send 1 "ratep 20000"
        false
    }
}

rounds_done() {
    raise_limit
    [ "$(tcb show .last_dump.rounds)" -ge "$1" ]
}

# Where flows come faster than they are installed, packets are lost on the way
# to Open vSwitch; they are sent again.
LOG_ALLOWED+=('datapath reached the dynamic limit' 'lost packet on handler')
# A slow machine would also delete what it finds too idle to revalidate.
vsctl_config flow-limit=200000 max-idle=600000 min-revalidate-pps=0
host 1
host 2
ovs-vsctl add-br br0 -- add-port br0 v1 -- add-port br0 v2
# A field that is moved is matched exactly: a flow for each source address.
flows_set br0 <<'RULES'
ip,in_port=v1 actions=move:NXM_OF_IP_SRC[]->NXM_NX_REG0[],output:v2
RULES
raise_limit
pktgen_init "$N"

read -r messages batches < <(tcb stats '|"\(.messages) \(.batches)"')
check "$N flows of real traffic are all in TC" within 60 all_in
still
read -r messages2 batches2 < <(tcb stats '|"\(.messages) \(.batches)"')
mean=$(((messages2 - messages) * 100 / (batches2 - batches)))
diag "$(printf 'installed in %d ms, %d.%02d messages per batch' \
    "$TOOK" $((mean / 100)) $((mean % 100)))"
check "the mean batch has more than 4 messages" [ "$mean" -gt 400 ]
is "tc-batch/show, dpctl/dump-flows and tc count the same" \
    "$(counts)" "show $N, dump $N, filters $N"
check "no more than a few flows are in the kernel datapath" \
    test "$(dp_flows ovs 'in_port\(v1\)')" -le 5

before=$(tcb stats '|"adds \(.adds) deletes \(.deletes) refused \(.not_offloaded)"')
base=$(kernel_sums | cut -d' ' -f2)
rounds=$(tcb show .last_dump.rounds)
pktgen_send 3 "delay 0"
sent=$(in_host 1 awk '$1 == "pkts-sofar:" { print $2 }' /proc/net/pktgen/e1)
read -r filters packets < <(kernel_sums)
is "TC handled each packet that was sent" \
    "$filters filters, $((packets - base)) packets" "$N filters, $sent packets"
check "the datapath's packet counts become those of TC" within 10 packets_settle
is "each flow is dumped once" "$(sums | cut -d' ' -f1,2)" "$N $N"
go_on
check "revalidation goes on" within 20 rounds_done $((rounds + 6))
still
is "nothing was added, deleted or refused meanwhile" "$(tcb stats \
    '|"adds \(.adds) deletes \(.deletes) refused \(.not_offloaded)"')" "$before"
is "everyone still counts the same" "$(counts)" "show $N, dump $N, filters $N"

go_on
check "dpctl/del-flows" ovs-appctl dpctl/del-flows
is "all counts are 0 after it" "$(counts)" "show 0, dump 0, filters 0"
finish
