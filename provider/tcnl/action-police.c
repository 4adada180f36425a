/* SPDX-License-Identifier: Apache-2.0 */

/* Police as an action of a filter: a meter that is there already, named by its
 * index, or a test of the packet's length of the filter's own. */

#include "action-kind.h"

#include <errno.h>
#include <linux/pkt_cls.h>

/* The parameters count only if the index does not exist, see police.h; the
 * verdict is then the one that is wanted. */
static void
put_police(struct tcnl_buffer *b, const struct tcnl_actions *as,
           const struct tcnl_action *a)
{
    struct tc_police p = {
        .index = a->police.index,
        .action = (int) a->verdict,
    };

    (void) as;
    tcnl_put(b, TCA_POLICE_TBF, &p, sizeof p);
    tcnl_put_u32(b, TCA_POLICE_RESULT, a->verdict);
}

static void
put_police_mtu(struct tcnl_buffer *b, const struct tcnl_actions *as,
               const struct tcnl_action *a)
{
    struct tc_police p = {
        .action = (int) a->verdict,
        .mtu = a->police_mtu.mtu,
    };

    (void) as;
    tcnl_put(b, TCA_POLICE_TBF, &p, sizeof p);
    tcnl_put_u32(b, TCA_POLICE_RESULT, a->police_mtu.conform);
}

static bool
has_rate(const struct tcnl_options *o, const struct tc_police *p)
{
    return p->rate.rate || p->peakrate.rate || o->a[TCA_POLICE_PKTRATE64]
           || o->a[TCA_POLICE_AVRATE];
}

/* The verdict of a conforming packet is what the list goes on with; the kernel
 * leaves it out when it is 0 (TC_ACT_OK).  A meter has a rate; what has only
 * an mtu tests the length. */
static int
parse_police(const struct tcnl_options *o, struct tcnl_actions *as,
             struct tcnl_action *a)
{
    uint32_t conform = TC_ACT_OK;
    struct tc_police p;

    (void) as;
    if (!tcnl_option_get(o, TCA_POLICE_TBF, &p, sizeof p)
        || !tcnl_option_get_if(o, TCA_POLICE_RESULT, &conform,
                               sizeof conform)) {
        return EBADMSG;
    }
    if (p.mtu && !has_rate(o, &p)) {
        a->kind = TCNL_ACT_POLICE_MTU;
        a->verdict = (uint32_t) p.action;
        a->police_mtu.mtu = p.mtu;
        a->police_mtu.conform = conform;
    } else {
        a->verdict = conform;
        a->police.index = p.index;
    }
    return 0;
}

static const char *
police_differ(const struct tcnl_actions *as, const struct tcnl_action *a,
              const struct tcnl_actions *bs, const struct tcnl_action *b)
{
    (void) as;
    (void) bs;
    return a->police.index == b->police.index ? NULL : "TCA_POLICE_TBF";
}

static const char *
police_mtu_differ(const struct tcnl_actions *as, const struct tcnl_action *a,
                  const struct tcnl_actions *bs, const struct tcnl_action *b)
{
    (void) as;
    (void) bs;
    return a->police_mtu.mtu != b->police_mtu.mtu ? "TCA_POLICE_TBF"
           : a->police_mtu.conform != b->police_mtu.conform
           ? "TCA_POLICE_RESULT" : NULL;
}

static uint64_t
police_mtu_form(const struct tcnl_actions *as, const struct tcnl_action *a)
{
    (void) as;
    return tcnl_verdict_form(a->police_mtu.conform);
}

const struct tcnl_kind tcnl_kind_police = {
    .name = "police",
    .tm = TCA_POLICE_TM,
    .pad = TCA_POLICE_PAD,
    .known = UINT32_MAX,        /* The rates are the meter's affair. */
    .put = put_police,
    .parse = parse_police,
    .differ = police_differ,
};

const struct tcnl_kind tcnl_kind_police_mtu = {
    .name = "police",
    .tm = TCA_POLICE_TM,
    .pad = TCA_POLICE_PAD,
    .known = UINT32_MAX,
    .put = put_police_mtu,
    .parse = parse_police,
    .differ = police_mtu_differ,
    .form = police_mtu_form,
};
