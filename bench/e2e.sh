#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# From packets to filters, in a whole Open vSwitch: the packet generator sends
# BENCH_RATE packets a second from BENCH_E2E_FLOWS addresses in turn, each of
# which makes a flow, until all flows are in TC.  The providers take turns,
# BENCH_RUNS times.  Leaves a line for each run in $LAB_OUT/e2e:
#
#     VARIANT RUN SECONDS SENT LOST UPCALLS UPCALLS-LOST
#
# Lost packets are those that have not come out of the other port; an upcall
# is lost when its handler's queue is full, and its packet with it.
# shellcheck source=tests/vm/lib.sh
. "${OVS_TCB_SRC:?}/tests/vm/lib.sh"

flows=${BENCH_E2E_FLOWS:?} runs=${BENCH_RUNS:?} rate=${BENCH_RATE:?}
limit=300                       # Seconds that a run may take.
dir=$LAB_OUT
variants=(intree ours)
declare -A provider=([intree]=tc [ours]=tc-batch)

fail() {
    printf 'e2e: %s\n' "$*" >&2
    exit 1
}

# offloaded: sets OFFLOADED to the flows that the provider counts.  The same
# question for both, and a cheap one.  A slow machine makes Open vSwitch lower
# its limit of flows, so that is raised again each time.
offloaded() {
    agent ctl upcall/set-flow-limit $((2 * flows)) || fail "$REPLY"
    agent ctl upcall/show || fail "$REPLY"
    OFFLOADED=0
    [[ ! $REPLY =~ 'offloaded flows : '([0-9]+) ]] ||
        OFFLOADED=${BASH_REMATCH[1]}
}

# reaches N: at least N flows; empty: none.
reaches() {
    offloaded
    [ "$OFFLOADED" -ge "$1" ]
}

empty() {
    offloaded
    [ "$OFFLOADED" = 0 ]
}

# lookups: "MISSED LOST" of the kernel datapath.
lookups() {
    ovs-appctl dpctl/show |
        sed -nE 's/.*lookups: hit:[0-9]+ missed:([0-9]+) lost:([0-9]+).*/\1 \2/p'
}

received() {
    in_host 2 cat /sys/class/net/e2/statistics/rx_packets
}

# generate COUNT: in the background, with the time of the start in
# $scratch/start; without an end when COUNT is 0.
generate() {
    pg e1 "count $1" "ratep $rate"
    # shellcheck disable=SC2016
    in_host 1 bash -c 'echo "$EPOCHREALTIME" >"$1"; echo start >"$2"' - \
        "$scratch/start" /proc/net/pktgen/pgctrl &
    generator=$!
}

# start VARIANT: a fresh daemon with an empty table, ready to offload.
start() {
    vswitchd_exit --cleanup || fail "ovs-vswitchd does not exit"
    vswitchd_start hw-offload-priority="${provider[$1]}"
    agent_start
    flows_set br0 <<'RULES'
ip,in_port=v1 actions=move:NXM_OF_IP_SRC[]->NXM_NX_REG0[],output:v2
RULES
    # Whatever is done once is done for a first flow.
    generate 1
    wait "$generator"
    within 20 reaches 1 || fail "$1: a single flow is not offloaded"
    purge
    within 20 empty || fail "$1: a purge leaves $OFFLOADED flows"
}

stop() {
    kill "$agent_pid"
    wait "$agent_pid" 2>/dev/null || true
    agent_pid=
}

# run VARIANT NUMBER
run() {
    local variant=$1 missed lost missed0 lost0 in in0 sent begun ended
    start "$variant"
    read -r missed0 lost0 < <(lookups)
    in0=$(received)
    generate 0
    within "$limit" reaches "$flows" || true
    ended=${EPOCHREALTIME/./}
    pg pgctrl stop
    wait "$generator"
    [ "$OFFLOADED" -ge "$flows" ] ||
        fail "$variant: $OFFLOADED of $flows flows in TC after $limit s"
    # What the provider says is what there is.
    is_there "$variant"
    sent=$(in_host 1 sed -nE 's/.*pkts-sofar: ([0-9]+).*/\1/p' /proc/net/pktgen/e1)
    read -r missed lost < <(lookups)
    in=$(received)
    begun=$(<"$scratch/start")
    awk -v us="$((ended - ${begun/./}))" -v line="$variant $2" \
        -v rest="$sent $((sent - in + in0)) $((missed - missed0)) $((lost - lost0))" \
        'BEGIN { printf "%s %.3f %s\n", line, us / 1e6, rest }' |
        tee -a "$dir/e2e"
    stop
}

is_there() {
    local n
    n=$(tc filter show dev v1 ingress protocol ip | grep -c ' handle 0x')
    [ "$n" -ge "$flows" ] ||
        fail "$1: counts $OFFLOADED flows, and TC has $n filters"
}

: >"$dir/e2e"
# A burst of the generator is not to be lost before it comes to the switch.
echo 100000 >/proc/sys/net/core/netdev_max_backlog
host 1
host 2
# A slow machine would also delete what it finds too idle to revalidate.
vsctl_config flow-limit=$((2 * flows)) max-idle=600000 min-revalidate-pps=0
ovs-vsctl add-br br0 -- add-port br0 v1 -- add-port br0 v2
pktgen_init "$flows"
for ((i = 0; i < runs; i++)); do
    for ((j = 0; j < 2; j++)); do
        run "${variants[(i + j) % 2]}" "$i"
    done
done
