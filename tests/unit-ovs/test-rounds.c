/* SPDX-License-Identifier: Apache-2.0 */

/* Rounds of dumps: what OVS is told of flows, whatever the kernel tells. */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "bed.h"
#include "bitmap.h"
#include "odp-util.h"
#include "openvswitch/match.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "tcb-dump.h"
#include "util.h"

#include <cmocka.h>

#define N_FLOWS 600             /* More than a thread takes at a time. */
#define BATCH 50

#define CLASS (&dpif_offload_tc_batch_class)

/* How often a round has reported each flow, and what of it. */
struct round {
    unsigned int n[N_FLOWS + 1];
    struct dpif_flow_stats stats[N_FLOWS + 1];
    unsigned int total;
};

static void
note(const struct dpif_flow *flow, void *round_)
{
    struct round *round = round_;
    unsigned int n = flow->ufid.u32[0];
    ovs_u128 ufid = bed_ufid(n);

    assert_true(flow->ufid_present);
    assert_true(n < N_FLOWS + 1);
    assert_true(ovs_u128_equals(flow->ufid, ufid));
    assert_string_equal(flow->attrs.dp_layer, "tc");
    round->n[n]++;
    round->stats[n] = flow->stats;
    round->total++;
}

static void
run_round(struct bed *bed, bool terse, struct round *round)
{
    memset(round, 0, sizeof *round);
    bed_dump(bed, terse, note, round);
}

static void
add_flows(struct bed *bed, unsigned int n)
{
    static struct bed_op ops[BATCH];

    for (unsigned int i = 0; i < n; i += BATCH) {
        unsigned int count = MIN(BATCH, n - i);

        for (unsigned int j = 0; j < count; j++) {
            bed_put(&ops[j], i + j, 0, "2", DPIF_FP_CREATE);
        }
        bed_operate(bed, ops, count);
        for (unsigned int j = 0; j < count; j++) {
            assert_int_equal(ops[j].op.error, 0);
        }
        bed_free(ops, count);
    }
}

static struct round round_;

static void
assert_each_once(const struct round *round, unsigned int n)
{
    for (unsigned int i = 0; i < n; i++) {
        assert_int_equal(round->n[i], 1);
    }
    assert_int_equal(round->total, n);
}

static void
test_each_once(void **bed_)
{
    struct bed *bed = *bed_;
    struct tcb_dump_summary last;

    add_flows(bed, N_FLOWS);
    for (unsigned int i = 0; i < N_FLOWS; i++) {
        fake_tc_hit(&bed->tc, bed_filter(bed, i), i, 100 * i);
    }
    run_round(bed, true, &round_);
    assert_each_once(&round_, N_FLOWS);
    for (unsigned int i = 0; i < N_FLOWS; i++) {
        assert_int_equal(round_.stats[i].n_packets, i);
        assert_int_equal(round_.stats[i].n_bytes, 100 * i);
        assert_int_equal(round_.stats[i].used != 0, i != 0);
    }
    last = bed_last_dump(bed);
    assert_int_equal(last.n_kernel, N_FLOWS);
    assert_int_equal(last.n_table, 0);
    assert_int_equal(last.n_ports, BED_PORTS);
    assert_true(last.undisturbed);
    assert_int_equal(last.n_incomplete, 0);
}

static void
test_empty(void **bed_)
{
    run_round(*bed_, true, &round_);
    assert_int_equal(round_.total, 0);
}

static void
test_foreign(void **bed_)
{
    struct bed *bed = *bed_;

    add_flows(bed, 2);
    fake_tc_add_foreign(&bed->tc, BED_IFINDEX(1), 0, BED_PRIO, 100);
    /* With the handle of one of our flows, but on another port. */
    fake_tc_add_foreign(&bed->tc, BED_IFINDEX(2), 0, BED_PRIO, 1);
    run_round(bed, true, &round_);
    assert_each_once(&round_, 2);
    assert_int_equal(bed_last_dump(bed).n_foreign, 2);
}

static void
hide(struct bed *bed, unsigned int n, bool hidden)
{
    bed_filter(bed, n)->hidden = hidden;
}

static void
test_omitted(void **bed_)
{
    struct bed *bed = *bed_;

    add_flows(bed, 10);
    hide(bed, 3, true);
    run_round(bed, true, &round_);
    assert_each_once(&round_, 10);
    assert_int_equal(bed_last_dump(bed).n_table, 1);
    assert_int_equal(bed_last_dump(bed).n_gone, 0);

    /* Once seen again it counts anew. */
    hide(bed, 3, false);
    run_round(bed, true, &round_);
    hide(bed, 3, true);
    run_round(bed, true, &round_);
    assert_each_once(&round_, 10);
    assert_int_equal(bed_last_dump(bed).n_gone, 0);
    run_round(bed, true, &round_);
    assert_int_equal(bed_last_dump(bed).n_gone, 1);
}

static void
test_gone(void **bed_)
{
    struct bed *bed = *bed_;

    add_flows(bed, 10);
    fake_tc_delete(&bed->tc, bed_filter(bed, 3));
    run_round(bed, true, &round_);
    assert_each_once(&round_, 10);
    run_round(bed, true, &round_);
    assert_int_equal(bed_last_dump(bed).n_gone, 1);
    run_round(bed, true, &round_);
    assert_each_once(&round_, 10);
    assert_int_equal(round_.stats[3].used, TCB_LONG_AGO);

    /* OVS takes it to be idle for long and deletes it then. */
    assert_int_equal(bed_remove(bed, 3, NULL), 0);
    assert_int_equal(bed_add(bed, 3), 0);
    run_round(bed, true, &round_);
    assert_each_once(&round_, 10);
}

/* A parent that leaves TC for the kernel datapath takes its children along:
 * there they are not, and each packet would be an upcall. */
static void
test_orphan(void **bed_)
{
    struct bed *bed = *bed_;
    struct bed_op ops[3];

    bed_put(&ops[0], 0, 0, "recirc(7)", DPIF_FP_CREATE);
    bed_put(&ops[1], 1, 7, "2", DPIF_FP_CREATE);
    bed_put(&ops[2], 2, 0, "2", DPIF_FP_CREATE);
    bed_operate(bed, ops, 3);
    bed_free(ops, 3);
    run_round(bed, true, &round_);
    assert_each_once(&round_, 3);
    assert_int_not_equal(round_.stats[1].used, TCB_LONG_AGO);

    bed_put(&ops[0], 0, 0, "userspace(pid=1),recirc(7)", DPIF_FP_MODIFY);
    bed_operate(bed, ops, 1);
    assert_int_equal(ops[0].op.error, -1);
    bed_free(ops, 1);
    run_round(bed, true, &round_);
    assert_int_equal(round_.stats[1].used, TCB_LONG_AGO);
    assert_int_not_equal(round_.stats[2].used, TCB_LONG_AGO);

    assert_int_equal(bed_remove(bed, 1, NULL), 0);
    assert_int_equal(bed->tc.n_filters, 1);
}

/* Nothing is concluded from rounds that fail, are interrupted, or during which
 * a prio came or went. */
static void
assert_no_conclusion(struct bed *bed)
{
    for (int i = 0; i < 5; i++) {
        run_round(bed, true, &round_);
        assert_each_once(&round_, 100);
        assert_int_equal(bed_last_dump(bed).n_gone, 0);
    }
}

static void
test_interrupted(void **bed_)
{
    struct bed *bed = *bed_;

    add_flows(bed, 100);
    hide(bed, 50, true);
    bed->tc.dump_interrupted = true;
    assert_no_conclusion(bed);
    assert_int_equal(bed_last_dump(bed).n_incomplete, BED_PORTS);
}

static void
test_failed(void **bed_)
{
    struct bed *bed = *bed_;

    add_flows(bed, 100);
    hide(bed, 5, true);
    bed->tc.dump_error = ENOMEM;
    assert_no_conclusion(bed);
    assert_int_equal(bed_last_dump(bed).n_incomplete, BED_PORTS);
    assert_true(bed_last_dump(bed).error[0]);
}

static void
test_not_started(void **bed_)
{
    struct bed *bed = *bed_;

    add_flows(bed, 100);
    hide(bed, 5, true);
    bed->tc.send_error = ENOBUFS;
    assert_no_conclusion(bed);
}

static void
test_disturbed(void **bed_)
{
    struct bed *bed = *bed_;

    add_flows(bed, 100);
    hide(bed, 5, true);
    tcb_offload_cast(bed->offload)->abilities.dump_start = false;
    for (int i = 0; i < 5; i++) {
        struct dpif_offload_flow_dump *dump
            = CLASS->flow_dump_create(bed->offload, true);
        struct dpif_offload_flow_dump_thread *thread
            = CLASS->flow_dump_thread_create(dump);
        struct dpif_flow flows[BATCH];
        struct bed_op op;

        /* The only filter of its prio. */
        bed_put_match(&op, N_FLOWS, "recirc_id(0),in_port(1),eth(),"
                      "eth_type(0x0806),arp()", "2", DPIF_FP_CREATE);
        bed_operate(bed, &op, 1);
        assert_int_equal(op.op.error, 0);
        bed_free(&op, 1);
        while (CLASS->flow_dump_next(thread, flows, BATCH)) {
            continue;
        }
        CLASS->flow_dump_thread_destroy(thread);
        assert_int_equal(CLASS->flow_dump_destroy(dump), 0);
        assert_int_equal(bed_remove(bed, N_FLOWS, NULL), 0);
        assert_false(bed_last_dump(bed).undisturbed);
        assert_int_equal(bed_last_dump(bed).n_gone, 0);
    }
}

/* A round that is given up half way proves nothing, not even when all has been
 * received. */
static void
test_cut_short(void **bed_)
{
    struct bed *bed = *bed_;

    add_flows(bed, 100);
    for (int i = 0; i < 5; i++) {
        struct dpif_offload_flow_dump *dump
            = CLASS->flow_dump_create(bed->offload, true);
        struct dpif_offload_flow_dump_thread *thread
            = CLASS->flow_dump_thread_create(dump);
        struct dpif_flow flows[BATCH];

        assert_true(CLASS->flow_dump_next(thread, flows, 10) > 0);
        CLASS->flow_dump_thread_destroy(thread);
        assert_int_equal(CLASS->flow_dump_destroy(dump), 0);
    }
    run_round(bed, true, &round_);
    assert_each_once(&round_, 100);
}

/* Deleting during a round. */
static void
test_deleted_meanwhile(void **bed_)
{
    struct bed *bed = *bed_;
    struct dpif_offload_flow_dump *dump;
    struct dpif_offload_flow_dump_thread *thread;
    struct dpif_flow flows[1];
    bool deleted[100] = { false };

    add_flows(bed, 100);
    for (unsigned int i = 0; i < 100; i += 3) {
        hide(bed, i, true);
    }
    dump = CLASS->flow_dump_create(bed->offload, true);
    thread = CLASS->flow_dump_thread_create(dump);
    memset(&round_, 0, sizeof round_);
    for (unsigned int i = 0; CLASS->flow_dump_next(thread, flows, 1); i++) {
        note(&flows[0], &round_);
        assert_false(deleted[flows[0].ufid.u32[0]]);

        /* One that is yet to come, or was before. */
        unsigned int victim = i * 37 % 100;

        if (!deleted[victim]) {
            assert_int_equal(bed_remove(bed, victim, NULL), 0);
            deleted[victim] = true;
        }
    }
    for (unsigned int i = 0; i < 100; i++) {
        assert_true(round_.n[i] <= 1);
        assert_true(round_.n[i] == 1 || deleted[i]);
    }
    CLASS->flow_dump_thread_destroy(thread);
    assert_int_equal(CLASS->flow_dump_destroy(dump), 0);
}

/* Flows that were added meanwhile may be reported or not, but not twice. */
static void
test_added_meanwhile(void **bed_)
{
    struct bed *bed = *bed_;
    struct dpif_offload_flow_dump *dump;
    struct dpif_offload_flow_dump_thread *thread;
    struct dpif_flow flows[10];
    unsigned int next = 100;
    int n;

    bed->tc.dump_filters = 10;
    add_flows(bed, 100);
    dump = CLASS->flow_dump_create(bed->offload, true);
    thread = CLASS->flow_dump_thread_create(dump);
    memset(&round_, 0, sizeof round_);
    while ((n = CLASS->flow_dump_next(thread, flows, 10))) {
        for (int i = 0; i < n; i++) {
            note(&flows[i], &round_);
        }
        for (int i = 0; i < 5 && next < 200; i++) {
            assert_int_equal(bed_add(bed, next++), 0);
        }
    }
    CLASS->flow_dump_thread_destroy(thread);
    assert_int_equal(CLASS->flow_dump_destroy(dump), 0);
    for (unsigned int i = 0; i < next; i++) {
        assert_true(round_.n[i] == 1 || (i >= 100 && !round_.n[i]));
    }
    run_round(bed, true, &round_);
    assert_each_once(&round_, next);
}

/* Counters that the kernel had put into a datagram before a modify are those
 * of the filter before. */
static void
test_old_counters(void **bed_)
{
    struct bed *bed = *bed_;
    struct dpif_offload_flow_dump *dump;
    struct dpif_offload_flow_dump_thread *thread;
    struct dpif_flow flows[BATCH];
    struct bed_op op;
    int n;

    bed->tc.dump_filters = 1;
    add_flows(bed, 10);
    fake_tc_hit(&bed->tc, bed_filter(bed, 1), 1000, 100000);
    dump = CLASS->flow_dump_create(bed->offload, true);
    thread = CLASS->flow_dump_thread_create(dump);

    /* The datagram of flow 1 is made when that of flow 0 is read. */
    assert_int_equal(CLASS->flow_dump_next(thread, flows, 1), 1);
    assert_int_equal(flows[0].ufid.u32[0], 0);
    bed_put(&op, 1, 0, "push_vlan(vid=5,pcp=0),2", DPIF_FP_MODIFY);
    bed_operate(bed, &op, 1);
    assert_int_equal(op.op.error, 0);
    bed_free(&op, 1);
    memset(&round_, 0, sizeof round_);
    while ((n = CLASS->flow_dump_next(thread, flows, BATCH))) {
        for (int i = 0; i < n; i++) {
            note(&flows[i], &round_);
        }
    }
    assert_int_equal(round_.stats[1].n_packets, 1000);
    CLASS->flow_dump_thread_destroy(thread);
    assert_int_equal(CLASS->flow_dump_destroy(dump), 0);

    fake_tc_hit(&bed->tc, bed_filter(bed, 1), 5, 500);
    run_round(bed, true, &round_);
    assert_int_equal(round_.stats[1].n_packets, 1005);
    assert_int_equal(round_.stats[1].n_bytes, 100500);
}

/* Full rounds decode what terse ones leave out; flows that the kernel's dump
 * does not show are asked for. */
static void
test_full(void **bed_)
{
    struct bed *bed = *bed_;
    struct dpif_offload_flow_dump *dump;
    struct dpif_offload_flow_dump_thread *thread;
    struct dpif_flow flows[BATCH];
    unsigned int total = 0;
    int n;

    add_flows(bed, 100);
    hide(bed, 42, true);
    dump = CLASS->flow_dump_create(bed->offload, false);
    thread = CLASS->flow_dump_thread_create(dump);
    while ((n = CLASS->flow_dump_next(thread, flows, BATCH))) {
        for (int i = 0; i < n; i++) {
            unsigned int number = flows[i].ufid.u32[0];
            struct match match, want;
            struct bed_op op;

            bed_put(&op, number, 0, "2", DPIF_FP_CREATE);
            assert_int_equal(parse_key_and_mask_to_match(
                flows[i].key, flows[i].key_len, flows[i].mask,
                flows[i].mask_len, &match), 0);
            assert_int_equal(parse_key_and_mask_to_match(
                op.key.data, op.key.size, op.mask.data, op.mask.size,
                &want), 0);
            assert_true(match_equal(&match, &want));
            assert_int_equal(flows[i].actions_len, op.actions.size);
            assert_memory_equal(flows[i].actions, op.actions.data,
                                op.actions.size);
            bed_free(&op, 1);
        }
        total += n;
    }
    assert_int_equal(total, 100);
    CLASS->flow_dump_thread_destroy(thread);
    assert_int_equal(CLASS->flow_dump_destroy(dump), 0);
}

/* Threads. */

#define N_THREADS 2

struct dumper {
    struct bed *bed;
    struct dpif_offload_flow_dump *dump;
    struct round round;
    bool fell;                  /* Some counter did. */
    uint64_t last[N_FLOWS];
};

static void *
dump_all(void *d_)
{
    struct dumper *d = d_;
    struct dpif_offload_flow_dump_thread *thread
        = CLASS->flow_dump_thread_create(d->dump);
    struct dpif_flow flows[BATCH];
    int n;

    while ((n = CLASS->flow_dump_next(thread, flows, BATCH))) {
        for (int i = 0; i < n; i++) {
            unsigned int number = flows[i].ufid.u32[0];

            if (number < N_FLOWS) {
                d->round.n[number]++;
                d->fell |= flows[i].stats.n_packets < d->last[number];
                d->last[number] = flows[i].stats.n_packets;
            }
        }
    }
    CLASS->flow_dump_thread_destroy(thread);
    return NULL;
}

/* Modifies the first flows again and again, and adds and deletes another. */
static void *
change(void *bed_)
{
    struct bed *bed = bed_;

    for (int i = 0; i < 50; i++) {
        struct bed_op op;

        bed_put(&op, i % 5, 0, i % 2 ? "push_vlan(vid=5,pcp=0),2" : "2",
                DPIF_FP_MODIFY);
        bed_operate(bed, &op, 1);
        bed_free(&op, 1);
        bed_add(bed, N_FLOWS);
        bed_remove(bed, N_FLOWS, NULL);
        ovsrcu_quiesce();
    }
    return NULL;
}

static void
test_threads(void **bed_)
{
    struct dumper *dumpers = xcalloc(N_THREADS, sizeof *dumpers);
    pthread_t threads[N_THREADS], changer;
    struct bed *bed = *bed_;

    add_flows(bed, N_FLOWS);
    changer = ovs_thread_create("change", change, bed);
    for (int round = 0; round < 10; round++) {
        struct dpif_offload_flow_dump *dump
            = CLASS->flow_dump_create(bed->offload, true);

        for (unsigned int i = 0; i < N_FLOWS; i += 7) {
            fake_tc_hit(&bed->tc, bed_filter(bed, i), 1, 100);
        }
        for (int i = 0; i < N_THREADS; i++) {
            dumpers[i].bed = bed;
            dumpers[i].dump = dump;
            memset(&dumpers[i].round, 0, sizeof dumpers[i].round);
            threads[i] = ovs_thread_create("dump", dump_all, &dumpers[i]);
        }
        for (int i = 0; i < N_THREADS; i++) {
            xpthread_join(threads[i], NULL);
            assert_false(dumpers[i].fell);
        }
        assert_int_equal(CLASS->flow_dump_destroy(dump), 0);
        for (unsigned int i = 0; i < N_FLOWS; i++) {
            assert_true(dumpers[0].round.n[i] + dumpers[1].round.n[i] > 0);
        }
        assert_int_equal(bed_last_dump(bed).n_gone, 0);
    }
    xpthread_join(changer, NULL);
    free(dumpers);
}

#define TEST(NAME, TEXT) { TEXT, NAME, bed_setup, bed_teardown, NULL }

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_empty, "round without flows"),
        TEST(test_each_once, "each flow is reported once, with its counters"),
        TEST(test_foreign, "foreign filters are not reported"),
        TEST(test_omitted, "flow that the kernel's dump omits is reported"),
        TEST(test_orphan, "a child whose parent left TC"),
        TEST(test_gone, "flow is gone after two whole rounds without it"),
        TEST(test_interrupted, "interrupted rounds prove nothing"),
        TEST(test_failed, "failed rounds prove nothing"),
        TEST(test_not_started, "rounds that cannot start prove nothing"),
        TEST(test_disturbed, "rounds with changes of prios prove nothing"),
        TEST(test_cut_short, "rounds that are given up prove nothing"),
        TEST(test_deleted_meanwhile, "deleted flow is not reported any more"),
        TEST(test_added_meanwhile, "flows that are added during a round"),
        TEST(test_old_counters, "counters of before a modify are ignored"),
        TEST(test_full, "full round has keys, masks and actions"),
        TEST(test_threads, "two threads report each flow, while others "
             "change"),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
