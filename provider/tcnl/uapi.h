/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_UAPI_H
#define TCNL_UAPI_H 1

/* What our kernel patches (kernel/patches) add to <linux/rtnetlink.h>, whose
 * installed form need not have it. */

#include <linux/rtnetlink.h>

#ifndef TCA_DUMP_FLAGS_USED_SINCE
#define TCA_DUMP_FLAGS_USED_SINCE (1 << 1)
#define TCA_DUMP_FLAGS_START (1 << 2)

enum {
    TCA_DUMP_USED_SINCE = 17,   /* u32, msec. */
    TCA_DUMP_START,             /* Nested. */
};

enum {
    TCA_DUMP_START_CHAIN = 1,   /* u32, like those that follow. */
    TCA_DUMP_START_PRIO,
    TCA_DUMP_START_HANDLE,
};
#endif

#endif /* tcnl/uapi.h */
