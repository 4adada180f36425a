/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_SINGLE_H
#define TCB_SINGLE_H 1

/* Requests about one filter, outside of a batch: where an answer is needed
 * before anything else can be done, or was lost. */

#include <stdbool.h>

#include "tcnl/ack.h"
#include "tcnl/filter.h"
#include "tcnl/transport.h"

/* What the kernel has said of a filter. */
struct tcb_reading {
    bool present;               /* There is one with this handle. */
    bool has_counters;
    struct tcnl_filter_counters counters;   /* And the cookie. */
    bool has_held;
    struct tcnl_held held;      /* Its action that counts. */
};

/* Takes what 'nlh' says, if it is about the filter 'id'. */
void tcb_reading_take(struct tcb_reading *, const struct tcnl_filter_id *id,
                      const struct nlmsghdr *nlh);

/* Reads a filter.  Returns 0 or a positive errno value; a reading may be there
 * also if the ack is lost. */
int tcb_single_get(struct tcnl_transport *, const struct tcnl_filter_id *,
                   struct tcb_reading *);

/* Deletes a filter that nobody else knows of, patiently.  Returns true if it
 * is gone; '*final' is what it counted, if the kernel's echo has come.
 * Otherwise logs that 'what' cannot be deleted. */
bool tcb_single_del(struct tcnl_transport *, const struct tcnl_filter_id *,
                    const char *what, struct tcb_reading *final);

/* Is a delete that failed with 'error' as good as a done one, as filter, qdisc
 * or device is gone? */
bool tcb_delete_found_nothing(struct tcnl_transport *, int ifindex,
                              const struct tcnl_error *error);

#endif /* tcb-single.h */
