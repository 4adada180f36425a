/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_STATS_H
#define TCNL_STATS_H 1

/* Counters of TC actions (TCA_ACT_STATS). */

#include <stdbool.h>
#include <stdint.h>
#include <linux/netlink.h>

/* Of one action.  'packets' and 'bytes' are totals of software and hardware;
 * the hardware share is also given by itself.  Bytes do not contain the
 * Ethernet header of received packets (TC counts skb->len on ingress, where
 * the header is pulled; 14 per packet less than the kernel datapath). */
struct tcnl_stats {
    uint64_t packets, bytes;
    uint64_t hw_packets, hw_bytes;
    uint64_t drops, overlimits;
};

/* Reads a TCA_ACT_STATS attribute.  The 64-bit packet counter
 * (TCA_STATS_PKT64) is used where the kernel gives it: the basic one wraps at
 * 2^32.  It may stand there twice, once after each of BASIC and BASIC_HW.
 * Returns 0, or EBADMSG with '*stats' zeroed. */
int tcnl_stats_parse(const struct nlattr *act_stats, struct tcnl_stats *stats);

#endif /* tcnl/stats.h */
