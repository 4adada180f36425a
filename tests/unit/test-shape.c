/* SPDX-License-Identifier: Apache-2.0 */

/* Filters as they are sent, compared with what a kernel makes of them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <arpa/inet.h>

#include "fake/fake-sample.h"
#include "tcnl/filter.h"
#include "tcnl/shape.h"

static struct sample samples[SAMPLE_MAX];
static unsigned int n_samples;
static uint32_t mem[2][4096];

static int
setup(void **state)
{
    (void) state;
    n_samples = samples_make(samples, 7);
    return n_samples ? 0 : -1;
}

static const struct nlmsghdr *
build(int which, const struct sample *s)
{
    struct tcnl_buffer b;

    tcnl_buffer_init(&b, mem[which], sizeof mem[which]);
    assert_int_equal(tcnl_filter_put_new(&b, &s->id, &s->flower, &s->actions,
                                         NLM_F_CREATE), 0);
    return (const struct nlmsghdr *) mem[which];
}

static struct tcnl_difference
compare(const struct sample *sent, const struct sample *reply)
{
    struct tcnl_difference d;

    if (tcnl_shape_compare(build(0, sent), build(1, reply), &d)) {
        fail_msg("%s cannot be read", sent->name);
    }
    return d;
}

static void
test_same(void **state)
{
    (void) state;
    for (unsigned int i = 0; i < n_samples; i++) {
        struct tcnl_difference d = compare(&samples[i], &samples[i]);

        if (d.name) {
            fail_msg("%s: %s", samples[i].name, d.name);
        }
    }
}

/* Of each key that a sample has, the reply lacks it, or has another value or
 * mask. */
static void
test_keys(void **state)
{
    unsigned int n = 0;

    (void) state;
    for (unsigned int i = 0; i < n_samples; i++) {
        for (int key = 0; key < TCNL_N_KEYS; key++) {
            struct tcnl_flower with, without;
            bool missing;
            const char *name;

            if (!tcnl_flower_has(&samples[i].flower, key)) {
                continue;
            }
            n++;
            tcnl_flower_copy(&with, &samples[i].flower);
            tcnl_flower_copy(&without, &samples[i].flower);
            without.present &= ~TCNL_KEY_BIT(key);
            name = tcnl_flower_lacks(&with, &without, &missing);
            assert_non_null(name);
            assert_true(missing);
            assert_int_equal(strncmp(name, "TCA_FLOWER_KEY_", 15), 0);
            /* What the reply has besides does not count. */
            assert_null(tcnl_flower_lacks(&without, &with, &missing));
        }
    }
    assert_true(n > n_samples);
}

static void
set_u32(struct tcnl_flower *f, enum tcnl_key key, uint32_t value,
        uint32_t mask)
{
    tcnl_flower_set(f, key, &value, &mask);
}

static struct sample
plain(void)
{
    static const uint16_t ip = 0x0008;
    struct sample s = { .id = { .ifindex = 7, .handle = 1, .prio = 2,
                                .proto = htons(ETH_P_IP) } };

    tcnl_flower_init(&s.flower);
    tcnl_flower_set(&s.flower, TCNL_KEY_ETH_TYPE, &ip, NULL);
    set_u32(&s.flower, TCNL_KEY_IPV4_SRC, 0x0100000a, UINT32_MAX);
    tcnl_actions_init(&s.actions);
    tcnl_actions_add(&s.actions, TCNL_ACT_GACT, TC_ACT_SHOT);
    return s;
}

static void
assert_difference(const struct sample *sent, const struct sample *reply,
                  const char *name, bool missing)
{
    struct tcnl_difference d = compare(sent, reply);

    assert_non_null(d.name);
    assert_string_equal(d.name, name);
    assert_int_equal(d.missing, missing);
}

static void
test_values(void **state)
{
    struct sample a = plain(), b = plain();

    (void) state;
    set_u32(&b.flower, TCNL_KEY_IPV4_SRC, 0x0200000a, UINT32_MAX);
    assert_difference(&a, &b, "TCA_FLOWER_KEY_IPV4_SRC", false);
    set_u32(&b.flower, TCNL_KEY_IPV4_SRC, 0x0100000a, 0x00ffffff);
    assert_difference(&a, &b, "TCA_FLOWER_KEY_IPV4_SRC", false);
    b = plain();
    set_u32(&b.flower, TCNL_KEY_IPV4_DST, 0x0100000a, UINT32_MAX);
    assert_null(compare(&a, &b).name);
    assert_difference(&b, &a, "TCA_FLOWER_KEY_IPV4_DST", true);
    b = plain();
    b.id.chain = 3;
    assert_difference(&a, &b, "TCA_CHAIN", false);
    b = plain();
    a.flower.cls_flags = TCA_CLS_FLAGS_SKIP_SW;
    assert_difference(&a, &b, "TCA_FLOWER_FLAGS", false);
    assert_null(compare(&b, &a).name);
}

/* The name of the attribute is asked of every kind. */
static void
test_actions(void **state)
{
    struct sample a = plain(), b = plain();

    (void) state;
    b.actions.a[0].verdict = TC_ACT_PIPE;
    assert_difference(&a, &b, "the verdict of an action", false);
    b = plain();
    tcnl_actions_add(&b.actions, TCNL_ACT_GACT, TC_ACT_SHOT);
    assert_difference(&a, &b, "the number of actions", false);
    b = plain();
    b.actions.a[0].no_percpu = true;
    assert_difference(&a, &b, "TCA_ACT_FLAGS", false);
    a = b = plain();
    a.actions.has_cookie = a.actions.a[0].cookie = true;
    memset(a.actions.cookie, 1, TCNL_COOKIE_LEN);
    assert_difference(&a, &b, "TCA_ACT_COOKIE", false);
    for (unsigned int i = 0; i < n_samples; i++) {
        for (unsigned int j = 0; j < i; j++) {
            const char *name = tcnl_actions_differ(&samples[i].actions,
                                                   &samples[j].actions);

            assert_int_equal(!name, tcnl_actions_equal(&samples[i].actions,
                                                       &samples[j].actions));
        }
    }
}

/* An attribute that is not known is passed over. */
static void
test_unknown(void **state)
{
    struct sample a = plain();
    struct tcnl_difference d;
    const struct nlmsghdr *sent;
    struct tcnl_filter_info info;
    struct tcnl_buffer b;
    struct tcmsg tcm;
    size_t nest;

    (void) state;
    sent = build(0, &a);
    assert_int_equal(tcnl_filter_parse(sent, &info), 0);
    memcpy(&tcm, NLMSG_DATA(sent), sizeof tcm);
    tcnl_buffer_init(&b, mem[1], sizeof mem[1]);
    tcnl_msg_begin(&b, RTM_NEWTFILTER, 0, &tcm, sizeof tcm);
    tcnl_put_string(&b, TCA_KIND, "flower");
    nest = tcnl_nest_begin(&b, TCA_OPTIONS);
    tcnl_put_u32(&b, 1000, 7);
    tcnl_put_attrs(&b, (const uint8_t *) info.options + NLA_HDRLEN,
                   info.options->nla_len - NLA_HDRLEN);
    tcnl_nest_end(&b, nest);
    assert_int_equal(tcnl_msg_end(&b, NULL), 0);
    assert_int_equal(tcnl_shape_compare(sent, (void *) mem[1], &d), 0);
    assert_null(d.name);

    /* What is malformed is not compared. */
    ((struct nlmsghdr *) mem[1])->nlmsg_len -= 4;
    assert_int_equal(tcnl_shape_compare(sent, (void *) mem[1], &d), EBADMSG);
}

static void
test_hash(void **state)
{
    struct sample a = plain(), b = plain();

    (void) state;
    /* Values, verdicts' arguments and cookies are not of the shape... */
    set_u32(&b.flower, TCNL_KEY_IPV4_SRC, 0x0200000a, UINT32_MAX);
    a.actions.a[0].verdict = TC_ACT_GOTO_CHAIN | 1;
    b.actions.a[0].verdict = TC_ACT_GOTO_CHAIN | 2;
    assert_int_equal(tcnl_shape_hash(&a.flower, &a.actions),
                     tcnl_shape_hash(&b.flower, &b.actions));
    /* ...masks, verdicts and kinds are, and what decides about other keys. */
    set_u32(&b.flower, TCNL_KEY_IPV4_SRC, 0x0200000a, 0x00ffffff);
    assert_int_not_equal(tcnl_shape_hash(&a.flower, &a.actions),
                         tcnl_shape_hash(&b.flower, &b.actions));
    b = plain();
    assert_int_not_equal(tcnl_shape_hash(&a.flower, &a.actions),
                         tcnl_shape_hash(&b.flower, &b.actions));
    a = plain();
    tcnl_flower_set(&a.flower, TCNL_KEY_IP_PROTO, &(uint8_t) { 6 }, NULL);
    tcnl_flower_set(&b.flower, TCNL_KEY_IP_PROTO, &(uint8_t) { 17 }, NULL);
    assert_int_not_equal(tcnl_shape_hash(&a.flower, &a.actions),
                         tcnl_shape_hash(&b.flower, &b.actions));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_actions),
        cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_hash),
    };

    return cmocka_run_group_tests_name("shape", tests, setup, NULL);
}
