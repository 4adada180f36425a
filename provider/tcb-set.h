/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_SET_H
#define TCB_SET_H 1

/* ovs-appctl tc-batch/set: switches for debugging, until the daemon ends. */

/* Registers the command.  Main thread, once. */
void tcb_set_init(void);

#endif /* tcb-set.h */
