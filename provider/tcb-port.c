/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-port.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <unistd.h>

#include "netdev.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "tcb-leftover.h"
#include "tcb-meter.h"
#include "tcb-offload.h"
#include "tcb-operate.h"
#include "tcb-placeholder.h"
#include "tcb-plan.h"
#include "tcnl/qdisc.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(tcb_port);

static struct tcb_port *
port_cast(struct dpif_offload_port *up)
{
    return up ? CONTAINER_OF(up, struct tcb_port, up) : NULL;
}

struct tcb_port *
tcb_port_find(const struct tcb_offload *offload, odp_port_t port_no)
{
    return port_cast(dpif_offload_port_mgr_find_by_odp_port(&offload->up,
                                                            port_no));
}

struct tcb_port *
tcb_port_find_by_ifindex(const struct tcb_offload *offload, int ifindex)
{
    return port_cast(dpif_offload_port_mgr_find_by_ifindex(&offload->up,
                                                           ifindex));
}

enum tcb_port_state
tcb_port_state(const struct tcb_port *port)
{
    enum tcb_port_state state;

    atomic_read_explicit(&CONST_CAST(struct tcb_port *, port)->state, &state,
                         memory_order_acquire);
    return state;
}

/* Longest wait for a port that is starting, microseconds, and the step. */
#define START_WAIT_US 2000000
#define START_STEP_US 500

enum tcb_port_state
tcb_port_wait(const struct tcb_port *port)
{
    enum tcb_port_state state = tcb_port_state(port);

    for (int us = 0; state == TCB_PORT_STARTING && us < START_WAIT_US;
         us += START_STEP_US) {
        usleep(START_STEP_US);
        state = tcb_port_state(port);
    }
    return state;
}

static void
set_state(struct tcb_port *port, enum tcb_port_state state)
{
    atomic_store_explicit(&port->state, state, memory_order_release);
}

static struct tcnl_filter_id
hook_of(const struct tcb_port *port)
{
    return tcb_hook_id(port->up.ifindex, port->hook);
}

static enum tcnl_qdisc_kind
qdisc_kind(const struct tcb_port *port)
{
    return port->hook == TCB_HOOK_EGRESS ? TCNL_QDISC_CLSACT
                                         : TCNL_QDISC_INGRESS;
}

static int
add_qdisc(struct tcb_port *port, struct tcb_worker *w,
          struct tcnl_error *error)
{
    int result = tcnl_qdisc_add(w->transport, port->up.ifindex,
                                qdisc_kind(port), hook_of(port).block, error);

    if (!result) {
        atomic_store_relaxed(&port->made_qdisc, true);
    }
    return result;
}

/* Chooses the port's hook and makes sure that it exists.  A qdisc that stands
 * there already is used if it has the hook; it is not ours, and will not be
 * removed. */
static int
ready_qdisc(struct tcb_port *port, struct tcb_worker *w,
            struct tcnl_error *error)
{
    uint32_t block = netdev_get_block_id(port->up.netdev);
    struct tcnl_qdisc qdisc;
    int result;

    result = tcnl_qdisc_get(w->transport, port->up.ifindex, &qdisc, error);
    if (result) {
        return result;
    }
    /* A filter at a bond itself gets the packets of its members, too. */
    port->hook = (port->internal ? TCB_HOOK_EGRESS
                  : block && block == (uint32_t) port->up.ifindex
                    && (qdisc.kind == TCNL_QDISC_NONE
                        || qdisc.ingress_block == block) ? TCB_HOOK_BLOCK
                  : TCB_HOOK_INGRESS);
    switch (qdisc.kind) {
    case TCNL_QDISC_NONE:
        return add_qdisc(port, w, error);
    case TCNL_QDISC_CLSACT:
        return 0;
    case TCNL_QDISC_INGRESS:
        if (port->hook == TCB_HOOK_BLOCK) {
            /* Nobody but OVS gives a block that index: it is an earlier
             * run's. */
            atomic_store_relaxed(&port->made_qdisc, true);
        }
        if (!port->internal) {
            return 0;
        }
        ovs_strlcpy(error->text, "the device has an ingress qdisc, an "
                    "internal port needs clsact; remove the ingress qdisc",
                    sizeof error->text);
        return error->error = EEXIST;
    case TCNL_QDISC_OTHER:
    default:
        ovs_strlcpy(error->text, "an unknown qdisc stands in place of clsact",
                    sizeof error->text);
        return error->error = EEXIST;
    }
}

bool
tcb_port_revive_qdisc(struct tcb_port *port, struct tcb_worker *w)
{
    struct tcnl_error error;
    struct tcnl_qdisc qdisc;

    if (tcb_port_state(port) != TCB_PORT_READY
        || tcnl_qdisc_get(w->transport, port->up.ifindex, &qdisc, &error)
        || qdisc.kind != TCNL_QDISC_NONE) {
        return false;
    }
    if (add_qdisc(port, w, &error)) {
        return false;
    }
    VLOG_INFO("%s: the qdisc was gone, added it again",
              netdev_get_name(port->up.netdev));
    return true;
}

/* OVS's own tests look for the lines about tunnels. */
static void
log_abilities(const struct tcnl_abilities *able)
{
    if (able->vxlan_gbp) {
        VLOG_INFO("probe tc: vxlan gbp is supported.");
    }
    if (able->enc_flags) {
        VLOG_INFO("probe tc: enc flags are supported.");
    }
}

static void
probe_once(struct tcb_offload *offload, const struct tcb_port *port,
           struct tcb_worker *w)
{
    struct tcnl_filter_id hook = hook_of(port);
    struct tcnl_error error;
    bool probed;

    atomic_read_relaxed(&offload->probed, &probed);
    if (probed) {
        return;
    }
    if (tcnl_probe(w->transport,
                   hook.block ? (int) TCM_IFINDEX_MAGIC_BLOCK : hook.ifindex,
                   hook.block ? hook.block : hook.parent,
                   &offload->abilities, &error)) {
        VLOG_INFO("%s: cannot probe the kernel: %s%s%s",
                  netdev_get_name(port->up.netdev), ovs_strerror(error.error),
                  error.text[0] ? ": " : "", error.text);
        return;
    }
    log_abilities(&offload->abilities);
    atomic_store_explicit(&offload->probed, true, memory_order_release);
    tcb_rounds_log_mode(offload);
}

static int
enable(struct tcb_offload *offload, struct tcb_port *port,
       struct tcb_worker *w, struct tcnl_error *error)
{
    struct tcb_leftovers leftovers;
    struct tcnl_filter_id hook;
    bool made_qdisc;
    int result;

    if (port->up.ifindex <= 0) {
        ovs_strlcpy(error->text, "the device does not exist",
                    sizeof error->text);
        return error->error = ENODEV;
    }
    result = ready_qdisc(port, w, error);
    if (result) {
        return result;
    }
    hook = hook_of(port);
    atomic_read_relaxed(&port->made_qdisc, &made_qdisc);
    /* A block lives on with the members of its bond. */
    if (!made_qdisc || port->hook == TCB_HOOK_BLOCK) {
        result = tcb_leftovers_remove(w, &hook, &leftovers, error);
        if (result) {
            return result;
        }
        if (leftovers.removed || leftovers.foreign) {
            VLOG_INFO("%s: removed %u filters of an earlier run, %u foreign "
                      "filters stay", netdev_get_name(port->up.netdev),
                      leftovers.removed, leftovers.foreign);
        }
    }
    probe_once(offload, port, w);
    return 0;
}

const char *
tcb_port_error(const struct tcb_port *port)
{
    const char *error = ovsrcu_get(char *, &port->error);

    return error ? error : "offload is not enabled";
}

/* The same reason is logged once, however often the port is tried again. */
static void
note_error(struct tcb_port *port, const char *error)
{
    char *old = ovsrcu_get_protected(char *, &port->error);

    if (!old || strcmp(old, error)) {
        ovsrcu_set(&port->error, xstrdup(error));
        ovsrcu_postpone(free, old);
        VLOG_INFO("%s: flows of this port stay in the kernel datapath: %s",
                  netdev_get_name(port->up.netdev), error);
    }
}

void
tcb_port_enable(struct tcb_offload *offload, struct tcb_port *port)
{
    struct tcb_worker *w = tcb_worker_get(&offload->workers);
    struct tcnl_error error;
    int result;

    set_state(port, TCB_PORT_STARTING);
    memset(&error, 0, sizeof error);
    result = w ? enable(offload, port, w, &error) : ENOBUFS;
    if (w) {
        tcb_worker_put(&offload->workers, w, NULL);
    }

    dpif_offload_set_netdev_offload(port->up.netdev, &offload->up);
    if (result) {
        note_error(port, error.text[0] ? error.text : ovs_strerror(result));
        set_state(port, TCB_PORT_FAILED);
    } else {
        set_state(port, TCB_PORT_READY);
        VLOG_INFO("%s: Assigned flow API 'tc-batch'",
                  netdev_get_name(port->up.netdev));
    }
}

int
tcb_port_add(struct tcb_offload *offload, struct netdev *netdev,
             odp_port_t port_no)
{
    struct tcb_port *port = xzalloc(sizeof *port);
    bool enabled = tcb_offload_enabled(offload);

    /* Handlers find the port as soon as the manager has it. */
    port->internal = !strcmp(netdev_get_type(netdev), "internal");
    port->hook = port->internal ? TCB_HOOK_EGRESS : TCB_HOOK_INGRESS;
    atomic_init(&port->made_qdisc, false);
    atomic_init(&port->state, enabled ? TCB_PORT_STARTING : TCB_PORT_OFF);
    ovsrcu_init(&port->error, NULL);
    atomic_count_init(&port->n_flows, 0);
    atomic_count_init(&port->full_rounds, 0);
    atomic_init(&port->asked, 0);
    tcb_why_init(&port->why);

    if (!dpif_offload_port_mgr_add(&offload->up, &port->up, netdev, port_no,
                                   true)) {
        tcb_why_destroy(&port->why);
        free(port);
        return EEXIST;
    }
    if (enabled) {
        tcb_meters_enable(offload);
        tcb_port_enable(offload, port);
    }
    return 0;
}

/* Removes the qdisc that we made, unless somebody else has put filters into
 * it, at either hook. */
static void
remove_qdisc(struct tcb_offload *offload, struct tcb_port *port)
{
    struct tcb_worker *w = tcb_worker_get(&offload->workers);
    int ifindex = port->up.ifindex;
    struct tcnl_filter_id ingress, egress;

    if (!w) {
        return;
    }
    ingress = tcb_hook_id(ifindex, TCB_HOOK_INGRESS);
    egress = tcb_hook_id(ifindex, TCB_HOOK_EGRESS);
    if (tcb_hook_is_empty(w, &ingress)
        && (!port->internal || tcb_hook_is_empty(w, &egress))) {
        tcnl_qdisc_del(w->transport, ifindex, qdisc_kind(port), NULL);
    }
    tcb_worker_put(&offload->workers, w, NULL);
}

static void
free_port(struct tcb_port *port)
{
    tcb_why_destroy(&port->why);
    free(ovsrcu_get_protected(char *, &port->error));
    netdev_close(port->up.netdev);
    free(port);
}

int
tcb_port_del(struct tcb_offload *offload, odp_port_t port_no)
{
    struct tcnl_filter_id hook;
    struct tcb_port *port;
    bool made_qdisc;

    port = port_cast(dpif_offload_port_mgr_remove(&offload->up, port_no));
    if (!port) {
        return 0;
    }
    tcb_plans_outdate(offload);
    if (tcb_port_state(port) != TCB_PORT_OFF) {
        set_state(port, TCB_PORT_OFF);
        tcb_flush(offload, port);
        hook = hook_of(port);
        tcb_placeholders_remove(offload, &hook);
        atomic_read_relaxed(&port->made_qdisc, &made_qdisc);
        if (made_qdisc) {
            remove_qdisc(offload, port);
        }
        dpif_offload_set_netdev_offload(port->up.netdev, NULL);
    }
    ovsrcu_postpone(free_port, port);
    return 0;
}
