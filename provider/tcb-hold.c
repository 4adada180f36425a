/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-hold.h"

#include <errno.h>

#include "tcb-offload.h"
#include "tcb-placeholder.h"
#include "tcb-single.h"
#include "tcb-worker.h"
#include "timeval.h"
#include "util.h"

/* Msec without a packet after which none is expected between the reading of a
 * filter and its replacement, which are microseconds apart. */
#define BUSY_MS 10000

/* Flows have lower handles. */
#define FIRST_HANDLE (TCB_PLACEHOLDER_HANDLE + 1 + TCB_MAX_FLOWS)
#define N_HANDLES (1u << 20)

struct hold {
    struct ovs_list node;
    ovs_u128 ufid;
    struct tcnl_filter_id id;   /* Of the filter that holds the action. */
    struct tcnl_held action;
    uint32_t cls_flags;
    struct tcnl_stats known;    /* Already in the table. */
    long long int since;        /* Msec. */
};

void
tcb_holds_init(struct tcb_holds *holds)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    ovs_mutex_init(&holds->mutex);
    ovs_list_init(&holds->list);
    atomic_count_init(&holds->n, 0);
    holds->next = 0;
}

void
tcb_holds_destroy(struct tcb_holds *holds)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct hold *hold;

    LIST_FOR_EACH_POP (hold, node, &holds->list) {
        free(hold);
    }
    ovs_mutex_destroy(&holds->mutex);
}

bool
tcb_hold_is_wanted(struct tcb_offload *offload, struct tcb_flow *flow)
{
    struct tcb_flow_report report;

    tcb_flow_totals(flow, &report);
    return report.used && report.used + BUSY_MS > time_msec()
           && atomic_count_get(&offload->holds.n) < TCB_MAX_HOLDS;
}

/* The flags must be those that the action was made with. */
static int
build_hold(struct tcnl_buffer *b, const void *hold_)
{
    const struct hold *hold = hold_;
    struct tcnl_flower flower;

    tcb_match_nothing(&flower, hold->id.proto, hold->id.handle);
    flower.cls_flags = hold->cls_flags;
    return tcnl_filter_put_hold(b, &hold->id, &flower, &hold->action);
}

static uint32_t
next_handle(struct tcb_holds *holds)
{
    uint32_t n;

    ovs_mutex_lock(&holds->mutex);
    n = holds->next++ % N_HANDLES;
    ovs_mutex_unlock(&holds->mutex);
    return FIRST_HANDLE + n;
}

bool
tcb_hold(struct tcb_offload *offload, struct tcb_worker *w,
         struct tcb_flow *flow)
{
    struct tcb_holds *holds = &offload->holds;
    struct tcnl_filter_id id = tcb_flow_filter_id(flow);
    struct tcb_reading reading;
    struct tcnl_error error;
    struct hold *hold;

    tcb_single_get(w->transport, &id, &reading);
    if (reading.has_counters) {
        tcb_flow_final_counters(&offload->flows, flow,
                                &reading.counters.stats);
    }
    if (!reading.has_held) {
        return false;
    }
    hold = xmalloc(sizeof *hold);
    *hold = (struct hold) {
        .ufid = flow->ufid,
        .id = id,
        .action = reading.held,
        .cls_flags = offload->cls_flags,
        .known = reading.counters.stats,
        .since = time_msec(),
    };
    hold->id.handle = next_handle(holds);
    tcnl_transact(w->transport, build_hold, hold, NULL, NULL, &error);
    if (error.error && error.error != ENOBUFS && error.error != EPROTO) {
        free(hold);
        return false;
    }
    /* Also if it is not known whether it is there: to be deleted. */
    ovs_mutex_lock(&holds->mutex);
    ovs_list_push_back(&holds->list, &hold->node);
    atomic_count_inc(&holds->n);
    ovs_mutex_unlock(&holds->mutex);
    return true;
}

/* Takes the holds in question out of the list. */
static void
take_holds(struct tcb_holds *holds, const ovs_u128 *ufid,
           long long int before, struct ovs_list *taken)
{
    struct hold *hold;

    ovs_list_init(taken);
    ovs_mutex_lock(&holds->mutex);
    LIST_FOR_EACH_SAFE (hold, node, &holds->list) {
        if (hold->since <= before
            && (!ufid || ovs_u128_equals(hold->ufid, *ufid))) {
            ovs_list_remove(&hold->node);
            ovs_list_push_back(taken, &hold->node);
            atomic_count_dec(&holds->n);
        }
    }
    ovs_mutex_unlock(&holds->mutex);
}

static void
collect(struct tcb_offload *offload, struct tcb_worker *w,
        const ovs_u128 *ufid, long long int before, bool count)
{
    struct ovs_list taken;
    struct hold *hold;

    if (!atomic_count_get(&offload->holds.n)) {
        return;
    }
    take_holds(&offload->holds, ufid, before, &taken);
    LIST_FOR_EACH_POP (hold, node, &taken) {
        struct tcb_reading final;

        tcb_single_del(w->transport, &hold->id, "the filter that held the "
                       "counters of a modified flow", &final);
        if (count && final.has_counters) {
            tcb_flow_add_counters(&offload->flows, &hold->ufid, &hold->known,
                                  &final.counters.stats);
        }
        free(hold);
    }
}

void
tcb_holds_collect(struct tcb_offload *offload, struct tcb_worker *w,
                  const ovs_u128 *ufid, long long int min_age)
{
    collect(offload, w, ufid, time_msec() - min_age, true);
}

void
tcb_holds_drop(struct tcb_offload *offload, struct tcb_worker *w,
               const ovs_u128 *ufid)
{
    collect(offload, w, ufid, LLONG_MAX, false);
}
