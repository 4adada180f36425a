/* SPDX-License-Identifier: Apache-2.0 */

/* A kernel that ignores something in a filter, and the memory of that. */

#include <config.h>

#include <errno.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "bed.h"
#include "openvswitch/dynamic-string.h"
#include "tcb-chain-use.h"
#include "tcb-port.h"
#include "tcb-shape.h"
#include "tcnl/shape.h"
#include "util.h"

#include <cmocka.h>

#define MAX_OPS 128

/* A match of another shape than those of bed_put(). */
#define OTHER_SHAPE "recirc_id(%#x),in_port(1),eth(),eth_type(0x0800)," \
                    "ipv4(ttl=%u,frag=no)"

static struct bed_op ops[MAX_OPS];

static struct tcb_offload *
offload(struct bed *bed)
{
    return tcb_offload_cast(bed->offload);
}

static void
ignore_ipv4_src(struct bed *bed)
{
    bed->tc.ignores[0] = TCA_FLOWER_KEY_IPV4_SRC;
    bed->tc.ignores[1] = TCA_FLOWER_KEY_IPV4_SRC_MASK;
}

static void
put_other(struct bed_op *op, unsigned int n, uint32_t chain)
{
    char *match = xasprintf(OTHER_SHAPE, chain, n);

    bed_put_match(op, n, match, "2", DPIF_FP_CREATE);
    free(match);
}

static void
assert_reason(struct bed *bed, const char *reason)
{
    const struct tcb_port *port = tcb_port_find(offload(bed), 1);
    struct ds ds = DS_EMPTY_INITIALIZER;

    tcb_why_format(&port->why, &ds);
    if (!strstr(ds_cstr(&ds), reason)) {
        fail_msg("no \"%s\" in: %s", reason, ds_cstr(&ds));
    }
    ds_destroy(&ds);
}

static struct tcb_shape_counts
counts(struct bed *bed)
{
    struct tcb_shape_counts c;

    tcb_shape_counts_read(&offload(bed)->shapes, &c);
    return c;
}

/* What the kernel is asked: what the fake kernel's 'aux' points to. */
struct watch {
    unsigned int n_echoes;      /* Additions with an echo. */
    bool lose_new, lose_get;    /* Answers to these are lost. */
    int error;                  /* The first addition is refused. */
};

static void
watch(struct fake_tc *tc, const struct nlmsghdr *nlh,
      const struct tcnl_filter_info *info OVS_UNUSED, struct fake_tc_fault *f)
{
    struct watch *w = tc->aux;

    if (nlh->nlmsg_type == RTM_NEWTFILTER) {
        w->n_echoes += (nlh->nlmsg_flags & NLM_F_ECHO) != 0;
        f->lose = w->lose_new;
        f->error = w->error;
        w->error = 0;
    } else if (nlh->nlmsg_type == RTM_GETTFILTER) {
        f->lose = w->lose_get;
    }
}

static void
start_watch(struct bed *bed, struct watch *w)
{
    bed->tc.aux = w;
    bed->tc.fault = watch;
}

static void
test_once(void **bed_)
{
    struct bed *bed = *bed_;
    struct watch w = { 0 };

    start_watch(bed, &w);
    for (unsigned int i = 0; i < MAX_OPS; i++) {
        if (i % 2) {
            put_other(&ops[i], i, 0);
        } else {
            bed_put(&ops[i], i, 0, "2", DPIF_FP_CREATE);
        }
    }
    bed_operate(bed, ops, MAX_OPS);
    bed_free(ops, MAX_OPS);
    assert_int_equal(bed->tc.n_filters, MAX_OPS);
    assert_int_equal(bed->tc.n_sends, 1);
    assert_int_equal(w.n_echoes, 2);
    assert_int_equal(counts(bed).verified, 2);

    assert_int_equal(bed_add(bed, MAX_OPS), 0);
    assert_int_equal(w.n_echoes, 2);

    /* Other actions, or another mask, are another shape. */
    bed_put(&ops[0], MAX_OPS + 1, 0, "push_vlan(vid=5,pcp=0),2",
            DPIF_FP_CREATE);
    bed_operate(bed, ops, 1);
    bed_free(ops, 1);
    assert_int_equal(w.n_echoes, 3);
    bed_put_match(&ops[0], MAX_OPS + 2, "recirc_id(0),in_port(1),eth(),"
                  "eth_type(0x0800),ipv4(src=10.7.0.0/255.255.0.0,frag=no)",
                  "2", DPIF_FP_CREATE);
    bed_operate(bed, ops, 1);
    bed_free(ops, 1);
    assert_int_equal(w.n_echoes, 4);
    assert_int_equal(counts(bed).verified, 4);
    assert_int_equal(counts(bed).refused, 0);
}

/* Those of the shape go again, also the ones that were not echoed themselves;
 * others of the batch stay; and later ones are not sent. */
static void
test_ignored_key(void **bed_)
{
    struct bed *bed = *bed_;

    ignore_ipv4_src(bed);
    bed_put(&ops[0], 0, 0, "2", DPIF_FP_CREATE);
    put_other(&ops[1], 1, 0);
    bed_put(&ops[2], 2, 0, "2", DPIF_FP_CREATE);
    put_other(&ops[3], 3, 0);
    bed_operate(bed, ops, 4);
    for (unsigned int i = 0; i < 4; i++) {
        assert_int_equal(ops[i].op.error, i % 2 ? 0 : -1);
        assert_int_equal(bed_filter(bed, i) != NULL, i % 2);
        assert_int_equal(ops[i].op.flow_put.flags, DPIF_FP_CREATE);
    }
    bed_free(ops, 4);
    assert_int_equal(bed->tc.n_filters, 2);
    assert_int_equal(atomic_count_get(&bed->flows->n_live), 2);
    assert_reason(bed, "2 x shape: ");
    assert_reason(bed, "the kernel ignores TCA_FLOWER_KEY_IPV4_SRC");
    assert_int_equal(counts(bed).verified, 1);
    assert_int_equal(counts(bed).refused, 1);

    bed->tc.n_sends = 0;
    assert_int_equal(bed_add(bed, 4), -1);
    assert_int_equal(bed->tc.n_sends, 0);
    assert_reason(bed, "3 x shape: ");
}

/* The filter that was to be echoed is refused itself, or the echo is lost: a
 * filter of the shape is read back. */
static void
add_two(struct bed *bed, struct watch *w)
{
    start_watch(bed, w);
    bed_put(&ops[0], 0, 0, "2", DPIF_FP_CREATE);
    bed_put(&ops[1], 1, 0, "2", DPIF_FP_CREATE);
    bed_operate(bed, ops, 2);
    bed_free(ops, 2);
    assert_int_equal(w->n_echoes, 1);
}

static void
test_first_refused(void **bed_)
{
    struct bed *bed = *bed_;
    struct watch w = { .error = EOPNOTSUPP };

    ignore_ipv4_src(bed);
    add_two(bed, &w);
    assert_int_equal(ops[1].op.error, -1);
    assert_int_equal(bed->tc.n_filters, 0);
    assert_int_equal(counts(bed).refused, 1);
}

static void
test_echo_lost(void **bed_)
{
    struct bed *bed = *bed_;
    struct watch w = { .lose_new = true };

    add_two(bed, &w);
    assert_int_equal(ops[0].op.error, 0);
    assert_int_equal(ops[1].op.error, 0);
    assert_int_equal(counts(bed).verified, 1);
}

/* Nothing can be learnt: the next filter is echoed again. */
static void
test_all_lost(void **bed_)
{
    struct bed *bed = *bed_;
    struct watch w = { .lose_new = true, .lose_get = true };

    add_two(bed, &w);
    assert_int_equal(counts(bed).verified, 0);
    assert_int_equal(counts(bed).refused, 0);
    w.lose_new = w.lose_get = false;
    assert_int_equal(bed_add(bed, 2), 0);
    assert_int_equal(w.n_echoes, 2);
    assert_int_equal(counts(bed).verified, 1);
}

static void
test_modify(void **bed_)
{
    struct bed *bed = *bed_;
    struct dpif_flow_stats *stats = &ops[0].stats;

    assert_int_equal(bed_add(bed, 0), 0);
    fake_tc_hit(&bed->tc, bed_filter(bed, 0), 7, 700);
    ignore_ipv4_src(bed);
    bed_put(&ops[0], 0, 0, "push_vlan(vid=5,pcp=0),2", DPIF_FP_MODIFY);
    bed_operate(bed, ops, 1);
    bed_free(ops, 1);
    assert_int_equal(ops[0].op.error, -1);
    assert_int_equal(ops[0].op.flow_put.flags, DPIF_FP_CREATE);
    assert_int_equal(stats->n_packets, 7);
    assert_int_equal(bed->tc.n_filters, 0);
    assert_int_equal(atomic_count_get(&bed->flows->n_live), 0);
}

/* Another mask: the new filter and the old one go. */
static void
test_modify_mask(void **bed_)
{
    struct bed *bed = *bed_;

    assert_int_equal(bed_add(bed, 0), 0);
    ignore_ipv4_src(bed);
    bed_put_match(&ops[0], 0, "recirc_id(0),in_port(1),eth(),"
                  "eth_type(0x0800),ipv4(src=10.0.0.0/255.255.255.0,frag=no)",
                  "2", DPIF_FP_MODIFY);
    bed_operate(bed, ops, 1);
    bed_free(ops, 1);
    assert_int_equal(ops[0].op.error, -1);
    assert_int_equal(bed->tc.n_filters, 0);
    assert_int_equal(atomic_count_get(&bed->flows->n_live), 0);
}

static void
test_parent(void **bed_)
{
    struct bed *bed = *bed_;

    ignore_ipv4_src(bed);
    bed_put(&ops[0], 0, 0, "recirc(7)", DPIF_FP_CREATE);
    put_other(&ops[1], 1, 7);
    bed_operate(bed, ops, 2);
    bed_free(ops, 2);
    assert_int_equal(ops[0].op.error, -1);
    assert_int_equal(ops[1].op.error, -1);
    assert_int_equal(bed->tc.n_filters, 0);
    assert_false(tcb_chain_in_use(&offload(bed)->chains, 7));
    assert_reason(bed, "1 x parent: ");
}

/* The table alone. */

static void
test_full(void **state OVS_UNUSED)
{
    struct tcnl_difference good = { .name = NULL };
    struct tcnl_difference bad = { .name = "TCA_A", .missing = true };
    struct tcb_shapes *shapes = xmalloc(sizeof *shapes);
    struct tcb_shape_counts c;
    const char *reason;

    tcb_shapes_init(shapes);
    /* All of these are in one set. */
    for (uint64_t i = 1; i <= TCB_SHAPE_WAYS + 2; i++) {
        const struct tcnl_difference *d = i % 2 ? &bad : &good;

        assert_int_equal(tcb_shape_find(shapes, i << 42, NULL),
                         TCB_SHAPE_UNKNOWN);
        assert_int_equal(tcb_shape_note(shapes, i << 42, d), i % 2);
        assert_false(tcb_shape_note(shapes, i << 42, d));
    }
    for (uint64_t i = 1; i <= TCB_SHAPE_WAYS + 2; i++) {
        assert_int_equal(tcb_shape_find(shapes, i << 42, &reason),
                         i <= 2 ? TCB_SHAPE_UNKNOWN
                         : i % 2 ? TCB_SHAPE_REFUSED : TCB_SHAPE_VERIFIED);
    }
    tcb_shape_counts_read(shapes, &c);
    assert_int_equal(c.verified, 2);
    assert_int_equal(c.refused, 2);
    assert_int_equal(c.forgotten, 2);
    tcb_shapes_destroy(shapes);
    free(shapes);
}

static void
test_reasons(void **state OVS_UNUSED)
{
    struct tcb_shapes *shapes = xmalloc(sizeof *shapes);
    const char *reason;
    char name[16];

    tcb_shapes_init(shapes);
    for (uint64_t i = 0; i < TCB_SHAPE_REASONS + 10; i++) {
        struct tcnl_difference d = { .name = name, .missing = false };

        snprintf(name, sizeof name, "TCA_%d", (int) i);
        tcb_shape_note(shapes, (i + 1) << 8, &d);
    }
    assert_int_equal(tcb_shape_find(shapes, 1 << 8, &reason),
                     TCB_SHAPE_REFUSED);
    assert_string_equal(reason, "the kernel changes TCA_0");
    assert_int_equal(tcb_shape_find(shapes, (TCB_SHAPE_REASONS + 10) << 8,
                                    &reason), TCB_SHAPE_REFUSED);
    assert_string_equal(reason, "the kernel changes TCA_128");
    tcb_shapes_destroy(shapes);
    free(shapes);
}

#define TEST(NAME, TEXT) { TEXT, NAME, bed_setup, bed_teardown, NULL }

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_once, "one filter of each shape is echoed"),
        TEST(test_ignored_key, "shape with a key that the kernel ignores"),
        TEST(test_first_refused, "the echoed filter is refused"),
        TEST(test_echo_lost, "lost echo: a filter is read back"),
        TEST(test_all_lost, "lost echo and reading: the shape stays unknown"),
        TEST(test_modify, "modify to a shape that the kernel changes"),
        TEST(test_modify_mask, "modify to a mask that the kernel ignores"),
        TEST(test_parent, "children of a flow with such a shape"),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_reasons),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
