/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_DUMP_H
#define TCB_DUMP_H 1

/* Dump rounds: the kernel's counters into the flow table, every live flow to
 * OVS.
 *
 * A round asks the kernel for the filters of one port after the other, over
 * one socket.  Revalidators share it: each takes one datagram under the dump's
 * mutex and parses it outside, with a buffer of its own.  Flows that the
 * kernel's dump did not show, because they were added meanwhile or because it
 * lost its place when a prio came or went, are reported from the table at the
 * end: OVS deletes a flow that it misses four times.
 *
 * A flow is taken to be gone only if two dumps in a row, complete and with no
 * prio coming or going meanwhile, did not have it.  It is then reported as
 * unused for long, so that OVS deletes it.
 *
 * Terse rounds are the revalidators'; full ones, with key, mask and actions,
 * those of "dpctl/dump-flows". */

#include "openvswitch/dynamic-string.h"
#include "ovs-thread.h"
#include "tcnl/dump.h"

struct dpif_flow;
struct dpif_offload;
struct dpif_offload_flow_dump;
struct dpif_offload_flow_dump_thread;

/* How the last rounds went, for tcb-show. */
struct tcb_dump_summary {
    bool terse;
    unsigned int n_ports;       /* Asked. */
    unsigned int n_full_ports;  /* Of them asked in full in a terse round. */
    unsigned int n_incomplete;  /* Interrupted or failed. */
    unsigned int n_kernel;      /* Filters of ours in the kernel's dumps. */
    unsigned int n_foreign;     /* Others. */
    unsigned int n_table;       /* Reported from the table alone. */
    unsigned int n_gone;        /* Flows that are taken to be gone. */
    bool undisturbed;           /* No prio came or went. */
    long long int msec;         /* From create to the last datagram. */
    uint64_t datagrams, bytes;
    char error[TCNL_ERROR_TEXT_MAX + 64];   /* Of the last failed dump. */
};

struct tcb_dump_log {
    struct ovs_mutex mutex;
    uint64_t n_terse OVS_GUARDED;
    uint64_t n_full OVS_GUARDED;
    struct tcb_dump_summary last OVS_GUARDED;   /* Terse. */
};

void tcb_dump_log_init(struct tcb_dump_log *);
void tcb_dump_log_destroy(struct tcb_dump_log *);
void tcb_dump_log_read(const struct tcb_dump_log *, uint64_t *n_terse,
                       uint64_t *n_full, struct tcb_dump_summary *last);

struct dpif_offload_flow_dump *tcb_dump_create(const struct dpif_offload *,
                                               bool terse);
int tcb_dump_destroy(struct dpif_offload_flow_dump *);
struct dpif_offload_flow_dump_thread *
tcb_dump_thread_create(struct dpif_offload_flow_dump *);
void tcb_dump_thread_destroy(struct dpif_offload_flow_dump_thread *);
int tcb_dump_next(struct dpif_offload_flow_dump_thread *, struct dpif_flow *,
                  int max_flows);

#endif /* tcb-dump.h */
