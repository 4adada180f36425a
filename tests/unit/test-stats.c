/* SPDX-License-Identifier: Apache-2.0 */

/* Counters of actions: 64 bits, for software and for hardware. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include "tcnl/buffer.h"
#include "tcnl/stats.h"

static uint32_t memory[256];
static struct tcnl_buffer b;

static void
begin(void)
{
    tcnl_buffer_init(&b, memory, sizeof memory);
    tcnl_msg_begin(&b, 0x123, 0, NULL, 0);
}

static void
put_basic(uint16_t type, uint64_t packets, uint64_t bytes)
{
    struct gnet_stats_basic basic = {
        .bytes = bytes,
        .packets = (uint32_t) packets,
    };

    tcnl_put(&b, type, &basic, sizeof basic);
    if (packets > UINT32_MAX) {
        tcnl_put_u64(&b, TCA_STATS_PKT64, packets);
    }
}

static int
end_and_parse(size_t nest, struct tcnl_stats *stats)
{
    struct nlmsghdr *nlh;

    tcnl_nest_end(&b, nest);
    assert_int_equal(tcnl_msg_end(&b, &nlh), 0);
    memset(stats, 0xaa, sizeof *stats);
    return tcnl_stats_parse((void *) ((uint8_t *) nlh + NLMSG_HDRLEN), stats);
}

static void
test_all(void **state)
{
    struct gnet_stats_queue queue = { .drops = 7, .overlimits = 9 };
    struct tcnl_stats s;
    size_t nest;

    (void) state;
    begin();
    nest = tcnl_nest_begin(&b, TCA_ACT_STATS);
    put_basic(TCA_STATS_BASIC, 10, 1000);
    put_basic(TCA_STATS_BASIC_HW, 4, 400);
    tcnl_put(&b, TCA_STATS_QUEUE, &queue, sizeof queue);
    assert_int_equal(end_and_parse(nest, &s), 0);
    assert_int_equal(s.packets, 10);
    assert_int_equal(s.bytes, 1000);
    assert_int_equal(s.hw_packets, 4);
    assert_int_equal(s.hw_bytes, 400);
    assert_int_equal(s.drops, 7);
    assert_int_equal(s.overlimits, 9);
}

/* The 64-bit counter is there once for each of the basic ones, in every
 * combination. */
static void
test_wide(void **state)
{
    static const uint64_t wide = (UINT64_C(5) << 32) + 17;

    (void) state;
    for (unsigned int i = 0; i < 8; i++) {
        uint64_t total = i & 1 ? wide : 17, hw = i & 2 ? wide - 3 : 14;
        struct tcnl_stats s;
        size_t nest;

        begin();
        nest = tcnl_nest_begin(&b, TCA_ACT_STATS);
        put_basic(TCA_STATS_BASIC, total, wide * 1500);
        if (i & 4) {
            tcnl_put(&b, TCA_STATS_PAD, NULL, 0);
        }
        put_basic(TCA_STATS_BASIC_HW, hw, wide * 1400);
        assert_int_equal(end_and_parse(nest, &s), 0);
        assert_int_equal(s.packets, total);
        assert_int_equal(s.hw_packets, hw);
        assert_int_equal(s.bytes, wide * 1500);
        assert_int_equal(s.hw_bytes, wide * 1400);
    }
}

/* Where 64-bit alignment is wanted, padding stands before the counter. */
static void
test_padding(void **state)
{
    struct gnet_stats_basic basic = { .packets = 1 };
    struct tcnl_stats s;
    size_t nest;

    (void) state;
    begin();
    nest = tcnl_nest_begin(&b, TCA_ACT_STATS);
    tcnl_put(&b, TCA_STATS_BASIC, &basic, sizeof basic);
    tcnl_put(&b, TCA_STATS_PAD, NULL, 0);
    tcnl_put_u64(&b, TCA_STATS_PKT64, UINT64_C(1) << 40);
    assert_int_equal(end_and_parse(nest, &s), 0);
    assert_int_equal(s.packets, UINT64_C(1) << 40);
}

/* 32-bit kernels leave out the padding at the end of the struct. */
static void
test_short_basic(void **state)
{
    struct gnet_stats_basic basic = { .bytes = 1 << 20, .packets = 3 };
    struct tcnl_stats s;
    size_t nest;

    (void) state;
    begin();
    nest = tcnl_nest_begin(&b, TCA_ACT_STATS);
    tcnl_put(&b, TCA_STATS_BASIC, &basic, 12);
    assert_int_equal(end_and_parse(nest, &s), 0);
    assert_int_equal(s.packets, 3);
    assert_int_equal(s.bytes, 1 << 20);
}

static void
assert_bad(size_t nest)
{
    static const struct tcnl_stats zero;
    struct tcnl_stats s;

    assert_int_equal(end_and_parse(nest, &s), EBADMSG);
    assert_memory_equal(&s, &zero, sizeof s);
}

static void
test_malformed(void **state)
{
    struct gnet_stats_basic basic = { .packets = 1 };
    size_t nest;

    (void) state;
    begin();
    assert_bad(tcnl_nest_begin(&b, TCA_ACT_STATS));

    begin();
    nest = tcnl_nest_begin(&b, TCA_ACT_STATS);
    tcnl_put(&b, TCA_STATS_BASIC, &basic, 11);
    assert_bad(nest);

    begin();
    nest = tcnl_nest_begin(&b, TCA_ACT_STATS);
    tcnl_put_u64(&b, TCA_STATS_PKT64, 1);
    put_basic(TCA_STATS_BASIC, 1, 1);
    assert_bad(nest);

    begin();
    nest = tcnl_nest_begin(&b, TCA_ACT_STATS);
    put_basic(TCA_STATS_BASIC, 1, 1);
    tcnl_put_u32(&b, TCA_STATS_PKT64, 1);
    assert_bad(nest);

    begin();
    nest = tcnl_nest_begin(&b, TCA_ACT_STATS);
    put_basic(TCA_STATS_BASIC, 1, 1);
    tcnl_put_u32(&b, TCA_STATS_QUEUE, 1);
    assert_bad(nest);
}

/* An attribute that says it is longer than what is left. */
static void
test_overlong(void **state)
{
    struct tcnl_stats s;
    struct nlmsghdr *nlh;
    struct nlattr *act_stats, *last;
    size_t nest;

    (void) state;
    begin();
    nest = tcnl_nest_begin(&b, TCA_ACT_STATS);
    put_basic(TCA_STATS_BASIC, 1, 1);
    put_basic(TCA_STATS_BASIC_HW, 1, 1);
    tcnl_nest_end(&b, nest);
    assert_int_equal(tcnl_msg_end(&b, &nlh), 0);
    act_stats = (void *) ((uint8_t *) nlh + NLMSG_HDRLEN);
    last = act_stats + 6;
    assert_int_equal(last->nla_type, TCA_STATS_BASIC_HW);
    last->nla_len++;
    assert_int_equal(tcnl_stats_parse(act_stats, &s), EBADMSG);
    last->nla_len = NLA_HDRLEN - 1;
    assert_int_equal(tcnl_stats_parse(act_stats, &s), EBADMSG);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_padding),
        cmocka_unit_test(test_short_basic),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_overlong),
    };

    return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
