/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_ACTION_KIND_H
#define TCNL_ACTION_KIND_H 1

/* What each kind of action does in its own way (internal to tcnl).
 *
 * A new kind is added with one 'struct tcnl_kind' here and in the table of
 * action.c.  'parse' gets the options found by type, because their order is
 * the kernel's affair (pedit's KEYS_EX stands before PARMS_EX). */

#include <stdbool.h>
#include <stdint.h>
#include "action.h"
#include "attr.h"
#include "buffer.h"

#define TCNL_MAX_OPTION 20      /* Above each attribute that is read. */

struct tcnl_options {
    const struct nlattr *a[TCNL_MAX_OPTION + 1];
};

struct tcnl_kind {
    const char *name;           /* TCA_ACT_KIND. */
    uint8_t tm;                 /* Its struct tcf_t, which says nothing about
                                 * what the action does; so does 'pad'. */
    uint8_t pad;
    uint32_t known;             /* Bits of the other options that are read:
                                 * one that is not would change what the action
                                 * does in a way that we do not know. */
    void (*put)(struct tcnl_buffer *, const struct tcnl_actions *,
                const struct tcnl_action *);

    /* Returns 0, EBADMSG or EOPNOTSUPP. */
    int (*parse)(const struct tcnl_options *, struct tcnl_actions *,
                 struct tcnl_action *);

    /* The name of an attribute in which two actions differ whose kinds and
     * verdicts are the same, or NULL.  NULL: there is nothing else. */
    const char *(*differ)(const struct tcnl_actions *,
                          const struct tcnl_action *,
                          const struct tcnl_actions *,
                          const struct tcnl_action *);

    /* A number for the attributes that there are; values only of those that
     * say what the action does.  NULL: always the same. */
    uint64_t (*form)(const struct tcnl_actions *, const struct tcnl_action *);
};

extern const struct tcnl_kind tcnl_kind_gact;
extern const struct tcnl_kind tcnl_kind_mirred;
extern const struct tcnl_kind tcnl_kind_vlan;
extern const struct tcnl_kind tcnl_kind_pedit;
extern const struct tcnl_kind tcnl_kind_csum;
extern const struct tcnl_kind tcnl_kind_skbedit;
extern const struct tcnl_kind tcnl_kind_police;
extern const struct tcnl_kind tcnl_kind_police_mtu;
extern const struct tcnl_kind tcnl_kind_mpls;
extern const struct tcnl_kind tcnl_kind_ct;
extern const struct tcnl_kind tcnl_kind_tunnel_key;

/* What kind of verdict it is, without the chain or the number of actions that
 * it names. */
static inline uint8_t
tcnl_verdict_form(uint32_t verdict)
{
    uint32_t extended = verdict >> 28;

    return (uint8_t) (extended ? 0x80 | extended : verdict);
}

static inline bool
tcnl_option_get(const struct tcnl_options *o, unsigned int type, void *value,
                size_t size)
{
    return o->a[type] && tcnl_attr_get(o->a[type], value, size);
}

/* The same for one that may be absent: then 'value' stays as it is. */
static inline bool
tcnl_option_get_if(const struct tcnl_options *o, unsigned int type,
                   void *value, size_t size)
{
    return !o->a[type] || tcnl_attr_get(o->a[type], value, size);
}

#endif /* tcnl/action-kind.h */
