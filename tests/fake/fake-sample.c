/* SPDX-License-Identifier: Apache-2.0 */
#include "fake-sample.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/pkt_cls.h>
#include <linux/tc_act/tc_csum.h>
#include <linux/tc_act/tc_ct.h>
#include <linux/tc_act/tc_mirred.h>
#include <linux/tc_act/tc_mpls.h>
#include <linux/tc_act/tc_vlan.h>

/* What a filter has in common with others: a protocol. */
struct base {
    const char *name;
    uint16_t eth_type, vlan_eth_type;   /* Host order, 0 for none. */
    uint8_t ip_proto;
    uint16_t cvlan_eth_type;
};

static const struct base bases[] = {
    { "any", 0, 0, 0, 0 },
    { "ip", ETH_P_IP, 0, 0, 0 },
    { "ip tcp", ETH_P_IP, 0, IPPROTO_TCP, 0 },
    { "ip udp", ETH_P_IP, 0, IPPROTO_UDP, 0 },
    { "ip sctp", ETH_P_IP, 0, IPPROTO_SCTP, 0 },
    { "ip icmp", ETH_P_IP, 0, IPPROTO_ICMP, 0 },
    { "ip gre", ETH_P_IP, 0, IPPROTO_GRE, 0 },
    { "ipv6", ETH_P_IPV6, 0, 0, 0 },
    { "ipv6 tcp", ETH_P_IPV6, 0, IPPROTO_TCP, 0 },
    { "ipv6 udp", ETH_P_IPV6, 0, IPPROTO_UDP, 0 },
    { "ipv6 sctp", ETH_P_IPV6, 0, IPPROTO_SCTP, 0 },
    { "ipv6 icmp", ETH_P_IPV6, 0, IPPROTO_ICMPV6, 0 },
    { "arp", ETH_P_ARP, 0, 0, 0 },
    { "rarp", ETH_P_RARP, 0, 0, 0 },
    { "lldp", ETH_P_LLDP, 0, 0, 0 },
    { "vlan", ETH_P_8021Q, 0, 0, 0 },
    { "vlan ip", ETH_P_8021Q, ETH_P_IP, 0, 0 },
    { "vlan ip tcp", ETH_P_8021Q, ETH_P_IP, IPPROTO_TCP, 0 },
    { "vlan ip icmp", ETH_P_8021Q, ETH_P_IP, IPPROTO_ICMP, 0 },
    { "vlan ipv6 udp", ETH_P_8021Q, ETH_P_IPV6, IPPROTO_UDP, 0 },
    { "vlan ipv6 icmp", ETH_P_8021Q, ETH_P_IPV6, IPPROTO_ICMPV6, 0 },
    { "vlan arp", ETH_P_8021Q, ETH_P_ARP, 0, 0 },
    { "vlan vlan", ETH_P_8021Q, ETH_P_8021Q, 0, 0 },
    { "qinq", ETH_P_8021AD, 0, 0, 0 },
    { "qinq vlan", ETH_P_8021AD, ETH_P_8021Q, 0, 0 },
    { "qinq vlan ip tcp", ETH_P_8021AD, ETH_P_8021Q, IPPROTO_TCP, ETH_P_IP },
    { "qinq vlan ipv6", ETH_P_8021AD, ETH_P_8021Q, 0, ETH_P_IPV6 },
    { "vlan vlan arp", ETH_P_8021Q, ETH_P_8021Q, 0, ETH_P_ARP },
    { "qinq vlan mpls", ETH_P_8021AD, ETH_P_8021Q, 0, ETH_P_MPLS_UC },
    { "vlan mpls", ETH_P_8021Q, ETH_P_MPLS_UC, 0, 0 },
    { "mpls", ETH_P_MPLS_UC, 0, 0, 0 },
    { "mpls multicast", ETH_P_MPLS_MC, 0, 0, 0 },
    { "qinq ip tcp", ETH_P_8021AD, ETH_P_IP, IPPROTO_TCP, 0 },
};

/* A prio has one protocol. */
static uint16_t
prio_of(uint16_t eth_type)
{
    switch (eth_type) {
    case ETH_P_IP:
        return 1;
    case ETH_P_IPV6:
        return 2;
    case ETH_P_ARP:
        return 3;
    case ETH_P_RARP:
        return 4;
    case ETH_P_8021Q:
        return 5;
    case ETH_P_8021AD:
        return 6;
    case ETH_P_LLDP:
        return 7;
    case ETH_P_MPLS_UC:
        return 8;
    case ETH_P_MPLS_MC:
        return 9;
    default:
        return SAMPLE_MAX_PRIO;
    }
}

static void
set_u16(struct tcnl_flower *f, enum tcnl_key key, uint16_t value)
{
    if (value) {
        value = htons(value);
        tcnl_flower_set(f, key, &value, NULL);
    }
}

/* ## A growing list. */

struct list {
    struct sample *samples;
    unsigned int n;
    int ifindex;
};

static struct sample *
add_sample(struct list *list, const struct base *base, const char *name)
{
    struct sample *s = &list->samples[list->n++];

    assert(list->n <= SAMPLE_MAX);
    memset(s, 0, sizeof *s);
    snprintf(s->name, sizeof s->name, "%s: %s", base->name, name);
    s->id.ifindex = list->ifindex;
    s->id.parent = TCNL_PARENT_INGRESS;
    s->id.handle = 0x1000 + list->n;
    s->id.prio = prio_of(base->eth_type);
    s->id.proto = htons(base->eth_type ? base->eth_type : ETH_P_ALL);
    tcnl_flower_init(&s->flower);
    s->flower.cls_flags = TCA_CLS_FLAGS_SKIP_HW;
    set_u16(&s->flower, TCNL_KEY_ETH_TYPE, base->eth_type);
    set_u16(&s->flower, TCNL_KEY_VLAN_ETH_TYPE, base->vlan_eth_type);
    set_u16(&s->flower, TCNL_KEY_CVLAN_ETH_TYPE, base->cvlan_eth_type);
    if (base->ip_proto) {
        tcnl_flower_set(&s->flower, TCNL_KEY_IP_PROTO, &base->ip_proto, NULL);
    }
    tcnl_actions_init(&s->actions);
    s->actions.has_cookie = true;
    memcpy(s->actions.cookie, &s->id.handle, sizeof s->id.handle);
    return s;
}

static struct tcnl_action *
add_action(struct sample *s, enum tcnl_action_kind kind, uint32_t verdict)
{
    struct tcnl_action *a = tcnl_actions_add(&s->actions, kind, verdict);

    assert(a);
    a->cookie = kind != TCNL_ACT_POLICE;
    return a;
}

static void
add_drop(struct sample *s)
{
    add_action(s, TCNL_ACT_GACT, TC_ACT_SHOT);
}

/* ## Keys. */

/* Keys that are not just any bytes: a value, and all bits that the kernel
 * takes.  Network order if the key is. */
static const struct special {
    uint8_t key;
    uint32_t value, mask;
} specials[] = {
    { TCNL_KEY_VLAN_ID, 0x105, 0xffff },
    { TCNL_KEY_VLAN_PRIO, 5, 0xff },
    { TCNL_KEY_CVLAN_ID, 0x206, 0xffff },
    { TCNL_KEY_CVLAN_PRIO, 6, 0xff },
    { TCNL_KEY_MPLS_LABEL, 0x98765, 0xffffffff },
    { TCNL_KEY_MPLS_TC, 7, 0xff },
    { TCNL_KEY_MPLS_BOS, 1, 0xff },
    { TCNL_KEY_CT_STATE,
      TCA_FLOWER_KEY_CT_FLAGS_TRACKED | TCA_FLOWER_KEY_CT_FLAGS_ESTABLISHED
      | TCA_FLOWER_KEY_CT_FLAGS_REPLY, 0x3f },
    { TCNL_KEY_ENC_GBP, 0x481234, TCNL_GBP_MASK },
};

static const struct special *
find_special(enum tcnl_key key)
{
    for (unsigned int i = 0; i < sizeof specials / sizeof specials[0]; i++) {
        if (specials[i].key == key) {
            return &specials[i];
        }
    }
    return NULL;
}

static void
store(uint32_t value, unsigned int size, uint8_t to[16])
{
    uint16_t u16 = (uint16_t) value;

    if (size == 4) {
        memcpy(to, &value, sizeof value);
    } else if (size == 2) {
        memcpy(to, &u16, sizeof u16);
    } else {
        to[0] = (uint8_t) value;
    }
}

static bool
is_flags(enum tcnl_key key)
{
    return key == TCNL_KEY_FLAGS || key == TCNL_KEY_ENC_FLAGS;
}

/* Within what the kernel takes for the key. */
static void
make_value(enum tcnl_key key, unsigned int seed, uint8_t value[16])
{
    const struct special *special = find_special(key);
    uint32_t flags = htonl(key == TCNL_KEY_FLAGS
                           ? TCA_FLOWER_KEY_FLAGS_IS_FRAGMENT
                           : TCNL_ENC_FLAGS_CSUM);

    for (unsigned int i = 0; i < 16; i++) {
        value[i] = (uint8_t) (0x11 * (i + 1) + seed);
    }
    if (is_flags(key)) {
        memcpy(value, &flags, sizeof flags);
    } else if (special) {
        store(special->value, tcnl_key_size(key), value);
    }
}

/* An odd mask, or all that the kernel takes.  A ct_state cannot do without the
 * bit for tracked. */
static void
make_mask(enum tcnl_key key, bool odd, uint8_t mask[16])
{
    const struct special *special = find_special(key);
    uint32_t flags = htonl(key == TCNL_KEY_FLAGS
                           ? TCA_FLOWER_KEY_FLAGS_IS_FRAGMENT
                             | (odd ? 0 : TCA_FLOWER_KEY_FLAGS_FRAG_IS_FIRST)
                           : TCNL_ENC_FLAGS_CSUM
                             | (odd ? 0 : TCNL_ENC_FLAGS_DONT_FRAGMENT
                                          | TCNL_ENC_FLAGS_OAM));

    for (unsigned int i = 0; i < 16; i++) {
        mask[i] = odd ? (uint8_t) (0xa5 ^ i) : 0xff;
    }
    if (is_flags(key)) {
        memcpy(mask, &flags, sizeof flags);
    } else if (special) {
        store(special->mask & (odd ? 0xffff0ffa : UINT32_MAX),
              tcnl_key_size(key), mask);
    }
}

static bool
is_exact(enum tcnl_key key)
{
    switch (key) {
    case TCNL_KEY_ETH_TYPE:
    case TCNL_KEY_VLAN_ID:
    case TCNL_KEY_VLAN_PRIO:
    case TCNL_KEY_VLAN_ETH_TYPE:
    case TCNL_KEY_CVLAN_ID:
    case TCNL_KEY_CVLAN_PRIO:
    case TCNL_KEY_CVLAN_ETH_TYPE:
    case TCNL_KEY_MPLS_LABEL:
    case TCNL_KEY_MPLS_TC:
    case TCNL_KEY_MPLS_BOS:
    case TCNL_KEY_MPLS_TTL:
    case TCNL_KEY_IP_PROTO:
    case TCNL_KEY_ENC_KEY_ID:
        return true;
    default:
        return false;
    }
}

static const uint8_t geneve[] = {
    0x01, 0x02, 0x80, 0x01, 1, 2, 3, 4,
    0xff, 0xff, 0x01, 0x03, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
};

static void
set_geneve(struct tcnl_flower *f, bool odd)
{
    uint8_t mask[sizeof geneve];

    memset(mask, odd ? 0x5a : 0xff, sizeof mask);
    tcnl_flower_set_geneve(f, geneve, mask, sizeof geneve);
}

static void
add_key(struct list *list, const struct base *base, enum tcnl_key key,
        bool odd)
{
    struct sample *s;
    uint8_t value[16], mask[16];
    char name[32];

    snprintf(name, sizeof name, "%s%s", tcnl_key_name(key),
             odd ? " masked" : "");
    s = add_sample(list, base, name);
    if (tcnl_flower_has(&s->flower, key)) {
        list->n--;
        return;
    }
    make_value(key, list->n, value);
    make_mask(key, odd, mask);
    if (key == TCNL_KEY_ENC_GENEVE) {
        set_geneve(&s->flower, odd);
    } else {
        tcnl_flower_set(&s->flower, key, value, mask);
    }
    if (!tcnl_flower_is_complete(&s->flower)) {
        list->n--;
        return;
    }
    add_drop(s);
}

static void
add_keys(struct list *list, const struct base *base)
{
    add_drop(add_sample(list, base, "nothing else"));
    for (unsigned int i = 0; i < TCNL_N_KEYS; i++) {
        enum tcnl_key key = (enum tcnl_key) i;

        /* These are the base's affair. */
        if (key == TCNL_KEY_ETH_TYPE || key == TCNL_KEY_VLAN_ETH_TYPE
            || key == TCNL_KEY_CVLAN_ETH_TYPE || key == TCNL_KEY_IP_PROTO
            || (key >= TCNL_KEY_CT_STATE && base > &bases[1])) {
            continue;
        }
        add_key(list, base, key, false);
        if (!is_exact(key)) {
            add_key(list, base, key, true);
        }
    }
}

/* ## Actions. */

/* No two filters of a mask in a prio may have the same key. */
static struct sample *
add_list(struct list *list, const char *name)
{
    struct sample *s = add_sample(list, &bases[1], name);
    uint32_t address = htonl(0x0a000000 + list->n);

    tcnl_flower_set(&s->flower, TCNL_KEY_IPV4_DST, &address, NULL);
    return s;
}

static void
add_redirect(struct sample *s)
{
    struct tcnl_action *a = add_action(s, TCNL_ACT_MIRRED, TC_ACT_STOLEN);

    a->mirred.ifindex = s->id.ifindex;
    a->mirred.eaction = TCA_EGRESS_REDIR;
}

static void
add_mirred(struct list *list)
{
    static const uint32_t eactions[] = {
        TCA_EGRESS_REDIR, TCA_EGRESS_MIRROR, TCA_INGRESS_REDIR,
        TCA_INGRESS_MIRROR
    };

    for (unsigned int i = 0; i < 4; i++) {
        struct sample *s = add_list(list, "mirred");
        bool mirror = i % 2;
        struct tcnl_action *a;

        a = add_action(s, TCNL_ACT_MIRRED, mirror ? TC_ACT_PIPE
                                                  : TC_ACT_STOLEN);
        a->mirred.ifindex = list->ifindex;
        a->mirred.eaction = eactions[i];
        a->no_percpu = i > 1;
        if (mirror) {
            add_redirect(s);
        }
    }
}

static void
add_gact(struct list *list)
{
    static const uint32_t verdicts[] = {
        TC_ACT_OK, TC_ACT_SHOT, TC_ACT_PIPE, TC_ACT_STOLEN,
        (uint32_t) TC_ACT_UNSPEC, TC_ACT_TRAP, TC_ACT_GOTO_CHAIN | 5,
    };

    for (unsigned int i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++) {
        struct sample *s = add_list(list, "gact");
        struct tcnl_action *a;

        a = add_action(s, TCNL_ACT_GACT, verdicts[i]);
        a->no_percpu = i % 2;
    }
}

static void
add_vlan(struct list *list)
{
    struct sample *s = add_list(list, "vlan pop");
    struct tcnl_action *a;

    add_action(s, TCNL_ACT_VLAN, TC_ACT_PIPE)->vlan.op = TCA_VLAN_ACT_POP;
    add_redirect(s);

    for (unsigned int i = 0; i < 2; i++) {
        s = add_list(list, "vlan push");
        a = add_action(s, TCNL_ACT_VLAN, TC_ACT_PIPE);
        a->vlan.op = TCA_VLAN_ACT_PUSH;
        a->vlan.tpid = htons(i ? ETH_P_8021AD : ETH_P_8021Q);
        a->vlan.vid = i ? 4094 : 0;
        a->vlan.prio = i ? 7 : 0;
        add_redirect(s);
    }
}

static void
put_rewrites(struct sample *s, const struct tcnl_rewrites *r)
{
    struct tcnl_action *a = add_action(s, TCNL_ACT_PEDIT, TC_ACT_PIPE);
    unsigned int n;

    n = tcnl_pedit_from_rewrites(r,
                                 &s->actions.pedit_keys[
                                     s->actions.n_pedit_keys],
                                 TCNL_MAX_PEDIT_KEYS);
    assert(n);
    a->pedit.first = s->actions.n_pedit_keys;
    a->pedit.n = (uint8_t) n;
    s->actions.n_pedit_keys = (uint8_t) (s->actions.n_pedit_keys + n);
}

static void
set_rewrite(struct tcnl_rewrites *r, enum tcnl_rewrite rw, bool odd)
{
    uint8_t value[16], mask[16];

    make_value(TCNL_KEY_ETH_DST, rw, value);
    make_mask(TCNL_KEY_ETH_DST, odd, mask);
    tcnl_rewrite_set(r, rw, value, mask);
}

static void
add_pedit(struct list *list)
{
    struct tcnl_rewrites all;
    struct sample *s;

    memset(&all, 0, sizeof all);
    for (unsigned int i = 0; i < 2 * TCNL_N_REWRITES; i++) {
        enum tcnl_rewrite rw = (enum tcnl_rewrite) (i / 2);
        struct tcnl_rewrites r = { .present = 0 };

        set_rewrite(&r, rw, i % 2);
        set_rewrite(&all, rw, i % 2);
        s = add_list(list, "pedit");
        put_rewrites(s, &r);
        add_action(s, TCNL_ACT_CSUM, TC_ACT_PIPE)->csum.update_flags
            = TCA_CSUM_UPDATE_FLAG_IPV4HDR | TCA_CSUM_UPDATE_FLAG_TCP;
        add_redirect(s);
    }

    s = add_list(list, "pedit of all, twice");
    put_rewrites(s, &all);
    put_rewrites(s, &all);
    add_redirect(s);
}

static void
add_mpls(struct list *list)
{
    for (uint8_t op = TCA_MPLS_ACT_POP; op <= TCA_MPLS_ACT_MODIFY; op++) {
        struct sample *s = add_list(list, "mpls");
        struct tcnl_action *a = add_action(s, TCNL_ACT_MPLS, TC_ACT_PIPE);

        a->mpls.op = op;
        if (op != TCA_MPLS_ACT_MODIFY) {
            a->mpls.proto = htons(op == TCA_MPLS_ACT_POP ? ETH_P_IP
                                                         : ETH_P_MPLS_MC);
        }
        if (op != TCA_MPLS_ACT_POP) {
            a->mpls.label = 0xfffff;
            a->mpls.tc = 5;
            a->mpls.ttl = 64;
            a->mpls.bos = 1;
        }
        add_redirect(s);
    }
}

static struct tcnl_ct *
add_ct(struct list *list, const char *name, uint16_t flags)
{
    struct sample *s = add_list(list, name);
    struct tcnl_action *a = add_action(s, TCNL_ACT_CT, TC_ACT_PIPE);
    struct tcnl_ct *ct = NULL;

    a->ct.flags = flags;
    if (!(flags & TCA_CT_ACT_CLEAR)) {
        ct = tcnl_actions_add_ct(&s->actions, a);
        assert(ct);
    }
    add_redirect(s);
    return ct;
}

static void
add_nat(struct list *list, uint16_t flags, uint8_t family, uint16_t port)
{
    struct tcnl_ct *ct = add_ct(list, "nat", TCA_CT_ACT_COMMIT
                                             | TCA_CT_ACT_NAT | flags);

    ct->zone = 0x1234;
    ct->family = family;
    for (unsigned int i = 0; i < (family == 4 ? 4 : family == 6 ? 16 : 0);
         i++) {
        ct->addr_min[i] = (uint8_t) (i + 1);
        ct->addr_max[i] = (uint8_t) (i + 2);
    }
    ct->port_min = htons(port);
    ct->port_max = htons((uint16_t) (port + (port ? 100 : 0)));
}

static void
add_cts(struct list *list)
{
    struct tcnl_ct *ct;

    add_ct(list, "ct clear", TCA_CT_ACT_CLEAR);
    add_ct(list, "ct", 0);
    ct = add_ct(list, "ct commit", TCA_CT_ACT_COMMIT);
    ct->zone = 5;
    ct = add_ct(list, "ct of all", TCA_CT_ACT_COMMIT | TCA_CT_ACT_FORCE);
    ct->mark = 0x12005600;
    ct->mark_mask = 0xff00ff00;
    memset(ct->label, 0x21, 8);
    memset(ct->label_mask, 0x73, 12);
    add_nat(list, 0, 0, 0);
    add_nat(list, TCA_CT_ACT_NAT_SRC, 0, 0);
    add_nat(list, TCA_CT_ACT_NAT_SRC, 4, 0);
    add_nat(list, TCA_CT_ACT_NAT_DST, 4, 1000);
    add_nat(list, TCA_CT_ACT_NAT_SRC, 6, 1);
    add_nat(list, TCA_CT_ACT_NAT_DST, 6, 0);
}

static struct tcnl_tunnel *
add_tunnel(struct list *list, const char *name, uint8_t family,
           unsigned int len)
{
    struct sample *s = add_list(list, name);
    struct tcnl_action *a;
    struct tcnl_tunnel *t;

    a = add_action(s, TCNL_ACT_TUNNEL_KEY, TC_ACT_PIPE);
    a->tunnel.set = false;
    a = add_action(s, TCNL_ACT_TUNNEL_KEY, TC_ACT_PIPE);
    t = tcnl_actions_add_tunnel(&s->actions, a, geneve, len);
    assert(t);
    t->family = family;
    memset(t->src, 0x20, family == 4 ? 4 : 16);
    memset(t->dst, 0x21, family == 4 ? 4 : 16);
    add_redirect(s);
    return t;
}

static void
add_tunnels(struct list *list)
{
    struct tcnl_tunnel *t;

    add_tunnel(list, "tunnel", 4, 0);
    t = add_tunnel(list, "tunnel of all", 6, sizeof geneve);
    t->has_id = true;
    t->id = htonl(0x123456);
    t->tos = 4;
    t->ttl = 64;
    t->tp_dst = htons(6081);
    t->csum = true;
    t->dont_fragment = true;
    t = add_tunnel(list, "tunnel with policy", 4, 0);
    t->has_gbp = true;
    t->gbp = 0x400007;
}

/* Long packets are redirected, others dropped. */
static void
add_lengths(struct list *list)
{
    struct sample *s = add_list(list, "police mtu");
    struct tcnl_action *a = add_action(s, TCNL_ACT_POLICE_MTU, TC_ACT_PIPE);

    a->police_mtu.mtu = 1514;
    a->police_mtu.conform = TC_ACT_JUMP | 2;
    a->no_percpu = true;
    add_redirect(s);
    add_drop(s);
}

static void
add_others(struct list *list)
{
    struct sample *s = add_list(list, "skbedit");
    struct tcnl_action *a;

    add_action(s, TCNL_ACT_SKBEDIT, TC_ACT_PIPE)->skbedit.ptype = PACKET_HOST;
    add_redirect(s);

    s = add_list(list, "police");
    a = add_action(s, TCNL_ACT_POLICE, TC_ACT_PIPE);
    a->police.index = SAMPLE_POLICE;
    add_redirect(s);

    s = add_list(list, "without cookie");
    add_drop(s);
    s->actions.a[0].cookie = false;
    s->actions.has_cookie = false;

    s = add_list(list, "as many as there can be");
    for (unsigned int i = 1; i < TCNL_MAX_ACTIONS; i++) {
        a = add_action(s, TCNL_ACT_MIRRED, TC_ACT_PIPE);
        a->mirred.ifindex = list->ifindex;
        a->mirred.eaction = TCA_EGRESS_MIRROR;
        a->cookie = i % 2;
    }
    add_redirect(s);
}

unsigned int
samples_make(struct sample *samples, int ifindex)
{
    struct list list = { samples, 0, ifindex };

    for (unsigned int i = 0; i < sizeof bases / sizeof bases[0]; i++) {
        add_keys(&list, &bases[i]);
    }
    add_mirred(&list);
    add_gact(&list);
    add_vlan(&list);
    add_pedit(&list);
    add_mpls(&list);
    add_cts(&list);
    add_tunnels(&list);
    add_lengths(&list);
    add_others(&list);
    return list.n;
}
