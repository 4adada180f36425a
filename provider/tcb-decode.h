/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_DECODE_H
#define TCB_DECODE_H 1

/* Filters in OVS's words: from a full filter message to a dpif_flow. */

#include "openvswitch/ofpbuf.h"
#include "tcb-flow-table.h"
#include "tcnl/filter.h"

struct dpif_flow;
struct dpif_op;
struct tcb_offload;

/* Fills in what every dpif_flow of ours has: ufid, counters, attributes; key,
 * mask and actions are empty.  No pointer into 'report' is kept. */
void tcb_decode_report(const struct tcb_flow_report *, struct dpif_flow *);

/* Appends key, mask and actions of the filter to 'buf', which grows as needed,
 * and points 'flow' at them only when all are there (later growth moves them,
 * so call tcb_decode_point() when 'buf' is complete).  Returns 0, or a
 * positive errno value for a filter that is not one of ours. */
struct tcb_decoded {
    size_t key_ofs, key_len;
    size_t mask_ofs, mask_len;
    size_t actions_ofs, actions_len;
};
int tcb_decode_filter(const struct tcb_offload *, odp_port_t in_port,
                      const struct tcnl_filter_info *, struct ofpbuf *buf,
                      struct tcb_decoded *);
/* The same for the filter of 'flow' as a message of a full dump of port
 * 'in_port' shows it; with 'nlh' NULL the kernel is asked for it.  Returns
 * false if it cannot be had. */
bool tcb_decode_message(struct tcb_offload *, const struct tcb_flow *,
                        odp_port_t in_port, const struct nlmsghdr *nlh,
                        struct ofpbuf *buf, struct tcb_decoded *);
void tcb_decode_point(const struct ofpbuf *buf, const struct tcb_decoded *,
                      struct dpif_flow *);

/* Answers DPIF_OP_FLOW_GET 'op' for 'flow' from the reply 'info' to a get that
 * was sent at 'epoch'.  The result points into memory that lives for a grace
 * period: the operation's own buffer may be too small, and must not grow. */
void tcb_decode_get(struct tcb_offload *, struct tcb_flow *,
                    const struct tcnl_filter_info *, uint64_t epoch,
                    struct dpif_op *op);

#endif /* tcb-decode.h */
