/* SPDX-License-Identifier: Apache-2.0 */

/* How far dumps hold up installs on the running kernel.
 *
 * usage: beside PROFILE FLOWS RUNS
 *
 * Installs FLOWS filters that stay, with OVS's own tc provider on one device
 * and with ours on another.  Then variants take turns, RUNS times: a quarter
 * as many flows again are installed, and deleted, on the same device, once
 * ("alone") with nothing else going on, and once ("beside") while another
 * thread dumps all flows, round after round without a pause.
 *
 *     intree      OVS's own provider, its terse dumps
 *     ours-terse  ours in each mode
 *     ours-delta
 *
 * A variant that the kernel does not have is left out.  Prints a line for
 * each:
 *
 *     CASE VARIANT RUN MICROSECONDS-PER-FLOW ROUNDS
 *
 * The time is that of an install, ROUNDS the rounds that ended meanwhile.
 *
 * PROFILE is one of profile.h. */

#include <config.h>

#include <stdio.h>
#include <stdlib.h>

#include "latch.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "rounds.h"
#include "util.h"

enum variant { INTREE, TERSE, DELTA, N_VARIANTS };

static const char *const variant_names[] = {
    "intree", "ours-terse", "ours-delta"
};

static struct rounds rounds;
static uint32_t n_flows;

/* What the dumping thread does. */
struct dumper {
    enum twin twin;
    struct latch stop;
    atomic_count n_rounds;      /* That have ended. */
};

static void *
run_dumper(void *dumper_)
{
    struct dumper *dumper = dumper_;

    while (!latch_is_set(&dumper->stop)) {
        unsigned int n = rounds_dump(&rounds, dumper->twin, 1);

        if (n < n_flows) {
            ovs_fatal(0, "a dump reported %u of %"PRIu32" flows", n, n_flows);
        }
        atomic_count_inc(&dumper->n_rounds);
        ovsrcu_quiesce();
    }
    return NULL;
}

static void
measure(enum variant variant, bool beside, int run)
{
    uint32_t n_new = MAX(n_flows / 4, 1000);
    struct dumper dumper = {
        .twin = variant == INTREE ? THEIRS : OURS,
        .n_rounds = ATOMIC_COUNT_INIT(0),
    };
    unsigned int n_rounds = 0;
    pthread_t thread;
    long long int us;

    if (variant != INTREE) {
        rounds_set_mode(&rounds, (variant == DELTA ? TCB_DUMP_DELTA
                                  : TCB_DUMP_TERSE));
    }
    latch_init(&dumper.stop);
    if (beside) {
        thread = ovs_thread_create("dump", run_dumper, &dumper);
    }
    us = rounds_install(&rounds, dumper.twin, n_flows, n_new);
    if (beside) {
        n_rounds = atomic_count_get(&dumper.n_rounds);
        latch_set(&dumper.stop);
        ovsrcu_quiesce_start();
        xpthread_join(thread, NULL);
        ovsrcu_quiesce_end();
    }
    latch_destroy(&dumper.stop);
    rounds_delete(&rounds, dumper.twin, n_flows, n_new);
    printf("%s %s %d %.3f %u\n", beside ? "beside" : "alone",
           variant_names[variant], run, (double) us / n_new, n_rounds);
    fflush(stdout);
}

int
main(int argc, char *argv[])
{
    int runs = argc == 4 ? atoi(argv[3]) : 0;

    set_program_name(argv[0]);
    n_flows = argc == 4 ? atoi(argv[2]) : 0;
    if (!n_flows || runs < 1) {
        ovs_fatal(0, "usage: %s PROFILE FLOWS RUNS", argv[0]);
    }
    rounds_open(&rounds, argv[1]);
    rounds_install(&rounds, THEIRS, 0, n_flows);
    rounds_install(&rounds, OURS, 0, n_flows);
    for (int run = 0; run < runs; run++) {
        for (int i = 0; i < N_VARIANTS; i++) {
            enum variant variant = (run + i) % N_VARIANTS;

            if (variant != DELTA
                || rounds.twins.ours->abilities.used_since) {
                measure(variant, false, run);
                measure(variant, true, run);
            }
        }
    }
    rounds_close(&rounds);
    return 0;
}
