/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-cursor.h"

#include <errno.h>

#include "openvswitch/vlog.h"
#include "tcb-offload.h"
#include "tcb-port.h"
#include "timeval.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(tcb_cursor);

/* How many rounds a port is asked for full dumps before a terse one is tried
 * again: half a minute. */
#define FULL_ROUNDS 60

/* Times that an interrupted dump begins again. */
#define MAX_AGAIN 3

/* Msec that are asked for in addition: the kernel's clock ticks every 10 ms at
 * the slowest, and a packet is on its way to a filter's counters for a
 * moment. */
#define DELTA_MARGIN 100

/* Msec: what was used in an hour may as well be everything. */
#define MAX_DELTA 3600000

/* The mode for this port. */
static enum tcb_dump_mode
port_mode(struct tcb_port *port, enum tcb_dump_mode mode, long long int since,
          long long int now)
{
    if (mode != TCB_DUMP_FULL && atomic_count_get(&port->full_rounds)) {
        atomic_count_dec(&port->full_rounds);
        return TCB_DUMP_FULL;
    }
    if (mode == TCB_DUMP_DELTA && (!since || now - since > MAX_DELTA)) {
        return TCB_DUMP_TERSE;
    }
    return mode;
}

void
tcb_cursor_init(struct tcb_cursor *c, struct tcb_offload *offload,
                struct tcb_port *port, enum tcb_dump_mode mode)
{
    long long int now = time_msec();

    memset(c, 0, sizeof *c);
    ovs_mutex_init(&c->mutex);
    c->offload = offload;
    c->port_no = port->up.port_no;
    c->hook = tcb_hook_id(port->up.ifindex, port->hook);
    atomic_read_relaxed(&port->asked, &c->since);
    c->mode = port_mode(port, mode, c->since, now);
    c->n_full = mode != TCB_DUMP_FULL && c->mode == TCB_DUMP_FULL;
}

void
tcb_cursor_destroy(struct tcb_cursor *c)
{
    tcb_cursor_end(c);
    ovs_mutex_destroy(&c->mutex);
}

/* Requests. */

static int
build_request(struct tcnl_buffer *b, const void *cursor_)
{
    const struct tcb_cursor *c = cursor_;
    struct tcnl_filter_id id = c->has_last ? c->last : c->hook;
    struct tcnl_dump_form form = {
        .terse = c->mode != TCB_DUMP_FULL,
        .start = c->has_last,
    };

    if (c->mode == TCB_DUMP_DELTA) {
        form.used_within = time_msec() - c->since + DELTA_MARGIN;
    }
    return tcnl_filter_put_dump(b, &id, &form);
}

static void note_end(struct tcb_cursor *, enum tcnl_dump_status);

static void
begin(struct tcb_cursor *c)
{
    if (!c->asked) {
        c->asked = time_msec();
    }
    if (!c->worker) {
        c->worker = tcb_worker_get(&c->offload->workers);
    }
    if (!c->worker) {
        c->state = TCB_CURSOR_ENDED;
        snprintf(c->error, sizeof c->error, "no socket");
        return;
    }
    c->state = TCB_CURSOR_RUNNING;
    c->epoch = tcb_epoch_read(&c->offload->flows);
    if (tcnl_dump_start(&c->dump, c->worker->transport, build_request, c)) {
        note_end(c, TCNL_DUMP_FAILED);
    }
}

/* Ends. */

static void
finish(struct tcb_cursor *c)
{
    c->state = TCB_CURSOR_ENDED;
    tcb_worker_put(&c->offload->workers, c->worker, NULL);
    c->worker = NULL;
}

/* A filter of a classifier without a terse form, such as u32, ends a terse
 * dump with EMSGSIZE (tc_cls_stats_dump() in net/sched/cls_api.c).  The port
 * is asked again, in full, and for a while only so. */
static void
ask_in_full(struct tcb_cursor *c)
{
    struct tcb_port *port = tcb_port_find(c->offload, c->port_no);

    if (port && !port->told_full) {
        port->told_full = true;
        VLOG_INFO("%s: full dumps instead of terse ones, as a foreign filter "
                  "has no terse form", netdev_get_name(port->up.netdev));
    }
    if (port) {
        atomic_count_set(&port->full_rounds, FULL_ROUNDS);
    }
    c->mode = TCB_DUMP_FULL;
    c->n_full++;
}

/* Can the same be had in another way? */
static bool
find_other_way(struct tcb_cursor *c, enum tcnl_dump_status status)
{
    int error = c->dump.error.error;

    if (status == TCNL_DUMP_INTERRUPTED) {
        return ++c->n_again <= MAX_AGAIN;
    } else if (c->mode == TCB_DUMP_DELTA
               && (error == EINVAL || error == EOPNOTSUPP)) {
        tcb_rounds_refuse_delta(c->offload, c->dump.error.text[0]
                                            ? c->dump.error.text
                                            : ovs_strerror(error));
        c->mode = TCB_DUMP_TERSE;
        c->has_last = false;
        return true;
    } else if (c->mode != TCB_DUMP_FULL && error == EMSGSIZE) {
        ask_in_full(c);
        c->has_last = false;
        return true;
    }
    return false;
}

/* The kernel's dump has ended; ours goes on if there is a way. */
static void
note_end(struct tcb_cursor *c, enum tcnl_dump_status status)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(2, 2);

    c->datagrams += c->dump.datagrams;
    c->bytes += c->dump.bytes;
    if (status == TCNL_DUMP_COMPLETE) {
        c->complete = true;
        finish(c);
        return;
    }
    if (find_other_way(c, status)) {
        begin(c);
        return;
    }
    snprintf(c->error, sizeof c->error, "ifindex %d: %s%s%s", c->hook.ifindex,
             status == TCNL_DUMP_FAILED ? ovs_strerror(c->dump.error.error)
                                        : "interrupted",
             c->dump.error.text[0] ? ": " : "", c->dump.error.text);
    if (status == TCNL_DUMP_FAILED && c->dump.error.error != ENODEV) {
        VLOG_WARN_RL(&rl, "dump of filters failed: %s; counters stand still",
                     c->error);
    }
    finish(c);
}

void
tcb_cursor_end(struct tcb_cursor *c)
{
    ovs_mutex_lock(&c->mutex);
    if (c->state == TCB_CURSOR_RUNNING) {
        tcnl_dump_finish(&c->dump);
        snprintf(c->error, sizeof c->error, "ifindex %d: cut short",
                 c->hook.ifindex);
        finish(c);
    }
    c->state = TCB_CURSOR_ENDED;
    ovs_mutex_unlock(&c->mutex);
}

/* Receiving. */

/* Where a dump goes on that is interrupted after this datagram.  What comes
 * after a loss does not count. */
static void
note_place(struct tcb_cursor *c, const struct tcb_datagram *d)
{
    struct tcnl_filter_info info;
    const struct nlmsghdr *nlh;

    if (!c->offload->abilities.dump_start || c->dump.interrupted) {
        return;
    }
    nlh = tcnl_dump_last(&c->dump, d->buf);
    if (nlh && !tcnl_filter_parse(nlh, &info)) {
        c->last = info.id;
        c->has_last = true;
    }
}

/* The kernel produces the next datagram inside the recvmsg() that returns the
 * present one, so the epoch of a datagram is that of one call earlier. */
static void
receive(struct tcb_cursor *c, struct tcb_datagram *d)
{
    uint64_t next_epoch = tcb_epoch_read(&c->offload->flows);
    enum tcnl_dump_status status;

    status = tcnl_dump_recv(&c->dump, d->buf, sizeof d->buf, &d->len);
    d->ofs = 0;
    d->seq = c->dump.seq;
    d->port_no = c->port_no;
    d->epoch = c->epoch;
    c->epoch = next_epoch;
    note_place(c, d);
    if (status != TCNL_DUMP_RUNNING) {
        note_end(c, tcnl_dump_finish(&c->dump));
    }
}

bool
tcb_cursor_fetch(struct tcb_cursor *c, struct tcb_datagram *d)
{
    d->len = d->ofs = 0;
    ovs_mutex_lock(&c->mutex);
    if (c->state == TCB_CURSOR_WAITING) {
        begin(c);
    }
    while (!d->len && c->state == TCB_CURSOR_RUNNING) {
        receive(c, d);
    }
    ovs_mutex_unlock(&c->mutex);
    return d->len > 0;
}
