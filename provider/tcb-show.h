/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_SHOW_H
#define TCB_SHOW_H 1

/* ovs-appctl tc-batch/show, stats, why and audit.
 *
 * All but the last read counts that are kept anyway, without asking the kernel
 * or walking the flows.  With "ovs-appctl --format json" they answer in
 * JSON. */

/* Registers the commands.  Main thread, once. */
void tcb_show_init(void);

#endif /* tcb-show.h */
