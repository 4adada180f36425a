/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-audit.h"

#include <errno.h>

#include "bitmap.h"
#include "netdev.h"
#include "tcb-leftover.h"
#include "tcb-meter.h"
#include "tcb-placeholder.h"
#include "tcb-offload.h"
#include "tcb-port.h"
#include "tcnl/dump.h"
#include "tcnl/police.h"
#include "util.h"

/* A dump that is interrupted, because prios come and go, is begun again. */
#define MAX_TRIES 5

struct audit_run {
    struct tcb_offload *offload;
    struct tcb_worker *worker;
    struct tcb_audit *audit;
    unsigned long *seen;        /* Bitmap of slots. */
    uint32_t n_slots;
    size_t port;                /* Of the dump under way. */
};

static void
set_error(char *text, size_t size, const struct tcnl_error *error)
{
    snprintf(text, size, "%s%s%s", ovs_strerror(error->error),
             error->text[0] ? ": " : "", error->text);
}

static void
add_finding(struct tcb_audit *a, const struct tcb_audit_finding *finding)
{
    if (a->n_findings == a->allocated_findings) {
        a->findings = x2nrealloc(a->findings, &a->allocated_findings,
                                 sizeof *a->findings);
    }
    a->findings[a->n_findings++] = *finding;
}

static bool
get_cookie(const struct tcnl_filter_info *info, ovs_u128 *ufid)
{
    struct tcnl_filter_counters counters;

    if (!info->acts || tcnl_actions_parse_counters(info->acts, &counters)
        || !counters.has_cookie) {
        return false;
    }
    memcpy(ufid, counters.cookie, sizeof *ufid);
    return true;
}

static bool
is_placeholder(const struct tcnl_filter_info *info)
{
    struct tcnl_filter_counters counters;

    return (info->acts && !tcnl_actions_parse_counters(info->acts, &counters)
            && tcb_is_placeholder(&info->id, &counters));
}

/* The kernel's side. */

static void
take_filter(void *run_, const struct nlmsghdr *nlh)
{
    struct audit_run *run = run_;
    struct tcb_audit_port *port = &run->audit->ports[run->port];
    struct tcb_audit_finding finding = { .kind = TCB_AUDIT_STRANDED,
                                         .port = run->port };
    struct tcnl_filter_info info;
    struct tcb_flow *flow;

    if (tcnl_filter_parse(nlh, &info) || info.is_header
        || is_placeholder(&info)) {
        return;
    }
    if (!tcb_is_left_by_ovs(&info) || !get_cookie(&info, &finding.ufid)) {
        port->n_foreign++;
        return;
    }
    flow = tcb_flow_by_handle(&run->offload->flows, info.id.handle);
    if (flow && tcb_flow_is(flow, &finding.ufid)) {
        port->n_ours++;
        if (flow->slot < run->n_slots) {
            bitmap_set1(run->seen, flow->slot);
        }
    } else {
        finding.id = info.id;
        add_finding(run->audit, &finding);
    }
}

static void
audit_port(struct audit_run *run, const struct tcb_port *port)
{
    struct tcnl_filter_id hook = tcb_hook_id(port->up.ifindex, port->hook);
    struct tcb_audit *a = run->audit;
    struct tcb_audit_port *p = &a->ports[run->port];
    size_t n_findings = a->n_findings;
    enum tcnl_dump_status status;
    struct tcnl_error error;

    ovs_strlcpy(p->name, netdev_get_name(port->up.netdev), sizeof p->name);
    p->hook = tcb_hook_name(port->hook);
    for (int i = 0; i < MAX_TRIES; i++) {
        a->n_findings = n_findings;
        p->n_ours = p->n_foreign = 0;
        status = tcnl_dump_all(run->worker->transport, tcb_build_hook_dump,
                               &hook, take_filter, run, &error);
        if (status == TCNL_DUMP_COMPLETE) {
            return;
        }
    }
    if (status == TCNL_DUMP_FAILED) {
        set_error(p->error, sizeof p->error, &error);
    } else {
        ovs_strlcpy(p->error, "interrupted again and again", sizeof p->error);
    }
}

static void
audit_ports(struct audit_run *run)
{
    struct dpif_offload_port *up;
    size_t allocated = 0;

    DPIF_OFFLOAD_PORT_FOR_EACH (up, &run->offload->up) {
        struct tcb_port *port = CONTAINER_OF(up, struct tcb_port, up);
        struct tcb_audit *a = run->audit;

        if (tcb_port_state(port) == TCB_PORT_READY) {
            if (a->n_ports == allocated) {
                a->ports = x2nrealloc(a->ports, &allocated, sizeof *a->ports);
            }
            run->port = a->n_ports++;
            memset(&a->ports[run->port], 0, sizeof *a->ports);
            audit_port(run, port);
        }
    }
}

/* The table's side. */

static size_t
find_port(const struct audit_run *run, const struct tcb_flow *flow)
{
    struct tcb_port *port = tcb_port_find(run->offload, flow->in_port);
    const struct tcb_audit *a = run->audit;

    for (size_t i = 0; port && i < a->n_ports; i++) {
        if (!strcmp(a->ports[i].name, netdev_get_name(port->up.netdev))) {
            return i;
        }
    }
    return SIZE_MAX;
}

static void
audit_table(struct audit_run *run)
{
    for (uint32_t slot = 0; slot < run->n_slots; slot++) {
        struct tcb_flow *flow = tcb_flow_at(&run->offload->flows, slot);
        struct tcb_flow_report report;

        if (!bitmap_is_set(run->seen, slot)
            && tcb_flow_report(flow, &report)) {
            struct tcb_audit_finding finding = {
                .kind = TCB_AUDIT_MISSING,
                .port = find_port(run, flow),
                .id = tcb_flow_filter_id(flow),
                .ufid = report.ufid,
            };

            if (finding.port != SIZE_MAX
                && !run->audit->ports[finding.port].error[0]) {
                add_finding(run->audit, &finding);
            }
        }
    }
}

/* The second look. */

struct look {
    ovs_u128 ufid;
    bool found;
};

static int
build_get(struct tcnl_buffer *b, const void *id)
{
    return tcnl_filter_put_get(b, id);
}

static void
take_look(void *look_, unsigned int slot OVS_UNUSED,
          const struct nlmsghdr *nlh)
{
    struct look *look = look_;
    struct tcnl_filter_info info;
    ovs_u128 ufid;

    look->found = !tcnl_filter_parse(nlh, &info) && get_cookie(&info, &ufid)
                  && ovs_u128_equals(ufid, look->ufid);
}

static bool
still_holds(const struct audit_run *run,
            const struct tcb_audit_finding *finding)
{
    struct look look = { .ufid = finding->ufid };
    struct tcb_flow *flow;
    bool in_table;

    tcnl_transact(run->worker->transport, build_get, &finding->id, take_look,
                  &look, NULL);
    flow = tcb_flow_by_handle(&run->offload->flows, finding->id.handle);
    in_table = flow && tcb_flow_is(flow, &finding->ufid);
    return finding->kind == TCB_AUDIT_MISSING ? in_table && !look.found
                                              : !in_table && look.found;
}

static void
look_again(struct audit_run *run)
{
    struct tcb_audit *a = run->audit;
    size_t n = 0;

    for (size_t i = 0; i < a->n_findings; i++) {
        if (still_holds(run, &a->findings[i])) {
            a->findings[n++] = a->findings[i];
        }
    }
    a->n_findings = n;
}

/* Police. */

static void
count_police(void *run_, const struct tcnl_police_info *info)
{
    struct audit_run *run = run_;
    struct tcb_audit *a = run->audit;
    uint32_t index = info->police.index, meter_id;

    if (index < TCB_POLICE_BASE || index > TCB_POLICE_MAX) {
        a->n_police_foreign++;
    } else if (tcb_meter_from_police(run->offload, index, &meter_id)) {
        a->n_police_ours++;
    } else {
        a->n_police_stranded++;
    }
}

static void
take_police(void *run, const struct nlmsghdr *nlh)
{
    tcnl_police_parse(nlh, count_police, run);
}

static int
build_police_dump(struct tcnl_buffer *b, const void *arg OVS_UNUSED)
{
    return tcnl_police_put_dump(b, true);
}

static void
audit_police(struct audit_run *run)
{
    struct tcb_audit *a = run->audit;
    struct tcnl_error error;

    if (tcnl_dump_all(run->worker->transport, build_police_dump, NULL,
                      take_police, run, &error) == TCNL_DUMP_FAILED
        && error.error != ENOENT) {
        set_error(a->error, sizeof a->error, &error);
    }
}

void
tcb_audit_run(struct tcb_offload *offload, struct tcb_audit *audit)
{
    struct audit_run run = {
        .offload = offload,
        .audit = audit,
        .worker = tcb_worker_get(&offload->workers),
        .n_slots = tcb_flow_table_n_slots(&offload->flows),
    };

    memset(audit, 0, sizeof *audit);
    if (!run.worker) {
        ovs_strlcpy(audit->error, "no netlink socket, see the log",
                    sizeof audit->error);
        return;
    }
    run.seen = bitmap_allocate(run.n_slots);
    tcb_holds_collect(offload, run.worker, NULL, 0);
    audit_ports(&run);
    audit_table(&run);
    look_again(&run);
    audit_police(&run);
    bitmap_free(run.seen);
    tcb_worker_put(&offload->workers, run.worker, NULL);
}

void
tcb_audit_destroy(struct tcb_audit *audit)
{
    free(audit->ports);
    free(audit->findings);
}

bool
tcb_audit_is_clean(const struct tcb_audit *a)
{
    for (size_t i = 0; i < a->n_ports; i++) {
        if (a->ports[i].error[0]) {
            return false;
        }
    }
    return !a->n_findings && !a->n_police_stranded && !a->error[0];
}

const char *
tcb_audit_kind_name(enum tcb_audit_kind kind)
{
    return kind == TCB_AUDIT_MISSING ? "missing" : "stranded";
}
