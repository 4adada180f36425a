/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "translate.h"

#include "util.h"

const struct test_text test_accepted[] = {
    /* Matches. */
    { IN "eth_type(0x88cc)", "drop" },
    { ETH "eth_type(0x88cc)", "2" },
    { MPLS, "2" },
    { "recirc_id(0x17),in_port(2),eth(src=00:01:00:00:00:00/"
      "01:ff:00:00:00:00),eth_type(0x0800),ipv4(frag=no)", "1" },
    { ETH "eth_type(0x8100),vlan(vid=5,pcp=3),encap(eth_type(0x0800),"
      "ipv4(frag=no))", "pop_vlan,2" },
    { ETH "eth_type(0x8100),vlan(vid=0,pcp=0),encap(eth_type(0x0800),"
      "ipv4(frag=no))", "pop_vlan,2" },
    { ETH "eth_type(0x88a8),vlan(vid=4095/0xfff,pcp=0/0x0),"
      "encap(eth_type(0x86dd),ipv6(frag=no))", "2" },
    { ETH "eth_type(0x8100),vlan(vid=0/0x0,pcp=7/0x7),"
      "encap(eth_type(0x0806),arp())", "2" },
    { ETH "eth_type(0x0806),arp(sip=10.0.0.1,tip=10.0.0.0/255.255.255.0,op=1,"
      "sha=00:00:00:00:00:01,tha=00:00:00:00:00:00)", "2" },
    { IP4, "2" },
    { IN "eth_type(0x0800),ipv4(src=10.1.0.0/255.255.0.0,dst=10.2.0.1,proto=1,"
      "tos=0x10/0xfc,ttl=64,frag=no),icmp(type=8,code=0)", "2" },
    { IN "eth_type(0x0800),ipv4(proto=1,frag=no),icmp(type=8/0xf8)", "2" },
    { IN "eth_type(0x0800),ipv4(proto=6,frag=no),"
      "tcp(src=768/0xff00,dst=80),tcp_flags(+syn+ack)", "2" },
    { IN "eth_type(0x0800),ipv4(proto=6,frag=no),tcp(),"
      "tcp_flags(+syn-ack)", "2" },
    { IN "eth_type(0x0800),ipv4(proto=17,frag=no),udp(src=1,dst=2)", "2" },
    { IN "eth_type(0x0800),ipv4(proto=132,frag=no),sctp(src=1,dst=2)", "2" },
    { IN "eth_type(0x0800),ipv4(proto=0,frag=no)", "2" },
    { IN "eth_type(0x0800),ipv4(frag=first)", "2" },
    { IN "eth_type(0x0800),ipv4(proto=17,frag=later)", "2" },
    { IN "eth_type(0x86dd),ipv6(src=2001:db8::/ffff:ffff::,dst=2001:db8::1,"
      "proto=58,tclass=0x4/0xfc,hlimit=255,frag=no),"
      "icmpv6(type=128,code=0)", "2" },
    { IN "eth_type(0x86dd),ipv6(proto=17,frag=no),udp(dst=4789)", "2" },

    /* Actions. */
    { IP4, "drop" },
    { IP4, "1" },         /* To its own port. */
    { IP4, "1,2" },
    { IP4, "3" },
    { IP4, "3,2,3" },
    { IP4, "recirc(1)" },
    { IP4, "2,recirc(268435455)" },
    { IP4, "push_vlan(vid=7,pcp=2),2" },
    { IP4, "push_vlan(tpid=0x88a8,vid=4094,pcp=0),2,pop_vlan,1" },
    { IP4, "pop_vlan" },
    { IP4, "meter(1),2" },
    { IP4, "meter(1)" },
    { IP4, "2,meter(1),meter(2)" },
    { IP4, "meter(1),pop_vlan" },
    { IP4, "set(eth(src=00:00:00:00:00:09)),2" },
    { IP4, "set(eth(src=00:00:00:00:00:09,dst=00:00:00:00:00:08)),2" },
    { IP4, "set(eth(dst=01:00:00:00:00:00/01:00:00:00:00:00)),2" },
    { TCP4, "set(ipv4(src=1.2.3.4,dst=2.3.4.5,tos=0x4,ttl=63)),2" },
    { TCP4, "set(ipv4(ttl=63)),2,set(tcp(dst=8080)),1" },
    { TCP4, "set(tcp(src=1,dst=2)),2" },
    { TCP4, "set(eth(src=00:00:00:00:00:09)),set(ipv4(dst=1.2.3.4)),"
      "set(tcp(dst=5)),2" },
    { TCP4, "set(ipv4(tos=0/0x3)),2" },
    { TCP4, "set(ipv4(ttl=1))" },
    { UDP4, "set(udp(src=77)),3" },
    { ICMP4, "set(ipv4(src=1.2.3.4)),2" },
    { IN "eth_type(0x0800),ipv4(proto=1,frag=first),icmp()",
      "set(ipv4(src=1.2.3.4)),2" },
    { TCP6, "set(ipv6(src=2001:db8::1,dst=2001:db8::2,tclass=0x8,hlimit=3)),"
      "2" },
    { TCP6, "set(ipv6(tclass=0x4/0xfc)),2" },
};

const size_t test_n_accepted = ARRAY_SIZE(test_accepted);
