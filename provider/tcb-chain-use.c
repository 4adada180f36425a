/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-chain-use.h"

#include "hash.h"

/* ccmap counts by hash.  hash_int() maps 32 bits to 32 bits one to one, so
 * the hash of a chain stands for the chain. */
static uint32_t
chain_hash(uint32_t chain)
{
    return hash_int(chain, 0);
}

void
tcb_chain_use_init(struct tcb_chain_use *use)
{
    ovs_mutex_init(&use->mutex);
    ccmap_init(&use->counts);
}

void
tcb_chain_use_destroy(struct tcb_chain_use *use)
{
    ccmap_destroy(&use->counts);
    ovs_mutex_destroy(&use->mutex);
}

void
tcb_chain_use_ref(struct tcb_chain_use *use, uint32_t chain)
{
    if (chain) {
        ovs_mutex_lock(&use->mutex);
        ccmap_inc(&use->counts, chain_hash(chain));
        ovs_mutex_unlock(&use->mutex);
    }
}

void
tcb_chain_use_unref(struct tcb_chain_use *use, uint32_t chain)
{
    if (chain) {
        ovs_mutex_lock(&use->mutex);
        ccmap_dec(&use->counts, chain_hash(chain));
        ovs_mutex_unlock(&use->mutex);
    }
}

bool
tcb_chain_in_use(const struct tcb_chain_use *use, uint32_t chain)
{
    return !chain || ccmap_find(&use->counts, chain_hash(chain));
}
