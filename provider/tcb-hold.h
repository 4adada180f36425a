/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_HOLD_H
#define TCB_HOLD_H 1

/* The last counters of filters that were replaced.
 *
 * Counters belong to actions, and those of a replaced filter go with it; the
 * kernel tells nobody what they were in the end.  So of a filter that packets
 * use, the action that counts is bound, just before the replacement, to a
 * filter that matches nothing (tcb_match_nothing()).  It is deleted, and the
 * counters taken out of its echo, when no CPU can have the old filter in its
 * hands any more: with the next dump, or when OVS asks for the flow.  Until
 * then the flow's totals lack a few packets. */

#include "openvswitch/list.h"
#include "openvswitch/types.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"

/* Msec after which no CPU has a replaced filter in its hands: some RCU grace
 * periods. */
#define TCB_HOLD_MSEC 100

/* Filters at once; what is replaced beyond that is read just before. */
#define TCB_MAX_HOLDS 4096

struct tcb_flow;
struct tcb_offload;
struct tcb_worker;

/* Thread-safe; the mutex is a leaf. */
struct tcb_holds {
    struct ovs_mutex mutex;
    struct ovs_list list OVS_GUARDED;
    atomic_count n;             /* In the list. */
    uint32_t next OVS_GUARDED;  /* For the next handle. */
};

void tcb_holds_init(struct tcb_holds *);
void tcb_holds_destroy(struct tcb_holds *);

/* Have packets used the filter of a claimed flow of late? */
bool tcb_hold_is_wanted(struct tcb_offload *, struct tcb_flow *);

/* The filter of a claimed flow is about to be replaced, or deleted for
 * another: reads its counters into the table and holds the action.  Returns
 * false if it is not held, so that what is counted from now on is not known.
 */
bool tcb_hold(struct tcb_offload *, struct tcb_worker *, struct tcb_flow *);

/* Lets go what is held of flow 'ufid', or of all flows if it is NULL, for
 * 'min_age' msec at least, and adds the counters to the flows. */
void tcb_holds_collect(struct tcb_offload *, struct tcb_worker *,
                       const ovs_u128 *ufid, long long int min_age);

/* The same without counting: the filter was not replaced after all. */
void tcb_holds_drop(struct tcb_offload *, struct tcb_worker *,
                    const ovs_u128 *ufid);

#endif /* tcb-hold.h */
