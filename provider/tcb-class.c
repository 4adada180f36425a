/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>

#include <errno.h>

#include "dpif-offload.h"
#include "netdev-provider.h"
#include "netdev-vport.h"
#include "openvswitch/json.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "smap.h"
#include "tcb-dump.h"
#include "tcb-meter.h"
#include "tcb-offload.h"
#include "tcb-operate.h"
#include "tcb-port.h"
#include "tcb-set.h"
#include "tcb-show.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(tcb_class);

static struct ovs_mutex all_mutex = OVS_MUTEX_INITIALIZER;
static struct ovs_list all_offloads OVS_GUARDED_BY(all_mutex)
    = OVS_LIST_INITIALIZER(&all_offloads);

void
tcb_offload_for_each(void (*cb)(struct tcb_offload *, void *aux), void *aux)
{
    struct tcb_offload *offload;

    ovs_mutex_lock(&all_mutex);
    LIST_FOR_EACH (offload, node, &all_offloads) {
        cb(offload, aux);
    }
    ovs_mutex_unlock(&all_mutex);
}

bool
tcb_offload_enabled(const struct tcb_offload *offload)
{
    bool enabled;

    atomic_read_explicit(&CONST_CAST(struct tcb_offload *, offload)->enabled,
                         &enabled, memory_order_acquire);
    return enabled;
}

static int
tcb_init(void)
{
    tcb_set_init();
    tcb_show_init();
    return 0;
}

/* Also runs in ovs-dpctl and whatever else opens a dpif, so it touches nothing
 * in the kernel. */
static int
tcb_open(const struct dpif_offload_class *class, struct dpif *dpif,
         struct dpif_offload **offloadp)
{
    struct tcb_offload *offload = xzalloc(sizeof *offload);

    dpif_offload_init(&offload->up, class, dpif);
    offload->recirc_shared = (dpif_get_features(dpif)
                              & OVS_DP_F_TC_RECIRC_SHARING) != 0;
    offload->keep_prios = true;
    atomic_init(&offload->enabled, false);
    atomic_init(&offload->probed, false);
    atomic_init(&offload->generation, 1);
    tcb_flow_table_init(&offload->flows);
    tcb_protos_init(&offload->protos);
    tcb_chain_use_init(&offload->chains);
    tcb_shapes_init(&offload->shapes);
    tcb_worker_pool_init(&offload->workers);
    tcb_rounds_init(&offload->rounds);
    tcb_pending_init(&offload->pending);
    tcb_holds_init(&offload->holds);
    offload->meters = tcb_meters_create();

    ovs_mutex_lock(&all_mutex);
    ovs_list_push_back(&all_offloads, &offload->node);
    ovs_mutex_unlock(&all_mutex);

    *offloadp = &offload->up;
    return 0;
}

static void
free_offload(struct tcb_offload *offload)
{
    tcb_holds_destroy(&offload->holds);
    tcb_pending_destroy(&offload->pending);
    tcb_rounds_destroy(&offload->rounds);
    tcb_worker_pool_destroy(&offload->workers);
    tcb_chain_use_destroy(&offload->chains);
    tcb_shapes_destroy(&offload->shapes);
    tcb_protos_destroy(&offload->protos);
    tcb_flow_table_destroy(&offload->flows);
    free(offload);
}

static void
tcb_close(struct dpif_offload *offload_)
{
    struct tcb_offload *offload = tcb_offload_cast(offload_);
    struct dpif_offload_port *port;

    ovs_mutex_lock(&all_mutex);
    ovs_list_remove(&offload->node);
    ovs_mutex_unlock(&all_mutex);

    DPIF_OFFLOAD_PORT_FOR_EACH (port, offload_) {
        tcb_port_del(offload, port->port_no);
    }
    if (tcb_offload_enabled(offload)) {
        tcb_flush(offload, NULL);
    }
    tcb_meters_destroy(offload->meters);
    dpif_offload_destroy(offload_);

    /* Slots that were just freed come back after a grace period. */
    ovsrcu_postpone(free_offload, offload);
}

static void
set_policy(struct tcb_offload *offload, const char *policy)
{
    if (!strcmp(policy, "skip_sw")) {
        offload->cls_flags = TCA_CLS_FLAGS_SKIP_SW;
    } else if (!strcmp(policy, "skip_hw")) {
        offload->cls_flags = TCA_CLS_FLAGS_SKIP_HW;
    } else if (!strcmp(policy, "none")) {
        offload->cls_flags = 0;
    } else {
        VLOG_WARN("tc: Invalid policy '%s'", policy);
        return;
    }
    VLOG_INFO("tc-batch: using policy '%s'", policy);
}

static void
set_dump_mode(struct tcb_offload *offload, const char *name)
{
    enum tcb_dump_mode mode, old;

    if (!tcb_dump_mode_from_name(name, &mode)) {
        VLOG_WARN("tc-batch-dump-mode: there is no mode \"%s\", but delta, "
                  "terse and full", name);
        return;
    }
    atomic_read_relaxed(&offload->rounds.allowed, &old);
    if (mode != old) {
        atomic_store_relaxed(&offload->rounds.allowed, mode);
        tcb_rounds_log_mode(offload);
    }
}

/* Whatever stood in the way of a port may have gone. */
static void
retry_ports(struct tcb_offload *offload)
{
    struct dpif_offload_port *up;

    DPIF_OFFLOAD_PORT_FOR_EACH (up, &offload->up) {
        struct tcb_port *port = CONTAINER_OF(up, struct tcb_port, up);

        if (tcb_port_state(port) == TCB_PORT_FAILED) {
            tcb_port_enable(offload, port);
        }
    }
}

/* Offload is switched on once in the life of the process.  OVS calls this on
 * each reconfiguration. */
static void
tcb_set_config(struct dpif_offload *offload_, const struct smap *other_config)
{
    struct tcb_offload *offload = tcb_offload_cast(offload_);
    struct dpif_offload_port *up;

    set_dump_mode(offload, smap_get_def(other_config, "tc-batch-dump-mode",
                                        "delta"));
    if (offload->configured) {
        retry_ports(offload);
        return;
    } else if (!smap_get_bool(other_config, "hw-offload", false)) {
        return;
    }
    offload->configured = true;
    set_policy(offload, smap_get_def(other_config, "tc-policy", "none"));
    atomic_store_explicit(&offload->enabled, true, memory_order_release);
    tcb_meters_enable(offload);

    DPIF_OFFLOAD_PORT_FOR_EACH (up, offload_) {
        tcb_port_enable(offload, CONTAINER_OF(up, struct tcb_port, up));
    }
}

static void
tcb_get_debug(const struct dpif_offload *offload, struct ds *ds,
              struct json *json)
{
    struct json *json_ports = json ? json_object_create() : NULL;
    struct dpif_offload_port *port;

    DPIF_OFFLOAD_PORT_FOR_EACH (port, offload) {
        const char *name = netdev_get_name(port->netdev);

        if (json) {
            struct json *json_port = json_object_create();

            json_object_put(json_port, "port_no",
                            json_integer_create(odp_to_u32(port->port_no)));
            json_object_put(json_port, "ifindex",
                            json_integer_create(port->ifindex));
            json_object_put(json_ports, name, json_port);
        } else if (ds) {
            ds_put_format(ds, "  - %s: port_no: %u, ifindex: %d\n", name,
                          odp_to_u32(port->port_no), port->ifindex);
        }
    }
    if (json && !json_object_is_empty(json_ports)) {
        json_object_put(json, "ports", json_ports);
    } else {
        json_destroy(json_ports);
    }
}

/* A vport of another kind of datapath has no device for TC. */
static bool
tcb_can_offload(struct dpif_offload *offload OVS_UNUSED,
                struct netdev *netdev)
{
    return !netdev_vport_is_vport_class(netdev->netdev_class)
           || !strcmp(netdev_get_dpif_type(netdev), "system");
}

static int
tcb_class_port_add(struct dpif_offload *offload, struct netdev *netdev,
                   odp_port_t port_no)
{
    return tcb_port_add(tcb_offload_cast(offload), netdev, port_no);
}

static int
tcb_class_port_del(struct dpif_offload *offload, odp_port_t port_no)
{
    return tcb_port_del(tcb_offload_cast(offload), port_no);
}

static struct netdev *
tcb_get_netdev(const struct dpif_offload *offload, odp_port_t port_no)
{
    struct tcb_port *port = tcb_port_find(tcb_offload_cast(offload), port_no);

    return port ? port->up.netdev : NULL;
}

static int
tcb_flow_flush(const struct dpif_offload *offload)
{
    return tcb_flush(tcb_offload_cast(offload), NULL);
}

static uint64_t
tcb_flow_count(const struct dpif_offload *offload_)
{
    struct tcb_offload *offload = tcb_offload_cast(offload_);

    return atomic_count_get(&offload->flows.n_live);
}

struct dpif_offload_class dpif_offload_tc_batch_class = {
    .type = "tc-batch",
    .impl_type = DPIF_OFFLOAD_IMPL_FLOWS_PROVIDER_ONLY,
    .supported_dpif_types = (const char *const[]) { "system", NULL },
    .init = tcb_init,
    .open = tcb_open,
    .close = tcb_close,
    .set_config = tcb_set_config,
    .get_debug = tcb_get_debug,
    .can_offload = tcb_can_offload,
    .port_add = tcb_class_port_add,
    .port_del = tcb_class_port_del,
    .get_netdev = tcb_get_netdev,
    .flow_flush = tcb_flow_flush,
    .flow_dump_create = tcb_dump_create,
    .flow_dump_destroy = tcb_dump_destroy,
    .flow_dump_thread_create = tcb_dump_thread_create,
    .flow_dump_thread_destroy = tcb_dump_thread_destroy,
    .flow_dump_next = tcb_dump_next,
    .operate = tcb_operate,
    .flow_count = tcb_flow_count,
    .meter_set = tcb_meter_set,
    .meter_get = tcb_meter_get,
    .meter_del = tcb_meter_del,
};
