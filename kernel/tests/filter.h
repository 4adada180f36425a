/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILTER_H
#define FILTER_H 1

/* Filters in netlink messages, as far as the tests of the kernel need them.
 * Whatever fails ends the program: with status 1 if the kernel refuses, and
 * with 2 for anything else. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>

/* Of our patches, and not in any distribution's headers. */
#define DUMP_USED_SINCE (1 << 1)
#define DUMP_START (1 << 2)
#define ATTR_USED_SINCE (TCA_EXT_WARN_MSG + 1)
#define ATTR_START (TCA_EXT_WARN_MSG + 2)
enum { START_CHAIN = 1, START_PRIO, START_HANDLE };

#define TERSE TCA_DUMP_FLAGS_TERSE
#define BUFFER_SIZE (64 * 1024)

struct place {
    uint32_t chain, prio, handle;
};

void die(int status, const char *format, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

/* The index of the device of this name. */
unsigned int device(const char *name);

struct mnl_socket *open_socket(unsigned int groups);
void send_all(struct mnl_socket *, const void *, size_t len);
ssize_t receive(struct mnl_socket *, void *buf, size_t size);

/* The kernel's words, which follow 'fixed' bytes of payload. */
const char *ext_ack_text(const struct nlmsghdr *, size_t fixed);

/* A request about the filter at 'p', or about all if it is NULL. */
struct nlmsghdr *put_header(void *buf, uint16_t type, uint16_t flags,
                            int ifindex, const struct place *p);
/* A new filter, with the police of that index, if it is not 0, and an action
 * that passes the packet, or without. */
struct nlmsghdr *put_new(void *buf, int ifindex, const struct place *p,
                         uint32_t police, bool pass);
/* TCA_DUMP_FLAGS, unless they are 0. */
void put_flags(struct nlmsghdr *, uint32_t flags);

/* What one message tells of a filter: counters and cookie are the first
 * action's. */
struct report {
    struct place place;
    bool has_keys;
    uint64_t packets;
    uint32_t cookie;
};

/* Returns false for what is not a filter. */
bool parse_report(const struct nlmsghdr *, struct report *);
void print_report(const struct report *);

/* Reads until the ack with sequence number 'seq', and prints what reports
 * filters if asked to. */
void wait_for_ack(struct mnl_socket *, uint32_t seq, bool print);

#endif /* filter.h */
