/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-run.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>

#include "tcb-offload.h"
#include "tcb-single.h"
#include "util.h"

/* A lost answer is asked for so often before we give up, with so many messages
 * in a datagram: what has overflowed once will again. */
static const unsigned int round_sizes[] = { 16, 1, 1 };

/* Handles that we try before we take a prio to be full of foreign filters. */
#define MAX_MOVES 8

/* One round of messages in the worker's second batch; message i is about
 * tasks[which[i]]. */
struct round {
    struct tcb_run *run;
    unsigned int which[TCB_BATCH_SLOTS];
    struct tcb_reading readings[TCB_BATCH_SLOTS];
};

/* Its cookie is the flow's ufid. */
static bool
is_ours(const struct tcb_reading *r, const struct tcb_flow *flow)
{
    return r->has_counters && r->counters.has_cookie
           && !memcmp(r->counters.cookie, &flow->ufid, sizeof flow->ufid);
}

static void
round_reply(void *round_, unsigned int slot, const struct nlmsghdr *nlh)
{
    struct round *round = round_;
    struct tcb_task *task = &round->run->worker->tasks[round->which[slot]];
    struct tcnl_filter_id id = tcb_flow_filter_id(task->flow);

    tcb_reading_take(&round->readings[slot], &id, nlh);
}

static bool
is_delete(enum tcb_task_kind kind)
{
    return kind == TCB_TASK_DEL || kind == TCB_TASK_EVICT
           || kind == TCB_TASK_KILL;
}

/* An add is read back.  A delete is sent again: it names a filter that only
 * this flow can have, so it cannot hit another. */
static void
ask_again(struct round *round, unsigned int i)
{
    struct tcb_run *run = round->run;
    struct tcnl_batch *aux = &run->worker->aux;
    struct tcb_task *task = &run->worker->tasks[i];
    unsigned int slot;

    if (is_delete(task->kind)) {
        tcb_build_del(&aux->buffer, run, task->flow);
    } else {
        tcb_build_get_counters(&aux->buffer, run, task->flow);
    }
    slot = tcnl_batch_add(aux, TCB_REPLY_ROOM);
    round->which[slot] = i;
    round->readings[slot] = (struct tcb_reading) { .present = false };
}

static void
settle_one(struct round *round, unsigned int aux_slot)
{
    struct tcb_worker *w = round->run->worker;
    const struct tcnl_slot *answer = &w->aux.slots[aux_slot];
    const struct tcb_reading *r = &round->readings[aux_slot];
    struct tcb_task *task = &w->tasks[round->which[aux_slot]];
    struct tcnl_slot *slot = &w->batch.slots[round->which[aux_slot]];

    /* An ack whose data is lost says only that something is there. */
    if (answer->state == TCNL_UNKNOWN || answer->state == TCNL_NOT_SENT
        || (answer->state == TCNL_OK && !is_delete(task->kind)
            && !r->present)) {
        return;
    }
    round->run->done.settled++;
    if (is_delete(task->kind)) {
        task->has_final = task->has_final || r->has_counters;
        task->final = r->has_counters ? r->counters.stats : task->final;
        slot->state = answer->state;
        slot->error = answer->error;
    } else if (r->present && is_ours(r, task->flow)) {
        slot->state = TCNL_OK;
    } else {
        slot->state = TCNL_FAILED;
        slot->error = answer->error;
        if (!slot->error.error) {
            slot->error.error = EEXIST;
        }
    }
}

static void
flush_questions(struct round *round)
{
    struct tcnl_batch *aux = &round->run->worker->aux;

    aux->reply_cb = round_reply;
    aux->reply_aux = round;
    tcnl_batch_flush(aux);
    for (unsigned int i = 0; i < aux->n_slots; i++) {
        settle_one(round, i);
    }
    tcnl_batch_clear(aux);
}

/* Only adds and deletes are worth asking: a lost replace is treated as
 * refused, and a lost read just was not read.  Returns whether there was
 * something to ask. */
static bool
settle_round(struct round *round, unsigned int size)
{
    struct tcb_worker *w = round->run->worker;
    bool any = false;

    for (unsigned int i = 0; i < w->batch.n_slots; i++) {
        if (w->batch.slots[i].state == TCNL_UNKNOWN
            && (w->tasks[i].kind == TCB_TASK_ADD
                || is_delete(w->tasks[i].kind))) {
            any = true;
            ask_again(round, i);
            if (w->aux.n_slots == size) {
                flush_questions(round);
            }
        }
    }
    if (w->aux.n_slots) {
        flush_questions(round);
    }
    return any;
}

void
tcb_settle(struct tcb_run *run)
{
    struct round *round = xmalloc(sizeof *round);

    round->run = run;
    for (size_t i = 0; i < ARRAY_SIZE(round_sizes)
                       && settle_round(round, round_sizes[i]); i++) {
        continue;
    }
    free(round);
}

/* May a request with this result have been executed all the same? */
static bool
is_unknown(int error)
{
    return error == ENOBUFS || error == EPROTO || error == EINTR;
}

/* Reads one filter.  Returns false if nothing can be learnt. */
static bool
read_back(struct tcb_run *run, const struct tcb_flow *flow,
          struct tcb_reading *reading)
{
    struct tcnl_filter_id id = tcb_flow_filter_id(flow);

    for (size_t i = 0; i < ARRAY_SIZE(round_sizes); i++) {
        int error = tcb_single_get(run->worker->transport, &id, reading);

        if (reading->present || (error && !is_unknown(error))) {
            return true;
        }
    }
    return false;
}

/* Sends an add again, for another handle or as a replace. */
struct resend {
    const struct nlmsghdr *nlh;
    uint32_t handle;
    uint16_t flags;
};

static int
build_resend(struct tcnl_buffer *b, const void *resend_)
{
    const struct resend *resend = resend_;
    const struct nlmsghdr *nlh = resend->nlh;
    const uint8_t *payload = (const uint8_t *) nlh + NLMSG_HDRLEN;
    struct tcmsg tcm;

    memcpy(&tcm, payload, sizeof tcm);
    tcm.tcm_handle = resend->handle;
    tcnl_msg_begin(b, nlh->nlmsg_type, NLM_F_REQUEST | resend->flags, &tcm,
                   sizeof tcm);
    tcnl_put_attrs(b, payload + sizeof tcm,
                   nlh->nlmsg_len - NLMSG_HDRLEN - sizeof tcm);
    return tcnl_msg_end(b, NULL);
}

static void
resend(struct tcb_run *run, const struct tcb_flow *flow, uint16_t flags,
       struct tcnl_slot *slot)
{
    struct resend again = {
        .nlh = ALIGNED_CAST(const struct nlmsghdr *,
                            run->worker->batch.buffer.data + slot->ofs),
        .handle = tcb_flow_handle(flow),
        .flags = flags,
    };
    int error = tcnl_transact(run->worker->transport, build_resend, &again,
                              NULL, NULL, &slot->error);
    struct tcb_reading r;

    slot->state = error ? TCNL_FAILED : TCNL_OK;
    slot->error.error = error;
    if (!is_unknown(error)) {
        return;
    }
    /* A replace cannot be told from what it was to replace. */
    if (!(flags & NLM_F_EXCL) || !read_back(run, flow, &r)) {
        slot->state = TCNL_UNKNOWN;
    } else if (r.present) {
        bool ours = is_ours(&r, flow);

        slot->state = ours ? TCNL_OK : TCNL_FAILED;
        slot->error.error = ours ? 0 : EEXIST;
    }
}

void
tcb_add_again(struct tcb_run *run, const struct tcb_flow *flow,
              struct tcnl_slot *slot)
{
    resend(run, flow, NLM_F_CREATE | NLM_F_EXCL, slot);
}

struct tcb_flow *
tcb_avoid_foreign(struct tcb_run *run, struct tcb_flow *flow,
                  struct tcnl_slot *slot)
{
    for (int i = 0; i < MAX_MOVES && slot->error.error == EEXIST; i++) {
        struct tcb_flow *moved;
        struct tcb_reading r;

        if (!read_back(run, flow, &r) || !r.present) {
            break;
        } else if (is_ours(&r, flow)) {
            /* A leftover of this very flow. */
            resend(run, flow, NLM_F_CREATE, slot);
            break;
        }
        moved = tcb_flow_move(&run->offload->flows, flow, true);
        if (!moved) {
            break;
        }
        flow = moved;
        resend(run, flow, NLM_F_CREATE | NLM_F_EXCL, slot);
    }
    return flow;
}
