/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-round.h"

#include "openvswitch/vlog.h"
#include "tcb-offload.h"
#include "util.h"

VLOG_DEFINE_THIS_MODULE(tcb_round);

static const char *const mode_names[] = { "full", "terse", "delta" };

const char *
tcb_dump_mode_name(enum tcb_dump_mode mode)
{
    return mode_names[mode];
}

bool
tcb_dump_mode_from_name(const char *name, enum tcb_dump_mode *mode)
{
    for (size_t i = 0; i < ARRAY_SIZE(mode_names); i++) {
        if (!strcmp(name, mode_names[i])) {
            *mode = i;
            return true;
        }
    }
    return false;
}

void
tcb_rounds_init(struct tcb_rounds *rounds)
{
    memset(rounds, 0, sizeof *rounds);
    ovs_mutex_init(&rounds->mutex);
    atomic_init(&rounds->allowed, TCB_DUMP_DELTA);
    atomic_init(&rounds->delta_refused, false);
}

void
tcb_rounds_destroy(struct tcb_rounds *rounds)
{
    ovs_mutex_destroy(&rounds->mutex);
}

static enum tcb_dump_mode
able_mode(const struct tcb_offload *offload_)
{
    struct tcb_offload *offload = CONST_CAST(struct tcb_offload *, offload_);
    bool probed, refused;

    atomic_read_explicit(&offload->probed, &probed, memory_order_acquire);
    atomic_read_relaxed(&offload->rounds.delta_refused, &refused);
    return (!probed ? TCB_DUMP_TERSE
            : !offload->abilities.terse_dump ? TCB_DUMP_FULL
            : offload->abilities.used_since && !refused ? TCB_DUMP_DELTA
            : TCB_DUMP_TERSE);
}

static enum tcb_dump_mode
allowed_mode(const struct tcb_offload *offload)
{
    enum tcb_dump_mode mode;

    atomic_read_relaxed(
        &CONST_CAST(struct tcb_offload *, offload)->rounds.allowed, &mode);
    return mode;
}

enum tcb_dump_mode
tcb_rounds_mode(const struct tcb_offload *offload)
{
    return MIN(able_mode(offload), allowed_mode(offload));
}

void
tcb_rounds_log_mode(const struct tcb_offload *offload)
{
    enum tcb_dump_mode able = able_mode(offload);
    enum tcb_dump_mode allowed = allowed_mode(offload);

    VLOG_INFO("revalidators dump in mode %s%s",
              mode_names[MIN(able, allowed)],
              allowed < able ? ", as configured"
              : able == TCB_DUMP_DELTA ? ""
              : able == TCB_DUMP_TERSE
              ? ": this kernel cannot leave out idle filters"
              : ": this kernel has no terse dumps");
}

void
tcb_rounds_refuse_delta(struct tcb_offload *offload, const char *why)
{
    bool refused;

    atomic_read_relaxed(&offload->rounds.delta_refused, &refused);
    if (!refused) {
        atomic_store_relaxed(&offload->rounds.delta_refused, true);
        VLOG_INFO("the kernel refuses dumps in mode delta (%s); terse from "
                  "now on", why);
    }
}

enum tcb_dump_mode
tcb_rounds_begin(struct tcb_offload *offload, long long int now)
{
    struct tcb_rounds *rounds = &offload->rounds;
    enum tcb_dump_mode mode = tcb_rounds_mode(offload);

    ovs_mutex_lock(&rounds->mutex);
    if (mode == TCB_DUMP_DELTA
        && (rounds->doubt || !rounds->last_whole
            || now >= rounds->last_whole + TCB_WHOLE_MSEC)) {
        mode = TCB_DUMP_TERSE;
    }
    if (mode != TCB_DUMP_DELTA) {
        rounds->last_whole = now;
    }
    ovs_mutex_unlock(&rounds->mutex);
    return mode;
}

void
tcb_rounds_end(struct tcb_rounds *rounds,
               const struct tcb_dump_summary *summary, bool proof)
{
    bool delta = summary->mode == TCB_DUMP_DELTA;

    ovs_mutex_lock(&rounds->mutex);
    if (summary->terse) {
        unsigned int n_foreign = rounds->last.n_foreign;

        rounds->n_rounds++;
        rounds->n_delta += delta;
        rounds->last = *summary;
        if (delta) {
            /* Only whole rounds see all of them. */
            rounds->last.n_foreign = n_foreign;
        } else {
            rounds->doubt = !proof || summary->n_missed > summary->n_gone;
        }
    } else {
        rounds->n_full++;
    }
    ovs_mutex_unlock(&rounds->mutex);
}

void
tcb_rounds_read(const struct tcb_rounds *rounds_,
                struct tcb_round_counts *counts,
                struct tcb_dump_summary *last)
{
    struct tcb_rounds *rounds = CONST_CAST(struct tcb_rounds *, rounds_);

    ovs_mutex_lock(&rounds->mutex);
    counts->n_rounds = rounds->n_rounds;
    counts->n_delta = rounds->n_delta;
    counts->n_full = rounds->n_full;
    *last = rounds->last;
    ovs_mutex_unlock(&rounds->mutex);
}
