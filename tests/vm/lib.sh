# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the tests of this directory share: results in TAP, waiting with a limit,
# hosts in network namespaces, and counts of flows as each of the parties has
# them.  Source it first; call "finish" last.  Everything that a test makes in
# namespaces, and all of Open vSwitch's configuration, is removed at the end.

# shellcheck source=tools/guest/env.sh
. "${OVS_TCB_SRC:?}/tools/guest/env.sh"
VM_TESTS=$OVS_TCB_SRC/tests/vm

n_results=0
n_failed=0
# Extended regular expressions of lines at WARN or above that are expected.
# The first are those of a machine that is slow or busy; a flow that dpctl
# deleted is deleted once more by the revalidator.
LOG_ALLOWED=('\|timeval.*\|WARN\|' 'ovs_rcu.*blocked [0-9]+ ms waiting'
    'Spent an unreasonably long' 'Dropped [0-9]+ log messages'
    'cannot get R?STP status on nonexistent port'
    'failed to flow_del \(No such file or directory\)')
log_start=0
vswitchd_pid=
agent_pid=
paused=
traffic_pids=()

# A descriptor that never has data: "read -t" of it is a sleep without a fork.
exec {pause_fd}<> <(:)
scratch=

# Results.

# diag TEXT...
diag() {
    # shellcheck disable=SC2001
    sed 's/^/#   /' <<<"$*"
}

ok() {
    n_results=$((n_results + 1))
    printf 'ok %d - %s\n' "$n_results" "$1"
}

# not_ok NAME [TEXT...]: TEXT says what was seen.
not_ok() {
    n_results=$((n_results + 1))
    n_failed=$((n_failed + 1))
    printf 'not ok %d - %s\n' "$n_results" "$1"
    shift
    [ $# = 0 ] || diag "$*"
}

# check NAME COMMAND...: ok when COMMAND succeeds; its output is shown if not.
check() {
    local name=$1
    shift
    if "$@" >"$scratch/check" 2>&1; then
        ok "$name"
    else
        not_ok "$name" "failed: $*"$'\n'"$(head -n 20 "$scratch/check")"
    fi
}

# try COMMAND...: on the way to a check, which will tell.
try() {
    "$@" >"$scratch/try" 2>&1 || diag "failed: $*"$'\n'"$(head -n 5 "$scratch/try")"
}

# is NAME GOT WANTED
is() {
    if [ "$2" = "$3" ]; then
        ok "$1"
    else
        not_ok "$1" "wanted: $3"$'\n'"got:    $2"
    fi
}

# finish: the last checks, and the plan.
finish() {
    check_daemon
    check_log
    printf '1..%d\n' "$n_results"
    [ "$n_failed" = 0 ]
}

# Waiting.

pause() {
    read -rt "$1" -u "$pause_fd" || true
}

# now_ms: sets NOW to the time in milliseconds.
now_ms() {
    NOW=$((${EPOCHREALTIME/./} / 1000))
}

# shellcheck disable=SC2034
# within SECONDS COMMAND...: until COMMAND succeeds; sets TOOK (ms).  A kernel
# with more checks is given more time.
within() {
    local start deadline
    now_ms
    start=$NOW deadline=$((NOW + $1 * ${LAB_SLOW:-1} * 1000))
    shift
    until "$@"; do
        now_ms
        if [ "$NOW" -ge "$deadline" ]; then
            TOOK=$((NOW - start))
            return 1
        fi
        pause 0.1
    done
    now_ms
    TOOK=$((NOW - start))
}

# equals WANTED COMMAND...: COMMAND prints WANTED.
equals() {
    local wanted=$1
    shift
    [ "$("$@")" = "$wanted" ]
}

# at_least N COMMAND...: COMMAND prints N or more.
at_least() {
    local wanted=$1
    shift
    [ "$("$@")" -ge "$wanted" ]
}

# Hosts.

# host N [inet6]: namespace hN, whose device eN (10.0.0.N, and fd00::N if
# asked) is the peer of vN.
host() {
    local n=$1 name=h$1
    ip netns add "$name"
    # Nothing is sent but what a test sends.
    if [ "${2-}" = inet6 ]; then
        in_host "$n" sh -c 'cd /proc/sys/net/ipv6/conf/default &&
            echo 0 >accept_ra && echo 1 >addr_gen_mode'
    else
        in_host "$n" sh -c \
            'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6'
    fi
    veth "$n"
    ip -n "$name" addr add "10.0.0.$n/24" dev "e$n"
    [ "${2-}" != inet6 ] ||
        ip -n "$name" addr add "fd00::$n/64" dev "e$n" nodad
}

# veth N: the pair alone, without addresses.
veth() {
    ip link add "v$1" type veth peer name "e$1" netns "h$1" \
        address "02:00:00:00:00:0$1"
    ip link set "v$1" up
    ip -n "h$1" link set "e$1" up
}

# bond_make: a host h1 with 10.0.0.1 at a bond e1 of two devices, whose peers
# are members of the bond b1 here.
bond_make() {
    local m
    ip netns add h1
    in_host 1 sh -c 'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6'
    ip link add b1 type bond mode active-backup miimon 50
    ip -n h1 link add e1 type bond mode active-backup miimon 50
    for m in a b; do
        ip link add "b1$m" type veth peer name "e1$m" netns h1
        ip -n h1 link set "e1$m" master e1
        ip link set "b1$m" master b1
    done
    ip -n h1 link set e1 address 02:00:00:00:00:01 up
    ip -n h1 addr add 10.0.0.1/24 dev e1
    ip link set b1 up
}

in_host() {
    ip netns exec "h$1" "${@:2}"
}

# ping_start N ADDRESS [INTERVAL]: pings in the background, with the time of
# each answer, into $LAB_OUT/ping-N.
ping_start() {
    in_host "$1" ping -n -D -i "${3:-0.1}" "$2" >"$LAB_OUT/ping-$1" 2>&1 &
    traffic_pids+=($!)
    within 5 grep -q 'bytes from' "$LAB_OUT/ping-$1" || true
}

ping_stop() {
    [ "${#traffic_pids[@]}" -gt 0 ] || return 0
    kill "${traffic_pids[@]}" 2>/dev/null || true
    wait "${traffic_pids[@]}" 2>/dev/null || true
    traffic_pids=()
}

# ping_gap N SINCE: the longest time without an answer, in ms, from SINCE (ms)
# to now.
ping_gap() {
    now_ms
    awk -F'[][]' -v last="$2" -v now="$NOW" '
        function gap(t) { if (t - last > max) max = t - last; last = t }
        /bytes from/ && $2 * 1000 > last { gap($2 * 1000) }
        END { gap(now); printf "%d\n", max }' "$LAB_OUT/ping-$1"
}

# pings N ADDRESS [COUNT]: all of COUNT pings are answered.
pings() {
    in_host "$1" ping -n -q -c "${3:-3}" -i 0.05 -W 5 "$2" >/dev/null
}

# The kernel's packet generator, in h1.

# pg FILE LINE...: tells pktgen.
pg() {
    local file=/proc/net/pktgen/$1
    shift
    # shellcheck disable=SC2016
    in_host 1 bash -c 'f=$1; shift; for l; do echo "$l" >"$f" || exit 1; done' \
        - "$file" "$@"
}

# pktgen_init N: small UDP packets from N addresses in turn.
pktgen_init() {
    local last=$(($1 - 1))
    [ -e /proc/net/pktgen ] || modprobe pktgen
    pg kpktgend_0 "rem_device_all" "add_device e1"
    pg e1 "clone_skb 0" "pkt_size 60" "delay 0" "dst 10.2.0.1" \
        "dst_mac 02:00:00:00:00:02" "src_min 10.1.0.0" \
        "src_max 10.$((1 + last / 65536)).$((last / 256 % 256)).$((last % 256))"
}

# Frames and connections, see agent.py.

agent_start() {
    coproc AGENT { OVS_RUN=$OVS_RUN exec python3 "$VM_TESTS/agent.py" 2>&1; }
    # shellcheck disable=SC2153
    agent_pid=$AGENT_PID
    agent_in=${AGENT[1]} agent_out=${AGENT[0]}
}

# agent COMMAND...: sets REPLY to the answer; fails if that is an error.
agent() {
    local line answer=
    printf '%s\n' "$*" >&"$agent_in"
    while IFS= read -rt 30 -u "$agent_out" line && [ "$line" != . ]; do
        answer+=${answer:+$'\n'}$line
    done
    REPLY=$answer
    [ "${answer#error: }" = "$answer" ]
}

# Open vSwitch.

# vsctl_config KEY=VALUE...: other_config of the switch.
vsctl_config() {
    ovs-vsctl set Open_vSwitch . "${@/#/other_config:}"
}

# flows_set BRIDGE: replaces the OpenFlow rules by those on standard input.
flows_set() {
    ovs-ofctl -O OpenFlow13 --bundle replace-flows "$1" -
}

# purge: no datapath flow is left.
purge() {
    ovs-appctl revalidator/purge
}

note_daemon() {
    read -r vswitchd_pid <"$OVS_RUN/ovs-vswitchd.pid"
}

# vswitchd_restart [KEY=VALUE...]: asked to exit, and started again.
vswitchd_restart() {
    vswitchd_exit ''
    vswitchd_start "$@"
}

# vswitchd_exit [--cleanup]
vswitchd_exit() {
    ovs-appctl -T 20 exit ${1:+"$1"}
    within 10 daemon_gone
}

vswitchd_start() {
    ovs-up.sh --keep "$@"
    note_daemon
    within 10 ovs-vsctl -t 10 show >/dev/null
}

vswitchd_kill() {
    kill -9 "$vswitchd_pid"
    within 10 daemon_gone
}

daemon_gone() {
    ! kill -0 "$vswitchd_pid" 2>/dev/null
}

check_daemon() {
    local pid=
    read -r pid <"$OVS_RUN/ovs-vswitchd.pid" || true
    is "ovs-vswitchd is the same process as before" \
        "$pid $(ps -o comm= -p "${pid:-1}")" "$vswitchd_pid ovs-vswitchd"
}

# log_bad: unexpected lines at WARN or above since the start of the test.
log_bad() {
    local IFS='|'
    tail -c +$((log_start + 1)) "$OVS_LOG/ovs-vswitchd.log" |
        grep -E '\|(WARN|ERR|EMER)\|' | grep -vE "${LOG_ALLOWED[*]}" || true
}

check_log() {
    local bad
    bad=$(log_bad)
    if [ -z "$bad" ]; then
        ok "nothing unexpected at WARN or above in the log"
    else
        not_ok "nothing unexpected at WARN or above in the log" \
            "$(wc -l <<<"$bad") lines, the first ones:"$'\n'"$(head -n 8 <<<"$bad")"
    fi
}

# Counts.

# tcb COMMAND FILTER: the JSON of tc-batch/COMMAND through jq.
tcb() {
    ovs-appctl --format json "tc-batch/$1" | jq -r ".[]$2"
}

show_flows() {
    tcb show .flows
}

# able NAME: the kernel has the ability that tc-batch/show calls so.  A test of
# what it has not got checks what is done instead.
able() {
    [ "$(tcb show ".kernel.$1")" = true ]
}

# dp_flows TYPE [PATTERN]: flows of the datapath that match PATTERN.
dp_flows() {
    ovs-appctl dpctl/dump-flows -m "type=$1" | grep -cE "${2:-^ufid:}" || true
}

dump_flows() {
    ovs-appctl dpctl/dump-flows -m "type=$1" | grep -E "${2:-.}" || true
}

# The cookie of the filters that keep a prio alive, "tc-batch/prio   ".
PLACEHOLDER=74632d62617463682f7072696f202020

# filters DEVICE [ingress|egress]: all filters, foreign ones too.
filters() {
    tc filter show dev "$1" "${2:-ingress}" | grep -c ' handle ' || true
}

# placeholders DEVICE [HOOK]
placeholders() {
    tc -s filter show dev "$1" "${2:-ingress}" | grep -c "cookie $PLACEHOLDER" || true
}

# our_filters DEVICE [HOOK]: those of flows, which have a cookie.
our_filters() {
    cookies "$1" "${2:-ingress}" | wc -l
}

# cookies DEVICE [HOOK]: one for each filter of ours.
cookies() {
    tc -s filter show dev "$1" "${2:-ingress}" |
        awk -v placeholder="$PLACEHOLDER" '/^filter/ { new = 1 }
            $1 == "cookie" && new { new = 0; if ($2 != placeholder) print $2 }' |
        sort
}

# police [RANGE]: indexes of police actions, one a line; RANGE is ours (0x2),
# intree (0x1) or foreign.
police() {
    tc actions list action police | awk '$4 == "police" { print $5 }' | case ${1:-all} in
    ours) grep -iE '^0x2[0-9a-f]{7}$' ;;
    intree) grep -iE '^0x1[0-9a-f]{7}$' ;;
    foreign) grep -viE '^0x[12][0-9a-f]{7}$' ;;
    *) cat ;;
    esac || true
}

police_count() {
    police "${1-}" | wc -l
}

# Start and end.

cleanup() {
    local name
    set +e
    ping_stop
    [ -z "$agent_pid" ] || kill "$agent_pid"
    if lab_alive ovs-vswitchd; then
        # A second resume would block the daemon for ever.
        [ -z "$paused" ] || ovs-appctl -T 10 revalidator/resume
        for name in $(ovs-vsctl list-br); do
            ovs-vsctl -t 10 del-br "$name"
        done
    fi
    for name in $(ip netns list | awk '/^h[0-9]/ { print $1 }'); do
        ip netns delete "$name"
    done
    ip link delete b1
    tc actions flush action police
    rm -rf "$scratch"
} >/dev/null 2>&1

begin() {
    set -euo pipefail
    trap cleanup EXIT
    mkdir -p "$LAB_OUT"
    scratch=$(mktemp -d)
    echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
    note_daemon
    log_start=$(wc -c <"$OVS_LOG/ovs-vswitchd.log")
}

begin
