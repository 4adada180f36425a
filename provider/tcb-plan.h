/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_PLAN_H
#define TCB_PLAN_H 1

/* From a DPIF_OP_FLOW_PUT to the filter that it asks for: all that can be
 * decided before the kernel is asked. */

#include "tcb-action.h"
#include "tcb-why.h"
#include "tcnl/action.h"
#include "tcnl/flower.h"

struct dpif_flow_put;
struct tcb_flow;
struct tcb_offload;
struct tcb_port;
struct tcb_template;
struct tcb_templates;

struct tcb_put_plan {
    uint64_t generation;        /* Of what it rests on, see tcb-template.h. */
    struct tcb_port *port;      /* The in_port. */
    struct tcb_template *template;  /* Or NULL, and the next two say it. */
    struct tcnl_flower flower;
    struct tcnl_actions actions;
    struct tcb_action_uses uses;
    uint32_t chain;
    uint16_t prio;
    ovs_be16 proto;
    uint64_t match_hash;
    uint64_t shape;             /* 0: the kernel is known to take it. */
    bool echo;                  /* For whoever sends the filter. */
    struct tcb_refusal why;     /* If refused. */
};

enum tcb_verdict {
    TCB_PLAN_OK,
    TCB_PLAN_REFUSED,           /* 'why' says the reason. */
    TCB_PLAN_NOT_OURS,          /* Not for this provider at all. */
};

/* Fills in 'plan', from one of the templates, if there is one that fits
 * ('templates' may be NULL).  On TCB_PLAN_OK the plan holds references to the
 * chain and the meters that it uses: hand them over to a flow, or give them
 * back with tcb_plan_unref_uses().  Thread-safe. */
enum tcb_verdict tcb_plan_put(struct tcb_offload *, struct tcb_templates *,
                              const struct dpif_flow_put *,
                              struct tcb_put_plan *plan);

/* A port or a meter has been removed: plans made before are out of date. */
void tcb_plans_outdate(struct tcb_offload *);

void tcb_plan_unref_uses(struct tcb_offload *, const struct tcb_action_uses *);

/* Can the plan's filter replace that of 'flow' in place?  It can if prio,
 * masks and key are the same (fl_change() in net/sched/cls_flower.c). */
bool tcb_plan_replaces(const struct tcb_put_plan *, const struct tcb_flow *);

/* Makes the claimed 'flow' the one that the plan describes. */
void tcb_plan_apply(const struct tcb_put_plan *, struct tcb_flow *);

#endif /* tcb-plan.h */
