/* SPDX-License-Identifier: Apache-2.0 */
#include "tunnel-opts.h"

#include <errno.h>
#include <string.h>
#include <linux/pkt_cls.h>
#include <linux/tc_act/tc_tunnel_key.h>
#include "attr.h"

/* Classifier and action have numbers of their own, which are the same. */
#define SAME(A, B) \
    _Static_assert((int) TCA_FLOWER_KEY_##A == (int) TCA_TUNNEL_KEY_##B, #A)
SAME(ENC_OPTS_GENEVE, ENC_OPTS_GENEVE);
SAME(ENC_OPTS_VXLAN, ENC_OPTS_VXLAN);
SAME(ENC_OPT_GENEVE_CLASS, ENC_OPT_GENEVE_CLASS);
SAME(ENC_OPT_GENEVE_TYPE, ENC_OPT_GENEVE_TYPE);
SAME(ENC_OPT_GENEVE_DATA, ENC_OPT_GENEVE_DATA);
SAME(ENC_OPT_VXLAN_GBP, ENC_OPT_VXLAN_GBP);

bool
tcnl_geneve_is_valid(const uint8_t *opts, unsigned int len)
{
    while (len) {
        unsigned int size;

        if (len < 4) {
            return false;
        }
        size = tcnl_geneve_option_size(opts);
        if (size == 4 || size > len) {
            return false;
        }
        opts += size;
        len -= size;
    }
    return true;
}

void
tcnl_gbp_put(struct tcnl_buffer *b, uint16_t type, uint32_t gbp)
{
    size_t outer = tcnl_nest_begin(b, type);
    size_t inner = tcnl_nest_begin(b, TCA_TUNNEL_KEY_ENC_OPTS_VXLAN);

    tcnl_put_u32(b, TCA_TUNNEL_KEY_ENC_OPT_VXLAN_GBP, gbp);
    tcnl_nest_end(b, inner);
    tcnl_nest_end(b, outer);
}

void
tcnl_geneve_put(struct tcnl_buffer *b, uint16_t type, const uint8_t *layout,
                const uint8_t *opts, unsigned int len)
{
    size_t outer = tcnl_nest_begin(b, type);

    for (unsigned int ofs = 0; ofs < len; ) {
        unsigned int size = tcnl_geneve_option_size(layout + ofs);
        size_t inner = tcnl_nest_begin(b, TCA_TUNNEL_KEY_ENC_OPTS_GENEVE);

        tcnl_put(b, TCA_TUNNEL_KEY_ENC_OPT_GENEVE_CLASS, opts + ofs, 2);
        tcnl_put(b, TCA_TUNNEL_KEY_ENC_OPT_GENEVE_TYPE, opts + ofs + 2, 1);
        tcnl_put(b, TCA_TUNNEL_KEY_ENC_OPT_GENEVE_DATA, opts + ofs + 4,
                 size - 4);
        tcnl_nest_end(b, inner);
        ofs += size;
    }
    tcnl_nest_end(b, outer);
}

/* ## Decoding. */

static int
parse_gbp(const struct nlattr *nest, struct tcnl_tunnel_opts *o)
{
    struct tcnl_attrs it = tcnl_attrs_nested(nest);
    const struct nlattr *a = tcnl_attrs_next(&it);

    if (!a || tcnl_attr_type(a) != TCA_TUNNEL_KEY_ENC_OPT_VXLAN_GBP
        || !tcnl_attr_get(a, &o->gbp, sizeof o->gbp)
        || tcnl_attrs_next(&it) || !tcnl_attrs_ok(&it)) {
        return EBADMSG;
    }
    o->has_gbp = true;
    return o->gbp & ~TCNL_GBP_MASK ? EOPNOTSUPP : 0;
}

/* The data closes an option: class and type have gone before, to 'header'. */
static int
add_option(const struct nlattr *data, const uint8_t header[4],
           struct tcnl_tunnel_opts *o)
{
    size_t len = tcnl_attr_len(data);

    if (!len || len % 4 || len / 4 > TCNL_GENEVE_LEN_MASK) {
        return EBADMSG;
    }
    if (o->geneve_len + 4 + len > sizeof o->geneve) {
        return EOPNOTSUPP;
    }
    memcpy(o->geneve + o->geneve_len, header, 3);
    o->geneve[o->geneve_len + 3] = (uint8_t) (len / 4);
    memcpy(o->geneve + o->geneve_len + 4, tcnl_attr_data(data), len);
    o->geneve_len = (uint8_t) (o->geneve_len + 4 + len);
    return 0;
}

/* Class, type and data, any number of times. */
static int
parse_geneve(const struct nlattr *nest, struct tcnl_tunnel_opts *o)
{
    struct tcnl_attrs it = tcnl_attrs_nested(nest);
    unsigned int expected = TCA_TUNNEL_KEY_ENC_OPT_GENEVE_CLASS;
    const struct nlattr *a;
    uint8_t header[4];

    while ((a = tcnl_attrs_next(&it))) {
        int error = 0;

        if (tcnl_attr_type(a) != expected) {
            return EBADMSG;
        }
        switch (expected++) {
        case TCA_TUNNEL_KEY_ENC_OPT_GENEVE_CLASS:
            error = tcnl_attr_get(a, header, 2) ? 0 : EBADMSG;
            break;
        case TCA_TUNNEL_KEY_ENC_OPT_GENEVE_TYPE:
            error = tcnl_attr_get(a, header + 2, 1) ? 0 : EBADMSG;
            break;
        case TCA_TUNNEL_KEY_ENC_OPT_GENEVE_DATA:
            error = add_option(a, header, o);
            expected = TCA_TUNNEL_KEY_ENC_OPT_GENEVE_CLASS;
            break;
        }
        if (error) {
            return error;
        }
    }
    return tcnl_attrs_ok(&it)
           && expected == TCA_TUNNEL_KEY_ENC_OPT_GENEVE_CLASS ? 0 : EBADMSG;
}

static int
parse_nest(const struct nlattr *nest, struct tcnl_tunnel_opts *o)
{
    switch (tcnl_attr_type(nest)) {
    case TCA_TUNNEL_KEY_ENC_OPTS_GENEVE:
        return o->has_gbp ? EBADMSG : parse_geneve(nest, o);
    case TCA_TUNNEL_KEY_ENC_OPTS_VXLAN:
        return o->has_gbp || o->geneve_len ? EBADMSG : parse_gbp(nest, o);
    default:
        return EOPNOTSUPP;
    }
}

int
tcnl_tunnel_opts_parse(const struct nlattr *attr, struct tcnl_tunnel_opts *o)
{
    struct tcnl_attrs it = tcnl_attrs_nested(attr);
    const struct nlattr *nest;

    o->has_gbp = false;
    o->geneve_len = 0;
    while ((nest = tcnl_attrs_next(&it))) {
        int error = parse_nest(nest, o);

        if (error) {
            return error;
        }
    }
    return tcnl_attrs_ok(&it) && (o->has_gbp || o->geneve_len) ? 0 : EBADMSG;
}
