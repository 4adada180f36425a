/* SPDX-License-Identifier: Apache-2.0 */

/* What a round of dumps costs on the running kernel.
 *
 * usage: dump PROFILE FLOWS RUNS THREADS ACTIVE...
 *
 * Installs FLOWS filters with OVS's own tc provider on one device, and with
 * ours on another.  Then, for each share ACTIVE in percent, variants take
 * turns, RUNS times:
 *
 *     intree      OVS's own provider, its dump callbacks called directly, in
 *                 the terse form that revalidators ask for
 *     ours-full   ours in each mode
 *     ours-terse
 *     ours-delta
 *     raw         the kernel's limit: the datagrams of the same terse dump,
 *                 read and thrown away
 *     raw-delta   the same of the filters that were used of late
 *
 * Before each, the share of flows gets a packet, outside of what is timed.  A
 * variant that the kernel does not have is left out.  Prints a line for each:
 *
 *     VARIANT ACTIVE RUN MICROSECONDS-PER-FLOW SYSTEM-CALLS-PER-FLOW
 *     FLOWS-REPORTED
 *
 * PROFILE is one of profile.h.  THREADS dump at a time, as revalidators do;
 * the raw variants have one. */

#define _GNU_SOURCE 1           /* sendmmsg() */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "count-calls.h"
#include "ovs-rcu.h"
#include "profile.h"
#include "rounds.h"
#include "tcnl/dump.h"
#include "tcnl/filter.h"
#include "tcnl/socket.h"
#include "timeval.h"
#include "util.h"

#define BATCH 64
#define MAX_THREADS 8
#define RCVBUF (4 << 20)

enum variant { INTREE, FULL, TERSE, DELTA, RAW, RAW_DELTA, N_VARIANTS };

static const char *const variant_names[] = {
    "intree", "ours-full", "ours-terse", "ours-delta", "raw", "raw-delta"
};

static struct rounds rounds;
static uint32_t n_flows;
static unsigned int n_threads;

/* Packets. */

/* A socket that sends to the other end of the device of port 1. */
static int
open_packets(enum twin twin)
{
    char *name = xasprintf("peer%d1", twin);
    struct sockaddr_ll to = {
        .sll_family = AF_PACKET, .sll_ifindex = if_nametoindex(name),
    };
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

    if (fd < 0 || !to.sll_ifindex
        || bind(fd, (struct sockaddr *) &to, sizeof to)) {
        ovs_fatal(errno, "packet socket on %s", name);
    }
    free(name);
    return fd;
}

static void
send_packets(int fd, uint32_t first, size_t n)
{
    static uint8_t frames[BATCH][PROFILE_FRAME];
    struct mmsghdr msgs[BATCH];
    struct iovec iovs[BATCH];
    size_t done = 0;

    memset(msgs, 0, sizeof msgs);
    for (size_t i = 0; i < n; i++) {
        profile_frame(rounds.profile, first + i, frames[i]);
        iovs[i] = (struct iovec) { frames[i], PROFILE_FRAME };
        msgs[i].msg_hdr.msg_iov = &iovs[i];
        msgs[i].msg_hdr.msg_iovlen = 1;
    }
    while (done < n) {
        int sent = sendmmsg(fd, msgs + done, n - done, 0);

        if (sent < 0) {
            ovs_fatal(errno, "sending packets");
        }
        done += sent;
    }
}

/* One packet for each of the first 'n' flows. */
static void
use_flows(enum twin twin, uint32_t n)
{
    static int fds[N_TWINS] = { -1, -1 };

    if (fds[twin] < 0) {
        fds[twin] = open_packets(twin);
    }
    for (uint32_t i = 0; i < n; i += BATCH) {
        send_packets(fds[twin], i, MIN(BATCH, n - i));
    }
}

/* Rounds. */

/* Sending packets may take so long that a whole round is due again. */
static void
put_off_whole(void)
{
    struct tcb_rounds *ours = &rounds.twins.ours->rounds;

    ovs_mutex_lock(&ours->mutex);
    ours->last_whole = time_msec();
    ovs_mutex_unlock(&ours->mutex);
}

/* The raw kernel. */

static int
build_raw(struct tcnl_buffer *b, const void *form)
{
    struct tcnl_filter_id id = {
        .ifindex = rounds.twins.ports[OURS][1].ifindex,
        .parent = TCNL_PARENT_INGRESS,
    };

    return tcnl_filter_put_dump(b, &id, form);
}

static unsigned int
dump_raw(uint32_t used_within)
{
    static uint32_t buf[TCNL_DUMP_BUFSIZE / sizeof(uint32_t)];
    static struct tcnl_transport *transport;
    const struct tcnl_dump_form form = {
        .terse = true, .used_within = used_within,
    };
    struct tcnl_dump d;
    size_t len;
    int error = 0;

    if (!transport) {
        error = tcnl_socket_open(RCVBUF, RCVBUF, &transport);
    }
    if (error || tcnl_dump_start(&d, transport, build_raw, &form)) {
        ovs_fatal(error, "cannot dump");
    }
    while (tcnl_dump_recv(&d, buf, sizeof buf, &len) == TCNL_DUMP_RUNNING) {
        continue;
    }
    if (tcnl_dump_finish(&d) != TCNL_DUMP_COMPLETE) {
        ovs_fatal(d.error.error, "dump: %s", d.error.text);
    }
    return 0;
}

/* Runs. */

static bool
is_possible(enum variant variant)
{
    return ((variant != DELTA && variant != RAW_DELTA)
            || rounds.twins.ours->abilities.used_since);
}

static unsigned int
perform(enum variant variant, long long int started)
{
    switch (variant) {
    case INTREE:
        return rounds_dump(&rounds, THEIRS, n_threads);
    case FULL:
    case TERSE:
    case DELTA:
        return rounds_dump(&rounds, OURS, n_threads);
    case RAW:
        return dump_raw(0);
    case RAW_DELTA:
        return dump_raw((time_usec() - started) / 1000 + 100);
    case N_VARIANTS:
    default:
        OVS_NOT_REACHED();
    }
}

static void
measure(enum variant variant, unsigned int active, int run)
{
    enum twin twin = variant == INTREE ? THEIRS : OURS;
    unsigned int before, n;
    long long int started, start, us;

    if (variant >= FULL && variant <= DELTA) {
        rounds_set_mode(&rounds, TCB_DUMP_FULL + (variant - FULL));
    }
    started = time_usec();
    use_flows(twin, (uint64_t) n_flows * active / 100);
    put_off_whole();
    ovsrcu_quiesce();
    before = count_calls();
    start = time_usec();
    n = perform(variant, started);
    us = time_usec() - start;
    if (twin == OURS && variant <= DELTA
        && (rounds_mode(&rounds)
            != TCB_DUMP_FULL + (enum tcb_dump_mode) (variant - FULL))) {
        ovs_fatal(0, "%s: the round was in another mode",
                  variant_names[variant]);
    }
    printf("%s %u %d %.4f %.5f %u\n", variant_names[variant], active, run,
           (double) us / n_flows, (double) (count_calls() - before) / n_flows,
           n);
    fflush(stdout);
    if (variant <= DELTA && n != n_flows) {
        ovs_fatal(0, "%s reported %u of %"PRIu32" flows",
                  variant_names[variant], n, n_flows);
    }
}

int
main(int argc, char *argv[])
{
    int runs;

    set_program_name(argv[0]);
    if (argc < 6) {
        ovs_fatal(0, "usage: %s PROFILE FLOWS RUNS THREADS ACTIVE...",
                  argv[0]);
    }
    n_flows = atoi(argv[2]);
    runs = atoi(argv[3]);
    n_threads = atoi(argv[4]);
    if (!n_flows || runs < 1 || n_threads < 1 || n_threads > MAX_THREADS) {
        ovs_fatal(0, "bad arguments");
    }
    rounds_open(&rounds, argv[1]);
    rounds_install(&rounds, THEIRS, 0, n_flows);
    rounds_install(&rounds, OURS, 0, n_flows);
    for (int i = 5; i < argc; i++) {
        for (int run = 0; run < runs; run++) {
            for (int j = 0; j < N_VARIANTS; j++) {
                enum variant variant = (run + j) % N_VARIANTS;

                if (is_possible(variant)) {
                    measure(variant, atoi(argv[i]), run);
                }
            }
        }
    }
    rounds_close(&rounds);
    return 0;
}
