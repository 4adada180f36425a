/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_FLOWER_ROW_H
#define TCNL_FLOWER_ROW_H 1

/* The table of keys and the attributes that carry them (internal to tcnl). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "flower.h"

/* One way of carrying one key: by these attributes, and only under this IP
 * protocol if that is nonzero.  A mask attribute of 0 stands for an exact
 * key. */
struct tcnl_flower_row {
    uint8_t key;
    uint8_t ip_proto;
    uint8_t ofs, size;          /* In struct tcnl_flower_fields. */
    uint8_t value, mask;        /* TCA_FLOWER_KEY_*.  0: one of the options of
                                 * a tunnel, which are in a nest. */
    const char *name;           /* Of the attribute 'value', or the nest. */
};

/* Row K is of key K, and gives its place and size; the rows from TCNL_N_KEYS
 * on are further ways of carrying a key. */
#define TCNL_FLOWER_N_ROWS 54
extern const struct tcnl_flower_row tcnl_flower_rows[TCNL_FLOWER_N_ROWS];

#define TCNL_FOR_EACH_ROW(R)                            \
    for (const struct tcnl_flower_row *R = tcnl_flower_rows; \
         R < tcnl_flower_rows + TCNL_FLOWER_N_ROWS; R++)

/* The keys of 'PRESENT', in their order. */
#define TCNL_FOR_EACH_KEY(KEY, PRESENT)                                 \
    for (uint64_t left_ = (PRESENT), KEY;                               \
         left_ && (KEY = (uint64_t) __builtin_ctzll(left_), true);      \
         left_ &= left_ - 1)

static inline const uint8_t *
tcnl_row_field(const struct tcnl_flower_fields *f,
               const struct tcnl_flower_row *r)
{
    return (const uint8_t *) f + r->ofs;
}

/* The row by which 'key' of 'f' is carried, or NULL if it cannot be. */
static inline const struct tcnl_flower_row *
tcnl_row_of(const struct tcnl_flower *f, enum tcnl_key key)
{
    const struct tcnl_flower_row *r = &tcnl_flower_rows[key];

    if (!r->ip_proto) {
        return r;
    } else if (!tcnl_flower_has(f, TCNL_KEY_IP_PROTO)) {
        return NULL;
    } else if (r->ip_proto == f->key.ip_proto) {
        return r;
    }
    for (r = &tcnl_flower_rows[TCNL_N_KEYS];
         r < &tcnl_flower_rows[TCNL_FLOWER_N_ROWS]; r++) {
        if (r->key == key && r->ip_proto == f->key.ip_proto) {
            return r;
        }
    }
    return NULL;
}

/* Bytes of options of Geneve in key and mask. */
static inline unsigned int
tcnl_flower_geneve_len(const struct tcnl_flower *f)
{
    return tcnl_flower_has(f, TCNL_KEY_ENC_GENEVE) ? f->key.enc_geneve_len : 0;
}

#endif /* tcnl/flower-row.h */
