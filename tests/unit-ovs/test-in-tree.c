/* SPDX-License-Identifier: Apache-2.0 */

/* Our filters against those of OVS's own tc provider.
 *
 * The same flows go to both.  The request that the other one is about to send
 * to the kernel is caught on its way and taken apart by the parsers for our
 * own, so the two can be compared. */

#include <config.h>

#include <errno.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "dpif-offload.h"
#include "dpif-offload-provider.h"
#include "dpif-offload-tc-private.h"
#include "in-tree.h"
#include "netdev.h"
#include "netdev-provider.h"
#include "netlink.h"
#include "netlink-socket.h"
#include "odp-util.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "random.h"
#include "tc.h"
#include "translate.h"

#include <cmocka.h>

/* Replaced functions.  The build makes a linker option of each line. */
#define WRAP(NAME) __wrap_##NAME

static struct netdev netdevs[TEST_N_PORTS];
static bool from_geneve;        /* Is port 1 a Geneve tunnel's? */
static struct ofpbuf caught;

int WRAP(nl_transact)(int, const struct ofpbuf *, struct ofpbuf **);
int WRAP(netdev_get_ifindex)(const struct netdev *);
const char *WRAP(netdev_get_type)(const struct netdev *);
struct netdev *WRAP(dpif_offload_get_netdev_by_port_id)(
    struct dpif *, struct dpif_offload **, odp_port_t);
bool WRAP(dpif_offload_netdev_same_offload)(const struct netdev *,
                                            const struct netdev *);

int
WRAP(nl_transact)(int protocol OVS_UNUSED, const struct ofpbuf *request,
                  struct ofpbuf **reply)
{
    ofpbuf_clear(&caught);
    ofpbuf_put(&caught, request->data, request->size);
    if (reply) {
        *reply = NULL;
    }
    /* Whatever it is, so that nobody looks for a reply. */
    return EPERM;
}

int
WRAP(netdev_get_ifindex)(const struct netdev *netdev)
{
    return test_ifindex(netdev - netdevs);
}

const char *
WRAP(netdev_get_type)(const struct netdev *netdev)
{
    return (netdev == &netdevs[TEST_INTERNAL_PORT] ? "internal"
            : netdev == &netdevs[1] && from_geneve ? "geneve" : "system");
}

struct netdev *
WRAP(dpif_offload_get_netdev_by_port_id)(
    struct dpif *dpif OVS_UNUSED, struct dpif_offload **offload OVS_UNUSED,
    odp_port_t port_no_)
{
    uint32_t port_no = odp_to_u32(port_no_);

    return (port_no >= 1 && port_no < TEST_N_PORTS
            && port_no != TEST_UNREADY_PORT ? &netdevs[port_no] : NULL);
}

bool
WRAP(dpif_offload_netdev_same_offload)(const struct netdev *a OVS_UNUSED,
                                       const struct netdev *b OVS_UNUSED)
{
    return true;
}

/* Has OVS's own provider translate 'flow'.  Returns false if it refuses. */
static bool
translate_in_tree(const struct test_flow *flow, struct tcnl_flower *flower,
                  struct tcnl_actions *actions)
{
    struct tc_offload_info info = { .recirc_id_shared_with_tc = true };
    size_t header_len = NLMSG_HDRLEN + sizeof(struct tcmsg);
    const struct nlattr *options;
    ovs_u128 ufid = { .u32 = { 1, 2, 3, 4 } };
    struct match match;
    int error;

    test_flow_match(flow, &match);
    /* Chains other than 0 have to be known to it, so we pretend. */
    match.flow.recirc_id = 0;
    from_geneve = flow->geneve;

    ofpbuf_clear(&caught);
    error = tc_netdev_flow_put(NULL, &netdevs[1], &match, flow->actions.data,
                               flow->actions.size, &ufid, &info, NULL);
    if (!caught.size) {
        assert_int_not_equal(error, 0);
        return false;
    }
    options = nl_attr_find(&caught, header_len, TCA_OPTIONS);
    assert_non_null(options);
    test_read_options(nl_attr_get(options), nl_attr_get_size(options),
                      flower, actions);
    return true;
}

static void
compare_pedit(const struct tcnl_actions *ours, const struct tcnl_action *a,
              const struct tcnl_actions *theirs, const struct tcnl_action *b)
{
    assert_int_equal(a->pedit.n, b->pedit.n);
    for (size_t i = 0; i < a->pedit.n; i++) {
        const struct tcnl_pedit_key *k = &ours->pedit_keys[a->pedit.first + i];
        const struct tcnl_pedit_key *l
            = &theirs->pedit_keys[b->pedit.first + i];

        assert_int_equal(k->htype, l->htype);
        assert_int_equal(k->cmd, l->cmd);
        assert_int_equal(k->off, l->off);
        assert_int_equal(k->mask, l->mask);
        assert_int_equal(k->val, l->val);
    }
}

static void
compare_mpls(const struct tcnl_action *a, const struct tcnl_action *b)
{
    assert_int_equal(a->mpls.op, b->mpls.op);
    assert_int_equal(a->mpls.proto, b->mpls.proto);
    assert_int_equal(a->mpls.label, b->mpls.label);
    assert_int_equal(a->mpls.tc, b->mpls.tc);
    assert_int_equal(a->mpls.ttl, b->mpls.ttl);
    assert_int_equal(a->mpls.bos, b->mpls.bos);
}

static void
compare_ct(const struct tcnl_actions *ours, const struct tcnl_action *a,
           const struct tcnl_actions *theirs, const struct tcnl_action *b)
{
    assert_int_equal(a->ct.flags, b->ct.flags);
    if (!(a->ct.flags & 4 /* TCA_CT_ACT_CLEAR */)) {
        assert_memory_equal(&ours->cts[a->ct.params],
                            &theirs->cts[b->ct.params],
                            sizeof ours->cts[0]);
    }
}

static void
compare_tunnel(const struct tcnl_actions *ours, const struct tcnl_action *a,
               const struct tcnl_actions *theirs, const struct tcnl_action *b)
{
    assert_int_equal(a->tunnel.set, b->tunnel.set);
    if (a->tunnel.set) {
        const struct tcnl_tunnel *t = &ours->tunnels[a->tunnel.params];

        assert_memory_equal(t, &theirs->tunnels[b->tunnel.params], sizeof *t);
        assert_memory_equal(ours->geneve + a->tunnel.geneve_ofs,
                            theirs->geneve + b->tunnel.geneve_ofs,
                            t->geneve_len);
    }
}

static void
compare_action(const struct tcnl_actions *ours, const struct tcnl_action *a,
               const struct tcnl_actions *theirs, const struct tcnl_action *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->verdict, b->verdict);
    assert_int_equal(a->no_percpu, b->no_percpu);
    switch (a->kind) {
    case TCNL_ACT_MIRRED:
        assert_int_equal(a->mirred.ifindex, b->mirred.ifindex);
        assert_int_equal(a->mirred.eaction, b->mirred.eaction);
        break;
    case TCNL_ACT_VLAN:
        assert_int_equal(a->vlan.op, b->vlan.op);
        if (a->vlan.op == 2 /* TCA_VLAN_ACT_PUSH */) {
            assert_int_equal(a->vlan.tpid, b->vlan.tpid);
            assert_int_equal(a->vlan.vid, b->vlan.vid);
            assert_int_equal(a->vlan.prio, b->vlan.prio);
        }
        break;
    case TCNL_ACT_PEDIT:
        compare_pedit(ours, a, theirs, b);
        break;
    case TCNL_ACT_CSUM:
        assert_int_equal(a->csum.update_flags, b->csum.update_flags);
        break;
    case TCNL_ACT_SKBEDIT:
        assert_int_equal(a->skbedit.ptype, b->skbedit.ptype);
        break;
    case TCNL_ACT_POLICE_MTU:
        assert_int_equal(a->police_mtu.mtu, b->police_mtu.mtu);
        assert_int_equal(a->police_mtu.conform, b->police_mtu.conform);
        break;
    case TCNL_ACT_MPLS:
        compare_mpls(a, b);
        break;
    case TCNL_ACT_CT:
        compare_ct(ours, a, theirs, b);
        break;
    case TCNL_ACT_TUNNEL_KEY:
        compare_tunnel(ours, a, theirs, b);
        break;
    case TCNL_ACT_GACT:
    case TCNL_ACT_POLICE:
    case TCNL_N_ACTION_KINDS:
    default:
        break;
    }
}

/* Cookies are where the others have them; but every list has one. */
static void
compare_cookies(const struct tcnl_actions *ours,
                const struct tcnl_actions *theirs)
{
    bool any = false;

    for (size_t i = 0; i < theirs->n; i++) {
        any |= theirs->a[i].cookie;
    }
    for (size_t i = 0; any && i < ours->n; i++) {
        assert_int_equal(ours->a[i].cookie, theirs->a[i].cookie);
    }
}

/* Returns true if the flow was accepted. */
static bool
compare(const char *match, const char *actions)
{
    struct tcnl_flower flower;
    struct tcnl_actions theirs;
    struct test_result r;
    struct test_flow flow;
    bool accepted;

    test_flow_parse(&flow, match, actions);
    test_translate(&flow, &r);
    accepted = translate_in_tree(&flow, &flower, &theirs);
    if (accepted == !!r.error) {
        fail_msg("%s, actions:%s is %s by us (%s)", match, actions,
                 r.error ? "refused" : "accepted", r.why.detail);
    }
    test_flow_uninit(&flow);
    if (!accepted) {
        return false;
    }

    test_through_netlink(&r);
    if (!tcnl_flower_equal(&r.flower, &flower)
        || r.actions.n != theirs.n) {
        fail_msg("%s, actions:%s: keys %#"PRIx64" by us, %#"PRIx64"; "
                 "actions %d by us, %d", match, actions, r.flower.present,
                 flower.present, r.actions.n, theirs.n);
    }
    for (size_t i = 0; i < theirs.n; i++) {
        compare_action(&r.actions, &r.actions.a[i], &theirs, &theirs.a[i]);
    }
    compare_cookies(&r.actions, &theirs);
    return true;
}

/* Where we differ on purpose is said in tcb-match.h and tcb-action.h.
 * Meters are left out because the others' are not ours. */
static bool
is_comparable(const struct test_text *text)
{
    return (!strstr(text->actions, "meter")
            && !strstr(text->match, "proto=0,")
            && !test_is_deviation(text));
}

static void
test_table(void **state OVS_UNUSED)
{
    for (size_t i = 0; i < test_n_accepted; i++) {
        if (is_comparable(&test_accepted[i])) {
            assert_true(compare(test_accepted[i].match,
                                test_accepted[i].actions));
        }
    }
}

/* Random flows, out of pieces. */

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
    "label=100,tc=7,ttl=64,bos=1", "label=0/0,tc=0/0,ttl=64,bos=1/0",
};
static const char *const actions_any[] = {
    "1", "2", "3", "4", "9", "2", "1", "2", "pop_vlan",
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
    "check_pkt_len(size=200,gt(set(tunnel(dst=1.1.1.1,ttl=1)),1),"
        "le(set(tunnel(dst=1.1.1.2,ttl=1)),1))",
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

#define PICK(TABLE) (TABLE)[random_range(ARRAY_SIZE(TABLE))]

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
    any_proto = (!random_range(4)
                 && (!l4s[l4].text || strlen(l4s[l4].text) < 9));
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

static void
put_match(struct ds *ds, int version, bool tunnel)
{
    int n_tags = random_range(4) ? 0 : 1 + random_range(2);

    if (!random_range(10)) {
        ds_put_format(ds, "%s,", PICK(metadata));
    }
    if (tunnel) {
        ds_put_format(ds, "%s,", PICK(tunnels));
    }
    ds_put_format(ds, "recirc_id(0),in_port(1),eth(%s),", PICK(ethernets));
    put_tags(ds, n_tags);
    if (version) {
        put_l3(ds, version);
    } else if (!n_tags && !random_range(3)) {
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
        return tunnel ? "2" : PICK(lengths);
    case 6:
        return version == 4 ? PICK(actions_ipv4) : PICK(actions_ipv6);
    case 7:
        return PICK(actions_l4);
    default:
        return PICK(actions_any);
    }
}

static void
put_actions(struct ds *ds, int version, bool tunnel)
{
    size_t n = 1 + (random_range(40) ? random_range(5) : random_range(18));

    while (n--) {
        ds_put_format(ds, "%s,", pick_action(version, tunnel));
    }
    if (!random_range(5)) {
        ds_put_format(ds, "recirc(%d),", 1 + random_range(100));
    } else if (!tunnel && !random_range(5)) {
        ds_put_format(ds, "%s,", PICK(last_lengths));
    }
    ds_chomp(ds, ',');
}

static void
test_random(void **state OVS_UNUSED)
{
    struct ds match = DS_EMPTY_INITIALIZER;
    struct ds actions = DS_EMPTY_INITIALIZER;
    int n_accepted = 0, n = 20000;

    random_set_seed(1);
    for (int i = 0; i < n; i++) {
        int version = random_range(5) < 2 ? 4 : random_range(2) ? 6 : 0;
        bool tunnel = !random_range(5);

        ds_clear(&match);
        ds_clear(&actions);
        put_match(&match, version, tunnel);
        put_actions(&actions, version, tunnel);
        n_accepted += compare(ds_cstr(&match), ds_cstr(&actions));
    }
    ds_destroy(&match);
    ds_destroy(&actions);
    printf("# %d of %d accepted by both\n", n_accepted, n);
    assert_true(n_accepted > n / 20);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_random),
    };

    /* The others warn of what they refuse. */
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_EMER);
    ofpbuf_init(&caught, 0);
    in_tree_set_abilities();
    return cmocka_run_group_tests_name("in-tree", tests, NULL, NULL);
}
