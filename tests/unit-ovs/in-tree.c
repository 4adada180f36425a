/* SPDX-License-Identifier: Apache-2.0 */

/* OVS's own tc provider, with a way to tell it what the kernel can do instead
 * of having it ask: that is in static variables of its source. */

#include "dpif-offload-tc-netdev.c"

#include "in-tree.h"

void
in_tree_set_abilities(void)
{
    ct_state_support = (OVS_CS_F_NEW | OVS_CS_F_ESTABLISHED | OVS_CS_F_RELATED
                        | OVS_CS_F_TRACKED | OVS_CS_F_INVALID
                        | OVS_CS_F_REPLY_DIR);
    vxlan_gbp_support = true;
    enc_flags_support = true;
}
