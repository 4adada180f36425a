/* SPDX-License-Identifier: Apache-2.0 */

/* Tunnel metadata: matches on the header that a packet came with, and the
 * header that it gets. */

#include <config.h>

#include "tcb-translation.h"

#include <errno.h>

#include "flow.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "packets.h"
#include "tcnl/ack.h"
#include "tcnl/probe.h"
#include "tcnl/tunnel-opts.h"
#include "util.h"

/* Members of struct flow_tnl that are plain keys.  An address of 0 is none, so
 * only one family has masks. */
#define TCB_TUNNEL_FIELDS                                       \
    TCB_TUNNEL_FIELD(ENC_IPV4_SRC, enc_ipv4_src, ip_src)        \
    TCB_TUNNEL_FIELD(ENC_IPV4_DST, enc_ipv4_dst, ip_dst)        \
    TCB_TUNNEL_FIELD(ENC_IPV6_SRC, enc_ipv6_src, ipv6_src)      \
    TCB_TUNNEL_FIELD(ENC_IPV6_DST, enc_ipv6_dst, ipv6_dst)      \
    TCB_TUNNEL_FIELD(ENC_IP_TOS, enc_ip_tos, ip_tos)            \
    TCB_TUNNEL_FIELD(ENC_IP_TTL, enc_ip_ttl, ip_ttl)            \
    TCB_TUNNEL_FIELD(ENC_SRC_PORT, enc_src_port, tp_src)        \
    TCB_TUNNEL_FIELD(ENC_DST_PORT, enc_dst_port, tp_dst)

static const struct {
    enum tcnl_key key;
    size_t flower_ofs, tnl_ofs, size;
} fields[] = {
#define TCB_TUNNEL_FIELD(KEY, FLOWER, TNL)                              \
    { TCNL_KEY_##KEY, offsetof(struct tcnl_flower_fields, FLOWER),      \
      offsetof(struct flow_tnl, TNL), MEMBER_SIZEOF(struct flow_tnl, TNL) },
TCB_TUNNEL_FIELDS
#undef TCB_TUNNEL_FIELD
};

#define TCB_TUNNEL_FIELD(KEY, FLOWER, TNL)                              \
    BUILD_ASSERT_DECL(MEMBER_SIZEOF(struct tcnl_flower_fields, FLOWER)  \
                      == MEMBER_SIZEOF(struct flow_tnl, TNL));
TCB_TUNNEL_FIELDS
#undef TCB_TUNNEL_FIELD

static const struct {
    uint16_t ovs;               /* FLOW_TNL_F_*. */
    uint32_t tc;
} flags[] = {
    { FLOW_TNL_F_OAM, TCNL_ENC_FLAGS_OAM },
    { FLOW_TNL_F_DONT_FRAGMENT, TCNL_ENC_FLAGS_DONT_FRAGMENT },
    { FLOW_TNL_F_CSUM, TCNL_ENC_FLAGS_CSUM },
};

static void
translate_fields(const struct flow_tnl *tnl, struct flow_tnl *mask,
                 struct tcnl_flower *flower)
{
    /* Drivers want the port of a tunnel exactly; it does not vary. */
    mask->tp_dst = OVS_BE16_MAX;
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        uint8_t *bits = (uint8_t *) mask + fields[i].tnl_ofs;

        tcnl_flower_set(flower, fields[i].key,
                        (const uint8_t *) tnl + fields[i].tnl_ofs, bits);
        memset(bits, 0, fields[i].size);
    }
}

/* TC has 32 bits of the id, all of them or none, and 0 where the header has no
 * key. */
static int
translate_id(const struct flow_tnl *tnl, struct flow_tnl *mask,
             struct tcnl_flower *flower, struct tcb_refusal *why)
{
    uint32_t id = htonl(ntohll(tnl->tun_id & mask->tun_id));

    if (!mask->tun_id) {
        return 0;
    }
    if (mask->tun_id != OVS_BE64_MAX) {
        return tcb_refuse_match(why, "tunnel id with a partial mask");
    }
    if (ntohll(tnl->tun_id) > UINT32_MAX) {
        return tcb_refuse_match(why, "tunnel id above 32 bits");
    }
    tcnl_flower_set(flower, TCNL_KEY_ENC_KEY_ID, &id, NULL);
    mask->tun_id = 0;
    mask->flags &= ~FLOW_TNL_F_KEY;
    return 0;
}

/* Kernels that cannot match flags match packets with any: as every flow asks
 * for the first two, refusing it would mean no tunnels at all. */
static void
translate_flags(const struct flow_tnl *tnl, struct flow_tnl *mask,
                const struct tcnl_abilities *able, struct tcnl_flower *flower)
{
    uint32_t value = 0, bits = 0;

    if (!able->enc_flags) {
        mask->flags &= ~(FLOW_TNL_F_DONT_FRAGMENT | FLOW_TNL_F_CSUM);
        return;
    }
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
        if (mask->flags & flags[i].ovs) {
            bits |= flags[i].tc;
            value |= tnl->flags & flags[i].ovs ? flags[i].tc : 0;
            mask->flags &= ~flags[i].ovs;
        }
    }
    value = htonl(value);
    bits = htonl(bits);
    tcnl_flower_set(flower, TCNL_KEY_ENC_FLAGS, &value, &bits);
}

/* Bits of a group policy that the kernel does not know are never set. */
static int
translate_gbp(const struct flow_tnl *tnl, struct flow_tnl *mask,
              struct tcnl_flower *flower, struct tcb_refusal *why)
{
    uint32_t gbp = odp_encode_gbp_raw(tnl->gbp_flags, tnl->gbp_id);
    uint32_t bits = odp_encode_gbp_raw(mask->gbp_flags, mask->gbp_id);

    if (gbp & bits & ~TCNL_GBP_MASK) {
        return tcb_refuse_match(why, "tunnel with unknown vxlan gbp flags");
    }
    bits &= TCNL_GBP_MASK;
    tcnl_flower_set(flower, TCNL_KEY_ENC_GBP, &gbp, &bits);
    mask->gbp_id = 0;
    mask->gbp_flags = 0;
    return 0;
}

/* Options of Geneve; their lengths are always exact.  Without options nothing
 * is matched: TC cannot ask that there be none. */
static int
translate_geneve(const struct flow_tnl *tnl, struct flow_tnl *mask,
                 struct tcnl_flower *flower, struct tcb_refusal *why)
{
    const uint8_t *opts = tnl->metadata.opts.u8;
    unsigned int len = tnl->metadata.present.len;

    if (!(tnl->flags & FLOW_TNL_F_UDPIF)) {
        if (tnl->metadata.present.map) {
            return tcb_refuse_match(why, "tunnel options in table format");
        }
        mask->flags &= ~FLOW_TNL_F_UDPIF;
        mask->metadata.present.map = 0;
        return 0;
    }
    if (len > TCNL_MAX_GENEVE || !tcnl_geneve_is_valid(opts, len)) {
        return tcb_refuse_match(why, "tunnel with odd geneve options");
    }
    for (unsigned int i = 0; i < len; i += tcnl_geneve_option_size(opts + i)) {
        if (opts[i + 3] & mask->metadata.opts.u8[i + 3]
            & ~TCNL_GENEVE_LEN_MASK) {
            return tcb_refuse_match(why, "tunnel with reserved geneve bits");
        }
    }
    if (len) {
        tcnl_flower_set_geneve(flower, opts, mask->metadata.opts.u8, len);
        memset(mask->metadata.opts.u8, 0, len);
    }
    mask->flags &= ~FLOW_TNL_F_UDPIF;
    mask->metadata.present.len = 0;
    return 0;
}

/* What is left in the mask is the caller's to refuse. */
int
tcb_tunnel_to_flower(struct match *match, const struct tcnl_abilities *able,
                     bool geneve, struct tcnl_flower *flower,
                     struct tcb_refusal *why)
{
    const struct flow_tnl *tnl = &match->flow.tunnel;
    struct flow_tnl *mask = &match->wc.masks.tunnel;
    int error;

    if (!flow_tnl_dst_is_set(tnl) && !flow_tnl_src_is_set(tnl)) {
        /* Bits that have no effect: the packet is from no tunnel. */
        memset(mask, 0, sizeof *mask);
        return 0;
    }
    translate_fields(tnl, mask, flower);
    translate_flags(tnl, mask, able, flower);
    error = translate_id(tnl, mask, flower, why);
    if (!error) {
        error = translate_gbp(tnl, mask, flower, why);
    }
    if (!error && geneve) {
        error = translate_geneve(tnl, mask, flower, why);
    }
    if (!error && !tcnl_flower_is_complete(flower)) {
        return tcb_refuse_match(why, "tunnel of two kinds");
    }
    return error;
}

static void
report_flags(const struct tcnl_flower *flower, struct flow_tnl *tnl,
             struct flow_tnl *mask)
{
    for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
        if (flower->mask.enc_flags & htonl(flags[i].tc)) {
            mask->flags |= flags[i].ovs;
            if (flower->key.enc_flags & htonl(flags[i].tc)) {
                tnl->flags |= flags[i].ovs;
            }
        }
    }
}

static void
report_geneve(const struct tcnl_flower *flower, struct flow_tnl *tnl,
              struct flow_tnl *mask)
{
    unsigned int len = flower->key.enc_geneve_len;

    tnl->flags |= FLOW_TNL_F_UDPIF;
    mask->flags |= FLOW_TNL_F_UDPIF;
    tnl->metadata.present.len = len;
    mask->metadata.present.len = 0xff;
    memcpy(tnl->metadata.opts.u8, flower->geneve.key, len);
    memcpy(mask->metadata.opts.u8, flower->geneve.mask, len);
}

void
tcb_tunnel_from_flower(const struct tcnl_flower *flower, struct match *match)
{
    struct flow_tnl *tnl = &match->flow.tunnel;
    struct flow_tnl *mask = &match->wc.masks.tunnel;

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        if (tcnl_flower_has(flower, fields[i].key)) {
            memcpy((uint8_t *) tnl + fields[i].tnl_ofs,
                   (const uint8_t *) &flower->key + fields[i].flower_ofs,
                   fields[i].size);
            memcpy((uint8_t *) mask + fields[i].tnl_ofs,
                   (const uint8_t *) &flower->mask + fields[i].flower_ofs,
                   fields[i].size);
        }
    }
    if (tcnl_flower_has(flower, TCNL_KEY_ENC_KEY_ID)) {
        match_set_tun_id(match, htonll(ntohl(flower->key.enc_key_id)));
        tnl->flags |= FLOW_TNL_F_KEY;
        mask->flags |= FLOW_TNL_F_KEY;
    }
    if (tcnl_flower_has(flower, TCNL_KEY_ENC_FLAGS)) {
        report_flags(flower, tnl, mask);
    }
    if (tcnl_flower_has(flower, TCNL_KEY_ENC_GBP)) {
        odp_decode_gbp_raw(flower->key.enc_gbp, &tnl->gbp_id,
                           &tnl->gbp_flags);
        odp_decode_gbp_raw(flower->mask.enc_gbp, &mask->gbp_id,
                           &mask->gbp_flags);
    }
    if (tcnl_flower_has(flower, TCNL_KEY_ENC_GENEVE)) {
        report_geneve(flower, tnl, mask);
    }
}

/* ## Actions. */

int
tcb_release_tunnel(struct tcb_translation *t)
{
    struct tcnl_action *a;

    if (!t->from_tunnel || t->released) {
        return 0;
    }
    a = tcb_add_action(t, TCNL_ACT_TUNNEL_KEY, TC_ACT_PIPE, true);
    if (!a) {
        return EOPNOTSUPP;
    }
    a->tunnel.set = false;
    t->released = t->maybe_released = true;
    return 0;
}

/* What a set action asks for; the options are not copied. */
struct tcb_encap {
    struct tcnl_tunnel tunnel;
    const uint8_t *geneve;
    unsigned int geneve_len;
};

static int
read_address(struct tcb_translation *t, const struct nlattr *nla,
             uint8_t family, struct tcnl_tunnel *tunnel, uint8_t to[16])
{
    if (tunnel->family && tunnel->family != family) {
        return tcb_refuse_action(t, "set(tunnel) of two address families");
    }
    tunnel->family = family;
    memcpy(to, nl_attr_get_unspec(nla, family == 4 ? 4 : 16),
           family == 4 ? 4 : 16);
    return 0;
}

static int
read_id(struct tcb_translation *t, const struct nlattr *nla,
        struct tcnl_tunnel *tunnel)
{
    uint64_t id = ntohll(nl_attr_get_be64(nla));

    if (id > UINT32_MAX) {
        return tcb_refuse_action(t, "set(tunnel) with an id above 32 bits");
    }
    tunnel->has_id = true;
    tunnel->id = htonl(id);
    return 0;
}

static int
read_gbp(struct tcb_translation *t, const struct nlattr *nla,
         struct tcnl_tunnel *tunnel)
{
    uint8_t gbp_flags = 0;
    ovs_be16 id = 0;
    bool present = false;

    if (!t->able->vxlan_gbp
        || odp_vxlan_tun_opts_from_attr(nla, &id, &gbp_flags, &present)) {
        return tcb_refuse_action(t, "set(tunnel(vxlan))");
    }
    tunnel->has_gbp = present;
    tunnel->gbp = odp_encode_gbp_raw(gbp_flags, id);
    if (tunnel->gbp & ~TCNL_GBP_MASK) {
        return tcb_refuse_action(t, "set(tunnel) with unknown gbp flags");
    }
    return 0;
}

static int
read_geneve(struct tcb_translation *t, const struct nlattr *nla,
            struct tcb_encap *e)
{
    const uint8_t *opts = nl_attr_get(nla);
    size_t len = nl_attr_get_size(nla);

    if (len > TCNL_MAX_GENEVE || !tcnl_geneve_is_valid(opts, len)) {
        return tcb_refuse_action(t, "set(tunnel) with odd geneve options");
    }
    for (size_t i = 0; i < len; i += tcnl_geneve_option_size(opts + i)) {
        if (opts[i + 3] & ~TCNL_GENEVE_LEN_MASK) {
            return tcb_refuse_action(t, "set(tunnel) with reserved bits");
        }
    }
    e->geneve = opts;
    e->geneve_len = len;
    return 0;
}

/* What is refused, with names. */
static int
refuse_attr(struct tcb_translation *t, uint16_t type)
{
    switch (type) {
    case OVS_TUNNEL_KEY_ATTR_TP_SRC:
        return tcb_refuse_action(t, "set(tunnel(tp_src))");
    case OVS_TUNNEL_KEY_ATTR_OAM:
        return tcb_refuse_action(t, "set(tunnel(oam))");
    case OVS_TUNNEL_KEY_ATTR_ERSPAN_OPTS:
        return tcb_refuse_action(t, "set(tunnel(erspan))");
    default:
        return tcb_refuse_action(t, "set(tunnel) with an unknown option");
    }
}

static int
read_attr(struct tcb_translation *t, const struct nlattr *nla,
          struct tcb_encap *e)
{
    struct tcnl_tunnel *tunnel = &e->tunnel;

    switch (nl_attr_type(nla)) {
    case OVS_TUNNEL_KEY_ATTR_ID:
        return read_id(t, nla, tunnel);
    case OVS_TUNNEL_KEY_ATTR_IPV4_SRC:
        return read_address(t, nla, 4, tunnel, tunnel->src);
    case OVS_TUNNEL_KEY_ATTR_IPV4_DST:
        return read_address(t, nla, 4, tunnel, tunnel->dst);
    case OVS_TUNNEL_KEY_ATTR_IPV6_SRC:
        return read_address(t, nla, 6, tunnel, tunnel->src);
    case OVS_TUNNEL_KEY_ATTR_IPV6_DST:
        return read_address(t, nla, 6, tunnel, tunnel->dst);
    case OVS_TUNNEL_KEY_ATTR_TOS:
        tunnel->tos = nl_attr_get_u8(nla);
        return 0;
    case OVS_TUNNEL_KEY_ATTR_TTL:
        tunnel->ttl = nl_attr_get_u8(nla);
        return 0;
    case OVS_TUNNEL_KEY_ATTR_TP_DST:
        tunnel->tp_dst = nl_attr_get_be16(nla);
        return 0;
    case OVS_TUNNEL_KEY_ATTR_CSUM:
        tunnel->csum = true;
        return 0;
    case OVS_TUNNEL_KEY_ATTR_DONT_FRAGMENT:
        tunnel->dont_fragment = t->able->enc_flags;
        return 0;
    case OVS_TUNNEL_KEY_ATTR_GENEVE_OPTS:
        return read_geneve(t, nla, e);
    case OVS_TUNNEL_KEY_ATTR_VXLAN_OPTS:
        return read_gbp(t, nla, tunnel);
    default:
        return refuse_attr(t, nl_attr_type(nla));
    }
}

static int
check_encap(struct tcb_translation *t, const struct tcb_encap *e)
{
    if (!e->tunnel.family
        || is_all_zeros(e->tunnel.dst, sizeof e->tunnel.dst)) {
        return tcb_refuse_action(t, "set(tunnel) without a destination");
    }
    if (e->tunnel.has_gbp && e->geneve_len) {
        return tcb_refuse_action(t, "set(tunnel) with options of two kinds");
    }
    return 0;
}

int
tcb_translate_set_tunnel(struct tcb_translation *t, const struct nlattr *set)
{
    struct tcb_encap e = { .geneve_len = 0 };
    struct tcnl_tunnel *tunnel;
    const struct nlattr *nla;
    struct tcnl_action *a;
    size_t left;
    int error;

    NL_NESTED_FOR_EACH (nla, left, set) {
        error = read_attr(t, nla, &e);
        if (error) {
            return error;
        }
    }
    error = check_encap(t, &e);
    if (!error) {
        error = tcb_release_tunnel(t);
    }
    if (error) {
        return error;
    }
    a = tcb_add_action(t, TCNL_ACT_TUNNEL_KEY, tcb_verdict(t), true);
    if (!a) {
        return EOPNOTSUPP;
    }
    tunnel = tcnl_actions_add_tunnel(t->tc, a, e.geneve, e.geneve_len);
    if (!tunnel) {
        return tcb_refuse_limit(t, "tunnels");
    }
    e.tunnel.geneve_len = tunnel->geneve_len;
    *tunnel = e.tunnel;
    return 0;
}

static void
report_addresses(const struct tcnl_tunnel *tunnel, struct ofpbuf *out)
{
    bool v4 = tunnel->family == 4;
    size_t size = v4 ? 4 : 16;

    if (!is_all_zeros(tunnel->src, size)) {
        nl_msg_put_unspec(out, (v4 ? OVS_TUNNEL_KEY_ATTR_IPV4_SRC
                                : OVS_TUNNEL_KEY_ATTR_IPV6_SRC),
                          tunnel->src, size);
    }
    nl_msg_put_unspec(out, (v4 ? OVS_TUNNEL_KEY_ATTR_IPV4_DST
                            : OVS_TUNNEL_KEY_ATTR_IPV6_DST),
                      tunnel->dst, size);
}

static void
report_options(const struct tcnl_tunnel *tunnel, const uint8_t *geneve,
               struct ofpbuf *out)
{
    size_t nest;

    if (tunnel->has_gbp) {
        nest = nl_msg_start_nested(out, OVS_TUNNEL_KEY_ATTR_VXLAN_OPTS);
        nl_msg_put_u32(out, OVS_VXLAN_EXT_GBP, tunnel->gbp);
        nl_msg_end_nested(out, nest);
    } else if (tunnel->geneve_len) {
        nl_msg_put_unspec(out, OVS_TUNNEL_KEY_ATTR_GENEVE_OPTS, geneve,
                          tunnel->geneve_len);
    }
}

/* A TTL is always there, as in what OVS sends. */
static void
report_fields(const struct tcnl_tunnel *tunnel, struct ofpbuf *out)
{
    if (tunnel->has_id) {
        nl_msg_put_be64(out, OVS_TUNNEL_KEY_ATTR_ID,
                        htonll(ntohl(tunnel->id)));
    }
    report_addresses(tunnel, out);
    if (tunnel->tos) {
        nl_msg_put_u8(out, OVS_TUNNEL_KEY_ATTR_TOS, tunnel->tos);
    }
    nl_msg_put_u8(out, OVS_TUNNEL_KEY_ATTR_TTL, tunnel->ttl);
    if (tunnel->tp_dst) {
        nl_msg_put_be16(out, OVS_TUNNEL_KEY_ATTR_TP_DST, tunnel->tp_dst);
    }
    if (tunnel->csum) {
        nl_msg_put_flag(out, OVS_TUNNEL_KEY_ATTR_CSUM);
    }
    if (tunnel->dont_fragment) {
        nl_msg_put_flag(out, OVS_TUNNEL_KEY_ATTR_DONT_FRAGMENT);
    }
}

/* A release is a part of the output behind it. */
int
tcb_report_tunnel(const struct tcnl_actions *tc, const struct tcnl_action *a,
                  struct ofpbuf *out)
{
    const struct tcnl_tunnel *tunnel;
    size_t set, nest;

    if (!a->tunnel.set) {
        return 0;
    }
    tunnel = &tc->tunnels[a->tunnel.params];
    set = nl_msg_start_nested(out, OVS_ACTION_ATTR_SET);
    nest = nl_msg_start_nested(out, OVS_KEY_ATTR_TUNNEL);
    report_fields(tunnel, out);
    report_options(tunnel, tc->geneve + a->tunnel.geneve_ofs, out);
    nl_msg_end_nested(out, nest);
    nl_msg_end_nested(out, set);
    return 0;
}
