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
    TCNL_ACT_POLICE_MTU,        /* A test of the packet's length. */
    TCNL_ACT_MPLS,
    TCNL_ACT_CT,
    TCNL_ACT_TUNNEL_KEY,        /* Tunnel metadata, set or released. */
    TCNL_N_ACTION_KINDS
};

struct tcnl_action {
    enum tcnl_action_kind kind;
    bool cookie;                /* Carries the list's cookie. */
    bool no_percpu;             /* TCA_ACT_FLAGS_NO_PERCPU_STATS.  Neither is
                                 * sent with a police by index: the action is
                                 * there already, shared, and would take the
                                 * cookie of whoever bound it last. */
    uint32_t verdict;           /* TC_ACT_PIPE, _SHOT, _STOLEN,
                                 * _GOTO_CHAIN | chain, or _JUMP | n: go on
                                 * with action n, counted from 0. */
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
        struct {
            uint32_t mtu;       /* 'verdict' is for packets longer than this,
                                 * Ethernet header included, */
            uint32_t conform;   /* and this for the others. */
        } police_mtu;
        struct {
            uint8_t op;         /* TCA_MPLS_ACT_POP, _PUSH, _MODIFY. */
            uint8_t tc, ttl, bos;
            uint16_t proto;     /* Network order; not of _MODIFY. */
            uint32_t label;     /* Host order; this, tc, ttl and bos not of
                                 * _POP. */
        } mpls;
        struct {
            uint16_t flags;     /* TCA_CT_ACT_*. */
            uint8_t params;     /* In the list's 'cts', without _CLEAR. */
        } ct;
        struct {
            bool set;           /* Otherwise release. */
            uint8_t params;     /* In the list's 'tunnels', if set. */
            uint16_t geneve_ofs; /* In the list's 'geneve', if set. */
        } tunnel;
    };
};

/* Parameters of conntrack.  Addresses are in network order; marks, labels and
 * the zone as the kernel has them in attributes (host order; labels as bytes).
 * Values have no bits outside of their masks. */
struct tcnl_ct {
    uint32_t mark, mark_mask;
    uint8_t label[16], label_mask[16];
    uint8_t addr_min[16], addr_max[16]; /* For NAT, both ends included; 4
                                         * bytes of IPv4. */
    uint16_t port_min, port_max; /* Network order; 0: any. */
    uint16_t zone;
    uint8_t family;             /* 4 or 6; 0: any address. */
    uint8_t pad;                /* 0: blocks are compared as bytes. */
};

/* The tunnel header that a packet gets.  Zeros are left to the device. */
struct tcnl_tunnel {
    uint32_t id;                /* Network order. */
    uint32_t gbp;               /* See tunnel-opts.h. */
    uint8_t src[16], dst[16];   /* 4 bytes of IPv4. */
    uint16_t tp_dst;            /* Network order. */
    uint8_t family;             /* 4 or 6. */
    uint8_t tos, ttl;
    bool has_id, csum, dont_fragment, has_gbp;
    uint8_t geneve_len;         /* Bytes in the list's 'geneve'. */
    uint8_t pad[2];             /* 0: blocks are compared as bytes. */
};

#define TCNL_MAX_CTS 8
#define TCNL_MAX_TUNNELS 8
#define TCNL_MAX_GENEVE_SETS 504

/* About 4.5 KB, for the stack; only the first 'n' actions, 'n_pedit_keys' keys
 * and so on mean anything, nothing needs clearing. */
struct tcnl_actions {
    uint8_t n;
    uint8_t n_pedit_keys;
    uint8_t n_cts;
    uint8_t n_tunnels;
    uint16_t geneve_len;
    bool has_cookie;
    uint8_t cookie[TCNL_COOKIE_LEN];
    struct tcnl_action a[TCNL_MAX_ACTIONS];
    struct tcnl_pedit_key pedit_keys[TCNL_MAX_PEDIT_KEYS * 2];
    struct tcnl_ct cts[TCNL_MAX_CTS];
    struct tcnl_tunnel tunnels[TCNL_MAX_TUNNELS];
    uint8_t geneve[TCNL_MAX_GENEVE_SETS];   /* Options of all tunnels. */
};

static inline void
tcnl_actions_init(struct tcnl_actions *as)
{
    as->n = 0;
    as->n_pedit_keys = 0;
    as->n_cts = 0;
    as->n_tunnels = 0;
    as->geneve_len = 0;
    as->has_cookie = false;
}

/* Appends an action with 'verdict', no cookie; returns it to be filled, or
 * NULL when the kernel's limit is reached. */
struct tcnl_action *tcnl_actions_add(struct tcnl_actions *,
                                     enum tcnl_action_kind,
                                     uint32_t verdict);

/* Each gives action 'a', TCNL_ACT_CT or TCNL_ACT_TUNNEL_KEY, a block of
 * parameters, all zeros; returns it to be filled, or NULL when there is no
 * more room.  A tunnel gets 'len' bytes of Geneve options. */
struct tcnl_ct *tcnl_actions_add_ct(struct tcnl_actions *,
                                    struct tcnl_action *);
struct tcnl_tunnel *tcnl_actions_add_tunnel(struct tcnl_actions *,
                                            struct tcnl_action *,
                                            const uint8_t *geneve,
                                            unsigned int len);

const char *tcnl_action_kind_name(enum tcnl_action_kind);

/* Do both do the same, with the same cookies?  Of a police action only index
 * and verdict are compared. */
bool tcnl_actions_equal(const struct tcnl_actions *,
                        const struct tcnl_actions *);

/* The same, but tells the first difference: returns the name of the attribute,
 * or NULL. */
const char *tcnl_actions_differ(const struct tcnl_actions *,
                                const struct tcnl_actions *);

/* Adds to 'hash' the kinds of the actions and the attributes that each has:
 * see shape.h. */
uint64_t tcnl_actions_shape(const struct tcnl_actions *, uint64_t hash);

/* Puts the list as attribute 'type' (TCA_FLOWER_ACT). */
void tcnl_actions_put(struct tcnl_buffer *, uint16_t type,
                      const struct tcnl_actions *);

/* Reads a TCA_FLOWER_ACT attribute from a full dump or an echo.  Returns 0;
 * EBADMSG for malformed ones; EOPNOTSUPP for a kind or a form that struct
 * tcnl_action cannot say (then the list is what it could say). */
int tcnl_actions_parse(const struct nlattr *acts, struct tcnl_actions *);

/* What the actions of one filter counted, terse or full form.
 *
 * The counters are those of the action that has seen most packets among the
 * filter's own; police actions without a cookie are shared between filters and
 * left out.
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

/* An action of a filter in the kernel that counts what the filter does: as the
 * kernel told of it, with its index, so that another filter can bind it. */
#define TCNL_HELD_PARMS 64

struct tcnl_held {
    char kind[16];
    uint8_t parms[TCNL_HELD_PARMS];     /* TCA_GACT_PARMS, TCA_MIRRED_PARMS. */
    size_t parms_len;
};

/* Finds such an action in a TCA_FLOWER_ACT attribute of the full form; false
 * if there is none: only gact and mirred are looked at, of which nearly every
 * filter has one. */
bool tcnl_actions_find_held(const struct nlattr *acts, struct tcnl_held *);

#endif /* tcnl/action.h */
