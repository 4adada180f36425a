/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_DUMP_H
#define TCNL_DUMP_H 1

/* A dump cursor with an honest end.
 *
 * The kernel produces a dump one datagram at a time, inside recvmsg(), with
 * RTNL held.  tcnl_dump_recv() takes one datagram into the caller's buffer
 * and looks only at message headers; the caller then walks the messages of
 * its own buffer with tcnl_dump_walk().  So several threads can share one
 * cursor: each locks around tcnl_dump_recv() and parses outside the lock,
 * with a buffer of its own.
 *
 * The end is one of:
 *   COMPLETE      everything was received.  (Note that TC never sets
 *                 NLM_F_DUMP_INTR and loses its place when a prio goes away
 *                 during the dump; tcf_chain_dump() in net/sched/cls_api.c.
 *                 The caller has to know whether prios came or went.)
 *   INTERRUPTED   the kernel said NLM_F_DUMP_INTR, or replies were lost; what
 *                 was received is right but not all.
 *   FAILED        the kernel refused; 'error' has its words.
 * Only after COMPLETE may a caller conclude that something is gone. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ack.h"
#include "buffer.h"
#include "transport.h"

enum tcnl_dump_status {
    TCNL_DUMP_RUNNING,
    TCNL_DUMP_COMPLETE,
    TCNL_DUMP_INTERRUPTED,
    TCNL_DUMP_FAILED,
};

/* What TC fills in one datagram at most (32 KB less the skb overhead): larger
 * receive buffers gain nothing, smaller ones make smaller datagrams. */
#define TCNL_DUMP_BUFSIZE 32768

struct tcnl_dump {
    struct tcnl_transport *transport;
    uint32_t seq;
    enum tcnl_dump_status status;
    bool interrupted;           /* Data was lost; the end is still to come. */
    bool unsettled;             /* Internal: ended without NLMSG_DONE, so the
                                 * kernel may have more for the socket. */
    unsigned int misses;        /* Internal: receives without a datagram. */
    struct tcnl_error error;    /* Why FAILED or INTERRUPTED. */
    uint64_t datagrams, bytes;
    size_t last;                /* Internal: where the last message of the
                                 * last datagram is; SIZE_MAX: none. */
};

/* Starts a dump: 'build' puts exactly one request with NLM_F_DUMP.  The
 * transport must be used for nothing else until the dump has ended.  Returns
 * 0 or a positive errno value, with the status FAILED. */
int tcnl_dump_start(struct tcnl_dump *, struct tcnl_transport *,
                    int (*build)(struct tcnl_buffer *, const void *arg),
                    const void *arg);

/* Receives one datagram into 'buf' (aligned to 4 bytes; 'size' should be
 * TCNL_DUMP_BUFSIZE) and stores its length in '*len'.  Returns the status;
 * with any status 'len' may be nonzero, and what was received is then walked
 * as usual, or 0.  Called until the status is not RUNNING, it ends. */
enum tcnl_dump_status tcnl_dump_recv(struct tcnl_dump *, void *buf,
                                     size_t size, size_t *len);

/* Walks the messages of one received datagram that carry data of this dump:
 * returns the next one, or NULL.  '*ofs' starts at 0 and is the walk's state.
 * Returned messages are wholly inside the buffer.  'seq' is the dump's. */
const struct nlmsghdr *tcnl_dump_walk(uint32_t seq, const void *buf,
                                      size_t len, size_t *ofs);

/* The last message with data in the datagram that tcnl_dump_recv() has just
 * received into 'buf', or NULL: what comes after it is still to come. */
const struct nlmsghdr *tcnl_dump_last(const struct tcnl_dump *,
                                      const void *buf);

/* Ends the dump, always needed after a successful start: if it is still
 * running, or ended out of turn, reads and drops the rest, so that the
 * transport can be used again.  Returns the final status (a dump that was cut
 * short is INTERRUPTED). */
enum tcnl_dump_status tcnl_dump_finish(struct tcnl_dump *);

/* A whole dump in one call for slow paths: 'cb' sees each data message. */
enum tcnl_dump_status
tcnl_dump_all(struct tcnl_transport *,
              int (*build)(struct tcnl_buffer *, const void *arg),
              const void *arg,
              void (*cb)(void *aux, const struct nlmsghdr *), void *aux,
              struct tcnl_error *error);

#endif /* tcnl/dump.h */
