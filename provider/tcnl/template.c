/* SPDX-License-Identifier: Apache-2.0 */
#include "template.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include "attr.h"
#include "filter.h"
#include "flower-row.h"

/* Longer messages are rare, and offsets are 16 bits. */
#define MAX_LEN 4096

static uint16_t
offset_of(const struct tcnl_template *t, const void *p)
{
    return (uint16_t) ((const uint8_t *) p - t->msg);
}

static void
note_value(struct tcnl_template *t, const struct nlattr *a)
{
    TCNL_FOR_EACH_ROW (r) {
        if (r->value && r->value == tcnl_attr_type(a)) {
            t->values[r->key] = offset_of(t, tcnl_attr_data(a));
        }
    }
}

static bool
note_values(struct tcnl_template *t, const struct nlattr *options)
{
    struct tcnl_attrs it = tcnl_attrs_nested(options);
    const struct nlattr *a;

    while ((a = tcnl_attrs_next(&it))) {
        note_value(t, a);
    }
    return tcnl_attrs_ok(&it);
}

static bool
note_cookie(struct tcnl_template *t, const struct nlattr *action)
{
    struct tcnl_attrs it = tcnl_attrs_nested(action);
    const struct nlattr *a;

    while ((a = tcnl_attrs_next(&it))) {
        if (tcnl_attr_type(a) == TCA_ACT_COOKIE) {
            if (t->n_cookies == TCNL_MAX_ACTIONS
                || tcnl_attr_len(a) != TCNL_COOKIE_LEN) {
                return false;
            }
            t->cookies[t->n_cookies++] = offset_of(t, tcnl_attr_data(a));
        }
    }
    return tcnl_attrs_ok(&it);
}

static bool
note_cookies(struct tcnl_template *t, const struct nlattr *acts)
{
    struct tcnl_attrs it = tcnl_attrs_nested(acts);
    const struct nlattr *action;

    while ((action = tcnl_attrs_next(&it))) {
        if (!note_cookie(t, action)) {
            return false;
        }
    }
    return tcnl_attrs_ok(&it);
}

int
tcnl_template_init(struct tcnl_template *t, const struct nlmsghdr *nlh)
{
    struct tcnl_filter_info info;

    memset(t, 0, sizeof *t);
    if (nlh->nlmsg_len > MAX_LEN) {
        return EMSGSIZE;
    }
    t->len = nlh->nlmsg_len;
    t->msg = malloc(t->len);
    if (!t->msg) {
        return ENOMEM;
    }
    memcpy(t->msg, nlh, t->len);
    if (tcnl_filter_parse((const void *) t->msg, &info) || !info.acts
        || !note_values(t, info.options) || !note_cookies(t, info.acts)) {
        tcnl_template_uninit(t);
        return EBADMSG;
    }
    return 0;
}

void
tcnl_template_uninit(struct tcnl_template *t)
{
    free(t->msg);
    t->msg = NULL;
}

int
tcnl_template_put(struct tcnl_buffer *b, const struct tcnl_template *t,
                  uint32_t handle, const void *cookie, uint16_t nl_flags)
{
    const size_t header_len = NLMSG_HDRLEN + sizeof(struct tcmsg);
    struct tcmsg tcm;

    memcpy(&tcm, t->msg + NLMSG_HDRLEN, sizeof tcm);
    tcm.tcm_handle = handle;
    for (unsigned int i = 0; i < t->n_cookies; i++) {
        memcpy(t->msg + t->cookies[i], cookie, TCNL_COOKIE_LEN);
    }
    tcnl_msg_begin(b, RTM_NEWTFILTER, NLM_F_REQUEST | nl_flags, &tcm,
                   sizeof tcm);
    tcnl_put_attrs(b, t->msg + header_len, t->len - header_len);
    return tcnl_msg_end(b, NULL);
}
