/* SPDX-License-Identifier: Apache-2.0 */
#include "fake/fake-tc-table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>

#define PER_DATAGRAM 20

struct fake_tc_police *
fake_tc_police_find(struct fake_tc *tc, uint32_t index)
{
    for (size_t i = 0; i < tc->n_polices; i++) {
        if (tc->polices[i].police.index == index) {
            return &tc->polices[i];
        }
    }
    return NULL;
}

static int
add(struct fake_tc *tc, const struct tcnl_police *police, uint16_t flags)
{
    struct fake_tc_police *p = fake_tc_police_find(tc, police->index);

    if (p && flags & NLM_F_EXCL) {
        return EEXIST;
    }
    if (!p) {
        tc->polices = realloc(tc->polices,
                              (tc->n_polices + 1) * sizeof *tc->polices);
        assert(tc->polices);
        p = &tc->polices[tc->n_polices++];
        memset(p, 0, sizeof *p);
    }
    p->police = *police;
    return 0;
}

static int
delete(struct fake_tc *tc, uint32_t index)
{
    struct fake_tc_police *p = fake_tc_police_find(tc, index);

    if (!p || p->bindcnt) {
        return p ? EPERM : ENOENT;
    }
    *p = tc->polices[--tc->n_polices];
    return 0;
}

/* As of a terse dump. */
static void
put_police(struct tcnl_buffer *b, uint16_t type,
           const struct fake_tc_police *p)
{
    struct gnet_stats_basic basic = {
        .packets = (uint32_t) p->packets, .bytes = p->bytes,
    };
    struct gnet_stats_queue queue = { .drops = p->drops };
    size_t act = tcnl_nest_begin(b, type), stats;

    tcnl_put_string(b, TCA_ACT_KIND, "police");
    stats = tcnl_nest_begin(b, TCA_ACT_STATS);
    tcnl_put(b, TCA_STATS_BASIC, &basic, sizeof basic);
    tcnl_put(b, TCA_STATS_QUEUE, &queue, sizeof queue);
    tcnl_nest_end(b, stats);
    tcnl_put_u32(b, TCA_ACT_INDEX, p->police.index);
    tcnl_nest_end(b, act);
}

static void
reply_with(const struct nlmsghdr *request, uint16_t flags,
           const struct fake_tc_police *p, size_t n,
           void (*reply)(void *aux, const struct tcnl_buffer *), void *aux)
{
    struct tcamsg tcam = { 0 };
    uint32_t mem[1024];
    struct tcnl_buffer b;
    size_t tab;

    tcnl_buffer_init(&b, mem, sizeof mem);
    tcnl_msg_begin(&b, RTM_NEWACTION, flags, &tcam, sizeof tcam);
    b.msg->nlmsg_seq = request->nlmsg_seq;
    tab = tcnl_nest_begin(&b, TCA_ROOT_TAB);
    for (size_t i = 0; i < n; i++) {
        put_police(&b, (uint16_t) (i + 1), &p[i]);
    }
    tcnl_nest_end(&b, tab);
    assert(!tcnl_msg_end(&b, NULL));
    reply(aux, &b);
}

static void
dump(struct fake_tc *tc, const struct nlmsghdr *request,
     void (*reply)(void *aux, const struct tcnl_buffer *), void *aux)
{
    uint32_t mem[16];
    struct tcnl_buffer b;
    int status = 0;

    tc->n_police_dumps++;
    for (size_t i = 0; i < tc->n_polices; i += PER_DATAGRAM) {
        size_t n = tc->n_polices - i;

        reply_with(request, NLM_F_MULTI, &tc->polices[i],
                   n < PER_DATAGRAM ? n : PER_DATAGRAM, reply, aux);
    }
    tcnl_buffer_init(&b, mem, sizeof mem);
    tcnl_msg_begin(&b, NLMSG_DONE, NLM_F_MULTI, &status, sizeof status);
    b.msg->nlmsg_seq = request->nlmsg_seq;
    assert(!tcnl_msg_end(&b, NULL));
    reply(aux, &b);
}

static void
take(void *info_, const struct tcnl_police_info *info)
{
    *(struct tcnl_police_info *) info_ = *info;
}

int
fake_police_execute(struct fake_tc *tc, const struct nlmsghdr *nlh,
                    void (*reply)(void *aux, const struct tcnl_buffer *),
                    void *aux)
{
    struct tcnl_police_info info = { .bindcnt = 0 };
    struct fake_tc_police *p;

    if ((nlh->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP) {
        dump(tc, nlh, reply, aux);
        return 0;
    }
    if (tcnl_police_parse(nlh, take, &info) || !info.police.index) {
        return EINVAL;
    }
    switch (nlh->nlmsg_type) {
    case RTM_NEWACTION:
        return add(tc, &info.police, nlh->nlmsg_flags);
    case RTM_DELACTION:
        return delete(tc, info.police.index);
    default:
        p = fake_tc_police_find(tc, info.police.index);
        if (p) {
            reply_with(nlh, 0, p, 1, reply, aux);
        }
        return p ? 0 : ENOENT;
    }
}
