#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: demo-burst.py FROM TO ADDRESS

For each line "PORT FLOWS PACKETS" that it reads, sends PACKETS datagrams for
each of FLOWS source ports, as fast as it can, from network namespace FROM to
ADDRESS:PORT, which is in namespace TO, and prints how many it sent and how
many of them arrived."""

import ctypes
import os
import resource
import select
import socket
import sys
import time

FIRST_PORT = 20000
CLONE_NEWNET = 0x40000000
SO_RCVBUFFORCE = 33
LIMIT = 20.0                    # Seconds to wait for what does not come.
QUIET = 2.0                     # Seconds without an arrival that end the wait.


def enter(namespace):
    """Sockets that are made from here on are in 'namespace'."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open('/run/netns/' + namespace, os.O_RDONLY)
    if libc.setns(fd, CLONE_NEWNET):
        sys.exit('%s: %s' % (namespace, os.strerror(ctypes.get_errno())))
    os.close(fd)


def udp(port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(('', port))
    return s


def receive(s, wanted):
    n = 0
    end = time.monotonic() + LIMIT
    while n < wanted and time.monotonic() < end:
        if not select.select([s], [], [], QUIET)[0]:
            break
        s.recv(2048)
        n += 1
    return n


def burst(source, sink, to, flows, packets):
    enter(sink)
    receiver = udp(to[1])
    receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
    enter(source)
    senders = [udp(FIRST_PORT + i) for i in range(flows)]
    for _ in range(packets):
        for s in senders:
            s.sendto(b'tc-batch', to)
    arrived = receive(receiver, flows * packets)
    for s in senders + [receiver]:
        s.close()
    return flows * packets, arrived


def main(source, sink, address):
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    for line in sys.stdin:
        port, flows, packets = map(int, line.split())
        print(*burst(source, sink, (address, port), flows, packets),
              flush=True)


if len(sys.argv) != 4:
    sys.exit(__doc__)
main(*sys.argv[1:])
