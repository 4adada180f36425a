/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_ACTION_H
#define TCB_ACTION_H 1

/* OVS datapath actions to TC actions and back.
 *
 * One OVS action may become several TC actions: output to an internal port is
 * skbedit (packet type host) and mirred to its ingress; header rewrites are
 * one pedit and, where a checksum covers them, one csum; tunnel metadata that
 * a packet came with is released before its first output or new metadata.
 *
 * The lists are those of OVS's own tc provider, with these exceptions:
 *
 *    - A list that ends in a police gets a drop behind it.  A police that is
 *      named by its index keeps the verdict it was made with, so packets below
 *      the rate would go on to the stack.
 *    - A list without output, goto or drop has the cookie, too: on its last
 *      action that is not shared.
 *    - A recirculation that more actions follow is refused, for TC would not
 *      execute them.
 *    - So is a set of the whole IPv6 header without a mask, for it has the
 *      flow label in it, which TC does not set.
 *    - Options of ct that act_ct lacks are refused, not ignored: a timeout
 *      policy, an event mask that is not OVS's usual one, and of nat
 *      persistent, hash and random.
 *    - So are tunnel ids above 32 bits, which would be cut, and MPLS entries
 *      with a TTL of 0, which act_mpls takes for none.
 *    - In branches of check_pkt_len that more follows header fields are set
 *      back at the end, since in OVS they are set on a copy; vlan, mpls, ct,
 *      meter, drop, recirc and tunnels are refused there.  A branch that ends
 *      in a set or a meter does not run on into the other one, a branch that
 *      ends in branches leaves all of them, and each branch releases the
 *      tunnel metadata. */

#include "openvswitch/match.h"
#include "openvswitch/ofpbuf.h"
#include "tcb-why.h"
#include "tcnl/action.h"
#include "tcnl/flower.h"

struct tcb_offload;
struct tcnl_abilities;

/* A flow with more different meters than this is refused. */
#define TCB_MAX_FLOW_METERS 4

/* What a flow's actions refer to beyond the filter itself. */
struct tcb_action_uses {
    uint32_t goto_chain;        /* 0: none. */
    bool of_key;                /* Values that the flow's key says. */
    uint8_t n_meters;           /* Different ones. */
    uint32_t police[TCB_MAX_FLOW_METERS];   /* Police indexes. */
};

/* Translates 'actions_len' bytes of OVS_ACTION_ATTR_* at 'actions' for a flow
 * that matches 'flower' into 'tc'.  A rewrite of fields under a checksum needs
 * an exact IP protocol: it is added to 'flower' from 'flow' if missing there.
 * 'masks' are the flow's before tcb_match_to_flower() consumed them.
 * The cookie itself is the caller's to set; here it is only decided which
 * actions carry it.
 * Returns 0, or EOPNOTSUPP with the reason in 'why'.  Thread-safe; looks up
 * ports and meters under RCU. */
int tcb_actions_to_tc(const struct tcb_offload *,
                      const struct tcnl_abilities *,
                      const struct nlattr *actions, size_t actions_len,
                      const struct flow *flow, const struct flow *masks,
                      struct tcnl_flower *flower, struct tcnl_actions *tc,
                      struct tcb_action_uses *, struct tcb_refusal *why);

/* The way back: appends OVS_ACTION_ATTR_* to 'out', which must be able to
 * grow.  Returns 0 or EOPNOTSUPP (not made by us). */
int tcb_actions_from_tc(const struct tcb_offload *,
                        const struct tcnl_actions *tc, struct ofpbuf *out);

#endif /* tcb-action.h */
