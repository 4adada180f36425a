/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-flow-table.h"

#include "hash.h"
#include "odp-util.h"
#include "ovs-rcu.h"
#include "timeval.h"
#include "util.h"

BUILD_ASSERT_DECL(sizeof(struct tcb_flow) <= 200);

/* Rounds after which a dead flow is forgotten.  OVS deletes a flow that four
 * rounds did not report. */
#define MAX_DEAD_ROUNDS 20

static struct tcb_shard *
shard_of(const struct tcb_flow_table *table, const ovs_u128 *ufid)
{
    struct tcb_flow_table *t = CONST_CAST(struct tcb_flow_table *, table);

    return &t->shards[ufid->u32[0] % TCB_N_SHARDS];
}

static uint32_t
ufid_hash(const ovs_u128 *ufid)
{
    return ufid->u32[1];
}

static enum tcb_flow_state
flow_state(const struct tcb_flow *flow)
{
    enum tcb_flow_state state;

    atomic_read_explicit(&CONST_CAST(struct tcb_flow *, flow)->state, &state,
                         memory_order_acquire);
    return state;
}

static void
flow_set_state(struct tcb_flow *flow, enum tcb_flow_state state)
{
    atomic_store_explicit(&flow->state, state, memory_order_release);
}

/* Reading and writing what is written under the shard's lock. */

static uint64_t
get64(const atomic_uint64_t *p)
{
    uint64_t value;

    atomic_read_relaxed(CONST_CAST(atomic_uint64_t *, p), &value);
    return value;
}

static void
set64(atomic_uint64_t *p, uint64_t value)
{
    atomic_store_relaxed(p, value);
}

static void
add64(atomic_uint64_t *p, uint64_t more)
{
    set64(p, get64(p) + more);
}

static bool
get_bool(const atomic_bool *p)
{
    bool value;

    atomic_read_relaxed(CONST_CAST(atomic_bool *, p), &value);
    return value;
}

static uint8_t
get_missed(const struct tcb_flow *flow)
{
    uint8_t missed;

    atomic_read_relaxed(&CONST_CAST(struct tcb_flow *, flow)->missed,
                        &missed);
    return missed;
}

static void
set_missed(struct tcb_flow *flow, uint8_t missed)
{
    atomic_store_relaxed(&flow->missed, missed);
}

static long long int
get_used(const struct tcb_flow *flow)
{
    long long int used;

    atomic_read_relaxed(&CONST_CAST(struct tcb_flow *, flow)->used, &used);
    return used;
}

static void
set_used(struct tcb_flow *flow, long long int used)
{
    atomic_store_relaxed(&flow->used, used);
}

void
tcb_flow_table_init(struct tcb_flow_table *table)
{
    memset(table, 0, sizeof *table);
    for (int i = 0; i < TCB_N_SHARDS; i++) {
        ovs_mutex_init(&table->shards[i].mutex);
        xpthread_cond_init(&table->shards[i].released, NULL);
        cmap_init(&table->shards[i].flows);
    }
    for (int i = 0; i < TCB_MAX_SEGMENTS; i++) {
        atomic_init(&table->segments[i], NULL);
    }
    ovs_mutex_init(&table->slots_mutex);
    atomic_init(&table->n_slots, 0);
    atomic_count_init(&table->n_live, 0);
    atomic_init(&table->epoch, 1);
}

void
tcb_flow_table_destroy(struct tcb_flow_table *table)
{
    for (int i = 0; i < TCB_N_SHARDS; i++) {
        cmap_destroy(&table->shards[i].flows);
        xpthread_cond_destroy(&table->shards[i].released);
        ovs_mutex_destroy(&table->shards[i].mutex);
    }
    for (int i = 0; i < TCB_MAX_SEGMENTS; i++) {
        struct tcb_flow *segment;

        atomic_read_relaxed(&table->segments[i], &segment);
        free(segment);
    }
    free(table->free_slots);
    ovs_mutex_destroy(&table->slots_mutex);
}

struct tcb_flow *
tcb_flow_at(const struct tcb_flow_table *table, uint32_t slot)
{
    struct tcb_flow *segment;

    if (slot >= TCB_MAX_FLOWS) {
        return NULL;
    }
    atomic_read_explicit(
        &CONST_CAST(struct tcb_flow_table *,
                    table)->segments[slot / TCB_SEGMENT_FLOWS],
        &segment, memory_order_acquire);
    return segment ? &segment[slot % TCB_SEGMENT_FLOWS] : NULL;
}

struct tcb_flow *
tcb_flow_find(const struct tcb_flow_table *table, const ovs_u128 *ufid)
{
    const struct tcb_shard *shard = shard_of(table, ufid);
    struct tcb_flow *flow;

    CMAP_FOR_EACH_WITH_HASH (flow, node, ufid_hash(ufid), &shard->flows) {
        if (ovs_u128_equals(flow->ufid, *ufid)) {
            return flow;
        }
    }
    return NULL;
}

bool
tcb_flow_is(const struct tcb_flow *flow, const ovs_u128 *ufid)
{
    enum tcb_flow_state state = flow_state(flow);

    return (state == TCB_FLOW_LIVE || state == TCB_FLOW_BUSY)
           && ovs_u128_equals(flow->ufid, *ufid);
}

/* Slots. */

/* Takes the slot that was freed last, so that handles stay dense, or a new
 * one.  NULL if the table is full. */
static struct tcb_flow *
slot_alloc(struct tcb_flow_table *table)
{
    struct tcb_flow *flow = NULL;
    uint32_t n_slots;

    ovs_mutex_lock(&table->slots_mutex);
    n_slots = tcb_flow_table_n_slots(table);
    if (table->n_free) {
        flow = tcb_flow_at(table, table->free_slots[--table->n_free]);
    } else if (n_slots < TCB_MAX_FLOWS) {
        if (n_slots % TCB_SEGMENT_FLOWS == 0) {
            struct tcb_flow *segment = xcalloc(TCB_SEGMENT_FLOWS,
                                               sizeof *segment);

            for (uint32_t i = 0; i < TCB_SEGMENT_FLOWS; i++) {
                atomic_init(&segment[i].state, TCB_FLOW_FREE);
                segment[i].slot = n_slots + i;
            }
            atomic_store_explicit(
                &table->segments[n_slots / TCB_SEGMENT_FLOWS], segment,
                memory_order_release);
        }
        flow = tcb_flow_at(table, n_slots);
        atomic_store_explicit(&table->n_slots, n_slots + 1,
                              memory_order_release);
    }
    ovs_mutex_unlock(&table->slots_mutex);
    return flow;
}

static void
slot_free(struct tcb_flow_table *table, uint32_t slot)
{
    ovs_mutex_lock(&table->slots_mutex);
    if (table->n_free == table->allocated_free) {
        table->free_slots = x2nrealloc(table->free_slots,
                                       &table->allocated_free,
                                       sizeof *table->free_slots);
    }
    table->free_slots[table->n_free++] = slot;
    ovs_mutex_unlock(&table->slots_mutex);
}

struct slot_release {
    struct tcb_flow_table *table;
    uint32_t slot;
};

static void
slot_release_cb(struct slot_release *release)
{
    slot_free(release->table, release->slot);
    free(release);
}

/* Lookups without a lock may still stand on the slot: it is used again after
 * a grace period. */
static void
slot_free_postponed(struct tcb_flow_table *table, uint32_t slot)
{
    struct slot_release *release = xmalloc(sizeof *release);

    release->table = table;
    release->slot = slot;
    ovsrcu_postpone(slot_release_cb, release);
}

/* Clears all but the slot number and the state. */
static void
flow_reset(struct tcb_flow *flow, const ovs_u128 *ufid)
{
    flow->ufid = *ufid;
    flow->ifindex = 0;
    flow->chain = 0;
    flow->prio = 0;
    flow->proto = 0;
    flow->hook = TCB_HOOK_INGRESS;
    flow->in_port = ODPP_NONE;
    flow->match_hash = 0;
    flow->uses = (struct tcb_action_uses) { .goto_chain = 0 };
    atomic_store_relaxed(&flow->offloaded, false);
    atomic_store_relaxed(&flow->orphan, false);
    set_missed(flow, 0);
    set64(&flow->packets, 0);
    set64(&flow->bytes, 0);
    set64(&flow->kernel_packets, 0);
    set64(&flow->kernel_bytes, 0);
    set_used(flow, 0);
    set64(&flow->epoch, 0);
}

/* Claims. */

static enum tcb_claim
claim_existing(struct tcb_flow *flow)
{
    switch (flow_state(flow)) {
    case TCB_FLOW_LIVE:
        flow_set_state(flow, TCB_FLOW_BUSY);
        return TCB_CLAIM_OLD;
    case TCB_FLOW_DEAD:
        flow_set_state(flow, TCB_FLOW_ADDING);
        return TCB_CLAIM_DEAD;
    case TCB_FLOW_FREE:
    case TCB_FLOW_ADDING:
    case TCB_FLOW_BUSY:
    default:
        return TCB_CLAIM_BUSY;
    }
}

static enum tcb_claim
claim_new(struct tcb_flow_table *table, struct tcb_shard *shard,
          const ovs_u128 *ufid, struct tcb_flow **flowp)
{
    struct tcb_flow *flow = slot_alloc(table);

    if (!flow) {
        return TCB_CLAIM_FULL;
    }
    flow_reset(flow, ufid);
    flow_set_state(flow, TCB_FLOW_ADDING);
    cmap_insert(&shard->flows, &flow->node, ufid_hash(ufid));
    *flowp = flow;
    return TCB_CLAIM_NEW;
}

enum tcb_claim
tcb_flow_claim(struct tcb_flow_table *table, const ovs_u128 *ufid,
               bool create, bool wait, struct tcb_flow **flowp)
{
    struct tcb_shard *shard = shard_of(table, ufid);
    enum tcb_claim claim;

    *flowp = NULL;
    ovs_mutex_lock(&shard->mutex);
    for (;;) {
        struct tcb_flow *flow = tcb_flow_find(table, ufid);

        if (!flow) {
            claim = create ? claim_new(table, shard, ufid, flowp)
                           : TCB_CLAIM_NONE;
            break;
        }
        claim = claim_existing(flow);
        if (claim != TCB_CLAIM_BUSY) {
            *flowp = flow;
            break;
        }
        if (!wait) {
            break;
        }
        ovs_mutex_cond_wait(&shard->released, &shard->mutex);
    }
    ovs_mutex_unlock(&shard->mutex);
    return claim;
}

/* Ends a claim with the flow in 'state'. */
static void
end_claim(struct tcb_flow_table *table, struct tcb_flow *flow,
          enum tcb_flow_state state)
{
    struct tcb_shard *shard = shard_of(table, &flow->ufid);
    bool was_live, is_live;

    ovs_mutex_lock(&shard->mutex);
    was_live = flow_state(flow) == TCB_FLOW_BUSY;
    is_live = state == TCB_FLOW_LIVE;
    if (is_live && !was_live) {
        atomic_count_inc(&table->n_live);
    } else if (was_live && !is_live) {
        atomic_count_dec(&table->n_live);
    }
    flow_set_state(flow, state);
    if (state == TCB_FLOW_DEAD) {
        set_missed(flow, 0);
    } else if (state == TCB_FLOW_FREE) {
        cmap_remove(&shard->flows, &flow->node, ufid_hash(&flow->ufid));
    }
    xpthread_cond_broadcast(&shard->released);
    ovs_mutex_unlock(&shard->mutex);
}

void
tcb_flow_release(struct tcb_flow_table *table, struct tcb_flow *flow)
{
    end_claim(table, flow, TCB_FLOW_LIVE);
}

void
tcb_flow_release_dead(struct tcb_flow_table *table, struct tcb_flow *flow)
{
    end_claim(table, flow, TCB_FLOW_DEAD);
}

void
tcb_flow_remove(struct tcb_flow_table *table, struct tcb_flow *flow)
{
    end_claim(table, flow, TCB_FLOW_FREE);
    slot_free_postponed(table, flow->slot);
}

struct tcb_flow *
tcb_flow_move(struct tcb_flow_table *table, struct tcb_flow *old,
              bool retire_old)
{
    struct tcb_shard *shard = shard_of(table, &old->ufid);
    struct tcb_flow *new = slot_alloc(table);

    if (!new) {
        return NULL;
    }

    ovs_mutex_lock(&shard->mutex);
    flow_reset(new, &old->ufid);
    new->ifindex = old->ifindex;
    new->chain = old->chain;
    new->prio = old->prio;
    new->proto = old->proto;
    new->hook = old->hook;
    new->in_port = old->in_port;
    new->match_hash = old->match_hash;
    new->uses = old->uses;
    set64(&new->packets, get64(&old->packets));
    set64(&new->bytes, get64(&old->bytes));
    set_used(new, get_used(old));
    flow_set_state(new, flow_state(old));

    cmap_replace(&shard->flows, &old->node, &new->node,
                 ufid_hash(&old->ufid));
    flow_set_state(old, TCB_FLOW_FREE);
    ovs_mutex_unlock(&shard->mutex);

    if (!retire_old) {
        slot_free_postponed(table, old->slot);
    }
    return new;
}

struct tcnl_filter_id
tcb_flow_filter_id(const struct tcb_flow *flow)
{
    struct tcnl_filter_id id = tcb_hook_id(flow->ifindex, flow->hook);

    id.chain = flow->chain;
    id.handle = tcb_flow_handle(flow);
    id.prio = flow->prio;
    id.proto = (OVS_FORCE uint16_t) flow->proto;
    return id;
}

/* Counters. */

uint64_t
tcb_epoch_read(const struct tcb_flow_table *table)
{
    uint64_t epoch;

    atomic_read_explicit(&CONST_CAST(struct tcb_flow_table *, table)->epoch,
                         &epoch, memory_order_acquire);
    return epoch;
}

static uint64_t
epoch_tick(struct tcb_flow_table *table)
{
    uint64_t old;

    atomic_add_explicit(&table->epoch, 1, &old, memory_order_acq_rel);
    return old + 1;
}

/* The kernel's counters of one filter only grow; a smaller value is an older
 * one that was overtaken. */
static void
raise_counter(atomic_uint64_t *seen, atomic_uint64_t *total, uint64_t value)
{
    uint64_t old = get64(seen);

    if (value > old) {
        set64(seen, value);
        add64(total, value - old);
    }
}

static void
flow_raise_counters(struct tcb_flow *flow, const struct tcnl_stats *stats,
                    long long int now)
{
    if (stats->packets > get64(&flow->kernel_packets)) {
        set_used(flow, now);
    }
    raise_counter(&flow->kernel_packets, &flow->packets, stats->packets);
    raise_counter(&flow->kernel_bytes, &flow->bytes, stats->bytes);
}

static void
flow_fill_report(struct tcb_flow *flow, struct tcb_flow_report *report)
{
    report->flow = flow;
    report->ufid = flow->ufid;
    report->packets = get64(&flow->packets);
    report->bytes = get64(&flow->bytes);
    report->used = get_used(flow);
    report->offloaded = get_bool(&flow->offloaded);
    report->gone = (get_missed(flow) >= TCB_GONE_AFTER
                    || get_bool(&flow->orphan));
}

/* A filter without any flag was offloaded as far as TC can tell: old kernels
 * do not report IN_HW. */
static bool
offloaded_by_flags(uint32_t cls_flags)
{
    return cls_flags & TCA_CLS_FLAGS_IN_HW
           || !(cls_flags & TCA_CLS_FLAGS_NOT_IN_HW);
}

/* Do 'stats' and 'offloaded' say what is known already? */
static bool
flow_is_unchanged(const struct tcb_flow *flow, const struct tcnl_stats *stats,
                  bool offloaded)
{
    return stats->packets == get64(&flow->kernel_packets)
           && stats->bytes == get64(&flow->kernel_bytes)
           && offloaded == get_bool(&flow->offloaded)
           && !get_missed(flow);
}

bool
tcb_flow_update(struct tcb_flow_table *table, struct tcb_flow *flow,
                const struct tcnl_filter_counters *counters,
                uint32_t cls_flags, uint64_t epoch, long long int now,
                struct tcb_flow_report *report)
{
    bool offloaded = offloaded_by_flags(cls_flags);
    ovs_u128 ufid;
    bool ours;

    if (!counters->has_cookie) {
        return false;
    }
    BUILD_ASSERT(sizeof ufid == TCNL_COOKIE_LEN);
    memcpy(&ufid, counters->cookie, sizeof ufid);

    ours = tcb_flow_is(flow, &ufid);
    if (ours && !flow_is_unchanged(flow, &counters->stats, offloaded)) {
        struct tcb_shard *shard = shard_of(table, &ufid);

        ovs_mutex_lock(&shard->mutex);
        ours = tcb_flow_is(flow, &ufid);
        if (ours && epoch >= get64(&flow->epoch)) {
            flow_raise_counters(flow, &counters->stats, now);
            atomic_store_relaxed(&flow->offloaded, offloaded);
            set_missed(flow, 0);
        }
        ovs_mutex_unlock(&shard->mutex);
    }
    if (ours) {
        flow_fill_report(flow, report);
    }
    return ours;
}

bool
tcb_flow_report(struct tcb_flow *flow, struct tcb_flow_report *report)
{
    if (flow_state(flow) < TCB_FLOW_LIVE) {
        return false;
    }
    flow_fill_report(flow, report);
    return true;
}

void
tcb_flow_final_counters(struct tcb_flow_table *table, struct tcb_flow *flow,
                        const struct tcnl_stats *final)
{
    if (!flow_is_unchanged(flow, final, get_bool(&flow->offloaded))) {
        struct tcb_shard *shard = shard_of(table, &flow->ufid);

        ovs_mutex_lock(&shard->mutex);
        flow_raise_counters(flow, final, time_msec());
        ovs_mutex_unlock(&shard->mutex);
    }
}

void
tcb_flow_add_counters(struct tcb_flow_table *table, const ovs_u128 *ufid,
                      const struct tcnl_stats *known,
                      const struct tcnl_stats *final)
{
    struct tcb_shard *shard = shard_of(table, ufid);
    struct tcb_flow *flow;

    ovs_mutex_lock(&shard->mutex);
    flow = tcb_flow_find(table, ufid);
    if (flow && final->packets > known->packets) {
        add64(&flow->packets, final->packets - known->packets);
        set_used(flow, MAX(get_used(flow), time_msec()));
    }
    if (flow && final->bytes > known->bytes) {
        add64(&flow->bytes, final->bytes - known->bytes);
    }
    ovs_mutex_unlock(&shard->mutex);
}

void
tcb_flow_totals(struct tcb_flow *flow, struct tcb_flow_report *report)
{
    flow_fill_report(flow, report);
}

struct tcnl_stats
tcb_flow_kernel_counters(const struct tcb_flow *flow)
{
    return (struct tcnl_stats) {
        .packets = get64(&flow->kernel_packets),
        .bytes = get64(&flow->kernel_bytes),
    };
}

void
tcb_flow_restart_counters(struct tcb_flow_table *table, struct tcb_flow *flow)
{
    struct tcb_shard *shard = shard_of(table, &flow->ufid);
    uint64_t epoch = epoch_tick(table);

    ovs_mutex_lock(&shard->mutex);
    set64(&flow->kernel_packets, 0);
    set64(&flow->kernel_bytes, 0);
    set64(&flow->epoch, epoch);
    set_missed(flow, 0);
    ovs_mutex_unlock(&shard->mutex);
}

void
tcb_flow_reset_counters(struct tcb_flow_table *table, struct tcb_flow *flow)
{
    struct tcb_shard *shard = shard_of(table, &flow->ufid);

    ovs_mutex_lock(&shard->mutex);
    set64(&flow->packets, 0);
    set64(&flow->bytes, 0);
    set64(&flow->kernel_packets, 0);
    set64(&flow->kernel_bytes, 0);
    set_used(flow, 0);
    ovs_mutex_unlock(&shard->mutex);
}

void
tcb_flow_table_orphan_chain(struct tcb_flow_table *table, uint32_t chain)
{
    uint32_t n_slots = tcb_flow_table_n_slots(table);

    for (uint32_t slot = 0; slot < n_slots; slot++) {
        struct tcb_flow *flow = tcb_flow_at(table, slot);

        if (flow_state(flow) >= TCB_FLOW_LIVE) {
            ovs_u128 ufid = flow->ufid;
            struct tcb_shard *shard = shard_of(table, &ufid);

            ovs_mutex_lock(&shard->mutex);
            if (tcb_flow_is(flow, &ufid) && flow->chain == chain) {
                atomic_store_relaxed(&flow->orphan, true);
            }
            ovs_mutex_unlock(&shard->mutex);
        }
    }
}

unsigned int
tcb_flow_note_missed(struct tcb_flow_table *table, struct tcb_flow *flow,
                     uint64_t epoch)
{
    struct tcb_shard *shard;
    unsigned int missed = 0;
    ovs_u128 ufid;

    if (flow_state(flow) < TCB_FLOW_LIVE) {
        return 0;
    }
    ufid = flow->ufid;
    shard = shard_of(table, &ufid);
    ovs_mutex_lock(&shard->mutex);
    if (tcb_flow_is(flow, &ufid) && epoch >= get64(&flow->epoch)) {
        missed = MIN(get_missed(flow) + 1, UINT8_MAX);
        set_missed(flow, missed);
    }
    ovs_mutex_unlock(&shard->mutex);
    return missed;
}

void
tcb_flow_age_dead(struct tcb_flow_table *table, struct tcb_flow *flow)
{
    struct tcb_shard *shard;
    bool forget = false;
    ovs_u128 ufid;

    if (flow_state(flow) != TCB_FLOW_DEAD) {
        return;
    }
    ufid = flow->ufid;
    shard = shard_of(table, &ufid);
    ovs_mutex_lock(&shard->mutex);
    if (flow_state(flow) == TCB_FLOW_DEAD
        && ovs_u128_equals(flow->ufid, ufid)) {
        set_missed(flow, get_missed(flow) + 1);
        forget = get_missed(flow) >= MAX_DEAD_ROUNDS;
    }
    if (forget) {
        flow_set_state(flow, TCB_FLOW_FREE);
        cmap_remove(&shard->flows, &flow->node, ufid_hash(&ufid));
    }
    ovs_mutex_unlock(&shard->mutex);
    if (forget) {
        slot_free_postponed(table, flow->slot);
    }
}
