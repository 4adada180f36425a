/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_TRANSLATE_H
#define TEST_TRANSLATE_H 1

/* What the tests of the translation share: flows as text, and their
 * translation with made-up ports and meters.
 *
 *    port 1, 2    ready
 *    port 3       ready, internal
 *    port 4       known, but not ready
 *    port 5, 6    ready, tunnels
 *    meter 1..15  police index TCB_POLICE_BASE + meter */

#include "flow-text.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/match.h"
#include "openvswitch/ofpbuf.h"
#include "tcb-action.h"
#include "tcb-match.h"

#define TEST_N_PORTS 7
#define TEST_INTERNAL_PORT 3
#define TEST_UNREADY_PORT 4

static inline int
test_ifindex(int port_no)
{
    return 100 + port_no;
}

/* Beginnings of textual matches. */
#define ETH "recirc_id(0),in_port(1),eth(src=00:00:00:00:00:01," \
            "dst=00:00:00:00:00:02),"
#define IN "recirc_id(0),in_port(1),eth(),"
#define IP4 IN "eth_type(0x0800),ipv4(frag=no)"
#define TCP4 IN "eth_type(0x0800),ipv4(proto=6,frag=no),tcp()"
#define UDP4 IN "eth_type(0x0800),ipv4(proto=17,frag=no),udp()"
#define TCP6 IN "eth_type(0x86dd),ipv6(proto=6,frag=no),tcp()"
#define ICMP4 IN "eth_type(0x0800),ipv4(proto=1,frag=no),icmp()"
#define MPLS IN "eth_type(0x8847),mpls(label=1/0x0,tc=0/0,ttl=64/0x0,bos=1/0)"

/* Flows that are translated, and come back as they were. */
extern const struct test_text test_accepted[];
extern const size_t test_n_accepted;

/* A kernel that can do everything. */
extern const struct tcnl_abilities test_able;

void test_flow_parse(struct test_flow *, const char *match,
                     const char *actions);
void test_flow_match(const struct test_flow *, struct match *);

/* What became of it. */
struct test_result {
    int error;
    struct tcb_refusal why;
    uint32_t chain;
    struct tcnl_flower flower;
    struct tcnl_actions actions;
    struct tcb_action_uses uses;
};

void test_translate(const struct test_flow *, struct test_result *);

/* Writes the attributes of TCA_OPTIONS to a message in 'mem' and reads them
 * back into 'result'. */
void test_through_netlink(struct test_result *);

/* Reads the attributes inside TCA_OPTIONS.  Fails the test on errors. */
void test_read_options(const void *options, size_t len, struct tcnl_flower *,
                       struct tcnl_actions *);

#endif /* translate.h */
