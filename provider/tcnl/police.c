/* SPDX-License-Identifier: Apache-2.0 */
#include "police.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include "attr.h"

/* The largest IP packet with an Ethernet header and two VLAN tags.  Of a GSO
 * packet the kernel compares the segments (tcf_police_mtu_check()), an older
 * one the whole. */
#define GSO_MTU (65535 + 14 + 2 * 4)

#define MIN_FRAME 60
#define RTAB_ENTRIES 256        /* TC_RTAB_SIZE / 4. */

/* ## Time. */

/* Ticks per second.  The kernel's tick has been 64 ns since 2.6.31; it is
 * asked all the same, as every other program does. */
static uint64_t ticks_per_s = UINT64_C(1000000000) / 64;
static pthread_once_t ticks_once = PTHREAD_ONCE_INIT;

static void
read_psched(void)
{
    FILE *f = fopen("/proc/net/psched", "re");
    unsigned int ns_per_us, ns_per_tick, us_per_s;

    if (!f) {
        return;
    }
    if (fscanf(f, "%x %x %x", &ns_per_us, &ns_per_tick, &us_per_s) == 3
        && ns_per_us && ns_per_tick && us_per_s) {
        ticks_per_s = (uint64_t) ns_per_us * us_per_s / ns_per_tick;
    }
    fclose(f);
}

uint64_t
tcnl_police_ticks(uint64_t size, uint64_t rate, uint64_t max)
{
    unsigned __int128 ticks;

    if (!rate) {
        return 0;
    }
    pthread_once(&ticks_once, read_psched);
    ticks = ((unsigned __int128) size * ticks_per_s + rate - 1) / rate;
    return ticks < max ? (uint64_t) ticks : max;
}

uint64_t
tcnl_police_size(uint64_t ticks, uint64_t rate)
{
    unsigned __int128 size;

    pthread_once(&ticks_once, read_psched);
    size = (unsigned __int128) ticks * rate / ticks_per_s;
    return size < UINT64_MAX ? (uint64_t) size : UINT64_MAX;
}

/* PSCHED_TICKS2NS() shifts a signed 64-bit number by 6. */
#define MAX_PKT_TICKS (INT64_MAX >> 6)

/* ## Encoding. */

/* The power of two by which 256 cells reach 'mtu'.  Only the size of the
 * table's cells, which no kernel since 3.8 computes with; but it wants both,
 * and 1 is the least. */
static uint8_t
cell_log(uint32_t mtu)
{
    uint8_t log = 1;

    while (mtu >> log >= RTAB_ENTRIES) {
        log++;
    }
    return log;
}

static struct tc_police
police_parms(const struct tcnl_police *p)
{
    struct tc_police tbf = {
        .index = p->index,
        .action = TC_ACT_SHOT,
        .mtu = p->mtu ? p->mtu : GSO_MTU,
    };

    if (p->rate) {
        tbf.burst = (uint32_t) tcnl_police_ticks(p->burst, p->rate,
                                                 UINT32_MAX);
        tbf.rate.rate = p->rate < UINT32_MAX ? (uint32_t) p->rate : UINT32_MAX;
        tbf.rate.mpu = MIN_FRAME;
        tbf.rate.cell_log = cell_log(tbf.mtu);

        /* Otherwise the kernel guesses it from the table. */
        tbf.rate.linklayer = TC_LINKLAYER_ETHERNET;
    }
    return tbf;
}

/* The table of times per packet size: compared with other tables to share
 * them, and otherwise not used any more. */
static void
put_rate_table(struct tcnl_buffer *b, const struct tcnl_police *p,
               const struct tc_ratespec *rate)
{
    uint32_t table[RTAB_ENTRIES];

    for (uint64_t i = 0; i < RTAB_ENTRIES; i++) {
        uint64_t size = (i + 1) << rate->cell_log;

        size = size > rate->mpu ? size : rate->mpu;
        table[i] = (uint32_t) tcnl_police_ticks(size, p->rate, UINT32_MAX);
    }
    tcnl_put(b, TCA_POLICE_RATE, table, sizeof table);
}

static void
put_options(struct tcnl_buffer *b, const struct tcnl_police *p)
{
    struct tc_police tbf = police_parms(p);
    size_t nest = tcnl_nest_begin(b, TCA_ACT_OPTIONS);

    tcnl_put(b, TCA_POLICE_TBF, &tbf, sizeof tbf);
    if (p->rate) {
        put_rate_table(b, p, &tbf.rate);
    }
    if (p->rate > UINT32_MAX) {
        tcnl_put_u64(b, TCA_POLICE_RATE64, p->rate);
    }
    if (p->pkt_rate) {
        tcnl_put_u64(b, TCA_POLICE_PKTRATE64, p->pkt_rate);
        tcnl_put_u64(b, TCA_POLICE_PKTBURST64,
                     tcnl_police_ticks(p->pkt_burst, p->pkt_rate,
                                       MAX_PKT_TICKS));
    }
    tcnl_put_u32(b, TCA_POLICE_RESULT, TC_ACT_PIPE);
    tcnl_nest_end(b, nest);
}

static void
put_flags(struct tcnl_buffer *b, uint32_t cls_flags)
{
    struct nla_bitfield32 flags = { 0, 0 };

    if (cls_flags & TCA_CLS_FLAGS_SKIP_HW) {
        flags.value |= TCA_ACT_FLAGS_SKIP_HW;
    }
    if (cls_flags & TCA_CLS_FLAGS_SKIP_SW) {
        flags.value |= TCA_ACT_FLAGS_SKIP_SW;
    }
    flags.selector = flags.value;
    if (flags.value) {
        tcnl_put(b, TCA_ACT_FLAGS, &flags, sizeof flags);
    }
}

struct nests {
    size_t tab, act;
};

/* Opens a message about one police action, up to its kind. */
static struct nests
begin(struct tcnl_buffer *b, uint16_t type, uint16_t nl_flags)
{
    struct tcamsg tcam = { .tca_family = AF_UNSPEC };
    struct nests nests;

    tcnl_msg_begin(b, type, NLM_F_REQUEST | nl_flags, &tcam, sizeof tcam);
    nests.tab = tcnl_nest_begin(b, TCA_ROOT_TAB);
    nests.act = tcnl_nest_begin(b, 1);
    tcnl_put_string(b, TCA_ACT_KIND, "police");
    return nests;
}

static void
end(struct tcnl_buffer *b, struct nests nests)
{
    tcnl_nest_end(b, nests.act);
    tcnl_nest_end(b, nests.tab);
}

int
tcnl_police_put_new(struct tcnl_buffer *b, const struct tcnl_police *p,
                    bool replace)
{
    struct nests nests;

    if (p->rate && p->pkt_rate) {
        return EINVAL;
    }
    nests = begin(b, RTM_NEWACTION,
                  NLM_F_CREATE | (replace ? NLM_F_REPLACE : NLM_F_EXCL));
    put_flags(b, p->cls_flags);
    put_options(b, p);
    end(b, nests);
    return tcnl_msg_end(b, NULL);
}

static int
put_by_index(struct tcnl_buffer *b, uint16_t type, uint16_t nl_flags,
             uint32_t index)
{
    struct nests nests = begin(b, type, nl_flags);

    tcnl_put_u32(b, TCA_ACT_INDEX, index);
    end(b, nests);
    return tcnl_msg_end(b, NULL);
}

int
tcnl_police_put_del(struct tcnl_buffer *b, uint32_t index, uint16_t nl_flags)
{
    /* NLM_F_ROOT would make it a flush of all police actions. */
    return put_by_index(b, RTM_DELACTION, nl_flags & (uint16_t) ~NLM_F_ROOT,
                        index);
}

int
tcnl_police_put_get(struct tcnl_buffer *b, uint32_t index)
{
    return put_by_index(b, RTM_GETACTION, 0, index);
}

int
tcnl_police_put_dump(struct tcnl_buffer *b, bool terse)
{
    uint32_t value = (TCA_ACT_FLAG_LARGE_DUMP_ON
                      | (terse ? TCA_ACT_FLAG_TERSE_DUMP : 0));
    struct nla_bitfield32 flags = { value, value };

    end(b, begin(b, RTM_GETACTION, NLM_F_DUMP));
    tcnl_put(b, TCA_ROOT_FLAGS, &flags, sizeof flags);
    return tcnl_msg_end(b, NULL);
}

/* ## Decoding. */

/* Numbers as the message has them; bursts are ticks yet. */
struct raw {
    bool has_tbf;
    struct tc_police tbf;
    uint64_t rate64, pkt_rate, pkt_ticks;
    uint32_t result;
};

static bool
parse_option(const struct nlattr *a, struct raw *raw)
{
    switch (tcnl_attr_type(a)) {
    case TCA_POLICE_TBF:
        raw->has_tbf = true;
        return tcnl_attr_get(a, &raw->tbf, sizeof raw->tbf);
    case TCA_POLICE_RATE64:
        return tcnl_attr_get(a, &raw->rate64, sizeof raw->rate64);
    case TCA_POLICE_PKTRATE64:
        return tcnl_attr_get(a, &raw->pkt_rate, sizeof raw->pkt_rate);
    case TCA_POLICE_PKTBURST64:
        return tcnl_attr_get(a, &raw->pkt_ticks, sizeof raw->pkt_ticks);
    case TCA_POLICE_RESULT:
        return tcnl_attr_get(a, &raw->result, sizeof raw->result);
    default:
        return true;
    }
}

static void
finish(const struct raw *raw, struct tcnl_police_info *info)
{
    struct tcnl_police *p = &info->police;

    p->index = raw->tbf.index;
    p->mtu = raw->tbf.mtu;
    p->rate = raw->rate64 ? raw->rate64 : raw->tbf.rate.rate;
    p->burst = p->rate ? tcnl_police_size(raw->tbf.burst, p->rate) : 0;
    p->pkt_rate = raw->pkt_rate;
    p->pkt_burst = tcnl_police_size(raw->pkt_ticks, raw->pkt_rate);
    info->bindcnt = (uint32_t) raw->tbf.bindcnt;
    info->exceed = (uint32_t) raw->tbf.action;
    info->conform = raw->result;
}

static bool
parse_options(const struct nlattr *nest, struct tcnl_police_info *info)
{
    struct tcnl_attrs it = tcnl_attrs_nested(nest);
    struct raw raw = { .has_tbf = false };
    const struct nlattr *a;

    while ((a = tcnl_attrs_next(&it))) {
        if (!parse_option(a, &raw)) {
            return false;
        }
    }
    if (!raw.has_tbf || !tcnl_attrs_ok(&it)) {
        return false;
    }
    finish(&raw, info);
    return true;
}

static bool
parse_flags(const struct nlattr *a, uint32_t *cls_flags)
{
    struct nla_bitfield32 flags;

    if (!tcnl_attr_get(a, &flags, sizeof flags)) {
        return false;
    }
    if (flags.value & TCA_ACT_FLAGS_SKIP_HW) {
        *cls_flags |= TCA_CLS_FLAGS_SKIP_HW;
    }
    if (flags.value & TCA_ACT_FLAGS_SKIP_SW) {
        *cls_flags |= TCA_CLS_FLAGS_SKIP_SW;
    }
    return true;
}

/* Reads one action; '*ours' says whether it is a police action.  A terse one
 * has an attribute for its index in the place of the options. */
static bool
parse_action(const struct nlattr *nest, struct tcnl_police_info *info,
             bool *ours)
{
    struct tcnl_attrs it = tcnl_attrs_nested(nest);
    const struct nlattr *a, *options = NULL;
    bool ok = true;

    memset(info, 0, sizeof *info);
    *ours = false;
    while (ok && (a = tcnl_attrs_next(&it))) {
        switch (tcnl_attr_type(a)) {
        case TCA_ACT_KIND:
            *ours = tcnl_attr_is_string(a, "police");
            break;
        case TCA_ACT_OPTIONS:
            options = a;
            break;
        case TCA_ACT_INDEX:
            ok = tcnl_attr_get(a, &info->police.index,
                               sizeof info->police.index);
            break;
        case TCA_ACT_STATS:
            ok = !tcnl_stats_parse(a, &info->stats);
            break;
        case TCA_ACT_FLAGS:
            ok = parse_flags(a, &info->police.cls_flags);
            break;
        }
    }
    return ok && tcnl_attrs_ok(&it)
           && (!*ours || (options ? parse_options(options, info)
                          : info->police.index != 0));
}

static int
parse_tab(const struct nlattr *tab,
          void (*cb)(void *aux, const struct tcnl_police_info *), void *aux)
{
    struct tcnl_attrs it = tcnl_attrs_nested(tab);
    struct tcnl_police_info info;
    const struct nlattr *nest;
    bool ours;

    while ((nest = tcnl_attrs_next(&it))) {
        if (!parse_action(nest, &info, &ours)) {
            return EBADMSG;
        }
        if (ours) {
            cb(aux, &info);
        }
    }
    return tcnl_attrs_ok(&it) ? 0 : EBADMSG;
}

static bool
is_action_message(const struct nlmsghdr *nlh)
{
    return nlh->nlmsg_len >= NLMSG_LENGTH(sizeof(struct tcamsg))
           && (nlh->nlmsg_type == RTM_NEWACTION
               || nlh->nlmsg_type == RTM_DELACTION
               || nlh->nlmsg_type == RTM_GETACTION);
}

int
tcnl_police_parse(const struct nlmsghdr *nlh,
                  void (*cb)(void *aux, const struct tcnl_police_info *),
                  void *aux)
{
    struct tcnl_attrs it;
    const struct nlattr *a;

    if (!is_action_message(nlh)) {
        return EBADMSG;
    }
    it = tcnl_attrs_message(nlh, sizeof(struct tcamsg));
    while ((a = tcnl_attrs_next(&it))) {
        if (tcnl_attr_type(a) == TCA_ROOT_TAB && parse_tab(a, cb, aux)) {
            return EBADMSG;
        }
    }
    return tcnl_attrs_ok(&it) ? 0 : EBADMSG;
}
