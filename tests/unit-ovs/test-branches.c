/* SPDX-License-Identifier: Apache-2.0 */

/* Branches of check_pkt_len: random lists of OVS actions, and the TC actions
 * that they become, are carried out, and the packets that come out compared.
 *
 * A packet is its Ethernet source address and its TTL here; that is what the
 * lists change. */

#include <config.h>

#include <linux/pkt_cls.h>
#include <linux/tc_act/tc_mirred.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "flow.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "openvswitch/ofpbuf.h"
#include "packets.h"
#include "random.h"
#include "tcnl/pedit.h"
#include "translate.h"
#include "util.h"

#include <cmocka.h>

struct packet {
    unsigned int len;
    uint8_t src, ttl;           /* Of the address only the last byte. */
    bool tunnel;                /* Has the metadata that it came with. */
};

#define MATCH "recirc_id(0),%sin_port(1),eth(src=00:00:00:00:00:01)," \
              "eth_type(0x0800),ipv4(proto=1,ttl=64,frag=no),icmp()"
#define TUNNEL "tunnel(tun_id=0x1,src=1.1.1.1,dst=2.2.2.2,ttl=64/0," \
               "tp_dst=4789,flags(+key)),"

/* What came out, in its order. */
static void
emit(struct ds *ds, uint32_t port, const struct packet *p)
{
    ds_put_format(ds, " %"PRIu32":%d/%d", port, p->src, p->ttl);
}

/* ## OVS. */

static void run_ovs(const struct nlattr *, size_t, struct packet *,
                    struct ds *);

static void
run_ovs_set(const struct nlattr *nla, struct packet *p)
{
    const struct nlattr *set = nl_attr_get(nla);
    const struct ovs_key_ethernet *eth = nl_attr_get(set);
    const struct ovs_key_ipv4 *ipv4 = nl_attr_get(set);

    if (nl_attr_type(set) == OVS_KEY_ATTR_ETHERNET) {
        p->src = eth->eth_src.ea[5];
    } else {
        p->ttl = ipv4->ipv4_ttl;
    }
}

/* Branches work on a copy, unless nothing follows. */
static void
run_ovs_check(const struct nlattr *nla, struct packet p, struct ds *ds)
{
    uint16_t len = nl_attr_get_u16(
        nl_attr_find_nested(nla, OVS_CHECK_PKT_LEN_ATTR_PKT_LEN));
    uint16_t type = (p.len > len
                     ? OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_GREATER
                     : OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_LESS_EQUAL);
    const struct nlattr *branch = nl_attr_find_nested(nla, type);

    run_ovs(nl_attr_get(branch), nl_attr_get_size(branch), &p, ds);
}

static void
run_ovs(const struct nlattr *actions, size_t size, struct packet *p,
        struct ds *ds)
{
    const struct nlattr *nla;
    size_t left;

    NL_ATTR_FOR_EACH (nla, left, actions, size) {
        switch (nl_attr_type(nla)) {
        case OVS_ACTION_ATTR_OUTPUT:
            emit(ds, nl_attr_get_u32(nla), p);
            break;
        case OVS_ACTION_ATTR_SET_MASKED:
            run_ovs_set(nla, p);
            break;
        case OVS_ACTION_ATTR_CHECK_PKT_LEN:
            run_ovs_check(nla, *p, ds);
            break;
        case OVS_ACTION_ATTR_METER:
            break;
        case OVS_ACTION_ATTR_RECIRC:
            emit(ds, 1000 + nl_attr_get_u32(nla), p);
            return;
        default:
            OVS_NOT_REACHED();
        }
    }
}

/* ## TC, as tcf_action_exec() in net/sched/act_api.c. */

static void
run_pedit(const struct tcnl_actions *tc, const struct tcnl_action *a,
          struct packet *p)
{
    struct tcnl_rewrites r;

    assert_int_equal(tcnl_pedit_to_rewrites(&tc->pedit_keys[a->pedit.first],
                                            a->pedit.n, &r), 0);
    if (r.present & TCNL_RW_BIT(TCNL_RW_ETH_SRC)) {
        p->src = r.value.eth_src[5];
    }
    if (r.present & TCNL_RW_BIT(TCNL_RW_IPV4_TTL)) {
        p->ttl = r.value.ipv4_ttl;
    }
}

static uint32_t
run_action(const struct tcnl_actions *tc, const struct tcnl_action *a,
           struct packet *p, struct ds *ds)
{
    switch (a->kind) {
    case TCNL_ACT_MIRRED:
        assert_false(p->tunnel);
        emit(ds, a->mirred.ifindex - test_ifindex(0), p);
        break;
    case TCNL_ACT_PEDIT:
        run_pedit(tc, a, p);
        break;
    case TCNL_ACT_TUNNEL_KEY:
        p->tunnel = false;
        break;
    case TCNL_ACT_POLICE:
        return TC_ACT_PIPE;
    case TCNL_ACT_POLICE_MTU:
        return (p->len > a->police_mtu.mtu
                ? a->verdict : a->police_mtu.conform);
    case TCNL_ACT_GACT:
        if (TC_ACT_EXT_CMP(a->verdict, TC_ACT_GOTO_CHAIN)) {
            emit(ds, 1000 + (a->verdict & TC_ACT_EXT_VAL_MASK), p);
        }
        break;
    case TCNL_ACT_CSUM:
    case TCNL_ACT_SKBEDIT:
        break;
    case TCNL_ACT_VLAN:
    case TCNL_ACT_MPLS:
    case TCNL_ACT_CT:
    case TCNL_N_ACTION_KINDS:
    default:
        OVS_NOT_REACHED();
    }
    return a->verdict;
}

/* A list must end with a verdict that keeps the packet from the stack. */
static void
run_tc(const struct tcnl_actions *tc, struct packet *p, struct ds *ds)
{
    size_t i = 0;

    for (;;) {
        uint32_t verdict;

        assert_true(i < tc->n);
        verdict = run_action(tc, &tc->a[i], p, ds);
        if (TC_ACT_EXT_CMP(verdict, TC_ACT_JUMP)) {
            size_t to = verdict & TC_ACT_EXT_VAL_MASK;

            assert_true(to > i && to < tc->n);
            i = to;
        } else if (verdict == TC_ACT_PIPE) {
            i++;
        } else {
            assert_true(verdict == TC_ACT_SHOT || verdict == TC_ACT_STOLEN
                        || TC_ACT_EXT_CMP(verdict, TC_ACT_GOTO_CHAIN));
            return;
        }
    }
}

/* ## Lists. */

static void
put_list(struct ds *ds, int depth, bool tail)
{
    int n = depth < 2 ? random_range(4) : random_range(3);

    if (!n && depth) {
        ds_put_cstr(ds, "drop");
        return;
    }
    for (int i = 0; i < n + !depth; i++) {
        bool last = tail && i == n + !depth - 1;

        ds_put_cstr(ds, i ? "," : "");
        switch (random_range(depth < 3 ? 9 : 6)) {
        case 0:
            ds_put_format(ds, "set(eth(src=00:00:00:00:00:%02x))",
                          2 + random_range(9));
            break;
        case 1:
            ds_put_format(ds, "set(ipv4(ttl=%d))", 1 + random_range(9));
            break;
        case 2:
            ds_put_cstr(ds, last ? "meter(1)" : "3");
            break;
        case 3:
            ds_put_cstr(ds, last ? "recirc(5)" : "2");
            break;
        case 4: case 5:
            ds_put_format(ds, "%d", 1 + random_range(3));
            break;
        default:
            ds_put_format(ds, "check_pkt_len(size=%d,gt(",
                          100 * (1 + random_range(4)));
            put_list(ds, depth + 1, last);
            ds_put_cstr(ds, "),le(");
            put_list(ds, depth + 1, last);
            ds_put_cstr(ds, "))");
            break;
        }
    }
}

/* What is reported does the same, but for what nobody sees. */
static void
check_report(const struct test_flow *flow, const struct test_result *r,
             const char *actions)
{
    struct ofpbuf back;

    ofpbuf_init(&back, 0);
    assert_int_equal(tcb_actions_from_tc(NULL, &r->actions, &back), 0);
    for (unsigned int len = 50; len < 500; len += 100) {
        struct packet p = { len, 1, 64, false }, q = p;
        struct ds one = DS_EMPTY_INITIALIZER, two = DS_EMPTY_INITIALIZER;

        run_ovs(flow->actions.data, flow->actions.size, &p, &one);
        run_ovs(back.data, back.size, &q, &two);
        if (strcmp(ds_cstr(&one), ds_cstr(&two))) {
            fail_msg("%s is reported as %s", actions,
                     test_format_actions(&back));
        }
        ds_destroy(&one);
        ds_destroy(&two);
    }
    ofpbuf_uninit(&back);
}

static bool
check_list(const char *match, const char *actions)
{
    struct test_result r;
    struct test_flow flow;
    bool accepted;

    test_flow_parse(&flow, match, actions);
    test_translate(&flow, &r);
    accepted = !r.error;
    for (unsigned int len = 50; accepted && len < 500; len += 100) {
        struct packet p = { len, 1, 64, strstr(match, "tunnel") != NULL };
        struct ds ovs = DS_EMPTY_INITIALIZER, tc = DS_EMPTY_INITIALIZER;
        struct packet q = p;

        run_ovs(flow.actions.data, flow.actions.size, &p, &ovs);
        run_tc(&r.actions, &q, &tc);
        if (strcmp(ds_cstr(&ovs), ds_cstr(&tc))) {
            fail_msg("%s, %u bytes: OVS%s; TC%s", actions, len, ds_cstr(&ovs),
                     ds_cstr(&tc));
        }
        ds_destroy(&ovs);
        ds_destroy(&tc);
    }

    if (accepted) {
        check_report(&flow, &r, actions);
    }
    test_flow_uninit(&flow);
    return accepted;
}

static void
test_random(void **state OVS_UNUSED)
{
    struct ds actions = DS_EMPTY_INITIALIZER;
    int n_accepted = 0, n_branches = 0;

    random_set_seed(1);
    for (int i = 0; i < 20000; i++) {
        char *match = xasprintf(MATCH, i % 4 ? "" : TUNNEL);

        ds_clear(&actions);
        put_list(&actions, 0, true);
        if (check_list(match, ds_cstr(&actions))) {
            n_accepted++;
            n_branches += strstr(ds_cstr(&actions), "check_pkt_len") != NULL;
        }
        free(match);
    }
    ds_destroy(&actions);
    printf("# %d accepted, %d with branches\n", n_accepted, n_branches);
    assert_true(n_branches > 2000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests_name("branches", tests, NULL, NULL);
}
