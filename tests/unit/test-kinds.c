/* SPDX-License-Identifier: Apache-2.0 */

/* Conntrack, MPLS and tunnels, as the kernel writes them, which is not always
 * as they were sent. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_ct.h>
#include <linux/tc_act/tc_mpls.h>
#include <linux/tc_act/tc_tunnel_key.h>
#include "tcnl/action.h"
#include "tcnl/flower.h"

static uint32_t memory[1024];
static struct tcnl_buffer b;
static size_t list, action, options;

static void
begin(const char *kind)
{
    tcnl_buffer_init(&b, memory, sizeof memory);
    tcnl_msg_begin(&b, 0x123, 0, NULL, 0);
    list = tcnl_nest_begin(&b, TCA_FLOWER_ACT);
    action = tcnl_nest_begin(&b, 1);
    tcnl_put_string(&b, TCA_ACT_KIND, kind);
    options = tcnl_nest_begin(&b, TCA_ACT_OPTIONS);
}

static int
end(struct tcnl_actions *as)
{
    struct nlmsghdr *nlh;

    tcnl_nest_end(&b, options);
    tcnl_nest_end(&b, action);
    tcnl_nest_end(&b, list);
    assert_int_equal(tcnl_msg_end(&b, &nlh), 0);
    memset(as, 0xaa, sizeof *as);
    return tcnl_actions_parse((void *) ((uint8_t *) nlh + NLMSG_HDRLEN), as);
}

static void
begin_ct(uint16_t flags)
{
    struct tc_ct p = { .index = 7, .action = TC_ACT_PIPE };

    begin("ct");
    tcnl_put(&b, TCA_CT_PARMS, &p, sizeof p);
    tcnl_put_u16(&b, TCA_CT_ACTION, flags);
}

static void
test_ct(void **state)
{
    static const uint8_t zero[16];
    uint16_t nat = TCA_CT_ACT_COMMIT | TCA_CT_ACT_NAT | TCA_CT_ACT_NAT_SRC;
    struct tcnl_actions as;

    (void) state;
    /* The zone is always reported. */
    begin_ct(TCA_CT_ACT_COMMIT);
    tcnl_put_u16(&b, TCA_CT_ZONE, 0);
    assert_int_equal(end(&as), 0);
    assert_int_equal(as.n_cts, 1);
    assert_memory_equal(&as.cts[0], memset(&as.cts[1], 0, sizeof as.cts[1]),
                        sizeof as.cts[0]);

    /* One end of a range stands for both. */
    begin_ct(nat);
    tcnl_put_u32(&b, TCA_CT_NAT_IPV4_MIN, htonl(0x0a000001));
    tcnl_put_u16(&b, TCA_CT_NAT_PORT_MIN, htons(5));
    assert_int_equal(end(&as), 0);
    assert_int_equal(as.cts[0].family, 4);
    assert_memory_equal(as.cts[0].addr_min, as.cts[0].addr_max, 16);
    assert_int_equal(as.cts[0].port_max, htons(5));

    /* Two families, half a range, and a range without a direction. */
    begin_ct(nat);
    tcnl_put_u32(&b, TCA_CT_NAT_IPV4_MIN, 1);
    tcnl_put(&b, TCA_CT_NAT_IPV6_MIN, zero, sizeof zero);
    assert_int_equal(end(&as), EOPNOTSUPP);
    begin_ct(nat);
    tcnl_put_u16(&b, TCA_CT_NAT_PORT_MAX, 1);
    assert_int_equal(end(&as), EOPNOTSUPP);
    begin_ct(TCA_CT_ACT_NAT);
    tcnl_put_u32(&b, TCA_CT_NAT_IPV4_MIN, 1);
    assert_int_equal(end(&as), EOPNOTSUPP);

    /* Flags of tomorrow and nonsense, and what we never send. */
    begin_ct(1 << 6);
    assert_int_equal(end(&as), EOPNOTSUPP);
    begin_ct(TCA_CT_ACT_CLEAR | TCA_CT_ACT_COMMIT);
    assert_int_equal(end(&as), EOPNOTSUPP);
    begin_ct(nat | TCA_CT_ACT_NAT_DST);
    assert_int_equal(end(&as), EOPNOTSUPP);
    begin_ct(TCA_CT_ACT_COMMIT);
    tcnl_put_string(&b, TCA_CT_PAD + 1 /* TCA_CT_HELPER_NAME */, "ftp");
    assert_int_equal(end(&as), EOPNOTSUPP);
    begin("ct");
    assert_int_equal(end(&as), EBADMSG);
}

static void
begin_mpls(int op)
{
    struct tc_mpls p = { .action = TC_ACT_PIPE, .m_action = op };

    begin("mpls");
    tcnl_put(&b, TCA_MPLS_PARMS, &p, sizeof p);
}

static void
put_label(uint32_t label, uint8_t tc, uint8_t bos)
{
    tcnl_put_u32(&b, TCA_MPLS_LABEL, label);
    tcnl_put_u8(&b, TCA_MPLS_TC, tc);
    tcnl_put_u8(&b, TCA_MPLS_TTL, 64);
    tcnl_put_u8(&b, TCA_MPLS_BOS, bos);
}

static void
test_mpls(void **state)
{
    struct tcnl_actions as;

    (void) state;
    /* A modify is reported with a protocol that it does not have. */
    begin_mpls(TCA_MPLS_ACT_MODIFY);
    put_label(0xfffff, 7, 1);
    tcnl_put_u16(&b, TCA_MPLS_PROTO, htons(ETH_P_MPLS_UC));
    assert_int_equal(end(&as), 0);
    assert_int_equal(as.a[0].mpls.label, 0xfffff);

    begin_mpls(TCA_MPLS_ACT_MODIFY);
    put_label(0x100000, 7, 1);
    assert_int_equal(end(&as), EBADMSG);
    begin_mpls(TCA_MPLS_ACT_MODIFY);
    put_label(1, 8, 1);
    assert_int_equal(end(&as), EBADMSG);
    begin_mpls(TCA_MPLS_ACT_MODIFY);
    put_label(1, 7, 2);
    assert_int_equal(end(&as), EBADMSG);

    /* Parts that are left to the kernel. */
    begin_mpls(TCA_MPLS_ACT_MODIFY);
    tcnl_put_u32(&b, TCA_MPLS_LABEL, 1);
    assert_int_equal(end(&as), EOPNOTSUPP);
    begin_mpls(TCA_MPLS_ACT_DEC_TTL);
    assert_int_equal(end(&as), EOPNOTSUPP);
    begin_mpls(TCA_MPLS_ACT_POP);
    assert_int_equal(end(&as), EBADMSG);
}

/* One option of Geneve with 'n' bytes of data. */
static void
put_geneve(uint8_t type, size_t n)
{
    static const uint8_t data[128] = { 1, 2, 3 };

    tcnl_put_u16(&b, TCA_TUNNEL_KEY_ENC_OPT_GENEVE_CLASS, htons(0x102));
    tcnl_put_u8(&b, TCA_TUNNEL_KEY_ENC_OPT_GENEVE_TYPE, type);
    tcnl_put(&b, TCA_TUNNEL_KEY_ENC_OPT_GENEVE_DATA, data, n);
}

static void
begin_tunnel(void)
{
    struct tc_tunnel_key p = {
        .action = TC_ACT_PIPE, .t_action = TCA_TUNNEL_KEY_ACT_SET
    };

    begin("tunnel_key");
    tcnl_put(&b, TCA_TUNNEL_KEY_PARMS, &p, sizeof p);
}

static void
put_ipv4(void)
{
    tcnl_put_u32(&b, TCA_TUNNEL_KEY_ENC_IPV4_SRC, 1);
    tcnl_put_u32(&b, TCA_TUNNEL_KEY_ENC_IPV4_DST, 2);
}

/* Options of 'n' bytes of data each, all in one nest. */
static int
parse_tunnel_geneve(unsigned int n_options, size_t n, struct tcnl_actions *as)
{
    size_t outer, inner;

    begin_tunnel();
    put_ipv4();
    outer = tcnl_nest_begin(&b, TCA_TUNNEL_KEY_ENC_OPTS);
    inner = tcnl_nest_begin(&b, TCA_TUNNEL_KEY_ENC_OPTS_GENEVE);
    while (n_options--) {
        put_geneve(9, n);
    }
    tcnl_nest_end(&b, inner);
    tcnl_nest_end(&b, outer);
    return end(as);
}

static void
test_tunnel(void **state)
{
    static const uint8_t expected[] = {
        1, 2, 9, 1, 1, 2, 3, 0, 1, 2, 9, 1, 1, 2, 3, 0
    };
    struct tcnl_actions as;

    (void) state;
    assert_int_equal(parse_tunnel_geneve(2, 4, &as), 0);
    assert_int_equal(as.tunnels[0].geneve_len, sizeof expected);
    assert_memory_equal(as.geneve, expected, sizeof expected);
    assert_true(as.tunnels[0].csum);

    /* Lengths at their limits and beyond. */
    assert_int_equal(parse_tunnel_geneve(1, 124, &as), 0);
    assert_int_equal(parse_tunnel_geneve(1, 128, &as), EBADMSG);
    assert_int_equal(parse_tunnel_geneve(1, 0, &as), EBADMSG);
    assert_int_equal(parse_tunnel_geneve(1, 6, &as), EBADMSG);
    assert_int_equal(parse_tunnel_geneve(31, 4, &as), 0);
    assert_int_equal(parse_tunnel_geneve(32, 4, &as), EOPNOTSUPP);
    assert_int_equal(parse_tunnel_geneve(0, 4, &as), EBADMSG);

    begin_tunnel();
    assert_int_equal(end(&as), EBADMSG);
    begin_tunnel();
    put_ipv4();
    tcnl_put_u8(&b, TCA_TUNNEL_KEY_NO_CSUM, 1);
    assert_int_equal(end(&as), 0);
    assert_false(as.tunnels[0].csum);
    begin_tunnel();
    put_ipv4();
    tcnl_put_u32(&b, 17, 1);
    assert_int_equal(end(&as), EOPNOTSUPP);
}

/* ## Matches. */

static void
begin_flower(void)
{
    tcnl_buffer_init(&b, memory, sizeof memory);
    tcnl_msg_begin(&b, 0x123, 0, NULL, 0);
    list = tcnl_nest_begin(&b, TCA_OPTIONS);
}

static int
end_flower(struct tcnl_flower *f)
{
    struct nlmsghdr *nlh;

    tcnl_nest_end(&b, list);
    assert_int_equal(tcnl_msg_end(&b, &nlh), 0);
    memset(f, 0xaa, sizeof *f);
    return tcnl_flower_parse((void *) ((uint8_t *) nlh + NLMSG_HDRLEN), f);
}

static void
put_flower_geneve(uint16_t type, size_t n1, size_t n2)
{
    size_t outer = tcnl_nest_begin(&b, type);
    size_t inner = tcnl_nest_begin(&b, TCA_FLOWER_KEY_ENC_OPTS_GENEVE);

    put_geneve(1, n1);
    put_geneve(2, n2);
    tcnl_nest_end(&b, inner);
    tcnl_nest_end(&b, outer);
}

static void
put_flower_gbp(uint16_t type, uint32_t gbp)
{
    size_t outer = tcnl_nest_begin(&b, type);
    size_t inner = tcnl_nest_begin(&b, TCA_FLOWER_KEY_ENC_OPTS_VXLAN);

    tcnl_put_u32(&b, TCA_FLOWER_KEY_ENC_OPT_VXLAN_GBP, gbp);
    tcnl_nest_end(&b, inner);
    tcnl_nest_end(&b, outer);
}

static void
test_flower_options(void **state)
{
    struct tcnl_flower f, g;

    (void) state;
    /* Without a mask they are exact. */
    begin_flower();
    put_flower_geneve(TCA_FLOWER_KEY_ENC_OPTS, 4, 8);
    assert_int_equal(end_flower(&f), 0);
    assert_int_equal(f.key.enc_geneve_len, 20);
    assert_int_equal(f.geneve.key[3], 1);
    assert_int_equal(f.geneve.mask[2], 0xff);
    assert_int_equal(f.geneve.mask[3], TCNL_GENEVE_LEN_MASK);
    tcnl_flower_copy(&g, &f);
    assert_true(tcnl_flower_equal(&f, &g));
    assert_true(tcnl_flower_hash(&f) == tcnl_flower_hash(&g));
    g.geneve.key[19] ^= 1;
    assert_false(tcnl_flower_equal(&f, &g));
    assert_true(tcnl_flower_hash(&f) != tcnl_flower_hash(&g));

    begin_flower();
    put_flower_geneve(TCA_FLOWER_KEY_ENC_OPTS, 4, 8);
    put_flower_geneve(TCA_FLOWER_KEY_ENC_OPTS_MASK, 8, 4);
    assert_int_equal(end_flower(&f), EBADMSG);
    begin_flower();
    put_flower_geneve(TCA_FLOWER_KEY_ENC_OPTS, 4, 8);
    put_flower_gbp(TCA_FLOWER_KEY_ENC_OPTS_MASK, 1);
    assert_int_equal(end_flower(&f), EBADMSG);
    begin_flower();
    put_flower_geneve(TCA_FLOWER_KEY_ENC_OPTS_MASK, 4, 8);
    assert_int_equal(end_flower(&f), EBADMSG);
    begin_flower();
    put_flower_gbp(TCA_FLOWER_KEY_ENC_OPTS, 0x80005);
    assert_int_equal(end_flower(&f), 0);
    assert_int_equal(f.mask.enc_gbp, TCNL_GBP_MASK);
    begin_flower();
    put_flower_gbp(TCA_FLOWER_KEY_ENC_OPTS, 0x1000005);
    assert_int_equal(end_flower(&f), EOPNOTSUPP);
    begin_flower();
    put_flower_gbp(TCA_FLOWER_KEY_ENC_OPTS, 5);
    put_flower_gbp(TCA_FLOWER_KEY_ENC_OPTS, 5);
    assert_int_equal(end_flower(&f), EBADMSG);
}

/* Tunnels of two families, and options of two kinds, are no match. */
static void
test_flower_complete(void **state)
{
    uint32_t one = 1, gbp = 5;
    uint8_t ones[16] = { 1, 1, 1, 1 };
    struct tcnl_flower f;

    (void) state;
    tcnl_flower_init(&f);
    tcnl_flower_set(&f, TCNL_KEY_ENC_IPV4_SRC, &one, NULL);
    tcnl_flower_set(&f, TCNL_KEY_ENC_GBP, &gbp, NULL);
    assert_true(tcnl_flower_is_complete(&f));
    tcnl_flower_set(&f, TCNL_KEY_ENC_IPV6_DST, ones, NULL);
    assert_false(tcnl_flower_is_complete(&f));

    tcnl_flower_init(&f);
    tcnl_flower_set(&f, TCNL_KEY_ENC_GBP, &gbp, NULL);
    tcnl_flower_set_geneve(&f, ones, ones, 8);
    assert_false(tcnl_flower_is_complete(&f));
}

/* Two tags, as sent and as reported. */
static void
test_flower_tags(void **state)
{
    struct tcnl_flower f;

    (void) state;
    begin_flower();
    tcnl_put_u16(&b, TCA_FLOWER_KEY_ETH_TYPE, htons(ETH_P_IP));
    tcnl_put_u16(&b, TCA_FLOWER_KEY_VLAN_ETH_TYPE, htons(ETH_P_8021Q));
    tcnl_put_u16(&b, TCA_FLOWER_KEY_CVLAN_ETH_TYPE, htons(ETH_P_IP));
    tcnl_put_u16(&b, TCA_FLOWER_KEY_CVLAN_ID, 4095);
    tcnl_put_u8(&b, TCA_FLOWER_KEY_CVLAN_PRIO, 7);
    assert_int_equal(end_flower(&f), 0);
    assert_int_equal(tcnl_flower_set_protocol(&f, htons(ETH_P_8021AD)), 0);
    assert_int_equal(f.key.eth_type, htons(ETH_P_8021AD));
    assert_true(tcnl_flower_is_complete(&f));

    /* The inner tag needs the outer one to say that there is one. */
    f.present &= ~TCNL_KEY_BIT(TCNL_KEY_VLAN_ETH_TYPE);
    assert_false(tcnl_flower_is_complete(&f));

    begin_flower();
    tcnl_put_u16(&b, TCA_FLOWER_KEY_CVLAN_ID, 4096);
    assert_int_equal(end_flower(&f), EBADMSG);
    begin_flower();
    tcnl_put_u32(&b, TCA_FLOWER_KEY_MPLS_LABEL, 0x100000);
    assert_int_equal(end_flower(&f), EBADMSG);
    begin_flower();
    tcnl_put_u8(&b, TCA_FLOWER_KEY_MPLS_BOS, 2);
    assert_int_equal(end_flower(&f), EBADMSG);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ct),
        cmocka_unit_test(test_mpls),
        cmocka_unit_test(test_tunnel),
        cmocka_unit_test(test_flower_options),
        cmocka_unit_test(test_flower_complete),
        cmocka_unit_test(test_flower_tags),
    };

    return cmocka_run_group_tests_name("kinds", tests, NULL, NULL);
}
