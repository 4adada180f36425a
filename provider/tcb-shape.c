/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-shape.h"

#include <string.h>

#include "tcnl/shape.h"
#include "util.h"

#define RESULT_MASK UINT64_C(0xff)
#define RESULT_VERIFIED 1
#define RESULT_REASON 2         /* And up: number of the reason plus this. */

BUILD_ASSERT_DECL(RESULT_REASON + TCB_SHAPE_REASONS <= RESULT_MASK);

void
tcb_shapes_init(struct tcb_shapes *s)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    ovs_mutex_init(&s->mutex);
    for (int i = 0; i < TCB_SHAPE_SETS; i++) {
        for (int j = 0; j < TCB_SHAPE_WAYS; j++) {
            atomic_init(&s->entries[i][j], 0);
        }
    }
    for (int i = 0; i <= TCB_SHAPE_REASONS; i++) {
        atomic_init(&s->reasons[i], NULL);
    }
    memset(s->next, 0, sizeof s->next);
    s->n_verified = s->n_refused = 0;
    s->n_forgotten = 0;
}

static char *
get_reason(const struct tcb_shapes *s, int i)
{
    char *reason;

    atomic_read_explicit(&CONST_CAST(struct tcb_shapes *, s)->reasons[i],
                         &reason, memory_order_acquire);
    return reason;
}

void
tcb_shapes_destroy(struct tcb_shapes *s)
{
    for (int i = 0; i <= TCB_SHAPE_REASONS; i++) {
        free(get_reason(s, i));
    }
    ovs_mutex_destroy(&s->mutex);
}

/* The number of the set, without the bits that an entry has for the result. */
static unsigned int
set_of(uint64_t shape)
{
    return (shape >> 32 ^ shape >> 8) % TCB_SHAPE_SETS;
}

static uint64_t
find_entry(const struct tcb_shapes *s, uint64_t shape)
{
    atomic_uint64_t *set
        = CONST_CAST(struct tcb_shapes *, s)->entries[set_of(shape)];

    for (int i = 0; i < TCB_SHAPE_WAYS; i++) {
        uint64_t entry;

        atomic_read_explicit(&set[i], &entry, memory_order_acquire);
        if (entry && !((entry ^ shape) & ~RESULT_MASK)) {
            return entry;
        }
    }
    return 0;
}

enum tcb_shape_verdict
tcb_shape_find(const struct tcb_shapes *s, uint64_t shape,
               const char **reason)
{
    uint64_t result = find_entry(s, shape) & RESULT_MASK;

    if (result < RESULT_REASON) {
        return result ? TCB_SHAPE_VERIFIED : TCB_SHAPE_UNKNOWN;
    }
    if (reason) {
        *reason = get_reason(s, result - RESULT_REASON);
    }
    return TCB_SHAPE_REFUSED;
}

/* The number of the reason, which is new if need be.  There are fewer
 * attributes than places; the last place stands for all others. */
static int
number_of_reason(struct tcb_shapes *s, const struct tcnl_difference *d)
    OVS_REQUIRES(s->mutex)
{
    char *text = xasprintf("the kernel %s %s",
                           d->missing ? "ignores" : "changes", d->name);
    int i;

    for (i = 0; i <= TCB_SHAPE_REASONS; i++) {
        const char *reason = get_reason(s, i);

        if (!reason) {
            break;
        } else if (i == TCB_SHAPE_REASONS || !strcmp(reason, text)) {
            free(text);
            return i;
        }
    }
    atomic_store_explicit(&s->reasons[i], text, memory_order_release);
    return i;
}

static void
count(struct tcb_shapes *s, uint64_t entry, int n)
    OVS_REQUIRES(s->mutex)
{
    uint64_t result = entry & RESULT_MASK;

    if (result == RESULT_VERIFIED) {
        s->n_verified += n;
    } else if (result) {
        s->n_refused += n;
    }
}

static void
insert(struct tcb_shapes *s, uint64_t entry)
    OVS_REQUIRES(s->mutex)
{
    atomic_uint64_t *set = s->entries[set_of(entry)];
    uint8_t *next = &s->next[set_of(entry)];
    uint64_t old;

    atomic_read_relaxed(&set[*next], &old);
    if (old) {
        s->n_forgotten++;
        count(s, old, -1);
    }
    atomic_store_explicit(&set[*next], entry, memory_order_release);
    *next = (*next + 1) % TCB_SHAPE_WAYS;
    count(s, entry, 1);
}

bool
tcb_shape_note(struct tcb_shapes *s, uint64_t shape,
               const struct tcnl_difference *d)
{
    uint64_t result = RESULT_VERIFIED;
    bool is_new;

    ovs_mutex_lock(&s->mutex);
    /* Two threads may have sent a filter of it at once. */
    is_new = !find_entry(s, shape);
    if (is_new) {
        if (d->name) {
            result = RESULT_REASON + number_of_reason(s, d);
        }
        insert(s, (shape & ~RESULT_MASK) | result);
    }
    ovs_mutex_unlock(&s->mutex);
    return is_new && d->name;
}

void
tcb_shape_counts_read(const struct tcb_shapes *s_,
                      struct tcb_shape_counts *counts)
{
    struct tcb_shapes *s = CONST_CAST(struct tcb_shapes *, s_);

    ovs_mutex_lock(&s->mutex);
    counts->verified = s->n_verified;
    counts->refused = s->n_refused;
    counts->forgotten = s->n_forgotten;
    ovs_mutex_unlock(&s->mutex);
}
