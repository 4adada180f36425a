/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAKE_SAMPLE_H
#define FAKE_SAMPLE_H 1

/* Filters to try things out with: every key, exact and masked, under each
 * protocol that it goes with, and every action.  The unit tests send them to
 * the parsers, the test on a real kernel to that kernel. */

#include "tcnl/action.h"
#include "tcnl/filter.h"
#include "tcnl/flower.h"

#define SAMPLE_POLICE 0x20000042u   /* Index that some actions name. */
#define SAMPLE_MAX 1024
#define SAMPLE_MAX_PRIO 10

struct sample {
    char name[64];
    struct tcnl_filter_id id;   /* Handle, prio and protocol are set, no two
                                 * samples have the same handle. */
    struct tcnl_flower flower;
    struct tcnl_actions actions;
};

/* Makes all samples, at most SAMPLE_MAX, for filters on 'ifindex' that
 * redirect to it.  Returns their number. */
unsigned int samples_make(struct sample *samples, int ifindex);

#endif /* fake-sample.h */
