/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_FLOWER_H
#define TCNL_FLOWER_H 1

/* What a flower filter matches, in compact form, and its translation to and
 * from netlink attributes.
 *
 * Only fields whose bit is set in 'present' mean anything; the others are not
 * even initialized, so a filter costs nothing for the keys that it does not
 * use.  One table in flower.c says for each key which attributes carry it:
 * both directions are made from it, so a new key is added in one place. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/netlink.h>
#include <linux/pkt_cls.h>
#include "buffer.h"
#include "tunnel-opts.h"

/* The flags that can be sent; the kernel refuses its own. */
#define TCNL_CLS_FLAGS_SETTABLE \
    (TCA_CLS_FLAGS_SKIP_HW | TCA_CLS_FLAGS_SKIP_SW | TCA_CLS_FLAGS_VERBOSE)

/* Values and masks are in network byte order where the attribute is
 * (everything but VLAN id and priority, which are in host order). */
enum tcnl_key {
    TCNL_KEY_ETH_DST,
    TCNL_KEY_ETH_SRC,
    TCNL_KEY_ETH_TYPE,          /* Exact; also the filter's protocol. */
    TCNL_KEY_VLAN_ID,           /* Exact, host order, 0..4095 (the mask is
                                 * 0xffff all the same). */
    TCNL_KEY_VLAN_PRIO,         /* Exact, 0..7. */
    TCNL_KEY_VLAN_ETH_TYPE,     /* Exact. */
    TCNL_KEY_CVLAN_ID,          /* The same for the second tag. */
    TCNL_KEY_CVLAN_PRIO,
    TCNL_KEY_CVLAN_ETH_TYPE,
    TCNL_KEY_MPLS_LABEL,        /* Exact, host order; of the outermost
                                 * entry. */
    TCNL_KEY_MPLS_TC,           /* Exact, 0..7. */
    TCNL_KEY_MPLS_BOS,          /* Exact, 0 or 1. */
    TCNL_KEY_MPLS_TTL,          /* Exact. */
    TCNL_KEY_ARP_SIP,
    TCNL_KEY_ARP_TIP,
    TCNL_KEY_ARP_OP,
    TCNL_KEY_ARP_SHA,
    TCNL_KEY_ARP_THA,
    TCNL_KEY_IP_PROTO,          /* Exact. */
    TCNL_KEY_IP_TOS,
    TCNL_KEY_IP_TTL,
    TCNL_KEY_IPV4_SRC,
    TCNL_KEY_IPV4_DST,
    TCNL_KEY_IPV6_SRC,
    TCNL_KEY_IPV6_DST,
    TCNL_KEY_TP_SRC,            /* TCP, UDP or SCTP, by IP_PROTO. */
    TCNL_KEY_TP_DST,
    TCNL_KEY_TCP_FLAGS,
    TCNL_KEY_ICMP_TYPE,         /* ICMPv4 or v6, by IP_PROTO. */
    TCNL_KEY_ICMP_CODE,
    TCNL_KEY_FLAGS,             /* TCA_FLOWER_KEY_FLAGS_*, network order. */
    TCNL_KEY_CT_STATE,          /* TCA_FLOWER_KEY_CT_FLAGS_*, host order. */
    TCNL_KEY_CT_ZONE,           /* Host order. */
    TCNL_KEY_CT_MARK,           /* Host order. */
    TCNL_KEY_CT_LABELS,
    TCNL_KEY_ENC_KEY_ID,        /* Exact; this and the others up to the end are
                                 * about the tunnel header. */
    TCNL_KEY_ENC_IPV4_SRC,
    TCNL_KEY_ENC_IPV4_DST,
    TCNL_KEY_ENC_IPV6_SRC,
    TCNL_KEY_ENC_IPV6_DST,
    TCNL_KEY_ENC_SRC_PORT,
    TCNL_KEY_ENC_DST_PORT,
    TCNL_KEY_ENC_IP_TOS,
    TCNL_KEY_ENC_IP_TTL,
    TCNL_KEY_ENC_FLAGS,         /* TCNL_ENC_FLAGS_*, network order. */
    TCNL_KEY_ENC_GBP,           /* VXLAN group policy, see tunnel-opts.h. */
    TCNL_KEY_ENC_GENEVE,        /* Length of the options in 'geneve', which
                                 * the packet has to begin with; set with
                                 * tcnl_flower_set_geneve(). */
    TCNL_N_KEYS
};

/* Bits of TCA_FLOWER_KEY_ENC_FLAGS, which older headers do not have. */
#define TCNL_ENC_FLAGS_CSUM 0x04u
#define TCNL_ENC_FLAGS_DONT_FRAGMENT 0x08u
#define TCNL_ENC_FLAGS_OAM 0x10u
#define TCNL_ENC_FLAGS_CRIT_OPT 0x20u

#define TCNL_KEY_BIT(KEY) (UINT64_C(1) << (KEY))

struct tcnl_flower_fields {
    uint8_t eth_dst[6];
    uint8_t eth_src[6];
    uint16_t eth_type;
    uint16_t vlan_id;
    uint16_t vlan_eth_type;
    uint16_t cvlan_id;
    uint16_t cvlan_eth_type;
    uint8_t vlan_prio;
    uint8_t cvlan_prio;
    uint8_t mpls_tc;
    uint8_t mpls_bos;
    uint8_t mpls_ttl;
    uint32_t mpls_label;
    uint8_t ip_proto;
    uint8_t ip_tos;
    uint8_t ip_ttl;
    uint8_t icmp_type;
    uint8_t icmp_code;
    uint8_t arp_sha[6];
    uint8_t arp_tha[6];
    uint8_t arp_op;
    uint32_t arp_sip;
    uint32_t arp_tip;
    uint32_t ipv4_src;
    uint32_t ipv4_dst;
    uint8_t ipv6_src[16];
    uint8_t ipv6_dst[16];
    uint16_t tp_src;
    uint16_t tp_dst;
    uint16_t tcp_flags;
    uint32_t flags;
    uint16_t ct_state;
    uint16_t ct_zone;
    uint32_t ct_mark;
    uint8_t ct_labels[16];
    uint32_t enc_key_id;
    uint32_t enc_ipv4_src;
    uint32_t enc_ipv4_dst;
    uint8_t enc_ipv6_src[16];
    uint8_t enc_ipv6_dst[16];
    uint16_t enc_src_port;
    uint16_t enc_dst_port;
    uint8_t enc_ip_tos;
    uint8_t enc_ip_ttl;
    uint8_t enc_geneve_len;
    uint32_t enc_flags;
    uint32_t enc_gbp;
};

struct tcnl_flower {
    uint64_t present;           /* TCNL_KEY_BIT()s. */
    uint32_t cls_flags;         /* TCA_CLS_FLAGS_SKIP_HW, _SKIP_SW; in replies
                                 * also _IN_HW, _NOT_IN_HW. */
    struct tcnl_flower_fields key;
    struct tcnl_flower_fields mask;  /* All ones for exact keys. */

    /* With TCNL_KEY_ENC_GENEVE.  The lengths of options are exact: in the mask
     * they are TCNL_GENEVE_LEN_MASK. */
    struct {
        uint8_t key[TCNL_MAX_GENEVE], mask[TCNL_MAX_GENEVE];
    } geneve;
};

/* Begins an empty match. */
static inline void
tcnl_flower_init(struct tcnl_flower *f)
{
    f->present = 0;
    f->cls_flags = 0;
}

static inline bool
tcnl_flower_has(const struct tcnl_flower *f, enum tcnl_key key)
{
    return (f->present & TCNL_KEY_BIT(key)) != 0;
}

/* Sets 'key' with value and mask ('mask' NULL: all ones), of the size that
 * the key has.  A mask of zeros leaves the key out.  Bits of the value that
 * the mask does not cover are cleared, here and in tcnl_flower_parse(), so
 * that equal matches are equal bytes. */
void tcnl_flower_set(struct tcnl_flower *, enum tcnl_key,
                     const void *value, const void *mask);

/* Sets the options of Geneve, 'len' bytes each, of which
 * tcnl_geneve_is_valid(value, len); the lengths in 'mask' do not matter. */
void tcnl_flower_set_geneve(struct tcnl_flower *, const uint8_t *value,
                            const uint8_t *mask, unsigned int len);

/* Value and mask of a key that is present, of the size that it has. */
const void *tcnl_flower_value(const struct tcnl_flower *, enum tcnl_key);
const void *tcnl_flower_mask(const struct tcnl_flower *, enum tcnl_key);

/* Copies what means anything. */
void tcnl_flower_copy(struct tcnl_flower *, const struct tcnl_flower *);

/* Size of the key's value, bytes. */
unsigned int tcnl_key_size(enum tcnl_key);

/* Do both match the same packets?  (The flags are not compared.) */
bool tcnl_flower_equal(const struct tcnl_flower *, const struct tcnl_flower *);

/* Is each key there together with those that it depends on?  If not, the
 * kernel would drop keys in silence and the filter match too much: VLAN keys
 * need ETH_TYPE to be a VLAN's, CVLAN keys VLAN_ETH_TYPE; MPLS, ARP, IP, IPv4
 * and IPv6 keys need the Ethernet type (behind tags VLAN_ETH_TYPE or
 * CVLAN_ETH_TYPE); ports, TCP flags and ICMP keys need IP_PROTO.  A tunnel is
 * of IPv4 or IPv6, and has options of one kind. */
bool tcnl_flower_is_complete(const struct tcnl_flower *);

/* Attribute-style name of 'key' for messages, e.g. "ipv4_src". */
const char *tcnl_key_name(enum tcnl_key);

/* Puts the match as attributes of TCA_OPTIONS (the caller has the nest open),
 * the flags included. */
void tcnl_flower_put(struct tcnl_buffer *, const struct tcnl_flower *);

/* Reads the attributes inside TCA_OPTIONS back.  Returns 0; EBADMSG for a
 * malformed attribute; EOPNOTSUPP if the filter matches on something that
 * struct tcnl_flower cannot say (then the filter is not one of ours, and the
 * match is what it could say).
 *
 * ETH_TYPE is then what the options say, and for a filter on VLAN tags that
 * is the type *behind* the tags (or absent): the tag's own type is only in the
 * filter's protocol, fl_dump_key() in net/sched/cls_flower.c.  Use
 * tcnl_filter_parse_flower() to have what was sent. */
int tcnl_flower_parse(const struct nlattr *options, struct tcnl_flower *);

/* Sets ETH_TYPE of a parsed match from the filter's protocol (network order;
 * ETH_P_ALL adds nothing).  Returns 0, or EOPNOTSUPP if they contradict. */
int tcnl_flower_set_protocol(struct tcnl_flower *, uint16_t proto);

/* A hash of the keys, values and masks (not of the flags): with 64 bits, equal
 * for equal matches only, as far as it matters.  It is the sum of those of the
 * keys, so it can be told what it becomes when a value changes. */
uint64_t tcnl_flower_hash(const struct tcnl_flower *);
uint64_t tcnl_flower_hash_key(enum tcnl_key, const void *value,
                              const void *mask);

/* Is there something in 'a' that 'b', as the kernel reports it, does not have
 * in the same way?  Returns the name of the first such attribute, or NULL;
 * '*missing' says whether 'b' has no such key at all.  What is only in 'b'
 * does not count. */
const char *tcnl_flower_lacks(const struct tcnl_flower *a,
                              const struct tcnl_flower *b, bool *missing);

/* Adds to 'hash' which keys there are, with their masks, and the values of
 * those that decide how the kernel takes others: see shape.h. */
uint64_t tcnl_flower_shape(const struct tcnl_flower *, uint64_t hash);

#endif /* tcnl/flower.h */
