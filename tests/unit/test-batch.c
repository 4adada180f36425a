/* SPDX-License-Identifier: Apache-2.0 */

/* Batches against the scripted kernel: every slot ends with the truth, or
 * with the admission that it is not known. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <libmnl/libmnl.h>
#include "fake/fake-kernel.h"
#include "tcnl/batch.h"

#define N 8                     /* Requests of most tests. */
#define REQUEST_LEN 24          /* Of each. */

struct fixture {
    struct fake_kernel kernel;
    struct tcnl_batch batch;
    unsigned int n_replies;
    unsigned int reply_slots[FAKE_MAX];
};

static struct fixture fixture;
static struct fake_kernel *const k = &fixture.kernel;
static struct tcnl_batch *const b = &fixture.batch;

/* The data reply to a slot has 1000 plus its index as payload. */
static void
take_reply(void *aux, unsigned int slot, const struct nlmsghdr *nlh)
{
    struct fixture *f = aux;
    uint32_t value;

    assert_int_equal(nlh->nlmsg_len, NLMSG_HDRLEN + sizeof value);
    memcpy(&value, mnl_nlmsg_get_payload(nlh), sizeof value);
    assert_int_equal(value, 1000 + slot);
    f->reply_slots[f->n_replies++] = slot;
}

static void
begin(void)
{
    memset(&fixture, 0, sizeof fixture);
    fake_kernel_init(k);
    assert_int_equal(tcnl_batch_init(b, &k->transport, FAKE_MAX, 65536), 0);
    b->reply_cb = take_reply;
    b->reply_aux = &fixture;
}

/* Whatever happened, nothing may be left for the next batch to read. */
static void
end(void)
{
    assert_int_equal(k->queue.head, k->queue.tail);
    assert_int_equal(k->sk_err, 0);
    tcnl_batch_uninit(b);
    fake_kernel_uninit(k);
}

static int
put_request(struct tcnl_buffer *buffer, const void *value)
{
    tcnl_msg_begin(buffer, FAKE_MSG_TYPE, NLM_F_REQUEST, NULL, 0);
    tcnl_put(buffer, 1, value, sizeof(uint32_t));
    return tcnl_msg_end(buffer, NULL);
}

static void
add(unsigned int n, size_t reply_room)
{
    for (uint32_t i = 0; i < n; i++) {
        assert_true(tcnl_batch_has_room(b));
        assert_int_equal(put_request(&b->buffer, &i), 0);
        tcnl_batch_add(b, reply_room);
    }
}

static int
flush(unsigned int n)
{
    add(n, 0);
    return tcnl_batch_flush(b);
}

/* The same with a data reply for each. */
static int
flush_echoed(unsigned int n)
{
    for (uint32_t i = 0; i < n; i++) {
        k->verdicts[i].reply = 1000 + i;
    }
    add(n, 2048);
    return tcnl_batch_flush(b);
}

static unsigned int
count(enum tcnl_slot_state state)
{
    unsigned int n = 0;

    for (unsigned int i = 0; i < b->n_slots; i++) {
        n += b->slots[i].state == state;
    }
    return n;
}

static void
assert_slot(unsigned int i, enum tcnl_slot_state state, int error)
{
    assert_int_equal(b->slots[i].state, state);
    assert_int_equal(b->slots[i].error.error, error);
}

/* ## Nothing is lost. */

static void
test_empty(void **state)
{
    (void) state;
    begin();
    assert_int_equal(tcnl_batch_flush(b), 0);
    assert_int_equal(k->n_sends, 0);
    assert_int_equal(b->stats.flushes, 0);
    end();
}

/* All succeed: one send, and one ack that is read. */
static void
test_all_ok(void **state)
{
    (void) state;
    begin();
    assert_int_equal(flush(N), 0);
    assert_int_equal(count(TCNL_OK), N);
    assert_int_equal(k->n_sends, 1);
    assert_int_equal(k->n_recvs, 2);
    for (unsigned int i = 0; i < N; i++) {
        assert_int_equal(k->requests[i].seq, 1 + i);
        assert_int_equal(k->requests[i].flags,
                         NLM_F_REQUEST | (i == N - 1 ? NLM_F_ACK : 0));
    }
    assert_int_equal(b->stats.messages, N);
    assert_int_equal(b->stats.sends, 1);
    assert_int_equal(b->stats.recvs, 1);
    end();
}

/* One request refused, at every position, the fence among them. */
static void
test_refused_anywhere(void **state)
{
    (void) state;
    for (unsigned int bad = 0; bad < N; bad++) {
        begin();
        k->verdicts[bad] = (struct fake_verdict) {
            .error = EEXIST, .text = "Filter already exists", .offset = 36,
        };
        assert_int_equal(flush(N), 0);
        assert_int_equal(count(TCNL_OK), N - 1);
        assert_slot(bad, TCNL_FAILED, EEXIST);
        assert_string_equal(b->slots[bad].error.text,
                            "Filter already exists");
        assert_true(b->slots[bad].error.has_offset);
        assert_int_equal(b->slots[bad].error.offset, 36);
        assert_int_equal(b->stats.refused, 1);
        end();
    }
}

/* Every set of refusals. */
static void
test_refused_sets(void **state)
{
    (void) state;
    for (unsigned int set = 0; set < 1u << N; set++) {
        begin();
        for (unsigned int i = 0; i < N; i++) {
            k->verdicts[i].error = set & 1u << i ? 1 + i : 0;
            k->verdicts[i].uncapped = i % 2;
            k->verdicts[i].text = i % 3 ? "no" : NULL;
        }
        assert_int_equal(flush(N), 0);
        for (unsigned int i = 0; i < N; i++) {
            bool bad = set & 1u << i;

            assert_slot(i, bad ? TCNL_FAILED : TCNL_OK, bad ? 1 + i : 0);
            if (bad) {
                assert_string_equal(b->slots[i].error.text,
                                    i % 3 ? "no" : "");
            }
        }
        end();
    }
}

static void
test_ack_each(void **state)
{
    (void) state;
    begin();
    b->ack_each = true;
    k->verdicts[3].error = EINVAL;
    assert_int_equal(flush(N), 0);
    assert_int_equal(k->n_replies, N);
    assert_int_equal(count(TCNL_OK), N - 1);
    assert_slot(3, TCNL_FAILED, EINVAL);
    end();
}

/* ack_each agrees with the fence about every set of refusals and still knows
 * what was acked when other acks were lost. */
static void
test_ack_each_lost(void **state)
{
    (void) state;
    for (unsigned int at = 0; at < N; at++) {
        begin();
        b->ack_each = true;
        k->overflow_at = at;
        assert_int_equal(flush(N), ENOBUFS);
        for (unsigned int i = 0; i < N; i++) {
            assert_slot(i, i < at ? TCNL_OK : TCNL_UNKNOWN,
                        i < at ? 0 : ENOBUFS);
        }
        end();
    }
}

static void
test_echo(void **state)
{
    (void) state;
    begin();
    k->verdicts[2].error = ENOENT;
    k->verdicts[2].lose_reply = true;
    assert_int_equal(flush_echoed(N), 0);
    assert_int_equal(fixture.n_replies, N - 1);
    for (unsigned int i = 0; i < N; i++) {
        assert_int_equal(b->slots[i].got_reply, i != 2);
    }
    assert_slot(2, TCNL_FAILED, ENOENT);
    assert_int_equal(count(TCNL_OK), N - 1);
    end();
}

/* The kernel does not fail an add whose echo it could not build. */
static void
test_echo_missing(void **state)
{
    (void) state;
    begin();
    k->verdicts[2].lose_reply = true;
    assert_int_equal(flush_echoed(N), 0);
    assert_slot(2, TCNL_OK, 0);
    assert_false(b->slots[2].got_reply);
    end();
}

/* A delete whose echo did not fit is done, but says EAGAIN. */
static void
test_error_beats_echo(void **state)
{
    (void) state;
    begin();
    k->verdicts[2].error = EAGAIN;
    assert_int_equal(flush_echoed(N), 0);
    assert_slot(2, TCNL_FAILED, EAGAIN);
    assert_true(b->slots[2].got_reply);
    end();
}

/* ## Lost answers. */

/* The buffer overflows at each reply in turn while all requests fail. */
static void
test_overflow_anywhere(void **state)
{
    (void) state;
    for (unsigned int at = 0; at < N; at++) {
        begin();
        k->overflow_at = at;
        for (unsigned int i = 0; i < N; i++) {
            k->verdicts[i].error = EINVAL;
        }
        assert_int_equal(flush(N), ENOBUFS);
        for (unsigned int i = 0; i < N; i++) {
            assert_slot(i, i < at ? TCNL_FAILED : TCNL_UNKNOWN,
                        i < at ? EINVAL : ENOBUFS);
        }
        assert_int_equal(b->stats.overflows, 1);
        assert_int_equal(b->stats.unknown, N - at);
        end();
    }
}

/* The same with echoes: what was echoed is known to be done. */
static void
test_overflow_echoed(void **state)
{
    (void) state;
    for (unsigned int at = 0; at < N; at++) {
        begin();
        k->overflow_at = at;
        assert_int_equal(flush_echoed(N), ENOBUFS);
        assert_int_equal(fixture.n_replies, at);
        for (unsigned int i = 0; i < N; i++) {
            assert_slot(i, i < at ? TCNL_OK : TCNL_UNKNOWN,
                        i < at ? 0 : ENOBUFS);
        }
        end();
    }
}

/* ENOBUFS although the fence has come: the kernel had no memory for one of
 * the acks before it. */
static void
test_overflow_before_fence(void **state)
{
    (void) state;
    begin();
    fake_queue_error(k, ENOBUFS);
    k->verdicts[1].error = EINVAL;
    assert_int_equal(flush(N), ENOBUFS);
    assert_slot(1, TCNL_FAILED, EINVAL);
    assert_slot(N - 1, TCNL_OK, 0);
    assert_int_equal(count(TCNL_UNKNOWN), N - 2);
    end();
}

/* After an overflow the next flush is sound again. */
static void
test_overflow_recovers(void **state)
{
    (void) state;
    begin();
    k->overflow_at = 0;
    assert_int_equal(flush(N), ENOBUFS);
    assert_int_equal(count(TCNL_UNKNOWN), N);
    tcnl_batch_clear(b);
    assert_int_equal(flush(N), 0);
    assert_int_equal(count(TCNL_OK), N);
    end();
}

static void
test_fence_lost(void **state)
{
    (void) state;
    begin();
    k->verdicts[N - 1].lose_ack = true;
    k->verdicts[3].error = EINVAL;
    assert_int_equal(flush(N), EPROTO);
    assert_slot(3, TCNL_FAILED, EINVAL);
    assert_int_equal(count(TCNL_UNKNOWN), N - 1);
    assert_slot(0, TCNL_UNKNOWN, EPROTO);
    end();
}

/* With an ack each, any one of them may be the lost one: it is OK by the
 * fence, or it is the fence. */
static void
test_ack_lost_anywhere(void **state)
{
    (void) state;
    for (unsigned int lost = 0; lost < N; lost++) {
        begin();
        b->ack_each = true;
        k->verdicts[lost].lose_ack = true;
        assert_int_equal(flush(N), lost == N - 1 ? EPROTO : 0);
        assert_int_equal(count(TCNL_OK), lost == N - 1 ? N - 1 : N);
        end();
    }
}

/* ## Damaged answers. */

static void
test_damaged_anywhere(void **state)
{
    (void) state;
    for (unsigned int at = 0; at < N; at++) {
        for (int truncated = 0; truncated < 2; truncated++) {
            begin();
            *(truncated ? &k->truncate_at : &k->damage_at) = at;
            for (unsigned int i = 0; i < N; i++) {
                k->verdicts[i].error = EINVAL;
            }
            assert_int_equal(flush(N), ENOBUFS);
            assert_int_equal(count(TCNL_FAILED), N - 1);
            assert_slot(at, TCNL_UNKNOWN, ENOBUFS);
            assert_int_equal(b->stats.damaged, 1);
            end();
        }
    }
}

/* One datagram is damaged: no silence can be trusted any more. */
static void
test_damaged_silence(void **state)
{
    (void) state;
    begin();
    k->verdicts[2].error = EINVAL;
    k->damage_at = 0;
    assert_int_equal(flush(N), ENOBUFS);
    assert_slot(N - 1, TCNL_OK, 0);
    assert_int_equal(count(TCNL_UNKNOWN), N - 1);
    end();
}

/* An ack without a sensible code answers nothing. */
static void
test_malformed_ack(void **state)
{
    (void) state;
    begin();
    k->verdicts[2].error = 5000;
    assert_int_equal(flush(N), ENOBUFS);
    assert_slot(2, TCNL_UNKNOWN, ENOBUFS);
    assert_int_equal(b->stats.damaged, 1);
    end();
}

static void
test_duplicates(void **state)
{
    (void) state;
    begin();
    k->verdicts[2].error = EINVAL;
    for (unsigned int i = 0; i < N; i++) {
        k->verdicts[i].twice = true;
    }
    assert_int_equal(flush_echoed(N), 0);
    assert_slot(2, TCNL_FAILED, EINVAL);
    assert_int_equal(count(TCNL_OK), N - 1);
    assert_int_equal(fixture.n_replies, N);

    /* An echo of each, and the acks of the refused one and of the fence. */
    assert_int_equal(b->stats.strays, N + 2);
    end();
}

static void
test_reordered(void **state)
{
    (void) state;
    begin();
    k->reorder = true;
    k->verdicts[2].error = EINVAL;
    assert_int_equal(flush_echoed(N), 0);
    assert_slot(2, TCNL_FAILED, EINVAL);
    assert_int_equal(count(TCNL_OK), N - 1);
    assert_int_equal(fixture.n_replies, N);
    assert_int_equal(fixture.reply_slots[0], N - 1);
    end();
}

static void
test_strays(void **state)
{
    struct nlmsghdr noop = {
        .nlmsg_len = sizeof noop, .nlmsg_type = NLMSG_NOOP, .nlmsg_seq = 1,
    };

    (void) state;
    begin();
    k->foreign = true;
    k->verdicts[2].error = EINVAL;
    k->verdicts[4].reply = 1;           /* That was not asked for. */
    fake_queue_datagram(k, &noop, sizeof noop);
    assert_int_equal(flush(N), 0);
    assert_slot(2, TCNL_FAILED, EINVAL);
    assert_slot(4, TCNL_OK, 0);
    assert_int_equal(fixture.n_replies, 0);
    assert_int_equal(b->stats.strays, 3 + 2);
    end();
}

/* A flood of strays ends the reading, and all silence is in doubt. */
static void
test_flood(void **state)
{
    struct nlmsghdr stray = { .nlmsg_len = sizeof stray };

    (void) state;
    begin();
    for (int i = 0; i < 100; i++) {
        fake_queue_datagram(k, &stray, sizeof stray);
    }
    assert_int_equal(flush(N), ENOBUFS);
    assert_int_equal(count(TCNL_UNKNOWN), N);
    assert_int_equal(k->n_recvs, 3 * N + 16);

    /* What was left behind does not deceive the next ones. */
    for (int i = 0; i < 4; i++) {
        tcnl_batch_clear(b);
        flush(N);
    }
    assert_int_equal(count(TCNL_OK), N);
    end();
}

/* ## Errors of send and receive. */

static void
test_send_error(void **state)
{
    (void) state;
    begin();
    k->transport.max_send = 2 * REQUEST_LEN;
    k->send_error_at = 1;
    k->send_error = ENOMEM;
    k->verdicts[0].error = EINVAL;
    assert_int_equal(flush(N), ENOMEM);
    assert_int_equal(k->n_sends, 2);
    assert_int_equal(k->n_requests, 2);
    assert_slot(0, TCNL_FAILED, EINVAL);
    assert_slot(1, TCNL_OK, 0);
    for (unsigned int i = 2; i < N; i++) {
        assert_slot(i, TCNL_NOT_SENT, ENOMEM);
    }
    assert_int_equal(b->stats.sends, 1);

    /* They are not sent behind the caller's back either. */
    assert_int_equal(tcnl_batch_flush(b), 0);
    assert_int_equal(k->n_sends, 2);
    end();
}

/* An interrupted send may have been executed: the answers tell. */
static void
test_send_interrupted(void **state)
{
    (void) state;
    for (int executed = 0; executed < 2; executed++) {
        begin();
        k->send_error_at = 0;
        k->send_error = EINTR;
        k->send_anyway = executed;
        assert_int_equal(flush(N), executed ? 0 : EINTR);
        assert_int_equal(count(executed ? TCNL_OK : TCNL_UNKNOWN), N);
        assert_slot(0, executed ? TCNL_OK : TCNL_UNKNOWN,
                    executed ? 0 : EINTR);
        end();
    }
}

static void
test_recv_interrupted(void **state)
{
    (void) state;
    begin();
    fake_queue_error(k, EINTR);
    fake_queue_error(k, EINTR);
    assert_int_equal(flush(N), 0);
    assert_int_equal(count(TCNL_OK), N);
    end();
}

static void
test_recv_error(void **state)
{
    (void) state;
    begin();
    fake_queue_error(k, ENOMEM);
    assert_int_equal(flush(N), ENOMEM);
    assert_int_equal(count(TCNL_UNKNOWN), N - 1);
    assert_slot(0, TCNL_UNKNOWN, ENOMEM);
    end();
}

/* ## Splits. */

static void
test_split_by_size(void **state)
{
    (void) state;
    for (unsigned int per = 1; per <= N + 1; per++) {
        begin();
        k->transport.max_send = per * REQUEST_LEN + REQUEST_LEN - 1;
        k->verdicts[1].error = EINVAL;
        assert_int_equal(flush(N), 0);
        assert_int_equal(k->n_sends, (N + per - 1) / per);
        assert_int_equal(k->max_sent, REQUEST_LEN * (per < N ? per : N));
        for (unsigned int i = 0; i < N; i++) {
            bool fence = i == N - 1 || i % per == per - 1;

            assert_int_equal(k->requests[i].send, i / per);
            assert_int_equal(!!(k->requests[i].flags & NLM_F_ACK), fence);
        }
        assert_slot(1, TCNL_FAILED, EINVAL);
        assert_int_equal(count(TCNL_OK), N - 1);
        end();
    }
}

/* A message longer than a datagram may be is sent all the same, alone: the
 * kernel refuses it. */
static void
test_too_long(void **state)
{
    (void) state;
    begin();
    k->transport.max_send = REQUEST_LEN - 1;
    assert_int_equal(flush(N), EMSGSIZE);
    assert_int_equal(count(TCNL_NOT_SENT), N);
    assert_slot(0, TCNL_NOT_SENT, EMSGSIZE);
    end();
}

/* However small the receive buffer, 400 refusals do not overflow it. */
static void
test_split_by_budget(void **state)
{
    static const size_t sizes[] = { 1, 2304, 8192, 32768, 212992 };

    (void) state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        begin();
        k->transport.rcvbuf = sizes[i];
        k->charge = 960;
        for (unsigned int j = 0; j < 400; j++) {
            k->verdicts[j].error = EINVAL;
        }
        assert_int_equal(flush(400), 0);
        assert_int_equal(count(TCNL_FAILED), 400);
        end();
    }
}

static void
test_split_by_reply_room(void **state)
{
    (void) state;
    begin();
    k->transport.rcvbuf = 4 * (1024 + 2048);
    assert_int_equal(flush_echoed(N), 0);
    assert_int_equal(k->n_sends, 2);
    assert_int_equal(count(TCNL_OK), N);
    end();
}

/* An overflow in one datagram leaves the others alone. */
static void
test_split_overflow(void **state)
{
    (void) state;
    begin();
    k->transport.max_send = 2 * REQUEST_LEN;
    k->overflow_at = 1;
    assert_int_equal(flush(N), ENOBUFS);
    assert_int_equal(k->n_sends, N / 2);
    for (unsigned int i = 0; i < N; i++) {
        bool lost = i == 2 || i == 3;

        assert_slot(i, lost ? TCNL_UNKNOWN : TCNL_OK, lost ? ENOBUFS : 0);
    }
    end();
}

/* ## Use of a batch. */

/* Sequence numbers wrap around without 0, and never within a datagram. */
static void
test_seq_wraps(void **state)
{
    (void) state;
    for (uint32_t before = 0; before <= N + 1; before++) {
        begin();
        k->transport.next_seq = UINT32_MAX - before;
        k->verdicts[1].error = EINVAL;
        assert_int_equal(flush(N), 0);
        assert_slot(1, TCNL_FAILED, EINVAL);
        assert_int_equal(count(TCNL_OK), N - 1);
        for (unsigned int i = 0; i < N; i++) {
            assert_int_equal(k->requests[i].seq, k->requests[0].seq + i);
            assert_int_not_equal(k->requests[i].seq, 0);
        }
        assert_int_equal(k->requests[0].seq, before >= N - 1
                                             ? UINT32_MAX - before : 1);
        assert_int_not_equal(k->transport.next_seq, 0);
        end();
    }
}

static void
test_reserve_seqs(void **state)
{
    struct tcnl_transport t = { .next_seq = 0 };

    (void) state;
    assert_int_equal(tcnl_transport_reserve_seqs(&t, 1), 1);
    assert_int_equal(tcnl_transport_reserve_seqs(&t, 0), 2);
    assert_int_equal(tcnl_transport_reserve_seqs(&t, 3), 2);
    t.next_seq = UINT32_MAX;
    assert_int_equal(tcnl_transport_reserve_seqs(&t, 1), UINT32_MAX);
    assert_int_equal(t.next_seq, 1);
    t.next_seq = UINT32_MAX;
    assert_int_equal(tcnl_transport_reserve_seqs(&t, 2), 1);
    assert_int_equal(t.next_seq, 3);
}

/* A message that does not fit changes nothing in what was added. */
static void
test_rollback(void **state)
{
    uint8_t big[65535 - NLA_HDRLEN] = { 0 };

    (void) state;
    begin();
    add(3, 0);
    tcnl_msg_begin(&b->buffer, FAKE_MSG_TYPE, NLM_F_REQUEST, NULL, 0);
    tcnl_put(&b->buffer, 1, big, sizeof big);
    assert_int_equal(tcnl_msg_end(&b->buffer, NULL), EMSGSIZE);
    add(2, 0);
    assert_int_equal(tcnl_batch_flush(b), 0);
    assert_int_equal(k->n_requests, 5);
    assert_int_equal(k->max_sent, 5 * REQUEST_LEN);
    assert_int_equal(count(TCNL_OK), 5);
    end();
}

/* A second flush sends only what was added after the first. */
static void
test_flush_twice(void **state)
{
    (void) state;
    begin();
    k->verdicts[1].error = EINVAL;
    k->verdicts[N + 2].error = EEXIST;
    assert_int_equal(flush(N), 0);
    assert_int_equal(flush(N), 0);
    assert_int_equal(k->n_requests, 2 * N);
    assert_slot(1, TCNL_FAILED, EINVAL);
    assert_slot(N + 2, TCNL_FAILED, EEXIST);
    assert_int_equal(count(TCNL_OK), 2 * N - 2);

    tcnl_batch_clear(b);
    assert_int_equal(flush(1), 0);
    assert_slot(0, TCNL_OK, 0);
    end();
}

static void
test_room(void **state)
{
    (void) state;
    begin();
    add(FAKE_MAX, 0);
    assert_false(tcnl_batch_has_room(b));
    tcnl_batch_clear(b);
    assert_true(tcnl_batch_has_room(b));
    end();
}

/* ## A single request. */

static int
put_nothing(struct tcnl_buffer *buffer, const void *arg)
{
    (void) buffer;
    (void) arg;
    return EMSGSIZE;
}

static void
test_transact(void **state)
{
    uint32_t value = 0;
    struct tcnl_error e;

    (void) state;
    begin();
    k->verdicts[0].reply = 1000;
    assert_int_equal(tcnl_transact(&k->transport, put_request, &value,
                                   take_reply, &fixture, &e), 0);
    assert_int_equal(e.error, 0);
    assert_int_equal(fixture.n_replies, 1);

    k->verdicts[1].error = ENOENT;
    k->verdicts[1].text = "no such filter";
    assert_int_equal(tcnl_transact(&k->transport, put_request, &value,
                                   NULL, NULL, &e), ENOENT);
    assert_string_equal(e.text, "no such filter");

    assert_int_equal(tcnl_transact(&k->transport, put_nothing, NULL,
                                   NULL, NULL, &e), EMSGSIZE);
    assert_int_equal(e.error, EMSGSIZE);
    assert_int_equal(k->n_requests, 2);
    end();
}

static void
test_transact_unknown(void **state)
{
    uint32_t value = 0;
    struct tcnl_error e;

    (void) state;
    begin();
    k->overflow_at = 0;
    k->verdicts[1].lose_ack = true;
    k->send_error_at = 2;
    k->send_error = EPERM;
    assert_int_equal(tcnl_transact(&k->transport, put_request, &value,
                                   NULL, NULL, NULL), ENOBUFS);
    assert_int_equal(tcnl_transact(&k->transport, put_request, &value,
                                   NULL, NULL, &e), EPROTO);
    assert_int_equal(e.error, EPROTO);
    assert_int_equal(tcnl_transact(&k->transport, put_request, &value,
                                   NULL, NULL, &e), EPERM);
    end();
}

/* An ack does not stand for the data that was asked for. */
static void
test_transact_reply_lost(void **state)
{
    uint32_t value = 0;
    struct tcnl_error e;

    (void) state;
    for (int how = 0; how < 3; how++) {
        begin();
        k->verdicts[0].reply = 1000;
        k->truncate_at = how == 0 ? 0 : FAKE_NEVER;
        k->damage_at = how == 1 ? 0 : FAKE_NEVER;
        k->verdicts[0].lose_reply = how == 2;
        assert_int_equal(tcnl_transact(&k->transport, put_request, &value,
                                       take_reply, &fixture, &e),
                         how == 2 ? 0 : ENOBUFS);
        assert_int_equal(e.error, how == 2 ? 0 : ENOBUFS);
        assert_int_equal(fixture.n_replies, 0);
        end();
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_all_ok),
        cmocka_unit_test(test_refused_anywhere),
        cmocka_unit_test(test_refused_sets),
        cmocka_unit_test(test_ack_each),
        cmocka_unit_test(test_ack_each_lost),
        cmocka_unit_test(test_echo),
        cmocka_unit_test(test_echo_missing),
        cmocka_unit_test(test_error_beats_echo),
        cmocka_unit_test(test_overflow_anywhere),
        cmocka_unit_test(test_overflow_echoed),
        cmocka_unit_test(test_overflow_before_fence),
        cmocka_unit_test(test_overflow_recovers),
        cmocka_unit_test(test_fence_lost),
        cmocka_unit_test(test_ack_lost_anywhere),
        cmocka_unit_test(test_damaged_anywhere),
        cmocka_unit_test(test_damaged_silence),
        cmocka_unit_test(test_malformed_ack),
        cmocka_unit_test(test_duplicates),
        cmocka_unit_test(test_reordered),
        cmocka_unit_test(test_strays),
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_send_error),
        cmocka_unit_test(test_send_interrupted),
        cmocka_unit_test(test_recv_interrupted),
        cmocka_unit_test(test_recv_error),
        cmocka_unit_test(test_split_by_size),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_split_by_budget),
        cmocka_unit_test(test_split_by_reply_room),
        cmocka_unit_test(test_split_overflow),
        cmocka_unit_test(test_seq_wraps),
        cmocka_unit_test(test_reserve_seqs),
        cmocka_unit_test(test_rollback),
        cmocka_unit_test(test_flush_twice),
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_transact),
        cmocka_unit_test(test_transact_unknown),
        cmocka_unit_test(test_transact_reply_lost),
    };

    return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
