#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: run.sh OVS-BUILD [OUTPUT-DIRECTORY]
#
# Builds and runs the tests of the translation between Open vSwitch and TC.
# They link with the libopenvswitch.a of a finished build of Open vSwitch, with
# or without our patches: in the former case our ports and meters are in the
# library, too, and the tests' own take their place.  CC and CFLAGS count.

set -e
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
ovs=$(cd "${1:?usage: run.sh OVS-BUILD [OUTPUT-DIRECTORY]}" && pwd)
out=${2:-$(mktemp -d)}
mkdir -p "$out"

srcdir=$(sed -n 's/^abs_top_srcdir = //p' "$ovs/Makefile")
warnings=$(sed -n 's/^WARNING_FLAGS = //p' "$ovs/Makefile")
ovs_libs=$(sed -n 's/^LIBS = //p' "$ovs/Makefile")

provider="tcb-action tcb-action-report tcb-field tcb-match tcb-match-report
    tcb-rewrite tcb-why tcnl/action tcnl/buffer tcnl/flower tcnl/pedit
    tcnl/stats"

# Open vSwitch has its own copies of some kernel headers, which libtcnl, that
# knows nothing of Open vSwitch, must not get.
compile() {
    case $1 in
    */tcnl/*) include= ;;
    *) include="-I$ovs -I$ovs/include -I$ovs/lib -I$srcdir/include
           -I$srcdir/lib" ;;
    esac
    object=$out/$(echo "$1" | sed "s,^$top/,,;s,/,-,g;s,\.c\$,.o,")
    # shellcheck disable=SC2086
    ${CC:-cc} -DHAVE_CONFIG_H $warnings ${CFLAGS:--O1 -g} \
        $include -I"$top/provider" -c -o "$object" "$1"
    objects="$objects $object"
}

objects=
for name in $provider; do
    compile "$top/provider/$name.c"
done
compile "$here/translate.c"
compile "$here/translate-flows.c"
common=$objects
status=0

for test in test-translate test-in-tree; do
    test -e "$here/$test.c" || continue
    objects=$common
    wrap=$(sed -n 's/.*WRAP(\([a-z_]*\)).*/-Wl,--wrap=\1/p' "$here/$test.c")
    compile "$here/$test.c"
    # shellcheck disable=SC2086
    ${CC:-cc} ${CFLAGS:--O1 -g} $wrap -Wl,--allow-multiple-definition \
        -o "$out/$test" $objects "$ovs/lib/.libs/libopenvswitch.a" \
        -lcmocka -lmnl $ovs_libs
    sh "$top/tests/run-program.sh" "$out/$test" || status=1
done

exit $status
