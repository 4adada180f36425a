/* SPDX-License-Identifier: Apache-2.0 */
#include "transport.h"

uint32_t
tcnl_transport_reserve_seqs(struct tcnl_transport *t, unsigned int n)
{
    uint32_t base = t->next_seq;

    /* A block never wraps, so that no number in it is 0 and 'seq - base' is
     * the index whatever came before. */
    if (!base || (n && n - 1 > UINT32_MAX - base)) {
        base = 1;
    }
    t->next_seq = base + n ? base + n : 1;
    return base;
}

void
tcnl_transport_close(struct tcnl_transport *t)
{
    if (t) {
        t->ops->close(t);
    }
}
