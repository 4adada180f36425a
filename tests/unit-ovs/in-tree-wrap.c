/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "in-tree.h"

#include <errno.h>

#include "dpif-offload.h"
#include "dpif-offload-provider.h"
#include "dpif-offload-tc-private.h"
#include "netdev.h"
#include "netdev-provider.h"
#include "netlink-socket.h"
#include "openvswitch/match.h"
#include "openvswitch/ofpbuf.h"
#include "translate.h"
#include "util.h"

/* Replaced functions.  The build makes a linker option of each line. */
#define WRAP(NAME) __wrap_##NAME

static struct netdev netdevs[TEST_N_PORTS];
static bool from_geneve;        /* Is port 1 a Geneve tunnel's? */
static bool sent;
static struct ofpbuf *caught;   /* NULL: keep nothing. */

int WRAP(nl_transact)(int, const struct ofpbuf *, struct ofpbuf **);
int WRAP(netdev_get_ifindex)(const struct netdev *);
const char *WRAP(netdev_get_type)(const struct netdev *);
struct netdev *WRAP(dpif_offload_get_netdev_by_port_id)(
    struct dpif *, struct dpif_offload **, odp_port_t);
bool WRAP(dpif_offload_netdev_same_offload)(const struct netdev *,
                                            const struct netdev *);

int
WRAP(nl_transact)(int protocol OVS_UNUSED, const struct ofpbuf *request,
                  struct ofpbuf **reply)
{
    sent = true;
    if (caught) {
        ofpbuf_clear(caught);
        ofpbuf_put(caught, request->data, request->size);
    }
    if (reply) {
        *reply = NULL;
    }
    /* Whatever it is, so that nobody looks for a reply. */
    return EPERM;
}

int
WRAP(netdev_get_ifindex)(const struct netdev *netdev)
{
    return test_ifindex(netdev - netdevs);
}

const char *
WRAP(netdev_get_type)(const struct netdev *netdev)
{
    return (netdev == &netdevs[TEST_INTERNAL_PORT] ? "internal"
            : netdev == &netdevs[1] && from_geneve ? "geneve" : "system");
}

struct netdev *
WRAP(dpif_offload_get_netdev_by_port_id)(
    struct dpif *dpif OVS_UNUSED, struct dpif_offload **offload OVS_UNUSED,
    odp_port_t port_no_)
{
    uint32_t port_no = odp_to_u32(port_no_);

    return (port_no >= 1 && port_no < TEST_N_PORTS
            && port_no != TEST_UNREADY_PORT ? &netdevs[port_no] : NULL);
}

bool
WRAP(dpif_offload_netdev_same_offload)(const struct netdev *a OVS_UNUSED,
                                       const struct netdev *b OVS_UNUSED)
{
    return true;
}

bool
in_tree_translate(struct match *match, const struct nlattr *actions,
                  size_t actions_len, bool geneve, struct ofpbuf *request)
{
    struct tc_offload_info info = { .recirc_id_shared_with_tc = true };
    ovs_u128 ufid = { .u32 = { 1, 2, 3, 4 } };
    int error;

    /* Chains other than 0 have to be known to it, so we pretend. */
    match->flow.recirc_id = 0;
    from_geneve = geneve;
    sent = false;
    caught = request;
    error = tc_netdev_flow_put(NULL, &netdevs[1], match,
                               CONST_CAST(struct nlattr *, actions),
                               actions_len, &ufid, &info, NULL);
    ovs_assert(error);
    return sent;
}
