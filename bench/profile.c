/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "profile.h"

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
