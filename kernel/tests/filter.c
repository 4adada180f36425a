/* SPDX-License-Identifier: Apache-2.0 */

#include "filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <linux/gen_stats.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/tc_act/tc_gact.h>
#include <net/if.h>
#include <sys/socket.h>

#define EGRESS TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS)

void
die(int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fputs("tc-dump: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(status);
}

unsigned int
device(const char *name)
{
    unsigned int index = if_nametoindex(name);

    if (!index) {
        die(2, "no device %s", name);
    }
    return index;
}

/* ## The socket. */

struct mnl_socket *
open_socket(unsigned int groups)
{
    struct mnl_socket *nl = mnl_socket_open(NETLINK_ROUTE);
    int one = 1, rcvbuf = 4 << 20;

    if (!nl || mnl_socket_bind(nl, groups, MNL_SOCKET_AUTOPID) < 0
        || mnl_socket_setsockopt(nl, NETLINK_EXT_ACK, &one, sizeof one) < 0
        || mnl_socket_setsockopt(nl, NETLINK_CAP_ACK, &one, sizeof one) < 0
        || setsockopt(mnl_socket_get_fd(nl), SOL_SOCKET, SO_RCVBUFFORCE,
                      &rcvbuf, sizeof rcvbuf)) {
        die(2, "netlink: %s", strerror(errno));
    }
    return nl;
}

void
send_all(struct mnl_socket *nl, const void *data, size_t len)
{
    if (mnl_socket_sendto(nl, data, len) < 0) {
        die(2, "send: %s", strerror(errno));
    }
}

ssize_t
receive(struct mnl_socket *nl, void *buf, size_t size)
{
    ssize_t len = mnl_socket_recvfrom(nl, buf, size);

    if (len < 0) {
        die(2, "recv: %s", strerror(errno));
    }
    return len;
}

const char *
ext_ack_text(const struct nlmsghdr *nlh, size_t fixed)
{
    const struct nlattr *a;

    if (nlh->nlmsg_flags & NLM_F_ACK_TLVS) {
        mnl_attr_for_each (a, nlh, fixed) {
            if (mnl_attr_get_type(a) == NLMSGERR_ATTR_MSG) {
                return mnl_attr_get_str(a);
            }
        }
    }
    return "";
}

/* ## Filters. */

struct nlmsghdr *
put_header(void *buf, uint16_t type, uint16_t flags, int ifindex,
           const struct place *p)
{
    struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
    struct tcmsg *tcm = mnl_nlmsg_put_extra_header(nlh, sizeof *tcm);

    nlh->nlmsg_type = type;
    nlh->nlmsg_flags = NLM_F_REQUEST | flags;
    tcm->tcm_ifindex = ifindex;
    tcm->tcm_parent = EGRESS;
    if (p) {
        tcm->tcm_handle = p->handle;
        tcm->tcm_info = TC_H_MAKE(p->prio << 16, htons(ETH_P_IP));
        mnl_attr_put_u32(nlh, TCA_CHAIN, p->chain);
        mnl_attr_put_strz(nlh, TCA_KIND, "flower");
    }
    return nlh;
}

void
put_flags(struct nlmsghdr *nlh, uint32_t flags)
{
    struct nla_bitfield32 bits = { .value = flags, .selector = flags };

    if (flags) {
        mnl_attr_put(nlh, TCA_DUMP_FLAGS, sizeof bits, &bits);
    }
}

/* A shared police is named by its index alone, and then need not pass. */
static void
put_police(struct nlmsghdr *nlh, uint16_t order, uint32_t index)
{
    struct tc_police police = { .index = index, .action = TC_ACT_PIPE };
    struct nlattr *action = mnl_attr_nest_start(nlh, order);
    struct nlattr *options;

    mnl_attr_put_strz(nlh, TCA_ACT_KIND, "police");
    options = mnl_attr_nest_start(nlh, TCA_ACT_OPTIONS);
    mnl_attr_put(nlh, TCA_POLICE_TBF, sizeof police, &police);
    mnl_attr_nest_end(nlh, options);
    mnl_attr_nest_end(nlh, action);
}

static void
put_pass(struct nlmsghdr *nlh, uint16_t order, uint32_t handle)
{
    struct tc_gact gact = { .action = TC_ACT_OK };
    struct nlattr *action = mnl_attr_nest_start(nlh, order);
    struct nlattr *options;

    mnl_attr_put_strz(nlh, TCA_ACT_KIND, "gact");
    mnl_attr_put(nlh, TCA_ACT_COOKIE, sizeof handle, &handle);
    options = mnl_attr_nest_start(nlh, TCA_ACT_OPTIONS);
    mnl_attr_put(nlh, TCA_GACT_PARMS, sizeof gact, &gact);
    mnl_attr_nest_end(nlh, options);
    mnl_attr_nest_end(nlh, action);
}

struct nlmsghdr *
put_new(void *buf, int ifindex, const struct place *p, uint32_t police,
        bool pass)
{
    struct nlmsghdr *nlh = put_header(buf, RTM_NEWTFILTER,
                                      NLM_F_CREATE | NLM_F_EXCL, ifindex, p);
    struct nlattr *options = mnl_attr_nest_start(nlh, TCA_OPTIONS);
    struct nlattr *actions;

    mnl_attr_put_u16(nlh, TCA_FLOWER_KEY_ETH_TYPE, htons(ETH_P_IP));
    mnl_attr_put_u32(nlh, TCA_FLOWER_KEY_IPV4_DST,
                     htonl(0x0a000000 + p->handle));
    mnl_attr_put_u32(nlh, TCA_FLOWER_KEY_IPV4_DST_MASK, 0xffffffff);
    mnl_attr_put_u32(nlh, TCA_FLOWER_FLAGS, TCA_CLS_FLAGS_SKIP_HW);
    if (police || pass) {
        actions = mnl_attr_nest_start(nlh, TCA_FLOWER_ACT);
        if (police) {
            put_police(nlh, 1, police);
        }
        if (pass) {
            put_pass(nlh, police ? 2 : 1, p->handle);
        }
        mnl_attr_nest_end(nlh, actions);
    }
    mnl_attr_nest_end(nlh, options);
    return nlh;
}

static void
parse_action(const struct nlattr *action, struct report *r)
{
    const struct nlattr *a, *b;

    mnl_attr_for_each_nested (a, action) {
        if (mnl_attr_get_type(a) == TCA_ACT_COOKIE) {
            r->cookie = mnl_attr_get_u32(a);
        } else if (mnl_attr_get_type(a) == TCA_ACT_STATS) {
            mnl_attr_for_each_nested (b, a) {
                if (mnl_attr_get_type(b) == TCA_STATS_BASIC) {
                    const struct gnet_stats_basic *basic;

                    basic = mnl_attr_get_payload(b);
                    r->packets = basic->packets;
                }
            }
        }
    }
}

bool
parse_report(const struct nlmsghdr *nlh, struct report *r)
{
    const struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
    const struct nlattr *a, *b;

    memset(r, 0, sizeof *r);
    if (nlh->nlmsg_type != RTM_NEWTFILTER
        && nlh->nlmsg_type != RTM_DELTFILTER) {
        return false;
    }
    r->place.prio = tcm->tcm_info >> 16;
    r->place.handle = tcm->tcm_handle;
    mnl_attr_for_each (a, nlh, sizeof *tcm) {
        if (mnl_attr_get_type(a) == TCA_CHAIN) {
            r->place.chain = mnl_attr_get_u32(a);
        } else if (mnl_attr_get_type(a) == TCA_OPTIONS) {
            mnl_attr_for_each_nested (b, a) {
                uint16_t type = mnl_attr_get_type(b);

                if (type == TCA_FLOWER_KEY_ETH_TYPE) {
                    r->has_keys = true;
                } else if (type == TCA_FLOWER_ACT) {
                    parse_action(mnl_attr_get_payload(b), r);
                }
            }
        }
    }
    return tcm->tcm_handle != 0;
}

void
print_report(const struct report *r)
{
    printf("%s chain %"PRIu32" prio %"PRIu32" handle 0x%"PRIx32
           " packets %"PRIu64" cookie 0x%"PRIx32"\n",
           r->has_keys ? "full" : "terse", r->place.chain, r->place.prio,
           r->place.handle, r->packets, r->cookie);
}

void
wait_for_ack(struct mnl_socket *nl, uint32_t seq, bool print)
{
    static uint32_t buf[BUFFER_SIZE / 4];

    for (;;) {
        int len = receive(nl, buf, sizeof buf);
        const struct nlmsghdr *nlh = (const void *) buf;

        for (; mnl_nlmsg_ok(nlh, len); nlh = mnl_nlmsg_next(nlh, &len)) {
            const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);
            struct report r;

            if (nlh->nlmsg_type == NLMSG_ERROR) {
                if (e->error) {
                    die(1, "%s: %s", strerror(-e->error),
                        ext_ack_text(nlh, sizeof *e));
                }
                if (nlh->nlmsg_seq == seq) {
                    return;
                }
            } else if (parse_report(nlh, &r) && print) {
                print_report(&r);
            }
        }
    }
}
