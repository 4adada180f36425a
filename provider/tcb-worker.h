/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_WORKER_H
#define TCB_WORKER_H 1

/* Workers: a netlink socket with its batches, lent to one thread at a time.
 *
 * Handlers and revalidators operate in parallel, each with a worker of its
 * own, so no lock is shared around a system call.  There are as many as
 * threads ever worked at once. */

#include "openvswitch/list.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "tcb-action.h"
#include "tcb-plan.h"
#include "tcb-template.h"
#include "tcnl/batch.h"
#include "tcnl/filter.h"

struct dpif_op;
struct tcb_flow;
struct tcb_port;

enum tcb_task_kind {
    TCB_TASK_ADD,               /* A new filter. */
    TCB_TASK_FINAL,             /* Read counters before a replace. */
    TCB_TASK_REPLACE,           /* Replace in place. */
    TCB_TASK_DEL,               /* Delete, with final counters. */
    TCB_TASK_EVICT,             /* Delete, as its PUT cannot be offloaded. */
    TCB_TASK_KILL,              /* Delete the filter only, keep the flow. */
    TCB_TASK_GET,               /* Read for DPIF_OP_FLOW_GET. */
    TCB_TASK_KEEP,              /* A new placeholder. */
};

/* What one slot of the batch is for. */
struct tcb_task {
    enum tcb_task_kind kind;
    struct dpif_op *op;         /* NULL for FINAL, KILL and KEEP. */
    struct tcb_flow *flow;      /* Claimed (not for GET); NULL for KEEP. */
    struct tcb_port *port;      /* ADD, REPLACE: the in_port. */
    bool was_in_tc;             /* The flow had a filter before this PUT. */
    uint64_t epoch;             /* GET: read before sending. */
    bool has_final;
    struct tcnl_stats final;    /* FINAL, DEL, EVICT: the last counters. */
    struct tcb_action_uses uses;    /* ADD, REPLACE. */
    struct tcnl_filter_id id;   /* KEEP. */
    uint64_t shape;             /* ADD, REPLACE: was not known to be good; 0:
                                 * it was. */
};

/* A flow whose filter has to go after the batch that is being finished. */
struct tcb_eviction {
    struct dpif_op *op;         /* Its PUT. */
    struct tcb_flow *flow;      /* Claimed. */
    bool was_in_tc;
};

#define TCB_BATCH_SLOTS 256
#define TCB_BATCH_BYTES (256 * 1024)

struct tcb_worker {
    struct ovs_list node;
    struct tcnl_transport *transport;
    struct tcnl_batch batch;
    struct tcnl_batch aux;      /* For settling, while 'batch' is read. */
    struct tcnl_batch_stats counted;    /* Already in the pool's totals. */
    struct tcnl_batch_stats aux_counted;
    struct tcb_task tasks[TCB_BATCH_SLOTS];
    struct tcb_eviction evictions[TCB_BATCH_SLOTS];
    unsigned int n_evictions;
    struct tcb_templates templates;
    struct tcb_put_plan plan;   /* Scratch. */
    struct tcnl_filter_id placeholder;  /* Likewise. */
};

/* Batches of 1, 2..3, 4..7, ... 128 and more messages. */
#define TCB_N_SIZES 8

struct tcb_operate_stats {
    struct tcnl_batch_stats batch;
    uint64_t adds, replaces, dels, gets, evicts;    /* Done. */
    uint64_t templated;         /* Puts whose filter came from a template. */
    uint64_t refused;           /* Puts that were not offloaded. */
    uint64_t settled;           /* UNKNOWN results cleared up by reading. */
    uint64_t sizes[TCB_N_SIZES];    /* Flushes by messages in them. */
    uint32_t largest;           /* Most messages in one flush. */
};

struct tcb_worker_pool {
    atomic_bool ack_each;       /* Batches ask for an ack for each message. */
    struct ovs_mutex mutex;
    struct ovs_list idle OVS_GUARDED;
    unsigned int n_workers OVS_GUARDED;
    struct tcb_operate_stats stats OVS_GUARDED;
};

void tcb_worker_pool_init(struct tcb_worker_pool *);
void tcb_worker_pool_destroy(struct tcb_worker_pool *);

/* Lends a worker; NULL, with the cause logged, if no socket can be had. */
struct tcb_worker *tcb_worker_get(struct tcb_worker_pool *);
/* Takes it back and adds 'done' to the totals; NULL: nothing was done. */
void tcb_worker_put(struct tcb_worker_pool *, struct tcb_worker *,
                    const struct tcb_operate_stats *done);

void tcb_worker_pool_stats(const struct tcb_worker_pool *,
                           struct tcb_operate_stats *,
                           unsigned int *n_workers);

/* Notes a flush of 'n' messages in 'stats'. */
void tcb_operate_stats_note_size(struct tcb_operate_stats *, unsigned int n);

#endif /* tcb-worker.h */
