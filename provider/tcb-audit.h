/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_AUDIT_H
#define TCB_AUDIT_H 1

/* The flow table against the kernel, filter by filter.
 *
 * Reads every filter at every port's hook, and every police action.  What does
 * not agree is looked at once more, one by one, because flows come and go
 * meanwhile.  Slow with many flows; for the appctl command and for tests. */

#include <net/if.h>

#include "openvswitch/types.h"
#include "tcnl/filter.h"

struct tcb_offload;

struct tcb_audit_port {
    char name[IFNAMSIZ + 16];
    const char *hook;           /* tcb_hook_name(). */
    unsigned int n_ours;        /* Filters of flows in the table. */
    unsigned int n_foreign;     /* Filters of others. */
    char error[128];            /* Why it could not be read, or "". */
};

enum tcb_audit_kind {
    TCB_AUDIT_MISSING,          /* In the table, not in the kernel. */
    TCB_AUDIT_STRANDED,         /* A filter of OVS that the table lacks. */
};

struct tcb_audit_finding {
    enum tcb_audit_kind kind;
    size_t port;                /* Index into 'ports'. */
    struct tcnl_filter_id id;
    ovs_u128 ufid;
};

struct tcb_audit {
    struct tcb_audit_port *ports;
    size_t n_ports;
    struct tcb_audit_finding *findings;
    size_t n_findings, allocated_findings;

    /* Police actions. */
    unsigned int n_police_ours;     /* Of meters that we know. */
    unsigned int n_police_stranded; /* In our range, of no meter. */
    unsigned int n_police_foreign;
    char error[128];                /* Why nothing could be read, or "". */
};

/* Audits.  Main thread; takes a worker and does not quiesce. */
void tcb_audit_run(struct tcb_offload *, struct tcb_audit *);
void tcb_audit_destroy(struct tcb_audit *);

/* "missing" or "stranded". */
const char *tcb_audit_kind_name(enum tcb_audit_kind);

/* Do table and kernel agree, as far as they could be read? */
bool tcb_audit_is_clean(const struct tcb_audit *);

#endif /* tcb-audit.h */
