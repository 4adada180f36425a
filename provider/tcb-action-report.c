/* SPDX-License-Identifier: Apache-2.0 */

/* TC actions to OVS datapath actions, for full dumps and gets. */

#include <config.h>

#include "tcb-action.h"

#include <errno.h>
#include <linux/pkt_cls.h>
#include <linux/tc_act/tc_vlan.h>

#include "dpif-offload-provider.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "packets.h"
#include "tcnl/ack.h"
#include "tcb-meter.h"
#include "tcb-port.h"
#include "tcb-rewrite.h"
#include "tcb-translation.h"
#include "util.h"

static int
report_gact(const struct tcnl_action *a, struct ofpbuf *out)
{
    if ((a->verdict & ~TC_ACT_EXT_VAL_MASK) == TC_ACT_GOTO_CHAIN) {
        nl_msg_put_u32(out, OVS_ACTION_ATTR_RECIRC,
                       a->verdict & TC_ACT_EXT_VAL_MASK);
        return 0;
    }
    /* A drop is what OVS does with a packet at the end of a list, and one that
     * goes on counts in front of a meter. */
    return (a->verdict == TC_ACT_SHOT || a->verdict == TC_ACT_PIPE
            ? 0 : EOPNOTSUPP);
}

static int
report_mirred(const struct tcb_offload *offload, const struct tcnl_action *a,
              struct ofpbuf *out)
{
    const struct tcb_port *port
        = tcb_port_find_by_ifindex(offload, a->mirred.ifindex);

    if (!port) {
        return EOPNOTSUPP;
    }
    nl_msg_put_odp_port(out, OVS_ACTION_ATTR_OUTPUT, port->up.port_no);
    return 0;
}

static int
report_vlan(const struct tcnl_action *a, struct ofpbuf *out)
{
    struct ovs_action_push_vlan *push;

    switch (a->vlan.op) {
    case TCA_VLAN_ACT_POP:
        nl_msg_put_flag(out, OVS_ACTION_ATTR_POP_VLAN);
        return 0;

    case TCA_VLAN_ACT_PUSH:
        push = nl_msg_put_unspec_zero(out, OVS_ACTION_ATTR_PUSH_VLAN,
                                      sizeof *push);
        push->vlan_tpid = a->vlan.tpid;
        push->vlan_tci = htons(a->vlan.vid | a->vlan.prio << VLAN_PCP_SHIFT
                               | VLAN_CFI);
        return 0;

    default:
        return EOPNOTSUPP;
    }
}

static int
report_pedit(const struct tcnl_actions *tc, const struct tcnl_action *a,
             struct ofpbuf *out)
{
    struct tcnl_rewrites rewrites;
    int error;

    error = tcnl_pedit_to_rewrites(&tc->pedit_keys[a->pedit.first],
                                   a->pedit.n, &rewrites);
    if (!error) {
        tcb_rewrite_put_sets(&rewrites, out);
    }
    return error;
}

static int
report_police(const struct tcb_offload *offload, const struct tcnl_action *a,
              struct ofpbuf *out)
{
    uint32_t meter_id;

    if (!tcb_meter_from_police(offload, a->police.index, &meter_id)) {
        return EOPNOTSUPP;
    }
    nl_msg_put_u32(out, OVS_ACTION_ATTR_METER, meter_id);
    return 0;
}

static int
report_action(const struct tcb_offload *offload,
              const struct tcnl_actions *tc, const struct tcnl_action *a,
              struct ofpbuf *out)
{
    switch (a->kind) {
    case TCNL_ACT_GACT:
        return report_gact(a, out);
    case TCNL_ACT_MIRRED:
        return report_mirred(offload, a, out);
    case TCNL_ACT_VLAN:
        return report_vlan(a, out);
    case TCNL_ACT_PEDIT:
        return report_pedit(tc, a, out);
    case TCNL_ACT_POLICE:
        return report_police(offload, a, out);
    case TCNL_ACT_MPLS:
        return tcb_report_mpls(a, out);
    case TCNL_ACT_CT:
        return tcb_report_ct(tc, a, out);
    case TCNL_ACT_TUNNEL_KEY:
        return tcb_report_tunnel(tc, a, out);
    case TCNL_ACT_CSUM:
    case TCNL_ACT_SKBEDIT:
        /* Parts of a set and of an output. */
        return 0;
    case TCNL_ACT_POLICE_MTU:   /* See report_branches(). */
    case TCNL_N_ACTION_KINDS:
    default:
        return EOPNOTSUPP;
    }
}

/* ## Branches; for their form see tcb-check-len.c. */

struct report {
    const struct tcb_offload *offload;
    const struct tcnl_actions *tc;
    struct ofpbuf *out;
};

static int report_range(const struct report *, size_t first, size_t end,
                        bool copy);

static bool
is_jump(uint32_t verdict)
{
    return TC_ACT_EXT_CMP(verdict, TC_ACT_JUMP);
}

/* Where a jump leads to, as seen from a list that ends at 'end': further than
 * that are the jumps that leave the branch that the list is, too. */
static size_t
jump_target(uint32_t verdict, size_t end)
{
    return MIN(verdict & TC_ACT_EXT_VAL_MASK, end);
}

/* Is it there only to jump, behind a police that cannot? */
static bool
is_helper(const struct tcnl_action *a)
{
    return (a->kind == TCNL_ACT_GACT
            && (a->verdict == TC_ACT_PIPE || a->verdict == TC_ACT_STOLEN
                || is_jump(a->verdict)));
}

/* Where the branches of the police at 'm' are: [m + 1, g) and [g, e). */
static int
find_branches(const struct tcnl_actions *tc, size_t m, size_t end, size_t *g,
              size_t *e)
{
    uint32_t conform = tc->a[m].police_mtu.conform;
    uint32_t exit;

    if (conform == TC_ACT_STOLEN) {
        *g = *e = end;
        return 0;
    }
    if (!is_jump(conform)) {
        return EOPNOTSUPP;
    }
    *g = jump_target(conform, end);
    if (*g <= m) {
        return EOPNOTSUPP;
    }
    exit = tc->a[*g - 1].verdict;
    *e = (is_jump(exit) ? jump_target(exit, end)
          : exit == TC_ACT_PIPE ? *g : end);
    return *e >= *g ? 0 : EOPNOTSUPP;
}

static int
report_branch(const struct report *r, uint16_t type, size_t first, size_t end,
              bool copy)
{
    size_t nest = nl_msg_start_nested(r->out, type);
    int error = report_range(r, first, end, copy);

    nl_msg_end_nested(r->out, nest);
    return error;
}

/* Reports the police at 'm' and its branches; what follows is at '*next'. */
static int
report_branches(const struct report *r, size_t m, size_t end, bool copy,
                size_t *next)
{
    const struct tcnl_action *police = &r->tc->a[m];
    size_t g, e, nest;
    int error;

    error = find_branches(r->tc, m, end, &g, &e);
    if (error || police->police_mtu.mtu > UINT16_MAX) {
        return EOPNOTSUPP;
    }
    copy = copy || e < end;
    nest = nl_msg_start_nested(r->out, OVS_ACTION_ATTR_CHECK_PKT_LEN);
    nl_msg_put_u16(r->out, OVS_CHECK_PKT_LEN_ATTR_PKT_LEN,
                   police->police_mtu.mtu);
    error = report_branch(r, OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_GREATER,
                          m + 1, g, copy);
    if (!error) {
        error = report_branch(r, OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_LESS_EQUAL,
                              g, e, copy);
    }
    nl_msg_end_nested(r->out, nest);
    *next = e;
    return error;
}

/* At the end of a branch that is a copy are rewrites that set it back, which
 * nobody sees in OVS. */
static size_t
skip_undo(const struct tcnl_actions *tc, size_t first, size_t end)
{
    while (end > first && (tc->a[end - 1].kind == TCNL_ACT_PEDIT
                           || tc->a[end - 1].kind == TCNL_ACT_CSUM)) {
        end--;
    }
    return end;
}

static int
report_range(const struct report *r, size_t first, size_t end, bool copy)
{
    const struct tcnl_actions *tc = r->tc;
    size_t stop = copy ? skip_undo(tc, first, end) : end;
    size_t i = first;
    int error = 0;

    if (stop > first && is_helper(&tc->a[stop - 1])) {
        stop--;
    }
    while (!error && i < stop) {
        if (tc->a[i].kind == TCNL_ACT_POLICE_MTU) {
            error = report_branches(r, i, end, copy, &i);
        } else if (is_jump(tc->a[i].verdict) && i + 1 < end) {
            return EOPNOTSUPP;
        } else {
            error = report_action(r->offload, tc, &tc->a[i], r->out);
            i++;
        }
    }
    return error;
}

int
tcb_actions_from_tc(const struct tcb_offload *offload,
                    const struct tcnl_actions *tc, struct ofpbuf *out)
{
    const struct report r = { .offload = offload, .tc = tc, .out = out };

    return report_range(&r, 0, tc->n, false);
}
