#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Where the time of our installs and deletes goes: perf samples operate.c,
# and for each operation $LAB_OUT/profile-OPERATION has the symbols with their
# share of its time, in lines "PERCENT SAMPLES OBJECT SYMBOL", the dearest first.
# "kernel" is the object of all the kernel's symbols.  profile-waits has, in the
# same form, what two threads that install lose the CPU for: the function that
# waits for a mutex of the kernel, the system call, or "preempted".
# BENCH_PROGRAM is the built program, BENCH_PROFILE_FLOWS the number of flows.
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

perf record -q -g -e context-switches -c 1 -o "$data" \
    "$program" 5tuple "$flows" 1 2 ours
perf script -i "$data" --comms install -F ip,sym 2>/dev/null | awk '
    function done_with() {
        if (!n) return
        n = 0
        count[mutex != "" ? "mutex of " mutex : call != "" ? call : "preempted"]++
        total++
        mutex = call = before = ""
    }
    NF < 2 { done_with(); next }
    {
        n++
        if (before ~ /^__mutex_lock/) mutex = $2
        if ($2 ~ /^__x64_sys_/ && call == "") call = substr($2, 11)
        before = $2
    }
    END {
        done_with()
        for (what in count)
            printf "%.2f %d kernel %s\n", 100 * count[what] / total,
                count[what], what
    }' | sort -k 1,1 -rn >"$LAB_OUT/profile-waits"
[ -s "$LAB_OUT/profile-waits" ] || {
    echo "profile: perf has no context switch" >&2
    exit 1
}
