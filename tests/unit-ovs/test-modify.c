/* SPDX-License-Identifier: Apache-2.0 */

/* Modifications: a filter is replaced in place, or by one elsewhere, and the
 * flow's counters go on. */

#include <config.h>

#include <errno.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "bed.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "tcb-hold.h"
#include "util.h"

#include <cmocka.h>

/* The operation of the last modify(). */
static struct bed_op last;

static void
modify(struct bed *bed, unsigned int n, const char *match,
       const char *actions)
{
    if (match) {
        bed_put_match(&last, n, match, actions, DPIF_FP_MODIFY);
    } else {
        bed_put(&last, n, 0, actions, DPIF_FP_MODIFY);
    }
    bed_operate(bed, &last, 1);
    bed_free(&last, 1);
}

static void
test_modify_in_place(void **bed_)
{
    struct bed *bed = *bed_;
    struct dpif_flow_stats stats;
    struct fake_tc_filter *f;

    assert_int_equal(bed_add(bed, 0), 0);
    f = bed_filter(bed, 0);
    fake_tc_hit(&bed->tc, f, 7, 700);
    modify(bed, 0, NULL, "push_vlan(vid=5,pcp=0),2");
    assert_int_equal(last.op.error, 0);
    assert_int_equal(last.stats.n_packets, 7);
    assert_ptr_equal(bed_filter(bed, 0), f);
    assert_int_equal(f->packets, 0);
    assert_int_equal(bed->tc.n_del, 0);
    assert_int_equal(atomic_count_get(&bed->n_datapath_dels), 0);

    fake_tc_hit(&bed->tc, f, 3, 300);
    assert_int_equal(bed_remove(bed, 0, &stats), 0);
    assert_int_equal(stats.n_packets, 10);
    assert_int_equal(stats.n_bytes, 1000);
}

static uint64_t
get_packets(struct bed *bed, unsigned int n)
{
    struct bed_op op;
    uint64_t packets;

    bed_get(&op, n);
    bed_operate(bed, &op, 1);
    assert_int_equal(op.op.error, 0);
    packets = op.flow.stats.n_packets;
    bed_free(&op, 1);
    return packets;
}

/* The filter that matches nothing, with the counters of the replaced one. */
static struct fake_tc_filter *
find_hold(struct bed *bed)
{
    for (size_t i = 0; i < bed->tc.n_filters; i++) {
        if (bed->tc.filters[i]->id.handle > TCB_MAX_FLOWS) {
            return bed->tc.filters[i];
        }
    }
    return NULL;
}

static void
test_modify_busy(void **bed_)
{
    struct bed *bed = *bed_;

    assert_int_equal(bed_add(bed, 0), 0);
    fake_tc_hit(&bed->tc, bed_filter(bed, 0), 7, 700);
    assert_int_equal(get_packets(bed, 0), 7);
    modify(bed, 0, NULL, "push_vlan(vid=5,pcp=0),2");
    assert_int_equal(last.op.error, 0);
    assert_int_equal(bed->tc.n_filters, 2);
    fake_tc_hit(&bed->tc, bed_filter(bed, 0), 3, 300);

    /* What the old one has counted since it was read: 2. */
    fake_tc_hit(&bed->tc, find_hold(bed), 9, 900);
    assert_int_equal(get_packets(bed, 0), 10);
    xnanosleep(2 * TCB_HOLD_MSEC * 1000 * 1000);
    assert_int_equal(get_packets(bed, 0), 12);
    assert_int_equal(bed->tc.n_filters, 1);
    assert_int_equal(get_packets(bed, 0), 12);
}

static void
test_modify_busy_then_delete(void **bed_)
{
    struct bed *bed = *bed_;
    struct dpif_flow_stats stats;

    assert_int_equal(bed_add(bed, 0), 0);
    fake_tc_hit(&bed->tc, bed_filter(bed, 0), 7, 700);
    assert_int_equal(get_packets(bed, 0), 7);
    for (int i = 0; i < 3; i++) {
        modify(bed, 0, NULL, i % 2 ? "2" : "push_vlan(vid=5,pcp=0),2");
        assert_int_equal(last.op.error, 0);
    }
    assert_int_equal(bed->tc.n_filters, 4);
    fake_tc_hit(&bed->tc, find_hold(bed), 9, 900);
    assert_int_equal(bed_remove(bed, 0, &stats), 0);
    assert_int_equal(stats.n_packets, 9);
    assert_int_equal(bed->tc.n_filters, 0);
}

/* The counters of the old filter come with its delete, once. */
static void
test_modify_busy_refused(void **bed_)
{
    struct bed *bed = *bed_;
    struct bed_refusal r = {
        RTM_NEWTFILTER, BED_HANDLE(0), EOPNOTSUPP, false, 1
    };

    assert_int_equal(bed_add(bed, 0), 0);
    fake_tc_hit(&bed->tc, bed_filter(bed, 0), 7, 700);
    assert_int_equal(get_packets(bed, 0), 7);
    bed_refuse(bed, &r);
    modify(bed, 0, NULL, "push_vlan(vid=5,pcp=0),2");
    assert_int_equal(r.times, 0);
    assert_int_equal(last.op.error, -1);
    assert_int_equal(last.stats.n_packets, 7);
    assert_int_equal(bed->tc.n_filters, 0);
}

/* Another mask. */
#define OTHER_MASK "recirc_id(0),in_port(1),eth(),eth_type(0x0800)," \
                   "ipv4(src=10.0.0.0/255.255.255.0,frag=no)"

static void
test_modify_other_mask(void **bed_)
{
    struct bed *bed = *bed_;
    struct dpif_flow_stats stats;

    assert_int_equal(bed_add(bed, 0), 0);
    fake_tc_hit(&bed->tc, bed_filter(bed, 0), 7, 700);
    modify(bed, 0, OTHER_MASK, "2");
    assert_int_equal(last.op.error, 0);
    assert_int_equal(last.stats.n_packets, 7);
    assert_int_equal(bed->tc.n_filters, 1);
    assert_int_equal(bed_n_live(bed), 1);
    fake_tc_hit(&bed->tc, bed_filter(bed, 0), 3, 300);
    assert_int_equal(bed_remove(bed, 0, &stats), 0);
    assert_int_equal(stats.n_packets, 10);
}

static void
test_modify_busy_other_mask(void **bed_)
{
    struct bed *bed = *bed_;

    assert_int_equal(bed_add(bed, 0), 0);
    fake_tc_hit(&bed->tc, bed_filter(bed, 0), 7, 700);
    assert_int_equal(get_packets(bed, 0), 7);
    modify(bed, 0, OTHER_MASK, "2");
    assert_int_equal(last.op.error, 0);
    assert_int_equal(bed->tc.n_filters, 2);
    fake_tc_hit(&bed->tc, find_hold(bed), 9, 900);
    assert_int_equal(get_packets(bed, 0), 7);
    xnanosleep(2 * TCB_HOLD_MSEC * 1000 * 1000);
    assert_int_equal(get_packets(bed, 0), 9);
    assert_int_equal(bed->tc.n_filters, 1);
}

/* The filter that goes is there until the new one is, and what it counts until
 * then is not lost. */
struct overlap {
    unsigned int n_filters;     /* When the old one is deleted. */
};

static void
count_overlap(struct fake_tc *tc, const struct nlmsghdr *nlh,
              const struct tcnl_filter_info *info,
              struct fake_tc_fault *f OVS_UNUSED)
{
    struct overlap *overlap = tc->aux;

    if (nlh->nlmsg_type != RTM_DELTFILTER) {
        return;
    }
    overlap->n_filters = tc->n_filters;
    /* The fake has its lock here. */
    for (size_t i = 0; i < tc->n_filters; i++) {
        if (tc->filters[i]->id.handle == info->id.handle) {
            tc->filters[i]->packets += 5;
            tc->filters[i]->bytes += 500;
        }
    }
}

static void
test_modify_other_mask_overlap(void **bed_)
{
    struct bed *bed = *bed_;
    struct dpif_flow_stats stats;
    struct overlap overlap = { 0 };

    assert_int_equal(bed_add(bed, 0), 0);
    fake_tc_hit(&bed->tc, bed_filter(bed, 0), 7, 700);
    bed->tc.aux = &overlap;
    bed->tc.fault = count_overlap;
    modify(bed, 0, OTHER_MASK, "2");
    bed->tc.fault = NULL;
    assert_int_equal(overlap.n_filters, 2);
    assert_int_equal(bed_remove(bed, 0, &stats), 0);
    assert_int_equal(stats.n_packets, 12);
    assert_int_equal(stats.n_bytes, 1200);
}

static void
test_modify_other_mask_refused(void **bed_)
{
    struct bed *bed = *bed_;
    struct bed_refusal r = { RTM_NEWTFILTER, 0, EOPNOTSUPP, false, 1 };

    assert_int_equal(bed_add(bed, 0), 0);
    bed_refuse(bed, &r);
    modify(bed, 0, OTHER_MASK, "2");
    assert_int_equal(last.op.error, -1);
    assert_int_equal(bed->tc.n_filters, 0);
    assert_null(bed_find(bed, 0));
    /* The kernel datapath has no such flow to modify. */
    assert_int_equal(last.op.flow_put.flags, DPIF_FP_CREATE);
}

static void
test_modify_refused(void **bed_)
{
    struct bed *bed = *bed_;
    struct bed_refusal r = { RTM_NEWTFILTER, 0, EOPNOTSUPP, false, 1 };

    assert_int_equal(bed_add(bed, 0), 0);
    fake_tc_hit(&bed->tc, bed_filter(bed, 0), 7, 700);
    bed_refuse(bed, &r);
    modify(bed, 0, NULL, "push_vlan(vid=5,pcp=0),2");
    assert_int_equal(last.op.error, -1);
    assert_int_equal(last.op.flow_put.flags, DPIF_FP_CREATE);
    assert_int_equal(last.stats.n_packets, 7);
    assert_int_equal(bed->tc.n_filters, 0);
    assert_null(bed_find(bed, 0));
}

static void
test_modify_refused_undeletable(void **bed_)
{
    struct bed *bed = *bed_;
    struct bed_refusal r = { RTM_DELTFILTER, 0, EBUSY, false, 1 };

    assert_int_equal(bed_add(bed, 0), 0);
    bed_refuse(bed, &r);
    modify(bed, 0, NULL, "sample(sample=50.0%,actions(2))");
    /* Two copies of a flow would disagree: the kernel datapath is kept out. */
    assert_int_equal(last.op.error, 0);
    assert_non_null(bed_filter(bed, 0));
    assert_int_equal(bed_n_live(bed), 1);
}

static void
test_modify_untranslatable(void **bed_)
{
    struct bed *bed = *bed_;

    assert_int_equal(bed_add(bed, 0), 0);
    modify(bed, 0, NULL, "sample(sample=50.0%,actions(2))");
    assert_int_equal(last.op.error, -1);
    assert_int_equal(last.op.flow_put.flags, DPIF_FP_CREATE);
    assert_int_equal(bed->tc.n_filters, 0);

    /* Of a flow that was not in TC the datapath has it to modify. */
    modify(bed, 0, NULL, "sample(sample=50.0%,actions(2))");
    assert_int_equal(last.op.error, -1);
    assert_int_equal(last.op.flow_put.flags, DPIF_FP_MODIFY);
}

static void
test_modify_moves_to_tc(void **bed_)
{
    struct bed *bed = *bed_;

    modify(bed, 0, NULL, "2");
    assert_int_equal(last.op.error, 0);
    assert_non_null(bed_filter(bed, 0));
    assert_int_equal(atomic_count_get(&bed->n_datapath_dels), 1);
}

static void
test_modify_lost(void **bed_)
{
    struct bed *bed = *bed_;
    struct bed_refusal r = { RTM_NEWTFILTER, 0, 0, true, 1 };

    assert_int_equal(bed_add(bed, 0), 0);
    bed_refuse(bed, &r);
    modify(bed, 0, NULL, "push_vlan(vid=5,pcp=0),2");
    /* Offloaded or not, but never half. */
    assert_int_equal(bed->tc.n_filters, last.op.error == 0);
    assert_int_equal(bed_n_live(bed), last.op.error == 0);
}

/* Someone else deletes all filters while a modification goes on. */
struct flush {
    struct bed *bed;
    pthread_t thread;
    bool started;
};

static void *
flush(void *bed_)
{
    struct bed *bed = bed_;

    assert_int_equal(
        dpif_offload_tc_batch_class.flow_flush(bed->offload), 0);
    return NULL;
}

/* The flow is claimed when its counters are read, so the flush waits for it,
 * and then finds it in another slot, which it comes to later. */
static void
start_flush(struct fake_tc *tc, const struct nlmsghdr *nlh,
            const struct tcnl_filter_info *info OVS_UNUSED,
            struct fake_tc_fault *f OVS_UNUSED)
{
    struct flush *fl = tc->aux;

    if (nlh->nlmsg_type == RTM_GETTFILTER && !fl->started) {
        fl->started = true;
        fl->thread = ovs_thread_create("flush", flush, fl->bed);
        xnanosleep(50 * 1000 * 1000);
    }
}

static void
test_modify_during_flush(void **bed_)
{
    struct bed *bed = *bed_;
    struct flush fl = { .bed = bed };

    assert_int_equal(bed_add(bed, 0), 0);
    assert_int_equal(bed_add(bed, 1), 0);
    assert_int_equal(bed_remove(bed, 1, NULL), 0);
    ovsrcu_barrier();           /* Its slot can be used again. */
    bed->tc.aux = &fl;
    bed->tc.fault = start_flush;
    modify(bed, 0, OTHER_MASK, "2");
    xpthread_join(fl.thread, NULL);
    bed->tc.fault = NULL;
    assert_int_equal(bed->tc.n_filters, 0);
    assert_int_equal(bed_n_live(bed), 0);
    /* Nobody has kept the flow. */
    assert_int_equal(bed_add(bed, 0), 0);
    assert_int_equal(bed->tc.n_filters, 1);
}

#define TEST(NAME, TEXT) { TEXT, NAME, bed_setup, bed_teardown, NULL }

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_modify_in_place, "modify in place carries counters over"),
        TEST(test_modify_busy, "modify under traffic: late counters"),
        TEST(test_modify_busy_then_delete,
             "modify under traffic, and delete at once"),
        TEST(test_modify_busy_refused, "modify under traffic, refused"),
        TEST(test_modify_other_mask, "modify with another mask"),
        TEST(test_modify_busy_other_mask,
             "modify with another mask under traffic"),
        TEST(test_modify_other_mask_overlap,
             "modify with another mask: the old filter goes last"),
        TEST(test_modify_other_mask_refused,
             "refused modify with another mask becomes a create"),
        TEST(test_modify_refused,
             "refused modify becomes a create, old filter deleted"),
        TEST(test_modify_refused_undeletable,
             "refused modify whose old filter stays"),
        TEST(test_modify_untranslatable, "modify to what TC cannot do"),
        TEST(test_modify_moves_to_tc,
             "modify of a flow of the kernel datapath moves it"),
        TEST(test_modify_lost, "lost answer of a modify"),
        TEST(test_modify_during_flush,
             "modify with another mask during a flush"),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
