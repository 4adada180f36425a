/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TCNL_ATTR_H
#define TCNL_ATTR_H 1

/* Walking netlink attributes that are not trusted (internal to tcnl).
 *
 * The walk says at its end whether it has used up all bytes: what is left
 * over is damage, and a parser that overlooked it would take a part of a
 * message for the whole. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/netlink.h>

struct tcnl_attrs {
    const uint8_t *p;
    size_t left;
};

static inline size_t
tcnl_attr_len(const struct nlattr *a)
{
    return a->nla_len - NLA_HDRLEN;
}

static inline const void *
tcnl_attr_data(const struct nlattr *a)
{
    return (const uint8_t *) a + NLA_HDRLEN;
}

static inline unsigned int
tcnl_attr_type(const struct nlattr *a)
{
    return a->nla_type & NLA_TYPE_MASK;
}

static inline struct tcnl_attrs
tcnl_attrs_nested(const struct nlattr *a)
{
    struct tcnl_attrs it = { tcnl_attr_data(a), tcnl_attr_len(a) };

    return it;
}

/* The attributes of message 'nlh' behind a family header of 'header_len'
 * bytes, which the caller has checked to be there. */
static inline struct tcnl_attrs
tcnl_attrs_message(const struct nlmsghdr *nlh, size_t header_len)
{
    size_t ofs = NLMSG_HDRLEN + NLMSG_ALIGN(header_len);
    struct tcnl_attrs it = { (const uint8_t *) nlh + ofs, 0 };

    if (nlh->nlmsg_len > ofs) {
        it.left = nlh->nlmsg_len - ofs;
    }
    return it;
}

/* Returns the next attribute, wholly inside, or NULL. */
static inline const struct nlattr *
tcnl_attrs_next(struct tcnl_attrs *it)
{
    const struct nlattr *a = (const void *) it->p;
    size_t step;

    if (it->left < NLA_HDRLEN || a->nla_len < NLA_HDRLEN
        || a->nla_len > it->left) {
        return NULL;
    }
    step = NLA_ALIGN((size_t) a->nla_len);
    step = step < it->left ? step : it->left;
    it->p += step;
    it->left -= step;
    return a;
}

/* After tcnl_attrs_next() returned NULL: was that the end? */
static inline bool
tcnl_attrs_ok(const struct tcnl_attrs *it)
{
    return !it->left;
}

/* Each copies the payload, unless it has another length. */
static inline bool
tcnl_attr_get(const struct nlattr *a, void *value, size_t size)
{
    if (tcnl_attr_len(a) != size) {
        return false;
    }
    memcpy(value, tcnl_attr_data(a), size);
    return true;
}

/* The kernel ends strings with a NUL; nothing else is one. */
static inline bool
tcnl_attr_is_string(const struct nlattr *a, const char *s)
{
    size_t size = strlen(s) + 1;

    return tcnl_attr_len(a) == size && !memcmp(tcnl_attr_data(a), s, size);
}

#endif /* tcnl/attr.h */
