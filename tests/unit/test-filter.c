/* SPDX-License-Identifier: Apache-2.0 */

/* Messages about filters, to the byte, and back. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_mirred.h>
#include "fake/fake-sample.h"
#include "tcnl/filter.h"

static uint32_t memory[16384];
static struct tcnl_buffer b;
static struct sample samples[SAMPLE_MAX];

static struct nlmsghdr *
reset(void)
{
    memset(memory, 0, sizeof memory);
    tcnl_buffer_init(&b, memory, sizeof memory);
    return (void *) memory;
}

/* ## To the byte.
 *
 * The expected bytes are those of a little-endian machine; what is network
 * order on all machines is written as such. */

static void
assert_bytes(const uint8_t *expected, size_t len)
{
    assert_int_equal(b.used, len);
    for (size_t i = 0; i < len; i++) {
        if (b.data[i] != expected[i]) {
            fail_msg("byte %zu is 0x%02x, not 0x%02x", i, b.data[i],
                     expected[i]);
        }
    }
}

static bool
is_little_endian(void)
{
    static const uint16_t one = 1;

    return *(const uint8_t *) &one == 1;
}

static const struct tcnl_filter_id drop_id = {
    .ifindex = 0x0a, .parent = TCNL_PARENT_INGRESS, .handle = 0x01020304,
    .prio = 2,
};

/* An L2 match with a drop. */
static void
test_bytes_drop(void **state)
{
    static const uint8_t expected[] = {
        /* nlmsghdr: length, RTM_NEWTFILTER, REQUEST | CREATE | EXCL. */
        0xac, 0, 0, 0, 0x2c, 0, 0x01, 0x06, 0, 0, 0, 0, 0, 0, 0, 0,
        /* tcmsg: ifindex, handle, parent, info. */
        0, 0, 0, 0, 0x0a, 0, 0, 0, 4, 3, 2, 1, 0xf2, 0xff, 0xff, 0xff,
        0x08, 0x06, 2, 0,
        /* TCA_KIND. */
        11, 0, 1, 0, 'f', 'l', 'o', 'w', 'e', 'r', 0, 0,
        /* TCA_OPTIONS. */
        0x7c, 0, 2, 0x80,
        /* ETH_DST and its mask. */
        10, 0, 4, 0, 2, 0, 0, 0, 0, 1, 0, 0,
        10, 0, 5, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0,
        /* ETH_TYPE. */
        6, 0, 8, 0, 0x08, 0x06, 0, 0,
        /* FLAGS: skip_hw. */
        8, 0, 22, 0, 1, 0, 0, 0,
        /* ACT, its first, KIND. */
        0x50, 0, 3, 0x80,
        0x4c, 0, 1, 0x80,
        9, 0, 1, 0, 'g', 'a', 'c', 't', 0, 0, 0, 0,
        /* OPTIONS, GACT_PARMS: index, capab, action, refcnt, bindcnt. */
        0x1c, 0, 2, 0x80,
        0x18, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0,
        /* COOKIE. */
        20, 0, 6, 0, 'c', 'o', 'o', 'k', 'i', 'e', 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0,
        /* FLAGS: NO_PERCPU_STATS. */
        12, 0, 7, 0, 1, 0, 0, 0, 1, 0, 0, 0,
    };
    static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
    struct tcnl_filter_id id = drop_id;
    uint16_t type = htons(ETH_P_ARP);
    struct tcnl_actions as;
    struct tcnl_action *a;
    struct tcnl_flower f;

    (void) state;
    if (!is_little_endian()) {
        skip();
    }
    id.proto = type;
    tcnl_flower_init(&f);
    f.cls_flags = TCA_CLS_FLAGS_SKIP_HW;
    tcnl_flower_set(&f, TCNL_KEY_ETH_DST, mac, NULL);
    tcnl_flower_set(&f, TCNL_KEY_ETH_TYPE, &type, NULL);
    tcnl_actions_init(&as);
    as.has_cookie = true;
    memcpy(as.cookie, "cookie\0\0\0\0\0\0\0\0\0", 16);
    a = tcnl_actions_add(&as, TCNL_ACT_GACT, TC_ACT_SHOT);
    a->cookie = a->no_percpu = true;
    reset();
    assert_int_equal(tcnl_filter_put_new(&b, &id, &f, &as,
                                         NLM_F_CREATE | NLM_F_EXCL), 0);
    ((struct nlmsghdr *) memory)->nlmsg_seq = 0;
    assert_bytes(expected, sizeof expected);
}

/* In another chain, a port, a redirection. */
static void
test_bytes_redirect(void **state)
{
    static const uint8_t expected[] = {
        /* RTM_NEWTFILTER, REQUEST | ECHO | CREATE. */
        0x9c, 0, 0, 0, 0x2c, 0, 0x09, 0x04, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0x0a, 0, 0, 0, 4, 3, 2, 1, 0xf2, 0xff, 0xff, 0xff,
        0x08, 0x00, 2, 0,
        /* TCA_CHAIN, TCA_KIND, TCA_OPTIONS. */
        8, 0, 11, 0, 9, 0, 0, 0,
        11, 0, 1, 0, 'f', 'l', 'o', 'w', 'e', 'r', 0, 0,
        0x64, 0, 2, 0x80,
        /* ETH_TYPE, IP_PROTO, UDP_DST and its mask, FLAGS. */
        6, 0, 8, 0, 0x08, 0x00, 0, 0,
        5, 0, 9, 0, 17, 0, 0, 0,
        6, 0, 21, 0, 0x12, 0x30, 0, 0,
        6, 0, 38, 0, 0xff, 0xf0, 0, 0,
        8, 0, 22, 0, 0, 0, 0, 0,
        /* ACT, KIND. */
        0x38, 0, 3, 0x80,
        0x34, 0, 1, 0x80,
        11, 0, 1, 0, 'm', 'i', 'r', 'r', 'e', 'd', 0, 0,
        /* OPTIONS, MIRRED_PARMS: index, capab, action, refcnt, bindcnt,
         * eaction, ifindex. */
        0x24, 0, 2, 0x80,
        0x20, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 1, 0, 0, 0, 11, 0, 0, 0,
    };
    static const uint8_t udp = 17, port[2] = { 0x12, 0x34 };
    static const uint8_t port_mask[2] = { 0xff, 0xf0 };
    struct tcnl_filter_id id = drop_id;
    uint16_t type = htons(ETH_P_IP);
    struct tcnl_actions as;
    struct tcnl_action *a;
    struct tcnl_flower f;

    (void) state;
    if (!is_little_endian()) {
        skip();
    }
    id.proto = type;
    id.chain = 9;
    tcnl_flower_init(&f);
    tcnl_flower_set(&f, TCNL_KEY_TP_DST, port, port_mask);
    tcnl_flower_set(&f, TCNL_KEY_IP_PROTO, &udp, NULL);
    tcnl_flower_set(&f, TCNL_KEY_ETH_TYPE, &type, NULL);
    tcnl_actions_init(&as);
    a = tcnl_actions_add(&as, TCNL_ACT_MIRRED, TC_ACT_STOLEN);
    a->mirred.ifindex = 11;
    a->mirred.eaction = TCA_EGRESS_REDIR;
    a->cookie = true;           /* The list has none. */
    reset();
    assert_int_equal(tcnl_filter_put_new(&b, &id, &f, &as,
                                         NLM_F_CREATE | NLM_F_ECHO), 0);
    ((struct nlmsghdr *) memory)->nlmsg_seq = 0;
    assert_bytes(expected, sizeof expected);
}

/* A delete, a terse dump of one chain, a flush of a chain of a block. */
static void
test_bytes_others(void **state)
{
    static const uint8_t delete[] = {
        0x3c, 0, 0, 0, 0x2d, 0, 0x09, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0x0a, 0, 0, 0, 4, 3, 2, 1, 0xf2, 0xff, 0xff, 0xff,
        0x08, 0x06, 2, 0,
        11, 0, 1, 0, 'f', 'l', 'o', 'w', 'e', 'r', 0, 0,
        12, 0, 15, 0, 1, 0, 0, 0, 1, 0, 0, 0,
    };
    static const uint8_t dump[] = {
        0x38, 0, 0, 0, 0x2e, 0, 0x01, 0x03, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0xf2, 0xff, 0xff, 0xff,
        0, 0, 0, 0,
        8, 0, 11, 0, 0, 0, 0, 0,
        12, 0, 15, 0, 1, 0, 0, 0, 1, 0, 0, 0,
    };
    static const uint8_t some_dump[] = {
        0x54, 0, 0, 0, 0x2e, 0, 0x01, 0x03, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0x0a, 0, 0, 0, 0, 0, 0, 0, 0xf2, 0xff, 0xff, 0xff,
        0, 0, 0, 0,
        12, 0, 15, 0, 7, 0, 0, 0, 7, 0, 0, 0,
        8, 0, 17, 0, 0x58, 0x02, 0, 0,
        28, 0, 18, 0x80,
        8, 0, 1, 0, 3, 0, 0, 0,
        8, 0, 2, 0, 2, 0, 0, 0,
        8, 0, 3, 0, 4, 3, 2, 1,
    };
    static const struct tcnl_dump_form terse = {
        .terse = true, .one_chain = true,
    };
    static const struct tcnl_dump_form some = {
        .terse = true, .used_within = 600, .start = true,
    };
    static const uint8_t flush[] = {
        0x2c, 0, 0, 0, 0x2d, 0, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 77, 0, 0, 0,
        0, 0, 0, 0,
        8, 0, 11, 0, 3, 0, 0, 0,
    };
    struct tcnl_filter_id id = drop_id;

    (void) state;
    if (!is_little_endian()) {
        skip();
    }
    id.proto = htons(ETH_P_ARP);
    reset();
    assert_int_equal(tcnl_filter_put_del(&b, &id, NLM_F_ECHO), 0);
    assert_bytes(delete, sizeof delete);
    reset();
    assert_int_equal(tcnl_filter_put_dump(&b, &id, &terse), 0);
    assert_bytes(dump, sizeof dump);
    reset();
    id.chain = 3;
    assert_int_equal(tcnl_filter_put_dump(&b, &id, &some), 0);
    assert_bytes(some_dump, sizeof some_dump);
    reset();
    id.block = 77;
    id.chain = 3;
    assert_int_equal(tcnl_chain_put_flush(&b, &id), 0);
    assert_bytes(flush, sizeof flush);
}

/* ## Round trips. */

static bool
id_equal(const struct tcnl_filter_id *a, const struct tcnl_filter_id *c)
{
    return a->ifindex == c->ifindex && a->block == c->block
           && a->parent == c->parent && a->chain == c->chain
           && a->handle == c->handle && a->prio == c->prio
           && a->proto == c->proto;
}

static void
test_samples(void **state)
{
    unsigned int n = samples_make(samples, 7);

    (void) state;
    for (unsigned int i = 0; i < n; i++) {
        const struct sample *s = &samples[i];
        struct nlmsghdr *nlh = reset();
        struct tcnl_filter_info info;
        struct tcnl_actions as;
        struct tcnl_flower f;

        assert_int_equal(tcnl_filter_put_new(&b, &s->id, &s->flower,
                                             &s->actions, NLM_F_CREATE), 0);
        assert_int_equal(tcnl_filter_parse(nlh, &info), 0);
        assert_true(id_equal(&info.id, &s->id));
        assert_true(info.is_flower);
        assert_false(info.is_header);
        assert_int_equal(info.cls_flags, s->flower.cls_flags);
        assert_non_null(info.acts);
        assert_int_equal(tcnl_actions_parse(info.acts, &as), 0);
        assert_true(tcnl_actions_equal(&as, &s->actions));

        /* A message with no keys looks like a terse one. */
        if (info.has_keys) {
            assert_int_equal(tcnl_filter_parse_flower(&info, &f), 0);
            assert_true(tcnl_flower_equal(&f, &s->flower));
        } else {
            assert_int_equal(s->flower.present, 0);
            assert_int_equal(tcnl_filter_parse_flower(&info, &f), EOPNOTSUPP);
        }
    }
}

/* A message that ends early is damage at any byte, for every reader. */
static void
test_truncated(void **state)
{
    unsigned int n = samples_make(samples, 7);

    (void) state;
    for (unsigned int i = 0; i < n; i += 7) {
        const struct sample *s = &samples[i];
        struct nlmsghdr *nlh = reset();
        struct tcnl_filter_info info;
        uint32_t len;

        assert_int_equal(tcnl_filter_put_new(&b, &s->id, &s->flower,
                                             &s->actions, 0), 0);
        len = nlh->nlmsg_len;
        for (nlh->nlmsg_len = 0; nlh->nlmsg_len < len; nlh->nlmsg_len++) {
            int error = tcnl_filter_parse(nlh, &info);

            if (!error) {
                /* Cut between attributes. */
                assert_null(info.options);
            }
        }
    }
}

static void
test_header(void **state)
{
    struct tcmsg tcm = { .tcm_ifindex = 3, .tcm_info = 5 << 16 };
    struct tcnl_filter_info info;
    struct nlmsghdr *nlh = reset();

    (void) state;
    tcnl_msg_begin(&b, RTM_NEWTFILTER, 0, &tcm, sizeof tcm);
    tcnl_put_string(&b, TCA_KIND, "matchall");
    tcnl_put_u32(&b, TCA_CHAIN, 4);
    assert_int_equal(tcnl_msg_end(&b, NULL), 0);
    assert_int_equal(tcnl_filter_parse(nlh, &info), 0);
    assert_true(info.is_header);
    assert_false(info.is_flower);
    assert_int_equal(info.id.prio, 5);
    assert_int_equal(info.id.chain, 4);
}

/* Options of another classifier mean nothing to us. */
static void
test_foreign(void **state)
{
    struct tcmsg tcm = { .tcm_ifindex = 3, .tcm_handle = 1 };
    struct tcnl_filter_info info;
    struct nlmsghdr *nlh = reset();
    struct tcnl_flower f;
    size_t nest;

    (void) state;
    tcnl_msg_begin(&b, RTM_NEWTFILTER, 0, &tcm, sizeof tcm);
    tcnl_put_string(&b, TCA_KIND, "u32");
    nest = tcnl_nest_begin(&b, TCA_OPTIONS);
    tcnl_put_u8(&b, TCA_FLOWER_FLAGS, 1);
    tcnl_nest_end(&b, nest);
    assert_int_equal(tcnl_msg_end(&b, NULL), 0);
    assert_int_equal(tcnl_filter_parse(nlh, &info), 0);
    assert_false(info.is_flower);
    assert_false(info.is_header);
    assert_null(info.acts);
    assert_int_equal(tcnl_filter_parse_flower(&info, &f), EOPNOTSUPP);

    nlh->nlmsg_type = RTM_NEWQDISC;
    assert_int_equal(tcnl_filter_parse(nlh, &info), EBADMSG);
}

static int
parse_with(uint16_t type, size_t len, bool inside)
{
    struct tcmsg tcm = { .tcm_ifindex = 3, .tcm_handle = 1 };
    struct tcnl_filter_info info;
    struct nlmsghdr *nlh = reset();
    size_t nest = 0;

    tcnl_msg_begin(&b, RTM_NEWTFILTER, 0, &tcm, sizeof tcm);
    tcnl_put_string(&b, TCA_KIND, "flower");
    if (inside) {
        nest = tcnl_nest_begin(&b, TCA_OPTIONS);
    }
    tcnl_put(&b, type, "01234567", len);
    if (inside) {
        tcnl_nest_end(&b, nest);
    }
    assert_int_equal(tcnl_msg_end(&b, NULL), 0);
    return tcnl_filter_parse(nlh, &info);
}

static void
test_lengths(void **state)
{
    (void) state;
    assert_int_equal(parse_with(TCA_CHAIN, 4, false), 0);
    assert_int_equal(parse_with(TCA_CHAIN, 3, false), EBADMSG);
    assert_int_equal(parse_with(TCA_CHAIN, 8, false), EBADMSG);
    assert_int_equal(parse_with(TCA_FLOWER_FLAGS, 4, true), 0);
    assert_int_equal(parse_with(TCA_FLOWER_FLAGS, 2, true), EBADMSG);
    assert_int_equal(parse_with(TCA_FLOWER_FLAGS, 0, true), EBADMSG);
}

/* ## Harm prevented. */

static void
test_harm(void **state)
{
    struct tcnl_filter_id id = drop_id;
    uint8_t tcp = IPPROTO_TCP;
    struct tcnl_actions as;
    struct tcnl_flower f;

    (void) state;
    reset();
    tcnl_actions_init(&as);
    tcnl_flower_init(&f);
    tcnl_flower_set(&f, TCNL_KEY_IP_PROTO, &tcp, NULL);
    assert_int_equal(tcnl_filter_put_new(&b, &id, &f, &as, 0), EINVAL);
    id.handle = 0;
    assert_int_equal(tcnl_filter_put_del(&b, &id, 0), EINVAL);
    id.handle = 1;
    id.prio = 0;
    assert_int_equal(tcnl_filter_put_del(&b, &id, 0), EINVAL);
    assert_int_equal(tcnl_prio_put_del(&b, &id), EINVAL);
    assert_int_equal(b.used, 0);
    assert_null(b.msg);

    /* A prio is deleted by the message without a handle. */
    id.prio = 3;
    assert_int_equal(tcnl_prio_put_del(&b, &id), 0);
    assert_int_equal(((struct tcmsg *) NLMSG_DATA(memory))->tcm_handle, 0);
    assert_int_equal(((struct tcmsg *) NLMSG_DATA(memory))->tcm_info >> 16, 3);
}

/* What does not fit leaves nothing behind. */
static void
test_room(void **state)
{
    const struct sample *s;
    size_t size;

    (void) state;
    s = &samples[samples_make(samples, 7) - 1];
    reset();
    assert_int_equal(tcnl_filter_put_new(&b, &s->id, &s->flower, &s->actions,
                                         0), 0);
    size = b.used;
    for (size_t n = 0; n < size; n++) {
        tcnl_buffer_init(&b, memory, n);
        assert_int_equal(tcnl_filter_put_new(&b, &s->id, &s->flower,
                                             &s->actions, 0), EMSGSIZE);
        assert_int_equal(b.used, 0);
    }
    tcnl_buffer_init(&b, memory, size);
    assert_int_equal(tcnl_filter_put_new(&b, &s->id, &s->flower, &s->actions,
                                         0), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_drop),
        cmocka_unit_test(test_bytes_redirect),
        cmocka_unit_test(test_bytes_others),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_harm),
        cmocka_unit_test(test_room),
    };

    return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
