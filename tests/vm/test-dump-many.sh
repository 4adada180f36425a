#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# dpctl/dump-flows of DUMP_FLOWS (100,000) flows while others come and somebody
# deletes some: all that stay are in it, none is there twice, and memory is that
# of the answer.
# lab: by-name
# shellcheck source=tests/vm/lib.sh
. "${0%/*}/lib.sh"

N=${DUMP_FLOWS:-100000}
EXTRA=$((N / 10))               # Flows that come and go.

# address N
address() {
    printf '10.%d.%d.%d\n' $((1 + $1 / 65536)) $(($1 / 256 % 256)) $(($1 % 256))
}

# send FIRST COUNT RATE: a packet from each of COUNT addresses.
send() {
    pg e1 "src_min $(address "$1")" "src_max $(address $(($1 + $2 - 1)))" \
        "count $2" "ratep $3"
    pg pgctrl start
}

in_tc() {
    tcb show .ports.v1.flows
}

# keep_limit: Open vSwitch shrinks its limit of flows where dumps take long, as
# beside packets of as many new flows; that is not what is tried here.
keep_limit() {
    while [ -e "$scratch/limit" ]; do
        ovs-appctl upcall/set-flow-limit 8000000 >/dev/null
        pause 0.2
    done
}

# all_in WANTED FIRST COUNT: of COUNT addresses; what was lost is sent again.
all_in() {
    [ "$(in_tc)" -ge "$1" ] || {
        send "$2" "$3" 5000
        false
    }
}

# sources FILE: the addresses of a dump's flows of v1, in order.
sources() {
    sed -nE 's/.*in_port\((v1|[0-9]+)\).*ipv4\(src=([0-9.]+),.*/\2/p' "$1" | sort
}

# disturb: others come, and somebody deletes filters, until the file is gone.
disturb() {
    local next=$((N + EXTRA / 2)) handles handle i=0
    mapfile -t handles <"$scratch/handles"
    while [ -e "$scratch/disturb" ] && [ "$next" -lt $((N + EXTRA)) ]; do
        send "$next" 100 2000
        next=$((next + 100))
        for handle in "${handles[@]:i:20}"; do
            tc filter del dev v1 ingress protocol ip pref 2 handle "$handle" flower
        done
        i=$((i + 20))
    done
    echo "$((next - N - EXTRA / 2)) $i" >"$scratch/disturbed"
}

# memory FIELD: of ovs-vswitchd, KiB.
memory() {
    awk -v field="$1:" '$1 == field { print $2 }' "/proc/$vswitchd_pid/status"
}

# dump NAME ARGUMENT...: into $scratch/NAME; says how long it took.
dump() {
    local start
    now_ms
    start=$NOW
    ovs-appctl dpctl/dump-flows "${@:2}" >"$scratch/$1"
    now_ms
    diag "dpctl/dump-flows ${*:2}: $(wc -l <"$scratch/$1") lines, $((NOW - start)) ms"
}

# complete NAME: of the addresses that stay, how many are not in a dump, and how
# many of all are there twice.
complete() {
    sources "$scratch/$1" >"$scratch/addresses"
    printf '%d missing, %d twice\n' \
        "$(uniq "$scratch/addresses" | comm -23 "$scratch/stay" - | wc -l)" \
        "$(uniq -d "$scratch/addresses" | wc -l)"
}

# Packets are lost where flows come faster than they are installed.
LOG_ALLOWED+=('datapath reached the dynamic limit' 'lost packet on handler')
: >"$scratch/limit"
keep_limit &
vsctl_config flow-limit=8000000 max-idle=3600000 min-revalidate-pps=0
host 1
host 2
ovs-vsctl add-br br0 -- add-port br0 v1 -- add-port br0 v2
flows_set br0 <<'RULES'
ip,in_port=v1 actions=move:NXM_OF_IP_SRC[]->NXM_NX_REG0[],output:v2
RULES
pktgen_init "$N"
check "$N flows are in TC" within 600 all_in "$N" 0 "$N"
tc filter show dev v1 ingress protocol ip pref 2 | awk '/ handle / { print $NF }' |
    sort >"$scratch/first"
check "and $((EXTRA / 2)) that will be deleted" \
    within 60 all_in $((N + EXTRA / 2)) "$N" $((EXTRA / 2))
tc filter show dev v1 ingress protocol ip pref 2 | awk '/ handle / { print $NF }' |
    sort | comm -13 "$scratch/first" - >"$scratch/handles"
for ((i = 0; i < N; i++)); do
    echo "10.$((1 + i / 65536)).$((i / 256 % 256)).$((i % 256))"
done | sort >"$scratch/stay"

dump quiet -m type=tc
is "at rest nothing is missing" "$(complete quiet)" "0 missing, 0 twice"
before=$(memory VmHWM)
: >"$scratch/disturb"
disturb &
dump tc -m type=tc
dump all
dump names --names type=tc
rm "$scratch/disturb"
rm "$scratch/limit"
wait
read -r came went <"$scratch/disturbed"
diag "$came flows came and $went filters were deleted meanwhile"
check "flows came and went" test $((came > 0 && went > 0)) = 1
for name in tc all names; do
    is "dump $name while flows came and went" "$(complete $name)" \
        "0 missing, 0 twice"
done
answer=$(($(stat -c %s "$scratch/tc") / 1024))
after=$(memory VmHWM)
diag "an answer has $answer KiB; at most $before KiB of memory before, $after after"
check "later dumps need no more memory than the first one and half an answer" \
    [ $((after - before)) -le $((answer / 2)) ]
finish
