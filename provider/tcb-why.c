/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "tcb-why.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hash.h"
#include "openvswitch/json.h"
#include "ovs-atomic.h"
#include "util.h"

/* Lines that a port keeps.  Details name keys, ports and meters, or are the
 * kernel's words, so there are few; the bound is for the case that somebody
 * makes them many, e.g. with one flow per nonexistent output port. */
#define TCB_WHY_MAX_LINES 64

struct tcb_why_line {
    struct hmap_node node;      /* In struct tcb_why's 'lines'. */
    struct tcb_refusal refusal; /* 'error' is that of the last one. */
    uint64_t n;
};

static const struct {
    const char *name;
    const char *text;
} causes[TCB_N_CAUSES] = {
#define TCB_CAUSE(ENUM, NAME, TEXT) [TCB_CAUSE_##ENUM] = { NAME, TEXT },
    TCB_CAUSES
#undef TCB_CAUSE
};

const char *
tcb_cause_name(enum tcb_cause cause)
{
    return cause < TCB_N_CAUSES ? causes[cause].name : "unknown";
}

const char *
tcb_cause_text(enum tcb_cause cause)
{
    return cause < TCB_N_CAUSES ? causes[cause].text : "unknown cause";
}

void
tcb_refuse(struct tcb_refusal *why, enum tcb_cause cause,
           const char *format, ...)
{
    va_list args;

    why->cause = cause;
    why->error = 0;
    why->chain = 0;
    va_start(args, format);
    vsnprintf(why->detail, sizeof why->detail, format, args);
    va_end(args);
}

void
tcb_why_init(struct tcb_why *why)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    ovs_mutex_init(&why->mutex);
    hmap_init(&why->lines);
    why->others = 0;
    why->total = 0;
}

void
tcb_why_destroy(struct tcb_why *why)
    OVS_NO_THREAD_SAFETY_ANALYSIS
{
    struct tcb_why_line *line;

    HMAP_FOR_EACH_POP (line, node, &why->lines) {
        free(line);
    }
    hmap_destroy(&why->lines);
    ovs_mutex_destroy(&why->mutex);
}

static uint32_t
tcb_refusal_hash(const struct tcb_refusal *refusal)
{
    return hash_string(refusal->detail, refusal->cause);
}

static struct tcb_why_line *
tcb_why_find(const struct tcb_why *why, const struct tcb_refusal *refusal,
             uint32_t hash)
    OVS_REQUIRES(why->mutex)
{
    struct tcb_why_line *line;

    HMAP_FOR_EACH_WITH_HASH (line, node, hash, &why->lines) {
        if (line->refusal.cause == refusal->cause
            && !strcmp(line->refusal.detail, refusal->detail)) {
            return line;
        }
    }
    return NULL;
}

/* Counts 'refusal' in its line, which is made if there is room. */
static bool
tcb_why_count__(struct tcb_why *why, const struct tcb_refusal *refusal)
    OVS_REQUIRES(why->mutex)
{
    uint32_t hash = tcb_refusal_hash(refusal);
    struct tcb_why_line *line = tcb_why_find(why, refusal, hash);
    bool is_new = !line;

    why->total++;
    if (is_new && hmap_count(&why->lines) >= TCB_WHY_MAX_LINES) {
        why->others++;
        return false;
    }
    if (is_new) {
        line = xmalloc(sizeof *line);
        line->refusal = *refusal;
        line->n = 0;
        hmap_insert(&why->lines, &line->node, hash);
    }
    line->refusal.error = refusal->error;
    line->n++;
    return is_new;
}

bool
tcb_why_count(struct tcb_why *why, const struct tcb_refusal *refusal)
{
    bool is_new;

    ovs_mutex_lock(&why->mutex);
    is_new = tcb_why_count__(why, refusal);
    ovs_mutex_unlock(&why->mutex);
    return is_new;
}

uint64_t
tcb_why_total(const struct tcb_why *why)
{
    uint64_t total;

    ovs_mutex_lock(&why->mutex);
    total = why->total;
    ovs_mutex_unlock(&why->mutex);
    return total;
}

/* Most frequent first, then by text so that the order is always the same. */
static int
compare_lines(const void *a_, const void *b_)
{
    const struct tcb_why_line *a = a_, *b = b_;

    if (a->n != b->n) {
        return a->n > b->n ? -1 : 1;
    }
    if (a->refusal.cause != b->refusal.cause) {
        return a->refusal.cause < b->refusal.cause ? -1 : 1;
    }
    return strcmp(a->refusal.detail, b->refusal.detail);
}

/* What is shown, copied so that nothing is formatted under the lock. */
struct tcb_why_copy {
    struct tcb_why_line *lines; /* Sorted; to be freed. */
    size_t n;
    uint64_t others, total;
};

static void
tcb_why_copy(const struct tcb_why *why, struct tcb_why_copy *copy)
{
    const struct tcb_why_line *line;

    copy->n = 0;
    ovs_mutex_lock(&why->mutex);
    copy->lines = xmalloc(MAX(1, hmap_count(&why->lines))
                          * sizeof *copy->lines);
    HMAP_FOR_EACH (line, node, &why->lines) {
        copy->lines[copy->n++] = *line;
    }
    copy->others = why->others;
    copy->total = why->total;
    ovs_mutex_unlock(&why->mutex);
    qsort(copy->lines, copy->n, sizeof *copy->lines, compare_lines);
}

void
tcb_why_format(const struct tcb_why *why, struct ds *ds)
{
    struct tcb_why_copy copy;

    tcb_why_copy(why, &copy);
    for (size_t i = 0; i < copy.n; i++) {
        const struct tcb_refusal *r = &copy.lines[i].refusal;

        ds_put_format(ds, "  %"PRIu64" x %s: %s", copy.lines[i].n,
                      tcb_cause_name(r->cause), tcb_cause_text(r->cause));
        if (r->detail[0]) {
            ds_put_format(ds, ": %s", r->detail);
        }
        if (r->error) {
            ds_put_format(ds, " (%s)", ovs_strerror(r->error));
        }
        ds_put_char(ds, '\n');
    }
    if (copy.others) {
        ds_put_format(ds, "  %"PRIu64" x other reasons, not listed\n",
                      copy.others);
    }
    free(copy.lines);
}

static struct json *
tcb_why_line_json(const struct tcb_why_line *line)
{
    struct json *json = json_object_create();

    json_object_put_string(json, "cause",
                           tcb_cause_name(line->refusal.cause));
    json_object_put_string(json, "detail", line->refusal.detail);
    json_object_put(json, "errno", json_integer_create(line->refusal.error));
    json_object_put(json, "count", json_integer_create(line->n));
    return json;
}

struct json *
tcb_why_json(const struct tcb_why *why)
{
    struct json *json = json_object_create();
    struct json *refusals = json_array_create_empty();
    struct tcb_why_copy copy;

    tcb_why_copy(why, &copy);
    for (size_t i = 0; i < copy.n; i++) {
        json_array_add(refusals, tcb_why_line_json(&copy.lines[i]));
    }
    json_object_put(json, "total", json_integer_create(copy.total));
    json_object_put(json, "not_listed", json_integer_create(copy.others));
    json_object_put(json, "refusals", refusals);
    free(copy.lines);
    return json;
}
