/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FILTER_TEXT_H
#define FILTER_TEXT_H 1

/* A filter as the kernel reports it, attribute by attribute, as text that is
 * the same for equal filters of the two providers.  Left out is what differs
 * in any case: handles, indexes of actions, times and counters.  Devices are
 * written as the ports that they are, shared police actions as their rates,
 * and cookies as whose they are. */

#include <linux/netlink.h>
#include "openvswitch/dynamic-string.h"
#include "openvswitch/types.h"

struct filter_text {
    struct ds keys;             /* And whatever is not the others. */
    struct ds actions;
    struct ds cookies;
    bool has_cookie;
    ovs_u128 cookie;            /* The first one. */
    bool two_cookies;           /* There are different ones. */
};

void filter_text_init(struct filter_text *);
void filter_text_uninit(struct filter_text *);

/* Reads 'nlh', an RTM_NEWTFILTER.  'port' says which port a device is.
 * Returns false if it is no flower filter. */
bool filter_text_read(struct filter_text *, const struct nlmsghdr *nlh,
                      int (*port)(const void *aux, int ifindex),
                      const void *aux);

#endif /* filter-text.h */
