/* SPDX-License-Identifier: Apache-2.0 */
#include "action.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <linux/pkt_cls.h>
#include <linux/tc_act/tc_csum.h>
#include <linux/tc_act/tc_ct.h>
#include <linux/tc_act/tc_gact.h>
#include "attr.h"

/* What of an action the counters need: pointers into the message. */
struct raw {
    const struct nlattr *kind, *stats, *options, *cookie;
};

static bool
find_raw(const struct nlattr *nest, struct raw *raw)
{
    struct tcnl_attrs it = tcnl_attrs_nested(nest);
    const struct nlattr *a;

    raw->kind = raw->stats = raw->options = raw->cookie = NULL;
    while ((a = tcnl_attrs_next(&it))) {
        switch (tcnl_attr_type(a)) {
        case TCA_ACT_KIND:
            raw->kind = a;
            break;
        case TCA_ACT_STATS:
            raw->stats = a;
            break;
        case TCA_ACT_OPTIONS:
            raw->options = a;
            break;
        case TCA_ACT_COOKIE:
            raw->cookie = a;
            break;
        }
    }
    return raw->kind && tcnl_attrs_ok(&it);
}

/* The number of the times' attribute: 1 in most kinds (also those that are not
 * in the table), so only the exceptions need the name. */
static unsigned int
tm_type(const struct nlattr *kind)
{
    return tcnl_attr_is_string(kind, "csum") ? TCA_CSUM_TM
           : tcnl_attr_is_string(kind, "ct") ? TCA_CT_TM
           : tcnl_attr_is_string(kind, "police") ? TCA_POLICE_TM
           : TCA_GACT_TM;
}

static bool
find_times(const struct raw *raw, struct tcf_t *tm)
{
    struct tcnl_attrs it = tcnl_attrs_nested(raw->options);
    unsigned int type = tm_type(raw->kind);
    const struct nlattr *a;

    while ((a = tcnl_attrs_next(&it))) {
        if (tcnl_attr_type(a) == type) {
            return tcnl_attr_get(a, tm, sizeof *tm);
        }
    }
    return false;
}

/* The times in struct tcf_t count backwards from now, in USER_HZ. */
static void
add_times(const struct raw *raw, struct tcnl_filter_counters *c)
{
    struct tcf_t tm;
    uint64_t ms;

    if (!find_times(raw, &tm)) {
        return;
    }
    ms = tm.lastuse * 1000 / (uint64_t) sysconf(_SC_CLK_TCK);
    if (!c->has_times || ms < c->lastuse_ms) {
        c->lastuse_ms = ms;
    }

    /* A packet within the first USER_HZ tick leaves the two equal, but sets
     * the first use; a driver does not set that, but moves the last use.  The
     * kernel reads the clock for each, and it may tick in between. */
    c->never_used = (!c->has_times || c->never_used)
                    && (tm.lastuse == tm.install
                        || tm.lastuse == tm.install + 1) && !tm.firstuse;
    c->has_times = true;
}

static bool
add_stats(const struct nlattr *attr, struct tcnl_filter_counters *c)
{
    struct tcnl_stats stats;

    if (tcnl_stats_parse(attr, &stats)) {
        return false;
    }
    if (stats.packets > c->stats.packets
        || (stats.packets == c->stats.packets
            && stats.bytes >= c->stats.bytes)) {
        c->stats = stats;
    }
    return true;
}

static bool
add_action(const struct raw *raw, struct tcnl_filter_counters *c)
{
    if (raw->cookie && !c->has_cookie) {
        c->has_cookie = tcnl_attr_get(raw->cookie, c->cookie,
                                      sizeof c->cookie);
    }

    /* A shared police, which has no cookie (see struct tcnl_action). */
    if (!raw->cookie && tcnl_attr_is_string(raw->kind, "police")) {
        return true;
    }
    if (raw->options) {
        add_times(raw, c);
    }
    return !raw->stats || add_stats(raw->stats, c);
}

/* Kinds whose parameters are attribute TCA_GACT_PARMS, and begin with
 * tc_gen. */
static bool
is_holdable(const struct raw *raw)
{
    return (tcnl_attr_is_string(raw->kind, "gact")
            || tcnl_attr_is_string(raw->kind, "mirred"));
}

static bool
take_held(const struct raw *raw, struct tcnl_held *held)
{
    struct tcnl_attrs it = tcnl_attrs_nested(raw->options);
    const struct nlattr *a;

    while ((a = tcnl_attrs_next(&it))) {
        size_t len = tcnl_attr_len(a);

        if (tcnl_attr_type(a) == TCA_GACT_PARMS
            && len >= sizeof(struct tc_gact) && len <= sizeof held->parms) {
            strcpy(held->kind, tcnl_attr_is_string(raw->kind, "gact")
                               ? "gact" : "mirred");
            memcpy(held->parms, tcnl_attr_data(a), len);
            held->parms_len = len;
            return true;
        }
    }
    return false;
}

bool
tcnl_actions_find_held(const struct nlattr *acts, struct tcnl_held *held)
{
    struct tcnl_attrs it = tcnl_attrs_nested(acts);
    struct tcnl_filter_counters total;
    const struct nlattr *nest;

    if (tcnl_actions_parse_counters(acts, &total)) {
        return false;
    }
    while ((nest = tcnl_attrs_next(&it))) {
        struct tcnl_stats stats;
        struct raw raw;

        if (find_raw(nest, &raw) && is_holdable(&raw) && raw.options
            && raw.stats && !tcnl_stats_parse(raw.stats, &stats)
            && stats.packets >= total.stats.packets) {
            return take_held(&raw, held);
        }
    }
    return false;
}

int
tcnl_actions_parse_counters(const struct nlattr *acts,
                            struct tcnl_filter_counters *c)
{
    struct tcnl_attrs it = tcnl_attrs_nested(acts);
    const struct nlattr *nest;
    struct raw raw;

    memset(&c->stats, 0, sizeof c->stats);
    c->has_cookie = false;
    c->has_times = false;
    c->never_used = false;
    c->lastuse_ms = 0;
    while ((nest = tcnl_attrs_next(&it))) {
        if (!find_raw(nest, &raw) || !add_action(&raw, c)) {
            return EBADMSG;
        }
    }
    if (c->stats.packets) {
        c->never_used = false;
    }
    return tcnl_attrs_ok(&it) ? 0 : EBADMSG;
}
