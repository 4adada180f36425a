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

/* Returns the match of flow 'number', to be freed by the caller. */
char *profile_match(const char *profile, uint32_t number);

const char *profile_actions(const char *profile, bool modified);

#endif /* profile.h */
