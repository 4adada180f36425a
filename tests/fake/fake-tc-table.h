/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAKE_TC_TABLE_H
#define FAKE_TC_TABLE_H 1

/* The tables of struct fake_tc, for its files; the caller has the mutex. */

#include "fake/fake-tc.h"

/* The place of the first filter that is not before 'id'. */
size_t fake_table_lower_bound(const struct fake_tc *,
                              const struct tcnl_filter_id *id);
struct fake_tc_filter *fake_table_find(const struct fake_tc *,
                                       const struct tcnl_filter_id *id);
/* The table takes the filter over. */
void fake_table_insert(struct fake_tc *, struct fake_tc_filter *);
void fake_table_delete(struct fake_tc *, struct fake_tc_filter *);

/* Does another filter of the prio have the same masked key? */
bool fake_table_is_duplicate(const struct fake_tc *,
                             const struct tcnl_filter_id *id,
                             const struct tcnl_flower *);

/* The kind of the device's qdisc, or NULL. */
char *fake_table_qdisc_of(struct fake_tc *, int ifindex);

/* Executes an RTM_*ACTION message; its data goes to 'reply', one datagram in
 * each call.  Returns a positive errno, or 0; a dump brings its own end. */
int fake_police_execute(struct fake_tc *, const struct nlmsghdr *,
                        void (*reply)(void *aux, const struct tcnl_buffer *),
                        void *aux);

#endif /* fake-tc-table.h */
