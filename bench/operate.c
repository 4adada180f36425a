/* SPDX-License-Identifier: Apache-2.0 */

/* What putting, modifying and deleting flows costs on the running kernel.
 *
 * usage: operate PROFILE FLOWS RUNS THREADS [VARIANT]
 *
 * The variants, or the one named, take turns on one machine, RUNS times:
 *
 *     intree  OVS's own tc provider, its operate callback called directly
 *     ours    the same callback of ours, with BATCH operations each
 *     raw     what the kernel lets anyone do: the messages of the same
 *             filters, built beforehand, BATCH in one send with an ack of the
 *             last; a socket for each thread
 *
 * Each run installs FLOWS filters, gives each another output ("modify"), and
 * deletes them all, once for their final counters ("delete") and once without
 * ("delete-nostats"; the in-tree provider knows no such thing, it gets and
 * deletes).  Operations are prepared beforehand, ROUND for each thread, and
 * the threads begin a round together.  Prints a line for each:
 *
 *     OPERATION VARIANT RUN MICROSECONDS-PER-FLOW SYSTEM-CALLS-PER-FLOW
 *     BYTES-PER-FLOW
 *
 * The last is what the heap has grown by an install, "-" otherwise.  In a
 * first run that is the provider's memory, with what it allocates once; later
 * runs find what earlier ones have left to them.
 *
 * PROFILE is one of profile.h.  With THREADS of 2 or more the flows are shared
 * out among threads, and only installing and deleting with counters are
 * measured.
 *
 * For perf, a thread has the name of the operation while it is timed. */

#include <config.h>

#include <errno.h>
#include <linux/rtnetlink.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "count-calls.h"
#include "dpif-offload.h"
#include "dpif-offload-provider.h"
#include "flow-text.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "profile.h"
#include "raw.h"
#include "tcb-offload.h"
#include "tcb-plan.h"
#include "tcnl/filter.h"
#include "timeval.h"
#include "twin.h"
#include "util.h"

#define BATCH 64
/* Long, as at its end a thread waits for the slowest one. */
#define ROUND (256 * BATCH)
#define MAX_THREADS 8

enum operation { INSTALL, MODIFY, DELETE, DELETE_NOSTATS, N_OPERATIONS };
enum variant { INTREE, VARIANT_OURS, RAW, N_VARIANTS };

static const char *const operation_names[] = {
    "install", "modify", "delete", "delete-nostats"
};
static const char *const variant_names[] = { "intree", "ours", "raw" };

static struct twins twins;
static struct dpif_offload *offloads[N_TWINS];
static const char *profile;
static uint32_t n_flows;
static unsigned int n_threads;

/* Flows. */

/* Flow 0, as it is installed and as it is modified; for each thread. */
struct flows {
    struct test_flow flow[2];
};

static void
flows_init(struct flows *flows)
{
    profile_flow(profile, false, &flows->flow[0]);
    profile_flow(profile, true, &flows->flow[1]);
}

static void
flows_uninit(struct flows *flows)
{
    test_flow_uninit(&flows->flow[0]);
    test_flow_uninit(&flows->flow[1]);
}

static void
make_op(struct twin_op *op, enum twin twin, enum operation operation,
        struct flows *flows, uint32_t number)
{
    struct test_flow *flow = &flows->flow[operation == MODIFY];

    switch (operation) {
    case INSTALL:
    case MODIFY:
        profile_set_number(profile, flow, number);
        twin_put(op, twin, flow, number);
        op->op.flow_put.stats = NULL;
        if (operation == MODIFY) {
            op->op.flow_put.flags = DPIF_FP_MODIFY;
        }
        break;
    case DELETE:
    case DELETE_NOSTATS:
    case N_OPERATIONS:
    default:
        twin_del(op, twin, number);
        if (operation == DELETE_NOSTATS && twin == OURS) {
            op->op.flow_del.stats = NULL;
        }
        break;
    }
}

/* What one thread does. */
struct job {
    enum variant variant;
    enum operation operation;
    uint32_t first, end;
    struct raw raw;
    long long int us;           /* Until all threads had done their part. */
    struct ovs_barrier *barrier;
};

static void
fail(const struct twin_op *op, const struct job *job, uint32_t number)
{
    ovs_fatal(op->op.error > 0 ? op->op.error : 0,
              "%s of flow %"PRIu32", variant %s",
              operation_names[job->operation], number,
              variant_names[job->variant]);
}

static void
call_operate(const struct dpif_offload *offload, struct dpif_op **opps,
             size_t n)
{
    for (size_t i = 0; i < n; i += BATCH) {
        offload->class->operate(twins.dpif, offload, &opps[i],
                                MIN(BATCH, n - i));
        ovsrcu_quiesce();
    }
}

/* All threads have as many rounds, of as many flows or one less. */
static void
run_round(struct job *job, struct twin_op *ops, struct dpif_op **opps,
          size_t n)
{
    long long int start;

    ovs_barrier_block(job->barrier);
    pthread_setname_np(pthread_self(), operation_names[job->operation]);
    start = time_usec();
    call_operate(offloads[job->variant == INTREE ? THEIRS : OURS], opps, n);
    ovs_barrier_block(job->barrier);
    job->us += time_usec() - start;
    pthread_setname_np(pthread_self(), "bench");
    for (size_t i = 0; i < n; i++) {
        if (ops[i].op.error) {
            fail(&ops[i], job, ops[i].ufid.u32[0]);
        }
    }
}

static void
run_provider(struct job *job)
{
    enum twin twin = job->variant == INTREE ? THEIRS : OURS;
    uint32_t n_rounds = DIV_ROUND_UP(DIV_ROUND_UP(n_flows, n_threads), ROUND);
    struct twin_op *ops = xmalloc(ROUND * sizeof *ops);
    struct dpif_op **opps = xmalloc(ROUND * sizeof *opps);
    uint32_t next = job->first;
    struct flows flows;

    flows_init(&flows);
    for (uint32_t round = 0; round < n_rounds; round++) {
        size_t n = MIN(ROUND, job->end - next);

        for (size_t i = 0; i < n; i++) {
            make_op(&ops[i], twin, job->operation, &flows, next + i);
            opps[i] = &ops[i].op;
        }
        run_round(job, ops, opps, n);
        for (size_t i = 0; i < n; i++) {
            twin_op_uninit(&ops[i]);
        }
        next += n;
    }
    flows_uninit(&flows);
    free(opps);
    free(ops);
}

/* The raw kernel: messages of our filters, for our port. */

static void
raw_build(struct job *job)
{
    struct tcb_put_plan *plan = xzalloc(sizeof *plan);
    enum operation operation = job->operation;
    struct flows flows;

    flows_init(&flows);
    raw_init(&job->raw, BATCH);
    for (uint32_t i = job->first; i < job->end; i++) {
        struct tcnl_filter_id id = {
            .ifindex = twins.ports[OURS][1].ifindex,
            .parent = TCNL_PARENT_INGRESS,
            .handle = TCB_PLACEHOLDER_HANDLE + 1 + i,
        };
        struct tcnl_buffer *b = raw_begin(&job->raw);
        struct twin_op op;

        make_op(&op, OURS, operation == MODIFY ? MODIFY : INSTALL, &flows, i);
        if (tcb_plan_put(twins.ours, NULL, &op.op.flow_put, plan)
            != TCB_PLAN_OK) {
            ovs_fatal(0, "flow %"PRIu32": %s", i, plan->why.detail);
        }
        tcb_plan_unref_uses(twins.ours, &plan->uses);
        id.prio = plan->prio;
        id.proto = (OVS_FORCE uint16_t) plan->proto;
        if (operation == INSTALL || operation == MODIFY) {
            tcnl_filter_put_new(b, &id, &plan->flower, &plan->actions,
                                operation == INSTALL
                                ? NLM_F_CREATE | NLM_F_EXCL : NLM_F_CREATE);
        } else {
            tcnl_filter_put_del(b, &id, operation == DELETE ? NLM_F_ECHO : 0);
        }
        raw_end(&job->raw);
        twin_op_uninit(&op);
    }
    flows_uninit(&flows);
    free(plan);
}

static void
run_raw(struct job *job)
{
    long long int start;

    ovs_barrier_block(job->barrier);
    start = time_usec();
    raw_run(&job->raw);
    ovs_barrier_block(job->barrier);
    job->us = time_usec() - start;
}

/* Threads. */

static void *
run_job(void *job_)
{
    struct job *job = job_;

    if (job->variant == RAW) {
        run_raw(job);
    } else {
        run_provider(job);
    }
    return NULL;
}

/* Returns microseconds per flow. */
static double
perform(enum variant variant, enum operation operation)
{
    struct job jobs[MAX_THREADS];
    pthread_t threads[MAX_THREADS];
    struct ovs_barrier barrier;
    long long int us = 0;

    ovs_barrier_init(&barrier, n_threads);
    for (unsigned int i = 0; i < n_threads; i++) {
        jobs[i] = (struct job) {
            .variant = variant,
            .operation = operation,
            .first = (uint64_t) n_flows * i / n_threads,
            .end = (uint64_t) n_flows * (i + 1) / n_threads,
            .barrier = &barrier,
        };
        if (variant == RAW) {
            raw_build(&jobs[i]);
        }
    }
    for (unsigned int i = 0; i < n_threads; i++) {
        if (n_threads > 1) {
            threads[i] = ovs_thread_create("bench", run_job, &jobs[i]);
        } else {
            run_job(&jobs[i]);
        }
    }
    for (unsigned int i = 0; i < n_threads; i++) {
        if (n_threads > 1) {
            xpthread_join(threads[i], NULL);
        }
        if (variant == RAW) {
            raw_uninit(&jobs[i].raw);
        }
        us = MAX(us, jobs[i].us);
    }
    ovs_barrier_destroy(&barrier);
    return (double) us / n_flows;
}

/* Runs. */

/* Bytes that are allocated, without what RCU is still to free. */
static size_t
heap_used(void)
{
    struct mallinfo2 info;

    ovsrcu_barrier();
    info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void
measure(enum variant variant, enum operation operation, int run)
{
    size_t heap = heap_used();
    unsigned int before = count_calls();
    double us = perform(variant, operation);
    unsigned int calls = count_calls() - before;

    printf("%s %s %d %.3f %.4f ", operation_names[operation],
           variant_names[variant], run, us, (double) calls / n_flows);
    if (operation == INSTALL && variant != RAW) {
        printf("%.1f\n", ((double) heap_used() - heap) / n_flows);
    } else {
        printf("-\n");
    }
    fflush(stdout);
}

static void
run_variant(enum variant variant, int run)
{
    measure(variant, INSTALL, run);
    if (n_threads == 1) {
        measure(variant, MODIFY, run);
        measure(variant, DELETE_NOSTATS, run);
        perform(variant, INSTALL);
    }
    measure(variant, DELETE, run);
}

static enum variant
find_variant(const char *name)
{
    for (enum variant v = 0; v < N_VARIANTS; v++) {
        if (!strcmp(name, variant_names[v])) {
            return v;
        }
    }
    ovs_fatal(0, "no variant %s", name);
}

int
main(int argc, char *argv[])
{
    enum variant only = N_VARIANTS;
    int runs;

    set_program_name(argv[0]);
    if (argc < 5 || argc > 6) {
        ovs_fatal(0, "usage: %s PROFILE FLOWS RUNS THREADS [VARIANT]",
                  argv[0]);
    }
    if (argc > 5) {
        only = find_variant(argv[5]);
    }
    profile = argv[1];
    n_flows = atoi(argv[2]);
    runs = atoi(argv[3]);
    n_threads = atoi(argv[4]);
    if (!n_flows || runs < 1 || n_threads < 1 || n_threads > MAX_THREADS) {
        ovs_fatal(0, "bad arguments");
    }
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    twins_open(&twins);
    twins_offloads(&twins, offloads);
    for (int run = 0; run < runs; run++) {
        for (int i = 0; i < N_VARIANTS; i++) {
            enum variant variant = (run + i) % N_VARIANTS;

            if (only == N_VARIANTS || variant == only) {
                run_variant(variant, run);
            }
        }
    }
    twins_close(&twins);
    return 0;
}
