/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-port.h"

#include <errno.h>
#include <unistd.h>

#include "netdev.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "tcb-leftover.h"
#include "tcb-meter.h"
#include "tcb-offload.h"
#include "tcb-operate.h"
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
    return (struct tcnl_filter_id) {
        .ifindex = port->up.ifindex,
        .parent = port->parent,
    };
}

/* Makes sure that the port's hook exists.  A qdisc that stands there already
 * is used if it has the hook; it is not ours, and will not be removed. */
static int
ready_qdisc(struct tcb_port *port, struct tcb_worker *w,
            struct tcnl_error *error)
{
    enum tcnl_qdisc_kind wanted = port->internal ? TCNL_QDISC_CLSACT
                                                 : TCNL_QDISC_INGRESS;
    struct tcnl_qdisc qdisc;
    int result;

    result = tcnl_qdisc_get(w->transport, port->up.ifindex, &qdisc, error);
    if (result) {
        return result;
    }
    switch (qdisc.kind) {
    case TCNL_QDISC_NONE:
        result = tcnl_qdisc_add(w->transport, port->up.ifindex, wanted, 0,
                                error);
        port->made_qdisc = !result;
        return result;
    case TCNL_QDISC_CLSACT:
        return 0;
    case TCNL_QDISC_INGRESS:
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
    if (ready_qdisc(port, w, &error)) {
        return false;
    }
    VLOG_INFO("%s: the qdisc was gone, added it again",
              netdev_get_name(port->up.netdev));
    return true;
}

static void
probe_once(struct tcb_offload *offload, const struct tcb_port *port,
           struct tcb_worker *w)
{
    struct tcnl_error error;
    bool probed;

    atomic_read_relaxed(&offload->probed, &probed);
    if (probed) {
        return;
    }
    if (tcnl_probe(w->transport, port->up.ifindex, port->parent,
                   &offload->abilities, &error)) {
        VLOG_INFO("%s: cannot probe the kernel: %s%s%s",
                  netdev_get_name(port->up.netdev), ovs_strerror(error.error),
                  error.text[0] ? ": " : "", error.text);
        return;
    }
    atomic_store_explicit(&offload->probed, true, memory_order_release);
}

static int
enable(struct tcb_offload *offload, struct tcb_port *port,
       struct tcb_worker *w, struct tcnl_error *error)
{
    struct tcnl_filter_id hook = hook_of(port);
    struct tcb_leftovers leftovers;
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
    if (!port->made_qdisc) {
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

void
tcb_port_enable(struct tcb_offload *offload, struct tcb_port *port)
{
    static const struct tcb_operate_stats nothing_done;
    const char *name = netdev_get_name(port->up.netdev);
    struct tcb_worker *w = tcb_worker_get(&offload->workers);
    int result;

    memset(&port->error, 0, sizeof port->error);
    result = w ? enable(offload, port, w, &port->error) : ENOBUFS;
    if (w) {
        tcb_worker_put(&offload->workers, w, &nothing_done);
    }

    dpif_offload_set_netdev_offload(port->up.netdev, &offload->up);
    if (result) {
        if (!port->error.text[0]) {
            ovs_strlcpy(port->error.text, ovs_strerror(result),
                        sizeof port->error.text);
        }
        set_state(port, TCB_PORT_FAILED);
        VLOG_INFO("%s: flows of this port stay in the kernel datapath: %s",
                  name, port->error.text);
    } else {
        set_state(port, TCB_PORT_READY);
        VLOG_INFO("%s: Assigned flow API 'tc-batch'", name);
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
    port->parent = port->internal ? TCNL_PARENT_EGRESS : TCNL_PARENT_INGRESS;
    atomic_init(&port->state, enabled ? TCB_PORT_STARTING : TCB_PORT_OFF);
    atomic_count_init(&port->n_flows, 0);
    atomic_count_init(&port->full_rounds, 0);
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

static void
count_filter(void *n_, const struct nlmsghdr *nlh)
{
    unsigned int *n = n_;
    struct tcnl_filter_info info;

    *n += !tcnl_filter_parse(nlh, &info) && !info.is_header;
}

static int
build_dump(struct tcnl_buffer *b, const void *hook)
{
    return tcnl_filter_put_dump(b, hook, false, false);
}

/* Removes the qdisc that we made, unless somebody else has put filters into
 * it, at either hook. */
static void
remove_qdisc(struct tcb_offload *offload, struct tcb_port *port)
{
    static const struct tcb_operate_stats nothing_done;
    static const uint32_t parents[] = { TCNL_PARENT_INGRESS,
                                        TCNL_PARENT_EGRESS };
    struct tcb_worker *w = tcb_worker_get(&offload->workers);
    struct tcnl_filter_id hook = hook_of(port);
    struct tcnl_error error;
    unsigned int n = 0;

    if (!w) {
        return;
    }
    for (int i = 0; i < (port->internal ? 2 : 1); i++) {
        hook.parent = parents[i];
        if (tcnl_dump_all(w->transport, build_dump, &hook, count_filter, &n,
                          &error) != TCNL_DUMP_COMPLETE) {
            n++;
        }
    }
    if (!n) {
        tcnl_qdisc_del(w->transport, port->up.ifindex,
                       port->internal ? TCNL_QDISC_CLSACT
                                      : TCNL_QDISC_INGRESS, &error);
    }
    tcb_worker_put(&offload->workers, w, &nothing_done);
}

static void
free_port(struct tcb_port *port)
{
    tcb_why_destroy(&port->why);
    netdev_close(port->up.netdev);
    free(port);
}

int
tcb_port_del(struct tcb_offload *offload, odp_port_t port_no)
{
    struct tcb_port *port;

    port = port_cast(dpif_offload_port_mgr_remove(&offload->up, port_no));
    if (!port) {
        return 0;
    }
    if (tcb_port_state(port) != TCB_PORT_OFF) {
        set_state(port, TCB_PORT_OFF);
        tcb_flush(offload, port);
        if (port->made_qdisc) {
            remove_qdisc(offload, port);
        }
        dpif_offload_set_netdev_offload(port->up.netdev, NULL);
    }
    ovsrcu_postpone(free_port, port);
    return 0;
}
