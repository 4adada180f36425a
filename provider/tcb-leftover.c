/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-leftover.h"

#include <errno.h>

#include "tcb-worker.h"
#include "tcnl/dump.h"
#include "util.h"

/* The dump loses filters when a prio goes away meanwhile, so it is repeated
 * until it finds none.  The bound is for someone who adds them all the
 * time. */
#define MAX_ROUNDS 5

#define PRIO_POLICING 1

struct findings {
    struct tcnl_filter_id hook;
    struct tcnl_filter_id *ids;
    size_t n, allocated;
    unsigned int foreign;

    /* Prios in the order of the dump, in which the filters of each follow it;
     * those that have none. */
    struct tcnl_filter_id *prios;
    size_t n_prios, allocated_prios;
    bool in_empty_prio;         /* The last one, as far as is known. */
};

bool
tcb_is_left_by_ovs(const struct tcnl_filter_info *info)
{
    struct tcnl_filter_counters counters;

    return info->is_flower && info->id.prio != PRIO_POLICING && info->acts
           && !tcnl_actions_parse_counters(info->acts, &counters)
           && counters.has_cookie;
}

static void
take_prio(struct findings *f, const struct tcnl_filter_info *info)
{
    f->in_empty_prio = info->is_flower && info->id.prio != PRIO_POLICING;
    if (!f->in_empty_prio) {
        return;
    }
    if (f->n_prios == f->allocated_prios) {
        f->prios = x2nrealloc(f->prios, &f->allocated_prios, sizeof *f->prios);
    }
    f->prios[f->n_prios++] = info->id;
}

static void
take_filter(void *findings_, const struct nlmsghdr *nlh)
{
    struct findings *f = findings_;
    struct tcnl_filter_info info;

    if (tcnl_filter_parse(nlh, &info)) {
        return;
    }
    if (info.is_header) {
        take_prio(f, &info);
        return;
    }
    if (f->in_empty_prio) {
        f->n_prios--;
        f->in_empty_prio = false;
    }
    if (!tcb_is_left_by_ovs(&info)) {
        f->foreign++;
        return;
    }
    if (f->n == f->allocated) {
        f->ids = x2nrealloc(f->ids, &f->allocated, sizeof *f->ids);
    }
    f->ids[f->n++] = info.id;
}

/* A full dump: a terse one leaves out classifiers that have no terse form. */
int
tcb_build_hook_dump(struct tcnl_buffer *b, const void *hook)
{
    return tcnl_filter_put_dump(b, hook, &(struct tcnl_dump_form) { 0 });
}

static int
find_filters(struct tcb_worker *w, struct findings *f,
             struct tcnl_error *error)
{
    enum tcnl_dump_status status;

    f->n = 0;
    f->n_prios = 0;
    f->in_empty_prio = false;
    f->foreign = 0;
    status = tcnl_dump_all(w->transport, tcb_build_hook_dump, &f->hook,
                           take_filter, f, error);
    return status == TCNL_DUMP_FAILED ? error->error : 0;
}

static void
count_filter(void *n_, const struct nlmsghdr *nlh)
{
    unsigned int *n = n_;
    struct tcnl_filter_info info;

    *n += tcnl_filter_parse(nlh, &info) || !info.is_header;
}

bool
tcb_hook_is_empty(struct tcb_worker *w, const struct tcnl_filter_id *hook)
{
    unsigned int n = 0;

    return tcnl_dump_all(w->transport, tcb_build_hook_dump, hook,
                         count_filter, &n, NULL) == TCNL_DUMP_COMPLETE && !n;
}

/* Deletes what was found.  A filter that is gone meanwhile is as good. */
static int
delete_filters(struct tcb_worker *w, const struct findings *f,
               struct tcnl_error *error)
{
    struct tcnl_batch *batch = &w->batch;
    int result = 0;

    for (size_t i = 0; i < f->n && !result; ) {
        while (i < f->n && tcnl_batch_has_room(batch)
               && !tcnl_filter_put_del(&batch->buffer, &f->ids[i], 0)) {
            tcnl_batch_add(batch, 0);
            i++;
        }
        result = tcnl_batch_flush(batch);
        for (unsigned int s = 0; s < batch->n_slots; s++) {
            if (batch->slots[s].state == TCNL_FAILED
                && batch->slots[s].error.error != ENOENT) {
                *error = batch->slots[s].error;
                result = error->error;
            }
        }
        tcnl_batch_clear(batch);
    }
    return result;
}

static int
build_prio_del(struct tcnl_buffer *b, const void *id)
{
    return tcnl_prio_put_del(b, id);
}

/* A prio without filters stays when the echo of the last one's delete did not
 * fit the receive buffer (tc_del_tfilter() in net/sched/cls_api.c).  It is of
 * one protocol, while a later run may want it for another. */
static void
delete_prios(struct tcb_worker *w, const struct findings *f)
{
    for (size_t i = 0; i < f->n_prios; i++) {
        tcnl_transact(w->transport, build_prio_del, &f->prios[i], NULL, NULL,
                      NULL);
    }
}

int
tcb_leftovers_remove(struct tcb_worker *w, const struct tcnl_filter_id *hook,
                     struct tcb_leftovers *leftovers, struct tcnl_error *error)
{
    struct findings f = { .hook = *hook };
    int result = 0;

    leftovers->removed = 0;
    for (int i = 0; i < MAX_ROUNDS; i++) {
        result = find_filters(w, &f, error);
        if (result) {
            break;
        } else if (!f.n) {
            delete_prios(w, &f);
            break;
        }
        result = delete_filters(w, &f, error);
        if (result && result != ENOBUFS) {
            break;
        }
        leftovers->removed += f.n;
    }
    leftovers->foreign = f.foreign;
    free(f.ids);
    free(f.prios);
    return result;
}
