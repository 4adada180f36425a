/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IN_TREE_H
#define IN_TREE_H 1

/* The translation of OVS's own tc provider, without a kernel: its request is
 * caught on the way.  Ports are those of translate.h, no meter exists. */

#include <stdbool.h>
#include <stddef.h>

struct match;
struct nlattr;
struct ofpbuf;

/* Has it take the kernel for one that can do everything. */
void in_tree_set_abilities(void);

/* Has it translate 'match', which is consumed, and the actions.  'geneve' says
 * that port 1 is a Geneve tunnel's.  Returns false if it refuses, otherwise
 * true, with its request for the kernel in 'request' unless that is NULL. */
bool in_tree_translate(struct match *match, const struct nlattr *actions,
                       size_t actions_len, bool geneve,
                       struct ofpbuf *request);

#endif /* in-tree.h */
