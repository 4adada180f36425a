/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_PRIO_H
#define TCB_PRIO_H 1

/* Priorities of filters.
 *
 * TC allows one protocol per prio, so each Ethernet type has a prio of its
 * own, the same on all devices.  IPv4 comes first: packets walk the prios in
 * order.  The numbers are those of OVS's own tc provider, which keeps prio 1
 * for port policing; 65535 is for probes.
 *
 * The kernel creates a tcf_proto with the first filter of a (device, chain,
 * prio) and destroys it with the last.  A dump keeps its place between them
 * by position, so one that ran meanwhile proves nothing about what it did not
 * show (tcf_chain_dump() in net/sched/cls_api.c).  struct tcb_protos counts
 * filters to know when that happened. */

#include "openvswitch/hmap.h"
#include "openvswitch/types.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"

/* Returns the prio for filters of 'eth_type', or 0 when all are taken.
 * Thread-safe. */
uint16_t tcb_prio_for(ovs_be16 eth_type);

struct tcb_flow;
struct tcnl_filter_id;

/* Thread-safe; the mutex is a leaf. */
struct tcb_protos {
    struct ovs_mutex mutex;
    struct hmap counts OVS_GUARDED;
    atomic_uint64_t changes;    /* Times that a tcf_proto came or went. */
    uint64_t n_rounds OVS_GUARDED;
};

void tcb_protos_init(struct tcb_protos *);
void tcb_protos_destroy(struct tcb_protos *);

/* A filter of 'flow' was added to, or removed from, its prio. */
void tcb_protos_add(struct tcb_protos *, const struct tcb_flow *);
void tcb_protos_remove(struct tcb_protos *, const struct tcb_flow *);

uint64_t tcb_protos_changes(const struct tcb_protos *);

/* Placeholders, see tcb-placeholder.h. */

/* Does the tcf_proto of the filter with this identity lack a placeholder?
 * Says so once, until tcb_protos_keep() tells whether it has one now. */
bool tcb_protos_wants_placeholder(struct tcb_protos *,
                                  const struct tcnl_filter_id *);
void tcb_protos_keep(struct tcb_protos *, const struct tcnl_filter_id *,
                     bool kept);

/* Dumps show which placeholders are still there.  Each begins a round, notes
 * those that it sees, and when it has come to its end, undisturbed, those that
 * it has not seen are taken to be gone. */
uint64_t tcb_protos_begin_round(struct tcb_protos *);
void tcb_protos_seen(struct tcb_protos *, const struct tcnl_filter_id *,
                     uint64_t round);
void tcb_protos_end_round(struct tcb_protos *, uint64_t round);

/* Forgets the placeholders at 'hook'.  With 'ids', stores their identities in
 * '*ids', for the caller to delete them and to free the array.  Returns how
 * many there were. */
size_t tcb_protos_release(struct tcb_protos *,
                          const struct tcnl_filter_id *hook,
                          struct tcnl_filter_id **ids);

#endif /* tcb-prio.h */
