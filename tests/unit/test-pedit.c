/* SPDX-License-Identifier: Apache-2.0 */

/* Header rewrites: fields to words of the kernel and back. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <linux/pkt_cls.h>
#include <linux/tc_act/tc_pedit.h>
#include "tcnl/pedit.h"

static struct tcnl_pedit_key keys[TCNL_MAX_PEDIT_KEYS];

static void
set(struct tcnl_rewrites *r, enum tcnl_rewrite rw, unsigned int seed)
{
    uint8_t value[16], mask[16];

    for (unsigned int i = 0; i < 16; i++) {
        value[i] = (uint8_t) (seed * 7 + i * 0x11 + rw);
        mask[i] = seed ? (uint8_t) (seed * 0x35 + i * 0x1d) | 1 : 0xff;
    }
    tcnl_rewrite_set(r, rw, value, mask);
}

static bool
equal(const struct tcnl_rewrites *a, const struct tcnl_rewrites *b)
{
    return a->present == b->present
           && !memcmp(&a->value, &b->value, sizeof a->value)
           && !memcmp(&a->mask, &b->mask, sizeof a->mask);
}

static void
assert_round_trip(const struct tcnl_rewrites *r)
{
    struct tcnl_rewrites back;
    unsigned int n = tcnl_pedit_from_rewrites(r, keys, TCNL_MAX_PEDIT_KEYS);

    assert_int_not_equal(n, 0);
    assert_int_equal(tcnl_pedit_to_rewrites(keys, n, &back), 0);
    assert_true(equal(r, &back));
}

static void
test_round_trips(void **state)
{
    (void) state;
    for (unsigned int seed = 0; seed < 40; seed++) {
        struct tcnl_rewrites all;

        memset(&all, 0, sizeof all);
        for (unsigned int i = 0; i < TCNL_N_REWRITES; i++) {
            struct tcnl_rewrites r;

            memset(&r, 0, sizeof r);
            set(&r, (enum tcnl_rewrite) i, seed);
            assert_round_trip(&r);
            set(&all, (enum tcnl_rewrite) i, seed + i);
            assert_round_trip(&all);
        }
    }
}

/* Each combination of fields. */
static void
test_combinations(void **state)
{
    (void) state;
    for (uint32_t bits = 1; bits < 1u << TCNL_N_REWRITES; bits++) {
        struct tcnl_rewrites r;

        memset(&r, 0, sizeof r);
        for (unsigned int i = 0; i < TCNL_N_REWRITES; i++) {
            if (bits & TCNL_RW_BIT(i)) {
                set(&r, (enum tcnl_rewrite) i, bits % 5);
            }
        }
        assert_int_equal(r.present, bits);
        assert_round_trip(&r);
    }
}

struct expected {
    uint16_t htype;
    uint32_t off, mask, val;    /* Host order. */
};

static void
assert_keys(const struct tcnl_rewrites *r, const struct expected *e,
            unsigned int n)
{
    assert_int_equal(tcnl_pedit_from_rewrites(r, keys, TCNL_MAX_PEDIT_KEYS),
                     n);
    for (unsigned int i = 0; i < n; i++) {
        assert_int_equal(keys[i].htype, e[i].htype);
        assert_int_equal(keys[i].cmd, TCA_PEDIT_KEY_EX_CMD_SET);
        assert_int_equal(keys[i].off, e[i].off);
        assert_int_equal(ntohl(keys[i].mask), e[i].mask);
        assert_int_equal(ntohl(keys[i].val), e[i].val);
    }
}

#define HTYPE(X) TCA_PEDIT_KEY_EX_HDR_TYPE_##X

/* The words themselves, in OVS's order, worked out by hand. */
static void
test_words(void **state)
{
    static const uint8_t src[] = { 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6 };
    static const uint8_t dst[] = { 0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6 };
    static const uint8_t type[] = { 0x88, 0x47 };
    static const uint8_t ip[] = { 10, 1, 2, 3 };
    static const uint8_t ip_mask[] = { 255, 0, 255, 0 };
    static const uint8_t port[] = { 0x12, 0x34 };
    static const uint8_t ttl = 0x3f, tclass = 0xb8, ones[6] = {
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff
    };
    static const struct expected expected[] = {
        { HTYPE(IP4), 12, 0x00ff00ff, 0x0a000200 },
        { HTYPE(IP4), 8, 0x00ffffff, 0x3f000000 },
        { HTYPE(IP4), 0, 0xff00ffff, 0x00b80000 },
        { HTYPE(IP6), 4, 0xffffff00, 0x0000003f },
        { HTYPE(IP6), 0, 0xf00fffff, 0x0b800000 },
        { HTYPE(ETH), 4, 0xffff0000, 0x0000a1a2 },
        { HTYPE(ETH), 8, 0x00000000, 0xa3a4a5a6 },
        { HTYPE(ETH), 0, 0x00000000, 0xb1b2b3b4 },
        { HTYPE(ETH), 4, 0x0000ffff, 0xb5b60000 },
        { HTYPE(ETH), 12, 0x0000ffff, 0x88470000 },
        { HTYPE(TCP), 0, 0x0000ffff, 0x12340000 },
        { HTYPE(TCP), 0, 0xffff0000, 0x00001234 },
    };
    struct tcnl_rewrites r;

    (void) state;
    memset(&r, 0, sizeof r);
    tcnl_rewrite_set(&r, TCNL_RW_TCP_DST, port, ones);
    tcnl_rewrite_set(&r, TCNL_RW_TCP_SRC, port, ones);
    tcnl_rewrite_set(&r, TCNL_RW_ETH_TYPE, type, ones);
    tcnl_rewrite_set(&r, TCNL_RW_ETH_DST, dst, ones);
    tcnl_rewrite_set(&r, TCNL_RW_ETH_SRC, src, ones);
    tcnl_rewrite_set(&r, TCNL_RW_IPV6_TCLASS, &tclass, ones);
    tcnl_rewrite_set(&r, TCNL_RW_IPV6_HLIMIT, &ttl, ones);
    tcnl_rewrite_set(&r, TCNL_RW_IPV4_TOS, &tclass, ones);
    tcnl_rewrite_set(&r, TCNL_RW_IPV4_TTL, &ttl, ones);
    tcnl_rewrite_set(&r, TCNL_RW_IPV4_SRC, ip, ip_mask);
    assert_keys(&r, expected, sizeof expected / sizeof expected[0]);
}

/* Words of a long field that nothing is written to are left out. */
static void
test_gaps(void **state)
{
    static const struct expected expected[] = {
        { HTYPE(IP6), 12, 0xff00ffff, 0x00550000 },
        { HTYPE(IP6), 20, 0xfffffff0, 0x0000000f },
    };
    uint8_t value[16] = { 0 }, mask[16] = { 0 };
    struct tcnl_rewrites r;

    (void) state;
    value[5] = 0x55, mask[5] = 0xff;
    value[15] = 0xff, mask[15] = 0x0f;
    memset(&r, 0, sizeof r);
    tcnl_rewrite_set(&r, TCNL_RW_IPV6_SRC, value, mask);
    assert_keys(&r, expected, 2);
    assert_round_trip(&r);
}

static void
test_no_mask(void **state)
{
    static const uint8_t value[2] = { 1, 2 }, zero[2] = { 0, 0 };
    struct tcnl_rewrites r;

    (void) state;
    memset(&r, 0, sizeof r);
    tcnl_rewrite_set(&r, TCNL_RW_UDP_SRC, value, value);
    tcnl_rewrite_set(&r, TCNL_RW_UDP_SRC, value, zero);
    assert_int_equal(r.present, 0);
    assert_int_equal(tcnl_pedit_from_rewrites(&r, keys, 1), 0);
}

static void
test_room(void **state)
{
    struct tcnl_rewrites r;

    (void) state;
    memset(&r, 0, sizeof r);
    set(&r, TCNL_RW_IPV6_DST, 0);
    assert_int_equal(tcnl_pedit_from_rewrites(&r, keys, 4), 4);
    assert_int_equal(tcnl_pedit_from_rewrites(&r, keys, 3), 0);
}

/* A key as the kernel might have from somebody else. */
static int
parse_foreign(uint16_t htype, uint16_t cmd, uint32_t off, uint32_t mask,
              uint32_t val)
{
    struct tcnl_pedit_key key = { htype, cmd, off, htonl(mask), htonl(val) };
    struct tcnl_rewrites r;

    return tcnl_pedit_to_rewrites(&key, 1, &r);
}

static void
test_foreign(void **state)
{
    (void) state;
    assert_int_equal(parse_foreign(HTYPE(IP4), 0, 12, 0, 1), 0);
    assert_int_equal(parse_foreign(HTYPE(IP4), 1, 12, 0, 1), EOPNOTSUPP);
    assert_int_equal(parse_foreign(HTYPE(NETWORK), 0, 12, 0, 1), EOPNOTSUPP);
    assert_int_equal(parse_foreign(9, 0, 12, 0, 1), EOPNOTSUPP);

    /* Nothing, and bits that are to be kept. */
    assert_int_equal(parse_foreign(HTYPE(IP4), 0, 12, UINT32_MAX, 0),
                     EOPNOTSUPP);
    assert_int_equal(parse_foreign(HTYPE(IP4), 0, 12, 0xffff, 0x10001),
                     EOPNOTSUPP);

    /* No field: the protocol, the version, behind the end, not aligned. */
    assert_int_equal(parse_foreign(HTYPE(IP4), 0, 8, 0xff00ffff, 0x60000),
                     EOPNOTSUPP);
    assert_int_equal(parse_foreign(HTYPE(IP6), 0, 0, 0x0fffffff, 0),
                     EOPNOTSUPP);
    assert_int_equal(parse_foreign(HTYPE(IP4), 0, 20, 0, 1), EOPNOTSUPP);
    assert_int_equal(parse_foreign(HTYPE(IP6), 0, 40, 0, 1), EOPNOTSUPP);
    assert_int_equal(parse_foreign(HTYPE(IP4), 0, 0xfffffffc, 0, 1),
                     EOPNOTSUPP);
    assert_int_equal(parse_foreign(HTYPE(IP4), 0, 10, 0xffff0000, 1),
                     EOPNOTSUPP);

    /* Two fields in one word. */
    assert_int_equal(parse_foreign(HTYPE(TCP), 0, 0, 0, 0x12345678),
                     EOPNOTSUPP);
    assert_int_equal(parse_foreign(HTYPE(ETH), 0, 4, 0, 0x12345678),
                     EOPNOTSUPP);
}

/* The same bits twice: the second key would win. */
static void
test_twice(void **state)
{
    const struct tcnl_pedit_key twice[] = {
        { HTYPE(IP4), 0, 16, htonl(0xffff0000), htonl(0x0001) },
        { HTYPE(IP4), 0, 16, htonl(0x00ffff00), htonl(0x0002) },
    };
    const struct tcnl_pedit_key parts[] = {
        { HTYPE(IP4), 0, 16, htonl(0xffff0000), htonl(0x0001) },
        { HTYPE(IP4), 0, 16, htonl(0x0000ffff), htonl(0x00020000) },
    };
    static const uint8_t whole[4] = { 0, 2, 0, 1 };
    struct tcnl_rewrites r;

    (void) state;
    assert_int_equal(tcnl_pedit_to_rewrites(twice, 2, &r), EOPNOTSUPP);
    assert_int_equal(tcnl_pedit_to_rewrites(parts, 2, &r), 0);
    assert_memory_equal(r.value.ipv4_dst, whole, 4);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_combinations),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_no_mask),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_twice),
    };

    return cmocka_run_group_tests_name("pedit", tests, NULL, NULL);
}
