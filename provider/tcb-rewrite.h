/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_REWRITE_H
#define TCB_REWRITE_H 1

/* Set actions: from OVS_KEY_ATTR_* to rewrites of header fields and back. */

#include "openvswitch/ofpbuf.h"
#include "tcb-why.h"
#include "tcnl/pedit.h"

struct flow;
struct nlattr;

/* Which checksums a rewrite invalidates. */
enum tcb_rewrite_layer {
    TCB_LAYER_ETH,              /* None. */
    TCB_LAYER_IPV4,             /* IPv4 header, and L4. */
    TCB_LAYER_L4,               /* L4: IPv6 addresses and ports. */
};

/* Reads 'set', the attribute inside OVS_ACTION_ATTR_SET ('masked' false) or
 * OVS_ACTION_ATTR_SET_MASKED.  Returns 0, or EOPNOTSUPP with the reason in
 * 'why' for a header or a field that TC does not rewrite. */
int tcb_rewrite_from_set(const struct nlattr *set, bool masked,
                         struct tcnl_rewrites *, enum tcb_rewrite_layer *,
                         struct tcb_refusal *why);

/* Appends one OVS_ACTION_ATTR_SET_MASKED to 'out' for each header that has
 * rewrites. */
void tcb_rewrite_put_sets(const struct tcnl_rewrites *, struct ofpbuf *out);

/* Makes 'all' do what both do, one after the other. */
void tcb_rewrite_merge(struct tcnl_rewrites *all,
                       const struct tcnl_rewrites *more);

/* Gives the fields of 'undo' the values that the packet had: those that 'done'
 * has set, or those that it came with.  Returns false if 'flow' with 'masks'
 * does not say all of the latter. */
bool tcb_rewrite_undo(const struct flow *flow, const struct flow *masks,
                      const struct tcnl_rewrites *done,
                      struct tcnl_rewrites *undo);

#endif /* tcb-rewrite.h */
