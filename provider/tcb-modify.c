/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-run.h"

#include "openvswitch/vlog.h"
#include "tcb-offload.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(tcb_modify);

/* Tries of one delete: nobody else knows of the filter. */
#define MAX_TRIES 8

static int
build_del(struct tcnl_buffer *b, const void *flow)
{
    return tcb_build_del(b, NULL, flow);
}

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
tcb_modify_remove_old(struct tcb_run *run, struct tcb_flow *old, bool held)
{
    const struct tcnl_stats known = {
        .packets = old->kernel_packets,
        .bytes = old->kernel_bytes,
    };
    struct final final;

    if (delete_old(run, old, &final)) {
        tcb_finish_gone(run, old);
    }
    if (final.known && !held) {
        tcb_flow_add_counters(&run->offload->flows, &old->ufid, &known,
                              &final.stats);
    }
}
