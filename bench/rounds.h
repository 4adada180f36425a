/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ROUNDS_H
#define ROUNDS_H 1

/* Flows of a profile, and rounds of dumps of them, by either provider's
 * callbacks.  Whatever fails here ends the program. */

#include "tcb-offload.h"
#include "twin.h"

struct dpif_offload;

struct rounds {
    const char *profile;        /* Of profile.h. */
    struct twins twins;
    struct dpif_offload *offloads[N_TWINS];
};

void rounds_open(struct rounds *, const char *profile);
void rounds_close(struct rounds *);

/* Installs, or deletes for their counters, flows 'first' and up, 64 at a
 * time.  Return the microseconds that the providers took. */
long long int rounds_install(const struct rounds *, enum twin, uint32_t first,
                             uint32_t n);
long long int rounds_delete(const struct rounds *, enum twin, uint32_t first,
                            uint32_t n);

/* A round of dumps as revalidators have it, by as many threads.  Returns the
 * number of flows that were reported. */
unsigned int rounds_dump(const struct rounds *, enum twin,
                         unsigned int n_threads);

/* The mode of our last round. */
enum tcb_dump_mode rounds_mode(const struct rounds *);

/* What is to be the next round's mode.  A whole round that is due is had now:
 * it is not what is measured. */
void rounds_set_mode(const struct rounds *, enum tcb_dump_mode);

#endif /* rounds.h */
