# SPDX-License-Identifier: Apache-2.0
"""Ethernet frames from words and to words.

Words of the frames that agent.py sends and receives:
  eth_src= eth_dst=             addresses
  vlan=VID[/PCP]                one for each tag, the outermost first
  arp=OP ip_src= ip_dst=        ARP, with sha= and tha=
  ip_src= ip_dst=               IPv4, or IPv6 if there is a colon
  tos= ttl=                     also IPv6's traffic class and hop limit
  tcp|udp|sctp sport= dport=    ports, checksums are right
  icmp=TYPE icmp6=TYPE          with code 0
  size=N                        bytes of payload (when building)
  csum=ok|bad|none              IPv4 and layer 4 together (when parsing)
"""

import ipaddress
import struct

ETH_IP, ETH_IP6, ETH_ARP, ETH_VLAN = 0x0800, 0x86dd, 0x0806, 0x8100
TPIDS = (ETH_VLAN, 0x88a8)
PROTOS = {'tcp': 6, 'udp': 17, 'sctp': 132}


def checksum(data):
    if len(data) % 2:
        data += b'\0'
    total = sum(struct.unpack('!%dH' % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def make_crc32c_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ 0x82f63b78 if i & 1 else i >> 1
        table.append(i)
    return table


CRC32C = make_crc32c_table()


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = CRC32C[(crc ^ byte) & 0xff] ^ crc >> 8
    return struct.pack('<I', crc ^ 0xffffffff)


def mac(text):
    return bytes.fromhex(text.replace(':', ''))


def mac_text(data):
    return ':'.join('%02x' % b for b in data)


def ip(text):
    return ipaddress.ip_address(text).packed


def pseudo(src, dst, proto, length):
    if len(src) == 4:
        return src + dst + struct.pack('!BBH', 0, proto, length)
    return src + dst + struct.pack('!IHBB', length, 0, 0, proto)


def l4(words, src, dst):
    """Returns the IP protocol and the bytes after the IP header."""
    payload = bytes(i & 0xff for i in range(int(words.get('size', 26))))
    ports = struct.pack('!HH', int(words.get('sport', 1000)),
                        int(words.get('dport', 2000)))
    if 'tcp' in words:
        at, proto = 16, 6
        data = ports + struct.pack('!IIBBHHH', 1, 0, 5 << 4,
                                   int(words.get('flags', '2'), 0), 8192,
                                   0, 0) + payload
    elif 'udp' in words:
        at, proto = 6, 17
        data = ports + struct.pack('!HH', 8 + len(payload), 0) + payload
    elif 'sctp' in words:
        chunk = struct.pack('!BBH', 1, 0, 4 + 24) + payload[:24].ljust(24)
        head, tail = ports + b'\0\0\0\0', chunk
        return 132, head + crc32c(head + b'\0\0\0\0' + tail) + tail
    elif 'icmp' in words:
        data = struct.pack('!BBHHH', int(words['icmp']), 0, 0, 1, 1) + payload
        return 1, data[:2] + struct.pack('!H', checksum(data)) + data[4:]
    elif 'icmp6' in words:
        at, proto = 2, 58
        data = struct.pack('!BBHHH', int(words['icmp6']), 0, 0, 1, 1) + payload
    else:
        return int(words.get('proto', 253)), payload
    value = checksum(pseudo(src, dst, proto, len(data)) + data) or 0xffff
    return proto, data[:at] + struct.pack('!H', value) + data[at + 2:]


def l3(words):
    """Returns the Ethernet type and what follows it."""
    if 'arp' in words:
        return ETH_ARP, struct.pack('!HHBBH', 1, ETH_IP, 6, 4,
                                    int(words['arp'])) \
            + mac(words.get('sha', words['eth_src'])) + ip(words['ip_src']) \
            + mac(words.get('tha', '00' * 6)) + ip(words['ip_dst'])
    if 'ip_src' not in words:
        return int(words.get('type', '0x88b5'), 0), bytes(46)
    src, dst = ip(words['ip_src']), ip(words['ip_dst'])
    proto, data = l4(words, src, dst)
    tos, ttl = int(words.get('tos', 0)), int(words.get('ttl', 64))
    if len(src) == 16:
        return ETH_IP6, struct.pack('!IHBB', 6 << 28 | tos << 20, len(data),
                                    proto, ttl) + src + dst + data
    head = struct.pack('!BBHHHBBH', 0x45, tos, 20 + len(data), 1, 0, ttl,
                       proto, 0) + src + dst
    return ETH_IP, head[:10] + struct.pack('!H', checksum(head)) \
        + head[12:] + data


def build(word_list):
    words, vlans = {}, []
    for word in word_list:
        key, _, value = word.partition('=')
        if key == 'vlan':
            vlans.append(value)
        words[key] = value
    data = mac(words['eth_dst']) + mac(words['eth_src'])
    for i, vlan in enumerate(vlans):
        vid, _, pcp = vlan.partition('/')
        tpid = TPIDS[1] if i + 1 < len(vlans) else TPIDS[0]
        data += struct.pack('!HH', tpid, int(vid) | int(pcp or 0) << 13)
    eth_type, rest = l3(words)
    return (data + struct.pack('!H', eth_type) + rest).ljust(60, b'\0')


def parse_l4(src, dst, proto, data):
    """Returns words and whether the checksum is right, None without one."""
    whole = not checksum(pseudo(src, dst, proto, len(data)) + data)
    if proto in PROTOS.values():
        name = {n: s for s, n in PROTOS.items()}[proto]
        words = [name, 'sport=%d' % struct.unpack_from('!H', data, 0),
                 'dport=%d' % struct.unpack_from('!H', data, 2)]
        if proto == 132:
            return words, data[8:12] == crc32c(data[:8] + bytes(4)
                                               + data[12:])
        if proto == 17 and data[6:8] == b'\0\0':
            return words, None
        return words, whole
    if proto == 1:
        return ['icmp=%d' % data[0]], not checksum(data)
    if proto == 58:
        return ['icmp6=%d' % data[0]], whole
    return ['proto=%d' % proto], None


def parse_ip(eth_type, data):
    if eth_type == ETH_IP:
        hlen, length = (data[0] & 15) * 4, struct.unpack_from('!H', data, 2)[0]
        src, dst, proto = data[12:16], data[16:20], data[9]
        words = ['tos=%d' % data[1], 'ttl=%d' % data[8]]
        ok = not checksum(data[:hlen])
        fragment = struct.unpack_from('!H', data, 6)[0] & 0x3fff
    else:
        hlen, length = 40, 40 + struct.unpack_from('!H', data, 4)[0]
        src, dst, proto = data[8:24], data[24:40], data[6]
        words = ['tos=%d' % (struct.unpack_from('!I', data)[0] >> 20 & 0xff),
                 'ttl=%d' % data[7]]
        ok, fragment = True, 0
    words = ['ip_src=%s' % ipaddress.ip_address(src),
             'ip_dst=%s' % ipaddress.ip_address(dst)] + words
    if fragment:
        return words + ['fragment', 'csum=' + ('none' if ok else 'bad')]
    more, l4_ok = parse_l4(src, dst, proto, data[hlen:length])
    if not ok or l4_ok is False:
        return words + more + ['csum=bad']
    return words + more + ['csum=' + ('none' if l4_ok is None else 'ok')]


def parse(data):
    words = ['eth_src=' + mac_text(data[6:12]), 'eth_dst=' + mac_text(data[:6])]
    eth_type, = struct.unpack_from('!H', data, 12)
    at = 14
    while eth_type in TPIDS:
        tci, eth_type = struct.unpack_from('!HH', data, at)
        words.append('vlan=%d/%d' % (tci & 0xfff, tci >> 13))
        at += 4
    if at == 14:
        words.append('untagged')
    if eth_type in (ETH_IP, ETH_IP6):
        words += parse_ip(eth_type, data[at:])
    elif eth_type == ETH_ARP:
        body = data[at:]
        words += ['arp=%d' % struct.unpack_from('!H', body, 6),
                  'ip_src=%s' % ipaddress.ip_address(body[14:18]),
                  'ip_dst=%s' % ipaddress.ip_address(body[24:28])]
    else:
        words.append('type=0x%04x' % eth_type)
    return ' '.join(words)
