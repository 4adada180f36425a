/* SPDX-License-Identifier: Apache-2.0 */

/* Which keys of a match the kernel looks at, given the others. */

#include "flower.h"

#include <errno.h>
#include <netinet/in.h>
#include <linux/if_ether.h>

#define KEYS_VLAN (TCNL_KEY_BIT(TCNL_KEY_VLAN_ID)           \
                   | TCNL_KEY_BIT(TCNL_KEY_VLAN_PRIO)       \
                   | TCNL_KEY_BIT(TCNL_KEY_VLAN_ETH_TYPE))
#define KEYS_CVLAN (TCNL_KEY_BIT(TCNL_KEY_CVLAN_ID)         \
                    | TCNL_KEY_BIT(TCNL_KEY_CVLAN_PRIO)     \
                    | TCNL_KEY_BIT(TCNL_KEY_CVLAN_ETH_TYPE))
#define KEYS_MPLS (TCNL_KEY_BIT(TCNL_KEY_MPLS_LABEL)        \
                   | TCNL_KEY_BIT(TCNL_KEY_MPLS_TC)         \
                   | TCNL_KEY_BIT(TCNL_KEY_MPLS_BOS)        \
                   | TCNL_KEY_BIT(TCNL_KEY_MPLS_TTL))
#define KEYS_ARP (TCNL_KEY_BIT(TCNL_KEY_ARP_SIP)            \
                  | TCNL_KEY_BIT(TCNL_KEY_ARP_TIP)          \
                  | TCNL_KEY_BIT(TCNL_KEY_ARP_OP)           \
                  | TCNL_KEY_BIT(TCNL_KEY_ARP_SHA)          \
                  | TCNL_KEY_BIT(TCNL_KEY_ARP_THA))
#define KEYS_IP (TCNL_KEY_BIT(TCNL_KEY_IP_PROTO)            \
                 | TCNL_KEY_BIT(TCNL_KEY_IP_TOS)            \
                 | TCNL_KEY_BIT(TCNL_KEY_IP_TTL))
#define KEYS_IPV4 (TCNL_KEY_BIT(TCNL_KEY_IPV4_SRC)          \
                   | TCNL_KEY_BIT(TCNL_KEY_IPV4_DST))
#define KEYS_IPV6 (TCNL_KEY_BIT(TCNL_KEY_IPV6_SRC)          \
                   | TCNL_KEY_BIT(TCNL_KEY_IPV6_DST))
#define KEYS_PORTS (TCNL_KEY_BIT(TCNL_KEY_TP_SRC)           \
                    | TCNL_KEY_BIT(TCNL_KEY_TP_DST))
#define KEYS_TCP TCNL_KEY_BIT(TCNL_KEY_TCP_FLAGS)
#define KEYS_ICMP (TCNL_KEY_BIT(TCNL_KEY_ICMP_TYPE)         \
                   | TCNL_KEY_BIT(TCNL_KEY_ICMP_CODE))
/* Conntrack and tunnel keys, which depend on nothing, are the last ones. */
#define KEYS_FREE (TCNL_KEY_BIT(TCNL_KEY_ETH_DST)           \
                   | TCNL_KEY_BIT(TCNL_KEY_ETH_SRC)         \
                   | TCNL_KEY_BIT(TCNL_KEY_ETH_TYPE)        \
                   | TCNL_KEY_BIT(TCNL_KEY_FLAGS)           \
                   | ~(TCNL_KEY_BIT(TCNL_KEY_CT_STATE) - 1))
#define KEYS_ENC_IPV4 (TCNL_KEY_BIT(TCNL_KEY_ENC_IPV4_SRC)  \
                       | TCNL_KEY_BIT(TCNL_KEY_ENC_IPV4_DST))
#define KEYS_ENC_IPV6 (TCNL_KEY_BIT(TCNL_KEY_ENC_IPV6_SRC)  \
                       | TCNL_KEY_BIT(TCNL_KEY_ENC_IPV6_DST))
#define KEYS_ENC_OPTS (TCNL_KEY_BIT(TCNL_KEY_ENC_GBP)       \
                       | TCNL_KEY_BIT(TCNL_KEY_ENC_GENEVE))

static bool
is_vlan_type(uint16_t eth_type)
{
    return eth_type == htons(ETH_P_8021Q) || eth_type == htons(ETH_P_8021AD);
}

static bool
is_vlan(const struct tcnl_flower *f)
{
    return tcnl_flower_has(f, TCNL_KEY_ETH_TYPE)
           && is_vlan_type(f->key.eth_type);
}

static bool
is_qinq(const struct tcnl_flower *f)
{
    return is_vlan(f) && tcnl_flower_has(f, TCNL_KEY_VLAN_ETH_TYPE)
           && is_vlan_type(f->key.vlan_eth_type);
}

/* The Ethernet type of what follows the MAC addresses and the VLAN tags, in
 * network order, or 0. */
static uint16_t
inner_type(const struct tcnl_flower *f)
{
    if (is_qinq(f)) {
        return tcnl_flower_has(f, TCNL_KEY_CVLAN_ETH_TYPE)
               ? f->key.cvlan_eth_type : 0;
    }
    if (is_vlan(f)) {
        return tcnl_flower_has(f, TCNL_KEY_VLAN_ETH_TYPE)
               ? f->key.vlan_eth_type : 0;
    }
    return tcnl_flower_has(f, TCNL_KEY_ETH_TYPE) ? f->key.eth_type : 0;
}

static uint64_t
keys_by_eth_type(uint16_t type)
{
    switch (type) {
    case ETH_P_IP:
        return KEYS_IP | KEYS_IPV4;
    case ETH_P_IPV6:
        return KEYS_IP | KEYS_IPV6;
    case ETH_P_ARP:
    case ETH_P_RARP:
        return KEYS_ARP;
    case ETH_P_MPLS_UC:
    case ETH_P_MPLS_MC:
        return KEYS_MPLS;
    default:
        return 0;
    }
}

static uint64_t
keys_by_ip_proto(uint8_t ip_proto, uint16_t type)
{
    switch (ip_proto) {
    case IPPROTO_TCP:
        return KEYS_PORTS | KEYS_TCP;
    case IPPROTO_UDP:
    case IPPROTO_SCTP:
        return KEYS_PORTS;
    case IPPROTO_ICMP:
        return type == ETH_P_IP ? KEYS_ICMP : 0;
    case IPPROTO_ICMPV6:
        return type == ETH_P_IPV6 ? KEYS_ICMP : 0;
    default:
        return 0;
    }
}

bool
tcnl_flower_is_complete(const struct tcnl_flower *f)
{
    uint16_t type = ntohs(inner_type(f));
    uint64_t allowed = KEYS_FREE | keys_by_eth_type(type);

    if (is_vlan(f)) {
        allowed |= KEYS_VLAN;
    }
    if (is_qinq(f)) {
        allowed |= KEYS_CVLAN;
    }
    if (allowed & f->present & TCNL_KEY_BIT(TCNL_KEY_IP_PROTO)) {
        allowed |= keys_by_ip_proto(f->key.ip_proto, type);
    }
    return !(f->present & ~allowed)
           && !(f->present & KEYS_ENC_IPV4 && f->present & KEYS_ENC_IPV6)
           && (f->present & KEYS_ENC_OPTS) != KEYS_ENC_OPTS;
}

/* In a reply the type is that behind the tags, of which the last says it,
 * too. */
static bool
is_type_behind_tags(const struct tcnl_flower *f)
{
    return f->key.eth_type
           == (tcnl_flower_has(f, TCNL_KEY_CVLAN_ETH_TYPE)
               ? f->key.cvlan_eth_type
               : tcnl_flower_has(f, TCNL_KEY_VLAN_ETH_TYPE)
               ? f->key.vlan_eth_type : 0);
}

int
tcnl_flower_set_protocol(struct tcnl_flower *f, uint16_t proto)
{
    bool has_type = tcnl_flower_has(f, TCNL_KEY_ETH_TYPE);

    if (proto == htons(ETH_P_ALL)) {
        return f->present & (KEYS_VLAN | KEYS_CVLAN) ? EOPNOTSUPP : 0;
    }
    if (has_type && f->key.eth_type != proto
        && !(is_vlan_type(proto) && is_type_behind_tags(f))) {
        return EOPNOTSUPP;
    }
    tcnl_flower_set(f, TCNL_KEY_ETH_TYPE, &proto, NULL);
    return 0;
}
