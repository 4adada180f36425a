#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Shows that ovs-patches/apply.sh makes a right copy or none.  All but the last
# cases use a small invented source tree; those need $OVS_SOURCE.

# shellcheck source=tests/unit/tap.sh
. "$(dirname "$0")/tap.sh"

apply=$TOP_SRCDIR/ovs-patches/apply.sh

# Makes the source $tmp/src with the series $tmp/patches/9.1 and the provider
# $tmp/provider.
setup () {
    rm -rf "${tmp:?}"/*
    mkdir -p "$tmp/src/lib" "$tmp/patches/9.1" "$tmp/provider/tcnl"
    echo 'AC_INIT(openvswitch, 9.1.0, bugs@example.org)' \
        > "$tmp/src/configure.ac"
    seq 1 40 > "$tmp/src/lib/a.c"
    seq 1 40 > "$tmp/src/lib/b.c"
    echo '/* one */' > "$tmp/provider/tcb-one.c"
    echo '/* two */' > "$tmp/provider/tcnl/two.h"
    echo 'tc_batch_sources = %D%/tcb-one.c' > "$tmp/provider/automake.mk"
    make_patch 0001 a.c 10 > "$tmp/patches/9.1/0001-a.patch"
    make_patch 0002 b.c 20 > "$tmp/patches/9.1/0002-b.patch"
    run_apply --pin "$tmp/src" > "$tmp/BASE"
    mv "$tmp/BASE" "$tmp/patches/9.1/BASE"
}

# A patch that changes line $3 of lib/$2.
make_patch () {
    cat <<END
Subject: [PATCH $1] Change a line.

--- a/lib/$2
+++ b/lib/$2
@@ -$(($3 - 3)),7 +$(($3 - 3)),7 @@
 $(($3 - 3))
 $(($3 - 2))
 $(($3 - 1))
-$3
+changed
 $(($3 + 1))
 $(($3 + 2))
 $(($3 + 3))
END
}

run_apply () {
    "$apply" --patches="$tmp/patches" --provider="$tmp/provider" "$@"
}

# Neither the destination nor anything else is there.
nothing_left () {
    for file in "$tmp"/dest*; do
        [ ! -e "$file" ] || fail "left behind: $file"
    done
}

begin "a clean base is copied and patched"
setup
cp -a "$tmp/src" "$tmp/before"
must run_apply "$tmp/src" "$tmp/dest"
[ "$(sed -n 10p "$tmp/dest/lib/a.c")" = changed ] || fail "a.c is not patched"
[ "$(sed -n 20p "$tmp/dest/lib/b.c")" = changed ] || fail "b.c is not patched"
must cmp "$tmp/provider/tcb-one.c" "$tmp/dest/lib/tc-batch/tcb-one.c"
must cmp "$tmp/provider/tcnl/two.h" "$tmp/dest/lib/tc-batch/tcnl/two.h"
must diff -r "$tmp/before" "$tmp/src"
end

begin "a tarball works as well as a directory"
setup
(cd "$tmp" && mv src openvswitch-9.1.0 && tar czf src.tar.gz openvswitch-9.1.0)
must run_apply "$tmp/src.tar.gz" "$tmp/dest"
[ "$(sed -n 10p "$tmp/dest/lib/a.c")" = changed ] || fail "a.c is not patched"
end

begin "a base that differs in a touched file is refused"
setup
echo 41 >> "$tmp/src/lib/b.c"
must_refuse 'different: lib/b.c' run_apply "$tmp/src" "$tmp/dest"
nothing_left
end

begin "a base that lacks a touched file is refused"
setup
rm "$tmp/src/lib/b.c"
must_refuse 'different: lib/b.c' run_apply "$tmp/src" "$tmp/dest"
nothing_left
end

begin "a version without patches is refused, the supported ones are named"
setup
sed -i 's/9\.1\.0/9.10.0/' "$tmp/src/configure.ac"
must_refuse 'supported are: 9.1' run_apply "$tmp/src" "$tmp/dest"
must_refuse 'supported are: 9.1' run_apply --series "$tmp/src"
nothing_left
end

begin "nothing is left of a series whose second patch does not apply"
setup
sed -i 's/^-20$/-21/' "$tmp/patches/9.1/0002-b.patch"
must_refuse '0002-b.patch does not apply' run_apply "$tmp/src" "$tmp/dest"
nothing_left
end

begin "a hunk that has moved is refused"
setup
sed -i 's/^@@.*/@@ -18,7 +18,7 @@/' "$tmp/patches/9.1/0002-b.patch"
must_refuse 'only at another place' run_apply "$tmp/src" "$tmp/dest"
nothing_left
end

begin "a hunk whose context differs is refused"
setup
sed -i 's/^ 23$/ 123/' "$tmp/patches/9.1/0002-b.patch"
must_refuse '0002-b.patch does not apply' run_apply "$tmp/src" "$tmp/dest"
nothing_left
end

begin "a file that is patched and not pinned is refused"
setup
sed -i '/b\.c/d' "$tmp/patches/9.1/BASE"
must_refuse 'does not list' run_apply "$tmp/src" "$tmp/dest"
nothing_left
end

begin "a second run touches only what has changed"
setup
must run_apply "$tmp/src" "$tmp/dest"
find "$tmp/dest" -exec touch -d '2001-01-01' {} +
echo object > "$tmp/dest/lib/a.o"
echo '/* new one */' > "$tmp/provider/tcb-one.c"
touch "$tmp/provider/tcnl/two.h"
must run_apply "$tmp/src" "$tmp/dest"
must cmp "$tmp/provider/tcb-one.c" "$tmp/dest/lib/tc-batch/tcb-one.c"
[ -e "$tmp/dest/lib/a.o" ] || fail "the copy was made anew"
new=$(cd "$tmp/dest" && find . -type f -newermt 2002-01-01 | sort)
[ "$(echo $new)" = './lib/a.o ./lib/tc-batch/tcb-one.c' ] ||
    fail "changed:" $new
end

begin "a source of the provider that is gone disappears from the copy"
setup
echo > "$tmp/provider/tcb-two.c"
must run_apply "$tmp/src" "$tmp/dest"
rm "$tmp/provider/tcb-two.c"
must run_apply --refresh "$tmp/src" "$tmp/dest"
[ ! -e "$tmp/dest/lib/tc-batch/tcb-two.c" ] || fail "it is still there"
end

begin "another patch makes a new copy, but not with --refresh"
setup
must run_apply "$tmp/src" "$tmp/dest"
echo object > "$tmp/dest/lib/a.o"
sed -i 's/^+changed/+changed again/' "$tmp/patches/9.1/0001-a.patch"
must_refuse 'from other patches' run_apply --refresh "$tmp/src" "$tmp/dest"
[ -e "$tmp/dest/lib/a.o" ] || fail "--refresh has removed the copy"
must run_apply "$tmp/src" "$tmp/dest"
[ "$(sed -n 10p "$tmp/dest/lib/a.c")" = "changed again" ] ||
    fail "a.c is the old one"
[ ! -e "$tmp/dest/lib/a.o" ] || fail "an old object is still there"
end

begin "an outdated copy does not survive a failure"
setup
must run_apply "$tmp/src" "$tmp/dest"
echo 41 >> "$tmp/src/lib/a.c"
must_refuse 'different: lib/a.c' run_apply "$tmp/src" "$tmp/dest"
nothing_left
end

begin "a directory that is not ours is left alone"
setup
mkdir "$tmp/dest"
echo precious > "$tmp/dest/file"
must_refuse 'not made by apply.sh' run_apply "$tmp/src" "$tmp/dest"
[ "$(cat "$tmp/dest/file")" = precious ] || fail "the file is damaged"
end

begin "a source tree that has been configured is refused"
setup
: > "$tmp/src/config.status"
must_refuse 'has been configured' run_apply "$tmp/src" "$tmp/dest"
nothing_left
end

name="the real patches apply to the Open vSwitch that was given"
if [ -n "$OVS_SOURCE" ]; then
    begin "$name"
    rm -rf "${tmp:?}"/*
    must "$apply" "$OVS_SOURCE" "$tmp/dest"
    must grep -q dpif_offload_tc_batch_class "$tmp/dest/lib/dpif-offload.c"
    end
else
    skip "$name" "configure --with-ovs was not given"
fi

done_testing
