/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "disturbance.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <stdlib.h>

#include "dpif.h"
#include "ovs-rcu.h"
#include "random.h"
#include "random-flow.h"
#include "tcb-audit.h"
#include "tcb-prio.h"
#include "tcnl/batch.h"
#include "tcnl/filter.h"
#include "tcnl/qdisc.h"
#include "twin.h"
#include "util.h"

#define STEADY_PORT 1           /* Whose device nobody touches, */
#define DISTURBED_PORT 2        /* and that of DISTURBED_DEVICE. */

static void
shell(const char *command)
{
    int status = system(command);

    if (status) {
        ovs_fatal(0, "%s: status %#x", command, status);
    }
}

static void
make_device(void)
{
    shell("ip link add " DISTURBED_DEVICE " type dummy && "
          "ip link set " DISTURBED_DEVICE " up");
}

static void
renew_device(struct twins *twins)
{
    bool device_first = random_range(2);

    if (device_first) {
        shell("ip link delete " DISTURBED_DEVICE);
        twins_remove_port(twins, OURS, DISTURBED_PORT);
    } else {
        twins_remove_port(twins, OURS, DISTURBED_PORT);
        shell("ip link delete " DISTURBED_DEVICE);
    }
    make_device();
    twins_add_port(twins, OURS, DISTURBED_PORT);
}

static void
renew_port(struct twins *twins)
{
    twins_remove_port(twins, OURS, DISTURBED_PORT);
    ovsrcu_quiesce();
    twins_add_port(twins, OURS, DISTURBED_PORT);
}

static struct tcnl_filter_id
steady_id(const struct twins *twins, unsigned int max_handle,
          ovs_be16 proto)
{
    return (struct tcnl_filter_id) {
        .ifindex = twins->ports[OURS][STEADY_PORT].ifindex,
        .parent = TCNL_PARENT_INGRESS,
        .handle = 1 + random_range(max_handle),
        .prio = tcb_prio_for(proto),
        .proto = (OVS_FORCE uint16_t) proto,
    };
}

static int
build_foreign(struct tcnl_buffer *b, const void *id_)
{
    const struct tcnl_filter_id *id = id_;
    uint32_t address = htonl(0xc6120000 + id->handle);
    struct tcnl_actions actions;
    struct tcnl_flower flower;

    tcnl_flower_init(&flower);
    tcnl_flower_set(&flower, TCNL_KEY_ETH_TYPE, &id->proto, NULL);
    tcnl_flower_set(&flower, TCNL_KEY_IPV4_SRC, &address, NULL);
    tcnl_actions_init(&actions);
    tcnl_actions_add(&actions, TCNL_ACT_GACT, TC_ACT_OK);
    return tcnl_filter_put_new(b, id, &flower, &actions,
                               NLM_F_CREATE | NLM_F_EXCL);
}

static int
build_del(struct tcnl_buffer *b, const void *id)
{
    return tcnl_filter_put_del(b, id, 0);
}

/* A filter of somebody else, with a handle that a flow may want. */
static void
add_foreign(struct twins *twins, unsigned int max_handle)
{
    struct tcnl_filter_id id = steady_id(twins, max_handle, htons(ETH_P_IP));

    tcnl_transact(twins->transport, build_foreign, &id, NULL, NULL, NULL);
}

/* Somebody deletes a filter, whoever has it. */
static void
del_some(struct twins *twins, unsigned int max_handle)
{
    struct tcnl_filter_id id = steady_id(twins, max_handle,
                                         random_range(2) ? htons(ETH_P_IP)
                                                         : htons(ETH_P_IPV6));

    tcnl_transact(twins->transport, build_del, &id, NULL, NULL, NULL);
}

static void
del_qdisc(struct twins *twins)
{
    tcnl_qdisc_del(twins->transport, twins->ports[OURS][STEADY_PORT].ifindex,
                   TCNL_QDISC_INGRESS, NULL);
}

static void
set_meter(struct twins *twins)
{
    twins_set_meter(twins, 1 + random_range(RANDOM_FLOW_METERS),
                    1000 + random_range(1000));
}

static void
audit(struct twins *twins)
{
    struct tcb_audit a;

    tcb_audit_run(twins->ours, &a);
    tcb_audit_destroy(&a);
}

void
disturb(struct twins *twins, unsigned int max_handle, bool others)
{
    switch (random_range(others ? 8 : 5)) {
    case 0:
        renew_device(twins);
        break;
    case 1:
        renew_port(twins);
        break;
    case 2:
        set_meter(twins);
        break;
    case 3:
        audit(twins);
        break;
    case 4:
        for (int i = 0; i < 10; i++) {
            add_foreign(twins, max_handle);
        }
        break;
    case 5:
        for (int i = 0; i < 10; i++) {
            del_some(twins, max_handle);
        }
        break;
    case 6:
        if (!random_range(4)) {
            del_qdisc(twins);
        }
        break;
    case 7:
        dpif_flow_flush(twins->dpif);
        break;
    }
}
