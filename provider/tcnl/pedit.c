/* SPDX-License-Identifier: Apache-2.0 */
#include "pedit.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <arpa/inet.h>
#include <linux/pkt_cls.h>
#include <linux/tc_act/tc_pedit.h>

/* Where a field is in its header.  'shift' moves it towards the packet's end:
 * the IPv6 traffic class begins in the middle of a byte. */
struct place {
    uint8_t rw;
    uint8_t htype;
    uint8_t off, size;          /* In the header, bytes. */
    uint8_t shift;              /* Bits. */
    uint8_t ofs;                /* In struct tcnl_rewrite_fields. */
};

#define PLACE(RW, FIELD, HTYPE, OFF, SHIFT)                     \
    { TCNL_RW_##RW, TCA_PEDIT_KEY_EX_HDR_TYPE_##HTYPE, OFF,     \
      sizeof ((struct tcnl_rewrite_fields *) NULL)->FIELD,      \
      SHIFT, offsetof(struct tcnl_rewrite_fields, FIELD) }

/* In the order of OVS's flower_pedit_map: it decides the order of the keys. */
static const struct place places[] = {
    PLACE(IPV4_SRC, ipv4_src, IP4, 12, 0),
    PLACE(IPV4_DST, ipv4_dst, IP4, 16, 0),
    PLACE(IPV4_TTL, ipv4_ttl, IP4, 8, 0),
    PLACE(IPV4_TOS, ipv4_tos, IP4, 1, 0),
    PLACE(IPV6_HLIMIT, ipv6_hlimit, IP6, 7, 0),
    PLACE(IPV6_SRC, ipv6_src, IP6, 8, 0),
    PLACE(IPV6_DST, ipv6_dst, IP6, 24, 0),
    PLACE(IPV6_TCLASS, ipv6_tclass, IP6, 0, 4),
    PLACE(ETH_SRC, eth_src, ETH, 6, 0),
    PLACE(ETH_DST, eth_dst, ETH, 0, 0),
    PLACE(ETH_TYPE, eth_type, ETH, 12, 0),
    PLACE(TCP_SRC, tcp_src, TCP, 0, 0),
    PLACE(TCP_DST, tcp_dst, TCP, 2, 0),
    PLACE(UDP_SRC, udp_src, UDP, 0, 0),
    PLACE(UDP_DST, udp_dst, UDP, 2, 0),
};

_Static_assert(sizeof places / sizeof places[0] == TCNL_N_REWRITES,
               "a place for each rewrite");
_Static_assert(sizeof(struct tcnl_rewrite_fields) <= UINT8_MAX, "place.ofs");

#define FOR_EACH_PLACE(P) \
    for (const struct place *P = places; P < places + TCNL_N_REWRITES; P++)

static const struct place *
place_of(enum tcnl_rewrite rw)
{
    FOR_EACH_PLACE (p) {
        if (p->rw == rw) {
            return p;
        }
    }
    return NULL;
}

unsigned int
tcnl_rewrite_size(enum tcnl_rewrite rw)
{
    return place_of(rw)->size;
}

uint8_t *
tcnl_rewrite_field(struct tcnl_rewrite_fields *f, enum tcnl_rewrite rw)
{
    return (uint8_t *) f + place_of(rw)->ofs;
}

void
tcnl_rewrite_set(struct tcnl_rewrites *r, enum tcnl_rewrite rw,
                 const void *value, const void *mask)
{
    unsigned int size = tcnl_rewrite_size(rw);
    uint8_t *v = tcnl_rewrite_field(&r->value, rw);
    uint8_t *m = tcnl_rewrite_field(&r->mask, rw);
    uint8_t any = 0;

    memcpy(v, value, size);
    memcpy(m, mask, size);
    for (unsigned int i = 0; i < size; i++) {
        v[i] &= m[i];
        any |= m[i];
    }
    if (any) {
        r->present |= TCNL_RW_BIT(rw);
    } else {
        r->present &= ~TCNL_RW_BIT(rw);
    }
}

/* The kernel's 32-bit words of a header that a field touches. */
static unsigned int
first_word(const struct place *p)
{
    return p->off / 4 * 4;
}

static unsigned int
n_words(const struct place *p)
{
    return (p->off + p->size + 3) / 4 - p->off / 4;
}

/* Gathers the bytes of 'field' that fall into the word at 'word', the others
 * as zeros; 'field' may be a value or a mask. */
static uint32_t
gather(const struct place *p, const uint8_t *field, unsigned int word)
{
    uint8_t bytes[4] = { 0, 0, 0, 0 };
    uint32_t be;

    for (unsigned int i = 0; i < 4; i++) {
        unsigned int pos = word + i;

        if (pos >= p->off && pos < p->off + p->size) {
            bytes[i] = field[pos - p->off];
        }
    }
    memcpy(&be, bytes, sizeof be);
    return htonl(ntohl(be) >> p->shift);
}

/* The way back: sets the bits of 'word_value' in 'field'. */
static void
scatter(const struct place *p, uint8_t *field, unsigned int word,
        uint32_t word_value)
{
    uint32_t be = htonl(ntohl(word_value) << p->shift);
    uint8_t bytes[4];

    memcpy(bytes, &be, sizeof bytes);
    for (unsigned int i = 0; i < 4; i++) {
        unsigned int pos = word + i;

        if (pos >= p->off && pos < p->off + p->size) {
            field[pos - p->off] |= bytes[i];
        }
    }
}

static bool
put_key(const struct place *p, const struct tcnl_rewrites *r,
        unsigned int word, struct tcnl_pedit_key *key)
{
    uint32_t mask = gather(p, (const uint8_t *) &r->mask + p->ofs, word);

    if (!mask) {
        return false;
    }
    key->htype = p->htype;
    key->cmd = TCA_PEDIT_KEY_EX_CMD_SET;
    key->off = word;
    key->mask = ~mask;
    key->val = gather(p, (const uint8_t *) &r->value + p->ofs, word) & mask;
    return true;
}

unsigned int
tcnl_pedit_from_rewrites(const struct tcnl_rewrites *r,
                         struct tcnl_pedit_key *keys, unsigned int max)
{
    unsigned int n = 0;

    FOR_EACH_PLACE (p) {
        if (!(r->present & TCNL_RW_BIT(p->rw))) {
            continue;
        }
        for (unsigned int i = 0; i < n_words(p); i++) {
            struct tcnl_pedit_key key;

            if (put_key(p, r, first_word(p) + 4 * i, &key)) {
                if (n >= max) {
                    return 0;
                }
                keys[n++] = key;
            }
        }
    }
    return n;
}

/* The bits of the word at 'word' that belong to field 'p'. */
static uint32_t
coverage(const struct place *p, unsigned int word)
{
    uint8_t ones[16];

    memset(ones, 0xff, sizeof ones);
    return gather(p, ones, word);
}

/* Finds the one field that has all bits of 'mask'. */
static const struct place *
place_of_key(const struct tcnl_pedit_key *key, uint32_t mask)
{
    FOR_EACH_PLACE (p) {
        if (p->htype == key->htype && !(mask & ~coverage(p, key->off))) {
            return p;
        }
    }
    return NULL;
}

/* A key that writes nothing, bits outside of its mask, bits of no field or of
 * two, or bits that another key writes too, is not one of ours.  Nor is one
 * that is not aligned. */
static int
parse_key(const struct tcnl_pedit_key *key, struct tcnl_rewrites *r)
{
    uint32_t mask = ~key->mask;
    const struct place *p;
    uint8_t *field_mask;

    if (key->cmd != TCA_PEDIT_KEY_EX_CMD_SET || key->off % 4 || !mask
        || key->val & key->mask || !(p = place_of_key(key, mask))) {
        return EOPNOTSUPP;
    }
    field_mask = (uint8_t *) &r->mask + p->ofs;
    if (gather(p, field_mask, key->off) & mask) {
        return EOPNOTSUPP;
    }
    scatter(p, field_mask, key->off, mask);
    scatter(p, (uint8_t *) &r->value + p->ofs, key->off, key->val);
    r->present |= TCNL_RW_BIT(p->rw);
    return 0;
}

int
tcnl_pedit_to_rewrites(const struct tcnl_pedit_key *keys, unsigned int n,
                       struct tcnl_rewrites *r)
{
    memset(r, 0, sizeof *r);
    for (unsigned int i = 0; i < n; i++) {
        int error = parse_key(&keys[i], r);

        if (error) {
            return error;
        }
    }
    return 0;
}
