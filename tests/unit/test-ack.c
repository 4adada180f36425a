/* SPDX-License-Identifier: Apache-2.0 */

/* Acks: codes, texts and offsets, and what a hostile kernel could put there.
 * Messages stand in heap memory of just their size, so that ASan sees any
 * byte that is read behind them. */

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <libmnl/libmnl.h>
#include "tcnl/ack.h"
#include "tcnl/datagram.h"

static uint32_t memory[1024];
static struct nlmsghdr *const nlh = (void *) memory;

/* Begins an ack of a request of 'request_len' bytes in 'nlh'. */
static void
make_ack(int code, size_t request_len, uint16_t flags)
{
    struct nlmsgerr *err;

    memset(memory, 0, sizeof memory);
    mnl_nlmsg_put_header(nlh);
    nlh->nlmsg_type = NLMSG_ERROR;
    nlh->nlmsg_flags = flags;
    err = mnl_nlmsg_put_extra_header(nlh, offsetof(struct nlmsgerr, msg)
                                          + request_len);
    err->error = code;
    err->msg.nlmsg_len = request_len;
}

static void
make_done(int code, uint16_t flags)
{
    memset(memory, 0, sizeof memory);
    mnl_nlmsg_put_header(nlh);
    nlh->nlmsg_type = NLMSG_DONE;
    nlh->nlmsg_flags = flags;
    memcpy(mnl_nlmsg_put_extra_header(nlh, sizeof code), &code, sizeof code);
}

/* Parses the first 'len' bytes of 'nlh' as a message of that length. */
static int
parse_cut(size_t len, struct tcnl_error *e)
{
    struct nlmsghdr *copy = malloc(len);
    int error;

    memcpy(copy, nlh, len);
    copy->nlmsg_len = len;
    error = copy->nlmsg_type == NLMSG_DONE
            ? tcnl_done_parse(copy, e) : tcnl_ack_parse(copy, e);
    free(copy);
    return error;
}

static int
parse(struct tcnl_error *e)
{
    return parse_cut(nlh->nlmsg_len, e);
}

static void
test_success(void **state)
{
    struct tcnl_error e;

    (void) state;
    make_ack(0, 16, NLM_F_CAPPED);
    assert_int_equal(parse(&e), 0);
    assert_int_equal(e.error, 0);
    assert_false(e.has_offset);
    assert_string_equal(e.text, "");
}

static void
test_warning(void **state)
{
    struct tcnl_error e;

    (void) state;
    make_ack(0, 16, NLM_F_CAPPED | NLM_F_ACK_TLVS);
    mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, "not offloaded");
    assert_int_equal(parse(&e), 0);
    assert_int_equal(e.error, 0);
    assert_string_equal(e.text, "not offloaded");
}

static void
test_error(void **state)
{
    struct tcnl_error e;

    (void) state;
    make_ack(-EEXIST, 16, NLM_F_CAPPED | NLM_F_ACK_TLVS);
    mnl_attr_put_u32(nlh, NLMSGERR_ATTR_OFFS, 36);
    mnl_attr_put_u32(nlh, NLMSGERR_ATTR_COOKIE, 1);
    mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, "Filter already exists");
    assert_int_equal(parse(&e), 0);
    assert_int_equal(e.error, EEXIST);
    assert_true(e.has_offset);
    assert_int_equal(e.offset, 36);
    assert_string_equal(e.text, "Filter already exists");
}

/* Attributes that the flag does not announce are none. */
static void
test_no_tlv_flag(void **state)
{
    struct tcnl_error e;

    (void) state;
    make_ack(-EINVAL, 16, NLM_F_CAPPED);
    mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, "ghost");
    assert_int_equal(parse(&e), 0);
    assert_string_equal(e.text, "");
}

/* Without NETLINK_CAP_ACK the whole request stands before the text. */
static void
test_uncapped(void **state)
{
    struct tcnl_error e;

    (void) state;
    for (size_t len = 16; len < 40; len++) {
        make_ack(-EINVAL, len, NLM_F_ACK_TLVS);
        mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, "bad");
        assert_int_equal(parse(&e), 0);
        assert_int_equal(e.error, EINVAL);
        assert_string_equal(e.text, "bad");
    }
}

/* The request's length is the kernel's word too. */
static void
test_uncapped_bad_length(void **state)
{
    static const uint32_t lengths[] = {
        0, 1, 15, 48, 4096, INT32_MAX, UINT32_MAX - 16, UINT32_MAX,
    };
    struct tcnl_error e;

    (void) state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct nlmsgerr *err;

        make_ack(-EINVAL, 16, NLM_F_ACK_TLVS);
        mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, "bad");
        err = mnl_nlmsg_get_payload(nlh);
        err->msg.nlmsg_len = lengths[i];
        assert_int_equal(parse(&e), 0);
        assert_int_equal(e.error, EINVAL);
        assert_string_equal(e.text, "");
    }
}

static void
test_long_text(void **state)
{
    char text[3 * TCNL_ERROR_TEXT_MAX];
    struct tcnl_error e;

    (void) state;
    memset(text, 'x', sizeof text);
    for (size_t len = 0; len < sizeof text; len++) {
        size_t kept = len < TCNL_ERROR_TEXT_MAX ? len
                                                : TCNL_ERROR_TEXT_MAX - 1;

        /* Not terminated either. */
        make_ack(-EINVAL, 16, NLM_F_CAPPED | NLM_F_ACK_TLVS);
        mnl_attr_put(nlh, NLMSGERR_ATTR_MSG, len, text);
        assert_int_equal(parse_cut(16 + 20 + 4 + len, &e), 0);
        assert_int_equal(strlen(e.text), kept);
        assert_memory_equal(e.text, text, kept);
    }
}

static void
test_bad_offset(void **state)
{
    struct tcnl_error e;

    (void) state;
    make_ack(-EINVAL, 16, NLM_F_CAPPED | NLM_F_ACK_TLVS);
    mnl_attr_put_u16(nlh, NLMSGERR_ATTR_OFFS, 1);
    mnl_attr_put_u64(nlh, NLMSGERR_ATTR_OFFS, 1);
    mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, "bad");
    assert_int_equal(parse(&e), 0);
    assert_false(e.has_offset);
    assert_string_equal(e.text, "bad");
}

/* A malformed attribute ends the list; what was before it counts. */
static void
test_bad_attribute(void **state)
{
    static const uint16_t lengths[] = { 0, 3, 9, 0xffff };
    struct tcnl_error e;

    (void) state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct nlattr *attr;

        make_ack(-EINVAL, 16, NLM_F_CAPPED | NLM_F_ACK_TLVS);
        mnl_attr_put_u32(nlh, NLMSGERR_ATTR_OFFS, 20);
        attr = mnl_nlmsg_get_payload_tail(nlh);
        mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, "bad");
        attr->nla_len = lengths[i];
        assert_int_equal(parse(&e), 0);
        assert_int_equal(e.error, EINVAL);
        assert_int_equal(e.offset, 20);
        assert_string_equal(e.text, "");
    }
}

/* Cut at every length, an ack is refused or read, never read beyond. */
static void
test_cut_anywhere(void **state)
{
    struct tcnl_error e;

    (void) state;
    make_ack(-EINVAL, 24, NLM_F_ACK_TLVS);
    mnl_attr_put_u32(nlh, NLMSGERR_ATTR_OFFS, 20);
    mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, "bad");
    for (size_t len = 16; len <= nlh->nlmsg_len; len++) {
        assert_int_equal(parse_cut(len, &e), len < 36 ? EBADMSG : 0);
    }
    make_done(-EINVAL, NLM_F_ACK_TLVS);
    mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, "bad");
    for (size_t len = 16; len <= nlh->nlmsg_len; len++) {
        assert_int_equal(parse_cut(len, &e), len < 20 ? EBADMSG : 0);
    }
}

/* No negative errno: the message cannot be what it says it is. */
static void
test_bad_code(void **state)
{
    static const int codes[] = { 1, INT_MAX, INT_MIN, -4096 };
    struct tcnl_error e;

    (void) state;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        make_ack(codes[i], 16, NLM_F_CAPPED);
        assert_int_equal(parse(&e), EBADMSG);
        make_done(codes[i], 0);
        assert_int_equal(parse(&e), EBADMSG);
    }
    make_ack(-4095, 16, NLM_F_CAPPED);
    assert_int_equal(parse(&e), 0);
    assert_int_equal(e.error, 4095);
}

static void
test_wrong_type(void **state)
{
    struct tcnl_error e;

    (void) state;
    make_ack(0, 16, NLM_F_CAPPED);
    assert_int_equal(tcnl_done_parse(nlh, &e), EBADMSG);
    make_done(0, 0);
    assert_int_equal(tcnl_ack_parse(nlh, &e), EBADMSG);
}

static void
test_done(void **state)
{
    struct tcnl_error e;

    (void) state;
    make_done(0, NLM_F_MULTI);
    assert_int_equal(parse(&e), 0);
    assert_int_equal(e.error, 0);

    make_done(-EINVAL, NLM_F_MULTI | NLM_F_ACK_TLVS);
    mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, "unknown flag");
    assert_int_equal(parse(&e), 0);
    assert_int_equal(e.error, EINVAL);
    assert_string_equal(e.text, "unknown flag");
}

/* ## Datagrams. */

static void
test_datagram(void **state)
{
    size_t ofs = 0;

    (void) state;
    make_ack(0, 16, 0);
    memcpy(memory + 9, memory, 36);
    assert_ptr_equal(tcnl_datagram_next(memory, 72, &ofs), memory);
    assert_ptr_equal(tcnl_datagram_next(memory, 72, &ofs), memory + 9);
    assert_null(tcnl_datagram_next(memory, 72, &ofs));
    assert_int_equal(ofs, 72);

    /* The last message needs no padding. */
    nlh->nlmsg_len = 33;
    ofs = 0;
    assert_non_null(tcnl_datagram_next(memory, 33, &ofs));
    assert_int_equal(ofs, 33);
}

static void
test_datagram_damaged(void **state)
{
    static const uint32_t lengths[] = {
        0, 15, 37, 0x7fffffff, 0x80000000, 0xfffffff0, UINT32_MAX,
    };

    (void) state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        size_t ofs = 0;

        make_ack(0, 16, 0);
        nlh->nlmsg_len = lengths[i];
        assert_null(tcnl_datagram_next(memory, 36, &ofs));
        assert_int_equal(ofs, 0);
    }
    for (size_t len = 0; len < 16; len++) {
        size_t ofs = 0;

        assert_null(tcnl_datagram_next(memory, len, &ofs));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_success),
        cmocka_unit_test(test_warning),
        cmocka_unit_test(test_error),
        cmocka_unit_test(test_no_tlv_flag),
        cmocka_unit_test(test_uncapped),
        cmocka_unit_test(test_uncapped_bad_length),
        cmocka_unit_test(test_long_text),
        cmocka_unit_test(test_bad_offset),
        cmocka_unit_test(test_bad_attribute),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_bad_code),
        cmocka_unit_test(test_wrong_type),
        cmocka_unit_test(test_done),
        cmocka_unit_test(test_datagram),
        cmocka_unit_test(test_datagram_damaged),
    };

    return cmocka_run_group_tests_name("ack", tests, NULL, NULL);
}
