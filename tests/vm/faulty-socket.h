/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAULTY_SOCKET_H
#define FAULTY_SOCKET_H 1

/* Sockets that lose what the kernel says, in the place of those of libtcnl.
 *
 * A program that has this file, and the linker's option for its WRAP(), gets
 * them from tcnl_socket_open().  They go to the real kernel, but while faults
 * are on, some have a receive buffer of a few kB that nobody takes into
 * account, so that it overflows; and from the others an answer is lost now and
 * then, with ENOBUFS as the kernel would have it, a datagram is too long, or a
 * send fails.  Thread-safe. */

#include <stdbool.h>
#include <stdint.h>

/* Which faults there are from now on. */
enum faults {
    FAULTS_NONE,
    FAULTS_OVERFLOW,            /* Small buffers, in all sockets. */
    FAULTS_ALL,                 /* Those in every third, and the others. */
};

void faulty_sockets_set(enum faults);

struct faulty_counts {
    uint64_t overflows;         /* ENOBUFS from the kernel. */
    uint64_t lost;              /* Datagrams lost, cut. */
    uint64_t interrupted;       /* EINTR. */
    uint64_t not_sent;          /* Sends that failed. */
};

struct faulty_counts faulty_sockets_counts(void);

#endif /* faulty-socket.h */
