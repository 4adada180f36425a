/* SPDX-License-Identifier: Apache-2.0 */

/* Flows that are malformed, contradictory or beyond the limits: they are
 * refused before anything is sent, for the right reason, and the others of
 * their batch are installed. */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "bed.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "ovs-rcu.h"
#include "tcb-port.h"
#include "util.h"

#include <cmocka.h>

#define IN "recirc_id(0),in_port(1),eth(),"
#define TCP4 IN "eth_type(0x0800),ipv4(proto=6,ttl=64,frag=no),tcp()"
#define UDP4 IN "eth_type(0x0800),ipv4(proto=17,frag=no),udp(dst=5)"
#define X4(A) A "," A "," A "," A

/* 5 OVS actions become 11 of TC: branches that more follows set back what they
 * have set. */
#define LONG "check_pkt_len(size=200,gt(set(ipv4(ttl=1)),1)," \
             "le(set(ipv4(ttl=2)),2))"

struct bad {
    const char *match, *actions;
    const char *why;            /* As "tc-batch/why" has it. */
    void (*add)(struct ofpbuf *actions);    /* Appends to 'actions'. */
};

/* Begins set(tunnel(...)) with what it needs. */
static size_t
begin_tunnel(struct ofpbuf *b, size_t *set)
{
    size_t tunnel;

    *set = nl_msg_start_nested(b, OVS_ACTION_ATTR_SET);
    tunnel = nl_msg_start_nested(b, OVS_KEY_ATTR_TUNNEL);
    nl_msg_put_be32(b, OVS_TUNNEL_KEY_ATTR_IPV4_DST, htonl(0x01010101));
    nl_msg_put_u8(b, OVS_TUNNEL_KEY_ATTR_TTL, 64);
    return tunnel;
}

static void
add_tunnel(struct ofpbuf *b, uint16_t type, const void *data, size_t len)
{
    size_t set, tunnel = begin_tunnel(b, &set);

    nl_msg_put_unspec(b, type, data, len);
    nl_msg_end_nested(b, tunnel);
    nl_msg_end_nested(b, set);
}

/* An option that says to have 8 bytes and has 4. */
static void
add_short_geneve(struct ofpbuf *b)
{
    static const uint8_t opts[] = { 1, 2, 0x80, 2, 1, 2, 3, 4 };

    add_tunnel(b, OVS_TUNNEL_KEY_ATTR_GENEVE_OPTS, opts, sizeof opts);
}

/* One that ends within its header. */
static void
add_geneve_stub(struct ofpbuf *b)
{
    static const uint8_t opts[] = { 1, 2, 0x80, 1, 1, 2, 3, 4, 1, 2 };

    add_tunnel(b, OVS_TUNNEL_KEY_ATTR_GENEVE_OPTS, opts, sizeof opts);
}

static void
add_reserved_geneve(struct ofpbuf *b)
{
    static const uint8_t opts[] = { 1, 2, 0x80, 0x81, 1, 2, 3, 4 };

    add_tunnel(b, OVS_TUNNEL_KEY_ATTR_GENEVE_OPTS, opts, sizeof opts);
}

/* Options of Geneve and of VXLAN. */
static void
add_two_kinds(struct ofpbuf *b)
{
    static const uint8_t opts[] = { 1, 2, 0x80, 1, 1, 2, 3, 4 };
    size_t set, tunnel = begin_tunnel(b, &set);
    size_t vxlan;

    nl_msg_put_unspec(b, OVS_TUNNEL_KEY_ATTR_GENEVE_OPTS, opts, sizeof opts);
    vxlan = nl_msg_start_nested(b, OVS_TUNNEL_KEY_ATTR_VXLAN_OPTS);
    nl_msg_put_u32(b, OVS_VXLAN_EXT_GBP, 5);
    nl_msg_end_nested(b, vxlan);
    nl_msg_end_nested(b, tunnel);
    nl_msg_end_nested(b, set);
}

static void
add_unknown_tunnel_key(struct ofpbuf *b)
{
    add_tunnel(b, OVS_TUNNEL_KEY_ATTR_MAX + 7, NULL, 0);
}

static void
add_unknown_action(struct ofpbuf *b)
{
    nl_msg_put_u32(b, OVS_ACTION_ATTR_MAX + 7, 0);
}

static void
add_unknown_set(struct ofpbuf *b)
{
    size_t set = nl_msg_start_nested(b, OVS_ACTION_ATTR_SET);

    nl_msg_put_u32(b, OVS_KEY_ATTR_MAX + 7, 0);
    nl_msg_end_nested(b, set);
}

static void
add_unknown_ct(struct ofpbuf *b)
{
    size_t ct = nl_msg_start_nested(b, OVS_ACTION_ATTR_CT);

    nl_msg_put_u32(b, OVS_CT_ATTR_MAX + 7, 0);
    nl_msg_end_nested(b, ct);
}

static void
add_no_branches(struct ofpbuf *b)
{
    size_t nest = nl_msg_start_nested(b, OVS_ACTION_ATTR_CHECK_PKT_LEN);

    nl_msg_put_u16(b, OVS_CHECK_PKT_LEN_ATTR_PKT_LEN, 200);
    nl_msg_end_nested(b, nest);
}

/* A branch whose last action says to be longer than the branch. */
static void
add_truncated_branch(struct ofpbuf *b)
{
    size_t nest = nl_msg_start_nested(b, OVS_ACTION_ATTR_CHECK_PKT_LEN);
    size_t branch;

    nl_msg_put_u16(b, OVS_CHECK_PKT_LEN_ATTR_PKT_LEN, 200);
    branch = nl_msg_start_nested(
        b, OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_LESS_EQUAL);
    nl_msg_put_u32(b, OVS_ACTION_ATTR_OUTPUT, 2);
    ((struct nlattr *) ((uint8_t *) b->data + branch + NLA_HDRLEN))->nla_len
        = 40;
    nl_msg_end_nested(b, branch);
    branch = nl_msg_start_nested(
        b, OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_GREATER);
    nl_msg_put_u32(b, OVS_ACTION_ATTR_OUTPUT, 2);
    nl_msg_end_nested(b, branch);
    nl_msg_end_nested(b, nest);
}

static void
add_truncated(struct ofpbuf *b)
{
    nl_msg_put_u32(b, OVS_ACTION_ATTR_OUTPUT, 2);
    nl_msg_put_u32(b, OVS_ACTION_ATTR_OUTPUT, 2);
    ((struct nlattr *) ((uint8_t *) ofpbuf_tail(b) - 8))->nla_len = 80;
}

static const struct bad bads[] = {
    { "recirc_id(0x10000000),in_port(1),eth(),eth_type(0x88cc)", "2",
      "recirc_id 0x10000000 is above the largest chain", NULL },
    { "recirc_id(0xffffffff),in_port(1),eth(),eth_type(0x88cc)", "2",
      "recirc_id 0xffffffff is above the largest chain", NULL },
    { TCP4, "recirc(268435456)", "recirc_id 0x10000000 is not a chain",
      NULL },
    { TCP4, "recirc(0)", "recirc_id 0 is not a chain", NULL },
    { TCP4, X4(X4("2")) ",2", "actions\n", NULL },
    { TCP4, LONG "," LONG "," LONG ",2", "TC actions\n", NULL },
    { TCP4, "recirc(5),2", "recirc with more to follow", NULL },
    { TCP4, "check_pkt_len(size=200,gt(recirc(5),1),le(2))",
      "recirc with more to follow", NULL },
    { TCP4, "check_pkt_len(size=200,gt(recirc(5)),le(1)),2",
      "recirc in a branch of check_pkt_len", NULL },
    { TCP4, "", "set(tunnel) with odd geneve options", add_short_geneve },
    { TCP4, "", "set(tunnel) with odd geneve options", add_geneve_stub },
    { TCP4, "", "set(tunnel) with reserved bits", add_reserved_geneve },
    { TCP4, "set(tunnel(tun_id=0x5,dst=2.2.2.2,ttl=64,"
      "geneve({class=0x102,type=0x80,len=0}),flags(key))),2",
      "set(tunnel) with odd geneve options", NULL },
    { TCP4, "set(tunnel(tun_id=0x5,dst=2.2.2.2,ipv6_dst=1::1,ttl=64,"
      "flags(key))),2", "set(tunnel) of two address families", NULL },
    { TCP4, "", "set(tunnel) with options of two kinds", add_two_kinds },
    { TCP4, "", "set(tunnel) with an unknown option",
      add_unknown_tunnel_key },
    { TCP4, "", "action ", add_unknown_action },
    { TCP4, "", "set(key ", add_unknown_set },
    { TCP4, "", "ct", add_unknown_ct },
    { TCP4, "check_pkt_len(size=0,gt(2),le(1))",
      "check_pkt_len without branches", NULL },
    { TCP4, "", "check_pkt_len without branches", add_no_branches },
    { TCP4, "", "truncated actions", add_truncated_branch },
    { TCP4, "", "truncated actions", add_truncated },
};

enum { N_BAD = ARRAY_SIZE(bads) };

static void
put_bad(struct bed_op *op, unsigned int n, const struct bad *bad)
{
    bed_put_match(op, n, bad->match, bad->actions, DPIF_FP_CREATE);
    if (bad->add) {
        bad->add(&op->actions);
        op->op.flow_put.actions = op->actions.data;
        op->op.flow_put.actions_len = op->actions.size;
    }
}

/* The reasons that the port has counted. */
static char *
port_why(struct bed *bed)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    tcb_why_format(&tcb_port_find(tcb_offload_cast(bed->offload),
                                  u32_to_odp(1))->why, &ds);
    return ds_steal_cstr(&ds);
}

/* Each alone: nothing is sent. */
static void
test_each(void **bed_)
{
    struct bed *bed = *bed_;

    for (size_t i = 0; i < N_BAD; i++) {
        struct bed_op op;
        char *why;

        put_bad(&op, 0, &bads[i]);
        bed_operate(bed, &op, 1);
        bed_free(&op, 1);
        why = port_why(bed);
        if (op.op.error != -1 || bed->tc.n_sends
            || !strstr(why, bads[i].why)) {
            fail_msg("%s, actions:%s (%s): error %d, %u sends, why:\n%s",
                     bads[i].match, bads[i].actions, bads[i].why,
                     op.op.error, bed->tc.n_sends, why);
        }
        free(why);
    }
}

/* All among good ones, of which one leads to another. */
static void
test_batch(void **bed_)
{
    static struct bed_op ops[2 * N_BAD + 1];
    struct bed *bed = *bed_;

    for (unsigned int i = 0; i < ARRAY_SIZE(ops); i++) {
        if (i % 2) {
            put_bad(&ops[i], i, &bads[i / 2]);
        } else {
            bed_put(&ops[i], i, i == 2 ? 7 : 0, i ? "2" : "recirc(7)",
                    DPIF_FP_CREATE);
        }
    }
    bed_operate(bed, ops, ARRAY_SIZE(ops));
    for (unsigned int i = 0; i < ARRAY_SIZE(ops); i++) {
        assert_int_equal(ops[i].op.error, i % 2 ? -1 : 0);
        assert_int_equal(bed_filter(bed, i) != NULL, !(i % 2));
    }
    assert_int_equal(bed->tc.n_sends, 1);
    assert_int_equal(bed->tc.n_new, N_BAD + 1);
    assert_int_equal(bed->tc.n_del, 0);
    bed_free(ops, ARRAY_SIZE(ops));
}

/* Keys that OVS itself cannot read are not for us to judge. */
static void
test_unreadable_key(void **bed_)
{
    struct bed *bed = *bed_;
    size_t tunnel;
    struct bed_op op;

    bed_put(&op, 0, 0, "2", DPIF_FP_CREATE);
    tunnel = nl_msg_start_nested(&op.key, OVS_KEY_ATTR_TUNNEL);
    nl_msg_put_u32(&op.key, OVS_TUNNEL_KEY_ATTR_MAX + 7, 0);
    nl_msg_end_nested(&op.key, tunnel);
    op.op.flow_put.key = op.key.data;
    op.op.flow_put.key_len = op.key.size;
    bed_operate(bed, &op, 1);
    assert_int_equal(op.op.error, -1);
    assert_int_equal(bed->tc.n_sends, 0);
    bed_free(&op, 1);
}

/* What the kernel would report of long lists comes back whole, every time. */

#define OPTION "geneve({class=0x102,type=0x80,len=124,0x" \
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff" \
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff" \
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff" \
    "00112233445566778899aabbccddeeff00112233445566778899aabb})"
#define ENCAP "set(tunnel(tun_id=0x5,src=1.1.1.1,dst=2.2.2.2,ttl=64,"   \
    "tp_dst=6081," OPTION ",flags(key))),2"

static const struct bad longs[] = {
    { UDP4, ENCAP "," ENCAP "," ENCAP, NULL, NULL },
    /* 11 + 11 + 8 + 2 actions of TC. */
    { TCP4, LONG "," LONG ",set(ipv4(ttl=7)),1,set(tcp(dst=5)),2", NULL,
      NULL },
};

static void
check_flow(const struct bed_op *put, const struct dpif_flow *f)
{
    struct ds a = DS_EMPTY_INITIALIZER, b = DS_EMPTY_INITIALIZER;

    format_odp_actions(&a, put->actions.data, put->actions.size, NULL);
    format_odp_actions(&b, f->actions, f->actions_len, NULL);
    assert_string_equal(ds_cstr(&a), ds_cstr(&b));
    ds_destroy(&a);
    ds_destroy(&b);
    assert_true(f->key_len && f->mask_len);
}

static void
check_long(const struct dpif_flow *flow, void *puts_)
{
    const struct bed_op *puts = puts_;

    check_flow(&puts[flow->ufid.u32[0]], flow);
}

static void
dump_longs(struct bed *bed, struct bed_op *puts)
{
    assert_int_equal(bed_dump(bed, false, check_long, puts),
                     ARRAY_SIZE(longs));
}

static void
test_long(void **bed_)
{
    struct bed_op puts[ARRAY_SIZE(longs)];
    struct bed *bed = *bed_;

    for (unsigned int i = 0; i < ARRAY_SIZE(longs); i++) {
        put_bad(&puts[i], i, &longs[i]);
    }
    bed_operate(bed, puts, ARRAY_SIZE(longs));
    for (unsigned int i = 0; i < ARRAY_SIZE(longs); i++) {
        assert_int_equal(puts[i].op.error, 0);
    }
    for (int round = 0; round < 200; round++) {
        for (unsigned int i = 0; i < ARRAY_SIZE(longs); i++) {
            struct bed_op op;

            bed_get(&op, i);
            bed_operate(bed, &op, 1);
            assert_int_equal(op.op.error, 0);
            check_flow(&puts[i], &op.flow);
            bed_free(&op, 1);
        }
        dump_longs(bed, puts);
        ovsrcu_quiesce();
    }
    bed_free(puts, ARRAY_SIZE(longs));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each, bed_setup, bed_teardown),
        cmocka_unit_test_setup_teardown(test_batch, bed_setup, bed_teardown),
        cmocka_unit_test_setup_teardown(test_unreadable_key, bed_setup,
                                        bed_teardown),
        cmocka_unit_test_setup_teardown(test_long, bed_setup, bed_teardown),
    };

    return cmocka_run_group_tests_name("bad-input", tests, NULL, NULL);
}
