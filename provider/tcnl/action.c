/* SPDX-License-Identifier: Apache-2.0 */
#include "action.h"

#include <errno.h>
#include <string.h>
#include <linux/pkt_cls.h>
#include "action-kind.h"
#include "attr.h"
#include "word.h"

static const struct tcnl_kind *const kinds[TCNL_N_ACTION_KINDS] = {
    [TCNL_ACT_GACT] = &tcnl_kind_gact,
    [TCNL_ACT_MIRRED] = &tcnl_kind_mirred,
    [TCNL_ACT_VLAN] = &tcnl_kind_vlan,
    [TCNL_ACT_PEDIT] = &tcnl_kind_pedit,
    [TCNL_ACT_CSUM] = &tcnl_kind_csum,
    [TCNL_ACT_SKBEDIT] = &tcnl_kind_skbedit,
    [TCNL_ACT_POLICE] = &tcnl_kind_police,
    [TCNL_ACT_POLICE_MTU] = &tcnl_kind_police_mtu,
    [TCNL_ACT_MPLS] = &tcnl_kind_mpls,
    [TCNL_ACT_CT] = &tcnl_kind_ct,
    [TCNL_ACT_TUNNEL_KEY] = &tcnl_kind_tunnel_key,
};

const char *
tcnl_action_kind_name(enum tcnl_action_kind kind)
{
    return (unsigned int) kind < TCNL_N_ACTION_KINDS
           ? kinds[kind]->name : "unknown";
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

static const char *
options_differ(const struct tcnl_actions *as, const struct tcnl_action *a,
               const struct tcnl_actions *bs, const struct tcnl_action *b)
{
    if (a->kind != b->kind) {
        return "TCA_ACT_KIND";
    }
    if (a->verdict != b->verdict) {
        return "the verdict of an action";
    }
    return kinds[a->kind]->differ ? kinds[a->kind]->differ(as, a, bs, b)
                                  : NULL;
}

static const char *
extras_differ(const struct tcnl_actions *as, const struct tcnl_action *a,
              const struct tcnl_actions *bs, const struct tcnl_action *b)
{
    bool a_cookie = a->cookie && as->has_cookie;
    bool b_cookie = b->cookie && bs->has_cookie;

    if (a->kind == TCNL_ACT_POLICE) {
        return NULL;
    }
    if (a_cookie != b_cookie
        || (a_cookie && memcmp(as->cookie, bs->cookie, sizeof as->cookie))) {
        return "TCA_ACT_COOKIE";
    }
    return a->no_percpu != b->no_percpu ? "TCA_ACT_FLAGS" : NULL;
}

const char *
tcnl_actions_differ(const struct tcnl_actions *as,
                    const struct tcnl_actions *bs)
{
    if (as->n != bs->n) {
        return "the number of actions";
    }
    for (unsigned int i = 0; i < as->n; i++) {
        const struct tcnl_action *a = &as->a[i];
        const struct tcnl_action *b = &bs->a[i];
        const char *name = options_differ(as, a, bs, b);

        if (!name) {
            name = extras_differ(as, a, bs, b);
        }
        if (name) {
            return name;
        }
    }
    return NULL;
}

bool
tcnl_actions_equal(const struct tcnl_actions *as,
                   const struct tcnl_actions *bs)
{
    return !tcnl_actions_differ(as, bs);
}

uint64_t
tcnl_actions_shape(const struct tcnl_actions *as, uint64_t hash)
{
    for (unsigned int i = 0; i < as->n; i++) {
        const struct tcnl_action *a = &as->a[i];
        const struct tcnl_kind *kind = kinds[a->kind];
        uint8_t common[] = {
            (uint8_t) a->kind, a->cookie, a->no_percpu,
            tcnl_verdict_form(a->verdict),
        };
        uint64_t form = kind->form ? kind->form(as, a) : 0;

        hash = tcnl_hash_add(hash, common, sizeof common);
        hash = tcnl_hash_word(hash, form);
    }
    return hash;
}

/* ## Encoding. */

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
    kinds[a->kind]->put(b, as, a);
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

/* ## Decoding. */

/* Finds the options of one action by type. */
static int
find_options(const struct nlattr *nest, const struct tcnl_kind *kind,
             struct tcnl_options *o)
{
    struct tcnl_attrs it = tcnl_attrs_nested(nest);
    const struct nlattr *a;
    int error = 0;

    memset(o, 0, sizeof *o);
    while ((a = tcnl_attrs_next(&it))) {
        unsigned int type = tcnl_attr_type(a);

        if (type == kind->tm || type == kind->pad) {
            continue;
        }
        if (type > TCNL_MAX_OPTION || !(kind->known & 1u << type)) {
            error = EOPNOTSUPP;
        } else if (o->a[type]) {
            return EBADMSG;
        } else {
            o->a[type] = a;
        }
    }
    return tcnl_attrs_ok(&it) ? error : EBADMSG;
}

static int
parse_options(const struct nlattr *nest, struct tcnl_actions *as,
              struct tcnl_action *a)
{
    struct tcnl_options o;
    int unknown = find_options(nest, kinds[a->kind], &o);
    int error = unknown == EBADMSG ? unknown
                                   : kinds[a->kind]->parse(&o, as, a);

    return error ? error : unknown;
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

/* Where two kinds have the same name, the first one's parser tells which it
 * is. */
static int
parse_kind(const struct nlattr *attr, enum tcnl_action_kind *kind)
{
    for (unsigned int i = 0; i < TCNL_N_ACTION_KINDS; i++) {
        if (tcnl_attr_is_string(attr, kinds[i]->name)) {
            *kind = (enum tcnl_action_kind) i;
            return 0;
        }
    }
    return EOPNOTSUPP;
}

static int
parse_action_attr(const struct nlattr *attr, struct tcnl_actions *as,
                  struct tcnl_action *a)
{
    switch (tcnl_attr_type(attr)) {
    case TCA_ACT_COOKIE:
        return parse_cookie(attr, as, a);
    case TCA_ACT_FLAGS:
        return parse_flags(attr, a);
    case TCA_ACT_HW_STATS:
        return EOPNOTSUPP;
    default:
        return 0;
    }
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
    int error = a ? 0 : EBADMSG, unknown = 0;

    while (error != EBADMSG && (attr = tcnl_attrs_next(&it))) {
        if (tcnl_attr_type(attr) == TCA_ACT_KIND) {
            kind = attr;
        } else if (tcnl_attr_type(attr) == TCA_ACT_OPTIONS) {
            options = attr;
        } else {
            error = parse_action_attr(attr, as, a);
            unknown = unknown ? unknown : error;
        }
    }
    if (error == EBADMSG || !kind || !options || !tcnl_attrs_ok(&it)) {
        return EBADMSG;
    }
    error = parse_kind(kind, &a->kind);
    if (!error) {
        error = parse_options(options, as, a);
    }
    return error ? error : unknown;
}

int
tcnl_actions_parse(const struct nlattr *acts, struct tcnl_actions *as)
{
    struct tcnl_attrs it = tcnl_attrs_nested(acts);
    const struct nlattr *nest;
    int unknown = 0;

    tcnl_actions_init(as);
    while ((nest = tcnl_attrs_next(&it))) {
        int error = tcnl_attr_type(nest) == as->n + 1u
                    ? parse_action(nest, as) : EBADMSG;

        if (error == EBADMSG) {
            return error;
        }
        unknown = unknown ? unknown : error;
    }
    return tcnl_attrs_ok(&it) ? unknown : EBADMSG;
}
