#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Makes a copy of an Open vSwitch source tree that has the tc-batch provider
# in it.  The original is never written to.
#
# A patch that applies "nearly" is worse than one that does not: the result
# builds and then does something else.  So the files that the patches touch
# are pinned by their hashes (file BASE of each series), a hunk may neither be
# fuzzy nor move, and the copy gets its final name only when all of it is
# right.

set -eu
LC_ALL=C
export LC_ALL

here=$(cd "$(dirname "$0")" && pwd)
patches=$here
provider=$(dirname "$here")/provider
stamp_name=.tc-batch-applied

usage () {
    cat <<'END'
usage: apply.sh [OPTION...] OVS_SOURCE DEST
       apply.sh --series OVS_SOURCE
       apply.sh --list

OVS_SOURCE is a source directory or tarball of Open vSwitch, DEST the
directory to make.  If DEST was made from the same source and patches before,
only the files of the provider that have changed are copied again, so that
an incremental build follows.  If it was made from other ones, it is made anew.

  --provider=DIR  the sources of the provider (default: provider/ beside here)
  --patches=DIR   the directory of the series (default: this one)
  --refresh       never make DEST anew: fail if it does not match
  --series        print the series for OVS_SOURCE, fail if there is none
  --list          print the supported versions
  --pin           print a BASE file for OVS_SOURCE, when refreshing a series
END
}

die () {
    echo "apply.sh: $*" >&2
    exit 1
}

list_series () {
    for base in "$patches"/*/BASE; do
        [ -e "$base" ] || continue
        basename "$(dirname "$base")"
    done
}

# Prints the text of configure.ac of the source tree or tarball $1.
read_configure_ac () {
    if [ -d "$1" ]; then
        [ -e "$1/configure.ac" ] || die "$1 has no configure.ac"
        cat "$1/configure.ac"
    elif [ -f "$1" ]; then
        member=$(tar tf "$1" | grep -E '^(\./)?[^/]+/configure\.ac$' |
                 head -n 1)
        [ -n "$member" ] || die "$1 has no configure.ac"
        tar xOf "$1" "$member"
    else
        die "$1: no such directory or tarball"
    fi
}

ovs_version () {
    text=$(read_configure_ac "$1") || exit 1
    echo "$text" |
        sed -n 's/^AC_INIT(\[*openvswitch\]*, *\[*\([0-9][0-9.]*\).*/\1/p'
}

# Prints the name of the series for the version $1.
series_for () {
    for series in $(list_series); do
        case $1 in
        "$series" | "$series".*) echo "$series"; return 0 ;;
        esac
    done
    die "there are no patches for Open vSwitch '$1'; supported are:" \
        "$(list_series | tr '\n' ' ')"
}

touched_files () {
    cat "$patches/$1"/*.patch | sed -n 's,^--- a/,,p' | sort -u
}

# Fails if a file that the series $1 touches is not the pinned one in $2.
verify_pin () {
    bad=
    touched_files "$1" > "$work/touched"
    sed -n 's/^sha256 [0-9a-f]*  //p' "$patches/$1/BASE" | sort -u > "$work/pins"
    if ! cmp -s "$work/touched" "$work/pins"; then
        die "$1/BASE does not list just the files that the patches touch"
    fi
    sed -n 's/^sha256 //p' "$patches/$1/BASE" > "$work/sums"
    while read -r sum file; do
        if [ ! -f "$2/$file" ] ||
           [ "$(sha256sum < "$2/$file")" != "$sum  -" ]; then
            bad="$bad $file"
        fi
    done < "$work/sums"
    if [ -n "$bad" ]; then
        die "the source is not the Open vSwitch" \
            "$(sed -n 's/^version //p' "$patches/$1/BASE") that the series $1" \
            "was made for; different:$bad"
    fi
}

apply_patches () {
    for patch in "$patches/$1"/*.patch; do
        if ! patch -d "$2" -p1 --fuzz=0 --forward --batch \
                --no-backup-if-mismatch -i "$patch" > "$work/out" 2>&1; then
            cat "$work/out" >&2
            die "$(basename "$patch") does not apply"
        fi
        if grep -Eq 'offset|fuzz' "$work/out"; then
            cat "$work/out" >&2
            die "$(basename "$patch") applies only at another place"
        fi
    done
}

# One line that changes whenever the copy must be made anew.
identity () {
    {
        cat "$patches/$1/BASE" "$patches/$1"/*.patch
        if [ -d "$2" ]; then
            (cd "$2" && find . -name .git -prune -o \
                ! -type d -printf '%P %s %T@ %l\n' | sort)
        else
            sha256sum < "$2"
        fi
    } | sha256sum
}

# Copies the file $1 to $2 if they differ, so that make sees no change where
# there is none.
refresh_file () {
    if ! cmp -s "$1" "$2"; then
        cp "$1" "$2.new"
        chmod u+w "$2.new"
        mv -f "$2.new" "$2"
    fi
}

refresh_provider () {
    [ -e "$provider/automake.mk" ] || die "$provider has no automake.mk"
    mkdir -p "$1/lib/tc-batch/tcnl"
    for dir in . tcnl; do
        for file in "$provider/$dir"/*.[ch] "$provider/$dir"/*.mk; do
            [ -e "$file" ] || continue
            refresh_file "$file" "$1/lib/tc-batch/$dir/${file##*/}"
        done
        for file in "$1/lib/tc-batch/$dir"/*.[ch]; do
            if [ -e "$file" ] && [ ! -e "$provider/$dir/${file##*/}" ]; then
                rm -f "$file"
            fi
        done
    done
}

make_copy () {
    mkdir "$new"
    if [ -d "$2" ]; then
        # Without .git, as OVS's own checks of a checkout do not concern the
        # copy.
        (cd "$2" && tar cf - --exclude=./.git --exclude=./autom4te.cache .) |
            (cd "$new" && tar xf - --no-same-owner)
    else
        tar xf "$2" -C "$new" --strip-components=1 --no-same-owner
    fi
    chmod -R u+w "$new"
    verify_pin "$1" "$new"
    apply_patches "$1" "$new"
    refresh_provider "$new"
    identity "$1" "$2" > "$new/$stamp_name"
}

action=apply
refresh_only=no
while [ $# -gt 0 ]; do
    case $1 in
    --patches=*) patches=${1#*=} ;;
    --provider=*) provider=${1#*=} ;;
    --refresh) refresh_only=yes ;;
    --series) action=series ;;
    --list) action=list ;;
    --pin) action=pin ;;
    --help | -h) usage; exit 0 ;;
    --) shift; break ;;
    -*) usage >&2; exit 2 ;;
    *) break ;;
    esac
    shift
done

case $action in
list)
    list_series
    exit 0
    ;;
series)
    [ $# -eq 1 ] || { usage >&2; exit 2; }
    version=$(ovs_version "$1")
    series_for "$version"
    exit 0
    ;;
pin)
    [ $# -eq 1 ] && [ -d "$1" ] || { usage >&2; exit 2; }
    version=$(ovs_version "$1")
    # For a series that has no BASE yet, name its directory by the version.
    series=${version%.*}
    [ -d "$patches/$series" ] || die "there is no directory $series"
    echo "# The files that the patches touch, as they were before."
    echo "version $version"
    touched_files "$series" | while read -r file; do
        sum=$(sha256sum < "$1/$file")
        echo "sha256 ${sum%% *}  $file"
    done
    exit 0
    ;;
esac

[ $# -eq 2 ] || { usage >&2; exit 2; }
source=$1
dest=${2%/}
version=$(ovs_version "$source")
series=$(series_for "$version")
provider=$(cd "$provider" && pwd) || die "no provider sources"
if [ -d "$source" ] && [ -e "$source/config.status" ]; then
    die "$source has been configured: give a clean source tree"
fi

new=$dest.new.$$
work=$(mktemp -d)
# The exit status stays what it is: "rm" does not change it in a trap.
trap 'rm -rf "$work" "$new"' EXIT
trap 'exit 1' HUP INT TERM

if [ -e "$dest" ]; then
    # Only what this script has made may be refreshed, let alone removed.
    [ -e "$dest/$stamp_name" ] ||
        die "$dest exists and was not made by apply.sh"
    if [ "$(cat "$dest/$stamp_name")" = "$(identity "$series" "$source")" ]
    then
        refresh_provider "$dest"
        exit 0
    fi
    [ $refresh_only = no ] ||
        die "$dest was made from another source or from other patches"
fi

[ $refresh_only = no ] || die "$dest does not exist"

# The old copy goes first: after a failure there is none, not an outdated one.
rm -rf "$dest"
make_copy "$series" "$source"
mv "$new" "$dest"
