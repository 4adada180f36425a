/* SPDX-License-Identifier: Apache-2.0 */

/* tcnl-probe: what the running kernel can do for the offload of flows.
 *
 * Exit status: 0 when everything was asked, 1 when not, 2 for bad usage. */

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include "dump.h"
#include "filter.h"
#include "probe.h"
#include "qdisc.h"
#include "socket.h"

struct options {
    bool json;
    const char *device;
};

struct result {
    const struct options *options;
    struct tcnl_qdisc qdisc;    /* As it was before. */
    struct tcnl_abilities able;
};

static void
usage(FILE *f)
{
    fputs("usage: tcnl-probe [--json] DEV\n"
          "Prints what the running kernel can do for flow offload to TC,\n"
          "tried out on network device DEV, and DEV's ingress qdisc.\n"
          "If DEV has none, a clsact qdisc is there for a moment.\n", f);
}

static void
parse_options(int argc, char *argv[], struct options *options)
{
    static const struct option long_options[] = {
        { "json", no_argument, NULL, 'j' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int c;

    memset(options, 0, sizeof *options);
    while ((c = getopt_long(argc, argv, "jh", long_options, NULL)) != -1) {
        switch (c) {
        case 'j':
            options->json = true;
            break;
        case 'h':
            usage(stdout);
            exit(0);
        default:
            usage(stderr);
            exit(2);
        }
    }
    if (argc - optind != 1) {
        usage(stderr);
        exit(2);
    }
    options->device = argv[optind];
}

static bool
complain(const char *device, const char *what, int error,
         const struct tcnl_error *details)
{
    const char *text = details ? details->text : "";

    fprintf(stderr, "tcnl-probe: %s: %s: %s%s%s%s\n", device, what,
            strerror(error), text[0] ? " (the kernel says: " : "", text,
            text[0] ? ")" : "");
    if (error == EPERM) {
        fputs("tcnl-probe: CAP_NET_ADMIN is needed\n", stderr);
    } else if (error == EOPNOTSUPP || error == ENOENT) {
        fputs("tcnl-probe: is CONFIG_NET_CLS_FLOWER in this kernel, and "
              "CONFIG_NET_SCH_INGRESS?\n", stderr);
    }
    return false;
}

/* ## The temporary qdisc. */

struct hook {
    int ifindex;
    uint32_t parent;
};

static int
build_dump(struct tcnl_buffer *b, const void *hook_)
{
    const struct hook *hook = hook_;
    struct tcnl_filter_id id = {
        .ifindex = hook->ifindex,
        .parent = hook->parent,
    };

    return tcnl_filter_put_dump(b, &id,
                                &(struct tcnl_dump_form) { .terse = true });
}

static void
count_cb(void *n, const struct nlmsghdr *nlh)
{
    (void) nlh;
    ++*(unsigned int *) n;
}

/* Has somebody else put filters there meanwhile?  If that cannot be told, the
 * qdisc stays. */
static bool
hook_is_empty(struct tcnl_transport *transport, int ifindex, uint32_t parent)
{
    struct hook hook = { ifindex, parent };
    unsigned int n = 0;

    return tcnl_dump_all(transport, build_dump, &hook, count_cb, &n, NULL)
           == TCNL_DUMP_COMPLETE && !n;
}

static bool
remove_clsact(struct tcnl_transport *transport, const char *device,
              int ifindex)
{
    struct tcnl_error details;
    int error;

    if (!hook_is_empty(transport, ifindex, TCNL_PARENT_INGRESS)
        || !hook_is_empty(transport, ifindex, TCNL_PARENT_EGRESS)) {
        fprintf(stderr, "tcnl-probe: %s: the clsact qdisc was added by this "
                "program and stays, because it is in use now\n", device);
        return true;
    }
    error = tcnl_qdisc_del(transport, ifindex, TCNL_QDISC_CLSACT, &details);
    return !error || complain(device, "cannot remove the clsact qdisc", error,
                              &details);
}

/* ## Asking. */

/* On a shared block the filters are the block's. */
static bool
probe_abilities(struct tcnl_transport *transport, int ifindex,
                struct result *r)
{
    uint32_t block = r->qdisc.ingress_block;
    struct tcnl_error details;
    int error = tcnl_probe(transport,
                           block ? (int) TCM_IFINDEX_MAGIC_BLOCK : ifindex,
                           block ? block : TCNL_PARENT_INGRESS, &r->able,
                           &details);

    return !error || complain(r->options->device,
                              "cannot add a flower filter", error, &details);
}

static bool
probe_with_qdisc(struct tcnl_transport *transport, int ifindex,
                 struct result *r)
{
    const char *device = r->options->device;
    bool temporary = r->qdisc.kind == TCNL_QDISC_NONE;
    struct tcnl_error details;
    bool ok;

    if (r->qdisc.kind == TCNL_QDISC_OTHER) {
        fprintf(stderr, "tcnl-probe: %s: a qdisc of another kind stands in "
                "the place of clsact\n", device);
        return false;
    }
    if (temporary) {
        int error = tcnl_qdisc_add(transport, ifindex, TCNL_QDISC_CLSACT, 0,
                                   &details);

        if (error) {
            return complain(device, "cannot add a clsact qdisc", error,
                            &details);
        }
    }
    ok = probe_abilities(transport, ifindex, r);
    return (!temporary || remove_clsact(transport, device, ifindex)) && ok;
}

static bool
probe(struct tcnl_transport *transport, struct result *r)
{
    const char *device = r->options->device;
    int ifindex = (int) if_nametoindex(device);
    struct tcnl_error details;
    int error;

    if (!ifindex) {
        return complain(device, "cannot find the device", errno, NULL);
    }
    error = tcnl_qdisc_get(transport, ifindex, &r->qdisc, &details);
    if (error) {
        return complain(device, "cannot read the qdisc", error, &details);
    }
    return probe_with_qdisc(transport, ifindex, r);
}

/* ## Printing. */

static const char *
qdisc_name(const struct tcnl_qdisc *q)
{
    return q->kind == TCNL_QDISC_INGRESS ? "ingress"
           : q->kind == TCNL_QDISC_CLSACT ? "clsact"
           : q->kind == TCNL_QDISC_NONE ? "none" : "other";
}

static void
print_ability(const struct result *r, const char *name, const char *text,
              bool value)
{
    if (r->options->json) {
        printf("\"%s\": %s, ", name, value ? "true" : "false");
    } else {
        printf("%-18s %-4s%s\n", name, value ? "yes" : "no", text);
    }
}

/* States of connections that filters can match. */
static void
print_ct_states(const struct result *r)
{
    static const struct {
        uint16_t bit;
        const char *name;
    } states[] = {
        { TCA_FLOWER_KEY_CT_FLAGS_TRACKED, "trk" },
        { TCA_FLOWER_KEY_CT_FLAGS_NEW, "new" },
        { TCA_FLOWER_KEY_CT_FLAGS_ESTABLISHED, "est" },
        { TCA_FLOWER_KEY_CT_FLAGS_RELATED, "rel" },
        { TCA_FLOWER_KEY_CT_FLAGS_INVALID, "inv" },
        { TCA_FLOWER_KEY_CT_FLAGS_REPLY, "rpl" },
    };
    bool json = r->options->json;
    const char *separator = "";

    printf(json ? "\"ct_states\": [" : "%-18s ", "ct_states");
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        if (r->able.ct_states & states[i].bit) {
            printf(json ? "%s\"%s\"" : "%s%s", separator, states[i].name);
            separator = json ? ", " : " ";
        }
    }
    fputs(json ? "], " : *separator ? "\n" : "no\n", stdout);
}

/* A name that is in JSON may contain all but '/' and white space. */
static void
print_json_string(const char *s)
{
    putchar('"');
    for (; *s; s++) {
        if (*s == '"' || *s == '\\') {
            putchar('\\');
        }
        putchar(*s);
    }
    putchar('"');
}

static void
print_qdisc(const struct result *r)
{
    const struct tcnl_qdisc *q = &r->qdisc;

    if (r->options->json) {
        printf("\"device\": ");
        print_json_string(r->options->device);
        printf(", \"qdisc\": \"%s\", \"ingress_block\": %u, "
               "\"egress_block\": %u}\n", qdisc_name(q), q->ingress_block,
               q->egress_block);
    } else {
        printf("qdisc of %s: %s", r->options->device, qdisc_name(q));
        if (q->ingress_block) {
            printf(", ingress block %u", q->ingress_block);
        }
        if (q->egress_block) {
            printf(", egress block %u", q->egress_block);
        }
        putchar('\n');
    }
}

static void
print(const struct result *r)
{
    const struct tcnl_abilities *a = &r->able;

    if (r->options->json) {
        putchar('{');
    }
    print_ability(r, "flower", "filters by cls_flower", a->flower);
    print_ability(r, "own_handles", "handles chosen by the user",
                  a->own_handles);
    print_ability(r, "terse_dump", "dumps of counters only", a->terse_dump);
    print_ability(r, "terse_echo", "deletes that answer with counters only",
                  a->terse_echo);
    print_ability(r, "used_since", "dumps that leave out idle filters",
                  a->used_since);
    print_ability(r, "dump_start", "dumps that keep their place and start "
                  "anywhere", a->dump_start);
    print_ability(r, "ext_ack", "reasons with errors", a->ext_ack);
    print_ability(r, "multi_mask", "several masks at one priority",
                  a->multi_mask);
    print_ability(r, "police_pkts", "meters of packets per second",
                  a->police_pkts);
    print_ability(r, "no_percpu_stats", "cheap counters of actions",
                  a->no_percpu_stats);
    print_ability(r, "vxlan_gbp", "group policies of VXLAN", a->vxlan_gbp);
    print_ability(r, "enc_flags", "flags of tunnel headers", a->enc_flags);
    print_ct_states(r);
    print_qdisc(r);
}

/* A signal must not leave the qdisc or a filter behind; it comes through when
 * all is cleared away. */
static void
block_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

int
main(int argc, char *argv[])
{
    struct tcnl_transport *transport;
    struct options options;
    struct result result = { .options = &options };
    bool ok;
    int error;

    parse_options(argc, argv, &options);
    block_signals();
    error = tcnl_socket_open(0, 0, &transport);
    if (error) {
        fprintf(stderr, "tcnl-probe: cannot open a netlink socket: %s\n",
                strerror(error));
        return 1;
    }
    ok = probe(transport, &result);
    tcnl_transport_close(transport);
    if (ok) {
        print(&result);
    }
    return ok && !ferror(stdout) && !fflush(stdout) ? 0 : 1;
}
