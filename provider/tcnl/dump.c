/* SPDX-License-Identifier: Apache-2.0 */
#include "dump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "datagram.h"

#define REQUEST_SIZE 4096

/* Receives without a datagram after which a dump is given up. */
#define MAX_MISSES 64

/* Datagrams that are dropped at most at the end: 2 GB of filters. */
#define MAX_DROPS 65536

/* Ends the dump with an explanation of our own ('text' may be NULL). */
static void
end_dump(struct tcnl_dump *d, enum tcnl_dump_status status, int error,
         const char *text)
{
    d->status = status;
    d->error = (struct tcnl_error) { .error = error };
    if (text) {
        snprintf(d->error.text, sizeof d->error.text, "%s", text);
    }
}

/* Ends a dump whose NLMSG_DONE has not been seen. */
static void
end_early(struct tcnl_dump *d, int error, const char *text)
{
    end_dump(d, TCNL_DUMP_INTERRUPTED, error, text);
    d->unsettled = true;
}

static int
send_request(struct tcnl_dump *d,
             int (*build)(struct tcnl_buffer *, const void *arg),
             const void *arg)
{
    uint32_t mem[REQUEST_SIZE / sizeof(uint32_t)];
    struct nlmsghdr *nlh = (void *) mem;
    struct tcnl_buffer buffer;
    int error;

    tcnl_buffer_init(&buffer, mem, sizeof mem);
    error = build(&buffer, arg);
    if (error) {
        return error;
    }
    nlh->nlmsg_seq = d->seq;
    return d->transport->ops->send(d->transport, mem, buffer.used);
}

int
tcnl_dump_start(struct tcnl_dump *d, struct tcnl_transport *transport,
                int (*build)(struct tcnl_buffer *, const void *arg),
                const void *arg)
{
    int error;

    memset(d, 0, sizeof *d);
    d->transport = transport;
    d->status = TCNL_DUMP_RUNNING;
    d->seq = tcnl_transport_reserve_seqs(transport, 1);

    /* After EINTR the dump may be running: then it has to be read, and if it
     * is not, nothing is queued, which counts as an interruption. */
    error = send_request(d, build, arg);
    if (error && error != EINTR) {
        end_dump(d, TCNL_DUMP_FAILED, error, NULL);
        return error;
    }
    return 0;
}

static void
take_done(struct tcnl_dump *d, const struct nlmsghdr *nlh)
{
    struct tcnl_error e;

    if (tcnl_done_parse(nlh, &e)) {
        end_dump(d, TCNL_DUMP_INTERRUPTED, EPROTO, "malformed NLMSG_DONE");
    } else if (e.error) {
        d->status = TCNL_DUMP_FAILED;
        d->error = e;
    } else {
        d->status = TCNL_DUMP_COMPLETE;
    }
}

static void
take_error(struct tcnl_dump *d, const struct nlmsghdr *nlh)
{
    struct tcnl_error e;

    if (tcnl_ack_parse(nlh, &e)) {
        d->interrupted = true;
    } else if (e.error) {
        d->status = TCNL_DUMP_FAILED;
        d->error = e;

        /* EBUSY: another dump of this socket is still unread. */
        d->unsettled = true;
    }
}

static void
take_message(struct tcnl_dump *d, const struct nlmsghdr *nlh)
{
    if (nlh->nlmsg_flags & NLM_F_DUMP_INTR
        || nlh->nlmsg_type == NLMSG_OVERRUN) {
        d->interrupted = true;
    }
    if (nlh->nlmsg_type == NLMSG_DONE) {
        take_done(d, nlh);
    } else if (nlh->nlmsg_type == NLMSG_ERROR) {
        take_error(d, nlh);
    }
}

static void
take_datagram(struct tcnl_dump *d, const void *buf, size_t len)
{
    const struct nlmsghdr *nlh;
    size_t ofs = 0;

    d->datagrams++;
    d->bytes += len;
    while ((nlh = tcnl_datagram_next(buf, len, &ofs))) {
        if (nlh->nlmsg_seq == d->seq && d->status == TCNL_DUMP_RUNNING) {
            take_message(d, nlh);
            if (nlh->nlmsg_type >= NLMSG_MIN_TYPE) {
                d->last = (const char *) nlh - (const char *) buf;
            }
        }
    }
    if (ofs < len) {
        d->interrupted = true;
    }
    if (d->status == TCNL_DUMP_COMPLETE && d->interrupted) {
        end_dump(d, TCNL_DUMP_INTERRUPTED, EINTR,
                 "dump interrupted, parts of it were lost");
    }
}

/* Takes note of a receive that brought no datagram. */
static void
take_miss(struct tcnl_dump *d, int error)
{
    if (error == EAGAIN) {
        /* The kernel queues the first datagram inside sendmsg() and the next
         * one inside each recvmsg(), so the end is never still to come. */
        end_early(d, EPROTO, "dump ended without NLMSG_DONE");
    } else if (error == ENOBUFS || error == EMSGSIZE) {
        d->interrupted = true;
    } else if (error != EINTR) {
        end_early(d, error, NULL);
    }
    if (d->status == TCNL_DUMP_RUNNING && ++d->misses > MAX_MISSES) {
        end_early(d, error, "too many failed receives");
    }
}

enum tcnl_dump_status
tcnl_dump_recv(struct tcnl_dump *d, void *buf, size_t size, size_t *len)
{
    *len = 0;
    d->last = SIZE_MAX;
    if (d->status == TCNL_DUMP_RUNNING) {
        int error = d->transport->ops->recv(d->transport, buf, size, len);

        if (error) {
            *len = 0;
            take_miss(d, error);
        } else {
            take_datagram(d, buf, *len);
        }
    }
    return d->status;
}

const struct nlmsghdr *
tcnl_dump_walk(uint32_t seq, const void *buf, size_t len, size_t *ofs)
{
    const struct nlmsghdr *nlh;

    while ((nlh = tcnl_datagram_next(buf, len, ofs))) {
        if (nlh->nlmsg_seq == seq && nlh->nlmsg_type >= NLMSG_MIN_TYPE) {
            return nlh;
        }
    }
    return NULL;
}

const struct nlmsghdr *
tcnl_dump_last(const struct tcnl_dump *d, const void *buf)
{
    return d->last == SIZE_MAX
           ? NULL : (const void *) ((const char *) buf + d->last);
}

/* Reads until nothing is left.  Each receive makes the kernel produce the next
 * datagram of a dump that still runs.  They may be cut short: nobody looks. */
static void
drop_rest(struct tcnl_transport *transport)
{
    uint32_t buf[64];
    int misses = 0;

    for (int i = 0; i < MAX_DROPS && misses < MAX_MISSES; i++) {
        size_t len;
        int error = transport->ops->recv(transport, buf, sizeof buf, &len);

        if (error == EAGAIN) {
            return;
        }
        misses += error && error != EMSGSIZE;
    }
}

enum tcnl_dump_status
tcnl_dump_finish(struct tcnl_dump *d)
{
    if (d->status == TCNL_DUMP_RUNNING) {
        end_early(d, ECANCELED, "dump cut short");
    }
    if (d->unsettled) {
        drop_rest(d->transport);
        d->unsettled = false;
    }
    return d->status;
}

/* Receives the whole of a dump that was started and calls 'cb'. */
static void
read_all(struct tcnl_dump *d, void *buf,
         void (*cb)(void *aux, const struct nlmsghdr *), void *aux)
{
    do {
        const struct nlmsghdr *nlh;
        size_t len, ofs = 0;

        tcnl_dump_recv(d, buf, TCNL_DUMP_BUFSIZE, &len);
        while ((nlh = tcnl_dump_walk(d->seq, buf, len, &ofs))) {
            cb(aux, nlh);
        }
    } while (d->status == TCNL_DUMP_RUNNING);
    tcnl_dump_finish(d);
}

enum tcnl_dump_status
tcnl_dump_all(struct tcnl_transport *transport,
              int (*build)(struct tcnl_buffer *, const void *arg),
              const void *arg,
              void (*cb)(void *aux, const struct nlmsghdr *), void *aux,
              struct tcnl_error *error)
{
    void *buf = malloc(TCNL_DUMP_BUFSIZE);
    struct tcnl_dump d = {
        .status = TCNL_DUMP_FAILED,
        .error = { .error = ENOMEM },
    };

    if (buf && !tcnl_dump_start(&d, transport, build, arg)) {
        read_all(&d, buf, cb, aux);
    }
    free(buf);
    if (error) {
        *error = d.error;
    }
    return d.status;
}
