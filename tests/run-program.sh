#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: run-program.sh PROGRAM [ARGUMENT...]
#
# Runs a test program and prints its results as one TAP stream.  cmocka prints
# a plan for each group and begins to count anew, says "not ok" of a case that
# was skipped, and nothing of the cases that a crash has prevented; automake's
# driver needs it the other way in all three.  Whatever the program did not
# say itself in "ok" lines becomes a "not ok" line here: planned cases that did
# not run, death by a signal, and an exit status other than 0 though no case
# failed, as that is how sanitizers report leaks.

case $1 in
*/*) program=$1 ;;
*) program=./$1 ;;
esac
shift

CMOCKA_MESSAGE_OUTPUT=TAP
export CMOCKA_MESSAGE_OUTPUT

# The status takes the same way as the output, so that it comes after it.
# A test that hangs would otherwise hang "make check".
{
    timeout -k 5 "${TEST_TIMEOUT:-300}" "$program" "$@" 2>&1
    printf '\n#exit-status %d\n' $?
} | ${AWK:-awk} '
    function result(ok, text) {
        n++
        print (ok ? "ok " : "not ok ") n " - " text
        if (!ok) {
            failed++
        }
    }
    /^#exit-status [0-9]+$/ { status = $2; next }
    /^ *TAP version/ { next }
    /^ *1\.\.[0-9]+/ {
        sub(/^ *1\.\./, "")
        planned += $1
        next
    }
    /^ *(not )?ok([ \t]|$)/ {
        ok = $0 !~ /^ *not/
        sub(/^ *(not )?ok[ \t]*/, "")
        sub(/^[0-9]+[ \t]*/, "")
        sub(/^-[ \t]*/, "")
        if ($0 ~ /^# *[Ss][Kk][Ii][Pp]/) {
            # cmocka puts the name behind the directive.
            name = $0
            sub(/^# *[A-Za-z]+[ \t]*/, "", name)
            $0 = name " # SKIP"
            ok = 1
        }
        result(ok, $0)
        next
    }
    /^Bail out!/ { print; bailed = 1; next }
    /^$/ { next }
    /^#/ { print; next }
    { print "# " $0 }
    END {
        if (!planned && !n && !status) {
            result(0, "the program has run no case")
        }
        if (n < planned) {
            ran = n
            result(0, "only " ran " of " planned " cases ran")
        }
        if (status == 124) {
            result(0, "the program was stopped at the time limit")
        } else if (status > 128) {
            result(0, "the program died of signal " status - 128)
        } else if (status && !failed) {
            result(0, "the program ended with status " status)
        }
        print "1.." n
    }'
