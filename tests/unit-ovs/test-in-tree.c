/* SPDX-License-Identifier: Apache-2.0 */

/* Our filters against those of OVS's own tc provider.
 *
 * The same flows go to both.  The request that the other one is about to send
 * to the kernel is caught on its way and taken apart by the parsers for our
 * own, so the two can be compared. */

#include <config.h>

#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "difference.h"
#include "in-tree.h"
#include "netlink.h"
#include "openvswitch/ofpbuf.h"
#include "openvswitch/vlog.h"
#include "random.h"
#include "random-flow.h"
#include "translate.h"

#include <cmocka.h>

static struct ofpbuf request;

/* Has OVS's own provider translate 'flow'.  Returns false if it refuses. */
static bool
translate_in_tree(const struct test_flow *flow)
{
    struct match match;

    test_flow_match(flow, &match);
    return in_tree_translate(&match, flow->actions.data, flow->actions.size,
                             flow->geneve, &request);
}

/* Takes its request apart. */
static void
read_request(struct tcnl_flower *flower, struct tcnl_actions *actions)
{
    size_t header_len = NLMSG_HDRLEN + sizeof(struct tcmsg);
    const struct nlattr *options = nl_attr_find(&request, header_len,
                                                TCA_OPTIONS);

    assert_non_null(options);
    test_read_options(nl_attr_get(options), nl_attr_get_size(options),
                      flower, actions);
}

static void
compare_pedit(const struct tcnl_actions *ours, const struct tcnl_action *a,
              const struct tcnl_actions *theirs, const struct tcnl_action *b)
{
    assert_int_equal(a->pedit.n, b->pedit.n);
    for (size_t i = 0; i < a->pedit.n; i++) {
        const struct tcnl_pedit_key *k = &ours->pedit_keys[a->pedit.first + i];
        const struct tcnl_pedit_key *l
            = &theirs->pedit_keys[b->pedit.first + i];

        assert_int_equal(k->htype, l->htype);
        assert_int_equal(k->cmd, l->cmd);
        assert_int_equal(k->off, l->off);
        assert_int_equal(k->mask, l->mask);
        assert_int_equal(k->val, l->val);
    }
}

static void
compare_mpls(const struct tcnl_action *a, const struct tcnl_action *b)
{
    assert_int_equal(a->mpls.op, b->mpls.op);
    assert_int_equal(a->mpls.proto, b->mpls.proto);
    assert_int_equal(a->mpls.label, b->mpls.label);
    assert_int_equal(a->mpls.tc, b->mpls.tc);
    assert_int_equal(a->mpls.ttl, b->mpls.ttl);
    assert_int_equal(a->mpls.bos, b->mpls.bos);
}

static void
compare_ct(const struct tcnl_actions *ours, const struct tcnl_action *a,
           const struct tcnl_actions *theirs, const struct tcnl_action *b)
{
    assert_int_equal(a->ct.flags, b->ct.flags);
    if (!(a->ct.flags & 4 /* TCA_CT_ACT_CLEAR */)) {
        assert_memory_equal(&ours->cts[a->ct.params],
                            &theirs->cts[b->ct.params],
                            sizeof ours->cts[0]);
    }
}

static void
compare_tunnel(const struct tcnl_actions *ours, const struct tcnl_action *a,
               const struct tcnl_actions *theirs, const struct tcnl_action *b)
{
    assert_int_equal(a->tunnel.set, b->tunnel.set);
    if (a->tunnel.set) {
        const struct tcnl_tunnel *t = &ours->tunnels[a->tunnel.params];

        assert_memory_equal(t, &theirs->tunnels[b->tunnel.params], sizeof *t);
        assert_memory_equal(ours->geneve + a->tunnel.geneve_ofs,
                            theirs->geneve + b->tunnel.geneve_ofs,
                            t->geneve_len);
    }
}

static void
compare_action(const struct tcnl_actions *ours, const struct tcnl_action *a,
               const struct tcnl_actions *theirs, const struct tcnl_action *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->verdict, b->verdict);
    assert_int_equal(a->no_percpu, b->no_percpu);
    switch (a->kind) {
    case TCNL_ACT_MIRRED:
        assert_int_equal(a->mirred.ifindex, b->mirred.ifindex);
        assert_int_equal(a->mirred.eaction, b->mirred.eaction);
        break;
    case TCNL_ACT_VLAN:
        assert_int_equal(a->vlan.op, b->vlan.op);
        if (a->vlan.op == 2 /* TCA_VLAN_ACT_PUSH */) {
            assert_int_equal(a->vlan.tpid, b->vlan.tpid);
            assert_int_equal(a->vlan.vid, b->vlan.vid);
            assert_int_equal(a->vlan.prio, b->vlan.prio);
        }
        break;
    case TCNL_ACT_PEDIT:
        compare_pedit(ours, a, theirs, b);
        break;
    case TCNL_ACT_CSUM:
        assert_int_equal(a->csum.update_flags, b->csum.update_flags);
        break;
    case TCNL_ACT_SKBEDIT:
        assert_int_equal(a->skbedit.ptype, b->skbedit.ptype);
        break;
    case TCNL_ACT_POLICE_MTU:
        assert_int_equal(a->police_mtu.mtu, b->police_mtu.mtu);
        assert_int_equal(a->police_mtu.conform, b->police_mtu.conform);
        break;
    case TCNL_ACT_MPLS:
        compare_mpls(a, b);
        break;
    case TCNL_ACT_CT:
        compare_ct(ours, a, theirs, b);
        break;
    case TCNL_ACT_TUNNEL_KEY:
        compare_tunnel(ours, a, theirs, b);
        break;
    case TCNL_ACT_GACT:
    case TCNL_ACT_POLICE:
    case TCNL_N_ACTION_KINDS:
    default:
        break;
    }
}

/* Cookies are where the others have them; but every list has one. */
static void
compare_cookies(const struct tcnl_actions *ours,
                const struct tcnl_actions *theirs)
{
    bool any = false;

    for (size_t i = 0; i < theirs->n; i++) {
        any |= theirs->a[i].cookie;
    }
    for (size_t i = 0; any && i < ours->n; i++) {
        assert_int_equal(ours->a[i].cookie, theirs->a[i].cookie);
    }
}

enum verdict { REFUSED, ACCEPTED, DIFFERENT, WRONG, N_VERDICTS };

static bool
has(enum difference_effect effect, const char *detail,
    const struct test_flow *flow, const struct test_text *text)
{
    return difference_find(effect, detail, flow, text) != NULL;
}

static void
compare_filters(const struct test_flow *flow, const struct test_text *text,
                struct test_result *r)
{
    struct tcnl_flower flower;
    struct tcnl_actions theirs;

    read_request(&flower, &theirs);
    test_through_netlink(r);
    if (!has(DIFFERENCE_KEYS, NULL, flow, text)
        && !tcnl_flower_equal(&r->flower, &flower)) {
        fail_msg("%s, actions:%s: keys %#"PRIx64" by us, %#"PRIx64,
                 text->match, text->actions, r->flower.present,
                 flower.present);
    }
    if (has(DIFFERENCE_ACTIONS, NULL, flow, text)) {
        return;
    }
    if (r->actions.n != theirs.n) {
        fail_msg("%s, actions:%s: actions %d by us, %d", text->match,
                 text->actions, r->actions.n, theirs.n);
    }
    for (size_t i = 0; i < theirs.n; i++) {
        compare_action(&r->actions, &r->actions.a[i], &theirs, &theirs.a[i]);
    }
    compare_cookies(&r->actions, &theirs);
}

static enum verdict
compare(const struct test_text *text)
{
    struct test_result r;
    struct test_flow flow;
    enum verdict verdict;
    bool accepted;

    test_flow_parse(&flow, text->match, text->actions);
    test_translate(&flow, &r);
    accepted = translate_in_tree(&flow);
    if (accepted == !!r.error) {
        verdict = DIFFERENT;
        if (!has(accepted ? DIFFERENCE_REFUSED : DIFFERENCE_ACCEPTED,
                 r.why.detail, &flow, text)) {
            printf("# %s, actions:%s is %s by us (%s)\n", text->match,
                   text->actions, r.error ? "refused" : "accepted",
                   r.why.detail);
            verdict = WRONG;
        }
    } else if (accepted) {
        verdict = ACCEPTED;
        compare_filters(&flow, text, &r);
    } else {
        verdict = REFUSED;
    }
    test_flow_uninit(&flow);
    return verdict;
}

/* Meters are left out because the others' are not ours, and so are chains that
 * do not exist, which the others are not told of. */
static bool
is_comparable(const struct test_text *text)
{
    return (!strstr(text->actions, "meter")
            && !strstr(text->match, "recirc_id(0x10000000)"));
}

static void
test_table(void **state OVS_UNUSED)
{
    for (size_t i = 0; i < test_n_accepted; i++) {
        if (is_comparable(&test_accepted[i])) {
            assert_int_equal(compare(&test_accepted[i]), ACCEPTED);
        }
    }
}

/* Each difference is there: whoever removes one removes it from the list. */
static void
check_difference(const struct difference *d)
{
    struct tcnl_flower flower;
    struct tcnl_actions theirs;
    struct test_result r;
    struct test_flow flow;
    bool ours, accepted;

    test_flow_parse(&flow, d->example.match, d->example.actions);
    test_translate(&flow, &r);
    accepted = translate_in_tree(&flow);
    ours = d->effect != DIFFERENCE_REFUSED;
    if (accepted != (d->effect != DIFFERENCE_ACCEPTED) || ours == !!r.error
        || difference_find(d->effect, r.why.detail, &flow, &d->example) != d) {
        fail_msg("%s: %s by us (%s), %s", d->name,
                 r.error ? "refused" : "accepted", r.why.detail,
                 accepted ? "accepted" : "refused");
    }
    if (ours && accepted) {
        read_request(&flower, &theirs);
        test_through_netlink(&r);
        theirs.has_cookie = r.actions.has_cookie;
        memcpy(theirs.cookie, r.actions.cookie, sizeof theirs.cookie);
        if (tcnl_flower_equal(&r.flower, &flower)
            == (d->effect == DIFFERENCE_KEYS)
            || tcnl_actions_equal(&r.actions, &theirs)
               == (d->effect != DIFFERENCE_KEYS)) {
            fail_msg("%s: no difference, or another one: keys %#"PRIx64
                     " by us, %#"PRIx64", actions %d, %d", d->name,
                     r.flower.present, flower.present, r.actions.n, theirs.n);
        }
    }
    test_flow_uninit(&flow);
}

static void
test_differences(void **state OVS_UNUSED)
{
    for (size_t i = 0; i < n_differences; i++) {
        if (is_comparable(&differences[i].example)) {
            check_difference(&differences[i]);
        }
    }
}

static void
test_random(void **state OVS_UNUSED)
{
    struct ds match = DS_EMPTY_INITIALIZER;
    struct ds actions = DS_EMPTY_INITIALIZER;
    int counts[N_VERDICTS] = { 0 }, n = 20000;

    random_set_seed(1);
    for (int i = 0; i < n; i++) {
        struct test_text text;

        ds_clear(&match);
        ds_clear(&actions);
        random_flow(&match, &actions, 0);
        text.match = ds_cstr(&match);
        text.actions = ds_cstr(&actions);
        if (is_comparable(&text)) {
            counts[compare(&text)]++;
        }
    }
    ds_destroy(&match);
    ds_destroy(&actions);
    printf("# of %d flows %d accepted by both, %d by one\n", n,
           counts[ACCEPTED], counts[DIFFERENT]);
    assert_int_equal(counts[WRONG], 0);
    assert_true(counts[ACCEPTED] > n / 20);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_differences),
        cmocka_unit_test(test_random),
    };

    /* The others warn of what they refuse. */
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_EMER);
    ofpbuf_init(&request, 0);
    in_tree_set_abilities();
    return cmocka_run_group_tests_name("in-tree", tests, NULL, NULL);
}
