# SPDX-License-Identifier: Apache-2.0
#
# The files of the provider.  Open vSwitch's build system includes this file
# from lib/tc-batch, ours from provider, hence %D% for the directory.  The
# lists are sorted, one file a line; "make check" fails if one is missing.

include %D%/tcnl/sources.mk

tc_batch_sources = \
	%D%/tcb-action-report.c \
	%D%/tcb-action.c \
	%D%/tcb-action.h \
	%D%/tcb-audit.c \
	%D%/tcb-audit.h \
	%D%/tcb-chain-use.c \
	%D%/tcb-chain-use.h \
	%D%/tcb-check-len.c \
	%D%/tcb-class.c \
	%D%/tcb-conntrack.c \
	%D%/tcb-cursor.c \
	%D%/tcb-cursor.h \
	%D%/tcb-decode.c \
	%D%/tcb-decode.h \
	%D%/tcb-dump.c \
	%D%/tcb-dump.h \
	%D%/tcb-field.c \
	%D%/tcb-field.h \
	%D%/tcb-finish.c \
	%D%/tcb-flow-table.c \
	%D%/tcb-flow-table.h \
	%D%/tcb-hold.c \
	%D%/tcb-hold.h \
	%D%/tcb-hook.h \
	%D%/tcb-leftover.c \
	%D%/tcb-leftover.h \
	%D%/tcb-match-report.c \
	%D%/tcb-match.c \
	%D%/tcb-match.h \
	%D%/tcb-meter-table.c \
	%D%/tcb-meter-table.h \
	%D%/tcb-meter.c \
	%D%/tcb-meter.h \
	%D%/tcb-modify.c \
	%D%/tcb-mpls.c \
	%D%/tcb-offload.h \
	%D%/tcb-operate.c \
	%D%/tcb-operate.h \
	%D%/tcb-pending.c \
	%D%/tcb-pending.h \
	%D%/tcb-placeholder.c \
	%D%/tcb-placeholder.h \
	%D%/tcb-plan.c \
	%D%/tcb-plan.h \
	%D%/tcb-police.c \
	%D%/tcb-police.h \
	%D%/tcb-port.c \
	%D%/tcb-port.h \
	%D%/tcb-prio.c \
	%D%/tcb-prio.h \
	%D%/tcb-rewrite.c \
	%D%/tcb-rewrite.h \
	%D%/tcb-round.c \
	%D%/tcb-round.h \
	%D%/tcb-run.c \
	%D%/tcb-run.h \
	%D%/tcb-set.c \
	%D%/tcb-set.h \
	%D%/tcb-settle.c \
	%D%/tcb-shape.c \
	%D%/tcb-shape.h \
	%D%/tcb-show-json.c \
	%D%/tcb-show-json.h \
	%D%/tcb-show.c \
	%D%/tcb-show.h \
	%D%/tcb-single.c \
	%D%/tcb-single.h \
	%D%/tcb-template.c \
	%D%/tcb-template.h \
	%D%/tcb-translation.h \
	%D%/tcb-tunnel.c \
	%D%/tcb-verify.c \
	%D%/tcb-vlan.c \
	%D%/tcb-why.c \
	%D%/tcb-why.h \
	%D%/tcb-worker.c \
	%D%/tcb-worker.h
