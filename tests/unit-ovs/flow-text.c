/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "flow-text.h"

#include <errno.h>
#include <string.h>

#include "netlink.h"
#include "odp-netlink.h"
#include "odp-util.h"
#include "openvswitch/dynamic-string.h"
#include "simap.h"
#include "util.h"

static void
put_set_ipv6(struct ofpbuf *actions)
{
    struct ovs_key_ipv6 ipv6 = { .ipv6_proto = 6, .ipv6_hlimit = 9 };
    size_t set = nl_msg_start_nested(actions, OVS_ACTION_ATTR_SET);

    nl_msg_put_unspec(actions, OVS_KEY_ATTR_IPV6, &ipv6, sizeof ipv6);
    nl_msg_end_nested(actions, set);
}

/* Reads one of the actions that OVS has no parser for.  Returns what is behind
 * it, or NULL if it is another action. */
static const char *
parse_own_action(const char *text, struct ofpbuf *actions)
{
    struct ovs_action_push_mpls push;
    uint32_t label, tc, ttl, bos, type;
    int n = 0;

    if (ovs_scan(text, "push_mpls(label=%"SCNi32",tc=%"SCNi32",ttl=%"SCNi32
                 ",bos=%"SCNi32",eth_type=%"SCNi32")%n", &label, &tc, &ttl,
                 &bos, &type, &n) && n) {
        push.mpls_lse = htonl(label << 12 | tc << 9 | bos << 8 | ttl);
        push.mpls_ethertype = htons(type);
        nl_msg_put_unspec(actions, OVS_ACTION_ATTR_PUSH_MPLS, &push,
                          sizeof push);
    } else if (ovs_scan(text, "pop_mpls(eth_type=%"SCNi32")%n", &type, &n)
               && n) {
        nl_msg_put_be16(actions, OVS_ACTION_ATTR_POP_MPLS, htons(type));
    } else if (!strncmp(text, "set_ipv6", n = 8)) {
        put_set_ipv6(actions);
    } else if (!strcmp(text, "drop")) {
        nl_msg_put_u32(actions, OVS_ACTION_ATTR_DROP, 0);
        n = strlen(text);
    } else {
        return NULL;
    }
    return text + n + (text[n] == ',');
}

/* Length of the actions up to the next one of those. */
static size_t
others_len(const char *text)
{
    const char *next = text;

    while ((next = strchr(next, ','))) {
        if (!strncmp(next, ",push_mpls", 10) || !strncmp(next, ",pop_mpls", 9)
            || !strncmp(next, ",set_ipv6", 9) || !strcmp(next, ",drop")) {
            return next - text;
        }
        next++;
    }
    return strlen(text);
}

/* Gives what is between those actions to the parser of OVS. */
static char *
parse_actions(const char *text, struct ofpbuf *actions)
{
    struct simap no_names = SIMAP_INITIALIZER(&no_names);

    while (*text) {
        const char *next = parse_own_action(text, actions);
        size_t len;
        char *part;
        int error;

        if (next) {
            text = next;
            continue;
        }
        len = others_len(text);
        part = xmemdup0(text, len);
        error = odp_actions_from_string(part, &no_names, actions);
        free(part);
        if (error) {
            return xasprintf("%s: %s", text, ovs_strerror(error));
        }
        text += len + (text[len] == ',');
    }
    return NULL;
}

/* Takes the id out of the tunnel header of 'key'. */
static void
remove_tunnel_id(struct ofpbuf *key)
{
    struct nlattr *tunnel = CONST_CAST(struct nlattr *, nl_attr_find(
        key, 0, OVS_KEY_ATTR_TUNNEL));
    uint8_t *id = CONST_CAST(uint8_t *, (const uint8_t *) nl_attr_find_nested(
        tunnel, OVS_TUNNEL_KEY_ATTR_ID));
    size_t len = NLA_HDRLEN + sizeof(ovs_be64);

    memmove(id, id + len, (uint8_t *) ofpbuf_tail(key) - id - len);
    tunnel->nla_len -= len;
    key->size -= len;
}

char *
flow_text_parse(struct test_flow *flow, const char *match,
                const char *actions)
{
    struct simap no_names = SIMAP_INITIALIZER(&no_names);
    char *error = NULL;

    flow->geneve = strstr(match, "geneve(") != NULL;
    ofpbuf_init(&flow->key, 0);
    ofpbuf_init(&flow->mask, 0);
    ofpbuf_init(&flow->actions, 0);
    if (odp_flow_from_string(match, &no_names, &flow->key, &flow->mask,
                             &error)) {
        return error ? error : xasprintf("%s: no flow", match);
    }
    free(error);
    if (strstr(match, "-key")) {
        remove_tunnel_id(&flow->key);
    }
    return parse_actions(actions, &flow->actions);
}

void
test_flow_uninit(struct test_flow *flow)
{
    ofpbuf_uninit(&flow->key);
    ofpbuf_uninit(&flow->mask);
    ofpbuf_uninit(&flow->actions);
}

char *
test_format_match(const struct test_flow *flow)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    odp_flow_format(flow->key.data, flow->key.size, flow->mask.data,
                    flow->mask.size, NULL, &ds, false, false);
    return ds_steal_cstr(&ds);
}

char *
test_format_actions(const struct ofpbuf *actions)
{
    struct ds ds = DS_EMPTY_INITIALIZER;

    format_odp_actions(&ds, actions->data, actions->size, NULL);
    return ds_steal_cstr(&ds);
}
