/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "round-trip.h"

#include "flow.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/match.h"
#include "packets.h"
#include "util.h"

static bool
sets_headers(const struct dpif_flow_put *put)
{
    const struct nlattr *a;
    size_t left;

    NL_ATTR_FOR_EACH (a, left, put->actions, put->actions_len) {
        switch (nl_attr_type(a)) {
        case OVS_ACTION_ATTR_SET:
        case OVS_ACTION_ATTR_SET_MASKED:
        case OVS_ACTION_ATTR_CHECK_PKT_LEN:
            return true;
        }
    }
    return false;
}

/* Clears what says nothing: bits that are not matched. */
static void
normalise(struct match *m)
{
    if (m->wc.masks.pkt_mark == UINT32_MAX && !m->flow.pkt_mark) {
        m->wc.masks.pkt_mark = 0;
    }
    m->wc.masks.packet_type = 0;
    flow_zero_wildcards(&m->flow, &m->wc);
}

/* Makes of a match that was put what TC can say. */
static void
reduce(struct match *m, const struct match *reported,
       const struct dpif_flow_put *put)
{
    struct flow *key = &m->flow, *mask = &m->wc.masks;

    /* An IP protocol is exact or not matched; with a checksum, exact. */
    if (is_ip_any(key)
        && (mask->nw_proto
            || (sets_headers(put) && reported->wc.masks.nw_proto))) {
        mask->nw_proto = UINT8_MAX;
    }
    /* What is established is not new, and what has a state is tracked. */
    if (key->ct_state & mask->ct_state & CS_ESTABLISHED) {
        mask->ct_state &= ~CS_NEW;
    }
    if (key->ct_state & mask->ct_state) {
        key->ct_state |= CS_TRACKED;
        mask->ct_state |= CS_TRACKED;
    }
    /* The destination port of a tunnel is always matched; a header without a
     * key is one with key 0. */
    if (flow_tnl_dst_is_set(&key->tunnel)) {
        mask->tunnel.tp_dst = OVS_BE16_MAX;
        if (mask->tunnel.tun_id) {
            key->tunnel.flags |= FLOW_TNL_F_KEY;
        }
    }
    /* Of Geneve options, none cannot be matched. */
    if (mask->tunnel.flags & FLOW_TNL_F_UDPIF
        && !key->tunnel.metadata.present.len) {
        mask->tunnel.flags &= ~FLOW_TNL_F_UDPIF;
        key->tunnel.flags &= ~FLOW_TNL_F_UDPIF;
        mask->tunnel.metadata.present.len = 0;
    }
}

static bool
same_match(const struct dpif_flow_put *put, const struct dpif_flow *f,
           struct ds *trouble)
{
    const uint8_t *x, *y;
    struct match a, b;

    if (parse_key_and_mask_to_match(put->key, put->key_len, put->mask,
                                    put->mask_len, &a)
        || parse_key_and_mask_to_match(f->key, f->key_len, f->mask,
                                       f->mask_len, &b)) {
        ds_put_cstr(trouble, "a match that OVS cannot read\n");
        return false;
    }
    reduce(&a, &b, put);
    normalise(&a);
    normalise(&b);
    x = (const uint8_t *) &a;
    y = (const uint8_t *) &b;
    for (size_t i = 0; i < offsetof(struct match, tun_md); i++) {
        if (x[i] != y[i]) {
            ds_put_format(trouble, "byte %"PRIuSIZE" of the %s: %#x, %#x\n",
                          i % sizeof a.flow,
                          i < sizeof a.flow ? "key" : "mask", x[i], y[i]);
            return false;
        }
    }
    return true;
}

/* An explicit drop at the end of others is not shown. */
static size_t
shown_len(const struct nlattr *actions, size_t len)
{
    const struct nlattr *a, *last = NULL;
    size_t left;

    NL_ATTR_FOR_EACH (a, left, actions, len) {
        last = a;
    }
    return (last && last != actions
            && nl_attr_type(last) == OVS_ACTION_ATTR_DROP
            ? (const uint8_t *) last - (const uint8_t *) actions : len);
}

static char *
format_actions(const struct nlattr *actions, size_t len)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    format_odp_actions(&ds, actions, len, NULL);
    return ds_steal_cstr(&ds);
}

static bool
same_actions(const struct dpif_flow_put *put, const struct dpif_flow *f)
{
    char *a = format_actions(put->actions, shown_len(put->actions,
                                                     put->actions_len));
    char *b = format_actions(f->actions, f->actions_len);
    bool same = !strcmp(a, b);

    free(a);
    free(b);
    return same;
}

static void
put_flow(struct ds *ds, const struct nlattr *key, size_t key_len,
         const struct nlattr *mask, size_t mask_len,
         const struct nlattr *actions, size_t actions_len)
{
    odp_flow_format(key, key_len, mask, mask_len, NULL, ds, false, false);
    ds_put_cstr(ds, " actions:");
    format_odp_actions(ds, actions, actions_len, NULL);
    ds_put_char(ds, '\n');
}

bool
round_trip_check(const struct dpif_flow_put *put, const struct dpif_flow *f,
                 struct ds *trouble)
{
    if (same_match(put, f, trouble)) {
        if (same_actions(put, f)) {
            return true;
        }
        ds_put_cstr(trouble, "actions\n");
    }
    ds_put_cstr(trouble, "put:      ");
    put_flow(trouble, put->key, put->key_len, put->mask, put->mask_len,
             put->actions, put->actions_len);
    ds_put_cstr(trouble, "reported: ");
    put_flow(trouble, f->key, f->key_len, f->mask, f->mask_len, f->actions,
             f->actions_len);
    return false;
}
