/* SPDX-License-Identifier: Apache-2.0 */

/* The attributes of act_pedit. */

#include "action-kind.h"

#include <errno.h>
#include <string.h>
#include <linux/pkt_cls.h>
#include <linux/tc_act/tc_pedit.h>
#include "word.h"

static void
put_pedit_ex(struct tcnl_buffer *b, const struct tcnl_pedit_key *key)
{
    size_t nest = tcnl_nest_begin(b, TCA_PEDIT_KEY_EX);

    tcnl_put_u16(b, TCA_PEDIT_KEY_EX_HTYPE, key->htype);
    tcnl_put_u16(b, TCA_PEDIT_KEY_EX_CMD, key->cmd);
    tcnl_nest_end(b, nest);
}

static void
put_pedit(struct tcnl_buffer *b, const struct tcnl_actions *as,
          const struct tcnl_action *a)
{
    const struct tcnl_pedit_key *keys = &as->pedit_keys[a->pedit.first];
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
parse_pedit(const struct tcnl_options *o, struct tcnl_actions *as,
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

static const char *
pedit_differ(const struct tcnl_actions *as, const struct tcnl_action *a,
             const struct tcnl_actions *bs, const struct tcnl_action *b)
{
    return a->pedit.n == b->pedit.n
           && !memcmp(&as->pedit_keys[a->pedit.first],
                      &bs->pedit_keys[b->pedit.first],
                      a->pedit.n * sizeof as->pedit_keys[0])
           ? NULL : "TCA_PEDIT_PARMS_EX";
}

/* Fields, without what is set in them. */
static uint64_t
pedit_form(const struct tcnl_actions *as, const struct tcnl_action *a)
{
    const struct tcnl_pedit_key *keys = &as->pedit_keys[a->pedit.first];
    uint64_t hash = TCNL_HASH_BASIS;

    for (unsigned int i = 0; i < a->pedit.n; i++) {
        hash = tcnl_hash_word(hash, keys[i].htype);
        hash = tcnl_hash_word(hash, keys[i].cmd);
        hash = tcnl_hash_word(hash, keys[i].off);
    }
    return hash;
}

const struct tcnl_kind tcnl_kind_pedit = {
    .name = "pedit",
    .tm = TCA_PEDIT_TM,
    .pad = TCA_PEDIT_PAD,
    .known = 1u << TCA_PEDIT_PARMS_EX | 1u << TCA_PEDIT_KEYS_EX,
    .put = put_pedit,
    .parse = parse_pedit,
    .differ = pedit_differ,
    .form = pedit_form,
};
