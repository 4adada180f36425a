/* SPDX-License-Identifier: Apache-2.0 */
#include "probe.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <arpa/inet.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include "batch.h"
#include "dump.h"
#include "filter.h"
#include "police.h"

#define PROBE_PRIO 65535
#define PROBE_PROTO 0x88b5      /* ETH_P_LOCAL_EXP: IEEE 802, experimental. */
#define PROBE_POLICE 0x2fffffffu

/* Handles that no kernel would choose by itself. */
enum { FIRST_HANDLE = 0x7f000001, N_HANDLES = 2 };

#define MAX_ADDS 3              /* Of filters. */
#define MAX_TRIES 3             /* Of one delete. */

struct probe {
    struct tcnl_transport *transport;
    struct tcnl_abilities *able;
    struct tcnl_error *error;
    struct tcnl_filter_id id;
    struct tcnl_flower flower;
    struct tcnl_actions actions;
    uint32_t strange[MAX_ADDS]; /* Handles that the kernel chose instead. */
    unsigned int n_strange;
    bool came_back;             /* A filter, with all its keys. */
    struct tcnl_dump_form form;
    bool in_dump;               /* The first filter, in terse form. */
};

/* ## One request of each kind. */

static int
build_add(struct tcnl_buffer *b, const void *probe_)
{
    const struct probe *p = probe_;

    return tcnl_filter_put_new(b, &p->id, &p->flower, &p->actions,
                               NLM_F_CREATE | NLM_F_EXCL | NLM_F_ECHO);
}

static int
build_del(struct tcnl_buffer *b, const void *probe_)
{
    const struct probe *p = probe_;

    return tcnl_filter_put_del(b, &p->id, 0);
}

static int
build_del_echoed(struct tcnl_buffer *b, const void *probe_)
{
    const struct probe *p = probe_;

    return tcnl_filter_put_del(b, &p->id, NLM_F_ECHO);
}

static int
build_get(struct tcnl_buffer *b, const void *probe_)
{
    const struct probe *p = probe_;

    return tcnl_filter_put_get(b, &p->id);
}

static int
build_dump(struct tcnl_buffer *b, const void *probe_)
{
    const struct probe *p = probe_;

    return tcnl_filter_put_dump(b, &p->id, &p->form);
}

static int
build_police(struct tcnl_buffer *b, const void *aux)
{
    static const struct tcnl_police police = {
        .index = PROBE_POLICE,
        .pkt_rate = 1000,
        .pkt_burst = 1000,
        .cls_flags = TCA_CLS_FLAGS_SKIP_HW,
    };

    (void) aux;
    return tcnl_police_put_new(b, &police, false);
}

static int
build_police_get(struct tcnl_buffer *b, const void *aux)
{
    (void) aux;
    return tcnl_police_put_get(b, PROBE_POLICE);
}

static int
build_police_del(struct tcnl_buffer *b, const void *aux)
{
    (void) aux;
    return tcnl_police_put_del(b, PROBE_POLICE, 0);
}

/* ## The filters.
 *
 * Two filters of one prio with different masks: their second can be added only
 * if the kernel has several masks per prio.  It also tries the flag against
 * per-CPU counters.  They match next to nothing, and what they match goes on
 * to the next filter. */

static void
make_filter(struct probe *p, unsigned int n)
{
    static const uint8_t mac[6] = { 0x02 };
    uint16_t proto = htons(PROBE_PROTO);
    struct tcnl_action *a;

    tcnl_flower_init(&p->flower);
    p->flower.cls_flags = TCA_CLS_FLAGS_SKIP_HW;
    tcnl_flower_set(&p->flower, TCNL_KEY_ETH_TYPE, &proto, NULL);
    tcnl_flower_set(&p->flower, n ? TCNL_KEY_ETH_SRC : TCNL_KEY_ETH_DST, mac,
                    NULL);
    tcnl_actions_init(&p->actions);
    a = tcnl_actions_add(&p->actions, TCNL_ACT_GACT, (uint32_t) TC_ACT_UNSPEC);
    a->no_percpu = n > 0;
    p->id.handle = FIRST_HANDLE + n;
}

/* The echo says what the filter's handle has become. */
static void
echo_cb(void *probe_, unsigned int slot, const struct nlmsghdr *nlh)
{
    struct probe *p = probe_;
    struct tcnl_filter_info info;

    (void) slot;
    if (tcnl_filter_parse(nlh, &info)) {
        return;
    }
    if (info.id.handle == p->id.handle) {
        p->able->own_handles = true;
    } else if (p->n_strange < MAX_ADDS) {
        p->strange[p->n_strange++] = info.id.handle;
    }
}

static int
add(struct probe *p, unsigned int n, struct tcnl_error *error)
{
    make_filter(p, n);
    return tcnl_transact(p->transport, build_add, p, echo_cb, p, error);
}

/* Deletes what may be there or not, until the kernel has said that it is
 * gone. */
static void
delete(struct probe *p, int (*build)(struct tcnl_buffer *, const void *))
{
    for (int i = 0; i < MAX_TRIES; i++) {
        int error = tcnl_transact(p->transport, build, p, NULL, NULL, NULL);

        if (!error || error == ENOENT) {
            break;
        }
    }
}

static void
delete_filter(struct probe *p, uint32_t handle)
{
    p->id.handle = handle;
    delete(p, build_del);
}

static void
delete_filters(struct probe *p)
{
    for (uint32_t n = 0; n < N_HANDLES; n++) {
        delete_filter(p, FIRST_HANDLE + n);
    }
    while (p->n_strange) {
        delete_filter(p, p->strange[--p->n_strange]);
    }
}

/* ## What can be seen of them. */

static void
dump_cb(void *probe_, const struct nlmsghdr *nlh)
{
    struct probe *p = probe_;
    struct tcnl_filter_info info;

    if (!tcnl_filter_parse(nlh, &info) && info.id.handle == FIRST_HANDLE
        && info.id.prio == PROBE_PRIO) {
        p->able->own_handles = true;
        p->in_dump = info.acts && !info.has_keys;
    }
}

static void
get_cb(void *probe_, unsigned int slot, const struct nlmsghdr *nlh)
{
    struct probe *p = probe_;
    struct tcnl_filter_info info;
    struct tcnl_actions actions;

    (void) slot;
    p->able->no_percpu_stats
        = !tcnl_filter_parse(nlh, &info) && info.acts
          && !tcnl_actions_parse(info.acts, &actions)
          && actions.n && actions.a[0].no_percpu;
}

/* A kernel without TCA_DUMP_FLAGS gives the full form, one that knows the
 * attribute but not the bit refuses.  The hook may have any number of other
 * filters, so only our prio is asked for. */
static bool
probe_dump(struct probe *p, struct tcnl_dump_form form)
{
    p->id.handle = FIRST_HANDLE;
    p->form = form;
    p->form.terse = p->form.one_prio = true;
    p->in_dump = false;
    return (tcnl_dump_all(p->transport, build_dump, p, dump_cb, p, NULL)
            == TCNL_DUMP_COMPLETE
            && p->in_dump);
}

static void
probe_dumps(struct probe *p)
{
    static const struct tcnl_dump_form all = { 0 };
    static const struct tcnl_dump_form used = { .used_within = 60000 };
    static const struct tcnl_dump_form start = { .start = true };

    p->able->terse_dump = probe_dump(p, all);
    p->able->used_since = probe_dump(p, used);
    p->able->dump_start = probe_dump(p, start);
}

static void
del_cb(void *probe_, unsigned int slot, const struct nlmsghdr *nlh)
{
    struct probe *p = probe_;
    struct tcnl_filter_info info;

    (void) slot;
    p->able->terse_echo = !tcnl_filter_parse(nlh, &info) && info.acts
                          && !info.has_keys;
}

static void
probe_echo(struct probe *p)
{
    p->id.handle = FIRST_HANDLE;
    tcnl_transact(p->transport, build_del_echoed, p, del_cb, p, NULL);
}

static void
probe_second(struct probe *p)
{
    if (add(p, 1, NULL)) {
        return;
    }
    p->able->multi_mask = true;
    tcnl_transact(p->transport, build_get, p, get_cb, p, NULL);
}

/* The handle is taken: a sure error, with a text wherever there are any. */
static void
probe_text(struct probe *p)
{
    struct tcnl_error error;

    p->able->ext_ack = add(p, 0, &error) && error.text[0];
}

/* ## Police. */

static void
police_info_cb(void *probe_, const struct tcnl_police_info *info)
{
    struct probe *p = probe_;

    p->able->police_pkts = info->police.index == PROBE_POLICE
                           && info->police.pkt_rate == 1000;
}

static void
police_get_cb(void *probe_, unsigned int slot, const struct nlmsghdr *nlh)
{
    (void) slot;
    tcnl_police_parse(nlh, police_info_cb, probe_);
}

/* A kernel without packet rates takes the police and drops the attribute, so
 * what counts is what comes back. */
static void
probe_police(struct probe *p)
{
    delete(p, build_police_del);
    if (!tcnl_transact(p->transport, build_police, p, NULL, NULL, NULL)) {
        tcnl_transact(p->transport, build_police_get, p, police_get_cb, p,
                      NULL);
    }
    delete(p, build_police_del);
}

/* ## Keys.
 *
 * A kernel leaves out without a word what it does not know (fl_set_parms() in
 * net/sched/cls_flower.c parses leniently), so what counts is, again, what
 * comes back. */

static void
keys_cb(void *probe_, unsigned int slot, const struct nlmsghdr *nlh)
{
    struct probe *p = probe_;
    struct tcnl_filter_info info;
    struct tcnl_flower flower;

    (void) slot;
    p->came_back = !tcnl_filter_parse(nlh, &info)
                   && !tcnl_filter_parse_flower(&info, &flower)
                   && tcnl_flower_equal(&flower, &p->flower);
}

/* Can a filter be had that matches what p->flower does?  Returns 0, ENODATA
 * if not all of it came back, or the kernel's error. */
static int
probe_keys(struct probe *p)
{
    int error = tcnl_transact(p->transport, build_add, p, echo_cb, p, NULL);

    p->came_back = false;
    if (!error) {
        tcnl_transact(p->transport, build_get, p, keys_cb, p, NULL);
    }
    delete_filters(p);
    return error ? error : p->came_back ? 0 : ENODATA;
}

static int
probe_ct_state(struct probe *p, uint16_t state)
{
    make_filter(p, 0);
    tcnl_flower_set(&p->flower, TCNL_KEY_CT_STATE, &state, &state);
    return probe_keys(p);
}

/* Kernels before 5.12 take any bit, and know the first four states only. */
static void
probe_ct(struct probe *p)
{
    const uint16_t trk = TCA_FLOWER_KEY_CT_FLAGS_TRACKED, unknown = 0x8000;
    const uint16_t later = TCA_FLOWER_KEY_CT_FLAGS_INVALID
                           | TCA_FLOWER_KEY_CT_FLAGS_REPLY;
    static const uint16_t others[] = {
        TCA_FLOWER_KEY_CT_FLAGS_NEW, TCA_FLOWER_KEY_CT_FLAGS_ESTABLISHED,
        TCA_FLOWER_KEY_CT_FLAGS_RELATED, TCA_FLOWER_KEY_CT_FLAGS_INVALID,
        TCA_FLOWER_KEY_CT_FLAGS_REPLY,
    };
    uint16_t states = trk;

    if (probe_ct_state(p, trk)) {
        return;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (!probe_ct_state(p, trk | others[i])) {
            states |= others[i];
        }
    }
    if (probe_ct_state(p, trk | unknown) != EINVAL) {
        states &= ~later;
    }
    p->able->ct_states = states;
}

static void
make_tunnel_filter(struct probe *p)
{
    uint32_t address = htonl(0xc0000201);       /* 192.0.2.1 */
    uint32_t id = htonl(1);

    make_filter(p, 0);
    tcnl_flower_set(&p->flower, TCNL_KEY_ENC_IPV4_DST, &address, NULL);
    tcnl_flower_set(&p->flower, TCNL_KEY_ENC_KEY_ID, &id, NULL);
}

static void
probe_tunnels(struct probe *p)
{
    uint32_t flags = htonl(TCNL_ENC_FLAGS_OAM | TCNL_ENC_FLAGS_CSUM
                           | TCNL_ENC_FLAGS_DONT_FRAGMENT);
    uint32_t gbp = TCNL_GBP_MASK;

    make_tunnel_filter(p);
    /* Bits that the kernel does not know must not be in the mask either. */
    tcnl_flower_set(&p->flower, TCNL_KEY_ENC_FLAGS, &flags, &flags);
    p->able->enc_flags = !probe_keys(p);

    make_tunnel_filter(p);
    tcnl_flower_set(&p->flower, TCNL_KEY_ENC_GBP, &gbp, &gbp);
    p->able->vxlan_gbp = !probe_keys(p);
}

int
tcnl_probe(struct tcnl_transport *transport, int ifindex, uint32_t parent,
           struct tcnl_abilities *able, struct tcnl_error *error)
{
    struct probe p = {
        .transport = transport,
        .able = able,
        .id = {
            .ifindex = ifindex,
            .parent = parent,
            .prio = PROBE_PRIO,
            .proto = htons(PROBE_PROTO),
        },
    };
    int result;

    memset(able, 0, sizeof *able);
    delete_filters(&p);
    result = add(&p, 0, error);
    if (!result) {
        able->flower = true;
        probe_dumps(&p);
        probe_second(&p);
        probe_text(&p);
        probe_police(&p);
        probe_echo(&p);
    }
    delete_filters(&p);
    if (!result) {
        probe_ct(&p);
        probe_tunnels(&p);
    }
    if (result) {
        memset(able, 0, sizeof *able);
    }
    return result;
}
