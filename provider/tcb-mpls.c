/* SPDX-License-Identifier: Apache-2.0 */

/* MPLS: matches on the outermost entry, and actions. */

#include <config.h>

#include "tcb-translation.h"

#include <errno.h>
#include <linux/tc_act/tc_mpls.h>

#include "flow.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "packets.h"
#include "util.h"

/* Does the mask have none of the entry's 'bits'?  If it has some, but not all,
 * '*partial' is set. */
static bool
is_wild(ovs_be32 mask, uint32_t bits, bool *partial)
{
    uint32_t masked = ntohl(mask) & bits;

    *partial |= masked && masked != bits;
    return !masked;
}

static void
set_u8(struct tcnl_flower *flower, enum tcnl_key key, uint8_t value)
{
    tcnl_flower_set(flower, key, &value, NULL);
}

int
tcb_mpls_to_flower(struct match *match, struct tcnl_flower *flower,
                   struct tcb_refusal *why)
{
    ovs_be32 lse = match->flow.mpls_lse[0];
    ovs_be32 mask = match->wc.masks.mpls_lse[0];
    uint32_t label = mpls_lse_to_label(lse);
    bool partial = false;

    if (!eth_type_mpls(match->flow.dl_type)) {
        return 0;
    }
    if (!is_wild(mask, MPLS_LABEL_MASK, &partial)) {
        tcnl_flower_set(flower, TCNL_KEY_MPLS_LABEL, &label, NULL);
    }
    if (!is_wild(mask, MPLS_TC_MASK, &partial)) {
        set_u8(flower, TCNL_KEY_MPLS_TC, mpls_lse_to_tc(lse));
    }
    if (!is_wild(mask, MPLS_BOS_MASK, &partial)) {
        set_u8(flower, TCNL_KEY_MPLS_BOS, mpls_lse_to_bos(lse));
    }
    if (!is_wild(mask, MPLS_TTL_MASK, &partial)) {
        set_u8(flower, TCNL_KEY_MPLS_TTL, mpls_lse_to_ttl(lse));
    }
    match->wc.masks.mpls_lse[0] = 0;
    return partial ? tcb_refuse_match(why, "mpls with a partial mask") : 0;
}

/* OVS cannot read a key of MPLS in which no entry is the last one.  So one is,
 * whether that is matched or not: the outermost or, if it is matched not to be
 * it, the second. */
static void
end_entries(const struct tcnl_flower *flower, struct match *match)
{
    bool second = (tcnl_flower_has(flower, TCNL_KEY_MPLS_BOS)
                   && !flower->key.mpls_bos);

    if (eth_type_mpls(match->flow.dl_type)) {
        match->flow.mpls_lse[second] |= htonl(MPLS_BOS_MASK);
    }
}

void
tcb_mpls_from_flower(const struct tcnl_flower *flower, struct match *match)
{
    if (tcnl_flower_has(flower, TCNL_KEY_MPLS_LABEL)) {
        match_set_mpls_label(match, 0, htonl(flower->key.mpls_label));
    }
    if (tcnl_flower_has(flower, TCNL_KEY_MPLS_TC)) {
        match_set_mpls_tc(match, 0, flower->key.mpls_tc);
    }
    if (tcnl_flower_has(flower, TCNL_KEY_MPLS_BOS)) {
        match_set_mpls_bos(match, 0, flower->key.mpls_bos);
    }
    if (tcnl_flower_has(flower, TCNL_KEY_MPLS_TTL)) {
        match_set_mpls_ttl(match, 0, flower->key.mpls_ttl);
    }
    end_entries(flower, match);
}

/* ## Actions. */

/* act_mpls takes a TTL of 0 for none. */
static int
put_label(struct tcb_translation *t, uint8_t op, ovs_be16 proto, ovs_be32 lse)
{
    struct tcnl_action *a;

    if (!mpls_lse_to_ttl(lse)) {
        return tcb_refuse_action(t, "mpls with a ttl of 0");
    }
    a = tcb_add_action(t, TCNL_ACT_MPLS, tcb_verdict(t), false);
    if (!a) {
        return EOPNOTSUPP;
    }
    a->mpls.op = op;
    a->mpls.proto = proto;
    a->mpls.label = mpls_lse_to_label(lse);
    a->mpls.tc = mpls_lse_to_tc(lse);
    a->mpls.ttl = mpls_lse_to_ttl(lse);
    a->mpls.bos = mpls_lse_to_bos(lse);
    return 0;
}

int
tcb_translate_push_mpls(struct tcb_translation *t, const struct nlattr *nla)
{
    const struct ovs_action_push_mpls *push
        = nl_attr_get_unspec(nla, sizeof *push);

    return put_label(t, TCA_MPLS_ACT_PUSH, push->mpls_ethertype,
                     push->mpls_lse);
}

int
tcb_translate_set_mpls(struct tcb_translation *t, const struct nlattr *set)
{
    const struct ovs_key_mpls *key = nl_attr_get(set);

    if (nl_attr_get_size(set) != sizeof *key) {
        return tcb_refuse_action(t, "set(mpls)");
    }
    return put_label(t, TCA_MPLS_ACT_MODIFY, 0, key->mpls_lse);
}

int
tcb_translate_pop_mpls(struct tcb_translation *t, const struct nlattr *nla)
{
    struct tcnl_action *a = tcb_add_action(t, TCNL_ACT_MPLS, tcb_verdict(t),
                                           false);

    if (!a) {
        return EOPNOTSUPP;
    }
    a->mpls.op = TCA_MPLS_ACT_POP;
    a->mpls.proto = nl_attr_get_be16(nla);
    return 0;
}

static ovs_be32
lse_of(const struct tcnl_action *a)
{
    return htonl(a->mpls.label << MPLS_LABEL_SHIFT
                 | a->mpls.tc << MPLS_TC_SHIFT
                 | a->mpls.bos << MPLS_BOS_SHIFT
                 | a->mpls.ttl << MPLS_TTL_SHIFT);
}

int
tcb_report_mpls(const struct tcnl_action *a, struct ofpbuf *out)
{
    struct ovs_action_push_mpls *push;
    size_t nest;

    switch (a->mpls.op) {
    case TCA_MPLS_ACT_POP:
        nl_msg_put_be16(out, OVS_ACTION_ATTR_POP_MPLS, a->mpls.proto);
        return 0;

    case TCA_MPLS_ACT_PUSH:
        push = nl_msg_put_unspec_zero(out, OVS_ACTION_ATTR_PUSH_MPLS,
                                      sizeof *push);
        push->mpls_ethertype = a->mpls.proto;
        push->mpls_lse = lse_of(a);
        return 0;

    case TCA_MPLS_ACT_MODIFY:
        nest = nl_msg_start_nested(out, OVS_ACTION_ATTR_SET);
        nl_msg_put_be32(out, OVS_KEY_ATTR_MPLS, lse_of(a));
        nl_msg_end_nested(out, nest);
        return 0;

    default:
        return EOPNOTSUPP;
    }
}
