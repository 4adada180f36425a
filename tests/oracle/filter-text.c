/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "filter-text.h"

#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_csum.h>
#include <linux/tc_act/tc_ct.h>
#include <linux/tc_act/tc_gact.h>
#include <linux/tc_act/tc_mirred.h>
#include <linux/tc_act/tc_mpls.h>
#include <linux/tc_act/tc_pedit.h>
#include <linux/tc_act/tc_skbedit.h>
#include <linux/tc_act/tc_tunnel_key.h>
#include <linux/tc_act/tc_vlan.h>
#include <string.h>

#include "netlink.h"
#include "util.h"

/* Police actions that filters share have indexes from the pools of the
 * providers, those that are a filter's own have low ones. */
#define FIRST_SHARED_POLICE 0x10000000

/* Prios up to here are the same in both providers, the others are given away
 * as Ethernet types come. */
#define LAST_FIXED_PRIO 4

struct reader {
    struct filter_text *text;
    int (*port)(const void *aux, int ifindex);
    const void *aux;
};

/* Which attributes of an action's options hold times and padding, and the
 * parameters that begin with a struct tc_gen. */
static const struct kind {
    const char *name;
    uint16_t params, tm, pad;
} kinds[] = {
    { "gact", TCA_GACT_PARMS, TCA_GACT_TM, TCA_GACT_PAD },
    { "mirred", TCA_MIRRED_PARMS, TCA_MIRRED_TM, TCA_MIRRED_PAD },
    { "vlan", TCA_VLAN_PARMS, TCA_VLAN_TM, TCA_VLAN_PAD },
    { "pedit", TCA_PEDIT_PARMS_EX, TCA_PEDIT_TM, TCA_PEDIT_PAD },
    { "csum", TCA_CSUM_PARMS, TCA_CSUM_TM, TCA_CSUM_PAD },
    { "skbedit", TCA_SKBEDIT_PARMS, TCA_SKBEDIT_TM, TCA_SKBEDIT_PAD },
    { "mpls", TCA_MPLS_PARMS, TCA_MPLS_TM, TCA_MPLS_PAD },
    { "ct", TCA_CT_PARMS, TCA_CT_TM, TCA_CT_PAD },
    { "tunnel_key", TCA_TUNNEL_KEY_PARMS, TCA_TUNNEL_KEY_TM,
      TCA_TUNNEL_KEY_PAD },
    { "police", TCA_POLICE_TBF, TCA_POLICE_TM, TCA_POLICE_PAD },
};

struct gen {
    tc_gen;
};

void
filter_text_init(struct filter_text *text)
{
    ds_init(&text->keys);
    ds_init(&text->actions);
    ds_init(&text->cookies);
    text->has_cookie = text->two_cookies = false;
}

void
filter_text_uninit(struct filter_text *text)
{
    ds_destroy(&text->keys);
    ds_destroy(&text->actions);
    ds_destroy(&text->cookies);
}

static void
put_hex(struct ds *ds, const void *data_, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *data = data_;

    for (size_t i = 0; i < len; i++) {
        ds_put_char(ds, digits[data[i] >> 4]);
        ds_put_char(ds, digits[data[i] & 15]);
    }
    ds_put_char(ds, '\n');
}

static void
put_attr(struct ds *ds, const char *what, const struct nlattr *a)
{
    ds_put_format(ds, "%s %d ", what, nl_attr_type(a));
    put_hex(ds, nl_attr_get(a), nl_attr_get_size(a));
}

static const struct kind *
find_kind(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (!strcmp(kinds[i].name, name)) {
            return &kinds[i];
        }
    }
    return NULL;
}

/* Parameters without what the kernel counts and chooses. */
static void
put_params(struct reader *r, const struct kind *kind, const struct nlattr *a)
{
    struct ds *ds = &r->text->actions;
    size_t len = nl_attr_get_size(a);
    uint8_t *params = xmemdup(nl_attr_get(a), len);
    struct gen gen;

    ovs_assert(len >= sizeof gen);
    memcpy(&gen, params, sizeof gen);
    gen.index = gen.refcnt = gen.bindcnt = 0;
    memcpy(params, &gen, sizeof gen);
    if (!strcmp(kind->name, "mirred")) {
        struct tc_mirred mirred;

        ovs_assert(len == sizeof mirred);
        memcpy(&mirred, params, sizeof mirred);
        mirred.ifindex = r->port(r->aux, mirred.ifindex);
        memcpy(params, &mirred, sizeof mirred);
    }
    ds_put_cstr(ds, "  params ");
    put_hex(ds, params, len);
    free(params);
}

static bool
is_shared_police(const struct nlattr *options)
{
    const struct nlattr *a = nl_attr_find_nested(options, TCA_POLICE_TBF);
    struct tc_police police;

    if (!a || nl_attr_get_size(a) != sizeof police) {
        return false;
    }
    memcpy(&police, nl_attr_get(a), sizeof police);
    return police.index >= FIRST_SHARED_POLICE;
}

static void
put_police(struct reader *r, const struct nlattr *a, bool shared)
{
    struct ds *ds = &r->text->actions;
    struct tc_police police;

    ovs_assert(nl_attr_get_size(a) == sizeof police);
    memcpy(&police, nl_attr_get(a), sizeof police);
    if (shared) {
        ds_put_format(ds, "  meter rate %"PRIu32" action %d\n",
                      police.rate.rate, police.action);
    } else {
        police.index = police.refcnt = police.bindcnt = 0;
        ds_put_cstr(ds, "  params ");
        put_hex(ds, &police, sizeof police);
    }
}

static void
put_options(struct reader *r, const char *kind_name,
            const struct nlattr *options)
{
    const struct kind *kind = find_kind(kind_name);
    bool police = !strcmp(kind_name, "police");
    bool shared = police && is_shared_police(options);
    const struct nlattr *a;
    size_t left;

    NL_NESTED_FOR_EACH (a, left, options) {
        uint16_t type = nl_attr_type(a);

        if (kind && (type == kind->tm || type == kind->pad)) {
            continue;
        } else if (police && type == kind->params) {
            put_police(r, a, shared);
        } else if (kind && type == kind->params) {
            put_params(r, kind, a);
        } else if (!shared || type == TCA_POLICE_RATE64
                   || type == TCA_POLICE_PKTRATE64) {
            put_attr(&r->text->actions, "  option", a);
        }
    }
}

static void
put_cookie(struct filter_text *text, int action, const struct nlattr *a)
{
    ovs_u128 cookie = OVS_U128_ZERO;

    memcpy(&cookie, nl_attr_get(a), MIN(sizeof cookie, nl_attr_get_size(a)));
    if (!text->has_cookie) {
        text->cookie = cookie;
        text->has_cookie = true;
    }
    text->two_cookies |= !ovs_u128_equals(cookie, text->cookie);
    ds_put_format(&text->cookies, "cookie on action %d\n", action);
}

static void
put_action(struct reader *r, const struct nlattr *nest)
{
    const struct nlattr *kind = nl_attr_find_nested(nest, TCA_ACT_KIND);
    struct ds *ds = &r->text->actions;
    const struct nlattr *a;
    size_t left;

    ds_put_format(ds, "action %d: %s\n", nl_attr_type(nest),
                  kind ? nl_attr_get_string(kind) : "?");
    NL_NESTED_FOR_EACH (a, left, nest) {
        switch (nl_attr_type(a)) {
        case TCA_ACT_KIND:
        case TCA_ACT_INDEX:
        case TCA_ACT_STATS:
        case TCA_ACT_PAD:
            break;
        case TCA_ACT_COOKIE:
            put_cookie(r->text, nl_attr_type(nest), a);
            break;
        case TCA_ACT_OPTIONS:
            put_options(r, kind ? nl_attr_get_string(kind) : "?", a);
            break;
        default:
            put_attr(ds, "  attribute", a);
            break;
        }
    }
}

/* The attribute with the mask of 'type', 0 if there is none. */
static uint16_t
mask_of(uint16_t type)
{
#define MASKED(KEY) { TCA_FLOWER_KEY_##KEY, TCA_FLOWER_KEY_##KEY##_MASK }
    static const struct { uint16_t value, mask; } masks[] = {
        MASKED(ETH_DST), MASKED(ETH_SRC), MASKED(IPV4_SRC), MASKED(IPV4_DST),
        MASKED(IPV6_SRC), MASKED(IPV6_DST), MASKED(TCP_SRC), MASKED(TCP_DST),
        MASKED(UDP_SRC), MASKED(UDP_DST), MASKED(SCTP_SRC), MASKED(SCTP_DST),
        MASKED(ENC_IPV4_SRC), MASKED(ENC_IPV4_DST), MASKED(ENC_IPV6_SRC),
        MASKED(ENC_IPV6_DST), MASKED(FLAGS), MASKED(ICMPV4_TYPE),
        MASKED(ICMPV4_CODE), MASKED(ICMPV6_TYPE), MASKED(ICMPV6_CODE),
        MASKED(ARP_SIP), MASKED(ARP_TIP), MASKED(ARP_OP), MASKED(ARP_SHA),
        MASKED(ARP_THA), MASKED(TCP_FLAGS), MASKED(IP_TOS), MASKED(IP_TTL),
        MASKED(ENC_IP_TOS), MASKED(ENC_IP_TTL), MASKED(ENC_OPTS),
        MASKED(CT_STATE), MASKED(CT_ZONE), MASKED(CT_MARK),
        MASKED(CT_LABELS),
        { TCA_FLOWER_KEY_ENC_UDP_SRC_PORT,
          TCA_FLOWER_KEY_ENC_UDP_SRC_PORT_MASK },
        { TCA_FLOWER_KEY_ENC_UDP_DST_PORT,
          TCA_FLOWER_KEY_ENC_UDP_DST_PORT_MASK },
    };

    for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
        if (masks[i].value == type) {
            return masks[i].mask;
        }
    }
    return 0;
}

/* The kernel keeps bits of a value that its mask leaves out.  (Options of
 * tunnels and their masks have the same attributes in them.) */
static void
put_key(struct reader *r, const struct nlattr *options,
        const struct nlattr *a)
{
    uint16_t mask_type = mask_of(nl_attr_type(a));
    const struct nlattr *mask
        = mask_type ? nl_attr_find_nested(options, mask_type) : NULL;
    size_t size = nl_attr_get_size(a);
    uint8_t *value = xmemdup(nl_attr_get(a), size);

    if (mask && nl_attr_get_size(mask) == size) {
        const uint8_t *m = nl_attr_get(mask);

        for (size_t i = 0; i < size; i++) {
            value[i] &= m[i];
        }
    }
    ds_put_format(&r->text->keys, "key %d ", nl_attr_type(a));
    put_hex(&r->text->keys, value, size);
    free(value);
}

static void
put_flower(struct reader *r, const struct nlattr *options)
{
    const struct nlattr *a, *action;
    size_t left, left2;

    NL_NESTED_FOR_EACH (a, left, options) {
        if (nl_attr_type(a) != TCA_FLOWER_ACT) {
            put_key(r, options, a);
            continue;
        }
        NL_NESTED_FOR_EACH (action, left2, a) {
            put_action(r, action);
        }
    }
}

static void
put_header(struct reader *r, const struct tcmsg *tcm)
{
    struct ds *ds = &r->text->keys;
    unsigned int prio = tcm->tcm_info >> 16;

    ds_put_format(ds, "port %d parent %x protocol %04x",
                  r->port(r->aux, tcm->tcm_ifindex), tcm->tcm_parent,
                  ntohs((OVS_FORCE ovs_be16) tcm->tcm_info));
    if (prio <= LAST_FIXED_PRIO) {
        ds_put_format(ds, " prio %u", prio);
    }
    ds_put_char(ds, '\n');
}

bool
filter_text_read(struct filter_text *text, const struct nlmsghdr *nlh,
                 int (*port)(const void *aux, int ifindex), const void *aux)
{
    struct reader r = { .text = text, .port = port, .aux = aux };
    size_t ofs = NLMSG_HDRLEN + sizeof(struct tcmsg);
    const uint8_t *attrs = (const uint8_t *) nlh + ofs;
    const struct nlattr *a, *kind;
    struct tcmsg tcm;
    size_t left;

    ovs_assert(nlh->nlmsg_len >= ofs);
    memcpy(&tcm, NLMSG_DATA(nlh), sizeof tcm);
    kind = nl_attr_find__((const struct nlattr *) attrs, nlh->nlmsg_len - ofs,
                          TCA_KIND);
    if (!tcm.tcm_handle || !kind || strcmp(nl_attr_get_string(kind),
                                           "flower")) {
        return false;
    }
    put_header(&r, &tcm);
    NL_ATTR_FOR_EACH (a, left, (const struct nlattr *) attrs,
                      nlh->nlmsg_len - ofs) {
        switch (nl_attr_type(a)) {
        case TCA_KIND:
            break;
        case TCA_OPTIONS:
            put_flower(&r, a);
            break;
        default:
            put_attr(&text->keys, "attribute", a);
            break;
        }
    }
    return true;
}
