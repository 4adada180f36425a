/* SPDX-License-Identifier: Apache-2.0 */

/* The real transport, against the kernel of this machine.  Needs no
 * privileges: it only reads links. */

#include <errno.h>
#include <net/if.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include "tcnl/batch.h"
#include "tcnl/dump.h"
#include "tcnl/socket.h"

#define NO_SUCH_IFINDEX 0x7ffffff0

static struct tcnl_transport *transport;
static int loopback;            /* Its ifindex. */

static int
setup(void **state)
{
    (void) state;
    loopback = if_nametoindex("lo");
    return tcnl_socket_open(0, 0, &transport);
}

static int
teardown(void **state)
{
    (void) state;
    tcnl_transport_close(transport);
    return 0;
}

static int
put_getlink(struct tcnl_buffer *buffer, const void *ifindex)
{
    struct ifinfomsg ifi = { .ifi_index = *(const int *) ifindex };

    tcnl_msg_begin(buffer, RTM_GETLINK, NLM_F_REQUEST, &ifi, sizeof ifi);
    return tcnl_msg_end(buffer, NULL);
}

static int
put_dump(struct tcnl_buffer *buffer, const void *type)
{
    struct ifinfomsg ifi = { .ifi_family = AF_UNSPEC };

    tcnl_msg_begin(buffer, *(const uint16_t *) type,
                   NLM_F_REQUEST | NLM_F_DUMP, &ifi, sizeof ifi);
    return tcnl_msg_end(buffer, NULL);
}

static bool
is_loopback(const struct nlmsghdr *nlh)
{
    const struct ifinfomsg *ifi = mnl_nlmsg_get_payload(nlh);

    return nlh->nlmsg_type == RTM_NEWLINK && ifi->ifi_index == loopback;
}

static void
count_loopback(void *count, const struct nlmsghdr *nlh)
{
    *(unsigned int *) count += is_loopback(nlh);
}

static void
count_reply(void *count, unsigned int slot, const struct nlmsghdr *nlh)
{
    (void) slot;
    count_loopback(count, nlh);
}

static void
test_limits(void **state)
{
    struct tcnl_transport *small;

    (void) state;
    assert_true(transport->rcvbuf >= 65536);
    assert_true(transport->max_send >= 65536);

    /* Sizes are those that the kernel counts with, not half of them. */
    assert_int_equal(tcnl_socket_open(16384, 16384, &small), 0);
    assert_int_equal(small->rcvbuf, 16384);
    assert_int_equal(small->max_send, 16384 - 32);
    tcnl_transport_close(small);
}

static void
test_dump_links(void **state)
{
    static const uint16_t type = RTM_GETLINK;
    unsigned int n = 0;
    struct tcnl_error e;

    (void) state;
    if (!loopback) {
        skip();
    }
    assert_int_equal(tcnl_dump_all(transport, put_dump, &type,
                                   count_loopback, &n, &e),
                     TCNL_DUMP_COMPLETE);
    assert_int_equal(e.error, 0);
    assert_int_equal(n, 1);
}

/* A dump of a type that there is not. */
static void
test_dump_refused(void **state)
{
    static const uint16_t type = RTM_GETLINK | 0x100;
    struct tcnl_error e;

    (void) state;
    assert_int_equal(tcnl_dump_all(transport, put_dump, &type,
                                   count_loopback, NULL, &e),
                     TCNL_DUMP_FAILED);
    assert_int_equal(e.error, EOPNOTSUPP);
}

/* A dump that was cut short does not disturb what comes after. */
static void
test_dump_cut_short(void **state)
{
    static const uint16_t type = RTM_GETLINK;
    struct tcnl_dump d;

    (void) state;
    assert_int_equal(tcnl_dump_start(&d, transport, put_dump, &type), 0);
    assert_int_equal(tcnl_dump_finish(&d), TCNL_DUMP_INTERRUPTED);
    test_dump_links(state);
}

/* Gets of a good and of a nonexistent link, the bad one at each position. */
static void
test_batch(void **state)
{
    (void) state;
    if (!loopback) {
        skip();
    }
    for (unsigned int bad = 0; bad < 4; bad++) {
        static const int no_such = NO_SUCH_IFINDEX;
        unsigned int n = 0;
        struct tcnl_batch b;

        assert_int_equal(tcnl_batch_init(&b, transport, 4, 4096), 0);
        b.reply_cb = count_reply;
        b.reply_aux = &n;
        for (unsigned int i = 0; i < 4; i++) {
            assert_int_equal(put_getlink(&b.buffer, i == bad ? &no_such
                                                             : &loopback), 0);
            assert_int_equal(tcnl_batch_add(&b, 8192), i);
        }
        assert_int_equal(tcnl_batch_flush(&b), 0);
        for (unsigned int i = 0; i < 4; i++) {
            assert_int_equal(b.slots[i].state,
                             i == bad ? TCNL_FAILED : TCNL_OK);
            assert_int_equal(b.slots[i].error.error, i == bad ? ENODEV : 0);
            assert_int_equal(b.slots[i].got_reply, i != bad);
        }
        assert_int_equal(n, 3);
        assert_int_equal(b.stats.sends, 1);
        assert_int_equal(b.stats.strays, 0);
        tcnl_batch_uninit(&b);
    }
}

/* More answers than the smallest receive buffer takes in one go: the batch
 * splits so that it does not overflow. */
static void
test_small_rcvbuf(void **state)
{
    static const int no_such = NO_SUCH_IFINDEX;
    struct tcnl_transport *small;
    struct tcnl_batch b;

    (void) state;
    assert_int_equal(tcnl_socket_open(1, 0, &small), 0);
    assert_int_equal(tcnl_batch_init(&b, small, 200, 65536), 0);
    while (tcnl_batch_has_room(&b)) {
        assert_int_equal(put_getlink(&b.buffer, &no_such), 0);
        tcnl_batch_add(&b, 0);
    }
    assert_int_equal(tcnl_batch_flush(&b), 0);
    assert_int_equal(b.stats.refused, 200);
    assert_int_equal(b.stats.overflows, 0);
    assert_true(b.stats.sends > 1);
    tcnl_batch_uninit(&b);
    tcnl_transport_close(small);
}

/* The same in one datagram overflows: what was not answered is UNKNOWN, and
 * the next batch is sound again. */
static void
test_overflow(void **state)
{
    static const int no_such = NO_SUCH_IFINDEX;
    struct tcnl_transport *small;
    struct tcnl_batch b;

    (void) state;
    assert_int_equal(tcnl_socket_open(1, 0, &small), 0);
    small->rcvbuf = SIZE_MAX;
    assert_int_equal(tcnl_batch_init(&b, small, 200, 65536), 0);
    for (int round = 0; round < 2; round++) {
        unsigned int n = round ? 1 : 200;

        tcnl_batch_clear(&b);
        for (unsigned int i = 0; i < n; i++) {
            assert_int_equal(put_getlink(&b.buffer, &no_such), 0);
            tcnl_batch_add(&b, 0);
        }
        assert_int_equal(tcnl_batch_flush(&b), round ? 0 : ENOBUFS);
    }
    assert_true(b.stats.unknown > 0);
    assert_int_equal(b.stats.refused + b.stats.unknown, 201);
    assert_int_equal(b.stats.overflows, 1);
    tcnl_batch_uninit(&b);
    tcnl_transport_close(small);
}

static void
test_nothing_queued(void **state)
{
    uint32_t buf[16];
    size_t len;

    (void) state;
    assert_int_equal(transport->ops->recv(transport, buf, sizeof buf, &len),
                     EAGAIN);
}

/* A datagram of another process is dropped unseen.  The socket of 'transport'
 * is the first of this process, so its port is the process id. */
static void
test_foreign_sender(void **state)
{
    struct sockaddr_nl to = { .nl_family = AF_NETLINK, .nl_pid = getpid() };
    struct nlmsghdr nlh = { .nlmsg_len = sizeof nlh };
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    ssize_t n = sendto(fd, &nlh, sizeof nlh, 0, (void *) &to, sizeof to);

    close(fd);
    if (n != sizeof nlh) {
        skip();                 /* Not privileged. */
    }
    test_nothing_queued(state);
    test_batch(state);
}

static void
test_truncated(void **state)
{
    uint32_t mem[64], buf[5];
    struct tcnl_buffer buffer;
    size_t len;

    (void) state;
    tcnl_buffer_init(&buffer, mem, sizeof mem);
    assert_int_equal(put_getlink(&buffer, &loopback), 0);
    assert_int_equal(transport->ops->send(transport, mem, buffer.used), 0);
    assert_int_equal(transport->ops->recv(transport, buf, sizeof buf, &len),
                     EMSGSIZE);
    test_nothing_queued(state);
}

static void
test_many(void **state)
{
    static uint32_t mem[64], big[3][4096];
    struct tcnl_datagram d[4];
    struct tcnl_buffer buffer;
    unsigned int n = 4;
    uint32_t small[5];

    (void) state;
    tcnl_buffer_init(&buffer, mem, sizeof mem);
    assert_int_equal(put_getlink(&buffer, &loopback), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(transport->ops->send(transport, mem, buffer.used),
                         0);
    }
    for (int i = 0; i < 4; i++) {
        d[i].buf = i == 1 ? small : big[i ? i - 1 : 0];
        d[i].size = i == 1 ? sizeof small : sizeof big[0];
    }
    assert_int_equal(transport->ops->recv_many(transport, d, &n), 0);
    assert_int_equal(n, 3);
    for (int i = 0; i < 3; i++) {
        const struct nlmsghdr *nlh = d[i].buf;

        assert_int_equal(d[i].error, i == 1 ? EMSGSIZE : 0);
        assert_int_equal(nlh->nlmsg_type, RTM_NEWLINK);
    }
    assert_int_equal(d[0].len, d[2].len);
    n = 4;
    assert_int_equal(transport->ops->recv_many(transport, d, &n), EAGAIN);
    assert_int_equal(n, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_dump_links),
        cmocka_unit_test(test_dump_refused),
        cmocka_unit_test(test_dump_cut_short),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_small_rcvbuf),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_nothing_queued),
        cmocka_unit_test(test_foreign_sender),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_many),
    };

    return cmocka_run_group_tests_name("socket", tests, setup, teardown);
}
