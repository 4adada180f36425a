/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-worker.h"

#include "openvswitch/vlog.h"
#include "tcnl/socket.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(tcb_worker);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);

void
tcb_worker_pool_init(struct tcb_worker_pool *pool)
{
    atomic_init(&pool->ack_each, false);
    ovs_mutex_init(&pool->mutex);
    ovs_mutex_lock(&pool->mutex);
    ovs_list_init(&pool->idle);
    pool->n_workers = 0;
    memset(&pool->stats, 0, sizeof pool->stats);
    ovs_mutex_unlock(&pool->mutex);
}

static void
worker_destroy(struct tcb_worker *w)
{
    tcb_templates_destroy(&w->templates);
    tcnl_batch_uninit(&w->aux);
    tcnl_batch_uninit(&w->batch);
    tcnl_transport_close(w->transport);
    free(w);
}

void
tcb_worker_pool_destroy(struct tcb_worker_pool *pool)
{
    struct tcb_worker *w;

    ovs_mutex_lock(&pool->mutex);
    LIST_FOR_EACH_POP (w, node, &pool->idle) {
        worker_destroy(w);
    }
    ovs_mutex_unlock(&pool->mutex);
    ovs_mutex_destroy(&pool->mutex);
}

static struct tcb_worker *
worker_create(void)
{
    struct tcb_worker *w = xzalloc(sizeof *w);
    int error = tcnl_socket_open(0, 0, &w->transport);

    if (error) {
        VLOG_WARN_RL(&rl, "no netlink socket for TC (%s): flows go to the "
                     "kernel datapath meanwhile", ovs_strerror(error));
        free(w);
        return NULL;
    }
    if (tcnl_batch_init(&w->batch, w->transport, TCB_BATCH_SLOTS,
                        TCB_BATCH_BYTES)
        || tcnl_batch_init(&w->aux, w->transport, TCB_BATCH_SLOTS,
                           TCB_BATCH_BYTES)) {
        out_of_memory();
    }
    tcb_templates_init(&w->templates);
    return w;
}

static struct tcb_worker *
get_idle(struct tcb_worker_pool *pool)
{
    struct tcb_worker *w = NULL;

    ovs_mutex_lock(&pool->mutex);
    if (!ovs_list_is_empty(&pool->idle)) {
        w = CONTAINER_OF(ovs_list_pop_front(&pool->idle), struct tcb_worker,
                         node);
    }
    ovs_mutex_unlock(&pool->mutex);
    return w;
}

struct tcb_worker *
tcb_worker_get(struct tcb_worker_pool *pool)
{
    struct tcb_worker *w = get_idle(pool);
    bool ack_each;

    if (!w) {
        w = worker_create();
        if (!w) {
            return NULL;
        }
        ovs_mutex_lock(&pool->mutex);
        pool->n_workers++;
        ovs_mutex_unlock(&pool->mutex);
    }
    atomic_read_relaxed(&pool->ack_each, &ack_each);
    w->batch.ack_each = w->aux.ack_each = ack_each;
    return w;
}

/* Adds what '*now' has more than '*counted' to 'sum'. */
static void
add_batch_stats(struct tcnl_batch_stats *sum, struct tcnl_batch_stats *counted,
                const struct tcnl_batch_stats *now)
{
    sum->flushes += now->flushes - counted->flushes;
    sum->sends += now->sends - counted->sends;
    sum->messages += now->messages - counted->messages;
    sum->recvs += now->recvs - counted->recvs;
    sum->refused += now->refused - counted->refused;
    sum->unknown += now->unknown - counted->unknown;
    sum->overflows += now->overflows - counted->overflows;
    sum->strays += now->strays - counted->strays;
    sum->damaged += now->damaged - counted->damaged;
    *counted = *now;
}

static void
add_done(struct tcb_operate_stats *s, const struct tcb_operate_stats *done)
{
    s->adds += done->adds;
    s->replaces += done->replaces;
    s->dels += done->dels;
    s->gets += done->gets;
    s->evicts += done->evicts;
    s->templated += done->templated;
    s->refused += done->refused;
    s->settled += done->settled;
    for (int i = 0; i < TCB_N_SIZES; i++) {
        s->sizes[i] += done->sizes[i];
    }
    s->largest = MAX(s->largest, done->largest);
}

void
tcb_worker_put(struct tcb_worker_pool *pool, struct tcb_worker *w,
               const struct tcb_operate_stats *done)
{
    struct tcb_operate_stats *s = &pool->stats;

    ovs_mutex_lock(&pool->mutex);
    add_batch_stats(&s->batch, &w->counted, &w->batch.stats);
    add_batch_stats(&s->batch, &w->aux_counted, &w->aux.stats);
    if (done) {
        add_done(s, done);
    }
    ovs_list_push_front(&pool->idle, &w->node);
    ovs_mutex_unlock(&pool->mutex);
}

void
tcb_worker_pool_stats(const struct tcb_worker_pool *pool_,
                      struct tcb_operate_stats *stats,
                      unsigned int *n_workers)
{
    struct tcb_worker_pool *pool = CONST_CAST(struct tcb_worker_pool *, pool_);

    ovs_mutex_lock(&pool->mutex);
    *stats = pool->stats;
    *n_workers = pool->n_workers;
    ovs_mutex_unlock(&pool->mutex);
}

void
tcb_operate_stats_note_size(struct tcb_operate_stats *stats, unsigned int n)
{
    stats->sizes[MIN(log_2_floor(n), TCB_N_SIZES - 1)]++;
    stats->largest = MAX(stats->largest, n);
}
