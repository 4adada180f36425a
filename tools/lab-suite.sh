# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# "lab suite": Open vSwitch's own tests of offload, with our provider in front,
# test by test against what the in-tree provider does on the same kernel
# (tests/suite/baseline for our 6.12, baseline-KERNEL for others).  What a test does here that is worse than there is a
# failure; what is not passed there either, for the reason that is recorded,
# is skipped.

SUITE_SOURCE=$TOP/tests/suite

cmd_suite() {
    local PASS=0 FAIL=0 SKIP=0
    [ "$LAB_NATIVE" = no ] || usage_error "suite needs the machine: it loads and removes modules"
    suite_run "$@"
    printf '%d passed, %d failed, %d skipped\n' "$PASS" "$FAIL" "$SKIP"
    [ "$FAIL" = 0 ] && [ "$PASS" -gt 0 ] || exit 1
    exit 0
}

# suite_run [RANGE...]: runs tests and adds to PASS, FAIL and SKIP.
suite_run() {
    local n rc=0
    packages_need "$LAB_PACKAGES_SUITE" "$LAB_PACKAGES_BUILD"
    # The in-tree provider is tried in a build without ours, so that nothing
    # of ours is in what it is recorded for.
    if [ "$LAB_PROVIDER" = tc ]; then
        OVS_CONFIGURE+=(--disable-libmnl)
        OVS_VARIANT=-in-tree
    fi
    machine_prepare
    run_dir suite
    suite_select "$@"
    suite_read_baseline
    suite_stage

    SUITE_START=$SECONDS SUITE_SAID=$SECONDS SUITE_PART='' SUITE_DONE=0
    declare -gA SUITE_RESULT=() SUITE_PLACE=() SUITE_TIME=()
    exec {SUITE_FD}<"$RUN_DIR/report"
    write_job suite "${SUITE_TESTS[@]}"
    VM_WATCH=suite_watch
    machine_run "${LAB_TIMEOUT:-$((KERNEL_SLOW * (300 + 90 * ${#SUITE_TESTS[@]})))}" || rc=$?
    VM_WATCH=
    exec {SUITE_FD}<&-

    for n in "${SUITE_TESTS[@]}"; do
        [ -n "${SUITE_RESULT[$n]-}" ] || suite_fail "$n" "has no result"
        printf '%s\t%s\t%s\t%s\n' "$n" "${SUITE_RESULT[$n]-none}" \
            "${SUITE_TIME[$n]--}" "${SUITE_NAME[$n]}" >>"$RUN_DIR/results"
    done
    if [ "$rc" != 0 ] || [ "$VM_STATUS" != 0 ]; then
        check_fail "suite: the machine did not end as it should ($RUN_DIR)"
    fi
    say "suite: $SUITE_DONE tests in $(elapsed "$SUITE_START"), results in $RUN_DIR"
    [ "$LAB_RECORD" = no ] || suite_record
}

# suite_select [RANGE...]: sets SUITE_TESTS, and SUITE_NAME by number.
suite_select() {
    local line number='^ *([0-9]+): [^ ]+ +(.*[^ ]) *$'
    SUITE_SCRIPT=$OVS_BUILD/tests/system-offloads-testsuite
    [ -e "$SUITE_SCRIPT" ] || die "$SUITE_SCRIPT is not there" \
        "Open vSwitch did not build it; remove $CACHE/ovs-$LAB_OVS$OVS_VARIANT and start again."
    SUITE_TESTS=()
    declare -gA SUITE_NAME=()
    # The script tries things in the directory where it is started.
    (cd "$RUN_DIR" && sh "$SUITE_SCRIPT" --list "$@") >"$RUN_DIR/list" 2>&1 ||
        die "the suite does not take: $*" "$(tail -n 1 "$RUN_DIR/list")"
    while IFS= read -r line; do
        [[ $line =~ $number ]] || continue
        SUITE_TESTS+=("${BASH_REMATCH[1]}")
        SUITE_NAME[${BASH_REMATCH[1]}]=${BASH_REMATCH[2]}
    done <"$RUN_DIR/list"
    [ "${#SUITE_TESTS[@]}" -gt 0 ] || die "the suite has no test for: $*"
}

# suite_read_baseline: sets BASE_NAME, BASE_RESULT and BASE_REASON by number.
suite_read_baseline() {
    local n name result reason
    declare -gA BASE_NAME=() BASE_RESULT=() BASE_REASON=()
    # Neither patches nor checks make a difference to these tests.
    SUITE_BASELINE=$SUITE_SOURCE/baseline
    case $LAB_KERNEL in
    6.12 | 6.12-unpatched | 6.12-debug | 6.12-baseline) ;;
    *) SUITE_BASELINE+=-$LAB_KERNEL ;;
    esac
    if [ ! -e "$SUITE_BASELINE" ]; then
        [ "$LAB_RECORD" = yes ] ||
            die "what the in-tree provider does on $LAB_KERNEL is not recorded" \
                "record it with \"./lab --kernel $LAB_KERNEL suite --record\"."
        sed '/^#/!Q' "$SUITE_SOURCE/baseline" >"$SUITE_BASELINE"
    fi
    while IFS=$'\t' read -r n name result reason; do
        case $n in
        '#'* | '') continue ;;
        esac
        BASE_NAME[$n]=$name BASE_RESULT[$n]=$result BASE_REASON[$n]=$reason
    done <"$SUITE_BASELINE"
    [ "$LAB_RECORD" = no ] || return 0
    for n in "${SUITE_TESTS[@]}"; do
        [ "${BASE_NAME[$n]-}" = "${SUITE_NAME[$n]}" ] ||
            die "test $n is not the one in ${SUITE_BASELINE#"$TOP/"}" \
                "here:     ${SUITE_NAME[$n]}" "baseline: ${BASE_NAME[$n]-none}" \
                "record it for this version with \"./lab suite --record\"."
    done
}

# suite_stage: what the guest is to run, in RUN_DIR.
suite_stage() {
    mkdir -p "$RUN_DIR/bin"
    "$SUITE_SOURCE/edit.sh" "$LAB_PROVIDER" <"$SUITE_SCRIPT" >"$RUN_DIR/${SUITE_SCRIPT##*/}" ||
        die "the suite cannot be prepared" "see tests/suite/edit.sh."
    gcc -O2 -Wall -static -o "$RUN_DIR/bin/nc" "$SUITE_SOURCE/nc.c" ||
        die "tests/suite/nc.c does not compile"
}

# suite_watch: called while the machine runs; what it has reported since.
suite_watch() {
    local line
    while IFS= read -r -u "$SUITE_FD" line; do
        line=$SUITE_PART$line
        SUITE_PART=
        # shellcheck disable=SC2086
        case $line in
        suite\ *) suite_result ${line#suite } ;;
        esac
    done
    SUITE_PART+=$line
    if [ $((SECONDS - SUITE_SAID)) -ge 60 ]; then
        SUITE_SAID=$SECONDS
        say "suite: $SUITE_DONE of ${#SUITE_TESTS[@]} tests, $(elapsed "$SUITE_START"):" \
            "$PASS passed, $FAIL failed, $SKIP skipped"
    fi
}

# suite_fail NUMBER TEXT
suite_fail() {
    check_fail "$1: ${SUITE_NAME[$1]}: $2"
}

# suite_result NUMBER RESULT SECONDS [PLACE]: of one test; RESULT is ok, failed
# or skipped.
suite_result() {
    local n=$1 got=$2 place=${4-} want=${BASE_RESULT[$1]-none} why
    SUITE_RESULT[$n]=$got SUITE_TIME[$n]=$3 SUITE_PLACE[$n]=$place
    SUITE_DONE=$((SUITE_DONE + 1))
    why=${BASE_REASON[$n]-}
    case $LAB_RECORD/$got/$want in
    */ok/ok)
        PASS=$((PASS + 1))
        ;;
    */ok/*)
        PASS=$((PASS + 1))
        printf 'ok - %s: %s: better than the baseline (%s)\n' \
            "$n" "${SUITE_NAME[$n]}" "$want"
        ;;
    no/failed/failed | */skipped/skipped | */skipped/failed)
        SKIP=$((SKIP + 1))
        printf 'ok - %s: %s # SKIP %s, as with the in-tree provider: %s\n' \
            "$n" "${SUITE_NAME[$n]}" "$got" "$why"
        ;;
    yes/skipped/*)
        SKIP=$((SKIP + 1))
        printf 'ok - %s: %s # SKIP at %s\n' "$n" "${SUITE_NAME[$n]}" "$place"
        ;;
    *) suite_fail "$n" "$got at $place, $want in the baseline" ;;
    esac
}

# suite_record: writes the baseline, with what has just been seen.  A reason
# stays as long as the result does; a new one is for people to write.
suite_record() {
    local n reason new=$RUN_DIR/baseline
    for n in "${SUITE_TESTS[@]}"; do
        [ -n "${SUITE_RESULT[$n]-}" ] || continue
        reason=
        if [ "${SUITE_RESULT[$n]}" != ok ]; then
            reason="reason not known (at ${SUITE_PLACE[$n]})"
            if [ "${BASE_RESULT[$n]-}" = "${SUITE_RESULT[$n]}" ] &&
                [ "${BASE_NAME[$n]}" = "${SUITE_NAME[$n]}" ]; then
                reason=${BASE_REASON[$n]}
            fi
        fi
        BASE_NAME[$n]=${SUITE_NAME[$n]} BASE_RESULT[$n]=${SUITE_RESULT[$n]}
        BASE_REASON[$n]=$reason
    done
    {
        sed -n '/^#/!q; p' "$SUITE_BASELINE"
        for n in "${!BASE_NAME[@]}"; do
            printf '%s\t%s\t%s' "$n" "${BASE_NAME[$n]}" "${BASE_RESULT[$n]}"
            printf '%s\n' "${BASE_REASON[$n]:+$'\t'${BASE_REASON[$n]}}"
        done | sort -n
    } >"$new"
    cp "$new" "$SUITE_BASELINE"
    say "suite: recorded in ${SUITE_BASELINE#"$TOP/"}; look at it before you commit it"
}
