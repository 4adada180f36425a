# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# "lab check": test groups and their counts.  A group that runs no test has
# failed, and a skip is never a pass.

CHECK_GROUPS=(lint build ovs asan tsan fuzz distcheck vm oracle suite)

cmd_check() {
    local group known
    CHECK_PASS=0 CHECK_FAIL=0 CHECK_SKIP=0
    [ "$#" -gt 0 ] || set -- "${CHECK_GROUPS[@]}"
    for group in "$@"; do
        for known in "${CHECK_GROUPS[@]}" ''; do
            [ "${group%%:*}" != "$known" ] || break
        done
        case $known/$group in
        /*) usage_error "unknown group $group (known: ${CHECK_GROUPS[*]})" ;;
        vm/*) ;;
        */*:*) usage_error "only group vm takes a name: $group" ;;
        esac
    done
    for group in "$@"; do
        check_group "$group"
    done
    printf '%d passed, %d failed, %d skipped\n' \
        "$CHECK_PASS" "$CHECK_FAIL" "$CHECK_SKIP"
    [ "$CHECK_FAIL" = 0 ] && [ "$CHECK_PASS" -gt 0 ] || exit 1
    exit 0
}

check_group() {
    local group=$1 start=$SECONDS only=
    local PASS=0 FAIL=0 SKIP=0
    case $group in
    vm:*) only=${group#*:} ;;
    esac
    printf '== %s\n' "$group"
    case ${group%%:*} in
    vm) check_vm "$only" ;;
    *) "check_$group" ;;
    esac
    if [ $((PASS + FAIL + SKIP)) = 0 ]; then
        printf 'not ok - group %s ran no test\n' "$group"
        FAIL=1
    fi
    printf '== %s: %d passed, %d failed, %d skipped (%s)\n' \
        "$group" "$PASS" "$FAIL" "$SKIP" "$(elapsed "$start")"
    CHECK_PASS=$((CHECK_PASS + PASS))
    CHECK_FAIL=$((CHECK_FAIL + FAIL))
    CHECK_SKIP=$((CHECK_SKIP + SKIP))
}

check_fail() {
    printf 'not ok - %s\n' "$*"
    FAIL=$((FAIL + 1))
}

# repo_files: this repository's files, without what builds leave behind.
repo_files() {
    if git -C "$TOP" rev-parse --git-dir >/dev/null 2>&1; then
        (cd "$TOP" && git ls-files -z -co --exclude-standard |
            while IFS= read -r -d '' file; do
                [ ! -e "$file" ] || printf '%s\0' "$file"
            done)
    else
        (cd "$TOP" && find . -type f -printf '%P\0')
    fi
}

# check_tree GROUP: a fresh copy of the repository, in CHECK_TREE, so that
# builds of different kinds do not meet and the tree here stays clean.
check_tree() {
    lock "check-$1"
    CHECK_LOCK=$LOCK_FD
    CHECK_TREE=$CACHE/check/$1
    rm -rf "$CHECK_TREE"
    mkdir -p "$CHECK_TREE"
    repo_files | tar -C "$TOP" --null -T - -cf - | tar -C "$CHECK_TREE" -xf -
    # In the place of git's list.
    repo_files | tr '\0' '\n' >"$CHECK_TREE/MANIFEST"
}

# check_update: brings CHECK_TREE, which was built before, up to date.  Files
# that have not changed keep their time, so that make does little.
check_update() {
    local file
    mkdir -p "$CHECK_TREE"
    repo_files | tr '\0' '\n' | LC_ALL=C sort >"$CHECK_TREE/MANIFEST.new"
    [ ! -e "$CHECK_TREE/MANIFEST" ] ||
        LC_ALL=C comm -23 "$CHECK_TREE/MANIFEST" "$CHECK_TREE/MANIFEST.new" |
            while IFS= read -r file; do
                rm -f "$CHECK_TREE/$file"
            done
    while IFS= read -r file; do
        cmp -s "$TOP/$file" "$CHECK_TREE/$file" && continue
        mkdir -p "$(dirname "$CHECK_TREE/$file")"
        cp "$TOP/$file" "$CHECK_TREE/$file"
    done <"$CHECK_TREE/MANIFEST.new"
    mv "$CHECK_TREE/MANIFEST.new" "$CHECK_TREE/MANIFEST"
}

# check_run LABEL LOG COMMAND...: in CHECK_TREE; shows the log when it fails.
check_run() {
    local label=$1 log=$2
    shift 2
    if ! (cd "$CHECK_TREE" && step "$label" "$log" "objects" \
        '^ +(CC|CCLD)( |$)|libtool: (compile|link):' "$@"); then
        tail -n 30 "$log"
        return 1
    fi
}

# check_configure GROUP [CONFIGURE-ARG...]: copy, autoreconf, configure, make.
check_configure() {
    local group=$1 log=$CACHE/logs/check-$1
    shift
    packages_need "$LAB_PACKAGES_BUILD" "$LAB_PACKAGES_UNIT"
    need_space 500 "building the library"
    check_tree "$group"
    if [ ! -e "$CHECK_TREE/configure.ac" ]; then
        check_fail "$group: there is no configure.ac"
        return 1
    fi
    check_run "$group: autoreconf" "$log-autoreconf.log" autoreconf -fi ||
        { check_fail "$group: autoreconf (log: $log-autoreconf.log)"; return 1; }
    check_run "$group: configure" "$log-configure.log" ./configure "$@" ||
        { check_fail "$group: configure (log: $log-configure.log)"; return 1; }
    check_run "$group: make" "$log-make.log" make -j"$(nproc)" ||
        { check_fail "$group: make (log: $log-make.log)"; return 1; }
}

# check_cached GROUP [CONFIGURE-ARG...]: a tree that stays configured and built,
# with Open vSwitch's library.  What make cannot bring up to date, like a file
# that went away, is built anew.
check_cached() {
    local group=$1 log=$CACHE/logs/check-$1 key try
    shift
    packages_need "$LAB_PACKAGES_BUILD" "$LAB_PACKAGES_UNIT"
    ovs_source
    need_space 1500 "building the library and that of Open vSwitch"
    lock "check-$group"
    CHECK_LOCK=$LOCK_FD
    CHECK_TREE=$CACHE/check/$group
    set -- "$@" --with-ovs="$OVS_SOURCE" \
        --with-ovs-configure="--disable-ssl --enable-silent-rules"
    key=$({
        printf '%s\n' "$OVS_VERSION" "$(uname -m)" "$@"
        "${CC:-gcc}" --version
    } | hash_of)
    for try in again anew; do
        if [ "$try" = anew ] ||
            [ "$(cat "$CHECK_TREE/.lab-key" 2>/dev/null)" != "$key" ]; then
            rm -rf "$CHECK_TREE"
            try=anew
        fi
        check_update
        if check_bring_up "$group" "$log" "$@"; then
            printf '%s\n' "$key" >"$CHECK_TREE/.lab-key"
            return 0
        fi
        [ "$try" = again ] || break
        say "$group: building anew"
    done
    check_fail "$group: does not build (logs: $log-*.log)"
    return 1
}

# check_bring_up GROUP LOG CONFIGURE-ARG...: the build for check_cached.
check_bring_up() {
    local group=$1 log=$2
    shift 2
    if [ ! -e "$CHECK_TREE/config.status" ]; then
        check_run "$group: autoreconf" "$log-autoreconf.log" autoreconf -fi &&
            check_run "$group: configure" "$log-configure.log" \
                ./configure "$@" || return 1
    fi
    check_run "$group: make" "$log-make.log" make -j"$(nproc)" check TESTS=
}

# check_automake GROUP [COMMAND-PREFIX...]: make check, and its counts.
check_automake() {
    local group=$1 rc=0 log kind n
    log=$CACHE/logs/check-$group-check.log
    shift
    (cd "$CHECK_TREE" && step "$group: make check" "$log" "tests" \
        '^(PASS|FAIL|SKIP|ERROR|XFAIL|XPASS): ' "$@" make check) || rc=$?
    grep -E '^(FAIL|SKIP|ERROR|XPASS): ' "$log" || true
    for kind in PASS FAIL SKIP ERROR XFAIL XPASS; do
        n=$(sed -nE "s/^# $kind: +([0-9]+).*/\1/p" "$log" |
            awk '{ n += $1 } END { print n + 0 }')
        case $kind in
        PASS) PASS=$((PASS + n)) ;;
        SKIP | XFAIL) SKIP=$((SKIP + n)) ;;
        *) FAIL=$((FAIL + n)) ;;
        esac
    done
    if [ "$rc" != 0 ]; then
        find "$CHECK_TREE" -name test-suite.log -exec tail -n 40 {} +
        [ "$FAIL" -gt 0 ] || check_fail "$group: make check exited with $rc (log: $log)"
    elif [ $((PASS + FAIL)) = 0 ]; then
        check_fail "$group: make check ran no test (log: $log)"
    fi
}

check_build() {
    check_configure build --enable-werror && check_automake build
    unlock "$CHECK_LOCK"
}

# The same with the provider, which needs Open vSwitch.
check_ovs() {
    check_cached ovs --enable-werror && check_automake ovs
    unlock "$CHECK_LOCK"
}

# The sanitizers want a fixed address space layout; not every host allows it.
check_fixed() {
    if setarch "$(uname -m)" -R true 2>/dev/null; then
        CHECK_PREFIX=(setarch "$(uname -m)" -R)
    else
        CHECK_PREFIX=(env)
    fi
}

check_asan() {
    check_fixed
    check_cached asan --enable-asan --enable-ubsan "CFLAGS=-O1 -g" &&
        check_automake asan "${CHECK_PREFIX[@]}"
    unlock "$CHECK_LOCK"
}

check_tsan() {
    check_fixed
    check_cached tsan --enable-tsan "CFLAGS=-O1 -g" &&
        check_automake tsan "${CHECK_PREFIX[@]}"
    unlock "$CHECK_LOCK"
}

check_fuzz() {
    local log=$CACHE/logs/check-fuzz-run.log rc=0 n
    packages_need "$LAB_PACKAGES_FUZZ"
    if check_configure fuzz --enable-fuzz CC=clang; then
        (cd "$CHECK_TREE" && step "fuzz: running" "$log" "targets" '^(not )?ok ' \
            make fuzz-run FUZZ_SECONDS="${FUZZ_SECONDS:-20}") || rc=$?
        grep -E '^(not )?ok ' "$log" || true
        n=$(grep -E '^ok ' "$log" | grep -ciE '# skip' || true)
        SKIP=$((SKIP + n))
        PASS=$((PASS + $(grep -cE '^ok ' "$log" || true) - n))
        FAIL=$((FAIL + $(grep -cE '^not ok ' "$log" || true)))
        if [ "$rc" != 0 ] && [ "$FAIL" = 0 ]; then
            tail -n 30 "$log"
            check_fail "fuzz: make fuzz-run exited with $rc (log: $log)"
        fi
    fi
    unlock "$CHECK_LOCK"
}

check_distcheck() {
    local log=$CACHE/logs/check-distcheck-run.log
    if check_configure distcheck; then
        if check_run "distcheck" "$log" make -j"$(nproc)" distcheck; then
            echo "ok - distcheck"
            PASS=$((PASS + 1))
        else
            check_fail "distcheck (log: $log)"
        fi
    fi
    unlock "$CHECK_LOCK"
}

check_lint() {
    local file
    packages_need "$LAB_PACKAGES_LINT"
    while IFS= read -r -d '' file; do
        case $file in
        *.patch | *.c | *.h) continue ;;
        *.sh) ;;
        *) head -c 64 "$TOP/$file" | head -n 1 | grep -qaE '^#!.*\b(ba|da)?sh\b' || continue ;;
        esac
        if (cd "$TOP" && shellcheck -x -S warning -e SC1091 "$file"); then
            printf 'ok - shellcheck %s\n' "$file"
            PASS=$((PASS + 1))
        else
            check_fail "shellcheck $file"
        fi
    done < <(repo_files)
}

# A part of Open vSwitch's own tests; "lab suite" runs them all.
check_suite() {
    local part=()
    mapfile -t part < <(sed -E 's/#.*//; s/[[:space:]]+//g; /^$/d' \
        "$TOP/tests/suite/part")
    suite_run "${part[@]}"
}

# check_vm [NAME]: one boot for all scripts, but for those that ask for more.
# Scripts that take many minutes say so, and run only when they are named.
check_vm() {
    local script shared=() own=()
    for script in "$TOP"/tests/vm/test-${1:-*}.sh; do
        [ -x "$script" ] || continue
        if [ -z "${1-}" ] && grep -q '^# lab: by-name' "$script"; then
            printf 'vm: %s runs only when it is named: ./lab check vm:%s\n' \
                "${script##*/}" "$(basename "${script##*/test-}" .sh)"
        elif grep -q '^# lab: own-boot' "$script"; then
            own+=("$script")
        else
            shared+=("$script")
        fi
    done
    [ $((${#shared[@]} + ${#own[@]})) -gt 0 ] || return 0
    machine_prepare
    LAB_EXPORTS+=(CHURN_PROGRAM CHURN_SECONDS CHURN_SEED CHURN_THREADS
        DUMP_FLOWS)
    case " ${shared[*]} " in
    */test-kernel.sh\ *)
        tc_testing_prepare
        LAB_EXPORTS+=(TC_TESTING)
        ;;
    esac
    LAB_TEST_TIMEOUT=${LAB_TEST_TIMEOUT:-$((600 * KERNEL_SLOW + 2 * ${CHURN_SECONDS:-0}))}
    [ "${#shared[@]}" = 0 ] || check_vm_boot "${shared[@]}"
    for script in "${own[@]}"; do
        check_vm_boot "$script"
    done
}

# The provider against OVS's own, both in one machine.
check_oracle() {
    local flows=${ORACLE_FLOWS:-20000}
    if check_cached ovs --enable-werror; then
        machine_prepare
        # shellcheck disable=SC2034
        ORACLE_PROGRAM=$CHECK_TREE/tests/oracle/oracle
        LAB_EXPORTS+=(ORACLE_PROGRAM ORACLE_FLOWS ORACLE_SEED)
        LAB_TEST_TIMEOUT=${LAB_TEST_TIMEOUT:-$((KERNEL_SLOW * (600 + flows / 20)))}
        check_vm_boot "$TOP/tests/oracle/oracle.sh"
    fi
    unlock "$CHECK_LOCK"
}

check_vm_boot() {
    local limit=${LAB_TIMEOUT:-$((60 + $# * (${LAB_TEST_TIMEOUT:-600} + 60)))}
    local script name pass fail skip
    run_dir check
    write_job tests "$@"
    if ! machine_run "$limit"; then
        check_fail "vm: the machine did not end as it should ($RUN_DIR)"
    elif [ "$VM_STATUS" != 0 ]; then
        check_fail "vm: the session exited with $VM_STATUS ($RUN_DIR)"
    fi
    # Only what the guest reported counts; a script without a result has failed.
    for script in "$@"; do
        name=$(basename "$script" .sh)
        read -r _ _ pass fail skip < <(grep "^result $name " "$RUN_DIR/report" || true) || true
        if [ -z "${skip-}" ]; then
            check_fail "vm: $name has no result"
        else
            PASS=$((PASS + pass))
            FAIL=$((FAIL + fail))
            SKIP=$((SKIP + skip))
        fi
    done
}
