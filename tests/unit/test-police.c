/* SPDX-License-Identifier: Apache-2.0 */

/* Meters: what a rate and a burst become, and back. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include "tcnl/police.h"

#define TICK_NS 64              /* The kernel's PSCHED_SHIFT is 6. */
#define INDEX 0x20000001u

static uint32_t memory[16384];
static struct tcnl_buffer b;
static struct tcnl_police_info got;
static unsigned int n_got;

static void
info_cb(void *aux, const struct tcnl_police_info *info)
{
    assert_ptr_equal(aux, &got);
    got = *info;
    n_got++;
}

static struct nlmsghdr *
reset(void)
{
    tcnl_buffer_init(&b, memory, sizeof memory);
    n_got = 0;
    return (void *) memory;
}

static int
parse(const struct nlmsghdr *nlh)
{
    n_got = 0;
    return tcnl_police_parse(nlh, info_cb, &got);
}

static const struct tcnl_police *
round_trip(const struct tcnl_police *p)
{
    struct nlmsghdr *nlh = reset();

    assert_int_equal(tcnl_police_put_new(&b, p, false), 0);
    assert_int_equal(parse(nlh), 0);
    assert_int_equal(n_got, 1);
    assert_int_equal(got.police.index, p->index);
    assert_int_equal(got.police.rate, p->rate);
    assert_int_equal(got.police.pkt_rate, p->pkt_rate);
    assert_int_equal(got.police.cls_flags, p->cls_flags);
    assert_int_equal(got.exceed, TC_ACT_SHOT);
    assert_int_equal(got.conform, TC_ACT_PIPE);
    return &got.police;
}

static const uint64_t rates[] = {
    1, 2, 3, 7, 60, 125, 999, 12500, 125000, 1000000, 15624999, 15625000,
    15625001, 125000000, 4294967294, 4294967295, 4294967296, 12500000000,
    1000000000000,
};
#define N_RATES (sizeof rates / sizeof rates[0])

/* A burst comes back as it was or a little larger, up to the limit. */
static void
test_rates(void **state)
{
    static const uint64_t bursts[] = {
        1, 60, 1500, 65535, 1000000, 100000000
    };

    (void) state;
    for (unsigned int i = 0; i < N_RATES; i++) {
        for (unsigned int j = 0; j < 6; j++) {
            struct tcnl_police p = {
                .index = INDEX,
                .rate = rates[i],
                .burst = bursts[j],
            };
            uint64_t back = round_trip(&p)->burst;

            if (bursts[j] / rates[i] < 274) {
                assert_true(back >= bursts[j]);
                assert_true(back - bursts[j] <= rates[i] / 15625000);
            } else {
                assert_true(back <= bursts[j]);
                assert_true(back >= rates[i] * 274);
            }
            assert_true(got.police.mtu >= 65535 + 14);
        }
    }
}

static void
test_packet_rates(void **state)
{
    (void) state;
    for (unsigned int i = 0; i < N_RATES; i++) {
        struct tcnl_police p = {
            .index = INDEX,
            .pkt_rate = rates[i],
            .pkt_burst = 1000000,
            .mtu = 9000,
            .cls_flags = TCA_CLS_FLAGS_SKIP_SW,
        };
        const struct tcnl_police *back = round_trip(&p);

        assert_true(back->pkt_burst >= 1000000);
        assert_true(back->pkt_burst - 1000000 <= rates[i] / 15625000);
        assert_int_equal(back->burst, 0);
        assert_int_equal(back->mtu, 9000);
    }
}

/* The least number of ticks in which 'size' goes through: no tick fewer would
 * do, so one packet of a burst of one conforms. */
static void
test_ticks(void **state)
{
    (void) state;
    for (unsigned int i = 0; i < N_RATES; i++) {
        for (uint64_t size = 1; size < 100000; size = size * 3 + 1) {
            unsigned __int128 need = (unsigned __int128) size * 1000000000;
            uint64_t t = tcnl_police_ticks(size, rates[i], UINT64_MAX);

            assert_true((unsigned __int128) t * TICK_NS * rates[i] >= need);
            assert_true((unsigned __int128) (t - 1) * TICK_NS * rates[i]
                        < need);
        }
    }
    assert_int_equal(tcnl_police_ticks(1, 3, UINT64_MAX), 5208334);
    assert_int_equal(tcnl_police_ticks(UINT64_MAX, 1, 77), 77);
    assert_int_equal(tcnl_police_ticks(UINT64_MAX, UINT64_MAX, UINT64_MAX),
                     15625000);
    assert_int_equal(tcnl_police_ticks(1, 0, 7), 0);
    assert_int_equal(tcnl_police_ticks(0, 1, 7), 0);
    assert_int_equal(tcnl_police_size(UINT64_MAX, UINT64_MAX), UINT64_MAX);
    assert_int_equal(tcnl_police_size(15625000, 3), 3);
}

/* ## The message. */

static const struct nlattr *
find(const struct nlattr *nest, unsigned int type)
{
    const uint8_t *p = (const uint8_t *) nest + NLA_HDRLEN;
    const uint8_t *stop = (const uint8_t *) nest + nest->nla_len;

    while (p < stop) {
        const struct nlattr *a = (const void *) p;

        if ((a->nla_type & NLA_TYPE_MASK) == type) {
            return a;
        }
        p += NLA_ALIGN(a->nla_len);
    }
    return NULL;
}

static const struct nlattr *
options_of(const struct nlmsghdr *nlh)
{
    const uint8_t *root = (const uint8_t *) nlh
                          + NLMSG_LENGTH(sizeof(struct tcamsg));

    return find(find((const void *) root, 1), TCA_ACT_OPTIONS);
}

static struct tc_police
tbf_of(const struct nlmsghdr *nlh)
{
    const struct nlattr *a = find(options_of(nlh), TCA_POLICE_TBF);
    struct tc_police tbf;

    assert_int_equal(a->nla_len, NLA_HDRLEN + sizeof tbf);
    memcpy(&tbf, a + 1, sizeof tbf);
    return tbf;
}

/* Without a table of just that size the kernel says ENOMEM. */
static void
test_message(void **state)
{
    struct tcnl_police p = { .index = INDEX, .rate = 125000, .burst = 1000 };
    const struct nlmsghdr *nlh = reset();
    const struct nlattr *table;
    struct tc_police tbf;
    uint32_t ticks[256];

    (void) state;
    assert_int_equal(tcnl_police_put_new(&b, &p, false), 0);
    assert_int_equal(nlh->nlmsg_type, RTM_NEWACTION);
    assert_int_equal(nlh->nlmsg_flags,
                     NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL);
    tbf = tbf_of(nlh);
    assert_int_equal(tbf.rate.rate, 125000);
    assert_int_equal(tbf.rate.mpu, 60);
    assert_in_range(tbf.rate.cell_log, 1, 31);
    assert_true(tbf.mtu >> tbf.rate.cell_log < 256);
    assert_int_equal(tbf.burst, 125000);
    table = find(options_of(nlh), TCA_POLICE_RATE);
    assert_int_equal(table->nla_len, NLA_HDRLEN + sizeof ticks);
    memcpy(ticks, table + 1, sizeof ticks);
    for (unsigned int i = 0; i < 256; i++) {
        assert_int_equal(ticks[i], ((i + 1) << tbf.rate.cell_log) * 125);
    }
    assert_null(find(options_of(nlh), TCA_POLICE_RATE64));
    assert_null(find(options_of(nlh), TCA_POLICE_PKTRATE64));
}

static void
test_replace(void **state)
{
    struct tcnl_police p = {
        .index = INDEX,
        .rate = UINT64_C(1) << 32,
        .burst = 1,
        .mtu = 1,
    };
    const struct nlmsghdr *nlh = reset();
    struct tc_police tbf;

    (void) state;
    assert_int_equal(tcnl_police_put_new(&b, &p, true), 0);
    assert_int_equal(nlh->nlmsg_flags,
                     NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE);
    tbf = tbf_of(nlh);
    assert_int_equal(tbf.rate.rate, UINT32_MAX);
    assert_int_equal(tbf.rate.cell_log, 1);
    assert_int_equal(tbf.burst, 1);
    assert_non_null(find(options_of(nlh), TCA_POLICE_RATE64));

    p.pkt_rate = 1;
    reset();
    assert_int_equal(tcnl_police_put_new(&b, &p, true), EINVAL);
    assert_int_equal(b.used, 0);
}

static void
test_delete(void **state)
{
    const struct nlmsghdr *nlh = reset();

    (void) state;
    assert_int_equal(tcnl_police_put_del(&b, INDEX, NLM_F_ECHO | NLM_F_ROOT),
                     0);
    assert_int_equal(nlh->nlmsg_type, RTM_DELACTION);
    assert_int_equal(nlh->nlmsg_flags, NLM_F_REQUEST | NLM_F_ECHO);
    reset();
    assert_int_equal(tcnl_police_put_get(&b, INDEX), 0);
    assert_int_equal(nlh->nlmsg_flags, NLM_F_REQUEST);
    reset();
    assert_int_equal(tcnl_police_put_dump(&b, false), 0);
    assert_int_equal(nlh->nlmsg_flags, NLM_F_REQUEST | NLM_F_DUMP);
}

/* ## Replies. */

static void
put_reply(uint16_t type, const char *kind, uint32_t index)
{
    struct gnet_stats_basic basic = { .packets = index, .bytes = 1000 };
    struct gnet_stats_queue queue = { .drops = 5, .overlimits = 6 };
    struct tc_police tbf = { .index = index, .bindcnt = 3 };
    size_t act = tcnl_nest_begin(&b, type), nest;

    tcnl_put_string(&b, TCA_ACT_KIND, kind);
    nest = tcnl_nest_begin(&b, TCA_ACT_STATS);
    tcnl_put(&b, TCA_STATS_BASIC, &basic, sizeof basic);
    tcnl_put(&b, TCA_STATS_QUEUE, &queue, sizeof queue);
    tcnl_nest_end(&b, nest);
    nest = tcnl_nest_begin(&b, TCA_ACT_OPTIONS);
    tcnl_put(&b, TCA_POLICE_TBF, &tbf, sizeof tbf);
    tcnl_nest_end(&b, nest);
    tcnl_nest_end(&b, act);
}

/* Numbers begin at 0 in a dump, and there may be any number of them. */
static void
test_dump(void **state)
{
    struct nlmsghdr *nlh = reset();
    struct tcamsg tcam = { 0 };
    size_t nest;

    (void) state;
    tcnl_msg_begin(&b, RTM_GETACTION, NLM_F_MULTI, &tcam, sizeof tcam);
    nest = tcnl_nest_begin(&b, TCA_ROOT_TAB);
    for (uint16_t i = 0; i < 100; i++) {
        put_reply(i, i % 10 ? "police" : "gact", 1000 + i);
    }
    tcnl_nest_end(&b, nest);
    tcnl_put_u32(&b, TCA_ROOT_COUNT, 100);
    assert_int_equal(tcnl_msg_end(&b, NULL), 0);
    assert_int_equal(parse(nlh), 0);
    assert_int_equal(n_got, 90);
    assert_int_equal(got.police.index, 1099);
    assert_int_equal(got.bindcnt, 3);
    assert_int_equal(got.stats.packets, 1099);
    assert_int_equal(got.stats.drops, 5);
    assert_int_equal(got.stats.overlimits, 6);
}

/* A message that ends early is damage at any byte. */
static void
test_truncated(void **state)
{
    struct tcnl_police p = { .index = INDEX, .rate = 1, .burst = 1 };
    struct nlmsghdr *nlh = reset();
    uint32_t len;

    (void) state;
    assert_int_equal(tcnl_police_put_new(&b, &p, false), 0);
    len = nlh->nlmsg_len;
    for (nlh->nlmsg_len = 0; nlh->nlmsg_len < len; nlh->nlmsg_len++) {
        int error = parse(nlh);

        assert_int_equal(n_got, 0);
        assert_int_equal(error,
                         nlh->nlmsg_len == NLMSG_LENGTH(sizeof(struct tcamsg))
                         ? 0 : EBADMSG);
    }
    nlh->nlmsg_type = RTM_NEWTFILTER;
    assert_int_equal(parse(nlh), EBADMSG);
}

static void
test_lengths(void **state)
{
    static const uint16_t types[] = {
        TCA_POLICE_TBF, TCA_POLICE_RATE64, TCA_POLICE_PKTRATE64,
        TCA_POLICE_PKTBURST64, TCA_POLICE_RESULT,
    };

    (void) state;
    for (unsigned int i = 0; i < 5; i++) {
        struct nlmsghdr *nlh = reset();
        struct tcamsg tcam = { 0 };
        struct tc_police tbf = { .index = 1 };
        size_t nest, act, options;

        tcnl_msg_begin(&b, RTM_NEWACTION, 0, &tcam, sizeof tcam);
        nest = tcnl_nest_begin(&b, TCA_ROOT_TAB);
        act = tcnl_nest_begin(&b, 1);
        tcnl_put_string(&b, TCA_ACT_KIND, "police");
        options = tcnl_nest_begin(&b, TCA_ACT_OPTIONS);
        tcnl_put(&b, TCA_POLICE_TBF, &tbf, sizeof tbf);
        tcnl_put_u16(&b, types[i], 1);
        tcnl_nest_end(&b, options);
        tcnl_nest_end(&b, act);
        tcnl_nest_end(&b, nest);
        assert_int_equal(tcnl_msg_end(&b, NULL), 0);
        assert_int_equal(parse(nlh), EBADMSG);
        assert_int_equal(n_got, 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_packet_rates),
        cmocka_unit_test(test_ticks),
        cmocka_unit_test(test_message),
        cmocka_unit_test(test_replace),
        cmocka_unit_test(test_delete),
        cmocka_unit_test(test_dump),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_lengths),
    };

    return cmocka_run_group_tests_name("police", tests, NULL, NULL);
}
