/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "coverage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

const char *const outcome_names[N_OUTCOMES] = {
    "same filter", "both refuse", "duplicate", "known diff.", "WRONG",
};

enum { TAKEN, NOT_TAKEN };      /* By the provider of OVS. */

/* A flow has the row if its match has 'match' and its actions 'actions';
 * pieces are joined by '&', one with '!' must not be there, and "#N" stands
 * for N actions or more. */
static const struct row {
    int number;
    const char *name, *match, *actions;
    int expected;
} rows[] = {
    { 1, "in_port: ordinary", "in_port(1)&!tunnel(", "", TAKEN },
    { 1, "in_port: internal, egress hook", "in_port(3)", "", TAKEN },
    { 1, "in_port: VXLAN", "tunnel(&!geneve(", "", TAKEN },
    { 1, "in_port: Geneve", "geneve(", "", TAKEN },
    { 2, "recirc_id: a chain", "recirc_id(0x&!0x10000000&!0x3e7", "", TAKEN },
    { 2, "recirc_id above 28 bits", "recirc_id(0x10000000)", "", NOT_TAKEN },
    { 3, "recirc_id that no flow leads to", "recirc_id(0x3e7)", "",
      NOT_TAKEN },
    { 4, "Ethernet source", "eth(src=", "", TAKEN },
    { 4, "Ethernet addresses, both", "eth(src=&,dst=", "", TAKEN },
    { 4, "Ethernet address, masked", "src=02:00:00:00:00:00/", "", TAKEN },
    { 5, "Ethernet type", "eth_type(0x88cc)", "", TAKEN },
    { 5, "Ethernet type with wildcards", "eth_type(0x88cc/0xff00)", "",
      TAKEN },
    { 6, "802.1Q", "eth_type(0x8100)&encap(", "", TAKEN },
    { 6, "802.1ad", "eth_type(0x88a8)&encap(", "", TAKEN },
    { 6, "VLAN id alone", "pcp=3/0)", "", TAKEN },
    { 6, "VLAN priority alone", "vid=0/0,pcp=7)", "", TAKEN },
    { 6, "two VLAN tags", "))", "", TAKEN },
    { 6, "VLAN id with a partial mask", "vid=1/1", "", NOT_TAKEN },
    { 6, "VLAN priority with a partial mask", "pcp=1/1", "", NOT_TAKEN },
    { 7, "MPLS label", "mpls(label=100", "", TAKEN },
    { 7, "MPLS, all fields", "label=100,tc=7,ttl=64,bos=1", "", TAKEN },
    { 7, "MPLS, not the last entry", "label=2/0", "", TAKEN },
    { 7, "MPLS, two entries", "label=2,", "", NOT_TAKEN },
    { 8, "ARP: operation, addresses", "arp(sip=1.2.3.4,op=2)", "", TAKEN },
    { 8, "ARP: masks, hardware addresses", "tha=&/ff:ff:ff", "", TAKEN },
    { 8, "RARP", "eth_type(0x8035)", "", TAKEN },
    { 9, "IPv4 source", "ipv4(&src=1.2.3.4", "", TAKEN },
    { 9, "IPv4 destination, masked", "dst=1.2.0.0/", "", TAKEN },
    { 9, "IPv4 TOS, masked", "tos=0x10/0xfc", "", TAKEN },
    { 9, "IPv4 TTL", ",ttl=64,frag", "", TAKEN },
    { 9, "IPv6 source", "src=2001::1,frag", "", TAKEN },
    { 9, "IPv6 destination, masked", "dst=2001::/", "", TAKEN },
    { 9, "IPv6 traffic class, masked", "tclass=0x10/0xfc", "", TAKEN },
    { 9, "IPv6 hop limit", "hlimit=64", "", TAKEN },
    { 10, "IP protocol", "proto=47,", "", TAKEN },
    { 10, "IP protocol, wildcarded", "proto=47/0,", "", TAKEN },
    { 10, "IP protocol, masked", "proto=47/0x0f", "", TAKEN },
    { 10, "IP protocol 0", "(proto=0,", "", TAKEN },
    { 11, "no fragment", "frag=no", "", TAKEN },
    { 11, "first fragment of IPv4", "ipv4(&frag=first", "", TAKEN },
    { 11, "later fragment of IPv4", "ipv4(&frag=later", "", TAKEN },
    { 11, "fragment of IPv6", "ipv6(&frag=first", "", NOT_TAKEN },
    { 11, "later fragment of IPv6", "ipv6(&frag=later", "", NOT_TAKEN },
    { 11, "IPv6 fragment header as protocol", "proto=44", "", NOT_TAKEN },
    { 11, "fragments wildcarded", ",ttl=1)", "", NOT_TAKEN },
    { 12, "TCP ports", "tcp(src=1,dst=2)", "", TAKEN },
    { 12, "TCP port, masked", "tcp(dst=256/", "", TAKEN },
    { 12, "TCP flags", "tcp_flags(", "", TAKEN },
    { 12, "UDP port", "udp(src=1)", "", TAKEN },
    { 12, "UDP port, masked", "udp(dst=1/", "", TAKEN },
    { 12, "SCTP ports", "sctp(src=5,dst=6/", "", TAKEN },
    { 13, "ICMP type and code", "icmp(type=8,code=0)", "", TAKEN },
    { 13, "ICMP type, masked", "icmp(type=8/8)", "", TAKEN },
    { 13, "ICMPv6 type", "icmpv6(type=128)", "", TAKEN },
    { 13, "ND target", "nd(target=", "", NOT_TAKEN },
    { 14, "ct_state new", "ct_state(+new+trk)", "", TAKEN },
    { 14, "ct_state established, reply", "-new+est+rpl", "", TAKEN },
    { 14, "ct_state, all bits", "-new+est-rel-rpl-inv+trk", "", TAKEN },
    { 14, "ct_state invalid", "+inv+trk", "", TAKEN },
    { 14, "ct_state related", "+rel+trk", "", TAKEN },
    { 14, "ct_state untracked", "ct_state(-trk)", "", TAKEN },
    { 14, "ct_state source NAT", "+snat", "", NOT_TAKEN },
    { 14, "ct_state of no packet", "+new+rpl", "", NOT_TAKEN },
    { 15, "ct_zone", "ct_zone(1)", "", TAKEN },
    { 15, "ct_zone, masked", "ct_zone(0/0x3)", "", TAKEN },
    { 15, "ct_mark", "ct_mark(0x1)", "", TAKEN },
    { 15, "ct_mark, masked", "ct_mark(0x10/", "", TAKEN },
    { 15, "ct_label", "ct_label(0x1)", "", TAKEN },
    { 15, "ct_label, masked", "ct_label(0x10000", "", TAKEN },
    { 16, "tunnel id, IPv4", "tun_id=0x7&src=1.1.1.1,dst=", "", TAKEN },
    { 16, "tunnel, IPv6", "ipv6_dst=2001::2,ttl=64/0,tp", "", TAKEN },
    { 16, "tunnel address, masked", "src=1.1.1.0/", "", TAKEN },
    { 16, "tunnel TOS and TTL", "tos=4/0xfc,ttl=64,", "", TAKEN },
    { 16, "tunnel source port", ",tp_src=5,", "", TAKEN },
    { 16, "tunnel destination port", "tp_dst=4789", "", TAKEN },
    { 16, "tunnel without a key", "tun_id=0x0,", "", TAKEN },
    { 16, "tunnel id with a partial mask", "tun_id=0x1/", "", TAKEN },
    { 16, "tunnel id above 32 bits", "tun_id=0x100000001", "", TAKEN },
    { 16, "ERSPAN", "erspan(", "", NOT_TAKEN },
    { 17, "tunnel flag df", "+df", "", TAKEN },
    { 17, "tunnel flag csum", "+csum", "", TAKEN },
    { 17, "tunnel flag oam", "+oam", "", TAKEN },
    { 18, "Geneve option", "geneve({&len=4,0xa})", "", TAKEN },
    { 18, "Geneve options, masked", "geneve({&len=8", "", TAKEN },
    { 18, "Geneve without options", "geneve()", "", TAKEN },
    { 18, "Geneve option without data", "len=0}", "", NOT_TAKEN },
    { 19, "VXLAN group policy", "gbp(id=5/0xffff", "", TAKEN },
    { 19, "VXLAN group policy, flags alone", "gbp(id=5/0,", "", TAKEN },
    { 20, "skb_mark of 0", "skb_mark(0)", "", TAKEN },
    { 20, "skb_mark", "skb_mark(0x1)", "", NOT_TAKEN },
    { 20, "skb_priority", "skb_priority(0x7)", "", NOT_TAKEN },
    { 20, "dp_hash", "dp_hash(0x1)", "", NOT_TAKEN },
    { 20, "IPv6 label", "label=0x5,frag", "", NOT_TAKEN },
    { 21, "output", "", ",2&!check_pkt_len", TAKEN },
    { 21, "output, several", "", "1,2,", TAKEN },
    { 21, "output to an internal port", "", "3", TAKEN },
    { 21, "output to a tunnel without a header", "", ",5", TAKEN },
    { 21, "output to an unknown port", "", ",9", NOT_TAKEN },
    { 22, "push_vlan", "", "push_vlan(vid", TAKEN },
    { 22, "push_vlan of 802.1ad", "", "push_vlan(tpid", TAKEN },
    { 22, "pop_vlan", "", "pop_vlan", TAKEN },
    { 23, "push_mpls", "", "push_mpls(label=5,tc=1,ttl=64", TAKEN },
    { 23, "push_mpls of multicast", "", "eth_type=0x8848", TAKEN },
    { 23, "pop_mpls", "", "pop_mpls", TAKEN },
    { 23, "set of MPLS", "", "set(mpls(", TAKEN },
    { 24, "set Ethernet", "", "set(eth(", TAKEN },
    { 24, "set Ethernet, masked", "", "set(eth(dst=01:00:00:00:00:00/",
      TAKEN },
    { 24, "set IPv4 addresses", "", "set(ipv4(src=1.2.3.4))", TAKEN },
    { 24, "set IPv4, masked", "", "set(ipv4(dst=1.2.0.0/", TAKEN },
    { 24, "set IPv4 TTL", "", "set(ipv4(ttl=1))", TAKEN },
    { 24, "set IPv4 TOS, masked", "", "set(ipv4(tos=4/", TAKEN },
    { 24, "set IPv4, four fields", "", "set(ipv4(src=1.1.1.1,dst", TAKEN },
    { 24, "set IPv6 address", "", "set(ipv6(src=2001::1))", TAKEN },
    { 24, "set IPv6, masked", "", "set(ipv6(dst=2001::/", TAKEN },
    { 24, "set IPv6 hop limit", "", "set(ipv6(hlimit=1))", TAKEN },
    { 24, "set IPv6 traffic class, masked", "", "set(ipv6(tclass=4/", TAKEN },
    { 24, "set IPv6 label", "", "set(ipv6(label", NOT_TAKEN },
    { 24, "set TCP ports", "", "set(tcp(src=1,dst=2))", TAKEN },
    { 24, "set TCP port, masked", "", "set(tcp(dst=1/", TAKEN },
    { 24, "set UDP ports", "", "set(udp(src=1,dst=2))", TAKEN },
    { 24, "set SCTP port", "", "set(sctp(", NOT_TAKEN },
    { 24, "set ARP", "", "set(arp(", NOT_TAKEN },
    { 25, "csum over TCP", "proto=6,&tcp(", "set(tcp(", TAKEN },
    { 25, "csum over UDP", "proto=17,&udp(", "set(udp(", TAKEN },
    { 25, "csum over ICMPv6", "proto=58,", "set(ipv6(", TAKEN },
    { 25, "csum of the IPv4 header alone", "proto=47,&ipv4(", "set(ipv4(",
      TAKEN },
    { 25, "csum makes the protocol exact", "proto=6/0,", "set(ipv4(", TAKEN },
    { 25, "csum over an unknown protocol", "proto=89,", "set(ipv4(",
      NOT_TAKEN },
    { 25, "csum over a fragment", "frag=first&proto=6,", "set(tcp(",
      NOT_TAKEN },
    { 26, "set tunnel, IPv4", "", "set(tunnel(tun_id=0x5,src=1.1.1.1", TAKEN },
    { 26, "set tunnel, IPv6 and Geneve options", "",
      "set(tunnel(tun_id=0x5,ipv6_src", TAKEN },
    { 26, "set tunnel, TOS and flags", "", "flags(df|csum)", TAKEN },
    { 26, "set tunnel, 124 bytes of Geneve", "", "len=124", TAKEN },
    { 26, "set tunnel, VXLAN group policy", "", "gbp(id=7", TAKEN },
    { 26, "set tunnel, source port", "", "tp_src=5", NOT_TAKEN },
    { 26, "set tunnel, oam", "", "flags(oam|key)", NOT_TAKEN },
    { 26, "set tunnel, ERSPAN", "", "erspan(", NOT_TAKEN },
    { 27, "tunnel released before output", "tunnel(", ",2&!check", TAKEN },
    { 27, "tunnel to tunnel", "tunnel(", "set(tunnel(", TAKEN },
    { 27, "goto behind the release", "tunnel(", ",2,recirc", NOT_TAKEN },
    { 28, "ct", "", "ct(zone=5)", TAKEN },
    { 28, "ct: commit", "", "ct(commit)", TAKEN },
    { 28, "ct: force_commit", "", "ct(force_commit", TAKEN },
    { 28, "ct: zone, mark, label", "", "mark=0x5/0xff,label", TAKEN },
    { 28, "ct: nat", "", "ct(zone=3,nat)", TAKEN },
    { 28, "ct: nat to an address", "", "nat(src=1.2.3.4))", TAKEN },
    { 28, "ct: nat to a range", "", "nat(dst=1.2.3.4-1.2.3.9)", TAKEN },
    { 28, "ct: nat to a range of ports", "", "80-100", TAKEN },
    { 28, "ct: nat to IPv6", "", "nat(src=2001::1))", TAKEN },
    { 28, "ct: nat to ranges of IPv6", "", "1-65535", TAKEN },
    { 28, "ct: nat of a direction alone", "", "nat(src))", TAKEN },
    { 28, "ct: helper", "", "helper=", NOT_TAKEN },
    { 28, "ct: timeout", "", "timeout=", TAKEN },
    { 28, "ct: random", "", "random)", TAKEN },
    { 28, "ct_clear", "", "ct_clear", TAKEN },
    { 29, "recirc", "", "recirc(", TAKEN },
    { 29, "recirc with more to follow", "", "recirc(7),", TAKEN },
    { 30, "drop", "", "drop&!,", TAKEN },
    { 30, "drop behind other actions", "", ",drop&!check", TAKEN },
    { 31, "meter in kbit/s", "", "meter(1)&!check", TAKEN },
    { 31, "meter in packets/s", "", "meter(2)&!check", TAKEN },
    { 31, "two meters", "", "meter(1)&meter(2)&!check", TAKEN },
    { 31, "unknown meter", "", "meter(99)", NOT_TAKEN },
    { 32, "check_pkt_len", "!tunnel(", "check_pkt_len(size=200,gt(1),le(2))",
      TAKEN },
    { 32, "check_pkt_len, a branch drops", "!tunnel(", "gt(drop)&!drop))",
      TAKEN },
    { 32, "check_pkt_len, both branches drop", "!tunnel(",
      "gt(drop),le(drop)", TAKEN },
    { 32, "check_pkt_len in a branch", "!tunnel(", "le(check_pkt_len", TAKEN },
    { 32, "check_pkt_len, recirc in a branch", "", "gt(recirc", TAKEN },
    { 32, "check_pkt_len, set in a branch", "", "gt(set(", TAKEN },
    { 32, "check_pkt_len of a tunnel's packets", "tunnel(", "check_pkt_len",
      TAKEN },
    { 33, "more than 16 actions", "", "#17", NOT_TAKEN },
    { 33, "16 actions", "", "#16", TAKEN },
    { 34, "trunc", "", "trunc(", NOT_TAKEN },
    { 34, "userspace", "", "userspace(", NOT_TAKEN },
    { 34, "sample", "", "sample(sample", NOT_TAKEN },
    { 34, "clone", "", "clone(", NOT_TAKEN },
    { 34, "lb_output", "", "lb_output", NOT_TAKEN },
    { 34, "psample", "", "psample", NOT_TAKEN },
    { 34, "set of skb_mark", "", "set(skb_mark", NOT_TAKEN },
};

static unsigned int counts[ARRAY_SIZE(rows)][N_OUTCOMES];

/* Actions of a list, without those in branches. */
static int
count_actions(const char *actions)
{
    int depth = 0, n = 1;

    for (; *actions; actions++) {
        depth += (*actions == '(') - (*actions == ')');
        n += *actions == ',' && !depth;
    }
    return n;
}

static bool
has_piece(const char *text, const char *piece)
{
    return (*piece == '#' ? count_actions(text) >= atoi(piece + 1)
            : strstr(text, piece) != NULL);
}

static bool
has_pieces(const char *text, const char *pieces)
{
    while (*pieces) {
        size_t len = strcspn(pieces, "&");
        bool wanted = *pieces != '!';
        char piece[64];

        ovs_assert(len < sizeof piece);
        memcpy(piece, pieces, len);
        piece[len] = '\0';
        if (has_piece(text, piece + !wanted) != wanted) {
            return false;
        }
        pieces += len + (pieces[len] == '&');
    }
    return true;
}

void
coverage_note(const struct test_text *text, enum outcome outcome)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        if (has_pieces(text->match, rows[i].match)
            && has_pieces(text->actions, rows[i].actions)) {
            counts[i][outcome]++;
        }
    }
}

static bool
is_covered(const struct row *row, const unsigned int *n)
{
    return (row->expected == TAKEN ? n[INSTALLED] || n[KNOWN]
            : n[REFUSED] || n[KNOWN]);
}

unsigned int
coverage_print(void)
{
    unsigned int n_missing = 0;

    printf("# row %-38s", "");
    for (int i = 0; i < N_OUTCOMES; i++) {
        printf(" %11s", outcome_names[i]);
    }
    printf("\n");
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        bool covered = is_covered(&rows[i], counts[i]);

        printf("# %3d %-38s", rows[i].number, rows[i].name);
        for (int j = 0; j < N_OUTCOMES; j++) {
            printf(" %11u", counts[i][j]);
        }
        printf("%s\n", covered ? "" : "  NOT COVERED");
        n_missing += !covered;
    }
    return n_missing;
}
