/* SPDX-License-Identifier: Apache-2.0 */

/* A hostile kernel answers a batch.  The first byte says how many requests
 * there are and which of them expect data, the rest is what is received (see
 * fake/fake-input.h). */

#include <stdlib.h>
#include <string.h>
#include "fake/fake-input.h"
#include "tcnl/batch.h"

#define FUZZ_TYPE 0x123

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void
take_reply(void *batch, unsigned int slot, const struct nlmsghdr *nlh)
{
    const struct tcnl_batch *b = batch;

    require(slot < b->n_slots && b->slots[slot].expects_reply);
    fake_input_touch(nlh);
}

static void
check_slots(const struct tcnl_batch *b, int result)
{
    bool known = true;

    for (unsigned int i = 0; i < b->n_slots; i++) {
        const struct tcnl_slot *slot = &b->slots[i];

        require(slot->state != TCNL_NOT_SENT);
        require((slot->state == TCNL_OK) == !slot->error.error);
        require(slot->error.error >= 0);
        require(memchr(slot->error.text, 0, sizeof slot->error.text));
        known = known && slot->state != TCNL_UNKNOWN;
    }
    require(known == !result);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fake_input input;
    struct tcnl_batch b;
    uint8_t shape = size ? data[0] : 0;

    fake_input_init(&input, size ? data + 1 : data, size ? size - 1 : 0);
    require(!tcnl_batch_init(&b, &input.transport, 8, 1024));
    b.reply_cb = take_reply;
    b.reply_aux = &b;
    for (unsigned int i = 0; i <= shape % 8; i++) {
        tcnl_msg_begin(&b.buffer, FUZZ_TYPE, NLM_F_REQUEST, NULL, 0);
        require(!tcnl_msg_end(&b.buffer, NULL));
        tcnl_batch_add(&b, shape >> 3 & 1u << i % 4 ? 1024 : 0);
    }
    check_slots(&b, tcnl_batch_flush(&b));
    tcnl_batch_uninit(&b);
    return 0;
}
