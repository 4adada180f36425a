/* SPDX-License-Identifier: Apache-2.0 */

/* What putting, modifying and deleting flows costs on the running kernel.
 *
 * usage: operate PROFILE FLOWS RUNS THREADS
 *
 * The variants take turns on one machine, RUNS times:
 *
 *     intree  OVS's own tc provider, its operate callback called directly
 *     ours    the same callback of ours, with BATCH operations each
 *     raw     what the kernel lets anyone do: the messages of the same
 *             filters, built beforehand, BATCH in one send with an ack of the
 *             last
 *
 * Each run installs FLOWS filters, gives each another output ("modify"), and
 * deletes them all, once for their final counters ("delete") and once without
 * ("delete-nostats"; the in-tree provider knows no such thing, it gets and
 * deletes).  Preparing the operations is not timed.  Prints a line for each:
 *
 *     OPERATION VARIANT RUN MICROSECONDS-PER-FLOW SYSTEM-CALLS-PER-FLOW
 *
 * PROFILE is "5tuple" (L2 and 5-tuple, tunnel_key and mirred) or "l2drop" (L2,
 * drop).  With THREADS of 2 or more the flows are shared out among threads,
 * and only installing and deleting with counters are measured. */

#include <config.h>

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "dpif-offload.h"
#include "dpif-offload-provider.h"
#include "flow-text.h"
#include "openvswitch/vlog.h"
#include "ovs-atomic.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "raw.h"
#include "tcb-offload.h"
#include "tcb-plan.h"
#include "tcnl/filter.h"
#include "timeval.h"
#include "twin.h"
#include "util.h"

#define BATCH 64
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

/* System calls.  The build makes a linker option of each line. */
#define WRAP(NAME) __wrap_##NAME
ssize_t WRAP(sendmsg)(int, const struct msghdr *, int);
ssize_t WRAP(recvmsg)(int, struct msghdr *, int);
ssize_t WRAP(send)(int, const void *, size_t, int);
ssize_t WRAP(recv)(int, void *, size_t, int);
ssize_t __real_sendmsg(int, const struct msghdr *, int);
ssize_t __real_recvmsg(int, struct msghdr *, int);
ssize_t __real_send(int, const void *, size_t, int);
ssize_t __real_recv(int, void *, size_t, int);

static atomic_count n_syscalls = ATOMIC_COUNT_INIT(0);

ssize_t
WRAP(sendmsg)(int fd, const struct msghdr *msg, int flags)
{
    atomic_count_inc(&n_syscalls);
    return __real_sendmsg(fd, msg, flags);
}

ssize_t
WRAP(recvmsg)(int fd, struct msghdr *msg, int flags)
{
    atomic_count_inc(&n_syscalls);
    return __real_recvmsg(fd, msg, flags);
}

ssize_t
WRAP(send)(int fd, const void *data, size_t len, int flags)
{
    atomic_count_inc(&n_syscalls);
    return __real_send(fd, data, len, flags);
}

ssize_t
WRAP(recv)(int fd, void *data, size_t len, int flags)
{
    atomic_count_inc(&n_syscalls);
    return __real_recv(fd, data, len, flags);
}

/* Flows. */

static void
make_flow(uint32_t i, bool modified, struct test_flow *flow)
{
    bool drop = !strcmp(profile, "l2drop");
    char *match, *error;
    const char *actions;

    match = drop
        ? xasprintf("recirc_id(0),in_port(1),eth(src=02:00:00:00:00:01,"
                    "dst=02:%02x:%02x:%02x:00:02),eth_type(0x88b5)",
                    i >> 16 & 255, i >> 8 & 255, i & 255)
        : xasprintf("recirc_id(0),in_port(1),eth(src=02:00:00:00:00:01,"
                    "dst=02:00:00:00:00:02),eth_type(0x0800),"
                    "ipv4(src=10.0.0.1,dst=11.%u.%u.%u,proto=17,frag=no),"
                    "udp(src=1000,dst=2000)",
                    i >> 16 & 255, i >> 8 & 255, i & 255);
    actions = drop ? (modified ? "2" : "drop")
              : modified ? "set(tunnel(tun_id=0x7,dst=192.0.2.2,ttl=64,"
                           "tp_dst=4789,flags(key))),5"
              : "set(tunnel(tun_id=0x7,dst=192.0.2.1,ttl=64,"
                "tp_dst=4789,flags(key))),5";
    error = flow_text_parse(flow, match, actions);
    if (error) {
        ovs_fatal(0, "%s: %s", match, error);
    }
    free(match);
}

static void
make_op(struct twin_op *op, enum twin twin, enum operation operation,
        uint32_t number)
{
    struct test_flow flow;

    switch (operation) {
    case INSTALL:
    case MODIFY:
        make_flow(number, operation == MODIFY, &flow);
        twin_put(op, twin, &flow, number);
        op->op.flow_put.stats = NULL;
        if (operation == MODIFY) {
            op->op.flow_put.flags = DPIF_FP_MODIFY;
        }
        test_flow_uninit(&flow);
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

/* Time. */

static double
now_us(void)
{
    struct timespec ts;

    xclock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1e6 + ts.tv_nsec / 1e3;
}

struct job {
    enum twin twin;
    enum operation operation;
    uint32_t first, end;
    double us;                  /* Inside operate. */
    struct ovs_barrier *barrier;
};

static void
fail(const struct twin_op *op, const struct job *job, uint32_t number)
{
    ovs_fatal(op->op.error > 0 ? op->op.error : 0,
              "%s of flow %"PRIu32" with %s", operation_names[job->operation],
              number, job->twin == OURS ? "ours" : "the in-tree provider");
}

static void *
operate_job(void *job_)
{
    struct job *job = job_;
    struct dpif_offload *offload = offloads[job->twin];
    struct twin_op *ops = xmalloc(BATCH * sizeof *ops);
    struct dpif_op *opps[BATCH];

    if (job->barrier) {
        ovs_barrier_block(job->barrier);
    }
    for (uint32_t i = job->first; i < job->end; ) {
        size_t n = MIN(BATCH, job->end - i);
        double start;

        for (size_t j = 0; j < n; j++) {
            make_op(&ops[j], job->twin, job->operation, i + j);
            opps[j] = &ops[j].op;
        }
        start = now_us();
        offload->class->operate(twins.dpif, offload, opps, n);
        job->us += now_us() - start;
        for (size_t j = 0; j < n; j++) {
            if (ops[j].op.error) {
                fail(&ops[j], job, i + j);
            }
            twin_op_uninit(&ops[j]);
        }
        i += n;
        ovsrcu_quiesce();
    }
    free(ops);
    return NULL;
}

/* Returns microseconds per flow: of the slowest thread, over all flows. */
static double
provider(enum twin twin, enum operation operation)
{
    struct job jobs[MAX_THREADS];
    pthread_t threads[MAX_THREADS];
    struct ovs_barrier barrier;
    double us = 0;

    ovs_barrier_init(&barrier, n_threads);
    for (unsigned int i = 0; i < n_threads; i++) {
        jobs[i] = (struct job) {
            .twin = twin,
            .operation = operation,
            .first = (uint64_t) n_flows * i / n_threads,
            .end = (uint64_t) n_flows * (i + 1) / n_threads,
            .barrier = n_threads > 1 ? &barrier : NULL,
        };
        if (n_threads > 1) {
            threads[i] = ovs_thread_create("bench", operate_job, &jobs[i]);
        } else {
            operate_job(&jobs[i]);
        }
    }
    for (unsigned int i = 0; i < n_threads; i++) {
        if (n_threads > 1) {
            xpthread_join(threads[i], NULL);
        }
        us = MAX(us, jobs[i].us);
    }
    ovs_barrier_destroy(&barrier);
    return us / n_flows;
}

/* The raw kernel: messages of our filters, for our port. */

static void
raw_build(struct raw *raw, enum operation operation)
{
    struct tcb_put_plan *plan = xzalloc(sizeof *plan);

    raw_init(raw, BATCH);
    for (uint32_t i = 0; i < n_flows; i++) {
        struct tcnl_filter_id id = {
            .ifindex = twins.ports[OURS][1].ifindex,
            .parent = TCNL_PARENT_INGRESS,
            .handle = i + 1,
        };
        struct tcnl_buffer *b = raw_begin(raw);
        struct twin_op op;

        make_op(&op, OURS, operation == MODIFY ? MODIFY : INSTALL, i);
        if (tcb_plan_put(twins.ours, &op.op.flow_put, plan) != TCB_PLAN_OK) {
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
        raw_end(raw);
        twin_op_uninit(&op);
    }
    free(plan);
}

static double
raw(enum operation operation)
{
    struct raw raw;
    double start, us;

    raw_build(&raw, operation);
    start = now_us();
    raw_run(&raw);
    us = now_us() - start;
    raw_uninit(&raw);
    return us / n_flows;
}

/* Runs. */

static void
measure(enum variant variant, enum operation operation, int run)
{
    unsigned int before = atomic_count_get(&n_syscalls);
    double us = (variant == RAW ? raw(operation)
                 : provider(variant == INTREE ? THEIRS : OURS, operation));

    if (run >= 0) {
        printf("%s %s %d %.3f %.4f\n", operation_names[operation],
               variant_names[variant], run, us,
               (double) (atomic_count_get(&n_syscalls) - before) / n_flows);
        fflush(stdout);
    }
}

static void
run_variant(enum variant variant, int run)
{
    measure(variant, INSTALL, run);
    if (n_threads == 1) {
        measure(variant, MODIFY, run);
        measure(variant, DELETE_NOSTATS, run);
        measure(variant, INSTALL, -1);
    }
    measure(variant, DELETE, run);
}

static void
find_offloads(void)
{
    void *dump;
    struct dpif_offload *offload;

    DPIF_OFFLOAD_FOR_EACH (offload, dump, twins.dpif) {
        const char *type = dpif_offload_type(offload);

        if (!strcmp(type, "tc")) {
            offloads[THEIRS] = offload;
        } else if (!strcmp(type, "tc-batch")) {
            offloads[OURS] = offload;
        }
    }
    if (!offloads[THEIRS] || !offloads[OURS]) {
        ovs_fatal(0, "not both providers are there");
    }
}

int
main(int argc, char *argv[])
{
    int runs;

    set_program_name(argv[0]);
    if (argc != 5) {
        ovs_fatal(0, "usage: %s PROFILE FLOWS RUNS THREADS", argv[0]);
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
    find_offloads();
    for (int run = 0; run < runs; run++) {
        for (int i = 0; i < N_VARIANTS; i++) {
            enum variant variant = (run + i) % N_VARIANTS;

            if (n_threads == 1 || variant != RAW) {
                run_variant(variant, run);
            }
        }
    }
    twins_close(&twins);
    return 0;
}
