/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DISTURBANCE_H
#define DISTURBANCE_H 1

/* What happens to the provider's ports, and who else uses TC, while flows are
 * put and deleted. */

#include <stdbool.h>

struct twins;

/* Port 2 of ours, the device of which comes and goes. */
#define DISTURBED_DEVICE "twin12"

/* Does one thing by chance: renews port 2, with or without its device, changes
 * a meter, audits, or adds foreign filters to port 1 with handles up to
 * 'max_handle'.  With 'others', also things by which filters vanish that
 * nobody has asked us to delete.  Main thread. */
void disturb(struct twins *, unsigned int max_handle, bool others);

#endif /* disturbance.h */
