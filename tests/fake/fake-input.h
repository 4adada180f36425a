/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FAKE_INPUT_H
#define FAKE_INPUT_H 1

/* A transport for fuzz targets: what is received is cut from a string of
 * bytes, what is sent goes nowhere.
 *
 * The bytes are a sequence of receives.  Each begins with two bytes, little
 * endian: below 0x8000 the length of the datagram that follows, from there on
 * an error, chosen by the low bits.  In the end there is EAGAIN. */

#include <stddef.h>
#include <stdint.h>
#include <linux/netlink.h>
#include "tcnl/transport.h"

struct fake_input {
    struct tcnl_transport transport;    /* First, the two are cast. */
    const uint8_t *data;
    size_t left;
};

void fake_input_init(struct fake_input *, const uint8_t *data, size_t size);

/* Reads every byte of 'nlh', for sanitizers to see that it may.  The sum that
 * it returns only keeps the compiler from leaving that out. */
unsigned int fake_input_touch(const struct nlmsghdr *nlh);

#endif /* fake-input.h */
