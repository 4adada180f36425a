/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-show.h"

#include <stdlib.h>

#include "netdev.h"
#include "odp-util.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "tcb-audit.h"
#include "tcb-meter.h"
#include "tcb-offload.h"
#include "tcb-port.h"
#include "tcb-show-json.h"
#include "unixctl.h"
#include "util.h"

/* tc-batch/show as text. */

static void
show_kernel(const struct tcb_offload *offload, struct ds *ds)
{
    const struct tcnl_abilities *a = &offload->abilities;
    const struct {
        const char *name;
        bool has;
    } abilities[] = {
        { "chosen handles", a->own_handles },
        { "terse dumps", a->terse_dump },
        { "terse echo of deletes", a->terse_echo },
        { "dumps without idle filters", a->used_since },
        { "dumps that keep their place", a->dump_start },
        { "several masks per prio", a->multi_mask },
        { "error texts", a->ext_ack },
        { "packet rates", a->police_pkts },
        { "no per-CPU counters", a->no_percpu_stats },
        { "connection tracking", a->ct_states != 0 },
        { "group policies of VXLAN", a->vxlan_gbp },
        { "tunnel flags", a->enc_flags },
        { "shared recirculation ids", offload->recirc_shared },
    };
    bool probed;

    atomic_read_explicit(&CONST_CAST(struct tcb_offload *, offload)->probed,
                         &probed, memory_order_acquire);
    if (!probed) {
        ds_put_cstr(ds, "  kernel: not probed, no port is ready\n");
        return;
    }
    for (int has = 1; has >= 0; has--) {
        const char *sep = has ? "  kernel has: " : "  kernel lacks: ";
        bool any = false;

        for (size_t i = 0; i < ARRAY_SIZE(abilities); i++) {
            if (abilities[i].has == has) {
                ds_put_format(ds, "%s%s", sep, abilities[i].name);
                sep = ", ";
                any = true;
            }
        }
        if (any) {
            ds_put_char(ds, '\n');
        }
    }
}

static void
show_ports(const struct tcb_offload *offload, struct ds *ds)
{
    struct dpif_offload_port *up;

    ds_put_format(ds, "  %-16s %7s  %-7s  %-6s %8s %14s\n", "port", "ifindex",
                  "hook", "state", "flows", "not offloaded");
    DPIF_OFFLOAD_PORT_FOR_EACH (up, &offload->up) {
        struct tcb_port *port = CONTAINER_OF(up, struct tcb_port, up);

        ds_put_format(ds, "  %-16s %7d  %-7s  %-6s %8u %14"PRIu64,
                      netdev_get_name(up->netdev), up->ifindex,
                      tcb_hook_name(port->hook),
                      tcb_port_state_name(port),
                      atomic_count_get(&port->n_flows),
                      tcb_why_total(&port->why));
        if (tcb_port_state(port) == TCB_PORT_FAILED) {
            ds_put_format(ds, "  %s", tcb_port_error(port));
        }
        ds_put_char(ds, '\n');
    }
}

/* The first meters, by id; "--format json" has them all. */
#define MAX_METERS 20

static const char *
meter_state_name(enum tcb_meter_state state)
{
    switch (state) {
    case TCB_METER_KNOWN:
        return "waits for a port";
    case TCB_METER_REFUSED:
        return "kernel datapath";
    case TCB_METER_NEW:
        return "being made";
    case TCB_METER_IN_TC:
        return "TC";
    case TCB_METER_DYING:
    default:
        return "being deleted";
    }
}

static void
show_meter(const struct tcb_meter_row *row, struct ds *ds)
{
    const struct tcnl_police *p = &row->police;
    uint64_t rate = p->pkt_rate ? p->pkt_rate : p->rate * 8 / 1000;
    uint64_t burst = p->pkt_rate ? p->pkt_burst : p->burst * 8 / 1000;

    ds_put_format(ds, "  %10"PRIu32"  0x%08"PRIx32" %12"PRIu64" %12"PRIu64
                  " %-5s %8u %14"PRIu64" %14"PRIu64"  %s\n", row->meter_id,
                  p->index, rate, burst, p->pkt_rate ? "pktps" : "kbps",
                  row->refs, row->stats.packets, row->stats.drops,
                  meter_state_name(row->state));
}

static void
show_meters(const struct tcb_offload *offload, struct ds *ds)
{
    struct tcb_meter_summary s;
    struct tcb_meter_row *rows;
    size_t n = tcb_meters_list(offload, &rows);

    tcb_meters_summary(offload, &s);
    ds_put_format(ds, "  meters: %u in TC, %u left to the kernel datapath, "
                  "%u being deleted\n", s.n_meters, s.n_refused, s.n_dying);
    if (n) {
        ds_put_format(ds, "  %10s  %-10s %12s %12s %-5s %8s %14s %14s  %s\n",
                      "meter", "police", "rate", "burst", "", "flows",
                      "packets", "dropped", "in");
    }
    for (size_t i = 0; i < MIN(n, MAX_METERS); i++) {
        show_meter(&rows[i], ds);
    }
    if (n > MAX_METERS) {
        ds_put_format(ds, "  %10s  and %"PRIuSIZE" more: see --format json\n",
                      "", n - MAX_METERS);
    }
    free(rows);
}

static void
show_pending(const struct tcb_offload *offload, struct ds *ds)
{
    struct tcb_pending_summary s;

    tcb_pending_summary(&offload->pending, &s);
    ds_put_format(ds, "  to be offered again: %u flows wait for a parent, "
                  "%u for a port, %u for the kernel; offered %"PRIu64" times",
                  s.n_parent, s.n_port, s.n_kernel, s.n_offered);
    if (s.n_dropped) {
        ds_put_format(ds, "; %"PRIu64" did not fit into the list",
                      s.n_dropped);
    }
    ds_put_char(ds, '\n');
}

static void
show_shapes(const struct tcb_offload *offload, struct ds *ds)
{
    struct tcb_shape_counts counts;

    tcb_shape_counts_read(&offload->shapes, &counts);
    ds_put_format(ds, "  shapes of filters: %u verified, %u refused, %"PRIu64
                  " forgotten\n", counts.verified, counts.refused,
                  counts.forgotten);
}

static void
show_dump(const struct tcb_offload *offload, struct ds *ds)
{
    struct tcb_round_counts counts;
    struct tcb_dump_summary last;

    tcb_rounds_read(&offload->rounds, &counts, &last);
    ds_put_format(ds, "  dumps: mode %s; %"PRIu64" of revalidators, %"PRIu64
                  " of them delta; %"PRIu64" for dump-flows\n",
                  tcb_dump_mode_name(tcb_rounds_mode(offload)),
                  counts.n_rounds, counts.n_delta, counts.n_full);
    if (!counts.n_rounds) {
        return;
    }
    ds_put_format(ds, "  last of revalidators: %s, %lld ms, %u ports, %u "
                  "flows (%"PRIu64" bytes in %"PRIu64" datagrams), %u more "
                  "from the table, %u gone, %u foreign filters; ",
                  tcb_dump_mode_name(last.mode), last.msec, last.n_ports,
                  last.n_kernel, last.bytes, last.datagrams, last.n_table,
                  last.n_gone, last.n_foreign);
    if (last.n_full_ports) {
        ds_put_format(ds, "%u ports asked in full; ", last.n_full_ports);
    }
    if (last.n_again) {
        ds_put_format(ds, "%u times begun again; ", last.n_again);
    }
    if (last.n_incomplete) {
        ds_put_format(ds, "%u ports incomplete: %s", last.n_incomplete,
                      last.error);
    } else {
        ds_put_cstr(ds, "complete");
    }
    ds_put_format(ds, "%s\n", last.undisturbed
                  ? "" : ", prios came or went meanwhile");
}

static void
show_text(struct tcb_offload *offload, struct ds *ds)
{
    ds_put_format(ds, "%s: %s, tc-policy %s, %u flows in TC\n",
                  offload->up.name,
                  tcb_offload_enabled(offload) ? "enabled" : "not enabled",
                  tcb_policy_name(offload),
                  atomic_count_get(&offload->flows.n_live));
    show_kernel(offload, ds);
    show_ports(offload, ds);
    show_meters(offload, ds);
    show_pending(offload, ds);
    show_shapes(offload, ds);
    show_dump(offload, ds);
}

/* tc-batch/stats as text. */

static void
stats_sizes(const struct tcb_operate_stats *s, struct ds *ds)
{
    ds_put_cstr(ds, "  messages in a batch:\n");
    for (int i = 0; i < TCB_N_SIZES; i++) {
        unsigned int from = 1u << i, to = (2u << i) - 1;

        if (i == TCB_N_SIZES - 1) {
            ds_put_format(ds, "    %3u and more  %10"PRIu64" batches\n", from,
                          s->sizes[i]);
        } else if (from == to) {
            ds_put_format(ds, "    %3u           %10"PRIu64" batches\n", from,
                          s->sizes[i]);
        } else {
            ds_put_format(ds, "    %3u to %3u    %10"PRIu64" batches\n", from,
                          to, s->sizes[i]);
        }
    }
}

static void
stats_text(struct tcb_offload *offload, struct ds *ds)
{
    struct tcb_operate_stats s;
    unsigned int n_workers;

    tcb_worker_pool_stats(&offload->workers, &s, &n_workers);
    ds_put_format(ds, "%s: %"PRIu64" messages in %"PRIu64" batches, %.1f a "
                  "batch, at most %"PRIu32"; %u sockets\n", offload->up.name,
                  s.batch.messages, s.batch.sends,
                  s.batch.sends ? (double) s.batch.messages / s.batch.sends
                                : 0.0, s.largest, n_workers);
    stats_sizes(&s, ds);
    ds_put_format(ds, "  done: %"PRIu64" added, %"PRIu64" replaced, %"PRIu64
                  " deleted, %"PRIu64" evicted, %"PRIu64" read\n", s.adds,
                  s.replaces, s.dels, s.evicts, s.gets);
    ds_put_format(ds, "  translated: %"PRIu64" puts from templates\n",
                  s.templated);
    ds_put_format(ds, "  not offloaded: %"PRIu64" (see tc-batch/why)\n",
                  s.refused);
    ds_put_format(ds, "  kernel: %"PRIu64" messages refused, %"PRIu64
                  " answers lost, %"PRIu64" of them settled\n",
                  s.batch.refused, s.batch.unknown, s.settled);
    ds_put_format(ds, "  replies: %"PRIu64" datagrams, %"PRIu64" overflows, "
                  "%"PRIu64" stray, %"PRIu64" damaged\n", s.batch.recvs,
                  s.batch.overflows, s.batch.strays, s.batch.damaged);
}

/* tc-batch/why as text. */

static void
why_text(struct tcb_offload *offload, struct ds *ds)
{
    struct dpif_offload_port *up;
    bool any = false;

    DPIF_OFFLOAD_PORT_FOR_EACH (up, &offload->up) {
        struct tcb_port *port = CONTAINER_OF(up, struct tcb_port, up);
        uint64_t total = tcb_why_total(&port->why);

        if (total) {
            ds_put_format(ds, "%s: %"PRIu64" times a flow was not offloaded\n",
                          netdev_get_name(up->netdev), total);
            tcb_why_format(&port->why, ds);
            any = true;
        }
    }
    if (!any) {
        ds_put_format(ds, "%s: every flow was offloaded\n", offload->up.name);
    }
}

/* tc-batch/audit as text. */

static void
audit_text(struct tcb_offload *offload, struct ds *ds)
{
    struct tcb_audit a;

    tcb_audit_run(offload, &a);
    ds_put_format(ds, "%s: table and kernel %s\n", offload->up.name,
                  tcb_audit_is_clean(&a) ? "agree" : "DO NOT AGREE");
    for (size_t i = 0; i < a.n_ports; i++) {
        const struct tcb_audit_port *p = &a.ports[i];

        ds_put_format(ds, "  %-16s %-7s  %8u ours, %u foreign%s%s\n",
                      p->name, p->hook, p->n_ours, p->n_foreign,
                      p->error[0] ? "; not read to the end: " : "", p->error);
    }
    for (size_t i = 0; i < a.n_findings; i++) {
        const struct tcb_audit_finding *f = &a.findings[i];

        ds_put_format(ds, "  %s: %s: chain %"PRIu32" prio %u handle "
                      "0x%"PRIx32" ufid:", a.ports[f->port].name,
                      tcb_audit_kind_name(f->kind), f->id.chain, f->id.prio,
                      f->id.handle);
        odp_format_ufid(&f->ufid, ds);
        ds_put_char(ds, '\n');
    }
    ds_put_format(ds, "  police actions: %u of meters, %u stranded, "
                  "%u foreign\n", a.n_police_ours, a.n_police_stranded,
                  a.n_police_foreign);
    if (a.error[0]) {
        ds_put_format(ds, "  not everything could be read: %s\n", a.error);
    }
    tcb_audit_destroy(&a);
}

/* Commands. */

/* How one command answers for one offload object. */
struct command {
    const char *name;
    struct json *(*json)(struct tcb_offload *);
    void (*text)(struct tcb_offload *, struct ds *);
};

static struct command commands[] = {
    { "tc-batch/show", tcb_show_json, show_text },
    { "tc-batch/stats", tcb_stats_json, stats_text },
    { "tc-batch/why", tcb_whys_json, why_text },
    { "tc-batch/audit", tcb_audit_json, audit_text },
};

struct answer {
    const struct command *command;
    struct json *json;          /* NULL for text. */
    struct ds text;
    bool any;
};

static void
add_answer(struct tcb_offload *offload, void *answer_)
{
    struct answer *answer = answer_;

    answer->any = true;
    if (answer->json) {
        json_object_put(answer->json, offload->up.name,
                        answer->command->json(offload));
    } else {
        answer->command->text(offload, &answer->text);
    }
}

static void
reply(struct unixctl_conn *conn, int argc OVS_UNUSED,
      const char *argv[] OVS_UNUSED, void *command)
{
    bool json = unixctl_command_get_output_format(conn)
                == UNIXCTL_OUTPUT_FMT_JSON;
    struct answer answer = {
        .command = command,
        .json = json ? json_object_create() : NULL,
        .text = DS_EMPTY_INITIALIZER,
    };

    tcb_offload_for_each(add_answer, &answer);
    if (!answer.any) {
        json_destroy(answer.json);
        unixctl_command_reply_error(conn, "no datapath that tc-batch could "
                                    "offload; add a bridge of the system "
                                    "datapath first");
    } else if (json) {
        unixctl_command_reply_json(conn, answer.json);
    } else {
        unixctl_command_reply(conn, ds_cstr(&answer.text));
    }
    ds_destroy(&answer.text);
}

void
tcb_show_init(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        unixctl_command_register(commands[i].name, "", 0, 0, reply,
                                 &commands[i]);
    }
}
