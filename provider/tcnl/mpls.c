/* SPDX-License-Identifier: Apache-2.0 */

/* The attributes of act_mpls. */

#include "action-kind.h"

#include <errno.h>
#include <linux/pkt_cls.h>
#include <linux/tc_act/tc_mpls.h>

static bool
has_label(const struct tcnl_action *a)
{
    return a->mpls.op == TCA_MPLS_ACT_PUSH
           || a->mpls.op == TCA_MPLS_ACT_MODIFY;
}

/* A modify has no protocol to send, but the kernel reports one. */
static bool
has_proto(const struct tcnl_action *a)
{
    return a->mpls.op != TCA_MPLS_ACT_MODIFY;
}

static void
put_mpls(struct tcnl_buffer *b, const struct tcnl_actions *as,
         const struct tcnl_action *a)
{
    struct tc_mpls p = {
        .action = (int) a->verdict,
        .m_action = a->mpls.op,
    };

    (void) as;
    tcnl_put(b, TCA_MPLS_PARMS, &p, sizeof p);
    if (has_proto(a)) {
        tcnl_put_u16(b, TCA_MPLS_PROTO, a->mpls.proto);
    }
    if (has_label(a)) {
        tcnl_put_u32(b, TCA_MPLS_LABEL, a->mpls.label);
        tcnl_put_u8(b, TCA_MPLS_TC, a->mpls.tc);
        tcnl_put_u8(b, TCA_MPLS_TTL, a->mpls.ttl);
        tcnl_put_u8(b, TCA_MPLS_BOS, a->mpls.bos);
    }
}

/* A part that is not there is one that the kernel makes up or keeps: then it
 * is not one of ours. */
static int
parse_label(const struct tcnl_options *o, struct tcnl_action *a)
{
    if (!o->a[TCA_MPLS_LABEL] || !o->a[TCA_MPLS_TC] || !o->a[TCA_MPLS_TTL]
        || !o->a[TCA_MPLS_BOS]) {
        return EOPNOTSUPP;
    }
    return tcnl_option_get(o, TCA_MPLS_LABEL, &a->mpls.label,
                           sizeof a->mpls.label)
           && tcnl_option_get(o, TCA_MPLS_TC, &a->mpls.tc, 1)
           && tcnl_option_get(o, TCA_MPLS_TTL, &a->mpls.ttl, 1)
           && tcnl_option_get(o, TCA_MPLS_BOS, &a->mpls.bos, 1)
           && a->mpls.label <= 0xfffff && a->mpls.tc <= 7 && a->mpls.bos <= 1
           ? 0 : EBADMSG;
}

static int
parse_mpls(const struct tcnl_options *o, struct tcnl_actions *as,
           struct tcnl_action *a)
{
    struct tc_mpls p;

    (void) as;
    if (!tcnl_option_get(o, TCA_MPLS_PARMS, &p, sizeof p)
        || !tcnl_option_get_if(o, TCA_MPLS_PROTO, &a->mpls.proto,
                               sizeof a->mpls.proto)) {
        return EBADMSG;
    }
    if (p.m_action != TCA_MPLS_ACT_POP && p.m_action != TCA_MPLS_ACT_PUSH
        && p.m_action != TCA_MPLS_ACT_MODIFY) {
        return EOPNOTSUPP;
    }
    a->verdict = (uint32_t) p.action;
    a->mpls.op = (uint8_t) p.m_action;
    if (has_proto(a) && !o->a[TCA_MPLS_PROTO]) {
        return EBADMSG;
    }
    return has_label(a) ? parse_label(o, a) : 0;
}

static const char *
mpls_differ(const struct tcnl_actions *as, const struct tcnl_action *a,
            const struct tcnl_actions *bs, const struct tcnl_action *b)
{
    (void) as;
    (void) bs;
    if (a->mpls.op != b->mpls.op) {
        return "TCA_MPLS_PARMS";
    }
    if (has_proto(a) && a->mpls.proto != b->mpls.proto) {
        return "TCA_MPLS_PROTO";
    }
    if (!has_label(a)) {
        return NULL;
    }
    return a->mpls.label != b->mpls.label ? "TCA_MPLS_LABEL"
           : a->mpls.tc != b->mpls.tc ? "TCA_MPLS_TC"
           : a->mpls.ttl != b->mpls.ttl ? "TCA_MPLS_TTL"
           : a->mpls.bos != b->mpls.bos ? "TCA_MPLS_BOS" : NULL;
}

static uint64_t
mpls_form(const struct tcnl_actions *as, const struct tcnl_action *a)
{
    (void) as;
    return a->mpls.op;
}

const struct tcnl_kind tcnl_kind_mpls = {
    .name = "mpls",
    .tm = TCA_MPLS_TM,
    .pad = TCA_MPLS_PAD,
    .known = (1u << TCA_MPLS_PARMS | 1u << TCA_MPLS_PROTO
              | 1u << TCA_MPLS_LABEL | 1u << TCA_MPLS_TC
              | 1u << TCA_MPLS_TTL | 1u << TCA_MPLS_BOS),
    .put = put_mpls,
    .parse = parse_mpls,
    .differ = mpls_differ,
    .form = mpls_form,
};
