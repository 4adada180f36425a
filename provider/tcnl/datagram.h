/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_DATAGRAM_H
#define TCNL_DATAGRAM_H 1

/* The messages of one received datagram (internal to tcnl). */

#include <stddef.h>
#include <linux/netlink.h>

/* Returns the next message, which is wholly inside the 'len' bytes at 'buf'
 * (aligned to 4 bytes), or NULL.  '*ofs' starts at 0 and is the walk's state;
 * if it is less than 'len' after the NULL, the rest is damaged.
 *
 * mnl_nlmsg_ok() is not used because it compares nlmsg_len as an int and
 * accepts lengths of 2 GiB and more. */
const struct nlmsghdr *tcnl_datagram_next(const void *buf, size_t len,
                                          size_t *ofs);

#endif /* tcnl/datagram.h */
