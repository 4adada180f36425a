/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TWIN_H
#define TWIN_H 1

/* A datapath of the running kernel with two sets of ports of the same kinds.
 * One belongs to OVS's own tc provider, the other to ours, so that the same
 * flow can be given to both.
 *
 *    port 1, 2    dummy devices, which are there already: "twin01", "twin11"
 *    port 3       internal
 *    port 5       VXLAN, where flows from tunnels come in
 *    port 6       Geneve, where those with options come in
 *
 * Meters 1 to RANDOM_FLOW_METERS exist.  Whatever fails here ends the
 * program. */

#include "dpif.h"
#include "flow-text.h"
#include "openvswitch/ofpbuf.h"

struct dpif_offload;

enum twin { THEIRS, OURS, N_TWINS };

#define TWIN_MAX_PORT 6

struct twin_port {
    struct netdev *netdev;      /* NULL: no such port. */
    int ifindex;
    bool internal;
};

struct twins {
    struct dpif *dpif;
    struct tcb_offload *ours;
    struct tcnl_transport *transport;
    struct twin_port ports[N_TWINS][TWIN_MAX_PORT + 1];
};

void twins_open(struct twins *);
void twins_close(struct twins *);

/* The two providers' objects for the datapath, to call them directly. */
void twins_offloads(const struct twins *,
                    struct dpif_offload *offloads[N_TWINS]);

/* Removes a port, which may have lost its device already, and adds it again.
 * Main thread. */
void twins_remove_port(struct twins *, enum twin, int port);
void twins_add_port(struct twins *, enum twin, int port);

/* Adds or changes a meter; 'rate' is in kbit/s or packets/s. */
void twins_set_meter(struct twins *, uint32_t meter, uint32_t rate);

/* The number that 'ifindex' has in texts; negative if it has none. */
int twins_port(const void *twins, int ifindex);

/* A flow with the ports of one twin, as an operation. */
struct twin_op {
    struct dpif_op op;
    ovs_u128 ufid;
    struct ofpbuf key, mask, actions;
    struct dpif_flow_stats stats;
    struct dpif_flow flow;
    struct ofpbuf buffer;
    uint64_t stub[256];
};

void twin_put(struct twin_op *, enum twin, const struct test_flow *,
              uint32_t number);
void twin_del(struct twin_op *, enum twin, uint32_t number);
void twin_get(struct twin_op *, enum twin, uint32_t number);
void twin_op_uninit(struct twin_op *);

/* Executes 'n' operations at once, by the providers alone.  Each gets 0, or a
 * positive errno value: EEXIST for a duplicate, others for refused. */
void twins_operate(struct twins *, struct twin_op *, size_t n);

/* Whose flow is it?  Returns false if it is none that twin_put() has made. */
bool twin_of_ufid(const ovs_u128 *, enum twin *, uint32_t *number);

/* Why do we refuse a flow?  Returns the reason, to be freed by the caller, or
 * NULL if we do not. */
char *twins_why(struct twins *, const struct test_flow *);

#endif /* twin.h */
