/* SPDX-License-Identifier: Apache-2.0 */

/* The cost of translating flows, for ours and for OVS's own tc provider.
 *
 * usage: translate CASE VARIANT [COUNT]
 *
 * Prepares COUNT (1000) flows of CASE that both providers take and translates
 * each of them once, in translate_flows() and nowhere else: have callgrind
 * count the instructions of that.  What the variants do with a match that is
 * parsed already:
 *
 *     none    copies the match; both others do it first, too
 *     intree  tc_netdev_flow_put() up to where the request goes to the kernel
 *     ours    match and actions to their compact form, prio, hash of the key,
 *             and from there to the message in the batch's buffer
 *
 * Ports are looked up in a made-up table on both sides; nothing is sent.
 *
 * CASE is "random", flows of random-flow.h, or one of the profiles "5tuple"
 * and "l2drop". */

#include <config.h>

#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>

#include "flow-text.h"
#include "in-tree.h"
#include "netlink.h"
#include "odp-util.h"
#include "openvswitch/match.h"
#include "openvswitch/vlog.h"
#include "random-flow.h"
#include "random.h"
#include "tcb-action.h"
#include "tcb-match.h"
#include "tcb-prio.h"
#include "tcnl/filter.h"
#include "tcnl/probe.h"
#include "util.h"

struct parsed {
    struct match match;
    struct test_flow flow;
};

enum variant { NONE, INTREE, OURS };

static const char *const variants[] = { "none", "intree", "ours" };

static const struct tcnl_abilities able = {
    .ct_states = 0x3f, .enc_flags = true, .vxlan_gbp = true
};

static uint32_t mem[65536 / 4];

/* What tcb-plan.c and tcb-run.c do for a new flow. */
static bool
translate(const struct parsed *p, const struct match *match)
{
    static struct tcnl_actions actions;
    static struct tcnl_flower flower;
    static struct tcb_action_uses uses;
    static struct tcb_refusal why;
    static struct tcnl_buffer buffer;
    struct tcnl_filter_id id = {
        .ifindex = 1, .parent = TCNL_PARENT_INGRESS, .handle = 1,
    };
    struct match consumed = *match;

    if (tcb_match_to_flower(&consumed, &able, p->flow.geneve, &flower,
                            &id.chain, &why)) {
        return false;
    }
    flower.cls_flags = 0;
    id.proto = flower.key.eth_type;
    id.prio = tcb_prio_for((OVS_FORCE ovs_be16) id.proto);
    if (tcb_actions_to_tc(NULL, &able, p->flow.actions.data,
                          p->flow.actions.size, &match->flow,
                          &match->wc.masks, &flower, &actions, &uses,
                          &why)) {
        return false;
    }
    memset(actions.cookie, 1, sizeof actions.cookie);
    actions.has_cookie = true;
    if (!tcnl_flower_hash(&flower)) {
        return false;
    }
    tcnl_buffer_init(&buffer, mem, sizeof mem);
    return !tcnl_filter_put_new(&buffer, &id, &flower, &actions,
                                NLM_F_CREATE | NLM_F_EXCL);
}

static bool
translate_one(const struct parsed *p, enum variant variant)
{
    struct match match = p->match;

    switch (variant) {
    case INTREE:
        return in_tree_translate(&match, p->flow.actions.data,
                                 p->flow.actions.size, p->flow.geneve, NULL);
    case OURS:
        return translate(p, &match);
    case NONE:
    default:
        /* So that the copy is made. */
        __asm__ volatile("" : : "r" (&match) : "memory");
        return true;
    }
}

/* Callgrind knows it by its name. */
size_t translate_flows(const struct parsed *, size_t n, enum variant);

__attribute__((noinline)) size_t
translate_flows(const struct parsed *flows, size_t n, enum variant variant)
{
    size_t n_ok = 0;

    for (size_t i = 0; i < n; i++) {
        n_ok += translate_one(&flows[i], variant);
    }
    return n_ok;
}

/* Flows. */

static void
make_text(const char *name, size_t i, struct ds *match, struct ds *actions)
{
    if (!strcmp(name, "random")) {
        random_flow(match, actions, 0);
        return;
    }
    ds_put_format(match, "recirc_id(0),in_port(1),"
                  "eth(src=02:00:00:00:00:01,dst=02:00:00:%02"PRIxSIZE":%02"
                  PRIxSIZE":02),", i >> 8 & 255, i & 255);
    if (!strcmp(name, "5tuple")) {
        ds_put_format(match, "eth_type(0x0800),ipv4(src=10.0.0.1,"
                      "dst=10.0.%"PRIuSIZE".%"PRIuSIZE",proto=17,frag=no),"
                      "udp(src=1000,dst=2000)", i >> 8 & 255, i & 255);
        ds_put_cstr(actions, "2");
    } else if (!strcmp(name, "l2drop")) {
        ds_put_cstr(match, "eth_type(0x88b5)");
        ds_put_cstr(actions, "drop");
    } else {
        ovs_fatal(0, "no case %s", name);
    }
}

static bool
make_flow(const char *name, size_t i, struct parsed *p)
{
    struct ds match = DS_EMPTY_INITIALIZER;
    struct ds actions = DS_EMPTY_INITIALIZER;
    char *error;
    bool ok;

    make_text(name, i, &match, &actions);
    error = flow_text_parse(&p->flow, ds_cstr(&match), ds_cstr(&actions));
    ok = (!error
          && !parse_key_and_mask_to_match(p->flow.key.data, p->flow.key.size,
                                          p->flow.mask.data,
                                          p->flow.mask.size, &p->match)
          && translate_one(p, INTREE) && translate_one(p, OURS));
    if (!ok) {
        test_flow_uninit(&p->flow);
    }
    free(error);
    ds_destroy(&match);
    ds_destroy(&actions);
    return ok;
}

static enum variant
find_variant(const char *name)
{
    for (enum variant v = 0; v < ARRAY_SIZE(variants); v++) {
        if (!strcmp(name, variants[v])) {
            return v;
        }
    }
    ovs_fatal(0, "no variant %s", name);
}

int
main(int argc, char *argv[])
{
    size_t n_ok, n = argc > 3 ? atoi(argv[3]) : 1000;
    struct parsed *flows;
    enum variant variant;

    set_program_name(argv[0]);
    if (argc < 3 || !n) {
        ovs_fatal(0, "usage: %s CASE VARIANT [COUNT]", argv[0]);
    }
    variant = find_variant(argv[2]);
    vlog_set_levels(NULL, VLF_ANY_DESTINATION, VLL_OFF);
    in_tree_set_abilities();
    random_set_seed(1);
    flows = xmalloc(n * sizeof *flows);
    for (size_t i = 0, made = 0; made < n; i++) {
        if (i > 1000 * n) {
            ovs_fatal(0, "the flows of %s are not taken by both", argv[1]);
        }
        made += make_flow(argv[1], i, &flows[made]);
    }
    n_ok = translate_flows(flows, n, variant);
    if (n_ok != n) {
        ovs_fatal(0, "%"PRIuSIZE" of %"PRIuSIZE" were translated", n_ok, n);
    }
    printf("%"PRIuSIZE" flows\n", n);
    return 0;
}
