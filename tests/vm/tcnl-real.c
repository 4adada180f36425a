/* SPDX-License-Identifier: Apache-2.0 */

/* usage: tcnl-real DEV
 *
 * Compares what tcnl sends with what a real kernel says it has received: every
 * key, every action, meters, qdiscs and errors.  DEV is a device of which all
 * qdiscs may be lost, such as a dummy.  Prints TAP. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_mirred.h>
#include <net/if.h>
#include <sys/socket.h>
#include "fake/fake-sample.h"
#include "tap.h"
#include "tcnl/batch.h"
#include "tcnl/dump.h"
#include "tcnl/police.h"
#include "tcnl/probe.h"
#include "tcnl/qdisc.h"
#include "tcnl/socket.h"

static struct tcnl_transport *transport;
static struct tcnl_batch batch;
static int ifindex;

/* What the probe has found.  The tests that follow say whether that is so: a
 * kernel must do what it is said to be able to, and must not do the rest. */
static struct tcnl_abilities able;

static struct sample samples[SAMPLE_MAX];
static unsigned int n_samples;

/* ## One request. */

/* The last data reply, as far as it is a filter's. */
static struct {
    unsigned int n;
    struct tcnl_filter_info info;
    struct tcnl_flower flower;
    struct tcnl_actions actions;
    struct tcnl_filter_counters counters;
    uint16_t type;
    int error;
} reply;

static void
parse_reply(const struct nlmsghdr *nlh)
{
    reply.n++;
    reply.type = nlh->nlmsg_type;
    reply.error = tcnl_filter_parse(nlh, &reply.info);
    if (!reply.error && reply.info.has_keys) {
        reply.error = tcnl_filter_parse_flower(&reply.info, &reply.flower);
        if (!reply.error) {
            reply.error = tcnl_actions_parse(reply.info.acts, &reply.actions);
        }
    }
    if (!reply.error && reply.info.acts) {
        reply.error = tcnl_actions_parse_counters(reply.info.acts,
                                                  &reply.counters);
    }
}

static void
reply_cb(void *aux, unsigned int slot, const struct nlmsghdr *nlh)
{
    (void) aux;
    (void) slot;
    parse_reply(nlh);
}

struct request {
    enum { NEW, DEL, GET, GET_COUNTERS, FLUSH } what;
    const struct sample *sample;
    uint16_t nl_flags;
};

static int
build(struct tcnl_buffer *b, const void *request_)
{
    const struct request *r = request_;
    const struct sample *s = r->sample;

    switch (r->what) {
    case NEW:
        return tcnl_filter_put_new(b, &s->id, &s->flower, &s->actions,
                                   r->nl_flags);
    case DEL:
        return tcnl_filter_put_del(b, &s->id, r->nl_flags);
    case GET:
        return tcnl_filter_put_get(b, &s->id);
    case GET_COUNTERS:
        return tcnl_filter_put_get_counters(b, &s->id);
    case FLUSH:
        return tcnl_chain_put_flush(b, &s->id);
    }
    return EINVAL;
}

static int
ask(int what, const struct sample *s, uint16_t nl_flags,
    struct tcnl_error *error)
{
    struct request r = { what, s, nl_flags };

    memset(&reply, 0, sizeof reply);
    return tcnl_transact(transport, build, &r, reply_cb, NULL, error);
}

/* ## Qdiscs. */

static enum tcnl_qdisc_kind
qdisc_now(void)
{
    struct tcnl_qdisc q;
    int error = tcnl_qdisc_get(transport, ifindex, &q, NULL);

    return error ? TCNL_QDISC_OTHER : q.kind;
}

static void
test_one_qdisc(enum tcnl_qdisc_kind kind, enum tcnl_qdisc_kind other,
               uint32_t block, const char *name)
{
    struct tcnl_error e;
    struct tcnl_qdisc q;

    tap_ok(!tcnl_qdisc_add(transport, ifindex, kind, block, &e), "add %s",
           name);
    tap_ok(!tcnl_qdisc_get(transport, ifindex, &q, &e) && q.kind == kind
           && q.ingress_block == block && !q.egress_block, "get %s", name);
    tap_ok(tcnl_qdisc_add(transport, ifindex, kind, block, &e) == EEXIST
           && e.text[0], "a second one is refused: %s", e.text);
    tap_ok(tcnl_qdisc_add(transport, ifindex, other, 0, &e) == EEXIST
           && e.text[0], "and another kind: %s", e.text);
    tap_ok(tcnl_qdisc_del(transport, ifindex, other, &e) == EINVAL
           && e.text[0], "deleting the other kind is refused: %s", e.text);
    tap_ok(!tcnl_qdisc_del(transport, ifindex, kind, &e), "delete %s", name);
    tap_ok(qdisc_now() == TCNL_QDISC_NONE, "none after %s", name);
}

static void
test_qdisc(void)
{
    struct tcnl_error e;
    struct tcnl_qdisc q;

    tap_ok(qdisc_now() == TCNL_QDISC_NONE, "no qdisc at first");
    test_one_qdisc(TCNL_QDISC_CLSACT, TCNL_QDISC_INGRESS, 0, "clsact");
    test_one_qdisc(TCNL_QDISC_INGRESS, TCNL_QDISC_CLSACT, 0, "ingress");
    test_one_qdisc(TCNL_QDISC_INGRESS, TCNL_QDISC_CLSACT, 77,
                   "ingress with a block");
    tap_ok(tcnl_qdisc_del(transport, ifindex, TCNL_QDISC_CLSACT, &e) != 0,
           "delete of none fails: %s", e.text);
    tap_ok(tcnl_qdisc_get(transport, 0x7ffffff0, &q, &e) == ENODEV,
           "no such device: %s", e.text);
}

/* ## Filters. */

/* Adds all samples by batches. */
static void
add_all(void)
{
    unsigned int base = 0, refused = 0;

    for (unsigned int i = 0; i < n_samples; i++) {
        const struct sample *s = &samples[i];
        int error = tcnl_filter_put_new(&batch.buffer, &s->id, &s->flower,
                                        &s->actions,
                                        NLM_F_CREATE | NLM_F_EXCL);

        if (error) {
            tap_bail(s->name, error);
        }
        tcnl_batch_add(&batch, 0);
        if (tcnl_batch_has_room(&batch) && i + 1 < n_samples) {
            continue;
        }
        error = tcnl_batch_flush(&batch);
        if (error) {
            tap_bail("flush", error);
        }
        for (unsigned int j = base; j <= i; j++) {
            const struct tcnl_slot *slot = &batch.slots[j - base];

            if (slot->state != TCNL_OK) {
                printf("# %s: %s: %s\n", samples[j].name,
                       strerror(slot->error.error), slot->error.text);
                refused++;
            }
        }
        base = i + 1;
        tcnl_batch_clear(&batch);
    }
    tap_ok(!refused, "%u filters added by batches", n_samples);
}

struct dump {
    struct tcnl_filter_id id;
    struct tcnl_dump_form form;
    unsigned int seen[SAMPLE_MAX];
    unsigned int headers, others;
};

static int
build_dump(struct tcnl_buffer *b, const void *dump_)
{
    const struct dump *dump = dump_;

    return tcnl_filter_put_dump(b, &dump->id, &dump->form);
}

static bool
id_equal(const struct tcnl_filter_id *a, const struct tcnl_filter_id *b)
{
    return a->ifindex == b->ifindex && a->block == b->block
           && a->parent == b->parent && a->chain == b->chain
           && a->handle == b->handle && a->prio == b->prio
           && a->proto == b->proto;
}

/* 'full' says in which form the reply should be. */
static bool
reply_is(const struct sample *s, bool full)
{
    bool flags = (reply.info.cls_flags & TCNL_CLS_FLAGS_SETTABLE)
                 == s->flower.cls_flags
                 && reply.info.cls_flags & TCA_CLS_FLAGS_NOT_IN_HW;
    bool cookie = reply.counters.has_cookie == s->actions.has_cookie
                  && (!s->actions.has_cookie
                      || !memcmp(reply.counters.cookie, s->actions.cookie,
                                 TCNL_COOKIE_LEN));

    if (!id_equal(&reply.info.id, &s->id) || !flags || !cookie
        || reply.info.has_keys != full) {
        return false;
    }
    return !full || (tcnl_flower_equal(&reply.flower, &s->flower)
                     && tcnl_actions_equal(&reply.actions, &s->actions)
                     && reply.counters.has_times && reply.counters.never_used
                     && reply.counters.lastuse_ms < 60000);
}

static bool
needs_enc_flags(const struct sample *s)
{
    for (unsigned int i = 0; i < s->actions.n_tunnels; i++) {
        if (s->actions.tunnels[i].dont_fragment) {
            return true;
        }
    }
    return s->flower.mask.enc_flags != 0;
}

/* Takes the samples out of which the kernel leaves something out. */
static void
leave_out(void)
{
    unsigned int n = 0;

    for (unsigned int i = 0; i < n_samples; i++) {
        const struct sample *s = &samples[i];
        struct tcnl_error e;

        if (able.enc_flags || !needs_enc_flags(s)) {
            samples[n++] = *s;
            continue;
        }
        tap_ok(!ask(NEW, s, NLM_F_CREATE | NLM_F_EXCL, &e)
               && !ask(GET, s, 0, &e) && !reply_is(s, true)
               && !ask(DEL, s, 0, &e), "%s: is not all there %s", s->name,
               e.text);
    }
    n_samples = n;
}

static void
check_reply(struct dump *dump, unsigned int i)
{
    const struct sample *s = &samples[i];

    dump->seen[i]++;
    if (dump->form.terse) {
        if (reply.error || !reply_is(s, false)
            || reply.counters.has_times) {
            tap_ok(false, "%s, terse", s->name);
        }
    } else {
        tap_ok(!reply.error && reply_is(s, true), "%s (%d)", s->name,
               reply.error);
    }
}

static void
dump_cb(void *dump_, const struct nlmsghdr *nlh)
{
    struct dump *dump = dump_;

    parse_reply(nlh);
    if (reply.info.is_header) {
        dump->headers++;
        return;
    }
    for (unsigned int i = 0; i < n_samples; i++) {
        if (samples[i].id.handle == reply.info.id.handle) {
            check_reply(dump, i);
            return;
        }
    }
    dump->others++;
}

static void
dump_all(bool one_chain, bool terse)
{
    static struct dump dump;
    struct tcnl_error e;
    unsigned int once = 0;

    memset(&dump, 0, sizeof dump);
    dump.id = samples[0].id;
    dump.form.one_chain = one_chain;
    dump.form.terse = terse;
    tap_ok(tcnl_dump_all(transport, build_dump, &dump, dump_cb, &dump, &e)
           == TCNL_DUMP_COMPLETE, "dump is complete %s", e.text);
    for (unsigned int i = 0; i < n_samples; i++) {
        once += dump.seen[i] == 1;
    }
    tap_ok(once == n_samples && !dump.others
           && dump.headers == SAMPLE_MAX_PRIO,
           "%s dump has each filter once and nothing else (%u, %u headers, "
           "%u others)", terse ? "terse" : "full", once, dump.headers,
           dump.others);
}

static void
test_filters(void)
{
    leave_out();
    add_all();
    dump_all(false, false);
    dump_all(true, true);
}

/* ## Changes. */

static const struct sample *
find_sample(const char *name)
{
    for (unsigned int i = 0; i < n_samples; i++) {
        if (!strcmp(samples[i].name, name)) {
            return &samples[i];
        }
    }
    tap_bail(name, ENOENT);
}

static void
test_changes(void)
{
    const struct sample *s = find_sample("ip tcp: tp_dst masked");
    struct sample other = *s;
    struct tcnl_error e;

    tap_ok(ask(NEW, s, NLM_F_CREATE | NLM_F_EXCL, &e) == EEXIST && e.text[0],
           "a taken handle: %s", e.text);
    tap_ok(!ask(GET, s, 0, &e) && reply.n == 1 && reply_is(s, true), "get");
    tap_ok(!ask(GET_COUNTERS, s, 0, &e) && reply.n == 1
           && reply_is(s, !able.terse_echo), "get in terse form, if possible");

    other.actions = find_sample("ip: police")->actions;
    tap_ok(!ask(NEW, &other, NLM_F_CREATE | NLM_F_ECHO, &e) && reply.n == 1
           && reply.type == RTM_NEWTFILTER && reply_is(&other, true),
           "replace in place, with echo (%d)", reply.error);

    tcnl_flower_set(&other.flower, TCNL_KEY_IP_TTL, "\100", NULL);
    tap_ok(ask(NEW, &other, NLM_F_CREATE, &e) == EINVAL,
           "replace with another mask: %s", e.text);

    other = *find_sample("ip: police");
    tap_ok(!ask(DEL, &other, NLM_F_ECHO, &e) && reply.n == 1
           && reply.type == RTM_DELTFILTER
           && reply_is(&other, !able.terse_echo),
           "delete with echo, terse if possible (%d)", reply.error);
    tap_ok(ask(GET, &other, 0, &e) == ENOENT && e.text[0], "it is gone: %s",
           e.text);
    tap_ok(ask(DEL, &other, 0, &e) == ENOENT && e.text[0],
           "a second delete: %s", e.text);
}

/* Who listens gets the whole filter, whatever form the echo has. */
static void
test_listener(void)
{
    struct sample s = *find_sample("ip: nothing else");
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), group = RTNLGRP_TC;
    struct sockaddr_nl address = { .nl_family = AF_NETLINK };
    struct tcnl_filter_info info;
    struct tcnl_error e;
    uint32_t buf[4096];
    ssize_t n;

    if (fd < 0 || bind(fd, (struct sockaddr *) &address, sizeof address)
        || setsockopt(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group,
                      sizeof group)) {
        tap_bail("socket", errno);
    }
    s.id.chain = 6;
    tap_ok(!ask(NEW, &s, NLM_F_CREATE | NLM_F_EXCL, &e)
           && recv(fd, buf, sizeof buf, MSG_DONTWAIT) > 0
           && !ask(DEL, &s, NLM_F_ECHO, &e)
           && reply.info.has_keys == !able.terse_echo,
           "a filter comes and goes %s", e.text);
    n = recv(fd, buf, sizeof buf, MSG_DONTWAIT);
    tap_ok(n >= NLMSG_HDRLEN && !tcnl_filter_parse((const void *) buf, &info)
           && info.has_keys && info.id.handle == s.id.handle,
           "a listener hears of the whole filter");
    close(fd);
}

static void
test_errors(void)
{
    struct sample s = *find_sample("ip: nothing else");
    struct tcnl_error e;

    s.id.handle = 99;
    s.actions.a[0].kind = TCNL_ACT_MIRRED;
    s.actions.a[0].mirred.ifindex = 0x7ffffff0;
    s.actions.a[0].mirred.eaction = TCA_EGRESS_REDIR;
    tap_ok(ask(NEW, &s, NLM_F_CREATE | NLM_F_EXCL, &e) == ENODEV,
           "redirect to no device: %s", e.text);

    s = *find_sample("ip: nothing else");
    s.id.handle = 99;
    s.id.proto = htons(ETH_P_IPV6);
    tap_ok(ask(NEW, &s, NLM_F_CREATE | NLM_F_EXCL, &e) == EINVAL && e.text[0],
           "another protocol at the prio: %s", e.text);

    s = *find_sample("ip: nothing else");
    s.id.ifindex = 0x7ffffff0;
    tap_ok(ask(NEW, &s, NLM_F_CREATE | NLM_F_EXCL, &e) == ENODEV,
           "no such device: %s", e.text);
}

static void
test_chain(void)
{
    struct sample s = *find_sample("ip: nothing else");
    struct tcnl_error e;

    s.id.chain = 5;
    tap_ok(!ask(NEW, &s, NLM_F_CREATE | NLM_F_EXCL, &e)
           && !ask(GET, &s, 0, &e) && reply_is(&s, true),
           "a filter in chain 5");
    tap_ok(!ask(FLUSH, &s, 0, &e), "flush of chain 5 %s", e.text);
    tap_ok(ask(GET, &s, 0, &e) != 0, "it is empty: %s", e.text);
    s.id.chain = 0;
    tap_ok(!ask(GET, &s, 0, &e), "chain 0 is not");
    tap_ok(!ask(FLUSH, &s, 0, &e), "flush of chain 0 %s", e.text);
    tap_ok(ask(GET, &s, 0, &e) != 0, "it is empty: %s", e.text);
}

/* ## Shared blocks. */

static void
test_block(void)
{
    struct sample s = *find_sample("ip: nothing else");
    struct tcnl_error e;

    if (!tap_ok(!tcnl_qdisc_add(transport, ifindex, TCNL_QDISC_INGRESS, 77,
                                &e), "ingress with block 77 %s", e.text)) {
        return;
    }
    s.id.block = 77;
    tap_ok(!ask(NEW, &s, NLM_F_CREATE | NLM_F_EXCL, &e),
           "a filter on a block %s", e.text);
    tap_ok(!ask(GET, &s, 0, &e) && reply.info.id.block == 77
           && !reply.info.id.ifindex && reply.info.id.handle == s.id.handle
           && tcnl_flower_equal(&reply.flower, &s.flower), "get it");
    tap_ok(!ask(DEL, &s, NLM_F_ECHO, &e) && reply.info.id.block == 77,
           "delete it");
    tcnl_qdisc_del(transport, ifindex, TCNL_QDISC_INGRESS, NULL);
}

/* ## Meters. */

struct police_request {
    enum { P_NEW, P_REPLACE, P_DEL, P_GET, P_DUMP } what;
    struct tcnl_police police;
};

static struct {
    unsigned int n;
    struct tcnl_police_info info;
    int error;
} meter;

static void
meter_info_cb(void *aux, const struct tcnl_police_info *info)
{
    (void) aux;
    if (info->police.index == SAMPLE_POLICE) {
        meter.n++;
        meter.info = *info;
    }
}

static void
meter_cb(void *aux, unsigned int slot, const struct nlmsghdr *nlh)
{
    (void) slot;
    if (tcnl_police_parse(nlh, meter_info_cb, aux)) {
        meter.error = EBADMSG;
    }
}

static void
meter_dump_cb(void *aux, const struct nlmsghdr *nlh)
{
    meter_cb(aux, 0, nlh);
}

static int
build_police(struct tcnl_buffer *b, const void *request_)
{
    const struct police_request *r = request_;

    switch (r->what) {
    case P_NEW:
    case P_REPLACE:
        return tcnl_police_put_new(b, &r->police, r->what == P_REPLACE);
    case P_DEL:
        return tcnl_police_put_del(b, r->police.index, NLM_F_ECHO);
    case P_GET:
        return tcnl_police_put_get(b, r->police.index);
    case P_DUMP:
        return tcnl_police_put_dump(b, false);
    }
    return EINVAL;
}

static int
ask_police(int what, const struct tcnl_police *police, struct tcnl_error *e)
{
    struct police_request r = { what, *police };

    memset(&meter, 0, sizeof meter);
    return tcnl_transact(transport, build_police, &r, meter_cb, NULL, e);
}

static bool
meter_is(const struct tcnl_police *p, uint32_t bindcnt)
{
    const struct tcnl_police *q = &meter.info.police;
    uint64_t slack = p->rate / 15625000 + 1;

    return meter.n == 1 && !meter.error && q->index == p->index
           && q->rate == p->rate && q->pkt_rate == p->pkt_rate
           && q->burst >= p->burst && q->burst - p->burst <= slack
           && q->pkt_burst >= p->pkt_burst
           && q->pkt_burst - p->pkt_burst <= p->pkt_rate / 15625000 + 1
           && q->mtu && q->cls_flags == p->cls_flags
           && meter.info.bindcnt == bindcnt
           && meter.info.exceed == TC_ACT_SHOT
           && meter.info.conform == TC_ACT_PIPE;
}

static const struct tcnl_police meters[] = {
    { .rate = 1, .burst = 100 },
    { .rate = 125, .burst = 1500 },
    { .rate = 125000, .burst = 150000 },
    { .rate = 1250000000, .burst = 65536 },
    { .rate = UINT64_C(12500000000), .burst = 1 << 20 },
    { .rate = UINT64_C(125000000000), .burst = 1 << 28 },
    { .rate = UINT32_MAX, .burst = 4000000 },
    { .pkt_rate = 1, .pkt_burst = 1 },
    { .pkt_rate = 3, .pkt_burst = 1 },
    { .pkt_rate = 1000000, .pkt_burst = 1000 },
    { .pkt_rate = UINT64_C(10000000000), .pkt_burst = 1 << 20 },
};

static void
make_meter(struct tcnl_police *p, const struct tcnl_police *from)
{
    *p = *from;
    p->index = SAMPLE_POLICE;
    p->cls_flags = TCA_CLS_FLAGS_SKIP_HW;
}

/* Leaves the last one behind, for the filters. */
static void
test_meters(void)
{
    struct tcnl_police p;
    struct tcnl_error e;

    for (unsigned int i = 0; i < sizeof meters / sizeof meters[0]; i++) {
        bool as_sent;

        make_meter(&p, &meters[i]);
        as_sent = (!ask_police(i % 2 ? P_REPLACE : P_NEW, &p, &e)
                   && !ask_police(P_GET, &p, &e) && meter_is(&p, 0));
        tap_ok(as_sent, "meter %u: %ju B/s, %ju B, %ju/s, %ju packets %s", i,
               (uintmax_t) meter.info.police.rate,
               (uintmax_t) meter.info.police.burst,
               (uintmax_t) meter.info.police.pkt_rate,
               (uintmax_t) meter.info.police.pkt_burst, e.text);
        if (i % 2) {
            tap_ok(!ask_police(P_DEL, &p, &e) && meter_is(&p, 0),
                   "delete with echo %s", e.text);
        }
    }
    tap_ok(ask_police(P_NEW, &p, &e) == EEXIST, "a taken index: %s", e.text);
}

/* While filters are bound to it. */
static void
test_bound_meter(void)
{
    struct tcnl_police p;
    struct tcnl_error e;
    struct police_request r = { .what = P_DUMP };

    make_meter(&p, &meters[2]);
    tap_ok(!ask_police(P_REPLACE, &p, &e) && !ask_police(P_GET, &p, &e)
           && meter_is(&p, 1), "replace of a bound meter %s", e.text);
    memset(&meter, 0, sizeof meter);
    tap_ok(tcnl_dump_all(transport, build_police, &r, meter_dump_cb, NULL, &e)
           == TCNL_DUMP_COMPLETE && meter_is(&p, 1), "dump of meters");
    tap_ok(ask_police(P_DEL, &p, &e) == EPERM && e.text[0],
           "delete of a bound meter: %s", e.text);
}

static void
test_free_meter(void)
{
    struct tcnl_police p;
    struct tcnl_error e;
    int error;

    make_meter(&p, &meters[2]);
    for (int i = 0; i < 100; i++) {
        error = ask_police(P_DEL, &p, &e);
        if (error != EPERM) {
            break;
        }
        usleep(10000);
    }
    tap_ok(!error, "delete of the meter when its filters are gone %s", e.text);
    tap_ok(ask_police(P_GET, &p, &e) == ENOENT, "it is gone: %s", e.text);
}

/* ## Probing. */

static void
test_probe(uint32_t parent)
{
    struct tcnl_error e;
    struct sample s = { .id = { .ifindex = ifindex, .parent = parent,
                                .prio = 65535, .handle = 0x7f000001,
                                .proto = htons(0x88b5) } };

    tap_ok(!tcnl_probe(transport, ifindex, parent, &able, &e), "probe %s",
           e.text);
    tap_ok(able.flower && able.own_handles && able.terse_dump && able.ext_ack
           && able.multi_mask && able.police_pkts && able.no_percpu_stats
           && able.vxlan_gbp, "all abilities (%d%d%d%d%d%d%d%d)", able.flower,
           able.own_handles, able.terse_dump, able.ext_ack, able.multi_mask,
           able.police_pkts, able.no_percpu_stats, able.vxlan_gbp);
    printf("# terse echo: %s, flags of tunnels: %s\n",
           able.terse_echo ? "yes" : "no", able.enc_flags ? "yes" : "no");
    tap_ok(able.ct_states == 0x3f, "all states of connections (0x%x)",
           able.ct_states);
    tap_ok(ask(GET, &s, 0, &e) != 0, "nothing is left behind: %s", e.text);
}

int
main(int argc, char *argv[])
{
    int error;

    if (argc != 2 || !(ifindex = (int) if_nametoindex(argv[1]))) {
        fputs("usage: tcnl-real DEV\n", stderr);
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    error = tcnl_socket_open(0, 0, &transport);
    if (!error) {
        error = tcnl_batch_init(&batch, transport, 128, 1 << 20);
    }
    if (error) {
        tap_bail("socket", error);
    }
    n_samples = samples_make(samples, ifindex);

    test_qdisc();
    test_block();
    if (tcnl_qdisc_add(transport, ifindex, TCNL_QDISC_CLSACT, 0, NULL)) {
        tap_bail("clsact", errno);
    }
    test_probe(TCNL_PARENT_INGRESS);
    test_probe(TCNL_PARENT_EGRESS);
    test_meters();
    test_filters();
    test_bound_meter();
    test_changes();
    test_listener();
    test_errors();
    test_chain();
    test_free_meter();
    tcnl_qdisc_del(transport, ifindex, TCNL_QDISC_CLSACT, NULL);

    tcnl_batch_uninit(&batch);
    tcnl_transport_close(transport);
    return tap_done();
}
