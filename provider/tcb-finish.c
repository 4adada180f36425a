/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-run.h"

#include <errno.h>

#include "dpif.h"
#include "openvswitch/vlog.h"
#include "tcb-offload.h"
#include "tcb-placeholder.h"
#include "tcb-port.h"
#include "tcb-single.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(tcb_finish);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);

/* The port whose filter count 'flow' is in; NULL if it went away. */
static struct tcb_port *
port_of(const struct tcb_run *run, const struct tcb_flow *flow)
{
    struct tcb_port *port = tcb_port_find(run->offload, flow->in_port);

    return port && port->up.ifindex == flow->ifindex ? port : NULL;
}

static void
count_filter(struct tcb_run *run, struct tcb_flow *flow, bool add)
{
    struct tcb_port *port = port_of(run, flow);

    if (add) {
        tcb_protos_add(&run->offload->protos, flow);
    } else {
        tcb_protos_remove(&run->offload->protos, flow);
    }
    if (port && add) {
        atomic_count_inc(&port->n_flows);
    } else if (port) {
        atomic_count_dec(&port->n_flows);
    }
}

static void
drop_uses(struct tcb_run *run, struct tcb_flow *flow)
{
    tcb_plan_unref_uses(run->offload, &flow->uses);
    flow->uses = (struct tcb_action_uses) { .goto_chain = 0 };
}

void
tcb_finish_gone(struct tcb_run *run, struct tcb_flow *flow)
{
    count_filter(run, flow, false);
    drop_uses(run, flow);
}

static void
fill_stats(struct tcb_flow *flow, struct dpif_flow_stats *stats)
{
    struct tcb_flow_report report;

    if (stats) {
        tcb_flow_totals(flow, &report);
        memset(stats, 0, sizeof *stats);
        stats->n_packets = report.packets;
        stats->n_bytes = report.bytes;
        stats->used = report.used;
    }
}

/* Reserves the delete of 'flow' for after this batch. */
static void
evict_later(struct tcb_run *run, struct dpif_op *op, struct tcb_flow *flow,
            bool was_in_tc)
{
    struct tcb_worker *w = run->worker;

    w->evictions[w->n_evictions++] = (struct tcb_eviction) {
        .op = op, .flow = flow, .was_in_tc = was_in_tc,
    };
}

/* The flow moved from the kernel datapath to TC: its old form must not stay
 * there. */
static void
delete_from_datapath(struct tcb_run *run, const struct dpif_flow_put *put)
{
    struct dpif_op op = {
        .type = DPIF_OP_FLOW_DEL,
        .flow_del = {
            .key = put->key,
            .key_len = put->key_len,
            .ufid = put->ufid,
            .pmd_id = put->pmd_id,
        },
    };
    struct dpif_op *opp = &op;

    dpif_operate(run->dpif, &opp, 1, DPIF_OFFLOAD_NEVER);
}

/* The kernel refused the filter of a put, or lost it. */
static void
refuse_by_kernel(struct tcb_run *run, struct tcb_task *task,
                 const struct tcnl_slot *slot)
{
    struct tcb_refusal why;

    tcb_refuse(&why, slot->state == TCNL_UNKNOWN ? TCB_CAUSE_LOST
                                                 : TCB_CAUSE_KERNEL,
               "%s", slot->error.text);
    why.error = slot->error.error;
    tcb_run_refuse(run, task->op, task->port, &why);

    /* Out of hardware resources: let OVS rebalance. */
    if (slot->error.error == ENOSPC) {
        task->op->error = ENOSPC;
        if (dpif_offload_rebalance_policy_enabled()) {
            netdev_set_hw_info(task->port->up.netdev, HW_INFO_TYPE_OOR, true);
        }
    }
}

static void
finish_add_failed(struct tcb_run *run, struct tcb_task *task,
                  const struct tcnl_slot *slot)
{
    tcb_plan_unref_uses(run->offload, &task->uses);
    if (slot->error.error == EEXIST) {
        /* Another flow has the same masked key.  OVS counts this as final. */
        task->op->error = EEXIST;
    } else {
        refuse_by_kernel(run, task, slot);
    }
    tcb_finish_evicted(run, task->op, task->flow, task->was_in_tc);
}

/* A filter that is there must go again: it is not what was sent, or the flow
 * that recirculates to it was refused meanwhile. */
static bool
added_in_vain(struct tcb_run *run, const struct tcb_task *task,
              struct tcb_refusal *why)
{
    if (tcb_verify_refused(run, task, why)) {
        return true;
    } else if (tcb_chain_in_use(&run->offload->chains, task->flow->chain)) {
        return false;
    }
    tcb_refuse(why, TCB_CAUSE_PARENT, "the flow that recirculates here was "
               "refused");
    why->chain = task->flow->chain;
    return true;
}

static void
finish_add(struct tcb_run *run, struct tcb_task *task,
           const struct tcnl_slot *slot_)
{
    struct tcb_offload *offload = run->offload;
    struct dpif_flow_put *put = &task->op->flow_put;
    struct tcnl_slot slot = *slot_;
    struct tcb_refusal why;
    struct tcb_flow *flow;

    if (slot.state == TCNL_FAILED && slot.error.error == EEXIST) {
        task->flow = tcb_avoid_foreign(run, task->flow, &slot);
    } else if (slot.state == TCNL_FAILED && slot.error.error == EINVAL
               && tcb_port_revive_qdisc(task->port, run->worker)) {
        struct tcnl_filter_id hook = tcb_hook_id(task->flow->ifindex,
                                                 task->flow->hook);

        tcb_protos_release(&offload->protos, &hook, NULL);
        tcb_add_again(run, task->flow, &slot);
    }
    if (slot.state == TCNL_FAILED || slot.state == TCNL_NOT_SENT) {
        finish_add_failed(run, task, &slot);
        return;
    }

    flow = task->flow;
    flow->uses = task->uses;
    count_filter(run, flow, true);
    tcb_flow_restart_counters(&offload->flows, flow);
    if (slot.state == TCNL_UNKNOWN) {
        /* It may be there, so it is deleted. */
        refuse_by_kernel(run, task, &slot);
        evict_later(run, task->op, flow, task->was_in_tc);
        return;
    }
    if (added_in_vain(run, task, &why)) {
        tcb_run_refuse(run, task->op, task->port, &why);
        drop_uses(run, flow);
        evict_later(run, task->op, flow, task->was_in_tc);
        return;
    }

    fill_stats(flow, put->stats);
    tcb_pending_done(&offload->pending, put->ufid);
    tcb_flow_release(&offload->flows, flow);
    run->done.adds++;
    task->op->error = 0;
    if (put->flags & DPIF_FP_MODIFY && !task->was_in_tc) {
        delete_from_datapath(run, put);
    }
}

static void
finish_replace(struct tcb_run *run, struct tcb_task *task,
               const struct tcnl_slot *slot)
{
    struct tcb_flow *flow = task->flow;
    struct tcb_refusal why;

    if (slot->state != TCNL_OK) {
        tcb_plan_unref_uses(run->offload, &task->uses);
        refuse_by_kernel(run, task, slot);
        tcb_holds_drop(run->offload, run->worker, &flow->ufid);
        evict_later(run, task->op, flow, true);
        return;
    }

    drop_uses(run, flow);
    flow->uses = task->uses;
    fill_stats(flow, task->op->flow_put.stats);
    tcb_flow_restart_counters(&run->offload->flows, flow);
    if (tcb_verify_refused(run, task, &why)) {
        tcb_run_refuse(run, task->op, task->port, &why);
        evict_later(run, task->op, flow, true);
        return;
    }
    tcb_flow_release(&run->offload->flows, flow);
    run->done.replaces++;
    task->op->error = 0;
}

/* Did the delete leave nothing behind? */
static bool
deleted(struct tcb_run *run, struct tcb_task *task,
        const struct tcnl_slot *slot)
{
    if (slot->state == TCNL_OK
        || (slot->state == TCNL_FAILED
            && tcb_delete_found_nothing(run->worker->transport,
                                        task->flow->ifindex, &slot->error))) {
        if (task->has_final) {
            tcb_flow_final_counters(&run->offload->flows, task->flow,
                                    &task->final);
        }
        tcb_finish_gone(run, task->flow);
        return true;
    }

    VLOG_WARN_RL(&rl, "ifindex %d chain %"PRIu32" prio %u handle 0x%"PRIx32
                 ": cannot delete filter (%s%s%s); it will be tried again",
                 task->flow->ifindex, task->flow->chain, task->flow->prio,
                 tcb_flow_handle(task->flow),
                 ovs_strerror(slot->error.error),
                 slot->error.text[0] ? ": " : "", slot->error.text);
    run->error = run->error ? run->error
                            : slot->error.error ? slot->error.error : EIO;
    return false;
}

void
tcb_finish_deleted(struct tcb_run *run, struct dpif_op *op,
                   struct tcb_flow *flow)
{
    fill_stats(flow, op->flow_del.stats);
    op->error = 0;
    tcb_flow_remove(&run->offload->flows, flow);
    run->done.dels++;
}

static void
finish_del(struct tcb_run *run, struct tcb_task *task,
           const struct tcnl_slot *slot)
{
    if (deleted(run, task, slot)) {
        tcb_finish_deleted(run, task->op, task->flow);
        return;
    }
    tcb_flow_release(&run->offload->flows, task->flow);
    task->op->error = slot->error.error ? slot->error.error : EIO;
}

static void
finish_kill(struct tcb_run *run, struct tcb_task *task,
            const struct tcnl_slot *slot)
{
    if (deleted(run, task, slot)) {
        tcb_flow_release_dead(&run->offload->flows, task->flow);
    } else {
        tcb_flow_release(&run->offload->flows, task->flow);
    }
}

void
tcb_finish_evicted(struct tcb_run *run, struct dpif_op *op,
                   struct tcb_flow *flow, bool was_in_tc)
{
    struct dpif_flow_put *put = &op->flow_put;

    if (put->flags & DPIF_FP_MODIFY && was_in_tc) {
        /* The kernel datapath has no such flow to modify. */
        put->flags &= ~DPIF_FP_MODIFY;
        put->flags |= DPIF_FP_CREATE;
        fill_stats(flow, put->stats);
    }
    tcb_flow_remove(&run->offload->flows, flow);
}

static void
finish_evict(struct tcb_run *run, struct tcb_task *task,
             const struct tcnl_slot *slot)
{
    struct tcb_offload *offload = run->offload;
    uint32_t chain = task->flow->uses.goto_chain;

    if (deleted(run, task, slot)) {
        if (!tcb_chain_in_use(&offload->chains, chain)) {
            /* Its packets now recirculate in the kernel datapath, which does
             * not know the flows that follow. */
            tcb_flow_table_orphan_chain(&offload->flows, chain);
        }
        tcb_finish_evicted(run, task->op, task->flow, task->was_in_tc);
        run->done.evicts++;
        return;
    }
    /* Two copies of a flow would disagree: keep the kernel datapath out of
     * it. */
    tcb_flow_release(&run->offload->flows, task->flow);
    task->op->error = 0;
}

/* Another filter may have the handle: if it is no placeholder it is left
 * alone. */
static void
finish_keep(struct tcb_run *run, const struct tcb_task *task,
            const struct tcnl_slot *slot)
{
    bool kept = (slot->state == TCNL_OK
                 || (slot->state == TCNL_FAILED
                     && slot->error.error == EEXIST
                     && tcb_placeholder_stands(run->worker, &task->id)));

    tcb_protos_keep(&run->offload->protos, &task->id, kept);
}

void
tcb_finish(struct tcb_run *run, struct tcb_task *task,
           const struct tcnl_slot *slot)
{
    switch (task->kind) {
    case TCB_TASK_ADD:
        finish_add(run, task, slot);
        break;
    case TCB_TASK_FINAL:
        if (task->has_final) {
            tcb_flow_final_counters(&run->offload->flows, task->flow,
                                    &task->final);
        }
        break;
    case TCB_TASK_REPLACE:
        finish_replace(run, task, slot);
        break;
    case TCB_TASK_DEL:
        finish_del(run, task, slot);
        break;
    case TCB_TASK_EVICT:
        finish_evict(run, task, slot);
        break;
    case TCB_TASK_KILL:
        finish_kill(run, task, slot);
        break;
    case TCB_TASK_GET:
        /* tcb_decode_get() has answered; without a reply the operation stays
         * open and the kernel datapath is asked. */
        run->done.gets++;
        break;
    case TCB_TASK_KEEP:
        finish_keep(run, task, slot);
        break;
    }
}

void
tcb_finish_batch(struct tcb_run *run)
{
    struct tcb_worker *w = run->worker;
    unsigned int n = w->n_evictions;

    w->n_evictions = 0;
    for (unsigned int i = 0; i < n; i++) {
        struct tcb_eviction *e = &w->evictions[i];
        struct tcb_task *task = tcb_run_add(run, TCB_TASK_EVICT, e->op,
                                            e->flow, tcb_build_del);

        task->was_in_tc = e->was_in_tc;
    }
}
