/* SPDX-License-Identifier: Apache-2.0 */

/* The provider on the running kernel under everything at once: threads that
 * put, modify, delete, get and dump the same flows, while ports, devices and
 * qdiscs come and go, others use TC, and answers of the kernel get lost
 * (faulty-socket.h).  Afterwards the flow table is what the kernel has, and
 * when the flows are deleted nothing is left.
 *
 * CHURN_SECONDS and CHURN_THREADS say how long and by how many.  The devices
 * are those of twin.h. */

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "dpif-offload-provider.h"
#include "disturbance.h"
#include "faulty-socket.h"
#include "flow-text.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "ovs-thread.h"
#include "random-flow.h"
#include "random.h"
#include "tap.h"
#include "tcb-audit.h"
#include "tcb-chain-use.h"
#include "tcb-offload.h"
#include "tcb-port.h"
#include "timeval.h"
#include "twin.h"
#include "util.h"

#define N_FLOWS 1500            /* Matches, and as many ufids. */
#define MAX_BATCH 64            /* Operations at a time. */
#define N_OVERFLOW_FLOWS 1000
#define MAX_SHOWN 10

/* One match with two lists of actions. */
struct flow_pair {
    struct test_flow flow[2];
};

static struct twins twins;
static struct flow_pair pairs[N_FLOWS];
static atomic_bool stop;

/* Flows. */

static void
parse(struct test_flow *flow, const char *match, const char *actions)
{
    char *error = flow_text_parse(flow, match, actions);

    if (error) {
        ovs_fatal(0, "%s, actions:%s: %s", match, actions, error);
    }
}

static void
put_one(uint32_t number)
{
    struct twin_op op;

    twin_put(&op, OURS, &pairs[number].flow[0], number);
    twins_operate(&twins, &op, 1);
    if (op.op.error) {
        ovs_fatal(op.op.error, "cannot add flow %"PRIu32, number);
    }
    twin_op_uninit(&op);
}

/* One that leads to a chain, in which others may be. */
static void
make_parent(struct flow_pair *pair, unsigned int number)
{
    char *match = xasprintf("recirc_id(0),in_port(1),eth(src=0c:00:00:00:00:"
                            "%02x),eth_type(0x88b5)", number);
    char *actions = xasprintf("recirc(%u)", number + 1);

    parse(&pair->flow[0], match, actions);
    parse(&pair->flow[1], match, actions);
    free(match);
    free(actions);
}

/* A random one; returns false if we would not take it.  On a kernel without
 * NET_TC_SKB_EXT we take none that recirculates. */
static bool
make_pair(struct flow_pair *pair, unsigned int number)
{
    struct ds match = DS_EMPTY_INITIALIZER;
    struct ds actions = DS_EMPTY_INITIALIZER;
    char *why;

    random_flow(&match, &actions, random_range(8) ? number + 1 : 0);
    parse(&pair->flow[0], ds_cstr(&match), ds_cstr(&actions));
    why = twins_why(&twins, &pair->flow[0]);
    if (why) {
        test_flow_uninit(&pair->flow[0]);
    } else {
        parse(&pair->flow[1], ds_cstr(&match), number % 2 ? "drop" : "1");
    }
    ds_destroy(&match);
    ds_destroy(&actions);
    free(why);
    return !why;
}

static void
make_pairs(void)
{
    for (unsigned int i = 0; i < N_FLOWS; i++) {
        if (i < RANDOM_FLOW_CHAINS && twins.ours->recirc_shared) {
            make_parent(&pairs[i], i);
            put_one(i);
        } else {
            while (!make_pair(&pairs[i], i)) {
                ovsrcu_quiesce();
            }
        }
    }
}

static void
free_pairs(void)
{
    for (unsigned int i = 0; i < N_FLOWS; i++) {
        test_flow_uninit(&pairs[i].flow[0]);
        test_flow_uninit(&pairs[i].flow[1]);
    }
}

static struct tcb_flow_table *
table(void)
{
    return &twins.ours->flows;
}

static unsigned int
n_live(void)
{
    return atomic_count_get(&table()->n_live);
}

/* Threads. */

struct worker {
    uint64_t n_done[DPIF_OP_FLOW_GET + 1], n_refused;
    uint64_t n_dumps, n_dumped;
};

static void
random_op(struct twin_op *op)
{
    uint32_t number = random_range(N_FLOWS);
    const struct flow_pair *own = &pairs[number];
    uint32_t what = random_range(100);

    /* Without parents most flows would have to stay away. */
    if (number < RANDOM_FLOW_CHAINS && what >= 65 && random_range(50)) {
        what = 0;
    }
    if (what < 50) {
        twin_put(op, OURS, &own->flow[0], number);
    } else if (what < 65) {
        twin_put(op, OURS, &own->flow[random_range(2)], number);
        op->op.flow_put.flags = DPIF_FP_MODIFY;
    } else if (what < 70) {
        /* Another match, thus another mask, prio or port. */
        twin_put(op, OURS, &pairs[random_range(N_FLOWS)].flow[0], number);
        op->op.flow_put.flags = DPIF_FP_MODIFY;
    } else if (what < 95) {
        twin_del(op, OURS, number);
        op->op.flow_del.stats = what % 2 ? &op->stats : NULL;
    } else {
        twin_get(op, OURS, number);
    }
}

static void
operate(struct worker *w, struct twin_op *ops, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        random_op(&ops[i]);
    }
    twins_operate(&twins, ops, n);
    for (size_t i = 0; i < n; i++) {
        if (ops[i].op.error) {
            w->n_refused++;
        } else {
            w->n_done[ops[i].op.type]++;
        }
        twin_op_uninit(&ops[i]);
    }
}

static void
dump(struct worker *w, bool terse)
{
    const struct dpif_offload_class *class = &dpif_offload_tc_batch_class;
    struct dpif_offload_flow_dump *d
        = class->flow_dump_create(&twins.ours->up, terse);
    struct dpif_offload_flow_dump_thread *thread
        = class->flow_dump_thread_create(d);
    struct dpif_flow flows[50];
    int n;

    while ((n = class->flow_dump_next(thread, flows, 50)) > 0) {
        w->n_dumped += n;
    }
    class->flow_dump_thread_destroy(thread);
    class->flow_dump_destroy(d);
    w->n_dumps++;
}

static void *
work(void *w_)
{
    struct twin_op *ops = xmalloc(MAX_BATCH * sizeof *ops);
    struct worker *w = w_;

    for (;;) {
        bool stopping;

        atomic_read_relaxed(&stop, &stopping);
        if (stopping) {
            break;
        }
        operate(w, ops, 1 + random_range(MAX_BATCH));
        if (!random_range(100)) {
            dump(w, random_range(10));
        }
        ovsrcu_quiesce();
    }
    free(ops);
    return NULL;
}

static void
churn(unsigned int msec, bool others)
{
    unsigned int n_threads = tap_env_number("CHURN_THREADS", 8);
    struct worker *workers = xcalloc(n_threads, sizeof *workers);
    pthread_t *threads = xcalloc(n_threads, sizeof *threads);
    struct worker sum = { .n_refused = 0 };
    long long int end = time_msec() + msec;

    atomic_store_relaxed(&stop, false);
    faulty_sockets_set(FAULTS_ALL);
    for (unsigned int i = 0; i < n_threads; i++) {
        threads[i] = ovs_thread_create("churn", work, &workers[i]);
    }
    while (time_msec() < end) {
        xnanosleep(1000000 * (50 + random_range(100)));
        disturb(&twins, 2 * N_FLOWS, others);
        ovsrcu_quiesce();
    }
    atomic_store_relaxed(&stop, true);
    for (unsigned int i = 0; i < n_threads; i++) {
        xpthread_join(threads[i], NULL);
        sum.n_refused += workers[i].n_refused;
        sum.n_dumps += workers[i].n_dumps;
        sum.n_dumped += workers[i].n_dumped;
        for (int type = 0; type <= DPIF_OP_FLOW_GET; type++) {
            sum.n_done[type] += workers[i].n_done[type];
        }
    }
    faulty_sockets_set(FAULTS_NONE);
    printf("# %"PRIu64" puts, %"PRIu64" deletes, %"PRIu64" gets, %"PRIu64
           " not done, %"PRIu64" flows in %"PRIu64" dumps\n",
           sum.n_done[DPIF_OP_FLOW_PUT], sum.n_done[DPIF_OP_FLOW_DEL],
           sum.n_done[DPIF_OP_FLOW_GET], sum.n_refused, sum.n_dumped,
           sum.n_dumps);
    free(threads);
    free(workers);
}

/* Afterwards. */

static void
del_ufid(uint32_t number)
{
    struct twin_op op;

    twin_del(&op, OURS, number);
    twins_operate(&twins, &op, 1);
    twin_op_uninit(&op);
}

static void
show_finding(const struct tcb_audit *a, const struct tcb_audit_finding *f)
{
    printf("# %s: %s: chain %"PRIu32" prio %u handle %#"PRIx32" flow %u\n",
           a->ports[f->port].name, tcb_audit_kind_name(f->kind),
           f->id.chain, f->id.prio, f->id.handle, f->ufid.u32[0]);
}

/* Of filters that others have removed OVS hears by its dumps, and deletes the
 * flows: so do we.  Returns how many findings are not explained by that. */
static unsigned int
delete_missing(bool others)
{
    unsigned int n_bad = 0;
    struct tcb_audit a;

    tcb_audit_run(twins.ours, &a);
    for (size_t i = 0; i < a.n_findings; i++) {
        const struct tcb_audit_finding *f = &a.findings[i];
        bool churned = !strcmp(a.ports[f->port].name, DISTURBED_DEVICE);

        if (f->kind == TCB_AUDIT_MISSING && (others || churned)) {
            del_ufid(f->ufid.u32[0]);
        } else if (n_bad++ < MAX_SHOWN) {
            show_finding(&a, f);
        }
    }
    tcb_audit_destroy(&a);
    return n_bad;
}

/* Is the table what the kernel has?  Returns the filters of ours. */
static unsigned int
check_audit(const char *when)
{
    unsigned int n_ours = 0, n_counted = 0;
    struct dpif_offload_port *up;
    struct tcb_audit a;

    tcb_audit_run(twins.ours, &a);
    for (size_t i = 0; i < a.n_findings && i < MAX_SHOWN; i++) {
        show_finding(&a, &a.findings[i]);
    }
    for (size_t i = 0; i < a.n_ports; i++) {
        n_ours += a.ports[i].n_ours;
        if (a.ports[i].error[0]) {
            printf("# %s: %s\n", a.ports[i].name, a.ports[i].error);
        }
    }
    DPIF_OFFLOAD_PORT_FOR_EACH (up, &twins.ours->up) {
        struct tcb_port *port = CONTAINER_OF(up, struct tcb_port, up);

        n_counted += atomic_count_get(&port->n_flows);
    }
    tap_ok(tcb_audit_is_clean(&a) && n_ours == n_live(),
           "%s: table and kernel agree on %u flows (%u in the table, "
           "%"PRIuSIZE" findings)", when, n_ours, n_live(), a.n_findings);
    tap_ok(n_counted == n_live(), "%s: so do the counts of the ports (%u)",
           when, n_counted);
    tcb_audit_destroy(&a);
    return n_ours;
}

static void
delete_all(const char *when)
{
    bool chains = false;

    for (uint32_t i = 0; i < N_FLOWS; i++) {
        del_ufid(i);
        ovsrcu_quiesce();
    }
    tap_ok(!check_audit(when), "%s: no filter is left", when);
    for (uint32_t chain = 1; chain <= RANDOM_FLOW_CHAINS; chain++) {
        chains |= tcb_chain_in_use(&twins.ours->chains, chain);
    }
    tap_ok(!chains, "%s: no chain is in use", when);
}

static void
test_overflow(void)
{
    struct twin_op *ops = xmalloc(MAX_BATCH * sizeof *ops);
    struct tcb_operate_stats before, after;
    unsigned int n_workers;

    tcb_worker_pool_stats(&twins.ours->workers, &before, &n_workers);
    faulty_sockets_set(FAULTS_OVERFLOW);
    for (uint32_t i = 0; i < N_OVERFLOW_FLOWS; i += MAX_BATCH) {
        for (uint32_t j = 0; j < MAX_BATCH; j++) {
            twin_put(&ops[j], OURS, &pairs[i + j].flow[0], i + j);
        }
        twins_operate(&twins, ops, MAX_BATCH);
        for (uint32_t j = 0; j < MAX_BATCH; j++) {
            twin_op_uninit(&ops[j]);
        }
        /* Again: all of these are refused, or replaced. */
        for (uint32_t j = 0; j < MAX_BATCH; j++) {
            twin_put(&ops[j], OURS, &pairs[i + j].flow[0], N_FLOWS);
        }
        twins_operate(&twins, ops, MAX_BATCH);
        for (uint32_t j = 0; j < MAX_BATCH; j++) {
            twin_op_uninit(&ops[j]);
        }
        ovsrcu_quiesce();
    }
    free(ops);
    faulty_sockets_set(FAULTS_NONE);
    del_ufid(N_FLOWS);
    tcb_worker_pool_stats(&twins.ours->workers, &after, &n_workers);
    tap_ok(after.batch.overflows > before.batch.overflows
           && after.batch.unknown > before.batch.unknown,
           "%"PRIu64" overflows, %"PRIu64" results lost, %"PRIu64" settled",
           after.batch.overflows - before.batch.overflows,
           after.batch.unknown - before.batch.unknown,
           after.settled - before.settled);
    tap_ok(check_audit("overflows") > N_OVERFLOW_FLOWS / 4,
           "overflows: flows are there all the same");
    delete_all("overflows, flows deleted");
}

static void
test_churn(unsigned int msec, bool others)
{
    const char *when = others ? "churn with others" : "churn";
    struct faulty_counts faults;
    char *deleted;

    churn(msec, others);
    faults = faulty_sockets_counts();
    printf("# so far %"PRIu64" overflows, %"PRIu64" answers lost, %"PRIu64
           " calls interrupted, %"PRIu64" sends failed\n", faults.overflows,
           faults.lost, faults.interrupted, faults.not_sent);
    tap_ok(faults.overflows > 0, "%s: faults occurred", when);
    tap_ok(!delete_missing(others), "%s: no filter is stranded, none is "
           "missing but those that others removed", when);
    tap_ok(check_audit(when) > 0, "%s: flows are left", when);
    tap_ok(tcb_flow_table_n_slots(table()) < 10 * N_FLOWS,
           "%s: the table has %"PRIu32" slots", when,
           tcb_flow_table_n_slots(table()));
    deleted = xasprintf("%s, flows deleted", when);
    delete_all(deleted);
    free(deleted);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    unsigned int seconds = tap_env_number("CHURN_SECONDS", 10);

    set_program_name(argv[0]);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!getenv("CHURN_LOG")) {
        vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    }
    twins_open(&twins);
    random_set_seed(tap_env_number("CHURN_SEED", 1));
    make_pairs();
    test_overflow();
    test_churn(seconds * 500, false);
    test_churn(seconds * 500, true);
    twins_close(&twins);
    free_pairs();
    return tap_done();
}
