/* SPDX-License-Identifier: Apache-2.0 */
#include "buffer.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <libmnl/libmnl.h>

/* What nla_len can say, header excluded. */
#define MAX_PAYLOAD (UINT16_MAX - MNL_ATTR_HDRLEN)

void
tcnl_buffer_init(struct tcnl_buffer *b, void *data, size_t size)
{
    assert(!((uintptr_t) data % MNL_ALIGNTO));
    b->data = data;
    b->size = size;
    tcnl_buffer_reset(b);
}

void
tcnl_buffer_reset(struct tcnl_buffer *b)
{
    b->used = 0;
    tcnl_msg_cancel(b);
}

/* Bytes from the start of the open message to the end of the buffer. */
static size_t
room(const struct tcnl_buffer *b)
{
    return b->size - b->used;
}

static bool
is_open(const struct tcnl_buffer *b)
{
    return b->msg && !b->failed;
}

void
tcnl_msg_begin(struct tcnl_buffer *b, uint16_t type, uint16_t flags,
               const void *header, size_t header_len)
{
    assert(!b->msg && !b->failed);
    if (room(b) < MNL_NLMSG_HDRLEN
        || room(b) - MNL_NLMSG_HDRLEN < MNL_ALIGN(header_len)) {
        b->failed = true;
        return;
    }
    b->msg = mnl_nlmsg_put_header(b->data + b->used);
    b->msg->nlmsg_type = type;
    b->msg->nlmsg_flags = flags;
    if (header_len) {
        memcpy(mnl_nlmsg_put_extra_header(b->msg, header_len), header,
               header_len);
    }
}

int
tcnl_msg_end(struct tcnl_buffer *b, struct nlmsghdr **msg)
{
    bool whole = is_open(b);

    if (whole) {
        /* Every put pads, so the next message is aligned too. */
        b->used += b->msg->nlmsg_len;
        if (msg) {
            *msg = b->msg;
        }
    }
    tcnl_msg_cancel(b);
    return whole ? 0 : EMSGSIZE;
}

void
tcnl_msg_cancel(struct tcnl_buffer *b)
{
    b->msg = NULL;
    b->failed = false;
}

/* Room for an attribute at the end of the open message, with 'len' bytes of
 * payload that the caller writes, or NULL.  This is what most of the time of
 * making a message goes into, so it does without the calls of libmnl. */
static struct nlattr *
put_attr(struct tcnl_buffer *b, uint16_t type, size_t len)
{
    size_t size = MNL_ATTR_HDRLEN + MNL_ALIGN(len);
    struct nlattr *attr;

    if (!is_open(b)) {
        return NULL;
    }
    if (len > MAX_PAYLOAD || room(b) - b->msg->nlmsg_len < size) {
        b->failed = true;
        return NULL;
    }
    /* Every put pads, so the end is aligned. */
    attr = (void *) ((uint8_t *) b->msg + b->msg->nlmsg_len);
    attr->nla_type = type;
    attr->nla_len = (uint16_t) (MNL_ATTR_HDRLEN + len);
    b->msg->nlmsg_len += (uint32_t) size;
    return attr;
}

void
tcnl_put(struct tcnl_buffer *b, uint16_t type, const void *data, size_t len)
{
    struct nlattr *attr = put_attr(b, type, len);
    static const uint32_t zeros;

    if (attr && len) {
        uint8_t *payload = (uint8_t *) attr + MNL_ATTR_HDRLEN;

        /* The padding first, with the rest of its word. */
        memcpy(payload + MNL_ALIGN(len) - sizeof zeros, &zeros, sizeof zeros);
        memcpy(payload, data, len);
    }
}

void
tcnl_put_u8(struct tcnl_buffer *b, uint16_t type, uint8_t value)
{
    tcnl_put(b, type, &value, sizeof value);
}

void
tcnl_put_u16(struct tcnl_buffer *b, uint16_t type, uint16_t value)
{
    tcnl_put(b, type, &value, sizeof value);
}

void
tcnl_put_u32(struct tcnl_buffer *b, uint16_t type, uint32_t value)
{
    tcnl_put(b, type, &value, sizeof value);
}

void
tcnl_put_u64(struct tcnl_buffer *b, uint16_t type, uint64_t value)
{
    tcnl_put(b, type, &value, sizeof value);
}

void
tcnl_put_string(struct tcnl_buffer *b, uint16_t type, const char *s)
{
    tcnl_put(b, type, s, strlen(s) + 1);
}

size_t
tcnl_nest_begin(struct tcnl_buffer *b, uint16_t type)
{
    struct nlattr *nest = put_attr(b, NLA_F_NESTED | type, 0);

    return nest ? (size_t) ((uint8_t *) nest - (uint8_t *) b->msg) : 0;
}

void
tcnl_nest_end(struct tcnl_buffer *b, size_t mark)
{
    struct nlattr *nest;
    size_t len;

    if (!is_open(b)) {
        return;
    }
    len = b->msg->nlmsg_len - mark;
    if (len > UINT16_MAX) {
        b->failed = true;
        return;
    }
    nest = (void *) ((uint8_t *) b->msg + mark);
    nest->nla_len = (uint16_t) len;
}

void
tcnl_put_attrs(struct tcnl_buffer *b, const void *attrs, size_t len)
{
    if (!is_open(b)) {
        return;
    }
    assert(MNL_ALIGN(len) == len);
    if (room(b) - b->msg->nlmsg_len < len) {
        b->failed = true;
        return;
    }
    memcpy(mnl_nlmsg_get_payload_tail(b->msg), attrs, len);
    b->msg->nlmsg_len += len;
}
