/* SPDX-License-Identifier: Apache-2.0 */
#include "fake/fake-input.h"

#include <errno.h>
#include <string.h>

static struct fake_input *
input_cast(struct tcnl_transport *t)
{
    return (struct fake_input *) t;
}

static size_t
take(struct fake_input *in, void *buf, size_t n)
{
    n = n < in->left ? n : in->left;
    if (n) {
        memcpy(buf, in->data, n);
        in->data += n;
        in->left -= n;
    }
    return n;
}

static int
input_send(struct tcnl_transport *t, const void *data, size_t len)
{
    (void) t;
    (void) data;
    (void) len;
    return 0;
}

static int
input_recv(struct tcnl_transport *t, void *buf, size_t size, size_t *len)
{
    static const int errors[] = { ENOBUFS, EMSGSIZE, EINTR, ENOMEM };
    struct fake_input *in = input_cast(t);
    uint8_t head[2];
    size_t n;

    if (take(in, head, sizeof head) < sizeof head) {
        return EAGAIN;
    }
    n = head[0] | head[1] << 8;
    if (n & 0x8000) {
        return errors[n & 3];
    }
    *len = take(in, buf, n < size ? n : size);
    return n <= size ? 0 : EMSGSIZE;
}

static void
input_close(struct tcnl_transport *t)
{
    (void) t;
}

static const struct tcnl_transport_ops input_ops = {
    .send = input_send,
    .recv = input_recv,
    .close = input_close,
};

void
fake_input_init(struct fake_input *in, const uint8_t *data, size_t size)
{
    *in = (struct fake_input) {
        .transport = {
            .ops = &input_ops,
            .max_send = SIZE_MAX,
            .rcvbuf = SIZE_MAX,
            .next_seq = 1,
        },
        .data = data,
        .left = size,
    };
}

unsigned int
fake_input_touch(const struct nlmsghdr *nlh)
{
    const uint8_t *p = (const uint8_t *) nlh;
    unsigned int sum = 0;

    for (size_t i = 0; i < nlh->nlmsg_len; i++) {
        sum += p[i];
    }
    return sum;
}
