/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-plan.h"

#include "dpif.h"
#include "netdev.h"
#include "odp-util.h"
#include "openvswitch/match.h"
#include "tcb-match.h"
#include "tcb-meter.h"
#include "tcb-offload.h"
#include "tcb-port.h"
#include "tcb-template.h"
#include "tcnl/shape.h"
#include "util.h"

/* Takes references to the meters, so that none of their police actions goes
 * before the filter does: a filter that names a missing police silently
 * creates an unlimited one. */
static bool
ref_meters(struct tcb_offload *offload, const struct tcb_action_uses *uses,
           struct tcb_refusal *why)
{
    for (int i = 0; i < uses->n_meters; i++) {
        if (!tcb_meter_ref(offload, uses->police[i])) {
            while (i-- > 0) {
                tcb_meter_unref(offload, uses->police[i]);
            }
            tcb_refuse(why, TCB_CAUSE_METER, "meter is being deleted");
            return false;
        }
    }
    return true;
}

void
tcb_plan_unref_uses(struct tcb_offload *offload,
                    const struct tcb_action_uses *uses)
{
    tcb_chain_use_unref(&offload->chains, uses->goto_chain);
    for (int i = 0; i < uses->n_meters; i++) {
        tcb_meter_unref(offload, uses->police[i]);
    }
}

static bool
is_geneve(const struct tcb_port *port)
{
    return !strcmp(netdev_get_type(port->up.netdev), "geneve");
}

static bool
translate_match(struct tcb_offload *offload, struct match *match,
                struct tcb_put_plan *plan)
{
    if (!offload->recirc_shared && match->flow.recirc_id) {
        tcb_refuse(&plan->why, TCB_CAUSE_RECIRC,
                   "recirc_id; enable NET_TC_SKB_EXT in the kernel");
        return false;
    }
    if (tcb_match_to_flower(match, &offload->abilities,
                            is_geneve(plan->port), &plan->flower,
                            &plan->chain, &plan->why)) {
        return false;
    }
    plan->flower.cls_flags = offload->cls_flags;

    plan->proto = (OVS_FORCE ovs_be16) plan->flower.key.eth_type;
    plan->prio = tcb_prio_for(plan->proto);
    if (!plan->prio) {
        tcb_refuse(&plan->why, TCB_CAUSE_PRIO, "eth_type 0x%04x",
                   ntohs(plan->proto));
        return false;
    }
    return true;
}

static bool
translate_actions(struct tcb_offload *offload,
                  const struct dpif_flow_put *put, const struct flow *flow,
                  const struct flow *masks, struct tcb_put_plan *plan)
{
    struct tcnl_actions *tc = &plan->actions;

    if (tcb_actions_to_tc(offload, &offload->abilities, put->actions,
                          put->actions_len, flow, masks, &plan->flower,
                          tc, &plan->uses, &plan->why)) {
        return false;
    }
    if (plan->uses.goto_chain && !offload->recirc_shared) {
        tcb_refuse(&plan->why, TCB_CAUSE_RECIRC,
                   "recirc; enable NET_TC_SKB_EXT in the kernel");
        return false;
    }

    BUILD_ASSERT(sizeof *put->ufid == TCNL_COOKIE_LEN);
    memcpy(tc->cookie, put->ufid, TCNL_COOKIE_LEN);
    tc->has_cookie = true;
    return true;
}

/* A flow that is refused for this alone is offered again. */
static bool
find_parent(struct tcb_offload *offload, struct tcb_put_plan *plan)
{
    if (!tcb_chain_in_use(&offload->chains, plan->chain)) {
        tcb_refuse(&plan->why, TCB_CAUSE_PARENT, "no flow in TC recirculates "
                   "to this chain");
        plan->why.chain = plan->chain;
        return false;
    }
    return true;
}

/* Has the kernel changed a filter like this before? */
static bool
check_shape(struct tcb_offload *offload, struct tcb_put_plan *plan)
{
    const char *reason;

    plan->shape = tcnl_shape_hash(&plan->flower, &plan->actions);
    switch (tcb_shape_find(&offload->shapes, plan->shape, &reason)) {
    case TCB_SHAPE_VERIFIED:
        plan->shape = 0;
        break;
    case TCB_SHAPE_UNKNOWN:
        break;
    case TCB_SHAPE_REFUSED:
        tcb_refuse(&plan->why, TCB_CAUSE_SHAPE, "%s", reason);
        return false;
    }
    return true;
}

static uint64_t
read_generation(const struct tcb_offload *offload_)
{
    struct tcb_offload *offload = CONST_CAST(struct tcb_offload *, offload_);
    uint64_t generation;

    atomic_read_explicit(&offload->generation, &generation,
                         memory_order_acquire);
    return generation;
}

void
tcb_plans_outdate(struct tcb_offload *offload)
{
    uint64_t orig;

    atomic_add_explicit(&offload->generation, 1, &orig, memory_order_acq_rel);
}

/* Comes last. */
static enum tcb_verdict
take_uses(struct tcb_offload *offload, struct tcb_put_plan *plan)
{
    if (!find_parent(offload, plan)
        || !ref_meters(offload, &plan->uses, &plan->why)) {
        return TCB_PLAN_REFUSED;
    }
    tcb_chain_use_ref(&offload->chains, plan->uses.goto_chain);
    return TCB_PLAN_OK;
}

/* Returns false if there is no template for it, or its port is not what it
 * was. */
static bool
use_template(struct tcb_offload *offload, struct tcb_templates *templates,
             const struct dpif_flow_put *put, struct tcb_put_plan *plan)
{
    struct tcb_template *t = (templates
                              ? tcb_templates_find(templates,
                                                   plan->generation, put)
                              : NULL);

    plan->template = NULL;
    plan->port = t ? tcb_port_find(offload, t->in_port) : NULL;
    if (!plan->port || tcb_port_state(plan->port) != TCB_PORT_READY
        || plan->port->up.ifindex != t->ifindex
        || plan->port->hook != t->hook) {
        return false;
    }
    plan->template = t;
    plan->uses = t->uses;
    plan->chain = t->chain;
    plan->prio = t->prio;
    plan->proto = t->proto;
    plan->match_hash = tcb_template_set(t, put);
    plan->shape = 0;
    return true;
}

enum tcb_verdict
tcb_plan_put(struct tcb_offload *offload, struct tcb_templates *templates,
             const struct dpif_flow_put *put, struct tcb_put_plan *plan)
{
    struct match match;
    struct flow masks;

    if (!put->ufid || put->flags & DPIF_FP_PROBE) {
        return TCB_PLAN_NOT_OURS;
    }
    plan->generation = read_generation(offload);
    if (use_template(offload, templates, put, plan)) {
        return take_uses(offload, plan);
    }
    if (parse_key_and_mask_to_match(put->key, put->key_len, put->mask,
                                       put->mask_len, &match)) {
        return TCB_PLAN_NOT_OURS;
    }
    plan->port = tcb_port_find(offload, match.flow.in_port.odp_port);
    if (!plan->port) {
        return TCB_PLAN_NOT_OURS;
    }
    if (tcb_port_wait(plan->port) != TCB_PORT_READY) {
        tcb_refuse(&plan->why, TCB_CAUSE_PORT, "%s",
                   tcb_port_error(plan->port));
        return TCB_PLAN_REFUSED;
    }

    masks = match.wc.masks;
    if (!translate_match(offload, &match, plan)
        || !translate_actions(offload, put, &match.flow, &masks, plan)
        || !check_shape(offload, plan)) {
        return TCB_PLAN_REFUSED;
    }
    plan->match_hash = tcnl_flower_hash(&plan->flower);
    return take_uses(offload, plan);
}

void
tcb_plan_apply(const struct tcb_put_plan *plan, struct tcb_flow *flow)
{
    flow->ifindex = plan->port->up.ifindex;
    flow->hook = plan->port->hook;
    flow->in_port = plan->port->up.port_no;
    flow->chain = plan->chain;
    flow->prio = plan->prio;
    flow->proto = plan->proto;
    flow->match_hash = plan->match_hash;
}

bool
tcb_plan_replaces(const struct tcb_put_plan *plan, const struct tcb_flow *flow)
{
    return flow->ifindex == plan->port->up.ifindex
           && flow->hook == plan->port->hook
           && flow->chain == plan->chain
           && flow->prio == plan->prio
           && flow->match_hash == plan->match_hash;
}
