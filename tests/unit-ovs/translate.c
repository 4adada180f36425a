/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "translate.h"

#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "dpif-offload-provider.h"
#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "simap.h"
#include "tcnl/ack.h"
#include "tcb-meter.h"
#include "tcb-port.h"
#include "tcnl/probe.h"

#include <cmocka.h>

/* Ports and meters. */

static struct tcb_port ports[TEST_N_PORTS];

static struct tcb_port *
get_port(uint32_t port_no)
{
    struct tcb_port *port;

    if (port_no < 1 || port_no >= TEST_N_PORTS) {
        return NULL;
    }
    port = &ports[port_no];
    port->up.port_no = u32_to_odp(port_no);
    port->up.ifindex = test_ifindex(port_no);
    port->internal = port_no == TEST_INTERNAL_PORT;
    return port;
}

struct tcb_port *
tcb_port_find(const struct tcb_offload *offload OVS_UNUSED,
              odp_port_t port_no)
{
    return get_port(odp_to_u32(port_no));
}

struct tcb_port *
tcb_port_find_by_ifindex(const struct tcb_offload *offload OVS_UNUSED,
                         int ifindex)
{
    return get_port(ifindex - test_ifindex(0));
}

enum tcb_port_state
tcb_port_wait(const struct tcb_port *port)
{
    return (port == &ports[TEST_UNREADY_PORT]
            ? TCB_PORT_OFF : TCB_PORT_READY);
}

bool
tcb_meter_to_police(const struct tcb_offload *offload OVS_UNUSED,
                    uint32_t meter_id, uint32_t *police_index)
{
    *police_index = TCB_POLICE_BASE + meter_id;
    return meter_id >= 1 && meter_id <= 15;
}

bool
tcb_meter_from_police(const struct tcb_offload *offload OVS_UNUSED,
                      uint32_t police_index, uint32_t *meter_id)
{
    *meter_id = police_index - TCB_POLICE_BASE;
    return *meter_id >= 1 && *meter_id <= 15;
}

/* Flows. */

static void
parse_actions(const char *text, struct ofpbuf *actions)
{
    struct simap no_names = SIMAP_INITIALIZER(&no_names);

    if (odp_actions_from_string(text, &no_names, actions)) {
        fail_msg("%s", text);
    }
}

/* OVS has no parser for the actions of MPLS that it writes.  Reads one at
 * 'text' and returns what is behind it, or NULL if it is another action. */
static const char *
parse_mpls_action(const char *text, struct ofpbuf *actions)
{
    struct ovs_action_push_mpls push;
    uint32_t label, tc, ttl, bos, type;
    int n = 0;

    if (ovs_scan(text, "push_mpls(label=%"SCNi32",tc=%"SCNi32",ttl=%"SCNi32
                 ",bos=%"SCNi32",eth_type=%"SCNi32")%n", &label, &tc, &ttl,
                 &bos, &type, &n) && n) {
        push.mpls_lse = htonl(label << 12 | tc << 9 | bos << 8 | ttl);
        push.mpls_ethertype = htons(type);
        nl_msg_put_unspec(actions, OVS_ACTION_ATTR_PUSH_MPLS, &push,
                          sizeof push);
    } else if (ovs_scan(text, "pop_mpls(eth_type=%"SCNi32")%n", &type, &n)
               && n) {
        nl_msg_put_be16(actions, OVS_ACTION_ATTR_POP_MPLS, htons(type));
    } else {
        return NULL;
    }
    return text + n + (text[n] == ',');
}

/* Gives what is between the actions of MPLS to the parser of OVS. */
static void
parse_all_actions(const char *text, struct ofpbuf *actions)
{
    while (*text) {
        const char *next = parse_mpls_action(text, actions);
        size_t len;
        char *part;

        if (next) {
            text = next;
            continue;
        }
        next = strstr(text, ",p");
        while (next && strncmp(next, ",push_mpls", 10)
               && strncmp(next, ",pop_mpls", 9)) {
            next = strstr(next + 1, ",p");
        }
        len = next ? (size_t) (next - text) : strlen(text);
        part = xmemdup0(text, len);
        parse_actions(part, actions);
        free(part);
        text += len + (next != NULL);
    }
}

void
test_flow_parse(struct test_flow *flow, const char *match,
                const char *actions)
{
    struct simap no_names = SIMAP_INITIALIZER(&no_names);
    char *error = NULL;

    flow->geneve = strstr(match, "geneve(") != NULL;
    ofpbuf_init(&flow->key, 0);
    ofpbuf_init(&flow->mask, 0);
    ofpbuf_init(&flow->actions, 0);
    if (odp_flow_from_string(match, &no_names, &flow->key, &flow->mask,
                             &error)) {
        fail_msg("%s: %s", match, error);
    }
    free(error);
    parse_all_actions(actions, &flow->actions);
}

void
test_flow_uninit(struct test_flow *flow)
{
    ofpbuf_uninit(&flow->key);
    ofpbuf_uninit(&flow->mask);
    ofpbuf_uninit(&flow->actions);
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
    struct match match, copy;

    memset(result, 0, sizeof *result);
    test_flow_match(flow, &match);
    copy = match;
    result->error = tcb_match_to_flower(&copy, &test_able,
                                        flow->geneve, &result->flower,
                                        &result->chain, &result->why);
    if (!result->error) {
        result->error = tcb_actions_to_tc(NULL, &test_able, flow->actions.data,
                                          flow->actions.size, &match,
                                          &result->flower, &result->actions,
                                          &result->uses, &result->why);
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

char *
test_format_match(const struct test_flow *flow)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    odp_flow_format(flow->key.data, flow->key.size, flow->mask.data,
                    flow->mask.size, NULL, &ds, false, false);
    return ds_steal_cstr(&ds);
}

char *
test_format_actions(const struct ofpbuf *actions)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    format_odp_actions(&ds, actions->data, actions->size, NULL);
    return ds_steal_cstr(&ds);
}
