/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_BATCH_H
#define TCNL_BATCH_H 1

/* Many requests in one sendmsg, each with its own exact result.
 *
 * Requests are collected in order, one slot each, and sent as one datagram
 * (several, if they do not fit the transport's limits).  The kernel handles
 * the messages in order, always reports errors, and has answered everything
 * when sendmsg() returns.  So only the last message of a datagram asks for an
 * ack: the fence.  A slot without an answer before the fence's has succeeded,
 * unless replies were lost.
 *
 * What can be lost: when the receive buffer overflows the kernel drops
 * replies, but it *did* execute the requests.  The slots without an answer
 * are then UNKNOWN; the caller reads the state back (RTM_GETTFILTER per
 * handle) and never blindly sends again.  The same holds for a missing fence
 * and for damaged replies.
 *
 * Not thread-safe: one batch and one transport belong to one thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ack.h"
#include "buffer.h"
#include "transport.h"

enum tcnl_slot_state {
    TCNL_NOT_SENT,              /* The kernel never saw it; 'error' says why,
                                 * or is 0 if it was not flushed yet. */
    TCNL_OK,                    /* Executed. */
    TCNL_FAILED,                /* Refused; 'error' has errno, text, offset. */
    TCNL_UNKNOWN,               /* Sent, perhaps executed; its answer was
                                 * lost.  'error' says how: ENOBUFS, EPROTO
                                 * (see tcnl_batch_flush()). */
};

struct tcnl_slot {
    enum tcnl_slot_state state;
    struct tcnl_error error;
    uint32_t seq;               /* Internal. */
    size_t ofs, len;            /* Of the message in the batch's buffer. */
    size_t reply_room;          /* Internal. */
    bool expects_reply;         /* Asked for data (echo or get). */
    bool got_reply;             /* A data reply has come, which proves that
                                 * the request was executed.  An OK without
                                 * it is possible: the kernel does not fail an
                                 * add whose echo it could not build. */
    bool answered;              /* Internal: an ack has come. */
};

/* Called for the data reply (an echo or the answer to a get) of each slot
 * that expects one, at most once per slot, in the order of arrival, from
 * within tcnl_batch_flush().  'slot' is the index of its request; 'nlh' is
 * valid only during the call, and not trusted beyond its length.  It may read
 * the batch but not change it. */
typedef void tcnl_reply_cb(void *aux, unsigned int slot,
                           const struct nlmsghdr *nlh);

struct tcnl_batch_stats {
    uint64_t flushes;           /* Calls of tcnl_batch_flush() with work. */
    uint64_t sends;             /* Datagrams sent. */
    uint64_t messages;          /* Messages in them. */
    uint64_t recvs;             /* Datagrams received. */
    uint64_t refused;           /* Slots that ended FAILED. */
    uint64_t unknown;           /* Slots that ended UNKNOWN. */
    uint64_t overflows;         /* ENOBUFS seen. */
    uint64_t strays;            /* Replies that belong to no slot, duplicates
                                 * among them. */
    uint64_t damaged;           /* Datagrams cut short or malformed. */
};

struct tcnl_batch {
    struct tcnl_transport *transport;
    struct tcnl_buffer buffer;
    struct tcnl_slot *slots;
    unsigned int n_slots, max_slots;
    unsigned int n_flushed;     /* Internal. */
    bool ack_each;              /* NLM_F_ACK on every message: the oracle of
                                 * the fence, and a switch for debugging. */
    tcnl_reply_cb *reply_cb;    /* May be NULL. */
    void *reply_aux;
    struct tcnl_batch_stats stats;  /* Running totals. */
    struct tcnl_datagram *recv; /* Internal, like what follows. */
    unsigned int n_recv;
    uint8_t *recv_mem;
    void *buf_mem;
};

/* Initializes 'batch' for up to 'max_slots' requests of together 'buf_size'
 * bytes.  'transport' stays the caller's.  Returns 0 or ENOMEM. */
int tcnl_batch_init(struct tcnl_batch *, struct tcnl_transport *,
                    unsigned int max_slots, size_t buf_size);
void tcnl_batch_uninit(struct tcnl_batch *);

/* Adding a request: check tcnl_batch_has_room(), build exactly one message in
 * 'batch->buffer' with tcnl_msg_begin() .. tcnl_msg_end(), and call
 * tcnl_batch_add().  If tcnl_msg_end() says EMSGSIZE and the batch is not
 * empty, flush and build again.
 *
 * tcnl_batch_add() makes the message that was ended last a slot and returns
 * its index, counted from 0 since the last tcnl_batch_clear().  'reply_room'
 * is how many bytes of data reply it may cause in the receive buffer, 0 if
 * none (no NLM_F_ECHO, not a get). */
bool tcnl_batch_has_room(const struct tcnl_batch *);
unsigned int tcnl_batch_add(struct tcnl_batch *, size_t reply_room);

/* Sends the slots added since the last flush and settles each of them as far
 * as the answers allow.  Returns 0 if none of them is UNKNOWN or NOT_SENT
 * (some may be FAILED), otherwise a positive errno value, the first one met:
 * ENOBUFS when replies were lost or damaged, EPROTO when the fence never came
 * back, or what sending or receiving said.
 *
 * When a datagram cannot be sent, its slots and all later ones are NOT_SENT.
 * A datagram whose answers were lost does not stop the later ones.
 *
 * A datagram never carries more requests than the transport's max_send and
 * receive budget allow (an error is counted for each message), so overflow
 * should not happen; it is handled all the same. */
int tcnl_batch_flush(struct tcnl_batch *);

/* Forgets all slots.  Results are readable until then. */
void tcnl_batch_clear(struct tcnl_batch *);

/* One request and its result: for slow paths.  'build' is called once to put
 * exactly one message; its errors are returned.  Returns 0, the kernel's
 * errno, ENOBUFS or EPROTO for an unknown result, ENOBUFS also if only the
 * data reply is known to be lost; 'error' (may be NULL) receives details. */
int tcnl_transact(struct tcnl_transport *,
                  int (*build)(struct tcnl_buffer *, const void *arg),
                  const void *arg, tcnl_reply_cb *, void *reply_aux,
                  struct tcnl_error *error);

#endif /* tcnl/batch.h */
