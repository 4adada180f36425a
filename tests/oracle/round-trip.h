/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ROUND_TRIP_H
#define ROUND_TRIP_H 1

/* Is what a dump or a get says of a flow what was put?
 *
 * It is, but for what TC cannot say (docs/differences.md, "Reports"), to which
 * both are reduced before they are compared. */

#include "dpif.h"
#include "openvswitch/dynamic-string.h"

/* Returns true if so, otherwise appends to 'trouble' what was put and what was
 * reported. */
bool round_trip_check(const struct dpif_flow_put *, const struct dpif_flow *,
                      struct ds *trouble);

#endif /* round-trip.h */
