/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BED_H
#define BED_H 1

/* What tests of the whole provider stand on: the class, opened for a datapath
 * that only counts what it is asked, with ports on dummy devices, and the
 * kernel of fake-tc.h in place of the socket.
 *
 * Flows have numbers: flow N matches IPv4 packets from 10.0.0.0 + N and has N
 * in its ufid. */

#include "dpif-provider.h"
#include "dpif.h"
#include "fake/fake-tc.h"
#include "openvswitch/ofpbuf.h"
#include "tcb-offload.h"

#define BED_PORTS 2             /* Ports 1 and 2. */
#define BED_IFINDEX(PORT) (100 + (PORT))
#define BED_PRIO 2              /* Of IPv4. */

struct bed {
    struct fake_tc tc;
    struct dpif dpif;
    struct dpif_offload *offload;
    struct tcb_flow_table *flows;
    struct netdev *netdevs[BED_PORTS + 1];
    atomic_count n_datapath_dels;
    size_t n_foreign_polices;   /* That a test has left in the kernel. */
};

/* Sets up a group's state for cmocka.  Rounds are in mode terse. */
int bed_setup(void **bed);
int bed_teardown(void **bed);

struct bed_op {
    struct dpif_op op;
    ovs_u128 ufid;
    struct ofpbuf key, mask, actions;
    struct dpif_flow_stats stats;
    struct dpif_flow flow;
    struct ofpbuf buffer;
    uint64_t stub[256];
};

ovs_u128 bed_ufid(unsigned int n);

/* Operations on flow 'n'.  'actions' are textual; "recirc(C)" leads to chain
 * C, in which other flows can be. */
void bed_put(struct bed_op *, unsigned int n, uint32_t chain,
             const char *actions, enum dpif_flow_put_flags);
/* The same with a match of its own. */
void bed_put_match(struct bed_op *, unsigned int n, const char *match,
                   const char *actions, enum dpif_flow_put_flags);
void bed_del(struct bed_op *, unsigned int n);
void bed_get(struct bed_op *, unsigned int n);

/* Gives all operations to the provider at once. */
void bed_operate(struct bed *, struct bed_op *, size_t n);
void bed_free(struct bed_op *, size_t n);

/* One operation; returns its error, -1 if it was left to the datapath. */
int bed_add(struct bed *, unsigned int n);
int bed_remove(struct bed *, unsigned int n, struct dpif_flow_stats *);

/* The filter of flow 'n' in the kernel, or NULL. */
struct fake_tc_filter *bed_filter(struct bed *, unsigned int n);

/* Dumps all flows, as one revalidator does in a round; 'cb' is called for each
 * of them.  Returns how many there were. */
unsigned int bed_dump(struct bed *, bool terse,
                      void (*cb)(const struct dpif_flow *, void *aux),
                      void *aux);

/* How the last round went. */
struct tcb_dump_summary bed_last_dump(struct bed *);

/* Flow 'n' in the table, or NULL; how many of its flows are in the kernel. */
struct tcb_flow *bed_find(struct bed *, unsigned int n);
unsigned int bed_n_live(struct bed *);

/* What the kernel refuses, or loses the answer to: 'fault' and 'aux' of the
 * fake kernel. */
struct bed_refusal {
    uint16_t type;              /* RTM_*... */
    uint32_t handle;            /* ...with this handle, or 0 for any. */
    int error;
    bool lose;
    unsigned int times;         /* That it still happens. */
};
#define BED_HANDLE(SLOT) ((SLOT) + TCB_PLACEHOLDER_HANDLE + 1)

/* 'r' must stay until the end of the test. */
void bed_refuse(struct bed *, struct bed_refusal *r);

#endif /* bed.h */
