/* SPDX-License-Identifier: Apache-2.0 */

/* Connection tracking: matches on its state, and actions. */

#include <config.h>

#include "tcb-translation.h"

#include <errno.h>
#include <linux/pkt_cls.h>
#include <linux/tc_act/tc_ct.h>

#include "flow.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "packets.h"
#include "tcnl/ack.h"
#include "tcnl/probe.h"
#include "util.h"

static const struct {
    uint32_t ovs;               /* OVS_CS_F_*. */
    uint16_t tc;                /* TCA_FLOWER_KEY_CT_FLAGS_*. */
} states[] = {
    { OVS_CS_F_NEW, TCA_FLOWER_KEY_CT_FLAGS_NEW },
    { OVS_CS_F_ESTABLISHED, TCA_FLOWER_KEY_CT_FLAGS_ESTABLISHED },
    { OVS_CS_F_RELATED, TCA_FLOWER_KEY_CT_FLAGS_RELATED },
    { OVS_CS_F_TRACKED, TCA_FLOWER_KEY_CT_FLAGS_TRACKED },
    { OVS_CS_F_INVALID, TCA_FLOWER_KEY_CT_FLAGS_INVALID },
    { OVS_CS_F_REPLY_DIR, TCA_FLOWER_KEY_CT_FLAGS_REPLY },
};

static uint16_t
state_to_tc(uint32_t ovs)
{
    uint16_t tc = 0;

    for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
        tc |= ovs & states[i].ovs ? states[i].tc : 0;
    }
    return tc;
}

static uint32_t
state_to_ovs(uint16_t tc)
{
    uint32_t ovs = 0;

    for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
        ovs |= tc & states[i].tc ? states[i].ovs : 0;
    }
    return ovs;
}

/* Is this state one that the kernel takes (fl_validate_ct_state())?  OVS never
 * sees another. */
static bool
state_is_possible(uint16_t tc)
{
    uint16_t new = TCA_FLOWER_KEY_CT_FLAGS_NEW;

    return !((tc & new && tc & (TCA_FLOWER_KEY_CT_FLAGS_ESTABLISHED
                                | TCA_FLOWER_KEY_CT_FLAGS_REPLY))
             || (tc & TCA_FLOWER_KEY_CT_FLAGS_INVALID
                 && tc & ~(TCA_FLOWER_KEY_CT_FLAGS_INVALID
                           | TCA_FLOWER_KEY_CT_FLAGS_TRACKED)));
}

/* Leaves the mask alone if the kernel does not know one of its bits. */
int
tcb_ct_state_to_flower(struct match *match,
                       const struct tcnl_abilities *able,
                       struct tcnl_flower *flower, struct tcb_refusal *why)
{
    uint32_t ovs_mask = match->wc.masks.ct_state;
    uint16_t mask = state_to_tc(ovs_mask);
    uint16_t key = state_to_tc(match->flow.ct_state & ovs_mask);

    if (!mask || state_to_ovs(mask & able->ct_states) != ovs_mask) {
        return 0;
    }
    if (!state_is_possible(key)) {
        return tcb_refuse_match(why, "ct_state of no packet");
    }

    /* An established connection is not new; the kernel wants no other bit
     * without the one for tracked. */
    if (key & TCA_FLOWER_KEY_CT_FLAGS_ESTABLISHED) {
        mask &= ~TCA_FLOWER_KEY_CT_FLAGS_NEW;
    }
    if (key) {
        key |= TCA_FLOWER_KEY_CT_FLAGS_TRACKED;
        mask |= TCA_FLOWER_KEY_CT_FLAGS_TRACKED;
    }
    tcnl_flower_set(flower, TCNL_KEY_CT_STATE, &key, &mask);
    match->wc.masks.ct_state = 0;
    return 0;
}

void
tcb_ct_state_from_flower(const struct tcnl_flower *flower,
                         struct match *match)
{
    if (tcnl_flower_has(flower, TCNL_KEY_CT_STATE)) {
        match_set_ct_state_masked(match,
                                  state_to_ovs(flower->key.ct_state),
                                  state_to_ovs(flower->mask.ct_state));
    }
}

/* ## NAT. */

/* Stores an address of 4 or 16 bytes in 'to'. */
static int
read_address(struct tcb_translation *t, const struct nlattr *nla,
             struct tcnl_ct *ct, uint8_t to[16])
{
    size_t size = nl_attr_get_size(nla);
    uint8_t family = size == 4 ? 4 : 6;

    if ((size != 4 && size != 16) || (ct->family && ct->family != family)) {
        return tcb_refuse_action(t, "ct(nat) with odd addresses");
    }
    ct->family = family;
    memcpy(to, nl_attr_get(nla), size);
    return 0;
}

static int
refuse_nat(struct tcb_translation *t, uint16_t type)
{
    switch (type) {
    case OVS_NAT_ATTR_PERSISTENT:
        return tcb_refuse_action(t, "ct(nat(persistent))");
    case OVS_NAT_ATTR_PROTO_HASH:
        return tcb_refuse_action(t, "ct(nat(hash))");
    case OVS_NAT_ATTR_PROTO_RANDOM:
        return tcb_refuse_action(t, "ct(nat(random))");
    default:
        return tcb_refuse_action(t, "ct(nat) with an unknown option");
    }
}

struct nat {
    bool ip_max;
    uint16_t port_min, port_max;
};

static int
read_nat_attr(struct tcb_translation *t, const struct nlattr *nla,
              struct tcnl_action *a, struct tcnl_ct *ct, struct nat *nat)
{
    switch (nl_attr_type(nla)) {
    case OVS_NAT_ATTR_SRC:
        a->ct.flags |= TCA_CT_ACT_NAT_SRC;
        return 0;
    case OVS_NAT_ATTR_DST:
        a->ct.flags |= TCA_CT_ACT_NAT_DST;
        return 0;
    case OVS_NAT_ATTR_IP_MIN:
        return read_address(t, nla, ct, ct->addr_min);
    case OVS_NAT_ATTR_IP_MAX:
        nat->ip_max = true;
        return read_address(t, nla, ct, ct->addr_max);
    case OVS_NAT_ATTR_PROTO_MIN:
        nat->port_min = nl_attr_get_u16(nla);
        return 0;
    case OVS_NAT_ATTR_PROTO_MAX:
        nat->port_max = nl_attr_get_u16(nla);
        return 0;
    default:
        return refuse_nat(t, nl_attr_type(nla));
    }
}

static int
translate_nat(struct tcb_translation *t, const struct nlattr *nest,
              struct tcnl_action *a, struct tcnl_ct *ct)
{
    uint16_t both = TCA_CT_ACT_NAT_SRC | TCA_CT_ACT_NAT_DST;
    struct nat nat = { .ip_max = false };
    const struct nlattr *nla;
    size_t left;

    a->ct.flags |= TCA_CT_ACT_NAT;
    NL_NESTED_FOR_EACH (nla, left, nest) {
        int error = read_nat_attr(t, nla, a, ct, &nat);

        if (error) {
            return error;
        }
    }
    if ((a->ct.flags & both) == both
        || (!(a->ct.flags & both) && (ct->family || nat.port_min))
        || (nat.port_max && !nat.port_min)) {
        return tcb_refuse_action(t, "ct(nat) without a direction or range");
    }
    if (!nat.ip_max) {
        memcpy(ct->addr_max, ct->addr_min, sizeof ct->addr_max);
    }
    ct->port_min = htons(nat.port_min);
    ct->port_max = htons(nat.port_max ? nat.port_max : nat.port_min);
    return 0;
}

/* ## The action. */

static int
read_mark(struct tcb_translation *t, const struct nlattr *nla,
          struct tcnl_ct *ct)
{
    uint32_t mark[2];

    if (nl_attr_get_size(nla) != sizeof mark) {
        return tcb_refuse_action(t, "ct(mark)");
    }
    memcpy(mark, nl_attr_get(nla), sizeof mark);
    ct->mark = mark[0] & mark[1];
    ct->mark_mask = mark[1];
    return 0;
}

static int
read_label(struct tcb_translation *t, const struct nlattr *nla,
           struct tcnl_ct *ct)
{
    const uint8_t *p = nl_attr_get(nla);
    size_t size = sizeof ct->label;

    if (nl_attr_get_size(nla) != 2 * size) {
        return tcb_refuse_action(t, "ct(label)");
    }
    memcpy(ct->label_mask, p + size, size);
    for (size_t i = 0; i < size; i++) {
        ct->label[i] = p[i] & ct->label_mask[i];
    }
    return 0;
}

/* act_ct sends all events: more than were asked for reach the listeners, but
 * with the mask that OVS always asks for nobody misses one. */
static int
check_events(struct tcb_translation *t, const struct nlattr *nla)
{
    uint32_t mask = nl_attr_get_u32(nla);

    return (mask == OVS_CT_EVENTMASK_DEFAULT || mask == UINT32_MAX
            ? 0 : tcb_refuse_action(t, "ct(eventmask)"));
}

static int
read_ct_attr(struct tcb_translation *t, const struct nlattr *nla,
             struct tcnl_action *a, struct tcnl_ct *ct)
{
    switch (nl_attr_type(nla)) {
    case OVS_CT_ATTR_COMMIT:
        a->ct.flags |= TCA_CT_ACT_COMMIT;
        return 0;
    case OVS_CT_ATTR_FORCE_COMMIT:
        a->ct.flags |= TCA_CT_ACT_COMMIT | TCA_CT_ACT_FORCE;
        return 0;
    case OVS_CT_ATTR_ZONE:
        ct->zone = nl_attr_get_u16(nla);
        return 0;
    case OVS_CT_ATTR_MARK:
        return read_mark(t, nla, ct);
    case OVS_CT_ATTR_LABELS:
        return read_label(t, nla, ct);
    case OVS_CT_ATTR_NAT:
        return translate_nat(t, nla, a, ct);
    case OVS_CT_ATTR_EVENTMASK:
        return check_events(t, nla);
    case OVS_CT_ATTR_HELPER:
        return tcb_refuse_action(t, "ct(helper)");
    case OVS_CT_ATTR_TIMEOUT:
        return tcb_refuse_action(t, "ct(timeout)");
    default:
        return tcb_refuse_action(t, "ct with an unknown option");
    }
}

static struct tcnl_action *
add_ct(struct tcb_translation *t)
{
    struct tcnl_action *a = tcb_add_action(t, TCNL_ACT_CT, tcb_verdict(t),
                                           false);

    if (a) {
        a->cookie = true;
    }
    return a;
}

int
tcb_translate_ct(struct tcb_translation *t, const struct nlattr *nest)
{
    const struct nlattr *nla;
    struct tcnl_action *a;
    struct tcnl_ct *ct;
    size_t left;

    if (!t->able->ct_states) {
        return tcb_refuse_action(t, "ct; the kernel cannot match ct_state");
    }
    a = add_ct(t);
    if (!a) {
        return EOPNOTSUPP;
    }
    ct = tcnl_actions_add_ct(t->tc, a);
    if (!ct) {
        return tcb_refuse_limit(t, "ct actions");
    }
    NL_NESTED_FOR_EACH (nla, left, nest) {
        int error = read_ct_attr(t, nla, a, ct);

        if (error) {
            return error;
        }
    }
    return 0;
}

int
tcb_translate_ct_clear(struct tcb_translation *t,
                       const struct nlattr *nla OVS_UNUSED)
{
    struct tcnl_action *a = add_ct(t);

    if (!a) {
        return EOPNOTSUPP;
    }
    a->ct.flags = TCA_CT_ACT_CLEAR;
    return 0;
}

static void
report_nat(uint16_t flags, const struct tcnl_ct *ct, struct ofpbuf *out)
{
    size_t nest = nl_msg_start_nested(out, OVS_CT_ATTR_NAT);
    size_t size = ct->family == 4 ? 4 : 16;

    if (flags & TCA_CT_ACT_NAT_SRC) {
        nl_msg_put_flag(out, OVS_NAT_ATTR_SRC);
    } else if (flags & TCA_CT_ACT_NAT_DST) {
        nl_msg_put_flag(out, OVS_NAT_ATTR_DST);
    }
    if (ct->family) {
        nl_msg_put_unspec(out, OVS_NAT_ATTR_IP_MIN, ct->addr_min, size);
        if (memcmp(ct->addr_min, ct->addr_max, size)) {
            nl_msg_put_unspec(out, OVS_NAT_ATTR_IP_MAX, ct->addr_max, size);
        }
    }
    if (ct->port_min) {
        nl_msg_put_u16(out, OVS_NAT_ATTR_PROTO_MIN, ntohs(ct->port_min));
        if (ct->port_max != ct->port_min) {
            nl_msg_put_u16(out, OVS_NAT_ATTR_PROTO_MAX, ntohs(ct->port_max));
        }
    }
    nl_msg_end_nested(out, nest);
}

static void
report_commit(uint16_t flags, const struct tcnl_ct *ct, struct ofpbuf *out)
{
    if (flags & TCA_CT_ACT_COMMIT) {
        nl_msg_put_flag(out, (flags & TCA_CT_ACT_FORCE
                              ? OVS_CT_ATTR_FORCE_COMMIT
                              : OVS_CT_ATTR_COMMIT));
    }
    if (ct->zone) {
        nl_msg_put_u16(out, OVS_CT_ATTR_ZONE, ct->zone);
    }
    if (ct->mark_mask) {
        uint32_t mark[2] = { ct->mark, ct->mark_mask };

        nl_msg_put_unspec(out, OVS_CT_ATTR_MARK, mark, sizeof mark);
    }
    if (!is_all_zeros(ct->label_mask, sizeof ct->label_mask)) {
        uint8_t label[2][16];

        memcpy(label[0], ct->label, sizeof label[0]);
        memcpy(label[1], ct->label_mask, sizeof label[1]);
        nl_msg_put_unspec(out, OVS_CT_ATTR_LABELS, label, sizeof label);
    }
}

int
tcb_report_ct(const struct tcnl_actions *tc, const struct tcnl_action *a,
              struct ofpbuf *out)
{
    const struct tcnl_ct *ct = &tc->cts[a->ct.params];
    size_t nest;

    if (a->ct.flags & TCA_CT_ACT_CLEAR) {
        nl_msg_put_flag(out, OVS_ACTION_ATTR_CT_CLEAR);
        return 0;
    }
    nest = nl_msg_start_nested(out, OVS_ACTION_ATTR_CT);
    report_commit(a->ct.flags, ct, out);
    if (a->ct.flags & TCA_CT_ACT_NAT) {
        report_nat(a->ct.flags, ct, out);
    }
    nl_msg_end_nested(out, nest);
    return 0;
}
