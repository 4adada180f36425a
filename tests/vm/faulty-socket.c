/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "faulty-socket.h"

#include <errno.h>

#include "ovs-atomic.h"
#include "random.h"
#include "tcnl/socket.h"
#include "tcnl/transport.h"
#include "util.h"

/* Replaced functions.  The build makes a linker option of each line. */
#define WRAP(NAME) __wrap_##NAME
#define REAL(NAME) __real_##NAME

int WRAP(tcnl_socket_open)(size_t rcvbuf, size_t sndbuf,
                           struct tcnl_transport **);
int REAL(tcnl_socket_open)(size_t rcvbuf, size_t sndbuf,
                           struct tcnl_transport **);

/* Two acks fit, or an echo. */
#define SMALL_RCVBUF 4608

struct faulty_socket {
    struct tcnl_transport transport;    /* First, the two are cast. */
    struct tcnl_transport *whole;
    struct tcnl_transport *small;
    struct tcnl_transport *last;        /* That was sent by. */
    bool often_small;
    int pending;                /* Said by the next recv, or 0. */
};

static atomic_uint32_t faults = FAULTS_NONE;
static atomic_count n_sockets = ATOMIC_COUNT_INIT(0);
static atomic_uint64_t n_overflows, n_lost, n_interrupted, n_not_sent;

static void
count(atomic_uint64_t *n)
{
    uint64_t old;

    atomic_add_relaxed(n, 1, &old);
}

static enum faults
faults_now(void)
{
    uint32_t now;

    atomic_read_relaxed(&faults, &now);
    return now;
}

static bool
chance(unsigned int one_in)
{
    return faults_now() == FAULTS_ALL && !random_range(one_in);
}

static struct faulty_socket *
cast(struct tcnl_transport *t)
{
    return (struct faulty_socket *) t;
}

static struct tcnl_transport *
choose(const struct faulty_socket *s)
{
    enum faults now = faults_now();

    return now == FAULTS_OVERFLOW || (now == FAULTS_ALL && s->often_small)
           ? s->small : s->whole;
}

static int
faulty_send(struct tcnl_transport *t, const void *data, size_t len)
{
    struct faulty_socket *s = cast(t);
    int error;

    s->last = choose(s);
    if (chance(400)) {
        count(&n_not_sent);
        return ENOBUFS;
    } else if (chance(400)) {
        count(&n_interrupted);
        return EINTR;
    }
    error = s->last->ops->send(s->last, data, len);
    if (!error && chance(400)) {
        count(&n_interrupted);
        return EINTR;
    }
    return error;
}

static int
faulty_recv(struct tcnl_transport *t, void *buf, size_t size, size_t *len)
{
    struct faulty_socket *s = cast(t);
    int error = s->pending;

    if (error) {
        s->pending = 0;
        return error;
    } else if (chance(300)) {
        count(&n_interrupted);
        return EINTR;
    }
    error = s->last->ops->recv(s->last, buf, size, len);
    if (error == ENOBUFS) {
        count(&n_overflows);
    } else if (!error && chance(300)) {
        count(&n_lost);
        s->pending = ENOBUFS;
        return EINTR;
    } else if (!error && chance(300)) {
        count(&n_lost);
        return EMSGSIZE;
    }
    return error;
}

static void
faulty_close(struct tcnl_transport *t)
{
    struct faulty_socket *s = cast(t);

    tcnl_transport_close(s->whole);
    tcnl_transport_close(s->small);
    free(s);
}

static const struct tcnl_transport_ops faulty_ops = {
    .send = faulty_send,
    .recv = faulty_recv,
    .close = faulty_close,
};

int
WRAP(tcnl_socket_open)(size_t rcvbuf, size_t sndbuf,
                       struct tcnl_transport **transport)
{
    struct faulty_socket *s = xzalloc(sizeof *s);
    int error = REAL(tcnl_socket_open)(rcvbuf, sndbuf, &s->whole);

    if (!error) {
        error = REAL(tcnl_socket_open)(SMALL_RCVBUF, sndbuf, &s->small);
    }
    if (error) {
        faulty_close(&s->transport);
        return error;
    }
    s->transport = (struct tcnl_transport) {
        .ops = &faulty_ops,
        .max_send = s->whole->max_send,
        .rcvbuf = s->whole->rcvbuf,
        .next_seq = 1,
    };
    s->last = s->whole;
    s->often_small = atomic_count_inc(&n_sockets) % 3 == 0;
    *transport = &s->transport;
    return 0;
}

void
faulty_sockets_set(enum faults new)
{
    atomic_store_relaxed(&faults, (uint32_t) new);
}

struct faulty_counts
faulty_sockets_counts(void)
{
    struct faulty_counts c;

    atomic_read_relaxed(&n_overflows, &c.overflows);
    atomic_read_relaxed(&n_lost, &c.lost);
    atomic_read_relaxed(&n_interrupted, &c.interrupted);
    atomic_read_relaxed(&n_not_sent, &c.not_sent);
    return c;
}
