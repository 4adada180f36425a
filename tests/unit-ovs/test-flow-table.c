/* SPDX-License-Identifier: Apache-2.0 */

/* The flow table by itself: slots, claims and counters. */

#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "random.h"
#include "tcb-flow-table.h"
#include "util.h"

#include <cmocka.h>

static struct tcb_flow_table table;

static int
setup(void **state OVS_UNUSED)
{
    tcb_flow_table_init(&table);
    return 0;
}

static int
teardown(void **state OVS_UNUSED)
{
    ovsrcu_barrier();
    tcb_flow_table_destroy(&table);
    return 0;
}

static ovs_u128
ufid_of(uint32_t n)
{
    return (ovs_u128) { .u32 = { n, n * 0x9e3779b1u, n, n } };
}

static enum tcb_claim
claim(uint32_t n, bool create, struct tcb_flow **flow)
{
    ovs_u128 ufid = ufid_of(n);

    return tcb_flow_claim(&table, &ufid, create, false, flow);
}

/* A flow that is in the kernel. */
static struct tcb_flow *
add(uint32_t n)
{
    struct tcb_flow *flow;

    assert_int_equal(claim(n, true, &flow), TCB_CLAIM_NEW);
    tcb_flow_restart_counters(&table, flow);
    tcb_flow_release(&table, flow);
    return flow;
}

static bool
is_live(struct tcb_flow *flow, uint32_t n)
{
    ovs_u128 ufid = ufid_of(n);

    return tcb_flow_is(flow, &ufid);
}

static unsigned int
n_live(void)
{
    return atomic_count_get(&table.n_live);
}

static struct tcnl_filter_counters
counters_of(uint32_t n, uint64_t packets)
{
    struct tcnl_filter_counters c = {
        .stats = { .packets = packets, .bytes = packets * 100 },
        .has_cookie = true,
    };
    ovs_u128 ufid = ufid_of(n);

    memcpy(c.cookie, &ufid, sizeof ufid);
    return c;
}

static bool
update(struct tcb_flow *flow, uint32_t n, uint64_t packets, uint64_t epoch,
       struct tcb_flow_report *report)
{
    struct tcnl_filter_counters c = counters_of(n, packets);

    return tcb_flow_update(&table, flow, &c, 0, epoch, 1000, report);
}

/* Claims. */

static void
test_states(void **state OVS_UNUSED)
{
    struct tcb_flow *flow, *again;
    struct tcb_flow_report report;

    assert_true(sizeof *flow <= 200);
    assert_int_equal(claim(1, false, &flow), TCB_CLAIM_NONE);
    assert_null(flow);

    assert_int_equal(claim(1, true, &flow), TCB_CLAIM_NEW);
    assert_int_equal(claim(1, true, &again), TCB_CLAIM_BUSY);
    assert_int_equal(claim(1, false, &again), TCB_CLAIM_BUSY);
    assert_false(is_live(flow, 1));
    assert_false(tcb_flow_report(flow, &report));
    assert_int_equal(n_live(), 0);

    tcb_flow_release(&table, flow);
    assert_true(is_live(flow, 1));
    assert_false(is_live(flow, 2));
    assert_int_equal(n_live(), 1);
    assert_true(tcb_flow_report(flow, &report));
    assert_ptr_equal(report.flow, flow);

    assert_int_equal(claim(1, true, &again), TCB_CLAIM_OLD);
    assert_ptr_equal(again, flow);
    assert_int_equal(claim(1, true, &again), TCB_CLAIM_BUSY);
    assert_true(is_live(flow, 1));
    assert_true(tcb_flow_report(flow, &report));
    tcb_flow_release(&table, flow);
    assert_int_equal(n_live(), 1);

    assert_int_equal(claim(1, false, &again), TCB_CLAIM_OLD);
    tcb_flow_remove(&table, flow);
    assert_int_equal(n_live(), 0);
    assert_false(is_live(flow, 1));
    assert_false(tcb_flow_report(flow, &report));
    assert_int_equal(claim(1, false, &flow), TCB_CLAIM_NONE);
}

static void
test_dead(void **state OVS_UNUSED)
{
    struct tcb_flow *flow = add(1), *again;
    struct tcb_flow_report report;

    assert_true(update(flow, 1, 7, tcb_epoch_read(&table), &report));
    assert_int_equal(claim(1, false, &again), TCB_CLAIM_OLD);
    tcb_flow_release_dead(&table, flow);
    assert_int_equal(n_live(), 0);
    assert_false(is_live(flow, 1));
    assert_false(tcb_flow_report(flow, &report));
    assert_false(update(flow, 1, 9, tcb_epoch_read(&table), &report));

    assert_int_equal(claim(1, false, &again), TCB_CLAIM_DEAD);
    assert_ptr_equal(again, flow);
    assert_int_equal(claim(1, false, &again), TCB_CLAIM_BUSY);
    tcb_flow_totals(flow, &report);
    assert_int_equal(report.packets, 7);

    /* It may live again. */
    tcb_flow_restart_counters(&table, flow);
    tcb_flow_release(&table, flow);
    assert_int_equal(n_live(), 1);
    assert_true(update(flow, 1, 2, tcb_epoch_read(&table), &report));
    assert_int_equal(report.packets, 9);
    assert_int_equal(claim(1, false, &again), TCB_CLAIM_OLD);
    tcb_flow_reset_counters(&table, flow);
    tcb_flow_totals(flow, &report);
    assert_int_equal(report.packets, 0);
    assert_int_equal(report.used, 0);
    tcb_flow_release(&table, flow);
}

static void
test_dead_are_forgotten(void **state OVS_UNUSED)
{
    struct tcb_flow *flow = add(1), *again;
    ovs_u128 ufid = ufid_of(1);
    int rounds = 0;

    /* Only dead ones are. */
    for (int i = 0; i < 100; i++) {
        tcb_flow_age_dead(&table, flow);
    }
    assert_int_equal(claim(1, false, &again), TCB_CLAIM_OLD);
    tcb_flow_release_dead(&table, flow);
    while (tcb_flow_find(&table, &ufid)) {
        tcb_flow_age_dead(&table, flow);
        rounds++;
        assert_true(rounds < 100);
    }
    /* OVS deletes a flow that four rounds did not report. */
    assert_true(rounds > 4);
    ovsrcu_barrier();
    assert_ptr_equal(add(2), flow);
}

/* Waiting for a claim. */

struct waiter {
    pthread_t thread;
    enum tcb_claim result;
};

static void *
wait_for_flow(void *w_)
{
    struct waiter *w = w_;
    ovs_u128 ufid = ufid_of(1);
    struct tcb_flow *flow;

    w->result = tcb_flow_claim(&table, &ufid, false, true, &flow);
    if (flow) {
        tcb_flow_remove(&table, flow);
    }
    return NULL;
}

static void
test_wait(void **state OVS_UNUSED)
{
    unsigned int n_old = 0, n_none = 0;
    struct waiter waiters[3];
    struct tcb_flow *flow;

    assert_int_equal(claim(1, true, &flow), TCB_CLAIM_NEW);
    for (int i = 0; i < 3; i++) {
        waiters[i].thread = ovs_thread_create("wait", wait_for_flow,
                                              &waiters[i]);
    }
    tcb_flow_release(&table, flow);
    for (int i = 0; i < 3; i++) {
        xpthread_join(waiters[i].thread, NULL);
        n_old += waiters[i].result == TCB_CLAIM_OLD;
        n_none += waiters[i].result == TCB_CLAIM_NONE;
    }
    assert_int_equal(n_old, 1);
    assert_int_equal(n_none, 2);
    assert_int_equal(n_live(), 0);
}

/* Slots. */

static void
test_handles(void **state OVS_UNUSED)
{
    /* More than one segment. */
    for (uint32_t i = 0; i < TCB_SEGMENT_FLOWS + 10; i++) {
        struct tcb_flow *flow = add(i);
        ovs_u128 ufid = ufid_of(i);

        assert_int_equal(flow->slot, i);
        assert_int_equal(tcb_flow_handle(flow), i + 2);
        assert_ptr_equal(tcb_flow_by_handle(&table, i + 2), flow);
        assert_ptr_equal(tcb_flow_at(&table, i), flow);
        assert_ptr_equal(tcb_flow_find(&table, &ufid), flow);
        assert_int_equal(tcb_flow_table_n_slots(&table), i + 1);
    }
    assert_null(tcb_flow_by_handle(&table, 0));
    assert_null(tcb_flow_by_handle(&table, TCB_PLACEHOLDER_HANDLE));
    assert_null(tcb_flow_by_handle(&table, UINT32_MAX));
    assert_null(tcb_flow_at(&table, 2 * TCB_SEGMENT_FLOWS));
    assert_null(tcb_flow_at(&table, TCB_MAX_FLOWS));
}

static void
test_reuse(void **state OVS_UNUSED)
{
    struct tcb_flow *flow = add(1), *other;

    assert_int_equal(claim(1, false, &flow), TCB_CLAIM_OLD);
    tcb_flow_remove(&table, flow);
    /* This thread may still stand on the slot. */
    other = add(2);
    assert_ptr_not_equal(other, flow);
    assert_int_equal(other->slot, 1);
    ovsrcu_barrier();
    assert_ptr_equal(add(3), flow);
    assert_int_equal(tcb_flow_table_n_slots(&table), 2);
}

static void
test_reset(void **state OVS_UNUSED)
{
    struct tcb_flow *flow = add(1);
    struct tcb_flow_report report;

    assert_true(update(flow, 1, 7, tcb_epoch_read(&table), &report));
    assert_int_equal(claim(1, false, &flow), TCB_CLAIM_OLD);
    flow->chain = 5;
    flow->uses.goto_chain = 6;
    tcb_flow_remove(&table, flow);
    ovsrcu_barrier();
    assert_ptr_equal(add(2), flow);
    assert_int_equal(flow->chain, 0);
    assert_int_equal(flow->uses.goto_chain, 0);
    assert_true(tcb_flow_report(flow, &report));
    assert_int_equal(report.packets, 0);
    assert_int_equal(report.used, 0);

    /* A filter with the cookie of the flow before is not this one's. */
    assert_false(update(flow, 1, 9, tcb_epoch_read(&table), &report));
}

static void
test_move(void **state OVS_UNUSED)
{
    struct tcb_flow *flow = add(1), *moved;
    struct tcb_flow_report report;
    ovs_u128 ufid = ufid_of(1);

    assert_true(update(flow, 1, 7, tcb_epoch_read(&table), &report));
    assert_int_equal(claim(1, false, &flow), TCB_CLAIM_OLD);
    flow->ifindex = 3;
    flow->chain = 5;
    flow->prio = 2;
    moved = tcb_flow_move(&table, flow, true);
    assert_ptr_not_equal(moved, flow);
    assert_false(is_live(flow, 1));
    assert_ptr_equal(tcb_flow_find(&table, &ufid), moved);
    assert_int_equal(claim(1, true, &flow), TCB_CLAIM_BUSY);
    assert_int_equal(moved->ifindex, 3);
    assert_int_equal(moved->chain, 5);
    assert_int_equal(tcb_flow_filter_id(moved).handle, moved->slot + 2);
    tcb_flow_totals(moved, &report);
    assert_int_equal(report.packets, 7);
    tcb_flow_release(&table, moved);
    assert_int_equal(n_live(), 1);

    /* The old slot is retired. */
    ovsrcu_barrier();
    assert_int_equal(add(2)->slot, 2);

    /* This one is not. */
    assert_int_equal(claim(1, false, &flow), TCB_CLAIM_OLD);
    moved = tcb_flow_move(&table, flow, false);
    tcb_flow_release(&table, moved);
    assert_ptr_not_equal(add(3), flow);
    ovsrcu_barrier();
    assert_ptr_equal(add(4), flow);
}

/* Counters. */

static void
test_counters_never_fall(void **state OVS_UNUSED)
{
    struct tcb_flow *flow = add(1);
    uint64_t epoch = tcb_epoch_read(&table);
    struct tcb_flow_report report;

    assert_true(update(flow, 1, 10, epoch, &report));
    assert_int_equal(report.packets, 10);
    assert_int_equal(report.bytes, 1000);
    assert_int_equal(report.used, 1000);
    /* One that was overtaken. */
    assert_true(update(flow, 1, 5, epoch, &report));
    assert_int_equal(report.packets, 10);
    assert_int_equal(report.bytes, 1000);
    assert_true(update(flow, 1, 11, epoch, &report));
    assert_int_equal(report.packets, 11);

    /* A foreign cookie, or none. */
    struct tcnl_filter_counters c = counters_of(1, 12);

    c.has_cookie = false;
    assert_false(tcb_flow_update(&table, flow, &c, 0, epoch, 1, &report));
    assert_false(update(flow, 2, 12, epoch, &report));
    assert_true(tcb_flow_report(flow, &report));
    assert_int_equal(report.packets, 11);
}

static void
test_epochs(void **state OVS_UNUSED)
{
    struct tcb_flow *flow = add(1);
    uint64_t before = tcb_epoch_read(&table);
    struct tcb_flow_report report;

    assert_true(update(flow, 1, 10, before, &report));
    assert_int_equal(claim(1, false, &flow), TCB_CLAIM_OLD);
    tcb_flow_restart_counters(&table, flow);
    tcb_flow_release(&table, flow);
    assert_true(tcb_epoch_read(&table) > before);

    /* Counters of the filter before. */
    assert_true(update(flow, 1, 12, before, &report));
    assert_int_equal(report.packets, 10);
    assert_true(update(flow, 1, 3, tcb_epoch_read(&table), &report));
    assert_int_equal(report.packets, 13);

    /* Final ones count by themselves. */
    struct tcnl_stats final = { .packets = 5, .bytes = 500 };

    assert_int_equal(claim(1, false, &flow), TCB_CLAIM_OLD);
    tcb_flow_final_counters(&table, flow, &final);
    tcb_flow_totals(flow, &report);
    assert_int_equal(report.packets, 15);
    assert_int_equal(report.bytes, 1500);
    tcb_flow_release(&table, flow);
}

static void
test_offloaded(void **state OVS_UNUSED)
{
    struct tcnl_filter_counters c = counters_of(1, 0);
    struct tcb_flow *flow = add(1);
    uint64_t epoch = tcb_epoch_read(&table);
    struct tcb_flow_report report;

    assert_true(tcb_flow_update(&table, flow, &c, TCA_CLS_FLAGS_NOT_IN_HW,
                                epoch, 1, &report));
    assert_false(report.offloaded);
    assert_true(tcb_flow_update(&table, flow, &c, TCA_CLS_FLAGS_IN_HW, epoch,
                                1, &report));
    assert_true(report.offloaded);
    assert_true(tcb_flow_update(&table, flow, &c, 0, epoch, 1, &report));
    assert_true(report.offloaded);
    assert_int_equal(report.used, 0);
}

static void
test_missed(void **state OVS_UNUSED)
{
    struct tcb_flow *flow = add(1);
    uint64_t before = tcb_epoch_read(&table) - 1;
    uint64_t epoch = tcb_epoch_read(&table);
    struct tcb_flow_report report;

    /* Rounds that began before the filter did prove nothing. */
    for (int i = 0; i < 5; i++) {
        assert_int_equal(tcb_flow_note_missed(&table, flow, before), 0);
    }
    assert_int_equal(tcb_flow_note_missed(&table, flow, epoch), 1);
    assert_true(tcb_flow_report(flow, &report));
    assert_false(report.gone);
    assert_int_equal(tcb_flow_note_missed(&table, flow, epoch),
                     TCB_GONE_AFTER);
    assert_true(tcb_flow_report(flow, &report));
    assert_true(report.gone);
    for (int i = 0; i < 300; i++) {
        assert_true(tcb_flow_note_missed(&table, flow, epoch)
                    > TCB_GONE_AFTER);
    }

    /* Seen again. */
    assert_true(update(flow, 1, 0, epoch, &report));
    assert_false(report.gone);
    assert_int_equal(tcb_flow_note_missed(&table, flow, epoch), 1);

    /* Or replaced. */
    assert_int_equal(claim(1, false, &flow), TCB_CLAIM_OLD);
    tcb_flow_restart_counters(&table, flow);
    tcb_flow_release(&table, flow);
    assert_int_equal(tcb_flow_note_missed(&table, flow, epoch), 0);
    assert_int_equal(tcb_flow_note_missed(&table, flow,
                                          tcb_epoch_read(&table)), 1);
}

/* Threads, each of which does anything to any of a few flows.
 *
 * The "kernel" counts the rounds of the test: packets of a flow, as everybody
 * may report them, never exceed what it counts, and what the table reports of
 * one incarnation never falls. */

#define N_THREADS 4
#define N_UFIDS 300
#define N_STEPS 20000

struct stress {
    uint32_t seed;
    bool failed;
    /* What this thread has seen of each flow last, by its incarnation, which
     * the flow's 'match_hash' holds. */
    uint64_t incarnation[N_UFIDS], packets[N_UFIDS];
};

static atomic_uint64_t clock_, incarnations;

static uint64_t
tick(atomic_uint64_t *counter)
{
    uint64_t old;

    atomic_add(counter, 1, &old);
    return old + 1;
}

static void
see(struct stress *s, uint32_t n, const struct tcb_flow_report *report,
    uint64_t incarnation)
{
    if (s->incarnation[n] == incarnation
        && report->packets < s->packets[n]) {
        s->failed = true;
    }
    s->incarnation[n] = incarnation;
    s->packets[n] = report->packets;
}

static void
change_flow(struct stress *s, uint32_t n, bool wait)
{
    struct tcb_flow_report report;
    ovs_u128 ufid = ufid_of(n);
    struct tcb_flow *flow;

    switch (tcb_flow_claim(&table, &ufid, s->seed & 1, wait, &flow)) {
    case TCB_CLAIM_NEW:
        flow->match_hash = tick(&incarnations);
        tcb_flow_restart_counters(&table, flow);
        tcb_flow_release(&table, flow);
        break;
    case TCB_CLAIM_OLD:
        tcb_flow_totals(flow, &report);
        see(s, n, &report, flow->match_hash);
        if (s->seed % 3 == 0) {
            tcb_flow_remove(&table, flow);
        } else if (s->seed % 3 == 1) {
            tcb_flow_restart_counters(&table, flow);
            tcb_flow_release(&table, flow);
        } else if (s->seed % 5) {
            tcb_flow_release(&table, flow);
        } else if (s->seed % 2) {
            tcb_flow_release_dead(&table, flow);
        } else {
            tcb_flow_release(&table, tcb_flow_move(&table, flow, false));
        }
        break;
    case TCB_CLAIM_DEAD:
        if (s->seed % 2) {
            tcb_flow_remove(&table, flow);
        } else {
            tcb_flow_restart_counters(&table, flow);
            tcb_flow_release(&table, flow);
        }
        break;
    case TCB_CLAIM_NONE:
    case TCB_CLAIM_BUSY:
        break;
    case TCB_CLAIM_FULL:
        s->failed = true;
        break;
    }
}

/* As a dump does: by slot, with the counters of some earlier time. */
static void
look_at_slot(struct stress *s)
{
    uint32_t n_slots = tcb_flow_table_n_slots(&table);
    uint64_t epoch = tcb_epoch_read(&table);
    struct tcb_flow *flow = tcb_flow_at(&table, s->seed % (n_slots + 1));
    struct tcb_flow_report report;

    if (!flow) {
        return;
    }
    if (!tcb_flow_report(flow, &report)) {
        tcb_flow_age_dead(&table, flow);
        return;
    }
    if (s->seed % 7 == 0) {
        tcb_flow_note_missed(&table, flow, epoch);
    } else {
        struct tcb_flow_report later;

        if (update(flow, report.ufid.u32[0], tick(&clock_), epoch, &later)
            && later.packets < report.packets) {
            s->failed = true;
        }
    }
}

static void *
stress(void *s_)
{
    struct stress *s = s_;

    for (int i = 0; i < N_STEPS; i++) {
        /* Any generator will do; rand_r() is not for all its bits. */
        s->seed = s->seed * 1664525u + 1013904223u;

        uint32_t r = s->seed >> 8;
        uint32_t n = r % N_UFIDS;

        if (r & 1 << 16) {
            change_flow(s, n, r & 1 << 17);
        } else {
            look_at_slot(s);
        }
        if (i % 16 == 0) {
            ovsrcu_quiesce();
        }
    }
    return NULL;
}

static void
test_stress(void **state OVS_UNUSED)
{
    struct stress *s = xcalloc(N_THREADS, sizeof *s);
    pthread_t threads[N_THREADS];
    unsigned int live = 0, known = 0;

    for (int i = 0; i < N_THREADS; i++) {
        s[i].seed = i + 1;
        threads[i] = ovs_thread_create("stress", stress, &s[i]);
    }
    for (int i = 0; i < N_THREADS; i++) {
        xpthread_join(threads[i], NULL);
        assert_false(s[i].failed);
    }
    free(s);

    /* Nobody has a claim; each live flow is where its ufid says. */
    for (uint32_t n = 0; n < N_UFIDS; n++) {
        ovs_u128 ufid = ufid_of(n);
        struct tcb_flow *flow = tcb_flow_find(&table, &ufid), *claimed;

        if (flow && tcb_flow_is(flow, &ufid)) {
            assert_int_equal(claim(n, false, &claimed), TCB_CLAIM_OLD);
            assert_ptr_equal(claimed, flow);
            tcb_flow_release(&table, flow);
            live++;
        }
    }
    assert_int_equal(n_live(), live);

    /* No slot was lost. */
    ovsrcu_barrier();
    for (int i = 0; i < TCB_N_SHARDS; i++) {
        known += cmap_count(&table.shards[i].flows);
    }
    assert_int_equal(tcb_flow_table_n_slots(&table) - table.n_free, known);
}

#define TEST(NAME, TEXT) { TEXT, NAME, setup, teardown, NULL }

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_states, "claims and states"),
        TEST(test_dead, "dead flows keep their counters"),
        TEST(test_dead_are_forgotten, "dead flows are forgotten in the end"),
        TEST(test_wait, "whoever waits gets the claim, or sees the flow go"),
        TEST(test_handles, "handle is slot plus one, slots are dense"),
        TEST(test_reuse, "slots are used again after a grace period"),
        TEST(test_reset, "a slot's next flow begins anew"),
        TEST(test_move, "flows move to other handles"),
        TEST(test_counters_never_fall, "counters never fall"),
        TEST(test_epochs, "counters of an earlier filter are ignored"),
        TEST(test_offloaded, "flags say whether a flow is offloaded"),
        TEST(test_missed, "flow is gone after two rounds without it"),
        TEST(test_stress, "four threads on a few flows"),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
