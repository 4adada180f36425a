/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-show.h"

#include "netdev.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/json.h"
#include "tcb-meter.h"
#include "tcb-offload.h"
#include "tcb-port.h"
#include "unixctl.h"
#include "util.h"

/* Every command builds JSON; the text form is printed from it, so both say the
 * same. */

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
        json_object_put(json, "ext_ack", json_boolean_create(a->ext_ack));
        json_object_put(json, "multi_mask",
                        json_boolean_create(a->multi_mask));
        json_object_put(json, "police_pkts",
                        json_boolean_create(a->police_pkts));
        json_object_put(json, "no_percpu_stats",
                        json_boolean_create(a->no_percpu_stats));
    }
    json_object_put(json, "recirc_sharing",
                    json_boolean_create(offload->recirc_shared));
    return json;
}

static const char *
port_state_name(const struct tcb_port *port)
{
    switch (tcb_port_state(port)) {
    case TCB_PORT_OFF:
        return "off";
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
    json_object_put_string(json, "hook", port->internal ? "egress"
                                                        : "ingress");
    json_object_put_string(json, "state", port_state_name(port));
    if (tcb_port_state(port) == TCB_PORT_FAILED) {
        json_object_put_string(json, "error", port->error.text);
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
    struct tcb_dump_summary last;
    uint64_t n_terse, n_full;

    tcb_dump_log_read(&offload->dumps, &n_terse, &n_full, &last);
    json_object_put_string(json, "mode", "terse");
    json_object_put(json, "rounds", json_uint(n_terse));
    json_object_put(json, "full_dumps", json_uint(n_full));
    json_object_put(json, "msec", json_integer_create(last.msec));
    json_object_put(json, "ports", json_uint(last.n_ports));
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
meters_json(const struct tcb_offload *offload)
{
    struct json *json = json_object_create();
    struct tcb_meter_summary s;

    tcb_meters_summary(offload, &s);
    json_object_put(json, "in_tc", json_uint(s.n_meters));
    json_object_put(json, "not_in_tc", json_uint(s.n_refused));
    json_object_put(json, "being_deleted", json_uint(s.n_dying));
    return json;
}

static const char *
policy_name(const struct tcb_offload *offload)
{
    return offload->cls_flags & TCA_CLS_FLAGS_SKIP_SW ? "skip_sw"
           : offload->cls_flags & TCA_CLS_FLAGS_SKIP_HW ? "skip_hw" : "none";
}

static struct json *
show_json(struct tcb_offload *offload)
{
    struct json *json = json_object_create();

    json_object_put(json, "enabled",
                    json_boolean_create(tcb_offload_enabled(offload)));
    json_object_put_string(json, "policy", policy_name(offload));
    json_object_put(json, "flows",
                    json_uint(atomic_count_get(&offload->flows.n_live)));
    json_object_put(json, "slots",
                    json_uint(tcb_flow_table_n_slots(&offload->flows)));
    json_object_put(json, "bytes_per_flow",
                    json_uint(sizeof(struct tcb_flow)));
    json_object_put(json, "kernel", abilities_json(offload));
    json_object_put(json, "ports", ports_json(offload));
    json_object_put(json, "meters", meters_json(offload));
    json_object_put(json, "last_dump", dump_json(offload));
    return json;
}

/* tc-batch/stats. */

static struct json *
sizes_json(const struct tcb_operate_stats *s)
{
    struct json *json = json_object_create();

    for (int i = 0; i < TCB_N_SIZES; i++) {
        char name[32];

        if (i == TCB_N_SIZES - 1) {
            snprintf(name, sizeof name, "%u+", 1u << i);
        } else if (i) {
            snprintf(name, sizeof name, "%u-%u", 1u << i, (2u << i) - 1);
        } else {
            snprintf(name, sizeof name, "1");
        }
        json_object_put(json, name, json_uint(s->sizes[i]));
    }
    return json;
}

static struct json *
stats_json(struct tcb_offload *offload)
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

static struct json *
why_json(struct tcb_offload *offload)
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

/* Text. */

static void format_json(const struct json *, int indent, struct ds *);

static void
format_member(const char *name, const struct json *value, int indent,
              struct ds *ds)
{
    ds_put_char_multiple(ds, ' ', indent);
    ds_put_cstr(ds, name);
    ds_put_char(ds, ':');
    format_json(value, indent, ds);
}

static void
format_object(const struct json *json, int indent, struct ds *ds)
{
    const struct shash *object = json_object(json);
    const struct shash_node **nodes = shash_sort(object);

    ds_put_char(ds, '\n');
    for (size_t i = 0; i < shash_count(object); i++) {
        format_member(nodes[i]->name, nodes[i]->data, indent + 2, ds);
    }
    free(nodes);
}

static void
format_array(const struct json *json, int indent, struct ds *ds)
{
    size_t n = json_array_size(json);

    ds_put_cstr(ds, n ? "\n" : " none\n");
    for (size_t i = 0; i < n; i++) {
        ds_put_char_multiple(ds, ' ', indent + 2);
        ds_put_char(ds, '-');
        format_json(json_array_at(json, i), indent + 2, ds);
    }
}

static void
format_json(const struct json *json, int indent, struct ds *ds)
{
    switch (json->type) {
    case JSON_OBJECT:
        format_object(json, indent, ds);
        break;
    case JSON_ARRAY:
        format_array(json, indent, ds);
        break;
    case JSON_STRING:
        ds_put_format(ds, " %s\n", json_string(json));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        ds_put_format(ds, " %s\n", json->type == JSON_TRUE ? "yes" : "no");
        break;
    case JSON_REAL:
        ds_put_format(ds, " %.1f\n", json_real(json));
        break;
    case JSON_INTEGER:
        ds_put_format(ds, " %"PRId64"\n", json_integer(json));
        break;
    case JSON_NULL:
    case JSON_SERIALIZED_OBJECT:
    case JSON_N_TYPES:
    default:
        ds_put_char(ds, '\n');
        break;
    }
}

/* Commands. */

struct answer {
    struct json *(*make)(struct tcb_offload *);
    struct json *json;
};

static void
add_answer(struct tcb_offload *offload, void *answer_)
{
    struct answer *answer = answer_;

    json_object_put(answer->json, offload->up.name, answer->make(offload));
}

static void
reply(struct unixctl_conn *conn, struct json *(*make)(struct tcb_offload *))
{
    struct answer answer = { .make = make, .json = json_object_create() };

    tcb_offload_for_each(add_answer, &answer);
    if (json_object_is_empty(answer.json)) {
        json_destroy(answer.json);
        unixctl_command_reply_error(conn, "no datapath that tc-batch could "
                                    "offload; add a bridge of the system "
                                    "datapath first");
        return;
    }
    if (unixctl_command_get_output_format(conn) == UNIXCTL_OUTPUT_FMT_JSON) {
        unixctl_command_reply_json(conn, answer.json);
    } else {
        struct ds ds = DS_EMPTY_INITIALIZER;
        struct shash_node *node;

        SHASH_FOR_EACH (node, json_object(answer.json)) {
            format_member(node->name, node->data, 0, &ds);
        }
        unixctl_command_reply(conn, ds_cstr(&ds));
        ds_destroy(&ds);
        json_destroy(answer.json);
    }
}

static void
show(struct unixctl_conn *conn, int argc OVS_UNUSED,
     const char *argv[] OVS_UNUSED, void *aux OVS_UNUSED)
{
    reply(conn, show_json);
}

static void
stats(struct unixctl_conn *conn, int argc OVS_UNUSED,
      const char *argv[] OVS_UNUSED, void *aux OVS_UNUSED)
{
    reply(conn, stats_json);
}

static void
why(struct unixctl_conn *conn, int argc OVS_UNUSED,
    const char *argv[] OVS_UNUSED, void *aux OVS_UNUSED)
{
    reply(conn, why_json);
}

void
tcb_show_init(void)
{
    unixctl_command_register("tc-batch/show", "", 0, 0, show, NULL);
    unixctl_command_register("tc-batch/stats", "", 0, 0, stats, NULL);
    unixctl_command_register("tc-batch/why", "", 0, 0, why, NULL);
}
