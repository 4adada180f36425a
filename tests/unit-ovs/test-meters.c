/* SPDX-License-Identifier: Apache-2.0 */

/* Meters: their police actions in the kernel, whatever it answers, and how
 * often it is asked. */

#include <config.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <linux/rtnetlink.h>

#include "bed.h"
#include "openvswitch/ofp-meter.h"
#include "tcb-meter.h"
#include "timeval.h"
#include "util.h"

#include <cmocka.h>

#define N_METERS 200

#define CLASS (&dpif_offload_tc_batch_class)

/* Time stands still, so that calls are of a bulk unless it is moved. */
static void
let_time_pass(void)
{
    timeval_warp(1000);
}

static int
set_rate(struct bed *bed, uint32_t id, uint32_t kbps)
{
    struct ofputil_meter_band band = {
        .type = OFPMBT13_DROP, .rate = kbps,
    };
    struct ofputil_meter_config config = {
        .meter_id = id, .flags = OFPMF13_KBPS, .bands = &band, .n_bands = 1,
    };

    return CLASS->meter_set(bed->offload, (ofproto_meter_id) { id }, &config);
}

static int
del(struct bed *bed, uint32_t id)
{
    return CLASS->meter_del(bed->offload, (ofproto_meter_id) { id }, NULL);
}

static uint64_t
packets(struct bed *bed, uint32_t id)
{
    struct ofputil_meter_band_stats band = { .packet_count = 0 };
    struct ofputil_meter_stats stats = { .n_bands = 1, .bands = &band };

    assert_int_equal(CLASS->meter_get(bed->offload,
                                      (ofproto_meter_id) { id }, &stats), 0);
    assert_int_equal(band.packet_count, stats.packet_in_count / 2);
    assert_int_equal(stats.byte_in_count, 100 * stats.packet_in_count);
    return stats.packet_in_count;
}

static void
hit(struct fake_tc_police *p, unsigned int n)
{
    p->packets += n;
    p->bytes += 100 * n;
    p->drops += n / 2;
}

static void
end_round(struct bed *bed)
{
    tcb_meters_end_round(tcb_offload_cast(bed->offload));
}

static struct fake_tc_police *
police(struct bed *bed, uint32_t id)
{
    uint32_t index;

    assert_true(tcb_meter_to_police(tcb_offload_cast(bed->offload), id,
                                    &index));
    return fake_tc_police_find(&bed->tc, index);
}

static struct tcb_meter_summary
summary(struct bed *bed)
{
    struct tcb_meter_summary s;

    tcb_meters_summary(tcb_offload_cast(bed->offload), &s);
    return s;
}

/* Meter I has the rate of I * 8 kbit/s, which are I * 1000 bytes/s. */
static void
add_meters(struct bed *bed, uint32_t n)
{
    for (uint32_t i = 1; i <= n; i++) {
        assert_int_equal(set_rate(bed, i, 8 * i), 0);
    }
}

static void
assert_in_kernel(struct bed *bed, uint32_t n)
{
    assert_int_equal(bed->tc.n_polices, n);
    for (uint32_t i = 1; i <= n; i++) {
        assert_int_equal(police(bed, i)->police.rate, 1000 * i);
    }
    assert_int_equal(summary(bed).n_meters, n);
}

static void
test_alone(void **bed_)
{
    struct bed *bed = *bed_;

    for (uint32_t i = 1; i <= 5; i++) {
        let_time_pass();
        assert_int_equal(set_rate(bed, i, 8), 0);
        assert_int_equal(bed->tc.n_polices, i);
    }
    let_time_pass();
    assert_int_equal(set_rate(bed, 3, 80), 0);
    assert_int_equal(police(bed, 3)->police.rate, 10000);
    let_time_pass();
    assert_int_equal(del(bed, 3), 0);
    assert_int_equal(bed->tc.n_polices, 4);
    assert_int_equal(del(bed, 3), ENOENT);
}

static void
test_bulk(void **bed_)
{
    struct bed *bed = *bed_;

    let_time_pass();
    add_meters(bed, N_METERS);
    end_round(bed);
    assert_in_kernel(bed, N_METERS);
    assert_true(bed->tc.n_sends <= 5);

    bed->tc.n_sends = 0;
    for (uint32_t i = 1; i <= N_METERS; i++) {
        assert_int_equal(del(bed, i), 0);
    }
    end_round(bed);
    assert_int_equal(bed->tc.n_polices, 0);
    assert_int_equal(summary(bed).n_dying, 0);
    assert_true(bed->tc.n_sends <= 4);
}

/* Only the last of what is wanted of a meter reaches the kernel. */
static void
test_bulk_of_one(void **bed_)
{
    struct bed *bed = *bed_;

    let_time_pass();
    assert_int_equal(set_rate(bed, 1, 8), 0);
    for (unsigned int i = 0; i < 1000; i++) {
        assert_int_equal(set_rate(bed, 2, 8 * (i + 1)), 0);
        assert_int_equal(set_rate(bed, 1, 8 * (i + 1)), 0);
        assert_int_equal(set_rate(bed, 3, 8), 0);
        assert_int_equal(del(bed, 3), 0);
    }
    assert_int_equal(bed->tc.n_sends, 1);
    end_round(bed);
    assert_int_equal(bed->tc.n_sends, 2);
    assert_int_equal(bed->tc.n_polices, 2);
    assert_int_equal(police(bed, 1)->police.rate, 1000000);
    assert_int_equal(police(bed, 2)->police.rate, 1000000);
}

/* A flow that needs a meter does not wait for the end of a round. */
static void
test_flow_comes_first(void **bed_)
{
    struct bed *bed = *bed_;
    struct bed_op op;

    let_time_pass();
    add_meters(bed, 3);
    assert_int_equal(bed->tc.n_polices, 1);
    bed_put(&op, 0, 0, "meter(3),2", DPIF_FP_CREATE);
    bed_operate(bed, &op, 1);
    assert_int_equal(op.op.error, 0);
    bed_free(&op, 1);
    assert_in_kernel(bed, 3);
}

/* Deleted while a flow has it, and while the kernel has yet to let it go. */
static void
test_delete_in_use(void **bed_)
{
    struct bed *bed = *bed_;
    struct bed_op op;

    let_time_pass();
    assert_int_equal(set_rate(bed, 1, 8), 0);
    bed_put(&op, 0, 0, "meter(1),2", DPIF_FP_CREATE);
    bed_operate(bed, &op, 1);
    assert_int_equal(op.op.error, 0);
    bed_free(&op, 1);
    police(bed, 1)->bindcnt = 1;

    let_time_pass();
    assert_int_equal(del(bed, 1), 0);
    end_round(bed);
    assert_int_equal(summary(bed).n_dying, 1);
    assert_int_equal(set_rate(bed, 1, 80), 0);
    end_round(bed);
    assert_int_equal(bed->tc.n_polices, 2);

    assert_int_equal(bed_remove(bed, 0, NULL), 0);
    end_round(bed);
    assert_int_equal(summary(bed).n_dying, 1);
    for (size_t i = 0; i < bed->tc.n_polices; i++) {
        bed->tc.polices[i].bindcnt = 0;
    }
    end_round(bed);
    assert_int_equal(summary(bed).n_dying, 0);
    assert_int_equal(bed->tc.n_polices, 1);
    assert_int_equal(police(bed, 1)->police.rate, 10000);
}

/* What the kernel refuses leaves nothing behind, and its flows stay out. */
static void
test_refused(void **bed_)
{
    struct bed *bed = *bed_;
    struct bed_refusal refusal = {
        .type = RTM_NEWACTION, .error = ENOMEM, .times = 1,
    };
    struct bed_op op;

    let_time_pass();
    bed_refuse(bed, &refusal);
    assert_int_equal(set_rate(bed, 1, 8), ENOMEM);
    assert_int_equal(summary(bed).n_refused, 1);
    end_round(bed);
    assert_int_equal(summary(bed).n_dying, 0);
    bed_put(&op, 0, 0, "meter(1),2", DPIF_FP_CREATE);
    bed_operate(bed, &op, 1);
    assert_int_not_equal(op.op.error, 0);
    bed_free(&op, 1);

    /* The next time it works. */
    let_time_pass();
    assert_int_equal(set_rate(bed, 1, 8), 0);
    assert_in_kernel(bed, 1);
}

/* A form that TC does not have. */
static void
test_not_expressible(void **bed_)
{
    struct bed *bed = *bed_;

    let_time_pass();
    assert_int_equal(set_rate(bed, 1, 8), 0);
    assert_int_equal(set_rate(bed, 1, 0), EOPNOTSUPP);
    end_round(bed);
    assert_int_equal(bed->tc.n_polices, 0);
    assert_int_equal(summary(bed).n_refused, 1);
    assert_int_equal(del(bed, 1), 0);
    assert_int_equal(summary(bed).n_refused, 0);
}

/* Somebody else has police actions in our range. */
static void
test_taken_index(void **bed_)
{
    struct bed *bed = *bed_;
    struct fake_tc_police foreign[3];
    uint32_t index;

    let_time_pass();
    assert_int_equal(set_rate(bed, 1, 8), 0);
    index = police(bed, 1)->police.index;
    bed->tc.polices = xrealloc(bed->tc.polices,
                               4 * sizeof *bed->tc.polices);
    for (unsigned int i = 0; i < 3; i++) {
        foreign[i] = (struct fake_tc_police) {
            .police = { .index = index + 1 + i, .rate = 77 },
        };
        bed->tc.polices[bed->tc.n_polices++] = foreign[i];
    }
    bed->n_foreign_polices = 3;

    let_time_pass();
    assert_int_equal(set_rate(bed, 2, 16), 0);
    assert_int_equal(police(bed, 2)->police.rate, 2000);
    assert_int_equal(bed->tc.n_polices, 5);
    for (unsigned int i = 0; i < 3; i++) {
        assert_int_equal(fake_tc_police_find(
            &bed->tc, index + 1 + i)->police.rate, 77);
    }
}

/* Answers that are lost. */
static void
test_lost_answers(void **bed_)
{
    struct bed *bed = *bed_;
    struct bed_refusal refusal = { .type = RTM_NEWACTION, .lose = true };

    bed_refuse(bed, &refusal);
    for (unsigned int times = 1; times <= 3; times++) {
        let_time_pass();
        refusal.type = RTM_NEWACTION;
        refusal.times = times;
        add_meters(bed, 50);
        end_round(bed);
        assert_in_kernel(bed, 50);

        refusal.type = RTM_DELACTION;
        refusal.times = times;
        for (uint32_t i = 1; i <= 50; i++) {
            assert_int_equal(del(bed, i), 0);
        }
        end_round(bed);
        end_round(bed);
        assert_int_equal(bed->tc.n_polices, 0);
        assert_int_equal(summary(bed).n_dying, 0);
    }
}

/* All answers are lost: nobody knows that the police is there. */
static void
test_no_answer(void **bed_)
{
    struct bed *bed = *bed_;
    struct bed_refusal refusal = {
        .type = RTM_NEWACTION, .lose = true, .times = 100,
    };

    let_time_pass();
    bed_refuse(bed, &refusal);
    assert_int_equal(set_rate(bed, 1, 8), ENOBUFS);
    assert_int_equal(summary(bed).n_refused, 1);
    refusal.times = 0;
    end_round(bed);
    assert_int_equal(bed->tc.n_polices, 0);
    assert_int_equal(summary(bed).n_dying, 0);
}

/* A socket that takes nothing. */
static void
test_not_sent(void **bed_)
{
    struct bed *bed = *bed_;

    let_time_pass();
    bed->tc.send_error = ENOBUFS;
    assert_int_equal(set_rate(bed, 1, 8), ENOBUFS);
    bed->tc.send_error = 0;
    let_time_pass();
    assert_int_equal(set_rate(bed, 1, 8), 0);
    assert_in_kernel(bed, 1);

    bed->tc.send_error = ENOBUFS;
    let_time_pass();
    assert_int_equal(del(bed, 1), 0);
    assert_int_equal(summary(bed).n_dying, 1);
    bed->tc.send_error = 0;
    end_round(bed);
    assert_int_equal(summary(bed).n_dying, 0);
    assert_int_equal(bed->tc.n_polices, 0);
}

/* Queries that come together share a dump, and none is older than the dump's
 * time allows. */
static void
test_counters(void **bed_)
{
    struct bed *bed = *bed_;

    let_time_pass();
    add_meters(bed, N_METERS);
    end_round(bed);
    for (uint32_t i = 1; i <= N_METERS; i++) {
        hit(police(bed, i), 2 * i);
    }
    let_time_pass();
    assert_int_equal(packets(bed, 7), 14);
    assert_int_equal(bed->tc.n_police_dumps, 0);
    for (uint32_t i = 1; i <= N_METERS; i++) {
        assert_int_equal(packets(bed, i), 2 * i);
    }
    assert_int_equal(bed->tc.n_police_dumps, 1);

    /* One that came after the dump. */
    assert_int_equal(set_rate(bed, N_METERS + 1, 8), 0);
    assert_int_equal(packets(bed, N_METERS + 1), 0);

    let_time_pass();
    hit(police(bed, 7), 10);
    assert_int_equal(packets(bed, 7), 24);
    assert_int_equal(packets(bed, 7), 24);
    assert_int_equal(packets(bed, 8), 16);
    assert_int_equal(bed->tc.n_police_dumps, 2);
}

/* A new rate keeps the counters; what shows them agrees. */
static void
test_list(void **bed_)
{
    struct bed *bed = *bed_;
    struct tcb_meter_row *rows;

    let_time_pass();
    add_meters(bed, 3);
    end_round(bed);
    hit(police(bed, 2), 4);
    assert_int_equal(set_rate(bed, 2, 800), 0);
    assert_int_equal(set_rate(bed, 9, 0), EOPNOTSUPP);
    assert_int_equal(tcb_meters_list(tcb_offload_cast(bed->offload), &rows),
                     4);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(rows[i].meter_id, i + 1);
        assert_int_equal(rows[i].state, TCB_METER_IN_TC);
        assert_int_equal(rows[i].refs, 0);
    }
    assert_int_equal(rows[1].police.rate, 100000);
    assert_int_equal(rows[1].stats.packets, 4);
    assert_int_equal(rows[1].stats.drops, 2);
    assert_int_equal(rows[3].meter_id, 9);
    assert_int_equal(rows[3].state, TCB_METER_REFUSED);
    free(rows);
}

int
main(void)
{
#define TEST(FUNCTION) \
    cmocka_unit_test_setup_teardown(FUNCTION, bed_setup, bed_teardown)
    static const struct CMUnitTest tests[] = {
        TEST(test_alone),
        TEST(test_bulk),
        TEST(test_bulk_of_one),
        TEST(test_flow_comes_first),
        TEST(test_delete_in_use),
        TEST(test_refused),
        TEST(test_not_expressible),
        TEST(test_taken_index),
        TEST(test_lost_answers),
        TEST(test_no_answer),
        TEST(test_not_sent),
        TEST(test_counters),
        TEST(test_list),
    };

    time_msec();                /* Makes the clock that is stopped. */
    timeval_stop();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
