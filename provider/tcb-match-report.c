/* SPDX-License-Identifier: Apache-2.0 */

/* Flower matches to OVS matches, for full dumps and gets. */

#include <config.h>

#include "tcb-match.h"

#include <errno.h>
#include <linux/pkt_cls.h>

#include "flow.h"
#include "packets.h"
#include "tcb-field.h"
#include "tcb-translation.h"
#include "util.h"

static void
report_frag(const struct tcnl_flower *flower, struct match *match)
{
    uint32_t flags = ntohl(flower->key.flags);
    uint32_t flags_mask = ntohl(flower->mask.flags);
    uint8_t frag = 0, frag_mask = 0;

    if (!tcnl_flower_has(flower, TCNL_KEY_FLAGS)) {
        return;
    }
    if (flags_mask & TCA_FLOWER_KEY_FLAGS_IS_FRAGMENT) {
        frag_mask |= FLOW_NW_FRAG_ANY;
        if (flags & TCA_FLOWER_KEY_FLAGS_IS_FRAGMENT) {
            frag |= FLOW_NW_FRAG_ANY;
        }
    }
    if (flags_mask & TCA_FLOWER_KEY_FLAGS_FRAG_IS_FIRST) {
        frag_mask |= FLOW_NW_FRAG_LATER;
        if (!(flags & TCA_FLOWER_KEY_FLAGS_FRAG_IS_FIRST)) {
            frag |= FLOW_NW_FRAG_LATER;
        }
    }
    match_set_nw_frag_masked(match, frag, frag_mask);
}

static void
report_icmp(const struct tcnl_flower *flower, struct match *match)
{
    if (tcnl_flower_has(flower, TCNL_KEY_ICMP_TYPE)) {
        match_set_tp_src_masked(match, htons(flower->key.icmp_type),
                                htons(flower->mask.icmp_type));
    }
    if (tcnl_flower_has(flower, TCNL_KEY_ICMP_CODE)) {
        match_set_tp_dst_masked(match, htons(flower->key.icmp_code),
                                htons(flower->mask.icmp_code));
    }
}

static void
report_plain_field(const struct tcb_field *f,
                   const struct tcnl_flower *flower, struct match *match)
{
    const uint8_t *value = (const uint8_t *) &flower->key + f->flower_ofs;
    const uint8_t *bits = (const uint8_t *) &flower->mask + f->flower_ofs;
    uint8_t *key = (uint8_t *) &match->flow + f->flow_ofs;
    uint8_t *mask = (uint8_t *) &match->wc.masks + f->flow_ofs;

    for (size_t i = 0; i < f->size; i++) {
        key[i] = value[i] & bits[i];
        mask[i] = bits[i];
    }
}

int
tcb_match_from_flower(const struct tcnl_flower *flower, uint32_t chain,
                      odp_port_t in_port, struct match *match)
{
    int error;

    match_init_catchall(match);
    match->flow.in_port.odp_port = in_port;
    match->wc.masks.in_port.odp_port = u32_to_odp(UINT32_MAX);
    match_set_recirc_id(match, chain);

    error = tcb_vlan_from_flower(flower, match);
    if (error) {
        return error;
    }
    tcb_mpls_from_flower(flower, match);
    tcb_ct_state_from_flower(flower, match);
    tcb_tunnel_from_flower(flower, match);
    if (tcnl_flower_has(flower, TCNL_KEY_IP_PROTO)) {
        match_set_nw_proto(match, flower->key.ip_proto);
    }
    report_frag(flower, match);
    report_icmp(flower, match);
    for (size_t i = 0; i < tcb_n_fields; i++) {
        if (tcnl_flower_has(flower, tcb_fields[i].key)) {
            report_plain_field(&tcb_fields[i], flower, match);
        }
    }
    return 0;
}
