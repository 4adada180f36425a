/* SPDX-License-Identifier: Apache-2.0 */

/* The kinds of action that have few parameters. */

#include "action-kind.h"

#include <errno.h>
#include <linux/pkt_cls.h>
#include <linux/tc_act/tc_csum.h>
#include <linux/tc_act/tc_gact.h>
#include <linux/tc_act/tc_mirred.h>
#include <linux/tc_act/tc_skbedit.h>
#include <linux/tc_act/tc_vlan.h>

static void
put_gact(struct tcnl_buffer *b, const struct tcnl_actions *as,
         const struct tcnl_action *a)
{
    struct tc_gact p = { .action = (int) a->verdict };

    (void) as;
    tcnl_put(b, TCA_GACT_PARMS, &p, sizeof p);
}

static int
parse_gact(const struct tcnl_options *o, struct tcnl_actions *as,
           struct tcnl_action *a)
{
    struct tc_gact p;

    (void) as;
    if (!tcnl_option_get(o, TCA_GACT_PARMS, &p, sizeof p)) {
        return EBADMSG;
    }
    a->verdict = (uint32_t) p.action;
    return 0;
}

const struct tcnl_kind tcnl_kind_gact = {
    .name = "gact",
    .tm = TCA_GACT_TM,
    .pad = TCA_GACT_PAD,
    .known = 1u << TCA_GACT_PARMS,
    .put = put_gact,
    .parse = parse_gact,
};

static void
put_mirred(struct tcnl_buffer *b, const struct tcnl_actions *as,
           const struct tcnl_action *a)
{
    struct tc_mirred p = {
        .action = (int) a->verdict,
        .eaction = (int) a->mirred.eaction,
        .ifindex = (uint32_t) a->mirred.ifindex,
    };

    (void) as;
    tcnl_put(b, TCA_MIRRED_PARMS, &p, sizeof p);
}

static int
parse_mirred(const struct tcnl_options *o, struct tcnl_actions *as,
             struct tcnl_action *a)
{
    struct tc_mirred p;

    (void) as;
    if (!tcnl_option_get(o, TCA_MIRRED_PARMS, &p, sizeof p)) {
        return EBADMSG;
    }
    a->verdict = (uint32_t) p.action;
    a->mirred.eaction = (uint32_t) p.eaction;
    a->mirred.ifindex = (int) p.ifindex;
    return 0;
}

static const char *
mirred_differ(const struct tcnl_actions *as, const struct tcnl_action *a,
              const struct tcnl_actions *bs, const struct tcnl_action *b)
{
    (void) as;
    (void) bs;
    return a->mirred.ifindex == b->mirred.ifindex
           && a->mirred.eaction == b->mirred.eaction
           ? NULL : "TCA_MIRRED_PARMS";
}

static uint64_t
mirred_form(const struct tcnl_actions *as, const struct tcnl_action *a)
{
    (void) as;
    return a->mirred.eaction;
}

const struct tcnl_kind tcnl_kind_mirred = {
    .name = "mirred",
    .tm = TCA_MIRRED_TM,
    .pad = TCA_MIRRED_PAD,
    .known = 1u << TCA_MIRRED_PARMS,
    .put = put_mirred,
    .parse = parse_mirred,
    .differ = mirred_differ,
    .form = mirred_form,
};

static void
put_vlan(struct tcnl_buffer *b, const struct tcnl_actions *as,
         const struct tcnl_action *a)
{
    struct tc_vlan p = {
        .action = (int) a->verdict,
        .v_action = (int) a->vlan.op,
    };

    (void) as;
    tcnl_put(b, TCA_VLAN_PARMS, &p, sizeof p);
    if (a->vlan.op == TCA_VLAN_ACT_PUSH) {
        tcnl_put_u16(b, TCA_VLAN_PUSH_VLAN_PROTOCOL, a->vlan.tpid);
        tcnl_put_u16(b, TCA_VLAN_PUSH_VLAN_ID, a->vlan.vid);
        tcnl_put_u8(b, TCA_VLAN_PUSH_VLAN_PRIORITY, a->vlan.prio);
    }
}

static int
parse_vlan_push(const struct tcnl_options *o, struct tcnl_action *a)
{
    if (!tcnl_option_get(o, TCA_VLAN_PUSH_VLAN_ID, &a->vlan.vid,
                         sizeof a->vlan.vid)
        || !tcnl_option_get(o, TCA_VLAN_PUSH_VLAN_PROTOCOL, &a->vlan.tpid,
                            sizeof a->vlan.tpid)) {
        return EBADMSG;
    }

    /* The kernel takes an absent priority for 0. */
    return tcnl_option_get_if(o, TCA_VLAN_PUSH_VLAN_PRIORITY, &a->vlan.prio,
                              sizeof a->vlan.prio) ? 0 : EBADMSG;
}

static int
parse_vlan(const struct tcnl_options *o, struct tcnl_actions *as,
           struct tcnl_action *a)
{
    struct tc_vlan p;

    (void) as;
    if (!tcnl_option_get(o, TCA_VLAN_PARMS, &p, sizeof p)) {
        return EBADMSG;
    }
    a->verdict = (uint32_t) p.action;
    a->vlan.op = (uint32_t) p.v_action;
    switch (p.v_action) {
    case TCA_VLAN_ACT_POP:
        return 0;
    case TCA_VLAN_ACT_PUSH:
        return parse_vlan_push(o, a);
    default:
        return EOPNOTSUPP;
    }
}

static const char *
vlan_differ(const struct tcnl_actions *as, const struct tcnl_action *a,
            const struct tcnl_actions *bs, const struct tcnl_action *b)
{
    (void) as;
    (void) bs;
    if (a->vlan.op != b->vlan.op) {
        return "TCA_VLAN_PARMS";
    } else if (a->vlan.op != TCA_VLAN_ACT_PUSH) {
        return NULL;
    }
    return a->vlan.tpid != b->vlan.tpid ? "TCA_VLAN_PUSH_VLAN_PROTOCOL"
           : a->vlan.vid != b->vlan.vid ? "TCA_VLAN_PUSH_VLAN_ID"
           : a->vlan.prio != b->vlan.prio ? "TCA_VLAN_PUSH_VLAN_PRIORITY"
           : NULL;
}

static uint64_t
vlan_form(const struct tcnl_actions *as, const struct tcnl_action *a)
{
    (void) as;
    return a->vlan.op;
}

const struct tcnl_kind tcnl_kind_vlan = {
    .name = "vlan",
    .tm = TCA_VLAN_TM,
    .pad = TCA_VLAN_PAD,
    .known = (1u << TCA_VLAN_PARMS | 1u << TCA_VLAN_PUSH_VLAN_ID
              | 1u << TCA_VLAN_PUSH_VLAN_PROTOCOL
              | 1u << TCA_VLAN_PUSH_VLAN_PRIORITY),
    .put = put_vlan,
    .parse = parse_vlan,
    .differ = vlan_differ,
    .form = vlan_form,
};

static void
put_csum(struct tcnl_buffer *b, const struct tcnl_actions *as,
         const struct tcnl_action *a)
{
    struct tc_csum p = {
        .action = (int) a->verdict,
        .update_flags = a->csum.update_flags,
    };

    (void) as;
    tcnl_put(b, TCA_CSUM_PARMS, &p, sizeof p);
}

static int
parse_csum(const struct tcnl_options *o, struct tcnl_actions *as,
           struct tcnl_action *a)
{
    struct tc_csum p;

    (void) as;
    if (!tcnl_option_get(o, TCA_CSUM_PARMS, &p, sizeof p)) {
        return EBADMSG;
    }
    a->verdict = (uint32_t) p.action;
    a->csum.update_flags = p.update_flags;
    return 0;
}

static const char *
csum_differ(const struct tcnl_actions *as, const struct tcnl_action *a,
            const struct tcnl_actions *bs, const struct tcnl_action *b)
{
    (void) as;
    (void) bs;
    return a->csum.update_flags == b->csum.update_flags ? NULL
                                                        : "TCA_CSUM_PARMS";
}

static uint64_t
csum_form(const struct tcnl_actions *as, const struct tcnl_action *a)
{
    (void) as;
    return a->csum.update_flags;
}

const struct tcnl_kind tcnl_kind_csum = {
    .name = "csum",
    .tm = TCA_CSUM_TM,
    .pad = TCA_CSUM_PAD,
    .known = 1u << TCA_CSUM_PARMS,
    .put = put_csum,
    .parse = parse_csum,
    .differ = csum_differ,
    .form = csum_form,
};

static void
put_skbedit(struct tcnl_buffer *b, const struct tcnl_actions *as,
            const struct tcnl_action *a)
{
    struct tc_skbedit p = { .action = (int) a->verdict };

    (void) as;
    tcnl_put(b, TCA_SKBEDIT_PARMS, &p, sizeof p);
    tcnl_put_u16(b, TCA_SKBEDIT_PTYPE, a->skbedit.ptype);
}

static int
parse_skbedit(const struct tcnl_options *o, struct tcnl_actions *as,
              struct tcnl_action *a)
{
    struct tc_skbedit p;

    (void) as;
    if (!tcnl_option_get(o, TCA_SKBEDIT_PARMS, &p, sizeof p)) {
        return EBADMSG;
    }
    if (!o->a[TCA_SKBEDIT_PTYPE]) {
        return EOPNOTSUPP;
    }
    a->verdict = (uint32_t) p.action;
    return tcnl_option_get(o, TCA_SKBEDIT_PTYPE, &a->skbedit.ptype,
                           sizeof a->skbedit.ptype) ? 0 : EBADMSG;
}

static const char *
skbedit_differ(const struct tcnl_actions *as, const struct tcnl_action *a,
               const struct tcnl_actions *bs, const struct tcnl_action *b)
{
    (void) as;
    (void) bs;
    return a->skbedit.ptype == b->skbedit.ptype ? NULL : "TCA_SKBEDIT_PTYPE";
}

const struct tcnl_kind tcnl_kind_skbedit = {
    .name = "skbedit",
    .tm = TCA_SKBEDIT_TM,
    .pad = TCA_SKBEDIT_PAD,
    .known = 1u << TCA_SKBEDIT_PARMS | 1u << TCA_SKBEDIT_PTYPE,
    .put = put_skbedit,
    .parse = parse_skbedit,
    .differ = skbedit_differ,
};
