/* SPDX-License-Identifier: Apache-2.0 */
#include "shape.h"

#include <errno.h>
#include <stddef.h>
#include "filter.h"
#include "word.h"

uint64_t
tcnl_shape_hash(const struct tcnl_flower *flower,
                const struct tcnl_actions *actions)
{
    uint64_t hash = tcnl_flower_shape(flower, TCNL_HASH_BASIS);

    return tcnl_actions_shape(actions, hash);
}

struct filter {
    struct tcnl_filter_info info;
    struct tcnl_flower flower;
    struct tcnl_actions actions;
};

/* Reads what we know; a reply may have more.  A filter may have no key. */
static int
read_filter(const struct nlmsghdr *nlh, struct filter *f)
{
    if (tcnl_filter_parse(nlh, &f->info) || !f->info.is_flower
        || !f->info.acts
        || tcnl_actions_parse(f->info.acts, &f->actions) == EBADMSG) {
        return EBADMSG;
    }
    tcnl_flower_init(&f->flower);
    f->flower.cls_flags = f->info.cls_flags;
    return f->info.has_keys
           && tcnl_filter_parse_flower(&f->info, &f->flower) == EBADMSG
           ? EBADMSG : 0;
}

static const char *
ids_differ(const struct tcnl_filter_id *a, const struct tcnl_filter_id *b)
{
    return a->chain != b->chain ? "TCA_CHAIN"
           : a->prio != b->prio || a->proto != b->proto ? "tcm_info" : NULL;
}

int
tcnl_shape_compare(const struct nlmsghdr *sent, const struct nlmsghdr *reply,
                   struct tcnl_difference *d)
{
    struct filter a, b;

    if (read_filter(sent, &a) || read_filter(reply, &b)) {
        return EBADMSG;
    }
    d->missing = false;
    d->name = ids_differ(&a.info.id, &b.info.id);
    if (!d->name) {
        d->name = tcnl_flower_lacks(&a.flower, &b.flower, &d->missing);
    }
    if (!d->name) {
        d->name = tcnl_actions_differ(&a.actions, &b.actions);
    }
    return 0;
}
