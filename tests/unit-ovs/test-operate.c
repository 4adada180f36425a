/* SPDX-License-Identifier: Apache-2.0 */

/* Puts, deletes and gets from what OVS asks to what stands in the kernel. */

#include <config.h>

#include <errno.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "bed.h"
#include "odp-util.h"
#include "openvswitch/match.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "tcb-chain-use.h"
#include "util.h"

#include <cmocka.h>

#define MAX_OPS 128

static struct bed_op ops[MAX_OPS];

/* Puts flows 0 to n - 1 into 'ops'. */
static void
puts_in_ops(unsigned int n)
{
    for (unsigned int i = 0; i < n; i++) {
        bed_put(&ops[i], i, 0, "2", DPIF_FP_CREATE);
    }
}

/* Adding. */

static void
test_one_batch(void **bed_)
{
    struct bed *bed = *bed_;

    puts_in_ops(MAX_OPS);
    bed_operate(bed, ops, MAX_OPS);
    for (unsigned int i = 0; i < MAX_OPS; i++) {
        assert_int_equal(ops[i].op.error, 0);
        assert_non_null(bed_filter(bed, i));
        assert_int_equal(ops[i].stats.n_packets, 0);
        assert_int_equal(ops[i].stats.used, 0);
    }
    assert_int_equal(bed->tc.n_sends, 1);
    assert_int_equal(bed->tc.max_batch, MAX_OPS);
    assert_int_equal(bed_n_live(bed), MAX_OPS);
    assert_int_equal(dpif_offload_tc_batch_class.flow_count(bed->offload),
                     MAX_OPS);
    bed_free(ops, MAX_OPS);
}

static void
test_others_ops(void **bed_)
{
    struct bed *bed = *bed_;

    puts_in_ops(4);
    ops[0].op.error = 0;
    ops[1].op.error = EEXIST;
    ops[2].op.type = DPIF_OP_EXECUTE;
    bed_operate(bed, ops, 4);
    assert_int_equal(ops[0].op.error, 0);
    assert_int_equal(ops[1].op.error, EEXIST);
    assert_int_equal(ops[2].op.error, -1);
    assert_int_equal(ops[3].op.error, 0);
    assert_int_equal(bed->tc.n_filters, 1);
    bed_free(ops, 4);
}

static void
refuse_at(struct bed *bed, unsigned int at)
{
    enum { N = 5 };
    struct bed_refusal r = {
        RTM_NEWTFILTER, BED_HANDLE(at), EOPNOTSUPP, false, 1
    };

    bed_refuse(bed, &r);
    puts_in_ops(N);
    bed_operate(bed, ops, N);
    assert_int_equal(r.times, 0);
    for (unsigned int i = 0; i < N; i++) {
        assert_int_equal(ops[i].op.error, i == at ? -1 : 0);
        assert_int_equal(bed_filter(bed, i) != NULL, i != at);
        assert_int_equal(ops[i].op.flow_put.flags, DPIF_FP_CREATE);
    }
    assert_null(bed_find(bed, at));
    /* The first one was to show whether the kernel takes their shape; another
     * is read back in its place. */
    assert_int_equal(bed->tc.n_sends, at ? 1 : 2);
    assert_int_equal(bed_n_live(bed), N - 1);
    bed_free(ops, N);
}

static void
test_refused_first(void **bed)
{
    refuse_at(*bed, 0);
}

static void
test_refused_middle(void **bed)
{
    refuse_at(*bed, 2);
}

static void
test_refused_last(void **bed)
{
    refuse_at(*bed, 4);
}

static void
test_no_space(void **bed_)
{
    struct bed *bed = *bed_;
    struct bed_refusal r = { RTM_NEWTFILTER, 0, ENOSPC, false, 1 };

    bed_refuse(bed, &r);
    assert_int_equal(bed_add(bed, 0), ENOSPC);
    assert_int_equal(bed_add(bed, 0), 0);
}

static void
test_not_sent(void **bed_)
{
    struct bed *bed = *bed_;

    bed->tc.send_error = ENOBUFS;
    assert_int_equal(bed_add(bed, 0), -1);
    assert_null(bed_find(bed, 0));
    bed->tc.send_error = 0;
    assert_int_equal(bed_add(bed, 0), 0);
}

/* An acknowledgement of every message, for debugging. */
static void
count_acks(struct fake_tc *tc, const struct nlmsghdr *nlh,
           const struct tcnl_filter_info *info OVS_UNUSED,
           struct fake_tc_fault *f)
{
    unsigned int *n_acks = tc->aux;

    *n_acks += (nlh->nlmsg_flags & NLM_F_ACK) != 0;
    f->error = info->id.handle == BED_HANDLE(1) ? EOPNOTSUPP : 0;
}

static void
test_ack_each(void **bed_)
{
    struct bed *bed = *bed_;
    struct tcb_worker_pool *workers
        = &tcb_offload_cast(bed->offload)->workers;
    unsigned int n_acks = 0;

    bed->tc.aux = &n_acks;
    bed->tc.fault = count_acks;
    for (int each = 0; each < 2; each++) {
        atomic_store_relaxed(&workers->ack_each, each);
        puts_in_ops(5);
        bed_operate(bed, ops, 5);
        for (unsigned int i = 0; i < 5; i++) {
            assert_int_equal(bed_filter(bed, i) != NULL, !ops[i].op.error);
        }
        assert_int_equal(bed_n_live(bed), 4);
        assert_int_equal(n_acks, each ? 5 : 1);
        bed_free(ops, 5);
        for (unsigned int i = 0; i < 5; i++) {
            bed_remove(bed, i, NULL);
        }
        ovsrcu_barrier();
        n_acks = 0;
    }
}

/* Flow 1 has the key of flow 0. */
static void
test_duplicate_key(void **bed_)
{
    struct bed *bed = *bed_;

    puts_in_ops(1);
    bed_put(&ops[1], 0, 0, "2", DPIF_FP_CREATE);
    ops[1].ufid = bed_ufid(1);
    bed_operate(bed, ops, 2);
    assert_int_equal(ops[0].op.error, 0);
    assert_int_equal(ops[1].op.error, EEXIST);
    assert_null(bed_find(bed, 1));
    assert_int_equal(bed->tc.n_filters, 1);
    bed_free(ops, 2);
}

static void
test_foreign_handle(void **bed_)
{
    struct bed *bed = *bed_;

    fake_tc_add_foreign(&bed->tc, BED_IFINDEX(1), 0, BED_PRIO, 2);
    fake_tc_add_foreign(&bed->tc, BED_IFINDEX(1), 0, BED_PRIO, 3);
    puts_in_ops(2);
    bed_operate(bed, ops, 2);
    for (unsigned int i = 0; i < 2; i++) {
        assert_int_equal(ops[i].op.error, 0);
        assert_non_null(bed_filter(bed, i));
        assert_true(tcb_flow_handle(bed_find(bed, i)) > 3);
    }
    assert_int_equal(bed->tc.n_filters, 4);
    bed_free(ops, 2);

    /* The handles are never tried again. */
    assert_int_equal(bed_remove(bed, 0, NULL), 0);
    ovsrcu_barrier();
    bed->tc.n_new = 0;
    assert_int_equal(bed_add(bed, 2), 0);
    assert_int_equal(bed->tc.n_new, 1);
    assert_int_equal(bed_n_live(bed), 2);
}

/* A filter with the flow's handle and cookie stands there, as after an add
 * whose answer was lost for good. */
static void
test_own_leftover(void **bed_)
{
    struct bed *bed = *bed_;
    struct bed_refusal r = { RTM_NEWTFILTER, 0, 0, true, 1 };

    bed_refuse(bed, &r);
    assert_int_equal(bed_add(bed, 0), 0);
    assert_int_equal(bed->tc.n_filters, 1);
}

/* Lost answers. */

static void
test_lost_acks_present(void **bed_)
{
    struct bed *bed = *bed_;
    struct bed_refusal r = {
        RTM_NEWTFILTER, BED_HANDLE(2), 0, true, 1
    };
    struct tcb_operate_stats stats;
    unsigned int n_workers;

    bed_refuse(bed, &r);
    puts_in_ops(5);
    bed_operate(bed, ops, 5);
    for (unsigned int i = 0; i < 5; i++) {
        assert_int_equal(ops[i].op.error, 0);
        assert_non_null(bed_filter(bed, i));
    }
    assert_int_equal(bed->tc.n_new, 5);
    tcb_worker_pool_stats(&tcb_offload_cast(bed->offload)->workers, &stats,
                          &n_workers);
    /* The echo of the first one proves it. */
    assert_int_equal(stats.settled, 4);
    assert_int_equal(stats.batch.unknown, 4);
    bed_free(ops, 5);
}

/* The answers to an addition, and of the readings the data, which come with an
 * ack: that alone tells nothing. */
static void
lose_some(struct fake_tc *tc, const struct nlmsghdr *nlh,
          const struct tcnl_filter_info *info OVS_UNUSED,
          struct fake_tc_fault *f)
{
    unsigned int *times = tc->aux;

    if (nlh->nlmsg_type == RTM_NEWTFILTER) {
        f->lose = true;
    } else if (nlh->nlmsg_type == RTM_GETTFILTER && *times) {
        f->lose_reply = true;
        --*times;
    }
}

static void
test_lost_reading(void **bed_)
{
    struct bed *bed = *bed_;

    bed->tc.fault = lose_some;
    for (unsigned int times = 1; times < 4; times++) {
        unsigned int left = times;
        int error;

        bed->tc.aux = &left;
        error = bed_add(bed, times);
        assert_int_equal(left, 0);
        /* Offloaded or not, but never half. */
        assert_int_equal(error, bed_filter(bed, times) ? 0 : -1);
        assert_int_equal(bed->tc.n_filters, bed_n_live(bed));
    }
    assert_int_equal(bed_n_live(bed), 2);
}

/* A receive buffer that two answers fill, which nobody knew: also asking again
 * overflows it, until it is done one by one. */
static void
test_small_buffer(void **bed_)
{
    struct bed *bed = *bed_;

    bed->tc.max_replies = 2;
    puts_in_ops(MAX_OPS);
    bed_operate(bed, ops, MAX_OPS);
    for (unsigned int i = 0; i < MAX_OPS; i++) {
        assert_int_equal(ops[i].op.error, 0);
        assert_non_null(bed_filter(bed, i));
    }
    bed_free(ops, MAX_OPS);
    for (unsigned int i = 0; i < MAX_OPS; i++) {
        bed_del(&ops[i], i);
    }
    bed_operate(bed, ops, MAX_OPS);
    for (unsigned int i = 0; i < MAX_OPS; i++) {
        assert_int_equal(ops[i].op.error, 0);
    }
    bed_free(ops, MAX_OPS);
    assert_int_equal(bed->tc.n_filters, 0);
    assert_int_equal(bed_n_live(bed), 0);
}

static void
test_lost_refusal(void **bed_)
{
    struct bed *bed = *bed_;
    struct bed_refusal r = {
        RTM_NEWTFILTER, BED_HANDLE(2), EOPNOTSUPP, true, 1
    };

    bed_refuse(bed, &r);
    puts_in_ops(5);
    bed_operate(bed, ops, 5);
    for (unsigned int i = 0; i < 5; i++) {
        assert_int_equal(ops[i].op.error, i == 2 ? -1 : 0);
        assert_int_equal(bed_filter(bed, i) != NULL, i != 2);
    }
    assert_int_equal(bed_n_live(bed), 4);
    bed_free(ops, 5);
}

static void
lose_all(struct fake_tc *tc OVS_UNUSED, const struct nlmsghdr *nlh OVS_UNUSED,
         const struct tcnl_filter_info *info OVS_UNUSED,
         struct fake_tc_fault *f)
{
    f->lose = true;
}

/* A filter of which nothing can be learnt is not forgotten: the flow is there
 * as long as it, and it goes when answers come again, see bed_teardown(). */
static void
test_lost_for_good(void **bed_)
{
    struct bed *bed = *bed_;
    int error;

    bed->tc.fault = lose_all;
    error = bed_add(bed, 0);
    assert_int_equal(error, bed_find(bed, 0) ? 0 : -1);
    assert_int_equal(bed_n_live(bed), error == 0);
    bed->tc.fault = NULL;
    assert_int_equal(bed_remove(bed, 0, NULL), error);
    assert_int_equal(bed->tc.n_filters, 0);
}

static void
test_lost_delete(void **bed_)
{
    struct bed *bed = *bed_;
    struct bed_refusal r = { RTM_DELTFILTER, 0, 0, true, 1 };
    struct dpif_flow_stats stats;

    assert_int_equal(bed_add(bed, 0), 0);
    bed_refuse(bed, &r);
    assert_int_equal(bed_remove(bed, 0, &stats), 0);
    assert_int_equal(bed->tc.n_filters, 0);
    assert_null(bed_find(bed, 0));
    assert_int_equal(stats.n_packets, 0);
}

/* Deleting. */

static void
test_delete_final_counters(void **bed_)
{
    struct bed *bed = *bed_;

    puts_in_ops(3);
    bed_operate(bed, ops, 3);
    bed_free(ops, 3);
    for (unsigned int i = 0; i < 3; i++) {
        fake_tc_hit(&bed->tc, bed_filter(bed, i), 10 + i, 1000 + i);
        bed_del(&ops[i], i);
    }
    bed->tc.n_sends = 0;
    bed_operate(bed, ops, 3);
    for (unsigned int i = 0; i < 3; i++) {
        assert_int_equal(ops[i].op.error, 0);
        assert_int_equal(ops[i].stats.n_packets, 10 + i);
        assert_int_equal(ops[i].stats.n_bytes, 1000 + i);
        assert_int_equal(ops[i].stats.tcp_flags, 0);
        assert_true(ops[i].stats.used > 0);
        assert_null(bed_find(bed, i));
    }
    assert_int_equal(bed->tc.n_sends, 1);
    assert_int_equal(bed->tc.n_get, 0);
    assert_int_equal(bed->tc.n_filters, 0);
    assert_int_equal(bed_n_live(bed), 0);
    bed_free(ops, 3);
}

static void
test_delete_missing_filter(void **bed_)
{
    struct bed *bed = *bed_;
    struct dpif_flow_stats stats;

    assert_int_equal(bed_add(bed, 0), 0);
    fake_tc_delete(&bed->tc, bed_filter(bed, 0));
    assert_int_equal(bed_remove(bed, 0, &stats), 0);
    assert_int_equal(stats.n_packets, 0);
    assert_null(bed_find(bed, 0));
}

static void
test_delete_no_qdisc(void **bed_)
{
    struct bed *bed = *bed_;

    assert_int_equal(bed_add(bed, 0), 0);
    fake_tc_delete(&bed->tc, bed_filter(bed, 0));
    memset(bed->tc.qdiscs, 0, sizeof bed->tc.qdiscs);
    assert_int_equal(bed_remove(bed, 0, NULL), 0);
    assert_null(bed_find(bed, 0));
}

static void
test_delete_refused(void **bed_)
{
    struct bed *bed = *bed_;
    struct bed_refusal r = { RTM_DELTFILTER, 0, EBUSY, false, 1 };
    struct dpif_flow_stats stats;

    assert_int_equal(bed_add(bed, 0), 0);
    fake_tc_hit(&bed->tc, bed_filter(bed, 0), 7, 700);
    bed_refuse(bed, &r);
    assert_int_equal(bed_remove(bed, 0, NULL), EBUSY);
    assert_non_null(bed_filter(bed, 0));
    assert_int_equal(bed_n_live(bed), 1);
    assert_int_equal(bed_remove(bed, 0, &stats), 0);
    assert_int_equal(stats.n_packets, 7);
}

static void
test_delete_unknown(void **bed_)
{
    struct bed *bed = *bed_;

    assert_int_equal(bed_remove(bed, 0, NULL), -1);
    assert_int_equal(bed->tc.n_sends, 0);
}

static void
test_flush(void **bed_)
{
    struct bed *bed = *bed_;
    struct dpif_flow_stats stats;

    assert_int_equal(bed_add(bed, 0), 0);
    assert_int_equal(bed_add(bed, 1), 0);
    fake_tc_hit(&bed->tc, bed_filter(bed, 1), 7, 700);
    assert_int_equal(
        dpif_offload_tc_batch_class.flow_flush(bed->offload), 0);
    assert_int_equal(bed->tc.n_filters, 0);
    assert_int_equal(bed_n_live(bed), 0);

    /* OVS asks for the final counters afterwards. */
    assert_int_equal(bed_remove(bed, 1, &stats), 0);
    assert_int_equal(stats.n_packets, 7);
    /* A flow of the same ufid begins anew. */
    assert_int_equal(bed_add(bed, 0), 0);
    assert_int_equal(bed_remove(bed, 0, &stats), 0);
    assert_int_equal(stats.n_packets, 0);
}

/* Getting. */

static void
assert_same_match(const struct dpif_flow *flow, const struct bed_op *put)
{
    struct match a, b;

    assert_int_equal(parse_key_and_mask_to_match(
        flow->key, flow->key_len, flow->mask, flow->mask_len, &a), 0);
    assert_int_equal(parse_key_and_mask_to_match(
        put->key.data, put->key.size, put->mask.data, put->mask.size, &b), 0);
    assert_true(match_equal(&a, &b));
}

static void
test_get(void **bed_)
{
    struct bed *bed = *bed_;

    /* One that is added by the same batch, and one that is not there. */
    puts_in_ops(1);
    bed_get(&ops[1], 0);
    bed_get(&ops[2], 1);
    bed_operate(bed, ops, 3);
    assert_int_equal(ops[1].op.error, 0);
    assert_int_equal(ops[2].op.error, -1);
    assert_same_match(&ops[1].flow, &ops[0]);
    assert_int_equal(ops[1].flow.actions_len, ops[0].actions.size);
    assert_memory_equal(ops[1].flow.actions, ops[0].actions.data,
                        ops[0].actions.size);
    assert_true(ops[1].flow.ufid_present);
    assert_true(ovs_u128_equals(ops[1].flow.ufid, ops[0].ufid));
    assert_string_equal(ops[1].flow.attrs.dp_layer, "tc");
    assert_false(ops[1].flow.attrs.offloaded);
    bed_free(ops, 3);

    fake_tc_hit(&bed->tc, bed_filter(bed, 0), 7, 700);
    bed_get(&ops[0], 0);
    bed_operate(bed, ops, 1);
    assert_int_equal(ops[0].flow.stats.n_packets, 7);
    assert_int_equal(ops[0].flow.stats.n_bytes, 700);
    bed_free(ops, 1);
}

static void
test_create_existing(void **bed_)
{
    struct bed *bed = *bed_;

    assert_int_equal(bed_add(bed, 0), 0);
    assert_int_equal(bed_add(bed, 0), 0);
    assert_int_equal(bed->tc.n_filters, 1);
}

/* Chains. */

static bool
chain_in_use(struct bed *bed, uint32_t chain)
{
    return tcb_chain_in_use(&tcb_offload_cast(bed->offload)->chains, chain);
}

static void
test_parent_and_child(void **bed_)
{
    struct bed *bed = *bed_;

    bed_put(&ops[0], 0, 0, "recirc(7)", DPIF_FP_CREATE);
    bed_put(&ops[1], 1, 7, "2", DPIF_FP_CREATE);
    bed_operate(bed, ops, 2);
    assert_int_equal(ops[0].op.error, 0);
    assert_int_equal(ops[1].op.error, 0);
    assert_int_equal(bed->tc.n_sends, 1);
    assert_int_equal(bed_filter(bed, 1)->id.chain, 7);
    assert_true(chain_in_use(bed, 7));
    assert_int_equal(bed_remove(bed, 0, NULL), 0);
    assert_false(chain_in_use(bed, 7));
    bed_free(ops, 2);
}

static void
test_child_without_parent(void **bed_)
{
    struct bed *bed = *bed_;

    bed_put(&ops[0], 1, 7, "2", DPIF_FP_CREATE);
    bed_operate(bed, ops, 1);
    assert_int_equal(ops[0].op.error, -1);
    assert_int_equal(bed->tc.n_sends, 0);
    bed_free(ops, 1);
}

/* In the worst order. */
static void
test_child_before_parent(void **bed_)
{
    struct bed *bed = *bed_;

    bed_put(&ops[0], 2, 8, "2", DPIF_FP_CREATE);
    bed_put(&ops[1], 1, 7, "recirc(8)", DPIF_FP_CREATE);
    bed_put(&ops[2], 3, 9, "2", DPIF_FP_CREATE);
    bed_put(&ops[3], 0, 0, "recirc(7)", DPIF_FP_CREATE);
    bed_operate(bed, ops, 4);
    for (int i = 0; i < 4; i++) {
        /* Flow 3 has no parent at all. */
        assert_int_equal(ops[i].op.error, i == 2 ? -1 : 0);
    }
    assert_int_equal(bed->tc.n_sends, 1);
    assert_int_equal(bed->tc.n_filters, 3);
    assert_int_equal(bed_filter(bed, 2)->id.chain, 8);
    bed_free(ops, 4);
}

/* The child, and the child's child, go again. */
static void
test_parent_refused(void **bed_)
{
    struct bed *bed = *bed_;
    struct bed_refusal r = {
        RTM_NEWTFILTER, BED_HANDLE(0), EOPNOTSUPP, false, 1
    };

    bed_refuse(bed, &r);
    bed_put(&ops[0], 0, 0, "recirc(7)", DPIF_FP_CREATE);
    bed_put(&ops[1], 1, 7, "recirc(8)", DPIF_FP_CREATE);
    bed_put(&ops[2], 2, 8, "2", DPIF_FP_CREATE);
    bed_operate(bed, ops, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ops[i].op.error, -1);
        assert_int_equal(ops[i].op.flow_put.flags, DPIF_FP_CREATE);
        assert_null(bed_find(bed, i));
    }
    assert_int_equal(bed->tc.n_filters, 0);
    assert_int_equal(bed_n_live(bed), 0);
    assert_false(chain_in_use(bed, 7));
    assert_false(chain_in_use(bed, 8));
    bed_free(ops, 3);
}

/* One ufid more than once. */

static void
test_same_ufid_twice(void **bed_)
{
    struct bed *bed = *bed_;

    bed_put(&ops[0], 0, 0, "2", DPIF_FP_CREATE);
    bed_put(&ops[1], 0, 0, "push_vlan(vid=5,pcp=0),2", DPIF_FP_MODIFY);
    bed_del(&ops[2], 0);
    bed_put(&ops[3], 0, 0, "2", DPIF_FP_CREATE);
    bed_operate(bed, ops, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(ops[i].op.error, 0);
    }
    assert_int_equal(bed->tc.n_filters, 1);
    assert_int_equal(bed_n_live(bed), 1);
    assert_non_null(bed_filter(bed, 0));
    bed_free(ops, 4);
}

/* Threads that add and delete the same flows. */
#define N_THREADS 2
#define N_ROUNDS 200
#define N_SHARED 8

struct worker {
    struct bed *bed;
    unsigned int seed, n_adds, n_dels;
};

static void *
work(void *w_)
{
    struct worker *w = w_;
    struct bed_op batch[N_SHARED];

    for (int round = 0; round < N_ROUNDS; round++) {
        for (unsigned int i = 0; i < N_SHARED; i++) {
            /* In different orders, so that they meet in the middle. */
            unsigned int n = w->seed ? N_SHARED - 1 - i : i;

            if ((round + n) % 2) {
                bed_put(&batch[i], n, 0, "2", DPIF_FP_CREATE);
            } else {
                bed_del(&batch[i], n);
            }
        }
        bed_operate(w->bed, batch, N_SHARED);
        for (unsigned int i = 0; i < N_SHARED; i++) {
            bool is_put = batch[i].op.type == DPIF_OP_FLOW_PUT;

            w->n_adds += is_put && !batch[i].op.error;
            w->n_dels += !is_put && !batch[i].op.error;
        }
        bed_free(batch, N_SHARED);
        ovsrcu_quiesce();
    }
    return NULL;
}

static void
test_threads(void **bed_)
{
    struct bed *bed = *bed_;
    struct worker workers[N_THREADS];
    pthread_t threads[N_THREADS];

    for (int i = 0; i < N_THREADS; i++) {
        workers[i] = (struct worker) { .bed = bed, .seed = i };
        threads[i] = ovs_thread_create("work", work, &workers[i]);
    }
    for (int i = 0; i < N_THREADS; i++) {
        xpthread_join(threads[i], NULL);
        assert_int_equal(workers[i].n_adds, N_ROUNDS * N_SHARED / 2);
        assert_true(workers[i].n_dels > 0);
    }
    assert_int_equal(bed->tc.n_filters, bed_n_live(bed));
    for (unsigned int i = 0; i < N_SHARED; i++) {
        assert_int_equal(bed_find(bed, i) != NULL, bed_filter(bed, i) != NULL);
    }
}

#define TEST(NAME, TEXT) { TEXT, NAME, bed_setup, bed_teardown, NULL }

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_one_batch, "128 puts go out in one batch"),
        TEST(test_others_ops, "finished and foreign operations stay as they "
             "are"),
        TEST(test_refused_first, "first of a batch refused"),
        TEST(test_refused_middle, "one in the middle refused"),
        TEST(test_refused_last, "last of a batch refused"),
        TEST(test_no_space, "ENOSPC is passed on"),
        TEST(test_not_sent, "batch that cannot be sent"),
        TEST(test_ack_each, "an ack for each message, and for the last one"),
        TEST(test_duplicate_key, "other flow with the same key is EEXIST"),
        TEST(test_foreign_handle, "foreign filter with the flow's handle"),
        TEST(test_own_leftover, "lost ack of a single add"),
        TEST(test_lost_acks_present, "lost acks are settled: present"),
        TEST(test_lost_reading, "lost acks and lost readings"),
        TEST(test_small_buffer, "lost acks are settled: in parts"),
        TEST(test_lost_refusal, "lost acks are settled: absent"),
        TEST(test_lost_for_good, "add whose fate is not to be learnt"),
        TEST(test_lost_delete, "lost answer of a delete"),
        TEST(test_delete_final_counters, "deletes bring final counters"),
        TEST(test_delete_missing_filter, "delete of a filter that is gone"),
        TEST(test_delete_no_qdisc, "delete of a filter whose qdisc is gone"),
        TEST(test_delete_refused, "refused delete keeps the flow"),
        TEST(test_delete_unknown, "delete of an unknown flow is not ours"),
        TEST(test_flush, "flushed flows keep their final counters"),
        TEST(test_get, "get brings key, actions and counters"),
        TEST(test_create_existing, "create of an existing flow"),
        TEST(test_parent_and_child, "parent and child in one batch"),
        TEST(test_child_before_parent, "child before its parent"),
        TEST(test_child_without_parent, "child without a parent is refused"),
        TEST(test_parent_refused,
             "refused parent takes its descendants back"),
        TEST(test_same_ufid_twice, "one flow four times in one call"),
        TEST(test_threads, "two threads on the same flows"),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
