#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: run-suite.sh NUMBER...
#
# Runs tests of Open vSwitch's offload suite, whose script is in $LAB_OUT, and
# reports on file descriptor 9 (see session.sh) how each of them went.  What a
# failed test leaves behind is kept in $LAB_OUT/NUMBER.  Exits 0 unless the
# suite could not be run at all.
set -euo pipefail
here=${0%/*}
. "$here/env.sh"

suite=system-offloads-testsuite
tests=$OVS_BUILD/tests
bin=/run/suite-bin

# One directory in memory with all the programs: looking them up along a
# path over the host's file system costs more than many of them take.
mkdir -p "$bin"
cp "$LAB_OUT/bin/nc" "$bin/"
for file in "$OVS_BUILD"/{utilities,ovsdb,vswitchd,tests}/{ovs,vtep,test}*; do
    [ ! -x "$file" ] || [ -d "$file" ] || ln -s "$file" "$bin/"
done
# Test 21 sorts with a function that only GNU's awk has.
ln -s /usr/bin/gawk "$bin/awk"
PATH=$bin:$PATH
# (The root is an overlay in memory: this is not the host's file.)
cp "$LAB_OUT/$suite" "$tests/$suite"

# An emulator translates a program's code anew for every address that it comes
# to stand at: with addresses that stay the same, commands take half the time.
echo 0 >/proc/sys/kernel/randomize_va_space

# Namespaces get the devices of tunnel drivers here: "ip tunnel add" of test 16
# needs one.
echo 0 >/proc/sys/net/core/fb_tunnels_only_for_init_net

# keep NUMBER: the files of a test that failed; sockets do not go to the host.
keep() {
    local dir
    for dir in "$tests/$suite.dir/"*; do
        [[ ${dir##*/} =~ ^0*$1$ ]] || continue
        mkdir -p "$LAB_OUT/$1"
        find "$dir" -maxdepth 1 -type f -exec cp {} "$LAB_OUT/$1/" \;
    done
}

line='^ *([0-9]+): .* (ok|skipped|FAILED)( \((.*)\))? *$'
seen=0
start=${EPOCHREALTIME/./}
printf 'phase suite, before the first test\n' >&9
while IFS= read -r text; do
    printf '%s\n' "$text" >>"$LAB_OUT/suite.out"
    [[ $text =~ $line ]] || continue
    number=${BASH_REMATCH[1]}
    result=${BASH_REMATCH[2],,}
    place=${BASH_REMATCH[4]}
    now=${EPOCHREALTIME/./}
    printf 'suite %s %s %s %s\n' "$number" "$result" \
        $(((now - start) / 1000000)) "$place" >&9
    printf 'phase suite, after test %s\n' "$number" >&9
    start=$now
    seen=$((seen + 1))
    [ "$result" != failed ] || keep "$number"
done < <(bash "$tests/$suite" -C "$tests" AUTOTEST_PATH="$bin" "$@" \
    </dev/null 2>"$LAB_OUT/suite.err" 9>&-)

if [ "$seen" = 0 ]; then
    echo "the suite ran no test; what it said:" >&2
    tail -n 20 "$LAB_OUT/suite.out" "$LAB_OUT/suite.err" >&2
    exit 1
fi
