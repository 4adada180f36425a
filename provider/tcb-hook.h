/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_HOOK_H
#define TCB_HOOK_H 1

/* Where the filters of a port sit. */

#include "tcnl/filter.h"

enum tcb_hook {
    TCB_HOOK_INGRESS,
    TCB_HOOK_EGRESS,            /* Internal ports: what the host sends there is
                                 * what OVS receives from it. */
    TCB_HOOK_BLOCK,             /* Bonds: an ingress block that the members
                                 * share, so that hardware sees the filters.
                                 * Its index is the bond's ifindex, and OVS
                                 * binds the members to it
                                 * (netdev_linux_update_lag() in
                                 * lib/netdev-linux.c). */
};

/* The hook at device 'ifindex', for dumps, and for filters when the rest of
 * their identity is filled in. */
static inline struct tcnl_filter_id
tcb_hook_id(int ifindex, enum tcb_hook hook)
{
    return (struct tcnl_filter_id) {
        .ifindex = ifindex,
        .block = hook == TCB_HOOK_BLOCK ? (uint32_t) ifindex : 0,
        .parent = (hook == TCB_HOOK_EGRESS ? TCNL_PARENT_EGRESS
                   : TCNL_PARENT_INGRESS),
    };
}

static inline const char *
tcb_hook_name(enum tcb_hook hook)
{
    return (hook == TCB_HOOK_EGRESS ? "egress"
            : hook == TCB_HOOK_BLOCK ? "block" : "ingress");
}

#endif /* tcb-hook.h */
