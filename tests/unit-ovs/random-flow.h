/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RANDOM_FLOW_H
#define RANDOM_FLOW_H 1

/* Random datapath flows, put together from pieces, for the comparison with
 * OVS's own tc provider.  All kinds of matches and actions that OVS knows
 * occur, those too that no provider takes, and those that only one takes
 * (difference.h).
 *
 * Ports are those of translate.h.  Chains 1 to RANDOM_FLOW_CHAINS are matched,
 * RANDOM_FLOW_UNUSED_CHAIN too, to which no flow recirculates; meters 1 to
 * RANDOM_FLOW_METERS exist. */

#include "openvswitch/dynamic-string.h"

#define RANDOM_FLOW_CHAINS 4
#define RANDOM_FLOW_UNUSED_CHAIN 999
#define RANDOM_FLOW_METERS 5

/* Appends a flow to 'match' and 'actions', random by random_range().  With an
 * 'id' other than 0 it matches an Ethernet source that only this id has. */
void random_flow(struct ds *match, struct ds *actions, unsigned int id);

#endif /* random-flow.h */
