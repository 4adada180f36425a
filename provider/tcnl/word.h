/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_WORD_H
#define TCNL_WORD_H 1

/* Fields in words of up to 8 bytes, and a hash of them (internal to tcnl).
 * Fields are short and most of the work is done on them, so calls of memcpy()
 * would cost more than the copying. */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The first 'n' bytes at 'p', at most 8, as they stand in memory, and zeros
 * behind them. */
static inline uint64_t
tcnl_word_load(const void *p, size_t n)
{
    uint64_t word = 0;

    switch (n) {
    case 1: memcpy(&word, p, 1); break;
    case 2: memcpy(&word, p, 2); break;
    case 4: memcpy(&word, p, 4); break;
    case 6: memcpy(&word, p, 6); break;
    case 8: memcpy(&word, p, 8); break;
    default: memcpy(&word, p, n < 8 ? n : 8);
    }
    return word;
}

static inline void
tcnl_word_store(void *p, uint64_t word, size_t n)
{
    switch (n) {
    case 1: memcpy(p, &word, 1); break;
    case 2: memcpy(p, &word, 2); break;
    case 4: memcpy(p, &word, 4); break;
    case 6: memcpy(p, &word, 6); break;
    case 8: memcpy(p, &word, 8); break;
    default: memcpy(p, &word, n < 8 ? n : 8);
    }
}

#define TCNL_HASH_BASIS UINT64_C(0xcbf29ce484222325)

/* Takes a word into a hash of 64 bits: the product has each bit of it in its
 * upper half, which is folded into the lower one. */
static inline uint64_t
tcnl_hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static inline uint64_t
tcnl_hash_add(uint64_t hash, const void *p_, size_t n)
{
    const uint8_t *p = p_;

    for (; n > 8; p += 8, n -= 8) {
        hash = tcnl_hash_word(hash, tcnl_word_load(p, 8));
    }
    return n ? tcnl_hash_word(hash, tcnl_word_load(p, n)) : hash;
}

#endif /* tcnl/word.h */
