/* SPDX-License-Identifier: Apache-2.0 */

/* Matches: the struct to attributes and back, as strictly as can be. */

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
#include "fake/fake-sample.h"
#include "tcnl/flower.h"

static uint32_t memory[1024];
static struct tcnl_buffer b;
static size_t nest;

static void
begin(void)
{
    tcnl_buffer_init(&b, memory, sizeof memory);
    tcnl_msg_begin(&b, 0x123, 0, NULL, 0);
    nest = tcnl_nest_begin(&b, TCA_OPTIONS);
}

static struct nlattr *
end(void)
{
    struct nlmsghdr *nlh;

    tcnl_nest_end(&b, nest);
    assert_int_equal(tcnl_msg_end(&b, &nlh), 0);
    return (void *) ((uint8_t *) nlh + NLMSG_HDRLEN);
}

static int
end_and_parse(struct tcnl_flower *f)
{
    memset(f, 0xaa, sizeof *f);
    return tcnl_flower_parse(end(), f);
}

static void
test_samples(void **state)
{
    static struct sample samples[SAMPLE_MAX];
    unsigned int n = samples_make(samples, 1);
    uint64_t keys = 0;

    (void) state;
    for (unsigned int i = 0; i < n; i++) {
        struct tcnl_flower f;

        begin();
        tcnl_flower_put(&b, &samples[i].flower);
        assert_int_equal(end_and_parse(&f), 0);
        assert_true(tcnl_flower_equal(&f, &samples[i].flower));
        assert_int_equal(f.cls_flags, samples[i].flower.cls_flags);
        keys |= f.present;
    }
    assert_int_equal(keys, TCNL_KEY_BIT(TCNL_N_KEYS) - 1);
}

/* Every attribute of every sample, cut short by a byte. */
static void
test_lengths(void **state)
{
    static struct sample samples[SAMPLE_MAX];
    unsigned int n = samples_make(samples, 1);

    (void) state;
    for (unsigned int i = 0; i < n; i++) {
        struct tcnl_flower f;
        struct nlattr *options;
        uint8_t *p, *stop;

        begin();
        tcnl_flower_put(&b, &samples[i].flower);
        options = end();
        p = (uint8_t *) options + NLA_HDRLEN;
        stop = (uint8_t *) options + options->nla_len;
        while (p < stop) {
            struct nlattr *a = (void *) p;

            p += NLA_ALIGN(a->nla_len);
            a->nla_len--;
            assert_int_equal(tcnl_flower_parse(options, &f), EBADMSG);
            a->nla_len++;
        }
        assert_int_equal(tcnl_flower_parse(options, &f), 0);
        options->nla_len--;
        assert_int_equal(tcnl_flower_parse(options, &f), EBADMSG);
    }
}

/* What is in a reply besides keys. */
static void
test_reply(void **state)
{
    struct tcnl_flower f;

    (void) state;
    begin();
    tcnl_put_u32(&b, TCA_FLOWER_FLAGS,
                 TCA_CLS_FLAGS_SKIP_SW | TCA_CLS_FLAGS_IN_HW);
    tcnl_put_u32(&b, TCA_FLOWER_IN_HW_COUNT, 1);
    tcnl_put(&b, TCA_FLOWER_ACT, NULL, 0);
    assert_int_equal(end_and_parse(&f), 0);
    assert_int_equal(f.present, 0);
    assert_int_equal(f.cls_flags, TCA_CLS_FLAGS_SKIP_SW | TCA_CLS_FLAGS_IN_HW);

    /* The kernel's own flags are not sent back to it. */
    begin();
    tcnl_flower_put(&b, &f);
    assert_int_equal(end_and_parse(&f), 0);
    assert_int_equal(f.cls_flags, TCA_CLS_FLAGS_SKIP_SW);
}

/* All that is not in the table, the types of kernels to come included. */
static void
test_unknown(void **state)
{
    static const uint16_t foreign[] = {
        TCA_FLOWER_UNSPEC, TCA_FLOWER_CLASSID, TCA_FLOWER_INDEV,
        TCA_FLOWER_KEY_PORT_SRC_MIN, TCA_FLOWER_KEY_PORT_DST_MAX,
        TCA_FLOWER_KEY_MPLS_OPTS, TCA_FLOWER_KEY_HASH,
        108 /* TCA_FLOWER_KEY_SPI */,
        TCA_FLOWER_KEY_NUM_OF_VLANS, TCA_FLOWER_MAX + 1, 0x3fff,
        256 + TCA_FLOWER_KEY_ETH_DST,
    };
    struct tcnl_flower f;

    (void) state;
    for (unsigned int i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        begin();
        tcnl_put_u32(&b, foreign[i], 1);
        assert_int_equal(end_and_parse(&f), EOPNOTSUPP);
    }
}

static void
test_masks(void **state)
{
    static const uint8_t value[6] = { 1, 2, 3, 4, 5, 6 };
    static const uint8_t mask[6] = { 0xff, 0, 0xff, 0, 1, 0 };
    static const uint8_t masked[6] = { 1, 0, 3, 0, 1, 0 }, zero[6];
    static const uint8_t ones[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
    struct tcnl_flower f;

    (void) state;
    begin();
    tcnl_put(&b, TCA_FLOWER_KEY_ETH_DST, value, 6);
    tcnl_put(&b, TCA_FLOWER_KEY_ETH_SRC_MASK, mask, 6);
    tcnl_put(&b, TCA_FLOWER_KEY_ETH_SRC, value, 6);
    assert_int_equal(end_and_parse(&f), 0);
    assert_memory_equal(f.key.eth_dst, value, 6);
    assert_memory_equal(f.mask.eth_dst, ones, 6);
    assert_memory_equal(f.key.eth_src, masked, 6);
    assert_memory_equal(f.mask.eth_src, mask, 6);

    /* All zeros: no match on it. */
    begin();
    tcnl_put(&b, TCA_FLOWER_KEY_ETH_DST, value, 6);
    tcnl_put(&b, TCA_FLOWER_KEY_ETH_DST_MASK, zero, 6);
    assert_int_equal(end_and_parse(&f), 0);
    assert_int_equal(f.present, 0);

    /* A mask of nothing. */
    begin();
    tcnl_put(&b, TCA_FLOWER_KEY_ETH_DST_MASK, mask, 6);
    assert_int_equal(end_and_parse(&f), EBADMSG);
}

static void
test_duplicates(void **state)
{
    struct tcnl_flower f;

    (void) state;
    begin();
    tcnl_put_u16(&b, TCA_FLOWER_KEY_ETH_TYPE, htons(ETH_P_IP));
    tcnl_put_u16(&b, TCA_FLOWER_KEY_ETH_TYPE, htons(ETH_P_IP));
    assert_int_equal(end_and_parse(&f), EBADMSG);
}

static void
test_ranges(void **state)
{
    struct tcnl_flower f;

    (void) state;
    begin();
    tcnl_put_u16(&b, TCA_FLOWER_KEY_VLAN_ID, 4095);
    tcnl_put_u8(&b, TCA_FLOWER_KEY_VLAN_PRIO, 7);
    assert_int_equal(end_and_parse(&f), 0);
    begin();
    tcnl_put_u16(&b, TCA_FLOWER_KEY_VLAN_ID, 4096);
    assert_int_equal(end_and_parse(&f), EBADMSG);
    begin();
    tcnl_put_u8(&b, TCA_FLOWER_KEY_VLAN_PRIO, 8);
    assert_int_equal(end_and_parse(&f), EBADMSG);
}

static int
parse_ports(uint8_t ip_proto, uint16_t first, uint16_t second)
{
    struct tcnl_flower f;

    begin();
    if (ip_proto) {
        tcnl_put_u8(&b, TCA_FLOWER_KEY_IP_PROTO, ip_proto);
    }
    tcnl_put_u16(&b, first, 1);
    if (second) {
        tcnl_put_u16(&b, second, 1);
    }
    return end_and_parse(&f);
}

/* Ports of a protocol that the filter does not name. */
static void
test_protocols(void **state)
{
    (void) state;
    assert_int_equal(parse_ports(IPPROTO_UDP, TCA_FLOWER_KEY_UDP_SRC,
                                 TCA_FLOWER_KEY_UDP_DST), 0);
    assert_int_equal(parse_ports(IPPROTO_UDP, TCA_FLOWER_KEY_TCP_SRC, 0),
                     EOPNOTSUPP);
    assert_int_equal(parse_ports(0, TCA_FLOWER_KEY_TCP_SRC, 0), EOPNOTSUPP);
    assert_int_equal(parse_ports(IPPROTO_TCP, TCA_FLOWER_KEY_TCP_SRC,
                                 TCA_FLOWER_KEY_UDP_DST), EOPNOTSUPP);
    assert_int_equal(parse_ports(IPPROTO_TCP, TCA_FLOWER_KEY_TCP_SRC,
                                 TCA_FLOWER_KEY_UDP_SRC), EOPNOTSUPP);
}

static void
set_u16(struct tcnl_flower *f, enum tcnl_key key, uint16_t value)
{
    value = htons(value);
    tcnl_flower_set(f, key, &value, NULL);
}

static bool
is_complete(uint16_t type, uint16_t vlan_type, uint8_t ip_proto,
            enum tcnl_key key)
{
    static const uint8_t value[16] = { 1 };
    struct tcnl_flower f;

    tcnl_flower_init(&f);
    if (type) {
        set_u16(&f, TCNL_KEY_ETH_TYPE, type);
    }
    if (vlan_type) {
        set_u16(&f, TCNL_KEY_VLAN_ETH_TYPE, vlan_type);
    }
    if (ip_proto) {
        tcnl_flower_set(&f, TCNL_KEY_IP_PROTO, &ip_proto, NULL);
    }
    tcnl_flower_set(&f, key, value, NULL);
    return tcnl_flower_is_complete(&f);
}

/* What the kernel would not look at. */
static void
test_complete(void **state)
{
    (void) state;
    assert_true(is_complete(0, 0, 0, TCNL_KEY_ETH_DST));
    assert_true(is_complete(0, 0, 0, TCNL_KEY_FLAGS));
    assert_false(is_complete(0, 0, 0, TCNL_KEY_VLAN_ID));
    assert_false(is_complete(ETH_P_IP, 0, 0, TCNL_KEY_VLAN_PRIO));
    assert_true(is_complete(ETH_P_8021AD, 0, 0, TCNL_KEY_VLAN_ID));
    assert_false(is_complete(0, 0, 0, TCNL_KEY_IPV4_SRC));
    assert_false(is_complete(ETH_P_IPV6, 0, 0, TCNL_KEY_IPV4_SRC));
    assert_false(is_complete(ETH_P_IP, 0, 0, TCNL_KEY_IPV6_DST));
    assert_false(is_complete(ETH_P_8021Q, 0, 0, TCNL_KEY_IP_TOS));
    assert_true(is_complete(ETH_P_8021Q, ETH_P_IPV6, 0, TCNL_KEY_IP_TOS));
    assert_false(is_complete(ETH_P_IP, ETH_P_IP, 0, TCNL_KEY_IP_TTL));
    assert_false(is_complete(ETH_P_IP, 0, 0, TCNL_KEY_ARP_OP));
    assert_true(is_complete(ETH_P_RARP, 0, 0, TCNL_KEY_ARP_SHA));
    assert_false(is_complete(ETH_P_IP, 0, 0, TCNL_KEY_TP_SRC));
    assert_false(is_complete(ETH_P_IP, 0, IPPROTO_GRE, TCNL_KEY_TP_SRC));
    assert_true(is_complete(ETH_P_IP, 0, IPPROTO_SCTP, TCNL_KEY_TP_SRC));
    assert_false(is_complete(ETH_P_IP, 0, IPPROTO_UDP, TCNL_KEY_TCP_FLAGS));
    assert_false(is_complete(0, 0, IPPROTO_TCP, TCNL_KEY_TP_SRC));
    assert_true(is_complete(ETH_P_IP, 0, IPPROTO_ICMP, TCNL_KEY_ICMP_TYPE));
    assert_false(is_complete(ETH_P_IPV6, 0, IPPROTO_ICMP,
                             TCNL_KEY_ICMP_TYPE));
    assert_false(is_complete(ETH_P_IP, 0, IPPROTO_ICMPV6,
                             TCNL_KEY_ICMP_CODE));
}

static int
set_protocol(uint16_t type, uint16_t vlan_type, uint16_t proto,
             struct tcnl_flower *f)
{
    tcnl_flower_init(f);
    if (type) {
        set_u16(f, TCNL_KEY_ETH_TYPE, type);
    }
    if (vlan_type) {
        set_u16(f, TCNL_KEY_VLAN_ETH_TYPE, vlan_type);
    }
    return tcnl_flower_set_protocol(f, htons(proto));
}

/* How the kernel reports the types of a filter on VLAN tags. */
static void
test_set_protocol(void **state)
{
    struct tcnl_flower f;

    (void) state;
    assert_int_equal(set_protocol(ETH_P_IP, ETH_P_IP, ETH_P_8021Q, &f), 0);
    assert_int_equal(f.key.eth_type, htons(ETH_P_8021Q));
    assert_int_equal(f.key.vlan_eth_type, htons(ETH_P_IP));
    assert_int_equal(set_protocol(0, ETH_P_8021Q, ETH_P_8021AD, &f), 0);
    assert_int_equal(f.key.eth_type, htons(ETH_P_8021AD));
    assert_int_equal(set_protocol(ETH_P_8021Q, ETH_P_IP, ETH_P_8021Q, &f), 0);
    assert_int_equal(set_protocol(0, 0, ETH_P_IP, &f), 0);
    assert_int_equal(f.key.eth_type, htons(ETH_P_IP));
    assert_int_equal(set_protocol(0, 0, ETH_P_ALL, &f), 0);
    assert_false(tcnl_flower_has(&f, TCNL_KEY_ETH_TYPE));
    assert_int_equal(set_protocol(ETH_P_IP, 0, ETH_P_ALL, &f), 0);

    assert_int_equal(set_protocol(ETH_P_IP, 0, ETH_P_IPV6, &f), EOPNOTSUPP);
    assert_int_equal(set_protocol(ETH_P_IP, 0, ETH_P_8021Q, &f), EOPNOTSUPP);
    assert_int_equal(set_protocol(ETH_P_IP, ETH_P_IPV6, ETH_P_8021Q, &f),
                     EOPNOTSUPP);
    assert_int_equal(set_protocol(ETH_P_IP, ETH_P_IP, ETH_P_ALL, &f),
                     EOPNOTSUPP);
}

static void
test_names(void **state)
{
    (void) state;
    for (unsigned int i = 0; i < TCNL_N_KEYS; i++) {
        assert_non_null(tcnl_key_name((enum tcnl_key) i));
        assert_in_range(tcnl_key_size((enum tcnl_key) i), 1, 16);
    }
    assert_string_equal(tcnl_key_name(TCNL_KEY_IPV4_SRC), "ipv4_src");
    assert_string_equal(tcnl_key_name(TCNL_N_KEYS), "unknown");
}

static void
test_set(void **state)
{
    static const uint16_t value = 0x1234, mask = 0x0f0f, zero = 0;
    struct tcnl_flower f, g;

    (void) state;
    tcnl_flower_init(&f);
    tcnl_flower_init(&g);
    tcnl_flower_set(&f, TCNL_KEY_TP_SRC, &value, &mask);
    assert_int_equal(f.key.tp_src, value & mask);
    assert_false(tcnl_flower_equal(&f, &g));
    tcnl_flower_set(&g, TCNL_KEY_TP_SRC, &value, NULL);
    assert_false(tcnl_flower_equal(&f, &g));
    tcnl_flower_set(&f, TCNL_KEY_TP_SRC, &value, &zero);
    assert_false(tcnl_flower_has(&f, TCNL_KEY_TP_SRC));
    tcnl_flower_set(&g, TCNL_KEY_TP_SRC, &value, &zero);
    assert_true(tcnl_flower_equal(&f, &g));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_reply),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_protocols),
        cmocka_unit_test(test_complete),
        cmocka_unit_test(test_set_protocol),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_set),
    };

    return cmocka_run_group_tests_name("flower", tests, NULL, NULL);
}
