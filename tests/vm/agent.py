#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Sends, receives and checks traffic for the tests here, one command a line on
# standard input.  One process serves a whole test, because starting Python
# takes long in an emulated machine.  Each answer is some lines of text and
# then a line with "." alone; a failed command answers "error: ...".
#
#   open NAME NETNS DEVICE         a raw socket; "-" is the first namespace
#   send NAME COUNT FRAME          FRAME is words as frames.py reads them
#   recv NAME SECONDS COUNT WORDS  waits for COUNT frames with all of WORDS
#   count NAME WORDS               frames with all of WORDS, received so far
#   clear                          forgets what was received
#   ctl METHOD ARGUMENT...         what "ovs-appctl METHOD ARGUMENT..." answers,
#                                  over one connection
#   talk PROTO CLIENT-NETNS SERVER-NETNS SERVER-ADDR:PORT TO-ADDR:PORT BYTES
#                                  a connection with data both ways; answers
#                                  the client's address as the server saw it

import contextlib
import ctypes
import json
import os
import select
import socket
import struct
import sys
import threading
import time

import frames

SOL_PACKET = 263
PACKET_AUXDATA = 8
PACKET_OUTGOING = 4
VLAN_VALID = 1 << 4
CLONE_NEWNET = 0x40000000
ETH_P_ALL = 3
TIMEOUT = 10

libc = ctypes.CDLL(None, use_errno=True)


home = os.open('/proc/self/ns/net', os.O_RDONLY)


def setns(fd):
    if libc.setns(fd, CLONE_NEWNET):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


@contextlib.contextmanager
def netns(name):
    """Sockets that are opened in here belong to the namespace 'name'."""
    if name == '-':
        yield
        return
    fd = os.open('/var/run/netns/' + name, os.O_RDONLY)
    try:
        setns(fd)
        yield
    finally:
        os.close(fd)
        setns(home)


class Port:
    def __init__(self, ns, device):
        with netns(ns):
            self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF,
                                 4 << 20)
            self.sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            self.sock.bind((device, ETH_P_ALL))
        self.sock.setblocking(False)
        self.seen = []

    def drain(self):
        while True:
            try:
                data, aux, _, addr = self.sock.recvmsg(65536, 256)
            except BlockingIOError:
                return
            if addr[2] != PACKET_OUTGOING:
                self.seen.append(frames.parse(untag(data, aux)))

    def matching(self, words):
        self.drain()
        return [s for s in self.seen if words <= set(s.split())]

    def wait(self, seconds, count, words):
        deadline = time.monotonic() + seconds
        while True:
            found = self.matching(words)
            left = deadline - time.monotonic()
            if len(found) >= count or left <= 0:
                return found
            select.select([self.sock], [], [], left)


def untag(data, aux):
    """Puts the VLAN tag back that the kernel keeps beside the packet."""
    for level, kind, value in aux:
        if level == SOL_PACKET and kind == PACKET_AUXDATA:
            status, _, _, _, _, tci, tpid = struct.unpack('=IIIHHHH',
                                                          value[:20])
            if status & VLAN_VALID:
                return data[:12] + struct.pack('!HH', tpid or 0x8100, tci) \
                    + data[12:]
    return data


ports = {}


def cmd_open(name, ns, device):
    ports[name] = Port(ns, device)


def cmd_send(name, count, *words):
    data = frames.build(words)
    for _ in range(int(count)):
        ports[name].sock.send(data)


def cmd_recv(name, seconds, count, *words):
    found = ports[name].wait(float(seconds), int(count), set(words))
    if len(found) >= int(count):
        return found[-1]
    return 'error: %d of %s frames with %s; last seen: %s' % (
        len(found), count, ' '.join(words), ' / '.join(ports[name].seen[-5:]))


def cmd_count(name, *words):
    return str(len(ports[name].matching(set(words))))


def cmd_clear():
    for port in ports.values():
        port.drain()
        port.seen = []


def split(text):
    addr, _, port = text.rpartition(':')
    return addr.strip('[]'), int(port)


PROTOS = {
    'tcp': (socket.SOCK_STREAM, 0),
    'udp': (socket.SOCK_DGRAM, 0),
    'sctp': (socket.SOCK_STREAM, socket.IPPROTO_SCTP),
}


def make_socket(proto, ns, addr):
    family = socket.AF_INET6 if ':' in addr else socket.AF_INET
    kind, number = PROTOS[proto]
    with netns(ns):
        sock = socket.socket(family, kind, number)
    sock.settimeout(TIMEOUT)
    return sock


def serve(sock, proto, answer):
    try:
        if proto == 'udp':
            while True:
                data, peer = sock.recvfrom(65536)
                answer.append(peer)
                sock.sendto(data, peer)
        else:
            conn, peer = sock.accept()
            conn.settimeout(TIMEOUT)
            answer.append(peer)
            while True:
                data = conn.recv(65536)
                if not data:
                    break
                conn.sendall(data)
            conn.close()
    except OSError:
        pass


def exchange(sock, proto, size):
    """Sends 'size' bytes and gets the same back, a window at a time."""
    step = 1000 if proto == 'udp' else 16384
    done = 0
    while done < size:
        data = os.urandom(min(step, size - done))
        sock.sendall(data)
        back = b''
        while len(back) < len(data):
            more = sock.recv(65536)
            if not more:
                raise OSError('closed after %d bytes' % done)
            back += more
        if back != data:
            raise OSError('other data came back after %d bytes' % done)
        done += len(data)


def cmd_talk(proto, client_ns, server_ns, listen, to, size):
    addr, port = split(listen)
    server = make_socket(proto, server_ns, addr)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((addr, port))
    if proto != 'udp':
        server.listen(1)
    answer = []
    thread = threading.Thread(target=serve, args=(server, proto, answer),
                              daemon=True)
    thread.start()
    client = make_socket(proto, client_ns, addr)
    try:
        client.connect(split(to))
        exchange(client, proto, int(size))
    finally:
        client.close()
        if proto == 'udp':
            server.settimeout(0)
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()
    return '%s %d' % answer[0][:2]


class Control:
    """A connection to ovs-vswitchd's control socket (JSON-RPC)."""

    def __init__(self):
        run = os.environ['OVS_RUN']
        with open(run + '/ovs-vswitchd.pid', encoding='ascii') as f:
            pid = int(f.read())
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(TIMEOUT)
        self.sock.connect('%s/ovs-vswitchd.%d.ctl' % (run, pid))

    def call(self, method, args):
        request = {'method': method, 'params': args, 'id': 0}
        self.sock.sendall(json.dumps(request).encode())
        data = b''
        while True:
            chunk = self.sock.recv(65536)
            if not chunk:
                raise OSError('ovs-vswitchd closed the connection')
            data += chunk
            with contextlib.suppress(ValueError):
                return json.loads(data)


control = None


def cmd_ctl(method, *args):
    global control  # pylint: disable=global-statement
    try:
        control = control or Control()
        reply = control.call(method, args)
    except OSError:
        control = None
        raise
    if reply['error'] is not None:
        return 'error: ' + str(reply['error'])
    return str(reply['result'])


COMMANDS = {
    'open': cmd_open, 'send': cmd_send, 'recv': cmd_recv,
    'count': cmd_count, 'clear': cmd_clear, 'talk': cmd_talk,
    'ctl': cmd_ctl,
}


def main():
    for line in sys.stdin:
        words = line.split()
        try:
            reply = COMMANDS[words[0]](*words[1:])
        except Exception as e:  # pylint: disable=broad-except
            reply = 'error: %s: %s' % (line.strip(), e)
        if reply:
            print(reply)
        print('.', flush=True)


main()
