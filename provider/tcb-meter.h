/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_METER_H
#define TCB_METER_H 1

/* OpenFlow meters as police actions, one each. */

#include "openvswitch/ofp-meter.h"

struct dpif_offload;
struct tcb_offload;

/* Police indexes of ours; OVS's own tc provider has 0x1....... */
#define TCB_POLICE_BASE 0x20000000u
#define TCB_POLICE_MAX  0x2fffffffu

/* Translate between datapath meter ids and police indexes; false if there is
 * no such meter in TC.  Thread-safe, no lock held on return. */
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

/* Deletes police actions that were still bound when OVS deleted their meters.
 * Called once per dump round; costs nothing when there are none. */
void tcb_meters_retry(const struct tcb_offload *);

/* For tcb-show. */
struct tcb_meter_summary {
    unsigned int n_meters;      /* With a police action. */
    unsigned int n_refused;     /* Meters TC cannot express. */
    unsigned int n_dying;       /* Deleted by OVS, still bound in TC. */
};
void tcb_meters_summary(const struct tcb_offload *,
                        struct tcb_meter_summary *);

int tcb_meter_set(const struct dpif_offload *, ofproto_meter_id,
                  struct ofputil_meter_config *);
int tcb_meter_get(const struct dpif_offload *, ofproto_meter_id,
                  struct ofputil_meter_stats *);
int tcb_meter_del(const struct dpif_offload *, ofproto_meter_id,
                  struct ofputil_meter_stats *);

#endif /* tcb-meter.h */
