/* SPDX-License-Identifier: Apache-2.0 */
#include "fake/fake-tc-table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include "tcnl/attr.h"
#include "tcnl/uapi.h"

#define MESSAGE_SIZE 8192

struct datagram {
    struct datagram *next;
    size_t len;
    uint32_t data[];
};

struct fake_socket {
    struct tcnl_transport transport;    /* First, the two are cast. */
    struct fake_tc *tc;
    struct datagram *first, **last;
    unsigned int n_queued;
    bool congested;
    bool lose_reply;
    int sk_err;

    bool dumping;
    uint32_t dump_flags;
    unsigned int dump_datagrams;
    int dump_error;
    uint32_t dump_seq;
    struct tcnl_filter_id dump_at;      /* The last one shown. */
};

/* ## Messages of filters. */

static void
end(struct tcnl_buffer *b)
{
    int error = tcnl_msg_end(b, NULL);

    assert(!error);
    (void) error;
}

static void
copy_attr(struct tcnl_buffer *b, const struct nlattr *a)
{
    tcnl_put(b, a->nla_type, tcnl_attr_data(a), tcnl_attr_len(a));
}

static void
put_stats(struct tcnl_buffer *b, const struct fake_tc_filter *f)
{
    size_t nest = tcnl_nest_begin(b, TCA_ACT_STATS);
    struct gnet_stats_basic basic;
    struct gnet_stats_queue queue;

    memset(&basic, 0, sizeof basic);
    memset(&queue, 0, sizeof queue);
    basic.packets = (uint32_t) f->packets;
    basic.bytes = f->bytes;
    tcnl_put(b, TCA_STATS_BASIC, &basic, sizeof basic);
    tcnl_put_u64(b, TCA_STATS_PKT64, f->packets);
    tcnl_put(b, TCA_STATS_QUEUE, &queue, sizeof queue);
    tcnl_nest_end(b, nest);
}

static void
put_actions(struct tcnl_buffer *b, const struct fake_tc_filter *f,
            const struct nlattr *acts, bool terse)
{
    size_t nest = tcnl_nest_begin(b, TCA_FLOWER_ACT);
    struct tcnl_attrs it = tcnl_attrs_nested(acts);
    const struct nlattr *act, *a;

    while ((act = tcnl_attrs_next(&it))) {
        struct tcnl_attrs inner = tcnl_attrs_nested(act);
        size_t one = tcnl_nest_begin(b, act->nla_type);

        while ((a = tcnl_attrs_next(&inner))) {
            if (tcnl_attr_type(a) != TCA_ACT_OPTIONS || !terse) {
                copy_attr(b, a);
            }
        }
        put_stats(b, f);
        tcnl_nest_end(b, one);
    }
    tcnl_nest_end(b, nest);
}

static void
put_filter(struct tcnl_buffer *b, const uint16_t *ignores,
           const struct fake_tc_filter *f, uint16_t type, uint16_t flags,
           uint32_t seq, bool terse)
{
    struct tcnl_attrs it = { f->options, f->len };
    struct tcmsg tcm = {
        .tcm_ifindex = f->id.ifindex,
        .tcm_parent = f->id.parent,
        .tcm_handle = f->id.handle,
        .tcm_info = (uint32_t) f->id.prio << 16 | f->id.proto,
    };
    const struct nlattr *a;
    size_t options;

    tcnl_msg_begin(b, type, flags, &tcm, sizeof tcm);
    b->msg->nlmsg_seq = seq;
    tcnl_put_string(b, TCA_KIND, "flower");
    tcnl_put_u32(b, TCA_CHAIN, f->id.chain);
    options = tcnl_nest_begin(b, TCA_OPTIONS);
    while ((a = tcnl_attrs_next(&it))) {
        if (tcnl_attr_type(a) == TCA_FLOWER_ACT) {
            put_actions(b, f, a, terse);
        } else if (tcnl_attr_type(a) == TCA_FLOWER_FLAGS) {
            tcnl_put_u32(b, TCA_FLOWER_FLAGS, TCA_CLS_FLAGS_NOT_IN_HW);
        } else if (!terse && tcnl_attr_type(a) != ignores[0]
                   && tcnl_attr_type(a) != ignores[1]) {
            copy_attr(b, a);
        }
    }
    if (!terse) {
        tcnl_put_u32(b, TCA_FLOWER_IN_HW_COUNT, 0);
    }
    tcnl_nest_end(b, options);
    end(b);
}

/* ## Answers. */

static void
deliver(struct fake_socket *s, const struct tcnl_buffer *b)
{
    struct datagram *d;

    if (s->tc->max_replies && s->n_queued >= s->tc->max_replies) {
        s->congested = true;
    }
    if (s->congested) {
        s->sk_err = ENOBUFS;
        return;
    }
    s->n_queued++;
    d = malloc(sizeof *d + b->used);
    assert(d);
    d->next = NULL;
    d->len = b->used;
    memcpy(d->data, b->data, b->used);
    *s->last = d;
    s->last = &d->next;
}

static void
ack(struct fake_socket *s, const struct nlmsghdr *request, int error,
    const char *text)
{
    struct nlmsgerr err = { .error = -error, .msg = *request };
    uint32_t mem[128];
    struct tcnl_buffer b;

    tcnl_buffer_init(&b, mem, sizeof mem);
    tcnl_msg_begin(&b, NLMSG_ERROR,
                   NLM_F_CAPPED | (text ? NLM_F_ACK_TLVS : 0), &err,
                   sizeof err);
    b.msg->nlmsg_seq = request->nlmsg_seq;
    if (text) {
        tcnl_put_string(&b, NLMSGERR_ATTR_MSG, text);
    }
    end(&b);
    deliver(s, &b);
}

static void
reply_filter(struct fake_socket *s, const struct nlmsghdr *request,
             const struct fake_tc_filter *f, uint16_t type)
{
    uint32_t mem[MESSAGE_SIZE / 4];
    struct tcnl_buffer b;

    if (s->lose_reply) {
        s->sk_err = ENOBUFS;
        return;
    }
    tcnl_buffer_init(&b, mem, sizeof mem);
    put_filter(&b, s->tc->ignores, f, type, 0, request->nlmsg_seq, false);
    deliver(s, &b);
}

/* Is this the datagram that an interrupted dump ends with? */
static bool
is_cut(struct fake_socket *s)
{
    if (s->dump_datagrams == 1 && s->tc->n_interrupted) {
        s->tc->n_interrupted--;
        return true;
    }
    return false;
}

static bool
is_shown(const struct fake_socket *s, const struct fake_tc_filter *f)
{
    return !f->hidden
           && !(f->idle && s->dump_flags & TCA_DUMP_FLAGS_USED_SINCE);
}

/* The next datagram of a running dump. */
static void
continue_dump(struct fake_socket *s)
{
    bool cut = is_cut(s);
    uint16_t flags = NLM_F_MULTI | (s->tc->dump_interrupted || cut
                                    ? NLM_F_DUMP_INTR : 0);
    uint32_t mem[MESSAGE_SIZE / 4];
    struct tcnl_filter_id *at = &s->dump_at;
    unsigned int n = 0;
    struct tcnl_buffer b;
    int status = 0;

    tcnl_buffer_init(&b, mem, sizeof mem);
    if (s->dump_datagrams && s->tc->dump_error) {
        s->dump_error = s->tc->dump_error;
    }
    if (!s->dump_error && !cut) {
        for (size_t i = fake_table_lower_bound(s->tc, at);
             i < s->tc->n_filters && n < s->tc->dump_filters; i++) {
            struct fake_tc_filter *f = s->tc->filters[i];

            if (f->id.ifindex != at->ifindex || f->id.parent != at->parent) {
                break;
            }
            *at = f->id;
            at->handle++;
            if (is_shown(s, f)) {
                put_filter(&b, s->tc->ignores, f, RTM_NEWTFILTER, flags,
                           s->dump_seq,
                           s->dump_flags & TCA_DUMP_FLAGS_TERSE);
                n++;
            }
        }
    }
    s->dump_datagrams++;
    if (!n) {
        status = -(s->dump_error ? s->dump_error : s->tc->dump_error);
        tcnl_msg_begin(&b, NLMSG_DONE, flags, &status, sizeof status);
        b.msg->nlmsg_seq = s->dump_seq;
        end(&b);
        s->dumping = false;
    }
    deliver(s, &b);
}

/* ## Requests. */

static int
add(struct fake_socket *s, const struct nlmsghdr *nlh,
    const struct tcnl_filter_info *info)
{
    struct fake_tc_filter *old = fake_table_find(s->tc, &info->id), *f = old;
    struct tcnl_flower flower;

    if (!info->id.handle || !info->id.prio || !info->options || !info->acts
        || tcnl_flower_parse(info->options, &flower)) {
        return EINVAL;
    }
    if (old && nlh->nlmsg_flags & NLM_F_EXCL) {
        return EEXIST;
    }
    if (!old && !(nlh->nlmsg_flags & NLM_F_CREATE)) {
        return ENOENT;
    }
    /* Another mask; of those that tests use, only this one differs. */
    if (old && (flower.present != old->flower.present
                || memcmp(&flower.mask.ipv4_src, &old->flower.mask.ipv4_src,
                          sizeof flower.mask.ipv4_src))) {
        return EINVAL;
    }
    if (fake_table_is_duplicate(s->tc, &info->id, &flower)) {
        return EEXIST;
    }
    if (!old) {
        f = calloc(1, sizeof *f);
        assert(f);
        f->id = info->id;
        fake_table_insert(s->tc, f);
    }
    f->flower = flower;
    f->packets = f->bytes = 0;
    f->len = tcnl_attr_len(info->options);
    f->options = realloc(f->options, f->len);
    assert(f->options);
    memcpy(f->options, tcnl_attr_data(info->options), f->len);
    if (nlh->nlmsg_flags & NLM_F_ECHO) {
        reply_filter(s, nlh, f, RTM_NEWTFILTER);
    }
    return 0;
}

static int
execute_filter(struct fake_socket *s, const struct nlmsghdr *nlh,
               const struct tcnl_filter_info *info, const char **text)
{
    struct fake_tc_filter *f = fake_table_find(s->tc, &info->id);

    if (!fake_table_qdisc_of(s->tc, info->id.ifindex)) {
        *text = "Parent Qdisc doesn't exists";
        return EINVAL;
    }
    switch (nlh->nlmsg_type) {
    case RTM_NEWTFILTER:
        s->tc->n_new++;
        return add(s, nlh, info);
    case RTM_DELTFILTER:
        s->tc->n_del++;
        if (!f) {
            return ENOENT;
        }
        if (nlh->nlmsg_flags & NLM_F_ECHO) {
            reply_filter(s, nlh, f, RTM_DELTFILTER);
        }
        fake_table_delete(s->tc, f);
        return 0;
    default:
        s->tc->n_get++;
        if (f) {
            reply_filter(s, nlh, f, RTM_NEWTFILTER);
        }
        return f ? 0 : ENOENT;
    }
}

static int
execute_qdisc(struct fake_socket *s, const struct nlmsghdr *nlh)
{
    struct tcnl_attrs it = tcnl_attrs_message(nlh, sizeof(struct tcmsg));
    const struct tcmsg *tcm = NLMSG_DATA(nlh);
    char *kind = fake_table_qdisc_of(s->tc, tcm->tcm_ifindex);
    const struct nlattr *a;
    uint32_t mem[128];
    struct tcnl_buffer b;

    switch (nlh->nlmsg_type) {
    case RTM_GETQDISC:
        if (!kind) {
            return ENOENT;
        }
        tcnl_buffer_init(&b, mem, sizeof mem);
        tcnl_msg_begin(&b, RTM_NEWQDISC, 0, tcm, sizeof *tcm);
        b.msg->nlmsg_seq = nlh->nlmsg_seq;
        tcnl_put_string(&b, TCA_KIND, kind);
        end(&b);
        deliver(s, &b);
        return 0;
    case RTM_NEWQDISC:
        if (kind) {
            return EEXIST;
        }
        for (int i = 0; i < FAKE_TC_DEVICES; i++) {
            if (!s->tc->qdiscs[i].ifindex && (a = tcnl_attrs_next(&it))) {
                s->tc->qdiscs[i].ifindex = tcm->tcm_ifindex;
                strncpy(s->tc->qdiscs[i].kind, tcnl_attr_data(a),
                        sizeof s->tc->qdiscs[i].kind - 1);
                return 0;
            }
        }
        return ENOMEM;
    default:
        for (int i = 0; i < FAKE_TC_DEVICES; i++) {
            if (s->tc->qdiscs[i].ifindex == tcm->tcm_ifindex) {
                s->tc->qdiscs[i].ifindex = 0;
            }
        }
        return kind ? 0 : ENOENT;
    }
}

static void
read_start(const struct nlattr *nest, struct tcnl_filter_id *id)
{
    struct tcnl_attrs it = tcnl_attrs_nested(nest);
    const struct nlattr *a;

    while ((a = tcnl_attrs_next(&it))) {
        uint32_t value;

        assert(tcnl_attr_get(a, &value, sizeof value));
        switch (tcnl_attr_type(a)) {
        case TCA_DUMP_START_CHAIN:
            id->chain = value;
            break;
        case TCA_DUMP_START_PRIO:
            id->prio = (uint16_t) value;
            break;
        case TCA_DUMP_START_HANDLE:
            id->handle = value;
            break;
        }
    }
}

static void
read_dump_form(struct fake_socket *s, const struct nlmsghdr *nlh)
{
    struct tcnl_attrs it = tcnl_attrs_message(nlh, sizeof(struct tcmsg));
    struct nla_bitfield32 flags = { 0, 0 };
    const struct nlattr *a;

    s->tc->used_within = 0;
    while ((a = tcnl_attrs_next(&it))) {
        switch (tcnl_attr_type(a)) {
        case TCA_DUMP_FLAGS:
            assert(tcnl_attr_get(a, &flags, sizeof flags));
            break;
        case TCA_DUMP_USED_SINCE:
            assert(tcnl_attr_get(a, &s->tc->used_within,
                                 sizeof s->tc->used_within));
            break;
        case TCA_DUMP_START:
            read_start(a, &s->dump_at);
            break;
        }
    }
    s->dump_flags = flags.value;
    s->dump_error = flags.selector & ~s->tc->dump_flags ? EINVAL : 0;
}

static void
start_dump(struct fake_socket *s, const struct nlmsghdr *nlh,
           const struct tcnl_filter_info *info)
{
    s->tc->n_dumps++;
    s->dumping = true;
    s->dump_datagrams = 0;
    s->dump_seq = nlh->nlmsg_seq;
    s->dump_at = (struct tcnl_filter_id) {
        .ifindex = info->id.ifindex, .parent = info->id.parent,
    };
    read_dump_form(s, nlh);
    continue_dump(s);
}

static void
reply_police(void *s, const struct tcnl_buffer *b)
{
    deliver(s, b);
}

static int
execute_other(struct fake_socket *s, const struct nlmsghdr *nlh)
{
    switch (nlh->nlmsg_type) {
    case RTM_NEWQDISC:
    case RTM_DELQDISC:
    case RTM_GETQDISC:
        return execute_qdisc(s, nlh);
    case RTM_NEWACTION:
    case RTM_DELACTION:
    case RTM_GETACTION:
        return fake_police_execute(s->tc, nlh, reply_police, s);
    default:
        return EOPNOTSUPP;
    }
}

/* Executes one message as rtnetlink does. */
static void
execute(struct fake_socket *s, const struct nlmsghdr *nlh)
{
    struct fake_tc_fault fault = { .error = 0 };
    struct tcnl_filter_info info;
    bool is_filter;

    memset(&info, 0, sizeof info);
    is_filter = !tcnl_filter_parse(nlh, &info);
    if (s->tc->fault) {
        s->tc->fault(s->tc, nlh, &info, &fault);
    }
    s->congested = s->congested || fault.lose;
    s->lose_reply = fault.lose_reply;
    if ((nlh->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP
        && nlh->nlmsg_type == RTM_GETTFILTER) {
        start_dump(s, nlh, &info);
        return;
    }
    if (!fault.error) {
        fault.error = (is_filter
                       ? execute_filter(s, nlh, &info, &fault.text)
                       : execute_other(s, nlh));
    }
    if (fault.error || nlh->nlmsg_flags & NLM_F_ACK) {
        ack(s, nlh, fault.error, fault.text);
    }
}

/* ## The transport. */

static int
fake_send(struct tcnl_transport *t, const void *data, size_t len)
{
    struct fake_socket *s = (struct fake_socket *) t;
    unsigned int n = 0;
    int error;

    pthread_mutex_lock(&s->tc->mutex);
    s->tc->n_sends++;
    error = len > t->max_send ? EMSGSIZE : s->tc->send_error;
    for (size_t ofs = 0; !error && ofs < len; n++) {
        const struct nlmsghdr *nlh
            = (const void *) ((const uint8_t *) data + ofs);

        execute(s, nlh);
        ofs += NLMSG_ALIGN(nlh->nlmsg_len);
    }
    s->tc->max_batch = n > s->tc->max_batch ? n : s->tc->max_batch;
    pthread_mutex_unlock(&s->tc->mutex);
    return error;
}

static int
take(struct fake_socket *s, void *buf, size_t size, size_t *len)
{
    struct datagram *d = s->first;
    int error = s->sk_err;

    s->sk_err = 0;
    if (error) {
        return error;
    }
    if (!d) {
        s->congested = false;
        return EAGAIN;
    }
    if (s->dumping) {
        continue_dump(s);
    }
    s->first = d->next;
    s->n_queued--;
    if (!s->first) {
        s->last = &s->first;
    }
    *len = d->len < size ? d->len : size;
    memcpy(buf, d->data, *len);
    error = d->len > size ? EMSGSIZE : 0;
    free(d);
    return error;
}

static int
fake_recv(struct tcnl_transport *t, void *buf, size_t size, size_t *len)
{
    struct fake_socket *s = (struct fake_socket *) t;
    int error;

    pthread_mutex_lock(&s->tc->mutex);
    error = take(s, buf, size, len);
    pthread_mutex_unlock(&s->tc->mutex);
    return error;
}

static void
fake_close(struct tcnl_transport *t)
{
    struct fake_socket *s = (struct fake_socket *) t;

    while (s->first) {
        struct datagram *d = s->first;

        s->first = d->next;
        free(d);
    }
    free(s);
}

int
fake_tc_open(struct fake_tc *tc, struct tcnl_transport **transport)
{
    static const struct tcnl_transport_ops ops = {
        .send = fake_send,
        .recv = fake_recv,
        .close = fake_close,
    };
    struct fake_socket *s = calloc(1, sizeof *s);

    assert(s);
    s->transport.ops = &ops;
    s->transport.max_send = 1u << 20;
    s->transport.rcvbuf = 4u << 20;
    s->transport.next_seq = 1;
    s->tc = tc;
    s->last = &s->first;
    *transport = &s->transport;
    return 0;
}
