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
#include "util.h"

static int
report_gact(const struct tcnl_action *a, struct ofpbuf *out)
{
    if ((a->verdict & ~TC_ACT_EXT_VAL_MASK) == TC_ACT_GOTO_CHAIN) {
        nl_msg_put_u32(out, OVS_ACTION_ATTR_RECIRC,
                       a->verdict & TC_ACT_EXT_VAL_MASK);
        return 0;
    }
    /* A drop is what OVS does with a packet at the end of a list. */
    return a->verdict == TC_ACT_SHOT ? 0 : EOPNOTSUPP;
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
    case TCNL_ACT_CSUM:
    case TCNL_ACT_SKBEDIT:
        /* Parts of a set and of an output. */
        return 0;
    case TCNL_N_ACTION_KINDS:
    default:
        return EOPNOTSUPP;
    }
}

int
tcb_actions_from_tc(const struct tcb_offload *offload,
                    const struct tcnl_actions *tc, struct ofpbuf *out)
{
    for (size_t i = 0; i < tc->n; i++) {
        int error = report_action(offload, tc, &tc->a[i], out);

        if (error) {
            return error;
        }
    }
    return 0;
}
