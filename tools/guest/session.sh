#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: session.sh
#
# Does what $LAB_OUT/job says, with Open vSwitch running, in the machine or in
# namespaces of the host.  File descriptor 9 leads to the host's "lab"; its
# protocol is one line a message:
#   boot                          the machine is up (from init)
#   phase TEXT                    what is going on now
#   result FILE PASS FAIL SKIP    counts of one test script
#   suite NUMBER RESULT SECONDS PLACE
#                                 one test of Open vSwitch's own suite
#   exit STATUS                   the end (from init, or native mode)
#
# The job sets: OVS_BUILD OVS_TCB_SRC LAB_OUT LAB_MODE LAB_CWD LAB_ARGS[].
set -euo pipefail
here=${0%/*}
. "$LAB_OUT/job"
. "$here/env.sh"

report() {
    printf '%s\n' "$*" >&9
}

# keep_logs: what Open vSwitch logged goes out with the results.
keep_logs() {
    cp "$OVS_LOG"/*.log "$LAB_OUT/" 2>/dev/null || true
}

# start_ovs: or the session is over.
start_ovs() {
    report "phase starting Open vSwitch"
    if ! "$here/ovs-up.sh" 9>&-; then
        echo "Open vSwitch does not start; the ends of its logs:" >&2
        tail -n 15 "$OVS_LOG"/*.log >&2 || true
        keep_logs
        exit 1
    fi
}

rc=0
case $LAB_MODE in
command)
    exec >>"$LAB_OUT/stdout" 2>>"$LAB_OUT/stderr"
    start_ovs
    report "phase running ${LAB_ARGS[*]}"
    cd "$LAB_CWD" 2>/dev/null || cd "$OVS_TCB_SRC"
    "${LAB_ARGS[@]}" <"${LAB_STDIN:-/dev/null}" 9>&- || rc=$?
    ;;
shell)
    if [ -n "${LAB_TTY-}" ]; then
        exec <>"$LAB_TTY" >&0 2>&1
        stty sane rows "$LAB_ROWS" cols "$LAB_COLS"
    fi
    start_ovs
    report "phase shell"
    cd "$LAB_CWD" 2>/dev/null || cd "$OVS_TCB_SRC"
    export TERM=${LAB_TERM:-dumb} PS1='lab:\w# '
    if [ -n "${LAB_TTY-}" ]; then
        setsid -c -w bash --norc -i 9>&- || rc=$?
    else
        bash --norc -i 9>&- || rc=$?
    fi
    ;;
tests)
    exec >>"$LAB_OUT/stdout" 2>>"$LAB_OUT/stderr"
    "$here/run-tests.sh" "${LAB_ARGS[@]}" || rc=$?
    ;;
suite)
    exec >>"$LAB_OUT/stdout" 2>>"$LAB_OUT/stderr"
    "$here/run-suite.sh" "${LAB_ARGS[@]}" || rc=$?
    ;;
esac

report "phase stopping Open vSwitch"
if ! "$here/ovs-down.sh" 9>&-; then
    [ "$rc" != 0 ] || rc=1
fi
keep_logs
exit "$rc"
