#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The rules that the sources keep to.  Each states its reason, and names the
# place where it is broken.

# shellcheck source=tests/unit/tap.sh
. "$(dirname "$0")/tap.sh"

cd "$TOP_SRCDIR" || exit 99

# The files of the project: those that git has or would take, in a tarball
# those that came with it.
if [ -e .git ]; then
    git ls-files -co --exclude-standard > "$tmp/all"
else
    cp MANIFEST "$tmp/all"
fi
sort -u "$tmp/all" | while read -r file; do
    [ ! -f "$file" ] || echo "$file"
done > "$tmp/files"

# The files whose names match $1.
files () {
    grep -E -e "$1" "$tmp/files"
}

c_files='^(provider|tests|bench)/.*\.[ch]$'

# Fails with the lines of $1, if any.
none () {
    [ ! -s "$1" ] || {
        fail "$reason"
        sed 's/^/#   /' "$1"
    }
}

# Greps the files whose names match $1 for $2.
grep_files () {
    files "$1" | xargs grep -nE -e "$2" /dev/null > "$tmp/found"
    none "$tmp/found"
}

# Prints "FILE:LINE: TEXT" without comments and string literals, except those
# of #include.
strip_comments () {
    awk '
        FNR == 1 { comment = 0 }
        {
            text = ""
            line = $0
            if (line !~ /^[ \t]*#[ \t]*include/) {
                gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
            }
            while (line != "") {
                if (comment) {
                    i = index(line, "*/")
                    if (!i) { break }
                    line = substr(line, i + 2)
                    comment = 0
                } else {
                    i = index(line, "/*")
                    if (!i) { text = text line; break }
                    text = text substr(line, 1, i - 1)
                    line = substr(line, i + 2)
                    comment = 1
                }
            }
            if (text ~ /[^ \t]/) { print FILENAME ":" FNR ": " text }
        }' "$@"
}

begin "libtcnl includes nothing of Open vSwitch"
reason="libtcnl is a library of its own, used and tested without OVS: only \
system headers and its own"
files '^provider/tcnl/.*\.[ch]$' > "$tmp/tcnl"
if [ -s "$tmp/tcnl" ]; then
    # shellcheck disable=SC2046
    strip_comments $(cat "$tmp/tcnl") > "$tmp/stripped"
    sed -n 's/^\([^:]*:[0-9]*\): *# *include *"\([^"]*\)".*/\1 \2/p' \
        "$tmp/stripped" | while read -r place header; do
        [ -e "provider/tcnl/${header#tcnl/}" ] || echo "$place: $header"
    done > "$tmp/found"
    grep -E '# *include *<(config\.h|openvswitch/|openflow/|sparse/)' \
        "$tmp/stripped" >> "$tmp/found"
    none "$tmp/found"
fi
end

begin "libtcnl uses no type or function of Open vSwitch"
reason="a type of OVS in libtcnl would make it depend on OVS's headers"
if [ -s "$tmp/tcnl" ]; then
    grep -E '\<(ovs_|odp_|ofp|ofpbuf|dpif|netdev_|nl_msg_|VLOG_|COVERAGE_)|'\
'\<x(malloc|zalloc|calloc|realloc|strdup|asprintf|memdup)\>|'\
'\<struct (ds|flow|match|minimatch|hmap|cmap|shash|smap|json|tcf_id)\>|'\
'\<(OVS_[A-Z_]+|CONST_CAST|ARRAY_SIZE|BUILD_ASSERT_DECL)\>' \
        "$tmp/stripped" |
        # The lists of compilers' attributes and such of our own have a prefix.
        grep -vE '\<TCNL_' > "$tmp/found"
    # Its own definition is allowed.
    none "$tmp/found"
fi
end

begin "every source has a licence"
reason="the licence of a file that is copied elsewhere must go with it: an \
SPDX-License-Identifier in the first lines"
{
    files '\.([ch]|sh|py|mk|ac|am|m4|pc\.in|at)$'
    files '^(lab|tools/|\.ci/|bench/)' | while read -r file; do
        if head -c 2 "$file" | grep -q '#!'; then echo "$file"; fi
    done
} | sort -u | while read -r file; do
    [ ! -s "$file" ] ||
        head -n 4 "$file" | grep -q 'SPDX-License-Identifier: ' ||
        echo "$file"
done > "$tmp/found"
none "$tmp/found"
end

begin "no line of C is longer than 79 columns"
reason="the sources follow the style of OVS, and stay readable side by side"
grep_files "$c_files" '^.{80}'
end

begin "no tab is in C"
reason="indentation is by spaces, as a tab is as wide as the reader's \
terminal says"
grep_files "$c_files" "$(printf '\t')"
end

begin "no space is at the end of a line"
reason="it shows up as a change wherever an editor removes it"
grep_files '\.([ch]|sh|py|mk|ac|am|m4|md|yml)$' '[[:blank:]]$'
end

begin "no home directory and no machine is named"
reason="it would work for whoever wrote it only"
files . | grep -vE '\.patch$|^LICENSE$' > "$tmp/named"
xargs grep -nIE '(^|[^[:alnum:]_./${}-])/(home|root|Users)/[[:alnum:]_.]' \
    /dev/null < "$tmp/named" |
    grep -vE '/root/\.|test-source-rules' > "$tmp/found"
# Sources come from what the machine is configured for; hosts of
# documentation and licences are all right.
grep -vE '\.(md|rst)$|^docs/' "$tmp/named" |
    xargs grep -noIE '(https?|ftp|git)://[[:alnum:]._-]+' /dev/null |
    grep -vE '://(www\.|docs\.|git\.)?(apache|openvswitch|kernel|spdx|gnu|netfilter|libvirt|llvm|testanything)\.org$|://(localhost|127\.0\.0\.1|([a-z]+\.)?example(\.[a-z]+)?)$' \
    >> "$tmp/found"
none "$tmp/found"
end

begin "the lists of sources are complete"
reason="a file that no list names is not built, or not run, and nobody notices"
files '^provider/tcnl/[^/]*\.[ch]$' | grep -v tcnl-probe |
    sed 's,.*/,,' | sort > "$tmp/have"
sed -n 's,^[[:blank:]]*%D%/\([^ ]*\).*,\1,p' provider/tcnl/sources.mk |
    sort > "$tmp/listed"
diff "$tmp/have" "$tmp/listed" |
    sed -n 's/^[<>]/provider\/tcnl\/sources.mk &/p' > "$tmp/found"
files '^provider/[^/]*\.[ch]$' | sed 's,.*/,,' | sort > "$tmp/have"
sed -n 's,^[[:blank:]]*%D%/\([^ /]*\.[ch]\).*,\1,p' provider/automake.mk |
    sort > "$tmp/listed"
diff "$tmp/have" "$tmp/listed" |
    sed -n 's/^[<>]/provider\/automake.mk &/p' >> "$tmp/found"
files '^tests/(unit(-ovs)?/test-[^/]*\.c|fuzz/fuzz-[^/]*\.c|fake/[^/]*\.c|unit/test-.*\.sh)$' |
    while read -r file; do
        case $file in
        *.sh | tests/fake/*) want=$file ;;
        *) want=${file%.c} ;;
        esac
        grep -Eq "^[[:blank:]]+%D%/${want#tests/}( |\$)" tests/automake.mk ||
            echo "tests/automake.mk < ${want#tests/}"
    done >> "$tmp/found"
files '^tests/fuzz/corpus/' |
    sed 's,^tests/fuzz/corpus/\([^/]*\)/.*,\1,' | sort -u |
    while read -r name; do
        [ -e "tests/fuzz/fuzz-$name.c" ] ||
            echo "tests/fuzz/corpus/$name has no tests/fuzz/fuzz-$name.c"
    done >> "$tmp/found"
# "<" is a file that is there and not listed, ">" the other way round.
none "$tmp/found"
end

begin "no patch of Open vSwitch is signed off"
reason="that is for whoever submits it to say"
grep_files '^ovs-patches/.*\.patch$' '^Signed-off-by:'
end

done_testing
