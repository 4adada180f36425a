/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_QDISC_H
#define TCNL_QDISC_H 1

/* The ingress and clsact qdiscs, to which filters are attached.
 *
 * When an answer is lost (ENOBUFS, EPROTO), a qdisc may have been added or
 * removed all the same; tcnl_qdisc_get() tells.  'error' may be NULL. */

#include <stdbool.h>
#include <stdint.h>
#include <linux/netlink.h>
#include "ack.h"
#include "transport.h"

enum tcnl_qdisc_kind {
    TCNL_QDISC_NONE,
    TCNL_QDISC_INGRESS,
    TCNL_QDISC_CLSACT,
    TCNL_QDISC_OTHER,           /* Something else in the clsact place. */
};

struct tcnl_qdisc {
    enum tcnl_qdisc_kind kind;
    uint32_t ingress_block;     /* TCA_INGRESS_BLOCK, or 0. */
    uint32_t egress_block;      /* TCA_EGRESS_BLOCK, or 0. */
};

/* What stands at the clsact place of 'ifindex' now.  Returns 0 (with kind
 * NONE if nothing), or a positive errno value: EBADMSG for a reply that makes
 * no sense, ENOBUFS for one that was lost. */
int tcnl_qdisc_get(struct tcnl_transport *, int ifindex, struct tcnl_qdisc *,
                   struct tcnl_error *);

/* Adds the qdisc (for INGRESS with 'block' if nonzero).  EEXIST if one of the
 * two stands there already, EINVAL for a kind that is neither.  Takes
 * RTNL. */
int tcnl_qdisc_add(struct tcnl_transport *, int ifindex, enum tcnl_qdisc_kind,
                   uint32_t block, struct tcnl_error *);

/* Removes it with every filter in it, whoever made them. */
int tcnl_qdisc_del(struct tcnl_transport *, int ifindex, enum tcnl_qdisc_kind,
                   struct tcnl_error *);

#endif /* tcnl/qdisc.h */
