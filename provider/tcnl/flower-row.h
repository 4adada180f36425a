/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_FLOWER_ROW_H
#define TCNL_FLOWER_ROW_H 1

/* The table of keys and the attributes that carry them (internal to tcnl). */

#include <stdbool.h>
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

/* Ordered by key; the first row of a key gives its place and size. */
#define TCNL_FLOWER_N_ROWS 54
extern const struct tcnl_flower_row tcnl_flower_rows[TCNL_FLOWER_N_ROWS];

#define TCNL_FOR_EACH_ROW(R)                            \
    for (const struct tcnl_flower_row *R = tcnl_flower_rows; \
         R < tcnl_flower_rows + TCNL_FLOWER_N_ROWS; R++)

static inline const uint8_t *
tcnl_row_field(const struct tcnl_flower_fields *f,
               const struct tcnl_flower_row *r)
{
    return (const uint8_t *) f + r->ofs;
}

/* Is this the row by which the key of 'f' is carried? */
static inline bool
tcnl_row_applies(const struct tcnl_flower_row *r, const struct tcnl_flower *f)
{
    return f->present & TCNL_KEY_BIT(r->key)
           && (!r->ip_proto
               || (tcnl_flower_has(f, TCNL_KEY_IP_PROTO)
                   && f->key.ip_proto == r->ip_proto));
}

/* Bytes of options of Geneve in key and mask. */
static inline unsigned int
tcnl_flower_geneve_len(const struct tcnl_flower *f)
{
    return tcnl_flower_has(f, TCNL_KEY_ENC_GENEVE) ? f->key.enc_geneve_len : 0;
}

#endif /* tcnl/flower-row.h */
