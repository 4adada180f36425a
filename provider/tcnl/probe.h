/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_PROBE_H
#define TCNL_PROBE_H 1

/* What the running kernel can do, found out by asking it.
 *
 * Probing adds filters with skip_hw at the reserved prio 65535 of the given
 * device's hook and removes them again; the device needs a clsact or ingress
 * qdisc.  The filters match a protocol for local experiments (0x88b5) and pass
 * what they match on, and the police action has the last index of our pool:
 * nothing foreign is touched, also not by clearing away what a probe left
 * behind that was killed.
 *
 * Whatever is lost on the way, nothing that was added stays: every probe ends
 * by deleting all that it may have added, and tries again what the kernel has
 * not answered.  A lost answer can make an ability a no, never a yes. */

#include <stdbool.h>
#include "ack.h"
#include "transport.h"

struct tcnl_abilities {
    bool flower;                /* Flower filters can be added at all. */
    bool own_handles;           /* A chosen handle is kept. */
    bool terse_dump;            /* TCA_DUMP_FLAGS_TERSE honoured (5.8). */
    bool terse_echo;            /* The same in a delete's echo (our patch). */
    bool used_since;            /* Dumps without idle filters (our patch). */
    bool dump_start;            /* Dumps that start at a chain, prio and
                                 * handle, and keep their place when prios
                                 * come or go (our patch). */
    bool ext_ack;               /* Error texts arrive. */
    bool multi_mask;            /* Several masks in one prio (4.19). */
    bool police_pkts;           /* Packet rates (TCA_POLICE_PKTRATE64). */
    bool no_percpu_stats;       /* TCA_ACT_FLAGS_NO_PERCPU_STATS (5.5). */
    uint16_t ct_states;         /* TCA_FLOWER_KEY_CT_FLAGS_* that can be
                                 * matched; 0: no conntrack at all. */
    bool enc_flags;             /* TCA_FLOWER_KEY_ENC_FLAGS can be matched. */
    bool vxlan_gbp;             /* VXLAN group policies can be matched and
                                 * set. */
};

/* Probes on 'ifindex' at 'parent' (TCNL_PARENT_*), or, for a device on a
 * shared block, with TCM_IFINDEX_MAGIC_BLOCK as 'ifindex' at the block whose
 * index is 'parent'.  Returns 0, or a positive errno value with its text in
 * 'error' if not even a simple flower filter can be added. */
int tcnl_probe(struct tcnl_transport *, int ifindex, uint32_t parent,
               struct tcnl_abilities *, struct tcnl_error *error);

#endif /* tcnl/probe.h */
