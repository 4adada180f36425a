/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "twin.h"

#include <errno.h>

#include "dpif-offload.h"
#include "dpif-offload-provider.h"
#include "hash.h"
#include "netdev.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/ofp-meter.h"
#include "ovs-rcu.h"
#include "random-flow.h"
#include "smap.h"
#include "tcb-offload.h"
#include "tcb-plan.h"
#include "tcnl/socket.h"
#include "tcnl/transport.h"
#include "util.h"
#include "vswitch-idl.h"

/* Port N of a text is this in the datapath. */
#define ODP_PORT(TWIN, PORT) (20 + 10 * (TWIN) + (PORT))
#define UNKNOWN_PORT 99

#define UFID_MARK 0x7717

static const struct {
    int port;
    const char *type;
    const char *dst_port[N_TWINS];
} port_kinds[] = {
    { 1, "system", { NULL, NULL } },
    { 2, "system", { NULL, NULL } },
    { 3, "internal", { NULL, NULL } },
    { 5, "vxlan", { "4789", "4790" } },
    { 6, "geneve", { "6081", "6082" } },
};

static const char *const providers[N_TWINS] = { "tc", "tc-batch" };

static void
check(int error, const char *what, const char *name)
{
    if (error) {
        ovs_fatal(error, "%s %s", what, name);
    }
}

static char *
port_name(enum twin twin, int port)
{
    return xasprintf("twin%d%d", twin, port);
}

/* Says whose flow it is, and is spread as OVS's own are: providers take a part
 * of it for a hash. */
static ovs_u128
make_ufid(enum twin twin, uint32_t number)
{
    ovs_u128 ufid = {
        .u32 = { number, hash_int(number, twin), UFID_MARK + twin, ~number }
    };

    return ufid;
}

/* Opening. */

/* The configuration as it would come from the database. */
static void
configure(void)
{
    enum { N = N_TWINS * ARRAY_SIZE(port_kinds) };
    struct ovsrec_interface ifaces[N], *iface[N];
    struct ovsrec_port ports[N], *portp[N];
    struct ovsrec_bridge bridge = { .ports = portp, .n_ports = N };
    struct ovsrec_bridge *bridgep = &bridge;
    struct ovsrec_open_vswitch cfg = { .bridges = &bridgep, .n_bridges = 1 };

    for (size_t i = 0; i < N; i++) {
        enum twin twin = i % N_TWINS;

        memset(&ifaces[i], 0, sizeof ifaces[i]);
        memset(&ports[i], 0, sizeof ports[i]);
        ifaces[i].name = port_name(twin, port_kinds[i / N_TWINS].port);
        smap_init(&ifaces[i].other_config);
        smap_add(&ifaces[i].other_config, "hw-offload-priority",
                 providers[twin]);
        iface[i] = &ifaces[i];
        ports[i].interfaces = &iface[i];
        ports[i].n_interfaces = 1;
        portp[i] = &ports[i];
    }
    smap_init(&cfg.other_config);
    smap_add(&cfg.other_config, "hw-offload", "true");
    dpif_offload_set_global_cfg(&cfg);
    smap_destroy(&cfg.other_config);
    for (size_t i = 0; i < N; i++) {
        smap_destroy(&ifaces[i].other_config);
        free(ifaces[i].name);
    }
}

static void
add_port(struct twins *twins, enum twin twin, size_t kind)
{
    struct twin_port *port = &twins->ports[twin][port_kinds[kind].port];
    const char *dst_port = port_kinds[kind].dst_port[twin];
    char *name = port_name(twin, port_kinds[kind].port);
    odp_port_t odp_port
        = u32_to_odp(ODP_PORT(twin, port_kinds[kind].port));
    struct smap config = SMAP_INITIALIZER(&config);

    check(netdev_open(name, port_kinds[kind].type, &port->netdev),
          "cannot open", name);
    if (dst_port) {
        smap_add(&config, "remote_ip", "flow");
        smap_add(&config, "key", "flow");
        smap_add(&config, "dst_port", dst_port);
        if (!strcmp(port_kinds[kind].type, "vxlan")) {
            smap_add(&config, "exts", "gbp");
        }
        check(netdev_set_config(port->netdev, &config, NULL),
              "cannot configure", name);
    }
    check(dpif_port_add(twins->dpif, port->netdev, &odp_port), "cannot add",
          name);
    port->ifindex = netdev_get_ifindex(port->netdev);
    port->internal = !strcmp(port_kinds[kind].type, "internal");
    if (port->ifindex <= 0) {
        ovs_fatal(0, "%s has no device", name);
    }
    smap_destroy(&config);
    free(name);
}

void
twins_add_port(struct twins *twins, enum twin twin, int port)
{
    for (size_t i = 0; i < ARRAY_SIZE(port_kinds); i++) {
        if (port_kinds[i].port == port) {
            add_port(twins, twin, i);
        }
    }
}

void
twins_offloads(const struct twins *twins,
               struct dpif_offload *offloads[N_TWINS])
{
    struct dpif_offload *offload;
    void *dump;

    offloads[THEIRS] = offloads[OURS] = NULL;
    DPIF_OFFLOAD_FOR_EACH (offload, dump, twins->dpif) {
        for (int twin = 0; twin < N_TWINS; twin++) {
            if (!strcmp(dpif_offload_type(offload), providers[twin])) {
                offloads[twin] = offload;
            }
        }
    }
    if (!offloads[THEIRS] || !offloads[OURS]) {
        ovs_fatal(0, "not both providers are there");
    }
}

void
twins_remove_port(struct twins *twins, enum twin twin, int port)
{
    struct twin_port *p = &twins->ports[twin][port];

    /* If the device is gone, the datapath has no such port any more. */
    dpif_port_del(twins->dpif, u32_to_odp(ODP_PORT(twin, port)),
                  netdev_get_ifindex(p->netdev) <= 0);
    netdev_close(p->netdev);
    p->netdev = NULL;
}

void
twins_set_meter(struct twins *twins, uint32_t meter, uint32_t rate)
{
    struct ofputil_meter_band band = {
        .type = OFPMBT13_DROP, .rate = rate, .burst_size = 1000,
    };
    struct ofputil_meter_config config = {
        .meter_id = meter,
        .flags = ((meter & 1 ? OFPMF13_KBPS : OFPMF13_PKTPS)
                  | OFPMF13_BURST | OFPMF13_STATS),
        .n_bands = 1,
        .bands = &band,
    };

    dpif_offload_meter_set(twins->dpif, (ofproto_meter_id) { .uint32 = meter },
                           &config);
}

static void
note_offload(struct tcb_offload *offload, void *twins_)
{
    struct twins *twins = twins_;

    twins->ours = offload;
}

void
twins_open(struct twins *twins)
{
    struct smap config = SMAP_INITIALIZER(&config);

    memset(twins, 0, sizeof *twins);
    check(tcnl_socket_open(0, 0, &twins->transport), "cannot open", "socket");
    configure();
    check(dpif_create_and_open("oracle", "system", &twins->dpif),
          "cannot create datapath", "oracle");
    smap_add(&config, "hw-offload", "true");
    dpif_set_config(twins->dpif, &config);
    smap_destroy(&config);
    tcb_offload_for_each(note_offload, twins);
    for (size_t i = 0; i < ARRAY_SIZE(port_kinds); i++) {
        for (enum twin twin = 0; twin < N_TWINS; twin++) {
            add_port(twins, twin, i);
        }
    }
    for (uint32_t i = 1; i <= RANDOM_FLOW_METERS; i++) {
        twins_set_meter(twins, i, 1000 * i);
    }
}

void
twins_close(struct twins *twins)
{
    for (enum twin twin = 0; twin < N_TWINS; twin++) {
        for (int i = 0; i <= TWIN_MAX_PORT; i++) {
            netdev_close(twins->ports[twin][i].netdev);
        }
    }
    dpif_delete(twins->dpif);
    dpif_close(twins->dpif);
    tcnl_transport_close(twins->transport);
}

int
twins_port(const void *twins_, int ifindex)
{
    const struct twins *twins = twins_;

    for (enum twin twin = 0; twin < N_TWINS; twin++) {
        for (int i = 1; i <= TWIN_MAX_PORT; i++) {
            if (twins->ports[twin][i].netdev
                && twins->ports[twin][i].ifindex == ifindex) {
                return i;
            }
        }
    }
    return -ifindex;
}

/* Operations. */

static uint32_t
place_port(enum twin twin, uint32_t port)
{
    for (size_t i = 0; i < ARRAY_SIZE(port_kinds); i++) {
        if (port_kinds[i].port == port) {
            return ODP_PORT(twin, port);
        }
    }
    return UNKNOWN_PORT;
}

static void
put_u32(const struct nlattr *a, uint32_t value)
{
    memcpy(CONST_CAST(void *, nl_attr_get(a)), &value, sizeof value);
}

static void
place_actions(enum twin twin, const struct nlattr *actions, size_t len)
{
    const struct nlattr *a, *b;
    size_t left, left2;

    NL_ATTR_FOR_EACH (a, left, actions, len) {
        switch (nl_attr_type(a)) {
        case OVS_ACTION_ATTR_OUTPUT:
            put_u32(a, place_port(twin, nl_attr_get_u32(a)));
            break;
        case OVS_ACTION_ATTR_CHECK_PKT_LEN:
            NL_NESTED_FOR_EACH (b, left2, a) {
                if (nl_attr_type(b) != OVS_CHECK_PKT_LEN_ATTR_PKT_LEN) {
                    place_actions(twin, nl_attr_get(b), nl_attr_get_size(b));
                }
            }
            break;
        }
    }
}

/* Packets from tunnels come in from the device of their kind. */
static void
place_in_port(enum twin twin, const struct test_flow *flow,
              struct ofpbuf *key)
{
    bool tunnel = nl_attr_find(key, 0, OVS_KEY_ATTR_TUNNEL) != NULL;
    const struct nlattr *a = nl_attr_find(key, 0, OVS_KEY_ATTR_IN_PORT);

    put_u32(a, place_port(twin, flow->geneve ? 6 : tunnel ? 5
                          : nl_attr_get_u32(a)));
}

static void
copy(struct ofpbuf *to, const struct ofpbuf *from)
{
    ofpbuf_init(to, from->size);
    ofpbuf_put(to, from->data, from->size);
}

static void
init(struct twin_op *op, enum dpif_op_type type, enum twin twin,
     uint32_t number)
{
    memset(op, 0, offsetof(struct twin_op, stub));
    op->op.type = type;
    op->op.error = -1;
    op->ufid = make_ufid(twin, number);
    ofpbuf_init(&op->key, 0);
    ofpbuf_init(&op->mask, 0);
    ofpbuf_init(&op->actions, 0);
    ofpbuf_use_stub(&op->buffer, op->stub, sizeof op->stub);
}

void
twin_put(struct twin_op *op, enum twin twin, const struct test_flow *flow,
         uint32_t number)
{
    init(op, DPIF_OP_FLOW_PUT, twin, number);
    copy(&op->key, &flow->key);
    copy(&op->mask, &flow->mask);
    copy(&op->actions, &flow->actions);
    place_in_port(twin, flow, &op->key);
    place_actions(twin, op->actions.data, op->actions.size);
    op->op.flow_put = (struct dpif_flow_put) {
        .flags = DPIF_FP_CREATE,
        .key = op->key.data,
        .key_len = op->key.size,
        .mask = op->mask.data,
        .mask_len = op->mask.size,
        .actions = op->actions.data,
        .actions_len = op->actions.size,
        .ufid = &op->ufid,
        .pmd_id = PMD_ID_NULL,
        .stats = &op->stats,
    };
}

void
twin_del(struct twin_op *op, enum twin twin, uint32_t number)
{
    init(op, DPIF_OP_FLOW_DEL, twin, number);
    op->op.flow_del = (struct dpif_flow_del) {
        .ufid = &op->ufid,
        .stats = &op->stats,
        .terse = true,
        .pmd_id = PMD_ID_NULL,
    };
}

void
twin_get(struct twin_op *op, enum twin twin, uint32_t number)
{
    init(op, DPIF_OP_FLOW_GET, twin, number);
    op->op.flow_get = (struct dpif_flow_get) {
        .ufid = &op->ufid,
        .buffer = &op->buffer,
        .flow = &op->flow,
        .pmd_id = PMD_ID_NULL,
    };
}

void
twin_op_uninit(struct twin_op *op)
{
    ofpbuf_uninit(&op->key);
    ofpbuf_uninit(&op->mask);
    ofpbuf_uninit(&op->actions);
    ofpbuf_uninit(&op->buffer);
}

void
twins_operate(struct twins *twins, struct twin_op *ops, size_t n)
{
    struct dpif_op **opps = xcalloc(MAX(n, 1), sizeof *opps);

    for (size_t i = 0; i < n; i++) {
        opps[i] = &ops[i].op;
    }
    if (n) {
        dpif_operate(twins->dpif, opps, n, DPIF_OFFLOAD_ALWAYS);
    }
    free(opps);
}

bool
twin_of_ufid(const ovs_u128 *ufid, enum twin *twin, uint32_t *number)
{
    *number = ufid->u32[0];
    *twin = ufid->u32[2] - UFID_MARK;
    return (*twin < N_TWINS
            && ovs_u128_equals(*ufid, make_ufid(*twin, *number)));
}

char *
twins_why(struct twins *twins, const struct test_flow *flow)
{
    struct tcb_put_plan *plan = xzalloc(sizeof *plan);
    char *why = NULL;
    struct twin_op op;

    twin_put(&op, OURS, flow, 0);
    switch (tcb_plan_put(twins->ours, NULL, &op.op.flow_put, plan)) {
    case TCB_PLAN_OK:
        tcb_plan_unref_uses(twins->ours, &plan->uses);
        break;
    case TCB_PLAN_REFUSED:
        why = xstrdup(plan->why.detail);
        break;
    case TCB_PLAN_NOT_OURS:
        why = xstrdup("not ours");
        break;
    }
    twin_op_uninit(&op);
    free(plan);
    return why;
}
