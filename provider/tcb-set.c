/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "tcb-set.h"

#include <string.h>

#include "tcb-offload.h"
#include "unixctl.h"
#include "util.h"

static void
set_ack(struct tcb_offload *offload, void *each_)
{
    const bool *each = each_;

    atomic_store_relaxed(&offload->workers.ack_each, *each);
}

static void
set(struct unixctl_conn *conn, int argc OVS_UNUSED, const char *argv[],
    void *aux OVS_UNUSED)
{
    bool each = !strcmp(argv[1], "ack=each");

    if (!each && strcmp(argv[1], "ack=last")) {
        unixctl_command_reply_error(conn, "unknown setting; there are "
                                    "ack=last (an ack for the last message of "
                                    "a batch) and ack=each (for each)");
        return;
    }
    tcb_offload_for_each(set_ack, &each);
    unixctl_command_reply(conn, NULL);
}

void
tcb_set_init(void)
{
    unixctl_command_register("tc-batch/set", "ack=last|each", 1, 1, set, NULL);
}
