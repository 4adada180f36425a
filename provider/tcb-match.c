/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "tcb-match.h"

#include <errno.h>
#include <linux/pkt_cls.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <string.h>

#include "flow.h"
#include "packets.h"
#include "tcb-field.h"
#include "tcb-translation.h"
#include "tcnl/ack.h"
#include "tcnl/probe.h"
#include "util.h"

static bool
is_ipv4(const struct flow *flow)
{
    return flow->dl_type == htons(ETH_TYPE_IP);
}

static bool
is_ipv6(const struct flow *flow)
{
    return flow->dl_type == htons(ETH_TYPE_IPV6);
}

static bool
has_ports(uint8_t nw_proto)
{
    return (nw_proto == IPPROTO_TCP || nw_proto == IPPROTO_UDP
            || nw_proto == IPPROTO_SCTP);
}

/* ICMP of the right kind: flower ignores ICMPv4 keys for IPv6 packets and the
 * other way round. */
static bool
is_icmp(const struct flow *flow)
{
    return flow->nw_proto == (is_ipv4(flow) ? IPPROTO_ICMP : IPPROTO_ICMPV6);
}

/* L4 keys only mean something to TC beside an exact IP protocol. */
static bool
field_applies(enum tcb_needs needs, const struct flow *flow,
              const struct tcnl_abilities *able,
              const struct tcnl_flower *flower)
{
    bool l4 = tcnl_flower_has(flower, TCNL_KEY_IP_PROTO);

    switch (needs) {
    case NEEDS_NOTHING: return true;
    case NEEDS_ARP:     return is_arp(flow);
    case NEEDS_IP:      return is_ip_any(flow);
    case NEEDS_IPV4:    return is_ipv4(flow);
    case NEEDS_IPV6:    return is_ipv6(flow);
    case NEEDS_PORTS:   return l4 && has_ports(flow->nw_proto);
    case NEEDS_CT:      return able->ct_states != 0;
    case NEEDS_TCP:     return l4 && flow->nw_proto == IPPROTO_TCP;
    default:            OVS_NOT_REACHED();
    }
}

int
tcb_refuse_match(struct tcb_refusal *why, const char *detail)
{
    tcb_refuse(why, TCB_CAUSE_MATCH, "%s", detail);
    return EOPNOTSUPP;
}

static int
translate_chain(struct match *match, uint32_t *chain, struct tcb_refusal *why)
{
    if (match->flow.recirc_id > TCB_MAX_CHAIN) {
        tcb_refuse(why, TCB_CAUSE_RECIRC,
                   "recirc_id %#"PRIx32" is above the largest chain",
                   match->flow.recirc_id);
        return EOPNOTSUPP;
    }
    *chain = match->flow.recirc_id;
    match->wc.masks.recirc_id = 0;
    match->wc.masks.in_port.odp_port = 0;
    return 0;
}

/* Clears mask bits that have no effect. */
static void
translate_metadata(struct match *match)
{
    /* An exact match on mark 0 is what OVS asks for if it only wants to be
     * sure that nobody has set one. */
    if (match->wc.masks.pkt_mark == UINT32_MAX && !match->flow.pkt_mark) {
        match->wc.masks.pkt_mark = 0;
    }
    if (!match->flow.packet_type) {
        match->wc.masks.packet_type = 0;
    }
}

/* Of a frame with more tags than vlan-limit says, Open vSwitch knows the tag
 * after the last that it may look at, and nothing behind it, so it does not
 * match fragments either.  The type behind all tags becomes exact, which is a
 * part of what it has asked for. */
static bool
is_type_hidden(const struct match *match)
{
    return (!match->wc.masks.dl_type && match->flow.dl_type
            && eth_type_vlan(match->flow.vlans[1].tpid)
            && match->wc.masks.vlans[1].tpid == OVS_BE16_MAX
            && !match->wc.masks.vlans[1].tci);
}

static int
translate_eth_type(struct match *match, struct tcnl_flower *flower,
                   struct tcb_refusal *why)
{
    if (match->wc.masks.dl_type != OVS_BE16_MAX) {
        return tcb_refuse_match(why, "eth_type that is not exact");
    }
    if (match->flow.dl_type == htons(FLOW_DL_TYPE_NONE)) {
        return tcb_refuse_match(why, "frame without an eth_type");
    }
    return tcb_vlan_to_flower(match, flower, why);
}

/* OVS matches fragments exactly in every IP flow.  TC can say "is a fragment"
 * and "is the first one"; the latter is only asked for where there is one. */
static int
translate_frag(struct match *match, struct tcnl_flower *flower,
               struct tcb_refusal *why)
{
    uint8_t key = match->flow.nw_frag;
    uint8_t mask = match->wc.masks.nw_frag;
    uint32_t flags = 0, flags_mask = TCA_FLOWER_KEY_FLAGS_IS_FRAGMENT;
    ovs_be32 be_flags, be_mask;

    if (!(mask & FLOW_NW_FRAG_ANY)) {
        return tcb_refuse_match(why, "frag that is not exact");
    }
    if (key & FLOW_NW_FRAG_ANY) {
        flags |= TCA_FLOWER_KEY_FLAGS_IS_FRAGMENT;
        if (mask & FLOW_NW_FRAG_LATER) {
            flags_mask |= TCA_FLOWER_KEY_FLAGS_FRAG_IS_FIRST;
            if (!(key & FLOW_NW_FRAG_LATER)) {
                flags |= TCA_FLOWER_KEY_FLAGS_FRAG_IS_FIRST;
            }
        }
    }
    be_flags = htonl(flags);
    be_mask = htonl(flags_mask);
    tcnl_flower_set(flower, TCNL_KEY_FLAGS, &be_flags, &be_mask);
    match->wc.masks.nw_frag = 0;
    return 0;
}

/* The kernel's flow dissector does not see IPv6 fragments as OVS does. */
static bool
is_ipv6_fragment(const struct match *match)
{
    const struct flow *key = &match->flow;
    const struct flow *mask = &match->wc.masks;

    return (is_ipv6(key)
            && ((mask->nw_proto && key->nw_proto == IPPROTO_FRAGMENT)
                || (key->nw_frag & mask->nw_frag & FLOW_NW_FRAG_ANY)));
}

static int
translate_ip(struct match *match, struct tcnl_flower *flower,
             struct tcb_refusal *why)
{
    struct flow *mask = &match->wc.masks;

    if (!is_ip_any(&match->flow)) {
        return 0;
    }
    if (is_ipv6_fragment(match)) {
        return tcb_refuse_match(why, "frag of IPv6");
    }
    /* TC has no mask for the protocol: a masked match becomes exact, which is
     * a part of what OVS has asked for. */
    if (mask->nw_proto) {
        tcnl_flower_set(flower, TCNL_KEY_IP_PROTO, &match->flow.nw_proto,
                        NULL);
        mask->nw_proto = 0;
    }
    return translate_frag(match, flower, why);
}

/* Type and code are 8 bits in the packet, 16 in struct flow, where a mask on
 * the upper ones says nothing as long as they are to be zero. */
static void
translate_icmp_field(ovs_be16 key, ovs_be16 *mask, enum tcnl_key tcnl_key,
                     struct tcnl_flower *flower)
{
    uint8_t value = ntohs(key);
    uint8_t value_mask = ntohs(*mask);

    if (key & *mask & htons(0xff00)) {
        return;
    }
    if (value_mask) {
        tcnl_flower_set(flower, tcnl_key, &value, &value_mask);
    }
    *mask = 0;
}

static void
translate_icmp(struct match *match, struct tcnl_flower *flower)
{
    const struct flow *key = &match->flow;
    struct flow *mask = &match->wc.masks;

    if (is_ip_any(key) && is_icmp(key)
        && tcnl_flower_has(flower, TCNL_KEY_IP_PROTO)) {
        translate_icmp_field(key->tp_src, &mask->tp_src, TCNL_KEY_ICMP_TYPE,
                             flower);
        translate_icmp_field(key->tp_dst, &mask->tp_dst, TCNL_KEY_ICMP_CODE,
                             flower);
    }
}

/* is_all_zeros() goes byte by byte. */
static bool
is_zero(const uint8_t *p, size_t size)
{
    uint64_t words[2] = { 0, 0 };

    switch (size) {
    case 1: return !*p;
    case 2: memcpy(words, p, 2); break;
    case 4: memcpy(words, p, 4); break;
    case 6: memcpy(words, p, 6); break;
    case 16: memcpy(words, p, 16); break;
    default: return is_all_zeros(p, size);
    }
    return !(words[0] | words[1]);
}

static void
translate_plain_fields(struct match *match, const struct tcnl_abilities *able,
                       struct tcnl_flower *flower)
{
    const uint8_t *key = (const uint8_t *) &match->flow;
    uint8_t *mask = (uint8_t *) &match->wc.masks;

    for (size_t i = 0; i < tcb_n_fields; i++) {
        const struct tcb_field *f = &tcb_fields[i];

        if (!is_zero(mask + f->flow_ofs, f->size)
            && field_applies(f->needs, &match->flow, able, flower)) {
            tcnl_flower_set(flower, f->key, key + f->flow_ofs,
                            mask + f->flow_ofs);
            memset(mask + f->flow_ofs, 0, f->size);
        }
    }
}

/* Refuses if anything of the mask has not been consumed. */
static int
check_leftovers(const struct match *match, struct tcb_refusal *why)
{
    static const struct flow no_masks;

    return (!memcmp(&match->wc.masks, &no_masks, sizeof no_masks)
            ? 0 : tcb_refuse_match(why, tcb_field_in_mask(&match->wc.masks)));
}

int
tcb_match_to_flower(struct match *match, const struct tcnl_abilities *able,
                    bool geneve, struct tcnl_flower *flower, uint32_t *chain,
                    struct tcb_refusal *why)
{
    bool type_hidden = is_type_hidden(match);
    int error;

    tcnl_flower_init(flower);
    if (type_hidden) {
        match->wc.masks.dl_type = OVS_BE16_MAX;
    }
    translate_metadata(match);
    error = translate_chain(match, chain, why);
    if (!error) {
        error = tcb_tunnel_to_flower(match, able, geneve, flower, why);
    }
    if (!error) {
        error = translate_eth_type(match, flower, why);
    }
    if (!error) {
        error = tcb_mpls_to_flower(match, flower, why);
    }
    if (!error && !type_hidden) {
        error = translate_ip(match, flower, why);
    }
    if (!error) {
        error = tcb_ct_state_to_flower(match, able, flower, why);
    }
    if (error) {
        return error;
    }
    translate_icmp(match, flower);
    translate_plain_fields(match, able, flower);
    return check_leftovers(match, why);
}
