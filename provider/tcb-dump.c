/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-dump.h"

#include "dpif.h"
#include "tcb-cursor.h"
#include "tcb-decode.h"
#include "tcb-meter.h"
#include "tcb-offload.h"
#include "tcb-port.h"
#include "timeval.h"
#include "util.h"

/* Flows at most per call of next, what revalidators ask for. */
#define MAX_BATCH 50

/* Slots of the table that a thread takes at a time, and looks at. */
#define TABLE_CHUNK 256
#define TABLE_WORD 32

BUILD_ASSERT_DECL(TABLE_CHUNK % TABLE_WORD == 0);
BUILD_ASSERT_DECL(TCB_SEGMENT_FLOWS % TABLE_CHUNK == 0);

struct tcb_dump {
    struct dpif_offload_flow_dump up;
    struct tcb_offload *offload;
    bool terse;                 /* A round, not for dump-flows. */
    uint64_t first_epoch;       /* Before the first request. */
    uint64_t proto_changes;     /* Likewise. */
    uint64_t proto_round;
    long long int started;

    /* One bit per slot that was in use at the start, in whole words.  A flow
     * that came into a later slot meanwhile is not this dump's. */
    uint32_t n_slots;
    atomic_uint32_t *seen;      /* The kernel has shown it. */
    atomic_uint32_t *reported;  /* It was, or is about to be. */
    atomic_uint32_t next_slot;  /* Next chunk of the table to report. */

    /* Flows that the kernel datapath has, to be offered again. */
    ovs_u128 *pending;
    size_t n_pending;

    /* Of the ports. */
    struct tcb_cursor *cursors;
    size_t n_cursors;

    struct ovs_mutex mutex;     /* Guards what follows. */
    size_t next_cursor;         /* That no thread has begun with. */
    size_t next_pending;
    bool unread;                /* A thread has not parsed all that it got. */
    struct tcb_dump_summary summary;
};

struct tcb_dump_thread {
    struct dpif_offload_flow_dump_thread up;
    struct tcb_dump *dump;

    size_t cursor, n_helped;    /* That it takes from, and of those that
                                 * others began with, how many it knows to
                                 * have ended. */
    unsigned int n_kernel, n_foreign, n_table;  /* For the summary. */
    uint32_t slot, slot_end;    /* Of the table, to be looked at. */
    struct tcb_flow *word;      /* TABLE_WORD flows of the table... */
    uint32_t todo;              /* ...and those that are to be reported. */
    struct ofpbuf flow_buf;     /* Keys, masks, actions of the last call. */
    struct tcb_datagram datagram;
};

static struct tcb_dump *
dump_cast(struct dpif_offload_flow_dump *dump)
{
    return CONTAINER_OF(dump, struct tcb_dump, up);
}

static struct tcb_dump_thread *
thread_cast(struct dpif_offload_flow_dump_thread *thread)
{
    return CONTAINER_OF(thread, struct tcb_dump_thread, up);
}

/* Start. */

/* Does the kernel have to be asked about this port?  Without flows there is
 * nothing that a round could count. */
static bool
is_of_interest(const struct tcb_dump *dump, const struct tcb_port *port)
{
    return (tcb_port_state(port) == TCB_PORT_READY
            && (dump->summary.mode != TCB_DUMP_DELTA
                || atomic_count_get(&CONST_CAST(struct tcb_port *,
                                                port)->n_flows)));
}

static void
list_ports(struct tcb_dump *dump)
{
    const struct dpif_offload *offload = &dump->offload->up;
    struct dpif_offload_port *up;
    size_t allocated = 0;

    DPIF_OFFLOAD_PORT_FOR_EACH (up, offload) {
        struct tcb_port *port = CONTAINER_OF(up, struct tcb_port, up);

        if (is_of_interest(dump, port)) {
            if (dump->n_cursors == allocated) {
                dump->cursors = x2nrealloc(dump->cursors, &allocated,
                                           sizeof *dump->cursors);
            }
            tcb_cursor_init(&dump->cursors[dump->n_cursors++], dump->offload,
                            port, dump->summary.mode);
        }
    }
}

static atomic_uint32_t *
bits_create(uint32_t n)
{
    return xcalloc(n / 32, sizeof(atomic_uint32_t));
}

struct dpif_offload_flow_dump *
tcb_dump_create(const struct dpif_offload *offload_, bool terse)
{
    struct tcb_offload *offload = tcb_offload_cast(offload_);
    struct tcb_dump *dump = xzalloc(sizeof *dump);

    dpif_offload_flow_dump_init(&dump->up, offload_, terse);
    ovs_mutex_init(&dump->mutex);
    dump->offload = offload;
    dump->terse = terse;
    dump->started = time_msec();
    dump->first_epoch = tcb_epoch_read(&offload->flows);
    dump->proto_changes = tcb_protos_changes(&offload->protos);
    dump->proto_round = tcb_protos_begin_round(&offload->protos);
    dump->n_slots = ROUND_UP(tcb_flow_table_n_slots(&offload->flows),
                             TABLE_WORD);
    dump->seen = bits_create(dump->n_slots);
    dump->reported = bits_create(dump->n_slots);
    atomic_init(&dump->next_slot, 0);

    if (terse) {
        dump->n_pending = tcb_pending_due(offload, &dump->pending);
    }
    dump->summary.terse = terse;
    dump->summary.mode = (terse ? tcb_rounds_begin(offload, dump->started)
                                : TCB_DUMP_FULL);
    list_ports(dump);
    dump->summary.n_ports = dump->n_cursors;
    return &dump->up;
}

struct dpif_offload_flow_dump_thread *
tcb_dump_thread_create(struct dpif_offload_flow_dump *dump)
{
    struct tcb_dump_thread *thread = xmalloc(sizeof *thread);

    dpif_offload_flow_dump_thread_init(&thread->up, dump);
    thread->dump = dump_cast(dump);
    thread->cursor = SIZE_MAX;
    thread->n_helped = 0;
    thread->n_kernel = thread->n_foreign = thread->n_table = 0;
    thread->slot = thread->slot_end = thread->todo = 0;
    thread->datagram.len = thread->datagram.ofs = 0;
    ofpbuf_init(&thread->flow_buf, 0);
    return &thread->up;
}

void
tcb_dump_thread_destroy(struct dpif_offload_flow_dump_thread *thread_)
{
    struct tcb_dump_thread *thread = thread_cast(thread_);
    struct tcb_dump *dump = thread->dump;

    ovs_mutex_lock(&dump->mutex);
    dump->summary.n_kernel += thread->n_kernel;
    dump->summary.n_foreign += thread->n_foreign;
    dump->summary.n_table += thread->n_table;
    dump->unread = dump->unread
                   || thread->datagram.ofs < thread->datagram.len;
    ovs_mutex_unlock(&dump->mutex);
    ofpbuf_uninit(&thread->flow_buf);
    free(thread);
}

/* Receiving. */

/* Finds a cursor to take from: one that nobody has begun with, so that dumps
 * of several ports overlap, and then one that somebody else has. */
static bool
find_cursor(struct tcb_dump_thread *thread)
{
    struct tcb_dump *dump = thread->dump;

    ovs_mutex_lock(&dump->mutex);
    thread->cursor = (dump->next_cursor < dump->n_cursors
                      ? dump->next_cursor++ : thread->n_helped++);
    if (thread->cursor >= dump->n_cursors && !dump->summary.msec) {
        dump->summary.msec = MAX(time_msec() - dump->started, 1);
    }
    ovs_mutex_unlock(&dump->mutex);
    return thread->cursor < dump->n_cursors;
}

static bool
fetch(struct tcb_dump_thread *thread)
{
    struct tcb_dump *dump = thread->dump;

    while (thread->cursor < dump->n_cursors || find_cursor(thread)) {
        if (tcb_cursor_fetch(&dump->cursors[thread->cursor],
                             &thread->datagram)) {
            return true;
        }
        thread->cursor = SIZE_MAX;
    }
    return false;
}

/* Parsing. */

/* Returns false if it was set before, or there is none. */
static bool
set_bit(const struct tcb_dump *dump, atomic_uint32_t *bits, uint32_t slot)
{
    uint32_t bit = UINT32_C(1) << slot % 32, old;

    if (slot >= dump->n_slots) {
        return false;
    }
    atomic_or_relaxed(&bits[slot / 32], bit, &old);
    return !(old & bit);
}

static bool
was_seen(const struct tcb_dump *dump, uint32_t slot)
{
    uint32_t word;

    if (slot >= dump->n_slots) {
        return false;
    }
    atomic_read_relaxed(&dump->seen[slot / 32], &word);
    return word & (UINT32_C(1) << slot % 32);
}

/* Takes one filter's counters into the table; true if the flow is to be
 * reported. */
static bool
parse(struct tcb_dump_thread *thread, const struct nlmsghdr *nlh,
      long long int now, struct tcb_flow_report *report)
{
    struct tcb_dump *dump = thread->dump;
    struct tcb_flow_table *flows = &dump->offload->flows;
    struct tcnl_filter_counters counters;
    struct tcnl_filter_info info;
    struct tcb_flow *flow;

    if (tcnl_filter_parse(nlh, &info) || info.is_header) {
        return false;
    }
    if (!info.acts || tcnl_actions_parse_counters(info.acts, &counters)) {
        thread->n_foreign++;
        return false;
    }
    if (tcb_is_placeholder(&info.id, &counters)) {
        tcb_protos_seen(&dump->offload->protos, &info.id, dump->proto_round);
        return false;
    }
    flow = tcb_flow_by_handle(flows, info.id.handle);
    if (!flow
        || !tcb_flow_update(flows, flow, &counters, info.cls_flags,
                            thread->datagram.epoch, now, report)) {
        thread->n_foreign++;
        return false;
    }
    /* A dump that began again shows some filters twice, and another thread may
     * be at the table already. */
    set_bit(dump, dump->seen, flow->slot);
    if (!set_bit(dump, dump->reported, flow->slot)) {
        return false;
    }
    if (counters.has_times) {
        report->used = counters.never_used ? 0 : now - counters.lastuse_ms;
    }
    thread->n_kernel++;
    return true;
}

/* Reports. */

/* Fills in '*f'.  In a full dump '*decoded' is filled in, too, from 'nlh' or,
 * if that is NULL, by asking the kernel; false if that fails. */
static bool
report(struct tcb_dump_thread *thread, struct tcb_flow_report *r,
       const struct nlmsghdr *nlh, struct dpif_flow *f,
       struct tcb_decoded *decoded)
{
    if (!thread->dump->terse
        && !tcb_decode_message(thread->dump->offload, r->flow,
                               thread->datagram.port_no, nlh,
                               &thread->flow_buf, decoded)) {
        return false;
    }
    if (r->gone) {
        r->used = TCB_LONG_AGO;
    }
    tcb_decode_report(r, f);
    return true;
}

static int
report_from_kernel(struct tcb_dump_thread *thread, struct dpif_flow *flows,
                   int max_flows, struct tcb_decoded *decoded)
{
    struct tcb_datagram *d = &thread->datagram;
    long long int now = time_msec();
    int n = 0;

    do {
        const struct nlmsghdr *nlh;
        struct tcb_flow_report r;

        while (n < max_flows
               && (nlh = tcnl_dump_walk(d->seq, d->buf, d->len, &d->ofs))) {
            n += (parse(thread, nlh, now, &r)
                  && report(thread, &r, nlh, &flows[n], &decoded[n]));
        }
    } while (!n && fetch(thread));
    return n;
}

/* The table. */

static bool
take_chunk(struct tcb_dump_thread *thread)
{
    struct tcb_dump *dump = thread->dump;

    atomic_add_relaxed(&dump->next_slot, TABLE_CHUNK, &thread->slot);
    thread->slot_end = MIN(thread->slot + TABLE_CHUNK, dump->n_slots);
    return thread->slot < thread->slot_end;
}

/* Takes a word's flows that were not reported yet. */
static bool
take_word(struct tcb_dump_thread *thread)
{
    struct tcb_dump *dump = thread->dump;
    uint32_t old;

    if (thread->slot >= thread->slot_end && !take_chunk(thread)) {
        return false;
    }
    atomic_or_relaxed(&dump->reported[thread->slot / 32], UINT32_MAX, &old);
    thread->todo = ~old;
    thread->word = tcb_flow_at(&dump->offload->flows, thread->slot);
    thread->slot += TABLE_WORD;
    return true;
}

/* Reports the live flows that the kernel's dump did not show. */
static int
report_from_table(struct tcb_dump_thread *thread, struct dpif_flow *flows,
                  int max_flows, struct tcb_decoded *decoded)
{
    int n = 0;

    while (n < max_flows && (thread->todo || take_word(thread))) {
        struct tcb_flow_report r;

        if (thread->todo) {
            struct tcb_flow *flow = &thread->word[raw_ctz(thread->todo)];

            thread->todo = zero_rightmost_1bit(thread->todo);
            n += (tcb_flow_report(flow, &r)
                  && (thread->dump->terse || !r.gone)
                  && report(thread, &r, NULL, &flows[n], &decoded[n]));
        }
    }
    thread->n_table += n;
    return n;
}

/* Of such a flow OVS is told that it was unused for long.  The kernel
 * datapath's own report of it comes later in the round and does not count. */
static int
report_pending(struct tcb_dump *dump, struct dpif_flow *flows, int max_flows)
{
    int n = 0;

    ovs_mutex_lock(&dump->mutex);
    while (n < max_flows && dump->next_pending < dump->n_pending) {
        flows[n++] = (struct dpif_flow) {
            .ufid = dump->pending[dump->next_pending++],
            .ufid_present = true,
            .pmd_id = PMD_ID_NULL,
            .stats.used = TCB_LONG_AGO,
            .attrs.dp_layer = "ovs",
        };
    }
    ovs_mutex_unlock(&dump->mutex);
    return n;
}

int
tcb_dump_next(struct dpif_offload_flow_dump_thread *thread_,
              struct dpif_flow *flows, int max_flows)
{
    struct tcb_dump_thread *thread = thread_cast(thread_);
    struct tcb_decoded decoded[MAX_BATCH];
    int n;

    ofpbuf_clear(&thread->flow_buf);
    max_flows = MIN(max_flows, MAX_BATCH);
    n = report_from_kernel(thread, flows, max_flows, decoded);
    if (!n) {
        n = report_from_table(thread, flows, max_flows, decoded);
    }
    if (!thread->dump->terse) {
        for (int i = 0; i < n; i++) {
            tcb_decode_point(&thread->flow_buf, &decoded[i], &flows[i]);
        }
    }
    return n ? n : report_pending(thread->dump, flows, max_flows);
}

/* End. */

/* Adds up what the ports' dumps were like. */
static void
sum_up(struct tcb_dump *dump)
{
    struct tcb_dump_summary *s = &dump->summary;

    for (size_t i = 0; i < dump->n_cursors; i++) {
        const struct tcb_cursor *c = &dump->cursors[i];

        s->datagrams += c->datagrams;
        s->bytes += c->bytes;
        s->n_again += c->n_again;
        s->n_full_ports += c->n_full;
        s->n_incomplete += !c->complete;
        if (c->error[0]) {
            ovs_strlcpy(s->error, c->error, sizeof s->error);
        }
    }
    s->undisturbed
        = tcb_protos_changes(&dump->offload->protos) == dump->proto_changes;
}

/* What the kernel has told of these ports is in the table: the next round may
 * ask for what was used since. */
static void
note_asked(struct tcb_dump *dump)
{
    for (size_t i = 0; i < dump->n_cursors; i++) {
        const struct tcb_cursor *c = &dump->cursors[i];
        struct tcb_port *port = tcb_port_find(dump->offload, c->port_no);
        long long int asked;

        if (port && port->up.ifindex == c->hook.ifindex && c->complete) {
            atomic_read_relaxed(&port->asked, &asked);
            atomic_store_relaxed(&port->asked, MAX(asked, c->asked));
        }
    }
}

/* Is a filter gone that was not shown?  Only if all were asked for, all came,
 * and the kernel did not lose its place because a prio came or went. */
static bool
is_proof(const struct tcb_dump *dump)
{
    const struct tcb_dump_summary *s = &dump->summary;

    return !dump->unread && s->mode != TCB_DUMP_DELTA && !s->n_incomplete
           && (s->undisturbed || dump->offload->abilities.dump_start);
}

/* Draws the conclusions from what the kernel did not show. */
static void
conclude(struct tcb_dump *dump, bool proof)
{
    struct tcb_flow_table *flows = &dump->offload->flows;
    struct tcb_dump_summary *s = &dump->summary;

    if (proof) {
        tcb_protos_end_round(&dump->offload->protos, dump->proto_round);
    }
    for (uint32_t slot = 0; slot < dump->n_slots; slot++) {
        struct tcb_flow *flow = tcb_flow_at(flows, slot);

        if (was_seen(dump, slot)) {
            continue;
        }
        if (proof) {
            unsigned int missed = tcb_flow_note_missed(flows, flow,
                                                       dump->first_epoch);

            s->n_missed += missed > 0;
            s->n_gone += missed >= TCB_GONE_AFTER;
        }
        if (dump->terse) {
            tcb_flow_age_dead(flows, flow);
        }
    }
}

/* Lets go what earlier modifies have held. */
static void
collect_holds(struct tcb_offload *offload)
{
    struct tcb_worker *worker = tcb_worker_get(&offload->workers);

    if (worker) {
        tcb_holds_collect(offload, worker, NULL, TCB_HOLD_MSEC);
        tcb_worker_put(&offload->workers, worker, NULL);
    }
}

int
tcb_dump_destroy(struct dpif_offload_flow_dump *dump_)
{
    struct tcb_dump *dump = dump_cast(dump_);
    struct tcb_offload *offload = dump->offload;
    bool proof;

    for (size_t i = 0; i < dump->n_cursors; i++) {
        tcb_cursor_end(&dump->cursors[i]);
    }
    sum_up(dump);
    if (!dump->unread) {
        note_asked(dump);
    }
    proof = is_proof(dump);
    conclude(dump, proof);
    tcb_rounds_end(&offload->rounds, &dump->summary, proof);
    if (dump->terse) {
        tcb_meters_end_round(offload);
    }
    collect_holds(offload);

    for (size_t i = 0; i < dump->n_cursors; i++) {
        tcb_cursor_destroy(&dump->cursors[i]);
    }
    ovs_mutex_destroy(&dump->mutex);
    free(dump->pending);
    free(dump->cursors);
    free(dump->reported);
    free(dump->seen);
    free(dump);
    return 0;
}
