/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "random-flow.h"

#include "random.h"
#include "util.h"

/* Pieces of matches. */

static const char *const ethernets[] = {
    "", "src=00:00:00:00:00:01", "dst=ff:ff:ff:ff:ff:ff",
    "src=02:00:00:00:00:00/02:00:00:00:00:00",
    "src=00:00:00:00:00:01,dst=00:00:00:00:00:02",
};
static const char *const vlans[] = {
    "vlan(vid=5,pcp=3)", "vlan(vid=5,pcp=3/0)", "vlan(vid=0/0,pcp=7)",
    "vlan(vid=1/1,pcp=0)", "vlan(vid=0/0,pcp=0/0)", "vlan(vid=9,pcp=1/1)",
};
static const char *const l3s[] = {
    "eth_type(0x88cc)",
    "eth_type(0x0806),arp()",
    "eth_type(0x0806),arp(sip=1.2.3.4,op=2)",
    ("eth_type(0x0806),arp(tip=1.2.3.4/255.0.0.0,op=1/1,"
     "sha=00:00:00:00:00:01,tha=00:00:00:00:00:02/ff:ff:ff:00:00:00)"),
    "eth_type(0x8035),arp()",
    "eth_type(0x8035),arp(op=3)",
};
static const char *const ipv4s[] = {
    "frag=no", "frag=first", "frag=later", "src=1.2.3.4,frag=no",
    "dst=1.2.0.0/255.255.0.0,frag=no", "tos=0x10/0xfc,frag=no",
    "ttl=64,frag=no", "src=1.1.1.1,dst=2.2.2.2,tos=3,ttl=1,frag=no",
    "ttl=1",
};
static const char *const ipv6s[] = {
    "frag=no", "frag=first", "frag=later", "src=2001::1,frag=no",
    "dst=2001::/ffff::,frag=no", "tclass=0x10/0xfc,frag=no",
    "hlimit=64,frag=no", "label=0x5,frag=no", "hlimit=1",
};
/* With IP protocol, for IPv4 (4), IPv6 (6) or both (0). */
static const struct { int version; int proto; const char *text; } l4s[] = {
    { 0, 6, "tcp()" }, { 0, 6, "tcp(src=1,dst=2)" },
    { 0, 6, "tcp(dst=256/0xff00)" }, { 0, 6, "tcp(),tcp_flags(+syn-ack)" },
    { 0, 17, "udp()" }, { 0, 17, "udp(src=1)" }, { 0, 17, "udp(dst=1/1)" },
    { 0, 132, "sctp()" }, { 0, 132, "sctp(src=5,dst=6/0xf)" },
    { 4, 1, "icmp()" }, { 4, 1, "icmp(type=8,code=0)" },
    { 4, 1, "icmp(type=8/8)" }, { 6, 58, "icmpv6()" },
    { 6, 58, "icmpv6(type=128)" }, { 6, 58, "icmpv6(type=135),nd()" },
    { 6, 58, "icmpv6(type=135),nd(target=2001::1)" },
    { 0, 47, NULL }, { 4, 2, NULL }, { 0, 89, NULL }, { 0, 4, NULL },
    { 0, 136, NULL },
};
static const char *const metadata[] = {
    "skb_mark(0)", "skb_mark(0x1)", "skb_priority(0)", "dp_hash(0x1)",
    "ct_state(+trk)", "ct_state(-trk)", "ct_state(+new+trk)",
    "ct_state(-new+est-rel-rpl-inv+trk)", "ct_state(-new+est+rpl+trk)",
    "ct_state(+inv+trk)", "ct_state(+rel+trk)", "ct_state(+new)",
    "ct_state(+snat)", "ct_state(+est-rpl+trk),ct_zone(7),ct_mark(0x1)",
    "ct_zone(1)", "ct_zone(0/0x3)", "ct_mark(0x1)", "ct_mark(0x10/0xf0)",
    "ct_label(0x1)", "ct_label(0x10000000000000005/0xf000000000000000f)",
};
static const char *const tunnels[] = {
    ("tunnel(tun_id=0x7,src=1.1.1.1,dst=2.2.2.2,ttl=64/0,tp_src=5/0,"
     "tp_dst=4789,flags(-df-csum+key))"),
    ("tunnel(tun_id=0x7,src=1.1.1.0/255.255.255.0,dst=2.2.2.2,tos=4/0xfc,"
     "ttl=64,tp_src=5,flags(+df-csum+key))"),
    "tunnel(tun_id=0x7,src=1.1.1.1/0.0.0.0,dst=2.2.2.2,ttl=0,flags(+oam+key))",
    ("tunnel(tun_id=0xffffff,ipv6_src=2001::1,ipv6_dst=2001::2,ttl=64/0,"
     "tp_dst=6081,flags(+csum+key))"),
    ("tunnel(tun_id=0x7,src=1.1.1.1,dst=2.2.2.2,ttl=64/0,tp_dst=6081,"
     "geneve({class=0x102,type=0x80,len=4,0xa}),flags(-df-csum+key))"),
    ("tunnel(tun_id=0x7,src=1.1.1.1,dst=2.2.2.2,ttl=64/0,tp_dst=6081,"
     "geneve({class=0x102,type=0x80,len=4,0xa/0xf}"
     "{class=0xffff,type=1,len=8,0x1234567890abcdef/0xff00ff00ff00ff00}),"
     "flags(-df-csum+key))"),
    ("tunnel(tun_id=0x7,src=1.1.1.1,dst=2.2.2.2,ttl=64/0,tp_dst=6081,"
     "geneve(),flags(-df-csum+key))"),
    ("tunnel(tun_id=0x7,src=1.1.1.1,dst=2.2.2.2,ttl=64/0,tp_dst=4789,"
     "vxlan(gbp(id=5/0xffff,flags=0x8/0x48)),flags(-df-csum+key))"),
    ("tunnel(tun_id=0x7,src=1.1.1.1,dst=2.2.2.2,ttl=64/0,"
     "erspan(ver=1,idx=0x7/0xfffff),flags(-df-csum+key))"),
};
static const char *const mplses[] = {
    "label=1/0x0,tc=0/0,ttl=64/0x0,bos=1/0", "label=100,tc=0/0,ttl=64/0,bos=1",
    "label=100,tc=7,ttl=64,bos=1",
    "label=9,tc=0/0,ttl=64/0,bos=0,label=2/0,tc=0/0,ttl=9/0,bos=1/0",
    "label=0/0,tc=0/0,ttl=64,bos=1/0",
};
/* Keys that one provider or both refuse, or that they take for something
 * else; see difference.c. */
static const char *const odd_metadata[] = {
    "ct_state(+new+est+trk)", "ct_state(+new+rpl+trk)", "ct_state(+dnat)",
    "dp_hash(0/0xf)", "skb_priority(0x7)", "skb_mark(0/0x1)",
    "skb_mark(0x5)", "ct_label(0/0x1)",
};
static const char *const odd_l3s[] = {
    "eth_type(0x88cc/0xff00)", "eth_type(0x8847),mpls(label=1/3,tc=0,ttl=64,"
    "bos=1)", "eth_type(0x8847),mpls(label=1,tc=0,ttl=64,bos=0,label=2,tc=0,"
    "ttl=64,bos=1)", "eth_type(0x0800),ipv4(proto=0,frag=no)",
    "eth_type(0x86dd),ipv6(proto=0,frag=no)",
    "eth_type(0x8100),vlan(vid=5,pcp=1),encap(eth_type(0x8847),"
    "mpls(label=7,tc=0/0,ttl=0/0x0,bos=1))",
    "eth_type(0x86dd),ipv6(proto=44,frag=first)",
    "eth_type(0x0800),ipv4(proto=47/0x0f,frag=no)",
};
static const char *const odd_tunnels[] = {
    "tunnel(tun_id=0x0,src=1.1.1.1,dst=2.2.2.2,ttl=64/0,flags(-df-csum-key))",
    "tunnel(tun_id=0x1/0xff,src=1.1.1.1,dst=2.2.2.2,ttl=64/0,flags(+key))",
    "tunnel(tun_id=0x100000001,src=1.1.1.1,dst=2.2.2.2,ttl=64/0,flags(+key))",
    ("tunnel(tun_id=0x7,src=1.1.1.1,dst=2.2.2.2,ttl=64/0,"
     "vxlan(gbp(id=5/0,flags=0x8/0x48)),flags(+key))"),
    ("tunnel(tun_id=0x7,src=1.1.1.1,dst=2.2.2.2,ttl=64/0,"
     "vxlan(gbp(id=5,flags=0x1)),flags(+key))"),
    ("tunnel(tun_id=0x7,src=1.1.1.1,dst=2.2.2.2,ttl=64/0,"
     "geneve({class=0x102,type=0x80,len=0}),flags(+key))"),
    ("tunnel(tun_id=0x7,src=1.1.1.1,ipv6_dst=2001::2,ttl=64/0,flags(+key))"),
};

/* Pieces of actions. */

static const char *const actions_any[] = {
    "1", "2", "3", "4", "9", "2", "1", "2", "5", "6", "pop_vlan",
    "push_vlan(vid=1,pcp=2)",
    "push_vlan(tpid=0x88a8,vid=0,pcp=0)", "set(eth(src=00:00:00:00:00:05))",
    "set(eth(src=00:00:00:00:00:05,dst=00:00:00:00:00:07))",
    "set(eth(dst=01:00:00:00:00:00/01:00:00:00:00:00))",
};
/* Those at the end, or before an output. */
static const char *const actions_more[] = {
    "ct_clear", "ct(zone=5)", "ct(commit)", "ct(force_commit,zone=65535)",
    "ct(force_commit)", "ct(commit,zone=1,mark=0x5/0xff,label=0x10/0xf0)",
    "ct(commit,nat(src=1.2.3.4))", "ct(commit,nat(dst=1.2.3.4-1.2.3.9))",
    "ct(commit,nat(src=1.2.3.4:80-100))", "ct(zone=3,nat)",
    "ct(commit,nat(dst=[2001::1]-[2001::9]:1-65535))",
    "ct(commit,nat(src=2001::1))", "ct(commit,nat(src))",
    "ct(commit,helper=ftp)",
    "push_mpls(label=5,tc=1,ttl=64,bos=1,eth_type=0x8847)",
    "push_mpls(label=1048575,tc=7,ttl=1,bos=0,eth_type=0x8848)",
    "pop_mpls(eth_type=0x0800)", "set(mpls(label=7,tc=3,ttl=9,bos=1))",
    "set(tunnel(tun_id=0x5,src=1.1.1.1,dst=2.2.2.2,ttl=64,tp_dst=4789,"
        "flags(key)))",
    "set(tunnel(dst=2.2.2.2,tos=4,ttl=64,flags(df|csum)))",
    "set(tunnel(tun_id=0x5,ipv6_src=2001::1,ipv6_dst=2001::2,ttl=64,"
        "tp_dst=6081,geneve({class=0x102,type=0x80,len=4,0xa}"
        "{class=0x103,type=0x1,len=8,0x1122334455667788}),flags(key)))",
    "set(tunnel(tun_id=0x5,src=1.1.1.1,dst=2.2.2.2,ttl=64,"
        "vxlan(gbp(id=7,flags=0x8)),flags(key)))",
    "set(tunnel(tun_id=0x5,dst=2.2.2.2,ttl=64,tp_src=5,flags(key)))",
    "set(tunnel(tun_id=0x5,ttl=64,src=1.1.1.1,dst=2.2.2.2,flags(oam|key)))",
};
static const char *const lengths[] = {
    "check_pkt_len(size=200,gt(1),le(2))",
    "check_pkt_len(size=200,gt(drop),le(2))",
    "check_pkt_len(size=200,gt(2,3),le(drop))",
    "check_pkt_len(size=30000,gt(3),le(3,1))",
    "check_pkt_len(size=1,gt(1,2),le(check_pkt_len(size=5,gt(2),le(1))))",
    "check_pkt_len(size=9,gt(check_pkt_len(size=500,gt(2),le(1))),le(1))",
    "check_pkt_len(size=200,gt(drop),le(drop))",
};
/* Only at the end, where branches are no copies. */
static const char *const last_lengths[] = {
    "check_pkt_len(size=200,gt(set(eth(src=00:00:00:00:00:05)),1),le(2))",
    "check_pkt_len(size=200,gt(push_vlan(vid=1,pcp=0),1),le(pop_vlan,2))",
    "check_pkt_len(size=200,gt(recirc(5)),le(2))",
    "check_pkt_len(size=200,gt(1),le(ct(commit),recirc(5)))",
    "check_pkt_len(size=200,gt(ct(zone=5)),le(2,pop_vlan))",
    "check_pkt_len(size=200,gt(set(tunnel(dst=1.1.1.1,ttl=1,flags())),1),"
        "le(set(tunnel(dst=1.1.1.2,ttl=1,flags())),1))",
};
static const char *const actions_ipv4[] = {
    "set(ipv4(src=1.2.3.4))", "set(ipv4(dst=1.2.0.0/255.255.0.0))",
    "set(ipv4(ttl=1))", "set(ipv4(tos=4/0xfc))",
    "set(ipv4(src=1.1.1.1,dst=2.2.2.2,tos=1,ttl=2))",
};
static const char *const actions_ipv6[] = {
    "set(ipv6(src=2001::1))", "set(ipv6(dst=2001::/ffff::))",
    "set(ipv6(hlimit=1))", "set(ipv6(tclass=4/0xfc))",
    "set(ipv6(src=1::1,dst=2::2,tclass=0xff,hlimit=2))",
    "set(ipv6(label=5))",
};
static const char *const actions_l4[] = {
    "set(tcp(src=1))", "set(tcp(dst=1/0xff))", "set(tcp(src=1,dst=2))",
    "set(udp(src=1))", "set(udp(src=1,dst=2))", "set(sctp(src=1))",
};

/* Those that no provider takes, or only one, or the other way round. */
static const char *const odd_actions[] = {
    "trunc(100)", "userspace(pid=5)", "sample(sample=50.0%,actions(2))",
    "clone(2)", "lb_output(1)", "psample(group=12)",
    "set(skb_mark(0x1))", "set(skb_priority(0x1))",
    "set(arp(sip=1.2.3.4))", "recirc(7)", "meter(99)",
    "ct(commit,timeout=x)", "ct(commit,nat(src=1.1.1.1,random))",
    "ct(commit,nat(src=1.1.1.1,hash))",
    "ct(commit,nat(src=1.1.1.1,persistent))",
    "push_mpls(label=5,tc=1,ttl=0,bos=1,eth_type=0x8847)",
    "set(tunnel(tun_id=0x100000000,dst=1.1.1.1,ttl=64,flags(key)))",
    "set(tunnel(tun_id=0x1,ttl=64,flags(key)))",
    "set(tunnel(dst=1.1.1.1,ttl=64,erspan(ver=1,idx=0x7),flags(key)))",
    "set_ipv6",
    ("check_pkt_len(size=200,gt(set(eth(src=00:00:00:00:00:05)),1),"
        "le(set(eth(dst=00:00:00:00:00:06)),2))"),
    "check_pkt_len(size=200,gt(pop_vlan,1),le(2))",
    "check_pkt_len(size=200,gt(meter(1),1),le(2))",
    "check_pkt_len(size=200,gt(recirc(5)),le(2))",
    "check_pkt_len(size=200,gt(ct(zone=5),1),le(2))",
    ("check_pkt_len(size=200,gt(set(tunnel(dst=1.1.1.1,ttl=1,flags())),1),"
        "le(2))"),
    ("check_pkt_len(size=200,gt(set(eth(src=00:00:00:00:00:05)),"
        "check_pkt_len(size=400,gt(1),le(2))),le(1))"),
    ("check_pkt_len(size=200,gt(check_pkt_len(size=400,gt(1),le(drop))),"
        "le(2))"),
};
static const char *const odd_last_lengths[] = {
    "check_pkt_len(size=200,gt(set(eth(src=00:00:00:00:00:05))),le(2))",
    "check_pkt_len(size=200,gt(2),le(set(eth(src=00:00:00:00:00:05))))",
    "check_pkt_len(size=200,gt(meter(2)),le(2))",
    "check_pkt_len(size=200,gt(1),le(meter(2),2))",
    ("check_pkt_len(size=200,gt(check_pkt_len(size=400,gt(drop),le(1))),"
        "le(drop))"),
};
/* For lists up to the limits: up to four actions of TC each. */
static const char *const actions_long[] = {
    "3", "set(ipv4(ttl=1)),3", "set(ipv4(ttl=1)),set(tcp(dst=5)),3",
    "set(ipv4(ttl=1)),3", "3", "meter(3),3",
    ("set(tunnel(tun_id=0x5,src=1.1.1.1,dst=2.2.2.2,ttl=64,tp_dst=6081,"
        "geneve({class=0x102,type=0x80,len=124,0x"
        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
        "00112233445566778899aabbccddeeff00112233445566778899aabb"
        "}),flags(key))),6"),
};

#define PICK(TABLE) (TABLE)[random_range(ARRAY_SIZE(TABLE))]

/* Once in 'n' times. */
static bool
once_in(unsigned int n)
{
    return !random_range(n);
}

static void
put_l3(struct ds *ds, int version)
{
    size_t l4 = random_range(ARRAY_SIZE(l4s));
    const char *frag;
    bool any_proto;

    while (l4s[l4].version && l4s[l4].version != version) {
        l4 = random_range(ARRAY_SIZE(l4s));
    }
    frag = version == 4 ? PICK(ipv4s) : PICK(ipv6s);
    /* OVS itself refuses a mask on L4 without one on the protocol. */
    any_proto = (once_in(4) && (!l4s[l4].text || strlen(l4s[l4].text) < 9));
    ds_put_format(ds, "%s(proto=%d%s,%s)",
                  version == 4 ? "eth_type(0x0800),ipv4"
                  : "eth_type(0x86dd),ipv6", l4s[l4].proto,
                  any_proto ? "/0" : "", frag);
    if (l4s[l4].text && !strstr(frag, "later")) {
        ds_put_format(ds, ",%s", l4s[l4].text);
    }
}

static void
put_tags(struct ds *ds, int n)
{
    for (int i = 0; i < n; i++) {
        ds_put_format(ds, "eth_type(0x%s),%s,encap(",
                      random_range(2) ? "8100" : "88a8", PICK(vlans));
    }
}

static uint32_t
random_chain(void)
{
    return (!once_in(8) ? 0
            : once_in(16) ? RANDOM_FLOW_UNUSED_CHAIN
            : once_in(16) ? 0x10000000
            : 1 + random_range(RANDOM_FLOW_CHAINS));
}

static void
put_ethernet(struct ds *ds, unsigned int id)
{
    if (id) {
        ds_put_format(ds, "eth(src=0a:00:%02x:%02x:%02x:%02x%s),", id >> 24,
                      id >> 16 & 255, id >> 8 & 255, id & 255,
                      once_in(2) ? ",dst=00:00:00:00:00:02" : "");
    } else {
        ds_put_format(ds, "eth(%s),", PICK(ethernets));
    }
}

static void
put_match(struct ds *ds, int version, bool tunnel, unsigned int id)
{
    int n_tags = random_range(4) ? 0 : 1 + random_range(2);

    if (once_in(10)) {
        ds_put_format(ds, "%s,",
                      once_in(4) ? PICK(odd_metadata) : PICK(metadata));
    }
    if (tunnel) {
        ds_put_format(ds, "%s,",
                      once_in(8) ? PICK(odd_tunnels) : PICK(tunnels));
    }
    ds_put_format(ds, "recirc_id(%#"PRIx32"),in_port(%d),", random_chain(),
                  !tunnel && once_in(16) ? 3 : 1);
    put_ethernet(ds, id);
    if (once_in(40)) {
        ds_put_cstr(ds, PICK(odd_l3s));
        return;
    }
    put_tags(ds, n_tags);
    if (version) {
        put_l3(ds, version);
    } else if (!n_tags && once_in(3)) {
        ds_put_format(ds, "eth_type(0x%s),mpls(%s)",
                      random_range(2) ? "8847" : "8848", PICK(mplses));
    } else {
        ds_put_cstr(ds, PICK(l3s));
    }
    while (n_tags--) {
        ds_put_char(ds, ')');
    }
}

static const char *
pick_action(int version, bool tunnel)
{
    switch (random_range(version ? 8 : 6)) {
    case 3:
        return PICK(actions_more);
    case 4:
        return tunnel && !once_in(20) ? "2" : PICK(lengths);
    case 6:
        return version == 4 ? PICK(actions_ipv4) : PICK(actions_ipv6);
    case 7:
        return PICK(actions_l4);
    default:
        return PICK(actions_any);
    }
}

static void
put_long_actions(struct ds *ds)
{
    size_t n = 7 + random_range(9);

    while (n--) {
        ds_put_format(ds, "%s,", PICK(actions_long));
    }
    ds_chomp(ds, ',');
}

static void
put_actions(struct ds *ds, int version, bool tunnel)
{
    size_t n = 1 + (random_range(40) ? random_range(5) : random_range(18));

    if (once_in(100)) {
        ds_put_cstr(ds, "drop");
        return;
    }
    while (n--) {
        if (once_in(20)) {
            ds_put_format(ds, "meter(%d),",
                          1 + random_range(RANDOM_FLOW_METERS));
        }
        ds_put_format(ds, "%s,", once_in(60) ? PICK(odd_actions)
                                 : pick_action(version, tunnel));
    }
    if (once_in(5)) {
        ds_put_format(ds, "recirc(%d),", 1 + random_range(100));
    } else if (!tunnel && once_in(5)) {
        ds_put_format(ds, "%s,", once_in(8) ? PICK(odd_last_lengths)
                                 : PICK(last_lengths));
    } else if (once_in(40)) {
        ds_put_cstr(ds, once_in(2) ? "drop," : "meter(1),");
    }
    ds_chomp(ds, ',');
}

/* Lists that come near the limits need a protocol that can be rewritten. */
static void
put_long_flow(struct ds *match, struct ds *actions, unsigned int id)
{
    ds_put_cstr(match, "recirc_id(0),in_port(1),");
    put_ethernet(match, id);
    ds_put_cstr(match, "eth_type(0x0800),ipv4(proto=6,frag=no),tcp()");
    put_long_actions(actions);
}

void
random_flow(struct ds *match, struct ds *actions, unsigned int id)
{
    int version = random_range(5) < 2 ? 4 : random_range(2) ? 6 : 0;
    bool tunnel = once_in(5);

    if (once_in(50)) {
        put_long_flow(match, actions, id);
        return;
    }
    put_match(match, version, tunnel, id);
    put_actions(actions, version, tunnel);
}
