/* SPDX-License-Identifier: Apache-2.0 */

/* Flows that were refused for a passing reason are offered to OVS again. */

#include <config.h>

#include <errno.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "bed.h"
#include "ovs-rcu.h"
#include "smap.h"
#include "tcb-dump.h"
#include "tcb-port.h"
#include "timeval.h"
#include "util.h"

#include <cmocka.h>

#define CLASS (&dpif_offload_tc_batch_class)
#define BATCH 50

/* Longest wait for what needs some seconds. */
#define PATIENCE_MS 20000

static struct bed_op ops[BATCH];

static struct tcb_pending_summary
summary(struct bed *bed)
{
    struct tcb_pending_summary s;

    tcb_pending_summary(&tcb_offload_cast(bed->offload)->pending, &s);
    return s;
}

static void
count_offered(const struct dpif_flow *flow, void *n_offered_)
{
    unsigned int *n_offered = n_offered_;

    if (strcmp(flow->attrs.dp_layer, "tc")) {
        assert_string_equal(flow->attrs.dp_layer, "ovs");
        assert_true(flow->ufid_present);
        assert_int_equal(flow->stats.used, TCB_LONG_AGO);
        assert_false(flow->attrs.offloaded);
        ++*n_offered;
    }
}

/* Runs a round of dumps; returns how many flows OVS was told of that the
 * kernel datapath has, and checks what it was told of them. */
static unsigned int
offered(struct bed *bed, bool terse)
{
    unsigned int n_offered = 0;

    bed_dump(bed, terse, count_offered, &n_offered);
    return n_offered;
}

static int
put(struct bed *bed, unsigned int n, uint32_t chain, const char *actions)
{
    bed_put(&ops[0], n, chain, actions, DPIF_FP_CREATE);
    bed_operate(bed, ops, 1);
    bed_free(ops, 1);
    return ops[0].op.error;
}

static void
test_parent_comes_later(void **bed_)
{
    struct bed *bed = *bed_;

    assert_int_equal(put(bed, 1, 7, "2"), -1);
    assert_int_equal(put(bed, 2, 7, "2"), -1);
    assert_int_equal(summary(bed).n_parent, 2);
    assert_int_equal(offered(bed, true), 0);

    assert_int_equal(put(bed, 0, 0, "recirc(7)"), 0);
    /* People who look at the flows shall not see them twice. */
    assert_int_equal(offered(bed, false), 0);
    assert_int_equal(offered(bed, true), 2);
    assert_int_equal(summary(bed).n_offered, 2);
    /* OVS gets some time to do it. */
    assert_int_equal(offered(bed, true), 0);

    /* As it is not in TC, the kernel datapath has the last counters. */
    assert_int_equal(bed_remove(bed, 1, NULL), -1);
    assert_int_equal(put(bed, 1, 7, "2"), 0);
    assert_int_equal(bed_filter(bed, 1)->id.chain, 7);
    assert_int_equal(summary(bed).n_parent, 1);
}

static void
test_deleted(void **bed_)
{
    struct bed *bed = *bed_;

    assert_int_equal(put(bed, 1, 7, "2"), -1);
    assert_int_equal(bed_remove(bed, 1, NULL), -1);
    assert_int_equal(summary(bed).n_parent, 0);
    assert_int_equal(put(bed, 0, 0, "recirc(7)"), 0);
    assert_int_equal(offered(bed, true), 0);
}

/* Modified so that TC can never have it. */
static void
test_modified(void **bed_)
{
    struct bed *bed = *bed_;

    assert_int_equal(put(bed, 1, 7, "2"), -1);
    assert_int_equal(put(bed, 1, 7, "userspace(pid=1)"), -1);
    assert_int_equal(summary(bed).n_parent, 0);
    assert_int_equal(put(bed, 0, 0, "recirc(7)"), 0);
    assert_int_equal(offered(bed, true), 0);
}

/* The longer it is refused, the less often it is offered. */
static void
test_backoff(void **bed_)
{
    struct bed *bed = *bed_;
    long long int start = time_msec(), first, second;

    /* The parent comes and goes before the child is put again. */
    assert_int_equal(put(bed, 1, 7, "2"), -1);
    assert_int_equal(put(bed, 0, 0, "recirc(7)"), 0);
    assert_int_equal(offered(bed, true), 1);
    first = time_msec();
    for (;;) {
        bed_remove(bed, 0, NULL);
        bed_remove(bed, 1, NULL);
        assert_int_equal(put(bed, 1, 7, "2"), -1);
        assert_int_equal(put(bed, 0, 0, "recirc(7)"), 0);
        if (offered(bed, true)) {
            break;
        }
        assert_true(time_msec() < start + PATIENCE_MS);
        xnanosleep(50 * 1000 * 1000);
    }
    second = time_msec();
    assert_true(second - first >= 1000);
    assert_int_equal(summary(bed).n_offered, 2);
}

static void
refuse(struct fake_tc *tc OVS_UNUSED, const struct nlmsghdr *nlh,
       const struct tcnl_filter_info *info OVS_UNUSED,
       struct fake_tc_fault *fault)
{
    if (nlh->nlmsg_type == RTM_NEWTFILTER) {
        fault->error = *(int *) tc->aux;
    }
}

static void
test_kernel_out_of_memory(void **bed_)
{
    struct bed *bed = *bed_;
    long long int start = time_msec();
    int error = ENOMEM;

    bed->tc.fault = refuse;
    bed->tc.aux = &error;
    assert_int_equal(put(bed, 1, 0, "2"), -1);
    /* This is how it refuses what it cannot do. */
    error = EOPNOTSUPP;
    assert_int_equal(put(bed, 2, 0, "2"), -1);
    bed->tc.fault = NULL;

    assert_int_equal(summary(bed).n_kernel, 1);
    assert_int_equal(offered(bed, true), 0);
    while (!offered(bed, true)) {
        assert_true(time_msec() < start + PATIENCE_MS);
        xnanosleep(50 * 1000 * 1000);
    }
    assert_int_equal(put(bed, 1, 0, "2"), 0);
    assert_int_equal(summary(bed).n_kernel, 0);
}

static void
reconfigure(struct bed *bed)
{
    struct smap config = SMAP_INITIALIZER(&config);

    smap_add(&config, "hw-offload", "true");
    CLASS->set_config(bed->offload, &config);
    smap_destroy(&config);
}

static enum tcb_port_state
port_state(struct bed *bed, uint32_t port_no)
{
    return tcb_port_state(tcb_port_find(tcb_offload_cast(bed->offload),
                                        u32_to_odp(port_no)));
}

/* A foreign qdisc stands in the way of a port, and is removed later. */
static void
test_port_fails_first(void **bed_)
{
    struct bed *bed = *bed_;
    char *kind = NULL;

    assert_int_equal(CLASS->port_del(bed->offload, u32_to_odp(1)), 0);
    for (int i = 0; i < FAKE_TC_DEVICES && !kind; i++) {
        if (!bed->tc.qdiscs[i].ifindex) {
            bed->tc.qdiscs[i].ifindex = BED_IFINDEX(1);
            kind = bed->tc.qdiscs[i].kind;
            strcpy(kind, "foreign");
        }
    }
    assert_int_equal(CLASS->port_add(bed->offload, bed->netdevs[1],
                                     u32_to_odp(1)), 0);
    assert_int_equal(port_state(bed, 1), TCB_PORT_FAILED);
    reconfigure(bed);
    assert_int_equal(port_state(bed, 1), TCB_PORT_FAILED);

    assert_int_equal(put(bed, 1, 0, "2"), -1);
    assert_int_equal(summary(bed).n_port, 1);
    assert_int_equal(offered(bed, true), 0);

    strcpy(kind, "ingress");
    reconfigure(bed);
    assert_int_equal(port_state(bed, 1), TCB_PORT_READY);
    assert_int_equal(offered(bed, true), 1);
    assert_int_equal(put(bed, 1, 0, "2"), 0);
    assert_int_equal(summary(bed).n_port, 0);
}

static void
test_bounded(void **bed_)
{
    struct bed *bed = *bed_;
    struct tcb_pending_summary s;

    for (unsigned int i = 1; i <= TCB_MAX_PENDING + 100; i++) {
        assert_int_equal(put(bed, i, 7, "2"), -1);
    }
    s = summary(bed);
    assert_int_equal(s.n_parent, TCB_MAX_PENDING);
    assert_int_equal(s.n_dropped, 100);
    assert_int_equal(put(bed, 0, 0, "recirc(7)"), 0);
    assert_int_equal(offered(bed, true), TCB_MAX_PENDING);
}

int
main(void)
{
#define TEST(FUNCTION, NAME) \
    { NAME, FUNCTION, bed_setup, bed_teardown, NULL }
    const struct CMUnitTest tests[] = {
        TEST(test_parent_comes_later, "parent comes later"),
        TEST(test_deleted, "deleted meanwhile"),
        TEST(test_modified, "modified meanwhile"),
        TEST(test_backoff, "refused again and again"),
        TEST(test_kernel_out_of_memory, "kernel without memory"),
        TEST(test_port_fails_first, "port without a qdisc"),
        TEST(test_bounded, "more flows than are listed"),
    };

    ovsrcu_quiesce_end();
    return cmocka_run_group_tests_name("pending", tests, NULL, NULL);
}
