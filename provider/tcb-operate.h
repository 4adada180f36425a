/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_OPERATE_H
#define TCB_OPERATE_H 1

/* Installs, modifies, deletes and gets, in batches.
 *
 * Handlers bring up to 128 operations at once, revalidators up to 50.  They
 * become one message each, in order, and go out in as few sendmsg calls as the
 * socket allows.  Each operation is answered when the kernel has answered
 * it: 0 for done, EEXIST for a duplicate, left negative for the kernel
 * datapath to handle.
 *
 * Thread-safe.  Never quiesces. */

#include <stddef.h>

struct dpif;
struct dpif_offload;
struct dpif_op;
struct tcb_offload;
struct tcb_port;

void tcb_operate(struct dpif *, const struct dpif_offload *,
                 struct dpif_op **, size_t n_ops);

/* Deletes the filters of all flows of 'port', or of all ports if it is NULL.
 * The flows stay in the table as dead ones for a while: OVS asks for their
 * final counters when it deletes them.  Flows that others have claimed
 * are waited for.  Returns 0 or the first errno value; what could not be
 * deleted stays live. */
int tcb_flush(struct tcb_offload *, const struct tcb_port *);

#endif /* tcb-operate.h */
