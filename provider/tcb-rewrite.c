/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "tcb-rewrite.h"

#include <errno.h>
#include <string.h>

#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "flow.h"
#include "packets.h"
#include "util.h"

/* A member of a header's struct and the rewrite that sets it. */
struct tcb_set_field {
    enum tcnl_rewrite rw;
    size_t ofs, size;
};

/* A header that can be set.  'fixed' are members that the datapath takes in a
 * set action but never changes: an action without a mask has them too. */
struct tcb_set_header {
    enum ovs_key_attr attr;
    enum tcb_rewrite_layer layer;
    size_t size;
    struct tcb_set_field fields[4];
    size_t n_fields;
    struct { size_t ofs, size; } fixed[2];
};

#define FIELD(RW, STRUCT, MEMBER)                                       \
    { TCNL_RW_##RW, offsetof(struct STRUCT, MEMBER),                    \
      MEMBER_SIZEOF(struct STRUCT, MEMBER) }
#define FIXED(STRUCT, MEMBER)                                           \
    { offsetof(struct STRUCT, MEMBER), MEMBER_SIZEOF(struct STRUCT, MEMBER) }

/* In the order of their attributes, which is the order in which a full dump
 * shows them. */
static const struct tcb_set_header headers[] = {
    { OVS_KEY_ATTR_ETHERNET, TCB_LAYER_ETH, sizeof(struct ovs_key_ethernet),
      { FIELD(ETH_SRC, ovs_key_ethernet, eth_src),
        FIELD(ETH_DST, ovs_key_ethernet, eth_dst) }, 2,
      { { 0, 0 } } },
    { OVS_KEY_ATTR_ETHERTYPE, TCB_LAYER_ETH, sizeof(ovs_be16),
      { { TCNL_RW_ETH_TYPE, 0, sizeof(ovs_be16) } }, 1,
      { { 0, 0 } } },
    { OVS_KEY_ATTR_IPV4, TCB_LAYER_IPV4, sizeof(struct ovs_key_ipv4),
      { FIELD(IPV4_SRC, ovs_key_ipv4, ipv4_src),
        FIELD(IPV4_DST, ovs_key_ipv4, ipv4_dst),
        FIELD(IPV4_TTL, ovs_key_ipv4, ipv4_ttl),
        FIELD(IPV4_TOS, ovs_key_ipv4, ipv4_tos) }, 4,
      { FIXED(ovs_key_ipv4, ipv4_proto), FIXED(ovs_key_ipv4, ipv4_frag) } },
    { OVS_KEY_ATTR_IPV6, TCB_LAYER_L4, sizeof(struct ovs_key_ipv6),
      { FIELD(IPV6_SRC, ovs_key_ipv6, ipv6_src),
        FIELD(IPV6_DST, ovs_key_ipv6, ipv6_dst),
        FIELD(IPV6_HLIMIT, ovs_key_ipv6, ipv6_hlimit),
        FIELD(IPV6_TCLASS, ovs_key_ipv6, ipv6_tclass) }, 4,
      { FIXED(ovs_key_ipv6, ipv6_proto), FIXED(ovs_key_ipv6, ipv6_frag) } },
    { OVS_KEY_ATTR_TCP, TCB_LAYER_L4, sizeof(struct ovs_key_tcp),
      { FIELD(TCP_SRC, ovs_key_tcp, tcp_src),
        FIELD(TCP_DST, ovs_key_tcp, tcp_dst) }, 2,
      { { 0, 0 } } },
    { OVS_KEY_ATTR_UDP, TCB_LAYER_L4, sizeof(struct ovs_key_udp),
      { FIELD(UDP_SRC, ovs_key_udp, udp_src),
        FIELD(UDP_DST, ovs_key_udp, udp_dst) }, 2,
      { { 0, 0 } } },
};

#undef FIELD
#undef FIXED

/* Room for value and mask of the largest of them. */
union tcb_set_data {
    struct ovs_key_ethernet eth;
    struct ovs_key_ipv4 ipv4;
    struct ovs_key_ipv6 ipv6;
    uint8_t bytes[sizeof(struct ovs_key_ipv6)];
};

/* Names of what is refused as a whole. */
static const char *
header_name(uint16_t attr)
{
    static const struct { uint16_t attr; const char *name; } names[] = {
        { OVS_KEY_ATTR_TUNNEL, "tunnel" },
        { OVS_KEY_ATTR_MPLS, "mpls" },
        { OVS_KEY_ATTR_SKB_MARK, "skb_mark" },
        { OVS_KEY_ATTR_PRIORITY, "skb_priority" },
        { OVS_KEY_ATTR_SCTP, "sctp" },
        { OVS_KEY_ATTR_ICMP, "icmp" },
        { OVS_KEY_ATTR_ICMPV6, "icmpv6" },
        { OVS_KEY_ATTR_ARP, "arp" },
        { OVS_KEY_ATTR_ND, "nd" },
        { OVS_KEY_ATTR_ND_EXTENSIONS, "nd_ext" },
        { OVS_KEY_ATTR_NSH, "nsh" },
        { OVS_KEY_ATTR_ETHERNET, "eth" },
        { OVS_KEY_ATTR_ETHERTYPE, "eth_type" },
        { OVS_KEY_ATTR_IPV4, "ipv4" },
        { OVS_KEY_ATTR_IPV6, "ipv6" },
        { OVS_KEY_ATTR_TCP, "tcp" },
        { OVS_KEY_ATTR_UDP, "udp" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (names[i].attr == attr) {
            return names[i].name;
        }
    }
    return NULL;
}

static int
refuse_set(struct tcb_refusal *why, uint16_t attr, const char *detail)
{
    const char *name = header_name(attr);

    if (name) {
        tcb_refuse(why, TCB_CAUSE_ACTION, "set(%s)%s", name, detail);
    } else {
        tcb_refuse(why, TCB_CAUSE_ACTION, "set(key %"PRIu16")%s", attr,
                   detail);
    }
    return EOPNOTSUPP;
}

static const struct tcb_set_header *
find_header(uint16_t attr)
{
    for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
        if (headers[i].attr == attr) {
            return &headers[i];
        }
    }
    return NULL;
}

/* Copies the mask of 'set'; without one all that can change is written. */
static void
read_mask(const struct tcb_set_header *h, const uint8_t *data, bool masked,
          union tcb_set_data *mask)
{
    if (masked) {
        memcpy(mask->bytes, data + h->size, h->size);
        return;
    }
    memset(mask->bytes, 0xff, h->size);
    for (size_t i = 0; i < ARRAY_SIZE(h->fixed); i++) {
        memset(mask->bytes + h->fixed[i].ofs, 0, h->fixed[i].size);
    }
}

int
tcb_rewrite_from_set(const struct nlattr *set, bool masked,
                     struct tcnl_rewrites *rewrites,
                     enum tcb_rewrite_layer *layer, struct tcb_refusal *why)
{
    uint16_t attr = nl_attr_type(set);
    const struct tcb_set_header *h = find_header(attr);
    const uint8_t *data = nl_attr_get(set);
    union tcb_set_data mask;

    if (!h || nl_attr_get_size(set) != h->size * (masked ? 2 : 1)) {
        return refuse_set(why, attr, "");
    }

    read_mask(h, data, masked, &mask);
    rewrites->present = 0;
    for (size_t i = 0; i < h->n_fields; i++) {
        const struct tcb_set_field *f = &h->fields[i];

        if (!is_all_zeros(mask.bytes + f->ofs, f->size)) {
            tcnl_rewrite_set(rewrites, f->rw, data + f->ofs,
                             mask.bytes + f->ofs);
            memset(mask.bytes + f->ofs, 0, f->size);
        }
    }
    if (!is_all_zeros(mask.bytes, h->size)) {
        return refuse_set(why, attr, " of a field that TC does not set");
    }
    if (!rewrites->present) {
        return refuse_set(why, attr, " of nothing");
    }
    *layer = h->layer;
    return 0;
}

static void
put_set(const struct tcb_set_header *h, const struct tcnl_rewrites *rewrites_,
        struct ofpbuf *out)
{
    struct tcnl_rewrites rewrites = *rewrites_;
    uint8_t *put = NULL;
    size_t nest = 0;

    for (size_t i = 0; i < h->n_fields; i++) {
        const struct tcb_set_field *f = &h->fields[i];

        if (!(rewrites.present & TCNL_RW_BIT(f->rw))) {
            continue;
        }
        if (!put) {
            nest = nl_msg_start_nested(out, OVS_ACTION_ATTR_SET_MASKED);
            put = nl_msg_put_unspec_zero(out, h->attr, h->size * 2);
        }
        memcpy(put + f->ofs, tcnl_rewrite_field(&rewrites.value, f->rw),
               f->size);
        memcpy(put + h->size + f->ofs,
               tcnl_rewrite_field(&rewrites.mask, f->rw), f->size);
    }
    if (put) {
        nl_msg_end_nested(out, nest);
    }
}

void
tcb_rewrite_put_sets(const struct tcnl_rewrites *rewrites, struct ofpbuf *out)
{
    for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
        put_set(&headers[i], rewrites, out);
    }
}

static void
merge_field(struct tcnl_rewrites *all, struct tcnl_rewrites *more,
            enum tcnl_rewrite rw)
{
    uint8_t *value = tcnl_rewrite_field(&all->value, rw);
    uint8_t *mask = tcnl_rewrite_field(&all->mask, rw);
    const uint8_t *new_value = tcnl_rewrite_field(&more->value, rw);
    const uint8_t *new_mask = tcnl_rewrite_field(&more->mask, rw);
    size_t size = tcnl_rewrite_size(rw);

    if (!(all->present & TCNL_RW_BIT(rw))) {
        memset(value, 0, size);
        memset(mask, 0, size);
        all->present |= TCNL_RW_BIT(rw);
    }
    for (size_t i = 0; i < size; i++) {
        value[i] = (value[i] & ~new_mask[i]) | new_value[i];
        mask[i] |= new_mask[i];
    }
}

void
tcb_rewrite_merge(struct tcnl_rewrites *all, const struct tcnl_rewrites *more_)
{
    struct tcnl_rewrites more = *more_;

    for (int rw = 0; rw < TCNL_N_REWRITES; rw++) {
        if (more.present & TCNL_RW_BIT(rw)) {
            merge_field(all, &more, rw);
        }
    }
}

/* Where struct flow has the fields that can be set back. */
static const struct {
    enum tcnl_rewrite rw;
    size_t ofs;
} flow_fields[] = {
    { TCNL_RW_ETH_SRC, offsetof(struct flow, dl_src) },
    { TCNL_RW_ETH_DST, offsetof(struct flow, dl_dst) },
    { TCNL_RW_IPV4_SRC, offsetof(struct flow, nw_src) },
    { TCNL_RW_IPV4_DST, offsetof(struct flow, nw_dst) },
    { TCNL_RW_IPV4_TTL, offsetof(struct flow, nw_ttl) },
    { TCNL_RW_IPV4_TOS, offsetof(struct flow, nw_tos) },
    { TCNL_RW_IPV6_SRC, offsetof(struct flow, ipv6_src) },
    { TCNL_RW_IPV6_DST, offsetof(struct flow, ipv6_dst) },
    { TCNL_RW_IPV6_HLIMIT, offsetof(struct flow, nw_ttl) },
    { TCNL_RW_IPV6_TCLASS, offsetof(struct flow, nw_tos) },
    { TCNL_RW_TCP_SRC, offsetof(struct flow, tp_src) },
    { TCNL_RW_TCP_DST, offsetof(struct flow, tp_dst) },
    { TCNL_RW_UDP_SRC, offsetof(struct flow, tp_src) },
    { TCNL_RW_UDP_DST, offsetof(struct flow, tp_dst) },
};

static bool
undo_field(const uint8_t *key, const uint8_t *mask,
           struct tcnl_rewrites *done, enum tcnl_rewrite rw,
           struct tcnl_rewrites *undo)
{
    const uint8_t *set = tcnl_rewrite_field(&done->value, rw);
    const uint8_t *set_mask = tcnl_rewrite_field(&done->mask, rw);
    bool is_set = done->present & TCNL_RW_BIT(rw);
    uint8_t *value = tcnl_rewrite_field(&undo->value, rw);
    const uint8_t *bits = tcnl_rewrite_field(&undo->mask, rw);

    for (size_t i = 0; i < tcnl_rewrite_size(rw); i++) {
        uint8_t from_set = is_set ? set_mask[i] : 0;

        if (bits[i] & ~from_set & ~mask[i]) {
            return false;
        }
        value[i] = ((is_set ? set[i] : 0) | (key[i] & ~from_set)) & bits[i];
    }
    return true;
}

bool
tcb_rewrite_undo(const struct flow *flow, const struct flow *masks,
                 const struct tcnl_rewrites *done_,
                 struct tcnl_rewrites *undo)
{
    struct tcnl_rewrites done = *done_;
    uint32_t left = undo->present;

    for (size_t i = 0; i < ARRAY_SIZE(flow_fields); i++) {
        uint32_t bit = TCNL_RW_BIT(flow_fields[i].rw);
        size_t ofs = flow_fields[i].ofs;

        if (left & bit) {
            if (!undo_field((const uint8_t *) flow + ofs,
                            (const uint8_t *) masks + ofs, &done,
                            flow_fields[i].rw, undo)) {
                return false;
            }
            left &= ~bit;
        }
    }
    return !left;
}
