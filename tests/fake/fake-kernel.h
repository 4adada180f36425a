/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAKE_KERNEL_H
#define FAKE_KERNEL_H 1

/* A scripted kernel behind struct tcnl_transport.
 *
 * It walks a datagram that is sent to it as netlink_rcv_skb() does, answers
 * each message by its verdict, and queues the answers as the receive buffer
 * of a netlink socket would: after an overflow everything is dropped until
 * the reader has emptied the queue, and the next receive says ENOBUFS once.
 * Members are set directly between fake_kernel_init() and the first send;
 * positions count from 0. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/netlink.h>
#include "tcnl/transport.h"

#define FAKE_MAX 512            /* Requests, and entries of the queue. */
#define FAKE_NEVER UINT32_MAX   /* For a position: does not happen. */
#define FAKE_MSG_TYPE 0x123     /* Of data messages. */

/* The answer to one request. */
struct fake_verdict {
    int error;                  /* Positive errno, or 0. */
    const char *text;           /* NLMSGERR_ATTR_MSG, or NULL. */
    uint32_t offset;            /* NLMSGERR_ATTR_OFFS, if nonzero. */
    uint32_t reply;             /* Payload of a data reply, if nonzero. */
    const struct nlmsghdr *message; /* Data reply but for its sequence number,
                                     * or NULL. */
    bool uncapped;              /* An error brings the whole request back. */
    bool lose_ack;              /* Dropped without a trace. */
    bool lose_reply;
    bool twice;                 /* Everything is answered twice. */
};

/* A request as it was received. */
struct fake_request {
    uint32_t seq;
    uint16_t type, flags;
    unsigned int send;          /* Number of its datagram. */
};

/* An entry of the queue: a datagram, or an error that a receive returns. */
struct fake_entry {
    uint8_t *data;
    size_t len;
    int error;
};

struct fake_queue {
    struct fake_entry entries[FAKE_MAX];
    unsigned int head, tail;
};

struct fake_kernel {
    struct tcnl_transport transport;    /* First, the two are cast. */

    /* The script for requests. */
    struct fake_verdict verdicts[FAKE_MAX];     /* By request. */
    uint32_t overflow_at;       /* The reply that finds the buffer full. */
    size_t charge;              /* If nonzero, what a reply costs of 'rcvbuf',
                                 * which then overflows by itself. */
    uint32_t truncate_at;       /* Reply too long for the reader's buffer. */
    uint32_t damage_at;         /* Reply whose nlmsg_len is too large. */
    bool reorder;               /* Replies are read last first. */
    bool foreign;               /* Each reply follows one of another seq. */
    uint32_t send_error_at;     /* Send that fails with 'send_error'... */
    int send_error;
    bool send_anyway;           /* ...but has been executed. */

    /* If nonnull, sees each request before it is answered or its dump begins,
     * and may change its verdict and the script of the dump. */
    void (*model)(struct fake_kernel *, const struct nlmsghdr *request,
                  struct fake_verdict *);

    /* The script for the next dump, see below. */
    struct fake_queue dump;

    /* What happened. */
    struct fake_request requests[FAKE_MAX];
    unsigned int n_requests, n_sends, n_recvs, n_replies;
    size_t max_sent;            /* Longest datagram. */

    /* State. */
    struct fake_queue queue;
    size_t rmem;                /* Sum of charges in the queue. */
    bool congested;
    int sk_err;                 /* Returned by the next receive. */
};

void fake_kernel_init(struct fake_kernel *);
void fake_kernel_uninit(struct fake_kernel *);

/* Makes the next receive return 'error', before what is queued behind. */
void fake_queue_error(struct fake_kernel *, int error);

/* Queues a datagram as it is. */
void fake_queue_datagram(struct fake_kernel *, const void *, size_t len);

/* Each adds to the script of a dump, which goes into the queue when a request
 * with NLM_F_DUMP is sent; messages take its sequence number.
 *
 * fake_dump_data() is a datagram of 'n' messages with the payloads 'first',
 * 'first + 1', ...; fake_dump_datagram() one of 'len' bytes as they are, but
 * for sequence numbers of 0; fake_dump_done() one with NLMSG_DONE;
 * fake_dump_refused() one with NLMSG_ERROR; fake_dump_error() a receive that
 * fails, or a datagram of a foreign sequence number if 'error' is 0. */
void fake_dump_data(struct fake_kernel *, uint32_t first, unsigned int n,
                    uint16_t flags);
void fake_dump_datagram(struct fake_kernel *, const void *, size_t len);
void fake_dump_done(struct fake_kernel *, int error, const char *text,
                    uint16_t flags);
void fake_dump_refused(struct fake_kernel *, int error, const char *text);
void fake_dump_error(struct fake_kernel *, int error);

/* The datagram that was added last to the dump's script, to be damaged. */
struct fake_entry *fake_dump_last(struct fake_kernel *);

#endif /* fake-kernel.h */
