/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_TEMPLATE_H
#define TCB_TEMPLATE_H 1

/* Flows that differ in addresses and ports alone, translated once.
 *
 * Most of the flows that come one after the other have the same masks and
 * actions, and keys that are the same but for Ethernet and IP addresses and
 * ports.  Of such a key the filter has plain copies, so from the message for
 * one of them those of the others are made by exchanging values
 * (tcnl/template.h), with a quarter of the instructions.
 *
 * Each worker has some templates of its own, for what it has seen at least
 * twice of late.  What they rest on besides the flow, ports and meters, has a
 * generation: templates of an older one are not used. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tcb-action.h"
#include "tcb-hook.h"
#include "tcnl/template.h"

struct dpif_flow_put;
struct nlmsghdr;
struct tcb_put_plan;

/* A value of the key that is exchanged. */
struct tcb_varying {
    enum tcnl_key key;
    uint16_t ofs;               /* In the key that OVS gives. */
    uint8_t size;
    uint8_t mask[16];
};

#define TCB_MAX_VARYING 8

struct tcb_template {
    uint64_t generation;
    struct tcnl_template message;

    /* What the flow must be: key, bits of the key that count, mask and
     * actions, one behind the other. */
    uint8_t *bytes;
    size_t key_len, mask_len, actions_len;

    struct tcb_varying varying[TCB_MAX_VARYING];
    unsigned int n_varying;
    uint64_t match_hash;        /* Without what varies. */

    /* Of the plan. */
    odp_port_t in_port;
    int ifindex;
    enum tcb_hook hook;
    struct tcb_action_uses uses;
    uint32_t chain;
    uint16_t prio;
    ovs_be16 proto;
};

#define TCB_N_TEMPLATES 8

/* Not thread-safe. */
struct tcb_templates {
    struct tcb_template *templates[TCB_N_TEMPLATES];    /* Last used first. */
    uint32_t seen[TCB_N_TEMPLATES];     /* Hashes of what could be one. */
    unsigned int next_seen;
    unsigned int n_learnt;      /* Calls of tcb_templates_learn(). */
};

void tcb_templates_init(struct tcb_templates *);
void tcb_templates_destroy(struct tcb_templates *);

/* Returns the template for the flow of 'put', or NULL if there is none of this
 * generation.  It stays until the next call for 'ts'. */
struct tcb_template *tcb_templates_find(struct tcb_templates *ts,
                                        uint64_t generation,
                                        const struct dpif_flow_put *put);

/* Gives the template the values of the flow that was found to fit; returns the
 * tcnl_flower_hash() of its match. */
uint64_t tcb_template_set(struct tcb_template *, const struct dpif_flow_put *);

/* Takes note of a flow whose translation is 'plan', and of the message that
 * adds its filter. */
void tcb_templates_learn(struct tcb_templates *, const struct dpif_flow_put *,
                         const struct tcb_put_plan *plan,
                         const struct nlmsghdr *);

#endif /* tcb-template.h */
