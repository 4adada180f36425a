# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# "lab bench": measurements.  Each is a function bench_NAME here, registered in
# BENCHES, with a program or script in bench/.  It prints a table for people and
# hands its figures to bench_row and bench_ratio, which collect them for --json:
#
#   [{"bench": "NAME", "kernel": ..., "ovs": ..., "accel": ..., "cpus": N,
#     "rows": [{"case": ..., "variant": ..., "runs": N, FIGURE: ...}],
#     "ratios": {"NAME.ours_vs_intree.CASE": R}}]
#
# Figures that all rows have are median_us_per_flow, min, max,
# syscalls_per_flow and instructions_per_flow (of user space); null is "not
# measured".  Rows of install have bytes_per_flow, the provider's memory; those
# of e2e seconds, packets_sent, packets_lost, upcalls and upcalls_lost of the
# median run; those of dump percent_active; those of beside rounds, the dumps of
# the last run; those of revalidate, which has no microseconds, msec, msec_min
# and msec_max of the dumps, flow_limit_first and flow_limit_least,
# revalidator_msec_per_second, upcalls and flows; those of profile samples,
# kernel_percent, user_percent and "top", a list of {"percent", "object",
# "symbol"}.
#
# A ratio is rate over rate: above 1 the first one is faster.

BENCHES=(translate install modify delete delete-nostats prio e2e dump beside
    walk revalidate profile)

cmd_bench() {
    local name known files=() dir
    [ "$#" -gt 0 ] || set -- "${BENCHES[@]}"
    for name in "$@"; do
        for known in "${BENCHES[@]}" ''; do
            [ "$name" != "$known" ] || break
        done
        [ -n "$known" ] || usage_error "unknown bench $name (known: ${BENCHES[*]})"
    done
    packages_need "$LAB_PACKAGES_BENCH"
    [ -z "$LAB_PLOT" ] || packages_need "$LAB_PACKAGES_PLOT"
    run_dir bench
    dir=$RUN_DIR
    for name in "$@"; do
        BENCH=$name RUN_DIR=$dir
        BENCH_ROWS=() BENCH_RATIOS=()
        BENCH_ACCEL=native BENCH_KERNEL=$(uname -r) BENCH_CPUS=$(nproc)
        printf '== %s\n' "$name"
        "bench_${name//-/_}"
        bench_write "$dir/$name.json"
        files+=("$dir/$name.json")
    done
    jq -s . "${files[@]}" >"$dir/bench.json"
    if [ -n "$LAB_JSON" ]; then
        cp "$dir/bench.json" "$LAB_JSON" ||
            die "cannot write $LAB_JSON" "name a file that can be written."
    fi
    if [ -n "$LAB_PLOT" ]; then
        "$TOP/tools/bench-plot" "$dir/bench.json" "$LAB_PLOT" ||
            die "cannot plot into $LAB_PLOT" "name a directory that can be written."
    fi
    exit 0
}

# bench_row CASE VARIANT RUNS [FIGURE VALUE]...: "-" is a value unknown.
bench_row() {
    local case=$1 variant=$2 runs=$3
    shift 3
    BENCH_ROWS+=("$(jq -nc --arg case "$case" --arg variant "$variant" \
        --argjson runs "$runs" '
        {case: $case, variant: $variant, median_us_per_flow: null, min: null,
         max: null, runs: $runs, syscalls_per_flow: null,
         instructions_per_flow: null}
        + ([$ARGS.positional | _nwise(2) |
            {(.[0]): (.[1] | if . == "-" then null else tonumber end)}] | add)
        ' --args "$@")")
}

# bench_ratio FIRST SECOND CASE VALUE
bench_ratio() {
    BENCH_RATIOS+=("$(jq -nc --arg key "$BENCH.$1_vs_$2.$3" \
        --argjson value "$4" '{($key): $value}')")
}

bench_show_ratios() {
    printf '%s\n' "${BENCH_RATIOS[@]}" | jq -rs 'add | to_entries[] |
        "ratio \(.key): \(.value)"' | sort
}

# bench_write FILE
bench_write() {
    jq -n --arg bench "$BENCH" --arg kernel "$BENCH_KERNEL" \
        --arg ovs "${OVS_VERSION%%-*}" --arg accel "$BENCH_ACCEL" \
        --argjson cpus "$BENCH_CPUS" \
        --argjson rows "$(printf '%s\n' "${BENCH_ROWS[@]}" | jq -s .)" \
        --argjson ratios "$(printf '%s\n' "${BENCH_RATIOS[@]}" | jq -s add)" '
        {bench: $bench, kernel: $kernel, ovs: $ovs, accel: $accel,
         cpus: $cpus, rows: $rows, ratios: $ratios}' >"$1"
}

# bench_medians: of lines "CASE VARIANT VALUE [MORE...]" makes lines "CASE VARIANT
# MEDIAN MIN MAX RUNS [MORE...]", in the order in which a case and variant came
# first; MORE is that of the last run.
bench_medians() {
    awk '{
        key = $1 " " $2
        if (!(key in n)) order[++keys] = key
        value[key, ++n[key]] = $3
        more[key] = ""
        for (i = 4; i <= NF; i++) more[key] = more[key] " " $i
    }
    END {
        for (k = 1; k <= keys; k++) {
            key = order[k]
            for (i = 2; i <= n[key]; i++)
                for (j = i; j > 1 && value[key, j] < value[key, j - 1]; j--) {
                    t = value[key, j]
                    value[key, j] = value[key, j - 1]
                    value[key, j - 1] = t
                }
            print key, value[key, int((n[key] + 1) / 2)], value[key, 1],
                value[key, n[key]], n[key] more[key]
        }
    }'
}

# div A B DIGITS: A / B
div() {
    awk -v a="$1" -v b="$2" -v f="%.$3f" 'BEGIN { printf f "\n", a / b }'
}

# bench_build NAME: builds bench/NAME and sets BENCH_PROGRAM to it; it stays as
# it is until CHECK_LOCK is unlocked.
bench_build() {
    FAIL=0
    check_cached ovs --enable-werror ||
        die "the bench does not build"
    BENCH_PROGRAM=$CHECK_TREE/bench/$1
}

# Translating flows, without any kernel, in instructions.

# translate_count PROGRAM CASE VARIANT FLOWS: sets COUNT.
translate_count() {
    local log=$RUN_DIR/callgrind-$2-$3
    # The build tree's program may be a script of libtool.
    valgrind --tool=callgrind --callgrind-out-file="$log.out" \
        --collect-atstart=no --toggle-collect=translate_flows \
        "$1" "$2" "$3" "$4" >"$log.log" 2>&1 ||
        step_failed "bench/translate $2 $3 failed" "$log.log"
    COUNT=$(sed -nE 's/^==[0-9]+== Collected : ([0-9]+)$/\1/p' "$log.log")
    [ "${COUNT:-0}" -gt 0 ] ||
        die "callgrind has counted nothing" "its output is in $log.log"
}

bench_translate() {
    local flows=1000 case variant none ratio
    local -A count
    bench_build translate
    printf '%-10s %26s %10s %10s %8s\n' case "instructions per flow:" \
        in-tree ours ratio
    for case in random 5tuple l2drop; do
        for variant in none intree ours; do
            translate_count "$BENCH_PROGRAM" "$case" "$variant" "$flows"
            count[$variant]=$COUNT
        done
        none=${count[none]}
        for variant in intree ours; do
            count[$variant]=$(div $((count[$variant] - none)) "$flows" 1)
            bench_row "$case" "$variant" 1 \
                instructions_per_flow "${count[$variant]}"
        done
        ratio=$(div "${count[intree]}" "${count[ours]}" 3)
        bench_ratio ours intree "$case" "$ratio"
        printf '%-10s %26s %10s %10s %8s\n' "$case" '' \
            "${count[intree]}" "${count[ours]}" "$ratio"
    done
    unlock "$CHECK_LOCK"
}

# bench_sizes: what benches of many flows run over.
bench_sizes() {
    BENCH_FLOWS=${BENCH_FLOWS:-"1000 10000 100000"}
    BENCH_PROFILES=${BENCH_PROFILES:-"5tuple l2drop"}
    BENCH_RUNS=${BENCH_RUNS:-5}
    BENCH_THREADS=${BENCH_THREADS:-"1 2"}
    LAB_EXPORTS+=(BENCH_PROGRAM BENCH_FLOWS BENCH_PROFILES BENCH_RUNS
        BENCH_THREADS)
}

# Installing, modifying and deleting flows, in the machine.  One run of the
# program measures all three; what is asked for is shown.

# operate_measure: once for each call of the lab; sets OPERATE_RUN_DIR.
OPERATE_RUN_DIR=
operate_measure() {
    [ -z "$OPERATE_RUN_DIR" ] || return 0
    bench_build operate
    machine_prepare
    bench_sizes
    write_job command "$TOP/bench/operate.sh"
    machine_run "${LAB_TIMEOUT:-14400}" || exit 1
    [ "$VM_STATUS" = 0 ] || die "the bench failed" "its output is above."
    operate_instructions
    unlock "$CHECK_LOCK"
    OPERATE_RUN_DIR=$RUN_DIR
}

# operate_instructions: $RUN_DIR/instructions with a line "PROFILE OPERATION
# VARIANT INSTRUCTIONS-PER-FLOW" for each, of user space; here, not in the
# machine, as they are the same on any.
operate_instructions() {
    local profile variant operation out n flows=1024
    for profile in 5tuple l2drop; do
        for variant in intree ours; do
            out=$RUN_DIR/callgrind-$profile-$variant n=0
            valgrind --tool=callgrind --callgrind-out-file="$out" \
                --collect-atstart=no --toggle-collect=call_operate \
                --toggle-collect=kernel_send --toggle-collect=kernel_recv \
                --toggle-collect=__wrap_nl_transact \
                --zero-before=measure --dump-after=measure \
                "$CHECK_TREE/bench/instructions" "$profile" "$variant" \
                "$flows" >"$out.done" 2>"$out.log" ||
                step_failed "bench/instructions $profile $variant failed" "$out.log"
            while read -r operation; do
                n=$((n + 1))
                awk -v row="$profile $operation $variant" -v flows="$flows" '
                    /^summary: / { printf "%s %.0f\n", row, $2 / flows }
                    ' "$out.$n"
            done <"$out.done" >>"$RUN_DIR/instructions"
        done
    done
}

# operate_medians OPERATION: lines "CASE VARIANT MEDIAN MIN MAX RUNS SYSCALLS
# INSTRUCTIONS BYTES".
operate_medians() {
    awk -v operation="$1" '
        FILENAME ~ /instructions$/ {
            if ($2 == operation) instructions[$1 " " $3] = $4
            next
        }
        $4 == operation {
            key = $2 "." $1 ($3 > 1 ? ".threads" $3 : "") " " $5
            # Memory is that of the first run.
            if (!(key in bytes)) bytes[key] = $9
            count = instructions[$1 " " $5]
            print key, $7, $8, count ? count : "-", bytes[key]
        }' "$OPERATE_RUN_DIR/instructions" "$OPERATE_RUN_DIR/operate" |
        bench_medians
}

# operate_show OPERATION [IN-TREE-OPERATION]
operate_show() {
    local case variant median min max runs calls instructions bytes
    local -A medians=()
    operate_measure
    # shellcheck disable=SC2153
    BENCH_ACCEL=$VM_ACCEL BENCH_KERNEL=$KERNEL_RELEASE BENCH_CPUS=$VM_CPUS
    printf '%s: us per flow (%s, %s cpus, Linux %s)\n' "$1" "$VM_ACCEL" \
        "$VM_CPUS" "$KERNEL_RELEASE"
    printf '%-24s %-8s %9s %9s %9s %5s %13s %13s %7s\n' case variant median \
        min max runs "system calls" instructions bytes
    while read -r case variant median min max runs calls instructions bytes; do
        printf '%-24s %-8s %9s %9s %9s %5s %13s %13s %7s\n' "$case" \
            "$variant" "$median" "$min" "$max" "$runs" "$calls" \
            "$instructions" "$bytes"
        bench_row "$case" "$variant" "$runs" median_us_per_flow "$median" \
            min "$min" max "$max" syscalls_per_flow "$calls" \
            instructions_per_flow "$instructions" bytes_per_flow "$bytes"
        medians[$case.$variant]=$median
    done < <(operate_medians "$1")
    for case in "${!medians[@]}"; do
        case $case in
        *.ours) ;;
        *) continue ;;
        esac
        case=${case%.ours}
        for variant in intree raw; do
            [ -n "${medians[$case.$variant]-}" ] || continue
            bench_ratio ours "$variant" "$case" \
                "$(div "${medians[$case.$variant]}" "${medians[$case.ours]}" 3)"
        done
    done
    bench_show_ratios
}

bench_install() {
    operate_show install
}

bench_modify() {
    operate_show modify
}

bench_delete() {
    operate_show delete
}

bench_delete_nostats() {
    operate_show delete-nostats
}

# Rounds of dumps.

# dump_medians: lines "CASE VARIANT MEDIAN MIN MAX RUNS SYSCALLS ACTIVE".
dump_medians() {
    sort -s -k2,2n -k1,1 -k3,3n -k5,5n "$RUN_DIR/dump" |
        awk '{ print $2 "." $1 ($3 > 1 ? ".threads" $3 : "") ".active" $5, $4,
               $7, $8, $5 }' |
        bench_medians
}

bench_dump() {
    local case variant median min max runs calls active
    local -A medians=()
    bench_build dump
    machine_prepare
    bench_sizes
    BENCH_ACTIVE=${BENCH_ACTIVE:-"0 1 10 100"}
    LAB_EXPORTS+=(BENCH_ACTIVE)
    write_job command "$TOP/bench/dump.sh"
    machine_run "${LAB_TIMEOUT:-14400}" || exit 1
    [ "$VM_STATUS" = 0 ] || die "the bench failed" "its output is above."
    unlock "$CHECK_LOCK"
    BENCH_ACCEL=$VM_ACCEL BENCH_KERNEL=$KERNEL_RELEASE BENCH_CPUS=$VM_CPUS
    printf 'dump: us per flow (%s, %s cpus, Linux %s)\n' "$VM_ACCEL" \
        "$VM_CPUS" "$KERNEL_RELEASE"
    printf '%-34s %-10s %9s %9s %9s %5s %13s\n' case variant median min max \
        runs "system calls"
    while read -r case variant median min max runs calls active; do
        printf '%-34s %-10s %9s %9s %9s %5s %13s\n' "$case" "$variant" \
            "$median" "$min" "$max" "$runs" "$calls"
        bench_row "$case" "$variant" "$runs" median_us_per_flow "$median" \
            min "$min" max "$max" syscalls_per_flow "$calls" \
            percent_active "$active"
        medians[$case.$variant]=$median
    done < <(dump_medians)
    for case in "${!medians[@]}"; do
        median=${medians[$case]} variant=${case##*.} case=${case%.*}
        case $variant in
        ours-*) bench_ratio "$variant" intree "$case" \
            "$(div "${medians[$case.intree]}" "$median" 3)" ;;
        esac
        case $variant in
        ours-terse) bench_ratio ours-terse raw "$case" \
            "$(div "${medians[$case.raw]}" "$median" 3)" ;;
        ours-delta) bench_ratio ours-delta raw-delta "$case" \
            "$(div "${medians[$case.raw-delta]}" "$median" 3)" ;;
        esac
    done
    bench_show_ratios
}

# Installs with nothing else going on, and while another thread dumps.

bench_beside() {
    local case variant median min max runs rounds
    local -A medians=()
    bench_build beside
    machine_prepare
    bench_sizes
    write_job command "$TOP/bench/beside.sh"
    machine_run "${LAB_TIMEOUT:-14400}" || exit 1
    [ "$VM_STATUS" = 0 ] || die "the bench failed" "its output is above."
    unlock "$CHECK_LOCK"
    BENCH_ACCEL=$VM_ACCEL BENCH_KERNEL=$KERNEL_RELEASE BENCH_CPUS=$VM_CPUS
    printf 'beside: us per installed flow (%s, %s cpus, Linux %s)\n' \
        "$VM_ACCEL" "$VM_CPUS" "$KERNEL_RELEASE"
    printf '%-24s %-10s %9s %9s %9s %5s %7s\n' case variant median min max runs \
        rounds
    while read -r case variant median min max runs rounds; do
        printf '%-24s %-10s %9s %9s %9s %5s %7s\n' "$case" "$variant" \
            "$median" "$min" "$max" "$runs" "$rounds"
        bench_row "$case" "$variant" "$runs" median_us_per_flow "$median" \
            min "$min" max "$max" rounds "$rounds"
        medians[$case.$variant]=$median
    done < <(awk '{ print $2 "." $1 "." $3, $4, $6, $7 }' "$RUN_DIR/beside" |
        bench_medians)
    for case in "${!medians[@]}"; do
        variant=${case##*.} median=${medians[$case]} case=${case%.*}
        case $case in
        *.beside) bench_ratio beside alone "${case%.beside}.$variant" \
            "$(div "${medians[${case%.beside}.alone.$variant]}" "$median" 3)" ;;
        esac
        [ "$variant" = intree ] || bench_ratio "$variant" intree "$case" \
            "$(div "${medians[$case.intree]}" "$median" 3)"
    done
    bench_show_ratios
}

# Revalidation, in a whole Open vSwitch.

# revalidate_median VARIANT: what bench/revalidate.sh says of the run in the
# middle, without the variant, and the number of runs.
revalidate_median() {
    awk -v variant="$1" '$1 == variant' "$RUN_DIR/revalidate" | sort -n -k 2,2 |
        awk '{ line[NR] = $2 " " $3 " " $4 " " $5 " " $6 " " $7 " " $8 " " $9 }
             END { print line[int((NR + 1) / 2)], NR }'
}

bench_revalidate() {
    local variant ms min max first least cpu upcalls flows runs case
    local -A medians=()
    machine_prepare
    BENCH_IDLE_FLOWS=${BENCH_IDLE_FLOWS:-50000}
    BENCH_BUSY_FLOWS=${BENCH_BUSY_FLOWS:-200}
    BENCH_SECONDS=${BENCH_SECONDS:-300}
    BENCH_RUNS=${BENCH_RUNS:-1}
    LAB_EXPORTS+=(BENCH_IDLE_FLOWS BENCH_BUSY_FLOWS BENCH_SECONDS BENCH_RUNS)
    run_dir bench
    write_job command "$TOP/bench/revalidate.sh"
    machine_run "${LAB_TIMEOUT:-14400}" || exit 1
    [ "$VM_STATUS" = 0 ] || die "the bench failed" "its output is above."
    BENCH_ACCEL=$VM_ACCEL BENCH_KERNEL=$KERNEL_RELEASE BENCH_CPUS=$VM_CPUS
    case=$BENCH_IDLE_FLOWS.busy$BENCH_BUSY_FLOWS
    printf 'revalidate: %s idle flows and %s at 20 packets/s, %s s (%s, %s cpus, Linux %s)\n' \
        "$BENCH_IDLE_FLOWS" "$BENCH_BUSY_FLOWS" "$BENCH_SECONDS" "$VM_ACCEL" \
        "$VM_CPUS" "$KERNEL_RELEASE"
    printf '%-11s %8s %6s %6s %12s %12s %11s %8s %7s %5s\n' variant "dump, ms" \
        min max "limit, first" least "CPU, ms/s" upcalls flows runs
    for variant in intree ours-terse ours-delta; do
        read -r ms min max first least cpu upcalls flows runs \
            < <(revalidate_median "$variant")
        [ -n "${runs-}" ] || continue
        printf '%-11s %8s %6s %6s %12s %12s %11s %8s %7s %5s\n' "$variant" \
            "$ms" "$min" "$max" "$first" "$least" "$cpu" "$upcalls" "$flows" "$runs"
        bench_row "$case" "$variant" "$runs" msec "$ms" msec_min "$min" \
            msec_max "$max" flow_limit_first "$first" \
            flow_limit_least "$least" revalidator_msec_per_second "$cpu" \
            upcalls "$upcalls" flows "$flows"
        medians[$variant]=$ms
    done
    for variant in ours-terse ours-delta; do
        [ -z "${medians[$variant]-}" ] ||
            bench_ratio "$variant" intree "$case" \
                "$(div "${medians[intree]}" "${medians[$variant]}" 3)"
    done
    bench_show_ratios
}

# From packets to filters, in a whole Open vSwitch.

# e2e_median VARIANT: "MEDIAN MIN MAX RUNS" in us per flow, and then what
# bench/e2e.sh says of the median run.
e2e_median() {
    awk -v variant="$1" '$1 == variant' "$RUN_DIR/e2e" | sort -n -k 3,3 |
        awk -v flows="$BENCH_E2E_FLOWS" '
            { us[NR] = $3 * 1e6 / flows; rest[NR] = $3 " " $4 " " $5 " " $6 " " $7 }
            END {
                m = int((NR + 1) / 2)
                printf "%.3f %.3f %.3f %d %s\n", us[m], us[1], us[NR], NR, rest[m]
            }'
}

bench_e2e() {
    local variant median min max runs seconds sent lost upcalls upcalls_lost
    local -A medians=()
    machine_prepare
    BENCH_E2E_FLOWS=${BENCH_E2E_FLOWS:-50000}
    BENCH_RUNS=${BENCH_RUNS:-5}
    BENCH_RATE=${BENCH_RATE:-20000}
    LAB_EXPORTS+=(BENCH_E2E_FLOWS BENCH_RUNS BENCH_RATE)
    run_dir bench
    write_job command "$TOP/bench/e2e.sh"
    machine_run "${LAB_TIMEOUT:-14400}" || exit 1
    [ "$VM_STATUS" = 0 ] || die "the bench failed" "its output is above."
    BENCH_ACCEL=$VM_ACCEL BENCH_KERNEL=$KERNEL_RELEASE BENCH_CPUS=$VM_CPUS
    printf '%s new flows at %s packets/s until all are in TC (%s, %s cpus, Linux %s)\n' \
        "$BENCH_E2E_FLOWS" "$BENCH_RATE" "$VM_ACCEL" "$VM_CPUS" "$KERNEL_RELEASE"
    printf '%-8s %11s %9s %9s %5s %9s %9s %9s %9s %9s\n' variant "us per flow" \
        min max runs seconds packets lost upcalls lost
    for variant in intree ours; do
        read -r median min max runs seconds sent lost upcalls upcalls_lost \
            < <(e2e_median "$variant")
        printf '%-8s %11s %9s %9s %5s %9s %9s %9s %9s %9s\n' "$variant" \
            "$median" "$min" "$max" "$runs" "$seconds" "$sent" "$lost" \
            "$upcalls" "$upcalls_lost"
        bench_row "$BENCH_E2E_FLOWS" "$variant" "$runs" \
            median_us_per_flow "$median" min "$min" max "$max" \
            seconds "$seconds" packets_sent "$sent" packets_lost "$lost" \
            upcalls "$upcalls" upcalls_lost "$upcalls_lost"
        medians[$variant]=$median
    done
    bench_ratio ours intree "$BENCH_E2E_FLOWS" \
        "$(div "${medians[intree]}" "${medians[ours]}" 3)"
    bench_show_ratios
}

# Where our own time goes.

bench_profile() {
    local operation
    packages_need "$LAB_PACKAGES_PERF"
    bench_build operate
    machine_prepare
    BENCH_PROFILE_FLOWS=${BENCH_PROFILE_FLOWS:-100000}
    LAB_EXPORTS+=(BENCH_PROGRAM BENCH_PROFILE_FLOWS)
    run_dir bench
    write_job command "$TOP/bench/profile.sh"
    machine_run "${LAB_TIMEOUT:-3600}" || exit 1
    [ "$VM_STATUS" = 0 ] || die "the bench failed" "its output is above."
    unlock "$CHECK_LOCK"
    BENCH_ACCEL=$VM_ACCEL BENCH_KERNEL=$KERNEL_RELEASE BENCH_CPUS=$VM_CPUS
    for operation in install modify delete delete-nostats waits; do
        profile_row "$operation"
    done
}

# profile_row OPERATION: its row, and the table.
profile_row() {
    local row
    row=$(jq -nR --arg case "$BENCH_PROFILE_FLOWS.5tuple.$1" '
        def tenth: . * 10 | round / 10;
        [inputs | capture("^(?<percent>[0-9.]+) (?<n>[0-9]+) (?<object>[^ ]+) (?<symbol>.+)$")
         | .percent |= tonumber] as $all
        | {case: $case, variant: "ours", runs: 1,
           samples: ([$all[].n | tonumber] | add),
           kernel_percent: ([$all[] | select(.object == "kernel") | .percent]
                            | add // 0 | tenth),
           user_percent: ([$all[] | select(.object != "kernel") | .percent]
                          | add // 0 | tenth),
           top: [$all[:30][] | del(.n)]}' "$RUN_DIR/profile-$1")
    BENCH_ROWS+=("$row")
    jq -r '"\n\(.case): \(.kernel_percent)% kernel, \(.user_percent)% user space, \(.samples) samples",
        (.top[] | "\(.percent)\t\(.object)\t\(.symbol)")' <<<"$row" |
        awk -F'\t' 'NF < 3 { print } NF == 3 { printf "%6s  %-16s %s\n", $1, $2, $3 }'
}

# A prio's only flow, deleted and put again.

bench_prio() {
    local case variant us min max runs
    local -A medians=()
    FAIL=0
    check_cached ovs --enable-werror ||
        die "the bench does not build"
    machine_prepare
    BENCH_PROGRAM=$CHECK_TREE/bench/prio
    BENCH_RUNS=${BENCH_RUNS:-5}
    BENCH_PAIRS=${BENCH_PAIRS:-300}
    LAB_EXPORTS+=(BENCH_PROGRAM BENCH_RUNS BENCH_PAIRS)
    write_job command "$TOP/bench/prio.sh"
    machine_run "${LAB_TIMEOUT:-3600}" || exit 1
    [ "$VM_STATUS" = 0 ] || die "the bench failed" "its output is above."
    unlock "$CHECK_LOCK"
    BENCH_ACCEL=$VM_ACCEL BENCH_KERNEL=$KERNEL_RELEASE BENCH_CPUS=$VM_CPUS
    printf 'prio: us for delete and put of a flow (%s, %s cpus, Linux %s)\n' \
        "$VM_ACCEL" "$VM_CPUS" "$KERNEL_RELEASE"
    printf '%-8s %-10s %9s %9s %9s %5s\n' case variant median min max runs
    while read -r case variant us min max runs; do
        printf '%-8s %-10s %9s %9s %9s %5s\n' "$case" "$variant" "$us" \
            "$min" "$max" "$runs"
        bench_row "$case" "$variant" "$runs" median_us_per_flow "$us" \
            min "$min" max "$max"
        medians[$case.$variant]=$us
    done < <(awk '{ print $1, $2, $4 }' "$RUN_DIR/prio" | sort -s -k1,2 | bench_medians)
    for case in only others; do
        bench_ratio ours intree "$case" \
            "$(div "${medians[$case.intree]}" "${medians[$case.ours]}" 3)"
    done
    bench_ratio ours ours-bare only \
        "$(div "${medians[only.ours-bare]}" "${medians[only.ours]}" 3)"
    bench_show_ratios
}

# The kernel's walk through many filters, without any provider.

bench_walk() {
    local case variant median min max runs
    local -A medians=()
    # 1,000,000 filters need 3 GB.
    LAB_MEMORY=${LAB_MEMORY:-8192}
    machine_prepare
    run_dir bench
    BENCH_FLOWS=${BENCH_FLOWS:-"1000 10000 100000 1000000"}
    BENCH_RUNS=${BENCH_RUNS:-5}
    LAB_EXPORTS+=(BENCH_FLOWS BENCH_RUNS)
    write_job command "$TOP/bench/walk.sh"
    machine_run "${LAB_TIMEOUT:-7200}" || exit 1
    [ "$VM_STATUS" = 0 ] || die "the bench failed" "its output is above."
    BENCH_ACCEL=$VM_ACCEL BENCH_KERNEL=$KERNEL_RELEASE BENCH_CPUS=$VM_CPUS
    printf 'walk: us per filter of a terse dump (%s, %s cpus, Linux %s)\n' \
        "$VM_ACCEL" "$VM_CPUS" "$KERNEL_RELEASE"
    printf '%-8s %-8s %9s %9s %9s %5s\n' case variant median min max runs
    while read -r case variant median min max runs; do
        printf '%-8s %-8s %9s %9s %9s %5s\n' "$case" "$variant" "$median" \
            "$min" "$max" "$runs"
        bench_row "$case" "$variant" "$runs" median_us_per_flow "$median" \
            min "$min" max "$max"
        medians[$case.$variant]=$median
    done < <(bench_medians <"$RUN_DIR/walk")
    for case in $BENCH_FLOWS; do
        [ -z "${medians[$case.count]-}" ] || bench_ratio cursor count "$case" \
            "$(div "${medians[$case.count]}" "${medians[$case.cursor]}" 3)"
    done
    # The same cost, whatever the number: 1.
    set -- $BENCH_FLOWS
    bench_ratio "${*: -1}" "$1" cursor \
        "$(div "${medians[$1.cursor]}" "${medians[${*: -1}.cursor]}" 3)"
    bench_show_ratios
}
