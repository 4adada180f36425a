/* SPDX-License-Identifier: Apache-2.0 */

#include <config.h>
#include "raw.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util.h"

#define MEM_SIZE (256 * 1024)
#define RCVBUF (4 << 20)

void
raw_init(struct raw *raw, unsigned int batch)
{
    memset(raw, 0, sizeof *raw);
    raw->batch = batch;
    raw->mem = xmalloc(MEM_SIZE);
    tcnl_buffer_init(&raw->buffer, raw->mem, MEM_SIZE);
}

void
raw_uninit(struct raw *raw)
{
    for (size_t i = 0; i < raw->n; i++) {
        free(raw->datagrams[i].data);
    }
    free(raw->datagrams);
    free(raw->mem);
}

struct tcnl_buffer *
raw_begin(struct raw *raw)
{
    return &raw->buffer;
}

/* Sets the ack flag of the last message. */
static void
ask_for_ack(uint8_t *data, size_t len)
{
    struct nlmsghdr *nlh = ALIGNED_CAST(struct nlmsghdr *, data);
    size_t left = len;

    while (left > NLMSG_ALIGN(nlh->nlmsg_len)) {
        left -= NLMSG_ALIGN(nlh->nlmsg_len);
        nlh = ALIGNED_CAST(struct nlmsghdr *, data + (len - left));
    }
    nlh->nlmsg_flags |= NLM_F_ACK;
}

static void
close_datagram(struct raw *raw)
{
    struct raw_datagram *d;

    if (!raw->n_messages) {
        return;
    }
    if (raw->n == raw->allocated) {
        raw->datagrams = x2nrealloc(raw->datagrams, &raw->allocated,
                                    sizeof *raw->datagrams);
    }
    d = &raw->datagrams[raw->n++];
    d->len = raw->buffer.used;
    d->data = xmemdup(raw->mem, d->len);
    ask_for_ack(d->data, d->len);
    tcnl_buffer_reset(&raw->buffer);
    raw->n_messages = 0;
}

void
raw_end(struct raw *raw)
{
    if (++raw->n_messages == raw->batch) {
        close_datagram(raw);
    }
}

static int
open_socket(void)
{
    struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    int rcvbuf = RCVBUF, one = 1;

    if (fd < 0 || connect(fd, (struct sockaddr *) &kernel, sizeof kernel)
        || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &rcvbuf, sizeof rcvbuf)
        || setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &rcvbuf, sizeof rcvbuf)
        || setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof one)) {
        ovs_fatal(errno, "netlink socket");
    }
    return fd;
}

/* Echoes and errors come before the ack, which is the end. */
static void
wait_for_ack(int fd, uint32_t *buf)
{
    for (;;) {
        ssize_t len = recv(fd, buf, MEM_SIZE, 0);
        const struct nlmsghdr *nlh = (const void *) buf;

        if (len < 0) {
            ovs_fatal(errno, "recv");
        }
        for (; NLMSG_OK(nlh, len); nlh = NLMSG_NEXT(nlh, len)) {
            if (nlh->nlmsg_type == NLMSG_ERROR) {
                const struct nlmsgerr *e = NLMSG_DATA(nlh);

                if (e->error) {
                    ovs_fatal(-e->error, "the kernel refused a message");
                }
                return;
            }
        }
    }
}

void
raw_run(struct raw *raw)
{
    int fd = open_socket();

    /* From here on 'mem' is free for what comes back. */
    close_datagram(raw);
    for (size_t i = 0; i < raw->n; i++) {
        const struct raw_datagram *d = &raw->datagrams[i];

        if (send(fd, d->data, d->len, 0) < 0) {
            ovs_fatal(errno, "send");
        }
        wait_for_ack(fd, raw->mem);
    }
    close(fd);
}
