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

void
tcnl_put(struct tcnl_buffer *b, uint16_t type, const void *data, size_t len)
{
    size_t padding = MNL_ALIGN(len) - len;

    if (!is_open(b)) {
        return;
    }
    if (len > MAX_PAYLOAD
        || !mnl_attr_put_check(b->msg, room(b), type, len, data)) {
        b->failed = true;
        return;
    }

    /* libmnl 1.0.4 leaves there what was in the memory before. */
    memset((uint8_t *) mnl_nlmsg_get_payload_tail(b->msg) - padding, 0,
           padding);
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
    struct nlattr *nest;

    if (!is_open(b)) {
        return 0;
    }
    nest = mnl_attr_nest_start_check(b->msg, room(b), type);
    if (!nest) {
        b->failed = true;
        return 0;
    }
    return (uint8_t *) nest - (uint8_t *) b->msg;
}

void
tcnl_nest_end(struct tcnl_buffer *b, size_t mark)
{
    if (!is_open(b)) {
        return;
    }

    /* mnl_attr_nest_end() would silently wrap nla_len. */
    if (b->msg->nlmsg_len - mark > UINT16_MAX) {
        b->failed = true;
        return;
    }
    mnl_attr_nest_end(b->msg, (void *) ((uint8_t *) b->msg + mark));
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
