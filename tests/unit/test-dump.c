/* SPDX-License-Identifier: Apache-2.0 */

/* Dumps against the scripted kernel: only a dump that lost nothing ends as
 * COMPLETE. */

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <libmnl/libmnl.h>
#include "fake/fake-kernel.h"
#include "tcnl/batch.h"
#include "tcnl/dump.h"

static struct fake_kernel kernel;
static struct fake_kernel *const k = &kernel;
static struct tcnl_error error;

/* How often each payload was seen. */
static unsigned int seen[FAKE_MAX];

static uint32_t
payload(const struct nlmsghdr *nlh)
{
    uint32_t value;

    assert_int_equal(nlh->nlmsg_len, NLMSG_HDRLEN + sizeof value);
    memcpy(&value, mnl_nlmsg_get_payload(nlh), sizeof value);
    assert_true(value < FAKE_MAX);
    return value;
}

static void
take(void *aux, const struct nlmsghdr *nlh)
{
    (void) aux;
    seen[payload(nlh)]++;
}

/* 'arg' gives flags. */
static int
put_dump(struct tcnl_buffer *buffer, const void *arg)
{
    tcnl_msg_begin(buffer, FAKE_MSG_TYPE, *(const uint16_t *) arg, NULL, 0);
    return tcnl_msg_end(buffer, NULL);
}

static const uint16_t dump_flags = NLM_F_REQUEST | NLM_F_DUMP;

static void
begin(void)
{
    fake_kernel_init(k);
    memset(seen, 0, sizeof seen);
}

/* The transport can be used again, whatever happened. */
static void
end(void)
{
    static const uint16_t flags = NLM_F_REQUEST;

    assert_int_equal(tcnl_transact(&k->transport, put_dump, &flags, NULL,
                                   NULL, NULL), 0);
    fake_kernel_uninit(k);
}

static enum tcnl_dump_status
run(void)
{
    return tcnl_dump_all(&k->transport, put_dump, &dump_flags, take, NULL,
                         &error);
}

static void
assert_seen(unsigned int from, unsigned int to)
{
    for (unsigned int i = 0; i < FAKE_MAX; i++) {
        assert_int_equal(seen[i], i >= from && i < to);
    }
}

static void
start(struct tcnl_dump *d)
{
    assert_int_equal(tcnl_dump_start(d, &k->transport, put_dump,
                                     &dump_flags), 0);
}

/* ## Whole dumps. */

static void
test_complete(void **state)
{
    (void) state;
    begin();
    fake_dump_data(k, 0, 10, 0);
    fake_dump_data(k, 10, 90, 0);
    fake_dump_done(k, 0, NULL, 0);
    assert_int_equal(run(), TCNL_DUMP_COMPLETE);
    assert_int_equal(error.error, 0);
    assert_seen(0, 100);
    assert_int_equal(k->n_recvs, 3);
    end();
}

static void
test_empty(void **state)
{
    (void) state;
    begin();
    fake_dump_done(k, 0, NULL, 0);
    assert_int_equal(run(), TCNL_DUMP_COMPLETE);
    assert_seen(0, 0);
    end();
}

/* The kernel puts NLMSG_DONE behind the last messages if it fits there. */
static void
test_done_in_data(void **state)
{
    struct {
        struct nlmsghdr data, done;
        int code;
    } datagram = {
        .data = { .nlmsg_len = sizeof(struct nlmsghdr),
                  .nlmsg_type = FAKE_MSG_TYPE, .nlmsg_seq = 1 },
        .done = { .nlmsg_len = sizeof(struct nlmsghdr) + sizeof(int),
                  .nlmsg_type = NLMSG_DONE, .nlmsg_seq = 1 },
    };
    uint32_t buf[TCNL_DUMP_BUFSIZE / 4];
    struct tcnl_dump d;
    size_t len, ofs = 0;

    (void) state;
    begin();
    fake_queue_datagram(k, &datagram, sizeof datagram);
    start(&d);
    assert_int_equal(tcnl_dump_recv(&d, buf, sizeof buf, &len),
                     TCNL_DUMP_COMPLETE);
    assert_int_equal(len, sizeof datagram);
    assert_ptr_equal(tcnl_dump_walk(d.seq, buf, len, &ofs), buf);
    assert_null(tcnl_dump_walk(d.seq, buf, len, &ofs));
    assert_int_equal(tcnl_dump_finish(&d), TCNL_DUMP_COMPLETE);
    assert_int_equal(d.datagrams, 1);
    assert_int_equal(d.bytes, sizeof datagram);

    /* It stays ended. */
    assert_int_equal(tcnl_dump_recv(&d, buf, sizeof buf, &len),
                     TCNL_DUMP_COMPLETE);
    assert_int_equal(len, 0);
    end();
}

static void
test_foreign(void **state)
{
    (void) state;
    begin();
    fake_dump_error(k, 0);
    fake_dump_data(k, 0, 10, 0);
    fake_dump_error(k, 0);
    fake_dump_done(k, 0, NULL, 0);
    assert_int_equal(run(), TCNL_DUMP_COMPLETE);
    assert_seen(0, 10);
    end();
}

/* ## Refused dumps. */

static void
test_done_error(void **state)
{
    (void) state;
    begin();
    fake_dump_data(k, 0, 10, 0);
    fake_dump_done(k, EINVAL, "unknown flag", 0);
    assert_int_equal(run(), TCNL_DUMP_FAILED);
    assert_int_equal(error.error, EINVAL);
    assert_string_equal(error.text, "unknown flag");
    assert_seen(0, 10);
    end();
}

static void
test_refused(void **state)
{
    (void) state;
    begin();
    fake_dump_refused(k, ENODEV, "no such device");
    assert_int_equal(run(), TCNL_DUMP_FAILED);
    assert_int_equal(error.error, ENODEV);
    assert_string_equal(error.text, "no such device");
    end();
}

/* EBUSY because of another dump: what is left of that one goes away. */
static void
test_busy(void **state)
{
    (void) state;
    begin();
    fake_dump_refused(k, EBUSY, NULL);
    fake_dump_error(k, 0);
    fake_dump_error(k, 0);
    assert_int_equal(run(), TCNL_DUMP_FAILED);
    assert_int_equal(error.error, EBUSY);
    assert_int_equal(k->queue.head, k->queue.tail);

    fake_dump_done(k, 0, NULL, 0);
    assert_int_equal(run(), TCNL_DUMP_COMPLETE);
    end();
}

/* An ack of the request says nothing about the dump. */
static void
test_acked(void **state)
{
    (void) state;
    begin();
    fake_dump_refused(k, 0, NULL);
    fake_dump_data(k, 0, 10, 0);
    fake_dump_done(k, 0, NULL, 0);
    assert_int_equal(run(), TCNL_DUMP_COMPLETE);
    assert_seen(0, 10);
    end();
}

static void
test_send_error(void **state)
{
    struct tcnl_dump d;

    (void) state;
    begin();
    k->send_error_at = 0;
    k->send_error = ENOBUFS;
    assert_int_equal(tcnl_dump_start(&d, &k->transport, put_dump,
                                     &dump_flags), ENOBUFS);
    assert_int_equal(d.status, TCNL_DUMP_FAILED);
    assert_int_equal(tcnl_dump_finish(&d), TCNL_DUMP_FAILED);

    k->send_error_at = 1;
    assert_int_equal(run(), TCNL_DUMP_FAILED);
    assert_int_equal(error.error, ENOBUFS);
    end();
}

/* An interrupted send may have started the dump. */
static void
test_send_interrupted(void **state)
{
    (void) state;
    for (int executed = 0; executed < 2; executed++) {
        begin();
        fake_dump_data(k, 0, 10, 0);
        fake_dump_done(k, 0, NULL, 0);
        k->send_error_at = 0;
        k->send_error = EINTR;
        k->send_anyway = executed;
        assert_int_equal(run(), executed ? TCNL_DUMP_COMPLETE
                                         : TCNL_DUMP_INTERRUPTED);
        assert_seen(0, executed ? 10 : 0);
        end();
    }
}

static int
put_too_much(struct tcnl_buffer *buffer, const void *arg)
{
    static const uint8_t zeros[8192];

    (void) arg;
    tcnl_msg_begin(buffer, FAKE_MSG_TYPE, NLM_F_DUMP, zeros, sizeof zeros);
    return tcnl_msg_end(buffer, NULL);
}

static void
test_build_error(void **state)
{
    (void) state;
    begin();
    assert_int_equal(tcnl_dump_all(&k->transport, put_too_much, NULL, take,
                                   NULL, NULL), TCNL_DUMP_FAILED);
    assert_int_equal(k->n_sends, 0);
    end();
}

/* ## Interrupted dumps. */

/* NLM_F_DUMP_INTR anywhere, in NLMSG_DONE too, and the rest is still read. */
static void
test_dump_intr(void **state)
{
    (void) state;
    for (int at = 0; at < 4; at++) {
        begin();
        for (int i = 0; i < 3; i++) {
            fake_dump_data(k, i * 10, 10, at == i ? NLM_F_DUMP_INTR : 0);
        }
        fake_dump_done(k, 0, NULL, at == 3 ? NLM_F_DUMP_INTR : 0);
        assert_int_equal(run(), TCNL_DUMP_INTERRUPTED);
        assert_seen(0, 30);
        end();
    }
}

/* A refusal says more than an interruption. */
static void
test_dump_intr_failed(void **state)
{
    (void) state;
    begin();
    fake_dump_data(k, 0, 10, NLM_F_DUMP_INTR);
    fake_dump_done(k, EOPNOTSUPP, NULL, 0);
    assert_int_equal(run(), TCNL_DUMP_FAILED);
    assert_int_equal(error.error, EOPNOTSUPP);
    end();
}

static void
test_done_missing(void **state)
{
    (void) state;
    for (unsigned int n = 0; n < 3; n++) {
        begin();
        for (unsigned int i = 0; i < n; i++) {
            fake_dump_data(k, i * 10, 10, 0);
        }
        assert_int_equal(run(), TCNL_DUMP_INTERRUPTED);
        assert_int_equal(error.error, EPROTO);
        assert_string_not_equal(error.text, "");
        assert_seen(0, n * 10);
        end();
    }
}

/* Receives that lose something, at every position: the rest is still read,
 * but the dump is not complete. */
static void
test_loss_anywhere(void **state)
{
    static const int errors[] = { ENOBUFS, EMSGSIZE };

    (void) state;
    for (int at = 0; at < 8; at++) {
        begin();
        for (int i = 0; i < 4; i++) {
            if (at / 2 == i) {
                fake_dump_error(k, errors[at % 2]);
            }
            if (i < 3) {
                fake_dump_data(k, i * 10, 10, 0);
            }
        }
        fake_dump_done(k, 0, NULL, 0);
        assert_int_equal(run(), TCNL_DUMP_INTERRUPTED);
        assert_seen(0, 30);
        end();
    }
}

static void
test_recv_interrupted(void **state)
{
    (void) state;
    begin();
    fake_dump_error(k, EINTR);
    fake_dump_data(k, 0, 10, 0);
    fake_dump_error(k, EINTR);
    fake_dump_done(k, 0, NULL, 0);
    assert_int_equal(run(), TCNL_DUMP_COMPLETE);
    assert_seen(0, 10);
    end();
}

/* Errors without end do not make an endless dump. */
static void
test_error_storm(void **state)
{
    (void) state;
    begin();
    for (int i = 0; i < 120; i++) {
        fake_dump_error(k, EINTR);
    }
    fake_dump_done(k, 0, NULL, 0);
    assert_int_equal(run(), TCNL_DUMP_INTERRUPTED);
    assert_true(k->n_recvs < 150);
    end();
}

static void
test_recv_error(void **state)
{
    (void) state;
    begin();
    fake_dump_data(k, 0, 10, 0);
    fake_dump_error(k, ENOMEM);
    fake_dump_data(k, 10, 10, 0);
    assert_int_equal(run(), TCNL_DUMP_INTERRUPTED);
    assert_int_equal(error.error, ENOMEM);
    assert_seen(0, 10);
    end();
}

/* A length that says too much, at each message of the first datagram. */
static void
test_damaged(void **state)
{
    (void) state;
    for (unsigned int at = 0; at < 10; at++) {
        struct nlmsghdr *nlh;

        begin();
        fake_dump_data(k, 0, 10, 0);
        nlh = (void *) (fake_dump_last(k)->data + at * 20);
        nlh->nlmsg_len = 0x80000000 + at;
        fake_dump_data(k, 10, 10, 0);
        fake_dump_done(k, 0, NULL, 0);
        assert_int_equal(run(), TCNL_DUMP_INTERRUPTED);
        for (unsigned int i = 0; i < 20; i++) {
            assert_int_equal(seen[i], i < at || i >= 10);
        }
        end();
    }
}

/* NLMSG_DONE without a sensible code, or cut short. */
static void
test_malformed_done(void **state)
{
    (void) state;
    for (int kind = 0; kind < 2; kind++) {
        begin();
        fake_dump_data(k, 0, 10, 0);
        fake_dump_done(k, kind ? 0 : -5, NULL, 0);
        if (kind) {
            struct nlmsghdr *nlh = (void *) fake_dump_last(k)->data;

            nlh->nlmsg_len = fake_dump_last(k)->len = sizeof *nlh;
        }
        assert_int_equal(run(), TCNL_DUMP_INTERRUPTED);
        assert_int_equal(error.error, EPROTO);
        end();
    }
}

static void
test_malformed_error(void **state)
{
    (void) state;
    begin();
    fake_dump_refused(k, -5, NULL);
    fake_dump_data(k, 0, 10, 0);
    fake_dump_done(k, 0, NULL, 0);
    assert_int_equal(run(), TCNL_DUMP_INTERRUPTED);
    assert_seen(0, 10);
    end();
}

/* ## Cut short by the caller. */

static void
test_finish_early(void **state)
{
    (void) state;
    for (int recvs = 0; recvs < 4; recvs++) {
        uint32_t buf[TCNL_DUMP_BUFSIZE / 4];
        struct tcnl_dump d;
        size_t len;

        begin();
        for (int i = 0; i < 4; i++) {
            fake_dump_data(k, i * 50, 50, 0);
        }
        fake_dump_done(k, 0, NULL, 0);
        start(&d);
        for (int i = 0; i < recvs; i++) {
            assert_int_equal(tcnl_dump_recv(&d, buf, sizeof buf, &len),
                             TCNL_DUMP_RUNNING);
        }
        assert_int_equal(tcnl_dump_finish(&d), TCNL_DUMP_INTERRUPTED);
        assert_int_equal(d.error.error, ECANCELED);
        assert_int_equal(k->queue.head, k->queue.tail);
        assert_int_equal(tcnl_dump_finish(&d), TCNL_DUMP_INTERRUPTED);
        end();
    }
}

/* ## Shared by threads. */

#define N_THREADS 3

struct sharing {
    pthread_mutex_t mutex;      /* Around tcnl_dump_recv(). */
    struct tcnl_dump dump;
};

struct reader {
    struct sharing *sharing;
    unsigned int counts[FAKE_MAX];
};

static bool
receive(struct sharing *s, void *buf, size_t *len)
{
    enum tcnl_dump_status status;

    pthread_mutex_lock(&s->mutex);
    status = tcnl_dump_recv(&s->dump, buf, TCNL_DUMP_BUFSIZE, len);
    pthread_mutex_unlock(&s->mutex);
    return status == TCNL_DUMP_RUNNING;
}

static void *
read_dump(void *reader_)
{
    struct reader *reader = reader_;
    uint8_t *buf = malloc(TCNL_DUMP_BUFSIZE);
    bool more;

    do {
        const struct nlmsghdr *nlh;
        size_t len, ofs = 0;

        more = receive(reader->sharing, buf, &len);
        while ((nlh = tcnl_dump_walk(reader->sharing->dump.seq, buf, len,
                                     &ofs))) {
            reader->counts[payload(nlh)]++;
        }
    } while (more);
    free(buf);
    return NULL;
}

/* Each thread parses outside of the lock, and all of them together see every
 * message once. */
static void
test_threads(void **state)
{
    struct sharing sharing = { .mutex = PTHREAD_MUTEX_INITIALIZER };
    struct reader readers[N_THREADS];
    pthread_t threads[N_THREADS];

    (void) state;
    begin();
    for (unsigned int i = 0; i < 100; i++) {
        fake_dump_data(k, i * 5, 5, 0);
    }
    fake_dump_done(k, 0, NULL, 0);
    start(&sharing.dump);
    for (int i = 0; i < N_THREADS; i++) {
        readers[i] = (struct reader) { .sharing = &sharing };
        assert_int_equal(pthread_create(&threads[i], NULL, read_dump,
                                        &readers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        for (unsigned int j = 0; j < FAKE_MAX; j++) {
            seen[j] += readers[i].counts[j];
        }
    }
    assert_int_equal(tcnl_dump_finish(&sharing.dump), TCNL_DUMP_COMPLETE);
    assert_seen(0, 500);
    end();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_complete),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_done_in_data),
        cmocka_unit_test(test_foreign),
        cmocka_unit_test(test_done_error),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_busy),
        cmocka_unit_test(test_acked),
        cmocka_unit_test(test_send_error),
        cmocka_unit_test(test_send_interrupted),
        cmocka_unit_test(test_build_error),
        cmocka_unit_test(test_dump_intr),
        cmocka_unit_test(test_dump_intr_failed),
        cmocka_unit_test(test_done_missing),
        cmocka_unit_test(test_loss_anywhere),
        cmocka_unit_test(test_recv_interrupted),
        cmocka_unit_test(test_error_storm),
        cmocka_unit_test(test_recv_error),
        cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_malformed_done),
        cmocka_unit_test(test_malformed_error),
        cmocka_unit_test(test_finish_early),
        cmocka_unit_test(test_threads),
    };

    return cmocka_run_group_tests_name("dump", tests, NULL, NULL);
}
