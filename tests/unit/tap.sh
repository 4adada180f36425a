# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# TAP for script tests, to be sourced.  A case is
#
#     begin "what is shown"
#     command || fail "what went wrong"
#     end
#
# and "done_testing" ends the script.

tap_n=0

begin () {
    tap_name=$1
    tap_ok=yes
}

fail () {
    tap_ok=no
    echo "# $*"
}

end () {
    tap_n=$((tap_n + 1))
    if [ "$tap_ok" = yes ]; then
        echo "ok $tap_n - $tap_name"
    else
        echo "not ok $tap_n - $tap_name"
    fi
}

skip () {
    tap_n=$((tap_n + 1))
    echo "ok $tap_n - $1 # SKIP $2"
}

# Fails the case with the output of the command if the command fails.
must () {
    "$@" > "$tmp/out" 2>&1 || {
        fail "this should have worked: $*"
        sed 's/^/# /' "$tmp/out"
    }
}

# Fails the case if the command works, or does not say $1.
must_refuse () {
    tap_words=$1
    shift
    if "$@" > "$tmp/out" 2>&1; then
        fail "this should have been refused: $*"
    elif ! grep -q -e "$tap_words" "$tmp/out"; then
        fail "no word of '$tap_words' from: $*"
        sed 's/^/# /' "$tmp/out"
    fi
}

done_testing () {
    # The plan comes last, so a script that breaks off has none, which is an
    # error.  The status says nothing that the lines do not.
    echo "1..$tap_n"
    exit 0
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
: "${TOP_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}"
