/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-run.h"

#include <errno.h>
#include <linux/rtnetlink.h>

#include "dpif.h"
#include "openvswitch/vlog.h"
#include "tcb-decode.h"
#include "tcb-offload.h"
#include "tcb-placeholder.h"
#include "tcb-port.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(tcb_run);

static int
build_put(struct tcnl_buffer *b, const struct tcb_put_plan *plan,
          const struct tcb_flow *flow, uint16_t flags)
{
    struct tcnl_filter_id id;

    if (plan->template) {
        return tcnl_template_put(b, &plan->template->message,
                                 tcb_flow_handle(flow), &flow->ufid, flags);
    }
    id = tcb_flow_filter_id(flow);
    return tcnl_filter_put_new(b, &id, &plan->flower, &plan->actions,
                               flags | (plan->echo ? NLM_F_ECHO : 0));
}

int
tcb_build_add(struct tcnl_buffer *b, const struct tcb_run *run,
              const struct tcb_flow *flow)
{
    return build_put(b, &run->worker->plan, flow, NLM_F_CREATE | NLM_F_EXCL);
}

int
tcb_build_replace(struct tcnl_buffer *b, const struct tcb_run *run,
                  const struct tcb_flow *flow)
{
    return build_put(b, &run->worker->plan, flow, NLM_F_CREATE);
}

int
tcb_build_del(struct tcnl_buffer *b, const struct tcb_run *run OVS_UNUSED,
              const struct tcb_flow *flow)
{
    struct tcnl_filter_id id = tcb_flow_filter_id(flow);

    return tcnl_filter_put_del(b, &id, NLM_F_ECHO);
}

int
tcb_build_silent_del(struct tcnl_buffer *b,
                     const struct tcb_run *run OVS_UNUSED,
                     const struct tcb_flow *flow)
{
    struct tcnl_filter_id id = tcb_flow_filter_id(flow);

    return tcnl_filter_put_del(b, &id, 0);
}

int
tcb_build_get(struct tcnl_buffer *b, const struct tcb_run *run OVS_UNUSED,
              const struct tcb_flow *flow)
{
    struct tcnl_filter_id id = tcb_flow_filter_id(flow);

    return tcnl_filter_put_get(b, &id);
}

int
tcb_build_get_counters(struct tcnl_buffer *b,
                       const struct tcb_run *run OVS_UNUSED,
                       const struct tcb_flow *flow)
{
    struct tcnl_filter_id id = tcb_flow_filter_id(flow);

    return tcnl_filter_put_get_counters(b, &id);
}

int
tcb_build_placeholder(struct tcnl_buffer *b, const struct tcb_run *run,
                      const struct tcb_flow *flow OVS_UNUSED)
{
    return tcb_placeholder_put(b, &run->worker->placeholder);
}

static bool
is_put(enum tcb_task_kind kind)
{
    return kind == TCB_TASK_ADD || kind == TCB_TASK_REPLACE;
}

static bool
expects_reply(const struct tcb_run *run, enum tcb_task_kind kind)
{
    return (is_put(kind) ? run->worker->plan.echo
            : kind != TCB_TASK_KEEP);
}

struct tcb_task *
tcb_run_add(struct tcb_run *run, enum tcb_task_kind kind, struct dpif_op *op,
            struct tcb_flow *flow, tcb_build_func *build)
{
    struct tcnl_batch *batch = &run->worker->batch;
    struct tcb_task *task;

    if (!tcnl_batch_has_room(batch)) {
        tcb_run_flush(run);
    }
    if (build(&batch->buffer, run, flow)) {
        if (!batch->n_slots) {
            return NULL;
        }
        tcb_run_flush(run);
        if (build(&batch->buffer, run, flow)) {
            return NULL;
        }
    }

    task = &run->worker->tasks[tcnl_batch_add(batch, expects_reply(run, kind)
                                                     ? TCB_REPLY_ROOM : 0)];
    task->kind = kind;
    task->op = op;
    task->flow = flow;
    task->port = NULL;
    task->was_in_tc = kind == TCB_TASK_EVICT;
    task->has_final = false;
    task->shape = 0;
    return task;
}

/* Final counters out of a delete's echo, the whole flow for a get, or what the
 * kernel has made of a put. */
static void
take_reply(void *run_, unsigned int slot, const struct nlmsghdr *nlh)
{
    struct tcb_run *run = run_;
    struct tcb_task *task = &run->worker->tasks[slot];
    struct tcnl_filter_counters counters;
    struct tcnl_filter_info info;

    if (!task->flow || tcnl_filter_parse(nlh, &info) || !info.acts
        || info.id.handle != tcb_flow_handle(task->flow)) {
        return;
    }
    if (task->kind == TCB_TASK_GET) {
        tcb_decode_get(run->offload, task->flow, &info, task->epoch,
                       task->op);
    } else if (is_put(task->kind)) {
        tcb_verify_reply(run, slot, nlh);
    } else if (!tcnl_actions_parse_counters(info.acts, &counters)) {
        task->final = counters.stats;
        task->has_final = true;
    }
}

static bool
task_failed(const struct tcb_run *run, unsigned int i)
{
    return run->worker->batch.slots[i].state != TCNL_OK
           || tcb_verify_refused(run, &run->worker->tasks[i], NULL);
}

/* Failures are finished first: a flow that is not there after all takes back
 * its use of a chain, and the flows of that chain must see it. */
static void
finish_all(struct tcb_run *run)
{
    struct tcnl_batch *batch = &run->worker->batch;
    bool task_is_failed[TCB_BATCH_SLOTS];

    /* Asked once: what is known of a shape may change meanwhile. */
    for (unsigned int i = 0; i < batch->n_slots; i++) {
        task_is_failed[i] = task_failed(run, i);
    }
    for (int failed = 1; failed >= 0; failed--) {
        for (unsigned int i = 0; i < batch->n_slots; i++) {
            if (task_is_failed[i] == failed) {
                tcb_finish(run, &run->worker->tasks[i], &batch->slots[i]);
            }
        }
    }
}

void
tcb_run_flush(struct tcb_run *run)
{
    struct tcnl_batch *batch = &run->worker->batch;

    while (batch->n_slots) {
        tcb_operate_stats_note_size(&run->done, batch->n_slots);
        batch->reply_cb = take_reply;
        batch->reply_aux = run;
        if (tcnl_batch_flush(batch)) {
            tcb_settle(run);
        }
        tcb_verify_rest(run);
        finish_all(run);
        tcnl_batch_clear(batch);
        tcb_finish_batch(run);
    }
}

void
tcb_run_refuse(struct tcb_run *run, const struct dpif_op *put,
               struct tcb_port *port, const struct tcb_refusal *why)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(10, 10);

    run->done.refused++;
    tcb_pending_refused(&run->offload->pending, put->flow_put.ufid,
                        port->up.port_no, why);
    if (tcb_why_count(&port->why, why)) {
        VLOG_INFO_RL(&rl, "%s: flows left to the kernel datapath: %s: %s%s%s",
                     netdev_get_name(port->up.netdev),
                     tcb_cause_text(why->cause), why->detail,
                     why->error ? ": " : "",
                     why->error ? ovs_strerror(why->error) : "");
    }
}
