/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_FILTER_H
#define TCNL_FILTER_H 1

/* Identity of TC filters and the messages about them. */

#include <stdbool.h>
#include <stdint.h>
#include <linux/netlink.h>
#include "action.h"
#include "buffer.h"
#include "flower.h"

/* Hooks of the ingress/clsact qdisc, as tcm_parent values. */
#define TCNL_PARENT_INGRESS 0xfffffff2u
#define TCNL_PARENT_EGRESS  0xfffffff3u

struct tcnl_filter_id {
    int ifindex;                /* Ignored if 'block' is nonzero. */
    uint32_t block;             /* Shared block index, or 0. */
    uint32_t parent;            /* TCNL_PARENT_*. */
    uint32_t chain;
    uint32_t handle;            /* Chosen by us; unique per chain and prio. */
    uint16_t prio;
    uint16_t proto;             /* Network order. */
};

/* Each puts one whole message and returns 0 or EMSGSIZE.  TCA_KIND "flower"
 * is always sent: without it the kernel takes RTNL.  'nl_flags' are added to
 * NLM_F_REQUEST: NLM_F_CREATE | NLM_F_EXCL to add, NLM_F_CREATE to replace in
 * place, NLM_F_ECHO for the reply with final counters.
 *
 * The echo of a delete and what tcnl_filter_put_get_counters() gets are asked
 * for in the terse form, without keys.  A kernel gives that if it has our
 * patch for it; others overlook it and give the full form.
 *
 * Two put nothing and return EINVAL for what would do harm in silence:
 * tcnl_filter_put_new() if the match is not complete (see
 * tcnl_flower_is_complete()), tcnl_filter_put_del() without a handle and a
 * prio (which would delete all of them). */
int tcnl_filter_put_new(struct tcnl_buffer *, const struct tcnl_filter_id *,
                        const struct tcnl_flower *,
                        const struct tcnl_actions *, uint16_t nl_flags);
int tcnl_filter_put_del(struct tcnl_buffer *, const struct tcnl_filter_id *,
                        uint16_t nl_flags);
/* A new filter that binds an action of another, by its index, and nothing
 * else: the action and its counters stay for as long as this filter does. */
int tcnl_filter_put_hold(struct tcnl_buffer *, const struct tcnl_filter_id *,
                         const struct tcnl_flower *, const struct tcnl_held *);
int tcnl_filter_put_get(struct tcnl_buffer *, const struct tcnl_filter_id *);
int tcnl_filter_put_get_counters(struct tcnl_buffer *,
                                 const struct tcnl_filter_id *);

/* Deletes the whole prio of 'id', whatever its handle. */
int tcnl_prio_put_del(struct tcnl_buffer *, const struct tcnl_filter_id *);

/* How filters are dumped.  What needs our patches (kernel/patches), other
 * kernels refuse with EINVAL. */
struct tcnl_dump_form {
    bool terse;                 /* Counters, no keys (Linux 5.8). */
    bool one_chain;             /* Those of 'id->chain' alone. */
    bool one_prio;              /* Those of 'id->prio' alone. */
    uint32_t used_within;       /* Msec: only those that packets used, or that
                                 * were made, so short ago.  0: all.  Terse
                                 * dumps only; our patch. */
    bool start;                 /* From the first one on that is not before
                                 * chain, prio and handle of 'id'; our
                                 * patch. */
};

/* The filters of one hook (or block), of every prio. */
int tcnl_filter_put_dump(struct tcnl_buffer *, const struct tcnl_filter_id *,
                         const struct tcnl_dump_form *);

/* Deletes every filter of one chain (RTM_DELCHAIN is not needed: the chain
 * goes with its last filter). */
int tcnl_chain_put_flush(struct tcnl_buffer *, const struct tcnl_filter_id *);

/* What any RTM_*TFILTER message says about its filter. */
struct tcnl_filter_info {
    struct tcnl_filter_id id;
    bool is_flower;
    bool is_header;             /* The message of a prio (handle 0, no options)
                                 * that precedes its filters in a dump. */
    bool has_keys;              /* Full form (not terse): keys are there. */
    uint32_t cls_flags;         /* TCA_CLS_FLAGS_*: skip_*, in_hw. */
    const struct nlattr *options; /* TCA_OPTIONS in the message, or NULL. */
    const struct nlattr *acts;  /* TCA_FLOWER_ACT inside that, or NULL. */
};

/* Reads a filter message, trusting nothing beyond nlmsg_len.  Returns 0, or
 * EBADMSG. */
int tcnl_filter_parse(const struct nlmsghdr *, struct tcnl_filter_info *);

/* Reads the match of a parsed message as it was sent, ETH_TYPE of a VLAN tag
 * included (see tcnl_flower_parse(), whose errors are returned).  EOPNOTSUPP
 * also if it is no flower filter or not in full form. */
int tcnl_filter_parse_flower(const struct tcnl_filter_info *,
                             struct tcnl_flower *);

#endif /* tcnl/filter.h */
