#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Each kind of match and action that is offloaded, on traffic: all frames but
# the first pass through TC, arrive once where they should and nowhere else,
# with right checksums; connections work through rewrites.
# shellcheck source=tests/vm/lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=tests/vm/codec-cases.sh
. "${0%/*}/codec-cases.sh"

# nat FAMILY: 10.0.0.9:PORT (fd00::9) is h2's 4000.
nat() {
    local p v6='' virtual=10.0.0.9 real=10.0.0.2
    local dst=nw_dst set_dst=mod_nw_dst: set_src=mod_nw_src: after=
    if [ "$1" = inet6 ]; then
        v6=6 virtual=fd00::9 real=fd00::2 dst=ipv6_dst
        set_dst=set_field: set_src=set_field: after=y
    fi
    for p in tcp udp; do
        printf '%s,in_port=v1,%s=%s,tp_dst=80 actions=%s%s%s,mod_tp_dst:4000,mod_dl_dst:02:00:00:00:00:02,v2\n' \
            "$p$v6" "$dst" "$virtual" "$set_dst" "$real" "${after:+->ipv6_dst}"
        printf '%s,in_port=v2,tp_src=4000 actions=%s%s%s,mod_tp_src:80,v1\n' \
            "$p$v6" "$set_src" "$virtual" "${after:+->ipv6_src}"
    done
}

# connect NAME PROTO ADDRESS VIRTUAL SIZE: a connection, all in TC.
connect() {
    purge
    if agent talk "$2" h1 h2 "$3:4000" "$4:80" "$5"; then
        is "$1, both ways in TC" \
            "$(dp_flows tc 'in_port\(v1\).*actions:set') $(dp_flows tc 'in_port\(v2\).*actions:set') $(dp_flows ovs "proto=.*actions:set")" \
            "1 1 0"
    else
        not_ok "$1" "$REPLY"
    fi
}

connections() {
    local n
    # What is received must have been summed by the sender or by TC.
    for n in 1 2; do
        in_host "$n" ethtool -K "e$n" tx off tso off gso off >/dev/null 2>&1 || true
    done
    in_host 1 ip neigh replace 10.0.0.9 lladdr 02:00:00:00:00:09 dev e1
    in_host 1 ip neigh replace fd00::9 lladdr 02:00:00:00:00:09 dev e1
    { nat inet; nat inet6; echo "priority=1 actions=normal"; } | flows_set br0
    connect "a TCP connection through address and port rewrites" \
        tcp 10.0.0.2 10.0.0.9 200000
    connect "UDP through address and port rewrites" udp 10.0.0.2 10.0.0.9 5000
    connect "a TCP connection through IPv6 rewrites" \
        tcp '[fd00::2]' '[fd00::9]' 200000
    echo "actions=normal" | flows_set br0
    purge
    if agent talk sctp h1 h2 10.0.0.2:4000 10.0.0.2:4000 5000; then
        ok "an SCTP association"
    else
        not_ok "an SCTP association" "$REPLY"
    fi
}

codec_setup
all_flows
connections
finish
