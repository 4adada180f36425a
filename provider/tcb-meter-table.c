/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-meter-table.h"

#include <errno.h>

#include "hash.h"
#include "openvswitch/vlog.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(tcb_meter_table);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);

/* Lookups. */

struct tcb_meter *
tcb_meter_find(const struct tcb_meters *meters, uint32_t meter_id)
    OVS_REQUIRES(meters->mutex)
{
    struct tcb_meter *meter;

    HMAP_FOR_EACH_WITH_HASH (meter, id_node, hash_int(meter_id, 0),
                             &meters->by_id) {
        if (meter->meter_id == meter_id) {
            return meter;
        }
    }
    return NULL;
}

struct tcb_meter *
tcb_meter_find_police(const struct tcb_meters *meters, uint32_t index)
    OVS_REQUIRES(meters->mutex)
{
    struct tcb_meter *meter;

    HMAP_FOR_EACH_WITH_HASH (meter, police_node, hash_int(index, 0),
                             &meters->by_police) {
        if (meter->change.police.index == index) {
            return meter;
        }
    }
    return NULL;
}

struct tcb_meter *
tcb_meter_lookup(struct tcb_meters *meters, uint32_t meter_id)
    OVS_REQUIRES(meters->io_mutex)
{
    struct tcb_meter *meter;

    ovs_mutex_lock(&meters->mutex);
    meter = tcb_meter_find(meters, meter_id);
    ovs_mutex_unlock(&meters->mutex);
    return meter;
}

/* Changes. */

void
tcb_meter_enqueue(struct tcb_meters *meters, struct tcb_meter *meter,
                  enum tcb_police_op op)
    OVS_REQUIRES(meters->io_mutex)
{
    meter->change.op = op;
    if (!meter->queued) {
        ovs_list_push_back(&meters->queue, &meter->change.node);
        meter->queued = true;
        atomic_count_inc(&meters->n_queued);
    }
}

void
tcb_meter_dequeue(struct tcb_meters *meters, struct tcb_meter *meter)
    OVS_REQUIRES(meters->io_mutex)
{
    if (meter->queued) {
        ovs_list_remove(&meter->change.node);
        meter->queued = false;
        atomic_count_dec(&meters->n_queued);
    }
}

bool
tcb_meter_assign_index(struct tcb_meters *meters, struct tcb_meter *meter)
{
    uint32_t index;

    if (!tcb_police_index_alloc(&index)) {
        return false;
    }
    ovs_mutex_lock(&meters->mutex);
    meter->change.police.index = index;
    hmap_insert(&meters->by_police, &meter->police_node, hash_int(index, 0));
    ovs_mutex_unlock(&meters->mutex);
    return true;
}

void
tcb_meter_take_index(struct tcb_meters *meters, struct tcb_meter *meter)
{
    ovs_mutex_lock(&meters->mutex);
    hmap_remove(&meters->by_police, &meter->police_node);
    meter->change.police.index = 0;
    ovs_mutex_unlock(&meters->mutex);
}

void
tcb_meter_set_state(struct tcb_meters *meters, struct tcb_meter *meter,
                    enum tcb_meter_state state)
{
    ovs_mutex_lock(&meters->mutex);
    meter->state = state;
    ovs_mutex_unlock(&meters->mutex);
}

static void
log_refusal(const struct tcb_meter *meter, uint32_t index, const char *what,
            const struct tcnl_error *error)
{
    VLOG_INFO_RL(&rl, "meter %"PRIu32" %s: TC refused police 0x%"PRIx32": "
                 "%s%s%s", meter->meter_id, what, index,
                 ovs_strerror(error->error), error->text[0] ? ": " : "",
                 error->text);
}

void
tcb_meters_add_dying(struct tcb_meters *meters, uint32_t index)
    OVS_REQUIRES(meters->io_mutex)
{
    struct tcb_meter *meter = xzalloc(sizeof *meter);

    meter->state = TCB_METER_DYING;
    meter->change.police.index = index;
    atomic_count_inc(&meters->n_dying);
    ovs_mutex_lock(&meters->mutex);
    hmap_insert(&meters->by_police, &meter->police_node, hash_int(index, 0));
    ovs_mutex_unlock(&meters->mutex);
    ovs_list_push_back(&meters->dying, &meter->change.node);
}

/* An index that somebody else has is not given out again, and the meter gets
 * another.  What was refused otherwise may be there all the same, if the
 * answer was lost, and is deleted. */
static void
new_done(struct tcb_meters *meters, struct tcb_meter *meter,
         const struct tcnl_error *error)
    OVS_REQUIRES(meters->io_mutex)
{
    uint32_t index = meter->change.police.index;

    if (!error->error) {
        tcb_meter_set_state(meters, meter, TCB_METER_IN_TC);
        return;
    }
    tcb_meter_take_index(meters, meter);
    if (error->error == EEXIST && tcb_meter_assign_index(meters, meter)) {
        tcb_meter_enqueue(meters, meter, TCB_POLICE_NEW);
        return;
    }
    if (error->error != EEXIST) {
        tcb_meters_add_dying(meters, index);
    }
    tcb_meter_set_state(meters, meter, TCB_METER_REFUSED);
    log_refusal(meter, index, "stays in the kernel datapath, with the flows "
                "that use it", error);
}

static void
replace_done(const struct tcb_meter *meter, const struct tcnl_error *error)
{
    if (error->error) {
        log_refusal(meter, meter->change.police.index,
                    "keeps its earlier rate in TC", error);
    }
}

/* Filters release a police one grace period after they are deleted. */
static void
delete_done(struct tcb_meters *meters, struct tcb_meter *meter,
            const struct tcnl_error *error)
    OVS_REQUIRES(meters->io_mutex)
{
    uint32_t index = meter->change.police.index;

    if (error->error) {
        VLOG_DBG("police 0x%"PRIx32" cannot be deleted yet: %s", index,
                 ovs_strerror(error->error));
        ovs_list_push_back(&meters->dying, &meter->change.node);
        return;
    }
    tcb_meter_take_index(meters, meter);
    atomic_count_dec(&meters->n_dying);
    tcb_police_index_free(index);
    free(meter);
}

static void
change_done(void *meters_, struct tcb_police_change *change,
            const struct tcnl_error *error)
{
    struct tcb_meter *meter = CONTAINER_OF(change, struct tcb_meter, change);
    struct tcb_meters *meters = meters_;

    meter->queued = false;
    meter->error = error->error;
    atomic_count_dec(&meters->n_queued);
    switch (change->op) {
    case TCB_POLICE_NEW:
        new_done(meters, meter, error);
        break;
    case TCB_POLICE_REPLACE:
        replace_done(meter, error);
        break;
    case TCB_POLICE_DELETE:
        delete_done(meters, meter, error);
        break;
    }
}

void
tcb_meters_flush(struct tcb_meters *meters)
    OVS_REQUIRES(meters->io_mutex)
{
    tcb_police_apply(&meters->io, &meters->queue, change_done, meters);
}

void
tcb_meters_enqueue_dying(struct tcb_meters *meters)
    OVS_REQUIRES(meters->io_mutex)
{
    struct ovs_list later = OVS_LIST_INITIALIZER(&later);

    while (!ovs_list_is_empty(&meters->dying)) {
        struct tcb_meter *meter
            = CONTAINER_OF(ovs_list_pop_front(&meters->dying),
                           struct tcb_meter, change.node);
        bool used;

        ovs_mutex_lock(&meters->mutex);
        used = meter->refs > 0;
        ovs_mutex_unlock(&meters->mutex);
        if (used) {
            ovs_list_push_back(&later, &meter->change.node);
        } else {
            tcb_meter_enqueue(meters, meter, TCB_POLICE_DELETE);
        }
    }
    ovs_list_push_back_all(&meters->dying, &later);
}
