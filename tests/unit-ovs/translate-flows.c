/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "translate.h"

#include "util.h"

#define REST4 "eth(),eth_type(0x0800),ipv4(frag=no)"
#define L3 "eth_type(0x0800),ipv4(frag=no)"
#define CT(STATE, REST) "recirc_id(0),in_port(1)," STATE ",eth()," REST

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

    { ETH "eth_type(0x88a8),vlan(vid=5,pcp=3),encap(eth_type(0x8100),"
      "vlan(vid=6,pcp=1),encap(eth_type(0x0800),ipv4(frag=no)))",
      "pop_vlan,pop_vlan,2" },
    { ETH "eth_type(0x8100),vlan(vid=5,pcp=0/0x0),encap(eth_type(0x8100),"
      "vlan(vid=0/0x0,pcp=7/0x7),encap(eth_type(0x0806),arp()))", "2" },
    { ETH "eth_type(0x88a8),vlan(vid=5,pcp=3),encap(eth_type(0x8100),"
      "vlan(vid=6,pcp=1),encap(eth_type(0x8847),"
      "mpls(label=7,tc=0/0,ttl=0/0x0,bos=1)))", "2" },
    { IN "eth_type(0x8847),mpls(label=1048575,tc=7,ttl=64,bos=1)", "2" },
    { IN "eth_type(0x8848),mpls(label=0,tc=0/0,ttl=0/0x0,bos=1)", "2" },
    { IN "eth_type(0x8847),mpls(label=7,tc=0/0,ttl=0/0x0,bos=1/0)", "2" },
    { IN "eth_type(0x8847),mpls(label=7,tc=0/0,ttl=0/0x0,bos=0,label=0/0x0,"
      "tc=0/0,ttl=0/0x0,bos=1/0)", "2" },
    { CT("ct_state(+est+trk)", L3), "2" },
    { CT("ct_state(+est-rel-rpl-inv+trk)", L3), "2" },
    { CT("ct_state(-trk),ct_zone(0x5)", L3), "2" },
    { CT("ct_state(+new+trk),ct_zone(0/0x1),ct_mark(0x5/0xff)",
         "eth_type(0x86dd),ipv6(proto=6,frag=no),tcp()"), "2" },
    { CT("ct_label(0x1234/0xffff)", L3), "2" },
    { "recirc_id(0),tunnel(tun_id=0x1,"
      "src=1.1.1.1,dst=2.2.2.2,tos=0x4/0xfc,ttl=64/0,"
      "tp_src=5/0,tp_dst=4789,flags(-df-csum+key)),"
      "in_port(1)," REST4, "2" },
    { "recirc_id(0),tunnel(tun_id=0x1,"
      "ipv6_src=2001::1,ipv6_dst=2001::2,ttl=64/0,tp_src=7,"
      "tp_dst=4789,flags(+oam+df-csum+key)),"
      "in_port(1)," REST4, "2,1" },
    { "recirc_id(0),tunnel(tun_id=0x1,"
      "src=1.1.1.1,dst=2.2.2.2,ttl=64/0,tp_dst=6081,"
      "geneve({class=0x102,type=0x80,len=4,0xa/0xf}"
      "{class=0x103,type=0x1,len=8,0x1122334455667788}),flags(-df+key)),"
      "in_port(1)," REST4, "2" },
    { "recirc_id(0),tunnel(tun_id=0x1,"
      "src=1.1.1.1,dst=2.2.2.2,ttl=64/0,tp_dst=4789,"
      "vxlan(gbp(id=5,flags=0x8/0x48)),flags(-df+key)),"
      "in_port(1)," REST4, "2" },

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
    { IP4, "push_mpls(label=5,tc=1,ttl=64,bos=1,eth_type=0x8847),2" },
    { MPLS, "pop_mpls(eth_type=0x800),2" },
    { MPLS, "set(mpls(label=7,tc=3,ttl=9,bos=1)),2" },
    { IP4, "ct_clear,2" },
    { IP4, "ct,recirc(1)" },
    { IP4, "ct(commit,zone=5),2" },
    { IP4, "ct(force_commit,zone=1,mark=0x5/0xff,label=0x10/0xf0),2" },
    { IP4, "ct(commit,nat(src=1.2.3.4)),2" },
    { IP4, "ct(commit,nat(dst=1.2.3.4-1.2.3.9:80-100)),2" },
    { IP4, "ct(commit,nat(src=2001::1-2001::9)),recirc(3)" },
    { IP4, "ct(commit,nat(dst=[2001::1]:80)),recirc(3)" },
    { IP4, "ct(zone=7,nat),recirc(2)" },
    { IP4, "ct(commit,nat(src)),2" },
    { IP4, "set(tunnel(tun_id=0x5,src=1.1.1.1,dst=2.2.2.2,ttl=64,tp_dst=4789,"
      "flags(key))),2" },
    { IP4, "set(tunnel(dst=2.2.2.2,tos=0x4,ttl=64,flags(df|csum))),2,"
      "set(tunnel(dst=2.2.2.3,ttl=64,flags())),2" },
    { IP4, "set(tunnel(tun_id=0x5,ipv6_src=2001::1,ipv6_dst=2001::2,ttl=1,"
      "geneve({class=0x102,type=0x80,len=4,0xa}"
      "{class=0x103,type=0x1,len=8,0x1122334455667788}),flags(key))),2" },
    { IP4, "set(tunnel(tun_id=0x5,src=1.1.1.1,dst=2.2.2.2,ttl=64,"
      "vxlan(gbp(id=7,flags=0x8)),flags(key))),2" },
    { IP4, "check_pkt_len(size=200,gt(1),le(2))" },
    { IP4, "check_pkt_len(size=200,gt(drop),le(2))" },
    { IP4, "check_pkt_len(size=200,gt(1),le(drop))" },
    { IP4, "check_pkt_len(size=200,gt(drop),le(drop))" },
    { IP4, "check_pkt_len(size=200,gt(3,1),le(3,2)),3" },
    { IP4, "check_pkt_len(size=200,gt(1),le(drop)),2" },
    { IP4, "check_pkt_len(size=200,gt(drop),le(1)),2" },
    { IP4, "check_pkt_len(size=200,gt(drop),le(drop)),2" },
    { IP4, "check_pkt_len(size=200,gt(recirc(5)),le(pop_vlan,recirc(6)))" },
    { IP4, "check_pkt_len(size=200,gt(check_pkt_len(size=400,gt(1),le(2))),"
      "le(2)),3" },
    { IP4, "check_pkt_len(size=200,gt(1),"
      "le(check_pkt_len(size=100,gt(2),le(1)))),3" },
    { IP4, "check_pkt_len(size=200,gt(check_pkt_len(size=400,gt(1),le(2))),"
      "le(2))" },
    { IP4, "check_pkt_len(size=200,gt(check_pkt_len(size=400,gt(1),"
      "le(drop))),le(2)),3" },
    { IP4, "check_pkt_len(size=200,gt(check_pkt_len(size=400,gt(drop),"
      "le(1))),le(drop)),3" },
    { TCP4, "check_pkt_len(size=200,gt(set(ipv4(ttl=1))),le(2))" },
    { IP4, "check_pkt_len(size=200,gt(meter(1)),le(2))" },
    { IP4, "check_pkt_len(size=200,gt(1),le(meter(1)))" },
    { "recirc_id(0),tunnel(tun_id=0x1,"
      "src=1.1.1.1,dst=2.2.2.2,ttl=64/0,tp_dst=4789,flags(+key)),"
      "in_port(1)," REST4, "check_pkt_len(size=200,gt(1),le(2)),3" },
    { ETH "eth_type(0x0800),ipv4(proto=1,tos=0/0xfc,frag=no),icmp()",
      "check_pkt_len(size=200,gt(set(ipv4(tos=0x4/0xfc)),1),"
      "le(set(ipv4(tos=0x8/0xfc)),2)),3" },
    { ETH "eth_type(0x0800),ipv4(proto=1,tos=0/0xfc,frag=no),icmp()",
      "check_pkt_len(size=200,gt(set(eth(src=00:00:00:00:00:09)),1),"
      "le(set(ipv4(tos=0x8/0xfc)),2)),3" },
};

const size_t test_n_accepted = ARRAY_SIZE(test_accepted);
