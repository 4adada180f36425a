/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RAW_H
#define RAW_H 1

/* Messages that are built beforehand and sent as fast as the kernel takes
 * them, so many in one datagram, with an ack of the last of each.  Whatever
 * fails ends the program. */

#include "tcnl/buffer.h"

struct raw_datagram {
    uint8_t *data;
    size_t len;
};

struct raw {
    unsigned int batch;         /* Messages in a datagram. */
    unsigned int n_messages;    /* In the datagram under way. */
    struct raw_datagram *datagrams;
    size_t n, allocated;
    struct tcnl_buffer buffer;
    uint32_t *mem;
};

void raw_init(struct raw *, unsigned int batch);
void raw_uninit(struct raw *);

/* To put one message: raw_begin() tells where. */
struct tcnl_buffer *raw_begin(struct raw *);
void raw_end(struct raw *);

/* Sends all through a socket of its own, and waits for the answers of each
 * datagram.  Threads may run structures of their own at the same time. */
void raw_run(struct raw *);

#endif /* raw.h */
