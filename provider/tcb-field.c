/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "tcb-field.h"

#include "flow.h"
#include "util.h"

/* The keys that are a plain copy of a member of struct flow and of its mask.
 * Keys that need more thought have functions of their own: Ethernet type and
 * VLAN, MPLS, ct_state and tunnels in files of their names, IP protocol,
 * fragments and ICMP in tcb-match.c.
 *
 *          flower key, member of struct tcnl_flower_fields, of struct flow */
#define TCB_PLAIN_FIELDS                                        \
    TCB_FIELD(ETH_DST,   eth_dst,   dl_dst,    NEEDS_NOTHING)   \
    TCB_FIELD(ETH_SRC,   eth_src,   dl_src,    NEEDS_NOTHING)   \
    TCB_FIELD(ARP_SIP,   arp_sip,   nw_src,    NEEDS_ARP)       \
    TCB_FIELD(ARP_TIP,   arp_tip,   nw_dst,    NEEDS_ARP)       \
    TCB_FIELD(ARP_OP,    arp_op,    nw_proto,  NEEDS_ARP)       \
    TCB_FIELD(ARP_SHA,   arp_sha,   arp_sha,   NEEDS_ARP)       \
    TCB_FIELD(ARP_THA,   arp_tha,   arp_tha,   NEEDS_ARP)       \
    TCB_FIELD(IP_TOS,    ip_tos,    nw_tos,    NEEDS_IP)        \
    TCB_FIELD(IP_TTL,    ip_ttl,    nw_ttl,    NEEDS_IP)        \
    TCB_FIELD(IPV4_SRC,  ipv4_src,  nw_src,    NEEDS_IPV4)      \
    TCB_FIELD(IPV4_DST,  ipv4_dst,  nw_dst,    NEEDS_IPV4)      \
    TCB_FIELD(IPV6_SRC,  ipv6_src,  ipv6_src,  NEEDS_IPV6)      \
    TCB_FIELD(IPV6_DST,  ipv6_dst,  ipv6_dst,  NEEDS_IPV6)      \
    TCB_FIELD(TP_SRC,    tp_src,    tp_src,    NEEDS_PORTS)     \
    TCB_FIELD(TP_DST,    tp_dst,    tp_dst,    NEEDS_PORTS)     \
    TCB_FIELD(TCP_FLAGS, tcp_flags, tcp_flags, NEEDS_TCP)       \
    TCB_FIELD(CT_ZONE,   ct_zone,   ct_zone,   NEEDS_CT)        \
    TCB_FIELD(CT_MARK,   ct_mark,   ct_mark,   NEEDS_CT)        \
    TCB_FIELD(CT_LABELS, ct_labels, ct_label,  NEEDS_CT)

#define TCB_FIELD(KEY, FLOWER, FLOW, NEEDS)                             \
    BUILD_ASSERT_DECL(MEMBER_SIZEOF(struct tcnl_flower_fields, FLOWER)  \
                      == MEMBER_SIZEOF(struct flow, FLOW));
TCB_PLAIN_FIELDS
#undef TCB_FIELD

const struct tcb_field tcb_fields[] = {
#define TCB_FIELD(KEY, FLOWER, FLOW, NEEDS)                             \
    { TCNL_KEY_##KEY, NEEDS,                                            \
      offsetof(struct tcnl_flower_fields, FLOWER),                      \
      offsetof(struct flow, FLOW), MEMBER_SIZEOF(struct flow, FLOW) },
TCB_PLAIN_FIELDS
#undef TCB_FIELD
};

const size_t tcb_n_fields = ARRAY_SIZE(tcb_fields);

/* Names of all that a mask can hold, to tell which part of it was left over.
 * The names are those of the datapath's textual flows or, where it has none,
 * of OpenFlow. */
#define TCB_FLOW_NAMES                                                  \
    TCB_NAME("tunnel", tunnel)                                          \
    TCB_NAME("metadata", metadata)                                      \
    TCB_NAME("register", regs)                                          \
    TCB_NAME("skb_priority", skb_priority)                              \
    TCB_NAME("skb_mark", pkt_mark)                                      \
    TCB_NAME("dp_hash", dp_hash)                                        \
    TCB_NAME("in_port", in_port)                                        \
    TCB_NAME("recirc_id", recirc_id)                                    \
    TCB_NAME("ct_state", ct_state)                                      \
    TCB_NAME("ct_zone", ct_zone)                                        \
    TCB_NAME("ct_mark", ct_mark)                                        \
    TCB_NAME("ct_label", ct_label)                                      \
    TCB_NAME("ct_nw_proto", ct_nw_proto)                                \
    TCB_NAME("ct_nw_src", ct_nw_src)                                    \
    TCB_NAME("ct_nw_dst", ct_nw_dst)                                    \
    TCB_NAME("ct_ipv6_src", ct_ipv6_src)                                \
    TCB_NAME("ct_ipv6_dst", ct_ipv6_dst)                                \
    TCB_NAME("ct_tp_src", ct_tp_src)                                    \
    TCB_NAME("ct_tp_dst", ct_tp_dst)                                    \
    TCB_NAME("packet_type", packet_type)                                \
    TCB_NAME("conj_id", conj_id)                                        \
    TCB_NAME("actset_output", actset_output)                            \
    TCB_NAME("eth dst", dl_dst)                                         \
    TCB_NAME("eth src", dl_src)                                         \
    TCB_NAME("eth_type", dl_type)                                       \
    TCB_NAME("vlan", vlans)                                             \
    TCB_NAME("mpls", mpls_lse)                                          \
    TCB_NAME("nsh", nsh)                                                \
    TCB_NAME("nd target", nd_target)                                    \
    TCB_NAME("nw_src", nw_src)                                          \
    TCB_NAME("nw_dst", nw_dst)                                          \
    TCB_NAME("ipv6_src", ipv6_src)                                      \
    TCB_NAME("ipv6_dst", ipv6_dst)                                      \
    TCB_NAME("ipv6 label", ipv6_label)                                  \
    TCB_NAME("frag", nw_frag)                                           \
    TCB_NAME("tos", nw_tos)                                             \
    TCB_NAME("ttl", nw_ttl)                                             \
    TCB_NAME("nw_proto", nw_proto)                                      \
    TCB_NAME("sha or nd sll", arp_sha)                                  \
    TCB_NAME("tha or nd tll", arp_tha)                                  \
    TCB_NAME("tcp_flags or nd options", tcp_flags)                      \
    TCB_NAME("tp_src", tp_src)                                          \
    TCB_NAME("tp_dst", tp_dst)                                          \
    TCB_NAME("igmp group or nd reserved", igmp_group_ip4)

/* Whoever changes struct flow must change the names above. */
BUILD_ASSERT_DECL(FLOW_WC_SEQ == 43);

static const struct {
    const char *name;
    size_t ofs, size;
} flow_names[] = {
#define TCB_NAME(NAME, FLOW)                                            \
    { NAME, offsetof(struct flow, FLOW), MEMBER_SIZEOF(struct flow, FLOW) },
TCB_FLOW_NAMES
#undef TCB_NAME
};

const char *
tcb_field_in_mask(const struct flow *mask)
{
    const uint8_t *bytes = (const uint8_t *) mask;

    for (size_t i = 0; i < ARRAY_SIZE(flow_names); i++) {
        if (!is_all_zeros(bytes + flow_names[i].ofs, flow_names[i].size)) {
            return flow_names[i].name;
        }
    }
    return "unknown key";
}
