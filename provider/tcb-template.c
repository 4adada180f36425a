/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-template.h"

#include <string.h>

#include "dpif.h"
#include "hash.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "tcb-plan.h"
#include "tcb-port.h"
#include "util.h"

/* Keys, masks and actions that are longer are not worth it. */
#define MAX_BYTES 1024

/* One flow in so many is looked at whether it could be a template. */
#define LEARN_EVERY 4

/* What may vary: values that filters have as plain copies (tcb-field.c) and
 * that decide nothing else. */
static const struct {
    enum ovs_key_attr attr;
    enum tcnl_key key;
    size_t ofs, size;
} places[] = {
#define PLACE(ATTR, KEY, STRUCT, MEMBER)                                \
    { OVS_KEY_ATTR_##ATTR, TCNL_KEY_##KEY, offsetof(struct STRUCT, MEMBER), \
      MEMBER_SIZEOF(struct STRUCT, MEMBER) }
    PLACE(ETHERNET, ETH_SRC, ovs_key_ethernet, eth_src),
    PLACE(ETHERNET, ETH_DST, ovs_key_ethernet, eth_dst),
    PLACE(IPV4, IPV4_SRC, ovs_key_ipv4, ipv4_src),
    PLACE(IPV4, IPV4_DST, ovs_key_ipv4, ipv4_dst),
    PLACE(IPV6, IPV6_SRC, ovs_key_ipv6, ipv6_src),
    PLACE(IPV6, IPV6_DST, ovs_key_ipv6, ipv6_dst),
    PLACE(TCP, TP_SRC, ovs_key_tcp, tcp_src),
    PLACE(TCP, TP_DST, ovs_key_tcp, tcp_dst),
    PLACE(UDP, TP_SRC, ovs_key_udp, udp_src),
    PLACE(UDP, TP_DST, ovs_key_udp, udp_dst),
    PLACE(SCTP, TP_SRC, ovs_key_sctp, sctp_src),
    PLACE(SCTP, TP_DST, ovs_key_sctp, sctp_dst),
#undef PLACE
};

/* Where the parts of 'bytes' behind the key begin. */
static uint8_t *
bits_of(const struct tcb_template *t)
{
    return t->bytes + t->key_len;
}

static uint8_t *
mask_of(const struct tcb_template *t)
{
    return bits_of(t) + t->key_len;
}

static uint8_t *
actions_of(const struct tcb_template *t)
{
    return mask_of(t) + t->mask_len;
}

static size_t
n_bytes(const struct tcb_template *t)
{
    return 2 * t->key_len + t->mask_len + t->actions_len;
}

void
tcb_templates_init(struct tcb_templates *ts)
{
    memset(ts, 0, sizeof *ts);
}

static void
template_free(struct tcb_template *t)
{
    if (t) {
        tcnl_template_uninit(&t->message);
        free(t->bytes);
        free(t);
    }
}

void
tcb_templates_destroy(struct tcb_templates *ts)
{
    for (int i = 0; i < TCB_N_TEMPLATES; i++) {
        template_free(ts->templates[i]);
    }
}

/* Is 'key' the template's in the bits that count?  Attributes are of whole
 * words of 32 bits. */
static bool
key_fits(const struct tcb_template *t, const void *key)
{
    const ovs_be32 *want = ALIGNED_CAST(const ovs_be32 *, t->bytes);
    const ovs_be32 *bits = ALIGNED_CAST(const ovs_be32 *, bits_of(t));
    const ovs_be32 *have = key;

    for (size_t i = 0; i < t->key_len / sizeof *want; i++) {
        if ((have[i] & bits[i]) != want[i]) {
            return false;
        }
    }
    return true;
}

static bool
fits(const struct tcb_template *t, uint64_t generation,
     const struct dpif_flow_put *put)
{
    return (t->generation == generation
            && t->key_len == put->key_len
            && t->mask_len == put->mask_len
            && t->actions_len == put->actions_len
            && !memcmp(actions_of(t), put->actions, t->actions_len)
            && key_fits(t, put->key)
            && !memcmp(mask_of(t), put->mask, t->mask_len));
}

static void
move_to_front(struct tcb_templates *ts, int i)
{
    struct tcb_template *t = ts->templates[i];

    memmove(&ts->templates[1], &ts->templates[0], i * sizeof t);
    ts->templates[0] = t;
}

struct tcb_template *
tcb_templates_find(struct tcb_templates *ts, uint64_t generation,
                   const struct dpif_flow_put *put)
{
    for (int i = 0; i < TCB_N_TEMPLATES && ts->templates[i]; i++) {
        if (fits(ts->templates[i], generation, put)) {
            move_to_front(ts, i);
            return ts->templates[0];
        }
    }
    return NULL;
}

uint64_t
tcb_template_set(struct tcb_template *t, const struct dpif_flow_put *put)
{
    uint64_t hash = t->match_hash;

    for (unsigned int i = 0; i < t->n_varying; i++) {
        const struct tcb_varying *v = &t->varying[i];
        const uint8_t *key = (const uint8_t *) put->key + v->ofs;
        uint8_t *value = tcnl_template_value(&t->message, v->key);

        for (unsigned int j = 0; j < v->size; j++) {
            value[j] = key[j] & v->mask[j];
        }
        hash += tcnl_flower_hash_key(v->key, value, v->mask);
    }
    return hash;
}

/* Learning. */

/* The value at 'ofs' may vary.  The filter may have it or, with a mask of
 * zeros, may not. */
static void
note_varying(struct tcb_template *t, const struct tcb_put_plan *plan,
             enum tcnl_key key, size_t ofs, size_t size)
{
    struct tcb_varying *v = &t->varying[t->n_varying];

    if (t->n_varying == TCB_MAX_VARYING) {
        return;
    }
    memset(bits_of(t) + ofs, 0, size);
    if (tcnl_flower_has(&plan->flower, key)) {
        t->n_varying++;
        v->key = key;
        v->ofs = ofs;
        v->size = size;
        memcpy(v->mask, tcnl_flower_mask(&plan->flower, key), size);
        t->match_hash -= tcnl_flower_hash_key(
            key, tcnl_flower_value(&plan->flower, key), v->mask);
    }
}

/* Attributes inside of others (behind VLAN tags) count. */
static void
find_varying(struct tcb_template *t, const struct tcb_put_plan *plan,
             const struct nlattr *attrs, size_t len)
{
    const struct nlattr *a;
    size_t left;

    NL_ATTR_FOR_EACH (a, left, attrs, len) {
        size_t payload = (const uint8_t *) nl_attr_get(a) - t->bytes;

        if (nl_attr_type(a) == OVS_KEY_ATTR_ENCAP) {
            find_varying(t, plan, nl_attr_get(a), nl_attr_get_size(a));
            continue;
        }
        for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
            if (nl_attr_type(a) == places[i].attr) {
                note_varying(t, plan, places[i].key, payload + places[i].ofs,
                             places[i].size);
            }
        }
    }
}

/* Clears the bits of the key that do not count. */
static void
mask_key(struct tcb_template *t)
{
    for (size_t i = 0; i < t->key_len; i++) {
        t->bytes[i] &= bits_of(t)[i];
    }
}

static struct tcb_template *
template_new(const struct dpif_flow_put *put, const struct tcb_put_plan *plan)
{
    struct tcb_template *t = xzalloc(sizeof *t);

    t->generation = plan->generation;
    t->key_len = put->key_len;
    t->mask_len = put->mask_len;
    t->actions_len = put->actions_len;
    t->match_hash = plan->match_hash;
    t->bytes = xmalloc(n_bytes(t));
    memcpy(t->bytes, put->key, t->key_len);
    memset(bits_of(t), 0xff, t->key_len);
    memcpy(mask_of(t), put->mask, t->mask_len);
    memcpy(actions_of(t), put->actions, t->actions_len);
    find_varying(t, plan, ALIGNED_CAST(const struct nlattr *, t->bytes),
                 t->key_len);
    mask_key(t);

    t->in_port = plan->port->up.port_no;
    t->ifindex = plan->port->up.ifindex;
    t->hook = plan->port->hook;
    t->uses = plan->uses;
    t->chain = plan->chain;
    t->prio = plan->prio;
    t->proto = plan->proto;
    return t;
}

/* Has something with this hash been seen of late?  It has, from now on. */
static bool
seen_before(struct tcb_templates *ts, uint32_t hash)
{
    for (int i = 0; i < TCB_N_TEMPLATES; i++) {
        if (ts->seen[i] == hash) {
            return true;
        }
    }
    ts->seen[ts->next_seen++ % TCB_N_TEMPLATES] = hash;
    return false;
}

static void
insert(struct tcb_templates *ts, struct tcb_template *t)
{
    template_free(ts->templates[TCB_N_TEMPLATES - 1]);
    ts->templates[TCB_N_TEMPLATES - 1] = t;
    move_to_front(ts, TCB_N_TEMPLATES - 1);
}

/* Only what the kernel is known to take as it is sent, and what depends on
 * nothing that may vary. */
static bool
is_suitable(const struct dpif_flow_put *put, const struct tcb_put_plan *plan)
{
    return (!plan->shape && !plan->uses.of_key && put->mask_len
            && !(put->key_len % NLA_ALIGNTO)
            && put->key_len + put->mask_len + put->actions_len <= MAX_BYTES);
}

/* Copies the message, which has a place for each value that varies. */
static bool
take_message(struct tcb_template *t, const struct nlmsghdr *nlh)
{
    if (tcnl_template_init(&t->message, nlh)) {
        return false;
    }
    for (unsigned int i = 0; i < t->n_varying; i++) {
        if (!t->message.values[t->varying[i].key]) {
            return false;
        }
    }
    return true;
}

void
tcb_templates_learn(struct tcb_templates *ts, const struct dpif_flow_put *put,
                    const struct tcb_put_plan *plan,
                    const struct nlmsghdr *nlh)
{
    struct tcb_template *t;

    if (++ts->n_learnt % LEARN_EVERY || !is_suitable(put, plan)) {
        return;
    }
    t = template_new(put, plan);
    if (!seen_before(ts, hash_bytes(t->bytes, n_bytes(t), 1))
        || !take_message(t, nlh)) {
        template_free(t);
        return;
    }
    insert(ts, t);
}
