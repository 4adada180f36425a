/* SPDX-License-Identifier: Apache-2.0 */

/* Matches and actions to TC, through netlink attributes, and back. */

#include <config.h>

#include <errno.h>
#include <linux/pkt_cls.h>
#include <linux/tc_act/tc_mirred.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dpif-offload-provider.h"
#include "flow.h"
#include "netlink.h"
#include "odp-util.h"
#include "packets.h"
#include "tcb-meter.h"
#include "translate.h"
#include "util.h"

#include <cmocka.h>

#define X4(A) A "," A "," A "," A

/* Flows that are refused, and why. */
static const struct {
    const char *match, *actions;
    enum tcb_cause cause;
    const char *detail;
} refused[] = {
    { "skb_priority(0x1)," IP4, "2", TCB_CAUSE_MATCH, "skb_priority" },
    { "skb_mark(0x1)," IP4, "2", TCB_CAUSE_MATCH, "skb_mark" },
    { "skb_mark(0/0x1)," IP4, "2", TCB_CAUSE_MATCH, "skb_mark" },
    { "dp_hash(0x1/0xf)," IP4, "2", TCB_CAUSE_MATCH, "dp_hash" },
    { "ct_state(+snat)," IP4, "2", TCB_CAUSE_MATCH, "ct_state" },
    { "ct_state(+new+est+trk)," IP4, "2", TCB_CAUSE_MATCH,
      "ct_state of no packet" },
    { "tunnel(tun_id=0x1,src=1.1.1.1,dst=2.2.2.2,ttl=64,"
      "erspan(ver=1,idx=0x7/0xfffff),flags(+key))," IP4, "2", TCB_CAUSE_MATCH,
      "tunnel" },
    { "tunnel(tun_id=0x100000001,src=1.1.1.1,dst=2.2.2.2,ttl=64/0,"
      "flags(+key))," IP4,
      "2", TCB_CAUSE_MATCH, "tunnel id above 32 bits" },
    { "tunnel(tun_id=0x1/0xff,src=1.1.1.1,dst=2.2.2.2,ttl=64/0,"
      "flags(+key))," IP4,
      "2", TCB_CAUSE_MATCH, "tunnel id with a partial mask" },
    { "tunnel(tun_id=0x1,src=1.1.1.1,dst=2.2.2.2,ttl=64/0,"
      "vxlan(gbp(id=5,flags=0x1)),flags(+key))," IP4, "2", TCB_CAUSE_MATCH,
      "tunnel with unknown vxlan gbp flags" },
    { "recirc_id(0x10000000),in_port(1),eth(),eth_type(0x0806),arp()", "2",
      TCB_CAUSE_RECIRC, "recirc_id 0x10000000 is above the largest chain" },
    { IN "eth_type(0x88cc/0xff00)", "2", TCB_CAUSE_MATCH,
      "eth_type that is not exact" },
    { IN "eth_type(0x8100),vlan(vid=1/0x1),encap(eth_type(0x0806),arp())", "2",
      TCB_CAUSE_MATCH, "vlan with a partial mask" },
    { IN "eth_type(0x88a8),vlan(vid=1,pcp=0),encap(eth_type(0x8100),"
      "vlan(vid=2/3,pcp=0),encap(eth_type(0x0806),arp()))", "2",
      TCB_CAUSE_MATCH, "vlan with a partial mask" },
    { IN "eth_type(0x8847),mpls(label=1/3,tc=0,ttl=64,bos=1)", "2",
      TCB_CAUSE_MATCH, "mpls with a partial mask" },
    { IN "eth_type(0x8847),mpls(label=1,tc=0,ttl=64,bos=0,label=2,tc=0,"
      "ttl=64,bos=1)", "2", TCB_CAUSE_MATCH, "mpls" },
    { IN "eth_type(0x86dd),ipv6(label=0x5,frag=no)", "2", TCB_CAUSE_MATCH,
      "ipv6 label" },
    { IN "eth_type(0x86dd),ipv6(proto=44,frag=first)", "2",
      TCB_CAUSE_MATCH, "frag of IPv6" },
    { IN "eth_type(0x0800),ipv4(proto=6),tcp()", "2", TCB_CAUSE_MATCH,
      "frag that is not exact" },
    { IN "eth_type(0x86dd),ipv6(proto=58,frag=no),icmpv6(type=135,code=0),"
      "nd(target=2001:db8::1)", "2", TCB_CAUSE_MATCH, "nd target" },

    { IP4, "9", TCB_CAUSE_OUT_PORT, "9" },
    { IP4, "2,4", TCB_CAUSE_OUT_PORT, "4" },
    { IP4, "meter(16),2", TCB_CAUSE_METER, "16" },
    { IP4, "meter(1),meter(2),meter(3),meter(4),meter(5),2",
      TCB_CAUSE_LIMIT, "meters" },
    { IP4, X4(X4("2")) ",2", TCB_CAUSE_LIMIT, "actions" },
    { IP4, "recirc(1),2", TCB_CAUSE_ACTION, "recirc with more to follow" },
    { IP4, "recirc(268435456)", TCB_CAUSE_RECIRC,
      "recirc_id 0x10000000 is not a chain" },
    { IP4, "userspace(pid=5)", TCB_CAUSE_ACTION,
      "userspace" },
    { IP4, "sample(sample=50.0%,actions(2))", TCB_CAUSE_ACTION, "sample" },
    { IP4, "ct(commit,helper=ftp),2", TCB_CAUSE_ACTION, "ct(helper)" },
    { IP4, "ct(commit,timeout=x),2", TCB_CAUSE_ACTION, "ct(timeout)" },
    { IP4, "ct(commit,nat(src=1.1.1.1,random)),2", TCB_CAUSE_ACTION,
      "ct(nat(random))" },
    { IP4, "ct(commit,nat(src=1.1.1.1,hash)),2", TCB_CAUSE_ACTION,
      "ct(nat(hash))" },
    { IP4, "ct(commit,nat(src=1.1.1.1,persistent)),2", TCB_CAUSE_ACTION,
      "ct(nat(persistent))" },
    { IP4, "push_mpls(label=5,tc=1,ttl=0,bos=1,eth_type=0x8847),2",
      TCB_CAUSE_ACTION, "mpls with a ttl of 0" },
    { IP4, "trunc(100),2", TCB_CAUSE_ACTION, "trunc" },
    { IP4, "clone(2),1", TCB_CAUSE_ACTION, "clone" },
    { IP4, "check_pkt_len(size=200,gt(pop_vlan,2),le(1)),2",
      TCB_CAUSE_ACTION, "pop_vlan in a branch of check_pkt_len" },
    { IP4, "check_pkt_len(size=200,gt(2),le(meter(1),2)),2",
      TCB_CAUSE_ACTION, "meter in a branch of check_pkt_len" },
    { IP4, "check_pkt_len(size=200,gt(recirc(1)),le(1)),2",
      TCB_CAUSE_ACTION, "recirc in a branch of check_pkt_len" },
    { IP4, "check_pkt_len(size=200,gt(set(eth(src=00:00:00:00:00:09)),2),"
      "le(1)),2", TCB_CAUSE_ACTION, "set in a branch of check_pkt_len" },
    { ETH "eth_type(0x88cc)",
      "check_pkt_len(size=200,gt(set(eth(src=00:00:00:00:00:09)),"
      "check_pkt_len(size=400,gt(1),le(2))),le(1)),2", TCB_CAUSE_ACTION,
      "check_pkt_len behind a set in a branch" },
    { IP4, "set(tunnel(tun_id=0x1,dst=1.1.1.1,ttl=64,tp_src=5,flags(key))),2",
      TCB_CAUSE_ACTION, "set(tunnel(tp_src))" },
    { IP4, "set(tunnel(tun_id=0x1,dst=1.1.1.1,ttl=64,flags(oam|key))),2",
      TCB_CAUSE_ACTION, "set(tunnel(oam))" },
    { IP4, "set(tunnel(tun_id=0x100000000,dst=1.1.1.1,ttl=64,flags(key))),2",
      TCB_CAUSE_ACTION, "set(tunnel) with an id above 32 bits" },
    { IP4, "set(tunnel(tun_id=0x1,ttl=64,flags(key))),2",
      TCB_CAUSE_ACTION, "set(tunnel) without a destination" },
    { "tunnel(tun_id=0x1,src=1.1.1.1,dst=2.2.2.2,ttl=64/0,flags(+key))," IP4,
      "2,recirc(1)", TCB_CAUSE_ACTION,
      "recirc behind an output from a tunnel" },
    { "tunnel(tun_id=0x1,src=1.1.1.1,dst=2.2.2.2,ttl=64/0,flags(+key))," IP4,
      "check_pkt_len(size=200,gt(2),le(drop)),recirc(1)", TCB_CAUSE_ACTION,
      "recirc behind an output from a tunnel" },
    { "tunnel(tun_id=0x1,src=1.1.1.1,dst=2.2.2.2,ttl=64/0,flags(+key))," IP4,
      "check_pkt_len(size=200,gt(drop),le(2)),recirc(1)", TCB_CAUSE_ACTION,
      "recirc behind an output from a tunnel" },
    { IP4, "set(skb_mark(0x1)),2", TCB_CAUSE_ACTION, "set(skb_mark)" },
    { IP4, "set(skb_priority(0x1)),2", TCB_CAUSE_ACTION,
      "set(skb_priority)" },
    { IN "eth_type(0x0800),ipv4(proto=132,frag=no),sctp()",
      "set(sctp(src=1)),2", TCB_CAUSE_ACTION, "set(sctp)" },
    { TCP6, "set(ipv6(label=0x1)),2", TCB_CAUSE_ACTION,
      "set(ipv6) of a field that TC does not set" },
    { IP4, "set(ipv4(ttl=1)),2", TCB_CAUSE_ACTION,
      "set of IP headers with protocol 0" },
    { IN "eth_type(0x0800),ipv4(proto=89,frag=no)", "set(ipv4(ttl=1)),2",
      TCB_CAUSE_ACTION, "set of IP headers with protocol 89" },
    { IN "eth_type(0x0806),arp(op=1)", "set(ipv4(ttl=1)),2",
      TCB_CAUSE_ACTION, "set of IP headers with protocol 0" },
    { IN "eth_type(0x0800),ipv4(proto=6,frag=first),tcp()",
      "set(ipv4(ttl=1)),2", TCB_CAUSE_ACTION,
      "set of headers of fragments" },
};

/* Reports 'result' in 'back', as for a full dump. */
static void
report(const struct test_result *result, struct test_flow *back)
{
    struct odputil_keybuf keybuf;
    struct odp_flow_key_parms parms = {
        .key_buf = &back->key,
        .support = { .max_vlan_headers = 2, .max_mpls_depth = 2,
                     .recirc = true, .ct_state = true, .ct_zone = true,
                     .ct_mark = true, .ct_label = true },
    };
    struct match match;

    ofpbuf_init(&back->key, sizeof keybuf);
    ofpbuf_init(&back->mask, sizeof keybuf);
    ofpbuf_init(&back->actions, 0);
    assert_int_equal(tcb_match_from_flower(&result->flower, result->chain,
                                           u32_to_odp(1), &match), 0);
    if (result->chain == 0x17) {
        match.flow.in_port.odp_port = u32_to_odp(2);
    }
    parms.flow = &match.flow;
    parms.mask = &match.wc.masks;
    odp_flow_key_from_flow(&parms, &back->key);
    odp_flow_key_from_mask(&parms, &back->mask);
    assert_int_equal(tcb_actions_from_tc(NULL, &result->actions,
                                         &back->actions), 0);
}

static void
check_round_trip(const char *match, const char *actions)
{
    struct test_flow flow, back;
    struct test_result result;
    struct match reported;
    char *s1, *s2;

    test_flow_parse(&flow, match, actions);
    test_translate(&flow, &result);
    if (result.error) {
        fail_msg("%s, actions:%s: %s: %s", match, actions,
                 tcb_cause_name(result.why.cause), result.why.detail);
    }
    test_through_netlink(&result);
    report(&result, &back);

    /* It must be one that OVS itself can read. */
    test_flow_match(&back, &reported);

    s1 = test_format_match(&flow);
    s2 = test_format_match(&back);
    assert_string_equal(s1, s2);
    free(s1);
    free(s2);
    s1 = test_format_actions(&flow.actions);
    s2 = test_format_actions(&back.actions);
    assert_string_equal(s1, s2);
    free(s1);
    free(s2);
    test_flow_uninit(&flow);
    test_flow_uninit(&back);
}

static void
test_round_trips(void **state OVS_UNUSED)
{
    for (size_t i = 0; i < test_n_accepted; i++) {
        check_round_trip(test_accepted[i].match, test_accepted[i].actions);
    }
}

static void
test_refusals(void **state OVS_UNUSED)
{
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct test_flow flow;
        struct test_result result;

        test_flow_parse(&flow, refused[i].match, refused[i].actions);
        test_translate(&flow, &result);
        if (!result.error) {
            fail_msg("accepted: %s, actions:%s", refused[i].match,
                     refused[i].actions);
        }
        assert_int_equal(result.error, EOPNOTSUPP);
        assert_string_equal(result.why.detail, refused[i].detail);
        assert_string_equal(tcb_cause_name(result.why.cause),
                            tcb_cause_name(refused[i].cause));
        assert_int_equal(result.why.error, 0);
        test_flow_uninit(&flow);
    }
}

/* Actions that TC lacks are refused by name. */
static void
test_unknown_actions(void **state OVS_UNUSED)
{
    for (uint16_t type = 0; type < OVS_ACTION_ATTR_MAX + 5; type++) {
        struct test_result result;
        struct test_flow flow;
        bool known = type && type <= OVS_ACTION_ATTR_MAX;

        if (type == OVS_ACTION_ATTR_OUTPUT || type == OVS_ACTION_ATTR_SET
            || type == OVS_ACTION_ATTR_SET_MASKED
            || type == OVS_ACTION_ATTR_PUSH_VLAN
            || type == OVS_ACTION_ATTR_POP_VLAN
            || type == OVS_ACTION_ATTR_RECIRC
            || type == OVS_ACTION_ATTR_DROP
            || type == OVS_ACTION_ATTR_METER
            || type == OVS_ACTION_ATTR_PUSH_MPLS
            || type == OVS_ACTION_ATTR_POP_MPLS
            || type == OVS_ACTION_ATTR_CT
            || type == OVS_ACTION_ATTR_CT_CLEAR
            || type == OVS_ACTION_ATTR_CHECK_PKT_LEN) {
            continue;
        }
        test_flow_parse(&flow, IP4, "2");
        nl_msg_put_unspec_zero(&flow.actions, type, 16);
        test_translate(&flow, &result);
        assert_int_equal(result.error, EOPNOTSUPP);
        assert_int_equal(result.why.cause, TCB_CAUSE_ACTION);
        if (known == !strncmp(result.why.detail, "action ", 7)) {
            fail_msg("action %d is \"%s\"", type, result.why.detail);
        }
        test_flow_uninit(&flow);
    }
}

/* Every filter has an action of its own with the cookie. */
static void
test_cookies(void **state OVS_UNUSED)
{
    for (size_t i = 0; i < test_n_accepted; i++) {
        const struct tcnl_action *a = NULL;
        struct test_result result;
        struct test_flow flow;

        test_flow_parse(&flow, test_accepted[i].match,
                        test_accepted[i].actions);
        test_translate(&flow, &result);
        for (size_t j = 0; !a && j < result.actions.n; j++) {
            if (result.actions.a[j].cookie) {
                a = &result.actions.a[j];
            }
        }
        assert_non_null(a);
        assert_int_not_equal(a->kind, TCNL_ACT_POLICE);
        test_flow_uninit(&flow);
    }
}

static void
translate_ok(const char *match, const char *actions,
             struct test_result *result)
{
    struct test_flow flow;

    test_flow_parse(&flow, match, actions);
    test_translate(&flow, result);
    assert_int_equal(result->error, 0);
    test_flow_uninit(&flow);
}

static void
test_uses(void **state OVS_UNUSED)
{
    struct test_result r;

    translate_ok(IP4, "meter(3),meter(5),meter(3),recirc(66)", &r);
    assert_int_equal(r.uses.goto_chain, 0x42);
    assert_int_equal(r.uses.n_meters, 2);
    assert_int_equal(r.uses.police[0], TCB_POLICE_BASE + 3);
    assert_int_equal(r.uses.police[1], TCB_POLICE_BASE + 5);

    translate_ok(IP4, "2", &r);
    assert_int_equal(r.uses.goto_chain, 0);
    assert_int_equal(r.uses.n_meters, 0);
}

/* Verdicts, and what one OVS action becomes. */
static void
test_shapes(void **state OVS_UNUSED)
{
    struct test_result r;

    translate_ok(IP4, "3,2", &r);
    assert_int_equal(r.actions.n, 3);
    assert_int_equal(r.actions.a[0].kind, TCNL_ACT_SKBEDIT);
    assert_int_equal(r.actions.a[1].mirred.eaction, TCA_INGRESS_MIRROR);
    assert_int_equal(r.actions.a[1].verdict, TC_ACT_PIPE);
    assert_int_equal(r.actions.a[2].mirred.eaction, TCA_EGRESS_REDIR);
    assert_int_equal(r.actions.a[2].verdict, TC_ACT_STOLEN);

    /* One csum per run of rewrites. */
    translate_ok(TCP4, "set(ipv4(ttl=1)),set(tcp(dst=1)),2", &r);
    assert_int_equal(r.actions.n, 4);
    assert_int_equal(r.actions.a[0].kind, TCNL_ACT_PEDIT);
    assert_int_equal(r.actions.a[1].kind, TCNL_ACT_PEDIT);
    assert_int_equal(r.actions.a[2].kind, TCNL_ACT_CSUM);
    assert_int_equal(r.actions.a[2].csum.update_flags,
                     1 /* IPV4HDR */ | 8 /* TCP */);
    assert_int_equal(r.actions.a[2].verdict, TC_ACT_PIPE);

    /* At the end the packet is dropped. */
    translate_ok(TCP4, "2,set(ipv4(ttl=1))", &r);
    assert_int_equal(r.actions.n, 3);
    assert_int_equal(r.actions.a[1].verdict, TC_ACT_PIPE);
    assert_int_equal(r.actions.a[2].verdict, TC_ACT_SHOT);

    /* A police keeps its own verdict, so a drop follows; and it counts for
     * others, too, so a counter of the flow's own goes before. */
    translate_ok(IP4, "meter(1)", &r);
    assert_int_equal(r.actions.n, 3);
    assert_int_equal(r.actions.a[0].kind, TCNL_ACT_GACT);
    assert_int_equal(r.actions.a[0].verdict, TC_ACT_PIPE);
    assert_false(r.actions.a[0].cookie);
    assert_int_equal(r.actions.a[1].kind, TCNL_ACT_POLICE);
    assert_int_equal(r.actions.a[1].verdict, TC_ACT_PIPE);
    assert_int_equal(r.actions.a[2].kind, TCNL_ACT_GACT);
    assert_int_equal(r.actions.a[2].verdict, TC_ACT_SHOT);

    /* An output counts as well. */
    translate_ok(IP4, "2,meter(1),2", &r);
    assert_int_equal(r.actions.n, 3);
    assert_int_equal(r.actions.a[1].kind, TCNL_ACT_POLICE);

    /* 16 outputs to an internal port are just 32 actions. */
    translate_ok(IP4, X4(X4("3")), &r);
    assert_int_equal(r.actions.n, 32);
}

/* The explicit drop action, which has no text of its own. */
static void
test_drop(void **state OVS_UNUSED)
{
    struct test_result r;
    struct test_flow flow;

    test_flow_parse(&flow, IP4, "2");
    nl_msg_put_u32(&flow.actions, OVS_ACTION_ATTR_DROP, 0);
    test_translate(&flow, &r);
    assert_int_equal(r.error, 0);
    assert_int_equal(r.actions.n, 2);
    assert_int_equal(r.actions.a[0].verdict, TC_ACT_PIPE);
    assert_int_equal(r.actions.a[1].kind, TCNL_ACT_GACT);
    assert_int_equal(r.actions.a[1].verdict, TC_ACT_SHOT);
    assert_true(r.actions.a[1].cookie);
    test_flow_uninit(&flow);
}

/* A rewrite under a checksum makes the IP protocol exact. */
static void
test_exact_ip_proto(void **state OVS_UNUSED)
{
    struct test_flow flow;
    struct test_result r;

    test_flow_parse(&flow,
                    IN "eth_type(0x0800),ipv4(proto=17/0,frag=no),udp()",
                    "set(ipv4(ttl=1)),2");
    test_translate(&flow, &r);
    assert_int_equal(r.error, 0);
    assert_true(tcnl_flower_has(&r.flower, TCNL_KEY_IP_PROTO));
    assert_int_equal(r.flower.key.ip_proto, 17);
    assert_int_equal(r.flower.mask.ip_proto, 0xff);
    test_flow_uninit(&flow);
}

/* Packets, and the mask without which they are refused. */
static const char *const packets[] = {
    IN "eth_type(0x88cc)",
    MPLS,
    IN "eth_type(0x0806),arp()",
    IN "eth_type(0x8100),vlan(vid=5,pcp=1/0),encap(eth_type(0x0800),"
       "ipv4(proto=17,frag=no),udp())",
    IP4,
    TCP4,
    UDP4,
    ICMP4,
    IN "eth_type(0x0800),ipv4(proto=2,frag=no)",
    IN "eth_type(0x0800),ipv4(proto=58,frag=no)",
    IN "eth_type(0x0800),ipv4(proto=132,frag=no),sctp()",
    IN "eth_type(0x0800),ipv4(proto=6/0,frag=no),tcp()",
    IN "eth_type(0x0800),ipv4(proto=17,frag=first),udp()",
    TCP6,
    IN "eth_type(0x86dd),ipv6(proto=1,frag=no)",
    IN "eth_type(0x86dd),ipv6(proto=58,frag=no),icmpv6()",
    IN "eth_type(0x86dd),ipv6(proto=58,frag=no),icmpv6(type=135),nd()",
    IN "eth_type(0x88a8),vlan(vid=5,pcp=1/0),encap(eth_type(0x8100),"
       "vlan(vid=6,pcp=1/0),encap(eth_type(0x0800),ipv4(frag=no)))",
    "tunnel(tun_id=0x7,src=1.1.1.1,dst=2.2.2.2/255.0.0.0,ttl=64/0,tp_src=5/0,"
        "tp_dst=4789,flags(-df+key))," IP4,
    "tunnel(tun_id=0x7,ipv6_src=2001::1,ipv6_dst=2001::2,ttl=64/0,"
        "tp_dst=6081,geneve({class=0x102,type=0x80,len=4,0xa/0xf}),"
        "flags(-df+key))," IP4,
    "ct_state(+trk),ct_zone(5/1)," IP4,
};

#define IS_IN(OFS, MEMBER)                                              \
    ((OFS) - offsetof(struct flow, MEMBER)                              \
     < MEMBER_SIZEOF(struct flow, MEMBER))

/* May the mask's byte at 'ofs' be consumed without a trace? */
static bool
is_free(size_t ofs, const struct flow *flow)
{
    bool tunnel = flow_tnl_dst_is_set(&flow->tunnel);

    return ((IS_IN(ofs, tunnel) && !tunnel)
            /* A key's presence goes with its value, lengths are exact. */
            || IS_IN(ofs, tunnel.flags)
            || IS_IN(ofs, tunnel.metadata.present)
            || (IS_IN(ofs, tunnel.metadata.opts)
                && ofs - offsetof(struct flow, tunnel.metadata.opts) == 3)
            /* ct_state as a whole: see tcb-conntrack.c. */
            || IS_IN(ofs, ct_state)
            || IS_IN(ofs, in_port)  /* The device. */
            || IS_IN(ofs, recirc_id) /* The chain. */
            || (IS_IN(ofs, packet_type) && !flow->packet_type)
            /* Of a tag that is not there, or whose type is exact anyway. */
            || IS_IN(ofs, vlans[0].tpid) || IS_IN(ofs, vlans[1].tpid)
            /* The upper byte of an ICMP type or code. */
            || ((flow->nw_proto == IPPROTO_ICMP
                 || flow->nw_proto == IPPROTO_ICMPV6)
                && (ofs == offsetof(struct flow, tp_src)
                    || ofs == offsetof(struct flow, tp_dst))));
}

/* Every byte of the mask either makes a difference or a refusal. */
static void
check_mask_bytes(const char *packet)
{
    struct test_flow flow;
    struct match base, match;
    struct tcnl_flower expected, flower;
    struct tcb_refusal why;
    uint32_t chain;

    test_flow_parse(&flow, packet, "2");
    test_flow_match(&flow, &base);
    match = base;
    if (tcb_match_to_flower(&match, &test_able, flow.geneve, &expected, &chain,
                            &why)) {
        fail_msg("%s: %s", packet, why.detail);
    }

    for (size_t ofs = 0; ofs < sizeof(struct flow); ofs++) {
        uint8_t *mask = (uint8_t *) &match.wc.masks;
        int error;

        match = base;
        if (mask[ofs] == 0xff
            || (mask[ofs] && IS_IN(ofs, nw_frag))) {
            continue;
        }
        mask[ofs] = 0xff;
        error = tcb_match_to_flower(&match, &test_able, flow.geneve, &flower,
                                    &chain, &why);
        if (error) {
            assert_int_equal(error, EOPNOTSUPP);
            assert_int_equal(why.cause, TCB_CAUSE_MATCH);
            assert_true(why.detail[0] != '\0');
        } else if (tcnl_flower_equal(&flower, &expected)
                   && !is_free(ofs, &base.flow)) {
            fail_msg("%s: byte %"PRIuSIZE" was lost", packet, ofs);
        }
        if (!error) {
            assert_true(is_all_zeros(&match.wc.masks, sizeof(struct flow)));
        }
    }
    test_flow_uninit(&flow);
}

static void
test_mask_bytes(void **state OVS_UNUSED)
{
    for (size_t i = 0; i < ARRAY_SIZE(packets); i++) {
        check_mask_bytes(packets[i]);
    }
}

/* Matches that textual flows cannot express. */

static void
check_refused(struct match match, const char *detail)
{
    struct tcnl_flower flower;
    struct tcb_refusal why;
    uint32_t chain;

    assert_int_equal(tcb_match_to_flower(&match, &test_able, false, &flower,
                                         &chain, &why),
                     EOPNOTSUPP);
    assert_int_equal(why.cause, TCB_CAUSE_MATCH);
    assert_string_equal(why.detail, detail);
}

static void
parse_match(const char *text, struct match *match)
{
    struct test_flow flow;

    test_flow_parse(&flow, text, "2");
    test_flow_match(&flow, match);
    test_flow_uninit(&flow);
}

/* With a vlan-limit of 1 Open vSwitch does not look behind a second tag. */
static void
check_hidden_type(const char *inner, ovs_be16 eth_type)
{
    struct tcnl_flower flower;
    struct tcb_refusal why;
    struct match match;
    uint32_t chain;
    char *text = xasprintf(IN "eth_type(0x88a8),vlan(vid=4094,pcp=0),encap("
                           "eth_type(0x8100),vlan(vid=100,pcp=0),encap(%s))",
                           inner);

    parse_match(text, &match);
    free(text);
    match.wc.masks.vlans[1].tci = 0;
    match.wc.masks.dl_type = 0;
    match.wc.masks.nw_frag = 0;
    assert_int_equal(tcb_match_to_flower(&match, &test_able, false, &flower,
                                         &chain, &why), 0);
    assert_int_equal(flower.key.eth_type, htons(ETH_TYPE_VLAN_8021AD));
    assert_int_equal(flower.key.vlan_id, 4094);
    assert_int_equal(flower.key.vlan_eth_type, htons(ETH_TYPE_VLAN));
    assert_false(tcnl_flower_has(&flower, TCNL_KEY_CVLAN_ID));
    assert_false(tcnl_flower_has(&flower, TCNL_KEY_CVLAN_PRIO));
    assert_false(tcnl_flower_has(&flower, TCNL_KEY_FLAGS));
    assert_int_equal(flower.key.cvlan_eth_type, eth_type);
}

static void
test_hidden_type(void **state OVS_UNUSED)
{
    check_hidden_type("eth_type(0x0806),arp()", htons(ETH_TYPE_ARP));
    check_hidden_type("eth_type(0x0800),ipv4(frag=no)", htons(ETH_TYPE_IP));
    check_hidden_type("eth_type(0x86dd),ipv6(frag=no)", htons(ETH_TYPE_IPV6));
}

static void
test_odd_matches(void **state OVS_UNUSED)
{
    struct match match;

    /* A tag of any protocol, and one without a TCI. */
    parse_match(packets[3], &match);
    match.wc.masks.vlans[0].tpid = 0;
    check_refused(match, "vlan with any protocol");
    parse_match(packets[3], &match);
    match.flow.vlans[0].tci = 0;
    check_refused(match, "truncated vlan tag");

    /* An ICMP type of 9 bits. */
    parse_match(ICMP4, &match);
    match.flow.tp_src = htons(0x100);
    match.wc.masks.tp_src = OVS_BE16_MAX;
    check_refused(match, "tp_src");

    /* L4 without an exact protocol. */
    parse_match(TCP4, &match);
    match.wc.masks.nw_proto = 0;
    match.wc.masks.tp_dst = OVS_BE16_MAX;
    check_refused(match, "tp_dst");

    /* A frame with a length in place of a type. */
    parse_match(IN "eth_type(0x88cc)", &match);
    match.flow.dl_type = htons(FLOW_DL_TYPE_NONE);
    check_refused(match, "frame without an eth_type");

    /* Metadata of OpenFlow, which a datapath flow never has. */
    parse_match(IP4, &match);
    match.wc.masks.regs[3] = 1;
    check_refused(match, "register");
    match.wc.masks.regs[3] = 0;
    match.wc.masks.metadata = OVS_BE64_MAX;
    check_refused(match, "metadata");
}

/* Options of Geneve that are cut off, contradict their length, or have bits
 * that TC does not know. */
static void
test_odd_geneve(void **state OVS_UNUSED)
{
    static const struct {
        uint8_t opts[12];
        unsigned int len;
        const char *detail;
    } odd[] = {
        { { 1, 2, 3, 2, 4, 5, 6, 7 }, 8, "tunnel with odd geneve options" },
        { { 1, 2, 3 }, 3, "tunnel with odd geneve options" },
        { { 1, 2, 3, 1, 4, 5, 6, 7, 8, 9 }, 10,
          "tunnel with odd geneve options" },
        { { 1, 2, 3, 0, 1, 2, 3, 1, 4, 5, 6, 7 }, 12,
          "tunnel with odd geneve options" },
        { { 1, 2, 3, 0x21, 4, 5, 6, 7 }, 8,
          "tunnel with reserved geneve bits" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(odd); i++) {
        struct tun_metadata *m;
        struct tcnl_flower flower;
        struct tcb_refusal why;
        struct match match;
        uint32_t chain;

        parse_match(packets[19], &match);
        m = &match.flow.tunnel.metadata;
        m->present.len = odd[i].len;
        memcpy(m->opts.u8, odd[i].opts, odd[i].len);
        memset(match.wc.masks.tunnel.metadata.opts.u8, 0xff, odd[i].len);
        assert_int_equal(tcb_match_to_flower(&match, &test_able, true,
                                             &flower, &chain, &why),
                         EOPNOTSUPP);
        assert_string_equal(why.detail, odd[i].detail);
    }
}

/* Filters of others. */
static void
test_not_ours(void **state OVS_UNUSED)
{
    struct tcnl_flower flower;
    struct tcnl_actions tc;
    struct tcnl_action *a;
    struct ofpbuf out;
    struct match match;

    tcnl_flower_init(&flower);
    assert_int_equal(tcb_match_from_flower(&flower, 0, u32_to_odp(1), &match),
                     EOPNOTSUPP);

    ofpbuf_init(&out, 0);
    tcnl_actions_init(&tc);
    a = tcnl_actions_add(&tc, TCNL_ACT_MIRRED, TC_ACT_STOLEN);
    a->mirred.ifindex = test_ifindex(77);
    a->mirred.eaction = TCA_EGRESS_REDIR;
    assert_int_equal(tcb_actions_from_tc(NULL, &tc, &out), EOPNOTSUPP);

    tcnl_actions_init(&tc);
    tcnl_actions_add(&tc, TCNL_ACT_GACT, TC_ACT_OK);
    assert_int_equal(tcb_actions_from_tc(NULL, &tc, &out), EOPNOTSUPP);

    tcnl_actions_init(&tc);
    a = tcnl_actions_add(&tc, TCNL_ACT_POLICE, TC_ACT_PIPE);
    a->police.index = 7;
    assert_int_equal(tcb_actions_from_tc(NULL, &tc, &out), EOPNOTSUPP);
    ofpbuf_uninit(&out);
}

static void
test_why(void **state OVS_UNUSED)
{
    struct tcb_refusal refusal;
    struct ds ds = DS_EMPTY_INITIALIZER;
    struct tcb_why why;

    tcb_why_init(&why);
    tcb_refuse(&refusal, TCB_CAUSE_MATCH, "%s", "ct_state");
    assert_true(tcb_why_count(&why, &refusal));
    assert_false(tcb_why_count(&why, &refusal));
    refusal.cause = TCB_CAUSE_KERNEL;
    refusal.error = EINVAL;
    assert_true(tcb_why_count(&why, &refusal));
    tcb_why_format(&why, &ds);
    assert_string_equal(ds_cstr(&ds),
        "  2 x match: the match has a key that TC cannot express: ct_state\n"
        "  1 x kernel: the kernel refused the filter: ct_state"
        " (Invalid argument)\n");

    /* The number of lines is bounded, the counts are not lost. */
    for (int i = 0; i < 1000; i++) {
        tcb_refuse(&refusal, TCB_CAUSE_OUT_PORT, "%d", i);
        assert_int_equal(tcb_why_count(&why, &refusal), i < 62);
    }
    assert_int_equal(tcb_why_total(&why), 1003);
    ds_clear(&ds);
    tcb_why_format(&why, &ds);
    assert_non_null(strstr(ds_cstr(&ds),
                           "  938 x other reasons, not listed\n"));
    ds_destroy(&ds);
    tcb_why_destroy(&why);

    /* Details are cut, not overrun. */
    tcb_refuse(&refusal, TCB_CAUSE_KERNEL, "%0200d", 1);
    assert_int_equal(strlen(refusal.detail), TCB_DETAIL_MAX - 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_unknown_actions),
        cmocka_unit_test(test_cookies),
        cmocka_unit_test(test_uses),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_drop),
        cmocka_unit_test(test_exact_ip_proto),
        cmocka_unit_test(test_mask_bytes),
        cmocka_unit_test(test_hidden_type),
        cmocka_unit_test(test_odd_matches),
        cmocka_unit_test(test_odd_geneve),
        cmocka_unit_test(test_not_ours),
        cmocka_unit_test(test_why),
    };

    return cmocka_run_group_tests_name("translate", tests, NULL, NULL);
}
