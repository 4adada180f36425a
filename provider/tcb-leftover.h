/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_LEFTOVER_H
#define TCB_LEFTOVER_H 1

/* Filters that an earlier run of OVS left at a hook.
 *
 * OVS's filters, of this provider and of the in-tree one, are flower filters
 * with a 16-byte action cookie (the ufid) and not at prio 1, which belongs to
 * port policing.  Whatever else stands there is foreign and is not touched.
 * Prios that have no filter at all go, too. */

#include "tcnl/ack.h"
#include "tcnl/filter.h"

struct tcb_worker;

struct tcb_leftovers {
    unsigned int removed;
    unsigned int foreign;       /* Filters of others that stay. */
};

/* Removes them at the hook that 'hook' names (device and parent).  Returns 0
 * or a positive errno value, with the kernel's words in 'error'. */
int tcb_leftovers_remove(struct tcb_worker *,
                         const struct tcnl_filter_id *hook,
                         struct tcb_leftovers *, struct tcnl_error *error);

/* Is this such a filter? */
bool tcb_is_left_by_ovs(const struct tcnl_filter_info *);

/* Puts the request for a full dump of 'hook', a struct tcnl_filter_id; for
 * tcnl_dump_all(). */
int tcb_build_hook_dump(struct tcnl_buffer *, const void *hook);

/* Does no filter stand there, whoever made it?  False if that cannot be
 * told. */
bool tcb_hook_is_empty(struct tcb_worker *, const struct tcnl_filter_id *hook);

#endif /* tcb-leftover.h */
