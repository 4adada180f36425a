/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_BUFFER_H
#define TCNL_BUFFER_H 1

/* A bounded buffer of netlink messages with rollback.
 *
 * Messages are appended one at a time: begin, put ..., end.  A put that does
 * not fit (or a nested attribute longer than nla_len can say, 65535 bytes)
 * marks the open message as failed, further puts do nothing, and
 * tcnl_msg_end() takes the whole message back and says EMSGSIZE.  So a
 * builder never checks single puts, and the buffer always ends with a whole
 * message.  Padding is zero, so the same puts make the same bytes.
 *
 * The memory belongs to the caller.  Not thread-safe. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/netlink.h>

struct tcnl_buffer {
    uint8_t *data;              /* Aligned to 4 bytes at least. */
    size_t size;                /* Bytes at 'data'. */
    size_t used;                /* Bytes of whole, ended messages. */
    struct nlmsghdr *msg;       /* The open message, or NULL.  Its length is
                                 * set when it is ended. */
    size_t end;                 /* Bytes with the open message. */
    bool failed;                /* The message that was open does not fit. */
};

void tcnl_buffer_init(struct tcnl_buffer *, void *data, size_t size);
void tcnl_buffer_reset(struct tcnl_buffer *);

/* Opens a message.  'header_len' bytes of family header (struct tcmsg or
 * struct tcamsg) follow the netlink header, copied from 'header'. */
void tcnl_msg_begin(struct tcnl_buffer *, uint16_t type, uint16_t flags,
                    const void *header, size_t header_len);

/* Closes the open message.  Returns 0 and, if 'msg' is nonnull, stores it
 * there (valid until the buffer is reset); or EMSGSIZE, and the message is
 * gone from the buffer. */
int tcnl_msg_end(struct tcnl_buffer *, struct nlmsghdr **msg);

/* Takes the open message back. */
void tcnl_msg_cancel(struct tcnl_buffer *);

void tcnl_put(struct tcnl_buffer *, uint16_t type, const void *, size_t len);
void tcnl_put_u8(struct tcnl_buffer *, uint16_t type, uint8_t);
void tcnl_put_u16(struct tcnl_buffer *, uint16_t type, uint16_t);
void tcnl_put_u32(struct tcnl_buffer *, uint16_t type, uint32_t);
void tcnl_put_u64(struct tcnl_buffer *, uint16_t type, uint64_t);
void tcnl_put_string(struct tcnl_buffer *, uint16_t type, const char *);

/* Puts 'len' bytes of attributes, a multiple of 4, as they stand in another
 * message, padding included. */
void tcnl_put_attrs(struct tcnl_buffer *, const void *attrs, size_t len);

/* Opens and closes a nested attribute; 'mark' is what begin returned. */
size_t tcnl_nest_begin(struct tcnl_buffer *, uint16_t type);
void tcnl_nest_end(struct tcnl_buffer *, size_t mark);

#endif /* tcnl/buffer.h */
