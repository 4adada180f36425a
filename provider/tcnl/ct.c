/* SPDX-License-Identifier: Apache-2.0 */

/* The attributes of act_ct. */

#include "action-kind.h"

#include <errno.h>
#include <string.h>
#include <linux/pkt_cls.h>
#include <linux/tc_act/tc_ct.h>

#define FLAGS_KNOWN (TCA_CT_ACT_COMMIT | TCA_CT_ACT_FORCE \
                     | TCA_CT_ACT_CLEAR | TCA_CT_ACT_NAT \
                     | TCA_CT_ACT_NAT_SRC | TCA_CT_ACT_NAT_DST)

struct tcnl_ct *
tcnl_actions_add_ct(struct tcnl_actions *as, struct tcnl_action *a)
{
    struct tcnl_ct *ct;

    if (as->n_cts >= TCNL_MAX_CTS) {
        return NULL;
    }
    a->ct.params = as->n_cts;
    ct = &as->cts[as->n_cts++];
    memset(ct, 0, sizeof *ct);
    return ct;
}

static bool
is_zero(const void *p, size_t n)
{
    const uint8_t *bytes = p;

    while (n && !*bytes) {
        bytes++;
        n--;
    }
    return !n;
}

static void
put_nat(struct tcnl_buffer *b, const struct tcnl_ct *ct)
{
    if (ct->family == 4) {
        tcnl_put(b, TCA_CT_NAT_IPV4_MIN, ct->addr_min, 4);
        tcnl_put(b, TCA_CT_NAT_IPV4_MAX, ct->addr_max, 4);
    } else if (ct->family == 6) {
        tcnl_put(b, TCA_CT_NAT_IPV6_MIN, ct->addr_min, 16);
        tcnl_put(b, TCA_CT_NAT_IPV6_MAX, ct->addr_max, 16);
    }
    if (ct->port_min) {
        tcnl_put_u16(b, TCA_CT_NAT_PORT_MIN, ct->port_min);
        tcnl_put_u16(b, TCA_CT_NAT_PORT_MAX, ct->port_max);
    }
}

static void
put_params(struct tcnl_buffer *b, const struct tcnl_ct *ct)
{
    if (ct->zone) {
        tcnl_put_u16(b, TCA_CT_ZONE, ct->zone);
    }
    if (ct->mark_mask) {
        tcnl_put_u32(b, TCA_CT_MARK, ct->mark);
        tcnl_put_u32(b, TCA_CT_MARK_MASK, ct->mark_mask);
    }
    if (!is_zero(ct->label_mask, sizeof ct->label_mask)) {
        tcnl_put(b, TCA_CT_LABELS, ct->label, sizeof ct->label);
        tcnl_put(b, TCA_CT_LABELS_MASK, ct->label_mask, sizeof ct->label_mask);
    }
    put_nat(b, ct);
}

static void
put_ct(struct tcnl_buffer *b, const struct tcnl_actions *as,
       const struct tcnl_action *a)
{
    struct tc_ct p = { .action = (int) a->verdict };

    if (!(a->ct.flags & TCA_CT_ACT_CLEAR)) {
        put_params(b, &as->cts[a->ct.params]);
    }
    tcnl_put_u16(b, TCA_CT_ACTION, a->ct.flags);
    tcnl_put(b, TCA_CT_PARMS, &p, sizeof p);
}

/* An address range; one end stands for both. */
static int
parse_addresses(const struct tcnl_options *o, unsigned int min,
                unsigned int max, uint8_t family, struct tcnl_ct *ct)
{
    size_t size = family == 4 ? 4 : 16;

    if (!o->a[min]) {
        return o->a[max] ? EOPNOTSUPP : 0;
    }
    if (ct->family) {
        return EOPNOTSUPP;
    }
    ct->family = family;
    return tcnl_option_get(o, min, ct->addr_min, size)
           && tcnl_option_get(o, o->a[max] ? max : min, ct->addr_max, size)
           ? 0 : EBADMSG;
}

static int
parse_ports(const struct tcnl_options *o, struct tcnl_ct *ct)
{
    unsigned int min = TCA_CT_NAT_PORT_MIN, max = TCA_CT_NAT_PORT_MAX;

    if (!o->a[min]) {
        return o->a[max] ? EOPNOTSUPP : 0;
    }
    if (!tcnl_option_get(o, min, &ct->port_min, sizeof ct->port_min)
        || !tcnl_option_get(o, o->a[max] ? max : min, &ct->port_max,
                            sizeof ct->port_max)) {
        return EBADMSG;
    }
    return ct->port_min ? 0 : EOPNOTSUPP;
}

/* The kernel ignores ranges without a direction, and does not report them. */
static int
parse_nat(const struct tcnl_options *o, uint16_t flags, struct tcnl_ct *ct)
{
    int error;

    error = parse_addresses(o, TCA_CT_NAT_IPV4_MIN, TCA_CT_NAT_IPV4_MAX, 4,
                            ct);
    if (!error) {
        error = parse_addresses(o, TCA_CT_NAT_IPV6_MIN, TCA_CT_NAT_IPV6_MAX,
                                6, ct);
    }
    if (!error) {
        error = parse_ports(o, ct);
    }
    if (!error && (ct->family || ct->port_min)
        && !(flags & (TCA_CT_ACT_NAT_SRC | TCA_CT_ACT_NAT_DST))) {
        return EOPNOTSUPP;
    }
    return error;
}

static int
parse_mark(const struct tcnl_options *o, struct tcnl_ct *ct)
{
    if (!o->a[TCA_CT_MARK]) {
        return o->a[TCA_CT_MARK_MASK] ? EOPNOTSUPP : 0;
    }
    ct->mark_mask = UINT32_MAX;
    if (!tcnl_option_get(o, TCA_CT_MARK, &ct->mark, sizeof ct->mark)
        || !tcnl_option_get_if(o, TCA_CT_MARK_MASK, &ct->mark_mask,
                               sizeof ct->mark_mask)) {
        return EBADMSG;
    }
    ct->mark &= ct->mark_mask;
    return 0;
}

static int
parse_label(const struct tcnl_options *o, struct tcnl_ct *ct)
{
    if (!o->a[TCA_CT_LABELS]) {
        return o->a[TCA_CT_LABELS_MASK] ? EOPNOTSUPP : 0;
    }
    memset(ct->label_mask, 0xff, sizeof ct->label_mask);
    if (!tcnl_option_get(o, TCA_CT_LABELS, ct->label, sizeof ct->label)
        || !tcnl_option_get_if(o, TCA_CT_LABELS_MASK, ct->label_mask,
                               sizeof ct->label_mask)) {
        return EBADMSG;
    }
    for (size_t i = 0; i < sizeof ct->label; i++) {
        ct->label[i] &= ct->label_mask[i];
    }
    return 0;
}

static int
parse_params(const struct tcnl_options *o, struct tcnl_actions *as,
             struct tcnl_action *a)
{
    struct tcnl_ct *ct = tcnl_actions_add_ct(as, a);
    int error;

    if (!ct) {
        return EOPNOTSUPP;
    }
    if (!tcnl_option_get_if(o, TCA_CT_ZONE, &ct->zone, sizeof ct->zone)) {
        return EBADMSG;
    }
    error = parse_mark(o, ct);
    if (!error) {
        error = parse_label(o, ct);
    }
    return error ? error : parse_nat(o, a->ct.flags, ct);
}

/* Are these flags that make sense together? */
static bool
flags_are_valid(uint16_t flags)
{
    uint16_t nat = flags & (TCA_CT_ACT_NAT_SRC | TCA_CT_ACT_NAT_DST);

    return !(flags & ~FLAGS_KNOWN)
           && (!(flags & TCA_CT_ACT_CLEAR) || flags == TCA_CT_ACT_CLEAR)
           && (!nat || flags & TCA_CT_ACT_NAT)
           && nat != (TCA_CT_ACT_NAT_SRC | TCA_CT_ACT_NAT_DST);
}

static int
parse_ct(const struct tcnl_options *o, struct tcnl_actions *as,
         struct tcnl_action *a)
{
    struct tc_ct p;

    a->ct.flags = 0;
    if (!tcnl_option_get(o, TCA_CT_PARMS, &p, sizeof p)
        || !tcnl_option_get_if(o, TCA_CT_ACTION, &a->ct.flags,
                               sizeof a->ct.flags)) {
        return EBADMSG;
    }
    a->verdict = (uint32_t) p.action;
    if (!flags_are_valid(a->ct.flags)) {
        return EOPNOTSUPP;
    }
    return a->ct.flags & TCA_CT_ACT_CLEAR ? 0 : parse_params(o, as, a);
}

static const char *
ct_params_differ(const struct tcnl_ct *a, const struct tcnl_ct *b)
{
    if (a->zone != b->zone) {
        return "TCA_CT_ZONE";
    }
    if (a->mark != b->mark || a->mark_mask != b->mark_mask) {
        return "TCA_CT_MARK";
    }
    if (memcmp(a->label, b->label, sizeof a->label)
        || memcmp(a->label_mask, b->label_mask, sizeof a->label_mask)) {
        return "TCA_CT_LABELS";
    }
    if (a->port_min != b->port_min || a->port_max != b->port_max) {
        return "TCA_CT_NAT_PORT_MIN";
    }
    return a->family == b->family
           && !memcmp(a->addr_min, b->addr_min, sizeof a->addr_min)
           && !memcmp(a->addr_max, b->addr_max, sizeof a->addr_max)
           ? NULL : a->family == 6 ? "TCA_CT_NAT_IPV6_MIN"
                                   : "TCA_CT_NAT_IPV4_MIN";
}

static const char *
ct_differ(const struct tcnl_actions *as, const struct tcnl_action *a,
          const struct tcnl_actions *bs, const struct tcnl_action *b)
{
    if (a->ct.flags != b->ct.flags) {
        return "TCA_CT_ACTION";
    }
    return a->ct.flags & TCA_CT_ACT_CLEAR
           ? NULL : ct_params_differ(&as->cts[a->ct.params],
                                     &bs->cts[b->ct.params]);
}

static uint64_t
ct_form(const struct tcnl_actions *as, const struct tcnl_action *a)
{
    const struct tcnl_ct *ct = &as->cts[a->ct.params];

    if (a->ct.flags & TCA_CT_ACT_CLEAR) {
        return a->ct.flags;
    }
    return a->ct.flags | (uint64_t) ct->family << 16
           | (uint64_t) (ct->zone != 0) << 24
           | (uint64_t) (ct->mark_mask != 0) << 25
           | (uint64_t) !is_zero(ct->label_mask, sizeof ct->label_mask) << 26
           | (uint64_t) (ct->port_min != 0) << 27;
}

const struct tcnl_kind tcnl_kind_ct = {
    .name = "ct",
    .tm = TCA_CT_TM,
    .pad = TCA_CT_PAD,
    .known = (1u << TCA_CT_PARMS | 1u << TCA_CT_ACTION | 1u << TCA_CT_ZONE
              | 1u << TCA_CT_MARK | 1u << TCA_CT_MARK_MASK
              | 1u << TCA_CT_LABELS | 1u << TCA_CT_LABELS_MASK
              | 1u << TCA_CT_NAT_IPV4_MIN | 1u << TCA_CT_NAT_IPV4_MAX
              | 1u << TCA_CT_NAT_IPV6_MIN | 1u << TCA_CT_NAT_IPV6_MAX
              | 1u << TCA_CT_NAT_PORT_MIN | 1u << TCA_CT_NAT_PORT_MAX),
    .put = put_ct,
    .parse = parse_ct,
    .differ = ct_differ,
    .form = ct_form,
};
