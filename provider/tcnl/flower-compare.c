/* SPDX-License-Identifier: Apache-2.0 */

/* Matches compared, with each other and by hashes. */

#include "flower.h"

#include <string.h>
#include "flower-row.h"
#include "word.h"

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
    TCNL_FOR_EACH_KEY (key, a->present) {
        if (!row_equal(&tcnl_flower_rows[key], a, b)) {
            return false;
        }
    }
    return true;
}

const char *
tcnl_flower_lacks(const struct tcnl_flower *a, const struct tcnl_flower *b,
                  bool *missing)
{
    TCNL_FOR_EACH_KEY (key, a->present) {
        const struct tcnl_flower_row *r = tcnl_row_of(a, key);

        if (r) {
            *missing = !tcnl_flower_has(b, key);
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
tcnl_flower_hash_key(enum tcnl_key key, const void *value, const void *mask)
{
    unsigned int size = tcnl_flower_rows[key].size;
    uint64_t hash = tcnl_hash_word(TCNL_HASH_BASIS, key);

    return tcnl_hash_add(tcnl_hash_add(hash, value, size), mask, size);
}

uint64_t
tcnl_flower_hash(const struct tcnl_flower *f)
{
    unsigned int geneve_len = tcnl_flower_geneve_len(f);
    uint64_t hash = 0;

    TCNL_FOR_EACH_KEY (key, f->present) {
        hash += tcnl_flower_hash_key(key, tcnl_flower_value(f, key),
                                     tcnl_flower_mask(f, key));
    }
    if (geneve_len) {
        hash += tcnl_hash_add(tcnl_hash_add(TCNL_HASH_BASIS, f->geneve.key,
                                            geneve_len),
                              f->geneve.mask, geneve_len);
    }
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

    hash = tcnl_hash_word(hash, f->present);
    TCNL_FOR_EACH_KEY (key, f->present) {
        const struct tcnl_flower_row *r = &tcnl_flower_rows[key];
        bool decides = KEYS_DECIDING & TCNL_KEY_BIT(key);

        hash = tcnl_hash_add(hash, tcnl_row_field(decides ? &f->key
                                                  : &f->mask, r), r->size);
    }
    for (unsigned int i = 0; i < geneve_len; ) {
        unsigned int size = tcnl_geneve_option_size(f->geneve.key + i);

        hash = tcnl_hash_word(hash, size);
        hash = tcnl_hash_add(hash, f->geneve.mask + i, size);
        i += size;
    }
    return hash;
}
