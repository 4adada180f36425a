/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAKE_TC_H
#define FAKE_TC_H 1

/* A kernel that has filters: behind any number of transports there is one
 * table, by device, hook, chain, prio and handle, that additions, deletions,
 * gets and dumps work on as TC's do.
 *
 * Where fake-kernel.h says what is answered, this one works it out, and a test
 * only says what goes wrong.  Thread-safe; members are set while nobody uses
 * it.  As in the kernel, a message of a dump is made when the one before it is
 * read, and a dump that goes on finds its place again by its key. */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/netlink.h>
#include "tcnl/filter.h"
#include "tcnl/police.h"
#include "tcnl/transport.h"

struct fake_tc;

struct fake_tc_filter {
    struct tcnl_filter_id id;
    struct tcnl_flower flower;
    uint8_t *options;           /* Attributes inside TCA_OPTIONS, as sent. */
    size_t len;
    uint64_t packets, bytes;
    bool hidden;                /* Dumps lose it. */
    bool idle;                  /* Not used of late. */
};

struct fake_tc_police {
    struct tcnl_police police;
    uint64_t packets, bytes;
    uint32_t drops;
    unsigned int bindcnt;       /* While it is not 0 deletes are EPERM. */
};

/* What goes wrong with one message. */
struct fake_tc_fault {
    int error;                  /* Refused with this errno value... */
    const char *text;           /* ...and these words, or NULL. */
    bool lose;                  /* The receive buffer is full from this answer
                                 * on, until it has been read. */
    bool lose_reply;            /* Only its data is lost. */
};

#define FAKE_TC_DEVICES 8

struct fake_tc {
    /* Called for each message before it is executed. */
    void (*fault)(struct fake_tc *, const struct nlmsghdr *,
                  const struct tcnl_filter_info *, struct fake_tc_fault *);
    void *aux;                  /* For 'fault'. */
    int send_error;             /* Sends fail and execute nothing. */
    int dump_error;             /* Dumps end with this after a datagram. */
    bool dump_interrupted;      /* Dumps say NLM_F_DUMP_INTR. */
    unsigned int n_interrupted; /* So many dumps to come do so in their second
                                 * datagram, which is their last. */
    uint32_t dump_flags;        /* TCA_DUMP_FLAGS_* that are known; others end
                                 * a dump with EINVAL. */
    uint32_t used_within;       /* Of the last dump; 0: it did not ask so. */
    unsigned int dump_filters;  /* In each datagram of a dump. */
    unsigned int max_replies;   /* More do not fit a socket's receive buffer;
                                 * 0: all do. */
    uint16_t ignores[2];        /* Attributes of flower, a value and its mask,
                                 * that are not known; 0: none. */

    unsigned int n_sends, n_new, n_del, n_get, n_dumps;
    unsigned int n_police_dumps;
    unsigned int max_batch;     /* Most messages in one send. */

    pthread_mutex_t mutex;
    struct fake_tc_filter **filters;    /* Sorted. */
    size_t n_filters;
    struct fake_tc_police *polices;
    size_t n_polices;
    struct {
        int ifindex;
        char kind[16];
    } qdiscs[FAKE_TC_DEVICES];
};

void fake_tc_init(struct fake_tc *);
/* Every transport has been closed. */
void fake_tc_uninit(struct fake_tc *);

int fake_tc_open(struct fake_tc *, struct tcnl_transport **);

/* NULL if there is none.  The filter is there until it is deleted. */
struct fake_tc_filter *fake_tc_find(struct fake_tc *, int ifindex,
                                    uint32_t chain, uint16_t prio,
                                    uint32_t handle);

/* Another user of TC deletes the filter; adds one like it with 'handle', for
 * 10.255.0.0 + 'handle'; has packets go through it. */
void fake_tc_delete(struct fake_tc *, struct fake_tc_filter *);
void fake_tc_add_foreign(struct fake_tc *, int ifindex, uint32_t chain,
                         uint16_t prio, uint32_t handle);
void fake_tc_hit(struct fake_tc *, struct fake_tc_filter *, uint64_t packets,
                 uint64_t bytes);

/* NULL if there is none; good until one is added or deleted. */
struct fake_tc_police *fake_tc_police_find(struct fake_tc *, uint32_t index);

#endif /* fake-tc.h */
