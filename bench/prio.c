/* SPDX-License-Identifier: Apache-2.0 */

/* What it costs when a prio's only flow goes and comes back.
 *
 * usage: prio RUNS PAIRS
 *
 * The variants take turns on one machine, RUNS times: a flow for IPv4 is
 * deleted and put again, PAIRS times, through dpif_operate(), one operation
 * each.
 *
 *     intree       OVS's own tc provider
 *     ours         ours
 *     ours-bare    ours without placeholders (see tcb-placeholder.h)
 *
 * The cases are "only", where the flow is the only one of the first prio, and
 * "others", where there is another one.  Prints a line for each:
 *
 *     CASE VARIANT RUN MICROSECONDS-PER-PAIR */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>

#include "flow-text.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "tcb-offload.h"
#include "tcb-placeholder.h"
#include "timeval.h"
#include "twin.h"
#include "util.h"

#define MATCH "recirc_id(0),in_port(1),eth(src=02:00:00:00:00:01," \
    "dst=02:00:00:00:00:02),eth_type(0x0800),ipv4(dst=11.0.0.%u,frag=no)"

static const struct variant {
    const char *name;
    enum twin twin;
    bool keep_prios;
} variants[] = {
    { "intree", THEIRS, false },
    { "ours", OURS, true },
    { "ours-bare", OURS, false },
};

static struct twins twins;

/* Returns how long it took. */
static long long int
operate(struct twin_op *op)
{
    long long int start = time_usec(), us;

    twins_operate(&twins, op, 1);
    us = time_usec() - start;
    if (op->op.error) {
        ovs_fatal(op->op.error, "a flow was refused or not found");
    }
    twin_op_uninit(op);
    return us;
}

static long long int
put(enum twin twin, uint32_t number)
{
    struct test_flow flow;
    char *match = xasprintf(MATCH, number);
    char *error = flow_text_parse(&flow, match, "2");
    struct twin_op op;

    if (error) {
        ovs_fatal(0, "%s: %s", match, error);
    }
    free(match);
    twin_put(&op, twin, &flow, number);
    test_flow_uninit(&flow);
    return operate(&op);
}

static long long int
del(enum twin twin, uint32_t number)
{
    struct twin_op op;

    twin_del(&op, twin, number);
    return operate(&op);
}

static void
measure(const struct variant *v, bool others, int run, int pairs)
{
    struct tcnl_filter_id hook = tcb_hook_id(twins.ports[OURS][1].ifindex,
                                             TCB_HOOK_INGRESS);
    long long int us = 0;

    twins.ours->keep_prios = v->keep_prios;
    if (others) {
        put(v->twin, 2);
    }
    put(v->twin, 1);
    for (int i = 0; i < pairs; i++) {
        us += del(v->twin, 1);
        us += put(v->twin, 1);
        ovsrcu_quiesce();
    }
    del(v->twin, 1);
    if (others) {
        del(v->twin, 2);
    }
    tcb_placeholders_remove(twins.ours, &hook);
    printf("%s %s %d %.1f\n", others ? "others" : "only", v->name, run,
           (double) us / pairs);
    fflush(stdout);
}

int
main(int argc, char *argv[])
{
    int runs = argc == 3 ? atoi(argv[1]) : 0;
    int pairs = argc == 3 ? atoi(argv[2]) : 0;

    set_program_name(argv[0]);
    if (runs < 1 || pairs < 1) {
        ovs_fatal(0, "usage: %s RUNS PAIRS", argv[0]);
    }
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    twins_open(&twins);
    for (int run = 0; run < runs; run++) {
        for (int others = 0; others <= 1; others++) {
            for (size_t i = 0; i < ARRAY_SIZE(variants); i++) {
                measure(&variants[(run + i) % ARRAY_SIZE(variants)], others,
                        run, pairs);
            }
        }
    }
    twins_close(&twins);
    return 0;
}
