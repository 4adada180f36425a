#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# lab: by-name
#
# The patches in kernel/patches, by the kernel's own tdc.py: cases in its format
# are in kernel/tests, for a kernel with each patch and for one without.  Which
# it is the probe tells.
set -euo pipefail

tests=${OVS_TCB_SRC:?}/kernel/tests
tmp=$(mktemp -d)
trap 'ip netns delete probe 2>/dev/null || true; rm -rf "$tmp"' EXIT

if [ ! -e "${TC_TESTING:-/nonexistent}/tdc.py" ]; then
    echo "1..0 # SKIP no tc-testing: run it by \"./lab check vm:kernel\""
    exit 0
fi
${CC:-gcc} -std=gnu11 -O2 -Wall -Wextra -Werror -o "$tmp/tc-dump" "$tests"/*.c -lmnl

ip netns add probe
ip -n probe link add probe0 type dummy
tc -n probe qdisc add dev probe0 clsact
ip netns exec probe "$tmp/tc-dump" probe probe0 >"$tmp/probe"
sed 's/^/# /' "$tmp/probe"

categories=(any)
while read -r feature answer; do
    case $answer in
    yes) categories+=("$feature") ;;
    no) categories+=("no-$feature") ;;
    esac
done <"$tmp/probe"

# It must run where it is, and reads its names from there.
cp -r "$TC_TESTING" "$tmp/tc-testing"
cd "$tmp/tc-testing"
cat >tdc_config_local.py <<CONFIG
EXTRA_NAMES = {'DUMP': '$tmp/tc-dump', 'TIMEOUT': ${LAB_SLOW:-1} * 120}
CONFIG

: >"$tmp/tap"
status=0
python3 tdc.py -f "$tests"/*.json -c "${categories[@]}" --outfile "$tmp/tap" \
    >"$tmp/tdc" 2>&1 || status=$?
cp "$tmp/tap" "${LAB_OUT:-$tmp}/tdc.tap"
cp "$tmp/tdc" "${LAB_OUT:-$tmp}/tdc.log"
# A description of what went wrong is no line of TAP.
awk '/^(not )?ok |^1\.\./ { print; next } { print "#   " $0 }' "$tmp/tap"
if [ "$status" != 0 ] && [ ! -s "$tmp/tap" ]; then
    tail -n 20 "$tmp/tdc" | sed 's/^/# /'
fi
! grep -q '^not ok' "$tmp/tap"
