#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Revalidation in a whole Open vSwitch with its default settings:
# BENCH_IDLE_FLOWS idle filters are kept, and BENCH_BUSY_FLOWS flows get 20
# packets a second each, for BENCH_SECONDS.  The variants, the in-tree provider,
# ours in mode terse, and in mode delta where the kernel can do that, take
# turns, BENCH_RUNS times.  Leaves a line for each run in $LAB_OUT/revalidate:
#
#     VARIANT DURATION MIN MAX LIMIT-FIRST LIMIT-LEAST CPU UPCALLS FLOWS
#
# DURATION is the median of what Open vSwitch says its dumps take, in ms; LIMIT
# its limit of flows; CPU what the revalidators use, in ms per second; UPCALLS
# those of the busy flows, each of which had been in TC and was not any more;
# FLOWS those in TC at the end.
# shellcheck source=tests/vm/lib.sh
. "${OVS_TCB_SRC:?}/tests/vm/lib.sh"

idle=${BENCH_IDLE_FLOWS:?} busy=${BENCH_BUSY_FLOWS:?} seconds=${BENCH_SECONDS:?}
dir=$LAB_OUT
runs=${BENCH_RUNS:?} total=$((idle + busy))

fail() {
    printf 'revalidate: %s\n' "$*" >&2
    exit 1
}

# show: sets LIMIT, DURATION and OFFLOADED.
show() {
    agent ctl upcall/show || fail "$REPLY"
    [[ $REPLY =~ '(limit '([0-9]+)')' ]] || fail "no limit in: $REPLY"
    LIMIT=${BASH_REMATCH[1]}
    [[ $REPLY =~ 'dump duration : '([0-9]+)ms ]] || fail "no duration in: $REPLY"
    DURATION=${BASH_REMATCH[1]}
    OFFLOADED=0
    [[ ! $REPLY =~ 'offloaded flows : '([0-9]+) ]] ||
        OFFLOADED=${BASH_REMATCH[1]}
}

# generate FIRST COUNT RATE PACKETS: from COUNT addresses; 0 packets: no end.
generate() {
    pg e1 "src_min 10.$((1 + $1 / 65536)).$(($1 / 256 % 256)).$(($1 % 256))" \
        "src_max 10.$((1 + ($1 + $2 - 1) / 65536)).$((($1 + $2 - 1) / 256 % 256)).$((($1 + $2 - 1) % 256))" \
        "count $4" "ratep $3"
    pg pgctrl start
}

# all_in: all flows are in TC; what is missing gets packets once more.
all_in() {
    agent ctl upcall/set-flow-limit $((2 * total)) || fail "$REPLY"
    show
    [ "$OFFLOADED" -ge "$total" ] || {
        generate 0 "$total" 10000 "$total"
        false
    }
}

# cpu_ms: what the revalidators have used.
cpu_ms() {
    local pid hz
    pid=$(cat "$OVS_RUN/ovs-vswitchd.pid")
    hz=$(getconf CLK_TCK)
    # Threads come and go meanwhile.
    { cat /proc/"$pid"/task/*/stat 2>/dev/null || true; } |
        awk -v hz="$hz" '$2 ~ /^\(revalidator/ { sum += $14 + $15 }
            END { printf "%d\n", sum * 1000 / hz }'
}

missed() {
    ovs-appctl dpctl/show |
        sed -nE 's/.*lookups: hit:[0-9]+ missed:([0-9]+) .*/\1/p'
}

# start VARIANT
start() {
    vswitchd_exit --cleanup || fail "ovs-vswitchd does not exit"
    case $1 in
    intree) vswitchd_start hw-offload-priority=tc ;;
    *) vswitchd_start hw-offload-priority=tc-batch tc-batch-dump-mode="${1#ours-}" ;;
    esac
    agent_start
    flows_set br0 <<'RULES'
ip,in_port=v1 actions=move:NXM_OF_IP_SRC[]->NXM_NX_REG0[],output:v2
RULES
    within 600 all_in || fail "$1: $OFFLOADED of $total flows in TC"
}

# run VARIANT
run() {
    local durations=() least first cpu upcalls sorted
    start "$1"
    generate 0 "$busy" $((20 * busy)) 0 &
    generator=$!
    # The busy flows are in use, and what was raised has settled.
    sleep 5
    show
    first=$LIMIT least=$LIMIT
    cpu=$(cpu_ms) upcalls=$(missed)
    for ((s = 0; s < seconds; s++)); do
        sleep 1
        show
        durations+=("$DURATION")
        [ "$LIMIT" -ge "$least" ] || least=$LIMIT
    done
    cpu=$((($(cpu_ms) - cpu) / seconds))
    upcalls=$(($(missed) - upcalls))
    pg pgctrl stop
    wait "$generator"
    mapfile -t sorted < <(printf '%s\n' "${durations[@]}" | sort -n)
    printf '%s %d %d %d %d %d %d %d %d\n' "$1" \
        "${sorted[seconds / 2]}" "${sorted[0]}" "${sorted[-1]}" "$first" \
        "$least" "$cpu" "$upcalls" "$OFFLOADED" | tee -a "$dir/revalidate"
    kill "$agent_pid"
    wait "$agent_pid" 2>/dev/null || true
    agent_pid=
}

: >"$dir/revalidate"
echo 100000 >/proc/sys/net/core/netdev_max_backlog
host 1
host 2
# The idle ones are to stay.
vsctl_config max-idle=3600000
ovs-vsctl add-br br0 -- add-port br0 v1 -- add-port br0 v2
pktgen_init "$total"
variants=(intree ours-terse)
! able used_since || variants+=(ours-delta)
for ((i = 0; i < runs; i++)); do
    for ((j = 0; j < ${#variants[@]}; j++)); do
        run "${variants[(i + j) % ${#variants[@]}]}"
    done
done
