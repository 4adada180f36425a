/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_TEMPLATE_H
#define TCNL_TEMPLATE_H 1

/* A message that adds a filter, kept to make others of it: they differ in
 * handle, flags, cookie and values of keys, and are otherwise the same bytes.
 *
 * Not thread-safe. */

#include <stddef.h>
#include <stdint.h>
#include "action.h"
#include "buffer.h"
#include "flower.h"

struct tcnl_template {
    uint8_t *msg;
    size_t len;

    /* Offsets from its start, and 0 for none: values of keys that have an
     * attribute, and cookies. */
    uint16_t values[TCNL_N_KEYS];
    uint16_t cookies[TCNL_MAX_ACTIONS];
    unsigned int n_cookies;
};

/* Copies 'nlh', which tcnl_filter_put_new() has made.  Returns 0; or ENOMEM,
 * EMSGSIZE (it is longer than a template may be) or EBADMSG, and there is
 * nothing to be freed. */
int tcnl_template_init(struct tcnl_template *, const struct nlmsghdr *nlh);
void tcnl_template_uninit(struct tcnl_template *);

/* Sets the value of 'key', which has one, in all messages from now on. */
static inline uint8_t *
tcnl_template_value(const struct tcnl_template *t, enum tcnl_key key)
{
    return t->msg + t->values[key];
}

/* Puts a message with this handle and cookie (of TCNL_COOKIE_LEN bytes), and
 * these flags beside NLM_F_REQUEST.  Returns 0 or EMSGSIZE. */
int tcnl_template_put(struct tcnl_buffer *, const struct tcnl_template *,
                      uint32_t handle, const void *cookie, uint16_t nl_flags);

#endif /* tcnl/template.h */
