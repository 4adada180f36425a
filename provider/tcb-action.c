/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "tcb-action.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <linux/pkt_cls.h>
#include <linux/tc_act/tc_csum.h>
#include <linux/tc_act/tc_mirred.h>
#include <linux/tc_act/tc_vlan.h>
#include <netinet/in.h>
#include <string.h>

#include "dpif-offload-provider.h"
#include "flow.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "packets.h"
#include "tcb-match.h"
#include "tcnl/ack.h"
#include "tcb-meter.h"
#include "tcb-port.h"
#include "tcb-rewrite.h"
#include "tcb-translation.h"
#include "util.h"

/* OVS actions in one flow, as many as OVS's own tc provider takes, so that a
 * flow is offloaded with both or with none. */
#define TCB_MAX_OVS_ACTIONS 16

/* What a checksum covers, by IP protocol, and so what a rewrite has to bring
 * up to date.  Protocols without a row cannot be rewritten, for their checksum
 * may cover the rewritten header. */
static const struct tcb_l4_csum {
    uint8_t ip_proto;
    uint32_t update;            /* 0: no checksum over the IP addresses. */
} l4_csums[] = {
    { IPPROTO_TCP, TCA_CSUM_UPDATE_FLAG_TCP },
    { IPPROTO_UDP, TCA_CSUM_UPDATE_FLAG_UDP },
    { IPPROTO_UDPLITE, TCA_CSUM_UPDATE_FLAG_UDPLITE },
    { IPPROTO_ICMPV6, TCA_CSUM_UPDATE_FLAG_ICMP },
    { IPPROTO_ICMP, 0 },
    { IPPROTO_IGMP, 0 },
    { IPPROTO_SCTP, 0 },
    { IPPROTO_IPIP, 0 },
    { IPPROTO_GRE, 0 },
};

int
tcb_refuse_limit(struct tcb_translation *t, const char *what)
{
    tcb_refuse(t->why, TCB_CAUSE_LIMIT, "%s", what);
    return EOPNOTSUPP;
}

int
tcb_refuse_action(struct tcb_translation *t, const char *what)
{
    tcb_refuse(t->why, TCB_CAUSE_ACTION, "%s", what);
    return EOPNOTSUPP;
}

uint32_t
tcb_verdict(const struct tcb_translation *t)
{
    return t->last ? TC_ACT_SHOT : TC_ACT_PIPE;
}

struct tcnl_action *
tcb_add_action(struct tcb_translation *t, enum tcnl_action_kind kind,
               uint32_t verdict, bool no_percpu)
{
    struct tcnl_action *a = tcnl_actions_add(t->tc, kind, verdict);

    if (!a) {
        tcb_refuse_limit(t, "TC actions");
        return NULL;
    }
    a->cookie = false;
    a->no_percpu = no_percpu;
    return a;
}

int
tcb_put_csum(struct tcb_translation *t, uint32_t verdict)
{
    if (t->csum) {
        struct tcnl_action *a = tcb_add_action(t, TCNL_ACT_CSUM, verdict,
                                               true);

        if (!a) {
            return EOPNOTSUPP;
        }
        a->csum.update_flags = t->csum;
        t->csum = 0;
    }
    return 0;
}

static int
put_gact(struct tcb_translation *t, uint32_t verdict, bool no_percpu)
{
    struct tcnl_action *a = tcb_add_action(t, TCNL_ACT_GACT, verdict,
                                           no_percpu);

    if (!a) {
        return EOPNOTSUPP;
    }
    a->cookie = true;
    return 0;
}

static int
translate_output(struct tcb_translation *t, const struct nlattr *nla)
{
    odp_port_t port_no = nl_attr_get_odp_port(nla);
    const struct tcb_port *port = tcb_port_find(t->offload, port_no);
    struct tcnl_action *a;

    if (!port || tcb_port_wait(port) != TCB_PORT_READY) {
        tcb_refuse(t->why, TCB_CAUSE_OUT_PORT, "%"PRIu32, port_no);
        return EOPNOTSUPP;
    }

    if (tcb_release_tunnel(t)) {
        return EOPNOTSUPP;
    }
    if (port->internal) {
        /* The stack drops what it receives for another host. */
        a = tcb_add_action(t, TCNL_ACT_SKBEDIT, TC_ACT_PIPE, false);
        if (!a) {
            return EOPNOTSUPP;
        }
        a->skbedit.ptype = PACKET_HOST;
    }

    a = tcb_add_action(t, TCNL_ACT_MIRRED,
                       t->last ? TC_ACT_STOLEN : TC_ACT_PIPE, true);
    if (!a) {
        return EOPNOTSUPP;
    }
    a->cookie = true;
    a->mirred.ifindex = port->up.ifindex;
    a->mirred.eaction = (port->internal
                         ? t->last ? TCA_INGRESS_REDIR : TCA_INGRESS_MIRROR
                         : t->last ? TCA_EGRESS_REDIR : TCA_EGRESS_MIRROR);
    return 0;
}

static int
translate_push_vlan(struct tcb_translation *t, const struct nlattr *nla)
{
    const struct ovs_action_push_vlan *push
        = nl_attr_get_unspec(nla, sizeof *push);
    struct tcnl_action *a = tcb_add_action(t, TCNL_ACT_VLAN, tcb_verdict(t),
                                           true);

    if (!a) {
        return EOPNOTSUPP;
    }
    a->vlan.op = TCA_VLAN_ACT_PUSH;
    a->vlan.tpid = push->vlan_tpid;
    a->vlan.vid = vlan_tci_to_vid(push->vlan_tci);
    a->vlan.prio = vlan_tci_to_pcp(push->vlan_tci);
    return 0;
}

static int
translate_pop_vlan(struct tcb_translation *t,
                   const struct nlattr *nla OVS_UNUSED)
{
    struct tcnl_action *a = tcb_add_action(t, TCNL_ACT_VLAN, tcb_verdict(t),
                                           true);

    if (!a) {
        return EOPNOTSUPP;
    }
    a->vlan.op = TCA_VLAN_ACT_POP;
    return 0;
}

/* The flow's IP protocol, 0 if there is none that could be matched. */
static uint8_t
flow_ip_proto(const struct flow *flow)
{
    return is_ip_any(flow) ? flow->nw_proto : 0;
}

static const struct tcb_l4_csum *
find_l4_csum(uint8_t ip_proto)
{
    for (size_t i = 0; i < ARRAY_SIZE(l4_csums); i++) {
        if (l4_csums[i].ip_proto == ip_proto) {
            return &l4_csums[i];
        }
    }
    return NULL;
}

static bool
matches_fragments(const struct tcnl_flower *flower)
{
    return (tcnl_flower_has(flower, TCNL_KEY_FLAGS)
            && flower->key.flags & htonl(TCA_FLOWER_KEY_FLAGS_IS_FRAGMENT));
}

/* Notes the checksums that a rewrite of 'layer' invalidates.  Which one L4 has
 * is only known with an exact IP protocol, so the filter gets one.  An L4
 * checksum covers the whole packet and cannot be computed over a fragment. */
static int
note_csum(struct tcb_translation *t, enum tcb_rewrite_layer layer)
{
    uint8_t ip_proto = flow_ip_proto(t->flow);
    const struct tcb_l4_csum *l4;

    if (layer == TCB_LAYER_ETH) {
        return 0;
    }

    l4 = find_l4_csum(ip_proto);
    if (!l4) {
        tcb_refuse(t->why, TCB_CAUSE_ACTION,
                   "set of IP headers with protocol %"PRIu8, ip_proto);
        return EOPNOTSUPP;
    }
    if (l4->update && matches_fragments(t->flower)) {
        tcb_refuse(t->why, TCB_CAUSE_ACTION, "set of headers of fragments");
        return EOPNOTSUPP;
    }

    t->csum |= l4->update;
    if (layer == TCB_LAYER_IPV4) {
        t->csum |= TCA_CSUM_UPDATE_FLAG_IPV4HDR;
    }
    tcnl_flower_set(t->flower, TCNL_KEY_IP_PROTO, &ip_proto, NULL);
    return 0;
}

int
tcb_put_rewrites(struct tcb_translation *t,
                 const struct tcnl_rewrites *rewrites, uint32_t verdict)
{
    struct tcnl_actions *tc = t->tc;
    unsigned int left = ARRAY_SIZE(tc->pedit_keys) - tc->n_pedit_keys;
    struct tcnl_action *a;
    unsigned int n;

    n = tcnl_pedit_from_rewrites(rewrites, &tc->pedit_keys[tc->n_pedit_keys],
                                 MIN(left, TCNL_MAX_PEDIT_KEYS));
    if (!n) {
        return tcb_refuse_limit(t, "pedit keys");
    }
    a = tcb_add_action(t, TCNL_ACT_PEDIT, t->csum ? TC_ACT_PIPE : verdict,
                       false);
    if (!a) {
        return EOPNOTSUPP;
    }
    a->pedit.first = tc->n_pedit_keys;
    a->pedit.n = n;
    tc->n_pedit_keys += n;
    return 0;
}

/* One pedit per set action; csum follows when the run of them ends. */
static int
translate_rewrite(struct tcb_translation *t, const struct nlattr *nla,
                  bool masked)
{
    struct tcnl_rewrites rewrites;
    enum tcb_rewrite_layer layer;
    int error;

    error = tcb_rewrite_from_set(nl_attr_get(nla), masked, &rewrites, &layer,
                                 t->why);
    if (!error) {
        error = note_csum(t, layer);
    }
    if (!error) {
        error = tcb_put_rewrites(t, &rewrites, tcb_verdict(t));
    }
    if (error) {
        return error;
    }
    tcb_rewrite_merge(t->copy ? &t->undo : &t->done, &rewrites);
    if (t->copy) {
        t->undo_csum |= t->csum;
    }
    return t->last ? tcb_put_csum(t, tcb_verdict(t)) : 0;
}

static int
translate_set(struct tcb_translation *t, const struct nlattr *nla)
{
    const struct nlattr *set = nl_attr_get(nla);

    switch (nl_attr_type(set)) {
    case OVS_KEY_ATTR_TUNNEL:
        return tcb_translate_set_tunnel(t, set);
    case OVS_KEY_ATTR_MPLS:
        return tcb_translate_set_mpls(t, set);
    default:
        return translate_rewrite(t, nla, false);
    }
}

static int
translate_set_masked(struct tcb_translation *t, const struct nlattr *nla)
{
    return translate_rewrite(t, nla, true);
}

/* The datapath recirculates a copy if more actions follow; a goto in TC ends
 * the list. */
static int
translate_recirc(struct tcb_translation *t, const struct nlattr *nla)
{
    uint32_t recirc_id = nl_attr_get_u32(nla);

    if (!t->tail) {
        return tcb_refuse_action(t, "recirc with more to follow");
    }
    if (t->maybe_released) {
        /* The next chain's flows match the tunnel. */
        return tcb_refuse_action(t, "recirc behind an output from a tunnel");
    }
    if (!recirc_id || recirc_id > TCB_MAX_CHAIN) {
        tcb_refuse(t->why, TCB_CAUSE_RECIRC,
                   "recirc_id %#"PRIx32" is not a chain", recirc_id);
        return EOPNOTSUPP;
    }
    t->uses->goto_chain = recirc_id;
    return put_gact(t, TC_ACT_GOTO_CHAIN | recirc_id, false);
}

static int
translate_drop(struct tcb_translation *t, const struct nlattr *nla OVS_UNUSED)
{
    return put_gact(t, TC_ACT_SHOT, false);
}

static int
note_police(struct tcb_translation *t, uint32_t police)
{
    struct tcb_action_uses *uses = t->uses;

    for (size_t i = 0; i < uses->n_meters; i++) {
        if (uses->police[i] == police) {
            return 0;
        }
    }
    if (uses->n_meters >= TCB_MAX_FLOW_METERS) {
        return tcb_refuse_limit(t, "meters");
    }
    uses->police[uses->n_meters++] = police;
    return 0;
}

/* The counters of a police are those of all flows that use the meter.  Those
 * of a flow include the packets that the meter drops, as in the kernel
 * datapath, so something of its own has to count in front of the police. */
static int
count_before_police(struct tcb_translation *t)
{
    const struct tcnl_actions *tc = t->tc;

    for (size_t i = 0; i < tc->n; i++) {
        if (tc->a[i].kind != TCNL_ACT_POLICE) {
            return 0;
        }
    }
    return (tcb_add_action(t, TCNL_ACT_GACT, TC_ACT_PIPE, true)
            ? 0 : EOPNOTSUPP);
}

static int
translate_meter(struct tcb_translation *t, const struct nlattr *nla)
{
    uint32_t meter_id = nl_attr_get_u32(nla);
    struct tcnl_action *a;
    uint32_t police;
    int error;

    if (!tcb_meter_to_police(t->offload, meter_id, &police)) {
        tcb_refuse(t->why, TCB_CAUSE_METER, "%"PRIu32, meter_id);
        return EOPNOTSUPP;
    }
    error = note_police(t, police);
    if (!error) {
        error = count_before_police(t);
    }
    if (error) {
        return error;
    }
    a = tcb_add_action(t, TCNL_ACT_POLICE, TC_ACT_PIPE, false);
    if (!a) {
        return EOPNOTSUPP;
    }
    a->police.index = police;
    return 0;
}

/* Every OVS action, with its name as in textual flows.  Those without a
 * function are refused. */
static const struct {
    const char *name;
    int (*translate)(struct tcb_translation *, const struct nlattr *);
} ovs_actions[] = {
    [OVS_ACTION_ATTR_OUTPUT] = { "output", translate_output },
    [OVS_ACTION_ATTR_USERSPACE] = { "userspace", NULL },
    [OVS_ACTION_ATTR_SET] = { "set", translate_set },
    [OVS_ACTION_ATTR_PUSH_VLAN] = { "push_vlan", translate_push_vlan },
    [OVS_ACTION_ATTR_POP_VLAN] = { "pop_vlan", translate_pop_vlan },
    [OVS_ACTION_ATTR_SAMPLE] = { "sample", NULL },
    [OVS_ACTION_ATTR_RECIRC] = { "recirc", translate_recirc },
    [OVS_ACTION_ATTR_HASH] = { "hash", NULL },
    [OVS_ACTION_ATTR_PUSH_MPLS] = { "push_mpls", tcb_translate_push_mpls },
    [OVS_ACTION_ATTR_POP_MPLS] = { "pop_mpls", tcb_translate_pop_mpls },
    [OVS_ACTION_ATTR_SET_MASKED] = { "set", translate_set_masked },
    [OVS_ACTION_ATTR_CT] = { "ct", tcb_translate_ct },
    [OVS_ACTION_ATTR_TRUNC] = { "trunc", NULL },
    [OVS_ACTION_ATTR_PUSH_ETH] = { "push_eth", NULL },
    [OVS_ACTION_ATTR_POP_ETH] = { "pop_eth", NULL },
    [OVS_ACTION_ATTR_CT_CLEAR] = { "ct_clear", tcb_translate_ct_clear },
    [OVS_ACTION_ATTR_PUSH_NSH] = { "push_nsh", NULL },
    [OVS_ACTION_ATTR_POP_NSH] = { "pop_nsh", NULL },
    [OVS_ACTION_ATTR_METER] = { "meter", translate_meter },
    [OVS_ACTION_ATTR_CLONE] = { "clone", NULL },
    [OVS_ACTION_ATTR_CHECK_PKT_LEN] = { "check_pkt_len",
                                         tcb_translate_check_len },
    [OVS_ACTION_ATTR_ADD_MPLS] = { "add_mpls", NULL },
    [OVS_ACTION_ATTR_DEC_TTL] = { "dec_ttl", NULL },
    [OVS_ACTION_ATTR_DROP] = { "drop", translate_drop },
    [OVS_ACTION_ATTR_PSAMPLE] = { "psample", NULL },
    [OVS_ACTION_ATTR_TUNNEL_PUSH] = { "tnl_push", NULL },
    [OVS_ACTION_ATTR_TUNNEL_POP] = { "tnl_pop", NULL },
    [OVS_ACTION_ATTR_LB_OUTPUT] = { "lb_output", NULL },
};

/* 'where' is the place that it is refused in, or empty. */
static int
refuse_type(struct tcb_translation *t, uint16_t type, const char *where)
{
    if (type < ARRAY_SIZE(ovs_actions) && ovs_actions[type].name) {
        tcb_refuse(t->why, TCB_CAUSE_ACTION, "%s%s", ovs_actions[type].name,
                   where);
    } else {
        tcb_refuse(t->why, TCB_CAUSE_ACTION, "action %"PRIu16, type);
    }
    return EOPNOTSUPP;
}

/* Is this a set of header fields, which goes to pedit? */
static bool
is_rewrite(const struct nlattr *nla)
{
    uint16_t type = nl_attr_type(nla);
    uint16_t set;

    if (type != OVS_ACTION_ATTR_SET && type != OVS_ACTION_ATTR_SET_MASKED) {
        return false;
    }
    set = nl_attr_type(nl_attr_get(nla));
    return set != OVS_KEY_ATTR_TUNNEL && set != OVS_KEY_ATTR_MPLS;
}

/* May this be done to a copy that TC does not make?  See tcb-check-len.c. */
static bool
is_for_copies(const struct nlattr *nla)
{
    return (nl_attr_type(nla) == OVS_ACTION_ATTR_OUTPUT
            || nl_attr_type(nla) == OVS_ACTION_ATTR_CHECK_PKT_LEN
            || is_rewrite(nla));
}

static int
translate_action(struct tcb_translation *t, const struct nlattr *nla)
{
    uint16_t type = nl_attr_type(nla);

    if (type >= ARRAY_SIZE(ovs_actions) || !ovs_actions[type].translate) {
        return refuse_type(t, type, "");
    }
    if (t->copy && !is_for_copies(nla)) {
        return refuse_type(t, type, " in a branch of check_pkt_len");
    }
    if (!is_rewrite(nla) && tcb_put_csum(t, TC_ACT_PIPE)) {
        return EOPNOTSUPP;
    }
    return ovs_actions[type].translate(t, nla);
}

/* A police found by its index keeps the verdict it was made with, so a list
 * that ends in one, or in nothing, needs a drop of its own. */
static int
put_final_drop(struct tcb_translation *t)
{
    const struct tcnl_actions *tc = t->tc;

    return (!tc->n || tc->a[tc->n - 1].kind == TCNL_ACT_POLICE
            ? put_gact(t, TC_ACT_SHOT, true) : 0);
}

/* A dump knows a filter by its cookie.  A list without an output, goto or drop
 * has it on the last action that is the filter's own. */
static void
ensure_cookie(struct tcnl_actions *tc)
{
    for (size_t i = 0; i < tc->n; i++) {
        if (tc->a[i].cookie) {
            return;
        }
    }
    for (size_t i = tc->n; i-- > 0; ) {
        if (tc->a[i].kind != TCNL_ACT_POLICE) {
            tc->a[i].cookie = true;
            return;
        }
    }
}

int
tcb_translate_list(struct tcb_translation *t, const struct nlattr *actions,
                   size_t len, bool last, bool tail)
{
    const struct nlattr *nla;
    size_t left;

    NL_ATTR_FOR_EACH (nla, left, actions, len) {
        bool at_end = nl_attr_len_pad(nla, left) >= left;
        int error;

        if (t->n_actions++ >= TCB_MAX_OVS_ACTIONS) {
            return tcb_refuse_limit(t, "actions");
        }
        tcb_join_branches(t);
        t->last = last && at_end;
        t->tail = tail && at_end;
        error = translate_action(t, nla);
        if (error) {
            return error;
        }
    }
    return left ? tcb_refuse_action(t, "truncated actions") : 0;
}

int
tcb_actions_to_tc(const struct tcb_offload *offload,
                  const struct tcnl_abilities *able,
                  const struct nlattr *actions, size_t actions_len,
                  const struct flow *flow, const struct flow *masks,
                  struct tcnl_flower *flower, struct tcnl_actions *tc,
                  struct tcb_action_uses *uses, struct tcb_refusal *why)
{
    struct tcb_translation t = {
        .offload = offload,
        .able = able,
        .flow = flow,
        .masks = masks,
        .flower = flower,
        .tc = tc,
        .uses = uses,
        .why = why,
        .from_tunnel = (flow_tnl_dst_is_set(&flow->tunnel)
                        || flow_tnl_src_is_set(&flow->tunnel)),
    };
    int error;

    tcnl_actions_init(tc);
    uses->goto_chain = 0;
    uses->of_key = false;
    uses->n_meters = 0;
    error = tcb_translate_list(&t, actions, actions_len, true, true);
    if (!error) {
        tcb_end_branches(&t);
        error = put_final_drop(&t);
    }
    if (!error) {
        ensure_cookie(tc);
    }
    return error;
}
