/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>
#include "bed.h"

#include <setjmp.h>
#include <stdarg.h>

#include "dpif-offload.h"
#include "dummy.h"
#include "netdev.h"
#include "netlink.h"
#include "odp-util.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "packets.h"
#include "simap.h"
#include "smap.h"
#include "tcb-port.h"
#include "tcnl/socket.h"
#include "util.h"

#include <cmocka.h>

/* The kernel of the present test. */
static struct fake_tc *the_tc;

/* In the place of libtcnl's. */
int
tcnl_socket_open(size_t rcvbuf OVS_UNUSED, size_t sndbuf OVS_UNUSED,
                 struct tcnl_transport **transport)
{
    return fake_tc_open(the_tc, transport);
}

/* The datapath. */

static uint32_t
datapath_get_features(struct dpif *dpif OVS_UNUSED)
{
    return OVS_DP_F_TC_RECIRC_SHARING;
}

static void
datapath_operate(struct dpif *dpif, struct dpif_op **ops, size_t n_ops)
{
    struct bed *bed = CONTAINER_OF(dpif, struct bed, dpif);

    for (size_t i = 0; i < n_ops; i++) {
        ops[i]->error = 0;
        if (ops[i]->type == DPIF_OP_FLOW_DEL) {
            atomic_count_inc(&bed->n_datapath_dels);
        }
    }
}

static const struct dpif_class datapath_class = {
    .type = "system",
    .get_features = datapath_get_features,
    .operate = datapath_operate,
};

static void
add_port(struct bed *bed, int port)
{
    const struct dpif_offload_class *class = &dpif_offload_tc_batch_class;
    struct smap config = SMAP_INITIALIZER(&config);
    char name[16];

    snprintf(name, sizeof name, "p%d", port);
    assert_int_equal(netdev_open(name, "dummy", &bed->netdevs[port]), 0);
    smap_add_format(&config, "ifindex", "%d", BED_IFINDEX(port));
    assert_int_equal(netdev_set_config(bed->netdevs[port], &config, NULL), 0);
    smap_destroy(&config);
    assert_int_equal(class->port_add(bed->offload, bed->netdevs[port],
                                     u32_to_odp(port)), 0);
}

int
bed_setup(void **bedp)
{
    const struct dpif_offload_class *class = &dpif_offload_tc_batch_class;
    struct smap config = SMAP_INITIALIZER(&config);
    static bool registered;
    struct bed *bed = xzalloc(sizeof *bed);

    if (!registered) {
        vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
        netdev_dummy_register(DUMMY_OVERRIDE_NONE);
        registered = true;
    }
    fake_tc_init(&bed->tc);
    the_tc = &bed->tc;
    atomic_count_init(&bed->n_datapath_dels, 0);

    dpif_init(&bed->dpif, &datapath_class, "test", 0, 0);
    assert_int_equal(class->open(class, &bed->dpif, &bed->offload), 0);
    bed->flows = &tcb_offload_cast(bed->offload)->flows;
    tcb_offload_cast(bed->offload)->keep_prios = false;
    smap_add(&config, "hw-offload", "true");
    smap_add(&config, "tc-batch-dump-mode", "terse");
    class->set_config(bed->offload, &config);
    smap_destroy(&config);
    for (int port = 1; port <= BED_PORTS; port++) {
        add_port(bed, port);
        assert_int_equal(tcb_port_state(
            tcb_port_find(tcb_offload_cast(bed->offload),
                          u32_to_odp(port))), TCB_PORT_READY);
    }
    /* What probing sent does not count. */
    bed->tc.n_sends = bed->tc.n_new = bed->tc.n_del = bed->tc.n_get = 0;
    bed->tc.n_dumps = bed->tc.max_batch = 0;
    *bedp = bed;
    return 0;
}

/* Nothing of the provider is left in the kernel afterwards, whatever the test
 * has done. */
int
bed_teardown(void **bedp)
{
    struct bed *bed = *bedp;
    size_t n_foreign = 0;

    bed->tc.fault = NULL;
    bed->tc.send_error = bed->tc.dump_error = 0;
    bed->tc.dump_interrupted = false;
    dpif_offload_tc_batch_class.close(bed->offload);
    for (int port = 1; port <= BED_PORTS; port++) {
        netdev_close(bed->netdevs[port]);
    }
    ovsrcu_barrier();
    for (size_t i = 0; i < bed->tc.n_filters; i++) {
        const struct fake_tc_filter *f = bed->tc.filters[i];

        n_foreign += ntohl(f->flower.key.ipv4_src) >> 16 == 0x0aff;
    }
    assert_int_equal(bed->tc.n_filters, n_foreign);
    assert_int_equal(bed->tc.n_polices, bed->n_foreign_polices);
    free(bed->dpif.base_name);
    free(bed->dpif.full_name);
    fake_tc_uninit(&bed->tc);
    free(bed);
    return 0;
}

/* Operations. */

ovs_u128
bed_ufid(unsigned int n)
{
    ovs_u128 ufid = { .u32 = { n, n * 0x9e3779b1u, 0xbed, n } };

    return ufid;
}

static void
init(struct bed_op *op, enum dpif_op_type type, unsigned int n)
{
    memset(op, 0, sizeof *op);
    op->op.type = type;
    op->op.error = -1;
    op->ufid = bed_ufid(n);
    ofpbuf_init(&op->key, 0);
    ofpbuf_init(&op->mask, 0);
    ofpbuf_init(&op->actions, 0);
    ofpbuf_use_stub(&op->buffer, op->stub, sizeof op->stub);
    /* What is not filled in shall show. */
    memset(&op->stats, 0x55, sizeof op->stats);
}

void
bed_put_match(struct bed_op *op, unsigned int n, const char *match,
              const char *actions, enum dpif_flow_put_flags flags)
{
    struct simap no_names = SIMAP_INITIALIZER(&no_names);
    char *error = NULL;

    init(op, DPIF_OP_FLOW_PUT, n);
    if (odp_flow_from_string(match, &no_names, &op->key, &op->mask, &error)
        || odp_actions_from_string(actions, &no_names, &op->actions)) {
        fail_msg("%s %s: %s", match, actions, error ? error : "");
    }
    op->op.flow_put = (struct dpif_flow_put) {
        .flags = flags,
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
bed_put(struct bed_op *op, unsigned int n, uint32_t chain,
        const char *actions, enum dpif_flow_put_flags flags)
{
    char *match = xasprintf("recirc_id(0x%x),in_port(1),eth(),"
                            "eth_type(0x0800),ipv4(src=10.%u.%u.%u,frag=no)",
                            chain, n >> 16, n >> 8 & 255, n & 255);

    bed_put_match(op, n, match, actions, flags);
    free(match);
}

void
bed_del(struct bed_op *op, unsigned int n)
{
    init(op, DPIF_OP_FLOW_DEL, n);
    op->op.flow_del = (struct dpif_flow_del) {
        .ufid = &op->ufid,
        .stats = &op->stats,
        .terse = true,
        .pmd_id = PMD_ID_NULL,
    };
}

void
bed_get(struct bed_op *op, unsigned int n)
{
    init(op, DPIF_OP_FLOW_GET, n);
    op->op.flow_get = (struct dpif_flow_get) {
        .ufid = &op->ufid,
        .buffer = &op->buffer,
        .flow = &op->flow,
        .pmd_id = PMD_ID_NULL,
    };
}

void
bed_operate(struct bed *bed, struct bed_op *ops, size_t n)
{
    struct dpif_op **opps = xcalloc(n, sizeof *opps);

    for (size_t i = 0; i < n; i++) {
        opps[i] = &ops[i].op;
    }
    dpif_offload_tc_batch_class.operate(&bed->dpif, bed->offload, opps, n);
    free(opps);
}

void
bed_free(struct bed_op *ops, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ofpbuf_uninit(&ops[i].key);
        ofpbuf_uninit(&ops[i].mask);
        ofpbuf_uninit(&ops[i].actions);
        ofpbuf_uninit(&ops[i].buffer);
    }
}

int
bed_add(struct bed *bed, unsigned int n)
{
    struct bed_op op;

    bed_put(&op, n, 0, "2", DPIF_FP_CREATE);
    bed_operate(bed, &op, 1);
    bed_free(&op, 1);
    return op.op.error;
}

int
bed_remove(struct bed *bed, unsigned int n, struct dpif_flow_stats *stats)
{
    struct bed_op op;

    bed_del(&op, n);
    bed_operate(bed, &op, 1);
    bed_free(&op, 1);
    if (stats) {
        *stats = op.stats;
    }
    return op.op.error;
}

struct fake_tc_filter *
bed_filter(struct bed *bed, unsigned int n)
{
    ovs_u128 ufid = bed_ufid(n);
    struct tcb_flow *flow = tcb_flow_find(bed->flows, &ufid);

    return flow ? fake_tc_find(&bed->tc, flow->ifindex, flow->chain,
                               flow->prio, tcb_flow_handle(flow)) : NULL;
}

struct tcb_dump_summary
bed_last_dump(struct bed *bed)
{
    struct tcb_round_counts counts;
    struct tcb_dump_summary last;

    tcb_rounds_read(&tcb_offload_cast(bed->offload)->rounds, &counts, &last);
    return last;
}

struct tcb_flow *
bed_find(struct bed *bed, unsigned int n)
{
    ovs_u128 ufid = bed_ufid(n);

    return tcb_flow_find(bed->flows, &ufid);
}

unsigned int
bed_n_live(struct bed *bed)
{
    return atomic_count_get(&bed->flows->n_live);
}

unsigned int
bed_dump(struct bed *bed, bool terse,
         void (*cb)(const struct dpif_flow *, void *aux), void *aux)
{
    const struct dpif_offload_class *class = &dpif_offload_tc_batch_class;
    struct dpif_offload_flow_dump *dump
        = class->flow_dump_create(bed->offload, terse);
    struct dpif_offload_flow_dump_thread *thread
        = class->flow_dump_thread_create(dump);
    struct dpif_flow flows[50];
    unsigned int n_flows = 0;
    int n;

    while ((n = class->flow_dump_next(thread, flows, ARRAY_SIZE(flows)))) {
        for (int i = 0; i < n; i++) {
            cb(&flows[i], aux);
        }
        n_flows += n;
    }
    class->flow_dump_thread_destroy(thread);
    assert_int_equal(class->flow_dump_destroy(dump), 0);
    return n_flows;
}

/* Refusals. */

static void
refuse(struct fake_tc *tc, const struct nlmsghdr *nlh,
       const struct tcnl_filter_info *info, struct fake_tc_fault *f)
{
    struct bed_refusal *r = tc->aux;

    if (r->times && nlh->nlmsg_type == r->type
        && (!r->handle || info->id.handle == r->handle)) {
        r->times--;
        f->error = r->error;
        f->text = r->error ? "as the test wants it" : NULL;
        f->lose = r->lose;
    }
}

void
bed_refuse(struct bed *bed, struct bed_refusal *r)
{
    bed->tc.aux = r;
    bed->tc.fault = refuse;
}
