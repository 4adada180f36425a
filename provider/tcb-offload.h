/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_OFFLOAD_H
#define TCB_OFFLOAD_H 1

/* One offload object: what the provider keeps for one datapath.
 *
 * Lock order, outermost first; nothing is locked inside a lock of the same
 * line:
 *
 *     cursor mutex (struct tcb_cursor), held while one datagram is received
 *     meters mutex, held across system calls of the slow meter paths
 *     shard, slots, protos, chain-use, pending, holds, shapes, why, dump,
 *         rounds, worker-pool and report mutexes: leaves, never held across a
 *         system call */

#include "dpif-offload-provider.h"
#include "openvswitch/list.h"
#include "ovs-atomic.h"
#include "tcb-chain-use.h"
#include "tcb-flow-table.h"
#include "tcb-hold.h"
#include "tcb-pending.h"
#include "tcb-prio.h"
#include "tcb-round.h"
#include "tcb-shape.h"
#include "tcb-worker.h"
#include "tcnl/probe.h"

struct tcb_meters;

struct tcb_offload {
    struct dpif_offload up;
    struct ovs_list node;       /* In the list of all objects. */

    bool recirc_shared;         /* The datapath takes over recirculation ids
                                 * from TC (kernel NET_TC_SKB_EXT). */
    bool configured;            /* set_config has seen hw-offload=true; main
                                 * thread only. */
    atomic_bool enabled;        /* The same, for all threads. */
    uint32_t cls_flags;         /* tc-policy; constant once enabled. */
    bool keep_prios;            /* With placeholders; constant, but tests do
                                 * without them. */

    atomic_bool probed;         /* 'abilities' is valid and constant. */
    struct tcnl_abilities abilities;

    atomic_uint64_t generation; /* Of ports and meters, see tcb-template.h. */

    struct tcb_flow_table flows;
    struct tcb_protos protos;
    struct tcb_chain_use chains;
    struct tcb_shapes shapes;
    struct tcb_meters *meters;
    struct tcb_worker_pool workers;
    struct tcb_rounds rounds;
    struct tcb_pending pending;
    struct tcb_holds holds;
};

extern struct dpif_offload_class dpif_offload_tc_batch_class;

static inline struct tcb_offload *
tcb_offload_cast(const struct dpif_offload *offload)
{
    dpif_offload_assert_class(offload, &dpif_offload_tc_batch_class);
    return CONTAINER_OF(offload, struct tcb_offload, up);
}

bool tcb_offload_enabled(const struct tcb_offload *);

/* Calls 'cb' for every offload object of the process, with the list locked:
 * for the appctl commands. */
void tcb_offload_for_each(void (*cb)(struct tcb_offload *, void *aux),
                          void *aux);

#endif /* tcb-offload.h */
