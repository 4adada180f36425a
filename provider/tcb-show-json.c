/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-show-json.h"

#include <stdlib.h>

#include "netdev.h"
#include "odp-util.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "tcb-audit.h"
#include "tcb-meter.h"
#include "tcb-offload.h"
#include "tcb-port.h"
#include "util.h"

static struct json *
json_uint(uint64_t value)
{
    return json_integer_create(value);
}

/* tc-batch/show. */

static struct json *
abilities_json(const struct tcb_offload *offload)
{
    const struct tcnl_abilities *a = &offload->abilities;
    struct json *json = json_object_create();
    bool probed;

    atomic_read_explicit(&CONST_CAST(struct tcb_offload *, offload)->probed,
                         &probed, memory_order_acquire);
    json_object_put(json, "probed", json_boolean_create(probed));
    if (probed) {
        json_object_put(json, "own_handles",
                        json_boolean_create(a->own_handles));
        json_object_put(json, "terse_dump",
                        json_boolean_create(a->terse_dump));
        json_object_put(json, "terse_echo",
                        json_boolean_create(a->terse_echo));
        json_object_put(json, "used_since",
                        json_boolean_create(a->used_since));
        json_object_put(json, "dump_start",
                        json_boolean_create(a->dump_start));
        json_object_put(json, "ext_ack", json_boolean_create(a->ext_ack));
        json_object_put(json, "multi_mask",
                        json_boolean_create(a->multi_mask));
        json_object_put(json, "police_pkts",
                        json_boolean_create(a->police_pkts));
        json_object_put(json, "no_percpu_stats",
                        json_boolean_create(a->no_percpu_stats));
        json_object_put(json, "ct_states", json_integer_create(a->ct_states));
        json_object_put(json, "vxlan_gbp", json_boolean_create(a->vxlan_gbp));
        json_object_put(json, "enc_flags", json_boolean_create(a->enc_flags));
    }
    json_object_put(json, "recirc_sharing",
                    json_boolean_create(offload->recirc_shared));
    return json;
}

const char *
tcb_port_state_name(const struct tcb_port *port)
{
    switch (tcb_port_state(port)) {
    case TCB_PORT_OFF:
        return "off";
    case TCB_PORT_STARTING:
        return "starting";
    case TCB_PORT_READY:
        return "ready";
    case TCB_PORT_FAILED:
        return "failed";
    default:
        OVS_NOT_REACHED();
    }
}

static struct json *
port_json(const struct tcb_port *port)
{
    struct json *json = json_object_create();

    json_object_put(json, "port_no",
                    json_integer_create(odp_to_u32(port->up.port_no)));
    json_object_put(json, "ifindex", json_integer_create(port->up.ifindex));
    json_object_put_string(json, "hook", tcb_hook_name(port->hook));
    json_object_put_string(json, "state", tcb_port_state_name(port));
    if (tcb_port_state(port) == TCB_PORT_FAILED) {
        json_object_put_string(json, "error", tcb_port_error(port));
    }
    json_object_put(json, "flows", json_uint(atomic_count_get(
        &CONST_CAST(struct tcb_port *, port)->n_flows)));
    json_object_put(json, "not_offloaded",
                    json_uint(tcb_why_total(&port->why)));
    return json;
}

static struct json *
ports_json(const struct tcb_offload *offload)
{
    struct json *json = json_object_create();
    struct dpif_offload_port *up;

    DPIF_OFFLOAD_PORT_FOR_EACH (up, &offload->up) {
        json_object_put(json, netdev_get_name(up->netdev),
                        port_json(CONTAINER_OF(up, struct tcb_port, up)));
    }
    return json;
}

static struct json *
dump_json(const struct tcb_offload *offload)
{
    struct json *json = json_object_create();
    struct tcb_round_counts counts;
    struct tcb_dump_summary last;

    tcb_rounds_read(&offload->rounds, &counts, &last);
    json_object_put_string(json, "mode",
                           tcb_dump_mode_name(tcb_rounds_mode(offload)));
    json_object_put(json, "rounds", json_uint(counts.n_rounds));
    json_object_put(json, "delta_rounds", json_uint(counts.n_delta));
    json_object_put(json, "full_dumps", json_uint(counts.n_full));
    json_object_put_string(json, "last_mode", tcb_dump_mode_name(last.mode));
    json_object_put(json, "msec", json_integer_create(last.msec));
    json_object_put(json, "ports", json_uint(last.n_ports));
    json_object_put(json, "full_ports", json_uint(last.n_full_ports));
    json_object_put(json, "begun_again", json_uint(last.n_again));
    json_object_put(json, "incomplete", json_uint(last.n_incomplete));
    json_object_put(json, "undisturbed",
                    json_boolean_create(last.undisturbed));
    json_object_put(json, "flows", json_uint(last.n_kernel));
    json_object_put(json, "from_table", json_uint(last.n_table));
    json_object_put(json, "gone", json_uint(last.n_gone));
    json_object_put(json, "foreign", json_uint(last.n_foreign));
    json_object_put(json, "datagrams", json_uint(last.datagrams));
    json_object_put(json, "bytes", json_uint(last.bytes));
    if (last.error[0]) {
        json_object_put_string(json, "error", last.error);
    }
    return json;
}

static struct json *
meter_json(const struct tcb_meter_row *row)
{
    const struct tcnl_police *p = &row->police;
    struct json *json = json_object_create();

    json_object_put(json, "meter", json_uint(row->meter_id));
    json_object_put(json, "in_tc",
                    json_boolean_create(row->state == TCB_METER_IN_TC));
    json_object_put(json, "police", json_uint(p->index));
    if (p->pkt_rate) {
        json_object_put(json, "pktps", json_uint(p->pkt_rate));
        json_object_put(json, "burst_packets", json_uint(p->pkt_burst));
    } else {
        json_object_put(json, "kbps", json_uint(p->rate * 8 / 1000));
        json_object_put(json, "burst_kbit", json_uint(p->burst * 8 / 1000));
    }
    json_object_put(json, "flows", json_uint(row->refs));
    json_object_put(json, "packets", json_uint(row->stats.packets));
    json_object_put(json, "bytes", json_uint(row->stats.bytes));
    json_object_put(json, "dropped", json_uint(row->stats.drops));
    return json;
}

static struct json *
meters_json(const struct tcb_offload *offload)
{
    struct json *json = json_object_create();
    struct json *list = json_array_create_empty();
    struct tcb_meter_summary s;
    struct tcb_meter_row *rows;
    size_t n = tcb_meters_list(offload, &rows);

    for (size_t i = 0; i < n; i++) {
        json_array_add(list, meter_json(&rows[i]));
    }
    free(rows);

    tcb_meters_summary(offload, &s);
    json_object_put(json, "in_tc", json_uint(s.n_meters));
    json_object_put(json, "not_in_tc", json_uint(s.n_refused));
    json_object_put(json, "being_deleted", json_uint(s.n_dying));
    json_object_put(json, "list", list);
    return json;
}

static struct json *
pending_json(const struct tcb_offload *offload)
{
    struct json *json = json_object_create();
    struct tcb_pending_summary s;

    tcb_pending_summary(&offload->pending, &s);
    json_object_put(json, "parent", json_uint(s.n_parent));
    json_object_put(json, "port", json_uint(s.n_port));
    json_object_put(json, "kernel", json_uint(s.n_kernel));
    json_object_put(json, "offered", json_uint(s.n_offered));
    json_object_put(json, "dropped", json_uint(s.n_dropped));
    return json;
}

static struct json *
shapes_json(const struct tcb_offload *offload)
{
    struct json *json = json_object_create();
    struct tcb_shape_counts counts;

    tcb_shape_counts_read(&offload->shapes, &counts);
    json_object_put(json, "verified", json_uint(counts.verified));
    json_object_put(json, "refused", json_uint(counts.refused));
    json_object_put(json, "forgotten", json_uint(counts.forgotten));
    return json;
}

const char *
tcb_policy_name(const struct tcb_offload *offload)
{
    return offload->cls_flags & TCA_CLS_FLAGS_SKIP_SW ? "skip_sw"
           : offload->cls_flags & TCA_CLS_FLAGS_SKIP_HW ? "skip_hw" : "none";
}

struct json *
tcb_show_json(struct tcb_offload *offload)
{
    struct json *json = json_object_create();

    json_object_put(json, "enabled",
                    json_boolean_create(tcb_offload_enabled(offload)));
    json_object_put_string(json, "policy", tcb_policy_name(offload));
    json_object_put(json, "flows",
                    json_uint(atomic_count_get(&offload->flows.n_live)));
    json_object_put(json, "slots",
                    json_uint(tcb_flow_table_n_slots(&offload->flows)));
    json_object_put(json, "bytes_per_flow",
                    json_uint(sizeof(struct tcb_flow)));
    json_object_put(json, "kernel", abilities_json(offload));
    json_object_put(json, "ports", ports_json(offload));
    json_object_put(json, "meters", meters_json(offload));
    json_object_put(json, "pending", pending_json(offload));
    json_object_put(json, "shapes", shapes_json(offload));
    json_object_put(json, "last_dump", dump_json(offload));
    return json;
}

/* tc-batch/stats. */

/* An array, so that the order is kept: the last entry has no upper end. */
static struct json *
sizes_json(const struct tcb_operate_stats *s)
{
    struct json *array = json_array_create_empty();

    for (int i = 0; i < TCB_N_SIZES; i++) {
        struct json *json = json_object_create();

        json_object_put(json, "from", json_uint(1u << i));
        if (i < TCB_N_SIZES - 1) {
            json_object_put(json, "to", json_uint((2u << i) - 1));
        }
        json_object_put(json, "batches", json_uint(s->sizes[i]));
        json_array_add(array, json);
    }
    return array;
}

struct json *
tcb_stats_json(struct tcb_offload *offload)
{
    struct json *json = json_object_create();
    struct tcb_operate_stats s;
    unsigned int n_workers;
    const struct {
        const char *name;
        const uint64_t *value;
    } counts[] = {
        { "batches", &s.batch.sends },
        { "messages", &s.batch.messages },
        { "adds", &s.adds },
        { "replaces", &s.replaces },
        { "deletes", &s.dels },
        { "gets", &s.gets },
        { "from_templates", &s.templated },
        { "evicted", &s.evicts },
        { "not_offloaded", &s.refused },
        { "kernel_errors", &s.batch.refused },
        { "unknown", &s.batch.unknown },
        { "settled", &s.settled },
        { "overflows", &s.batch.overflows },
        { "stray_replies", &s.batch.strays },
        { "damaged_replies", &s.batch.damaged },
        { "datagrams_received", &s.batch.recvs },
    };

    tcb_worker_pool_stats(&offload->workers, &s, &n_workers);
    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        json_object_put(json, counts[i].name, json_uint(*counts[i].value));
    }
    json_object_put(json, "messages_per_batch",
                    json_real_create(s.batch.sends
                                     ? (double) s.batch.messages
                                       / s.batch.sends : 0));
    json_object_put(json, "largest_batch", json_uint(s.largest));
    json_object_put(json, "batch_sizes", sizes_json(&s));
    json_object_put(json, "sockets", json_uint(n_workers));
    return json;
}

/* tc-batch/why. */

/* tc-batch/audit. */

static struct json *
audit_ports_json(const struct tcb_audit *a)
{
    struct json *json = json_object_create();

    for (size_t i = 0; i < a->n_ports; i++) {
        const struct tcb_audit_port *p = &a->ports[i];
        struct json *port = json_object_create();

        json_object_put_string(port, "hook", p->hook);
        json_object_put(port, "ours", json_uint(p->n_ours));
        json_object_put(port, "foreign", json_uint(p->n_foreign));
        if (p->error[0]) {
            json_object_put_string(port, "error", p->error);
        }
        json_object_put(json, p->name, port);
    }
    return json;
}

static struct json *
audit_findings_json(const struct tcb_audit *a)
{
    struct json *json = json_array_create_empty();

    for (size_t i = 0; i < a->n_findings; i++) {
        const struct tcb_audit_finding *f = &a->findings[i];
        struct json *finding = json_object_create();
        struct ds ufid = DS_EMPTY_INITIALIZER;

        odp_format_ufid(&f->ufid, &ufid);
        json_object_put_string(finding, "what", tcb_audit_kind_name(f->kind));
        json_object_put_string(finding, "port", a->ports[f->port].name);
        json_object_put(finding, "chain", json_uint(f->id.chain));
        json_object_put(finding, "prio", json_uint(f->id.prio));
        json_object_put(finding, "handle", json_uint(f->id.handle));
        json_object_put_string(finding, "ufid", ds_cstr(&ufid));
        json_array_add(json, finding);
        ds_destroy(&ufid);
    }
    return json;
}

struct json *
tcb_audit_json(struct tcb_offload *offload)
{
    struct json *json = json_object_create();
    struct json *police = json_object_create();
    struct tcb_audit a;

    tcb_audit_run(offload, &a);
    json_object_put(json, "clean",
                    json_boolean_create(tcb_audit_is_clean(&a)));
    json_object_put(json, "ports", audit_ports_json(&a));
    json_object_put(json, "findings", audit_findings_json(&a));
    json_object_put(police, "ours", json_uint(a.n_police_ours));
    json_object_put(police, "stranded", json_uint(a.n_police_stranded));
    json_object_put(police, "foreign", json_uint(a.n_police_foreign));
    json_object_put(json, "police", police);
    if (a.error[0]) {
        json_object_put_string(json, "error", a.error);
    }
    tcb_audit_destroy(&a);
    return json;
}

struct json *
tcb_whys_json(struct tcb_offload *offload)
{
    struct json *json = json_object_create();
    struct dpif_offload_port *up;

    DPIF_OFFLOAD_PORT_FOR_EACH (up, &offload->up) {
        struct tcb_port *port = CONTAINER_OF(up, struct tcb_port, up);

        json_object_put(json, netdev_get_name(up->netdev),
                        tcb_why_json(&port->why));
    }
    return json;
}
