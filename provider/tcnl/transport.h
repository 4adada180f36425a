/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_TRANSPORT_H
#define TCNL_TRANSPORT_H 1

/* The seam between the library and the kernel.
 *
 * Everything that tcnl says to the kernel goes through the two functions of
 * a transport.  Production code has one implementation, a NETLINK_ROUTE
 * socket (socket.h); unit tests put a scripted kernel here, which loses acks,
 * overflows and truncates on demand.
 *
 * A transport belongs to one thread at a time; callers that share one need a
 * lock of their own. */

#include <stddef.h>
#include <stdint.h>

struct tcnl_transport;

/* A datagram to be received: 'buf' has room for 'size' bytes, 'len' are in it.
 * 'error' is 0; EMSGSIZE for one that was longer and is lost; EINTR for one
 * that did not come from the kernel. */
struct tcnl_datagram {
    void *buf;
    size_t size, len;
    int error;
};

/* Most that 'recv_many' takes at once. */
#define TCNL_RECV_MANY 64

struct tcnl_transport_ops {
    /* Sends 'len' bytes, one or more whole netlink messages, as one datagram.
     * Returns 0 or a positive errno value.  The rtnetlink side of the kernel
     * handles all messages in order before sendmsg() returns
     * (netlink_rcv_skb() in net/netlink/af_netlink.c), so after a 0 every
     * answer is queued already.  An error other than EINTR means that the
     * kernel has seen nothing of it. */
    int (*send)(struct tcnl_transport *, const void *data, size_t len);

    /* Takes the next datagram into 'buf' and stores its length in '*len'.
     * Never waits.  Returns 0 or a positive errno value:
     *
     *   EAGAIN    nothing is queued.
     *   ENOBUFS   the receive buffer overflowed, replies were lost; the ones
     *             queued before that can still be read.
     *   EMSGSIZE  the datagram was longer than 'size' and is lost.
     *   EINTR     nothing was taken, call again. */
    int (*recv)(struct tcnl_transport *, void *buf, size_t size, size_t *len);

    /* The same for up to '*n' datagrams, at most TCNL_RECV_MANY, with one
     * system call; stores how many it has taken in '*n'.  An error, one of
     * those above but EMSGSIZE, means that it has taken none.  May be NULL:
     * then callers use 'recv'. */
    int (*recv_many)(struct tcnl_transport *, struct tcnl_datagram *,
                     unsigned int *n);

    /* Frees the transport. */
    void (*close)(struct tcnl_transport *);
};

struct tcnl_transport {
    const struct tcnl_transport_ops *ops;
    size_t max_send;            /* Longest datagram 'send' takes, bytes. */
    size_t rcvbuf;              /* Receive budget, bytes (sk_rcvbuf). */
    uint32_t next_seq;          /* Next sequence number; never 0. */
};

/* Reserves 'n' consecutive sequence numbers, none of them 0, and returns the
 * first.  A reply then finds its request by subtraction. */
uint32_t tcnl_transport_reserve_seqs(struct tcnl_transport *, unsigned int n);

void tcnl_transport_close(struct tcnl_transport *);

#endif /* tcnl/transport.h */
