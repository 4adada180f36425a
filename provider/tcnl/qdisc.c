/* SPDX-License-Identifier: Apache-2.0 */
#include "qdisc.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include "attr.h"
#include "batch.h"

struct request {
    uint16_t type, nl_flags;
    int ifindex;
    uint32_t handle;
    const char *kind;           /* Or NULL. */
    uint32_t block;
};

/* Ingress and clsact share the parent TC_H_CLSACT (= TC_H_INGRESS). */
static int
build(struct tcnl_buffer *b, const void *request_)
{
    const struct request *r = request_;
    struct tcmsg tcm = {
        .tcm_family = AF_UNSPEC,
        .tcm_ifindex = r->ifindex,
        .tcm_parent = TC_H_CLSACT,
        .tcm_handle = r->handle,
    };

    tcnl_msg_begin(b, r->type, NLM_F_REQUEST | r->nl_flags, &tcm, sizeof tcm);
    if (r->kind) {
        tcnl_put_string(b, TCA_KIND, r->kind);
    }
    if (r->block) {
        tcnl_put_u32(b, TCA_INGRESS_BLOCK, r->block);
    }
    return tcnl_msg_end(b, NULL);
}

static const char *
kind_name(enum tcnl_qdisc_kind kind)
{
    return kind == TCNL_QDISC_INGRESS ? "ingress"
           : kind == TCNL_QDISC_CLSACT ? "clsact" : NULL;
}

static enum tcnl_qdisc_kind
parse_kind(const struct nlattr *a)
{
    return tcnl_attr_is_string(a, "ingress") ? TCNL_QDISC_INGRESS
           : tcnl_attr_is_string(a, "clsact") ? TCNL_QDISC_CLSACT
           : TCNL_QDISC_OTHER;
}

/* Sets '*error', unless NULL, to one that the kernel has no words for. */
static void
set_error(struct tcnl_error *error, int value)
{
    if (error) {
        *error = (struct tcnl_error) { .error = value };
    }
}

struct get {
    struct tcnl_qdisc *qdisc;
    int error;
};

static int
parse_reply(const struct nlmsghdr *nlh, struct tcnl_qdisc *q)
{
    struct tcnl_attrs it;
    const struct nlattr *a;
    bool ok = true;

    if (nlh->nlmsg_type != RTM_NEWQDISC
        || nlh->nlmsg_len < NLMSG_LENGTH(sizeof(struct tcmsg))) {
        return EBADMSG;
    }
    it = tcnl_attrs_message(nlh, sizeof(struct tcmsg));
    q->kind = TCNL_QDISC_OTHER;
    while (ok && (a = tcnl_attrs_next(&it))) {
        switch (tcnl_attr_type(a)) {
        case TCA_KIND:
            q->kind = parse_kind(a);
            break;
        case TCA_INGRESS_BLOCK:
            ok = tcnl_attr_get(a, &q->ingress_block, sizeof q->ingress_block);
            break;
        case TCA_EGRESS_BLOCK:
            ok = tcnl_attr_get(a, &q->egress_block, sizeof q->egress_block);
            break;
        }
    }
    return ok && tcnl_attrs_ok(&it) ? 0 : EBADMSG;
}

static void
get_cb(void *get_, unsigned int slot, const struct nlmsghdr *nlh)
{
    struct get *get = get_;

    (void) slot;
    get->error = parse_reply(nlh, get->qdisc);
}

/* Two answers mean that there is none: ENOENT on a device that never had one,
 * and success without a message where there was one once, because the kernel
 * then finds a built-in no-op qdisc that it does not show.  A handle in the
 * request would make an EINVAL of that.  Without NLM_F_ECHO the message would
 * go to listeners only. */
int
tcnl_qdisc_get(struct tcnl_transport *transport, int ifindex,
               struct tcnl_qdisc *qdisc, struct tcnl_error *error)
{
    struct request request = {
        .type = RTM_GETQDISC,
        .nl_flags = NLM_F_ECHO,
        .ifindex = ifindex,
    };
    struct get get = { .qdisc = qdisc };
    int result;

    memset(qdisc, 0, sizeof *qdisc);
    result = tcnl_transact(transport, build, &request, get_cb, &get, error);
    if (result == ENOENT) {
        set_error(error, 0);
        return 0;
    }
    if (!result && get.error) {
        result = get.error;
        set_error(error, result);
    }
    return result;
}

static int
change(struct tcnl_transport *transport, const struct request *request,
       struct tcnl_error *error)
{
    if (!request->kind) {
        set_error(error, EINVAL);
        return EINVAL;
    }
    return tcnl_transact(transport, build, request, NULL, NULL, error);
}

int
tcnl_qdisc_add(struct tcnl_transport *transport, int ifindex,
               enum tcnl_qdisc_kind kind, uint32_t block,
               struct tcnl_error *error)
{
    struct request request = {
        .type = RTM_NEWQDISC,
        .nl_flags = NLM_F_CREATE | NLM_F_EXCL,
        .ifindex = ifindex,
        .handle = TC_H_MAKE(TC_H_CLSACT, 0),
        .kind = kind_name(kind),
        .block = block,
    };

    return change(transport, &request, error);
}

int
tcnl_qdisc_del(struct tcnl_transport *transport, int ifindex,
               enum tcnl_qdisc_kind kind, struct tcnl_error *error)
{
    struct request request = {
        .type = RTM_DELQDISC,
        .ifindex = ifindex,
        .handle = TC_H_MAKE(TC_H_CLSACT, 0),
        .kind = kind_name(kind),
    };

    return change(transport, &request, error);
}
