/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_METER_H
#define TCB_METER_H 1

/* OpenFlow meters as police actions, one each.
 *
 * A change of a meter goes to the kernel at once when it comes alone.  Changes
 * that come close to each other wait for company: until there are enough for
 * one send, until a flow or a query needs one of them, or until the next round
 * of dumps, which is half a second at most.  OVS ignores the results of these
 * calls; what the kernel refuses is logged, and seen in tc-batch/show.
 *
 * Functions without another word may be called by any thread. */

#include "openvswitch/ofp-meter.h"
#include "tcb-police.h"
#include "tcnl/stats.h"

struct dpif_offload;
struct tcb_offload;

/* Translate between datapath meter ids and police indexes; false if there is
 * no such meter in TC.  No lock is held on return. */
bool tcb_meter_to_police(const struct tcb_offload *, uint32_t meter_id,
                         uint32_t *police_index);
bool tcb_meter_from_police(const struct tcb_offload *, uint32_t police_index,
                           uint32_t *meter_id);

/* References of flows to a meter's police action: it is not deleted before the
 * last of them is gone.  tcb_meter_ref() is false if it is going already. */
bool tcb_meter_ref(const struct tcb_offload *, uint32_t police_index);
void tcb_meter_unref(const struct tcb_offload *, uint32_t police_index);

struct tcb_meters *tcb_meters_create(void);
/* Deletes every police action of ours. */
void tcb_meters_destroy(struct tcb_meters *);
/* Offload was switched on, or a port came: removes left-overs of an earlier
 * run, creates the police actions of meters that are known already.  Main
 * thread. */
void tcb_meters_enable(struct tcb_offload *);

/* Sends the changes that still wait, and deletes police actions that were
 * still bound when OVS deleted their meters.  Called once per dump round;
 * costs nothing when there are none. */
void tcb_meters_end_round(const struct tcb_offload *);

/* For tcb-show. */
enum tcb_meter_state {
    TCB_METER_KNOWN,            /* Offload is not enabled yet. */
    TCB_METER_REFUSED,          /* TC cannot do it, or refused it. */
    TCB_METER_NEW,              /* Its police is about to be made. */
    TCB_METER_IN_TC,
    TCB_METER_DYING,            /* Deleted by OVS; its police is still used. */
};

struct tcb_meter_summary {
    unsigned int n_meters;      /* With a police action. */
    unsigned int n_refused;     /* Meters TC cannot express. */
    unsigned int n_dying;       /* Deleted by OVS, still bound in TC. */
};
void tcb_meters_summary(const struct tcb_offload *,
                        struct tcb_meter_summary *);

struct tcb_meter_row {
    uint32_t meter_id;          /* The datapath's, as in dump-flows. */
    enum tcb_meter_state state;
    unsigned int refs;          /* Flows that use it. */
    struct tcnl_police police;
    struct tcnl_stats stats;    /* All 0 if it is not in TC. */
};
/* Stores all meters that OVS has, by id, in '*rows', which the caller frees;
 * returns how many. */
size_t tcb_meters_list(const struct tcb_offload *, struct tcb_meter_row **);

/* Callbacks of struct dpif_offload_class.  The main thread sets and gets, an
 * RCU callback deletes. */
int tcb_meter_set(const struct dpif_offload *, ofproto_meter_id,
                  struct ofputil_meter_config *);
int tcb_meter_get(const struct dpif_offload *, ofproto_meter_id,
                  struct ofputil_meter_stats *);
int tcb_meter_del(const struct dpif_offload *, ofproto_meter_id,
                  struct ofputil_meter_stats *);

#endif /* tcb-meter.h */
