/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_METER_TABLE_H
#define TCB_METER_TABLE_H 1

/* For tcb-meter.c: the meters, and the changes of their police actions that
 * are yet to be made. */

#include "openvswitch/hmap.h"
#include "openvswitch/list.h"
#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "tcb-meter.h"
#include "tcb-police.h"
#include "tcnl/stats.h"

struct tcb_meter {
    struct hmap_node id_node;       /* In 'by_id', unless dying. */
    struct hmap_node police_node;   /* In 'by_police', if it has an index. */
    uint32_t meter_id;
    enum tcb_meter_state state;
    unsigned int refs;              /* Flows that use it. */
    int error;                      /* Of its last change. */

    /* What is to be done, or was last, in 'queue', 'dying', or no list.  Its
     * index is that of the meter's police, 0 if it has none. */
    struct tcb_police_change change;
    bool queued;                    /* It is in 'queue'. */

    struct tcnl_stats stats;        /* From dump number 'dump'. */
    uint64_t dump;
};

struct tcb_meters {
    struct ovs_mutex mutex;     /* A leaf: guards maps, states and counts. */
    struct hmap by_id OVS_GUARDED;
    struct hmap by_police OVS_GUARDED;
    atomic_count n_queued;      /* Also read without a mutex. */
    atomic_count n_dying;

    /* One thread at a time talks to the kernel; taken before 'mutex'. */
    struct ovs_mutex io_mutex;
    struct tcb_police_io io OVS_GUARDED;
    struct ovs_list queue OVS_GUARDED;  /* To be done with the next send. */
    struct ovs_list dying OVS_GUARDED;  /* To be deleted when that is possible;
                                         * not those in 'queue'. */
    long long int last_change OVS_GUARDED;
    long long int last_query OVS_GUARDED;
    uint64_t dump OVS_GUARDED;          /* Number of the last dump... */
    long long int dump_ends OVS_GUARDED;    /* ...and until when it is good. */
    uint32_t cls_flags;         /* The filters'; set once at enabling. */
};

/* By the datapath's id, and by the police's index. */
struct tcb_meter *tcb_meter_find(const struct tcb_meters *meters,
                                 uint32_t meter_id)
    OVS_REQUIRES(meters->mutex);
struct tcb_meter *tcb_meter_find_police(const struct tcb_meters *meters,
                                        uint32_t index)
    OVS_REQUIRES(meters->mutex);
/* By id; the meter stays valid while the caller holds 'io_mutex'. */
struct tcb_meter *tcb_meter_lookup(struct tcb_meters *meters,
                                   uint32_t meter_id)
    OVS_REQUIRES(meters->io_mutex);

void tcb_meter_set_state(struct tcb_meters *, struct tcb_meter *,
                         enum tcb_meter_state);

/* Gives the meter an index that no other has; false if there is none.  And
 * takes it away, which does not free it. */
bool tcb_meter_assign_index(struct tcb_meters *, struct tcb_meter *);
void tcb_meter_take_index(struct tcb_meters *, struct tcb_meter *);

/* Puts a change into the queue, in the place of an earlier one of the same
 * meter, and out of it. */
void tcb_meter_enqueue(struct tcb_meters *meters, struct tcb_meter *,
                       enum tcb_police_op)
    OVS_REQUIRES(meters->io_mutex);
void tcb_meter_dequeue(struct tcb_meters *meters, struct tcb_meter *)
    OVS_REQUIRES(meters->io_mutex);
/* A police of ours that no meter has, to be deleted when that is possible. */
void tcb_meters_add_dying(struct tcb_meters *meters, uint32_t index)
    OVS_REQUIRES(meters->io_mutex);
/* Puts those deletes into the queue that may be possible by now. */
void tcb_meters_enqueue_dying(struct tcb_meters *meters)
    OVS_REQUIRES(meters->io_mutex);
/* Makes the changes in the queue.  It frees the meters that it deletes. */
void tcb_meters_flush(struct tcb_meters *meters)
    OVS_REQUIRES(meters->io_mutex);

#endif /* tcb-meter-table.h */
