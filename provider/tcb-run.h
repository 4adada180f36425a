/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_RUN_H
#define TCB_RUN_H 1

/* One call of operate under way: the worker and what was done so far.  Shared
 * by the files that operate is made of; nobody else needs it.
 *
 *     tcb-operate.c  decides what each operation asks of the kernel
 *     tcb-run.c      puts messages and tasks into the batch, sends it
 *     tcb-modify.c   removes the old filter of a flow that got another
 *     tcb-settle.c   clears up results that are UNKNOWN
 *     tcb-verify.c   compares filters of new shapes with what was sent
 *     tcb-finish.c   turns results into the operations' results */

#include "tcb-worker.h"

struct dpif;
struct tcb_offload;

struct tcb_run {
    struct tcb_offload *offload;
    struct dpif *dpif;          /* NULL for our own deletes. */
    struct tcb_worker *worker;
    struct tcb_operate_stats done;
    int error;                  /* The first failed delete's. */
};

/* Appends the message that 'build' puts, as a new task of 'kind'; sends the
 * batch first if it is full.  Returns the task, or NULL if the message is too
 * long for any batch. */
typedef int tcb_build_func(struct tcnl_buffer *, const struct tcb_run *,
                           const struct tcb_flow *);
struct tcb_task *tcb_run_add(struct tcb_run *, enum tcb_task_kind,
                             struct dpif_op *, struct tcb_flow *,
                             tcb_build_func *build);

/* Room for the full form of a filter in the receive buffer: what the kernel
 * allocates for it (NLMSG_GOODSIZE, with overhead). */
#define TCB_REPLY_ROOM 8192

/* Sends what is in the batch and finishes every task of it. */
void tcb_run_flush(struct tcb_run *);

/* Builders of messages about a claimed flow.  The echo of a delete brings the
 * final counters, and costs twice the delete. */
tcb_build_func tcb_build_add, tcb_build_replace, tcb_build_del, tcb_build_get;
tcb_build_func tcb_build_get_counters;
tcb_build_func tcb_build_silent_del;    /* Without echo. */
tcb_build_func tcb_build_placeholder;   /* The worker's; without a flow. */

/* Settles the UNKNOWN slots of the batch that was just flushed. */
void tcb_settle(struct tcb_run *);

/* An add met EEXIST.  If that is because a filter of somebody else has the
 * flow's handle, the flow moves to other handles until it finds a free one; it
 * may be at another address afterwards.  '*slot' is what became of the add.
 * If it is another flow with the same key, nothing changes. */
struct tcb_flow *tcb_avoid_foreign(struct tcb_run *, struct tcb_flow *,
                                   struct tcnl_slot *slot);

/* Sends an add that failed again; '*slot' is what became of it. */
void tcb_add_again(struct tcb_run *, const struct tcb_flow *,
                   struct tcnl_slot *slot);

/* Shall a filter of 'shape' that joins the batch be echoed?  One is enough of
 * those with a shape that is not known; 0 stands for a known one. */
bool tcb_verify_wanted(const struct tcb_run *, uint64_t shape);

/* Compares the filter of a slot with the kernel's form of it, 'nlh'. */
void tcb_verify_reply(struct tcb_run *, unsigned int slot,
                      const struct nlmsghdr *nlh);

/* Reads back filters of the batch whose shape is not known yet, because the
 * one that was to be echoed was refused or its echo was lost. */
void tcb_verify_rest(struct tcb_run *);

/* Has the kernel taken the filter of a put, but not as it was sent?  Says why
 * in '*why', unless that is NULL. */
bool tcb_verify_refused(const struct tcb_run *, const struct tcb_task *,
                        struct tcb_refusal *why);

/* Finishes one task by its slot's result. */
void tcb_finish(struct tcb_run *, struct tcb_task *, const struct tcnl_slot *);

/* The filter of 'flow' is gone: gives back what it counted and used. */
void tcb_finish_gone(struct tcb_run *, struct tcb_flow *);

/* Deletes the filter of 'old', whose flow has moved to another slot and has
 * been finished there, and adds its last counts to those of the flow, unless
 * they are 'held' (tcb-hold.h). */
void tcb_modify_remove_old(struct tcb_run *, struct tcb_flow *old, bool held);

/* Answers the delete, or the put that cannot be offloaded, of a claimed flow
 * that has no filter (any more), and forgets the flow. */
void tcb_finish_deleted(struct tcb_run *, struct dpif_op *,
                        struct tcb_flow *);
void tcb_finish_evicted(struct tcb_run *, struct dpif_op *, struct tcb_flow *,
                        bool was_in_tc);

/* After all tasks of a batch: flows that turned out to have no parent, and
 * refused modifications.  Adds deletes to the (empty) batch. */
void tcb_finish_batch(struct tcb_run *);

/* Counts and logs the flow of 'put', which is not offloaded; lists it to be
 * offered again if the reason may pass. */
void tcb_run_refuse(struct tcb_run *, const struct dpif_op *put,
                    struct tcb_port *, const struct tcb_refusal *);

#endif /* tcb-run.h */
