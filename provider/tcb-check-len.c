/* SPDX-License-Identifier: Apache-2.0 */

/* check_pkt_len: branches by the packet's length.
 *
 * In TC it is a police with nothing but an mtu.  Its verdict for long packets
 * is to go on, with the first branch; that for the others is a jump to the
 * second one:
 *
 *     m      police mtu, conforming: jump g
 *     m + 1  first branch (greater); its last action jumps to e
 *     g      second branch (less or equal)
 *     e      what follows
 *
 * At the end of the list nothing follows, and instead of jumping to 'e' the
 * packet is done with (TC_ACT_STOLEN).  Where a branch ends in a branch, the
 * ends of both go to the same place: they are noted until it is known.
 *
 * In OVS branches that more follows work on copies.  TC has no copies, so such
 * a branch may only output and set header fields, and the latter are set back
 * at its end, to the values that they were set to before or that the flow
 * matches. */

#include <config.h>

#include "tcb-translation.h"

#include <errno.h>
#include <linux/pkt_cls.h>

#include "netlink.h"
#include "odp-netlink.h"
#include "tcb-rewrite.h"
#include "util.h"

static bool
is_exit(uint32_t exits, size_t i)
{
    return exits >> i & 1;
}

static void
set_exits(struct tcb_translation *t, uint32_t verdict)
{
    for (size_t i = 0; i < t->tc->n; i++) {
        if (is_exit(t->exits, i)) {
            /* To the next action there is no need to jump. */
            t->tc->a[i].verdict = (verdict == (TC_ACT_JUMP | (i + 1))
                                   ? TC_ACT_PIPE : verdict);
        }
        if (is_exit(t->conform_exits, i)) {
            t->tc->a[i].police_mtu.conform = verdict;
        }
    }
    t->exits = t->conform_exits = 0;
}

void
tcb_join_branches(struct tcb_translation *t)
{
    set_exits(t, TC_ACT_JUMP | t->tc->n);
}

void
tcb_end_branches(struct tcb_translation *t)
{
    set_exits(t, TC_ACT_STOLEN);
}

/* Sets back what a copy has changed. */
static int
put_undo(struct tcb_translation *t)
{
    struct tcnl_rewrites undo = t->undo;
    int error = 0;

    if (!undo.present) {
        return 0;
    }
    if (!tcb_rewrite_undo(t->flow, t->masks, &t->done, &undo)) {
        return tcb_refuse_action(t, "set in a branch of check_pkt_len");
    }
    t->uses->of_key = true;
    t->csum |= t->undo_csum;
    error = tcb_put_rewrites(t, &undo, TC_ACT_PIPE);
    t->undo.present = 0;
    t->undo_csum = 0;
    return error;
}

/* Does the packet never go on to another action? */
static bool
is_final(const struct tcnl_action *a)
{
    return (a->kind == TCNL_ACT_GACT
            && (a->verdict == TC_ACT_SHOT
                || TC_ACT_EXT_CMP(a->verdict, TC_ACT_GOTO_CHAIN)));
}

/* Ends the first branch of the police at 'm'.  A police that is named by its
 * index has a verdict of its own, so it cannot jump. */
static int
end_first_branch(struct tcb_translation *t, size_t m)
{
    struct tcnl_actions *tc = t->tc;
    int error;

    error = put_undo(t);
    if (!error) {
        error = tcb_put_csum(t, TC_ACT_PIPE);
    }
    if (error) {
        return error;
    }
    if (tc->a[tc->n - 1].kind == TCNL_ACT_POLICE
        && !tcb_add_action(t, TCNL_ACT_GACT, TC_ACT_PIPE, false)) {
        return EOPNOTSUPP;
    }
    if (tc->n - 1 == m || !is_final(&tc->a[tc->n - 1])) {
        t->exits |= 1u << (tc->n - 1);
    }
    return 0;
}

struct branches {
    const struct nlattr *greater, *less_equal;
    uint16_t len;
};

static bool
read_branches(const struct nlattr *nest, struct branches *b)
{
    const struct nlattr *len
        = nl_attr_find_nested(nest, OVS_CHECK_PKT_LEN_ATTR_PKT_LEN);

    b->greater = nl_attr_find_nested(
        nest, OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_GREATER);
    b->less_equal = nl_attr_find_nested(
        nest, OVS_CHECK_PKT_LEN_ATTR_ACTIONS_IF_LESS_EQUAL);
    if (!len || nl_attr_get_size(len) != sizeof b->len || !b->greater
        || !b->less_equal) {
        return false;
    }
    b->len = nl_attr_get_u16(len);
    return b->len > 0;
}

static int
translate_branch(struct tcb_translation *t, const struct nlattr *nest,
                 bool last, bool tail)
{
    return tcb_translate_list(t, nl_attr_get(nest), nl_attr_get_size(nest),
                              last, tail);
}

/* Both branches, the police being at 'm'. */
static int
translate_branches(struct tcb_translation *t, const struct branches *b,
                   size_t m, bool last, bool tail)
{
    bool released = t->released, released_first;
    bool maybe_released = t->maybe_released, maybe_released_first;
    struct tcnl_rewrites done = t->done;
    bool one = !nl_attr_get_size(b->less_equal);
    uint32_t exits, conform_exits;
    size_t g;
    int error;

    error = translate_branch(t, b->greater, last && one, tail);
    if (!error) {
        error = end_first_branch(t, m);
    }
    if (error) {
        return error;
    }
    exits = t->exits;
    conform_exits = t->conform_exits;
    t->exits = t->conform_exits = 0;
    released_first = t->released;
    maybe_released_first = t->maybe_released;
    t->released = released;
    t->maybe_released = maybe_released;
    t->done = done;

    g = t->tc->n;
    if (one) {
        conform_exits |= 1u << m;
    } else {
        t->tc->a[m].police_mtu.conform = TC_ACT_JUMP | g;
        error = translate_branch(t, b->less_equal, last, tail);
        if (!error) {
            error = put_undo(t);
        }
        if (!error) {
            error = tcb_put_csum(t, tcb_verdict(t));
        }
    }
    t->released = t->released && released_first;
    t->maybe_released = t->maybe_released || maybe_released_first;
    t->exits |= exits;
    t->conform_exits |= conform_exits;
    return error;
}

int
tcb_translate_check_len(struct tcb_translation *t, const struct nlattr *nla)
{
    bool last = t->last, tail = t->tail, copy = t->copy;
    struct tcnl_action *a;
    struct branches b;
    int error;

    if (!read_branches(nla, &b)) {
        return tcb_refuse_action(t, "check_pkt_len without branches");
    }
    if (t->undo.present) {
        return tcb_refuse_action(t, "check_pkt_len behind a set in a branch");
    }
    a = tcb_add_action(t, TCNL_ACT_POLICE_MTU, TC_ACT_PIPE, true);
    if (!a) {
        return EOPNOTSUPP;
    }
    a->cookie = true;
    a->police_mtu.mtu = b.len;
    t->copy = copy || !tail;
    error = translate_branches(t, &b, t->tc->n - 1, last, tail);
    t->copy = copy;
    t->last = last;
    t->tail = tail;
    return error;
}
