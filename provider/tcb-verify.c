/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-run.h"

#include "tcb-offload.h"
#include "tcnl/shape.h"
#include "util.h"

bool
tcb_verify_wanted(const struct tcb_run *run, uint64_t shape)
{
    const struct tcb_worker *w = run->worker;

    for (unsigned int i = 0; shape && i < w->batch.n_slots; i++) {
        if (w->tasks[i].shape == shape) {
            return false;
        }
    }
    return shape != 0;
}

void
tcb_verify_reply(struct tcb_run *run, unsigned int slot,
                 const struct nlmsghdr *nlh)
{
    const struct tcnl_batch *batch = &run->worker->batch;
    struct tcnl_difference d;

    if (!tcnl_shape_compare(ALIGNED_CAST(const struct nlmsghdr *,
                                         batch->buffer.data
                                         + batch->slots[slot].ofs),
                            nlh, &d)) {
        tcb_shape_note(&run->offload->shapes, run->worker->tasks[slot].shape,
                       &d);
    }
}

bool
tcb_verify_refused(const struct tcb_run *run, const struct tcb_task *task,
                   struct tcb_refusal *why)
{
    const char *reason;

    if (!task->shape
        || tcb_shape_find(&run->offload->shapes, task->shape, &reason)
           != TCB_SHAPE_REFUSED) {
        return false;
    }
    if (why) {
        tcb_refuse(why, TCB_CAUSE_SHAPE, "%s", reason);
    }
    return true;
}

/* A filter read back. */
struct reading {
    struct tcb_run *run;
    unsigned int slot;
};

static int
build_get(struct tcnl_buffer *b, const void *reading_)
{
    const struct reading *r = reading_;

    return tcb_build_get(b, r->run, r->run->worker->tasks[r->slot].flow);
}

static void
take_reading(void *reading_, unsigned int slot OVS_UNUSED,
             const struct nlmsghdr *nlh)
{
    struct reading *r = reading_;

    tcb_verify_reply(r->run, r->slot, nlh);
}

void
tcb_verify_rest(struct tcb_run *run)
{
    const struct tcb_worker *w = run->worker;

    for (unsigned int i = 0; i < w->batch.n_slots; i++) {
        uint64_t shape = w->tasks[i].shape;
        struct reading r = { .run = run, .slot = i };

        if (shape && w->batch.slots[i].state == TCNL_OK
            && tcb_shape_find(&run->offload->shapes, shape, NULL)
               == TCB_SHAPE_UNKNOWN
            && tcnl_transact(w->transport, build_get, &r, take_reading, &r,
                             NULL)) {
            /* It stays unknown. */
            break;
        }
    }
}
