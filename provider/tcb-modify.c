/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-run.h"

#include "tcb-offload.h"
#include "tcb-single.h"
#include "util.h"

/* The slot of 'old' belongs to nobody until this thread has quiesced
 * (tcb_flow_move()), so it still says what is to be deleted. */
void
tcb_modify_remove_old(struct tcb_run *run, struct tcb_flow *old, bool held)
{
    struct tcnl_filter_id id = tcb_flow_filter_id(old);
    const struct tcnl_stats known = tcb_flow_kernel_counters(old);
    struct tcb_reading final;

    if (tcb_single_del(run->worker->transport, &id,
                       "the old filter of a modified flow", &final)) {
        tcb_finish_gone(run, old);
    }
    if (final.has_counters && !held) {
        tcb_flow_add_counters(&run->offload->flows, &old->ufid, &known,
                              &final.counters.stats);
    }
}
