#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Where the time of our installs and deletes goes: perf samples operate.c,
# and for each operation $LAB_OUT/profile-OPERATION has the symbols with their
# share of its time, in lines "PERCENT SAMPLES OBJECT SYMBOL", the dearest first.
# "kernel" is the object of all the kernel's symbols.  BENCH_PROGRAM is the
# built program, BENCH_PROFILE_FLOWS the number of flows.
set -euo pipefail

program=${BENCH_PROGRAM:?} flows=${BENCH_PROFILE_FLOWS:?}
# shellcheck source=tests/oracle/twin-devices.sh
. "${OVS_TCB_SRC:?}/tests/oracle/twin-devices.sh"

# In memory: perf must not wait for the host's files while it samples.
data=$(mktemp)
perf record -q -e cpu-clock -F 2000 -o "$data" \
    "$program" 5tuple "$flows" 1 1 ours
for operation in install modify delete-nostats delete; do
    perf report -q -i "$data" --comms "$operation" --percentage relative \
        --sort dso,symbol --stdio -F overhead,sample,dso,symbol -t '|' 2>/dev/null |
        awk -F'|' '
            NF >= 4 {
                gsub(/[ %]/, "", $1)
                gsub(/ /, "", $2)
                gsub(/ /, "", $3)
                kernel = index($4, "[k]")
                sub(/^ *\[[a-zA-Z.]\] */, "", $4)
                sub(/ *$/, "", $4)
                print $1, $2, kernel ? "kernel" : $3, $4
            }' | sort -k 1,1 -rn >"${LAB_OUT:?}/profile-$operation"
    [ -s "$LAB_OUT/profile-$operation" ] || {
        echo "profile: perf has no sample of $operation" >&2
        exit 1
    }
done
