# SPDX-License-Identifier: Apache-2.0
#
# The files of libtcnl, for our build and, by way of ../automake.mk, for that
# of Open vSwitch.  tcnl-probe.c is a program and not listed here.  The headers
# are those that are installed; internal ones are sources.

tcnl_sources = \
	%D%/ack.c \
	%D%/action-basic.c \
	%D%/action-pedit.c \
	%D%/action-police.c \
	%D%/action.c \
	%D%/attr.h \
	%D%/batch.c \
	%D%/buffer.c \
	%D%/counters.c \
	%D%/ct.c \
	%D%/datagram.c \
	%D%/datagram.h \
	%D%/dump.c \
	%D%/filter.c \
	%D%/flower-compare.c \
	%D%/flower-depend.c \
	%D%/flower-row.h \
	%D%/flower.c \
	%D%/mpls.c \
	%D%/pedit.c \
	%D%/police.c \
	%D%/probe.c \
	%D%/qdisc.c \
	%D%/shape.c \
	%D%/socket.c \
	%D%/stats.c \
	%D%/template.c \
	%D%/transport.c \
	%D%/tunnel-key.c \
	%D%/tunnel-opts.c \
	%D%/word.h

tcnl_headers = \
	%D%/ack.h \
	%D%/action-kind.h \
	%D%/action.h \
	%D%/batch.h \
	%D%/buffer.h \
	%D%/dump.h \
	%D%/filter.h \
	%D%/flower.h \
	%D%/pedit.h \
	%D%/police.h \
	%D%/probe.h \
	%D%/qdisc.h \
	%D%/shape.h \
	%D%/socket.h \
	%D%/stats.h \
	%D%/template.h \
	%D%/transport.h \
	%D%/tunnel-opts.h \
	%D%/uapi.h
