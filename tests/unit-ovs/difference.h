/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DIFFERENCE_H
#define DIFFERENCE_H 1

/* What we do otherwise than OVS's own tc provider on purpose: the rows of
 * docs/differences.md, each with the flows that it is about and one of them as
 * an example.  Whoever compares the two accepts these and nothing else. */

#include <stdbool.h>
#include <stddef.h>
#include "flow-text.h"

enum difference_effect {
    DIFFERENCE_REFUSED,         /* It accepts the flow, we do not. */
    DIFFERENCE_ACCEPTED,        /* The other way round. */
    DIFFERENCE_KEYS,            /* The filter matches on something else. */
    DIFFERENCE_ACTIONS,         /* It does something else. */
    DIFFERENCE_COOKIE,          /* Only ours has a cookie. */
};

struct difference {
    const char *name;
    enum difference_effect effect;
    const char *detail;         /* Of our refusal; only DIFFERENCE_REFUSED. */
    bool (*applies)(const struct test_flow *, const struct test_text *);
    struct test_text example;
    bool kernel_refuses;        /* The kernel refuses its filter, too, so that
                                 * nothing of it is seen there. */
};

extern const struct difference differences[];
extern const size_t n_differences;

/* The difference by which the two do as 'effect' says, or NULL.  'detail' is
 * that of our refusal, if any. */
const struct difference *difference_find(enum difference_effect,
                                         const char *detail,
                                         const struct test_flow *,
                                         const struct test_text *);

#endif /* difference.h */
