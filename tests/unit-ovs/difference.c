/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "difference.h"

#include <string.h>

#include "netlink.h"
#include "odp-netlink.h"
#include "util.h"

/* Flows. */

static bool
applies_always(const struct test_flow *flow OVS_UNUSED,
               const struct test_text *text OVS_UNUSED)
{
    return true;
}

static bool
proto_is_0(const struct test_flow *flow OVS_UNUSED,
           const struct test_text *text)
{
    return strstr(text->match, "(proto=0,") != NULL;
}

static bool
mpls_behind_vlan(const struct test_flow *flow OVS_UNUSED,
                 const struct test_text *text)
{
    return strstr(text->match, "encap(") && strstr(text->match, "mpls(");
}

static bool
tunnel_without_key(const struct test_flow *flow OVS_UNUSED,
                   const struct test_text *text)
{
    return strstr(text->match, "tunnel(") && !strstr(text->match, "+key");
}

static bool
gbp_flags_alone(const struct test_flow *flow OVS_UNUSED,
                const struct test_text *text)
{
    return strstr(text->match, "gbp(id=5/0,") != NULL;
}

/* Lists of actions. */

typedef bool list_func(const struct nlattr *actions, size_t len, bool last,
                       bool tunnel);

static const struct nlattr *
last_action(const struct nlattr *actions, size_t len)
{
    const struct nlattr *a, *last = NULL;
    size_t left;

    NL_ATTR_FOR_EACH (a, left, actions, len) {
        last = a;
    }
    return last;
}

static bool
last_is(const struct nlattr *actions, size_t len, uint16_t type)
{
    const struct nlattr *last = last_action(actions, len);

    return last && nl_attr_type(last) == type;
}

static bool
is_set(const struct nlattr *a)
{
    return (nl_attr_type(a) == OVS_ACTION_ATTR_SET
            || nl_attr_type(a) == OVS_ACTION_ATTR_SET_MASKED);
}

static const struct nlattr *
branch(const struct nlattr *check_len, uint16_t type)
{
    return nl_attr_find_nested(check_len, type);
}

static const uint16_t branch_types[] = {
    OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_GREATER,
    OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_LESS_EQUAL,
};

/* Calls 'func' for each branch of each check_pkt_len, until it is true. */
static bool
any_branch(const struct nlattr *actions, size_t len, bool last,
           list_func *func)
{
    const struct nlattr *a;
    size_t left;

    NL_ATTR_FOR_EACH (a, left, actions, len) {
        bool at_end = last && nl_attr_len_pad(a, left) >= left;

        if (nl_attr_type(a) != OVS_ACTION_ATTR_CHECK_PKT_LEN) {
            continue;
        }
        for (size_t i = 0; i < ARRAY_SIZE(branch_types); i++) {
            const struct nlattr *b = branch(a, branch_types[i]);

            if (b && (func(nl_attr_get(b), nl_attr_get_size(b), at_end,
                           i == 0)
                      || any_branch(nl_attr_get(b), nl_attr_get_size(b),
                                    at_end, func))) {
                return true;
            }
        }
    }
    return false;
}

static bool
in_branches(const struct test_flow *flow, list_func *func)
{
    return any_branch(flow->actions.data, flow->actions.size, true, func);
}

static bool
begins_with_meter(const struct test_flow *flow,
                  const struct test_text *text OVS_UNUSED)
{
    const struct nlattr *a = flow->actions.data;

    return (flow->actions.size
            && nl_attr_type(a) == OVS_ACTION_ATTR_METER);
}

static bool
ends_in_police(const struct test_flow *flow,
               const struct test_text *text OVS_UNUSED)
{
    return last_is(flow->actions.data, flow->actions.size,
                   OVS_ACTION_ATTR_METER);
}

static bool
has_set(const struct nlattr *actions, size_t len, bool last,
        bool first OVS_UNUSED)
{
    const struct nlattr *a;
    size_t left;

    NL_ATTR_FOR_EACH (a, left, actions, len) {
        if (!last && is_set(a)) {
            return true;
        }
    }
    return false;
}

static bool
set_in_copy(const struct test_flow *flow,
            const struct test_text *text OVS_UNUSED)
{
    return in_branches(flow, has_set);
}

static bool
ends_in_set(const struct nlattr *actions, size_t len, bool last OVS_UNUSED,
            bool first OVS_UNUSED)
{
    const struct nlattr *a = last_action(actions, len);

    return a && (is_set(a) || nl_attr_type(a) == OVS_ACTION_ATTR_METER);
}

static bool
branch_ends_in_set(const struct test_flow *flow,
                   const struct test_text *text OVS_UNUSED)
{
    return in_branches(flow, ends_in_set);
}

static bool
ends_in_branches(const struct nlattr *actions, size_t len,
                 bool last OVS_UNUSED, bool first OVS_UNUSED)
{
    const struct nlattr *a = last_action(actions, len);

    if (!a || nl_attr_type(a) != OVS_ACTION_ATTR_CHECK_PKT_LEN) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_SIZE(branch_types); i++) {
        const struct nlattr *b = branch(a, branch_types[i]);

        if (!b || !nl_attr_get_size(b)) {
            return true;
        }
    }
    return false;
}

static bool
empty_branch_in_branch(const struct test_flow *flow,
                       const struct test_text *text OVS_UNUSED)
{
    return in_branches(flow, ends_in_branches);
}

static bool
tunnel_in_branches(const struct test_flow *flow OVS_UNUSED,
                   const struct test_text *text)
{
    return (strstr(text->match, "tunnel(")
            && strstr(text->actions, "check_pkt_len"));
}

static bool
tunnel_then_drop(const struct test_flow *flow, const struct test_text *text)
{
    return (strstr(text->match, "tunnel(")
            && last_is(flow->actions.data, flow->actions.size,
                       OVS_ACTION_ATTR_DROP));
}

/* Is there nothing in the list that the other provider gives a cookie? */
static bool
list_without_cookie(const struct nlattr *actions, size_t len)
{
    const struct nlattr *a;
    size_t left;

    NL_ATTR_FOR_EACH (a, left, actions, len) {
        switch (nl_attr_type(a)) {
        case OVS_ACTION_ATTR_OUTPUT:
        case OVS_ACTION_ATTR_RECIRC:
        case OVS_ACTION_ATTR_DROP:
        case OVS_ACTION_ATTR_CT:
        case OVS_ACTION_ATTR_CT_CLEAR:
        case OVS_ACTION_ATTR_CHECK_PKT_LEN:
            return false;
        }
    }
    return len > 0;
}

static bool
without_cookie(const struct test_flow *flow,
               const struct test_text *text OVS_UNUSED)
{
    return list_without_cookie(flow->actions.data, flow->actions.size);
}

/* The differences. */

#define ETH "recirc_id(0),in_port(1),eth(src=00:00:00:00:00:01),"
#define IP4 ETH "eth_type(0x0800),ipv4(frag=no)"
#define TCP4 ETH "eth_type(0x0800),ipv4(proto=6,frag=no),tcp()"
#define TUNNEL(ID, REST) \
    "tunnel(tun_id=" ID ",src=1.1.1.1,dst=2.2.2.2,ttl=64/0," REST ")," IP4
#define BRANCH(ACTIONS) "check_pkt_len(size=200,gt(" ACTIONS "),le(1)),2"
#define ENCAP "set(tunnel(dst=1.1.1.1,ttl=1,flags()))"
#define SET6 "set(ipv6(src=1::1,dst=2::2,tclass=0xff,hlimit=2))"
#define X4(A) A "," A "," A "," A

#define REFUSED(NAME, DETAIL, MATCH, ACTIONS)                           \
    { NAME, DIFFERENCE_REFUSED, DETAIL, applies_always,                 \
      { MATCH, ACTIONS }, false }
#define REFUSED_BY_ALL(NAME, DETAIL, MATCH, ACTIONS)                    \
    { NAME, DIFFERENCE_REFUSED, DETAIL, applies_always,                 \
      { MATCH, ACTIONS }, true }
#define OTHER(NAME, EFFECT, APPLIES, MATCH, ACTIONS)                    \
    { NAME, DIFFERENCE_##EFFECT, NULL, APPLIES, { MATCH, ACTIONS }, false }

const struct difference differences[] = {
    /* Matches. */
    OTHER("IP protocol 0", KEYS, proto_is_0,
          ETH "eth_type(0x0800),ipv4(proto=0,frag=no)", "2"),
    REFUSED("Ethernet type with wildcards", "eth_type that is not exact",
            ETH "eth_type(0x88cc/0xff00)", "2"),
    OTHER("MPLS behind VLAN tags", KEYS, mpls_behind_vlan,
          ETH "eth_type(0x8100),vlan(vid=5,pcp=3),encap(eth_type(0x8847),"
          "mpls(label=7,tc=1,ttl=64,bos=1))", "2"),
    REFUSED("part of the bits of an MPLS field", "mpls with a partial mask",
            ETH "eth_type(0x8847),mpls(label=1/3,tc=0,ttl=64,bos=1)", "2"),
    REFUSED_BY_ALL("ct_state of no packet", "ct_state of no packet",
                   "ct_state(+new+rpl+trk)," IP4, "2"),
    OTHER("tunnel header without a key", KEYS, tunnel_without_key,
          TUNNEL("0x0", "flags(-key)"), "2"),
    REFUSED("part of the bits of a tunnel id", "tunnel id with a partial mask",
            TUNNEL("0x1/0xff", "flags(+key)"), "2"),
    REFUSED("tunnel id above 32 bits", "tunnel id above 32 bits",
            TUNNEL("0x100000001", "flags(+key)"), "2"),
    REFUSED("tunnel header of two address families", "tunnel of two kinds",
            "tunnel(tun_id=0x7,src=1.1.1.1,ipv6_dst=2001::2,ttl=64/0,"
            "flags(+key))," IP4, "2"),
    OTHER("VXLAN group policy flags without the id", KEYS, gbp_flags_alone,
          TUNNEL("0x7", "vxlan(gbp(id=5/0,flags=0x8/0x48)),flags(+key)"),
          "2"),
    REFUSED("unknown bits of VXLAN group policy flags",
            "tunnel with unknown vxlan gbp flags",
            TUNNEL("0x7", "vxlan(gbp(id=5,flags=0x1)),flags(+key)"), "2"),
    REFUSED_BY_ALL("Geneve options without data",
                   "tunnel with odd geneve options",
                   TUNNEL("0x7", "geneve({class=0x102,type=0x80,len=0}),"
                          "flags(+key)"), "2"),

    /* Actions. */
    OTHER("meter that comes first", ACTIONS, begins_with_meter,
          IP4, "meter(1),2"),
    OTHER("police at the end of a list", ACTIONS, ends_in_police,
          IP4, "2,meter(1)"),
    OTHER("list without output, goto or drop", COOKIE, without_cookie,
          IP4, "pop_vlan"),
    REFUSED("recirculation with more to follow", "recirc with more to follow",
            IP4, "recirc(7),2"),
    REFUSED("set of the whole IPv6 header",
            "set(ipv6) of a field that TC does not set",
            ETH "eth_type(0x86dd),ipv6(proto=6,frag=no),tcp()",
            "set_ipv6,2"),
    REFUSED("ct: timeout", "ct(timeout)", IP4, "ct(commit,timeout=x),2"),
    REFUSED("ct: nat persistent", "ct(nat(persistent))", IP4,
            "ct(commit,nat(src=1.1.1.1,persistent)),2"),
    REFUSED("ct: nat hash", "ct(nat(hash))", IP4,
            "ct(commit,nat(src=1.1.1.1,hash)),2"),
    REFUSED("ct: nat random", "ct(nat(random))", IP4,
            "ct(commit,nat(src=1.1.1.1,random)),2"),
    REFUSED("set of a tunnel id above 32 bits",
            "set(tunnel) with an id above 32 bits", IP4,
            "set(tunnel(tun_id=0x100000000,dst=1.1.1.1,ttl=64,"
            "flags(key))),2"),
    REFUSED_BY_ALL("set of a tunnel without a destination",
                   "set(tunnel) without a destination", IP4,
                   "set(tunnel(tun_id=0x1,ttl=64,flags(key))),5"),
    REFUSED_BY_ALL("MPLS entry with a TTL of 0", "mpls with a ttl of 0", IP4,
                   "push_mpls(label=5,tc=1,ttl=0,bos=1,eth_type=0x8847),2"),
    OTHER("explicit drop behind an output from a tunnel", ACCEPTED,
          tunnel_then_drop, TUNNEL("0x7", "flags(+key)"), "2,drop"),

    /* check_pkt_len. */
    OTHER("set of headers in a branch", ACTIONS, set_in_copy, TCP4,
          BRANCH("set(eth(src=00:00:00:00:00:05)),1")),
    REFUSED("pop_vlan in a branch", "pop_vlan in a branch of check_pkt_len",
            IP4, BRANCH("pop_vlan,1")),
    REFUSED("push_vlan in a branch", "push_vlan in a branch of check_pkt_len",
            IP4, BRANCH("push_vlan(vid=1,pcp=0),1")),
    REFUSED("ct in a branch", "ct in a branch of check_pkt_len",
            IP4, BRANCH("ct(zone=5),1")),
    REFUSED("meter in a branch", "meter in a branch of check_pkt_len",
            IP4, BRANCH("meter(1),1")),
    REFUSED("recirculation in a branch",
            "recirc in a branch of check_pkt_len", IP4, BRANCH("recirc(7)")),
    REFUSED("set of a tunnel in a branch",
            "set in a branch of check_pkt_len", IP4,
            BRANCH("set(tunnel(dst=1.1.1.1,ttl=1,flags())),1")),
    REFUSED("branches behind a set in a branch",
            "check_pkt_len behind a set in a branch", IP4,
            BRANCH("set(eth(src=00:00:00:00:00:05)),"
                   "check_pkt_len(size=400,gt(1),le(2))")),
    OTHER("first branch that ends in a set or a meter", ACTIONS,
          branch_ends_in_set, TCP4,
          "check_pkt_len(size=200,gt(meter(1)),le(2))"),
    OTHER("branch that ends in branches of which one is empty", ACTIONS,
          empty_branch_in_branch, IP4,
          "check_pkt_len(size=200,gt(check_pkt_len(size=400,gt(drop),le(1))),"
          "le(drop)),3"),
    OTHER("tunnel metadata released in branches", ACTIONS, tunnel_in_branches,
          TUNNEL("0x7", "flags(+key)"),
          "check_pkt_len(size=200,gt(1),le(2)),3"),

    /* Limits. */
    REFUSED("more than 4 meters", "meters", IP4,
            "meter(1),meter(2),meter(3),meter(4),meter(5),2"),
    REFUSED("more than 8 ct actions", "ct actions", IP4,
            X4("ct(zone=5)") "," X4("ct(zone=5)") ",ct(zone=5),2"),
    REFUSED("more than 8 tunnel headers", "tunnels", IP4,
            X4(ENCAP) "," X4(ENCAP) "," ENCAP ",5"),
    REFUSED("more than 64 words of rewritten headers", "pedit keys",
            ETH "eth_type(0x86dd),ipv6(proto=6,frag=no),tcp()",
            X4(SET6) "," X4(SET6) ",2"),
};

const size_t n_differences = ARRAY_SIZE(differences);

const struct difference *
difference_find(enum difference_effect effect, const char *detail,
                const struct test_flow *flow, const struct test_text *text)
{
    for (size_t i = 0; i < n_differences; i++) {
        const struct difference *d = &differences[i];

        if (d->effect == effect
            && (!d->detail || !strcmp(d->detail, detail))
            && d->applies(flow, text)) {
            return d;
        }
    }
    return NULL;
}
