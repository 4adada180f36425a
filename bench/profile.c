/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "profile.h"

#include "flow-text.h"
#include "netlink.h"
#include "packets.h"
#include "util.h"

#define SET_TUNNEL(DST) \
    "set(tunnel(tun_id=0x7,dst=" DST ",ttl=64,tp_dst=4789,flags(key))),5"

static bool
is_l2drop(const char *profile)
{
    if (strcmp(profile, "5tuple") && strcmp(profile, "l2drop")) {
        ovs_fatal(0, "no profile %s", profile);
    }
    return !strcmp(profile, "l2drop");
}

char *
profile_match(const char *profile, uint32_t n)
{
    unsigned int a = n >> 16 & 255, b = n >> 8 & 255, c = n & 255;

    return (is_l2drop(profile)
            ? xasprintf("recirc_id(0),in_port(1),eth(src=02:00:00:00:00:01,"
                        "dst=02:%02x:%02x:%02x:00:02),eth_type(0x88b5)",
                        a, b, c)
            : xasprintf("recirc_id(0),in_port(1),eth(src=02:00:00:00:00:01,"
                        "dst=02:00:00:00:00:02),eth_type(0x0800),"
                        "ipv4(src=10.0.0.1,dst=11.%u.%u.%u,proto=17,frag=no),"
                        "udp(src=1000,dst=2000)", a, b, c));
}

const char *
profile_actions(const char *profile, bool modified)
{
    if (is_l2drop(profile)) {
        return modified ? "2" : "drop";
    }
    return modified ? SET_TUNNEL("192.0.2.2") : SET_TUNNEL("192.0.2.1");
}

static void
parse(const char *profile, bool modified, uint32_t number,
      struct test_flow *flow)
{
    char *match = profile_match(profile, number);
    char *error = flow_text_parse(flow, match,
                                  profile_actions(profile, modified));

    if (error) {
        ovs_fatal(0, "%s: %s", match, error);
    }
    free(match);
}

void
profile_flow(const char *profile, bool modified, struct test_flow *flow)
{
    const uint32_t number = 0x010203;
    struct test_flow parsed;

    /* The two ways to get at a flow must agree. */
    parse(profile, modified, number, &parsed);
    parse(profile, modified, 0, flow);
    profile_set_number(profile, flow, number);
    if (!ofpbuf_equal(&parsed.key, &flow->key)) {
        ovs_fatal(0, "profile %s: flow %"PRIu32" is not what its text says",
                  profile, number);
    }
    test_flow_uninit(&parsed);
    profile_set_number(profile, flow, 0);
}

void
profile_set_number(const char *profile, struct test_flow *flow,
                   uint32_t number)
{
    const uint8_t bytes[] = { number >> 16, number >> 8, number };
    bool l2drop = is_l2drop(profile);
    const struct nlattr *a = nl_attr_find(&flow->key, 0,
                                          l2drop ? OVS_KEY_ATTR_ETHERNET
                                          : OVS_KEY_ATTR_IPV4);
    uint8_t *value = CONST_CAST(uint8_t *, nl_attr_get(a));

    value += (l2drop ? offsetof(struct ovs_key_ethernet, eth_dst)
              : offsetof(struct ovs_key_ipv4, ipv4_dst)) + 1;
    memcpy(value, bytes, sizeof bytes);
}

/* The packet of flow 0, but for its checksums, which nobody looks at. */
static const uint8_t l2_frame[PROFILE_FRAME] = {
    0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x88, 0xb5,
};
static const uint8_t udp_frame[PROFILE_FRAME] = {
    0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1, 0x08, 0x00,
    0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 11, 0, 0, 0,
    0x03, 0xe8, 0x07, 0xd0, 0, 26, 0, 0,
};

void
profile_frame(const char *profile, uint32_t number,
              uint8_t frame[PROFILE_FRAME])
{
    const uint8_t bytes[] = { number >> 16, number >> 8, number };
    bool l2drop = is_l2drop(profile);

    memcpy(frame, l2drop ? l2_frame : udp_frame, PROFILE_FRAME);
    memcpy(frame + (l2drop ? 1 : 31), bytes, sizeof bytes);
}
