/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_DUMP_H
#define TCB_DUMP_H 1

/* Dump rounds: the kernel's counters into the flow table, every live flow to
 * OVS.
 *
 * A round asks the kernel for the filters of each port (tcb-cursor.h).  Each
 * revalidator begins with ports that nobody has begun with, then helps with
 * those of others, and parses what it has received without a lock.  Flows that
 * the kernel did not show, because they were idle (mode delta, tcb-round.h) or
 * added meanwhile, are reported from the table at the end: OVS deletes a flow
 * that it misses four times.
 *
 * A flow is taken to be gone only if two whole rounds in a row, complete and
 * undisturbed, did not show it.  It is then reported as unused for long, so
 * that OVS deletes it.
 *
 * Rounds are the revalidators', and "terse" to OVS.  Other dumps, with key,
 * mask and actions, are those of "dpctl/dump-flows". */

#include <stdbool.h>
#include <stdint.h>

/* Msec, the "used" of a flow whose filter is gone: OVS deletes the flow at
 * once as idle, instead of after four rounds without it, and its next packet
 * brings it back.  It is long before the machine was started, as max-idle may
 * be longer than that is ago; 0 would mean "never". */
#define TCB_LONG_AGO (-(INT64_C(1) << 40))

struct dpif_flow;
struct dpif_offload;
struct dpif_offload_flow_dump;
struct dpif_offload_flow_dump_thread;

struct dpif_offload_flow_dump *tcb_dump_create(const struct dpif_offload *,
                                               bool terse);
int tcb_dump_destroy(struct dpif_offload_flow_dump *);
struct dpif_offload_flow_dump_thread *
tcb_dump_thread_create(struct dpif_offload_flow_dump *);
void tcb_dump_thread_destroy(struct dpif_offload_flow_dump_thread *);
int tcb_dump_next(struct dpif_offload_flow_dump_thread *, struct dpif_flow *,
                  int max_flows);

#endif /* tcb-dump.h */
