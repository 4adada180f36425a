/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_POLICE_H
#define TCB_POLICE_H 1

/* Police actions of ours in the kernel: made, changed and deleted many at a
 * time, and the counters of all of them from one dump.
 *
 * A struct tcb_police_io belongs to one thread at a time, its user's mutex
 * sees to that (tcb-meter.c).  The indexes are for all threads. */

#include "openvswitch/list.h"
#include "tcnl/batch.h"
#include "tcnl/police.h"

/* Indexes of ours; OVS's own tc provider has 0x1....... */
#define TCB_POLICE_BASE 0x20000000u
#define TCB_POLICE_MAX  0x2fffffffu

/* Indexes are of the network namespace, so the pool is the process's.  An
 * index comes back only after its police is known to be deleted.  A reserved
 * one, which nobody may have, is not given out. */
bool tcb_police_index_alloc(uint32_t *index);
void tcb_police_index_free(uint32_t index);
void tcb_police_index_reserve(uint32_t index);

enum tcb_police_op {
    TCB_POLICE_NEW,             /* EEXIST if it is there. */
    TCB_POLICE_REPLACE,         /* In place, counters kept. */
    TCB_POLICE_DELETE,          /* EPERM while it is bound; success if it is
                                 * not there. */
};

/* A change that is to be made. */
struct tcb_police_change {
    struct ovs_list node;
    enum tcb_police_op op;
    struct tcnl_police police;  /* Of a delete, its index. */
};

struct tcb_police_io {
    struct tcnl_transport *transport;   /* NULL until it is needed. */
    struct tcnl_batch batch;
};

void tcb_police_io_close(struct tcb_police_io *);

/* Takes each change out of the list 'changes', makes it, and calls 'done' with
 * its result: a positive errno in 'error->error', or 0.  'done' may free the
 * change, or put it into a list again, this one too. */
void tcb_police_apply(struct tcb_police_io *, struct ovs_list *changes,
                      void (*done)(void *aux, struct tcb_police_change *,
                                   const struct tcnl_error *error),
                      void *aux);

/* The counters of one, and the indexes and counters of all in the network
 * namespace, foreign ones too.  Return 0 or a positive errno; a dump that
 * fails may have called 'cb' for some. */
int tcb_police_get(struct tcb_police_io *, uint32_t index,
                   struct tcnl_stats *);
int tcb_police_dump(struct tcb_police_io *,
                    void (*cb)(void *aux, const struct tcnl_police_info *),
                    void *aux);

#endif /* tcb-police.h */
