/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-dump.h"

#include <errno.h>

#include "dpif.h"
#include "openvswitch/vlog.h"
#include "tcb-decode.h"
#include "tcb-meter.h"
#include "tcb-offload.h"
#include "tcb-port.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(tcb_dump);

/* Flows at most per call of next, what revalidators ask for. */
#define MAX_BATCH 50

/* Messages parsed at a time. */
#define MAX_ENTRIES 256

/* Msec, the "used" of a flow whose filter is gone: OVS deletes the flow at
 * once as idle, instead of after four rounds without it, and its next packet
 * brings it back. */
#define LONG_AGO 1

/* How many rounds a port is asked for full dumps before a terse one is tried
 * again: half a minute. */
#define FULL_ROUNDS 60

/* Slots of the table that a thread takes at a time. */
#define TABLE_CHUNK 256

/* A copy: the port itself may go while the dump runs. */
struct dump_port {
    odp_port_t port_no;
    struct tcnl_filter_id id;
    bool terse;
};

struct tcb_dump {
    struct dpif_offload_flow_dump up;
    struct tcb_offload *offload;
    bool terse;
    uint64_t first_epoch;       /* Before the first request. */
    uint64_t proto_changes;     /* Likewise. */
    uint64_t proto_round;
    long long int started;

    /* One bit per slot that was in use at the start: shown by the kernel. */
    uint32_t n_slots;
    atomic_uint32_t *seen;
    atomic_uint32_t next_slot;  /* Next chunk of the table to report. */

    atomic_count n_kernel, n_foreign, n_table;

    /* Flows that the kernel datapath has, to be offered again. */
    ovs_u128 *pending;
    size_t n_pending;

    struct ovs_mutex mutex;     /* Guards what follows. */
    size_t next_pending;
    struct tcb_worker *worker;  /* Lends its socket; may be NULL. */
    struct dump_port *ports;
    size_t n_ports, next_port;
    bool running;               /* 'cursor' is, for port next_port - 1. */
    struct tcnl_dump cursor;
    uint64_t epoch;             /* Of the datagram to be received next. */
    struct tcb_dump_summary summary;
};

/* A flow to report, with its message if there is one. */
struct entry {
    struct tcb_flow_report report;
    const struct nlmsghdr *nlh;
};

struct tcb_dump_thread {
    struct dpif_offload_flow_dump_thread up;
    struct tcb_dump *dump;

    struct tcnl_dump cursor;    /* Copy: the shared one moves on. */
    odp_port_t port_no;         /* Of the datagram. */
    uint64_t epoch;             /* Likewise. */
    size_t len, ofs;            /* Of the datagram, and walked of it. */
    uint32_t slot, slot_end;    /* Of the table, being reported. */
    unsigned int n_entries, next_entry;
    struct entry entries[MAX_ENTRIES];
    struct ofpbuf flow_buf;     /* Keys, masks, actions of the last call. */
    uint32_t buf[TCNL_DUMP_BUFSIZE / sizeof(uint32_t)];
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

/* Terse, unless a filter of this port has no terse form. */
static bool
wants_terse(struct tcb_dump *dump, struct tcb_port *port)
{
    if (dump->terse && atomic_count_get(&port->full_rounds)) {
        atomic_count_dec(&port->full_rounds);
        dump->summary.n_full_ports++;
        return false;
    }
    return dump->terse;
}

static void
list_ports(struct tcb_dump *dump)
{
    const struct dpif_offload *offload = &dump->offload->up;
    size_t allocated = 0;
    struct dpif_offload_port *up;

    DPIF_OFFLOAD_PORT_FOR_EACH (up, offload) {
        struct tcb_port *port = CONTAINER_OF(up, struct tcb_port, up);

        if (tcb_port_state(port) == TCB_PORT_READY) {
            if (dump->n_ports == allocated) {
                dump->ports = x2nrealloc(dump->ports, &allocated,
                                         sizeof *dump->ports);
            }
            dump->ports[dump->n_ports++] = (struct dump_port) {
                .port_no = up->port_no,
                .id = tcb_hook_id(up->ifindex, port->hook),
                .terse = wants_terse(dump, port),
            };
        }
    }
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
    dump->n_slots = tcb_flow_table_n_slots(&offload->flows);
    dump->seen = xcalloc(DIV_ROUND_UP(dump->n_slots, 32) + 1,
                         sizeof *dump->seen);
    atomic_init(&dump->next_slot, 0);
    atomic_count_init(&dump->n_kernel, 0);
    atomic_count_init(&dump->n_foreign, 0);
    atomic_count_init(&dump->n_table, 0);

    if (terse) {
        dump->n_pending = tcb_pending_due(offload, &dump->pending);
    }

    dump->worker = tcb_worker_get(&offload->workers);
    if (dump->worker) {
        list_ports(dump);
    }
    dump->summary.terse = terse;
    dump->summary.n_ports = dump->n_ports;
    return &dump->up;
}

struct dpif_offload_flow_dump_thread *
tcb_dump_thread_create(struct dpif_offload_flow_dump *dump)
{
    struct tcb_dump_thread *thread = xmalloc(sizeof *thread);

    dpif_offload_flow_dump_thread_init(&thread->up, dump);
    thread->dump = dump_cast(dump);
    thread->len = thread->ofs = 0;
    thread->slot = thread->slot_end = 0;
    thread->n_entries = thread->next_entry = 0;
    ofpbuf_init(&thread->flow_buf, 0);
    return &thread->up;
}

void
tcb_dump_thread_destroy(struct dpif_offload_flow_dump_thread *thread_)
{
    struct tcb_dump_thread *thread = thread_cast(thread_);

    ofpbuf_uninit(&thread->flow_buf);
    free(thread);
}

/* Receiving. */

struct request {
    struct tcnl_filter_id id;
    bool terse;
};

static int
build_request(struct tcnl_buffer *b, const void *request_)
{
    const struct request *request = request_;

    return tcnl_filter_put_dump(b, &request->id, false, request->terse);
}

/* A filter of a classifier without a terse form, such as u32, ends a terse
 * dump with EMSGSIZE (tc_cls_stats_dump() in net/sched/cls_api.c).  The port
 * is asked again, in full, and for a while only so. */
static void
ask_in_full(struct tcb_dump *dump, struct dump_port *p)
{
    struct tcb_port *port = tcb_port_find(dump->offload, p->port_no);

    if (port && !port->told_full) {
        port->told_full = true;
        VLOG_INFO("%s: full dumps instead of terse ones, as a foreign filter "
                  "has no terse form", netdev_get_name(port->up.netdev));
    }
    if (port) {
        atomic_count_set(&port->full_rounds, FULL_ROUNDS);
    }
    p->terse = false;
    dump->next_port--;
    dump->summary.n_full_ports++;
}

static void
note_end(struct tcb_dump *dump, enum tcnl_dump_status status)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(2, 2);
    struct dump_port *port = &dump->ports[dump->next_port - 1];
    struct tcb_dump_summary *s = &dump->summary;

    dump->running = false;
    s->datagrams += dump->cursor.datagrams;
    s->bytes += dump->cursor.bytes;
    if (status == TCNL_DUMP_COMPLETE) {
        return;
    }
    if (port->terse && status == TCNL_DUMP_FAILED
        && dump->cursor.error.error == EMSGSIZE) {
        ask_in_full(dump, port);
        return;
    }
    s->n_incomplete++;
    snprintf(s->error, sizeof s->error, "ifindex %d: %s%s%s",
             port->id.ifindex,
             status == TCNL_DUMP_FAILED
             ? ovs_strerror(dump->cursor.error.error) : "interrupted",
             dump->cursor.error.text[0] ? ": " : "", dump->cursor.error.text);
    if (status == TCNL_DUMP_FAILED && dump->cursor.error.error != ENODEV) {
        VLOG_WARN_RL(&rl, "dump of filters failed: %s; counters stand still",
                     s->error);
    }
}

/* Makes sure that a cursor is running; false if all ports are done. */
static bool
start_next(struct tcb_dump *dump)
{
    while (!dump->running && dump->next_port < dump->n_ports) {
        struct request request = {
            .id = dump->ports[dump->next_port].id,
            .terse = dump->ports[dump->next_port].terse,
        };

        dump->next_port++;

        dump->epoch = tcb_epoch_read(&dump->offload->flows);
        dump->running = true;
        if (tcnl_dump_start(&dump->cursor, dump->worker->transport,
                            build_request, &request)) {
            note_end(dump, TCNL_DUMP_FAILED);
        }
    }
    return dump->running;
}

/* Receives one datagram into the thread's buffer.  The kernel produces the
 * next datagram inside the recvmsg() that returns the present one, so the
 * epoch of a datagram is that of one call earlier. */
static void
receive(struct tcb_dump_thread *thread)
{
    struct tcb_dump *dump = thread->dump;
    enum tcnl_dump_status status;
    uint64_t next_epoch = tcb_epoch_read(&dump->offload->flows);

    status = tcnl_dump_recv(&dump->cursor, thread->buf, sizeof thread->buf,
                            &thread->len);
    thread->ofs = 0;
    thread->cursor = dump->cursor;
    thread->port_no = dump->ports[dump->next_port - 1].port_no;
    thread->epoch = dump->epoch;
    dump->epoch = next_epoch;
    if (status != TCNL_DUMP_RUNNING) {
        note_end(dump, tcnl_dump_finish(&dump->cursor));
    }
}

static bool
fetch(struct tcb_dump_thread *thread)
{
    struct tcb_dump *dump = thread->dump;

    thread->len = thread->ofs = 0;
    ovs_mutex_lock(&dump->mutex);
    while (!thread->len && start_next(dump)) {
        receive(thread);
    }
    if (!thread->len && !dump->summary.msec) {
        dump->summary.msec = MAX(time_msec() - dump->started, 1);
    }
    ovs_mutex_unlock(&dump->mutex);
    return thread->len > 0;
}

/* Parsing. */

static void
mark_seen(struct tcb_dump *dump, uint32_t slot)
{
    if (slot < dump->n_slots) {
        uint32_t old;

        atomic_or_relaxed(&dump->seen[slot / 32], UINT32_C(1) << slot % 32,
                          &old);
    }
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

static void
parse(struct tcb_dump_thread *thread, const struct nlmsghdr *nlh)
{
    struct tcb_dump *dump = thread->dump;
    struct tcb_flow_table *flows = &dump->offload->flows;
    struct entry *entry = &thread->entries[thread->n_entries];
    long long int now = time_msec();
    struct tcnl_filter_counters counters;
    struct tcnl_filter_info info;
    struct tcb_flow *flow;

    if (tcnl_filter_parse(nlh, &info) || info.is_header) {
        return;
    }
    if (!info.acts || tcnl_actions_parse_counters(info.acts, &counters)) {
        atomic_count_inc(&dump->n_foreign);
        return;
    }
    if (tcb_is_placeholder(&info.id, &counters)) {
        tcb_protos_seen(&dump->offload->protos, &info.id, dump->proto_round);
        return;
    }
    flow = tcb_flow_by_handle(flows, info.id.handle);
    if (!flow
        || !tcb_flow_update(flows, flow, &counters, info.cls_flags,
                            thread->epoch, now, &entry->report)) {
        atomic_count_inc(&dump->n_foreign);
        return;
    }
    if (counters.has_times) {
        entry->report.used = counters.never_used ? 0
                                                 : now - counters.lastuse_ms;
    }
    if (entry->report.gone) {
        entry->report.used = LONG_AGO;
    }
    entry->nlh = nlh;
    thread->n_entries++;
    atomic_count_inc(&dump->n_kernel);
    mark_seen(dump, flow->slot);
}

static bool
fill_from_kernel(struct tcb_dump_thread *thread)
{
    const struct nlmsghdr *nlh;

    while (thread->n_entries < MAX_ENTRIES) {
        nlh = tcnl_dump_walk(&thread->cursor, thread->buf, thread->len,
                             &thread->ofs);
        if (nlh) {
            parse(thread, nlh);
        } else if (thread->n_entries || !fetch(thread)) {
            break;
        }
    }
    return thread->n_entries > 0;
}

/* The table. */

static bool
take_chunk(struct tcb_dump_thread *thread)
{
    struct tcb_dump *dump = thread->dump;
    uint32_t n_slots = tcb_flow_table_n_slots(&dump->offload->flows);

    atomic_add_relaxed(&dump->next_slot, TABLE_CHUNK, &thread->slot);
    thread->slot_end = MIN(thread->slot + TABLE_CHUNK, n_slots);
    return thread->slot < thread->slot_end;
}

/* Reports the live flows that the kernel's dump did not show. */
static bool
fill_from_table(struct tcb_dump_thread *thread)
{
    struct tcb_flow_table *flows = &thread->dump->offload->flows;

    while (thread->n_entries < MAX_ENTRIES) {
        struct entry *entry = &thread->entries[thread->n_entries];
        struct tcb_flow *flow;

        if (thread->slot >= thread->slot_end && !take_chunk(thread)) {
            break;
        }
        flow = tcb_flow_at(flows, thread->slot);
        if (!was_seen(thread->dump, thread->slot++)
            && tcb_flow_report(flow, &entry->report)
            && (thread->dump->terse || !entry->report.gone)) {
            if (entry->report.gone) {
                entry->report.used = LONG_AGO;
            }
            entry->nlh = NULL;
            thread->n_entries++;
            atomic_count_inc(&thread->dump->n_table);
        }
    }
    return thread->n_entries > 0;
}

static struct entry *
next_entry(struct tcb_dump_thread *thread)
{
    if (thread->next_entry == thread->n_entries) {
        thread->next_entry = thread->n_entries = 0;
        if (!fill_from_kernel(thread) && !fill_from_table(thread)) {
            return NULL;
        }
    }
    return &thread->entries[thread->next_entry++];
}

/* Full dumps. */

struct get_reply {
    struct tcb_dump_thread *thread;
    odp_port_t in_port;
    struct tcb_decoded *decoded;
    bool ok;
};

static bool
decode(struct tcb_dump_thread *thread, odp_port_t in_port,
       const struct nlmsghdr *nlh, struct tcb_decoded *decoded)
{
    struct tcnl_filter_info info;

    return !tcnl_filter_parse(nlh, &info)
           && !tcb_decode_filter(thread->dump->offload, in_port, &info,
                                 &thread->flow_buf, decoded);
}

static void
take_get_reply(void *reply_, unsigned int slot OVS_UNUSED,
               const struct nlmsghdr *nlh)
{
    struct get_reply *reply = reply_;

    reply->ok = decode(reply->thread, reply->in_port, nlh, reply->decoded);
}

static int
build_get(struct tcnl_buffer *b, const void *id)
{
    return tcnl_filter_put_get(b, id);
}

/* A flow that the dump did not show is asked for by itself. */
static bool
decode_by_get(struct tcb_dump_thread *thread, struct tcb_flow *flow,
              struct tcb_decoded *decoded)
{
    struct tcnl_filter_id id = tcb_flow_filter_id(flow);
    struct tcb_dump *dump = thread->dump;
    struct get_reply reply = {
        .thread = thread,
        .in_port = flow->in_port,
        .decoded = decoded,
    };

    if (!dump->worker) {
        return false;
    }
    ovs_mutex_lock(&dump->mutex);
    if (!dump->running) {
        tcnl_transact(dump->worker->transport, build_get, &id, take_get_reply,
                      &reply, NULL);
    }
    ovs_mutex_unlock(&dump->mutex);
    return reply.ok;
}

static bool
decode_entry(struct tcb_dump_thread *thread, const struct entry *entry,
             struct tcb_decoded *decoded)
{
    if (thread->dump->terse) {
        return true;
    } else if (entry->nlh) {
        return decode(thread, thread->port_no, entry->nlh, decoded);
    } else {
        return decode_by_get(thread, entry->report.flow, decoded);
    }
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
            .stats.used = LONG_AGO,
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
    struct entry *entry;
    int n = 0;

    ofpbuf_clear(&thread->flow_buf);
    max_flows = MIN(max_flows, MAX_BATCH);
    while (n < max_flows && (entry = next_entry(thread))) {
        /* OVS must not be shown a flow that it has deleted meanwhile. */
        if (tcb_flow_is(entry->report.flow, &entry->report.ufid)
            && decode_entry(thread, entry, &decoded[n])) {
            tcb_decode_report(&entry->report, &flows[n++]);
        }
    }
    if (!thread->dump->terse) {
        for (int i = 0; i < n; i++) {
            tcb_decode_point(&thread->flow_buf, &decoded[i], &flows[i]);
        }
    }
    return n ? n : report_pending(thread->dump, flows, max_flows);
}

/* End. */

/* Only a complete dump during which no prio came or went proves anything. */
static bool
is_proof(const struct tcb_dump *dump)
{
    return dump->worker && dump->next_port == dump->n_ports
           && dump->summary.undisturbed && !dump->summary.n_incomplete;
}

/* Draws the conclusions from what the kernel did not show. */
static void
conclude(struct tcb_dump *dump)
{
    struct tcb_flow_table *flows = &dump->offload->flows;
    bool proof = is_proof(dump);

    if (proof) {
        tcb_protos_end_round(&dump->offload->protos, dump->proto_round);
    }
    for (uint32_t slot = 0; slot < dump->n_slots; slot++) {
        struct tcb_flow *flow = tcb_flow_at(flows, slot);

        if (was_seen(dump, slot)) {
            continue;
        }
        if (proof && tcb_flow_note_missed(flows, flow, dump->first_epoch)) {
            dump->summary.n_gone++;
        }
        if (dump->terse) {
            tcb_flow_age_dead(flows, flow);
        }
    }
}

static void
log_summary(struct tcb_dump *dump)
{
    struct tcb_dump_log *log = &dump->offload->dumps;
    struct tcb_dump_summary *s = &dump->summary;

    s->n_kernel = atomic_count_get(&dump->n_kernel);
    s->n_foreign = atomic_count_get(&dump->n_foreign);
    s->n_table = atomic_count_get(&dump->n_table);
    ovs_mutex_lock(&log->mutex);
    if (s->terse) {
        log->n_terse++;
        log->last = *s;
    } else {
        log->n_full++;
    }
    ovs_mutex_unlock(&log->mutex);
}

int
tcb_dump_destroy(struct dpif_offload_flow_dump *dump_)
{
    static const struct tcb_operate_stats nothing_done;
    struct tcb_dump *dump = dump_cast(dump_);
    struct tcb_offload *offload = dump->offload;

    if (dump->running) {
        note_end(dump, tcnl_dump_finish(&dump->cursor));
    }
    dump->summary.undisturbed
        = tcb_protos_changes(&offload->protos) == dump->proto_changes;
    conclude(dump);
    log_summary(dump);
    if (dump->terse) {
        tcb_meters_retry(offload);
    }

    if (dump->worker) {
        tcb_holds_collect(offload, dump->worker, NULL, TCB_HOLD_MSEC);
        tcb_worker_put(&offload->workers, dump->worker, &nothing_done);
    }
    ovs_mutex_destroy(&dump->mutex);
    free(dump->pending);
    free(dump->ports);
    free(dump->seen);
    free(dump);
    return 0;
}

void
tcb_dump_log_init(struct tcb_dump_log *log)
{
    memset(log, 0, sizeof *log);
    ovs_mutex_init(&log->mutex);
}

void
tcb_dump_log_destroy(struct tcb_dump_log *log)
{
    ovs_mutex_destroy(&log->mutex);
}

void
tcb_dump_log_read(const struct tcb_dump_log *log_, uint64_t *n_terse,
                  uint64_t *n_full, struct tcb_dump_summary *last)
{
    struct tcb_dump_log *log = CONST_CAST(struct tcb_dump_log *, log_);

    ovs_mutex_lock(&log->mutex);
    *n_terse = log->n_terse;
    *n_full = log->n_full;
    *last = log->last;
    ovs_mutex_unlock(&log->mutex);
}
