/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLOW_TEXT_H
#define FLOW_TEXT_H 1

/* Datapath flows as text, which tests are written in and which they report.
 *
 * The text is that of OVS, and besides it the actions that OVS writes but does
 * not read: push_mpls, pop_mpls, and "drop" behind other actions; and those
 * that it does not write: "set_ipv6" for a set without a mask.  With "-key"
 * among its flags a tunnel's header has no key, of which the mask asks. */

#include "openvswitch/match.h"
#include "openvswitch/ofpbuf.h"

struct test_text {
    const char *match, *actions;
};

/* The same, parsed. */
struct test_flow {
    struct ofpbuf key, mask, actions;
    bool geneve;                /* Comes from a Geneve tunnel. */
};

/* Returns NULL, or what is wrong with the text, to be freed by the caller;
 * 'flow' is to be freed in both cases. */
char *flow_text_parse(struct test_flow *, const char *match,
                      const char *actions);
void test_flow_uninit(struct test_flow *);

char *test_format_match(const struct test_flow *);
char *test_format_actions(const struct ofpbuf *);

#endif /* flow-text.h */
