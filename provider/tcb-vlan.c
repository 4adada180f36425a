/* SPDX-License-Identifier: Apache-2.0 */

/* Matches on up to two VLAN tags. */

#include <config.h>

#include "tcb-translation.h"

#include <errno.h>

#include "flow.h"
#include "packets.h"
#include "util.h"

/* The keys of one level: a tag's own protocol is the type before it. */
static const struct tcb_tag {
    enum tcnl_key tpid, vid, pcp, next_type;
} tags[] = {
    { TCNL_KEY_ETH_TYPE, TCNL_KEY_VLAN_ID, TCNL_KEY_VLAN_PRIO,
      TCNL_KEY_VLAN_ETH_TYPE },
    { TCNL_KEY_VLAN_ETH_TYPE, TCNL_KEY_CVLAN_ID, TCNL_KEY_CVLAN_PRIO,
      TCNL_KEY_CVLAN_ETH_TYPE },
};

BUILD_ASSERT_DECL(ARRAY_SIZE(tags) == FLOW_MAX_VLAN_HEADERS);

/* True if 'mask' has either none or all of 'bits'. */
static bool
all_or_nothing(ovs_be16 mask, uint16_t bits)
{
    return !(mask & htons(bits)) || (mask & htons(bits)) == htons(bits);
}

/* Translates a TCI.  TC has the presence of a tag in the type before it, and
 * takes id and priority only as a whole. */
static int
translate_tci(const struct tcb_tag *tag, ovs_be16 tci, ovs_be16 mask,
              struct tcnl_flower *flower, struct tcb_refusal *why)
{
    uint16_t vid = vlan_tci_to_vid(tci);
    uint8_t pcp = vlan_tci_to_pcp(tci);

    if (!mask) {
        return 0;
    }
    if (!(mask & htons(VLAN_CFI))
        || !(mask & htons(VLAN_VID_MASK | VLAN_PCP_MASK))
        || !all_or_nothing(mask, VLAN_VID_MASK)
        || !all_or_nothing(mask, VLAN_PCP_MASK)) {
        return tcb_refuse_match(why, "vlan with a partial mask");
    }
    if (mask & htons(VLAN_VID_MASK)) {
        tcnl_flower_set(flower, tag->vid, &vid, NULL);
    }
    if (mask & htons(VLAN_PCP_MASK)) {
        tcnl_flower_set(flower, tag->pcp, &pcp, NULL);
    }
    return 0;
}

static int
translate_tag(const struct tcb_tag *tag, const union flow_vlan_hdr *key,
              const union flow_vlan_hdr *mask, struct tcnl_flower *flower,
              struct tcb_refusal *why)
{
    if (!mask->tpid) {
        return tcb_refuse_match(why, "vlan with any protocol");
    }
    if (!(key->tci & htons(VLAN_CFI))) {
        return tcb_refuse_match(why, "truncated vlan tag");
    }
    tcnl_flower_set(flower, tag->tpid, &key->tpid, NULL);
    return translate_tci(tag, key->tci, mask->tci, flower, why);
}

/* Checks a level where the flow has no tag: the mask may ask for none. */
static int
translate_no_tag(const union flow_vlan_hdr *key,
                 const union flow_vlan_hdr *mask, struct tcb_refusal *why)
{
    return (!mask->tci || (mask->tci == OVS_BE16_MAX && !key->tci)
            ? 0 : tcb_refuse_match(why, "vlan with a partial mask"));
}

/* Translates the Ethernet type and the tags before it. */
int
tcb_vlan_to_flower(struct match *match, struct tcnl_flower *flower,
                   struct tcb_refusal *why)
{
    const union flow_vlan_hdr *key = match->flow.vlans;
    union flow_vlan_hdr *mask = match->wc.masks.vlans;
    enum tcnl_key type = TCNL_KEY_ETH_TYPE;
    bool tagged = true;
    int error = 0;

    for (size_t i = 0; !error && i < ARRAY_SIZE(tags); i++) {
        tagged = tagged && eth_type_vlan(key[i].tpid);
        if (tagged) {
            error = translate_tag(&tags[i], &key[i], &mask[i], flower, why);
            type = tags[i].next_type;
        } else {
            error = translate_no_tag(&key[i], &mask[i], why);
        }
    }
    tcnl_flower_set(flower, type, &match->flow.dl_type, NULL);
    match->wc.masks.dl_type = 0;
    memset(mask, 0, sizeof match->wc.masks.vlans);
    return error;
}

static ovs_be16
type_of(const struct tcnl_flower *flower, enum tcnl_key key)
{
    if (!tcnl_flower_has(flower, key)) {
        return 0;
    }
    return (key == TCNL_KEY_ETH_TYPE ? flower->key.eth_type
            : key == TCNL_KEY_VLAN_ETH_TYPE ? flower->key.vlan_eth_type
            : flower->key.cvlan_eth_type);
}

static void
report_tag(const struct tcnl_flower *flower, size_t i, struct match *match)
{
    union flow_vlan_hdr *key = &match->flow.vlans[i];
    union flow_vlan_hdr *mask = &match->wc.masks.vlans[i];

    key->tpid = type_of(flower, tags[i].tpid);
    mask->tpid = OVS_BE16_MAX;
    key->tci = mask->tci = htons(VLAN_CFI);
    if (tcnl_flower_has(flower, tags[i].vid)) {
        match_set_dl_vlan(match, htons(i ? flower->key.cvlan_id
                                       : flower->key.vlan_id), i);
    }
    if (tcnl_flower_has(flower, tags[i].pcp)) {
        match_set_dl_vlan_pcp(match, i ? flower->key.cvlan_prio
                              : flower->key.vlan_prio, i);
    }
}

int
tcb_vlan_from_flower(const struct tcnl_flower *flower, struct match *match)
{
    ovs_be16 type = type_of(flower, TCNL_KEY_ETH_TYPE);

    for (size_t i = 0; i < ARRAY_SIZE(tags) && eth_type_vlan(type); i++) {
        report_tag(flower, i, match);
        type = type_of(flower, tags[i].next_type);
    }
    if (!type || eth_type_vlan(type)) {
        return EOPNOTSUPP;
    }
    match_set_dl_type(match, type);
    return 0;
}
