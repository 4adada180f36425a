/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCB_SHAPE_H
#define TCB_SHAPE_H 1

/* Which shapes of filters (tcnl/shape.h) the kernel takes as they are sent.
 *
 * The first filter of a shape is echoed and compared with what was sent; the
 * result is remembered, so that later ones are neither echoed nor, if the
 * kernel ignores something in them, sent at all.  A shape is unknown until the
 * first echo has come, also if that was lost.
 *
 * The memory is a fixed table of TCB_N_SHAPES shapes, in sets by their hash.
 * When a set is full, the one that has been there longest goes: its next
 * filter is echoed again, nothing more.
 *
 * Lookups take no lock.  All functions are thread-safe. */

#include <stdbool.h>
#include <stdint.h>
#include "ovs-atomic.h"
#include "ovs-thread.h"

#define TCB_SHAPE_WAYS 4
#define TCB_SHAPE_SETS 1024
#define TCB_N_SHAPES (TCB_SHAPE_SETS * TCB_SHAPE_WAYS)

/* Differences that have a text of their own. */
#define TCB_SHAPE_REASONS 128

struct tcnl_difference;

struct tcb_shapes {
    /* The hash, the lowest byte of which is replaced by one more than the
     * number of the reason, or by 1 for a verified shape.  0: free. */
    atomic_uint64_t entries[TCB_SHAPE_SETS][TCB_SHAPE_WAYS];

    /* Texts, set once, before the first entry that has their number. */
    ATOMIC(char *) reasons[TCB_SHAPE_REASONS + 1];

    struct ovs_mutex mutex;     /* For all that change something. */
    uint8_t next[TCB_SHAPE_SETS] OVS_GUARDED;   /* The way to go next. */
    unsigned int n_verified OVS_GUARDED;
    unsigned int n_refused OVS_GUARDED;
    uint64_t n_forgotten OVS_GUARDED;
};

void tcb_shapes_init(struct tcb_shapes *);
void tcb_shapes_destroy(struct tcb_shapes *);

enum tcb_shape_verdict {
    TCB_SHAPE_UNKNOWN,
    TCB_SHAPE_VERIFIED,
    TCB_SHAPE_REFUSED,
};

/* What is known of 'shape'.  If it is refused, '*reason' (unless 'reason' is
 * NULL) says why, a text that is there as long as the table. */
enum tcb_shape_verdict tcb_shape_find(const struct tcb_shapes *,
                                      uint64_t shape, const char **reason);

/* Notes the result of a comparison.  Returns true if it is a refusal that was
 * not known. */
bool tcb_shape_note(struct tcb_shapes *, uint64_t shape,
                    const struct tcnl_difference *);

/* Shapes now in the table, and those that have gone from it. */
struct tcb_shape_counts {
    unsigned int verified, refused;
    uint64_t forgotten;
};

void tcb_shape_counts_read(const struct tcb_shapes *,
                           struct tcb_shape_counts *);

#endif /* tcb-shape.h */
