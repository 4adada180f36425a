/* SPDX-License-Identifier: Apache-2.0 */
#include "flower.h"

#include <errno.h>
#include <string.h>
#include <netinet/in.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include "attr.h"

/* One way of carrying one key: by these attributes, and only under this IP
 * protocol if that is nonzero.  A mask attribute of 0 stands for an exact
 * key. */
struct row {
    uint8_t key;
    uint8_t ip_proto;
    uint8_t ofs, size;          /* In struct tcnl_flower_fields. */
    uint8_t value, mask;        /* TCA_FLOWER_KEY_*. */
};

/* The names are pasted at the first level: <netinet/in.h> has macros IP_TOS
 * and IP_TTL. */
#define PLACE(FIELD) offsetof(struct tcnl_flower_fields, FIELD), \
                     sizeof ((struct tcnl_flower_fields *) NULL)->FIELD
#define EXACT(KEY, FIELD, VALUE) \
    { TCNL_KEY_##KEY, 0, PLACE(FIELD), TCA_FLOWER_KEY_##VALUE, 0 }
#define MASKED(KEY, FIELD, IP_PROTO, VALUE)         \
    { TCNL_KEY_##KEY, IP_PROTO, PLACE(FIELD),       \
      TCA_FLOWER_KEY_##VALUE, TCA_FLOWER_KEY_##VALUE##_MASK }

/* Ordered by key; the first row of a key gives its place and size. */
static const struct row rows[] = {
    MASKED(ETH_DST, eth_dst, 0, ETH_DST),
    MASKED(ETH_SRC, eth_src, 0, ETH_SRC),
    EXACT(ETH_TYPE, eth_type, ETH_TYPE),
    EXACT(VLAN_ID, vlan_id, VLAN_ID),
    EXACT(VLAN_PRIO, vlan_prio, VLAN_PRIO),
    EXACT(VLAN_ETH_TYPE, vlan_eth_type, VLAN_ETH_TYPE),
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
    MASKED(TP_SRC, tp_src, IPPROTO_UDP, UDP_SRC),
    MASKED(TP_SRC, tp_src, IPPROTO_SCTP, SCTP_SRC),
    MASKED(TP_DST, tp_dst, IPPROTO_TCP, TCP_DST),
    MASKED(TP_DST, tp_dst, IPPROTO_UDP, UDP_DST),
    MASKED(TP_DST, tp_dst, IPPROTO_SCTP, SCTP_DST),
    MASKED(TCP_FLAGS, tcp_flags, IPPROTO_TCP, TCP_FLAGS),
    MASKED(ICMP_TYPE, icmp_type, IPPROTO_ICMP, ICMPV4_TYPE),
    MASKED(ICMP_TYPE, icmp_type, IPPROTO_ICMPV6, ICMPV6_TYPE),
    MASKED(ICMP_CODE, icmp_code, IPPROTO_ICMP, ICMPV4_CODE),
    MASKED(ICMP_CODE, icmp_code, IPPROTO_ICMPV6, ICMPV6_CODE),
    MASKED(FLAGS, flags, 0, FLAGS),
};

#define N_ROWS (sizeof rows / sizeof rows[0])
#define FOR_EACH_ROW(R) \
    for (const struct row *R = rows; R < rows + N_ROWS; R++)

_Static_assert(sizeof(struct tcnl_flower_fields) <= UINT8_MAX, "row.ofs");

static const char *const names[TCNL_N_KEYS] = {
    [TCNL_KEY_ETH_DST] = "eth_dst",
    [TCNL_KEY_ETH_SRC] = "eth_src",
    [TCNL_KEY_ETH_TYPE] = "eth_type",
    [TCNL_KEY_VLAN_ID] = "vlan_id",
    [TCNL_KEY_VLAN_PRIO] = "vlan_prio",
    [TCNL_KEY_VLAN_ETH_TYPE] = "vlan_eth_type",
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
};

static const struct row *
row_of_key(enum tcnl_key key)
{
    FOR_EACH_ROW (r) {
        if (r->key == key) {
            return r;
        }
    }
    return NULL;
}

static uint8_t *
field(struct tcnl_flower_fields *f, const struct row *r)
{
    return (uint8_t *) f + r->ofs;
}

static const uint8_t *
const_field(const struct tcnl_flower_fields *f, const struct row *r)
{
    return (const uint8_t *) f + r->ofs;
}

/* Clears the bits of the value that the mask leaves out, so that equal
 * matches are equal bytes.  Returns false if the mask is all zeros. */
static bool
apply_mask(struct tcnl_flower *f, const struct row *r)
{
    uint8_t *value = field(&f->key, r);
    const uint8_t *mask = field(&f->mask, r);
    uint8_t any = 0;

    for (unsigned int i = 0; i < r->size; i++) {
        value[i] &= mask[i];
        any |= mask[i];
    }
    return any != 0;
}

unsigned int
tcnl_key_size(enum tcnl_key key)
{
    return row_of_key(key)->size;
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
    const struct row *r = row_of_key(key);

    memcpy(field(&f->key, r), value, r->size);
    if (mask) {
        memcpy(field(&f->mask, r), mask, r->size);
    } else {
        memset(field(&f->mask, r), 0xff, r->size);
    }
    if (apply_mask(f, r)) {
        f->present |= TCNL_KEY_BIT(key);
    } else {
        f->present &= ~TCNL_KEY_BIT(key);
    }
}

bool
tcnl_flower_equal(const struct tcnl_flower *a, const struct tcnl_flower *b)
{
    if (a->present != b->present) {
        return false;
    }
    FOR_EACH_ROW (r) {
        if (a->present & TCNL_KEY_BIT(r->key)
            && (memcmp(const_field(&a->key, r), const_field(&b->key, r),
                       r->size)
                || memcmp(const_field(&a->mask, r), const_field(&b->mask, r),
                          r->size))) {
            return false;
        }
    }
    return true;
}

/* ## What depends on what. */

#define KEYS_VLAN (TCNL_KEY_BIT(TCNL_KEY_VLAN_ID)           \
                   | TCNL_KEY_BIT(TCNL_KEY_VLAN_PRIO)       \
                   | TCNL_KEY_BIT(TCNL_KEY_VLAN_ETH_TYPE))
#define KEYS_ARP (TCNL_KEY_BIT(TCNL_KEY_ARP_SIP)            \
                  | TCNL_KEY_BIT(TCNL_KEY_ARP_TIP)          \
                  | TCNL_KEY_BIT(TCNL_KEY_ARP_OP)           \
                  | TCNL_KEY_BIT(TCNL_KEY_ARP_SHA)          \
                  | TCNL_KEY_BIT(TCNL_KEY_ARP_THA))
#define KEYS_IP (TCNL_KEY_BIT(TCNL_KEY_IP_PROTO)            \
                 | TCNL_KEY_BIT(TCNL_KEY_IP_TOS)            \
                 | TCNL_KEY_BIT(TCNL_KEY_IP_TTL))
#define KEYS_IPV4 (TCNL_KEY_BIT(TCNL_KEY_IPV4_SRC)          \
                   | TCNL_KEY_BIT(TCNL_KEY_IPV4_DST))
#define KEYS_IPV6 (TCNL_KEY_BIT(TCNL_KEY_IPV6_SRC)          \
                   | TCNL_KEY_BIT(TCNL_KEY_IPV6_DST))
#define KEYS_PORTS (TCNL_KEY_BIT(TCNL_KEY_TP_SRC)           \
                    | TCNL_KEY_BIT(TCNL_KEY_TP_DST))
#define KEYS_TCP TCNL_KEY_BIT(TCNL_KEY_TCP_FLAGS)
#define KEYS_ICMP (TCNL_KEY_BIT(TCNL_KEY_ICMP_TYPE)         \
                   | TCNL_KEY_BIT(TCNL_KEY_ICMP_CODE))
#define KEYS_FREE (TCNL_KEY_BIT(TCNL_KEY_ETH_DST)           \
                   | TCNL_KEY_BIT(TCNL_KEY_ETH_SRC)         \
                   | TCNL_KEY_BIT(TCNL_KEY_ETH_TYPE)        \
                   | TCNL_KEY_BIT(TCNL_KEY_FLAGS))

static bool
is_vlan_type(uint16_t eth_type)
{
    return eth_type == htons(ETH_P_8021Q) || eth_type == htons(ETH_P_8021AD);
}

static bool
is_vlan(const struct tcnl_flower *f)
{
    return tcnl_flower_has(f, TCNL_KEY_ETH_TYPE)
           && is_vlan_type(f->key.eth_type);
}

/* The Ethernet type of what follows the MAC addresses and one VLAN tag, in
 * host order, or 0. */
static uint16_t
inner_type(const struct tcnl_flower *f)
{
    if (is_vlan(f)) {
        return tcnl_flower_has(f, TCNL_KEY_VLAN_ETH_TYPE)
               ? ntohs(f->key.vlan_eth_type) : 0;
    }
    return tcnl_flower_has(f, TCNL_KEY_ETH_TYPE) ? ntohs(f->key.eth_type) : 0;
}

static uint64_t
keys_by_eth_type(uint16_t type)
{
    switch (type) {
    case ETH_P_IP:
        return KEYS_IP | KEYS_IPV4;
    case ETH_P_IPV6:
        return KEYS_IP | KEYS_IPV6;
    case ETH_P_ARP:
    case ETH_P_RARP:
        return KEYS_ARP;
    default:
        return 0;
    }
}

static uint64_t
keys_by_ip_proto(uint8_t ip_proto, uint16_t type)
{
    switch (ip_proto) {
    case IPPROTO_TCP:
        return KEYS_PORTS | KEYS_TCP;
    case IPPROTO_UDP:
    case IPPROTO_SCTP:
        return KEYS_PORTS;
    case IPPROTO_ICMP:
        return type == ETH_P_IP ? KEYS_ICMP : 0;
    case IPPROTO_ICMPV6:
        return type == ETH_P_IPV6 ? KEYS_ICMP : 0;
    default:
        return 0;
    }
}

bool
tcnl_flower_is_complete(const struct tcnl_flower *f)
{
    uint16_t type = inner_type(f);
    uint64_t allowed = KEYS_FREE | keys_by_eth_type(type);

    if (is_vlan(f)) {
        allowed |= KEYS_VLAN;
    }
    if (allowed & f->present & TCNL_KEY_BIT(TCNL_KEY_IP_PROTO)) {
        allowed |= keys_by_ip_proto(f->key.ip_proto, type);
    }
    return !(f->present & ~allowed);
}

/* ## Encoding. */

static bool
row_applies(const struct row *r, const struct tcnl_flower *f)
{
    return f->present & TCNL_KEY_BIT(r->key)
           && (!r->ip_proto
               || (tcnl_flower_has(f, TCNL_KEY_IP_PROTO)
                   && f->key.ip_proto == r->ip_proto));
}

void
tcnl_flower_put(struct tcnl_buffer *b, const struct tcnl_flower *f)
{
    FOR_EACH_ROW (r) {
        if (!row_applies(r, f)) {
            continue;
        }
        tcnl_put(b, r->value, const_field(&f->key, r), r->size);
        if (r->mask) {
            tcnl_put(b, r->mask, const_field(&f->mask, r), r->size);
        }
    }
    tcnl_put_u32(b, TCA_FLOWER_FLAGS, f->cls_flags & TCNL_CLS_FLAGS_SETTABLE);
}

/* ## Decoding. */

struct parse {
    struct tcnl_flower *f;
    uint64_t values, masks;     /* Keys of which that attribute was seen. */
    uint8_t ip_proto;           /* That the attributes seen depend on. */
};

static const struct row *
row_of_attr(unsigned int type)
{
    FOR_EACH_ROW (r) {
        if (type && (r->value == type || r->mask == type)) {
            return r;
        }
    }
    return NULL;
}

/* Copies the payload of the attribute to 'to'.  '*seen' guards against a
 * second one, also one under another protocol. */
static int
parse_field(const struct nlattr *a, const struct row *r, uint8_t *to,
            uint64_t *seen)
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
    const struct row *r = row_of_attr(tcnl_attr_type(a));

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
parse_attr(struct parse *p, const struct nlattr *a)
{
    switch (tcnl_attr_type(a)) {
    case TCA_FLOWER_FLAGS:
        return tcnl_attr_get(a, &p->f->cls_flags, sizeof p->f->cls_flags)
               ? 0 : EBADMSG;
    case TCA_FLOWER_ACT:
    case TCA_FLOWER_IN_HW_COUNT:
        return 0;
    default:
        return parse_key(p, a);
    }
}

/* Makes keys of the attributes seen.  Without a mask attribute the value is
 * exact, as fl_set_key_val() has it. */
static void
finish_keys(struct parse *p)
{
    struct tcnl_flower *f = p->f;

    FOR_EACH_ROW (r) {
        uint64_t bit = TCNL_KEY_BIT(r->key);

        if (!(p->values & bit) || f->present & bit) {
            continue;
        }
        if (!(p->masks & bit)) {
            memset(field(&f->mask, r), 0xff, r->size);
        }
        if (apply_mask(f, r)) {
            f->present |= bit;
        }
    }
}

/* Rejects what the kernel would not have said. */
static int
check(const struct parse *p)
{
    const struct tcnl_flower *f = p->f;

    if (p->masks & ~p->values
        || (tcnl_flower_has(f, TCNL_KEY_VLAN_ID) && f->key.vlan_id > 0xfff)
        || (tcnl_flower_has(f, TCNL_KEY_VLAN_PRIO) && f->key.vlan_prio > 7)) {
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

    tcnl_flower_init(f);
    while ((a = tcnl_attrs_next(&it))) {
        int error = parse_attr(&p, a);

        if (error) {
            return error;
        }
    }
    if (!tcnl_attrs_ok(&it)) {
        return EBADMSG;
    }
    finish_keys(&p);
    return check(&p);
}

/* One step of FNV-1a over 'n' bytes. */
static uint64_t
hash_add(uint64_t hash, const uint8_t *p, unsigned int n)
{
    while (n--) {
        hash = (hash ^ *p++) * UINT64_C(0x100000001b3);
    }
    return hash;
}

uint64_t
tcnl_flower_hash(const struct tcnl_flower *f)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    uint64_t left = f->present;

    hash = hash_add(hash, (const uint8_t *) &f->present, sizeof f->present);
    FOR_EACH_ROW (r) {
        if (left & TCNL_KEY_BIT(r->key)) {
            left &= ~TCNL_KEY_BIT(r->key);
            hash = hash_add(hash, const_field(&f->key, r), r->size);
            hash = hash_add(hash, const_field(&f->mask, r), r->size);
        }
    }
    return hash;
}

int
tcnl_flower_set_protocol(struct tcnl_flower *f, uint16_t proto)
{
    bool has_type = tcnl_flower_has(f, TCNL_KEY_ETH_TYPE);

    if (proto == htons(ETH_P_ALL)) {
        return f->present & KEYS_VLAN ? EOPNOTSUPP : 0;
    }
    if (has_type && f->key.eth_type != proto
        && !(is_vlan_type(proto) && tcnl_flower_has(f, TCNL_KEY_VLAN_ETH_TYPE)
             && f->key.vlan_eth_type == f->key.eth_type)) {
        return EOPNOTSUPP;
    }
    tcnl_flower_set(f, TCNL_KEY_ETH_TYPE, &proto, NULL);
    return 0;
}
