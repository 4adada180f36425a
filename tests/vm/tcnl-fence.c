/* SPDX-License-Identifier: Apache-2.0 */

/* usage: tcnl-fence DEV [SEED]
 *
 * Batches on a real kernel: whether the ack of the last message tells as much
 * as an ack for each, in random batches of which parts fail, and what is left
 * of a batch whose answers do not fit the receive buffer.  DEV is a device of
 * which all qdiscs may be lost, such as a dummy.  Prints TAP. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include "fake/fake-sample.h"
#include "tap.h"
#include "tcnl/batch.h"
#include "tcnl/qdisc.h"
#include "tcnl/socket.h"

#define N_ROUNDS 40
#define MAX_MESSAGES 128
#define N_KINDS_OF_STATE 4

static struct tcnl_transport *transport;
static int ifindex;
static struct sample samples[SAMPLE_MAX];
static unsigned int n_samples;

static void
renew_qdisc(void)
{
    struct tcnl_error e;

    tcnl_qdisc_del(transport, ifindex, TCNL_QDISC_CLSACT, NULL);
    if (tcnl_qdisc_add(transport, ifindex, TCNL_QDISC_CLSACT, 0, &e)) {
        tap_bail("clsact", e.error);
    }
}

/* ## Scripts. */

enum what { ADD, REPLACE, DEL, GET, N_WHATS };

struct message {
    enum what what;
    uint16_t nl_flags;
    struct tcnl_filter_id id;
    const struct sample *sample;
};

/* What came of one message. */
struct outcome {
    enum tcnl_slot_state state;
    int error;
    char text[sizeof ((struct tcnl_error *) NULL)->text];
    bool got_reply;
    uint32_t handle;            /* In the reply. */
};

static unsigned int
pick(unsigned int n)
{
    return (unsigned int) random() % n;
}

/* Few filters, so that they are met again: present or missing as may be.  Some
 * messages are wrong in themselves. */
static void
make_message(struct message *m, unsigned int first)
{
    m->sample = &samples[(first + pick(24)) % n_samples];
    m->what = (enum what) pick(N_WHATS);
    m->nl_flags = pick(4) ? 0 : NLM_F_ECHO;
    m->id = m->sample->id;
    switch (pick(12)) {
    case 0:
        m->id.proto ^= htons(0x10); /* Another one has the prio. */
        break;
    case 1:
        m->id.handle++;             /* The same key, or none there. */
        break;
    case 2:
        m->id.chain = 99;
        break;
    case 3:
        m->id.ifindex = 0x7fffffff; /* No such device. */
        break;
    }
}

static int
build(struct tcnl_buffer *b, const struct message *m)
{
    switch (m->what) {
    case ADD:
        return tcnl_filter_put_new(b, &m->id, &m->sample->flower,
                                   &m->sample->actions, m->nl_flags
                                   | NLM_F_CREATE | NLM_F_EXCL);
    case REPLACE:
        return tcnl_filter_put_new(b, &m->id, &m->sample->flower,
                                   &m->sample->actions,
                                   m->nl_flags | NLM_F_CREATE);
    case DEL:
        return tcnl_filter_put_del(b, &m->id, m->nl_flags);
    default:
        return tcnl_filter_put_get(b, &m->id);
    }
}

static void
note_reply(void *outcomes_, unsigned int slot, const struct nlmsghdr *nlh)
{
    struct outcome *outcomes = outcomes_;
    struct tcnl_filter_info info;

    if (!tcnl_filter_parse(nlh, &info)) {
        outcomes[slot].handle = info.id.handle;
    }
}

static void
run(struct tcnl_batch *b, const struct message *messages, unsigned int n,
    struct outcome *outcomes)
{
    memset(outcomes, 0, n * sizeof *outcomes);
    tcnl_batch_clear(b);
    b->reply_cb = note_reply;
    b->reply_aux = outcomes;
    for (unsigned int i = 0; i < n; i++) {
        const struct message *m = &messages[i];

        if (build(&b->buffer, m)) {
            tap_bail("build", EMSGSIZE);
        }
        tcnl_batch_add(b, m->what == GET || m->nl_flags ? 8192 : 0);
    }
    tcnl_batch_flush(b);
    for (unsigned int i = 0; i < n; i++) {
        const struct tcnl_slot *slot = &b->slots[i];

        outcomes[i].state = slot->state;
        outcomes[i].error = slot->error.error;
        memcpy(outcomes[i].text, slot->error.text, sizeof outcomes[i].text);
        outcomes[i].got_reply = slot->got_reply;
    }
}

/* ## The fence against an ack each. */

static bool
same_outcomes(const struct outcome *a, const struct outcome *b,
              unsigned int n)
{
    for (unsigned int i = 0; i < n; i++) {
        if (a[i].state != b[i].state || a[i].error != b[i].error
            || strcmp(a[i].text, b[i].text)
            || a[i].got_reply != b[i].got_reply
            || a[i].handle != b[i].handle) {
            printf("# message %u: last: state %d, %s \"%s\", handle %#x; "
                   "each: state %d, %s \"%s\", handle %#x\n", i,
                   a[i].state, strerror(a[i].error), a[i].text, a[i].handle,
                   b[i].state, strerror(b[i].error), b[i].text, b[i].handle);
            return false;
        }
    }
    return true;
}

static void
test_fence(struct tcnl_batch *last, struct tcnl_batch *each)
{
    static struct message messages[MAX_MESSAGES];
    static struct outcome outcomes[2][MAX_MESSAGES];
    unsigned int n_states[N_KINDS_OF_STATE] = { 0 };
    unsigned int n_errnos[256] = { 0 }, n_different = 0;

    each->ack_each = true;
    for (int round = 0; round < N_ROUNDS; round++) {
        unsigned int n = 1 + pick(MAX_MESSAGES), first = pick(n_samples);

        for (unsigned int i = 0; i < n; i++) {
            make_message(&messages[i], first);
        }
        renew_qdisc();
        run(last, messages, n, outcomes[0]);
        renew_qdisc();
        run(each, messages, n, outcomes[1]);
        n_different += !same_outcomes(outcomes[0], outcomes[1], n);
        for (unsigned int i = 0; i < n; i++) {
            n_states[outcomes[0][i].state]++;
            n_errnos[outcomes[0][i].error & 255]++;
        }
    }
    tap_ok(!n_different, "%d random batches: an ack for the last message "
           "tells as much as one for each", N_ROUNDS);
    tap_ok(n_states[TCNL_OK] > 100 && n_states[TCNL_FAILED] > 100
           && !n_states[TCNL_UNKNOWN] && !n_states[TCNL_NOT_SENT],
           "%u messages done, %u refused, none unknown", n_states[TCNL_OK],
           n_states[TCNL_FAILED]);
    tap_ok(n_errnos[EEXIST] && n_errnos[ENOENT] && n_errnos[EINVAL]
           && n_errnos[ENODEV], "refused as there already (%u), not there "
           "(%u), invalid (%u), without a device (%u)", n_errnos[EEXIST],
           n_errnos[ENOENT], n_errnos[EINVAL], n_errnos[ENODEV]);
    tap_ok(each->stats.recvs > last->stats.recvs
           && each->stats.messages == last->stats.messages,
           "%ju answers to %ju messages, %ju with an ack each",
           (uintmax_t) last->stats.recvs, (uintmax_t) last->stats.messages,
           (uintmax_t) each->stats.recvs);
}

/* ## Answers that do not fit. */

static void
test_overflow(void)
{
    static struct message messages[MAX_MESSAGES], gets[MAX_MESSAGES];
    static struct outcome sent[MAX_MESSAGES], found[MAX_MESSAGES];
    unsigned int n_unknown = 0, n_executed = 0, n_wrong = 0;
    struct tcnl_batch small, good;
    struct tcnl_transport *t;
    int error = tcnl_socket_open(2048, 0, &t);

    if (error) {
        tap_bail("small socket", error);
    }
    printf("# a receive buffer of %zu bytes\n", t->rcvbuf);
    t->rcvbuf = TCNL_SOCKET_RCVBUF; /* So that nothing is split. */
    if (tcnl_batch_init(&small, t, MAX_MESSAGES, 1 << 20)
        || tcnl_batch_init(&good, transport, MAX_MESSAGES, 1 << 20)) {
        tap_bail("batch", ENOMEM);
    }
    renew_qdisc();
    for (unsigned int i = 0; i < MAX_MESSAGES; i++) {
        messages[i] = (struct message) {
            .what = ADD, .nl_flags = i % 3 ? 0 : NLM_F_ECHO,
            .sample = &samples[i], .id = samples[i].id,
        };
        messages[i].id.chain = i % 5 == 4 ? 99 : 0;
        gets[i] = messages[i];
        gets[i].what = GET;
    }
    run(&small, messages, MAX_MESSAGES, sent);
    run(&good, gets, MAX_MESSAGES, found);
    for (unsigned int i = 0; i < MAX_MESSAGES; i++) {
        n_unknown += sent[i].state == TCNL_UNKNOWN;
        n_executed += sent[i].state == TCNL_UNKNOWN
                      && found[i].state == TCNL_OK;
        n_wrong += sent[i].state != TCNL_UNKNOWN
                   && sent[i].state != found[i].state;
    }
    tap_ok(small.stats.overflows && n_unknown,
           "%u of %u results lost in an overflow", n_unknown, MAX_MESSAGES);
    tap_ok(n_executed, "%u of these were executed", n_executed);
    tap_ok(!n_wrong, "what is not said to be lost is as it was said");
    tcnl_batch_clear(&small);
    run(&small, gets, 1, sent);
    tap_ok(sent[0].state == found[0].state, "the next batch is sound");
    tcnl_batch_uninit(&good);
    tcnl_batch_uninit(&small);
    tcnl_transport_close(t);
}

/* A filter that names a police which is not there makes one. */
static void
drop_police_samples(void)
{
    unsigned int n = 0;

    for (unsigned int i = 0; i < n_samples; i++) {
        bool police = false;

        for (unsigned int j = 0; j < samples[i].actions.n; j++) {
            police |= samples[i].actions.a[j].kind == TCNL_ACT_POLICE;
        }
        if (!police) {
            samples[i].id.parent = TCNL_PARENT_INGRESS;
            samples[n++] = samples[i];
        }
    }
    n_samples = n;
}

int
main(int argc, char *argv[])
{
    struct tcnl_batch last, each;
    int error;

    if (argc < 2 || argc > 3
        || !(ifindex = (int) if_nametoindex(argv[1]))) {
        fputs("usage: tcnl-fence DEV [SEED]\n", stderr);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    srandom(argc > 2 ? (unsigned int) strtoul(argv[2], NULL, 0) : 1);
    error = tcnl_socket_open(0, 0, &transport);
    if (!error) {
        error = tcnl_batch_init(&last, transport, MAX_MESSAGES, 1 << 20);
    }
    if (!error) {
        error = tcnl_batch_init(&each, transport, MAX_MESSAGES, 1 << 20);
    }
    if (error) {
        tap_bail("socket", error);
    }
    n_samples = samples_make(samples, ifindex);
    drop_police_samples();
    if (n_samples < MAX_MESSAGES) {
        tap_bail("samples", ENOENT);
    }

    test_fence(&last, &each);
    test_overflow();

    tcnl_qdisc_del(transport, ifindex, TCNL_QDISC_CLSACT, NULL);
    tcnl_batch_uninit(&last);
    tcnl_batch_uninit(&each);
    tcnl_transport_close(transport);
    return tap_done();
}
