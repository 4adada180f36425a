/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_CHAIN_USE_H
#define TCB_CHAIN_USE_H 1

/* Which chains are reached by a goto of some flow in TC.
 *
 * A flow that matches a recirculation id makes sense in TC only if a packet
 * can get to its chain there.  Thread-safe; counts are read without a lock. */

#include "ccmap.h"
#include "ovs-thread.h"

struct tcb_chain_use {
    struct ovs_mutex mutex;
    struct ccmap counts;
};

void tcb_chain_use_init(struct tcb_chain_use *);
void tcb_chain_use_destroy(struct tcb_chain_use *);

/* Chain 0 is always in use and is never counted. */
void tcb_chain_use_ref(struct tcb_chain_use *, uint32_t chain);
void tcb_chain_use_unref(struct tcb_chain_use *, uint32_t chain);
bool tcb_chain_in_use(const struct tcb_chain_use *, uint32_t chain);

#endif /* tcb-chain-use.h */
