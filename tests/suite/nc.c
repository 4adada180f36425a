/* SPDX-License-Identifier: Apache-2.0
 *
 * A stand-in for netcat in the tests of Open vSwitch: numeric addresses and as
 * much of the options as those tests use.  With -6 they are of IPv6.
 *
 *     nc [-6] [-u] [-p PORT] ADDRESS PORT sends standard input; without -u and
 *                                         --send-only prints the answer
 *     nc -u --times N ...                 sends it as a datagram N times
 *     nc -l [-6] [-u] [-k] [ADDRESS] PORT prints what comes
 *
 * It exists for the tests of a meter of one packet a second, which send ten
 * datagrams in a row and want nine of them dropped.  OpenBSD's netcat lingers
 * for a second after each, so that the meter drops none; that of nmap exits at
 * the end of its input, as this one does, but takes seconds to start in an
 * emulated machine.  This one says that it is nmap's, because the tests pick
 * the options by that. */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static void
die(const char *what)
{
    fprintf(stderr, "nc: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void
usage(void)
{
    fprintf(stderr, "usage: nc [-6] [-u] [-p PORT] ADDRESS PORT\n"
            "       nc -l [-6] [-u] [-k] [ADDRESS] PORT\n");
    exit(2);
}

union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

static union address
address(int family, const char *host, const char *port)
{
    union address a;
    char *end;
    long n;

    memset(&a, 0, sizeof a);
    a.any.sa_family = family;
    n = strtol(port, &end, 10);
    if (*end || n < 1 || n > 65535
        || (host && inet_pton(family, host, family == AF_INET6
                              ? (void *) &a.in6.sin6_addr
                              : (void *) &a.in.sin_addr) != 1)) {
        usage();
    }
    /* The port is at the same place in both. */
    a.in.sin_port = htons(n);
    return a;
}

/* Copies from 'in' to 'out' up to the end, what is read at once 'times' times.
 * A datagram is sent for each read of at most 8 kB, which is what the netcats
 * do. */
static void
copy(int in, int out, int times)
{
    char buffer[8192];
    ssize_t n;

    while ((n = read(in, buffer, sizeof buffer)) != 0) {
        int i;

        if (n < 0) {
            /* An ICMP error for a datagram of before is no end. */
            if (errno == EINTR || errno == ECONNREFUSED) {
                continue;
            }
            die("read");
        }
        for (i = 0; i < times; i++) {
            ssize_t sent = 0;

            while (sent < n) {
                ssize_t done = write(out, buffer + sent, n - sent);

                if (done >= 0) {
                    sent += done;
                } else if (errno != EINTR) {
                    die("write");
                }
            }
        }
    }
}

static void
listener(int fd, bool udp, bool again)
{
    if (udp) {
        copy(fd, STDOUT_FILENO, 1);
        return;
    }
    if (listen(fd, 16)) {
        die("listen");
    }
    do {
        int peer = accept(fd, NULL, NULL);

        if (peer < 0) {
            die("accept");
        }
        copy(peer, STDOUT_FILENO, 1);
        close(peer);
    } while (again);
}

int
main(int argc, char *argv[])
{
    bool udp = false, server = false, again = false, send_only = false;
    struct timeval patience = { .tv_sec = 10 };
    const char *port = NULL, *words[2];
    int fd, i, n = 0, one = 1, times = 1, family = AF_INET;
    union address local, remote;

    for (i = 1; i < argc; i++) {
        const char *arg = argv[i];

        if (!strcmp(arg, "--version")) {
            printf("nc: a stand-in for Ncat (nmap.org)\n");
            return 0;
        } else if (!strcmp(arg, "-u")) {
            udp = true;
        } else if (!strcmp(arg, "-6")) {
            family = AF_INET6;
        } else if (!strcmp(arg, "-l")) {
            server = true;
        } else if (!strcmp(arg, "-k")) {
            again = true;
        } else if (!strcmp(arg, "--send-only")) {
            send_only = true;
        } else if (!strcmp(arg, "--times") && i + 1 < argc) {
            times = atoi(argv[++i]);
        } else if (!strcmp(arg, "-w") && i + 1 < argc) {
            patience.tv_sec = atoi(argv[++i]);
        } else if (!strcmp(arg, "-p") && i + 1 < argc) {
            port = argv[++i];
        } else if (arg[0] == '-' || n == 2) {
            usage();
        } else {
            words[n++] = arg;
        }
    }
    if (n != 2 && !(n == 1 && server)) {
        usage();
    }

    fd = socket(family, udp ? SOCK_DGRAM : SOCK_STREAM, 0);
    if (fd < 0) {
        die("socket");
    }
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one)) {
        die("SO_REUSEADDR");
    }
    if (server || port) {
        local = server ? address(family, n == 2 ? words[0] : NULL,
                                 words[n - 1])
                       : address(family, NULL, port);
        if (bind(fd, &local.any, sizeof local)) {
            die("bind");
        }
    }
    if (server) {
        listener(fd, udp, again);
        return 0;
    }

    remote = address(family, words[0], words[1]);
    /* This limits connect() too. */
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience)
        || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
                      sizeof patience)) {
        die("timeout");
    }
    if (connect(fd, &remote.any, sizeof remote)) {
        die("connect");
    }
    copy(STDIN_FILENO, fd, times);
    if (!udp && !send_only) {
        shutdown(fd, SHUT_WR);
        copy(fd, STDOUT_FILENO, 1);
    }
    return 0;
}
