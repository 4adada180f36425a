/* SPDX-License-Identifier: Apache-2.0 */

/* The ingress and clsact qdiscs against the scripted kernel: what is asked,
 * and what is understood of the answer. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include "fake/fake-kernel.h"
#include "tcnl/buffer.h"
#include "tcnl/qdisc.h"

#define IFINDEX 0x0a
#define PARENT 0xfffffff1u      /* TC_H_CLSACT. */

static struct fake_kernel kernel;
static struct fake_kernel *const k = &kernel;
static struct tcnl_qdisc qdisc;
static struct tcnl_error error;

/* The request that was sent last. */
static uint32_t request[64];

/* The kernel's reply to a get. */
static uint32_t reply_memory[64];
static struct tcnl_buffer reply;

static void
take_request(struct fake_kernel *fake, const struct nlmsghdr *nlh,
             struct fake_verdict *v)
{
    (void) fake;
    (void) v;
    assert_true(nlh->nlmsg_len <= sizeof request);
    memcpy(request, nlh, nlh->nlmsg_len);
}

static void
begin(void)
{
    fake_kernel_init(k);
    k->model = take_request;
    memset(&qdisc, 0xa5, sizeof qdisc);
    memset(&error, 0xa5, sizeof error);
    tcnl_buffer_init(&reply, reply_memory, sizeof reply_memory);
}

/* Whatever happened, nothing may be left for the next request to read. */
static void
end(void)
{
    assert_int_equal(k->queue.head, k->queue.tail);
    assert_int_equal(k->sk_err, 0);
    fake_kernel_uninit(k);
}

static void
begin_reply(uint16_t type, const char *kind)
{
    struct tcmsg tcm = {
        .tcm_ifindex = IFINDEX,
        .tcm_parent = PARENT,
        .tcm_handle = 0xffff0000,
    };

    tcnl_msg_begin(&reply, type, 0, &tcm, sizeof tcm);
    if (kind) {
        tcnl_put_string(&reply, TCA_KIND, kind);
    }
}

static void
end_reply(void)
{
    struct nlmsghdr *nlh;

    assert_int_equal(tcnl_msg_end(&reply, &nlh), 0);
    k->verdicts[0].message = nlh;
}

/* As the kernel says it, with more than we want to know. */
static void
make_reply(const char *kind, uint32_t ingress_block, uint32_t egress_block)
{
    begin_reply(RTM_NEWQDISC, kind);
    tcnl_put_u8(&reply, TCA_HW_OFFLOAD, 0);
    if (ingress_block) {
        tcnl_put_u32(&reply, TCA_INGRESS_BLOCK, ingress_block);
    }
    if (egress_block) {
        tcnl_put_u32(&reply, TCA_EGRESS_BLOCK, egress_block);
    }
    tcnl_nest_end(&reply, tcnl_nest_begin(&reply, TCA_STATS2));
    end_reply();
}

static int
get(void)
{
    return tcnl_qdisc_get(&k->transport, IFINDEX, &qdisc, &error);
}

static void
assert_qdisc(enum tcnl_qdisc_kind kind, uint32_t ingress_block,
             uint32_t egress_block)
{
    assert_int_equal(qdisc.kind, kind);
    assert_int_equal(qdisc.ingress_block, ingress_block);
    assert_int_equal(qdisc.egress_block, egress_block);
    assert_int_equal(error.error, 0);
    assert_string_equal(error.text, "");
}

/* Was the last request of 'type' with 'flags' for TC_H_CLSACT and 'handle',
 * with these attributes (as the machine's byte order has them)? */
static void
assert_request(uint16_t type, uint16_t flags, uint32_t handle,
               const void *attrs, size_t attrs_len)
{
    const struct nlmsghdr *nlh = (const void *) request;
    const struct tcmsg expected = {
        .tcm_ifindex = IFINDEX,
        .tcm_parent = PARENT,
        .tcm_handle = handle,
    };

    assert_int_equal(nlh->nlmsg_type, type);
    assert_int_equal(nlh->nlmsg_flags, flags);
    assert_int_equal(nlh->nlmsg_len,
                     NLMSG_LENGTH(sizeof expected) + attrs_len);
    assert_memory_equal(NLMSG_DATA(nlh), &expected, sizeof expected);
    if (attrs_len) {
        assert_memory_equal((const uint8_t *) NLMSG_DATA(nlh)
                            + sizeof expected, attrs, attrs_len);
    }
}

/* A string attribute as 12 bytes, and one with a block. */
struct kind_attr {
    struct nlattr a;
    char text[8];
};

struct block_attr {
    struct nlattr a;
    uint32_t block;
};

static const struct kind_attr clsact_attr = { { 11, TCA_KIND }, "clsact" };
static const struct kind_attr ingress_attr = { { 12, TCA_KIND }, "ingress" };

/* ## Get. */

static void
test_get_request(void **state)
{
    (void) state;
    begin();
    assert_int_equal(get(), 0);
    assert_int_equal(k->n_requests, 1);
    assert_request(RTM_GETQDISC, NLM_F_REQUEST | NLM_F_ECHO | NLM_F_ACK, 0,
                   NULL, 0);
    end();
}

/* The two ways in which the kernel says that there is nothing. */
static void
test_get_none(void **state)
{
    (void) state;
    begin();
    assert_int_equal(get(), 0);
    assert_qdisc(TCNL_QDISC_NONE, 0, 0);
    end();

    begin();
    k->verdicts[0].error = ENOENT;
    k->verdicts[0].text = "Cannot find specified qdisc on specified device";
    assert_int_equal(get(), 0);
    assert_qdisc(TCNL_QDISC_NONE, 0, 0);
    end();
}

static void
test_get_kinds(void **state)
{
    static const struct {
        const char *name;
        enum tcnl_qdisc_kind kind;
    } cases[] = {
        { "ingress", TCNL_QDISC_INGRESS },
        { "clsact", TCNL_QDISC_CLSACT },
        { "something", TCNL_QDISC_OTHER },
        { "clsact2", TCNL_QDISC_OTHER },
        { "ingres", TCNL_QDISC_OTHER },
        { "", TCNL_QDISC_OTHER },
        { NULL, TCNL_QDISC_OTHER },
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin();
        make_reply(cases[i].name, 0, 0);
        assert_int_equal(get(), 0);
        assert_qdisc(cases[i].kind, 0, 0);
        end();
    }
}

static void
test_get_blocks(void **state)
{
    (void) state;
    begin();
    make_reply("ingress", 77, 0);
    assert_int_equal(get(), 0);
    assert_qdisc(TCNL_QDISC_INGRESS, 77, 0);
    end();

    begin();
    make_reply("clsact", UINT32_MAX, 78);
    assert_int_equal(get(), 0);
    assert_qdisc(TCNL_QDISC_CLSACT, UINT32_MAX, 78);
    end();
}

/* Where the caller wants no details. */
static void
test_get_no_error(void **state)
{
    (void) state;
    begin();
    k->verdicts[0].error = ENOENT;
    assert_int_equal(tcnl_qdisc_get(&k->transport, IFINDEX, &qdisc, NULL), 0);
    assert_int_equal(qdisc.kind, TCNL_QDISC_NONE);
    end();

    begin();
    begin_reply(RTM_NEWTFILTER, "clsact");
    end_reply();
    assert_int_equal(tcnl_qdisc_get(&k->transport, IFINDEX, &qdisc, NULL),
                     EBADMSG);
    end();
}

static void
test_get_refused(void **state)
{
    (void) state;
    begin();
    k->verdicts[0].error = ENODEV;
    k->verdicts[0].text = "No such device";
    k->verdicts[0].offset = 20;
    assert_int_equal(get(), ENODEV);
    assert_int_equal(error.error, ENODEV);
    assert_string_equal(error.text, "No such device");
    assert_true(error.has_offset);
    assert_int_equal(error.offset, 20);
    end();
}

/* A reply of every length that is too short is refused; what ends between two
 * attributes is a whole one for all that can be known. */
static void
test_get_truncated(void **state)
{
    size_t whole, kind_end = NLMSG_LENGTH(sizeof(struct tcmsg)) + 12;

    (void) state;
    begin();
    begin_reply(RTM_NEWQDISC, "clsact");
    tcnl_put_u32(&reply, TCA_INGRESS_BLOCK, 77);
    end_reply();
    whole = reply.used;
    end();

    for (size_t len = NLMSG_HDRLEN; len < whole; len++) {
        bool is_end = len == kind_end - 12 || len == kind_end - 1
                      || len == kind_end;
        struct nlmsghdr *nlh = (void *) reply_memory;

        begin();
        nlh->nlmsg_len = len;
        k->verdicts[0].message = nlh;
        assert_int_equal(get(), is_end ? 0 : EBADMSG);
        assert_int_equal(error.error, is_end ? 0 : EBADMSG);
        assert_string_equal(error.text, "");
        end();
    }
}

static void
test_get_malformed(void **state)
{
    (void) state;
    for (int i = 0; i < 4; i++) {
        begin();
        begin_reply(i == 0 ? RTM_DELQDISC : i == 1 ? RTM_NEWTFILTER
                    : RTM_NEWQDISC, "clsact");
        if (i >= 2) {
            tcnl_put_u16(&reply, i == 2 ? TCA_INGRESS_BLOCK
                                        : TCA_EGRESS_BLOCK, 1);
        }
        end_reply();
        assert_int_equal(get(), EBADMSG);
        assert_int_equal(error.error, EBADMSG);
        assert_string_equal(error.text, "");
        end();
    }
}

/* Replies to others, before and behind ours, are not ours. */
static void
test_get_foreign(void **state)
{
    (void) state;
    begin();
    k->foreign = true;
    assert_int_equal(get(), 0);
    assert_qdisc(TCNL_QDISC_NONE, 0, 0);
    end();

    for (int twice = 0; twice < 2; twice++) {
        begin();
        k->foreign = true;
        k->verdicts[0].twice = twice;
        make_reply("ingress", 5, 0);
        assert_int_equal(get(), 0);
        assert_qdisc(TCNL_QDISC_INGRESS, 5, 0);
        end();
    }

    /* A reply that was left over from an earlier request, of another qdisc. */
    begin();
    make_reply("clsact", 0, 0);
    ((struct nlmsghdr *) reply_memory)->nlmsg_seq = 12345;
    fake_queue_datagram(k, reply_memory, reply.used);
    k->verdicts[0].message = NULL;
    assert_int_equal(get(), 0);
    assert_qdisc(TCNL_QDISC_NONE, 0, 0);
    end();
}

/* A lost answer is not the answer that there is nothing. */
static void
test_get_lost(void **state)
{
    (void) state;
    for (int how = 0; how < 5; how++) {
        int expected = how == 4 ? EPROTO : ENOBUFS;

        begin();
        make_reply("clsact", 0, 0);
        k->overflow_at = how == 0 ? 0 : FAKE_NEVER;
        k->truncate_at = how == 1 ? 0 : FAKE_NEVER;
        k->damage_at = how == 2 ? 0 : FAKE_NEVER;
        k->verdicts[0].lose_reply = how >= 3;
        k->truncate_at = how == 3 ? 0 : k->truncate_at;
        k->verdicts[0].lose_ack = how == 4;
        assert_int_equal(get(), expected);
        assert_int_equal(error.error, expected);
        end();
    }
}

/* A reply proves that the request was executed, with or without its ack. */
static void
test_get_ack_lost(void **state)
{
    (void) state;
    for (int how = 0; how < 3; how++) {
        begin();
        make_reply("clsact", 0, 0);
        k->verdicts[0].lose_ack = how == 0;
        k->overflow_at = how == 1 ? 1 : FAKE_NEVER;
        k->damage_at = how == 2 ? 1 : FAKE_NEVER;
        assert_int_equal(get(), 0);
        assert_qdisc(TCNL_QDISC_CLSACT, 0, 0);
        end();
    }
}

/* ## Add and delete. */

static int
add(enum tcnl_qdisc_kind kind, uint32_t block)
{
    return tcnl_qdisc_add(&k->transport, IFINDEX, kind, block, &error);
}

static int
del(enum tcnl_qdisc_kind kind)
{
    return tcnl_qdisc_del(&k->transport, IFINDEX, kind, &error);
}

static void
test_add(void **state)
{
    static const struct {
        struct kind_attr kind;
        struct block_attr block;
    } both = {
        { { 12, TCA_KIND }, "ingress" }, { { 8, TCA_INGRESS_BLOCK }, 77 },
    };
    const uint16_t flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE
                           | NLM_F_EXCL;

    (void) state;
    begin();
    assert_int_equal(add(TCNL_QDISC_CLSACT, 0), 0);
    assert_int_equal(error.error, 0);
    assert_request(RTM_NEWQDISC, flags, 0xffff0000, &clsact_attr,
                   sizeof clsact_attr);
    assert_int_equal(add(TCNL_QDISC_INGRESS, 0), 0);
    assert_request(RTM_NEWQDISC, flags, 0xffff0000, &ingress_attr,
                   sizeof ingress_attr);
    assert_int_equal(add(TCNL_QDISC_INGRESS, 77), 0);
    assert_request(RTM_NEWQDISC, flags, 0xffff0000, &both, sizeof both);
    assert_int_equal(k->n_requests, 3);
    end();
}

static void
test_del(void **state)
{
    const uint16_t flags = NLM_F_REQUEST | NLM_F_ACK;

    (void) state;
    begin();
    assert_int_equal(del(TCNL_QDISC_CLSACT), 0);
    assert_int_equal(error.error, 0);
    assert_request(RTM_DELQDISC, flags, 0xffff0000, &clsact_attr,
                   sizeof clsact_attr);
    assert_int_equal(del(TCNL_QDISC_INGRESS), 0);
    assert_request(RTM_DELQDISC, flags, 0xffff0000, &ingress_attr,
                   sizeof ingress_attr);
    end();
}

/* What is no kind of ours is never sent. */
static void
test_change_invalid(void **state)
{
    (void) state;
    begin();
    assert_int_equal(add(TCNL_QDISC_NONE, 0), EINVAL);
    assert_int_equal(error.error, EINVAL);
    assert_string_equal(error.text, "");
    assert_int_equal(add(TCNL_QDISC_OTHER, 0), EINVAL);
    assert_int_equal(del(TCNL_QDISC_NONE), EINVAL);
    assert_int_equal(del(TCNL_QDISC_OTHER), EINVAL);
    assert_int_equal(tcnl_qdisc_del(&k->transport, IFINDEX, TCNL_QDISC_OTHER,
                                    NULL), EINVAL);
    assert_int_equal(k->n_sends, 0);
    end();
}

static void
test_change_refused(void **state)
{
    (void) state;
    begin();
    k->verdicts[0].error = EEXIST;
    k->verdicts[0].text = "Exclusivity flag on, cannot modify";
    k->verdicts[1].error = ENOENT;
    k->verdicts[2].error = EINVAL;
    k->verdicts[2].text = "Invalid qdisc name";
    assert_int_equal(add(TCNL_QDISC_CLSACT, 0), EEXIST);
    assert_int_equal(error.error, EEXIST);
    assert_string_equal(error.text, "Exclusivity flag on, cannot modify");
    assert_int_equal(add(TCNL_QDISC_CLSACT, 0), ENOENT);
    assert_int_equal(error.error, ENOENT);
    assert_string_equal(error.text, "");
    assert_int_equal(del(TCNL_QDISC_CLSACT), EINVAL);
    assert_int_equal(error.error, EINVAL);
    assert_string_equal(error.text, "Invalid qdisc name");
    end();
}

static void
test_change_ack_lost(void **state)
{
    (void) state;
    begin();
    k->overflow_at = 0;
    k->verdicts[1].lose_ack = true;
    k->verdicts[2].lose_ack = true;
    assert_int_equal(add(TCNL_QDISC_CLSACT, 0), ENOBUFS);
    assert_int_equal(error.error, ENOBUFS);
    assert_int_equal(add(TCNL_QDISC_INGRESS, 1), EPROTO);
    assert_int_equal(error.error, EPROTO);
    assert_int_equal(del(TCNL_QDISC_INGRESS), EPROTO);
    assert_int_equal(error.error, EPROTO);
    assert_int_equal(k->n_requests, 3);
    end();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_get_request),
        cmocka_unit_test(test_get_none),
        cmocka_unit_test(test_get_kinds),
        cmocka_unit_test(test_get_blocks),
        cmocka_unit_test(test_get_no_error),
        cmocka_unit_test(test_get_refused),
        cmocka_unit_test(test_get_truncated),
        cmocka_unit_test(test_get_malformed),
        cmocka_unit_test(test_get_foreign),
        cmocka_unit_test(test_get_lost),
        cmocka_unit_test(test_get_ack_lost),
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_del),
        cmocka_unit_test(test_change_invalid),
        cmocka_unit_test(test_change_refused),
        cmocka_unit_test(test_change_ack_lost),
    };

    return cmocka_run_group_tests_name("qdisc", tests, NULL, NULL);
}
