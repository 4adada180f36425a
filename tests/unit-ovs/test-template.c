/* SPDX-License-Identifier: Apache-2.0 */

/* Filters that are made from a template are those that a translation makes. */

#include <config.h>

#include <errno.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bed.h"
#include "flow-text.h"
#include "netlink.h"
#include "random-flow.h"
#include "random.h"
#include "tcb-plan.h"
#include "tcb-port.h"
#include "tcb-template.h"
#include "tcnl/filter.h"
#include "tcnl/shape.h"
#include "util.h"

#include <cmocka.h>

#define N_FLOWS 3000
#define N_VARIANTS 16

static struct tcb_offload *
offload(struct bed *bed)
{
    return tcb_offload_cast(bed->offload);
}

/* Plans, and the messages made of them. */

struct made {
    enum tcb_verdict verdict;
    struct tcb_put_plan plan;
    uint32_t mem[16384];
    struct tcnl_buffer buffer;
};

static struct made translated, made;

static void
build(struct made *m, const struct dpif_flow_put *put)
{
    const struct tcb_put_plan *plan = &m->plan;
    struct tcnl_filter_id id = tcb_hook_id(plan->port->up.ifindex,
                                           plan->port->hook);

    id.chain = plan->chain;
    id.prio = plan->prio;
    id.proto = (OVS_FORCE uint16_t) plan->proto;
    id.handle = put->ufid->u32[0];
    tcnl_buffer_init(&m->buffer, m->mem, sizeof m->mem);
    if (plan->template) {
        assert_int_equal(tcnl_template_put(
            &m->buffer, &plan->template->message, id.handle, put->ufid,
            NLM_F_CREATE | NLM_F_EXCL), 0);
    } else {
        assert_int_equal(tcnl_filter_put_new(
            &m->buffer, &id, &plan->flower, &plan->actions,
            NLM_F_CREATE | NLM_F_EXCL), 0);
    }
}

static void
make(struct bed *bed, struct tcb_templates *ts,
     const struct dpif_flow_put *put, struct made *m)
{
    static const struct tcnl_difference none;

    m->verdict = tcb_plan_put(offload(bed), ts, put, &m->plan);
    if (m->verdict == TCB_PLAN_OK) {
        tcb_plan_unref_uses(offload(bed), &m->plan.uses);
        if (m->plan.shape) {
            tcb_shape_note(&offload(bed)->shapes, m->plan.shape, &none);
            m->plan.shape = 0;
        }
        build(m, put);
    }
}

/* Returns whether there was a template. */
static bool
compare(struct bed *bed, struct tcb_templates *ts,
        const struct dpif_flow_put *put)
{
    make(bed, NULL, put, &translated);
    make(bed, ts, put, &made);
    assert_int_equal(translated.verdict, made.verdict);
    if (made.verdict != TCB_PLAN_OK) {
        return false;
    }
    assert_ptr_equal(translated.plan.port, made.plan.port);
    assert_int_equal(translated.plan.chain, made.plan.chain);
    assert_int_equal(translated.plan.prio, made.plan.prio);
    assert_int_equal(translated.plan.proto, made.plan.proto);
    assert_true(translated.plan.match_hash == made.plan.match_hash);
    assert_int_equal(translated.plan.uses.goto_chain,
                     made.plan.uses.goto_chain);
    assert_int_equal(translated.plan.uses.n_meters, made.plan.uses.n_meters);
    assert_int_equal(translated.buffer.used, made.buffer.used);
    assert_memory_equal(translated.mem, made.mem, made.buffer.used);
    if (!made.plan.template) {
        tcb_templates_learn(ts, put, &made.plan,
                            (const struct nlmsghdr *) made.mem);
    }
    return made.plan.template != NULL;
}

/* Flows. */

static struct dpif_flow_put
as_put(const struct test_flow *flow, const ovs_u128 *ufid)
{
    return (struct dpif_flow_put) {
        .flags = DPIF_FP_CREATE,
        .key = flow->key.data,
        .key_len = flow->key.size,
        .mask = flow->mask.data,
        .mask_len = flow->mask.size,
        .actions = flow->actions.data,
        .actions_len = flow->actions.size,
        .ufid = ufid,
    };
}

/* Changes values of the key: any bytes of these attributes, up to 'upto' in
 * each, so that some change what the flow is. */
static void
vary(const struct nlattr *attrs, size_t len)
{
    static const size_t upto[OVS_KEY_ATTR_MAX + 1] = {
        [OVS_KEY_ATTR_ETHERNET] = 12,
        [OVS_KEY_ATTR_IPV4] = 8,
        [OVS_KEY_ATTR_IPV6] = 32,
        [OVS_KEY_ATTR_TCP] = 4,
        [OVS_KEY_ATTR_UDP] = 4,
        [OVS_KEY_ATTR_SCTP] = 4,
        [OVS_KEY_ATTR_ARP] = 20,
        [OVS_KEY_ATTR_CT_MARK] = 4,
        [OVS_KEY_ATTR_ICMP] = 2,
    };
    const struct nlattr *a;
    size_t left;

    NL_ATTR_FOR_EACH (a, left, attrs, len) {
        int type = nl_attr_type(a);

        if (type == OVS_KEY_ATTR_ENCAP) {
            vary(nl_attr_get(a), nl_attr_get_size(a));
        } else if (type <= OVS_KEY_ATTR_MAX && upto[type]
                   && (upto[type] > 4 || random_range(2))) {
            uint8_t *value = CONST_CAST(uint8_t *, nl_attr_get(a));

            value[random_range(upto[type])] ^= 1 + random_range(255);
        }
    }
}

/* A random flow; returns false if it is not offloaded. */
static bool
random_one(struct bed *bed, struct test_flow *flow)
{
    struct ds match = DS_EMPTY_INITIALIZER;
    struct ds actions = DS_EMPTY_INITIALIZER;
    ovs_u128 ufid = bed_ufid(1);
    struct dpif_flow_put put;
    char *error;

    random_flow(&match, &actions, 0);
    error = flow_text_parse(flow, ds_cstr(&match), ds_cstr(&actions));
    if (error) {
        fail_msg("%s: %s", ds_cstr(&match), error);
    }
    ds_destroy(&match);
    ds_destroy(&actions);
    put = as_put(flow, &ufid);
    make(bed, NULL, &put, &translated);
    if (translated.verdict != TCB_PLAN_OK) {
        test_flow_uninit(flow);
        return false;
    }
    return true;
}

static void
test_random(void **bed_)
{
    unsigned int n_made = 0, n_with = 0, n_tried = 0;
    struct bed *bed = *bed_;

    for (uint32_t chain = 1; chain <= RANDOM_FLOW_CHAINS; chain++) {
        tcb_chain_use_ref(&offload(bed)->chains, chain);
    }
    random_set_seed(1);
    while (n_tried < N_FLOWS) {
        struct tcb_templates ts;
        struct test_flow flow;
        unsigned int n = 0;

        if (!random_one(bed, &flow)) {
            continue;
        }
        tcb_templates_init(&ts);
        for (unsigned int i = 0; i < N_VARIANTS; i++) {
            ovs_u128 ufid = bed_ufid(i);
            struct dpif_flow_put put = as_put(&flow, &ufid);

            n += compare(bed, &ts, &put);
            vary(flow.key.data, flow.key.size);
        }
        n_made += n;
        n_with += n > 0;
        n_tried++;
        tcb_templates_destroy(&ts);
        test_flow_uninit(&flow);
    }
    for (uint32_t chain = 1; chain <= RANDOM_FLOW_CHAINS; chain++) {
        tcb_chain_use_unref(&offload(bed)->chains, chain);
    }
    printf("# %u filters from templates, of %u flows out of %u\n", n_made,
           n_with, n_tried);
    assert_true(n_with > N_FLOWS / 4);
}

/* What the filters of the bed's flows are made from. */
static struct bed_op ops[64];

static void
put_many(struct bed *bed, unsigned int first, const char *actions)
{
    for (unsigned int i = 0; i < 64; i++) {
        bed_put(&ops[i], first + i, 0, actions, DPIF_FP_CREATE);
    }
    bed_operate(bed, ops, 64);
}

static void
expect_all(int error)
{
    for (unsigned int i = 0; i < 64; i++) {
        assert_int_equal(ops[i].op.error, error);
    }
    bed_free(ops, 64);
}

static unsigned int
n_templates(struct bed *bed)
{
    struct tcb_worker *w = tcb_worker_get(&offload(bed)->workers);
    static const struct tcb_operate_stats nothing_done;
    unsigned int n = 0;

    while (n < TCB_N_TEMPLATES && w->templates.templates[n]) {
        n++;
    }
    tcb_worker_put(&offload(bed)->workers, w, &nothing_done);
    return n;
}

static uint64_t
n_templated(struct bed *bed)
{
    struct tcb_operate_stats stats;
    unsigned int n_workers;

    tcb_worker_pool_stats(&offload(bed)->workers, &stats, &n_workers);
    return stats.templated;
}

/* A port that is gone, or has come back as another device, is not what the
 * filters of a template send to. */
static void
test_port_gone(void **bed_)
{
    const struct dpif_offload_class *class = &dpif_offload_tc_batch_class;
    struct bed *bed = *bed_;

    put_many(bed, 0, "2");
    expect_all(0);
    put_many(bed, 64, "2");
    expect_all(0);
    assert_int_equal(n_templates(bed), 1);
    assert_true(n_templated(bed) > 32);
    class->port_del(bed->offload, u32_to_odp(2));
    put_many(bed, 128, "2");
    expect_all(-1);
    class->port_add(bed->offload, bed->netdevs[2], u32_to_odp(2));
    put_many(bed, 128, "2");
    expect_all(0);
}

/* More kinds of flows than templates: those used last stay. */
static void
test_many(void **bed_)
{
    struct bed *bed = *bed_;
    char actions[64];

    for (unsigned int round = 0; round < 3; round++) {
        for (unsigned int i = 0; i < 2 * TCB_N_TEMPLATES; i++) {
            snprintf(actions, sizeof actions, "push_vlan(vid=%u,pcp=0),2",
                     i + 1);
            put_many(bed, 64 * (round * 2 * TCB_N_TEMPLATES + i), actions);
            expect_all(0);
        }
    }
    assert_int_equal(n_templates(bed), TCB_N_TEMPLATES);
    assert_int_equal(bed->tc.n_filters, 64 * 3 * 2 * TCB_N_TEMPLATES);
}

#define TEST(NAME, TEXT) { TEXT, NAME, bed_setup, bed_teardown, NULL }

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_random, "random flows with other values"),
        TEST(test_port_gone, "a port goes and comes back"),
        TEST(test_many, "more kinds of flows than templates"),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
