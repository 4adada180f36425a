/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-single.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "openvswitch/vlog.h"
#include "tcnl/batch.h"
#include "tcnl/qdisc.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(tcb_single);

/* Tries of a delete. */
#define MAX_TRIES 8

void
tcb_reading_take(struct tcb_reading *r, const struct tcnl_filter_id *id,
                 const struct nlmsghdr *nlh)
{
    struct tcnl_filter_info info;

    if (tcnl_filter_parse(nlh, &info) || info.id.handle != id->handle) {
        return;
    }
    r->present = true;
    if (info.acts) {
        r->has_counters = !tcnl_actions_parse_counters(info.acts,
                                                       &r->counters);
        r->has_held = r->has_counters
                      && tcnl_actions_find_held(info.acts, &r->held);
    }
}

/* A request under way. */
struct single {
    const struct tcnl_filter_id *id;
    struct tcb_reading *reading;
};

static void
take_reply(void *single_, unsigned int slot OVS_UNUSED,
           const struct nlmsghdr *nlh)
{
    struct single *single = single_;

    tcb_reading_take(single->reading, single->id, nlh);
}

static int
build_get(struct tcnl_buffer *b, const void *id)
{
    return tcnl_filter_put_get(b, id);
}

static int
build_del(struct tcnl_buffer *b, const void *id)
{
    return tcnl_filter_put_del(b, id, NLM_F_ECHO);
}

int
tcb_single_get(struct tcnl_transport *transport,
               const struct tcnl_filter_id *id, struct tcb_reading *reading)
{
    struct single single = { .id = id, .reading = reading };

    memset(reading, 0, sizeof *reading);
    return tcnl_transact(transport, build_get, id, take_reply, &single, NULL);
}

bool
tcb_single_del(struct tcnl_transport *transport,
               const struct tcnl_filter_id *id, const char *what,
               struct tcb_reading *final)
{
    static struct vlog_rate_limit rl = VLOG_RATE_LIMIT_INIT(5, 20);
    struct single single = { .id = id, .reading = final };
    struct tcnl_error error;

    memset(final, 0, sizeof *final);
    for (int i = 0; i < MAX_TRIES; i++) {
        if (!tcnl_transact(transport, build_del, id, take_reply, &single,
                           &error)
            || tcb_delete_found_nothing(transport, id->ifindex, &error)) {
            return true;
        }
    }
    VLOG_WARN_RL(&rl, "ifindex %d chain %"PRIu32" prio %u handle 0x%"PRIx32
                 ": cannot delete %s (%s%s%s)", id->ifindex, id->chain,
                 id->prio, id->handle, what, ovs_strerror(error.error),
                 error.text[0] ? ": " : "", error.text);
    return false;
}

bool
tcb_delete_found_nothing(struct tcnl_transport *transport, int ifindex,
                         const struct tcnl_error *error)
{
    struct tcnl_qdisc qdisc;

    switch (error->error) {
    case ENOENT:
    case ENODEV:
        return true;
    case EINVAL:
        /* This is also what the kernel says of a missing qdisc. */
        return !tcnl_qdisc_get(transport, ifindex, &qdisc, NULL)
               && qdisc.kind == TCNL_QDISC_NONE;
    default:
        return false;
    }
}
