/* SPDX-License-Identifier: Apache-2.0 */
#include "filter.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_gact.h>
#include "attr.h"
#include "uapi.h"

static struct tcmsg
hook_header(const struct tcnl_filter_id *id)
{
    struct tcmsg tcm = {
        .tcm_family = AF_UNSPEC,
        .tcm_ifindex = id->block ? (int) TCM_IFINDEX_MAGIC_BLOCK
                                 : id->ifindex,
        .tcm_parent = id->block ? id->block : id->parent,
    };

    return tcm;
}

/* Opens a message about one filter, up to its kind. */
static void
begin(struct tcnl_buffer *b, uint16_t type, uint16_t nl_flags,
      const struct tcnl_filter_id *id)
{
    struct tcmsg tcm = hook_header(id);

    tcm.tcm_handle = id->handle;
    tcm.tcm_info = TC_H_MAKE((uint32_t) id->prio << 16, id->proto);
    tcnl_msg_begin(b, type, NLM_F_REQUEST | nl_flags, &tcm, sizeof tcm);
    if (id->chain) {
        tcnl_put_u32(b, TCA_CHAIN, id->chain);
    }
    tcnl_put_string(b, TCA_KIND, "flower");
}

static void
put_flags(struct tcnl_buffer *b, uint32_t flags)
{
    const struct nla_bitfield32 bits = { flags, flags };

    tcnl_put(b, TCA_DUMP_FLAGS, &bits, sizeof bits);
}

int
tcnl_filter_put_new(struct tcnl_buffer *b, const struct tcnl_filter_id *id,
                    const struct tcnl_flower *flower,
                    const struct tcnl_actions *actions, uint16_t nl_flags)
{
    size_t options;

    if (!tcnl_flower_is_complete(flower)) {
        return EINVAL;
    }
    begin(b, RTM_NEWTFILTER, nl_flags, id);
    options = tcnl_nest_begin(b, TCA_OPTIONS);
    tcnl_flower_put(b, flower);
    tcnl_actions_put(b, TCA_FLOWER_ACT, actions);
    tcnl_nest_end(b, options);
    return tcnl_msg_end(b, NULL);
}

/* An action that exists is bound as it is, whatever else the message says of
 * it (tcf_mirred_init() in net/sched/act_mirred.c). */
int
tcnl_filter_put_hold(struct tcnl_buffer *b, const struct tcnl_filter_id *id,
                     const struct tcnl_flower *flower,
                     const struct tcnl_held *held)
{
    size_t options, acts, act, act_options;

    begin(b, RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL, id);
    options = tcnl_nest_begin(b, TCA_OPTIONS);
    tcnl_flower_put(b, flower);
    acts = tcnl_nest_begin(b, TCA_FLOWER_ACT);
    act = tcnl_nest_begin(b, 1);
    tcnl_put_string(b, TCA_ACT_KIND, held->kind);
    act_options = tcnl_nest_begin(b, TCA_ACT_OPTIONS);
    tcnl_put(b, TCA_GACT_PARMS, held->parms, held->parms_len);
    tcnl_nest_end(b, act_options);
    tcnl_nest_end(b, act);
    tcnl_nest_end(b, acts);
    tcnl_nest_end(b, options);
    return tcnl_msg_end(b, NULL);
}

int
tcnl_filter_put_del(struct tcnl_buffer *b, const struct tcnl_filter_id *id,
                    uint16_t nl_flags)
{
    /* Handle 0 would delete the whole prio. */
    if (!id->handle || !id->prio) {
        return EINVAL;
    }
    begin(b, RTM_DELTFILTER, nl_flags, id);
    if (nl_flags & NLM_F_ECHO) {
        put_flags(b, TCA_DUMP_FLAGS_TERSE);
    }
    return tcnl_msg_end(b, NULL);
}

int
tcnl_prio_put_del(struct tcnl_buffer *b, const struct tcnl_filter_id *id)
{
    struct tcnl_filter_id prio = *id;

    prio.handle = 0;
    /* Prio 0 would delete the whole chain. */
    if (!prio.prio) {
        return EINVAL;
    }
    begin(b, RTM_DELTFILTER, 0, &prio);
    return tcnl_msg_end(b, NULL);
}

int
tcnl_filter_put_get(struct tcnl_buffer *b, const struct tcnl_filter_id *id)
{
    begin(b, RTM_GETTFILTER, 0, id);
    return tcnl_msg_end(b, NULL);
}

int
tcnl_filter_put_get_counters(struct tcnl_buffer *b,
                             const struct tcnl_filter_id *id)
{
    begin(b, RTM_GETTFILTER, 0, id);
    put_flags(b, TCA_DUMP_FLAGS_TERSE);
    return tcnl_msg_end(b, NULL);
}

static void
put_start(struct tcnl_buffer *b, const struct tcnl_filter_id *id)
{
    size_t nest = tcnl_nest_begin(b, TCA_DUMP_START);

    tcnl_put_u32(b, TCA_DUMP_START_CHAIN, id->chain);
    tcnl_put_u32(b, TCA_DUMP_START_PRIO, id->prio);
    tcnl_put_u32(b, TCA_DUMP_START_HANDLE, id->handle);
    tcnl_nest_end(b, nest);
}

int
tcnl_filter_put_dump(struct tcnl_buffer *b, const struct tcnl_filter_id *id,
                     const struct tcnl_dump_form *form)
{
    struct tcmsg tcm = hook_header(id);
    uint32_t flags = ((form->terse ? TCA_DUMP_FLAGS_TERSE : 0)
                      | (form->used_within ? TCA_DUMP_FLAGS_USED_SINCE : 0)
                      | (form->start ? TCA_DUMP_FLAGS_START : 0));

    if (form->one_prio) {
        tcm.tcm_info = TC_H_MAKE((uint32_t) id->prio << 16, id->proto);
    }
    tcnl_msg_begin(b, RTM_GETTFILTER, NLM_F_REQUEST | NLM_F_DUMP, &tcm,
                   sizeof tcm);
    if (form->one_chain) {
        tcnl_put_u32(b, TCA_CHAIN, id->chain);
    }
    if (flags) {
        put_flags(b, flags);
    }
    if (form->used_within) {
        tcnl_put_u32(b, TCA_DUMP_USED_SINCE, form->used_within);
    }
    if (form->start) {
        put_start(b, id);
    }
    return tcnl_msg_end(b, NULL);
}

int
tcnl_chain_put_flush(struct tcnl_buffer *b, const struct tcnl_filter_id *id)
{
    struct tcmsg tcm = hook_header(id);

    /* Prio 0 means all; the kernel then wants no kind. */
    tcnl_msg_begin(b, RTM_DELTFILTER, NLM_F_REQUEST, &tcm, sizeof tcm);
    tcnl_put_u32(b, TCA_CHAIN, id->chain);
    return tcnl_msg_end(b, NULL);
}

/* ## Decoding. */

static bool
is_filter_message(const struct nlmsghdr *nlh)
{
    return nlh->nlmsg_len >= NLMSG_LENGTH(sizeof(struct tcmsg))
           && (nlh->nlmsg_type == RTM_NEWTFILTER
               || nlh->nlmsg_type == RTM_DELTFILTER
               || nlh->nlmsg_type == RTM_GETTFILTER);
}

static void
read_id(const struct tcmsg *tcm, struct tcnl_filter_id *id)
{
    bool block = tcm->tcm_ifindex == (int) TCM_IFINDEX_MAGIC_BLOCK;

    id->ifindex = block ? 0 : tcm->tcm_ifindex;
    id->block = block ? tcm->tcm_parent : 0;
    id->parent = block ? 0 : tcm->tcm_parent;
    id->chain = 0;
    id->handle = tcm->tcm_handle;
    id->prio = (uint16_t) (tcm->tcm_info >> 16);
    id->proto = (uint16_t) tcm->tcm_info;
}

static bool
read_attrs(const struct nlmsghdr *nlh, struct tcnl_filter_info *info)
{
    struct tcnl_attrs it = tcnl_attrs_message(nlh, sizeof(struct tcmsg));
    const struct nlattr *a;

    while ((a = tcnl_attrs_next(&it))) {
        switch (tcnl_attr_type(a)) {
        case TCA_KIND:
            info->is_flower = tcnl_attr_is_string(a, "flower");
            break;
        case TCA_OPTIONS:
            info->options = a;
            break;
        case TCA_CHAIN:
            if (!tcnl_attr_get(a, &info->id.chain, sizeof info->id.chain)) {
                return false;
            }
            break;
        }
    }
    return tcnl_attrs_ok(&it);
}

/* A full form has at least TCA_FLOWER_IN_HW_COUNT besides the two attributes
 * of the terse one. */
static bool
read_options(struct tcnl_filter_info *info)
{
    struct tcnl_attrs it = tcnl_attrs_nested(info->options);
    const struct nlattr *a;

    while ((a = tcnl_attrs_next(&it))) {
        switch (tcnl_attr_type(a)) {
        case TCA_FLOWER_FLAGS:
            if (!tcnl_attr_get(a, &info->cls_flags, sizeof info->cls_flags)) {
                return false;
            }
            break;
        case TCA_FLOWER_ACT:
            info->acts = a;
            break;
        default:
            info->has_keys = true;
            break;
        }
    }
    return tcnl_attrs_ok(&it);
}

int
tcnl_filter_parse(const struct nlmsghdr *nlh, struct tcnl_filter_info *info)
{
    if (!is_filter_message(nlh)) {
        return EBADMSG;
    }
    info->is_flower = false;
    info->has_keys = false;
    info->cls_flags = 0;
    info->options = NULL;
    info->acts = NULL;
    read_id(NLMSG_DATA(nlh), &info->id);
    if (!read_attrs(nlh, info)
        || (info->is_flower && info->options && !read_options(info))) {
        return EBADMSG;
    }
    info->is_header = !info->id.handle && !info->options;
    return 0;
}

int
tcnl_filter_parse_flower(const struct tcnl_filter_info *info,
                         struct tcnl_flower *flower)
{
    int error, proto_error;

    if (!info->is_flower || !info->has_keys) {
        return EOPNOTSUPP;
    }
    error = tcnl_flower_parse(info->options, flower);
    if (error == EBADMSG) {
        return error;
    }
    proto_error = tcnl_flower_set_protocol(flower, info->id.proto);
    return error ? error : proto_error;
}
