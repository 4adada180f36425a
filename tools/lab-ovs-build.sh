#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: lab-ovs-build.sh OVS_SOURCE APPLY_SCRIPT OVS_SERIES SLOT CONFIGURE-ARG...
#
# Brings SLOT/tree up to date with OVS_SOURCE, the patches and the provider,
# and builds it.  Only files whose contents changed are copied, so that an
# edit of one file costs its compilation and the links.
#   SLOT/fresh        the patched sources, never built in
#   SLOT/configured   the tree was configured, and built once
#   SLOT/manifest     digests of all source files of the tree
# "complete" is for the caller to write.
set -euo pipefail

source=$1 apply=$2 series=$3 slot=$4
shift 4
tree=$slot/tree

fail() {
    printf 'lab-ovs-build: %s\n' "$*"
    exit 1
}

manifest() {
    (cd "$1" && find . \( -name .deps -o -name .libs \) -prune -o -type f \
        ! -name '*.o' ! -name '*.lo' ! -name '*.la' ! -name '*.a' -print0 |
        LC_ALL=C sort -z | xargs -0 sha256sum)
}

# Patched sources, beside the tree; they stay, and are brought up to date.
fresh=$slot/fresh
# (apply.sh refuses a directory that it has not finished.)
[ -e "$fresh/.tc-batch-applied" ] || rm -rf "$fresh"
if ! "$apply" "$source" "$fresh" >"$slot/apply.log" 2>&1; then
    cat "$slot/apply.log"
    fail "the patches of ovs-patches/$series cannot be applied:" \
        "$(tail -n 1 "$slot/apply.log")"
fi
manifest "$fresh" >"$slot/manifest.new"

if [ ! -e "$slot/configured" ]; then
    rm -rf "$tree"
    cp -a "$fresh" "$tree"
    cd "$tree"
    ./boot.sh
    ./configure "$@"
    mv "$slot/manifest.new" "$slot/manifest"
    touch "$slot/configured"
else
    # The manifest goes first: if this is interrupted, everything is copied
    # the next time, which is slow and right.
    mv "$slot/manifest" "$slot/manifest.old" 2>/dev/null ||
        : >"$slot/manifest.old"
    LC_ALL=C comm -13 <(LC_ALL=C sort "$slot/manifest.old") \
        <(LC_ALL=C sort "$slot/manifest.new") | cut -c67- >"$slot/changed"
    LC_ALL=C comm -23 <(cut -c67- "$slot/manifest.old" | LC_ALL=C sort) \
        <(cut -c67- "$slot/manifest.new" | LC_ALL=C sort) >"$slot/gone"
    while read -r file; do
        printf 'changed: %s\n' "$file"
        mkdir -p "$(dirname "$tree/$file")"
        # A new time stamp, always: the old one may be older than the object.
        cp "$fresh/$file" "$tree/$file"
    done <"$slot/changed"
    while read -r file; do
        printf 'gone: %s\n' "$file"
        rm -f "$tree/$file"
    done <"$slot/gone"
    mv "$slot/manifest.new" "$slot/manifest"
    cd "$tree"
fi

make -j"$(nproc)"
