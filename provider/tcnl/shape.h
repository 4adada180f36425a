/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_SHAPE_H
#define TCNL_SHAPE_H 1

/* The shape of a filter: which keys it matches, by which masks, and which
 * actions with which attributes it has, but not what values they have.
 *
 * The kernel ignores attributes that it does not know, and some that it knows,
 * without a word: a filter then matches more, or does less, than it was to.
 * Whether it does depends on the shape alone.  So it is enough to compare one
 * filter of each shape with what the kernel says it has received. */

#include <stdbool.h>
#include <stdint.h>
#include <linux/netlink.h>
#include "action.h"
#include "flower.h"

/* With 64 bits, equal for equal shapes only, as far as it matters. */
uint64_t tcnl_shape_hash(const struct tcnl_flower *,
                         const struct tcnl_actions *);

struct tcnl_difference {
    const char *name;           /* Of an attribute, static; NULL: none. */
    bool missing;               /* The kernel does not have it at all. */
};

/* Is everything that the message 'sent' (RTM_NEWTFILTER, ours) asks for in
 * 'reply', its echo or the answer to a get?  What else the reply has does not
 * count.  Returns 0, with the first difference in '*d'; or EBADMSG if one of
 * the two cannot be read.  Handles and devices are not compared. */
int tcnl_shape_compare(const struct nlmsghdr *sent,
                       const struct nlmsghdr *reply,
                       struct tcnl_difference *d);

#endif /* tcnl/shape.h */
