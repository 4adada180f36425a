/* SPDX-License-Identifier: Apache-2.0 */

/* Matches compared, with each other and by hashes. */

#include "flower.h"

#include <string.h>
#include "flower-row.h"
#include "fnv.h"

/* Have both the same in this row?  The key is present in both. */
static bool
row_equal(const struct tcnl_flower_row *r, const struct tcnl_flower *a,
          const struct tcnl_flower *b)
{
    unsigned int len;

    if (memcmp(tcnl_row_field(&a->key, r), tcnl_row_field(&b->key, r), r->size)
        || memcmp(tcnl_row_field(&a->mask, r), tcnl_row_field(&b->mask, r),
                  r->size)) {
        return false;
    }
    len = r->key == TCNL_KEY_ENC_GENEVE ? a->key.enc_geneve_len : 0;
    return !memcmp(a->geneve.key, b->geneve.key, len)
           && !memcmp(a->geneve.mask, b->geneve.mask, len);
}

bool
tcnl_flower_equal(const struct tcnl_flower *a, const struct tcnl_flower *b)
{
    if (a->present != b->present) {
        return false;
    }
    TCNL_FOR_EACH_ROW (r) {
        if (a->present & TCNL_KEY_BIT(r->key) && !row_equal(r, a, b)) {
            return false;
        }
    }
    return true;
}

const char *
tcnl_flower_lacks(const struct tcnl_flower *a, const struct tcnl_flower *b,
                  bool *missing)
{
    TCNL_FOR_EACH_ROW (r) {
        if (tcnl_row_applies(r, a)) {
            *missing = !tcnl_flower_has(b, r->key);
            if (*missing || !row_equal(r, a, b)) {
                return r->name;
            }
        }
    }
    *missing = false;
    return a->cls_flags & TCNL_CLS_FLAGS_SETTABLE & ~b->cls_flags
           ? "TCA_FLOWER_FLAGS" : NULL;
}

uint64_t
tcnl_flower_hash(const struct tcnl_flower *f)
{
    unsigned int geneve_len = tcnl_flower_geneve_len(f);
    uint64_t hash = TCNL_FNV_BASIS;
    uint64_t left = f->present;

    hash = tcnl_fnv_add(hash, &f->present, sizeof f->present);
    TCNL_FOR_EACH_ROW (r) {
        if (left & TCNL_KEY_BIT(r->key)) {
            left &= ~TCNL_KEY_BIT(r->key);
            hash = tcnl_fnv_add(hash, tcnl_row_field(&f->key, r), r->size);
            hash = tcnl_fnv_add(hash, tcnl_row_field(&f->mask, r), r->size);
        }
    }
    hash = tcnl_fnv_add(hash, f->geneve.key, geneve_len);
    hash = tcnl_fnv_add(hash, f->geneve.mask, geneve_len);
    return hash;
}

/* Keys whose values say which of the others the kernel looks at
 * (tcnl_flower_is_complete()), or by which attributes they go. */
#define KEYS_DECIDING (TCNL_KEY_BIT(TCNL_KEY_ETH_TYPE)          \
                       | TCNL_KEY_BIT(TCNL_KEY_VLAN_ETH_TYPE)   \
                       | TCNL_KEY_BIT(TCNL_KEY_CVLAN_ETH_TYPE)  \
                       | TCNL_KEY_BIT(TCNL_KEY_IP_PROTO)        \
                       | TCNL_KEY_BIT(TCNL_KEY_ENC_GENEVE))

uint64_t
tcnl_flower_shape(const struct tcnl_flower *f, uint64_t hash)
{
    unsigned int geneve_len = tcnl_flower_geneve_len(f);
    uint64_t left = f->present;

    hash = tcnl_fnv_add(hash, &f->present, sizeof f->present);
    TCNL_FOR_EACH_ROW (r) {
        uint64_t bit = left & TCNL_KEY_BIT(r->key);

        if (bit) {
            left &= ~bit;
            hash = tcnl_fnv_add(hash, bit & KEYS_DECIDING
                                 ? tcnl_row_field(&f->key, r)
                                 : tcnl_row_field(&f->mask, r), r->size);
        }
    }
    for (unsigned int i = 0; i < geneve_len; ) {
        unsigned int size = tcnl_geneve_option_size(f->geneve.key + i);

        hash = tcnl_fnv_add(hash, &size, sizeof size);
        hash = tcnl_fnv_add(hash, f->geneve.mask + i, size);
        i += size;
    }
    return hash;
}
