/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_PLACEHOLDER_H
#define TCB_PLACEHOLDER_H 1

/* Filters that keep a prio of chain 0 alive while it has no flow.
 *
 * To create or destroy the first tcf_proto of chain 0, the kernel waits for an
 * RCU grace period with the block locked (mini_qdisc_pair_swap() in
 * net/sched/sch_generic.c), which takes milliseconds, and any other takes
 * longer than a filter.  Each also disturbs dumps (tcb-prio.h).  So a prio,
 * once used, is kept for as long as the port is there.
 *
 * A placeholder has handle 1 and matches no packet, because it wants a source
 * address of Ethernet that is a group's, and drawn at random; if a packet had
 * it, it would be as if nothing had matched.  It is added after a flow, so
 * that packets meet its mask after that of the flow.  It is not for
 * hardware. */

#include <stdbool.h>

#include "tcnl/filter.h"

struct tcb_offload;
struct tcb_worker;

/* The handle of placeholders; flows have those after it. */
#define TCB_PLACEHOLDER_HANDLE 1

/* Fills in a match for 'proto', of network order, that no packet has: with
 * number 0 that of placeholders, with others the like, with the same mask. */
void tcb_match_nothing(struct tcnl_flower *, uint16_t proto, uint32_t number);

/* Puts the message that adds the placeholder with 'id'. */
int tcb_placeholder_put(struct tcnl_buffer *, const struct tcnl_filter_id *id);

/* Is the filter of which a dump tells this a placeholder? */
bool tcb_is_placeholder(const struct tcnl_filter_id *,
                        const struct tcnl_filter_counters *);

/* Asks the kernel whether the placeholder with 'id' is there. */
bool tcb_placeholder_stands(struct tcb_worker *,
                            const struct tcnl_filter_id *id);

/* Deletes those at 'hook', whose port goes. */
void tcb_placeholders_remove(struct tcb_offload *,
                             const struct tcnl_filter_id *hook);

#endif /* tcb-placeholder.h */
