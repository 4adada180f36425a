/* SPDX-License-Identifier: Apache-2.0 */

/* A hostile kernel answers a dump.  The first byte says after how many
 * receives the caller loses patience (0: never), the rest is what is received
 * (see fake/fake-input.h). */

#include <stdlib.h>
#include <string.h>
#include "fake/fake-input.h"
#include "tcnl/dump.h"

#define FUZZ_TYPE 0x123

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t memory[TCNL_DUMP_BUFSIZE / 4];

static void
require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static int
put_dump(struct tcnl_buffer *buffer, const void *arg)
{
    (void) arg;
    tcnl_msg_begin(buffer, FUZZ_TYPE, NLM_F_REQUEST | NLM_F_DUMP, NULL, 0);
    return tcnl_msg_end(buffer, NULL);
}

/* Walks a copy that is exactly as long as the datagram. */
static void
walk(const struct tcnl_dump *d, size_t len)
{
    const struct nlmsghdr *nlh;
    void *copy = malloc(len ? len : 1);
    size_t ofs = 0;

    require(copy != NULL);
    memcpy(copy, memory, len);
    while ((nlh = tcnl_dump_walk(d->seq, copy, len, &ofs))) {
        require(nlh->nlmsg_seq == d->seq);
        fake_input_touch(nlh);
    }
    require(ofs <= len);
    free(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned int patience = size ? data[0] : 0;
    enum tcnl_dump_status status;
    struct fake_input input;
    struct tcnl_dump d;

    fake_input_init(&input, size ? data + 1 : data, size ? size - 1 : 0);
    require(!tcnl_dump_start(&d, &input.transport, put_dump, NULL));
    do {
        size_t len;

        status = tcnl_dump_recv(&d, memory, sizeof memory, &len);
        walk(&d, len);
    } while (status == TCNL_DUMP_RUNNING && --patience);

    status = tcnl_dump_finish(&d);
    require(status != TCNL_DUMP_RUNNING);
    require((status == TCNL_DUMP_COMPLETE) == !d.error.error);
    require(memchr(d.error.text, 0, sizeof d.error.text));
    require(status != TCNL_DUMP_COMPLETE || !d.interrupted);
    return 0;
}
