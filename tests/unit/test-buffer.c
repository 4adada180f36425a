/* SPDX-License-Identifier: Apache-2.0 */

/* Building messages: what does not fit is taken back as a whole. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include "fake/fake-sample.h"
#include "tcnl/buffer.h"
#include "tcnl/filter.h"

/* The message of put_message(): headers, a u32, a string, and a nest with a
 * u8. */
#define MESSAGE_LEN (16 + 20 + 8 + 12 + 4 + 8)

static uint32_t memory[64];
static struct tcnl_buffer buffer;

static int
put_message(struct tcnl_buffer *b, struct nlmsghdr **nlh)
{
    struct tcmsg tcm = { .tcm_ifindex = 7 };
    size_t mark;

    tcnl_msg_begin(b, RTM_NEWTFILTER, NLM_F_REQUEST, &tcm, sizeof tcm);
    tcnl_put_u32(b, 1, 0x12345678);
    tcnl_put_string(b, 2, "flower");
    mark = tcnl_nest_begin(b, 3);
    tcnl_put_u8(b, 4, 5);
    tcnl_nest_end(b, mark);
    return tcnl_msg_end(b, nlh);
}

static void
test_message(void **state)
{
    const struct nlattr *attr;
    struct nlmsghdr *nlh;
    int n = 0;

    (void) state;
    tcnl_buffer_init(&buffer, memory, sizeof memory);
    assert_int_equal(put_message(&buffer, &nlh), 0);
    assert_ptr_equal(nlh, memory);
    assert_int_equal(nlh->nlmsg_type, RTM_NEWTFILTER);
    assert_int_equal(nlh->nlmsg_flags, NLM_F_REQUEST);
    assert_int_equal(nlh->nlmsg_len, MESSAGE_LEN);
    assert_int_equal(buffer.used, MESSAGE_LEN);
    assert_null(buffer.msg);

    mnl_attr_for_each(attr, nlh, sizeof(struct tcmsg)) {
        n++;
        assert_int_equal(mnl_attr_get_type(attr), n);
        if (n == 1) {
            assert_int_equal(mnl_attr_get_u32(attr), 0x12345678);
        } else if (n == 2) {
            assert_string_equal(mnl_attr_get_str(attr), "flower");
        } else {
            attr = mnl_attr_get_payload(attr);
            assert_int_equal(mnl_attr_get_u8(attr), 5);
        }
    }
    assert_int_equal(n, 3);
}

/* In a buffer of every size the second message is there wholly or not at
 * all, and nothing is written behind the end (which ASan would see too). */
static void
test_every_size(void **state)
{
    (void) state;
    for (size_t size = 0; size <= 2 * MESSAGE_LEN; size++) {
        uint8_t *data = malloc(2 * MESSAGE_LEN + 8);
        int first, second;

        memset(data, 0xa5, 2 * MESSAGE_LEN + 8);
        tcnl_buffer_init(&buffer, data, size);
        first = put_message(&buffer, NULL);
        second = put_message(&buffer, NULL);
        assert_int_equal(first, size < MESSAGE_LEN ? EMSGSIZE : 0);
        assert_int_equal(second, size < 2 * MESSAGE_LEN ? EMSGSIZE : 0);
        assert_int_equal(buffer.used, size / MESSAGE_LEN * MESSAGE_LEN);
        for (size_t i = size; i < 2 * MESSAGE_LEN + 8; i++) {
            assert_int_equal(data[i], 0xa5);
        }
        free(data);
    }
}

/* A message that failed does not spoil the next one. */
static void
test_rollback(void **state)
{
    uint8_t big[sizeof memory] = { 0 };
    struct nlmsghdr *nlh;

    (void) state;
    tcnl_buffer_init(&buffer, memory, sizeof memory);
    assert_int_equal(put_message(&buffer, NULL), 0);

    tcnl_msg_begin(&buffer, RTM_NEWTFILTER, 0, NULL, 0);
    tcnl_put(&buffer, 1, big, sizeof big);
    tcnl_put_u32(&buffer, 2, 1);        /* Would fit, but comes too late. */
    tcnl_nest_end(&buffer, tcnl_nest_begin(&buffer, 3));
    assert_int_equal(tcnl_msg_end(&buffer, NULL), EMSGSIZE);
    assert_int_equal(buffer.used, MESSAGE_LEN);

    assert_int_equal(put_message(&buffer, &nlh), 0);
    assert_int_equal(buffer.used, 2 * MESSAGE_LEN);
    assert_int_equal(nlh->nlmsg_len, MESSAGE_LEN);
}

static void
test_cancel(void **state)
{
    (void) state;
    tcnl_buffer_init(&buffer, memory, sizeof memory);
    tcnl_msg_begin(&buffer, RTM_NEWTFILTER, 0, NULL, 0);
    tcnl_put_u32(&buffer, 1, 1);
    tcnl_msg_cancel(&buffer);
    assert_int_equal(buffer.used, 0);
    assert_int_equal(put_message(&buffer, NULL), 0);

    tcnl_buffer_reset(&buffer);
    assert_int_equal(buffer.used, 0);
}

/* An attribute's length has 16 bits. */
static void
test_attribute_too_long(void **state)
{
    const size_t max = UINT16_MAX - NLA_HDRLEN;
    size_t size = 4 * (UINT16_MAX + 1);
    uint8_t *data = malloc(size);
    uint8_t *zeros = calloc(1, size);

    (void) state;
    tcnl_buffer_init(&buffer, data, size);
    tcnl_msg_begin(&buffer, RTM_NEWTFILTER, 0, NULL, 0);
    tcnl_put(&buffer, 1, zeros, max);
    assert_int_equal(tcnl_msg_end(&buffer, NULL), 0);

    tcnl_msg_begin(&buffer, RTM_NEWTFILTER, 0, NULL, 0);
    tcnl_put(&buffer, 1, zeros, max + 1);
    assert_int_equal(tcnl_msg_end(&buffer, NULL), EMSGSIZE);
    assert_int_equal(buffer.used, NLMSG_HDRLEN + UINT16_MAX + 1);
    free(data);
    free(zeros);
}

static void
test_nest_too_long(void **state)
{
    size_t size = 3 * (UINT16_MAX + 1);
    uint8_t *data = malloc(size);

    (void) state;
    for (unsigned int n = 8190; n <= 8192; n++) {
        size_t mark;

        tcnl_buffer_init(&buffer, data, size);
        tcnl_msg_begin(&buffer, RTM_NEWTFILTER, 0, NULL, 0);
        mark = tcnl_nest_begin(&buffer, 1);
        for (unsigned int i = 0; i < n; i++) {
            tcnl_put_u32(&buffer, 2, i);
        }
        tcnl_nest_end(&buffer, mark);

        /* 4 + 8191 * 8 is the longest that fits in 65535. */
        assert_int_equal(tcnl_msg_end(&buffer, NULL),
                         n > 8191 ? EMSGSIZE : 0);
    }
    free(data);
}

static void
test_integers(void **state)
{
    const struct nlattr *attr;
    struct nlmsghdr *nlh;

    (void) state;
    tcnl_buffer_init(&buffer, memory, sizeof memory);
    tcnl_msg_begin(&buffer, RTM_NEWTFILTER, 0, NULL, 0);
    tcnl_put_u16(&buffer, 1, 0xbeef);
    tcnl_put_u64(&buffer, 2, UINT64_C(0x123456789abcdef0));
    tcnl_put(&buffer, 3, NULL, 0);      /* A flag. */
    assert_int_equal(tcnl_msg_end(&buffer, &nlh), 0);

    attr = mnl_nlmsg_get_payload(nlh);
    assert_int_equal(mnl_attr_get_u16(attr), 0xbeef);
    attr = mnl_attr_next(attr);
    assert_true(mnl_attr_get_u64(attr) == UINT64_C(0x123456789abcdef0));
    attr = mnl_attr_next(attr);
    assert_int_equal(mnl_attr_get_payload_len(attr), 0);
}

/* ## The same bytes, whatever was in the memory before. */

/* Attributes of every length modulo 4, and none. */
static void
put_lengths(struct tcnl_buffer *b)
{
    static const uint8_t ones[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    size_t mark;

    tcnl_msg_begin(b, RTM_NEWTFILTER, 0, ones, 5);
    mark = tcnl_nest_begin(b, 1);
    for (size_t len = 0; len <= sizeof ones; len++) {
        tcnl_put(b, 2, ones, len);
    }
    tcnl_put_u8(b, 3, 1);
    tcnl_put_u16(b, 4, 1);
    tcnl_put_string(b, 5, "");
    tcnl_nest_end(b, mark);
    assert_int_equal(tcnl_msg_end(b, NULL), 0);
}

static void
test_padding(void **state)
{
    const struct nlattr *nest, *attr;

    (void) state;
    memset(memory, 0xa5, sizeof memory);
    tcnl_buffer_init(&buffer, memory, sizeof memory);
    put_lengths(&buffer);
    nest = mnl_nlmsg_get_payload_offset((void *) memory, 5);
    assert_memory_equal((uint8_t *) nest - 3, "\0\0\0", 3);
    mnl_attr_for_each_nested(attr, nest) {
        size_t len = mnl_attr_get_payload_len(attr);
        const uint8_t *payload = mnl_attr_get_payload(attr);

        for (size_t i = len; i < MNL_ALIGN(len); i++) {
            assert_int_equal(payload[i], 0);
        }
    }
}

/* An attribute that ends with the buffer pads up to its end only. */
static void
test_padding_at_end(void **state)
{
    size_t size = NLMSG_HDRLEN + NLA_HDRLEN + 4;

    (void) state;
    for (size_t len = 1; len <= 5; len++) {
        uint8_t *data = malloc(size);

        memset(data, 0xa5, size);
        tcnl_buffer_init(&buffer, data, size);
        tcnl_msg_begin(&buffer, RTM_NEWTFILTER, 0, NULL, 0);
        tcnl_put(&buffer, 1, "abcde", len);
        assert_int_equal(tcnl_msg_end(&buffer, NULL), len > 4 ? EMSGSIZE : 0);
        for (size_t i = len; i < 4; i++) {
            assert_int_equal(data[NLMSG_HDRLEN + NLA_HDRLEN + i], 0);
        }
        free(data);
    }
}

/* Whole filters with every key and every action: a structure that goes into a
 * message must not have leftovers either. */
static void
test_leftovers(void **state)
{
    static struct sample samples[SAMPLE_MAX];
    static uint32_t clean[4096], dirty[4096];
    unsigned int n = samples_make(samples, 1);

    (void) state;
    for (unsigned int i = 0; i < n; i++) {
        const struct sample *s = &samples[i];
        struct tcnl_buffer b;

        memset(clean, 0, sizeof clean);
        tcnl_buffer_init(&buffer, clean, sizeof clean);
        assert_int_equal(tcnl_filter_put_new(&buffer, &s->id, &s->flower,
                                             &s->actions, 0), 0);
        memset(dirty, 0xa5, sizeof dirty);
        tcnl_buffer_init(&b, dirty, sizeof dirty);
        assert_int_equal(tcnl_filter_put_new(&b, &s->id, &s->flower,
                                             &s->actions, 0), 0);
        assert_int_equal(b.used, buffer.used);
        assert_memory_equal(dirty, clean, b.used);
    }
}

/* ## Attributes of another message. */

/* The attributes of put_message(), moved to a message of another header, make
 * the same message as if they were put there. */
static void
test_put_attrs(void **state)
{
    static uint32_t source_memory[64];
    struct tcmsg tcm = { .tcm_ifindex = 7, .tcm_handle = 8 };
    const size_t attrs_len = MESSAGE_LEN - NLMSG_LENGTH(sizeof tcm);
    struct tcnl_buffer source;
    struct nlmsghdr *from, *to;
    const uint8_t *attrs;

    (void) state;
    tcnl_buffer_init(&source, source_memory, sizeof source_memory);
    assert_int_equal(put_message(&source, &from), 0);
    attrs = mnl_nlmsg_get_payload_offset(from, sizeof tcm);

    tcnl_buffer_init(&buffer, memory, sizeof memory);
    assert_int_equal(put_message(&buffer, NULL), 0);
    tcnl_msg_begin(&buffer, RTM_DELTFILTER, 0, &tcm, sizeof tcm);
    tcnl_put_attrs(&buffer, attrs, attrs_len);
    tcnl_put_attrs(&buffer, attrs, 0);
    tcnl_put_u32(&buffer, 9, 10);
    assert_int_equal(tcnl_msg_end(&buffer, &to), 0);
    assert_ptr_equal(to, (uint8_t *) memory + MESSAGE_LEN);
    assert_int_equal(to->nlmsg_len, MESSAGE_LEN + 8);
    assert_int_equal(buffer.used, 2 * MESSAGE_LEN + 8);
    assert_memory_equal(mnl_nlmsg_get_payload_offset(to, sizeof tcm), attrs,
                        attrs_len);
    assert_int_equal(mnl_attr_get_u32((void *) ((uint8_t *) to
                                                + MESSAGE_LEN)), 10);
}

/* In a nest they count for its length, and what does not fit takes the whole
 * message back. */
static void
test_put_attrs_nested(void **state)
{
    static const struct nlattr attrs[2] = { { 4, 1 }, { 4, 2 } };
    const size_t whole = NLMSG_HDRLEN + NLA_HDRLEN + sizeof attrs;

    (void) state;
    for (size_t size = 0; size <= whole; size += 4) {
        uint8_t *data = malloc(size + 1);
        size_t mark;

        tcnl_buffer_init(&buffer, data, size);
        tcnl_msg_begin(&buffer, RTM_NEWTFILTER, 0, NULL, 0);
        mark = tcnl_nest_begin(&buffer, 3);
        tcnl_put_attrs(&buffer, attrs, sizeof attrs);
        tcnl_nest_end(&buffer, mark);
        assert_int_equal(tcnl_msg_end(&buffer, NULL),
                         size < whole ? EMSGSIZE : 0);
        assert_int_equal(buffer.used, size < whole ? 0 : whole);
        if (size == whole) {
            const struct nlattr *nest = (void *) (data + NLMSG_HDRLEN);

            assert_int_equal(nest->nla_len, NLA_HDRLEN + sizeof attrs);
            assert_memory_equal(nest + 1, attrs, sizeof attrs);
        }
        free(data);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message),
        cmocka_unit_test(test_every_size),
        cmocka_unit_test(test_rollback),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_attribute_too_long),
        cmocka_unit_test(test_nest_too_long),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_padding),
        cmocka_unit_test(test_padding_at_end),
        cmocka_unit_test(test_leftovers),
        cmocka_unit_test(test_put_attrs),
        cmocka_unit_test(test_put_attrs_nested),
    };

    return cmocka_run_group_tests_name("buffer", tests, NULL, NULL);
}
