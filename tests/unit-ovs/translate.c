/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "translate.h"

#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "tcnl/ack.h"
#include "tcnl/probe.h"

#include <cmocka.h>

/* Flows. */

void
test_flow_parse(struct test_flow *flow, const char *match,
                const char *actions)
{
    char *error = flow_text_parse(flow, match, actions);

    if (error) {
        fail_msg("%s, actions:%s: %s", match, actions, error);
    }
}

void
test_flow_match(const struct test_flow *flow, struct match *match)
{
    if (parse_key_and_mask_to_match(flow->key.data, flow->key.size,
                                    flow->mask.data, flow->mask.size,
                                    match)) {
        fail_msg("%s", test_format_match(flow));
    }
}

const struct tcnl_abilities test_able = {
    .ct_states = 0x3f, .enc_flags = true, .vxlan_gbp = true
};

void
test_translate(const struct test_flow *flow, struct test_result *result)
{
    struct match match;
    struct flow masks;

    memset(result, 0, sizeof *result);
    test_flow_match(flow, &match);
    masks = match.wc.masks;
    result->error = tcb_match_to_flower(&match, &test_able,
                                        flow->geneve, &result->flower,
                                        &result->chain, &result->why);
    if (!result->error) {
        result->error = tcb_actions_to_tc(NULL, &test_able, flow->actions.data,
                                          flow->actions.size, &match.flow,
                                          &masks, &result->flower,
                                          &result->actions, &result->uses,
                                          &result->why);
    }
}

void
test_read_options(const void *options, size_t len, struct tcnl_flower *flower,
                  struct tcnl_actions *actions)
{
    const struct nlattr *acts = nl_attr_find__(options, len, TCA_FLOWER_ACT);
    struct ofpbuf buf;
    int error;

    ofpbuf_init(&buf, 0);
    nl_msg_put_unspec(&buf, TCA_OPTIONS, options, len);
    error = tcnl_flower_parse(buf.data, flower);
    if (error) {
        fail_msg("tcnl_flower_parse: %s", ovs_strerror(error));
    }
    assert_non_null(acts);
    error = tcnl_actions_parse(acts, actions);
    if (error) {
        fail_msg("tcnl_actions_parse: %s", ovs_strerror(error));
    }
    ofpbuf_uninit(&buf);
}

void
test_through_netlink(struct test_result *result)
{
    uint32_t mem[8192 / 4];
    struct tcnl_buffer buffer;
    struct tcmsg tcm = { .tcm_family = AF_UNSPEC };
    struct nlmsghdr *msg;
    size_t ofs = NLMSG_HDRLEN + sizeof tcm;

    /* The caller's part, without which no cookie is put. */
    result->actions.has_cookie = true;
    memset(result->actions.cookie, 1, sizeof result->actions.cookie);

    tcnl_buffer_init(&buffer, mem, sizeof mem);
    tcnl_msg_begin(&buffer, RTM_NEWTFILTER, 0, &tcm, sizeof tcm);
    tcnl_flower_put(&buffer, &result->flower);
    tcnl_actions_put(&buffer, TCA_FLOWER_ACT, &result->actions);
    assert_int_equal(tcnl_msg_end(&buffer, &msg), 0);

    /* No stale byte shall help. */
    memset(&result->flower, 0x55, sizeof result->flower);
    memset(&result->actions, 0x55, sizeof result->actions);
    test_read_options((uint8_t *) msg + ofs, msg->nlmsg_len - ofs,
                      &result->flower, &result->actions);
}
