/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROFILE_H
#define PROFILE_H 1

/* The flows that benches work on, as texts.  All are of port 1.
 *
 *    5tuple   L2 and 5-tuple; sets the tunnel and goes to port 5
 *    l2drop   L2; dropped
 *
 * Modified ones have another tunnel, or go to port 2. */

#include <stdbool.h>
#include <stdint.h>

struct test_flow;

/* Returns the match of flow 'number', to be freed by the caller. */
char *profile_match(const char *profile, uint32_t number);

const char *profile_actions(const char *profile, bool modified);

/* Parses flow 0 into 'flow', to be freed by the caller. */
void profile_flow(const char *profile, bool modified, struct test_flow *flow);

/* Makes another flow of one that profile_flow() has made: parsing each takes
 * longer than what is measured. */
void profile_set_number(const char *profile, struct test_flow *,
                        uint32_t number);

/* A packet of flow 'number', as it comes in. */
#define PROFILE_FRAME 60
void profile_frame(const char *profile, uint32_t number,
                   uint8_t frame[PROFILE_FRAME]);

#endif /* profile.h */
