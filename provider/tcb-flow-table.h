/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_FLOW_TABLE_H
#define TCB_FLOW_TABLE_H 1

/* The flow table: every flow that is in TC, or on its way there or out.
 *
 * A flow lives in a slot, and its TC handle is the slot number plus two (1 is
 * for placeholders).  So installing needs no echo to learn the handle, and a
 * dump finds its flow by indexing.  The action cookie carries the ufid and
 * confirms it.
 *
 * Slots are in segments that are never freed while the table lives, so a
 * pointer to a flow is always readable; whether it still is the flow that one
 * looked for is told by 'state' and 'ufid' under the flow's lock.
 *
 * Locks: the table has many, one per shard of the ufid's hash; a flow's
 * mutable fields are written under its shard's.  None is ever held across a
 * system call.  At most one is held at a time, and nothing else is locked
 * inside one.  Lookups by handle and by ufid, and reports, take no lock.
 *
 * Claims: whoever is about to change a flow in the kernel claims it first and
 * releases it when the kernel has answered, so operations on one ufid never
 * overlap.  A thread that waits for a claim must hold none itself. */

#include "cmap.h"
#include "openvswitch/types.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "tcb-action.h"
#include "tcb-hook.h"
#include "tcb-placeholder.h"
#include "tcnl/filter.h"

enum tcb_flow_state {
    TCB_FLOW_FREE,              /* The slot is unused. */
    TCB_FLOW_DEAD,              /* Its filter was flushed; the final counters
                                 * wait for OVS to delete it. */
    TCB_FLOW_ADDING,            /* Claimed, not in the kernel (yet). */
    TCB_FLOW_LIVE,              /* In the kernel. */
    TCB_FLOW_BUSY,              /* In the kernel, claimed. */
};

struct tcb_flow {
    struct cmap_node node;      /* In its shard, by ufid. */
    ovs_u128 ufid;
    uint32_t slot;

    /* Guarded by the shard's lock. */
    ATOMIC(enum tcb_flow_state) state;

    /* Set by the thread that has claimed the flow; constant while LIVE. */
    int ifindex;
    uint32_t chain;
    uint16_t prio;
    ovs_be16 proto;
    enum tcb_hook hook;
    odp_port_t in_port;
    uint64_t match_hash;        /* tcnl_flower_hash(). */
    struct tcb_action_uses uses;    /* References that the flow holds. */

    /* Counters.  Written under the shard's lock, read without: each by itself
     * is right, and none that OVS sees ever falls. */
    atomic_bool offloaded;      /* In hardware, or as if (no flag). */
    atomic_bool orphan;         /* No flow in TC leads here any more. */
    atomic_uint8_t missed;      /* Whole dumps in a row without it; of a dead
                                 * flow, rounds since it died. */
    atomic_uint64_t packets, bytes;     /* Of all filters that it ever had. */
    atomic_uint64_t kernel_packets, kernel_bytes;   /* The highest seen of the
                                                     * present one. */
    atomic_llong used;          /* Msec; 0: never. */
    atomic_uint64_t epoch;      /* Counters of dumps begun before this are of
                                 * an earlier filter.  See tcb_epoch. */
};

/* What a dump needs of a flow. */
struct tcb_flow_report {
    struct tcb_flow *flow;
    ovs_u128 ufid;
    uint64_t packets, bytes;
    long long int used;
    bool offloaded;
    bool gone;                  /* OVS shall delete it: two whole dumps in a
                                 * row did not have it, or it is an orphan. */
};

#define TCB_N_SHARDS 64
#define TCB_SEGMENT_FLOWS 1024
#define TCB_MAX_SEGMENTS 4096
#define TCB_MAX_FLOWS (TCB_SEGMENT_FLOWS * TCB_MAX_SEGMENTS)

struct tcb_shard {
    PADDED_MEMBERS(CACHE_LINE_SIZE,
        struct ovs_mutex mutex;
        pthread_cond_t released;    /* Some claim in this shard ended. */
        struct cmap flows;
    );
};

struct tcb_flow_table {
    struct tcb_shard shards[TCB_N_SHARDS];
    ATOMIC(struct tcb_flow *) segments[TCB_MAX_SEGMENTS];

    struct ovs_mutex slots_mutex;   /* Guards the two below. */
    uint32_t *free_slots;           /* A stack. */
    size_t n_free, allocated_free;
    atomic_uint32_t n_slots;        /* Slots ever used. */

    atomic_count n_live;            /* Flows in the kernel. */

    /* Ticks whenever a filter starts to count anew.  A dump notes it before
     * it asks the kernel; counters that were read before a flow's 'epoch' are
     * not that filter's. */
    atomic_uint64_t epoch;
};

void tcb_flow_table_init(struct tcb_flow_table *);
/* No flow may be claimed; the caller has waited for readers. */
void tcb_flow_table_destroy(struct tcb_flow_table *);

enum tcb_claim {
    TCB_CLAIM_NEW,              /* A new flow, ADDING. */
    TCB_CLAIM_OLD,              /* An existing one, now BUSY. */
    TCB_CLAIM_DEAD,             /* One without a filter, now ADDING. */
    TCB_CLAIM_NONE,             /* There is none (and 'create' was false). */
    TCB_CLAIM_BUSY,             /* Claimed by someone (and 'wait' was false).*/
    TCB_CLAIM_FULL,             /* The table is full. */
};

enum tcb_claim tcb_flow_claim(struct tcb_flow_table *, const ovs_u128 *ufid,
                              bool create, bool wait, struct tcb_flow **);

/* Ends a claim: the flow is in the kernel. */
void tcb_flow_release(struct tcb_flow_table *, struct tcb_flow *);

/* Ends a claim: the flow is not in the kernel any more, but not forgotten. */
void tcb_flow_release_dead(struct tcb_flow_table *, struct tcb_flow *);

/* Ends a claim: the flow is not in the kernel (any more).  The slot is used
 * again after a grace period. */
void tcb_flow_remove(struct tcb_flow_table *, struct tcb_flow *);

/* Moves a claimed flow to another slot, and thus to another handle; the old
 * slot is never used again (a foreign filter has that handle), or after a
 * grace period, as 'retire_old' says.  Returns the flow at its new place, or
 * NULL if the table is full (the claim stays as it was). */
struct tcb_flow *tcb_flow_move(struct tcb_flow_table *, struct tcb_flow *,
                               bool retire_old);

/* Lock-free lookups.  NULL if there is no such flow. */
struct tcb_flow *tcb_flow_at(const struct tcb_flow_table *, uint32_t slot);
struct tcb_flow *tcb_flow_find(const struct tcb_flow_table *,
                               const ovs_u128 *ufid);

static inline struct tcb_flow *
tcb_flow_by_handle(const struct tcb_flow_table *table, uint32_t handle)
{
    return (handle > TCB_PLACEHOLDER_HANDLE
            ? tcb_flow_at(table, handle - TCB_PLACEHOLDER_HANDLE - 1) : NULL);
}

static inline uint32_t
tcb_flow_handle(const struct tcb_flow *flow)
{
    return flow->slot + TCB_PLACEHOLDER_HANDLE + 1;
}

/* The kernel's identity of the flow's filter. */
struct tcnl_filter_id tcb_flow_filter_id(const struct tcb_flow *);

/* Is 'flow' in the kernel, as 'ufid'?  Lock-free, a snapshot. */
bool tcb_flow_is(const struct tcb_flow *, const ovs_u128 *ufid);

uint64_t tcb_epoch_read(const struct tcb_flow_table *);

/* Applies counters read from the kernel at 'epoch' and fills in 'report'.
 * Returns false if the flow at that slot is not the one the cookie says. */
bool tcb_flow_update(struct tcb_flow_table *, struct tcb_flow *,
                     const struct tcnl_filter_counters *, uint32_t cls_flags,
                     uint64_t epoch, long long int now,
                     struct tcb_flow_report *report);

/* Fills in 'report' from the table alone, without a lock; false if the flow is
 * not live. */
bool tcb_flow_report(struct tcb_flow *, struct tcb_flow_report *report);

/* The same for a flow that the caller has claimed, in any state. */
void tcb_flow_totals(struct tcb_flow *, struct tcb_flow_report *report);

/* The highest counters seen of the flow's present filter. */
struct tcnl_stats tcb_flow_kernel_counters(const struct tcb_flow *);

/* The filter of a claimed flow starts (again) at zero: what the
 * filter before it counted becomes the base. */
void tcb_flow_restart_counters(struct tcb_flow_table *, struct tcb_flow *);

/* Takes over final counters of a claimed flow. */
void tcb_flow_final_counters(struct tcb_flow_table *, struct tcb_flow *,
                             const struct tcnl_stats *final);

/* Adds to the flow 'ufid', if it is still there, what an earlier filter of it
 * has counted in the end, beyond what was known of that. */
void tcb_flow_add_counters(struct tcb_flow_table *, const ovs_u128 *ufid,
                           const struct tcnl_stats *known,
                           const struct tcnl_stats *final);

/* Whole dumps in a row without a flow that prove it gone. */
#define TCB_GONE_AFTER 2

/* Notes that a whole dump begun at 'epoch' did not contain the flow.  Returns
 * how many in a row; 0 if the flow is not live, or newer. */
unsigned int tcb_flow_note_missed(struct tcb_flow_table *, struct tcb_flow *,
                          uint64_t epoch);

/* No packet gets to 'chain' in TC any more, while in the kernel datapath they
 * may: its flows are reported as gone, so that OVS puts them anew. */
void tcb_flow_table_orphan_chain(struct tcb_flow_table *, uint32_t chain);

/* A round has passed: forgets a dead flow that OVS does not ask for. */
void tcb_flow_age_dead(struct tcb_flow_table *, struct tcb_flow *);

/* Begins a claimed flow anew, with all counters at zero. */
void tcb_flow_reset_counters(struct tcb_flow_table *, struct tcb_flow *);

/* Iterates over the slots in use: the number of slots ever used. */
static inline uint32_t
tcb_flow_table_n_slots(const struct tcb_flow_table *table)
{
    uint32_t n;

    atomic_read_explicit(&CONST_CAST(struct tcb_flow_table *, table)->n_slots,
                         &n, memory_order_acquire);
    return n;
}

#endif /* tcb-flow-table.h */
