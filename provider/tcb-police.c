/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-police.h"

#include <errno.h>

#include "id-pool.h"
#include "ovs-thread.h"
#include "tcnl/dump.h"
#include "tcnl/socket.h"
#include "util.h"

/* Changes in a send, and room for their messages, of which the one of a byte
 * rate has a table of 1 KiB. */
#define MAX_CHANGES 64
#define CHANGE_SIZE 1536

/* How often a change is made again whose answer was lost. */
#define MAX_AGAIN 3

/* Indexes. */

static struct ovs_mutex pool_mutex = OVS_MUTEX_INITIALIZER;
static struct id_pool *pool OVS_GUARDED_BY(pool_mutex);

static struct id_pool *
get_pool(void)
    OVS_REQUIRES(pool_mutex)
{
    if (!pool) {
        pool = id_pool_create(TCB_POLICE_BASE,
                              TCB_POLICE_MAX - TCB_POLICE_BASE + 1);
    }
    return pool;
}

bool
tcb_police_index_alloc(uint32_t *index)
{
    bool ok;

    ovs_mutex_lock(&pool_mutex);
    ok = id_pool_alloc_id(get_pool(), index);
    ovs_mutex_unlock(&pool_mutex);
    return ok;
}

void
tcb_police_index_free(uint32_t index)
{
    ovs_mutex_lock(&pool_mutex);
    id_pool_free_id(get_pool(), index);
    ovs_mutex_unlock(&pool_mutex);
}

void
tcb_police_index_reserve(uint32_t index)
{
    ovs_mutex_lock(&pool_mutex);
    id_pool_add(get_pool(), index);
    ovs_mutex_unlock(&pool_mutex);
}

/* The socket. */

static int
io_open(struct tcb_police_io *io)
{
    int error;

    if (io->transport) {
        return 0;
    }
    error = tcnl_socket_open(0, 0, &io->transport);
    if (!error) {
        error = tcnl_batch_init(&io->batch, io->transport, MAX_CHANGES,
                                MAX_CHANGES * CHANGE_SIZE);
        if (!error) {
            return 0;
        }
        tcnl_transport_close(io->transport);
    }
    io->transport = NULL;
    return error;
}

void
tcb_police_io_close(struct tcb_police_io *io)
{
    if (io->transport) {
        tcnl_batch_uninit(&io->batch);
        tcnl_transport_close(io->transport);
        io->transport = NULL;
    }
}

/* Changes. */

static int
build_change(struct tcnl_buffer *b, const void *change_)
{
    const struct tcb_police_change *change = change_;

    return change->op == TCB_POLICE_DELETE
           ? tcnl_police_put_del(b, change->police.index, 0)
           : tcnl_police_put_new(b, &change->police,
                                 change->op == TCB_POLICE_REPLACE);
}

/* Whether the kernel has made the change is unknown: its answer was lost.  To
 * make it once more does no harm, if that of a new one may replace it. */
static void
make_again(struct tcb_police_io *io, const struct tcb_police_change *change,
           struct tcnl_error *error)
{
    struct tcb_police_change again = *change;

    if (again.op == TCB_POLICE_NEW) {
        again.op = TCB_POLICE_REPLACE;
    }
    for (int i = 0; i < MAX_AGAIN; i++) {
        error->error = tcnl_transact(io->transport, build_change, &again,
                                     NULL, NULL, error);
        if (error->error != ENOBUFS && error->error != EPROTO) {
            break;
        }
    }
}

static struct tcnl_error
settle(struct tcb_police_io *io, struct tcb_police_change *change,
       unsigned int slot)
{
    const struct tcnl_slot *s = &io->batch.slots[slot];
    struct tcnl_error error = { .error = 0 };

    switch (s->state) {
    case TCNL_OK:
        break;
    case TCNL_NOT_SENT:
    case TCNL_FAILED:
        error = s->error;
        break;
    case TCNL_UNKNOWN:
        make_again(io, change, &error);
        break;
    }
    if (change->op == TCB_POLICE_DELETE && error.error == ENOENT) {
        error.error = 0;
    }
    return error;
}

/* Takes as many changes as fit into a send. */
static unsigned int
fill_batch(struct tcb_police_io *io, struct ovs_list *changes,
           struct tcb_police_change *sent[])
{
    unsigned int n = 0;

    while (!ovs_list_is_empty(changes) && tcnl_batch_has_room(&io->batch)) {
        struct tcb_police_change *change
            = CONTAINER_OF(ovs_list_front(changes), struct tcb_police_change,
                           node);

        if (build_change(&io->batch.buffer, change)) {
            break;
        }
        tcnl_batch_add(&io->batch, 0);
        ovs_list_remove(&change->node);
        sent[n++] = change;
    }
    return n;
}

void
tcb_police_apply(struct tcb_police_io *io, struct ovs_list *changes,
                 void (*done)(void *aux, struct tcb_police_change *,
                              const struct tcnl_error *error),
                 void *aux)
{
    while (!ovs_list_is_empty(changes)) {
        struct tcb_police_change *sent[MAX_CHANGES];
        struct tcnl_error error = { .error = io_open(io) };
        unsigned int n = error.error ? 0 : fill_batch(io, changes, sent);

        if (!n) {
            /* Without a socket, or one that fits into no message. */
            struct tcb_police_change *change
                = CONTAINER_OF(ovs_list_pop_front(changes),
                               struct tcb_police_change, node);

            error.error = error.error ? error.error : EMSGSIZE;
            done(aux, change, &error);
            continue;
        }
        tcnl_batch_flush(&io->batch);
        for (unsigned int i = 0; i < n; i++) {
            error = settle(io, sent[i], i);
            done(aux, sent[i], &error);
        }
        tcnl_batch_clear(&io->batch);
    }
}

/* Counters. */

static int
build_get(struct tcnl_buffer *b, const void *index)
{
    return tcnl_police_put_get(b, *(const uint32_t *) index);
}

struct get_request {
    uint32_t index;
    struct tcnl_stats *stats;
};

static void
take_stats(void *request_, const struct tcnl_police_info *info)
{
    struct get_request *request = request_;

    if (info->police.index == request->index) {
        *request->stats = info->stats;
    }
}

static void
take_get(void *request, unsigned int slot OVS_UNUSED,
         const struct nlmsghdr *nlh)
{
    tcnl_police_parse(nlh, take_stats, request);
}

int
tcb_police_get(struct tcb_police_io *io, uint32_t index,
               struct tcnl_stats *stats)
{
    struct get_request request = { index, stats };
    struct tcnl_error error;
    int result = io_open(io);

    memset(stats, 0, sizeof *stats);
    return result ? result : tcnl_transact(io->transport, build_get, &index,
                                           take_get, &request, &error);
}

static int
build_dump(struct tcnl_buffer *b, const void *arg OVS_UNUSED)
{
    return tcnl_police_put_dump(b, true);
}

struct dump_request {
    void (*cb)(void *aux, const struct tcnl_police_info *);
    void *aux;
};

static void
take_dump(void *request_, const struct nlmsghdr *nlh)
{
    const struct dump_request *request = request_;

    tcnl_police_parse(nlh, request->cb, request->aux);
}

int
tcb_police_dump(struct tcb_police_io *io,
                void (*cb)(void *aux, const struct tcnl_police_info *),
                void *aux)
{
    struct dump_request request = { cb, aux };
    struct tcnl_error error;
    int result = io_open(io);

    if (result) {
        return result;
    }
    if (tcnl_dump_all(io->transport, build_dump, NULL, take_dump, &request,
                      &error) == TCNL_DUMP_COMPLETE) {
        return 0;
    }
    return error.error ? error.error : EINTR;
}
