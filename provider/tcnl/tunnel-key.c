/* SPDX-License-Identifier: Apache-2.0 */

/* The attributes of act_tunnel_key. */

#include "action-kind.h"

#include <errno.h>
#include <string.h>
#include <linux/pkt_cls.h>
#include <linux/tc_act/tc_tunnel_key.h>
#include "tunnel-opts.h"

/* TCA_TUNNEL_KEY_NO_FRAG, which older headers do not have. */
#define NO_FRAG 14

struct tcnl_tunnel *
tcnl_actions_add_tunnel(struct tcnl_actions *as, struct tcnl_action *a,
                        const uint8_t *geneve, unsigned int len)
{
    struct tcnl_tunnel *t;

    if (as->n_tunnels >= TCNL_MAX_TUNNELS
        || len > sizeof as->geneve - as->geneve_len) {
        return NULL;
    }
    a->tunnel.set = true;
    a->tunnel.params = as->n_tunnels;
    a->tunnel.geneve_ofs = as->geneve_len;
    t = &as->tunnels[as->n_tunnels++];
    memset(t, 0, sizeof *t);
    t->geneve_len = (uint8_t) len;
    if (len) {
        memcpy(as->geneve + as->geneve_len, geneve, len);
        as->geneve_len = (uint16_t) (as->geneve_len + len);
    }
    return t;
}

static void
put_addresses(struct tcnl_buffer *b, const struct tcnl_tunnel *t)
{
    if (t->family == 4) {
        tcnl_put(b, TCA_TUNNEL_KEY_ENC_IPV4_SRC, t->src, 4);
        tcnl_put(b, TCA_TUNNEL_KEY_ENC_IPV4_DST, t->dst, 4);
    } else {
        tcnl_put(b, TCA_TUNNEL_KEY_ENC_IPV6_SRC, t->src, 16);
        tcnl_put(b, TCA_TUNNEL_KEY_ENC_IPV6_DST, t->dst, 16);
    }
}

static void
put_set(struct tcnl_buffer *b, const struct tcnl_tunnel *t,
        const uint8_t *geneve)
{
    if (t->has_id) {
        tcnl_put_u32(b, TCA_TUNNEL_KEY_ENC_KEY_ID, t->id);
    }
    put_addresses(b, t);
    if (t->tos) {
        tcnl_put_u8(b, TCA_TUNNEL_KEY_ENC_TOS, t->tos);
    }
    if (t->ttl) {
        tcnl_put_u8(b, TCA_TUNNEL_KEY_ENC_TTL, t->ttl);
    }
    if (t->tp_dst) {
        tcnl_put_u16(b, TCA_TUNNEL_KEY_ENC_DST_PORT, t->tp_dst);
    }
    tcnl_put_u8(b, TCA_TUNNEL_KEY_NO_CSUM, !t->csum);
    if (t->dont_fragment) {
        tcnl_put(b, NO_FRAG, NULL, 0);
    }
    if (t->has_gbp) {
        tcnl_gbp_put(b, TCA_TUNNEL_KEY_ENC_OPTS, t->gbp);
    } else if (t->geneve_len) {
        tcnl_geneve_put(b, TCA_TUNNEL_KEY_ENC_OPTS, geneve, geneve,
                        t->geneve_len);
    }
}

static void
put_tunnel_key(struct tcnl_buffer *b, const struct tcnl_actions *as,
               const struct tcnl_action *a)
{
    struct tc_tunnel_key p = {
        .action = (int) a->verdict,
        .t_action = a->tunnel.set ? TCA_TUNNEL_KEY_ACT_SET
                                  : TCA_TUNNEL_KEY_ACT_RELEASE,
    };

    tcnl_put(b, TCA_TUNNEL_KEY_PARMS, &p, sizeof p);
    if (a->tunnel.set) {
        put_set(b, &as->tunnels[a->tunnel.params],
                as->geneve + a->tunnel.geneve_ofs);
    }
}

/* ## Decoding. */

static int
parse_addresses(const struct tcnl_options *o, struct tcnl_tunnel *t)
{
    const struct nlattr *ipv4 = o->a[TCA_TUNNEL_KEY_ENC_IPV4_SRC];
    const struct nlattr *ipv6 = o->a[TCA_TUNNEL_KEY_ENC_IPV6_SRC];
    bool ok;

    if (ipv4 && !ipv6 && !o->a[TCA_TUNNEL_KEY_ENC_IPV6_DST]) {
        t->family = 4;
        ok = tcnl_attr_get(ipv4, t->src, 4)
             && tcnl_option_get(o, TCA_TUNNEL_KEY_ENC_IPV4_DST, t->dst, 4);
    } else if (ipv6 && !ipv4 && !o->a[TCA_TUNNEL_KEY_ENC_IPV4_DST]) {
        t->family = 6;
        ok = tcnl_attr_get(ipv6, t->src, 16)
             && tcnl_option_get(o, TCA_TUNNEL_KEY_ENC_IPV6_DST, t->dst, 16);
    } else {
        return EBADMSG;
    }
    return ok ? 0 : EBADMSG;
}

static int
parse_flags(const struct tcnl_options *o, struct tcnl_tunnel *t)
{
    uint8_t no_csum = 0;

    if (!tcnl_option_get_if(o, TCA_TUNNEL_KEY_NO_CSUM, &no_csum, 1)
        || (o->a[NO_FRAG] && tcnl_attr_len(o->a[NO_FRAG]))) {
        return EBADMSG;
    }
    t->csum = !no_csum;
    t->dont_fragment = o->a[NO_FRAG] != NULL;
    t->has_id = o->a[TCA_TUNNEL_KEY_ENC_KEY_ID] != NULL;
    return 0;
}

static int
parse_fields(const struct tcnl_options *o, struct tcnl_tunnel *t)
{
    if (!tcnl_option_get_if(o, TCA_TUNNEL_KEY_ENC_KEY_ID, &t->id, sizeof t->id)
        || !tcnl_option_get_if(o, TCA_TUNNEL_KEY_ENC_TOS, &t->tos, 1)
        || !tcnl_option_get_if(o, TCA_TUNNEL_KEY_ENC_TTL, &t->ttl, 1)
        || !tcnl_option_get_if(o, TCA_TUNNEL_KEY_ENC_DST_PORT, &t->tp_dst,
                               sizeof t->tp_dst)) {
        return EBADMSG;
    }
    return 0;
}

static int
parse_set(const struct tcnl_options *o, struct tcnl_actions *as,
          struct tcnl_action *a)
{
    struct tcnl_tunnel_opts opts = { .geneve_len = 0 };
    struct tcnl_tunnel *t;
    int error = 0;

    if (o->a[TCA_TUNNEL_KEY_ENC_OPTS]) {
        error = tcnl_tunnel_opts_parse(o->a[TCA_TUNNEL_KEY_ENC_OPTS], &opts);
    }
    if (error) {
        return error;
    }
    t = tcnl_actions_add_tunnel(as, a, opts.geneve, opts.geneve_len);
    if (!t) {
        return EOPNOTSUPP;
    }
    t->has_gbp = opts.has_gbp;
    t->gbp = opts.has_gbp ? opts.gbp : 0;
    error = parse_addresses(o, t);
    if (!error) {
        error = parse_flags(o, t);
    }
    return error ? error : parse_fields(o, t);
}

static int
parse_tunnel_key(const struct tcnl_options *o, struct tcnl_actions *as,
                 struct tcnl_action *a)
{
    struct tc_tunnel_key p;

    if (!tcnl_option_get(o, TCA_TUNNEL_KEY_PARMS, &p, sizeof p)) {
        return EBADMSG;
    }
    a->verdict = (uint32_t) p.action;
    switch (p.t_action) {
    case TCA_TUNNEL_KEY_ACT_RELEASE:
        a->tunnel.set = false;
        return 0;
    case TCA_TUNNEL_KEY_ACT_SET:
        return parse_set(o, as, a);
    default:
        return EOPNOTSUPP;
    }
}

/* Fields of two headers of the same family. */
static const char *
header_differs(const struct tcnl_tunnel *t, const struct tcnl_tunnel *u)
{
    size_t len = t->family == 4 ? 4 : 16;

    if (memcmp(t->src, u->src, len)) {
        return t->family == 4 ? "TCA_TUNNEL_KEY_ENC_IPV4_SRC"
                              : "TCA_TUNNEL_KEY_ENC_IPV6_SRC";
    }
    if (t->family != u->family || memcmp(t->dst, u->dst, len)) {
        return t->family == 4 ? "TCA_TUNNEL_KEY_ENC_IPV4_DST"
                              : "TCA_TUNNEL_KEY_ENC_IPV6_DST";
    }
    return t->has_id != u->has_id || t->id != u->id
           ? "TCA_TUNNEL_KEY_ENC_KEY_ID"
           : t->tos != u->tos ? "TCA_TUNNEL_KEY_ENC_TOS"
           : t->ttl != u->ttl ? "TCA_TUNNEL_KEY_ENC_TTL"
           : t->tp_dst != u->tp_dst ? "TCA_TUNNEL_KEY_ENC_DST_PORT"
           : t->csum != u->csum ? "TCA_TUNNEL_KEY_NO_CSUM"
           : t->dont_fragment != u->dont_fragment ? "TCA_TUNNEL_KEY_NO_FRAG"
           : NULL;
}

static const char *
tunnel_key_differ(const struct tcnl_actions *as, const struct tcnl_action *a,
                  const struct tcnl_actions *bs, const struct tcnl_action *b)
{
    const struct tcnl_tunnel *t, *u;
    const char *name;

    if (!a->tunnel.set || !b->tunnel.set) {
        return a->tunnel.set == b->tunnel.set ? NULL : "TCA_TUNNEL_KEY_PARMS";
    }
    t = &as->tunnels[a->tunnel.params];
    u = &bs->tunnels[b->tunnel.params];
    name = header_differs(t, u);
    if (name) {
        return name;
    }
    return t->has_gbp == u->has_gbp && t->gbp == u->gbp
           && t->geneve_len == u->geneve_len
           && !memcmp(as->geneve + a->tunnel.geneve_ofs,
                      bs->geneve + b->tunnel.geneve_ofs, t->geneve_len)
           ? NULL : "TCA_TUNNEL_KEY_ENC_OPTS";
}

static uint64_t
tunnel_key_form(const struct tcnl_actions *as, const struct tcnl_action *a)
{
    const struct tcnl_tunnel *t = &as->tunnels[a->tunnel.params];

    if (!a->tunnel.set) {
        return 0;
    }
    return t->family | (uint64_t) t->geneve_len << 8
           | (uint64_t) t->has_id << 16 | (uint64_t) (t->tos != 0) << 17
           | (uint64_t) (t->ttl != 0) << 18 | (uint64_t) (t->tp_dst != 0) << 19
           | (uint64_t) t->csum << 20 | (uint64_t) t->dont_fragment << 21
           | (uint64_t) t->has_gbp << 22;
}

const struct tcnl_kind tcnl_kind_tunnel_key = {
    .name = "tunnel_key",
    .tm = TCA_TUNNEL_KEY_TM,
    .pad = TCA_TUNNEL_KEY_PAD,
    .known = (1u << TCA_TUNNEL_KEY_PARMS
              | 1u << TCA_TUNNEL_KEY_ENC_IPV4_SRC
              | 1u << TCA_TUNNEL_KEY_ENC_IPV4_DST
              | 1u << TCA_TUNNEL_KEY_ENC_IPV6_SRC
              | 1u << TCA_TUNNEL_KEY_ENC_IPV6_DST
              | 1u << TCA_TUNNEL_KEY_ENC_KEY_ID
              | 1u << TCA_TUNNEL_KEY_ENC_DST_PORT
              | 1u << TCA_TUNNEL_KEY_NO_CSUM
              | 1u << TCA_TUNNEL_KEY_ENC_OPTS
              | 1u << TCA_TUNNEL_KEY_ENC_TOS
              | 1u << TCA_TUNNEL_KEY_ENC_TTL
              | 1u << NO_FRAG),
    .put = put_tunnel_key,
    .parse = parse_tunnel_key,
    .differ = tunnel_key_differ,
    .form = tunnel_key_form,
};
