/* SPDX-License-Identifier: Apache-2.0 */
#include "fake/fake-kernel.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <libmnl/libmnl.h>

#define DATAGRAM_SIZE 4096
#define FOREIGN_SEQ 0xfeedf00d

static struct fake_kernel *
fake_cast(struct tcnl_transport *t)
{
    return (struct fake_kernel *) t;
}

/* ## The queue. */

static void
queue_put(struct fake_queue *q, const void *data, size_t len, int error)
{
    struct fake_entry *entry = &q->entries[q->tail++];

    assert(q->tail < FAKE_MAX);
    *entry = (struct fake_entry) { .len = len, .error = error };
    if (len) {
        entry->data = malloc(len);
        assert(entry->data);
        memcpy(entry->data, data, len);
    }
}

static void
queue_clear(struct fake_queue *q)
{
    while (q->head < q->tail) {
        free(q->entries[q->head++].data);
    }
    q->head = q->tail = 0;
}

static void
queue_reverse(struct fake_queue *q)
{
    for (unsigned int i = q->head, j = q->tail; i + 1 < j; i++) {
        struct fake_entry swap = q->entries[--j];

        q->entries[j] = q->entries[i];
        q->entries[i] = swap;
    }
}

/* Sends a reply through the receive buffer of the socket, which may be
 * full. */
static void
deliver(struct fake_kernel *k, struct nlmsghdr *nlh)
{
    unsigned int n = k->n_replies++;
    bool full = k->charge && k->rmem >= k->transport.rcvbuf;

    if (k->congested || full || n == k->overflow_at) {
        if (!k->congested) {
            k->sk_err = ENOBUFS;
        }
        k->congested = true;
        return;
    }
    if (n == k->truncate_at) {
        queue_put(&k->queue, NULL, 0, EMSGSIZE);
        return;
    }
    if (k->foreign) {
        struct nlmsghdr other = {
            .nlmsg_len = sizeof other,
            .nlmsg_type = FAKE_MSG_TYPE,
            .nlmsg_seq = FOREIGN_SEQ,
        };

        queue_put(&k->queue, &other, sizeof other, 0);
    }
    queue_put(&k->queue, nlh, nlh->nlmsg_len, 0);
    if (n == k->damage_at) {
        nlh = (void *) k->queue.entries[k->queue.tail - 1].data;
        nlh->nlmsg_len += 4;
    }
    k->rmem += k->charge;
}

/* ## Answers. */

static void
put_tlvs(struct nlmsghdr *nlh, const char *text, uint32_t offset)
{
    if (text || offset) {
        nlh->nlmsg_flags |= NLM_F_ACK_TLVS;
    }
    if (text) {
        mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, text);
    }
    if (offset) {
        mnl_attr_put_u32(nlh, NLMSGERR_ATTR_OFFS, offset);
    }
}

static void
put_ack(struct nlmsghdr *nlh, const struct nlmsghdr *request,
        const struct fake_verdict *v)
{
    bool whole = v->error && v->uncapped;
    size_t len = whole ? request->nlmsg_len : sizeof *request;
    struct nlmsgerr *err;

    err = mnl_nlmsg_put_extra_header(nlh, offsetof(struct nlmsgerr, msg)
                                          + len);
    err->error = -v->error;
    memcpy(&err->msg, request, len);
    nlh->nlmsg_flags = whole ? 0 : NLM_F_CAPPED;
    put_tlvs(nlh, v->text, v->offset);
}

static struct nlmsghdr *
new_message(void *buf, uint16_t type, uint32_t seq)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);

    nlh->nlmsg_type = type;
    nlh->nlmsg_seq = seq;
    return nlh;
}

static void
answer(struct fake_kernel *k, const struct nlmsghdr *request,
       const struct fake_verdict *v)
{
    uint32_t buf[DATAGRAM_SIZE / 4];
    struct nlmsghdr *nlh;

    if (v->reply && !v->lose_reply) {
        nlh = new_message(buf, FAKE_MSG_TYPE, request->nlmsg_seq);
        memcpy(mnl_nlmsg_put_extra_header(nlh, sizeof v->reply), &v->reply,
               sizeof v->reply);
        deliver(k, nlh);
    }
    if (v->message && !v->lose_reply) {
        assert(v->message->nlmsg_len <= sizeof buf);
        nlh = memcpy(buf, v->message, v->message->nlmsg_len);
        nlh->nlmsg_seq = request->nlmsg_seq;
        deliver(k, nlh);
    }
    if ((v->error || request->nlmsg_flags & NLM_F_ACK) && !v->lose_ack) {
        nlh = new_message(buf, NLMSG_ERROR, request->nlmsg_seq);
        put_ack(nlh, request, v);
        deliver(k, nlh);
    }
}

/* ## Dumps. */

static uint32_t
dump_seq(struct fake_kernel *k)
{
    return k->requests[k->n_requests - 1].seq;
}

/* Moves the script into the queue; messages with 0 take the dump's seq. */
static void
begin_dump(struct fake_kernel *k)
{
    struct fake_queue *script = &k->dump;

    while (script->head < script->tail) {
        struct fake_entry *entry = &script->entries[script->head++];
        size_t ofs = 0;

        while (ofs + sizeof(struct nlmsghdr) <= entry->len) {
            struct nlmsghdr *nlh = (void *) (entry->data + ofs);

            if (!nlh->nlmsg_seq) {
                nlh->nlmsg_seq = dump_seq(k);
            }
            if (nlh->nlmsg_len < sizeof *nlh) {
                break;
            }
            ofs += MNL_ALIGN((size_t) nlh->nlmsg_len);
        }
        k->queue.entries[k->queue.tail++] = *entry;
    }
    script->head = script->tail = 0;
}

void
fake_dump_data(struct fake_kernel *k, uint32_t first, unsigned int n,
               uint16_t flags)
{
    uint32_t buf[DATAGRAM_SIZE / 4];
    size_t len = 0;

    for (uint32_t value = first; value < first + n; value++) {
        struct nlmsghdr *nlh = new_message((uint8_t *) buf + len,
                                           FAKE_MSG_TYPE, 0);

        nlh->nlmsg_flags = NLM_F_MULTI | flags;
        memcpy(mnl_nlmsg_put_extra_header(nlh, sizeof value), &value,
               sizeof value);
        len += nlh->nlmsg_len;
        assert(len + 64 < sizeof buf);
    }
    queue_put(&k->dump, buf, len, 0);
}

void
fake_dump_datagram(struct fake_kernel *k, const void *data, size_t len)
{
    queue_put(&k->dump, data, len, 0);
}

void
fake_dump_done(struct fake_kernel *k, int error, const char *text,
               uint16_t flags)
{
    uint32_t buf[DATAGRAM_SIZE / 4];
    struct nlmsghdr *nlh = new_message(buf, NLMSG_DONE, 0);
    int *code = mnl_nlmsg_put_extra_header(nlh, sizeof *code);

    *code = -error;
    nlh->nlmsg_flags = NLM_F_MULTI | flags;
    put_tlvs(nlh, text, 0);
    queue_put(&k->dump, buf, nlh->nlmsg_len, 0);
}

void
fake_dump_refused(struct fake_kernel *k, int error, const char *text)
{
    uint32_t buf[DATAGRAM_SIZE / 4];
    struct nlmsghdr *nlh = new_message(buf, NLMSG_ERROR, 0);
    struct nlmsghdr request = { .nlmsg_len = sizeof request };
    struct fake_verdict v = { .error = error, .text = text };

    put_ack(nlh, &request, &v);
    queue_put(&k->dump, buf, nlh->nlmsg_len, 0);
}

void
fake_dump_error(struct fake_kernel *k, int error)
{
    struct nlmsghdr other = {
        .nlmsg_len = sizeof other,
        .nlmsg_type = FAKE_MSG_TYPE,
        .nlmsg_flags = NLM_F_DUMP_INTR,
        .nlmsg_seq = FOREIGN_SEQ,
    };

    queue_put(&k->dump, &other, error ? 0 : sizeof other, error);
}

struct fake_entry *
fake_dump_last(struct fake_kernel *k)
{
    return &k->dump.entries[k->dump.tail - 1];
}

/* ## The transport. */

static void
execute(struct fake_kernel *k, const struct nlmsghdr *nlh)
{
    struct fake_verdict *v = &k->verdicts[k->n_requests];

    assert(k->n_requests < FAKE_MAX);
    k->requests[k->n_requests++] = (struct fake_request) {
        .seq = nlh->nlmsg_seq,
        .type = nlh->nlmsg_type,
        .flags = nlh->nlmsg_flags,
        .send = k->n_sends,
    };
    if (k->model) {
        k->model(k, nlh, v);
    }
    if ((nlh->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP) {
        begin_dump(k);
        return;
    }
    answer(k, nlh, v);
    if (v->twice) {
        answer(k, nlh, v);
    }
}

static int
fake_send(struct tcnl_transport *t, const void *data, size_t len)
{
    struct fake_kernel *k = fake_cast(t);
    bool failing = k->n_sends == k->send_error_at;
    size_t ofs = 0;

    if (len > t->max_send) {
        return EMSGSIZE;
    }
    while ((!failing || k->send_anyway)
           && len - ofs >= sizeof(struct nlmsghdr)) {
        const struct nlmsghdr *nlh
            = (const void *) ((const uint8_t *) data + ofs);

        if (nlh->nlmsg_len < sizeof *nlh || nlh->nlmsg_len > len - ofs) {
            break;              /* Silently, as the kernel. */
        }
        execute(k, nlh);
        ofs += MNL_ALIGN(nlh->nlmsg_len);
    }
    if (k->reorder) {
        queue_reverse(&k->queue);
    }
    k->max_sent = len > k->max_sent ? len : k->max_sent;
    k->n_sends++;
    return failing ? k->send_error : 0;
}

static int
fake_recv(struct tcnl_transport *t, void *buf, size_t size, size_t *len)
{
    struct fake_kernel *k = fake_cast(t);
    struct fake_queue *q = &k->queue;
    struct fake_entry entry;
    int error = k->sk_err;

    k->n_recvs++;
    k->sk_err = 0;
    if (error) {
        return error;
    }
    if (q->head == q->tail) {
        q->head = q->tail = 0;
        k->rmem = 0;
        k->congested = false;
        return EAGAIN;
    }
    entry = q->entries[q->head++];
    if (entry.len) {
        *len = entry.len < size ? entry.len : size;
        memcpy(buf, entry.data, *len);
        free(entry.data);
    }
    return entry.len > size ? EMSGSIZE : entry.error;
}

/* The tests look at the kernel after they have closed the transport. */
static void
fake_close(struct tcnl_transport *t)
{
    queue_clear(&fake_cast(t)->queue);
    queue_clear(&fake_cast(t)->dump);
}

static const struct tcnl_transport_ops fake_ops = {
    .send = fake_send,
    .recv = fake_recv,
    .close = fake_close,
};

void
fake_kernel_init(struct fake_kernel *k)
{
    memset(k, 0, sizeof *k);
    k->transport.ops = &fake_ops;
    k->transport.max_send = 1u << 20;
    k->transport.rcvbuf = 4u << 20;
    k->transport.next_seq = 1;
    k->overflow_at = FAKE_NEVER;
    k->truncate_at = FAKE_NEVER;
    k->damage_at = FAKE_NEVER;
    k->send_error_at = FAKE_NEVER;
}

void
fake_kernel_uninit(struct fake_kernel *k)
{
    tcnl_transport_close(&k->transport);
}

void
fake_queue_error(struct fake_kernel *k, int error)
{
    queue_put(&k->queue, NULL, 0, error);
}

void
fake_queue_datagram(struct fake_kernel *k, const void *data, size_t len)
{
    queue_put(&k->queue, data, len, 0);
}
