/* SPDX-License-Identifier: Apache-2.0 */

/* Our provider against OVS's own, on the running kernel.
 *
 * Random flows go through both, each into ports of its own (twin.h).  Either
 * both accept a flow or both refuse it, and the filters that the kernel
 * reports afterwards are the same, attribute by attribute (filter-text.h), but
 * for the known differences (difference.h).  What we report of our flows is
 * what was put (round-trip.h).
 *
 * ORACLE_FLOWS and ORACLE_SEED say how many flows, and which. */

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "coverage.h"
#include "difference.h"
#include "dpif-offload-provider.h"
#include "filter-text.h"
#include "openvswitch/vlog.h"
#include "ovs-rcu.h"
#include "packets.h"
#include "random-flow.h"
#include "random.h"
#include "round-trip.h"
#include "tap.h"
#include "tcb-offload.h"
#include "tcnl/dump.h"
#include "tcnl/filter.h"
#include "timeval.h"
#include "twin.h"
#include "util.h"

#define ROUND 512               /* Flows at a time in the kernel. */
#define BATCH 64                /* Operations at a time. */
#define MAX_SHOWN 20            /* Failures of one kind that are shown. */
#define N_WHOLE 200             /* Dumps of flows with long lists. */

struct flow_case {
    struct ds match, actions;
    struct test_text text;
    struct test_flow flow;
    uint32_t number;            /* Of its ufid. */
    int error[N_TWINS];
    struct filter_text filter[N_TWINS];
    bool has_filter[N_TWINS];
    unsigned int n_reported;    /* By the present dump. */
};

static struct twins twins;
static uint32_t next_number = 1;
static unsigned int difference_counts[64];

/* Filters of the present round without a cookie, and its cases, whose numbers
 * follow each other. */
static struct filter_text anonymous[N_TWINS][ROUND];
static size_t n_anonymous[N_TWINS];
static struct flow_case *round_cases;
static size_t n_round_cases;

/* Results. */

static void
show(const char *text)
{
    while (*text) {
        int len = strcspn(text, "\n");

        printf("#   %.*s\n", len, text);
        text += len + (text[len] == '\n');
    }
}

/* Cases. */

static void
case_init(struct flow_case *c, uint32_t number)
{
    memset(c, 0, sizeof *c);
    ds_init(&c->match);
    ds_init(&c->actions);
    c->number = number;
}

/* To be called when the texts are there. */
static void
case_parse(struct flow_case *c)
{
    char *error;

    c->text.match = ds_cstr(&c->match);
    c->text.actions = ds_cstr(&c->actions);
    error = flow_text_parse(&c->flow, c->text.match, c->text.actions);
    if (error) {
        ovs_fatal(0, "%s, actions:%s: %s", c->text.match, c->text.actions,
                  error);
    }
}

static void
case_set(struct flow_case *c, const struct test_text *text)
{
    case_init(c, next_number++);
    ds_put_cstr(&c->match, text->match);
    ds_put_cstr(&c->actions, text->actions);
    case_parse(c);
}

static void
case_uninit(struct flow_case *c)
{
    ds_destroy(&c->match);
    ds_destroy(&c->actions);
    test_flow_uninit(&c->flow);
    for (enum twin twin = 0; twin < N_TWINS; twin++) {
        if (c->has_filter[twin]) {
            filter_text_uninit(&c->filter[twin]);
        }
    }
}

/* Do we treat the flow in another way, as far as is known before? */
static bool
may_differ(const struct flow_case *c)
{
    char *why = twins_why(&twins, &c->flow);
    bool differs = false;

    for (enum difference_effect e = 0; e <= DIFFERENCE_COOKIE; e++) {
        differs |= (difference_find(e, why ? why : "", &c->flow, &c->text)
                    && (e != DIFFERENCE_REFUSED || why));
    }
    free(why);
    return differs;
}

/* Flows without an id may have the same key, which is right to be refused; but
 * not a key that only one of the providers has, or the difference would go on
 * to other flows. */
static void
case_random(struct flow_case *c)
{
    uint32_t number = next_number++;
    bool with_id = random_range(8);

    for (;;) {
        case_init(c, number);
        random_flow(&c->match, &c->actions, with_id ? c->number : 0);
        case_parse(c);
        if (with_id || !may_differ(c)) {
            return;
        }
        case_uninit(c);
        with_id = true;
    }
}

/* The kernel. */

static void
put_cases(struct flow_case *cases, size_t n)
{
    struct twin_op *ops = xmalloc(BATCH * sizeof *ops);

    for (size_t first = 0, len; first < n; first += len) {
        len = 1 + random_range(BATCH);
        len = MIN(len, n - first);
        for (enum twin twin = 0; twin < N_TWINS; twin++) {
            for (size_t i = 0; i < len; i++) {
                twin_put(&ops[i], twin, &cases[first + i].flow,
                         cases[first + i].number);
            }
            twins_operate(&twins, ops, len);
            for (size_t i = 0; i < len; i++) {
                cases[first + i].error[twin] = ops[i].op.error;
                twin_op_uninit(&ops[i]);
            }
        }
    }
    free(ops);
}

/* Deletes what is there.  Returns how many deletes failed. */
static unsigned int
del_cases(struct flow_case *cases, size_t n)
{
    struct twin_op *ops = xmalloc(BATCH * sizeof *ops);
    unsigned int n_errors = 0;
    size_t n_ops = 0;

    for (enum twin twin = 0; twin < N_TWINS; twin++) {
        for (size_t i = 0; i <= n; i++) {
            if (n_ops == BATCH || (i == n && n_ops)) {
                twins_operate(&twins, ops, n_ops);
                while (n_ops) {
                    n_errors += ops[--n_ops].op.error != 0;
                    twin_op_uninit(&ops[n_ops]);
                }
            }
            if (i < n && !cases[i].error[twin]) {
                twin_del(&ops[n_ops++], twin, cases[i].number);
            }
        }
    }
    free(ops);
    return n_errors;
}

/* The case of the present round that a ufid belongs to, or NULL. */
static struct flow_case *
case_of(const ovs_u128 *ufid, enum twin wanted)
{
    uint32_t number, first = n_round_cases ? round_cases[0].number : 0;
    enum twin twin;

    return (twin_of_ufid(ufid, &twin, &number) && twin == wanted
            && number >= first && number - first < n_round_cases
            ? &round_cases[number - first] : NULL);
}

/* The flows that lead to the chains have the first numbers. */
static bool
is_parent(const ovs_u128 *ufid)
{
    uint32_t number;
    enum twin twin;

    return (twin_of_ufid(ufid, &twin, &number)
            && number <= RANDOM_FLOW_CHAINS);
}

struct reading {
    enum twin twin;
    unsigned int n_unknown;
};

static void
note_filter(void *reading_, const struct nlmsghdr *nlh)
{
    struct reading *reading = reading_;
    enum twin twin = reading->twin;
    struct filter_text text;
    struct flow_case *c;

    filter_text_init(&text);
    if (!filter_text_read(&text, nlh, twins_port, &twins)) {
        filter_text_uninit(&text);
        return;
    }
    c = text.has_cookie ? case_of(&text.cookie, twin) : NULL;
    if (c && !c->has_filter[twin] && !text.two_cookies) {
        c->filter[twin] = text;
        c->has_filter[twin] = true;
    } else if (!text.has_cookie && n_anonymous[twin] < ROUND) {
        anonymous[twin][n_anonymous[twin]++] = text;
    } else {
        reading->n_unknown += !text.has_cookie || !is_parent(&text.cookie);
        filter_text_uninit(&text);
    }
}

static int
build_dump(struct tcnl_buffer *b, const void *id)
{
    return tcnl_filter_put_dump(b, id, &(struct tcnl_dump_form) { 0 });
}

static void
forget_anonymous(void)
{
    for (enum twin twin = 0; twin < N_TWINS; twin++) {
        while (n_anonymous[twin]) {
            filter_text_uninit(&anonymous[twin][--n_anonymous[twin]]);
        }
    }
}

/* Reads all filters back.  Returns how many belong to no case. */
static unsigned int
read_filters(struct flow_case *cases, size_t n)
{
    struct reading reading = { .n_unknown = 0 };

    round_cases = cases;
    n_round_cases = n;
    forget_anonymous();
    for (enum twin twin = 0; twin < N_TWINS; twin++) {
        reading.twin = twin;
        for (int i = 1; i <= TWIN_MAX_PORT; i++) {
            const struct twin_port *port = &twins.ports[twin][i];
            struct tcnl_filter_id id = {
                .ifindex = port->ifindex,
                .parent = port->internal ? TCNL_PARENT_EGRESS
                                         : TCNL_PARENT_INGRESS,
            };
            struct tcnl_error error;

            if (port->netdev
                && tcnl_dump_all(twins.transport, build_dump, &id,
                                 note_filter, &reading, &error)
                   != TCNL_DUMP_COMPLETE) {
                ovs_fatal(error.error, "cannot dump filters");
            }
        }
    }
    return reading.n_unknown;
}

/* Judging. */

static bool
same(const struct ds *a, const struct ds *b)
{
    return !strcmp(ds_cstr_ro(a), ds_cstr_ro(b));
}

/* Have both filters the same Ethernet source? */
static bool
same_source(const struct filter_text *a, const struct filter_text *b)
{
    static const char source[] = "\nkey 6 ";
    const char *x = strstr(ds_cstr_ro(&a->keys), source);
    const char *y = strstr(ds_cstr_ro(&b->keys), source);
    size_t len = sizeof source - 1 + 2 * ETH_ADDR_LEN;

    return x && y && !strncmp(x, y, len);
}

/* The other provider gives some filters no cookie: such a one is recognized by
 * its keys or, as those can differ, by the source that only one flow has. */
static const struct filter_text *
find_anonymous(const struct filter_text *ours)
{
    for (size_t i = 0; i < n_anonymous[THEIRS]; i++) {
        if (same(&anonymous[THEIRS][i].keys, &ours->keys)) {
            return &anonymous[THEIRS][i];
        }
    }
    for (size_t i = 0; i < n_anonymous[THEIRS]; i++) {
        if (same_source(&anonymous[THEIRS][i], ours)) {
            return &anonymous[THEIRS][i];
        }
    }
    return NULL;
}

static bool
explain(const struct flow_case *c, enum difference_effect effect,
        const char *detail)
{
    const struct difference *d = difference_find(effect, detail, &c->flow,
                                                 &c->text);

    if (d) {
        difference_counts[d - differences]++;
    }
    return d != NULL;
}

static void
show_case(const struct flow_case *c, const char *what)
{
    printf("# %s: %s, actions:%s\n", what, c->text.match, c->text.actions);
}

static enum outcome
compare_filters(const struct flow_case *c, struct ds *why)
{
    const struct filter_text *ours = &c->filter[OURS];
    const struct filter_text *theirs
        = c->has_filter[THEIRS] ? &c->filter[THEIRS] : find_anonymous(ours);
    bool keys, actions, cookies;
    enum outcome outcome = INSTALLED;

    if (!theirs) {
        ds_put_cstr(why, "the filter of the other provider is not there\n");
        return WRONG;
    }
    keys = same(&theirs->keys, &ours->keys);
    actions = same(&theirs->actions, &ours->actions);
    cookies = same(&theirs->cookies, &ours->cookies);
    if (!keys) {
        outcome = explain(c, DIFFERENCE_KEYS, NULL) ? KNOWN : WRONG;
    }
    if (!actions && outcome != WRONG) {
        outcome = explain(c, DIFFERENCE_ACTIONS, NULL) ? KNOWN : WRONG;
    }
    if (!cookies && actions && outcome != WRONG) {
        outcome = explain(c, DIFFERENCE_COOKIE, NULL) ? KNOWN : WRONG;
    }
    if (outcome == WRONG) {
        ds_put_format(why, "theirs:\n%s%s%sours:\n%s%s%s",
                      ds_cstr_ro(&theirs->keys), ds_cstr_ro(&theirs->actions),
                      ds_cstr_ro(&theirs->cookies), ds_cstr_ro(&ours->keys),
                      ds_cstr_ro(&ours->actions), ds_cstr_ro(&ours->cookies));
    }
    return outcome;
}

static enum outcome
judge(const struct flow_case *c, struct ds *why)
{
    int theirs = c->error[THEIRS], ours = c->error[OURS];
    char *detail;
    bool known;

    if (!ours && !c->has_filter[OURS]) {
        ds_put_cstr(why, "our filter is not there\n");
        return WRONG;
    } else if (!ours && !theirs) {
        return compare_filters(c, why);
    } else if (ours == EEXIST && theirs == EEXIST) {
        return DUPLICATE;
    } else if (ours && theirs && ours != EEXIST && theirs != EEXIST) {
        return REFUSED;
    }

    detail = twins_why(&twins, &c->flow);
    known = (ours && ours != EEXIST && !theirs && detail
             ? explain(c, DIFFERENCE_REFUSED, detail)
             : !ours && theirs != EEXIST
             ? explain(c, DIFFERENCE_ACCEPTED, NULL) : false);
    if (!known) {
        ds_put_format(why, "error %d there, %d here (%s)\n", theirs, ours,
                      detail ? detail : "not refused by the translation");
    }
    free(detail);
    return known ? KNOWN : WRONG;
}

/* Round trips. */

static void
check_report(struct flow_case *c, const struct dpif_flow *f, const char *from,
             unsigned int *n_bad)
{
    struct ds trouble = DS_EMPTY_INITIALIZER;
    struct twin_op put;

    twin_put(&put, OURS, &c->flow, c->number);
    if (!round_trip_check(&put.op.flow_put, f, &trouble)
        && (*n_bad)++ < MAX_SHOWN) {
        printf("# %s reports another flow\n", from);
        show(ds_cstr(&trouble));
    }
    twin_op_uninit(&put);
    ds_destroy(&trouble);
}

static unsigned int
get_cases(struct flow_case *cases, size_t n)
{
    unsigned int n_bad = 0;

    for (size_t i = 0; i < n; i++) {
        struct twin_op op;

        if (cases[i].error[OURS]) {
            continue;
        }
        twin_get(&op, OURS, cases[i].number);
        twins_operate(&twins, &op, 1);
        if (!op.op.error) {
            check_report(&cases[i], &op.flow, "get", &n_bad);
        } else if (n_bad++ < MAX_SHOWN) {
            printf("# get: error %d\n", op.op.error);
            show_case(&cases[i], "flow");
        }
        twin_op_uninit(&op);
    }
    return n_bad;
}

/* Dumps all of our flows.  Returns how many of the cases are not reported
 * exactly once, and as they were put.  (The other provider is not asked: it
 * has a fixed buffer for the actions, and aborts if they do not fit.) */
static unsigned int
dump_cases(struct flow_case *cases, size_t n)
{
    const struct dpif_offload_class *class = &dpif_offload_tc_batch_class;
    struct dpif_offload_flow_dump *dump
        = class->flow_dump_create(&twins.ours->up, false);
    struct dpif_offload_flow_dump_thread *thread
        = class->flow_dump_thread_create(dump);
    struct dpif_flow flows[50];
    unsigned int n_bad = 0;
    int n_flows;

    round_cases = cases;
    n_round_cases = n;
    for (size_t i = 0; i < n; i++) {
        cases[i].n_reported = 0;
    }
    while ((n_flows = class->flow_dump_next(thread, flows, 50)) > 0) {
        for (int i = 0; i < n_flows; i++) {
            struct flow_case *c = case_of(&flows[i].ufid, OURS);

            if (c) {
                c->n_reported++;
                check_report(c, &flows[i], "dump", &n_bad);
            }
        }
    }
    class->flow_dump_thread_destroy(thread);
    n_bad += class->flow_dump_destroy(dump) != 0;
    for (size_t i = 0; i < n; i++) {
        if (cases[i].n_reported != !cases[i].error[OURS]
            && n_bad++ < MAX_SHOWN) {
            printf("# dump: reported %u times\n", cases[i].n_reported);
            show_case(&cases[i], "flow");
        }
    }
    return n_bad;
}

/* Flows whose actions are as long as they can be come back whole, however
 * often: 32 actions of TC, and 3 headers with 128 bytes of Geneve options. */

#define GENEVE "set(tunnel(tun_id=0x5,src=1.1.1.1,dst=2.2.2.2,ttl=64," \
    "tp_dst=6081,geneve({class=0x102,type=0x80,len=124,0x"      \
    "01112233445566778899aabbccddeeff00112233445566778899aabbccddeeff" \
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff" \
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff" \
    "00112233445566778899aabbccddeeff00112233445566778899aabb})," \
    "flags(key))),6"
#define X4(A) A "," A "," A "," A
#define TCP4 "recirc_id(0),in_port(1),eth(src=0e:00:00:00:00:01)," \
    "eth_type(0x0800),ipv4(proto=6,frag=no),tcp()"
#define UDP4 "recirc_id(0),in_port(1),eth(src=0e:00:00:00:00:02)," \
    "eth_type(0x0800),ipv4(proto=17,frag=no),udp()"

static void
test_long(void)
{
    static const struct test_text texts[] = {
        { TCP4, X4(X4("3")) },
        { UDP4, GENEVE "," GENEVE "," GENEVE },
    };
    struct flow_case cases[ARRAY_SIZE(texts)];
    unsigned int n_bad = 0;

    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        case_set(&cases[i], &texts[i]);
    }
    put_cases(cases, ARRAY_SIZE(texts));
    for (int round = 0; round < N_WHOLE; round++) {
        n_bad += dump_cases(cases, ARRAY_SIZE(texts));
        n_bad += get_cases(cases, ARRAY_SIZE(texts));
        ovsrcu_quiesce();
    }
    tap_ok(!cases[0].error[OURS] && !cases[0].error[THEIRS]
           && cases[0].n_reported == 1 && !n_bad,
           "32 actions of TC are reported whole, %d times", N_WHOLE);
    tap_ok(!cases[1].error[OURS] && !cases[1].error[THEIRS]
           && cases[1].n_reported == 1 && !n_bad,
           "3 headers with 128 bytes of Geneve options, too");
    del_cases(cases, ARRAY_SIZE(texts));
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        case_uninit(&cases[i]);
    }
}

/* The tests. */

struct totals {
    unsigned int outcomes[N_OUTCOMES];
    unsigned int unknown, not_deleted, bad_gets, bad_dumps;
};

static void
run_round(struct flow_case *cases, size_t n, struct totals *totals)
{
    put_cases(cases, n);
    totals->unknown += read_filters(cases, n);
    for (size_t i = 0; i < n; i++) {
        struct ds why = DS_EMPTY_INITIALIZER;
        enum outcome outcome = judge(&cases[i], &why);

        coverage_note(&cases[i].text, outcome);
        if (outcome == WRONG && totals->outcomes[WRONG] < MAX_SHOWN) {
            show_case(&cases[i], "unknown difference");
            show(ds_cstr(&why));
        }
        totals->outcomes[outcome]++;
        ds_destroy(&why);
    }
    totals->bad_gets += get_cases(cases, n);
    totals->bad_dumps += dump_cases(cases, n);
    totals->not_deleted += del_cases(cases, n);
    forget_anonymous();
}

/* Each known difference is there: whoever removes it removes it from the list,
 * too. */
static void
test_difference(const struct difference *d)
{
    unsigned int *count = &difference_counts[d - differences];
    unsigned int before = *count;
    struct ds why = DS_EMPTY_INITIALIZER;
    enum outcome outcome;
    struct flow_case c;

    case_set(&c, &d->example);
    put_cases(&c, 1);
    read_filters(&c, 1);
    outcome = judge(&c, &why);
    coverage_note(&c.text, outcome);
    tap_ok(d->kernel_refuses ? outcome == REFUSED
           : outcome == KNOWN && *count > before, "difference: %s%s", d->name,
           d->kernel_refuses ? " (the kernel refuses it there)" : "");
    if (!d->kernel_refuses && *count == before) {
        printf("# %s\n", outcome_names[outcome]);
        show(ds_cstr(&why));
    }
    *count = before;
    del_cases(&c, 1);
    case_uninit(&c);
    ds_destroy(&why);
    ovsrcu_quiesce();
}

/* Flows that lead to the chains, which stay. */
static void
put_parents(struct flow_case *parents)
{
    for (int i = 0; i < RANDOM_FLOW_CHAINS; i++) {
        struct test_text text = {
            xasprintf("recirc_id(0),in_port(2),eth(src=0c:00:00:00:00:%02x),"
                      "eth_type(0x88b5)", i),
            xasprintf("recirc(%d)", 1 + i)
        };

        case_set(&parents[i], &text);
        free(CONST_CAST(char *, text.match));
        free(CONST_CAST(char *, text.actions));
    }
    put_cases(parents, RANDOM_FLOW_CHAINS);
    for (int i = 0; i < RANDOM_FLOW_CHAINS; i++) {
        if (parents[i].error[THEIRS] || parents[i].error[OURS]) {
            ovs_fatal(0, "cannot add the flow to chain %d: %d %d", i + 1,
                      parents[i].error[THEIRS], parents[i].error[OURS]);
        }
    }
}

static void
test_random(unsigned int n_flows)
{
    struct flow_case *cases = xmalloc(ROUND * sizeof *cases);
    struct totals totals = { .unknown = 0 };
    long long int start = time_msec();
    struct tcb_shape_counts shapes;
    unsigned int n_missing;

    for (unsigned int done = 0, n; done < n_flows; done += n) {
        n = MIN(n_flows - done, ROUND);
        for (unsigned int i = 0; i < n; i++) {
            case_random(&cases[i]);
        }
        run_round(cases, n, &totals);
        for (unsigned int i = 0; i < n; i++) {
            case_uninit(&cases[i]);
        }
        ovsrcu_quiesce();
    }
    free(cases);

    printf("# %u flows in %lld s:", n_flows, (time_msec() - start) / 1000);
    for (int i = 0; i < N_OUTCOMES; i++) {
        printf(" %u %s%s", totals.outcomes[i], outcome_names[i],
               i < N_OUTCOMES - 1 ? "," : "\n");
    }
    for (size_t i = 0; i < n_differences; i++) {
        printf("# %6u times: %s\n", difference_counts[i],
               differences[i].name);
    }
    n_missing = coverage_print();
    tap_ok(!totals.outcomes[WRONG], "%u random flows: no unknown difference",
           n_flows);
    tap_ok(!totals.unknown, "each filter belongs to a flow");
    tap_ok(!totals.bad_gets, "a get gives back what was put");
    tap_ok(!totals.bad_dumps, "a full dump gives back what was put");
    tap_ok(!totals.not_deleted, "each flow can be deleted");
    tap_ok(!n_missing, "every row is covered");
    tcb_shape_counts_read(&twins.ours->shapes, &shapes);
    tap_ok(shapes.verified && !shapes.refused, "the kernel takes filters of "
           "%u shapes as they were sent, and ignores something in %u",
           shapes.verified, shapes.refused);
}

int
main(int argc OVS_UNUSED, char *argv[])
{
    struct flow_case parents[RANDOM_FLOW_CHAINS];

    set_program_name(argv[0]);
    setvbuf(stdout, NULL, _IOLBF, 0);
    /* Of what is refused the other provider warns. */
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    ovs_assert(n_differences <= ARRAY_SIZE(difference_counts));
    twins_open(&twins);
    /* The other provider has nothing like a placeholder. */
    twins.ours->keep_prios = false;
    random_set_seed(tap_env_number("ORACLE_SEED", 1));
    put_parents(parents);
    for (size_t i = 0; i < n_differences; i++) {
        test_difference(&differences[i]);
    }
    test_long();
    test_random(tap_env_number("ORACLE_FLOWS", 20000));
    for (int i = 0; i < RANDOM_FLOW_CHAINS; i++) {
        case_uninit(&parents[i]);
    }
    twins_close(&twins);
    return tap_done();
}
