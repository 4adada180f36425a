/* SPDX-License-Identifier: Apache-2.0 */

/* Filters that keep a prio alive. */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "bed.h"
#include "ovs-rcu.h"
#include "tcb-audit.h"
#include "tcb-dump.h"
#include "tcb-port.h"
#include "util.h"

#include <cmocka.h>

#define CLASS (&dpif_offload_tc_batch_class)

static struct bed_op ops[2];

static int
setup(void **bedp)
{
    int result = bed_setup(bedp);
    struct bed *bed = *bedp;

    tcb_offload_cast(bed->offload)->keep_prios = true;
    return result;
}

static struct fake_tc_filter *
placeholder(struct bed *bed)
{
    return fake_tc_find(&bed->tc, BED_IFINDEX(1), 0, BED_PRIO,
                        TCB_PLACEHOLDER_HANDLE);
}

static uint64_t
changes(struct bed *bed)
{
    return tcb_protos_changes(&tcb_offload_cast(bed->offload)->protos);
}

/* Runs a round of dumps; returns how many flows it has reported. */
static void
note_nothing(const struct dpif_flow *flow OVS_UNUSED, void *aux OVS_UNUSED)
{
}

static unsigned int
run_round(struct bed *bed)
{
    return bed_dump(bed, true, note_nothing, NULL);
}

static void
test_first_flow(void **bed_)
{
    struct bed *bed = *bed_;
    struct fake_tc_filter *p;
    struct tcb_audit audit;

    bed_put(&ops[0], 0, 0, "2", DPIF_FP_CREATE);
    bed_put(&ops[1], 1, 0, "2", DPIF_FP_CREATE);
    bed_operate(bed, ops, 2);
    bed_free(ops, 2);
    assert_int_equal(bed->tc.n_sends, 1);
    assert_int_equal(bed->tc.n_filters, 3);
    p = placeholder(bed);
    assert_non_null(p);
    assert_true(p->flower.key.eth_src[0] & 1);
    assert_int_equal(p->flower.cls_flags & TCA_CLS_FLAGS_SKIP_HW,
                     TCA_CLS_FLAGS_SKIP_HW);

    /* It is neither a flow nor foreign. */
    assert_int_equal(run_round(bed), 2);
    assert_int_equal(bed_last_dump(bed).n_foreign, 0);
    tcb_audit_run(tcb_offload_cast(bed->offload), &audit);
    assert_int_equal(audit.n_findings, 0);
    for (size_t i = 0; i < audit.n_ports; i++) {
        assert_int_equal(audit.ports[i].n_foreign, 0);
    }
    tcb_audit_destroy(&audit);
}

static void
test_prio_stays(void **bed_)
{
    struct bed *bed = *bed_;
    uint64_t before;

    assert_int_equal(bed_add(bed, 0), 0);
    before = changes(bed);
    bed->tc.n_new = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bed_remove(bed, 0, NULL), 0);
        assert_non_null(placeholder(bed));
        assert_int_equal(bed->tc.n_filters, 1);
        assert_int_equal(bed_add(bed, 0), 0);
        run_round(bed);
    }
    assert_int_equal(bed->tc.n_new, 3);
    assert_int_equal(changes(bed), before);
}

/* Its prios come and go with its flows. */
static void
test_other_chain(void **bed_)
{
    struct bed *bed = *bed_;

    bed_put(&ops[0], 0, 0, "recirc(7)", DPIF_FP_CREATE);
    bed_put(&ops[1], 1, 7, "2", DPIF_FP_CREATE);
    bed_operate(bed, ops, 2);
    bed_free(ops, 2);
    assert_int_equal(bed->tc.n_filters, 3);
    assert_null(fake_tc_find(&bed->tc, BED_IFINDEX(1), 7, BED_PRIO,
                             TCB_PLACEHOLDER_HANDLE));
}

static void
test_port_deleted(void **bed_)
{
    struct bed *bed = *bed_;

    assert_int_equal(bed_add(bed, 0), 0);
    fake_tc_add_foreign(&bed->tc, BED_IFINDEX(1), 0, 100, 1);
    assert_int_equal(CLASS->port_del(bed->offload, u32_to_odp(1)), 0);
    assert_null(placeholder(bed));
    assert_int_equal(bed->tc.n_filters, 1);

    /* The same device as a port again. */
    assert_int_equal(CLASS->port_add(bed->offload, bed->netdevs[1],
                                     u32_to_odp(1)), 0);
    assert_int_equal(bed_add(bed, 1), 0);
    assert_non_null(placeholder(bed));
}

static void
test_foreign_handle(void **bed_)
{
    struct bed *bed = *bed_;

    fake_tc_add_foreign(&bed->tc, BED_IFINDEX(1), 0, BED_PRIO,
                        TCB_PLACEHOLDER_HANDLE);
    assert_int_equal(bed_add(bed, 0), 0);
    bed->tc.n_new = 0;
    assert_int_equal(bed_add(bed, 1), 0);
    assert_int_equal(bed->tc.n_new, 1);

    /* Of a prio that is not kept we know when it goes. */
    uint64_t before = changes(bed);
    assert_int_equal(bed_remove(bed, 0, NULL), 0);
    assert_int_equal(bed_remove(bed, 1, NULL), 0);
    assert_int_equal(changes(bed), before + 1);
    assert_int_equal(CLASS->port_del(bed->offload, u32_to_odp(1)), 0);
    assert_non_null(placeholder(bed));
}

static void
test_deleted_by_somebody(void **bed_)
{
    struct bed *bed = *bed_;

    assert_int_equal(bed_add(bed, 0), 0);
    fake_tc_delete(&bed->tc, placeholder(bed));
    /* This dump began after it had been added. */
    run_round(bed);
    assert_int_equal(bed_add(bed, 1), 0);
    assert_non_null(placeholder(bed));
    /* And is not missed by a dump that shows it. */
    run_round(bed);
    bed->tc.n_new = 0;
    assert_int_equal(bed_add(bed, 2), 0);
    assert_int_equal(bed->tc.n_new, 1);
}

/* A dump that was not whole proves nothing. */
static void
test_interrupted(void **bed_)
{
    struct bed *bed = *bed_;

    assert_int_equal(bed_add(bed, 0), 0);
    placeholder(bed)->hidden = true;
    bed->tc.dump_interrupted = true;
    run_round(bed);
    bed->tc.dump_interrupted = false;
    bed->tc.n_new = 0;
    assert_int_equal(bed_add(bed, 1), 0);
    assert_int_equal(bed->tc.n_new, 1);

    /* One that was whole and yet did not show it: it is still there, which is
     * noticed. */
    run_round(bed);
    placeholder(bed)->hidden = false;
    assert_int_equal(bed_add(bed, 2), 0);
    assert_int_equal(bed_add(bed, 3), 0);
    assert_int_equal(bed->tc.n_new, 4);
    run_round(bed);
    assert_int_equal(bed->tc.n_filters, 5);
}

int
main(void)
{
#define TEST(FUNCTION, NAME) { NAME, FUNCTION, setup, bed_teardown, NULL }
    const struct CMUnitTest tests[] = {
        TEST(test_first_flow, "follows the first flow of a prio"),
        TEST(test_prio_stays, "keeps the prio without flows"),
        TEST(test_other_chain, "only in chain 0"),
        TEST(test_port_deleted, "goes with the port"),
        TEST(test_foreign_handle, "a foreign filter has the handle"),
        TEST(test_deleted_by_somebody, "somebody deletes it"),
        TEST(test_interrupted, "dumps that prove nothing"),
    };

    ovsrcu_quiesce_end();
    return cmocka_run_group_tests_name("placeholder", tests, NULL, NULL);
}
