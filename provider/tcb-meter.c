/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-meter.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "hash.h"
#include "openvswitch/ofp-meter.h"
#include "openvswitch/vlog.h"
#include "tcb-meter-table.h"
#include "tcb-offload.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(tcb_meter);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);

/* Calls that are no more than this many milliseconds apart are of a bulk:
 * changes wait for each other, up to as many as one send takes, and queries
 * share a dump. */
#define BULK_MSEC 10
#define BULK_CHANGES 64

/* How long queries share a dump, in milliseconds: at least SHARE_MSEC, and
 * SHARE_TIMES as long as the dump took, so that dumps never take more than a
 * tenth of the time. */
#define SHARE_MSEC 100
#define SHARE_TIMES 10

/* How long closing waits for police actions that are still bound by filters
 * that were just deleted: tries, and microseconds between them. */
#define CLOSE_TRIES 100
#define CLOSE_WAIT_US 10000

/* Bulks. */

/* Has this call come alone?  Such a change is made at once. */
static bool
is_alone(long long int *last)
{
    long long int now = time_msec();
    bool alone = now - *last > BULK_MSEC;

    *last = now;
    return alone;
}

static void
flush_if_due(struct tcb_meters *meters, bool alone)
    OVS_REQUIRES(meters->io_mutex)
{
    if (alone || atomic_count_get(&meters->n_queued) >= BULK_CHANGES) {
        tcb_meters_flush(meters);
    }
}

void
tcb_meters_end_round(const struct tcb_offload *offload)
{
    struct tcb_meters *meters = offload->meters;

    if (atomic_count_get(&meters->n_dying)
        || atomic_count_get(&meters->n_queued)) {
        ovs_mutex_lock(&meters->io_mutex);
        tcb_meters_enqueue_dying(meters);
        tcb_meters_flush(meters);
        ovs_mutex_unlock(&meters->io_mutex);
    }
}

/* For flows. */

bool
tcb_meter_to_police(const struct tcb_offload *offload, uint32_t meter_id,
                    uint32_t *index)
{
    struct tcb_meters *meters = offload->meters;
    enum tcb_meter_state state = TCB_METER_KNOWN;

    for (int i = 0; i < 2; i++) {
        const struct tcb_meter *meter;

        ovs_mutex_lock(&meters->mutex);
        meter = tcb_meter_find(meters, meter_id);
        state = meter ? meter->state : TCB_METER_KNOWN;
        *index = meter ? meter->change.police.index : 0;
        ovs_mutex_unlock(&meters->mutex);
        if (state != TCB_METER_NEW) {
            break;
        }
        ovs_mutex_lock(&meters->io_mutex);
        tcb_meters_flush(meters);
        ovs_mutex_unlock(&meters->io_mutex);
    }
    return state == TCB_METER_IN_TC;
}

bool
tcb_meter_from_police(const struct tcb_offload *offload, uint32_t index,
                      uint32_t *meter_id)
{
    struct tcb_meters *meters = offload->meters;
    const struct tcb_meter *meter;

    ovs_mutex_lock(&meters->mutex);
    meter = tcb_meter_find_police(meters, index);
    if (meter) {
        *meter_id = meter->meter_id;
    }
    ovs_mutex_unlock(&meters->mutex);
    return meter != NULL;
}

bool
tcb_meter_ref(const struct tcb_offload *offload, uint32_t index)
{
    struct tcb_meters *meters = offload->meters;
    struct tcb_meter *meter;
    bool ok;

    ovs_mutex_lock(&meters->mutex);
    meter = tcb_meter_find_police(meters, index);
    ok = meter && meter->state == TCB_METER_IN_TC;
    if (ok) {
        meter->refs++;
    }
    ovs_mutex_unlock(&meters->mutex);
    return ok;
}

void
tcb_meter_unref(const struct tcb_offload *offload, uint32_t index)
{
    struct tcb_meters *meters = offload->meters;
    struct tcb_meter *meter;

    ovs_mutex_lock(&meters->mutex);
    meter = tcb_meter_find_police(meters, index);
    ovs_assert(meter && meter->refs);
    meter->refs--;
    ovs_mutex_unlock(&meters->mutex);
}

/* From OpenFlow. */

/* A kilobit is 1000 bits, and the burst is as large as what a second lets
 * through unless OpenFlow gives one. */
static bool
police_from_config(const struct ofputil_meter_config *config,
                   struct tcnl_police *police)
{
    const struct ofputil_meter_band *band = config->bands;
    uint64_t burst;

    if (config->n_bands != 1 || band->type != OFPMBT13_DROP || !band->rate) {
        return false;
    }
    burst = config->flags & OFPMF13_BURST && band->burst_size
            ? band->burst_size : band->rate;

    memset(police, 0, sizeof *police);
    if (config->flags & OFPMF13_PKTPS) {
        police->pkt_rate = band->rate;
        police->pkt_burst = burst;
    } else {
        police->rate = band->rate * UINT64_C(1000) / 8;
        police->burst = burst * 1000 / 8;
    }
    return true;
}

static struct tcb_meter *
meter_create(struct tcb_meters *meters, uint32_t meter_id)
    OVS_REQUIRES(meters->io_mutex)
{
    struct tcb_meter *meter = xzalloc(sizeof *meter);

    meter->meter_id = meter_id;
    meter->state = TCB_METER_KNOWN;
    ovs_mutex_lock(&meters->mutex);
    hmap_insert(&meters->by_id, &meter->id_node, hash_int(meter_id, 0));
    ovs_mutex_unlock(&meters->mutex);
    return meter;
}

/* Brings a meter whose rates are set into TC, or changes it there. */
static void
meter_install(struct tcb_meters *meters, struct tcb_meter *meter)
    OVS_REQUIRES(meters->io_mutex)
{
    meter->change.police.cls_flags = meters->cls_flags;
    if (meter->state == TCB_METER_IN_TC) {
        tcb_meter_enqueue(meters, meter, TCB_POLICE_REPLACE);
    } else if (meter->state == TCB_METER_NEW) {
        /* It has not been sent yet. */
    } else if (tcb_meter_assign_index(meters, meter)) {
        tcb_meter_set_state(meters, meter, TCB_METER_NEW);
        tcb_meter_enqueue(meters, meter, TCB_POLICE_NEW);
    } else {
        meter->error = ENOSPC;
    }
}

/* Takes a meter out of 'by_id'; its police, if any, goes as soon as it can. */
static void
meter_forget(struct tcb_meters *meters, struct tcb_meter *meter)
    OVS_REQUIRES(meters->io_mutex)
{
    bool in_tc = meter->state == TCB_METER_IN_TC;
    bool used;

    tcb_meter_dequeue(meters, meter);
    ovs_mutex_lock(&meters->mutex);
    hmap_remove(&meters->by_id, &meter->id_node);
    used = meter->refs > 0;
    if (in_tc) {
        meter->state = TCB_METER_DYING;
        atomic_count_inc(&meters->n_dying);
    }
    ovs_mutex_unlock(&meters->mutex);

    if (in_tc && used) {
        ovs_list_push_back(&meters->dying, &meter->change.node);
    } else if (in_tc) {
        tcb_meter_enqueue(meters, meter, TCB_POLICE_DELETE);
    } else {
        uint32_t index = meter->change.police.index;

        if (index) {
            tcb_meter_take_index(meters, meter);
            tcb_police_index_free(index);
        }
        free(meter);
    }
}

/* OVS tells every provider of each meter.  One that has no ports needs no
 * police actions. */
static bool
offloads_something(const struct tcb_offload *offload)
{
    return tcb_offload_enabled(offload)
           && dpif_offload_port_mgr_port_count(&offload->up);
}

static void
set_rates(struct tcb_meter *meter, const struct tcnl_police *police)
{
    uint32_t index = meter->change.police.index;

    meter->change.police = *police;
    meter->change.police.index = index;
}

int
tcb_meter_set(const struct dpif_offload *offload_, ofproto_meter_id id,
              struct ofputil_meter_config *config)
{
    struct tcb_offload *offload = tcb_offload_cast(offload_);
    struct tcb_meters *meters = offload->meters;
    struct tcnl_police police;
    bool expressible = police_from_config(config, &police);
    struct tcb_meter *meter;
    int result;
    bool alone;

    ovs_mutex_lock(&meters->io_mutex);
    alone = is_alone(&meters->last_change);
    meter = tcb_meter_lookup(meters, id.uint32);
    if (meter && !expressible) {
        meter_forget(meters, meter);
        meter = NULL;
    }
    if (!meter) {
        meter = meter_create(meters, id.uint32);
    }
    meter->error = 0;
    if (!expressible) {
        meter->error = EOPNOTSUPP;
        tcb_meter_set_state(meters, meter, TCB_METER_REFUSED);
        VLOG_INFO_RL(&rl, "meter %"PRIu32" stays in the kernel datapath, with "
                     "the flows that use it: TC has one drop band with a "
                     "nonzero rate", id.uint32);
    } else {
        ovs_mutex_lock(&meters->mutex);
        set_rates(meter, &police);
        ovs_mutex_unlock(&meters->mutex);
        if (offloads_something(offload)) {
            meter_install(meters, meter);
        }
    }
    if (alone) {
        tcb_meters_enqueue_dying(meters);
    }
    flush_if_due(meters, alone);
    result = meter->error;
    ovs_mutex_unlock(&meters->io_mutex);
    return result;
}

int
tcb_meter_del(const struct dpif_offload *offload, ofproto_meter_id id,
              struct ofputil_meter_stats *stats)
{
    struct tcb_meters *meters = tcb_offload_cast(offload)->meters;
    struct tcb_meter *meter;

    if (stats) {
        tcb_meter_get(offload, id, stats);
    }
    ovs_mutex_lock(&meters->io_mutex);
    meter = tcb_meter_lookup(meters, id.uint32);
    if (meter) {
        meter_forget(meters, meter);
        tcb_plans_outdate(tcb_offload_cast(offload));
        flush_if_due(meters, is_alone(&meters->last_change));
    }
    ovs_mutex_unlock(&meters->io_mutex);
    return meter ? 0 : ENOENT;
}

/* Counters. */

static void
take_stats(void *meters_, const struct tcnl_police_info *info)
{
    struct tcb_meters *meters = meters_;
    struct tcb_meter *meter;

    ovs_mutex_lock(&meters->mutex);
    meter = tcb_meter_find_police(meters, info->police.index);
    if (meter) {
        meter->stats = info->stats;
        meter->dump = meters->dump;
    }
    ovs_mutex_unlock(&meters->mutex);
}

/* Reads the counters of all meters, unless the last dump is still good. */
static void
refresh(struct tcb_meters *meters)
    OVS_REQUIRES(meters->io_mutex)
{
    long long int start = time_msec();

    if (start >= meters->dump_ends && !hmap_is_empty(&meters->by_police)) {
        meters->dump++;
        if (!tcb_police_dump(&meters->io, take_stats, meters)) {
            long long int end = time_msec();

            meters->dump_ends = end + MAX(SHARE_MSEC,
                                          SHARE_TIMES * (end - start));
        }
    }
}

/* One meter alone is asked for; of many that come together the first query
 * asks for all. */
static int
read_stats(struct tcb_meters *meters, const struct tcb_meter *meter,
           struct tcnl_stats *stats)
    OVS_REQUIRES(meters->io_mutex)
{
    if (!is_alone(&meters->last_query)) {
        refresh(meters);
    }
    if (time_msec() < meters->dump_ends && meter->dump == meters->dump) {
        *stats = meter->stats;
        return 0;
    }
    return tcb_police_get(&meters->io, meter->change.police.index, stats);
}

int
tcb_meter_get(const struct dpif_offload *offload, ofproto_meter_id id,
              struct ofputil_meter_stats *stats)
{
    struct tcb_meters *meters = tcb_offload_cast(offload)->meters;
    const struct tcb_meter *meter;
    struct tcnl_stats now;
    int error = ENOENT;

    ovs_mutex_lock(&meters->io_mutex);
    meter = tcb_meter_lookup(meters, id.uint32);
    if (meter && meter->state == TCB_METER_NEW) {
        tcb_meters_flush(meters);
    }
    if (meter && meter->state == TCB_METER_IN_TC) {
        error = read_stats(meters, meter, &now);
    }
    ovs_mutex_unlock(&meters->io_mutex);

    if (!error) {
        stats->packet_in_count += now.packets;
        stats->byte_in_count += now.bytes;
        if (stats->n_bands >= 1) {
            stats->bands[0].packet_count += now.drops;
        }
    }
    return error;
}

/* Start and end. */

struct tcb_meters *
tcb_meters_create(void)
{
    struct tcb_meters *meters = xzalloc(sizeof *meters);

    ovs_mutex_init(&meters->mutex);
    ovs_mutex_init(&meters->io_mutex);
    ovs_mutex_lock(&meters->mutex);
    hmap_init(&meters->by_id);
    hmap_init(&meters->by_police);
    ovs_mutex_unlock(&meters->mutex);
    ovs_mutex_lock(&meters->io_mutex);
    ovs_list_init(&meters->queue);
    ovs_list_init(&meters->dying);
    meters->last_change = meters->last_query = LLONG_MIN / 2;
    ovs_mutex_unlock(&meters->io_mutex);
    atomic_count_init(&meters->n_queued, 0);
    atomic_count_init(&meters->n_dying, 0);
    return meters;
}

/* Left-overs of an earlier run become dying meters: those that a filter still
 * holds go later, and their index is not used meanwhile. */
static void
adopt_leftover(void *meters_, const struct tcnl_police_info *info)
{
    struct tcb_meters *meters = meters_;
    uint32_t index = info->police.index;

    if (index >= TCB_POLICE_BASE && index <= TCB_POLICE_MAX) {
        tcb_police_index_reserve(index);
        tcb_meters_add_dying(meters, index);
    }
}

/* This happens once in the life of the process, before it has police actions
 * of its own. */
static void
adopt_leftovers(struct tcb_meters *meters)
    OVS_REQUIRES(meters->io_mutex)
{
    static bool done;

    if (!done) {
        done = true;
        tcb_police_dump(&meters->io, adopt_leftover, meters);
    }
}

void
tcb_meters_enable(struct tcb_offload *offload)
{
    struct tcb_meters *meters = offload->meters;
    struct tcb_meter *meter;

    if (!offloads_something(offload)) {
        return;
    }
    ovs_mutex_lock(&meters->io_mutex);
    meters->cls_flags = offload->cls_flags;
    adopt_leftovers(meters);
    tcb_meters_enqueue_dying(meters);
    /* Who adds or removes meters by id holds 'io_mutex'. */
    HMAP_FOR_EACH (meter, id_node, &meters->by_id) {
        if (meter->state == TCB_METER_KNOWN) {
            meter_install(meters, meter);
        }
    }
    tcb_meters_flush(meters);
    ovs_mutex_unlock(&meters->io_mutex);
}

/* Filters that were just deleted hold their police for a grace period. */
static void
wait_for_dying(struct tcb_meters *meters)
    OVS_REQUIRES(meters->io_mutex)
{
    unsigned int n;

    for (int i = 0; i < CLOSE_TRIES && atomic_count_get(&meters->n_dying);
         i++) {
        if (i) {
            usleep(CLOSE_WAIT_US);
        }
        tcb_meters_enqueue_dying(meters);
        tcb_meters_flush(meters);
    }
    n = atomic_count_get(&meters->n_dying);
    if (n) {
        VLOG_WARN("%u police actions of ours are still used by foreign "
                  "filters and stay", n);
    }
}

void
tcb_meters_destroy(struct tcb_meters *meters)
{
    struct tcb_meter *meter;

    ovs_mutex_lock(&meters->io_mutex);
    HMAP_FOR_EACH_SAFE (meter, id_node, &meters->by_id) {
        meter_forget(meters, meter);
    }
    wait_for_dying(meters);
    tcb_police_io_close(&meters->io);
    ovs_mutex_unlock(&meters->io_mutex);

    ovs_mutex_lock(&meters->mutex);
    HMAP_FOR_EACH_SAFE (meter, police_node, &meters->by_police) {
        hmap_remove(&meters->by_police, &meter->police_node);
        free(meter);
    }
    hmap_destroy(&meters->by_id);
    hmap_destroy(&meters->by_police);
    ovs_mutex_unlock(&meters->mutex);
    ovs_mutex_destroy(&meters->io_mutex);
    ovs_mutex_destroy(&meters->mutex);
    free(meters);
}

/* For people. */

void
tcb_meters_summary(const struct tcb_offload *offload,
                   struct tcb_meter_summary *s)
{
    struct tcb_meters *meters = offload->meters;
    const struct tcb_meter *meter;

    memset(s, 0, sizeof *s);
    ovs_mutex_lock(&meters->mutex);
    HMAP_FOR_EACH (meter, id_node, &meters->by_id) {
        s->n_meters += meter->state == TCB_METER_IN_TC;
        s->n_refused += meter->state == TCB_METER_REFUSED;
    }
    s->n_dying = atomic_count_get(&meters->n_dying);
    ovs_mutex_unlock(&meters->mutex);
}

static int
compare_rows(const void *a_, const void *b_)
{
    const struct tcb_meter_row *a = a_, *b = b_;

    return a->meter_id < b->meter_id ? -1 : a->meter_id > b->meter_id;
}

size_t
tcb_meters_list(const struct tcb_offload *offload, struct tcb_meter_row **rows)
{
    struct tcb_meters *meters = offload->meters;
    const struct tcb_meter *meter;
    size_t n = 0;

    ovs_mutex_lock(&meters->io_mutex);
    tcb_meters_flush(meters);
    refresh(meters);
    ovs_mutex_lock(&meters->mutex);
    *rows = xcalloc(hmap_count(&meters->by_id), sizeof **rows);
    HMAP_FOR_EACH (meter, id_node, &meters->by_id) {
        (*rows)[n++] = (struct tcb_meter_row) {
            .meter_id = meter->meter_id,
            .state = meter->state,
            .refs = meter->refs,
            .police = meter->change.police,
            .stats = meter->stats,
        };
    }
    ovs_mutex_unlock(&meters->mutex);
    ovs_mutex_unlock(&meters->io_mutex);
    qsort(*rows, n, sizeof **rows, compare_rows);
    return n;
}
