/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-operate.h"

#include <errno.h>

#include "dpif.h"
#include "tcb-offload.h"
#include "tcb-placeholder.h"
#include "tcb-port.h"
#include "tcb-run.h"
#include "util.h"

/* Claims the flow 'ufid'.  If someone else has it we first finish what we
 * have claimed ourselves: whoever waits holds nothing, so no two threads wait
 * for each other. */
static enum tcb_claim
claim(struct tcb_run *run, const ovs_u128 *ufid, bool create,
      struct tcb_flow **flow)
{
    struct tcb_flow_table *flows = &run->offload->flows;
    enum tcb_claim result;

    result = tcb_flow_claim(flows, ufid, create, false, flow);
    if (result == TCB_CLAIM_BUSY) {
        tcb_run_flush(run);
        result = tcb_flow_claim(flows, ufid, create, true, flow);
    }
    return result;
}

/* The flow of 'op' cannot be offloaded: if an older form of it is in TC, that
 * must go, or packets would still meet it. */
static void
evict(struct tcb_run *run, struct dpif_op *op)
{
    struct tcb_flow *flow;

    switch (claim(run, op->flow_put.ufid, false, &flow)) {
    case TCB_CLAIM_OLD:
        tcb_holds_collect(run->offload, run->worker, &flow->ufid, 0);
        tcb_run_add(run, TCB_TASK_EVICT, op, flow, tcb_build_del);
        break;
    case TCB_CLAIM_DEAD:
        tcb_finish_evicted(run, op, flow, true);
        break;
    case TCB_CLAIM_NEW:
    case TCB_CLAIM_NONE:
    case TCB_CLAIM_BUSY:
    case TCB_CLAIM_FULL:
        break;
    }
}

/* The first filter of a prio in chain 0 is followed by one that keeps the prio
 * alive. */
static void
keep_prio(struct tcb_run *run, const struct tcnl_filter_id *id)
{
    struct tcb_protos *protos = &run->offload->protos;
    struct tcb_task *task;

    if (id->chain || !run->offload->keep_prios
        || !tcb_protos_wants_placeholder(protos, id)) {
        return;
    }
    run->worker->placeholder = *id;
    run->worker->placeholder.handle = TCB_PLACEHOLDER_HANDLE;
    task = tcb_run_add(run, TCB_TASK_KEEP, NULL, NULL, tcb_build_placeholder);
    if (task) {
        task->id = run->worker->placeholder;
    } else {
        tcb_protos_keep(protos, id, false);
    }
}

/* The last message of the batch is for 'put'. */
static void
learn(struct tcb_run *run, const struct dpif_flow_put *put)
{
    struct tcb_worker *w = run->worker;
    const struct tcnl_slot *slot = &w->batch.slots[w->batch.n_slots - 1];

    if (!w->plan.template) {
        tcb_templates_learn(&w->templates, put, &w->plan,
                            ALIGNED_CAST(const struct nlmsghdr *,
                                         w->batch.buffer.data + slot->ofs));
    }
}

/* Gives 'plan' to the batch as 'kind'.  The references that the plan holds go
 * with the task. */
static void
add_put(struct tcb_run *run, enum tcb_task_kind kind, struct dpif_op *op,
        struct tcb_flow *flow, bool was_in_tc)
{
    struct tcb_put_plan *plan = &run->worker->plan;
    struct tcnl_filter_id id = tcb_flow_filter_id(flow);
    struct tcb_task *task;

    plan->echo = tcb_verify_wanted(run, plan->shape);
    task = tcb_run_add(run, kind, op, flow,
                       kind == TCB_TASK_ADD ? tcb_build_add
                                            : tcb_build_replace);
    if (task) {
        task->port = plan->port;
        task->uses = plan->uses;
        task->shape = plan->shape;
        task->was_in_tc = was_in_tc;
        learn(run, &op->flow_put);
        if (kind == TCB_TASK_ADD) {
            keep_prio(run, &id);
        }
        return;
    }

    tcb_plan_unref_uses(run->offload, &plan->uses);
    tcb_refuse(&plan->why, TCB_CAUSE_LIMIT, "filter longer than a message");
    tcb_run_refuse(run, op, plan->port, &plan->why);
    if (kind == TCB_TASK_ADD) {
        tcb_finish_evicted(run, op, flow, was_in_tc);
    } else {
        tcb_run_add(run, TCB_TASK_EVICT, op, flow, tcb_build_del);
    }
}

/* The kernel counts anew in a filter that replaces another. */
static void
replace(struct tcb_run *run, struct dpif_op *op, struct tcb_flow *flow)
{
    if (tcb_hold_is_wanted(run->offload, flow)) {
        tcb_hold(run->offload, run->worker, flow);
    } else {
        tcb_run_add(run, TCB_TASK_FINAL, NULL, flow, tcb_build_get_counters);
    }
    add_put(run, TCB_TASK_REPLACE, op, flow, true);
}

/* Adds the plan's flow, or changes it, once it is claimed. */
static void
put_claimed(struct tcb_run *run, struct dpif_op *op, enum tcb_claim claimed,
            struct tcb_flow *flow)
{
    struct tcb_put_plan *plan = &run->worker->plan;

    if (claimed == TCB_CLAIM_OLD) {
        replace(run, op, flow);
    } else {
        if (claimed == TCB_CLAIM_DEAD
            && !(op->flow_put.flags & DPIF_FP_MODIFY)) {
            /* To OVS this is a new flow, whatever died under its ufid. */
            tcb_flow_reset_counters(&run->offload->flows, flow);
        }
        tcb_plan_apply(plan, flow);
        add_put(run, TCB_TASK_ADD, op, flow, claimed == TCB_CLAIM_DEAD);
    }
}

/* A filter with another mask, prio or hook cannot take the place of the old
 * one.  The new one is added first, with a handle of its own, and the old one
 * deleted when the kernel has answered.  Meanwhile a packet that both match
 * meets the one whose prio is lower or whose mask came first, and never both
 * or neither. */
static void
put_anew(struct tcb_run *run, struct dpif_op *op, struct tcb_flow *old)
{
    struct tcb_put_plan *plan = &run->worker->plan;
    struct tcb_flow *new;
    bool held;

    held = tcb_hold_is_wanted(run->offload, old)
           && tcb_hold(run->offload, run->worker, old);
    if (!held) {
        tcb_run_add(run, TCB_TASK_FINAL, NULL, old, tcb_build_get_counters);
    }
    tcb_run_flush(run);
    new = tcb_flow_move(&run->offload->flows, old, false);
    if (!new) {
        tcb_plan_unref_uses(run->offload, &plan->uses);
        tcb_refuse(&plan->why, TCB_CAUSE_LIMIT, "flow table is full");
        tcb_run_refuse(run, op, plan->port, &plan->why);
        tcb_holds_drop(run->offload, run->worker, &old->ufid);
        tcb_run_add(run, TCB_TASK_EVICT, op, old, tcb_build_del);
        return;
    }
    new->uses = (struct tcb_action_uses) { .goto_chain = 0 };
    tcb_plan_apply(plan, new);
    add_put(run, TCB_TASK_ADD, op, new, true);
    tcb_run_flush(run);
    tcb_modify_remove_old(run, old, held);
}

static void
put_planned(struct tcb_run *run, struct dpif_op *op)
{
    struct tcb_put_plan *plan = &run->worker->plan;
    enum tcb_claim claimed;
    struct tcb_flow *flow;

    claimed = claim(run, op->flow_put.ufid, true, &flow);
    if (claimed == TCB_CLAIM_OLD && !tcb_plan_replaces(plan, flow)) {
        put_anew(run, op, flow);
    } else if (claimed == TCB_CLAIM_FULL) {
        tcb_plan_unref_uses(run->offload, &plan->uses);
        tcb_refuse(&plan->why, TCB_CAUSE_LIMIT, "flow table is full");
        tcb_run_refuse(run, op, plan->port, &plan->why);
    } else {
        put_claimed(run, op, claimed, flow);
    }
}

/* With 'may_wait', returns false for a flow whose parent is not in TC, without
 * doing anything. */
static bool
put(struct tcb_run *run, struct dpif_op *op, bool may_wait)
{
    struct tcb_put_plan *plan = &run->worker->plan;

    switch (tcb_plan_put(run->offload, &run->worker->templates, &op->flow_put,
                         plan)) {
    case TCB_PLAN_NOT_OURS:
        if (op->flow_put.ufid && !(op->flow_put.flags & DPIF_FP_PROBE)) {
            evict(run, op);
        }
        break;
    case TCB_PLAN_REFUSED:
        if (may_wait && plan->why.cause == TCB_CAUSE_PARENT) {
            return false;
        }
        tcb_run_refuse(run, op, plan->port, &plan->why);
        evict(run, op);
        break;
    case TCB_PLAN_OK:
        run->done.templated += plan->template != NULL;
        put_planned(run, op);
        break;
    }
    return true;
}

/* Flows whose parent may come later in the same array. */
struct waiting {
    struct dpif_op *ops[TCB_BATCH_SLOTS];
    size_t n;
};

static void
put_or_wait(struct tcb_run *run, struct dpif_op *op, struct waiting *waiting)
{
    if (!put(run, op, waiting->n < ARRAY_SIZE(waiting->ops))) {
        waiting->ops[waiting->n++] = op;
    }
}

/* Each pass may find the parents of the next. */
static void
put_waiting(struct tcb_run *run, struct waiting *waiting)
{
    size_t n_before;

    do {
        struct waiting still;

        still.n = 0;
        n_before = waiting->n;
        for (size_t i = 0; i < waiting->n; i++) {
            put_or_wait(run, waiting->ops[i], &still);
        }
        memcpy(waiting->ops, still.ops, still.n * sizeof *still.ops);
        waiting->n = still.n;
    } while (waiting->n && waiting->n < n_before);

    for (size_t i = 0; i < waiting->n; i++) {
        put(run, waiting->ops[i], false);
    }
}

/* An unknown ufid is left to the kernel datapath. */
static void
del(struct tcb_run *run, struct dpif_op *op)
{
    struct tcb_flow *flow;

    if (!op->flow_del.ufid) {
        return;
    }
    tcb_pending_deleted(&run->offload->pending, op->flow_del.ufid);
    switch (claim(run, op->flow_del.ufid, false, &flow)) {
    case TCB_CLAIM_OLD:
        tcb_holds_collect(run->offload, run->worker, &flow->ufid, 0);
        tcb_run_add(run, TCB_TASK_DEL, op, flow,
                    op->flow_del.stats ? tcb_build_del
                                       : tcb_build_silent_del);
        break;
    case TCB_CLAIM_DEAD:
        tcb_finish_deleted(run, op, flow);
        break;
    case TCB_CLAIM_NEW:
    case TCB_CLAIM_NONE:
    case TCB_CLAIM_BUSY:
    case TCB_CLAIM_FULL:
        break;
    }
}

/* A get changes nothing, so it needs no claim.  A flow that is being added by
 * this very batch is there after a flush. */
static void
get(struct tcb_run *run, struct dpif_op *op)
{
    struct tcb_flow *flow;
    struct tcb_task *task;

    if (!op->flow_get.ufid) {
        return;
    }
    flow = tcb_flow_find(&run->offload->flows, op->flow_get.ufid);
    if (flow && !tcb_flow_is(flow, op->flow_get.ufid)) {
        tcb_run_flush(run);
        flow = tcb_flow_find(&run->offload->flows, op->flow_get.ufid);
    }
    if (flow && tcb_flow_is(flow, op->flow_get.ufid)) {
        tcb_holds_collect(run->offload, run->worker, op->flow_get.ufid,
                          TCB_HOLD_MSEC);
        task = tcb_run_add(run, TCB_TASK_GET, op, flow, tcb_build_get);
        task->epoch = tcb_epoch_read(&run->offload->flows);
    }
}

void
tcb_operate(struct dpif *dpif, const struct dpif_offload *offload_,
            struct dpif_op **ops, size_t n_ops)
{
    struct tcb_offload *offload = tcb_offload_cast(offload_);
    struct tcb_run run = {
        .offload = offload,
        .dpif = dpif,
        .worker = tcb_worker_get(&offload->workers),
    };
    struct waiting waiting;

    waiting.n = 0;
    if (!run.worker) {
        return;
    }
    for (size_t i = 0; i < n_ops; i++) {
        if (ops[i]->error >= 0) {
            continue;
        }
        switch (ops[i]->type) {
        case DPIF_OP_FLOW_PUT:
            put_or_wait(&run, ops[i], &waiting);
            break;
        case DPIF_OP_FLOW_DEL:
            del(&run, ops[i]);
            break;
        case DPIF_OP_FLOW_GET:
            get(&run, ops[i]);
            break;
        case DPIF_OP_EXECUTE:
            break;
        }
    }
    put_waiting(&run, &waiting);
    tcb_run_flush(&run);
    tcb_worker_put(&offload->workers, run.worker, &run.done);
}

/* Is the flow in 'slot' one of those to go?  If so, '*ufid' is its. */
static bool
is_to_go(const struct tcb_run *run, uint32_t slot,
         const struct tcb_port *port, ovs_u128 *ufid)
{
    struct tcb_flow *flow = tcb_flow_at(&run->offload->flows, slot);
    struct tcb_flow_report report;

    if (!tcb_flow_report(flow, &report)
        || (port && flow->in_port != port->up.port_no)) {
        return false;
    }
    *ufid = report.ufid;
    return true;
}

/* Deletes the filter of flow 'ufid', unless things have changed while we
 * waited for the claim. */
static void
kill_flow(struct tcb_run *run, const ovs_u128 *ufid,
          const struct tcb_port *port)
{
    struct tcb_flow_table *flows = &run->offload->flows;
    struct tcb_flow *flow;

    switch (claim(run, ufid, false, &flow)) {
    case TCB_CLAIM_OLD:
        if (port && flow->in_port != port->up.port_no) {
            tcb_flow_release(flows, flow);
        } else {
            tcb_run_add(run, TCB_TASK_KILL, NULL, flow, tcb_build_del);
        }
        break;
    case TCB_CLAIM_DEAD:
        /* It moved to a later slot, where we have met it again. */
        tcb_flow_release_dead(flows, flow);
        break;
    case TCB_CLAIM_NEW:
    case TCB_CLAIM_NONE:
    case TCB_CLAIM_BUSY:
    case TCB_CLAIM_FULL:
        break;
    }
}

int
tcb_flush(struct tcb_offload *offload, const struct tcb_port *port)
{
    uint32_t n_slots = tcb_flow_table_n_slots(&offload->flows);
    struct tcb_run run = {
        .offload = offload,
        .worker = tcb_worker_get(&offload->workers),
    };

    if (!run.worker) {
        return ENOMEM;
    }
    tcb_holds_collect(offload, run.worker, NULL, 0);
    for (uint32_t slot = 0; slot < n_slots; slot++) {
        ovs_u128 ufid;

        if (is_to_go(&run, slot, port, &ufid)) {
            kill_flow(&run, &ufid, port);
        }
    }
    tcb_run_flush(&run);
    tcb_worker_put(&offload->workers, run.worker, &run.done);
    return run.error;
}
