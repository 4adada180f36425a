/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_WHY_H
#define TCB_WHY_H 1

/* Why a flow was not offloaded: one cause per refusal, counted per port.
 *
 * Translators and the planner fill in a struct tcb_refusal where they give
 * up; operate counts it with tcb_why_count().  Counting is cheap and bounded:
 * a port keeps one line per distinct (cause, detail), at most 64 of them; what
 * comes after that is only counted. */

#include "openvswitch/dynamic-string.h"
#include "openvswitch/hmap.h"
#include "ovs-thread.h"

struct json;

#define TCB_CAUSES                                                        \
    TCB_CAUSE(MATCH, "match", "the match has a key that TC cannot express")  \
    TCB_CAUSE(ACTION, "action", "an action that TC cannot express")       \
    TCB_CAUSE(OUT_PORT, "out-port", "an output port is not offloaded by us") \
    TCB_CAUSE(RECIRC, "recirculation",                                    \
              "the datapath does not share recirculation ids with TC")    \
    TCB_CAUSE(PARENT, "parent", "the flow that recirculates is not in TC") \
    TCB_CAUSE(METER, "meter", "the meter is not in TC")                   \
    TCB_CAUSE(LIMIT, "limit", "more actions than TC takes in one filter") \
    TCB_CAUSE(PRIO, "prio", "no priority left for this Ethernet type")    \
    TCB_CAUSE(PORT, "port", "the port has no usable qdisc")               \
    TCB_CAUSE(KERNEL, "kernel", "the kernel refused the filter")          \
    TCB_CAUSE(SHAPE, "shape", "the kernel does not take filters like this " \
              "as they are sent")                                         \
    TCB_CAUSE(LOST, "lost", "the kernel's answer was lost and the filter " \
              "is not there")

enum tcb_cause {
#define TCB_CAUSE(ENUM, NAME, TEXT) TCB_CAUSE_##ENUM,
    TCB_CAUSES
#undef TCB_CAUSE
    TCB_N_CAUSES
};

#define TCB_DETAIL_MAX 96

/* One refusal.  'detail' says which key, action or port, or gives the
 * kernel's own words; it is copied. */
struct tcb_refusal {
    enum tcb_cause cause;
    int error;                  /* The kernel's errno, 0 if none. */
    uint32_t chain;             /* PARENT: the chain that nothing leads to. */
    char detail[TCB_DETAIL_MAX];
};

/* Fills in a refusal, without errno and chain; a long detail is cut. */
void tcb_refuse(struct tcb_refusal *, enum tcb_cause, const char *format, ...)
    OVS_PRINTF_FORMAT(3, 4);

/* The refusals of one port.  Thread-safe. */
struct tcb_why {
    struct ovs_mutex mutex;
    struct hmap lines OVS_GUARDED;   /* Of struct tcb_why_line. */
    uint64_t others OVS_GUARDED;     /* Counted after the table was full. */
    uint64_t total OVS_GUARDED;
};

void tcb_why_init(struct tcb_why *);
void tcb_why_destroy(struct tcb_why *);

/* Counts one refusal.  Returns true if this (cause, detail) is new here, so
 * that the caller can log it once. */
bool tcb_why_count(struct tcb_why *, const struct tcb_refusal *);

uint64_t tcb_why_total(const struct tcb_why *);

/* Text has one line per reason, indented by two spaces, the most frequent
 * first.  JSON is {"total": N, "not_listed": N, "refusals": [{"cause",
 * "detail", "errno", "count"}...]}, in the same order; the caller frees it. */
void tcb_why_format(const struct tcb_why *, struct ds *);
struct json *tcb_why_json(const struct tcb_why *);

/* A cause's short name and its explanation. */

const char *tcb_cause_name(enum tcb_cause);
const char *tcb_cause_text(enum tcb_cause);

#endif /* tcb-why.h */
