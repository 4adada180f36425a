/* SPDX-License-Identifier: Apache-2.0 */
#include "action.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <linux/pkt_cls.h>
#include <linux/tc_act/tc_csum.h>
#include <linux/tc_act/tc_gact.h>
#include <linux/tc_act/tc_mirred.h>
#include <linux/tc_act/tc_pedit.h>
#include <linux/tc_act/tc_skbedit.h>
#include <linux/tc_act/tc_vlan.h>
#include "attr.h"

/* What the kernel calls a kind, and the attributes of its options that each
 * kind has under another number. */
struct kind {
    const char *name;
    uint8_t tm;                 /* struct tcf_t. */
    uint8_t pad;
};

static const struct kind kinds[TCNL_N_ACTION_KINDS] = {
    [TCNL_ACT_GACT] = { "gact", TCA_GACT_TM, TCA_GACT_PAD },
    [TCNL_ACT_MIRRED] = { "mirred", TCA_MIRRED_TM, TCA_MIRRED_PAD },
    [TCNL_ACT_VLAN] = { "vlan", TCA_VLAN_TM, TCA_VLAN_PAD },
    [TCNL_ACT_PEDIT] = { "pedit", TCA_PEDIT_TM, TCA_PEDIT_PAD },
    [TCNL_ACT_CSUM] = { "csum", TCA_CSUM_TM, TCA_CSUM_PAD },
    [TCNL_ACT_SKBEDIT] = { "skbedit", TCA_SKBEDIT_TM, TCA_SKBEDIT_PAD },
    [TCNL_ACT_POLICE] = { "police", TCA_POLICE_TM, TCA_POLICE_PAD },
};

const char *
tcnl_action_kind_name(enum tcnl_action_kind kind)
{
    return (unsigned int) kind < TCNL_N_ACTION_KINDS
           ? kinds[kind].name : "unknown";
}

struct tcnl_action *
tcnl_actions_add(struct tcnl_actions *as, enum tcnl_action_kind kind,
                 uint32_t verdict)
{
    struct tcnl_action *a;

    if (as->n >= TCNL_MAX_ACTIONS) {
        return NULL;
    }
    a = &as->a[as->n++];
    memset(a, 0, sizeof *a);
    a->kind = kind;
    a->verdict = verdict;
    return a;
}

static bool
action_equal(const struct tcnl_action *a, const struct tcnl_action *b)
{
    if (a->kind != b->kind || a->verdict != b->verdict) {
        return false;
    }
    switch (a->kind) {
    case TCNL_ACT_MIRRED:
        return a->mirred.ifindex == b->mirred.ifindex
               && a->mirred.eaction == b->mirred.eaction;
    case TCNL_ACT_VLAN:
        return a->vlan.op == b->vlan.op
               && (a->vlan.op != TCA_VLAN_ACT_PUSH
                   || (a->vlan.tpid == b->vlan.tpid
                       && a->vlan.vid == b->vlan.vid
                       && a->vlan.prio == b->vlan.prio));
    case TCNL_ACT_CSUM:
        return a->csum.update_flags == b->csum.update_flags;
    case TCNL_ACT_SKBEDIT:
        return a->skbedit.ptype == b->skbedit.ptype;
    case TCNL_ACT_POLICE:
        return a->police.index == b->police.index;
    case TCNL_ACT_PEDIT:        /* See keys_equal(). */
    case TCNL_ACT_GACT:
    case TCNL_N_ACTION_KINDS:
        break;
    }
    return true;
}

static bool
keys_equal(const struct tcnl_actions *as, const struct tcnl_action *a,
           const struct tcnl_actions *bs, const struct tcnl_action *b)
{
    return a->kind != TCNL_ACT_PEDIT
           || (a->pedit.n == b->pedit.n
               && !memcmp(&as->pedit_keys[a->pedit.first],
                          &bs->pedit_keys[b->pedit.first],
                          a->pedit.n * sizeof as->pedit_keys[0]));
}

static bool
extras_equal(const struct tcnl_actions *as, const struct tcnl_action *a,
             const struct tcnl_actions *bs, const struct tcnl_action *b)
{
    bool a_cookie = a->cookie && as->has_cookie;
    bool b_cookie = b->cookie && bs->has_cookie;

    return a->kind == TCNL_ACT_POLICE
           || (a->no_percpu == b->no_percpu && a_cookie == b_cookie
               && (!a_cookie || !memcmp(as->cookie, bs->cookie,
                                        sizeof as->cookie)));
}

bool
tcnl_actions_equal(const struct tcnl_actions *as,
                   const struct tcnl_actions *bs)
{
    if (as->n != bs->n) {
        return false;
    }
    for (unsigned int i = 0; i < as->n; i++) {
        const struct tcnl_action *a = &as->a[i];
        const struct tcnl_action *b = &bs->a[i];

        if (!action_equal(a, b) || !keys_equal(as, a, bs, b)
            || !extras_equal(as, a, bs, b)) {
            return false;
        }
    }
    return true;
}

/* ## Encoding. */

static void
put_gact(struct tcnl_buffer *b, const struct tcnl_action *a)
{
    struct tc_gact p = { .action = (int) a->verdict };

    tcnl_put(b, TCA_GACT_PARMS, &p, sizeof p);
}

static void
put_mirred(struct tcnl_buffer *b, const struct tcnl_action *a)
{
    struct tc_mirred p = {
        .action = (int) a->verdict,
        .eaction = (int) a->mirred.eaction,
        .ifindex = (uint32_t) a->mirred.ifindex,
    };

    tcnl_put(b, TCA_MIRRED_PARMS, &p, sizeof p);
}

static void
put_vlan(struct tcnl_buffer *b, const struct tcnl_action *a)
{
    struct tc_vlan p = {
        .action = (int) a->verdict,
        .v_action = (int) a->vlan.op,
    };

    tcnl_put(b, TCA_VLAN_PARMS, &p, sizeof p);
    if (a->vlan.op == TCA_VLAN_ACT_PUSH) {
        tcnl_put_u16(b, TCA_VLAN_PUSH_VLAN_PROTOCOL, a->vlan.tpid);
        tcnl_put_u16(b, TCA_VLAN_PUSH_VLAN_ID, a->vlan.vid);
        tcnl_put_u8(b, TCA_VLAN_PUSH_VLAN_PRIORITY, a->vlan.prio);
    }
}

static void
put_pedit_ex(struct tcnl_buffer *b, const struct tcnl_pedit_key *key)
{
    size_t nest = tcnl_nest_begin(b, TCA_PEDIT_KEY_EX);

    tcnl_put_u16(b, TCA_PEDIT_KEY_EX_HTYPE, key->htype);
    tcnl_put_u16(b, TCA_PEDIT_KEY_EX_CMD, key->cmd);
    tcnl_nest_end(b, nest);
}

static void
put_pedit(struct tcnl_buffer *b, const struct tcnl_action *a,
          const struct tcnl_pedit_key *keys)
{
    uint8_t parms[sizeof(struct tc_pedit_sel)
                  + 2 * TCNL_MAX_PEDIT_KEYS * sizeof(struct tc_pedit_key)];
    struct tc_pedit_sel sel = {
        .action = (int) a->verdict,
        .nkeys = a->pedit.n,
    };
    size_t len = sizeof sel;
    size_t nest;

    memcpy(parms, &sel, sizeof sel);
    for (unsigned int i = 0; i < a->pedit.n; i++) {
        struct tc_pedit_key key = {
            .mask = keys[i].mask,
            .val = keys[i].val,
            .off = keys[i].off,
        };

        memcpy(parms + len, &key, sizeof key);
        len += sizeof key;
    }
    tcnl_put(b, TCA_PEDIT_PARMS_EX, parms, len);

    nest = tcnl_nest_begin(b, TCA_PEDIT_KEYS_EX);
    for (unsigned int i = 0; i < a->pedit.n; i++) {
        put_pedit_ex(b, &keys[i]);
    }
    tcnl_nest_end(b, nest);
}

static void
put_csum(struct tcnl_buffer *b, const struct tcnl_action *a)
{
    struct tc_csum p = {
        .action = (int) a->verdict,
        .update_flags = a->csum.update_flags,
    };

    tcnl_put(b, TCA_CSUM_PARMS, &p, sizeof p);
}

static void
put_skbedit(struct tcnl_buffer *b, const struct tcnl_action *a)
{
    struct tc_skbedit p = { .action = (int) a->verdict };

    tcnl_put(b, TCA_SKBEDIT_PARMS, &p, sizeof p);
    tcnl_put_u16(b, TCA_SKBEDIT_PTYPE, a->skbedit.ptype);
}

/* The parameters count only if the index does not exist, see police.h; the
 * verdict is then the one that is wanted. */
static void
put_police(struct tcnl_buffer *b, const struct tcnl_action *a)
{
    struct tc_police p = {
        .index = a->police.index,
        .action = (int) a->verdict,
    };

    tcnl_put(b, TCA_POLICE_TBF, &p, sizeof p);
    tcnl_put_u32(b, TCA_POLICE_RESULT, a->verdict);
}

static void
put_options(struct tcnl_buffer *b, const struct tcnl_actions *as,
            const struct tcnl_action *a)
{
    switch (a->kind) {
    case TCNL_ACT_GACT:
        put_gact(b, a);
        break;
    case TCNL_ACT_MIRRED:
        put_mirred(b, a);
        break;
    case TCNL_ACT_VLAN:
        put_vlan(b, a);
        break;
    case TCNL_ACT_PEDIT:
        put_pedit(b, a, &as->pedit_keys[a->pedit.first]);
        break;
    case TCNL_ACT_CSUM:
        put_csum(b, a);
        break;
    case TCNL_ACT_SKBEDIT:
        put_skbedit(b, a);
        break;
    case TCNL_ACT_POLICE:
        put_police(b, a);
        break;
    case TCNL_N_ACTION_KINDS:
        break;
    }
}

static void
put_extras(struct tcnl_buffer *b, const struct tcnl_actions *as,
           const struct tcnl_action *a)
{
    static const struct nla_bitfield32 no_percpu = {
        TCA_ACT_FLAGS_NO_PERCPU_STATS, TCA_ACT_FLAGS_NO_PERCPU_STATS
    };

    if (a->cookie && as->has_cookie) {
        tcnl_put(b, TCA_ACT_COOKIE, as->cookie, sizeof as->cookie);
    }
    if (a->no_percpu) {
        tcnl_put(b, TCA_ACT_FLAGS, &no_percpu, sizeof no_percpu);
    }
}

static void
put_action(struct tcnl_buffer *b, uint16_t type, const struct tcnl_actions *as,
           const struct tcnl_action *a)
{
    size_t nest = tcnl_nest_begin(b, type);
    size_t options;

    tcnl_put_string(b, TCA_ACT_KIND, tcnl_action_kind_name(a->kind));
    options = tcnl_nest_begin(b, TCA_ACT_OPTIONS);
    put_options(b, as, a);
    tcnl_nest_end(b, options);
    if (a->kind != TCNL_ACT_POLICE) {
        put_extras(b, as, a);
    }
    tcnl_nest_end(b, nest);
}

void
tcnl_actions_put(struct tcnl_buffer *b, uint16_t type,
                 const struct tcnl_actions *as)
{
    size_t nest = tcnl_nest_begin(b, type);

    for (unsigned int i = 0; i < as->n; i++) {
        put_action(b, (uint16_t) (i + 1), as, &as->a[i]);
    }
    tcnl_nest_end(b, nest);
}

/* ## Decoding.
 *
 * The attributes of one action are found first and read then, because their
 * order is the kernel's affair (pedit's KEYS_EX stands before PARMS_EX). */

#define MAX_OPTION 8            /* Above each attribute that is read. */

struct options {
    const struct nlattr *a[MAX_OPTION + 1];
};

/* Finds the options of one action by type.  'known' has a bit for each type
 * that means something to the caller; another one would change what the
 * action does in a way that the caller does not know. */
static int
find_options(const struct nlattr *nest, const struct kind *kind,
             unsigned int known, struct options *o)
{
    struct tcnl_attrs it = tcnl_attrs_nested(nest);
    const struct nlattr *a;

    memset(o, 0, sizeof *o);
    while ((a = tcnl_attrs_next(&it))) {
        unsigned int type = tcnl_attr_type(a);

        if (type == kind->tm || type == kind->pad) {
            continue;
        }
        if (type > MAX_OPTION || !(known & 1u << type)) {
            return EOPNOTSUPP;
        }
        if (o->a[type]) {
            return EBADMSG;
        }
        o->a[type] = a;
    }
    return tcnl_attrs_ok(&it) ? 0 : EBADMSG;
}

static bool
get_option(const struct options *o, unsigned int type, void *value,
           size_t size)
{
    return o->a[type] && tcnl_attr_get(o->a[type], value, size);
}

static int
parse_gact(const struct options *o, struct tcnl_action *a)
{
    struct tc_gact p;

    if (!get_option(o, TCA_GACT_PARMS, &p, sizeof p)) {
        return EBADMSG;
    }
    a->verdict = (uint32_t) p.action;
    return 0;
}

static int
parse_mirred(const struct options *o, struct tcnl_action *a)
{
    struct tc_mirred p;

    if (!get_option(o, TCA_MIRRED_PARMS, &p, sizeof p)) {
        return EBADMSG;
    }
    a->verdict = (uint32_t) p.action;
    a->mirred.eaction = (uint32_t) p.eaction;
    a->mirred.ifindex = (int) p.ifindex;
    return 0;
}

static int
parse_vlan_push(const struct options *o, struct tcnl_action *a)
{
    if (!get_option(o, TCA_VLAN_PUSH_VLAN_ID, &a->vlan.vid,
                    sizeof a->vlan.vid)
        || !get_option(o, TCA_VLAN_PUSH_VLAN_PROTOCOL, &a->vlan.tpid,
                       sizeof a->vlan.tpid)) {
        return EBADMSG;
    }

    /* The kernel takes an absent priority for 0. */
    if (o->a[TCA_VLAN_PUSH_VLAN_PRIORITY]
        && !get_option(o, TCA_VLAN_PUSH_VLAN_PRIORITY, &a->vlan.prio,
                       sizeof a->vlan.prio)) {
        return EBADMSG;
    }
    return 0;
}

static int
parse_vlan(const struct options *o, struct tcnl_action *a)
{
    struct tc_vlan p;

    if (!get_option(o, TCA_VLAN_PARMS, &p, sizeof p)) {
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

static int
parse_csum(const struct options *o, struct tcnl_action *a)
{
    struct tc_csum p;

    if (!get_option(o, TCA_CSUM_PARMS, &p, sizeof p)) {
        return EBADMSG;
    }
    a->verdict = (uint32_t) p.action;
    a->csum.update_flags = p.update_flags;
    return 0;
}

static int
parse_skbedit(const struct options *o, struct tcnl_action *a)
{
    struct tc_skbedit p;

    if (!get_option(o, TCA_SKBEDIT_PARMS, &p, sizeof p)) {
        return EBADMSG;
    }
    if (!o->a[TCA_SKBEDIT_PTYPE]) {
        return EOPNOTSUPP;
    }
    a->verdict = (uint32_t) p.action;
    return get_option(o, TCA_SKBEDIT_PTYPE, &a->skbedit.ptype,
                      sizeof a->skbedit.ptype) ? 0 : EBADMSG;
}

/* The verdict of a conforming packet is what the list goes on with; the kernel
 * leaves it out when it is 0 (TC_ACT_OK). */
static int
parse_police(const struct nlattr *nest, struct tcnl_action *a)
{
    struct tcnl_attrs it = tcnl_attrs_nested(nest);
    const struct nlattr *attr;
    struct tc_police p;
    bool found = false;

    a->verdict = TC_ACT_OK;
    while ((attr = tcnl_attrs_next(&it))) {
        if (tcnl_attr_type(attr) == TCA_POLICE_TBF) {
            if (!tcnl_attr_get(attr, &p, sizeof p)) {
                return EBADMSG;
            }
            a->police.index = p.index;
            found = true;
        } else if (tcnl_attr_type(attr) == TCA_POLICE_RESULT
                   && !tcnl_attr_get(attr, &a->verdict, sizeof a->verdict)) {
            return EBADMSG;
        }
    }
    return found && tcnl_attrs_ok(&it) ? 0 : EBADMSG;
}

/* Copies the keys themselves; the other words of struct tc_pedit_key make the
 * offset depend on the packet. */
static int
parse_pedit_keys(const struct nlattr *parms, struct tcnl_pedit_key *keys,
                 unsigned int n)
{
    const uint8_t *p = tcnl_attr_data(parms);

    p += sizeof(struct tc_pedit_sel);
    for (unsigned int i = 0; i < n; i++, p += sizeof(struct tc_pedit_key)) {
        struct tc_pedit_key key;

        memcpy(&key, p, sizeof key);
        if (key.at || key.offmask || key.shift) {
            return EOPNOTSUPP;
        }
        keys[i].mask = key.mask;
        keys[i].val = key.val;
        keys[i].off = key.off;
    }
    return 0;
}

static int
parse_pedit_ex(const struct nlattr *nest, struct tcnl_pedit_key *key)
{
    struct tcnl_attrs it = tcnl_attrs_nested(nest);
    unsigned int seen = 0;
    const struct nlattr *a;

    while ((a = tcnl_attrs_next(&it))) {
        unsigned int type = tcnl_attr_type(a);
        uint16_t *to = type == TCA_PEDIT_KEY_EX_HTYPE ? &key->htype
                       : type == TCA_PEDIT_KEY_EX_CMD ? &key->cmd : NULL;

        if (!to || seen & 1u << type || !tcnl_attr_get(a, to, sizeof *to)) {
            return EBADMSG;
        }
        seen |= 1u << type;
    }
    return tcnl_attrs_ok(&it) && seen == (1u << TCA_PEDIT_KEY_EX_HTYPE
                                          | 1u << TCA_PEDIT_KEY_EX_CMD)
           ? 0 : EBADMSG;
}

static int
parse_pedit_exs(const struct nlattr *nest, struct tcnl_pedit_key *keys,
                unsigned int n)
{
    struct tcnl_attrs it = tcnl_attrs_nested(nest);
    unsigned int i = 0;
    const struct nlattr *a;

    while ((a = tcnl_attrs_next(&it))) {
        if (i >= n || tcnl_attr_type(a) != TCA_PEDIT_KEY_EX
            || parse_pedit_ex(a, &keys[i++])) {
            return EBADMSG;
        }
    }
    return i == n && tcnl_attrs_ok(&it) ? 0 : EBADMSG;
}

static int
parse_pedit(const struct options *o, struct tcnl_actions *as,
            struct tcnl_action *a)
{
    const struct nlattr *parms = o->a[TCA_PEDIT_PARMS_EX];
    const struct nlattr *exs = o->a[TCA_PEDIT_KEYS_EX];
    struct tcnl_pedit_key *keys = &as->pedit_keys[as->n_pedit_keys];
    struct tc_pedit_sel sel;
    int error;

    /* Without KEYS_EX it is the old form, whose offsets count from the
     * network header. */
    if (!parms || !exs) {
        return EOPNOTSUPP;
    }
    if (tcnl_attr_len(parms) < sizeof sel) {
        return EBADMSG;
    }
    memcpy(&sel, tcnl_attr_data(parms), sizeof sel);
    if (tcnl_attr_len(parms) != sizeof sel
                                + sel.nkeys * sizeof(struct tc_pedit_key)) {
        return EBADMSG;
    }
    if (sel.flags || !sel.nkeys
        || sel.nkeys > 2 * TCNL_MAX_PEDIT_KEYS - as->n_pedit_keys) {
        return EOPNOTSUPP;
    }
    error = parse_pedit_keys(parms, keys, sel.nkeys);
    if (!error) {
        error = parse_pedit_exs(exs, keys, sel.nkeys);
    }
    a->verdict = (uint32_t) sel.action;
    a->pedit.first = as->n_pedit_keys;
    a->pedit.n = sel.nkeys;
    as->n_pedit_keys = (uint8_t) (as->n_pedit_keys + sel.nkeys);
    return error;
}

/* The options that each kind is parsed from. */
static const unsigned int known_options[TCNL_N_ACTION_KINDS] = {
    [TCNL_ACT_GACT] = 1u << TCA_GACT_PARMS,
    [TCNL_ACT_MIRRED] = 1u << TCA_MIRRED_PARMS,
    [TCNL_ACT_VLAN] = (1u << TCA_VLAN_PARMS
                       | 1u << TCA_VLAN_PUSH_VLAN_ID
                       | 1u << TCA_VLAN_PUSH_VLAN_PROTOCOL
                       | 1u << TCA_VLAN_PUSH_VLAN_PRIORITY),
    [TCNL_ACT_PEDIT] = 1u << TCA_PEDIT_PARMS_EX | 1u << TCA_PEDIT_KEYS_EX,
    [TCNL_ACT_CSUM] = 1u << TCA_CSUM_PARMS,
    [TCNL_ACT_SKBEDIT] = 1u << TCA_SKBEDIT_PARMS | 1u << TCA_SKBEDIT_PTYPE,
};

static int
parse_options(const struct nlattr *nest, struct tcnl_actions *as,
              struct tcnl_action *a)
{
    struct options o;
    int error;

    if (a->kind == TCNL_ACT_POLICE) {
        return parse_police(nest, a);
    }
    error = find_options(nest, &kinds[a->kind], known_options[a->kind], &o);
    if (error) {
        return error;
    }
    switch (a->kind) {
    case TCNL_ACT_GACT:
        return parse_gact(&o, a);
    case TCNL_ACT_MIRRED:
        return parse_mirred(&o, a);
    case TCNL_ACT_VLAN:
        return parse_vlan(&o, a);
    case TCNL_ACT_PEDIT:
        return parse_pedit(&o, as, a);
    case TCNL_ACT_CSUM:
        return parse_csum(&o, a);
    case TCNL_ACT_SKBEDIT:
        return parse_skbedit(&o, a);
    case TCNL_ACT_POLICE:
    case TCNL_N_ACTION_KINDS:
        break;
    }
    return EOPNOTSUPP;
}

/* All actions of a list carry the same cookie or none. */
static int
parse_cookie(const struct nlattr *attr, struct tcnl_actions *as,
             struct tcnl_action *a)
{
    uint8_t cookie[TCNL_COOKIE_LEN];

    if (!tcnl_attr_get(attr, cookie, sizeof cookie)
        || (as->has_cookie && memcmp(cookie, as->cookie, sizeof cookie))) {
        return EOPNOTSUPP;
    }
    memcpy(as->cookie, cookie, sizeof cookie);
    as->has_cookie = true;
    a->cookie = true;
    return 0;
}

static int
parse_flags(const struct nlattr *attr, struct tcnl_action *a)
{
    struct nla_bitfield32 flags;

    if (!tcnl_attr_get(attr, &flags, sizeof flags)) {
        return EBADMSG;
    }

    /* The others (skip_hw, skip_sw) only repeat the filter's flags. */
    a->no_percpu = flags.value & flags.selector
                   & TCA_ACT_FLAGS_NO_PERCPU_STATS;
    return 0;
}

static int
parse_kind(const struct nlattr *attr, enum tcnl_action_kind *kind)
{
    for (unsigned int i = 0; i < TCNL_N_ACTION_KINDS; i++) {
        if (tcnl_attr_is_string(attr, kinds[i].name)) {
            *kind = (enum tcnl_action_kind) i;
            return 0;
        }
    }
    return EOPNOTSUPP;
}

/* Attributes of an action that are not known say something about it (such as
 * TCA_ACT_USED_HW_STATS, which appeared in 5.7) and not what it does: that is
 * in its options.  TCA_ACT_HW_STATS is the exception. */
static int
parse_action(const struct nlattr *nest, struct tcnl_actions *as)
{
    struct tcnl_attrs it = tcnl_attrs_nested(nest);
    const struct nlattr *attr, *kind = NULL, *options = NULL;
    struct tcnl_action *a = tcnl_actions_add(as, TCNL_ACT_GACT, TC_ACT_OK);
    int error = a ? 0 : EBADMSG;

    while (!error && (attr = tcnl_attrs_next(&it))) {
        switch (tcnl_attr_type(attr)) {
        case TCA_ACT_KIND:
            kind = attr;
            break;
        case TCA_ACT_OPTIONS:
            options = attr;
            break;
        case TCA_ACT_COOKIE:
            error = parse_cookie(attr, as, a);
            break;
        case TCA_ACT_FLAGS:
            error = parse_flags(attr, a);
            break;
        case TCA_ACT_HW_STATS:
            error = EOPNOTSUPP;
            break;
        }
    }
    if (!error && (!kind || !options || !tcnl_attrs_ok(&it))) {
        error = EBADMSG;
    }
    if (!error) {
        error = parse_kind(kind, &a->kind);
    }
    return error ? error : parse_options(options, as, a);
}

int
tcnl_actions_parse(const struct nlattr *acts, struct tcnl_actions *as)
{
    struct tcnl_attrs it = tcnl_attrs_nested(acts);
    const struct nlattr *nest;

    tcnl_actions_init(as);
    while ((nest = tcnl_attrs_next(&it))) {
        int error = tcnl_attr_type(nest) == as->n + 1u
                    ? parse_action(nest, as) : EBADMSG;

        if (error) {
            return error;
        }
    }
    return tcnl_attrs_ok(&it) ? 0 : EBADMSG;
}

/* ## Counters. */

/* What of an action the counters need: pointers into the message. */
struct raw {
    const struct nlattr *kind, *stats, *options, *cookie;
};

static bool
find_raw(const struct nlattr *nest, struct raw *raw)
{
    struct tcnl_attrs it = tcnl_attrs_nested(nest);
    const struct nlattr *a;

    raw->kind = raw->stats = raw->options = raw->cookie = NULL;
    while ((a = tcnl_attrs_next(&it))) {
        switch (tcnl_attr_type(a)) {
        case TCA_ACT_KIND:
            raw->kind = a;
            break;
        case TCA_ACT_STATS:
            raw->stats = a;
            break;
        case TCA_ACT_OPTIONS:
            raw->options = a;
            break;
        case TCA_ACT_COOKIE:
            raw->cookie = a;
            break;
        }
    }
    return raw->kind && tcnl_attrs_ok(&it);
}

/* The number of the times' attribute: 1 in most kinds (also those that are not
 * in the table), so only the exceptions need the name. */
static unsigned int
tm_type(const struct nlattr *kind)
{
    return tcnl_attr_is_string(kind, "csum") ? TCA_CSUM_TM : TCA_GACT_TM;
}

static bool
find_times(const struct raw *raw, struct tcf_t *tm)
{
    struct tcnl_attrs it = tcnl_attrs_nested(raw->options);
    unsigned int type = tm_type(raw->kind);
    const struct nlattr *a;

    while ((a = tcnl_attrs_next(&it))) {
        if (tcnl_attr_type(a) == type) {
            return tcnl_attr_get(a, tm, sizeof *tm);
        }
    }
    return false;
}

/* The times in struct tcf_t count backwards from now, in USER_HZ. */
static void
add_times(const struct raw *raw, struct tcnl_filter_counters *c)
{
    struct tcf_t tm;
    uint64_t ms;

    if (!find_times(raw, &tm)) {
        return;
    }
    ms = tm.lastuse * 1000 / (uint64_t) sysconf(_SC_CLK_TCK);
    if (!c->has_times || ms < c->lastuse_ms) {
        c->lastuse_ms = ms;
    }

    /* A packet within the first USER_HZ tick leaves the two equal, but sets
     * the first use; a driver does not set that, but moves the last use. */
    c->never_used = (!c->has_times || c->never_used)
                    && tm.lastuse == tm.install && !tm.firstuse;
    c->has_times = true;
}

static bool
add_stats(const struct nlattr *attr, struct tcnl_filter_counters *c)
{
    struct tcnl_stats stats;

    if (tcnl_stats_parse(attr, &stats)) {
        return false;
    }
    if (stats.packets > c->stats.packets
        || (stats.packets == c->stats.packets
            && stats.bytes >= c->stats.bytes)) {
        c->stats = stats;
    }
    return true;
}

static bool
add_action(const struct raw *raw, struct tcnl_filter_counters *c)
{
    if (raw->cookie && !c->has_cookie) {
        c->has_cookie = tcnl_attr_get(raw->cookie, c->cookie,
                                      sizeof c->cookie);
    }
    if (tcnl_attr_is_string(raw->kind, "police")) {
        return true;
    }
    if (raw->options) {
        add_times(raw, c);
    }
    return !raw->stats || add_stats(raw->stats, c);
}

int
tcnl_actions_parse_counters(const struct nlattr *acts,
                            struct tcnl_filter_counters *c)
{
    struct tcnl_attrs it = tcnl_attrs_nested(acts);
    const struct nlattr *nest;
    struct raw raw;

    memset(&c->stats, 0, sizeof c->stats);
    c->has_cookie = false;
    c->has_times = false;
    c->never_used = false;
    c->lastuse_ms = 0;
    while ((nest = tcnl_attrs_next(&it))) {
        if (!find_raw(nest, &raw) || !add_action(&raw, c)) {
            return EBADMSG;
        }
    }
    if (c->stats.packets) {
        c->never_used = false;
    }
    return tcnl_attrs_ok(&it) ? 0 : EBADMSG;
}
