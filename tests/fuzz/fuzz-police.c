/* SPDX-License-Identifier: Apache-2.0 */

/* Any bytes as a message about actions.  A meter that is accepted must come
 * back the same when it is sent, but for the rounding of bursts. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/rtnetlink.h>
#include "tcnl/police.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void
check_equal(void *first_, const struct tcnl_police_info *info)
{
    const struct tcnl_police *first = first_;
    const struct tcnl_police *p = &info->police;

    check(p->index == first->index && p->rate == first->rate
          && p->pkt_rate == first->pkt_rate
          && p->cls_flags == first->cls_flags
          && (p->mtu == first->mtu || !first->mtu));
}

/* What was read once is rounded already. */
static void
check_burst(void *first_, const struct tcnl_police_info *info)
{
    const struct tcnl_police *first = first_;

    check_equal(first_, info);
    check(info->police.burst == first->burst
          && info->police.pkt_burst == first->pkt_burst);
}

static struct tcnl_police once;

static void
keep(void *aux, const struct tcnl_police_info *info)
{
    check_equal(aux, info);
    once = info->police;
}

static bool
send_and_parse(const struct tcnl_police *p,
               void (*cb)(void *, const struct tcnl_police_info *))
{
    static uint32_t memory[1024];
    struct tcnl_buffer b;
    struct tcnl_police copy = *p;
    int error;

    tcnl_buffer_init(&b, memory, sizeof memory);
    error = tcnl_police_put_new(&b, p, true);
    check(error == (p->rate && p->pkt_rate ? EINVAL : 0));
    if (error) {
        return false;
    }
    check(!tcnl_police_parse((void *) memory, cb, &copy));
    return true;
}

static void
info_cb(void *aux, const struct tcnl_police_info *info)
{
    (void) aux;
    if (send_and_parse(&info->police, keep)) {
        send_and_parse(&once, check_burst);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nlmsghdr *nlh;

    if (size < sizeof *nlh) {
        return 0;
    }
    nlh = malloc(size);
    check(nlh != NULL);
    memcpy(nlh, data, size);
    nlh->nlmsg_len = (uint32_t) size;
    tcnl_police_parse(nlh, info_cb, NULL);
    free(nlh);
    return 0;
}
