/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_TRANSLATION_H
#define TCB_TRANSLATION_H 1

/* A translation of OVS actions to TC actions under way: what the files that
 * translate one kind of action each share (internal to the translation). */

#include "tcb-action.h"
#include "tcnl/pedit.h"

struct nlattr;
struct tcnl_abilities;

struct tcb_translation {
    const struct tcb_offload *offload;
    const struct tcnl_abilities *able;
    const struct flow *flow, *masks;    /* The whole match. */
    struct tcnl_flower *flower;
    struct tcnl_actions *tc;
    struct tcb_action_uses *uses;
    struct tcb_refusal *why;

    size_t n_actions;           /* OVS actions so far, nested ones included. */
    bool last;                  /* This is the last OVS action in the list. */
    bool tail;                  /* Nothing is done after it; 'last', or the
                                 * last one of a branch at the end. */
    uint32_t csum;              /* TCA_CSUM_UPDATE_FLAG_* of the rewrites
                                 * since the last csum. */

    bool from_tunnel;           /* The packet has tunnel metadata, */
    bool released;              /* which it has lost, */
    bool maybe_released;        /* or those have that went through a branch. */

    /* Branches, see tcb-check-len.c. */
    bool copy;                  /* In OVS this works on a copy. */
    struct tcnl_rewrites done;  /* Fields that have been set, not in copies. */
    struct tcnl_rewrites undo;  /* Fields that the copy has changed, */
    uint32_t undo_csum;         /* and the checksums over them. */
    uint32_t exits;             /* Bit N: TC action N is the end of a branch
                                 * and goes on behind all of its branches. */
    uint32_t conform_exits;     /* The same for the conforming verdict. */
};

/* The verdict of an action that only does something to the packet.  At the
 * end of a list nobody wants the packet any more. */
uint32_t tcb_verdict(const struct tcb_translation *);

/* Appends an action, without cookie.  Returns NULL, with the refusal filled
 * in, if the list is full. */
struct tcnl_action *tcb_add_action(struct tcb_translation *,
                                   enum tcnl_action_kind, uint32_t verdict,
                                   bool no_percpu);

/* Both return EOPNOTSUPP. */
int tcb_refuse_limit(struct tcb_translation *, const char *what);
int tcb_refuse_action(struct tcb_translation *, const char *what);

/* Ends a run of rewrites: one csum for all of them. */
int tcb_put_csum(struct tcb_translation *, uint32_t verdict);

/* Appends a pedit with 'rewrites'. */
int tcb_put_rewrites(struct tcb_translation *, const struct tcnl_rewrites *,
                     uint32_t verdict);

/* A list of OVS actions, at the end of which 'last' and 'tail' hold.  Clears
 * 'exits' and 'conform_exits' of branches that do not end with the list. */
int tcb_translate_list(struct tcb_translation *, const struct nlattr *,
                       size_t len, bool last, bool tail);

/* One OVS action each. */
int tcb_translate_push_mpls(struct tcb_translation *, const struct nlattr *);
int tcb_translate_pop_mpls(struct tcb_translation *, const struct nlattr *);
int tcb_translate_set_mpls(struct tcb_translation *, const struct nlattr *);
int tcb_translate_ct(struct tcb_translation *, const struct nlattr *);
int tcb_translate_ct_clear(struct tcb_translation *, const struct nlattr *);
int tcb_translate_set_tunnel(struct tcb_translation *, const struct nlattr *);
int tcb_translate_check_len(struct tcb_translation *, const struct nlattr *);

/* Drops the tunnel metadata that the packet came with: before it goes out, or
 * gets other metadata. */
int tcb_release_tunnel(struct tcb_translation *);

/* Sends the branches whose ends are noted on to the next action, or out of the
 * list if this was all of it. */
void tcb_join_branches(struct tcb_translation *);
void tcb_end_branches(struct tcb_translation *);

/* The way back: each appends the OVS action of 'a'. */
int tcb_report_mpls(const struct tcnl_action *, struct ofpbuf *);
int tcb_report_ct(const struct tcnl_actions *, const struct tcnl_action *,
                  struct ofpbuf *);
int tcb_report_tunnel(const struct tcnl_actions *, const struct tcnl_action *,
                      struct ofpbuf *);

/* The matches' parts, both directions. */
int tcb_vlan_to_flower(struct match *, struct tcnl_flower *,
                       struct tcb_refusal *);
int tcb_vlan_from_flower(const struct tcnl_flower *, struct match *);
int tcb_mpls_to_flower(struct match *, struct tcnl_flower *,
                       struct tcb_refusal *);
void tcb_mpls_from_flower(const struct tcnl_flower *, struct match *);
int tcb_ct_state_to_flower(struct match *, const struct tcnl_abilities *,
                           struct tcnl_flower *, struct tcb_refusal *);
void tcb_ct_state_from_flower(const struct tcnl_flower *, struct match *);
int tcb_tunnel_to_flower(struct match *, const struct tcnl_abilities *,
                         bool geneve, struct tcnl_flower *,
                         struct tcb_refusal *);
void tcb_tunnel_from_flower(const struct tcnl_flower *, struct match *);

/* Refuses a match; returns EOPNOTSUPP. */
int tcb_refuse_match(struct tcb_refusal *, const char *detail);

#endif /* tcb-translation.h */
