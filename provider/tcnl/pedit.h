/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_PEDIT_H
#define TCNL_PEDIT_H 1

/* Header rewrites of act_pedit: fields to 32-bit keys and back. */

#include <stdint.h>

/* The fields that can be rewritten. */
enum tcnl_rewrite {
    TCNL_RW_ETH_SRC,            /* 6 bytes. */
    TCNL_RW_ETH_DST,            /* 6 bytes. */
    TCNL_RW_ETH_TYPE,           /* 2 bytes. */
    TCNL_RW_IPV4_SRC,           /* 4 bytes. */
    TCNL_RW_IPV4_DST,           /* 4 bytes. */
    TCNL_RW_IPV4_TTL,           /* 1 byte. */
    TCNL_RW_IPV4_TOS,           /* 1 byte. */
    TCNL_RW_IPV6_SRC,           /* 16 bytes. */
    TCNL_RW_IPV6_DST,           /* 16 bytes. */
    TCNL_RW_IPV6_HLIMIT,        /* 1 byte. */
    TCNL_RW_IPV6_TCLASS,        /* 1 byte; spans a nibble boundary. */
    TCNL_RW_TCP_SRC,            /* 2 bytes each. */
    TCNL_RW_TCP_DST,
    TCNL_RW_UDP_SRC,
    TCNL_RW_UDP_DST,
    TCNL_N_REWRITES
};

#define TCNL_RW_BIT(RW) (1u << (RW))

/* Values and masks as bytes of the packet (network order).  A field counts
 * only if its bit is in 'present'; its mask says which bits are written. */
struct tcnl_rewrite_fields {
    uint8_t eth_src[6], eth_dst[6], eth_type[2];
    uint8_t ipv4_src[4], ipv4_dst[4], ipv4_ttl, ipv4_tos;
    uint8_t ipv6_src[16], ipv6_dst[16], ipv6_hlimit, ipv6_tclass;
    uint8_t tcp_src[2], tcp_dst[2], udp_src[2], udp_dst[2];
};

struct tcnl_rewrites {
    uint32_t present;
    struct tcnl_rewrite_fields value, mask;
};

/* One key of the kernel (struct tc_pedit_key with its TCA_PEDIT_KEY_EX). */
struct tcnl_pedit_key {
    uint16_t htype;             /* TCA_PEDIT_KEY_EX_HDR_TYPE_*. */
    uint16_t cmd;               /* TCA_PEDIT_KEY_EX_CMD_*. */
    uint32_t off;               /* Multiple of 4. */
    uint32_t mask;              /* Bits that are kept, as in memory. */
    uint32_t val;               /* As in memory (network order bytes). */
};

#define TCNL_MAX_PEDIT_KEYS 32

/* Sets field 'rw' of 'r' ('value' and 'mask' of the field's size). */
void tcnl_rewrite_set(struct tcnl_rewrites *r, enum tcnl_rewrite rw,
                      const void *value, const void *mask);

/* Size of the field, bytes, and pointers to it in 'f'. */
unsigned int tcnl_rewrite_size(enum tcnl_rewrite);
uint8_t *tcnl_rewrite_field(struct tcnl_rewrite_fields *f, enum tcnl_rewrite);

/* Turns rewrites into at most 'max' keys, in the order and the partition that
 * OVS's own tc provider uses (lib/tc.c, flower_pedit_map), so that the filters
 * of both are the same.  Returns their number, or 0 if they do not fit. */
unsigned int tcnl_pedit_from_rewrites(const struct tcnl_rewrites *,
                                      struct tcnl_pedit_key *keys,
                                      unsigned int max);

/* The way back.  Returns 0, or EOPNOTSUPP for a key that is no such field. */
int tcnl_pedit_to_rewrites(const struct tcnl_pedit_key *keys, unsigned int n,
                           struct tcnl_rewrites *);

#endif /* tcnl/pedit.h */
