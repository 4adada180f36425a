/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-meter.h"

#include <errno.h>
#include <unistd.h>

#include "hash.h"
#include "id-pool.h"
#include "openvswitch/hmap.h"
#include "openvswitch/ofp-meter.h"
#include "openvswitch/vlog.h"
#include "tcb-offload.h"
#include "tcnl/dump.h"
#include "tcnl/police.h"
#include "tcnl/socket.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(tcb_meter);

static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);

/* Police indexes are of the network namespace, so the pool is the process's.
 * An index comes back only after its police is known to be deleted. */
static struct ovs_mutex pool_mutex = OVS_MUTEX_INITIALIZER;
static struct id_pool *pool OVS_GUARDED_BY(pool_mutex);

/* How long closing waits for police actions that are still bound by filters
 * that were just deleted: tries, and microseconds between them. */
#define CLOSE_TRIES 100
#define CLOSE_WAIT_US 10000

enum meter_state {
    METER_KNOWN,                /* Offload is not enabled yet. */
    METER_REFUSED,              /* TC cannot do it, or refused it. */
    METER_IN_TC,
    METER_DYING,                /* Deleted by OVS; its police is still used. */
};

struct meter {
    struct hmap_node id_node;       /* In 'by_id', unless dying. */
    struct hmap_node police_node;   /* In 'by_police', if it has an index. */
    uint32_t meter_id;
    uint32_t index;                 /* Of its police; 0 if it has none. */
    enum meter_state state;
    unsigned int refs;              /* Flows that use it. */
    struct tcnl_police police;      /* What was asked for. */
};

struct tcb_meters {
    struct ovs_mutex mutex;     /* A leaf: guards maps and meters. */
    struct hmap by_id OVS_GUARDED;
    struct hmap by_police OVS_GUARDED;
    atomic_count n_dying;

    /* One thread at a time talks to the kernel; taken before 'mutex'. */
    struct ovs_mutex io_mutex;
    struct tcnl_transport *transport OVS_GUARDED;
    uint32_t cls_flags;         /* The filters'; set once at enabling. */
};

/* Indexes. */

static struct id_pool *
get_pool(void)
    OVS_REQUIRES(pool_mutex)
{
    if (!pool) {
        pool = id_pool_create(TCB_POLICE_BASE,
                              TCB_POLICE_MAX - TCB_POLICE_BASE + 1);
    }
    return pool;
}

static bool
index_alloc(uint32_t *index)
{
    bool ok;

    ovs_mutex_lock(&pool_mutex);
    ok = id_pool_alloc_id(get_pool(), index);
    ovs_mutex_unlock(&pool_mutex);
    return ok;
}

static void
index_free(uint32_t index)
{
    ovs_mutex_lock(&pool_mutex);
    id_pool_free_id(get_pool(), index);
    ovs_mutex_unlock(&pool_mutex);
}

/* Keeps 'index', which nobody may have, from being allocated. */
static void
index_reserve(uint32_t index)
{
    ovs_mutex_lock(&pool_mutex);
    id_pool_add(get_pool(), index);
    ovs_mutex_unlock(&pool_mutex);
}

/* Lookups. */

static struct meter *
find_by_id(const struct tcb_meters *meters, uint32_t meter_id)
    OVS_REQUIRES(meters->mutex)
{
    struct meter *meter;

    HMAP_FOR_EACH_WITH_HASH (meter, id_node, hash_int(meter_id, 0),
                             &meters->by_id) {
        if (meter->meter_id == meter_id) {
            return meter;
        }
    }
    return NULL;
}

static struct meter *
find_by_police(const struct tcb_meters *meters, uint32_t index)
    OVS_REQUIRES(meters->mutex)
{
    struct meter *meter;

    HMAP_FOR_EACH_WITH_HASH (meter, police_node, hash_int(index, 0),
                             &meters->by_police) {
        if (meter->index == index) {
            return meter;
        }
    }
    return NULL;
}

bool
tcb_meter_to_police(const struct tcb_offload *offload, uint32_t meter_id,
                    uint32_t *index)
{
    struct tcb_meters *meters = offload->meters;
    struct meter *meter;
    bool found;

    ovs_mutex_lock(&meters->mutex);
    meter = find_by_id(meters, meter_id);
    found = meter && meter->state == METER_IN_TC;
    if (found) {
        *index = meter->index;
    }
    ovs_mutex_unlock(&meters->mutex);
    return found;
}

bool
tcb_meter_from_police(const struct tcb_offload *offload, uint32_t index,
                      uint32_t *meter_id)
{
    struct tcb_meters *meters = offload->meters;
    struct meter *meter;

    ovs_mutex_lock(&meters->mutex);
    meter = find_by_police(meters, index);
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
    struct meter *meter;
    bool ok;

    ovs_mutex_lock(&meters->mutex);
    meter = find_by_police(meters, index);
    ok = meter && meter->state == METER_IN_TC;
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
    struct meter *meter;

    ovs_mutex_lock(&meters->mutex);
    meter = find_by_police(meters, index);
    ovs_assert(meter && meter->refs);
    meter->refs--;
    ovs_mutex_unlock(&meters->mutex);
}

/* Talking to the kernel. */

struct police_request {
    const struct tcnl_police *police;
    uint32_t index;
    bool replace;
};

static int
build_new(struct tcnl_buffer *b, const void *request_)
{
    const struct police_request *request = request_;

    return tcnl_police_put_new(b, request->police, request->replace);
}

static int
build_del(struct tcnl_buffer *b, const void *index)
{
    return tcnl_police_put_del(b, *(const uint32_t *) index, 0);
}

static int
build_get(struct tcnl_buffer *b, const void *index)
{
    return tcnl_police_put_get(b, *(const uint32_t *) index);
}

static int
build_dump(struct tcnl_buffer *b, const void *arg OVS_UNUSED)
{
    return tcnl_police_put_dump(b);
}

static int
open_transport(struct tcb_meters *meters)
    OVS_REQUIRES(meters->io_mutex)
{
    int result;

    if (meters->transport) {
        return 0;
    }
    result = tcnl_socket_open(0, 0, &meters->transport);
    if (result) {
        meters->transport = NULL;
    }
    return result;
}

static int
transact(struct tcb_meters *meters,
         int (*build)(struct tcnl_buffer *, const void *), const void *arg,
         tcnl_reply_cb *cb, void *aux, struct tcnl_error *error)
    OVS_REQUIRES(meters->io_mutex)
{
    int result = open_transport(meters);

    memset(error, 0, sizeof *error);
    return result ? result : tcnl_transact(meters->transport, build, arg, cb,
                                           aux, error);
}

static int
police_set(struct tcb_meters *meters, const struct meter *meter, bool replace)
    OVS_REQUIRES(meters->io_mutex)
{
    struct police_request request = {
        .police = &meter->police,
        .replace = replace,
    };
    struct tcnl_error error;
    int result = transact(meters, build_new, &request, NULL, NULL, &error);

    if (result) {
        VLOG_INFO_RL(&rl, "meter %"PRIu32" stays in the kernel datapath, with "
                     "the flows that use it: TC refused police 0x%"PRIx32": "
                     "%s%s%s", meter->meter_id, meter->index,
                     ovs_strerror(result), error.text[0] ? ": " : "",
                     error.text);
    }
    return result;
}

struct stats_request {
    uint32_t index;
    struct ofputil_meter_stats *stats;
};

static void
add_stats(void *request_, const struct tcnl_police_info *info)
{
    struct stats_request *request = request_;
    struct ofputil_meter_stats *stats = request->stats;

    if (info->police.index == request->index) {
        stats->packet_in_count += info->stats.packets;
        stats->byte_in_count += info->stats.bytes;
        if (stats->n_bands >= 1) {
            stats->bands[0].packet_count += info->stats.drops;
        }
    }
}

static void
take_stats(void *request, unsigned int slot OVS_UNUSED,
           const struct nlmsghdr *nlh)
{
    tcnl_police_parse(nlh, add_stats, request);
}

static int
police_get(struct tcb_meters *meters, uint32_t index,
           struct ofputil_meter_stats *stats)
    OVS_REQUIRES(meters->io_mutex)
{
    struct stats_request request = { .index = index, .stats = stats };
    struct tcnl_error error;

    return transact(meters, build_get, &index, take_stats, &request, &error);
}

/* Deletes the police of a meter that has left 'by_id' and frees the meter.  If
 * it is still bound it stays DYING, to be tried again: filters release it one
 * grace period after they are deleted. */
static void
police_del(struct tcb_meters *meters, struct meter *meter)
    OVS_REQUIRES(meters->io_mutex)
{
    struct tcnl_error error;
    bool in_use;
    int result;

    ovs_mutex_lock(&meters->mutex);
    in_use = meter->refs > 0;
    ovs_mutex_unlock(&meters->mutex);
    if (in_use) {
        return;
    }

    result = transact(meters, build_del, &meter->index, NULL, NULL, &error);
    if (result && result != ENOENT) {
        VLOG_DBG("police 0x%"PRIx32" cannot be deleted yet: %s", meter->index,
                 ovs_strerror(result));
        return;
    }
    ovs_mutex_lock(&meters->mutex);
    hmap_remove(&meters->by_police, &meter->police_node);
    atomic_count_dec(&meters->n_dying);
    ovs_mutex_unlock(&meters->mutex);
    index_free(meter->index);
    free(meter);
}

static void
make_dying(struct tcb_meters *meters, struct meter *meter)
    OVS_REQUIRES(meters->mutex)
{
    meter->state = METER_DYING;
    atomic_count_inc(&meters->n_dying);
}

/* Tries again to delete what could not be deleted. */
static void
retry_dying(struct tcb_meters *meters)
    OVS_REQUIRES(meters->io_mutex)
{
    struct meter **dying = NULL;
    size_t n = 0, allocated = 0;
    struct meter *meter;

    ovs_mutex_lock(&meters->mutex);
    HMAP_FOR_EACH (meter, police_node, &meters->by_police) {
        if (meter->state == METER_DYING) {
            if (n == allocated) {
                dying = x2nrealloc(dying, &allocated, sizeof *dying);
            }
            dying[n++] = meter;
        }
    }
    ovs_mutex_unlock(&meters->mutex);

    for (size_t i = 0; i < n; i++) {
        police_del(meters, dying[i]);
    }
    free(dying);
}

void
tcb_meters_retry(const struct tcb_offload *offload)
{
    struct tcb_meters *meters = offload->meters;

    if (atomic_count_get(&meters->n_dying)) {
        ovs_mutex_lock(&meters->io_mutex);
        retry_dying(meters);
        ovs_mutex_unlock(&meters->io_mutex);
    }
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

static struct meter *
meter_create(struct tcb_meters *meters, uint32_t meter_id)
    OVS_REQUIRES(meters->mutex)
{
    struct meter *meter = xzalloc(sizeof *meter);

    meter->meter_id = meter_id;
    meter->state = METER_KNOWN;
    hmap_insert(&meters->by_id, &meter->id_node, hash_int(meter_id, 0));
    return meter;
}

/* Brings a meter with a valid 'police' into TC, or changes it there. */
static int
meter_install(struct tcb_meters *meters, struct meter *meter)
    OVS_REQUIRES(meters->io_mutex)
{
    bool replace = meter->state == METER_IN_TC;
    int result;

    if (!replace) {
        uint32_t index;

        if (!index_alloc(&index)) {
            return ENOSPC;
        }
        ovs_mutex_lock(&meters->mutex);
        meter->index = index;
        hmap_insert(&meters->by_police, &meter->police_node,
                    hash_int(index, 0));
        ovs_mutex_unlock(&meters->mutex);
    }
    meter->police.index = meter->index;
    meter->police.cls_flags = meters->cls_flags;

    result = police_set(meters, meter, replace);
    if (!replace) {
        ovs_mutex_lock(&meters->mutex);
        meter->state = result ? METER_REFUSED : METER_IN_TC;
        if (result) {
            hmap_remove(&meters->by_police, &meter->police_node);
            index_free(meter->index);
            meter->index = 0;
        }
        ovs_mutex_unlock(&meters->mutex);
    }
    return result;
}

/* Takes a meter out of 'by_id'; its police, if any, goes as soon as it can. */
static void
meter_forget(struct tcb_meters *meters, struct meter *meter)
    OVS_REQUIRES(meters->io_mutex)
{
    bool has_police = meter->state == METER_IN_TC;

    ovs_mutex_lock(&meters->mutex);
    hmap_remove(&meters->by_id, &meter->id_node);
    if (has_police) {
        make_dying(meters, meter);
    }
    ovs_mutex_unlock(&meters->mutex);

    if (has_police) {
        police_del(meters, meter);
    } else {
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

int
tcb_meter_set(const struct dpif_offload *offload_, ofproto_meter_id id,
              struct ofputil_meter_config *config)
{
    struct tcb_offload *offload = tcb_offload_cast(offload_);
    struct tcb_meters *meters = offload->meters;
    struct tcnl_police police;
    bool expressible = police_from_config(config, &police);
    struct meter *meter;
    int result = 0;

    ovs_mutex_lock(&meters->io_mutex);
    retry_dying(meters);

    ovs_mutex_lock(&meters->mutex);
    meter = find_by_id(meters, id.uint32);
    ovs_mutex_unlock(&meters->mutex);
    if (meter && !expressible) {
        meter_forget(meters, meter);
        meter = NULL;
    }
    if (!meter) {
        ovs_mutex_lock(&meters->mutex);
        meter = meter_create(meters, id.uint32);
        ovs_mutex_unlock(&meters->mutex);
    }
    if (!expressible) {
        meter->state = METER_REFUSED;
        VLOG_INFO_RL(&rl, "meter %"PRIu32" stays in the kernel datapath, with "
                     "the flows that use it: TC has one drop band with a "
                     "nonzero rate", id.uint32);
        result = EOPNOTSUPP;
    } else {
        meter->police = police;
        if (offloads_something(offload)) {
            result = meter_install(meters, meter);
        }
    }
    ovs_mutex_unlock(&meters->io_mutex);
    return result;
}

int
tcb_meter_get(const struct dpif_offload *offload, ofproto_meter_id id,
              struct ofputil_meter_stats *stats)
{
    struct tcb_meters *meters = tcb_offload_cast(offload)->meters;
    uint32_t index;
    int result;

    if (!tcb_meter_to_police(tcb_offload_cast(offload), id.uint32, &index)) {
        return ENOENT;
    }
    ovs_mutex_lock(&meters->io_mutex);
    result = police_get(meters, index, stats);
    ovs_mutex_unlock(&meters->io_mutex);
    return result;
}

int
tcb_meter_del(const struct dpif_offload *offload, ofproto_meter_id id,
              struct ofputil_meter_stats *stats)
{
    struct tcb_meters *meters = tcb_offload_cast(offload)->meters;
    struct meter *meter;

    ovs_mutex_lock(&meters->io_mutex);
    ovs_mutex_lock(&meters->mutex);
    meter = find_by_id(meters, id.uint32);
    ovs_mutex_unlock(&meters->mutex);
    if (meter) {
        if (stats && meter->state == METER_IN_TC) {
            police_get(meters, meter->index, stats);
        }
        meter_forget(meters, meter);
        tcb_plans_outdate(tcb_offload_cast(offload));
    }
    ovs_mutex_unlock(&meters->io_mutex);
    return meter ? 0 : ENOENT;
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
    atomic_count_init(&meters->n_dying, 0);
    return meters;
}

/* Left-overs of an earlier run become dying meters: those that a filter still
 * holds go later, and their index is not used meanwhile.  This happens once in
 * the life of the process, before it has police actions of its own. */
static void
adopt_leftover(void *meters_, const struct tcnl_police_info *info)
{
    struct tcb_meters *meters = meters_;
    uint32_t index = info->police.index;
    struct meter *meter;

    if (index < TCB_POLICE_BASE || index > TCB_POLICE_MAX) {
        return;
    }
    index_reserve(index);
    meter = xzalloc(sizeof *meter);
    meter->index = index;
    ovs_mutex_lock(&meters->mutex);
    hmap_insert(&meters->by_police, &meter->police_node, hash_int(index, 0));
    make_dying(meters, meter);
    ovs_mutex_unlock(&meters->mutex);
}

static void
take_leftovers(void *meters, const struct nlmsghdr *nlh)
{
    tcnl_police_parse(nlh, adopt_leftover, meters);
}

static void
adopt_leftovers(struct tcb_meters *meters)
    OVS_REQUIRES(meters->io_mutex)
{
    static bool done;
    struct tcnl_error error;

    if (done || open_transport(meters)) {
        return;
    }
    done = true;
    tcnl_dump_all(meters->transport, build_dump, NULL, take_leftovers, meters,
                  &error);
}

void
tcb_meters_enable(struct tcb_offload *offload)
{
    struct tcb_meters *meters = offload->meters;
    struct meter *meter;

    if (!offloads_something(offload)) {
        return;
    }
    ovs_mutex_lock(&meters->io_mutex);
    meters->cls_flags = offload->cls_flags;
    adopt_leftovers(meters);
    retry_dying(meters);
    /* Only this thread adds or removes meters by id. */
    HMAP_FOR_EACH (meter, id_node, &meters->by_id) {
        if (meter->state == METER_KNOWN) {
            meter_install(meters, meter);
        }
    }
    ovs_mutex_unlock(&meters->io_mutex);
}

/* Filters that were just deleted hold their police for a grace period. */
static void
wait_for_dying(struct tcb_meters *meters)
    OVS_REQUIRES(meters->io_mutex)
{
    for (int i = 0; i < CLOSE_TRIES && atomic_count_get(&meters->n_dying);
         i++) {
        if (i) {
            usleep(CLOSE_WAIT_US);
        }
        retry_dying(meters);
    }
    if (atomic_count_get(&meters->n_dying)) {
        VLOG_WARN("%u police actions of ours are still used by foreign "
                  "filters and stay", atomic_count_get(&meters->n_dying));
    }
}

void
tcb_meters_destroy(struct tcb_meters *meters)
{
    struct meter *meter;

    ovs_mutex_lock(&meters->io_mutex);
    HMAP_FOR_EACH_SAFE (meter, id_node, &meters->by_id) {
        meter_forget(meters, meter);
    }
    wait_for_dying(meters);
    tcnl_transport_close(meters->transport);
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

void
tcb_meters_summary(const struct tcb_offload *offload,
                   struct tcb_meter_summary *s)
{
    struct tcb_meters *meters = offload->meters;
    struct meter *meter;

    memset(s, 0, sizeof *s);
    ovs_mutex_lock(&meters->mutex);
    HMAP_FOR_EACH (meter, id_node, &meters->by_id) {
        s->n_meters += meter->state == METER_IN_TC;
        s->n_refused += meter->state == METER_REFUSED;
    }
    s->n_dying = atomic_count_get(&meters->n_dying);
    ovs_mutex_unlock(&meters->mutex);
}
