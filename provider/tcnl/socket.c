/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1           /* recvmmsg() */
#include "socket.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <libmnl/libmnl.h>

/* netlink_sendmsg() refuses what is longer than sk_sndbuf less this. */
#define SNDBUF_OVERHEAD 32

/* Foreign datagrams that one call of socket_recv() drops at most. */
#define MAX_FOREIGN 16

struct tcnl_socket {
    struct tcnl_transport transport;    /* First, the two are cast. */
    struct mnl_socket *nl;
};

static struct tcnl_socket *
socket_cast(struct tcnl_transport *t)
{
    return (struct tcnl_socket *) t;
}

static int
socket_send(struct tcnl_transport *t, const void *data, size_t len)
{
    return mnl_socket_sendto(socket_cast(t)->nl, data, len) < 0 ? errno : 0;
}

/* Takes one datagram, whoever sent it. */
static int
recv_any(int fd, void *buf, size_t size, struct sockaddr_nl *from,
         size_t *len)
{
    struct iovec iov = { .iov_base = buf, .iov_len = size };
    struct msghdr msg = {
        .msg_name = from, .msg_namelen = sizeof *from,
        .msg_iov = &iov, .msg_iovlen = 1,
    };
    ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT);

    if (n < 0) {
        return errno == EWOULDBLOCK ? EAGAIN : errno;
    }
    if (msg.msg_namelen != sizeof *from) {
        from->nl_pid = UINT32_MAX;      /* No sender: not the kernel. */
    }
    *len = n;
    return msg.msg_flags & MSG_TRUNC ? EMSGSIZE : 0;
}

static int
socket_recv(struct tcnl_transport *t, void *buf, size_t size, size_t *len)
{
    int fd = mnl_socket_get_fd(socket_cast(t)->nl);

    /* A privileged process can send to any netlink socket.  What it sends
     * must neither be believed nor end up as a damaged reply. */
    for (int i = 0; i < MAX_FOREIGN; i++) {
        struct sockaddr_nl from = { .nl_pid = 0 };
        int error;

        *len = 0;
        error = recv_any(fd, buf, size, &from, len);
        if (error && error != EMSGSIZE) {
            return error;
        }
        if (!from.nl_pid) {
            return error;
        }
    }
    *len = 0;
    return EINTR;
}

static int
socket_recv_many(struct tcnl_transport *t, struct tcnl_datagram *d,
                 unsigned int *n)
{
    struct sockaddr_nl from[TCNL_RECV_MANY];
    struct mmsghdr msgs[TCNL_RECV_MANY];
    struct iovec iov[TCNL_RECV_MANY];
    int got;

    for (unsigned int i = 0; i < *n; i++) {
        iov[i] = (struct iovec) { d[i].buf, d[i].size };
        from[i].nl_pid = 0;
        msgs[i].msg_hdr = (struct msghdr) {
            .msg_name = &from[i], .msg_namelen = sizeof from[i],
            .msg_iov = &iov[i], .msg_iovlen = 1,
        };
    }
    got = recvmmsg(mnl_socket_get_fd(socket_cast(t)->nl), msgs, *n,
                   MSG_DONTWAIT, NULL);
    *n = got > 0 ? (unsigned int) got : 0;
    for (unsigned int i = 0; i < *n; i++) {
        const struct msghdr *msg = &msgs[i].msg_hdr;

        d[i].len = msgs[i].msg_len;
        d[i].error = (msg->msg_namelen != sizeof from[i] || from[i].nl_pid
                      ? EINTR : msg->msg_flags & MSG_TRUNC ? EMSGSIZE : 0);
    }
    return got >= 0 ? 0 : errno == EWOULDBLOCK ? EAGAIN : errno;
}

static void
socket_close(struct tcnl_transport *t)
{
    struct tcnl_socket *s = socket_cast(t);

    if (s->nl) {
        mnl_socket_close(s->nl);
    }
    free(s);
}

static const struct tcnl_transport_ops socket_ops = {
    .send = socket_send,
    .recv = socket_recv,
    .recv_many = socket_recv_many,
    .close = socket_close,
};

/* Sets a buffer size, past the system's limit where the process may, and
 * returns what the kernel made of it.  The kernel doubles the value that it
 * is given, but tells the doubled one. */
static size_t
set_bufsize(int fd, int force_option, int option, size_t size)
{
    int value = size / 2 < INT_MAX / 2 ? (int) (size / 2) : INT_MAX / 2;
    socklen_t len = sizeof value;

    if (setsockopt(fd, SOL_SOCKET, force_option, &value, sizeof value)) {
        setsockopt(fd, SOL_SOCKET, option, &value, sizeof value);
    }
    if (getsockopt(fd, SOL_SOCKET, option, &value, &len) || value < 0) {
        return 0;
    }
    return value;
}

static void
set_options(struct tcnl_socket *s, size_t rcvbuf, size_t sndbuf)
{
    static const int options[] = {
        NETLINK_CAP_ACK, NETLINK_EXT_ACK, NETLINK_GET_STRICT_CHK,
    };
    int fd = mnl_socket_get_fd(s->nl);
    int one = 1;
    size_t got;

    /* A kernel without one of these still works: acks are parsed with and
     * without texts and copies of the request. */
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        mnl_socket_setsockopt(s->nl, options[i], &one, sizeof one);
    }

    s->transport.rcvbuf = set_bufsize(fd, SO_RCVBUFFORCE, SO_RCVBUF, rcvbuf);
    got = set_bufsize(fd, SO_SNDBUFFORCE, SO_SNDBUF, sndbuf);
    s->transport.max_send = got > SNDBUF_OVERHEAD ? got - SNDBUF_OVERHEAD : 0;
}

int
tcnl_socket_open(size_t rcvbuf, size_t sndbuf,
                 struct tcnl_transport **transport)
{
    struct tcnl_socket *s = calloc(1, sizeof *s);
    int error;

    *transport = NULL;
    if (!s) {
        return ENOMEM;
    }
    s->transport.ops = &socket_ops;
    s->transport.next_seq = 1;
    s->nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (!s->nl || mnl_socket_bind(s->nl, 0, MNL_SOCKET_AUTOPID) < 0) {
        error = errno;
        socket_close(&s->transport);
        return error;
    }
    set_options(s, rcvbuf ? rcvbuf : TCNL_SOCKET_RCVBUF,
                sndbuf ? sndbuf : TCNL_SOCKET_SNDBUF);
    *transport = &s->transport;
    return 0;
}
