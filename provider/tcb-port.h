/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_PORT_H
#define TCB_PORT_H 1

/* Ports: the device, its hook and its qdisc.
 *
 * A port belongs to the OVS port manager (dpif_offload_port_mgr) of one
 * offload object and is freed after an RCU grace period; pointers to it are
 * good until the thread quiesces.  Ports are added and removed by the main
 * thread only, and looked up by any thread without a lock. */

#include "dpif-offload-provider.h"
#include "ovs-atomic.h"
#include "ovs-rcu.h"
#include "tcb-hook.h"
#include "tcb-why.h"
#include "tcnl/ack.h"
#include "tcnl/filter.h"

struct tcb_offload;

enum tcb_port_state {
    TCB_PORT_OFF,               /* Offload is not enabled (yet). */
    TCB_PORT_STARTING,          /* The main thread readies the qdisc. */
    TCB_PORT_READY,             /* Flows can be installed. */
    TCB_PORT_FAILED,            /* No usable qdisc; 'error' says why.  Tried
                                 * again when OVS is reconfigured. */
};

struct tcb_port {
    struct dpif_offload_port up;
    bool internal;              /* An internal port of the datapath. */
    enum tcb_hook hook;         /* Constant while READY. */
    atomic_bool made_qdisc;     /* We added the qdisc. */
    ATOMIC(enum tcb_port_state) state;
    atomic_count n_flows;       /* Filters in TC. */
    atomic_count full_rounds;   /* Dump rounds to come that must be full: a
                                 * filter here has no terse form. */
    bool told_full;             /* That was logged; dump threads only. */
    atomic_llong asked;         /* Msec: what the kernel counted until then is
                                 * in the flow table; 0: never asked. */
    OVSRCU_TYPE(char *) error;  /* Why the last initialization failed, or
                                 * NULL; the main thread replaces it. */
    struct tcb_why why;         /* Flows that were not offloaded. */
};

/* Look up a port; NULL if it is not one of ours. */
struct tcb_port *tcb_port_find(const struct tcb_offload *, odp_port_t);
struct tcb_port *tcb_port_find_by_ifindex(const struct tcb_offload *,
                                          int ifindex);

int tcb_port_add(struct tcb_offload *, struct netdev *, odp_port_t);
int tcb_port_del(struct tcb_offload *, odp_port_t);

/* Readies the qdisc of 'port', removes filters of earlier runs. */
void tcb_port_enable(struct tcb_offload *, struct tcb_port *);

/* Somebody may have removed the qdisc of a ready port: if so, adds it again
 * and returns true.  Any thread. */
struct tcb_worker;
bool tcb_port_revive_qdisc(struct tcb_port *, struct tcb_worker *);

enum tcb_port_state tcb_port_state(const struct tcb_port *);

/* Why the port is not ready, in words. */
const char *tcb_port_error(const struct tcb_port *);

/* The same, but waits for a port that is starting, which takes milliseconds:
 * a flow that was refused meanwhile would stay in the kernel datapath for as
 * long as it is used.  Does not quiesce. */
enum tcb_port_state tcb_port_wait(const struct tcb_port *);

#endif /* tcb-port.h */
