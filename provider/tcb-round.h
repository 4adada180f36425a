/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_ROUND_H
#define TCB_ROUND_H 1

/* What rounds of dumps know of each other: how the next one asks the kernel,
 * and how the last one went.
 *
 * A round is a revalidators' dump of all ports.  In mode delta the kernel is
 * asked only for filters that were used since it was asked before, and the
 * others are reported from the table.  Such a round cannot tell that a filter
 * is gone, so every now and then one is whole: it asks for all filters, in
 * terse form. */

#include "ovs-atomic.h"
#include "ovs-thread.h"
#include "tcnl/ack.h"

struct tcb_offload;

/* Each falls back to the one before it where the kernel cannot do it. */
enum tcb_dump_mode {
    TCB_DUMP_FULL,              /* Keys, actions and counters. */
    TCB_DUMP_TERSE,             /* Counters. */
    TCB_DUMP_DELTA,             /* Counters of what was used of late. */
};

/* Msec after which a round is whole again.  What is gone is missing from two
 * whole rounds, and the second follows at once. */
#define TCB_WHOLE_MSEC 4000

struct tcb_dump_summary {
    bool terse;                 /* A round; otherwise for dump-flows. */
    enum tcb_dump_mode mode;
    unsigned int n_ports;       /* Asked. */
    unsigned int n_full_ports;  /* Of them asked in full in a round. */
    unsigned int n_again;       /* Interrupted, and asked again. */
    unsigned int n_incomplete;  /* Interrupted or failed for good. */
    unsigned int n_kernel;      /* Filters of ours in the kernel's dumps. */
    unsigned int n_foreign;     /* Others, in the last whole round. */
    unsigned int n_table;       /* Reported from the table alone. */
    unsigned int n_missed;      /* Flows that a whole round did not show. */
    unsigned int n_gone;        /* Flows that are taken to be gone. */
    bool undisturbed;           /* No prio came or went. */
    long long int msec;         /* From create to the last datagram. */
    uint64_t datagrams, bytes;
    char error[TCNL_ERROR_TEXT_MAX + 64];   /* Of the last failed dump. */
};

/* Thread-safe. */
struct tcb_rounds {
    /* The best mode that configuration allows. */
    ATOMIC(enum tcb_dump_mode) allowed;
    atomic_bool delta_refused;  /* By the kernel, whatever probing said. */

    struct ovs_mutex mutex;
    uint64_t n_rounds OVS_GUARDED, n_delta OVS_GUARDED, n_full OVS_GUARDED;
    long long int last_whole OVS_GUARDED;   /* Msec, began; 0: never. */
    bool doubt OVS_GUARDED;     /* The last whole one missed something, or did
                                 * not prove anything. */
    struct tcb_dump_summary last OVS_GUARDED;
};

void tcb_rounds_init(struct tcb_rounds *);
void tcb_rounds_destroy(struct tcb_rounds *);

/* The mode in use, by configuration and by what the kernel has. */
enum tcb_dump_mode tcb_rounds_mode(const struct tcb_offload *);

/* Says once, in the log, which mode is in use and why not a better one. */
void tcb_rounds_log_mode(const struct tcb_offload *);

/* The kernel refused a delta dump: from now on terse ones. */
void tcb_rounds_refuse_delta(struct tcb_offload *, const char *why);

/* Begins a round: returns its mode. */
enum tcb_dump_mode tcb_rounds_begin(struct tcb_offload *, long long int now);

/* Ends a dump: a round, or one for dump-flows.  'proof' if what it did not
 * show is not there. */
void tcb_rounds_end(struct tcb_rounds *, const struct tcb_dump_summary *,
                    bool proof);

struct tcb_round_counts {
    uint64_t n_rounds;          /* Of revalidators. */
    uint64_t n_delta;           /* Of them in mode delta. */
    uint64_t n_full;            /* Dumps for dump-flows. */
};

void tcb_rounds_read(const struct tcb_rounds *, struct tcb_round_counts *,
                     struct tcb_dump_summary *last);

const char *tcb_dump_mode_name(enum tcb_dump_mode);
/* Returns false if there is no such mode. */
bool tcb_dump_mode_from_name(const char *name, enum tcb_dump_mode *);

#endif /* tcb-round.h */
