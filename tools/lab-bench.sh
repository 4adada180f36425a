# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# "lab bench": measurements.  Each is a function bench_NAME here, registered in
# BENCHES, with a program in bench/.  It prints a table for people and hands
# its figures to bench_row and bench_ratio, which collect them for --json:
#
#   [{"bench": "NAME", "kernel": ..., "ovs": ..., "accel": ..., "cpus": N,
#     "rows": [{"case": ..., "variant": ..., "runs": N, FIGURE: ...}],
#     "ratios": {"NAME.ours_vs_intree.CASE": R}}]
#
# A ratio is rate over rate: above 1 the first one is faster.

BENCHES=(translate)

cmd_bench() {
    local name known files=()
    [ "$#" -gt 0 ] || set -- "${BENCHES[@]}"
    for name in "$@"; do
        for known in "${BENCHES[@]}" ''; do
            [ "$name" != "$known" ] || break
        done
        [ -n "$known" ] || usage_error "unknown bench $name (known: ${BENCHES[*]})"
    done
    packages_need "$LAB_PACKAGES_BENCH"
    run_dir bench
    for name in "$@"; do
        BENCH=$name
        BENCH_ROWS=() BENCH_RATIOS=()
        BENCH_ACCEL=native BENCH_KERNEL=$(uname -r) BENCH_CPUS=$(nproc)
        printf '== %s\n' "$name"
        "bench_$name"
        bench_write "$RUN_DIR/$name.json"
        files+=("$RUN_DIR/$name.json")
    done
    if [ -n "$LAB_JSON" ]; then
        jq -s . "${files[@]}" >"$LAB_JSON" ||
            die "cannot write $LAB_JSON" "name a file that can be written."
    fi
    exit 0
}

# bench_row CASE VARIANT RUNS [FIGURE VALUE]...
bench_row() {
    local case=$1 variant=$2 runs=$3
    shift 3
    BENCH_ROWS+=("$(jq -nc --arg case "$case" --arg variant "$variant" \
        --argjson runs "$runs" '
        {case: $case, variant: $variant, median_us_per_flow: null, min: null,
         max: null, runs: $runs, syscalls_per_flow: null,
         instructions_per_flow: null}
        + ([$ARGS.positional | _nwise(2) | {(.[0]): (.[1] | tonumber)}] | add)
        ' --args "$@")")
}

# bench_ratio FIRST SECOND CASE VALUE
bench_ratio() {
    BENCH_RATIOS+=("$(jq -nc --arg key "$BENCH.$1_vs_$2.$3" \
        --argjson value "$4" '{($key): $value}')")
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

# div A B DIGITS: A / B
div() {
    awk -v a="$1" -v b="$2" -v f="%.$3f" 'BEGIN { printf f "\n", a / b }'
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
    local program flows=1000 case variant none ratio
    local -A count
    check_cached ovs --enable-werror ||
        die "the bench does not build"
    program=$CHECK_TREE/bench/translate
    printf '%-10s %26s %10s %10s %8s\n' case "instructions per flow:" \
        in-tree ours ratio
    for case in random 5tuple l2drop; do
        for variant in none intree ours; do
            translate_count "$program" "$case" "$variant" "$flows"
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
