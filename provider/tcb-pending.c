/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-pending.h"

#include <errno.h>

#include "odp-util.h"
#include "tcb-offload.h"
#include "tcb-port.h"
#include "tcb-why.h"
#include "timeval.h"
#include "util.h"

/* Msec until a flow is offered for the second time; it doubles each time. */
#define FIRST_BACKOFF 1000
#define LONGEST_BACKOFF 60000

/* Msec that a deleted flow stays listed. */
#define REMEMBER_DELETED 60000

struct pending {
    struct hmap_node node;      /* By ufid. */
    ovs_u128 ufid;
    enum tcb_cause cause;
    odp_port_t in_port;
    uint32_t chain;             /* TCB_CAUSE_PARENT: the one to be reached. */
    unsigned int n_offered;
    long long int not_before;   /* Msec. */
    long long int deleted;      /* Msec; 0: OVS has it. */
};

static struct pending *
find(const struct tcb_pending *pending, const ovs_u128 *ufid)
    OVS_REQUIRES(pending->mutex)
{
    struct pending *p;

    HMAP_FOR_EACH_WITH_HASH (p, node, ufid->u32[0], &pending->flows) {
        if (ovs_u128_equals(p->ufid, *ufid)) {
            return p;
        }
    }
    return NULL;
}

static void
forget(struct tcb_pending *pending, struct pending *p)
    OVS_REQUIRES(pending->mutex)
{
    hmap_remove(&pending->flows, &p->node);
    atomic_count_dec(&pending->n);
    free(p);
}

void
tcb_pending_init(struct tcb_pending *pending)
{
    ovs_mutex_init(&pending->mutex);
    ovs_mutex_lock(&pending->mutex);
    hmap_init(&pending->flows);
    pending->n_offered = pending->n_dropped = 0;
    ovs_mutex_unlock(&pending->mutex);
    atomic_count_init(&pending->n, 0);
}

void
tcb_pending_destroy(struct tcb_pending *pending)
{
    struct pending *p;

    ovs_mutex_lock(&pending->mutex);
    HMAP_FOR_EACH_POP (p, node, &pending->flows) {
        free(p);
    }
    hmap_destroy(&pending->flows);
    ovs_mutex_unlock(&pending->mutex);
    ovs_mutex_destroy(&pending->mutex);
}

/* May the same flow be accepted later, though OVS changes nothing? */
static bool
may_pass(const struct tcb_refusal *why)
{
    switch (why->cause) {
    case TCB_CAUSE_PARENT:
    case TCB_CAUSE_PORT:
    case TCB_CAUSE_LOST:
        return true;
    case TCB_CAUSE_KERNEL:
        return (why->error == ENOMEM || why->error == ENOBUFS
                || why->error == EAGAIN || why->error == EBUSY
                || why->error == ENODEV);
    case TCB_CAUSE_MATCH:
    case TCB_CAUSE_ACTION:
    case TCB_CAUSE_OUT_PORT:
    case TCB_CAUSE_RECIRC:
    case TCB_CAUSE_METER:
    case TCB_CAUSE_LIMIT:
    case TCB_CAUSE_PRIO:
    case TCB_CAUSE_SHAPE:
    case TCB_N_CAUSES:
    default:
        return false;
    }
}

/* Finds the flow in the list or adds it; if the list is full, another one
 * makes place. */
static struct pending *
list(struct tcb_pending *pending, const ovs_u128 *ufid)
    OVS_REQUIRES(pending->mutex)
{
    struct pending *p = find(pending, ufid);

    if (p) {
        return p;
    }
    if (hmap_count(&pending->flows) >= TCB_MAX_PENDING) {
        forget(pending, CONTAINER_OF(hmap_first(&pending->flows),
                                     struct pending, node));
        pending->n_dropped++;
    }
    p = xzalloc(sizeof *p);
    p->ufid = *ufid;
    hmap_insert(&pending->flows, &p->node, ufid->u32[0]);
    atomic_count_inc(&pending->n);
    return p;
}

void
tcb_pending_refused(struct tcb_pending *pending, const ovs_u128 *ufid,
                    odp_port_t in_port, const struct tcb_refusal *why)
{
    if (!may_pass(why)) {
        tcb_pending_done(pending, ufid);
        return;
    }
    ovs_mutex_lock(&pending->mutex);
    struct pending *p = list(pending, ufid);
    p->cause = why->cause;
    p->in_port = in_port;
    p->chain = why->chain;
    p->deleted = 0;
    if (why->cause == TCB_CAUSE_KERNEL || why->cause == TCB_CAUSE_LOST) {
        /* Nothing will tell when that has passed. */
        p->not_before = MAX(p->not_before, time_msec() + FIRST_BACKOFF);
    }
    ovs_mutex_unlock(&pending->mutex);
}

void
tcb_pending_done(struct tcb_pending *pending, const ovs_u128 *ufid)
{
    if (atomic_count_get(&pending->n)) {
        ovs_mutex_lock(&pending->mutex);
        struct pending *p = find(pending, ufid);
        if (p) {
            forget(pending, p);
        }
        ovs_mutex_unlock(&pending->mutex);
    }
}

void
tcb_pending_deleted(struct tcb_pending *pending, const ovs_u128 *ufid)
{
    if (atomic_count_get(&pending->n)) {
        ovs_mutex_lock(&pending->mutex);
        struct pending *p = find(pending, ufid);
        if (p && p->n_offered) {
            p->deleted = time_msec();
        } else if (p) {
            forget(pending, p);
        }
        ovs_mutex_unlock(&pending->mutex);
    }
}

static bool
has_passed(const struct tcb_offload *offload, const struct pending *p)
{
    struct tcb_port *port = tcb_port_find(offload, p->in_port);

    return (port && tcb_port_state(port) == TCB_PORT_READY
            && tcb_chain_in_use(&offload->chains, p->chain));
}

size_t
tcb_pending_due(struct tcb_offload *offload, ovs_u128 **ufids)
{
    struct tcb_pending *pending = &offload->pending;
    long long int now = time_msec();
    struct pending *p;
    size_t n = 0;

    *ufids = NULL;
    if (!atomic_count_get(&pending->n)) {
        return 0;
    }
    ovs_mutex_lock(&pending->mutex);
    *ufids = xmalloc(hmap_count(&pending->flows) * sizeof **ufids);
    HMAP_FOR_EACH_SAFE (p, node, &pending->flows) {
        if (p->deleted) {
            if (now >= p->deleted + REMEMBER_DELETED) {
                forget(pending, p);
            }
        } else if (now >= p->not_before && has_passed(offload, p)) {
            p->not_before = now + MIN(FIRST_BACKOFF << MIN(p->n_offered, 10),
                                      LONGEST_BACKOFF);
            p->n_offered++;
            pending->n_offered++;
            (*ufids)[n++] = p->ufid;
        }
    }
    ovs_mutex_unlock(&pending->mutex);
    return n;
}

void
tcb_pending_summary(const struct tcb_pending *pending_,
                    struct tcb_pending_summary *s)
{
    struct tcb_pending *pending = CONST_CAST(struct tcb_pending *, pending_);
    struct pending *p;

    memset(s, 0, sizeof *s);
    ovs_mutex_lock(&pending->mutex);
    HMAP_FOR_EACH (p, node, &pending->flows) {
        unsigned int *n = (p->cause == TCB_CAUSE_PARENT ? &s->n_parent
                           : p->cause == TCB_CAUSE_PORT ? &s->n_port
                           : &s->n_kernel);

        *n += !p->deleted;
    }
    s->n_offered = pending->n_offered;
    s->n_dropped = pending->n_dropped;
    ovs_mutex_unlock(&pending->mutex);
}
