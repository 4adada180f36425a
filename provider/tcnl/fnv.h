/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_FNV_H
#define TCNL_FNV_H 1

/* The 64-bit hash FNV-1a (internal to tcnl). */

#include <stddef.h>
#include <stdint.h>

#define TCNL_FNV_BASIS UINT64_C(0xcbf29ce484222325)

static inline uint64_t
tcnl_fnv_add(uint64_t hash, const void *p_, size_t n)
{
    const uint8_t *p = p_;

    while (n--) {
        hash = (hash ^ *p++) * UINT64_C(0x100000001b3);
    }
    return hash;
}

#endif /* tcnl/fnv.h */
