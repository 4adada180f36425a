/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_SHOW_JSON_H
#define TCB_SHOW_JSON_H 1

/* The JSON answers of tc-batch/show, stats, why and audit for one offload
 * object, and names that the text answers share.  The caller frees
 * what is returned. */

struct json;
struct tcb_offload;
struct tcb_port;

struct json *tcb_show_json(struct tcb_offload *);
struct json *tcb_stats_json(struct tcb_offload *);
struct json *tcb_whys_json(struct tcb_offload *);
struct json *tcb_audit_json(struct tcb_offload *);

const char *tcb_port_state_name(const struct tcb_port *);
const char *tcb_policy_name(const struct tcb_offload *);

#endif /* tcb-show-json.h */
