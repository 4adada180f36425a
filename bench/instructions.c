/* SPDX-License-Identifier: Apache-2.0 */

/* The user-space part of what operate.c measures, for callgrind.
 *
 * usage: instructions PROFILE VARIANT FLOWS
 *
 * VARIANT "ours" or "intree" installs, modifies and deletes flows through the
 * provider's operate callback, BATCH at once, with the kernel of fake-tc.h.
 * Prints the name of an operation when it is done.  Have callgrind
 *
 *     collect          in call_operate() only (--collect-atstart=no
 *                      --toggle-collect), but not in kernel_send(),
 *                      kernel_recv() and __wrap_nl_transact(), which are the
 *                      fake kernel (--toggle-collect of these, too)
 *     write its counts after each call of measure(), and begin with none
 *                      (--dump-after, --zero-before)
 *
 * so that the counts are those of the operations printed, in turn. */

#include <config.h>

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bed.h"
#include "dpif-offload.h"
#include "dpif-offload-provider.h"
#include "netdev.h"
#include "netlink.h"
#include "netlink-socket.h"
#include "ovs-rcu.h"
#include "profile.h"
#include "smap.h"
#include "util.h"

#define BATCH 64
#define OUT_PORT 5              /* Of "5tuple". */

enum operation { INSTALL, MODIFY, DELETE, DELETE_NOSTATS };

static struct bed *bed;
static struct dpif_offload *offload;
static const char *profile;
static uint32_t n_flows;
static struct netdev *out_netdev;

/* The fake kernel.  The build makes a linker option of each line. */
#define WRAP(NAME) __wrap_##NAME
int WRAP(fake_tc_open)(struct fake_tc *, struct tcnl_transport **);
int WRAP(nl_transact)(int, const struct ofpbuf *, struct ofpbuf **);
struct netdev *WRAP(dpif_offload_get_netdev_by_port_id)(
    struct dpif *, struct dpif_offload **, odp_port_t);
int __real_fake_tc_open(struct fake_tc *, struct tcnl_transport **);

static const struct tcnl_transport_ops *fake_ops;

/* Callgrind knows them by their names. */
int kernel_send(struct tcnl_transport *, const void *, size_t);
int kernel_recv(struct tcnl_transport *, void *, size_t, size_t *);
void call_operate(struct dpif_op **, size_t n);
void measure(enum operation, const char *name);

int
kernel_send(struct tcnl_transport *t, const void *data, size_t len)
{
    return fake_ops->send(t, data, len);
}

int
kernel_recv(struct tcnl_transport *t, void *data, size_t size, size_t *len)
{
    return fake_ops->recv(t, data, size, len);
}

static void
kernel_close(struct tcnl_transport *t)
{
    fake_ops->close(t);
}

static const struct tcnl_transport_ops kernel_ops = {
    .send = kernel_send,
    .recv = kernel_recv,
    .close = kernel_close,
};

int
WRAP(fake_tc_open)(struct fake_tc *tc, struct tcnl_transport **transport)
{
    int error = __real_fake_tc_open(tc, transport);

    if (!error) {
        fake_ops = (*transport)->ops;
        (*transport)->ops = &kernel_ops;
    }
    return error;
}

/* What the in-tree provider asks the kernel.  It leaves handles to it. */
int
WRAP(nl_transact)(int protocol OVS_UNUSED, const struct ofpbuf *request,
                  struct ofpbuf **reply)
{
    static struct tcnl_transport *transport;
    static uint32_t next_handle = 1;
    uint32_t buf[65536 / 4];
    struct ofpbuf *sent = ofpbuf_clone(request);
    struct nlmsghdr *nlh = nl_msg_nlmsghdr(sent);
    struct tcmsg *tcm = NLMSG_DATA(nlh);
    size_t len;

    if (reply) {
        *reply = NULL;
    }
    if (!transport && __real_fake_tc_open(&bed->tc, &transport)) {
        ovs_fatal(0, "no transport");
    }
    nlh->nlmsg_len = sent->size;
    nlh->nlmsg_flags |= NLM_F_ACK;
    if (nlh->nlmsg_type == RTM_NEWTFILTER && !tcm->tcm_handle) {
        tcm->tcm_handle = next_handle++;
    }
    transport->ops->send(transport, sent->data, sent->size);
    ofpbuf_delete(sent);
    while (!transport->ops->recv(transport, buf, sizeof buf, &len)) {
        const struct nlmsghdr *answer = (const void *) buf;

        if (answer->nlmsg_type == NLMSG_ERROR) {
            return -((const struct nlmsgerr *) NLMSG_DATA(answer))->error;
        }
        if (reply && !*reply) {
            *reply = ofpbuf_clone_data(buf, len);
        }
    }
    return EPROTO;
}

struct netdev *
WRAP(dpif_offload_get_netdev_by_port_id)(
    struct dpif *dpif OVS_UNUSED, struct dpif_offload **offloadp OVS_UNUSED,
    odp_port_t port_no)
{
    uint32_t port = odp_to_u32(port_no);

    return (port >= 1 && port <= BED_PORTS ? bed->netdevs[port]
            : port == OUT_PORT ? out_netdev : NULL);
}

/* Operations. */

__attribute__((noinline)) void
call_operate(struct dpif_op **ops, size_t n)
{
    offload->class->operate(&bed->dpif, offload, ops, n);
}

static void
make_op(struct bed_op *op, enum operation operation, uint32_t number)
{
    char *match;

    switch (operation) {
    case INSTALL:
    case MODIFY:
        match = profile_match(profile, number);
        bed_put_match(op, number, match,
                      profile_actions(profile, operation == MODIFY),
                      operation == MODIFY ? DPIF_FP_MODIFY : DPIF_FP_CREATE);
        op->op.flow_put.stats = NULL;
        free(match);
        break;
    case DELETE:
    case DELETE_NOSTATS:
        bed_del(op, number);
        if (operation == DELETE_NOSTATS
            && offload->class == &dpif_offload_tc_batch_class) {
            op->op.flow_del.stats = NULL;
        }
        break;
    }
}

static void
perform(enum operation operation)
{
    struct bed_op *ops = xmalloc(BATCH * sizeof *ops);
    struct dpif_op *opps[BATCH];

    for (uint32_t i = 0; i < n_flows; ) {
        size_t n = MIN(BATCH, n_flows - i);

        for (size_t j = 0; j < n; j++) {
            make_op(&ops[j], operation, i + j);
            opps[j] = &ops[j].op;
        }
        call_operate(opps, n);
        for (size_t j = 0; j < n; j++) {
            if (ops[j].op.error) {
                ovs_fatal(MAX(ops[j].op.error, 0),
                          "operation %d of flow %"PRIuSIZE, operation, i + j);
            }
        }
        bed_free(ops, n);
        i += n;
        ovsrcu_quiesce();
    }
    free(ops);
}

__attribute__((noinline)) void
measure(enum operation operation, const char *name)
{
    perform(operation);
    puts(name);
}

/* The bed has ports 1 and 2, and our provider. */
static void
open_port(int port, struct netdev **netdev)
{
    struct smap config = SMAP_INITIALIZER(&config);
    char name[16];

    snprintf(name, sizeof name, "p%d", port);
    smap_add_format(&config, "ifindex", "%d", BED_IFINDEX(port));
    if (netdev_open(name, "dummy", netdev)
        || netdev_set_config(*netdev, &config, NULL)) {
        ovs_fatal(0, "cannot open %s", name);
    }
    smap_destroy(&config);
}

static void
open_in_tree(void)
{
    const struct dpif_offload_class *class = &dpif_offload_tc_class;
    struct smap config = SMAP_INITIALIZER(&config);

    if (class->open(class, &bed->dpif, &offload)) {
        ovs_fatal(0, "the in-tree provider does not open");
    }
    for (int port = 1; port <= BED_PORTS; port++) {
        class->port_add(offload, bed->netdevs[port], u32_to_odp(port));
    }
    class->port_add(offload, out_netdev, u32_to_odp(OUT_PORT));
    smap_add(&config, "hw-offload", "true");
    class->set_config(offload, &config);
    smap_destroy(&config);
}

int
main(int argc, char *argv[])
{
    void *state = NULL;

    set_program_name(argv[0]);
    if (argc != 4) {
        ovs_fatal(0, "usage: %s PROFILE VARIANT FLOWS", argv[0]);
    }
    profile = argv[1];
    n_flows = atoi(argv[3]);
    bed_setup(&state);
    bed = state;
    open_port(OUT_PORT, &out_netdev);
    if (!strcmp(argv[2], "intree")) {
        open_in_tree();
    } else {
        offload = bed->offload;
        offload->class->port_add(offload, out_netdev, u32_to_odp(OUT_PORT));
    }
    measure(INSTALL, "install");
    measure(MODIFY, "modify");
    measure(DELETE_NOSTATS, "delete-nostats");
    perform(INSTALL);
    measure(DELETE, "delete");
    fflush(stdout);
    /* Taking the bed down is of no interest here. */
    _exit(0);
}
