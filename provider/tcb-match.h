/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_MATCH_H
#define TCB_MATCH_H 1

/* OVS matches to flower matches and back.
 *
 * Every bit of the mask is either expressed in the flower match or the flow is
 * refused: the translator clears what it has consumed and refuses what is
 * left.  in_port and recirc_id are not part of the flower match: they are the
 * device and the chain.
 *
 * Within what is translated at all, flows are accepted and refused as by OVS's
 * own tc provider, and the filters are the same, with these exceptions, in all
 * of which its filter would match other packets than the flow:
 *
 *    - An exact IP protocol of 0 is matched, not left out.
 *    - An Ethernet type with wildcards is refused, not taken as exact.
 *    - L4 keys without an exact protocol, and ICMPv4 in IPv6 or the other way
 *      round, are refused: flower ignores them.
 *    - A tag whose own Ethernet type is wildcarded, and one that is truncated,
 *      are refused.
 *    - MPLS behind a VLAN tag is matched, not left out, and an entry's fields
 *      with a part of their bits are refused, not taken as exact.
 *    - Of a ct_state that no packet has (new and established) the flow is
 *      refused.
 *    - The id of a tunnel header without a key is matched as 0, which is what
 *      the kernel has there, not left out.  Ids with a part of their bits and
 *      above 32 bits are refused, not taken as exact or cut.
 *    - The flags of a VXLAN group policy are matched without the id, too.
 *    - Geneve options without data are refused; the kernel does so, too.
 *
 * In a report only that part of a VLAN tag is exact which the filter matches;
 * OVS's own provider reports all of it as exact.  A tunnel's source
 * port is reported as such, not as its destination port. */

#include "openvswitch/match.h"
#include "tcb-why.h"
#include "tcnl/flower.h"

/* The kernel's limit of a chain index (TC_ACT_EXT_VAL_MASK). */
#define TCB_MAX_CHAIN 0x0fffffff

struct tcnl_abilities;

/* Translates 'match' into 'flower' and stores the chain in '*chain'.  'match'
 * is consumed: its masks are cleared on the way.  'geneve' says that the port
 * is a Geneve tunnel's.  Returns 0, or EOPNOTSUPP with the reason in 'why'.
 * Thread-safe. */
int tcb_match_to_flower(struct match *match, const struct tcnl_abilities *,
                        bool geneve, struct tcnl_flower *flower,
                        uint32_t *chain, struct tcb_refusal *why);

/* The way back, for full dumps and gets: 'match' is initialized here; it
 * gets in_port and recirc_id as exact matches, as OVS's own provider reports
 * them.  'flower' is as it was sent, that is, ETH_TYPE is the type of the tag
 * if there is one.  Returns 0 or EOPNOTSUPP (not made by us). */
int tcb_match_from_flower(const struct tcnl_flower *flower, uint32_t chain,
                          odp_port_t in_port, struct match *match);

#endif /* tcb-match.h */
