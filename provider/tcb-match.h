/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_MATCH_H
#define TCB_MATCH_H 1

/* OVS matches to flower matches and back.
 *
 * Every bit of the mask is either expressed in the flower match or the flow is
 * refused: the translator clears what it has consumed and refuses what is
 * left.  in_port and recirc_id are not part of the flower match: they are the
 * device and the chain. */

#include "openvswitch/match.h"
#include "tcb-why.h"
#include "tcnl/flower.h"

/* The kernel's limit of a chain index (TC_ACT_EXT_VAL_MASK). */
#define TCB_MAX_CHAIN 0x0fffffff

/* Translates 'match' into 'flower' and stores the chain in '*chain'.  'match'
 * is consumed: its masks are cleared on the way.  Returns 0, or EOPNOTSUPP
 * with the reason in 'why'.  Thread-safe. */
int tcb_match_to_flower(struct match *match, struct tcnl_flower *flower,
                        uint32_t *chain, struct tcb_refusal *why);

/* The way back, for full dumps and gets: 'match' is initialized here; it
 * gets in_port and, if 'chain' is nonzero or recirculation ids are shared,
 * recirc_id as exact matches, as OVS's own provider reports them.  Returns 0
 * or EOPNOTSUPP. */
int tcb_match_from_flower(const struct tcnl_flower *flower, uint32_t chain,
                          odp_port_t in_port, struct match *match);

#endif /* tcb-match.h */
