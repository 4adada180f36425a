/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "rounds.h"

#include "dpif-offload.h"
#include "dpif-offload-provider.h"
#include "flow-text.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "profile.h"
#include "timeval.h"
#include "util.h"

#define BATCH 64
#define DUMP_BATCH 50           /* What revalidators ask for at a time. */
#define MAX_THREADS 8

void
rounds_open(struct rounds *r, const char *profile)
{
    r->profile = profile;
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    twins_open(&r->twins);
    twins_offloads(&r->twins, r->offloads);
}

void
rounds_close(struct rounds *r)
{
    twins_close(&r->twins);
}

/* A batch of what has been made in 'ops', the first for flow 'first'. */
static long long int
operate(const struct rounds *r, enum twin twin, struct twin_op *ops,
        uint32_t first, size_t n)
{
    struct dpif_op *opps[BATCH];
    long long int us;

    for (size_t i = 0; i < n; i++) {
        opps[i] = &ops[i].op;
    }
    us = time_usec();
    r->offloads[twin]->class->operate(r->twins.dpif, r->offloads[twin], opps,
                                      n);
    us = time_usec() - us;
    ovsrcu_quiesce();
    for (size_t i = 0; i < n; i++) {
        if (ops[i].op.error) {
            ovs_fatal(MAX(ops[i].op.error, 0), "flow %"PRIu32" of %s",
                      first + (uint32_t) i, twin == OURS ? "ours" : "theirs");
        }
        twin_op_uninit(&ops[i]);
    }
    return us;
}

long long int
rounds_install(const struct rounds *r, enum twin twin, uint32_t first,
               uint32_t n)
{
    struct twin_op *ops = xmalloc(BATCH * sizeof *ops);
    struct test_flow flow;
    long long int us = 0;

    profile_flow(r->profile, false, &flow);
    for (uint32_t done = 0; done < n; done += BATCH) {
        size_t n_batch = MIN(BATCH, n - done);

        for (size_t i = 0; i < n_batch; i++) {
            profile_set_number(r->profile, &flow, first + done + i);
            twin_put(&ops[i], twin, &flow, first + done + i);
        }
        us += operate(r, twin, ops, first + done, n_batch);
    }
    test_flow_uninit(&flow);
    free(ops);
    return us;
}

long long int
rounds_delete(const struct rounds *r, enum twin twin, uint32_t first,
              uint32_t n)
{
    struct twin_op *ops = xmalloc(BATCH * sizeof *ops);
    long long int us = 0;

    for (uint32_t done = 0; done < n; done += BATCH) {
        size_t n_batch = MIN(BATCH, n - done);

        for (size_t i = 0; i < n_batch; i++) {
            twin_del(&ops[i], twin, first + done + i);
        }
        us += operate(r, twin, ops, first + done, n_batch);
    }
    free(ops);
    return us;
}

/* What one thread of a round does. */
struct job {
    const struct dpif_offload *offload;
    struct dpif_offload_flow_dump *dump;
    unsigned int n;             /* Flows reported. */
};

static void *
read_dump(void *job_)
{
    struct job *job = job_;
    const struct dpif_offload_class *class = job->offload->class;
    struct dpif_offload_flow_dump_thread *thread
        = class->flow_dump_thread_create(job->dump);
    struct dpif_flow flows[DUMP_BATCH];
    int n;

    while ((n = class->flow_dump_next(thread, flows, DUMP_BATCH))) {
        job->n += n;
    }
    class->flow_dump_thread_destroy(thread);
    return NULL;
}

unsigned int
rounds_dump(const struct rounds *r, enum twin twin, unsigned int n_threads)
{
    const struct dpif_offload *offload = r->offloads[twin];
    struct dpif_offload_flow_dump *up
        = offload->class->flow_dump_create(offload, true);
    pthread_t threads[MAX_THREADS];
    struct job jobs[MAX_THREADS];
    unsigned int n = 0;

    ovs_assert(n_threads <= MAX_THREADS);
    for (unsigned int i = 0; i < n_threads; i++) {
        jobs[i] = (struct job) { .offload = offload, .dump = up };
        if (i) {
            threads[i] = ovs_thread_create("dump", read_dump, &jobs[i]);
        }
    }
    read_dump(&jobs[0]);
    for (unsigned int i = 0; i < n_threads; i++) {
        if (i) {
            xpthread_join(threads[i], NULL);
        }
        n += jobs[i].n;
    }
    offload->class->flow_dump_destroy(up);
    return n;
}

enum tcb_dump_mode
rounds_mode(const struct rounds *r)
{
    struct tcb_round_counts counts;
    struct tcb_dump_summary last;

    tcb_rounds_read(&r->twins.ours->rounds, &counts, &last);
    return last.mode;
}

void
rounds_set_mode(const struct rounds *r, enum tcb_dump_mode mode)
{
    atomic_store_relaxed(&r->twins.ours->rounds.allowed, mode);
    for (int i = 0; i < 3 && rounds_mode(r) != mode; i++) {
        rounds_dump(r, OURS, 1);
    }
    if (rounds_mode(r) != mode) {
        ovs_fatal(0, "no round in mode %s", tcb_dump_mode_name(mode));
    }
}
