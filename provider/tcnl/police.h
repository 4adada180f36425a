/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_POLICE_H
#define TCNL_POLICE_H 1

/* act_police actions that exist by themselves, named by index and shared by
 * the filters that name them.
 *
 * A filter that names an index which does not exist silently creates an
 * unlimited police (tcf_police_init() in net/sched/act_police.c), so the
 * police goes first, and no index is used again early: a police stays bound
 * for an RCU grace period after its last filter went (EPERM on delete).
 *
 * How a meter is expressed, and how exactly:
 *
 *   rate       Sent as it is, above 2^32 - 1 with TCA_POLICE_RATE64.  Every
 *              packet counts at least 60 bytes, the shortest Ethernet frame,
 *              as OVS's own provider has it.
 *   burst      The kernel counts it as time at 'rate', in psched ticks (64 ns
 *              since Linux 2.6.31).  Rounded up to a whole tick, so that a
 *              burst of just that size conforms; rounded down, one packet
 *              might never.  At most 2^32 - 1 ticks (274 s); a larger one is
 *              cut there.  Read back it may be larger by up to what 'rate'
 *              lets through in a tick, and never smaller unless it was cut.
 *   pkt_rate   Sent as it is (TCA_POLICE_PKTRATE64).
 *   pkt_burst  Like 'burst', but the number of ticks has 57 bits.
 *
 * A burst of 0 with a rate lets nothing pass: the caller chooses one. */

#include <stdbool.h>
#include <stdint.h>
#include <linux/netlink.h>
#include "buffer.h"
#include "stats.h"

struct tcnl_police {
    uint32_t index;             /* Nonzero. */
    uint64_t rate;              /* Bytes per second, 64-bit; 0: none. */
    uint64_t burst;             /* Bytes. */
    uint64_t pkt_rate;          /* Packets per second; not with 'rate'. */
    uint64_t pkt_burst;         /* Packets. */
    uint32_t mtu;               /* Longest conforming packet, bytes, Ethernet
                                 * header included; 0 picks one that passes
                                 * whole GSO packets.  Never 0 when read. */
    uint32_t cls_flags;         /* TCA_CLS_FLAGS_SKIP_HW/_SKIP_SW of the
                                 * filters that will use it: must be equal. */
};

/* Each puts one whole message and returns 0 or EMSGSIZE.  Exceeding packets
 * are dropped, conforming ones go on to the next action (PIPE).  'replace'
 * changes an existing one in place, counters kept; without it an existing one
 * is EEXIST.  EINVAL, and nothing put, if both rates are given.  NLM_F_ECHO
 * in 'nl_flags' brings the last counters with the delete. */
int tcnl_police_put_new(struct tcnl_buffer *, const struct tcnl_police *,
                        bool replace);
int tcnl_police_put_del(struct tcnl_buffer *, uint32_t index,
                        uint16_t nl_flags);
int tcnl_police_put_get(struct tcnl_buffer *, uint32_t index);
/* All police actions of the network namespace; a 'terse' dump has their
 * indexes and counters alone. */
int tcnl_police_put_dump(struct tcnl_buffer *, bool terse);

struct tcnl_police_info {
    struct tcnl_police police;  /* Of a terse dump only the index. */
    struct tcnl_stats stats;    /* packets: all seen; overlimits: exceeding. */
    uint32_t bindcnt;           /* Filters that use it. */
    uint32_t exceed;            /* Verdict on exceeding packets. */
    uint32_t conform;           /* Verdict on conforming ones. */
};

/* Reads an RTM_*ACTION message: calls 'cb' for each police action in it, up to
 * the first malformed one.  Returns 0 or EBADMSG. */
int tcnl_police_parse(const struct nlmsghdr *,
                      void (*cb)(void *aux, const struct tcnl_police_info *),
                      void *aux);

/* Conversion of bursts, exposed for tests: ticks for 'size' bytes (or packets)
 * at 'rate', rounded up, at most 'max'; and back, rounded down. */
uint64_t tcnl_police_ticks(uint64_t size, uint64_t rate, uint64_t max);
uint64_t tcnl_police_size(uint64_t ticks, uint64_t rate);

#endif /* tcnl/police.h */
