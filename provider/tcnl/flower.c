/* SPDX-License-Identifier: Apache-2.0 */
#include "flower.h"

#include <errno.h>
#include <string.h>
#include <netinet/in.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include "attr.h"
#include "flower-row.h"
#include "word.h"

/* The names are pasted at the first level: <netinet/in.h> has macros IP_TOS
 * and IP_TTL. */
#define PLACE(FIELD) offsetof(struct tcnl_flower_fields, FIELD), \
                     sizeof ((struct tcnl_flower_fields *) NULL)->FIELD
#define EXACT(KEY, FIELD, VALUE) \
    { TCNL_KEY_##KEY, 0, PLACE(FIELD), TCA_FLOWER_KEY_##VALUE, 0,   \
      "TCA_FLOWER_KEY_" #VALUE }
#define MASKED(KEY, FIELD, IP_PROTO, VALUE)                             \
    { TCNL_KEY_##KEY, IP_PROTO, PLACE(FIELD), TCA_FLOWER_KEY_##VALUE,   \
      TCA_FLOWER_KEY_##VALUE##_MASK, "TCA_FLOWER_KEY_" #VALUE }

/* Attributes that older headers do not have. */
#define TCA_FLOWER_KEY_ENC_FLAGS 110
#define TCA_FLOWER_KEY_ENC_FLAGS_MASK 111

#define ENC(KEY, FIELD, VALUE) \
    MASKED(ENC_##KEY, enc_##FIELD, 0, ENC_##VALUE)
#define NESTED(KEY, FIELD) \
    { TCNL_KEY_##KEY, 0, PLACE(FIELD), 0, 0, "TCA_FLOWER_KEY_ENC_OPTS" }

const struct tcnl_flower_row tcnl_flower_rows[] = {
    MASKED(ETH_DST, eth_dst, 0, ETH_DST),
    MASKED(ETH_SRC, eth_src, 0, ETH_SRC),
    EXACT(ETH_TYPE, eth_type, ETH_TYPE),
    EXACT(VLAN_ID, vlan_id, VLAN_ID),
    EXACT(VLAN_PRIO, vlan_prio, VLAN_PRIO),
    EXACT(VLAN_ETH_TYPE, vlan_eth_type, VLAN_ETH_TYPE),
    EXACT(CVLAN_ID, cvlan_id, CVLAN_ID),
    EXACT(CVLAN_PRIO, cvlan_prio, CVLAN_PRIO),
    EXACT(CVLAN_ETH_TYPE, cvlan_eth_type, CVLAN_ETH_TYPE),
    EXACT(MPLS_LABEL, mpls_label, MPLS_LABEL),
    EXACT(MPLS_TC, mpls_tc, MPLS_TC),
    EXACT(MPLS_BOS, mpls_bos, MPLS_BOS),
    EXACT(MPLS_TTL, mpls_ttl, MPLS_TTL),
    MASKED(ARP_SIP, arp_sip, 0, ARP_SIP),
    MASKED(ARP_TIP, arp_tip, 0, ARP_TIP),
    MASKED(ARP_OP, arp_op, 0, ARP_OP),
    MASKED(ARP_SHA, arp_sha, 0, ARP_SHA),
    MASKED(ARP_THA, arp_tha, 0, ARP_THA),
    EXACT(IP_PROTO, ip_proto, IP_PROTO),
    MASKED(IP_TOS, ip_tos, 0, IP_TOS),
    MASKED(IP_TTL, ip_ttl, 0, IP_TTL),
    MASKED(IPV4_SRC, ipv4_src, 0, IPV4_SRC),
    MASKED(IPV4_DST, ipv4_dst, 0, IPV4_DST),
    MASKED(IPV6_SRC, ipv6_src, 0, IPV6_SRC),
    MASKED(IPV6_DST, ipv6_dst, 0, IPV6_DST),
    MASKED(TP_SRC, tp_src, IPPROTO_TCP, TCP_SRC),
    MASKED(TP_DST, tp_dst, IPPROTO_TCP, TCP_DST),
    MASKED(TCP_FLAGS, tcp_flags, IPPROTO_TCP, TCP_FLAGS),
    MASKED(ICMP_TYPE, icmp_type, IPPROTO_ICMP, ICMPV4_TYPE),
    MASKED(ICMP_CODE, icmp_code, IPPROTO_ICMP, ICMPV4_CODE),
    MASKED(FLAGS, flags, 0, FLAGS),
    MASKED(CT_STATE, ct_state, 0, CT_STATE),
    MASKED(CT_ZONE, ct_zone, 0, CT_ZONE),
    MASKED(CT_MARK, ct_mark, 0, CT_MARK),
    MASKED(CT_LABELS, ct_labels, 0, CT_LABELS),
    EXACT(ENC_KEY_ID, enc_key_id, ENC_KEY_ID),
    ENC(IPV4_SRC, ipv4_src, IPV4_SRC),
    ENC(IPV4_DST, ipv4_dst, IPV4_DST),
    ENC(IPV6_SRC, ipv6_src, IPV6_SRC),
    ENC(IPV6_DST, ipv6_dst, IPV6_DST),
    ENC(SRC_PORT, src_port, UDP_SRC_PORT),
    ENC(DST_PORT, dst_port, UDP_DST_PORT),
    MASKED(ENC_IP_TOS, enc_ip_tos, 0, ENC_IP_TOS),
    MASKED(ENC_IP_TTL, enc_ip_ttl, 0, ENC_IP_TTL),
    ENC(FLAGS, flags, FLAGS),
    NESTED(ENC_GBP, enc_gbp),
    NESTED(ENC_GENEVE, enc_geneve_len),

    /* Further ways. */
    MASKED(TP_SRC, tp_src, IPPROTO_UDP, UDP_SRC),
    MASKED(TP_SRC, tp_src, IPPROTO_SCTP, SCTP_SRC),
    MASKED(TP_DST, tp_dst, IPPROTO_UDP, UDP_DST),
    MASKED(TP_DST, tp_dst, IPPROTO_SCTP, SCTP_DST),
    MASKED(ICMP_TYPE, icmp_type, IPPROTO_ICMPV6, ICMPV6_TYPE),
    MASKED(ICMP_CODE, icmp_code, IPPROTO_ICMPV6, ICMPV6_CODE),
};

_Static_assert(sizeof tcnl_flower_rows / sizeof tcnl_flower_rows[0]
               == TCNL_FLOWER_N_ROWS, "TCNL_FLOWER_N_ROWS");
_Static_assert(sizeof(struct tcnl_flower_fields) <= UINT8_MAX, "row.ofs");

static const char *const names[TCNL_N_KEYS] = {
    [TCNL_KEY_ETH_DST] = "eth_dst",
    [TCNL_KEY_ETH_SRC] = "eth_src",
    [TCNL_KEY_ETH_TYPE] = "eth_type",
    [TCNL_KEY_VLAN_ID] = "vlan_id",
    [TCNL_KEY_VLAN_PRIO] = "vlan_prio",
    [TCNL_KEY_VLAN_ETH_TYPE] = "vlan_eth_type",
    [TCNL_KEY_CVLAN_ID] = "cvlan_id",
    [TCNL_KEY_CVLAN_PRIO] = "cvlan_prio",
    [TCNL_KEY_CVLAN_ETH_TYPE] = "cvlan_eth_type",
    [TCNL_KEY_MPLS_LABEL] = "mpls_label",
    [TCNL_KEY_MPLS_TC] = "mpls_tc",
    [TCNL_KEY_MPLS_BOS] = "mpls_bos",
    [TCNL_KEY_MPLS_TTL] = "mpls_ttl",
    [TCNL_KEY_ARP_SIP] = "arp_sip",
    [TCNL_KEY_ARP_TIP] = "arp_tip",
    [TCNL_KEY_ARP_OP] = "arp_op",
    [TCNL_KEY_ARP_SHA] = "arp_sha",
    [TCNL_KEY_ARP_THA] = "arp_tha",
    [TCNL_KEY_IP_PROTO] = "ip_proto",
    [TCNL_KEY_IP_TOS] = "ip_tos",
    [TCNL_KEY_IP_TTL] = "ip_ttl",
    [TCNL_KEY_IPV4_SRC] = "ipv4_src",
    [TCNL_KEY_IPV4_DST] = "ipv4_dst",
    [TCNL_KEY_IPV6_SRC] = "ipv6_src",
    [TCNL_KEY_IPV6_DST] = "ipv6_dst",
    [TCNL_KEY_TP_SRC] = "tp_src",
    [TCNL_KEY_TP_DST] = "tp_dst",
    [TCNL_KEY_TCP_FLAGS] = "tcp_flags",
    [TCNL_KEY_ICMP_TYPE] = "icmp_type",
    [TCNL_KEY_ICMP_CODE] = "icmp_code",
    [TCNL_KEY_FLAGS] = "flags",
    [TCNL_KEY_CT_STATE] = "ct_state",
    [TCNL_KEY_CT_ZONE] = "ct_zone",
    [TCNL_KEY_CT_MARK] = "ct_mark",
    [TCNL_KEY_CT_LABELS] = "ct_labels",
    [TCNL_KEY_ENC_KEY_ID] = "enc_key_id",
    [TCNL_KEY_ENC_IPV4_SRC] = "enc_ipv4_src",
    [TCNL_KEY_ENC_IPV4_DST] = "enc_ipv4_dst",
    [TCNL_KEY_ENC_IPV6_SRC] = "enc_ipv6_src",
    [TCNL_KEY_ENC_IPV6_DST] = "enc_ipv6_dst",
    [TCNL_KEY_ENC_SRC_PORT] = "enc_src_port",
    [TCNL_KEY_ENC_DST_PORT] = "enc_dst_port",
    [TCNL_KEY_ENC_IP_TOS] = "enc_ip_tos",
    [TCNL_KEY_ENC_IP_TTL] = "enc_ip_ttl",
    [TCNL_KEY_ENC_FLAGS] = "enc_flags",
    [TCNL_KEY_ENC_GBP] = "enc_gbp",
    [TCNL_KEY_ENC_GENEVE] = "enc_geneve",
};

static uint8_t *
field(struct tcnl_flower_fields *f, const struct tcnl_flower_row *r)
{
    return (uint8_t *) f + r->ofs;
}

/* Sets a field, also from itself.  Bits of the value that the mask (NULL: all
 * ones) leaves out are cleared, so that equal matches are equal bytes.
 * Returns false if the mask is all zeros. */
static bool
set_field(struct tcnl_flower *f, const struct tcnl_flower_row *r,
          const uint8_t *value, const uint8_t *mask)
{
    uint64_t any = 0;

    for (unsigned int i = 0; i < r->size; i += 8) {
        unsigned int n = r->size - i;
        uint64_t m = mask ? tcnl_word_load(mask + i, n) : UINT64_MAX;

        tcnl_word_store(field(&f->key, r) + i,
                        tcnl_word_load(value + i, n) & m, n);
        tcnl_word_store(field(&f->mask, r) + i, m, n);
        any |= m;
    }
    return any != 0;
}

unsigned int
tcnl_key_size(enum tcnl_key key)
{
    return tcnl_flower_rows[key].size;
}

const void *
tcnl_flower_value(const struct tcnl_flower *f, enum tcnl_key key)
{
    return tcnl_row_field(&f->key, &tcnl_flower_rows[key]);
}

const void *
tcnl_flower_mask(const struct tcnl_flower *f, enum tcnl_key key)
{
    return tcnl_row_field(&f->mask, &tcnl_flower_rows[key]);
}

const char *
tcnl_key_name(enum tcnl_key key)
{
    return (unsigned int) key < TCNL_N_KEYS ? names[key] : "unknown";
}

void
tcnl_flower_set(struct tcnl_flower *f, enum tcnl_key key, const void *value,
                const void *mask)
{
    if (set_field(f, &tcnl_flower_rows[key], value, mask)) {
        f->present |= TCNL_KEY_BIT(key);
    } else {
        f->present &= ~TCNL_KEY_BIT(key);
    }
}

void
tcnl_flower_set_geneve(struct tcnl_flower *f, const uint8_t *value,
                       const uint8_t *mask, unsigned int len)
{
    uint8_t size = (uint8_t) len;

    for (unsigned int ofs = 0; ofs < len; ) {
        unsigned int next = ofs + tcnl_geneve_option_size(value + ofs);

        memcpy(f->geneve.mask + ofs, mask + ofs, next - ofs);
        f->geneve.mask[ofs + 3] = TCNL_GENEVE_LEN_MASK;
        for (; ofs < next; ofs++) {
            f->geneve.key[ofs] = value[ofs] & f->geneve.mask[ofs];
        }
    }
    tcnl_flower_set(f, TCNL_KEY_ENC_GENEVE, &size, NULL);
    if (!len) {
        f->present &= ~TCNL_KEY_BIT(TCNL_KEY_ENC_GENEVE);
    }
}

void
tcnl_flower_copy(struct tcnl_flower *to, const struct tcnl_flower *from)
{
    memcpy(to, from, offsetof(struct tcnl_flower, geneve));
    memcpy(to->geneve.key, from->geneve.key, tcnl_flower_geneve_len(from));
    memcpy(to->geneve.mask, from->geneve.mask, tcnl_flower_geneve_len(from));
}

/* ## Encoding. */

static void
put_tunnel_opts(struct tcnl_buffer *b, const struct tcnl_flower *f)
{
    if (tcnl_flower_has(f, TCNL_KEY_ENC_GBP)) {
        tcnl_gbp_put(b, TCA_FLOWER_KEY_ENC_OPTS, f->key.enc_gbp);
        tcnl_gbp_put(b, TCA_FLOWER_KEY_ENC_OPTS_MASK, f->mask.enc_gbp);
    } else if (tcnl_flower_geneve_len(f)) {
        tcnl_geneve_put(b, TCA_FLOWER_KEY_ENC_OPTS, f->geneve.key,
                        f->geneve.key, tcnl_flower_geneve_len(f));
        tcnl_geneve_put(b, TCA_FLOWER_KEY_ENC_OPTS_MASK, f->geneve.key,
                        f->geneve.mask, tcnl_flower_geneve_len(f));
    }
}

void
tcnl_flower_put(struct tcnl_buffer *b, const struct tcnl_flower *f)
{
    TCNL_FOR_EACH_KEY (key, f->present) {
        const struct tcnl_flower_row *r = tcnl_row_of(f, key);

        if (!r || !r->value) {
            continue;
        }
        tcnl_put(b, r->value, tcnl_row_field(&f->key, r), r->size);
        if (r->mask) {
            tcnl_put(b, r->mask, tcnl_row_field(&f->mask, r), r->size);
        }
    }
    put_tunnel_opts(b, f);
    tcnl_put_u32(b, TCA_FLOWER_FLAGS, f->cls_flags & TCNL_CLS_FLAGS_SETTABLE);
}

/* ## Decoding. */

struct parse {
    struct tcnl_flower *f;
    uint64_t values, masks;     /* Keys of which that attribute was seen. */
    uint8_t ip_proto;           /* That the attributes seen depend on. */
    const struct nlattr *opts, *opts_mask;
};

static const struct tcnl_flower_row *
row_of_attr(unsigned int type)
{
    TCNL_FOR_EACH_ROW (r) {
        if (r->value && (r->value == type || (r->mask && r->mask == type))) {
            return r;
        }
    }
    return NULL;
}

/* Copies the payload of the attribute to 'to'.  '*seen' guards against a
 * second one, also one under another protocol. */
static int
parse_field(const struct nlattr *a, const struct tcnl_flower_row *r,
            uint8_t *to, uint64_t *seen)
{
    if (*seen & TCNL_KEY_BIT(r->key) || !tcnl_attr_get(a, to, r->size)) {
        return EBADMSG;
    }
    *seen |= TCNL_KEY_BIT(r->key);
    return 0;
}

static int
parse_key(struct parse *p, const struct nlattr *a)
{
    const struct tcnl_flower_row *r = row_of_attr(tcnl_attr_type(a));

    if (!r || (r->ip_proto && p->ip_proto && p->ip_proto != r->ip_proto)) {
        return EOPNOTSUPP;
    }
    if (r->ip_proto) {
        p->ip_proto = r->ip_proto;
    }
    return r->value == tcnl_attr_type(a)
           ? parse_field(a, r, field(&p->f->key, r), &p->values)
           : parse_field(a, r, field(&p->f->mask, r), &p->masks);
}

static int
note_opts(const struct nlattr *a, const struct nlattr **seen)
{
    if (*seen) {
        return EBADMSG;
    }
    *seen = a;
    return 0;
}

static int
parse_attr(struct parse *p, const struct nlattr *a)
{
    switch (tcnl_attr_type(a)) {
    case TCA_FLOWER_FLAGS:
        return tcnl_attr_get(a, &p->f->cls_flags, sizeof p->f->cls_flags)
               ? 0 : EBADMSG;
    case TCA_FLOWER_KEY_ENC_OPTS:
        return note_opts(a, &p->opts);
    case TCA_FLOWER_KEY_ENC_OPTS_MASK:
        return note_opts(a, &p->opts_mask);
    case TCA_FLOWER_ACT:
    case TCA_FLOWER_IN_HW_COUNT:
        return 0;
    default:
        return parse_key(p, a);
    }
}

/* The lengths of options, which are not masked, must be the same in both. */
static bool
geneve_matches(const struct tcnl_tunnel_opts *o,
               const struct tcnl_tunnel_opts *mask)
{
    if (o->geneve_len != mask->geneve_len) {
        return false;
    }
    for (unsigned int i = 0; i < o->geneve_len; ) {
        if (o->geneve[i + 3] != mask->geneve[i + 3]) {
            return false;
        }
        i += tcnl_geneve_option_size(o->geneve + i);
    }
    return true;
}

/* Makes of options, whose lengths stay, a mask of all their bits. */
static void
exact_geneve(struct tcnl_tunnel_opts *mask)
{
    for (unsigned int i = 0; i < mask->geneve_len; ) {
        unsigned int size = tcnl_geneve_option_size(mask->geneve + i);

        memset(mask->geneve + i, 0xff, 3);
        memset(mask->geneve + i + 4, 0xff, size - 4);
        i += size;
    }
}

static int
parse_opts(struct parse *p)
{
    struct tcnl_tunnel_opts opts, mask;
    int error;

    if (!p->opts) {
        return p->opts_mask ? EBADMSG : 0;
    }
    error = tcnl_tunnel_opts_parse(p->opts, &opts);
    if (!error && p->opts_mask) {
        error = tcnl_tunnel_opts_parse(p->opts_mask, &mask);
    } else if (!error) {
        mask.has_gbp = opts.has_gbp;
        mask.gbp = TCNL_GBP_MASK;
        mask.geneve_len = opts.geneve_len;
        memcpy(mask.geneve, opts.geneve, opts.geneve_len);
        exact_geneve(&mask);
    }
    if (error) {
        return error;
    }
    if (opts.has_gbp != mask.has_gbp || !geneve_matches(&opts, &mask)) {
        return EBADMSG;
    }
    if (opts.has_gbp) {
        tcnl_flower_set(p->f, TCNL_KEY_ENC_GBP, &opts.gbp, &mask.gbp);
    } else {
        tcnl_flower_set_geneve(p->f, opts.geneve, mask.geneve,
                               opts.geneve_len);
    }
    return 0;
}

/* Makes keys of the attributes seen.  Without a mask attribute the value is
 * exact, as fl_set_key_val() has it. */
static void
finish_keys(struct parse *p)
{
    struct tcnl_flower *f = p->f;

    TCNL_FOR_EACH_ROW (r) {
        uint64_t bit = TCNL_KEY_BIT(r->key);

        if (!(p->values & bit) || f->present & bit) {
            continue;
        }
        if (set_field(f, r, field(&f->key, r),
                      p->masks & bit ? field(&f->mask, r) : NULL)) {
            f->present |= bit;
        }
    }
}

/* The value of a field in host order. */
static uint32_t
host_value(const uint8_t *p, unsigned int size)
{
    uint32_t u32;
    uint16_t u16;

    switch (size) {
    case 4:
        memcpy(&u32, p, sizeof u32);
        return u32;
    case 2:
        memcpy(&u16, p, sizeof u16);
        return u16;
    default:
        return *p;
    }
}

/* Ranges of exact keys that are smaller than their fields. */
static bool
in_range(const struct tcnl_flower *f)
{
    static const struct { uint8_t key; uint32_t max; } ranges[] = {
        { TCNL_KEY_VLAN_ID, 0xfff }, { TCNL_KEY_VLAN_PRIO, 7 },
        { TCNL_KEY_CVLAN_ID, 0xfff }, { TCNL_KEY_CVLAN_PRIO, 7 },
        { TCNL_KEY_MPLS_LABEL, 0xfffff }, { TCNL_KEY_MPLS_TC, 7 },
        { TCNL_KEY_MPLS_BOS, 1 },
    };

    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        const struct tcnl_flower_row *r = &tcnl_flower_rows[ranges[i].key];

        if (tcnl_flower_has(f, ranges[i].key)
            && host_value(tcnl_row_field(&f->key, r), r->size)
               > ranges[i].max) {
            return false;
        }
    }
    return true;
}

/* Rejects what the kernel would not have said. */
static int
check(const struct parse *p)
{
    const struct tcnl_flower *f = p->f;

    if (p->masks & ~p->values || !in_range(f)) {
        return EBADMSG;
    }
    if (p->ip_proto && (!tcnl_flower_has(f, TCNL_KEY_IP_PROTO)
                        || f->key.ip_proto != p->ip_proto)) {
        return EOPNOTSUPP;
    }
    return 0;
}

int
tcnl_flower_parse(const struct nlattr *options, struct tcnl_flower *f)
{
    struct tcnl_attrs it = tcnl_attrs_nested(options);
    struct parse p = { .f = f };
    const struct nlattr *a;
    bool unknown = false;
    int error;

    tcnl_flower_init(f);
    while ((a = tcnl_attrs_next(&it))) {
        error = parse_attr(&p, a);
        if (error == EBADMSG) {
            return error;
        }
        unknown = unknown || error;
    }
    if (!tcnl_attrs_ok(&it)) {
        return EBADMSG;
    }
    finish_keys(&p);
    error = parse_opts(&p);
    if (!error) {
        error = check(&p);
    }
    return error ? error : unknown ? EOPNOTSUPP : 0;
}
