/* SPDX-License-Identifier: Apache-2.0 */
#include "ack.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <libmnl/libmnl.h>

/* The kernel's largest error number (include/linux/err.h). */
#define MAX_ERRNO 4095

static void
read_text(const struct nlattr *attr, struct tcnl_error *e)
{
    const char *text = mnl_attr_get_payload(attr);
    size_t n = strnlen(text, mnl_attr_get_payload_len(attr));

    if (n >= sizeof e->text) {
        n = sizeof e->text - 1;
    }
    memcpy(e->text, text, n);
    e->text[n] = '\0';
}

static void
read_offset(const struct nlattr *attr, struct tcnl_error *e)
{
    if (mnl_attr_get_payload_len(attr) == sizeof e->offset) {
        memcpy(&e->offset, mnl_attr_get_payload(attr), sizeof e->offset);
        e->has_offset = true;
    }
}

/* Reads the ext-ack attributes that begin 'ofs' bytes into 'nlh', up to the
 * first malformed one. */
static void
read_tlvs(const struct nlmsghdr *nlh, size_t ofs, struct tcnl_error *e)
{
    while (ofs < nlh->nlmsg_len) {
        const struct nlattr *attr
            = (const void *) ((const uint8_t *) nlh + ofs);
        size_t left = nlh->nlmsg_len - ofs;

        if (!mnl_attr_ok(attr, left < INT_MAX ? (int) left : INT_MAX)) {
            return;
        }
        if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG) {
            read_text(attr, e);
        } else if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_OFFS) {
            read_offset(attr, e);
        }
        ofs += MNL_ALIGN((size_t) attr->nla_len);
    }
}

/* Reads the negative errno that begins the payload of acks and of DONE. */
static int
read_errno(const struct nlmsghdr *nlh, struct tcnl_error *e)
{
    int value;

    memcpy(&value, mnl_nlmsg_get_payload(nlh), sizeof value);
    if (value > 0 || value < -MAX_ERRNO) {
        return EBADMSG;
    }
    e->error = -value;
    return 0;
}

/* Returns where the ext-ack attributes of an ack begin: behind the header of
 * the request, or behind the whole request if it was not capped. */
static size_t
ack_tlvs(const struct nlmsghdr *nlh)
{
    const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);
    size_t request = sizeof err->msg;

    if (!(nlh->nlmsg_flags & NLM_F_CAPPED)) {
        request = err->msg.nlmsg_len;
        if (request < sizeof err->msg) {
            return nlh->nlmsg_len;
        }
    }
    return MNL_NLMSG_HDRLEN + offsetof(struct nlmsgerr, msg)
           + MNL_ALIGN(request);
}

int
tcnl_ack_parse(const struct nlmsghdr *nlh, struct tcnl_error *e)
{
    memset(e, 0, sizeof *e);
    if (nlh->nlmsg_type != NLMSG_ERROR
        || nlh->nlmsg_len < MNL_NLMSG_HDRLEN + sizeof(struct nlmsgerr)
        || read_errno(nlh, e)) {
        return EBADMSG;
    }
    if (nlh->nlmsg_flags & NLM_F_ACK_TLVS) {
        read_tlvs(nlh, ack_tlvs(nlh), e);
    }
    return 0;
}

int
tcnl_done_parse(const struct nlmsghdr *nlh, struct tcnl_error *e)
{
    memset(e, 0, sizeof *e);
    if (nlh->nlmsg_type != NLMSG_DONE
        || nlh->nlmsg_len < MNL_NLMSG_HDRLEN + sizeof(int)
        || read_errno(nlh, e)) {
        return EBADMSG;
    }
    if (nlh->nlmsg_flags & NLM_F_ACK_TLVS) {
        read_tlvs(nlh, MNL_NLMSG_HDRLEN + MNL_ALIGN(sizeof(int)), e);
    }
    return 0;
}
