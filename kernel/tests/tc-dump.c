/* SPDX-License-Identifier: Apache-2.0 */

/* Asks the kernel for what iproute2's tc cannot ask for: dumps of filters by
 * use and from a place on, and terse echoes.  See usage().
 *
 * Filters are at the egress hook of DEV, which has a clsact qdisc.  That with
 * handle H matches IPv4 to 10.0.0.0 + H.  A place is CHAIN:PRIO:HANDLE.
 *
 * Exits with 1 if the kernel refuses, and with 2 for anything else. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include "filter.h"

/* Messages in one send: their acks must fit into the receive buffer. */
#define BATCH 64

static const char *usage_text =
"usage: tc-dump COMMAND...\n"
"  probe DEV                  which patches the kernel has\n"
"  add DEV PLACES [ACTION...] filters; PLACES is a place in which each\n"
"                             number may be a range; ACTION is pass (the\n"
"                             default), none, or police=INDEX\n"
"  echo (add|del|get) DEV PLACE [terse]\n"
"                             what the kernel answers\n"
"  send DEV FIRST [LAST [STEP]]\n"
"                             a packet that the filter of the handle FIRST\n"
"                             matches, or one for each in steps of STEP\n"
"  mark FILE                  the present time\n"
"  listen COMMAND             what listeners hear while COMMAND runs\n"
"  dump DEV [OPTION...]       options:\n"
"    terse                    counters and no keys\n"
"    used-since MS            only what was used in the last MS milliseconds\n"
"    used-after FILE          or since the mark FILE\n"
"    start PLACE              only from PLACE on\n"
"    flags N                  more flags, without what belongs to them\n"
"    chain N, prio N          only these\n"
"    slices N                 in slices of N filters or more\n"
"    buffer BYTES             for a datagram (32768)\n"
"    after N COMMAND          runs COMMAND after N datagrams\n"
"    count                    sums up each prio instead of listing filters\n";

static void __attribute__((noreturn))
usage(void)
{
    fputs(usage_text, stderr);
    exit(2);
}

static uint64_t
now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * UINT64_C(1000000) + ts.tv_nsec / 1000;
}

static struct place
parse_place(const char *s)
{
    struct place p;

    if (sscanf(s, "%"SCNu32":%"SCNu32":%"SCNi32, &p.chain, &p.prio,
               &p.handle) != 3) {
        die(2, "%s is not CHAIN:PRIO:HANDLE", s);
    }
    return p;
}

static uint32_t
parse_number(const char *s)
{
    char *end;
    unsigned long n = s ? strtoul(s, &end, 0) : 0;

    if (!s || !*s || *end) {
        die(2, "%s is not a number", s ? s : "nothing");
    }
    return n;
}

struct range {
    uint32_t first, last;
};

static struct range
parse_range(char *s)
{
    char *dash = s ? strchr(s, '-') : NULL;
    struct range r;

    if (dash) {
        *dash = '\0';
    }
    r.first = parse_number(s);
    r.last = dash ? parse_number(dash + 1) : r.first;
    return r;
}

/* Adds the filters of one chain and prio. */
static void
add_handles(struct mnl_socket *nl, int ifindex, struct place p, uint32_t last,
            uint32_t police, bool pass)
{
    static uint32_t buf[BUFFER_SIZE / 4];
    size_t used = 0;

    for (uint32_t n = 1;; n++, p.handle++) {
        struct nlmsghdr *nlh = put_new((char *) buf + used, ifindex, &p,
                                       police, pass);

        used += NLMSG_ALIGN(nlh->nlmsg_len);
        if (n % BATCH && p.handle != last) {
            continue;
        }
        nlh->nlmsg_flags |= NLM_F_ACK;
        nlh->nlmsg_seq = n;
        send_all(nl, buf, used);
        wait_for_ack(nl, n, false);
        used = 0;
        if (p.handle == last) {
            return;
        }
    }
}

static void
cmd_add(char *argv[])
{
    int ifindex = device(argv[0]);
    struct range chains = parse_range(strtok(argv[1], ":"));
    struct range prios = parse_range(strtok(NULL, ":"));
    struct range handles = parse_range(strtok(NULL, ":"));
    struct mnl_socket *nl = open_socket(0);
    bool pass = !argv[2];
    uint32_t police = 0;

    for (int i = 2; argv[i]; i++) {
        if (!strncmp(argv[i], "police=", 7)) {
            police = parse_number(argv[i] + 7);
        } else if (!strcmp(argv[i], "pass")) {
            pass = true;
        } else if (strcmp(argv[i], "none")) {
            usage();
        }
    }
    for (uint32_t c = chains.first; c <= chains.last; c++) {
        for (uint32_t p = prios.first; p <= prios.last; p++) {
            add_handles(nl, ifindex, (struct place) { c, p, handles.first },
                        handles.last, police, pass);
        }
    }
    mnl_socket_close(nl);
}

static void
cmd_echo(char *argv[])
{
    static uint32_t buf[BUFFER_SIZE / 4];
    const char *what = argv[0];
    int ifindex = device(argv[1]);
    struct place p = parse_place(argv[2]);
    struct mnl_socket *nl = open_socket(0);
    struct nlmsghdr *nlh;

    if (!strcmp(what, "add")) {
        nlh = put_new(buf, ifindex, &p, 0, true);
    } else if (!strcmp(what, "del")) {
        nlh = put_header(buf, RTM_DELTFILTER, 0, ifindex, &p);
    } else if (!strcmp(what, "get")) {
        nlh = put_header(buf, RTM_GETTFILTER, 0, ifindex, &p);
    } else {
        usage();
    }
    put_flags(nlh, argv[3] ? TERSE : 0);
    nlh->nlmsg_flags |= NLM_F_ECHO | NLM_F_ACK;
    nlh->nlmsg_seq = 1;
    send_all(nl, buf, nlh->nlmsg_len);
    wait_for_ack(nl, 1, true);
    mnl_socket_close(nl);
}

static void
run(const char *command)
{
    if (system(command)) {
        die(2, "failed: %s", command);
    }
}

/* The kernel has sent to all listeners when the command is over. */
static void
cmd_listen(char *argv[])
{
    static uint32_t buf[BUFFER_SIZE / 4];
    struct mnl_socket *nl = open_socket(RTMGRP_TC);
    ssize_t received;

    run(argv[0]);
    while ((received = recv(mnl_socket_get_fd(nl), buf, sizeof buf,
                            MSG_DONTWAIT)) >= 0) {
        const struct nlmsghdr *nlh = (const void *) buf;
        int len = received;

        for (; mnl_nlmsg_ok(nlh, len); nlh = mnl_nlmsg_next(nlh, &len)) {
            struct report r;

            if (parse_report(nlh, &r)) {
                fputs(nlh->nlmsg_type == RTM_NEWTFILTER ? "heard add: "
                      : "heard del: ", stdout);
                print_report(&r);
            }
        }
    }
    mnl_socket_close(nl);
}

static void
cmd_send(char *argv[])
{
    uint32_t first = parse_number(argv[1]);
    uint32_t last = argv[2] ? parse_number(argv[2]) : first;
    uint32_t step = argv[2] && argv[3] ? parse_number(argv[3]) : 1;
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, argv[0],
                             strlen(argv[0]))) {
        die(2, "no socket: %s", strerror(errno));
    }
    for (uint32_t handle = first; handle <= last; handle += step) {
        struct sockaddr_in to = {
            .sin_family = AF_INET,
            .sin_port = htons(9),
            .sin_addr.s_addr = htonl(0x0a000000 + handle),
        };

        if (sendto(fd, "", 1, 0, (void *) &to, sizeof to) != 1) {
            die(2, "cannot send: %s", strerror(errno));
        }
    }
    close(fd);
}

/* Apart from what happens before and after by some ticks of the kernel. */
static void
cmd_mark(char *argv[])
{
    FILE *f = fopen(argv[0], "w");

    usleep(100000);
    if (!f || fprintf(f, "%"PRIu64"\n", now_us()) < 0 || fclose(f)) {
        die(2, "%s: %s", argv[0], strerror(errno));
    }
    usleep(100000);
}

static uint32_t
ms_since_mark(const char *name)
{
    FILE *f = fopen(name, "r");
    uint64_t mark;

    if (!f || fscanf(f, "%"SCNu64, &mark) != 1) {
        die(2, "%s is not a mark", name);
    }
    fclose(f);
    return (now_us() - mark) / 1000;
}

/* ## Dumps. */

struct dump {
    int ifindex;
    uint32_t flags, ms, chain, prio;
    bool has_ms, has_start, has_chain, count;
    struct place start;
    size_t buffer;
    unsigned int slice;             /* 0 for the whole. */
    unsigned int after;             /* 0 for never. */
    const char *command;

    /* Results. */
    struct place *seen;
    size_t n, allocated;
    unsigned int datagrams, slices;
    uint64_t us;
};

static void
request_dump(struct dump *d, struct mnl_socket *nl)
{
    static uint32_t buf[BUFFER_SIZE / 4];
    struct nlmsghdr *nlh = put_header(buf, RTM_GETTFILTER, NLM_F_DUMP,
                                      d->ifindex, NULL);
    struct tcmsg *tcm = mnl_nlmsg_get_payload(nlh);
    struct nlattr *start;

    tcm->tcm_info = d->prio << 16;
    put_flags(nlh, d->flags);
    if (d->has_ms) {
        mnl_attr_put_u32(nlh, ATTR_USED_SINCE, d->ms);
    }
    if (d->has_start) {
        start = mnl_attr_nest_start(nlh, ATTR_START);
        mnl_attr_put_u32(nlh, START_CHAIN, d->start.chain);
        mnl_attr_put_u32(nlh, START_PRIO, d->start.prio);
        mnl_attr_put_u32(nlh, START_HANDLE, d->start.handle);
        mnl_attr_nest_end(nlh, start);
    }
    if (d->has_chain) {
        mnl_attr_put_u32(nlh, TCA_CHAIN, d->chain);
    }
    send_all(nl, buf, nlh->nlmsg_len);
}

static void
dump_report(struct dump *d, const struct report *r)
{
    if (d->n == d->allocated) {
        d->allocated = 2 * d->allocated + 1024;
        d->seen = realloc(d->seen, d->allocated * sizeof *d->seen);
        if (!d->seen) {
            die(2, "no memory");
        }
    }
    d->seen[d->n++] = r->place;
    if (!d->count) {
        print_report(r);
    }
}

/* Returns 0 at the end, 1 before it, or a negative errno value, with text. */
static int
dump_datagram(struct dump *d, struct mnl_socket *nl, void *buf, char *text,
              size_t text_size)
{
    int len = receive(nl, buf, d->buffer);
    const struct nlmsghdr *nlh = buf;

    d->datagrams++;
    for (; mnl_nlmsg_ok(nlh, len); nlh = mnl_nlmsg_next(nlh, &len)) {
        struct report r;

        if (nlh->nlmsg_type == NLMSG_DONE || nlh->nlmsg_type == NLMSG_ERROR) {
            const int *error = mnl_nlmsg_get_payload(nlh);

            snprintf(text, text_size, "%s", ext_ack_text(nlh, sizeof *error));
            return *error;
        }
        if (parse_report(nlh, &r)) {
            dump_report(d, &r);
        }
    }
    return 1;
}

/* Takes the next slice, or everything.  Returns as dump_datagram(). */
static int
dump_slice(struct dump *d, char *text, size_t text_size)
{
    struct mnl_socket *nl = open_socket(0);
    void *buf = malloc(d->buffer);
    size_t n = d->n;
    int result;

    if (!buf) {
        die(2, "no memory");
    }
    d->slices++;
    request_dump(d, nl);
    do {
        result = dump_datagram(d, nl, buf, text, text_size);
        if (d->after && d->datagrams == d->after) {
            run(d->command);
        }
    } while (result == 1 && (!d->slice || d->n - n < d->slice));
    free(buf);
    /* The kernel forgets the dump with the socket. */
    mnl_socket_close(nl);

    if (result == 1) {
        d->has_start = true;
        d->flags |= DUMP_START;
        d->start = d->seen[d->n - 1];
        d->start.handle++;
    }
    return result;
}

static int
compare_places(const void *a_, const void *b_)
{
    const struct place *a = a_, *b = b_;

#define COMPARE(FIELD) \
    if (a->FIELD != b->FIELD) { \
        return a->FIELD < b->FIELD ? -1 : 1; \
    }
    COMPARE(chain)
    COMPARE(prio)
    COMPARE(handle)
#undef COMPARE
    return 0;
}

static void
print_sums(struct dump *d)
{
    size_t sum = 0, twice = 0;

    qsort(d->seen, d->n, sizeof *d->seen, compare_places);
    for (size_t i = 0; i < d->n; i++) {
        const struct place *p = &d->seen[i], *next = p + 1;

        if (i && !compare_places(p - 1, p)) {
            twice++;
        } else {
            sum++;
        }
        if (i + 1 == d->n || p->chain != next->chain
            || p->prio != next->prio) {
            printf("chain %"PRIu32" prio %"PRIu32" filters %zu twice %zu\n",
                   p->chain, p->prio, sum, twice);
            sum = twice = 0;
        }
    }
}

static void
cmd_dump(char *argv[])
{
    struct dump d = { .ifindex = device(*argv++), .buffer = 32768 };
    char text[256] = "";
    uint64_t start;
    int result;

    while (*argv) {
        const char *option = *argv++;

        if (!strcmp(option, "terse")) {
            d.flags |= TERSE;
            continue;
        } else if (!strcmp(option, "count")) {
            d.count = true;
            continue;
        } else if (!*argv) {
            usage();
        } else if (!strcmp(option, "used-since")) {
            d.ms = parse_number(*argv);
        } else if (!strcmp(option, "used-after")) {
            d.ms = ms_since_mark(*argv);
        } else if (!strcmp(option, "start")) {
            d.start = parse_place(*argv);
            d.has_start = true;
            d.flags |= DUMP_START;
        } else if (!strcmp(option, "flags")) {
            d.flags |= parse_number(*argv);
        } else if (!strcmp(option, "chain")) {
            d.chain = parse_number(*argv);
            d.has_chain = true;
        } else if (!strcmp(option, "prio")) {
            d.prio = parse_number(*argv);
        } else if (!strcmp(option, "slices")) {
            d.slice = parse_number(*argv);
        } else if (!strcmp(option, "buffer")) {
            d.buffer = parse_number(*argv);
        } else if (!strcmp(option, "after") && argv[1]) {
            d.after = parse_number(*argv++);
            d.command = *argv;
        } else {
            usage();
        }
        if (!strncmp(option, "used-", 5)) {
            d.has_ms = true;
            d.flags |= DUMP_USED_SINCE;
        }
        argv++;
    }

    start = now_us();
    do {
        result = dump_slice(&d, text, sizeof text);
    } while (result == 1);
    d.us = now_us() - start;
    if (result) {
        die(1, "%s: %s", strerror(-result), text);
    }
    if (d.count) {
        print_sums(&d);
    }
    printf("all %zu datagrams %u slices %u us %"PRIu64"\n", d.n, d.datagrams,
           d.slices, d.us);
}

/* ## What there is. */

static bool
dump_accepted(int ifindex, uint32_t flags)
{
    struct dump d = { .ifindex = ifindex, .flags = flags, .buffer = 32768,
                      .has_ms = flags & DUMP_USED_SINCE,
                      .has_start = flags & DUMP_START, .count = true };
    char text[256];
    int result;

    do {
        result = dump_slice(&d, text, sizeof text);
    } while (result == 1);
    free(d.seen);
    return !result;
}

static bool
echo_is_terse(const char *dev)
{
    static uint32_t buf[BUFFER_SIZE / 4];
    struct place p = { 0, 65535, 1 };
    struct mnl_socket *nl = open_socket(0);
    struct nlmsghdr *nlh = put_new(buf, device(dev), &p, 0, true);
    struct report r;

    nlh->nlmsg_flags |= NLM_F_ACK;
    send_all(nl, buf, nlh->nlmsg_len);
    wait_for_ack(nl, 0, false);

    nlh = put_header(buf, RTM_GETTFILTER, 0, device(dev), &p);
    put_flags(nlh, TERSE);
    send_all(nl, buf, nlh->nlmsg_len);
    receive(nl, buf, sizeof buf);
    parse_report((const void *) buf, &r);

    nlh = put_header(buf, RTM_DELTFILTER, NLM_F_ACK, device(dev), &p);
    send_all(nl, buf, nlh->nlmsg_len);
    wait_for_ack(nl, 0, false);
    mnl_socket_close(nl);
    return !r.has_keys;
}

static void
cmd_probe(char *argv[])
{
    int ifindex = device(argv[0]);

    printf("terse-echo %s\n", echo_is_terse(argv[0]) ? "yes" : "no");
    printf("used-since %s\n",
           dump_accepted(ifindex, TERSE | DUMP_USED_SINCE) ? "yes" : "no");
    printf("start %s\n", dump_accepted(ifindex, DUMP_START) ? "yes" : "no");
}

int
main(int argc, char *argv[])
{
    static const struct {
        const char *name;
        int min, max;               /* Arguments. */
        void (*run)(char *argv[]);
    } commands[] = {
        { "probe", 1, 1, cmd_probe }, { "add", 2, 4, cmd_add },
        { "echo", 3, 4, cmd_echo }, { "send", 2, 4, cmd_send },
        { "mark", 1, 1, cmd_mark }, { "listen", 1, 1, cmd_listen },
        { "dump", 1, 30, cmd_dump },
    };

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (argc > 1 && !strcmp(argv[1], commands[i].name)
            && argc - 2 >= commands[i].min && argc - 2 <= commands[i].max) {
            commands[i].run(argv + 2);
            return fflush(stdout) ? 2 : 0;
        }
    }
    usage();
}
