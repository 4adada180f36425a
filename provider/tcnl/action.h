/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_ACTION_H
#define TCNL_ACTION_H 1

/* The actions of a filter as TC knows them, in compact form, and their
 * translation to and from netlink attributes. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/netlink.h>
#include "buffer.h"
#include "pedit.h"
#include "stats.h"

/* The kernel's limit (TCA_ACT_MAX_PRIO). */
#define TCNL_MAX_ACTIONS 32
#define TCNL_COOKIE_LEN 16      /* TC_COOKIE_MAX_SIZE. */

enum tcnl_action_kind {
    TCNL_ACT_GACT,              /* Only its verdict. */
    TCNL_ACT_MIRRED,
    TCNL_ACT_VLAN,
    TCNL_ACT_PEDIT,
    TCNL_ACT_CSUM,
    TCNL_ACT_SKBEDIT,           /* Sets the packet type. */
    TCNL_ACT_POLICE,            /* By index; see police.h. */
    TCNL_N_ACTION_KINDS
};

struct tcnl_action {
    enum tcnl_action_kind kind;
    bool cookie;                /* Carries the list's cookie. */
    bool no_percpu;             /* TCA_ACT_FLAGS_NO_PERCPU_STATS.  Neither is
                                 * sent with police: the action is there
                                 * already, shared, and would take the cookie
                                 * of whoever bound it last. */
    uint32_t verdict;           /* TC_ACT_PIPE, _SHOT, _STOLEN,
                                 * _GOTO_CHAIN | chain, ... */
    union {
        struct {
            int ifindex;
            uint32_t eaction;   /* TCA_EGRESS_REDIR, TCA_INGRESS_MIRROR... */
        } mirred;
        struct {
            uint32_t op;        /* TCA_VLAN_ACT_POP, _PUSH. */
            uint16_t tpid;      /* Network order. */
            uint16_t vid;       /* Host order. */
            uint8_t prio;
        } vlan;
        struct {
            uint8_t first, n;   /* Keys in the list's 'pedit_keys'. */
        } pedit;
        struct {
            uint32_t update_flags; /* TCA_CSUM_UPDATE_FLAG_*. */
        } csum;
        struct {
            uint16_t ptype;     /* PACKET_HOST... */
        } skbedit;
        struct {
            uint32_t index;
        } police;
    };
};

/* About 2.5 KB, for the stack; only the first 'n' actions and 'n_pedit_keys'
 * keys mean anything, nothing needs clearing. */
struct tcnl_actions {
    uint8_t n;
    uint8_t n_pedit_keys;
    bool has_cookie;
    uint8_t cookie[TCNL_COOKIE_LEN];
    struct tcnl_action a[TCNL_MAX_ACTIONS];
    struct tcnl_pedit_key pedit_keys[TCNL_MAX_PEDIT_KEYS * 2];
};

static inline void
tcnl_actions_init(struct tcnl_actions *as)
{
    as->n = 0;
    as->n_pedit_keys = 0;
    as->has_cookie = false;
}

/* Appends an action with 'verdict', no cookie; returns it to be filled, or
 * NULL when the kernel's limit is reached. */
struct tcnl_action *tcnl_actions_add(struct tcnl_actions *,
                                     enum tcnl_action_kind,
                                     uint32_t verdict);

const char *tcnl_action_kind_name(enum tcnl_action_kind);

/* Do both do the same, with the same cookies?  Of a police action only index
 * and verdict are compared. */
bool tcnl_actions_equal(const struct tcnl_actions *,
                        const struct tcnl_actions *);

/* Puts the list as attribute 'type' (TCA_FLOWER_ACT). */
void tcnl_actions_put(struct tcnl_buffer *, uint16_t type,
                      const struct tcnl_actions *);

/* Reads a TCA_FLOWER_ACT attribute from a full dump or an echo.  Returns 0;
 * EBADMSG for malformed ones; EOPNOTSUPP for a kind or a form that struct
 * tcnl_action cannot say. */
int tcnl_actions_parse(const struct nlattr *acts, struct tcnl_actions *);

/* What the actions of one filter counted, terse or full form.
 *
 * The counters are those of the action that has seen most packets among the
 * filter's own; police actions are shared between filters and left out.
 * 'lastuse_ms' is the shortest time since the last use of one, only in full
 * form ('has_times').  The kernel sets it to the time of the install at first:
 * 'never_used' says that it is still that, and that nothing was counted. */
struct tcnl_filter_counters {
    struct tcnl_stats stats;
    bool has_cookie;
    uint8_t cookie[TCNL_COOKIE_LEN];
    bool has_times;
    bool never_used;
    uint64_t lastuse_ms;
};

/* Reads only the above out of a TCA_FLOWER_ACT attribute; made for speed.
 * Returns 0 or EBADMSG. */
int tcnl_actions_parse_counters(const struct nlattr *acts,
                                struct tcnl_filter_counters *);

#endif /* tcnl/action.h */
