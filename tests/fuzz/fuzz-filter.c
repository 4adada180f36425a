/* SPDX-License-Identifier: Apache-2.0 */

/* Any bytes as a message about a filter.  Nothing may be read outside of it,
 * and what is accepted must come back the same when it is sent. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/rtnetlink.h>
#include "tcnl/action.h"
#include "tcnl/filter.h"
#include "tcnl/flower.h"
#include "tcnl/pedit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool condition)
{
    if (!condition) {
        abort();
    }
}

struct parsed {
    struct tcnl_filter_info info;
    struct tcnl_flower flower;
    struct tcnl_actions actions;
};

/* Parses all of it; returns whether it is a filter that can be sent. */
static bool
parse(const struct nlmsghdr *nlh, struct parsed *p)
{
    struct tcnl_filter_counters counters;
    int error;

    if (tcnl_filter_parse(nlh, &p->info) || !p->info.acts) {
        return false;
    }
    tcnl_actions_parse_counters(p->info.acts, &counters);
    error = tcnl_actions_parse(p->info.acts, &p->actions);
    return !tcnl_filter_parse_flower(&p->info, &p->flower) && !error;
}

static void
check_again(const struct parsed *p)
{
    static uint32_t memory[65536];
    static struct parsed again;
    struct tcnl_buffer b;
    int error;

    tcnl_buffer_init(&b, memory, sizeof memory);
    error = tcnl_filter_put_new(&b, &p->info.id, &p->flower, &p->actions, 0);
    check(!error || error == EINVAL || error == EMSGSIZE);
    check(error != EINVAL || !tcnl_flower_is_complete(&p->flower));
    if (error) {
        return;
    }
    check(!tcnl_filter_parse((void *) memory, &again.info));

    /* A match on nothing is sent without keys, like a terse reply. */
    if (!again.info.has_keys) {
        check(!p->flower.present);
        return;
    }
    check(parse((void *) memory, &again));
    check(tcnl_flower_equal(&p->flower, &again.flower));
    check(tcnl_actions_equal(&p->actions, &again.actions));
}

static bool
rewrites_equal(const struct tcnl_rewrites *a, const struct tcnl_rewrites *b)
{
    return a->present == b->present
           && !memcmp(&a->value, &b->value, sizeof a->value)
           && !memcmp(&a->mask, &b->mask, sizeof a->mask);
}

static void
check_pedit(const struct tcnl_actions *as, const struct tcnl_action *a)
{
    struct tcnl_pedit_key keys[TCNL_MAX_PEDIT_KEYS];
    struct tcnl_rewrites r, again;
    unsigned int n;

    if (a->kind != TCNL_ACT_PEDIT
        || tcnl_pedit_to_rewrites(&as->pedit_keys[a->pedit.first], a->pedit.n,
                                  &r)) {
        return;
    }
    n = tcnl_pedit_from_rewrites(&r, keys, TCNL_MAX_PEDIT_KEYS);
    check(n > 0);
    check(!tcnl_pedit_to_rewrites(keys, n, &again));
    check(rewrites_equal(&r, &again));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct parsed p;
    struct nlmsghdr *nlh;

    /* The rest of the message tells its length itself. */
    if (size < sizeof *nlh) {
        return 0;
    }
    nlh = malloc(size);
    check(nlh != NULL);
    memcpy(nlh, data, size);
    nlh->nlmsg_len = (uint32_t) size;
    if (parse(nlh, &p)) {
        check_again(&p);
        for (unsigned int i = 0; i < p.actions.n; i++) {
            check_pedit(&p.actions, &p.actions.a[i]);
        }
    }
    free(nlh);
    return 0;
}
