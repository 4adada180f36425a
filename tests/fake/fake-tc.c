/* SPDX-License-Identifier: Apache-2.0 */
#include "fake/fake-tc-table.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include "tcnl/uapi.h"

#define COMPARE(A, B) if ((A) != (B)) { return (A) < (B) ? -1 : 1; }

static int
compare_ids(const struct tcnl_filter_id *a, const struct tcnl_filter_id *b)
{
    COMPARE(a->ifindex, b->ifindex);
    COMPARE(a->parent, b->parent);
    COMPARE(a->chain, b->chain);
    COMPARE(a->prio, b->prio);
    COMPARE(a->handle, b->handle);
    return 0;
}

/* The place of the first filter that is not before 'id'. */
size_t
fake_table_lower_bound(const struct fake_tc *tc,
                       const struct tcnl_filter_id *id)
{
    size_t low = 0, high = tc->n_filters;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (compare_ids(&tc->filters[mid]->id, id) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

struct fake_tc_filter *
fake_table_find(const struct fake_tc *tc, const struct tcnl_filter_id *id)
{
    size_t i = fake_table_lower_bound(tc, id);

    return i < tc->n_filters && !compare_ids(&tc->filters[i]->id, id)
           ? tc->filters[i] : NULL;
}

void
fake_table_insert(struct fake_tc *tc, struct fake_tc_filter *f)
{
    size_t i = fake_table_lower_bound(tc, &f->id);

    tc->filters = realloc(tc->filters,
                          (tc->n_filters + 1) * sizeof *tc->filters);
    assert(tc->filters);
    memmove(&tc->filters[i + 1], &tc->filters[i],
            (tc->n_filters++ - i) * sizeof *tc->filters);
    tc->filters[i] = f;
}

void
fake_table_delete(struct fake_tc *tc, struct fake_tc_filter *f)
{
    size_t i = fake_table_lower_bound(tc, &f->id);

    memmove(&tc->filters[i], &tc->filters[i + 1],
            (--tc->n_filters - i) * sizeof *tc->filters);
    free(f->options);
    free(f);
}

char *
fake_table_qdisc_of(struct fake_tc *tc, int ifindex)
{
    for (int i = 0; i < FAKE_TC_DEVICES; i++) {
        if (tc->qdiscs[i].ifindex == ifindex) {
            return tc->qdiscs[i].kind;
        }
    }
    return NULL;
}

/* Does another filter of the prio have the same masked key? */
bool
fake_table_is_duplicate(const struct fake_tc *tc,
                        const struct tcnl_filter_id *id,
                        const struct tcnl_flower *flower)
{
    struct tcnl_filter_id from = *id;

    from.handle = 0;
    for (size_t i = fake_table_lower_bound(tc, &from); i < tc->n_filters;
         i++) {
        const struct fake_tc_filter *f = tc->filters[i];

        from.handle = f->id.handle;
        if (compare_ids(&f->id, &from)) {
            break;
        }
        if (f->id.handle != id->handle
            && tcnl_flower_equal(&f->flower, flower)) {
            return true;
        }
    }
    return false;
}

/* ## For tests. */

void
fake_tc_init(struct fake_tc *tc)
{
    memset(tc, 0, sizeof *tc);
    tc->dump_filters = 20;
    tc->dump_flags = TCA_DUMP_FLAGS_TERSE | TCA_DUMP_FLAGS_USED_SINCE
                     | TCA_DUMP_FLAGS_START;
    pthread_mutex_init(&tc->mutex, NULL);
}

void
fake_tc_uninit(struct fake_tc *tc)
{
    while (tc->n_filters) {
        fake_table_delete(tc, tc->filters[0]);
    }
    free(tc->filters);
    free(tc->polices);
    pthread_mutex_destroy(&tc->mutex);
}

static struct tcnl_filter_id
ingress(int ifindex, uint32_t chain, uint16_t prio, uint32_t handle)
{
    return (struct tcnl_filter_id) {
        .ifindex = ifindex,
        .parent = TCNL_PARENT_INGRESS,
        .chain = chain,
        .prio = prio,
        .handle = handle,
        .proto = htons(ETH_P_IP),
    };
}

struct fake_tc_filter *
fake_tc_find(struct fake_tc *tc, int ifindex, uint32_t chain, uint16_t prio,
             uint32_t handle)
{
    struct tcnl_filter_id id = ingress(ifindex, chain, prio, handle);
    struct fake_tc_filter *f;

    pthread_mutex_lock(&tc->mutex);
    f = fake_table_find(tc, &id);
    pthread_mutex_unlock(&tc->mutex);
    return f;
}

void
fake_tc_delete(struct fake_tc *tc, struct fake_tc_filter *f)
{
    pthread_mutex_lock(&tc->mutex);
    fake_table_delete(tc, f);
    pthread_mutex_unlock(&tc->mutex);
}

void
fake_tc_add_foreign(struct fake_tc *tc, int ifindex, uint32_t chain,
                    uint16_t prio, uint32_t handle)
{
    struct tcnl_filter_id id = ingress(ifindex, chain, prio, handle);
    uint16_t proto = htons(ETH_P_IP);
    uint32_t addr = htonl(0x0aff0000 + handle);
    struct tcnl_transport *transport;
    struct tcnl_actions actions;
    struct tcnl_flower flower;
    struct tcnl_buffer b;
    uint32_t mem[512];
    int error;

    tcnl_flower_init(&flower);
    tcnl_flower_set(&flower, TCNL_KEY_ETH_TYPE, &proto, NULL);
    tcnl_flower_set(&flower, TCNL_KEY_IPV4_SRC, &addr, NULL);
    tcnl_actions_init(&actions);
    tcnl_actions_add(&actions, TCNL_ACT_GACT, TC_ACT_SHOT);
    tcnl_buffer_init(&b, mem, sizeof mem);
    error = tcnl_filter_put_new(&b, &id, &flower, &actions,
                                NLM_F_CREATE | NLM_F_EXCL);
    assert(!error);
    fake_tc_open(tc, &transport);
    error = transport->ops->send(transport, b.data, b.used);
    assert(!error);
    (void) error;
    tcnl_transport_close(transport);
}

void
fake_tc_hit(struct fake_tc *tc, struct fake_tc_filter *f, uint64_t packets,
            uint64_t bytes)
{
    pthread_mutex_lock(&tc->mutex);
    f->packets += packets;
    f->bytes += bytes;
    f->idle = false;
    pthread_mutex_unlock(&tc->mutex);
}
