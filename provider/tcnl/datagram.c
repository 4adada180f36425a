/* SPDX-License-Identifier: Apache-2.0 */
#include "datagram.h"

#include <stdint.h>
#include <libmnl/libmnl.h>

const struct nlmsghdr *
tcnl_datagram_next(const void *buf, size_t len, size_t *ofs)
{
    const struct nlmsghdr *nlh;
    size_t left = *ofs < len ? len - *ofs : 0;
    size_t step;

    if (left < sizeof *nlh) {
        return NULL;
    }
    nlh = (const void *) ((const uint8_t *) buf + *ofs);
    if (nlh->nlmsg_len < sizeof *nlh || nlh->nlmsg_len > left) {
        return NULL;
    }

    /* The last message need not be padded. */
    step = MNL_ALIGN((size_t) nlh->nlmsg_len);
    *ofs += step < left ? step : left;
    return nlh;
}
