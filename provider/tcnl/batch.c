/* SPDX-License-Identifier: Apache-2.0 */
#include "batch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "datagram.h"

/* What an ack or an error costs in the receive buffer, at most 960 bytes
 * measured on Linux 6.12.  It is counted for every message, as each may be
 * refused. */
#define ACK_ROOM 1024

/* Longest reply that is taken. */
#define RECV_SIZE 32768

/* Buffer of a single request, and the room that its reply may need. */
#define TRANSACT_SIZE 65536
#define TRANSACT_REPLY_ROOM 32768

/* One datagram on its way: slots 'first' to 'first + n - 1', the last of which
 * is the fence. */
struct flight {
    unsigned int first, n;
    uint32_t base;              /* Sequence number of slot 'first'. */
    int doubt;                  /* Why answers may be missing although the
                                 * fence has come, an errno value; or 0. */
};

int
tcnl_batch_init(struct tcnl_batch *b, struct tcnl_transport *transport,
                unsigned int max_slots, size_t buf_size)
{
    memset(b, 0, sizeof *b);
    b->transport = transport;
    b->max_slots = max_slots;
    b->slots = calloc(max_slots, sizeof *b->slots);
    /* A single request is answered by its data and an ack.  Memory that no
     * reply gets to is not touched. */
    b->n_recv = max_slots > 1 ? TCNL_RECV_MANY : 2;
    b->recv = calloc(b->n_recv, sizeof *b->recv);
    b->recv_mem = malloc((size_t) b->n_recv * RECV_SIZE);
    b->buf_mem = malloc(buf_size);
    if (!b->slots || !b->recv || !b->recv_mem || !b->buf_mem) {
        tcnl_batch_uninit(b);
        return ENOMEM;
    }
    for (unsigned int i = 0; i < b->n_recv; i++) {
        b->recv[i].buf = b->recv_mem + (size_t) i * RECV_SIZE;
        b->recv[i].size = RECV_SIZE;
    }
    tcnl_buffer_init(&b->buffer, b->buf_mem, buf_size);
    return 0;
}

void
tcnl_batch_uninit(struct tcnl_batch *b)
{
    free(b->slots);
    free(b->recv);
    free(b->recv_mem);
    free(b->buf_mem);
    memset(b, 0, sizeof *b);
}

bool
tcnl_batch_has_room(const struct tcnl_batch *b)
{
    return b->n_slots < b->max_slots;
}

unsigned int
tcnl_batch_add(struct tcnl_batch *b, size_t reply_room)
{
    struct tcnl_slot *slot = &b->slots[b->n_slots];
    size_t ofs = b->n_slots ? slot[-1].ofs + slot[-1].len : 0;

    assert(tcnl_batch_has_room(b) && b->buffer.used > ofs);
    *slot = (struct tcnl_slot) {
        .state = TCNL_NOT_SENT,
        .ofs = ofs,
        .len = b->buffer.used - ofs,
        .reply_room = reply_room,
        .expects_reply = reply_room > 0,
    };
    return b->n_slots++;
}

void
tcnl_batch_clear(struct tcnl_batch *b)
{
    tcnl_buffer_reset(&b->buffer);
    b->n_slots = b->n_flushed = 0;
}

/* How many of the slots from 'first' on one datagram may carry. */
static unsigned int
count_fitting(const struct tcnl_batch *b, unsigned int first)
{
    size_t bytes = 0, replies = 0;
    unsigned int i;

    for (i = first; i < b->n_slots; i++) {
        bytes += b->slots[i].len;
        replies += ACK_ROOM + b->slots[i].reply_room;
        if (i > first && (bytes > b->transport->max_send
                          || replies > b->transport->rcvbuf)) {
            break;
        }
    }
    return i - first;
}

static void
prepare(struct tcnl_batch *b, struct flight *f)
{
    f->base = tcnl_transport_reserve_seqs(b->transport, f->n);
    for (unsigned int i = 0; i < f->n; i++) {
        struct tcnl_slot *slot = &b->slots[f->first + i];
        struct nlmsghdr *nlh = (void *) (b->buffer.data + slot->ofs);

        nlh->nlmsg_seq = slot->seq = f->base + i;
        if (b->ack_each || i == f->n - 1) {
            nlh->nlmsg_flags |= NLM_F_ACK;
        }
    }
}

static int
send_flight(struct tcnl_batch *b, const struct flight *f)
{
    const struct tcnl_slot *first = &b->slots[f->first];
    const struct tcnl_slot *fence = first + f->n - 1;
    int error = b->transport->ops->send(b->transport,
                                        b->buffer.data + first->ofs,
                                        fence->ofs + fence->len - first->ofs);

    /* Interrupted: the answers will tell whether it was sent. */
    if (!error || error == EINTR) {
        b->stats.sends++;
        b->stats.messages += f->n;
    }
    return error;
}

/* Takes the ack 'nlh' of 'slot'.  Only the first one counts. */
static void
take_ack(struct tcnl_batch *b, struct flight *f, struct tcnl_slot *slot,
         const struct nlmsghdr *nlh)
{
    struct tcnl_error error;

    if (slot->answered) {
        b->stats.strays++;
    } else if (tcnl_ack_parse(nlh, &error)) {
        b->stats.damaged++;
        f->doubt = ENOBUFS;
    } else {
        slot->answered = true;
        slot->error = error;
        slot->state = error.error ? TCNL_FAILED : TCNL_OK;
    }
}

static void
take_message(struct tcnl_batch *b, struct flight *f,
             const struct nlmsghdr *nlh)
{
    uint32_t i = nlh->nlmsg_seq - f->base;
    struct tcnl_slot *slot = i < f->n ? &b->slots[f->first + i] : NULL;

    if (slot && nlh->nlmsg_type == NLMSG_ERROR) {
        take_ack(b, f, slot, nlh);
    } else if (slot && nlh->nlmsg_type >= NLMSG_MIN_TYPE
               && slot->expects_reply && !slot->got_reply) {
        slot->got_reply = true;
        if (b->reply_cb) {
            b->reply_cb(b->reply_aux, f->first + i, nlh);
        }
    } else {
        b->stats.strays++;
    }
}

static void
take_datagram(struct tcnl_batch *b, struct flight *f, const void *buf,
              size_t len)
{
    const struct nlmsghdr *nlh;
    size_t ofs = 0;

    b->stats.recvs++;
    while ((nlh = tcnl_datagram_next(buf, len, &ofs))) {
        take_message(b, f, nlh);
    }
    if (ofs < len) {
        b->stats.damaged++;
        f->doubt = ENOBUFS;
    }
}

static void
note_loss(struct tcnl_batch *b, struct flight *f, int error)
{
    if (error == EMSGSIZE) {
        b->stats.damaged++;
        error = ENOBUFS;
    } else if (error == ENOBUFS) {
        b->stats.overflows++;
    }
    f->doubt = error;
}

/* Receives up to b->n_recv datagrams; returns how many.  '*drained' says that
 * no more were queued. */
static unsigned int
receive(struct tcnl_batch *b, int *error, bool *drained)
{
    struct tcnl_transport *t = b->transport;
    unsigned int n = b->n_recv;

    *drained = false;
    if (t->ops->recv_many) {
        *error = t->ops->recv_many(t, b->recv, &n);
        *drained = !*error && n < b->n_recv;
        return *error ? 0 : n;
    }
    *error = t->ops->recv(t, b->recv[0].buf, RECV_SIZE, &b->recv[0].len);
    b->recv[0].error = 0;
    return !*error;
}

/* Has all come that can rightly come?  If not, an error may be waiting behind
 * the datagrams, which recvmmsg() leaves for the next call. */
static bool
is_answered(const struct tcnl_batch *b, const struct flight *f)
{
    const struct tcnl_slot *slots = &b->slots[f->first];
    bool answered = slots[f->n - 1].answered;

    for (unsigned int i = 0; i < f->n && answered; i++) {
        answered = slots[i].expects_reply
                   ? slots[i].got_reply || slots[i].error.error
                   : slots[i].answered || !b->ack_each;
    }
    return answered;
}

/* Reads everything that is queued, so that nothing is left for the next
 * flight, not even behind the fence. */
static void
collect(struct tcnl_batch *b, struct flight *f)
{
    /* An echo and an ack for each slot is what can rightly come. */
    size_t max_reads = (size_t) f->n * 3 + 16;

    while (max_reads--) {
        int error;
        bool drained;
        unsigned int n = receive(b, &error, &drained);

        for (unsigned int i = 0; i < n; i++) {
            const struct tcnl_datagram *d = &b->recv[i];

            if (!d->error) {
                take_datagram(b, f, d->buf, d->len);
            } else if (d->error != EINTR) {
                note_loss(b, f, d->error);
            }
        }
        if (error == EAGAIN
            || (drained && !f->doubt && is_answered(b, f))) {
            return;
        } else if (error && error != EINTR) {
            note_loss(b, f, error);
        }
    }
    f->doubt = ENOBUFS;
}

/* Gives each slot its final state.  Returns 0, or 'reason' if there are slots
 * about which nothing is known. */
static int
settle(struct tcnl_batch *b, const struct flight *f, int reason)
{
    struct tcnl_slot *slots = &b->slots[f->first];
    bool silence_is_ok = slots[f->n - 1].answered && !f->doubt;
    int result = 0;

    for (unsigned int i = 0; i < f->n; i++) {
        struct tcnl_slot *slot = &slots[i];

        if (slot->answered) {
            b->stats.refused += slot->state == TCNL_FAILED;
        } else if (silence_is_ok || slot->got_reply) {
            slot->state = TCNL_OK;
        } else {
            slot->state = TCNL_UNKNOWN;
            slot->error.error = result = reason;
            b->stats.unknown++;
        }
    }
    return result;
}

static void
mark_not_sent(struct tcnl_batch *b, unsigned int first, int error)
{
    for (unsigned int i = first; i < b->n_slots; i++) {
        b->slots[i].error.error = error;
    }
}

/* Sends the slots from 'b->n_flushed' on that fit one datagram, or marks all
 * of them NOT_SENT. */
static int
flush_some(struct tcnl_batch *b)
{
    struct flight f = { .first = b->n_flushed };
    int error;

    f.n = count_fitting(b, f.first);
    prepare(b, &f);
    error = send_flight(b, &f);
    if (error && error != EINTR) {
        mark_not_sent(b, f.first, error);
        b->n_flushed = b->n_slots;
        return error;
    }
    b->n_flushed += f.n;
    collect(b, &f);
    return settle(b, &f, f.doubt ? f.doubt : error ? error : EPROTO);
}

int
tcnl_batch_flush(struct tcnl_batch *b)
{
    int result = 0;

    b->stats.flushes += b->n_flushed < b->n_slots;
    while (b->n_flushed < b->n_slots) {
        int error = flush_some(b);

        result = result ? result : error;
    }
    return result;
}

/* Builds and sends the only request of 'b'. */
static int
transact(struct tcnl_batch *b,
         int (*build)(struct tcnl_buffer *, const void *arg), const void *arg,
         struct tcnl_error *e)
{
    const struct tcnl_slot *slot;
    int error = build(&b->buffer, arg);

    if (error) {
        e->error = error;
        return error;
    }
    slot = &b->slots[tcnl_batch_add(b, b->reply_cb ? TRANSACT_REPLY_ROOM : 0)];
    tcnl_batch_flush(b);
    *e = slot->error;

    /* An ack proves only that the request was executed: its data reply is
     * lost all the same. */
    if (!e->error && slot->expects_reply && !slot->got_reply
        && (b->stats.damaged || b->stats.overflows)) {
        e->error = ENOBUFS;
    }
    return e->error;
}

int
tcnl_transact(struct tcnl_transport *transport,
              int (*build)(struct tcnl_buffer *, const void *arg),
              const void *arg, tcnl_reply_cb *reply_cb, void *reply_aux,
              struct tcnl_error *error)
{
    struct tcnl_error e = { .error = ENOMEM };
    struct tcnl_batch b;

    if (!tcnl_batch_init(&b, transport, 1, TRANSACT_SIZE)) {
        memset(&e, 0, sizeof e);
        b.reply_cb = reply_cb;
        b.reply_aux = reply_aux;
        transact(&b, build, arg, &e);
        tcnl_batch_uninit(&b);
    }
    if (error) {
        *error = e;
    }
    return e.error;
}
