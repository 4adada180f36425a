# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# Messages, the cache and its locks, and long steps with progress.  Everything
# that "lab" itself says goes to standard error, so that the standard output
# of "lab shell -- CMD" is that of CMD and nothing else.

say() {
    printf 'lab: %s\n' "$*" >&2
}

# die WHAT [WHAT-TO-DO...]: one message of what failed, then what to do.
die() {
    printf 'lab: error: %s\n' "$1" >&2
    shift
    local line
    for line in "$@"; do
        printf 'lab:        %s\n' "$line" >&2
    done
    exit 1
}

# cache_init: sets CACHE and makes sure that it can be written.
cache_init() {
    CACHE=${XDG_CACHE_HOME:-${HOME:?HOME is not set}/.cache}/ovs-tc-batch
    mkdir -p "$CACHE/locks" "$CACHE/runs" 2>/dev/null ||
        die "cannot create the cache directory $CACHE" \
            "make it writable, or set XDG_CACHE_HOME to a directory that is."
    case $CACHE$TOP in
    *[[:space:],]*)
        die "a space or comma in the path of the cache or of this tree" \
            "QEMU and make cannot take one; move the tree, or set XDG_CACHE_HOME."
        ;;
    esac
}

# need_space MIB WHAT: dies early instead of half way through a build.
need_space() {
    local free
    free=$(df -Pm "$CACHE" | awk 'NR == 2 { print $4 }')
    if [ "$free" -lt "$1" ]; then
        die "$2 needs $1 MiB in $CACHE, and only $free MiB are free" \
            "free some space, or set XDG_CACHE_HOME to a larger disk."
    fi
}

# hash_of: a short hash of standard input.
hash_of() {
    sha256sum | cut -c1-16
}

# hash_files FILE-OR-DIR...: names and contents of the files; what a compiler
# leaves behind and what editors leave behind does not count.
hash_files() {
    local path
    for path in "$@"; do
        if [ -e "$path" ]; then
            find "$path" \( -name .deps -o -name .libs \) -prune -o \
                -type f ! -name '*.o' ! -name '*.lo' ! -name '*.la' \
                ! -name '*.a' ! -name '*~' ! -name '.*.sw?' -print0
        fi
    done | LC_ALL=C sort -z | xargs -0 -r sha256sum | sed "s,  $TOP/,  ,"
}

# lock NAME [MODE]: takes the lock NAME (exclusive, or "shared") and keeps it
# until unlock or the end of the process.  Sets LOCK_FD.
lock() {
    local fd mode=-x
    [ "${2-}" = shared ] && mode=-s
    exec {fd}>>"$CACHE/locks/$1"
    if ! flock -n "$mode" "$fd"; then
        say "waiting for another run of lab ($1)"
        flock "$mode" "$fd"
    fi
    LOCK_FD=$fd
}

# try_lock NAME [MODE]: the same, but fails instead of waiting.
try_lock() {
    local fd mode=-x
    [ "${2-}" = shared ] && mode=-s
    exec {fd}>>"$CACHE/locks/$1"
    if flock -n "$mode" "$fd"; then
        LOCK_FD=$fd
        return 0
    fi
    exec {fd}>&-
    return 1
}

unlock() {
    local fd=$1
    exec {fd}>&-
}

# prune KEEP DIR...: removes all but the KEEP directories used last.
prune() {
    local keep=$1 dir
    shift
    # The names are ours and hold neither spaces nor newlines.
    # shellcheck disable=SC2012
    ls -1dt "$@" 2>/dev/null | tail -n +"$((keep + 1))" |
        while read -r dir; do
            # "running" holds the process that still needs it.
            if [ -e "$dir/running" ] && kill -0 "$(<"$dir/running")" 2>/dev/null; then
                continue
            fi
            rm -rf "$dir" 2>/dev/null || true
        done
}

# elapsed SINCE: seconds since SINCE (a value of SECONDS), for people.
elapsed() {
    local s=$((SECONDS - $1))
    if [ "$s" -ge 60 ]; then
        printf '%dm%02ds' $((s / 60)) $((s % 60))
    else
        printf '%ds' "$s"
    fi
}

# step LABEL LOG UNIT PATTERN COMMAND...: runs COMMAND with its output in LOG
# and says how far it is: how many lines of LOG match PATTERN, in UNITs.
# Returns the command's status; step_failed says what went wrong.
step() {
    local label=$1 log=$2 unit=$3 pattern=$4 start=$SECONDS pid n last=0 rc=0
    local status='' shown=0
    shift 4
    mkdir -p "$(dirname "$log")"
    # In a process group of its own, so that all of it can be ended.
    set -m
    "$@" >"$log" 2>&1 </dev/null &
    pid=$!
    set +m
    STEP_PID=$pid
    while kill -0 "$pid" 2>/dev/null; do
        sleep 0.5
        if [ -t 2 ]; then
            [ $((SECONDS - last)) -ge 3 ] || continue
        else
            [ $((SECONDS - start)) -ge $((shown + 30)) ] || continue
            shown=$((SECONDS - start))
        fi
        last=$SECONDS
        n=$(grep -cE -- "$pattern" "$log" || true)
        status="$label, $n $unit, $(elapsed "$start")"
        if [ -t 2 ]; then
            printf '\r\033[Klab: %s' "$status" >&2
        else
            say "$status"
        fi
    done
    wait "$pid" || rc=$?
    STEP_PID=
    [ -t 2 ] && [ -n "$status" ] && printf '\r\033[K' >&2
    [ "$rc" != 0 ] || say "$label: done in $(elapsed "$start")"
    return "$rc"
}

# step_failed WHAT LOG [WHAT-TO-DO...]: the end of LOG, then dies.
step_failed() {
    local what=$1 log=$2
    shift 2
    printf '%s\n' "--- last 30 lines of $log" >&2
    tail -n 30 "$log" >&2 || true
    printf '%s\n' "---" >&2
    if grep -q 'No space left on device' "$log"; then
        set -- "the disk is full: free some space, or set XDG_CACHE_HOME to a larger disk."
    fi
    die "$what" "the whole log is in $log" "$@"
}
