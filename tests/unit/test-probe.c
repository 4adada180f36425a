/* SPDX-License-Identifier: Apache-2.0 */

/* Probing against a model of a kernel with and without each ability: the
 * answers are right, and whatever goes wrong, nothing stays behind. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include "fake/fake-kernel.h"
#include "tcnl/attr.h"
#include "tcnl/buffer.h"
#include "tcnl/filter.h"
#include "tcnl/police.h"
#include "tcnl/probe.h"
#include "tcnl/uapi.h"

#define IFINDEX 7
#define PRIO 65535
#define PROTO 0x88b5
#define POLICE 0x2fffffffu
#define OLD_CT_STATES 0x0f
#define ALL_CT_STATES 0x3f
#define ALL_DUMP_FLAGS (TCA_DUMP_FLAGS_TERSE | TCA_DUMP_FLAGS_USED_SINCE \
                        | TCA_DUMP_FLAGS_START)
/* The kernel refuses others. */
#define ALL_ENC_FLAGS (TCNL_ENC_FLAGS_CSUM | TCNL_ENC_FLAGS_DONT_FRAGMENT \
                       | TCNL_ENC_FLAGS_OAM | TCNL_ENC_FLAGS_CRIT_OPT)

/* ## The kernel.
 *
 * Of all filters it knows only those of the probe, and checks that nothing
 * else is asked of it. */

enum { MAX_FILTERS = 8 };

struct filter {
    struct tcnl_filter_id id;
    struct tcnl_flower flower;
    struct tcnl_actions actions;
};

struct model {
    /* What it can do. */
    bool no_flower, own_choice, no_text, one_mask, no_pkts, no_flags;
    bool no_enc_flags, no_gbp, any_ct_state, full_echo;
    uint16_t ct_states;
    bool ignores_dump_flags;
    uint32_t dump_flags;        /* TCA_DUMP_FLAGS_* that it knows. */

    struct filter filters[MAX_FILTERS];
    unsigned int n_filters, n_police, max_filters;
    uint32_t next_handle;

    /* Of the reply. */
    uint32_t memory[1024];
    struct tcnl_buffer buffer;
};

static struct fake_kernel kernel;
static struct fake_kernel *const k = &kernel;
static struct model model;
static struct model *const m = &model;
static struct tcnl_abilities able;
static struct tcnl_error error;

static void
refuse(struct fake_verdict *v, int code, const char *text)
{
    v->error = code;
    v->text = m->no_text ? NULL : text;
}

/* Makes what was just put into the buffer the data reply. */
static void
reply(struct fake_verdict *v, int result)
{
    assert_int_equal(result, 0);
    v->message = (void *) m->memory;
}

static void
parse_filter(const struct nlmsghdr *nlh, struct filter *f,
             struct tcnl_filter_info *info)
{
    assert_int_equal(tcnl_filter_parse(nlh, info), 0);
    assert_true(info->is_flower);
    assert_int_equal(info->id.ifindex, IFINDEX);
    assert_int_equal(info->id.parent, TCNL_PARENT_INGRESS);
    assert_int_equal(info->id.chain, 0);
    assert_int_equal(info->id.prio, PRIO);
    assert_int_equal(info->id.proto, htons(PROTO));
    assert_int_not_equal(info->id.handle, 0);
    f->id = info->id;
}

static struct filter *
find_filter(uint32_t handle)
{
    for (unsigned int i = 0; i < m->n_filters; i++) {
        if (m->filters[i].id.handle == handle) {
            return &m->filters[i];
        }
    }
    return NULL;
}

static bool
same_mask(const struct filter *a, const struct filter *b)
{
    return tcnl_flower_has(&a->flower, TCNL_KEY_ETH_SRC)
           == tcnl_flower_has(&b->flower, TCNL_KEY_ETH_SRC);
}

static void
put_filter(const struct filter *f)
{
    assert_int_equal(tcnl_filter_put_new(&m->buffer, &f->id, &f->flower,
                                         &f->actions, 0), 0);
}

/* The two attributes of the terse form. */
static void
put_terse(const struct filter *f, uint16_t type, uint16_t flags)
{
    struct tcmsg tcm = {
        .tcm_ifindex = f->id.ifindex,
        .tcm_parent = f->id.parent,
        .tcm_handle = f->id.handle,
        .tcm_info = (uint32_t) f->id.prio << 16 | f->id.proto,
    };
    size_t options;

    tcnl_msg_begin(&m->buffer, type, flags, &tcm, sizeof tcm);
    tcnl_put_string(&m->buffer, TCA_KIND, "flower");
    options = tcnl_nest_begin(&m->buffer, TCA_OPTIONS);
    tcnl_put_u32(&m->buffer, TCA_FLOWER_FLAGS, f->flower.cls_flags);
    tcnl_actions_put(&m->buffer, TCA_FLOWER_ACT, &f->actions);
    tcnl_nest_end(&m->buffer, options);
    assert_int_equal(tcnl_msg_end(&m->buffer, NULL), 0);
}

/* Of keys that it does not know it leaves out one, and refuses others. */
static bool
takes_keys(struct filter *f, struct fake_verdict *v)
{
    struct tcnl_flower *flower = &f->flower;

    if (tcnl_flower_has(flower, TCNL_KEY_CT_STATE)) {
        if (!m->ct_states) {
            refuse(v, EOPNOTSUPP, "Conntrack isn't enabled");
            return false;
        }
        if (!m->any_ct_state && flower->mask.ct_state & ~m->ct_states) {
            refuse(v, EINVAL, "reserved bit set");
            return false;
        }
    }
    if (tcnl_flower_has(flower, TCNL_KEY_ENC_GBP) && m->no_gbp) {
        refuse(v, EINVAL, "Unknown tunnel option type");
        return false;
    }
    if (tcnl_flower_has(flower, TCNL_KEY_ENC_FLAGS) && !m->no_enc_flags
        && ntohl(flower->mask.enc_flags) & ~ALL_ENC_FLAGS) {
        refuse(v, EINVAL, "reserved bit set");
        return false;
    }
    if (m->no_enc_flags) {
        flower->present &= ~TCNL_KEY_BIT(TCNL_KEY_ENC_FLAGS);
    }
    return true;
}

/* It passes what it matches on, and is for software only. */
static void
new_filter(const struct nlmsghdr *nlh, struct fake_verdict *v)
{
    struct tcnl_filter_info info;
    struct filter f;

    parse_filter(nlh, &f, &info);
    assert_int_equal(nlh->nlmsg_flags & (NLM_F_CREATE | NLM_F_EXCL),
                     NLM_F_CREATE | NLM_F_EXCL);
    assert_int_equal(tcnl_filter_parse_flower(&info, &f.flower), 0);
    assert_int_equal(tcnl_actions_parse(info.acts, &f.actions), 0);
    assert_int_equal(f.flower.cls_flags, TCA_CLS_FLAGS_SKIP_HW);
    assert_int_equal(f.actions.n, 1);
    assert_int_equal(f.actions.a[0].kind, TCNL_ACT_GACT);
    assert_int_equal(f.actions.a[0].verdict, (uint32_t) TC_ACT_UNSPEC);

    if (m->own_choice) {
        f.id.handle = ++m->next_handle;
    }
    if (m->no_flags) {
        f.actions.a[0].no_percpu = false;
    }
    if (m->no_flower) {
        refuse(v, EOPNOTSUPP, "TC classifier not found");
    } else if (find_filter(f.id.handle)) {
        refuse(v, EEXIST, "Filter already exists");
    } else if (m->one_mask && m->n_filters
               && !same_mask(&f, &m->filters[0])) {
        refuse(v, EINVAL, "Only one mask");
    } else if (takes_keys(&f, v)) {
        assert_true(m->n_filters < MAX_FILTERS);
        m->filters[m->n_filters++] = f;
        if (m->n_filters > m->max_filters) {
            m->max_filters = m->n_filters;
        }
        if (nlh->nlmsg_flags & NLM_F_ECHO) {
            put_filter(&f);
            reply(v, 0);
        }
    }
}

static void
del_filter(const struct nlmsghdr *nlh, struct fake_verdict *v)
{
    struct tcnl_filter_info info;
    struct filter id, *f;

    parse_filter(nlh, &id, &info);
    f = find_filter(id.id.handle);
    if (f) {
        if (nlh->nlmsg_flags & NLM_F_ECHO) {
            if (m->full_echo) {
                put_filter(f);
            } else {
                put_terse(f, RTM_DELTFILTER, 0);
            }
            reply(v, 0);
        }
        *f = m->filters[--m->n_filters];
    } else {
        refuse(v, ENOENT, "Specified filter handle not found");
    }
}

static void
get_filter(const struct nlmsghdr *nlh, struct fake_verdict *v)
{
    struct tcnl_filter_info info;
    struct filter id, *f;

    parse_filter(nlh, &id, &info);
    f = find_filter(id.id.handle);
    if (f) {
        put_filter(f);
        reply(v, 0);
    } else {
        refuse(v, ENOENT, "Specified filter handle not found");
    }
}

static uint32_t
asked_flags(const struct nlmsghdr *nlh)
{
    struct tcnl_attrs it = tcnl_attrs_message(nlh, sizeof(struct tcmsg));
    struct nla_bitfield32 flags = { 0, 0 };
    const struct nlattr *a;

    while ((a = tcnl_attrs_next(&it))) {
        if (tcnl_attr_type(a) == TCA_DUMP_FLAGS) {
            assert_true(tcnl_attr_get(a, &flags, sizeof flags));
        }
    }
    assert_int_equal(flags.value, flags.selector);
    return flags.value;
}

static void
dump_filters(const struct nlmsghdr *nlh)
{
    const struct tcmsg *tcm = NLMSG_DATA(nlh);

    /* Other prios may have millions of filters. */
    assert_int_equal(tcm->tcm_ifindex, IFINDEX);
    assert_int_equal(tcm->tcm_parent, TCNL_PARENT_INGRESS);
    assert_int_equal(tcm->tcm_info, (uint32_t) PRIO << 16 | htons(PROTO));
    if (!m->ignores_dump_flags && asked_flags(nlh) & ~m->dump_flags) {
        fake_dump_refused(k, EINVAL, "Attribute failed policy validation");
        return;
    }
    for (unsigned int i = 0; i < m->n_filters; i++) {
        if (!m->ignores_dump_flags) {
            put_terse(&m->filters[i], RTM_NEWTFILTER, NLM_F_MULTI);
        } else {
            put_filter(&m->filters[i]);
        }
    }
    fake_dump_datagram(k, m->memory, m->buffer.used);
    fake_dump_done(k, 0, NULL, 0);
}

static void
new_police_cb(void *aux, const struct tcnl_police_info *info)
{
    (void) aux;
    assert_int_equal(info->police.index, POLICE);
    assert_int_equal(info->police.pkt_rate, 1000);
    assert_int_equal(info->police.rate, 0);
    assert_int_equal(info->police.cls_flags, TCA_CLS_FLAGS_SKIP_HW);
    m->n_police++;
}

/* Is 'nlh' but for its flags and its number the message that was put into the
 * buffer last?  Takes that back. */
static void
assert_same_payload(const struct nlmsghdr *nlh)
{
    assert_int_equal(nlh->nlmsg_len, m->buffer.used);
    assert_memory_equal(NLMSG_DATA(nlh), NLMSG_DATA(m->memory),
                        NLMSG_PAYLOAD(nlh, 0));
    tcnl_buffer_reset(&m->buffer);
}

static void
handle_action(const struct nlmsghdr *nlh, struct fake_verdict *v)
{
    struct tcnl_police police = {
        .index = POLICE, .pkt_rate = m->no_pkts ? 0 : 1000,
    };

    if (nlh->nlmsg_type == RTM_NEWACTION) {
        if (m->n_police) {
            refuse(v, EEXIST, "TC action already exists");
        } else {
            assert_int_equal(tcnl_police_parse(nlh, new_police_cb, NULL), 0);
            assert_int_equal(m->n_police, 1);
        }
        return;
    }
    assert_int_equal(tcnl_police_put_get(&m->buffer, POLICE), 0);
    assert_same_payload(nlh);
    if (!m->n_police) {
        refuse(v, ENOENT, "TC action with specified index not found");
    } else if (nlh->nlmsg_type == RTM_DELACTION) {
        assert_false(nlh->nlmsg_flags & NLM_F_ROOT);
        m->n_police = 0;
    } else {
        reply(v, tcnl_police_put_new(&m->buffer, &police, false));
    }
}

static void
handle(struct fake_kernel *fake, const struct nlmsghdr *nlh,
       struct fake_verdict *v)
{
    assert_ptr_equal(fake, k);
    tcnl_buffer_init(&m->buffer, m->memory, sizeof m->memory);
    switch (nlh->nlmsg_type) {
    case RTM_NEWTFILTER:
        new_filter(nlh, v);
        break;
    case RTM_DELTFILTER:
        del_filter(nlh, v);
        break;
    case RTM_GETTFILTER:
        if (nlh->nlmsg_flags & NLM_F_DUMP) {
            dump_filters(nlh);
        } else {
            get_filter(nlh, v);
        }
        break;
    case RTM_NEWACTION:
    case RTM_DELACTION:
    case RTM_GETACTION:
        handle_action(nlh, v);
        break;
    default:
        fail_msg("request of type %u", nlh->nlmsg_type);
    }
}

/* ## Probing it. */

static void
begin(void)
{
    memset(m, 0, sizeof *m);
    m->ct_states = ALL_CT_STATES;
    m->dump_flags = ALL_DUMP_FLAGS;
    fake_kernel_init(k);
    k->model = handle;
    memset(&able, 0xa5, sizeof able);
    memset(&error, 0xa5, sizeof error);
}

static int
probe(void)
{
    return tcnl_probe(&k->transport, IFINDEX, TCNL_PARENT_INGRESS, &able,
                      &error);
}

/* Nothing is left in the kernel, and nothing on the way from it. */
static void
end(void)
{
    assert_int_equal(m->n_filters, 0);
    assert_int_equal(m->n_police, 0);
    assert_int_equal(k->queue.head, k->queue.tail);
    assert_int_equal(k->sk_err, 0);
    fake_kernel_uninit(k);
}

static const struct tcnl_abilities all = {
    .flower = true, .own_handles = true, .terse_dump = true,
    .terse_echo = true, .used_since = true, .dump_start = true,
    .ext_ack = true, .multi_mask = true,
    .police_pkts = true, .no_percpu_stats = true,
    .ct_states = ALL_CT_STATES, .enc_flags = true, .vxlan_gbp = true,
};
static const struct tcnl_abilities none;

static void
assert_abilities(const struct tcnl_abilities *expected)
{
    assert_int_equal(able.flower, expected->flower);
    assert_int_equal(able.own_handles, expected->own_handles);
    assert_int_equal(able.terse_dump, expected->terse_dump);
    assert_int_equal(able.terse_echo, expected->terse_echo);
    assert_int_equal(able.used_since, expected->used_since);
    assert_int_equal(able.dump_start, expected->dump_start);
    assert_int_equal(able.ext_ack, expected->ext_ack);
    assert_int_equal(able.multi_mask, expected->multi_mask);
    assert_int_equal(able.police_pkts, expected->police_pkts);
    assert_int_equal(able.no_percpu_stats, expected->no_percpu_stats);
    assert_int_equal(able.ct_states, expected->ct_states);
    assert_int_equal(able.enc_flags, expected->enc_flags);
    assert_int_equal(able.vxlan_gbp, expected->vxlan_gbp);
}

static void
assert_probe(const struct tcnl_abilities *expected)
{
    assert_int_equal(probe(), 0);
    assert_int_equal(error.error, 0);
    assert_abilities(expected);
}

/* A probe that had lost nothing could not do more. */
static void
assert_no_more_than_all(int result)
{
    if (result) {
        assert_int_equal(error.error, result);
        assert_abilities(&none);
    } else {
        assert_true(able.flower);
    }
}

static void
test_all(void **state)
{
    (void) state;
    begin();
    assert_probe(&all);
    assert_int_equal(m->max_filters, 2);
    end();
}

/* Without one ability the others are found all the same. */
static void
test_own_choice(void **state)
{
    struct tcnl_abilities expected = all;

    /* No handle can be taken, and no filter be found by its own: what depends
     * on it is not found. */
    (void) state;
    expected.own_handles = expected.terse_dump = expected.terse_echo
        = expected.used_since = expected.dump_start
        = expected.ext_ack = expected.no_percpu_stats = expected.enc_flags
        = expected.vxlan_gbp = false;
    expected.ct_states = 0;
    begin();
    m->own_choice = true;
    assert_probe(&expected);
    assert_int_equal(m->max_filters, 3);
    end();
}

/* From nothing to all of our patches, and a kernel from before 5.8, which
 * knows no flags and shows all in full. */
static void
test_dump_flags(void **state)
{
    struct tcnl_abilities expected = all;

    (void) state;
    for (uint32_t flags = 0; flags <= ALL_DUMP_FLAGS; flags++) {
        expected.terse_dump = flags & TCA_DUMP_FLAGS_TERSE;
        expected.used_since = expected.terse_dump
                              && flags & TCA_DUMP_FLAGS_USED_SINCE;
        expected.dump_start = expected.terse_dump
                              && flags & TCA_DUMP_FLAGS_START;
        begin();
        m->dump_flags = flags;
        assert_probe(&expected);
        end();
    }
    expected.terse_dump = expected.used_since = expected.dump_start = false;
    begin();
    m->ignores_dump_flags = true;
    assert_probe(&expected);
    end();
}

static void
test_full_echo(void **state)
{
    struct tcnl_abilities expected = all;

    (void) state;
    expected.terse_echo = false;
    begin();
    m->full_echo = true;
    assert_probe(&expected);
    end();
}

static void
test_ct_states(void **state)
{
    struct tcnl_abilities expected = all;

    (void) state;
    for (int strict = 0; strict < 2; strict++) {
        expected.ct_states = OLD_CT_STATES;
        begin();
        m->any_ct_state = !strict;
        m->ct_states = OLD_CT_STATES;
        assert_probe(&expected);
        end();
    }
    expected.ct_states = 0;
    begin();
    m->ct_states = 0;
    assert_probe(&expected);
    end();
}

static void
test_tunnel_keys(void **state)
{
    struct tcnl_abilities expected = all;

    (void) state;
    expected.enc_flags = false;
    begin();
    m->no_enc_flags = true;
    assert_probe(&expected);
    end();

    expected.vxlan_gbp = false;
    begin();
    m->no_enc_flags = m->no_gbp = true;
    assert_probe(&expected);
    end();
}

static void
test_no_text(void **state)
{
    struct tcnl_abilities expected = all;

    (void) state;
    expected.ext_ack = false;
    begin();
    m->no_text = true;
    assert_probe(&expected);
    end();
}

static void
test_one_mask(void **state)
{
    struct tcnl_abilities expected = all;

    /* The second filter is also the one that tries the flag. */
    (void) state;
    expected.multi_mask = expected.no_percpu_stats = false;
    begin();
    m->one_mask = true;
    assert_probe(&expected);
    assert_int_equal(m->max_filters, 1);
    end();
}

static void
test_no_pkts(void **state)
{
    struct tcnl_abilities expected = all;

    (void) state;
    expected.police_pkts = false;
    begin();
    m->no_pkts = true;
    assert_probe(&expected);
    end();
}

static void
test_no_flags(void **state)
{
    struct tcnl_abilities expected = all;

    (void) state;
    expected.no_percpu_stats = false;
    begin();
    m->no_flags = true;
    assert_probe(&expected);
    end();
}

static void
test_no_flower(void **state)
{
    (void) state;
    begin();
    m->no_flower = true;
    assert_int_equal(probe(), EOPNOTSUPP);
    assert_int_equal(error.error, EOPNOTSUPP);
    assert_string_equal(error.text, "TC classifier not found");
    assert_abilities(&none);
    end();
}

/* What a probe that was killed has left does not disturb the next one. */
static void
test_leftovers(void **state)
{
    (void) state;
    for (uint32_t set = 0; set < 8; set++) {
        begin();
        for (uint32_t i = 0; i < 2; i++) {
            if (set & 1u << i) {
                m->filters[m->n_filters++].id.handle = 0x7f000001 + i;
            }
        }
        m->n_police = set >> 2;
        assert_probe(&all);
        end();
    }
}

/* ## Losses, at each place in turn. */

/* As many requests and answers as a probe has at most. */
#define MAX_PLACES 100

static void
test_ack_lost(void **state)
{
    (void) state;
    for (unsigned int i = 0; i < MAX_PLACES; i++) {
        begin();
        k->verdicts[i].lose_ack = true;
        assert_no_more_than_all(probe());
        assert_true(k->n_requests < MAX_PLACES);
        end();
    }
}

static void
test_reply_lost(void **state)
{
    (void) state;
    for (unsigned int i = 0; i < MAX_PLACES; i++) {
        begin();
        k->verdicts[i].lose_reply = true;
        k->verdicts[i].lose_ack = true;
        assert_no_more_than_all(probe());
        end();
    }
}

/* A buffer that overflows, an answer that is too long, one that is damaged. */
static void
test_answer_damaged(void **state)
{
    (void) state;
    for (unsigned int i = 0; i < 3 * MAX_PLACES; i++) {
        begin();
        k->overflow_at = i % 3 == 0 ? i / 3 : FAKE_NEVER;
        k->truncate_at = i % 3 == 1 ? i / 3 : FAKE_NEVER;
        k->damage_at = i % 3 == 2 ? i / 3 : FAKE_NEVER;
        assert_no_more_than_all(probe());
        assert_true(k->n_replies < MAX_PLACES);
        end();
    }
}

/* Executed or not, when sending fails. */
static void
test_send_error(void **state)
{
    (void) state;
    for (unsigned int i = 0; i < 2 * MAX_PLACES; i++) {
        begin();
        k->send_error_at = i / 2;
        k->send_error = i % 2 ? EINTR : ENOBUFS;
        k->send_anyway = i % 2;
        assert_no_more_than_all(probe());
        assert_true(k->n_sends < MAX_PLACES);
        end();
    }
}

/* No ack at all: the first filter fails, and goes. */
static void
test_all_acks_lost(void **state)
{
    (void) state;
    begin();
    for (unsigned int i = 0; i < FAKE_MAX; i++) {
        k->verdicts[i].lose_ack = k->verdicts[i].lose_reply = true;
    }
    assert_int_equal(probe(), EPROTO);
    assert_int_equal(error.error, EPROTO);
    assert_abilities(&none);
    assert_int_equal(m->max_filters, 1);
    end();
}

static void
test_foreign(void **state)
{
    (void) state;
    begin();
    k->foreign = true;
    assert_probe(&all);
    end();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_own_choice),
        cmocka_unit_test(test_dump_flags),
        cmocka_unit_test(test_full_echo),
        cmocka_unit_test(test_ct_states),
        cmocka_unit_test(test_tunnel_keys),
        cmocka_unit_test(test_no_text),
        cmocka_unit_test(test_one_mask),
        cmocka_unit_test(test_no_pkts),
        cmocka_unit_test(test_no_flags),
        cmocka_unit_test(test_no_flower),
        cmocka_unit_test(test_leftovers),
        cmocka_unit_test(test_ack_lost),
        cmocka_unit_test(test_reply_lost),
        cmocka_unit_test(test_answer_damaged),
        cmocka_unit_test(test_send_error),
        cmocka_unit_test(test_all_acks_lost),
        cmocka_unit_test(test_foreign),
    };

    return cmocka_run_group_tests_name("probe", tests, NULL, NULL);
}
