/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-prio.h"

#include <netinet/in.h>

#include "hash.h"
#include "packets.h"
#include "tcb-flow-table.h"
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

/* How many filters of ours one tcf_proto holds. */
struct proto_count {
    struct hmap_node node;
    int ifindex;
    uint32_t chain;
    uint16_t prio;
    enum tcb_hook hook;
    unsigned int n;
};

static uint32_t
proto_hash(const struct tcb_flow *flow)
{
    uint32_t hash = hash_int(flow->ifindex, flow->hook);

    return hash_int(flow->chain, hash_int(flow->prio, hash));
}

static struct proto_count *
proto_find(const struct tcb_protos *protos, const struct tcb_flow *flow)
    OVS_REQUIRES(protos->mutex)
{
    struct proto_count *p;

    HMAP_FOR_EACH_WITH_HASH (p, node, proto_hash(flow), &protos->counts) {
        if (p->ifindex == flow->ifindex && p->hook == flow->hook
            && p->chain == flow->chain && p->prio == flow->prio) {
            return p;
        }
    }
    return NULL;
}

void
tcb_protos_init(struct tcb_protos *protos)
{
    ovs_mutex_init(&protos->mutex);
    ovs_mutex_lock(&protos->mutex);
    hmap_init(&protos->counts);
    ovs_mutex_unlock(&protos->mutex);
    atomic_init(&protos->changes, 0);
}

void
tcb_protos_destroy(struct tcb_protos *protos)
{
    struct proto_count *p;

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

void
tcb_protos_add(struct tcb_protos *protos, const struct tcb_flow *flow)
{
    struct proto_count *p;

    ovs_mutex_lock(&protos->mutex);
    p = proto_find(protos, flow);
    if (!p) {
        p = xmalloc(sizeof *p);
        p->ifindex = flow->ifindex;
        p->hook = flow->hook;
        p->chain = flow->chain;
        p->prio = flow->prio;
        p->n = 0;
        hmap_insert(&protos->counts, &p->node, proto_hash(flow));
        note_change(protos);
    }
    p->n++;
    ovs_mutex_unlock(&protos->mutex);
}

void
tcb_protos_remove(struct tcb_protos *protos, const struct tcb_flow *flow)
{
    struct proto_count *p;

    ovs_mutex_lock(&protos->mutex);
    p = proto_find(protos, flow);
    if (p && !--p->n) {
        hmap_remove(&protos->counts, &p->node);
        free(p);
        note_change(protos);
    }
    ovs_mutex_unlock(&protos->mutex);
}

uint64_t
tcb_protos_changes(const struct tcb_protos *protos)
{
    uint64_t changes;

    atomic_read_explicit(&CONST_CAST(struct tcb_protos *, protos)->changes,
                         &changes, memory_order_acquire);
    return changes;
}
