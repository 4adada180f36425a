/* SPDX-License-Identifier: Apache-2.0 */
#include "stats.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <linux/gen_stats.h>
#include "attr.h"

/* struct gnet_stats_basic without the padding that its size may contain. */
#define BASIC_LEN (offsetof(struct gnet_stats_basic, packets) \
                   + sizeof(uint32_t))

static bool
get_basic(const struct nlattr *a, uint64_t *packets, uint64_t *bytes)
{
    const uint8_t *p = tcnl_attr_data(a);
    uint32_t packets32;

    if (tcnl_attr_len(a) < BASIC_LEN) {
        return false;
    }
    memcpy(bytes, p + offsetof(struct gnet_stats_basic, bytes),
           sizeof *bytes);
    memcpy(&packets32, p + offsetof(struct gnet_stats_basic, packets),
           sizeof packets32);
    *packets = packets32;
    return true;
}

static bool
get_queue(const struct nlattr *a, struct tcnl_stats *stats)
{
    struct gnet_stats_queue queue;

    if (tcnl_attr_len(a) < sizeof queue) {
        return false;
    }
    memcpy(&queue, tcnl_attr_data(a), sizeof queue);
    stats->drops = queue.drops;
    stats->overlimits = queue.overlimits;
    return true;
}

/* Reads one attribute.  '*packets' is the packet counter that a following
 * TCA_STATS_PKT64 corrects: the kernel puts it behind the basic counters that
 * it belongs to (possibly after a padding attribute). */
static bool
parse_one(const struct nlattr *a, struct tcnl_stats *stats, uint64_t **packets)
{
    switch (tcnl_attr_type(a)) {
    case TCA_STATS_BASIC:
        *packets = &stats->packets;
        return get_basic(a, &stats->packets, &stats->bytes);
    case TCA_STATS_BASIC_HW:
        *packets = &stats->hw_packets;
        return get_basic(a, &stats->hw_packets, &stats->hw_bytes);
    case TCA_STATS_PKT64:
        return *packets && tcnl_attr_get(a, *packets, sizeof **packets);
    case TCA_STATS_QUEUE:
        return get_queue(a, stats);
    default:
        return true;
    }
}

int
tcnl_stats_parse(const struct nlattr *act_stats, struct tcnl_stats *stats)
{
    struct tcnl_attrs it = tcnl_attrs_nested(act_stats);
    const struct nlattr *a;
    uint64_t *packets = NULL;

    memset(stats, 0, sizeof *stats);
    while ((a = tcnl_attrs_next(&it))) {
        if (!parse_one(a, stats, &packets)) {
            goto bad;
        }
    }
    if (packets && tcnl_attrs_ok(&it)) {
        return 0;
    }

bad:
    memset(stats, 0, sizeof *stats);
    return EBADMSG;
}
