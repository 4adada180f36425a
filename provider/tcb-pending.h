/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_PENDING_H
#define TCB_PENDING_H 1

/* Flows that were refused for a passing reason, to be offered again.
 *
 * OVS puts a flow once.  One that was refused because its parent was not in
 * TC, its port had no qdisc or the kernel had no memory would stay in the
 * kernel datapath for as long as packets use it.  So it is listed here, and
 * when the reason has passed, the next round of the revalidators is told that
 * the flow was unused for long.  OVS then deletes it, which takes its last
 * counters out of the kernel datapath, and the next packet brings it back as a
 * new flow.
 *
 * A flow that is refused again waits twice as long each time, up to a minute.
 * At most TCB_MAX_PENDING flows are listed. */

#include "openvswitch/hmap.h"
#include "openvswitch/types.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"

#define TCB_MAX_PENDING 16384

struct tcb_offload;
struct tcb_refusal;

/* Thread-safe; the mutex is a leaf. */
struct tcb_pending {
    struct ovs_mutex mutex;
    struct hmap flows OVS_GUARDED;
    atomic_count n;             /* Listed, for who has nothing to look up. */
    uint64_t n_offered OVS_GUARDED;     /* Times that OVS was told. */
    uint64_t n_dropped OVS_GUARDED;     /* Made place for others. */
};

void tcb_pending_init(struct tcb_pending *);
void tcb_pending_destroy(struct tcb_pending *);

/* The put of 'ufid' at 'in_port' was refused; lists the flow if the reason may
 * pass. */
void tcb_pending_refused(struct tcb_pending *, const ovs_u128 *ufid,
                         odp_port_t in_port, const struct tcb_refusal *);

/* The flow is in TC. */
void tcb_pending_done(struct tcb_pending *, const ovs_u128 *ufid);

/* OVS has deleted the flow.  It stays listed for a while, so that the count of
 * its refusals does. */
void tcb_pending_deleted(struct tcb_pending *, const ovs_u128 *ufid);

/* Stores in '*ufids' the flows to tell OVS of now, and returns how many.  The
 * caller frees '*ufids'. */
size_t tcb_pending_due(struct tcb_offload *, ovs_u128 **ufids);

struct tcb_pending_summary {
    unsigned int n_parent, n_port, n_kernel;    /* Waiting, by reason. */
    uint64_t n_offered, n_dropped;
};

void tcb_pending_summary(const struct tcb_pending *,
                         struct tcb_pending_summary *);

#endif /* tcb-pending.h */
