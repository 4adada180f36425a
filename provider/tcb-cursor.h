/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_CURSOR_H
#define TCB_CURSOR_H 1

/* One port's part of a dump.
 *
 * Any number of threads take datagrams from a cursor, one at a time under its
 * mutex, and parse them outside.  A dump that the kernel interrupts goes on
 * after the last message that arrived, or begins again where the kernel
 * cannot do that; one that it refuses is asked for in a lesser mode. */

#include "openvswitch/types.h"
#include "ovs-thread.h"
#include "tcb-round.h"
#include "tcnl/dump.h"
#include "tcnl/filter.h"

struct tcb_port;
struct tcb_worker;

struct tcb_cursor {
    struct tcb_offload *offload;
    odp_port_t port_no;         /* The port itself may go meanwhile. */
    struct tcnl_filter_id hook;
    long long int since;        /* Msec, for mode delta: when the kernel was
                                 * asked before. */

    struct ovs_mutex mutex;     /* Guards what follows. */
    enum tcb_cursor_state {
        TCB_CURSOR_WAITING,     /* Not begun. */
        TCB_CURSOR_RUNNING,
        TCB_CURSOR_ENDED,
    } state;
    enum tcb_dump_mode mode;
    long long int asked;        /* Msec, before the first request. */
    bool complete;              /* Ended with all that was asked for. */
    unsigned int n_again;       /* Begun again after an interruption. */
    unsigned int n_full;        /* Begun again in full. */
    struct tcb_worker *worker;  /* Lends its socket while RUNNING. */
    struct tcnl_dump dump;
    uint64_t epoch;             /* Of the datagram to be received next. */
    bool has_last;
    struct tcnl_filter_id last; /* Of the last message received. */
    uint64_t datagrams, bytes;
    char error[TCNL_ERROR_TEXT_MAX + 64];   /* Why it is not complete. */
};

/* What a thread has received and is reading. */
struct tcb_datagram {
    odp_port_t port_no;
    uint64_t epoch;             /* The kernel's answer is not older. */
    uint32_t seq;
    size_t len, ofs;            /* Received, and walked of it. */
    uint32_t buf[TCNL_DUMP_BUFSIZE / sizeof(uint32_t)];
};

/* 'mode' is that of the dump; what is known of the port can make it a lesser
 * one. */
void tcb_cursor_init(struct tcb_cursor *, struct tcb_offload *,
                     struct tcb_port *, enum tcb_dump_mode mode);
void tcb_cursor_destroy(struct tcb_cursor *);

/* Takes the next datagram with messages, beginning if nobody has.  Returns
 * false if there are no more. */
bool tcb_cursor_fetch(struct tcb_cursor *, struct tcb_datagram *);

/* Ends the dump, if it has not: then it is not complete. */
void tcb_cursor_end(struct tcb_cursor *);

#endif /* tcb-cursor.h */
