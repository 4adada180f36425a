/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_FIELD_H
#define TCB_FIELD_H 1

/* The members of struct flow, as far as flower has a key for them, and names
 * for all of them.  A key that is a plain copy of a member and its mask is
 * added in tcb-field.c and nowhere else. */

#include <stddef.h>

#include "tcnl/flower.h"

struct flow;

/* What a packet must be for a member of struct flow to be the header field
 * that a flower key matches. */
enum tcb_needs {
    NEEDS_NOTHING,
    NEEDS_ARP,
    NEEDS_IP,                   /* IPv4 or IPv6. */
    NEEDS_IPV4,
    NEEDS_IPV6,
    NEEDS_PORTS,                /* TCP, UDP or SCTP. */
    NEEDS_TCP,
    NEEDS_CT,                   /* A kernel that can match conntrack. */
};

struct tcb_field {
    enum tcnl_key key;
    enum tcb_needs needs;
    size_t flower_ofs;          /* In struct tcnl_flower_fields. */
    size_t flow_ofs;            /* In struct flow. */
    size_t size;
};

extern const struct tcb_field tcb_fields[];
extern const size_t tcb_n_fields;

/* Name of the first member of 'mask' that has a bit set; to be called only if
 * one has. */
const char *tcb_field_in_mask(const struct flow *mask);

#endif /* tcb-field.h */
