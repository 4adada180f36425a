/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-prio.h"

#include <netinet/in.h>

#include "hash.h"
#include "packets.h"
#include "tcb-flow-table.h"
#include "tcnl/filter.h"
#include "util.h"

/* Reserved prios; the dynamic ones follow. */
enum {
    PRIO_IPV4 = 2,
    PRIO_IPV6 = 3,
    PRIO_VLAN = 4,
    PRIO_FIRST_DYNAMIC = 5,
    PRIO_LAST_DYNAMIC = UINT16_MAX - 1,
};

/* Ethernet types that got a prio, in order: index i has prio
 * PRIO_FIRST_DYNAMIC + i.  There are few in practice (ARP, RARP, LLDP...), so
 * a scan is quick; the bound keeps a hostile sender from making it long. */
#define MAX_DYNAMIC 256

static struct ovs_mutex dynamic_mutex = OVS_MUTEX_INITIALIZER;
static ovs_be16 dynamic[MAX_DYNAMIC] OVS_GUARDED_BY(dynamic_mutex);
static unsigned int n_dynamic OVS_GUARDED_BY(dynamic_mutex);

BUILD_ASSERT_DECL(PRIO_FIRST_DYNAMIC + MAX_DYNAMIC - 1 <= PRIO_LAST_DYNAMIC);

static uint16_t
dynamic_prio(ovs_be16 eth_type)
{
    uint16_t prio = 0;
    unsigned int i;

    ovs_mutex_lock(&dynamic_mutex);
    for (i = 0; i < n_dynamic && dynamic[i] != eth_type; i++) {
        continue;
    }
    if (i == n_dynamic && n_dynamic < MAX_DYNAMIC) {
        dynamic[n_dynamic++] = eth_type;
    }
    if (i < n_dynamic) {
        prio = PRIO_FIRST_DYNAMIC + i;
    }
    ovs_mutex_unlock(&dynamic_mutex);
    return prio;
}

uint16_t
tcb_prio_for(ovs_be16 eth_type)
{
    switch (ntohs(eth_type)) {
    case ETH_TYPE_IP:
        return PRIO_IPV4;
    case ETH_TYPE_IPV6:
        return PRIO_IPV6;
    case ETH_TYPE_VLAN_8021Q:
        return PRIO_VLAN;
    default:
        return dynamic_prio(eth_type);
    }
}

/* One tcf_proto: how many filters of flows it holds, and what is known of its
 * placeholder. */
struct proto {
    struct hmap_node node;
    struct tcnl_filter_id id;   /* Of the proto, without a handle. */
    unsigned int n;
    enum {
        NONE,
        ASKED,                  /* Somebody is about to add it. */
        KEPT,
        REFUSED,                /* Not to be tried again. */
    } placeholder;
    uint64_t since, seen;       /* Rounds: when it was added, and noticed
                                 * last. */
};

static uint32_t
proto_hash(const struct tcnl_filter_id *id)
{
    uint32_t hash = (id->block ? hash_int(id->block, 0)
                     : hash_int(id->ifindex, id->parent));

    return hash_int(id->chain, hash_int(id->prio, hash));
}

/* Of a block the kernel tells neither device nor parent. */
static bool
same_hook(const struct tcnl_filter_id *a, const struct tcnl_filter_id *b)
{
    return (a->block == b->block
            && (a->block
                || (a->ifindex == b->ifindex && a->parent == b->parent)));
}

static struct proto *
proto_find(const struct tcb_protos *protos, const struct tcnl_filter_id *id)
    OVS_REQUIRES(protos->mutex)
{
    struct proto *p;

    HMAP_FOR_EACH_WITH_HASH (p, node, proto_hash(id), &protos->counts) {
        if (same_hook(&p->id, id) && p->id.chain == id->chain
            && p->id.prio == id->prio) {
            return p;
        }
    }
    return NULL;
}

static struct proto *
proto_get(struct tcb_protos *protos, const struct tcnl_filter_id *id)
    OVS_REQUIRES(protos->mutex)
{
    struct proto *p = proto_find(protos, id);

    if (!p) {
        p = xzalloc(sizeof *p);
        p->id = *id;
        p->id.handle = 0;
        hmap_insert(&protos->counts, &p->node, proto_hash(id));
    }
    return p;
}

void
tcb_protos_init(struct tcb_protos *protos)
{
    ovs_mutex_init(&protos->mutex);
    ovs_mutex_lock(&protos->mutex);
    hmap_init(&protos->counts);
    protos->n_rounds = 0;
    ovs_mutex_unlock(&protos->mutex);
    atomic_init(&protos->changes, 0);
}

void
tcb_protos_destroy(struct tcb_protos *protos)
{
    struct proto *p;

    ovs_mutex_lock(&protos->mutex);
    HMAP_FOR_EACH_POP (p, node, &protos->counts) {
        free(p);
    }
    hmap_destroy(&protos->counts);
    ovs_mutex_unlock(&protos->mutex);
    ovs_mutex_destroy(&protos->mutex);
}

static void
note_change(struct tcb_protos *protos)
{
    uint64_t old;

    atomic_add_explicit(&protos->changes, 1, &old, memory_order_acq_rel);
}

/* Is the tcf_proto in the kernel, as far as we know? */
static bool
is_alive(const struct proto *p)
{
    return p->n || p->placeholder == KEPT;
}

/* To be called after each change of '*p', which 'was_alive' before.  That a
 * placeholder was refused is remembered for as long as the tcf_proto lives,
 * whose first flow may be known only after the refusal. */
static void
changed(struct tcb_protos *protos, struct proto *p, bool was_alive)
    OVS_REQUIRES(protos->mutex)
{
    if (is_alive(p) != was_alive) {
        note_change(protos);
    }
    if (!is_alive(p)
        && (p->placeholder == NONE
            || (p->placeholder == REFUSED && was_alive))) {
        hmap_remove(&protos->counts, &p->node);
        free(p);
    }
}

static void
count(struct tcb_protos *protos, const struct tcb_flow *flow, int n)
{
    struct tcnl_filter_id id = tcb_flow_filter_id(flow);
    struct proto *p;
    bool was_alive;

    ovs_mutex_lock(&protos->mutex);
    p = proto_get(protos, &id);
    was_alive = is_alive(p);
    p->n += n;
    changed(protos, p, was_alive);
    ovs_mutex_unlock(&protos->mutex);
}

void
tcb_protos_add(struct tcb_protos *protos, const struct tcb_flow *flow)
{
    count(protos, flow, 1);
}

void
tcb_protos_remove(struct tcb_protos *protos, const struct tcb_flow *flow)
{
    count(protos, flow, -1);
}

uint64_t
tcb_protos_changes(const struct tcb_protos *protos)
{
    uint64_t changes;

    atomic_read_explicit(&CONST_CAST(struct tcb_protos *, protos)->changes,
                         &changes, memory_order_acquire);
    return changes;
}

bool
tcb_protos_wants_placeholder(struct tcb_protos *protos,
                             const struct tcnl_filter_id *id)
{
    struct proto *p;
    bool wants;

    ovs_mutex_lock(&protos->mutex);
    p = proto_get(protos, id);
    wants = p->placeholder == NONE;
    if (wants) {
        p->placeholder = ASKED;
    }
    ovs_mutex_unlock(&protos->mutex);
    return wants;
}

void
tcb_protos_keep(struct tcb_protos *protos, const struct tcnl_filter_id *id,
                bool kept)
{
    struct proto *p;
    bool was_alive;

    ovs_mutex_lock(&protos->mutex);
    p = proto_get(protos, id);
    was_alive = is_alive(p);
    p->placeholder = kept ? KEPT : REFUSED;
    p->since = p->seen = protos->n_rounds;
    changed(protos, p, was_alive);
    ovs_mutex_unlock(&protos->mutex);
}

uint64_t
tcb_protos_begin_round(struct tcb_protos *protos)
{
    uint64_t round;

    ovs_mutex_lock(&protos->mutex);
    round = ++protos->n_rounds;
    ovs_mutex_unlock(&protos->mutex);
    return round;
}

void
tcb_protos_seen(struct tcb_protos *protos, const struct tcnl_filter_id *id,
                uint64_t round)
{
    struct proto *p;

    ovs_mutex_lock(&protos->mutex);
    p = proto_find(protos, id);
    if (p) {
        p->seen = MAX(p->seen, round);
    }
    ovs_mutex_unlock(&protos->mutex);
}

void
tcb_protos_end_round(struct tcb_protos *protos, uint64_t round)
{
    struct proto *p;

    ovs_mutex_lock(&protos->mutex);
    HMAP_FOR_EACH_SAFE (p, node, &protos->counts) {
        if (p->placeholder == KEPT && p->since < round && p->seen < round) {
            p->placeholder = NONE;
            changed(protos, p, true);
        }
    }
    ovs_mutex_unlock(&protos->mutex);
}

size_t
tcb_protos_release(struct tcb_protos *protos,
                   const struct tcnl_filter_id *hook,
                   struct tcnl_filter_id **ids)
{
    struct proto *p;
    size_t n = 0;

    ovs_mutex_lock(&protos->mutex);
    if (ids) {
        *ids = xmalloc(hmap_count(&protos->counts) * sizeof **ids);
    }
    HMAP_FOR_EACH_SAFE (p, node, &protos->counts) {
        if (same_hook(&p->id, hook) && p->placeholder != NONE) {
            bool was_alive = is_alive(p);

            if (p->placeholder == KEPT) {
                if (ids) {
                    (*ids)[n] = p->id;
                }
                n++;
            }
            p->placeholder = NONE;
            changed(protos, p, was_alive);
        }
    }
    ovs_mutex_unlock(&protos->mutex);
    return n;
}
