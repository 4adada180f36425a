/* SPDX-License-Identifier: Apache-2.0 */
#include "buffer.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <libmnl/libmnl.h>
#include "word.h"

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

void
tcnl_msg_begin(struct tcnl_buffer *b, uint16_t type, uint16_t flags,
               const void *header, size_t header_len)
{
    size_t room = b->size - b->used;

    assert(!b->msg && !b->failed);
    if (room < MNL_NLMSG_HDRLEN
        || room - MNL_NLMSG_HDRLEN < MNL_ALIGN(header_len)) {
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
    b->end = b->used + b->msg->nlmsg_len;
}

int
tcnl_msg_end(struct tcnl_buffer *b, struct nlmsghdr **msg)
{
    bool whole = b->msg != NULL;

    if (whole) {
        /* Every put pads, so the next message is aligned too. */
        b->msg->nlmsg_len = (uint32_t) (b->end - b->used);
        b->used = b->end;
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

static void *
fail(struct tcnl_buffer *b)
{
    b->failed = b->failed || b->msg;
    b->msg = NULL;
    return NULL;
}

/* Room for an attribute at the end of the open message, with 'len' bytes of
 * payload that the caller writes, or NULL.  This and tcnl_put() are what most
 * of the time of making a message goes into, so they do without the calls of
 * libmnl. */
static struct nlattr *
put_attr(struct tcnl_buffer *b, uint16_t type, size_t len)
{
    size_t size = MNL_ATTR_HDRLEN + MNL_ALIGN(len);
    struct nlattr *attr;

    if (!b->msg || len > MAX_PAYLOAD || b->size - b->end < size) {
        return fail(b);
    }
    /* Every put pads, so the end is aligned. */
    attr = (void *) (b->data + b->end);
    attr->nla_type = type;
    attr->nla_len = (uint16_t) (MNL_ATTR_HDRLEN + len);
    b->end += size;
    return attr;
}

void
tcnl_put(struct tcnl_buffer *b, uint16_t type, const void *data, size_t len)
{
    struct nlattr *attr = put_attr(b, type, len);
    static const uint32_t zeros;
    uint8_t *payload;

    if (!attr || !len) {
        return;
    }
    payload = (uint8_t *) attr + MNL_ATTR_HDRLEN;
    if (len <= 4) {
        tcnl_word_store(payload, tcnl_word_load(data, len), 4);
    } else if (len <= 8) {
        tcnl_word_store(payload, tcnl_word_load(data, len), 8);
    } else {
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
    size_t mark = b->end;

    put_attr(b, NLA_F_NESTED | type, 0);
    return mark;
}

void
tcnl_nest_end(struct tcnl_buffer *b, size_t mark)
{
    struct nlattr *nest;

    if (!b->msg) {
        return;
    }
    if (b->end - mark > UINT16_MAX) {
        fail(b);
        return;
    }
    nest = (void *) (b->data + mark);
    nest->nla_len = (uint16_t) (b->end - mark);
}

void
tcnl_put_attrs(struct tcnl_buffer *b, const void *attrs, size_t len)
{
    assert(MNL_ALIGN(len) == len);
    if (!b->msg || b->size - b->end < len) {
        fail(b);
        return;
    }
    memcpy(b->data + b->end, attrs, len);
    b->end += len;
}
