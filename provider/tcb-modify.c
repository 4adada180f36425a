/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-run.h"

#include "openvswitch/vlog.h"
#include "tcb-offload.h"
#include "tcb-placeholder.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(tcb_modify);

/* Tries of one delete: nobody else knows of the filter. */
#define MAX_TRIES 8

static int
build_del(struct tcnl_buffer *b, const void *flow)
{
    return tcb_build_del(b, NULL, flow);
}

/* Replacing in place. */

/* Msec without a packet after which none is expected between the reading of a
 * filter and its replacement, which are microseconds apart. */
#define BUSY_MS 10000

/* Flows have lower handles. */
#define FIRST_HOLD_HANDLE (TCB_PLACEHOLDER_HANDLE + 1 + TCB_MAX_FLOWS)

bool
tcb_modify_is_busy(const struct tcb_run *run, struct tcb_flow *flow)
{
    struct tcb_flow_report report;

    tcb_flow_totals(&run->offload->flows, flow, &report);
    return report.used && report.used + BUSY_MS > time_msec();
}

static int
build_get(struct tcnl_buffer *b, const void *flow)
{
    return tcb_build_get(b, NULL, flow);
}

struct reading {
    struct tcb_run *run;
    struct tcb_flow *flow;
    bool can_hold;
};

static void
take_reading(void *reading_, unsigned int slot OVS_UNUSED,
             const struct nlmsghdr *nlh)
{
    struct reading *reading = reading_;
    struct tcnl_filter_counters counters;
    struct tcnl_filter_info info;

    if (!tcnl_filter_parse(nlh, &info) && info.acts
        && !tcnl_actions_parse_counters(info.acts, &counters)) {
        tcb_flow_final_counters(&reading->run->offload->flows, reading->flow,
                                &counters.stats);
        reading->can_hold
            = tcnl_actions_find_held(info.acts, &reading->run->worker->held);
    }
}

bool
tcb_modify_hold(struct tcb_run *run, struct tcb_flow *flow)
{
    struct reading reading = { .run = run, .flow = flow };
    struct tcb_worker *w = run->worker;

    tcnl_transact(w->transport, build_get, flow, take_reading, &reading, NULL);
    w->hold = tcb_flow_filter_id(flow);
    w->hold.handle = FIRST_HOLD_HANDLE + flow->slot;
    return reading.can_hold;
}

/* The flags must be those that the action was made with. */
int
tcb_build_hold(struct tcnl_buffer *b, const struct tcb_run *run,
               const struct tcb_flow *flow OVS_UNUSED)
{
    const struct tcb_worker *w = run->worker;
    struct tcnl_flower flower;

    tcb_match_nothing(&flower, w->hold.proto, w->hold.handle);
    flower.cls_flags = run->offload->cls_flags;
    return tcnl_filter_put_hold(b, &w->hold, &flower, &w->held);
}

int
tcb_build_unhold(struct tcnl_buffer *b, const struct tcb_run *run,
                 const struct tcb_flow *flow OVS_UNUSED)
{
    return tcnl_filter_put_del(b, &run->worker->hold, NLM_F_ECHO);
}

/* Another filter instead. */

/* Final counters of the filter that goes. */
struct final {
    bool known;
    struct tcnl_stats stats;
};

static void
take_final(void *final_, unsigned int slot OVS_UNUSED,
           const struct nlmsghdr *nlh)
{
    struct final *final = final_;
    struct tcnl_filter_counters counters;
    struct tcnl_filter_info info;

    if (!tcnl_filter_parse(nlh, &info) && info.acts
        && !tcnl_actions_parse_counters(info.acts, &counters)) {
        final->known = true;
        final->stats = counters.stats;
    }
}

static bool
delete_old(const struct tcb_run *run, const struct tcb_flow *old,
           struct final *final)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);
    struct tcnl_error error;

    final->known = false;
    for (int i = 0; i < MAX_TRIES; i++) {
        if (!tcnl_transact(run->worker->transport, build_del, old, take_final,
                           final, &error)
            || tcb_delete_found_nothing(run, old, &error)) {
            return true;
        }
    }
    VLOG_WARN_RL(&rl, "ifindex %d chain %"PRIu32" prio %u handle 0x%"PRIx32
                 ": the old filter of a modified flow cannot be deleted "
                 "(%s%s%s)", old->ifindex, old->chain, old->prio,
                 tcb_flow_handle(old), ovs_strerror(error.error),
                 error.text[0] ? ": " : "", error.text);
    return false;
}

/* The slot of 'old' belongs to nobody until this thread has quiesced
 * (tcb_flow_move()), so it still says what is to be deleted. */
void
tcb_modify_remove_old(struct tcb_run *run, struct tcb_flow *old)
{
    struct tcb_flow_table *flows = &run->offload->flows;
    struct tcb_flow *new;
    struct final final;

    if (delete_old(run, old, &final)) {
        tcb_finish_gone(run, old);
    }
    new = tcb_flow_find(flows, &old->ufid);
    if (new && final.known) {
        tcb_flow_carry_counters(flows, new, old, &final.stats);
    }
}
