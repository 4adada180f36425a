/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_ACK_H
#define TCNL_ACK_H 1

/* Acks and errors of the kernel, with its own words.
 *
 * struct tcnl_error is what every call that talks to the kernel fills in.  It
 * is plain data, owned by whoever declares it. */

#include <stdbool.h>
#include <stdint.h>
#include <linux/netlink.h>

#define TCNL_ERROR_TEXT_MAX 96

struct tcnl_error {
    int error;                  /* Positive errno, 0 for success. */
    bool has_offset;
    uint32_t offset;            /* Of the offending attribute in the request
                                 * (NLMSGERR_ATTR_OFFS). */
    char text[TCNL_ERROR_TEXT_MAX]; /* NLMSGERR_ATTR_MSG, cut if longer, always
                                     * terminated; empty if there was none.
                                     * May be set on success: a warning. */
};

/* Reads the NLMSG_ERROR message 'nlh', of which all nlmsg_len bytes are
 * readable.  Nothing in it is trusted.  Returns 0 and fills '*error' (text and
 * offset only as far as their attributes are well-formed), or EBADMSG for a
 * message that cannot be an ack. */
int tcnl_ack_parse(const struct nlmsghdr *nlh, struct tcnl_error *error);

/* The same for NLMSG_DONE, which ends a dump and carries its error, with
 * ext-ack attributes behind it. */
int tcnl_done_parse(const struct nlmsghdr *nlh, struct tcnl_error *error);

#endif /* tcnl/ack.h */
