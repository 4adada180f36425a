#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Devices, ports, qdiscs and filters that go away under traffic: it goes on, is
# offloaded again within 5 seconds, and nothing is tried for ever.
# shellcheck source=tests/vm/lib.sh
. "${0%/*}/lib.sh"

# OVS itself warns of a device that is gone.
LOG_ALLOWED+=('could not open network device v1 \(No such device\)'
    'v1: removing policing failed: No such device'
    'ioctl\(.*\) on v1 device failed: No such device'
    'bridge.*v1.*No such device')

v1_in_tc() {
    [ "$(dp_flows tc 'in_port\(v1\).*eth_type\(0x0800\)')" -ge 1 ] &&
        tc filter show dev v1 ingress protocol ip | grep ' handle ' >/dev/null
}

in_tc_or_why() {
    v1_in_tc || {
        : >"$scratch/check"
        tcb why '.v1.refusals[] | "\(.count) x \(.cause) \(.detail)"'
        dump_flows all 'in_port\(v1\)'
        false
    }
}

# answered_since MS: the ping got an answer after MS.
answered_since() {
    awk -F'[][]' -v since="$1" '/bytes from/ && $2 * 1000 > since { found = 1 }
        END { exit !found }' "$LAB_OUT/ping-1"
}

# recovers NAME: from now on traffic passes and is offloaded within 5 s.
recovers() {
    now_ms
    check "$1: traffic passes within 5 s" within 5 answered_since "$NOW"
    check "$1: offloaded within 5 s" within 5 in_tc_or_why
}

# host1_address: what a new e1 needs.
host1_address() {
    ip -n h1 addr add 10.0.0.1/24 dev e1
}

# lines_of LEVELS: how many the log has.
log_lines() {
    wc -l <"$OVS_LOG/ovs-vswitchd.log"
}

# device_cycle: delete and make it again under the same name.
device_cycle() {
    ip link delete v1
    within 5 port_gone || true
    veth 1
    host1_address
}

port_gone() {
    [ "$(tcb show .ports.v1)" = null ]
}

# The kernel's view: no filter of ours but those that a count knows.
counts_agree() {
    [ "$(tcb show .ports.v1.flows)" = "$(our_filters v1)" ]
}

host 1
host 2
ovs-vsctl add-br br0 -- add-port br0 v1 -- add-port br0 v2
check "hosts reach each other" pings 1 10.0.0.2
ping_start 1 10.0.0.2
check "their flows are in TC" within 5 v1_in_tc

# A device.
device_cycle
ping_stop
ping_start 1 10.0.0.2
recovers "device deleted and made again"
ping_stop
for _ in 1 2 3; do
    device_cycle
done
ping_start 1 10.0.0.2
recovers "three times in a row"
lines=$(log_lines)
pause 2
check "the log is quiet afterwards" [ $(($(log_lines) - lines)) -le 5 ]

# A port.
ovs-vsctl del-port br0 v1
is "a deleted port leaves no filter and no qdisc" \
    "$(our_filters v1) $(tc qdisc show dev v1 | grep -cE 'ingress|clsact')" "0 0"
ovs-vsctl add-port br0 v1
recovers "port deleted and added"

# A filter.
handle=$(tc filter show dev v1 ingress protocol ip pref 2 |
    awk '/ handle / && $NF != "0x1" { print $NF; exit }')
tc filter delete dev v1 ingress protocol ip pref 2 handle "$handle" flower
recovers "filter deleted behind our back"
check "filter deleted behind our back: counts agree" within 5 counts_agree

# All filters of a prio.
tc filter delete dev v1 ingress protocol ip pref 2
recovers "prio deleted behind our back"
check "prio deleted behind our back: counts agree" within 5 counts_agree

# A qdisc.
tc qdisc delete dev v1 ingress
recovers "qdisc deleted behind our back"
check "qdisc deleted behind our back: counts agree" within 5 counts_agree
lines=$(log_lines)
pause 2
check "the log is quiet after it" [ $(($(log_lines) - lines)) -le 5 ]
ovs-vsctl del-port br0 v1
ovs-vsctl add-port br0 v1
recovers "qdisc gone, port deleted and added"
finish
