/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IN_TREE_H
#define IN_TREE_H 1

/* Has OVS's own tc provider take the kernel for one that can do everything. */
void in_tree_set_abilities(void);

#endif /* in-tree.h */
