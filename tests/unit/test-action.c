/* SPDX-License-Identifier: Apache-2.0 */

/* Actions: lists to attributes and back, and what they have counted. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_csum.h>
#include <linux/tc_act/tc_gact.h>
#include <linux/tc_act/tc_mirred.h>
#include <linux/tc_act/tc_pedit.h>
#include <linux/tc_act/tc_skbedit.h>
#include <linux/tc_act/tc_vlan.h>
#include "fake/fake-sample.h"
#include "tcnl/action.h"

static uint32_t memory[8192];
static struct tcnl_buffer b;

static void
begin(void)
{
    tcnl_buffer_init(&b, memory, sizeof memory);
    tcnl_msg_begin(&b, 0x123, 0, NULL, 0);
}

static struct nlattr *
end(void)
{
    struct nlmsghdr *nlh;

    assert_int_equal(tcnl_msg_end(&b, &nlh), 0);
    return (void *) ((uint8_t *) nlh + NLMSG_HDRLEN);
}

static void
test_samples(void **state)
{
    static struct sample samples[SAMPLE_MAX];
    unsigned int n = samples_make(samples, 7);
    unsigned int kinds = 0;

    (void) state;
    for (unsigned int i = 0; i < n; i++) {
        const struct tcnl_actions *sent = &samples[i].actions;
        struct tcnl_actions as;

        memset(&as, 0xaa, sizeof as);
        begin();
        tcnl_actions_put(&b, TCA_FLOWER_ACT, sent);
        assert_int_equal(tcnl_actions_parse(end(), &as), 0);
        assert_true(tcnl_actions_equal(&as, sent));
        for (unsigned int j = 0; j < as.n; j++) {
            kinds |= 1u << as.a[j].kind;
        }
    }
    assert_int_equal(kinds, (1u << TCNL_N_ACTION_KINDS) - 1);
}

/* Cuts each attribute of a tree short, one at a time. */
static void
cut(struct nlattr *top, struct nlattr *nest, bool nested)
{
    uint8_t *p = (uint8_t *) nest + NLA_HDRLEN;
    uint8_t *stop = (uint8_t *) nest + nest->nla_len;

    while (p < stop) {
        struct nlattr *a = (void *) p;
        struct tcnl_actions as;
        struct tcnl_filter_counters counters;
        int error;

        p += NLA_ALIGN(a->nla_len);
        if (a->nla_type & NLA_F_NESTED) {
            cut(top, a, true);
        }
        a->nla_len--;
        error = tcnl_actions_parse(top, &as);

        /* A nest may lose the padding of its last attribute. */
        assert_true(error == EBADMSG || error == EOPNOTSUPP
                    || (!error && a->nla_type & NLA_F_NESTED));
        tcnl_actions_parse_counters(top, &counters);
        a->nla_len++;
    }
    assert_true(nested || nest == top);
}

static void
test_lengths(void **state)
{
    static struct sample samples[SAMPLE_MAX];
    unsigned int n = samples_make(samples, 7);

    (void) state;
    for (unsigned int i = 0; i < n; i++) {
        struct tcnl_actions as;
        struct nlattr *acts;

        begin();
        tcnl_actions_put(&b, TCA_FLOWER_ACT, &samples[i].actions);
        acts = end();
        cut(acts, acts, false);
        assert_int_equal(tcnl_actions_parse(acts, &as), 0);
        acts->nla_len--;
        assert_int_equal(tcnl_actions_parse(acts, &as), EBADMSG);
    }
}

/* ## Replies made by hand. */

struct nests {
    size_t acts, act, options;
};

static struct nests
open_action(uint16_t type, const char *kind)
{
    struct nests n;

    n.acts = tcnl_nest_begin(&b, TCA_FLOWER_ACT);
    n.act = tcnl_nest_begin(&b, type);
    tcnl_put_string(&b, TCA_ACT_KIND, kind);
    n.options = tcnl_nest_begin(&b, TCA_ACT_OPTIONS);
    return n;
}

static int
close_and_parse(struct nests n, struct tcnl_actions *as)
{
    tcnl_nest_end(&b, n.options);
    tcnl_nest_end(&b, n.act);
    tcnl_nest_end(&b, n.acts);
    return tcnl_actions_parse(end(), as);
}

static void
put_gact(void)
{
    struct tc_gact p = { .action = TC_ACT_SHOT, .index = 17, .refcnt = 1 };

    tcnl_put(&b, TCA_GACT_PARMS, &p, sizeof p);
}

static void
test_unknown(void **state)
{
    struct tcnl_actions as;
    struct nests n;

    (void) state;
    begin();
    n = open_action(1, "gact");
    put_gact();
    tcnl_put_u32(&b, TCA_GACT_PROB, 0);
    assert_int_equal(close_and_parse(n, &as), EOPNOTSUPP);

    begin();
    n = open_action(1, "gact");
    put_gact();
    tcnl_put_u32(&b, 30, 0);
    assert_int_equal(close_and_parse(n, &as), EOPNOTSUPP);

    begin();
    n = open_action(1, "nat");
    put_gact();
    assert_int_equal(close_and_parse(n, &as), EOPNOTSUPP);

    begin();
    n = open_action(1, "gactor");
    put_gact();
    assert_int_equal(close_and_parse(n, &as), EOPNOTSUPP);

    /* Numbers that leave a gap, as the kernel would not read it. */
    begin();
    n = open_action(2, "gact");
    put_gact();
    assert_int_equal(close_and_parse(n, &as), EBADMSG);

    begin();
    n = open_action(1, "gact");
    put_gact();
    put_gact();
    assert_int_equal(close_and_parse(n, &as), EBADMSG);

    begin();
    n = open_action(1, "gact");
    assert_int_equal(close_and_parse(n, &as), EBADMSG);
}

/* What the kernel tells about an action, and what it does not mean. */
static void
test_extras(void **state)
{
    static const struct nla_bitfield32 flags = {
        TCA_ACT_FLAGS_SKIP_HW, TCA_ACT_FLAGS_SKIP_HW
    };
    static const struct tcf_t tm;
    struct tcnl_actions as;
    struct nests n;

    (void) state;
    begin();
    n = open_action(1, "gact");
    put_gact();
    tcnl_put(&b, TCA_GACT_TM, &tm, sizeof tm);
    tcnl_nest_end(&b, n.options);
    tcnl_put(&b, TCA_ACT_FLAGS, &flags, sizeof flags);
    tcnl_put(&b, TCA_ACT_USED_HW_STATS, &flags, sizeof flags);
    tcnl_put_u32(&b, TCA_ACT_IN_HW_COUNT, 1);
    tcnl_put_u32(&b, TCA_ACT_INDEX, 17);
    tcnl_put_u32(&b, TCA_ACT_MAX + 5, 17);
    tcnl_nest_end(&b, n.act);
    tcnl_nest_end(&b, n.acts);
    assert_int_equal(tcnl_actions_parse(end(), &as), 0);
    assert_int_equal(as.n, 1);
    assert_int_equal(as.a[0].verdict, TC_ACT_SHOT);
    assert_false(as.a[0].no_percpu);
    assert_false(as.has_cookie);
}

static int
parse_cookies(size_t first, size_t second, char last)
{
    char cookie[20] = "0123456789abcdef";
    struct tcnl_actions as;
    size_t acts, act;

    begin();
    acts = tcnl_nest_begin(&b, TCA_FLOWER_ACT);
    for (uint16_t i = 1; i <= 2; i++) {
        size_t options;

        act = tcnl_nest_begin(&b, i);
        tcnl_put_string(&b, TCA_ACT_KIND, "gact");
        tcnl_put(&b, TCA_ACT_COOKIE, cookie, i == 1 ? first : second);
        options = tcnl_nest_begin(&b, TCA_ACT_OPTIONS);
        put_gact();
        tcnl_nest_end(&b, options);
        tcnl_nest_end(&b, act);
        cookie[15] = last;
    }
    tcnl_nest_end(&b, acts);
    return tcnl_actions_parse(end(), &as);
}

static void
test_cookies(void **state)
{
    (void) state;
    assert_int_equal(parse_cookies(16, 16, 'f'), 0);
    assert_int_equal(parse_cookies(16, 16, 'x'), EOPNOTSUPP);
    assert_int_equal(parse_cookies(8, 16, 'f'), EOPNOTSUPP);
    assert_int_equal(parse_cookies(16, 17, 'f'), EOPNOTSUPP);
}

/* A police action comes with its parameters, of whatever kernel. */
static void
test_police(void **state)
{
    struct tc_police p = { .index = 42, .action = TC_ACT_SHOT, .mtu = 1 };
    struct tcnl_actions as;
    struct nests n;

    (void) state;
    begin();
    n = open_action(1, "police");
    tcnl_put_u64(&b, TCA_POLICE_PKTRATE64, 1000);
    tcnl_put_u64(&b, TCA_POLICE_MAX + 1, 1000);
    tcnl_put(&b, TCA_POLICE_TBF, &p, sizeof p);
    tcnl_put_u32(&b, TCA_POLICE_RESULT, TC_ACT_PIPE);
    assert_int_equal(close_and_parse(n, &as), 0);
    assert_int_equal(as.a[0].kind, TCNL_ACT_POLICE);
    assert_int_equal(as.a[0].police.index, 42);
    assert_int_equal(as.a[0].verdict, TC_ACT_PIPE);

    p.rate.rate = 1;
    begin();
    n = open_action(1, "police");
    tcnl_put(&b, TCA_POLICE_TBF, &p, sizeof p);
    assert_int_equal(close_and_parse(n, &as), 0);
    assert_int_equal(as.a[0].kind, TCNL_ACT_POLICE);
    assert_int_equal(as.a[0].verdict, TC_ACT_OK);

    /* Without a rate it is a test of the length. */
    p.rate.rate = 0;
    begin();
    n = open_action(1, "police");
    tcnl_put(&b, TCA_POLICE_TBF, &p, sizeof p);
    tcnl_put_u32(&b, TCA_POLICE_RESULT, TC_ACT_JUMP | 3);
    assert_int_equal(close_and_parse(n, &as), 0);
    assert_int_equal(as.a[0].kind, TCNL_ACT_POLICE_MTU);
    assert_int_equal(as.a[0].verdict, TC_ACT_SHOT);
    assert_int_equal(as.a[0].police_mtu.mtu, 1);
    assert_int_equal(as.a[0].police_mtu.conform, TC_ACT_JUMP | 3);

    begin();
    n = open_action(1, "police");
    tcnl_put_u32(&b, TCA_POLICE_RESULT, TC_ACT_PIPE);
    assert_int_equal(close_and_parse(n, &as), EBADMSG);
}

/* ## Pedit. */

static int
parse_pedit(unsigned int nkeys, unsigned int n_ex, uint8_t flags,
            uint32_t offmask, bool old)
{
    uint8_t parms[sizeof(struct tc_pedit_sel)
                  + 200 * sizeof(struct tc_pedit_key)];
    struct tc_pedit_sel sel = { .nkeys = (uint8_t) nkeys, .flags = flags };
    struct tc_pedit_key key = { .val = 1, .off = 12, .offmask = offmask };
    struct tcnl_actions as;
    size_t len = sizeof sel, exs, ex;
    struct nests n;

    memcpy(parms, &sel, sizeof sel);
    for (unsigned int i = 0; i < nkeys; i++) {
        memcpy(parms + len, &key, sizeof key);
        len += sizeof key;
    }
    begin();
    n = open_action(1, "pedit");
    exs = tcnl_nest_begin(&b, TCA_PEDIT_KEYS_EX);
    for (unsigned int i = 0; i < n_ex; i++) {
        ex = tcnl_nest_begin(&b, TCA_PEDIT_KEY_EX);
        tcnl_put_u16(&b, TCA_PEDIT_KEY_EX_HTYPE, 2);
        tcnl_put_u16(&b, TCA_PEDIT_KEY_EX_CMD, 0);
        tcnl_nest_end(&b, ex);
    }
    tcnl_nest_end(&b, exs);
    tcnl_put(&b, old ? TCA_PEDIT_PARMS : TCA_PEDIT_PARMS_EX, parms, len);
    return close_and_parse(n, &as);
}

static void
test_pedit(void **state)
{
    (void) state;
    assert_int_equal(parse_pedit(1, 1, 0, 0, false), 0);
    assert_int_equal(parse_pedit(64, 64, 0, 0, false), 0);
    assert_int_equal(parse_pedit(65, 65, 0, 0, false), EOPNOTSUPP);
    assert_int_equal(parse_pedit(200, 200, 0, 0, false), EOPNOTSUPP);
    assert_int_equal(parse_pedit(0, 0, 0, 0, false), EOPNOTSUPP);
    assert_int_equal(parse_pedit(2, 1, 0, 0, false), EBADMSG);
    assert_int_equal(parse_pedit(1, 2, 0, 0, false), EBADMSG);
    assert_int_equal(parse_pedit(1, 1, 1, 0, false), EOPNOTSUPP);
    assert_int_equal(parse_pedit(1, 1, 0, 0xff, false), EOPNOTSUPP);
    assert_int_equal(parse_pedit(1, 1, 0, 0, true), EOPNOTSUPP);
}

/* ## Comparing. */

static void
test_equal(void **state)
{
    static struct sample samples[SAMPLE_MAX];
    unsigned int n = samples_make(samples, 7);
    struct tcnl_actions as;

    (void) state;
    for (unsigned int i = 1; i < n; i++) {
        const struct tcnl_actions *prev = &samples[i - 1].actions;

        if (!prev->has_cookie) {
            continue;
        }
        assert_true(tcnl_actions_equal(prev, prev));
        assert_false(tcnl_actions_equal(prev, &samples[i].actions));
        as = *prev;
        as.a[as.n - 1].verdict ^= 1;
        assert_false(tcnl_actions_equal(prev, &as));
        as = *prev;
        as.n--;
        assert_false(tcnl_actions_equal(prev, &as));
    }
}

static void
test_limit(void **state)
{
    struct tcnl_actions as;

    (void) state;
    tcnl_actions_init(&as);
    for (unsigned int i = 0; i < TCNL_MAX_ACTIONS; i++) {
        assert_non_null(tcnl_actions_add(&as, TCNL_ACT_GACT, TC_ACT_PIPE));
    }
    assert_null(tcnl_actions_add(&as, TCNL_ACT_GACT, TC_ACT_PIPE));
    assert_int_equal(as.n, TCNL_MAX_ACTIONS);
}

/* ## Counters. */

struct counted {
    const char *kind;
    uint64_t packets, bytes;
    const char *cookie;
    bool full;
    struct tcf_t tm;            /* In ticks of 1/100 s. */
};

static void
put_counted(const struct counted *c, uint16_t type)
{
    struct gnet_stats_basic basic = {
        .packets = (uint32_t) c->packets,
        .bytes = c->bytes,
    };
    size_t act = tcnl_nest_begin(&b, type);
    size_t nest;

    tcnl_put_string(&b, TCA_ACT_KIND, c->kind);
    nest = tcnl_nest_begin(&b, TCA_ACT_STATS);
    tcnl_put(&b, TCA_STATS_BASIC, &basic, sizeof basic);
    if (c->packets > UINT32_MAX) {
        tcnl_put_u64(&b, TCA_STATS_PKT64, c->packets);
    }
    tcnl_nest_end(&b, nest);
    if (c->cookie) {
        tcnl_put(&b, TCA_ACT_COOKIE, c->cookie, strlen(c->cookie));
    }
    if (c->full) {
        nest = tcnl_nest_begin(&b, TCA_ACT_OPTIONS);
        tcnl_put(&b, strcmp(c->kind, "csum") ? TCA_GACT_TM : TCA_CSUM_TM,
                 &c->tm, sizeof c->tm);
        tcnl_nest_end(&b, nest);
    }
    tcnl_nest_end(&b, act);
}

static void
count(const struct counted *c, unsigned int n,
      struct tcnl_filter_counters *counters)
{
    size_t acts;

    memset(counters, 0xaa, sizeof *counters);
    begin();
    acts = tcnl_nest_begin(&b, TCA_FLOWER_ACT);
    for (unsigned int i = 0; i < n; i++) {
        put_counted(&c[i], (uint16_t) (i + 1));
    }
    tcnl_nest_end(&b, acts);
    assert_int_equal(tcnl_actions_parse_counters(end(), counters), 0);
}

/* The last action never saw the fragments that the first one took. */
static void
test_largest(void **state)
{
    static const struct counted two[] = {
        { .kind = "ct", .packets = UINT64_C(5) << 32, .bytes = 777 },
        { .kind = "mirred", .packets = 3, .bytes = 999999,
          .cookie = "0123456789abcdef" },
    };
    struct tcnl_filter_counters c;

    (void) state;
    count(two, 2, &c);
    assert_int_equal(c.stats.packets, UINT64_C(5) << 32);
    assert_int_equal(c.stats.bytes, 777);
    assert_true(c.has_cookie);
    assert_memory_equal(c.cookie, "0123456789abcdef", 16);
    assert_false(c.has_times);
    assert_false(c.never_used);
}

/* A meter counts for all of its filters. */
static void
test_shared(void **state)
{
    static const struct counted list[] = {
        { .kind = "police", .packets = 1000, .full = true,
          .tm = { .install = 1000, .lastuse = 1 } },
        { .kind = "mirred", .packets = 3, .bytes = 300, .full = true,
          .tm = { .install = 1000, .lastuse = 500, .firstuse = 600 } },
    };
    struct tcnl_filter_counters c;

    (void) state;
    count(list, 2, &c);
    assert_int_equal(c.stats.packets, 3);
    assert_int_equal(c.lastuse_ms, 500 * 1000 / sysconf(_SC_CLK_TCK));
    count(list, 1, &c);
    assert_int_equal(c.stats.packets, 0);
    assert_false(c.has_times);
    count(list, 0, &c);
    assert_int_equal(c.stats.packets, 0);
}

/* The newest use counts, and "never" is only what never was. */
static void
test_times(void **state)
{
    static const struct counted list[] = {
        { .kind = "csum", .full = true,
          .tm = { .install = 900, .lastuse = 300, .firstuse = 0 } },
        { .kind = "mirred", .full = true,
          .tm = { .install = 900, .lastuse = 900, .firstuse = 0 } },
        { .kind = "gact", .full = true,
          .tm = { .install = 900, .lastuse = 900, .firstuse = 900 } },
        { .kind = "gact", .packets = 1, .full = true,
          .tm = { .install = 900, .lastuse = 900, .firstuse = 0 } },
    };
    struct tcnl_filter_counters c;

    (void) state;
    count(list, 2, &c);
    assert_true(c.has_times);
    assert_false(c.never_used);
    assert_int_equal(c.lastuse_ms, 300 * 1000 / sysconf(_SC_CLK_TCK));
    count(list + 1, 1, &c);
    assert_true(c.never_used);
    count(list + 1, 2, &c);
    assert_false(c.never_used);
    count(list + 3, 1, &c);
    assert_false(c.never_used);
}

static void
test_counters_malformed(void **state)
{
    static const struct counted one = { .kind = "gact", .packets = 1 };
    struct tcnl_filter_counters c;
    struct nlattr *acts;
    size_t nest;

    (void) state;
    begin();
    nest = tcnl_nest_begin(&b, TCA_FLOWER_ACT);
    tcnl_put_u32(&b, 1, 0);
    tcnl_nest_end(&b, nest);
    assert_int_equal(tcnl_actions_parse_counters(end(), &c), EBADMSG);

    begin();
    nest = tcnl_nest_begin(&b, TCA_FLOWER_ACT);
    put_counted(&one, 1);
    tcnl_nest_end(&b, nest);
    acts = end();
    for (uint16_t len = acts->nla_len - 1; len > NLA_HDRLEN; len--) {
        acts->nla_len = len;
        assert_int_equal(tcnl_actions_parse_counters(acts, &c), EBADMSG);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_extras),
        cmocka_unit_test(test_cookies),
        cmocka_unit_test(test_police),
        cmocka_unit_test(test_pedit),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_largest),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_counters_malformed),
    };

    return cmocka_run_group_tests_name("action", tests, NULL, NULL);
}
