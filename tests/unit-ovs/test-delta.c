/* SPDX-License-Identifier: Apache-2.0 */

/* The modes of rounds: delta ones report as much as whole ones, whole ones
 * come in time, and what the kernel refuses or interrupts is had in another
 * way. */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <linux/pkt_cls.h>

#include "bed.h"
#include "smap.h"
#include "tcb-dump.h"
#include "tcb-port.h"
#include "tcnl/uapi.h"
#include "timeval.h"
#include "util.h"

#include <cmocka.h>

#define N_FLOWS 100
#define HOUR 3600000

/* How often a round has reported each flow, and what of it. */
static unsigned int n_reports[N_FLOWS];
static struct dpif_flow_stats stats[N_FLOWS];

static void
note(const struct dpif_flow *flow, void *aux OVS_UNUSED)
{
    unsigned int n = flow->ufid.u32[0];

    assert_true(n < N_FLOWS);
    n_reports[n]++;
    stats[n] = flow->stats;
}

/* Each live flow is reported once, whatever the mode. */
static struct tcb_dump_summary
run_round(struct bed *bed)
{
    memset(n_reports, 0, sizeof n_reports);
    bed_dump(bed, true, note, NULL);
    for (unsigned int i = 0; i < N_FLOWS; i++) {
        assert_int_equal(n_reports[i], bed_find(bed, i) != NULL);
    }
    return bed_last_dump(bed);
}

static struct tcb_offload *
offload_of(struct bed *bed)
{
    return tcb_offload_cast(bed->offload);
}

static void
set_mode(struct bed *bed, const char *mode)
{
    struct smap config = SMAP_INITIALIZER(&config);

    smap_add(&config, "hw-offload", "true");
    smap_add(&config, "tc-batch-dump-mode", mode);
    dpif_offload_tc_batch_class.set_config(bed->offload, &config);
    smap_destroy(&config);
}

static struct tcb_port *
port_of(struct bed *bed, int port)
{
    return tcb_port_find(offload_of(bed), u32_to_odp(port));
}

static long long int
asked(struct bed *bed, int port)
{
    long long int asked;

    atomic_read_relaxed(&port_of(bed, port)->asked, &asked);
    return asked;
}

/* As if 'msec' had passed. */
static void
pass(struct bed *bed, long long int msec)
{
    struct tcb_rounds *rounds = &offload_of(bed)->rounds;

    ovs_mutex_lock(&rounds->mutex);
    rounds->last_whole -= msec;
    ovs_mutex_unlock(&rounds->mutex);
    for (int port = 1; port <= BED_PORTS; port++) {
        atomic_store_relaxed(&port_of(bed, port)->asked,
                             asked(bed, port) - msec);
    }
}

static void
set_idle(struct bed *bed)
{
    for (size_t i = 0; i < bed->tc.n_filters; i++) {
        bed->tc.filters[i]->idle = true;
    }
}

/* Flows that no packet uses, with one round behind them, which is whole. */
static void
begin(struct bed *bed)
{
    set_mode(bed, "delta");
    for (unsigned int i = 0; i < N_FLOWS; i++) {
        assert_int_equal(bed_add(bed, i), 0);
        fake_tc_hit(&bed->tc, bed_filter(bed, i), i + 1, 100);
    }
    assert_int_equal(run_round(bed).mode, TCB_DUMP_TERSE);
    set_idle(bed);
}

static void
test_delta(void **bed_)
{
    struct bed *bed = *bed_;
    struct tcb_dump_summary s;

    begin(bed);
    s = run_round(bed);
    assert_int_equal(s.mode, TCB_DUMP_DELTA);
    assert_int_equal(s.n_kernel, 0);
    assert_int_equal(s.n_table, N_FLOWS);
    for (unsigned int i = 0; i < N_FLOWS; i++) {
        assert_int_equal(stats[i].n_packets, i + 1);
        assert_int_equal(stats[i].n_bytes, 100);
    }

    fake_tc_hit(&bed->tc, bed_filter(bed, 7), 10, 1000);
    s = run_round(bed);
    assert_int_equal(s.n_kernel, 1);
    assert_int_equal(s.n_table, N_FLOWS - 1);
    assert_int_equal(stats[7].n_packets, 18);
    assert_true(time_msec() - stats[7].used < 10000);
    assert_int_equal(s.n_gone, 0);
}

/* No packet falls between two rounds: the kernel is asked for more than the
 * time that has passed since the last one began that told everything. */
static void
test_since(void **bed_)
{
    struct bed *bed = *bed_;

    begin(bed);
    assert_int_equal(bed->tc.used_within, 0);
    pass(bed, 500);
    run_round(bed);
    assert_in_range(bed->tc.used_within, 600, 3600);
    run_round(bed);
    assert_in_range(bed->tc.used_within, 100, 3100);

    /* Rounds that fail do not count. */
    pass(bed, 500);
    bed->tc.dump_error = ENOMEM;
    run_round(bed);
    bed->tc.dump_error = 0;
    pass(bed, 600);
    run_round(bed);
    assert_in_range(bed->tc.used_within, 1200, 4200);
    pass(bed, HOUR);
    assert_int_equal(run_round(bed).mode, TCB_DUMP_TERSE);
    assert_int_equal(bed->tc.used_within, 0);
}

/* After a long time the kernel may as well be asked for everything, also if
 * only this port has not been asked. */
static void
test_long_ago(void **bed_)
{
    struct bed *bed = *bed_;

    begin(bed);
    atomic_store_relaxed(&port_of(bed, 1)->asked, asked(bed, 1) - HOUR - 1);
    assert_int_equal(run_round(bed).mode, TCB_DUMP_DELTA);
    assert_int_equal(bed->tc.used_within, 0);
    assert_int_equal(bed_last_dump(bed).n_kernel, N_FLOWS);
    run_round(bed);
    assert_int_not_equal(bed->tc.used_within, 0);
}

static void
test_given_up(void **bed_)
{
    const struct dpif_offload_class *class = &dpif_offload_tc_batch_class;
    struct dpif_offload_flow_dump_thread *thread;
    struct dpif_offload_flow_dump *dump;
    struct bed *bed = *bed_;
    struct dpif_flow flows[5];
    long long int before;

    begin(bed);
    pass(bed, TCB_WHOLE_MSEC);
    before = asked(bed, 1);
    dump = class->flow_dump_create(bed->offload, true);
    thread = class->flow_dump_thread_create(dump);
    assert_int_equal(class->flow_dump_next(thread, flows, 5), 5);
    class->flow_dump_thread_destroy(thread);
    class->flow_dump_destroy(dump);
    assert_int_equal(asked(bed, 1), before);
}

static void
test_ports(void **bed_)
{
    struct bed *bed = *bed_;

    begin(bed);
    fake_tc_add_foreign(&bed->tc, BED_IFINDEX(2), 0, BED_PRIO, 100);
    assert_int_equal(run_round(bed).n_ports, 1);
    pass(bed, TCB_WHOLE_MSEC);
    assert_int_equal(run_round(bed).n_ports, BED_PORTS);
    assert_int_equal(bed_last_dump(bed).n_foreign, 1);
    /* It is still there, if not looked at. */
    assert_int_equal(run_round(bed).n_ports, 1);
    assert_int_equal(bed_last_dump(bed).n_foreign, 1);
}

/* A filter that somebody removed is noticed by whole rounds, the second of
 * which follows the first at once. */
static void
test_whole(void **bed_)
{
    struct bed *bed = *bed_;
    struct tcb_dump_summary s;

    begin(bed);
    fake_tc_delete(&bed->tc, bed_filter(bed, 3));
    assert_int_equal(run_round(bed).mode, TCB_DUMP_DELTA);
    assert_int_not_equal(stats[3].used, TCB_LONG_AGO);

    pass(bed, TCB_WHOLE_MSEC);
    s = run_round(bed);
    assert_int_equal(s.mode, TCB_DUMP_TERSE);
    assert_int_equal(s.n_missed, 1);
    assert_int_equal(s.n_gone, 0);
    s = run_round(bed);
    assert_int_equal(s.mode, TCB_DUMP_TERSE);
    assert_int_equal(s.n_gone, 1);
    assert_int_equal(run_round(bed).mode, TCB_DUMP_DELTA);
    assert_int_equal(stats[3].used, TCB_LONG_AGO);
    assert_int_equal(bed_remove(bed, 3, NULL), 0);
    assert_int_equal(run_round(bed).mode, TCB_DUMP_DELTA);
}

/* What a whole round could not prove the next one has to. */
static void
test_doubt(void **bed_)
{
    struct bed *bed = *bed_;

    begin(bed);
    pass(bed, TCB_WHOLE_MSEC);
    bed->tc.dump_error = ENOMEM;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(run_round(bed).mode, TCB_DUMP_TERSE);
    }
    bed->tc.dump_error = 0;
    assert_int_equal(run_round(bed).mode, TCB_DUMP_TERSE);
    assert_int_equal(run_round(bed).mode, TCB_DUMP_DELTA);
}

/* A kernel that refuses what it could when it was probed. */
static void
test_refused(void **bed_)
{
    struct bed *bed = *bed_;
    struct tcb_dump_summary s;

    begin(bed);
    bed->tc.dump_flags = TCA_DUMP_FLAGS_TERSE;
    s = run_round(bed);
    assert_int_equal(s.n_kernel, N_FLOWS);
    assert_int_equal(s.n_incomplete, 0);
    assert_int_equal(tcb_rounds_mode(offload_of(bed)), TCB_DUMP_TERSE);
    assert_int_equal(run_round(bed).mode, TCB_DUMP_TERSE);
}

static void
test_modes(void **bed_)
{
    struct bed *bed = *bed_;

    begin(bed);
    set_mode(bed, "full");
    assert_int_equal(run_round(bed).mode, TCB_DUMP_FULL);
    assert_int_equal(bed_last_dump(bed).n_kernel, N_FLOWS);
    set_mode(bed, "terse");
    assert_int_equal(run_round(bed).mode, TCB_DUMP_TERSE);
    set_mode(bed, "no such mode");
    assert_int_equal(run_round(bed).mode, TCB_DUMP_TERSE);
    set_mode(bed, "delta");
    assert_int_equal(run_round(bed).mode, TCB_DUMP_DELTA);

    /* What the kernel does not have is not asked for. */
    offload_of(bed)->abilities.used_since = false;
    assert_int_equal(run_round(bed).mode, TCB_DUMP_TERSE);
    offload_of(bed)->abilities.terse_dump = false;
    assert_int_equal(run_round(bed).mode, TCB_DUMP_FULL);
}

/* Interrupted after the first datagram. */
static void
test_again(void **bed_)
{
    struct bed *bed = *bed_;
    struct tcb_dump_summary s;

    begin(bed);
    for (int able = 0; able < 2; able++) {
        uint64_t bytes;

        offload_of(bed)->abilities.dump_start = able;
        set_mode(bed, "terse");
        bytes = run_round(bed).bytes;
        bed->tc.n_interrupted = 1;
        s = run_round(bed);
        assert_int_equal(s.n_kernel, N_FLOWS);
        assert_int_equal(s.n_again, 1);
        assert_int_equal(s.n_incomplete, 0);
        /* Only what is missing is asked for where that can be said. */
        assert_int_equal(s.bytes > bytes + bytes / 10, !able);
    }
}

static void
test_again_too_often(void **bed_)
{
    struct bed *bed = *bed_;
    struct tcb_dump_summary s;

    begin(bed);
    set_mode(bed, "terse");
    bed->tc.dump_interrupted = true;
    s = run_round(bed);
    assert_int_equal(s.n_incomplete, BED_PORTS);
    assert_int_equal(s.n_kernel, N_FLOWS);
}

/* With a kernel that keeps its place a prio that comes is no disturbance. */
static void
test_undisturbed(void **bed_)
{
    const struct dpif_offload_class *class = &dpif_offload_tc_batch_class;
    struct bed *bed = *bed_;

    begin(bed);
    set_mode(bed, "terse");
    fake_tc_delete(&bed->tc, bed_filter(bed, 3));
    for (unsigned int i = 0; i < 2; i++) {
        struct dpif_offload_flow_dump_thread *thread;
        struct dpif_offload_flow_dump *dump;
        struct dpif_flow flows[50];
        struct bed_op op;

        dump = class->flow_dump_create(bed->offload, true);
        thread = class->flow_dump_thread_create(dump);
        bed_put_match(&op, N_FLOWS + i, "recirc_id(0),in_port(1),eth(),"
                      "eth_type(0x0806),arp()", "2", DPIF_FP_CREATE);
        bed_operate(bed, &op, 1);
        bed_free(&op, 1);
        while (class->flow_dump_next(thread, flows, 50)) {
            continue;
        }
        class->flow_dump_thread_destroy(thread);
        class->flow_dump_destroy(dump);
        assert_int_equal(bed_remove(bed, N_FLOWS + i, NULL), 0);
        assert_false(bed_last_dump(bed).undisturbed);
        assert_int_equal(bed_last_dump(bed).n_gone, i);
    }
}

#define TEST(NAME, TEXT) { TEXT, NAME, bed_setup, bed_teardown, NULL }

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_delta, "delta rounds report all flows"),
        TEST(test_since, "no time between two rounds is left out"),
        TEST(test_long_ago, "port that was asked long ago"),
        TEST(test_given_up, "round that was given up has told nothing"),
        TEST(test_ports, "ports without flows are asked in whole rounds"),
        TEST(test_whole, "whole rounds find what is gone"),
        TEST(test_doubt, "whole rounds follow until one proves something"),
        TEST(test_refused, "kernel refuses delta dumps"),
        TEST(test_modes, "modes by configuration and by abilities"),
        TEST(test_again, "interrupted dump goes on"),
        TEST(test_again_too_often, "interrupted too often"),
        TEST(test_undisturbed, "kernel that keeps its place"),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
