# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# One run of the machine.  The guest reports on its second serial port (see
# guest/session.sh); without an "exit" line from there nothing has succeeded.

# run_dir NAME: a new directory for the results of a run, in RUN_DIR.
run_dir() {
    RUN_DIR=$(mktemp -d "$CACHE/runs/$(date +%Y%m%d-%H%M%S)-$1.XXXX")
    chmod 755 "$RUN_DIR"
    : >"$RUN_DIR/stdout"
    : >"$RUN_DIR/stderr"
    : >"$RUN_DIR/report"
    printf '%s\n' "$$" >"$RUN_DIR/running"
    prune 20 "$CACHE/runs"/*-*/
}

# write_job MODE [ARG...]: what the guest is to do.
write_job() {
    local mode=$1 rows=24 cols=80 name
    shift
    if [ "$mode" = shell ] && [ -t 0 ]; then
        read -r rows cols < <(stty size) || true
        if [ "$rows" = 0 ] || [ "$cols" = 0 ]; then
            rows=24 cols=80
        fi
    fi
    {
        printf 'OVS_BUILD=%q\nOVS_TCB_SRC=%q\n' "$OVS_BUILD" "$TOP"
        printf 'LAB_OUT=%q\nLAB_MODE=%q\nLAB_CWD=%q\n' "$RUN_DIR" "$mode" "$PWD"
        printf 'LAB_MODULES=%q\n' "${KERNEL_DIR-}/modules/lib/modules"
        printf 'LAB_TTY=%q\nLAB_ROWS=%q\nLAB_COLS=%q\nLAB_TERM=%q\n' \
            "$LAB_TTY" "$rows" "$cols" "${TERM:-dumb}"
        printf 'LAB_STDIN=%q\n' "$LAB_STDIN"
        printf 'export LAB_TEST_TIMEOUT=%q\n' "${LAB_TEST_TIMEOUT:-600}"
        printf 'export LAB_ACCEL=%q LAB_KERNEL=%q LAB_OVS=%q LAB_CPUS=%q\n' \
            "$VM_ACCEL" "${KERNEL_RELEASE:-$(uname -r)}" "$OVS_VERSION" \
            "${VM_CPUS:-$(nproc)}"
        printf 'export LAB_SLOW=%q\n' "$KERNEL_SLOW"
        for name in "${LAB_EXPORTS[@]}"; do
            printf 'export %s=%q\n' "$name" "${!name-}"
        done
        printf 'LAB_ARGS=('
        [ $# = 0 ] || printf '%q ' "$@"
        printf ')\n'
    } >"$RUN_DIR/job"
}

# vm_run LIMIT: boots with RUN_DIR/job and waits for the end, at most LIMIT
# seconds (0: no limit).  Sets VM_STATUS; returns 0 when the guest reported
# one, otherwise says what happened and returns 1.
vm_run() {
    local limit=$1 start=$SECONDS tails=() tty=() state='' phase='' line
    local console=$RUN_DIR/console.log boot=${LAB_BOOT_TIMEOUT:-$((120 * KERNEL_SLOW))}
    : >"$console"
    [ "$LAB_QUIET" = yes ] ||
        say "booting Linux $KERNEL_RELEASE ($VM_ACCEL, $VM_CPUS cpus), results in $RUN_DIR"

    if [ "$LAB_TTY" = /dev/hvc0 ]; then
        tty=(-device virtio-serial-pci -chardev "stdio,id=tty,signal=off"
            -device "virtconsole,chardev=tty")
        VM_STTY=$(stty -g)
    else
        exec {VM_STDIN}</dev/null
    fi
    qemu-system-x86_64 "${VM_ARGS[@]}" "${VM_ACCEL_ARGS[@]}" \
        -serial "file:$console" -serial "file:$RUN_DIR/report" "${tty[@]}" \
        -fsdev "local,id=out,path=$RUN_DIR,security_model=none,multidevs=remap" \
        -device "virtio-9p-pci,fsdev=out,mount_tag=out" \
        -append "$VM_CMDLINE init=$TOP/tools/guest/init LAB_OUT=$RUN_DIR" \
        <&"${VM_STDIN:-0}" 2>"$RUN_DIR/qemu.log" &
    VM_PID=$!
    if [ "$LAB_TTY" = '' ]; then
        tail -n +1 -f -s 0.2 --pid="$VM_PID" "$RUN_DIR/stdout" &
        tails=($!)
        tail -n +1 -f -s 0.2 --pid="$VM_PID" "$RUN_DIR/stderr" >&2 &
        tails+=($!)
    fi

    # What the guest says, until it says "exit" or the machine is gone.
    while :; do
        [ -z "$VM_WATCH" ] || "$VM_WATCH"
        state=$(tail -n 1 "$RUN_DIR/report")
        case $state in
        exit\ *) break ;;
        esac
        if ! kill -0 "$VM_PID" 2>/dev/null; then
            # It may have reported just before.
            state=$(tail -n 1 "$RUN_DIR/report")
            case $state in
            exit\ *) break ;;
            esac
            state=gone
            break
        fi
        if [ "$state" = '' ] && [ $((SECONDS - start)) -ge "$boot" ]; then
            state=noboot
            break
        fi
        if [ "$limit" != 0 ] && [ $((SECONDS - start)) -ge "$limit" ]; then
            state=hung
            break
        fi
        sleep 0.1
    done
    [ -z "$VM_WATCH" ] || "$VM_WATCH"
    vm_kill
    if [ -n "$VM_STTY" ]; then
        stty "$VM_STTY"
        VM_STTY=
        printf '\n' >&2
    fi
    [ "${#tails[@]}" = 0 ] || wait "${tails[@]}" 2>/dev/null || true

    phase=$(sed -n 's/^phase //p' "$RUN_DIR/report" | tail -n 1)
    VM_STATUS=1
    vm_alarms "$console" >"$RUN_DIR/alarms"
    if [ -s "$RUN_DIR/alarms" ]; then
        printf '%s\n' "--- from $console" >&2
        head -n 60 "$RUN_DIR/alarms" >&2
        printf '%s\n' "---" >&2
        vm_failed "the guest's kernel reported a bug (${phase:-while booting})"
        return 1
    fi
    case $state in
    exit\ [0-9]*)
        VM_STATUS=${state#exit }
        return 0
        ;;
    gone)
        vm_tail
        if [ -s "$RUN_DIR/qemu.log" ]; then
            tail -n 5 "$RUN_DIR/qemu.log" >&2
        fi
        vm_failed "the machine ended by itself (${phase:-while booting})"
        ;;
    noboot)
        vm_tail
        vm_failed "the guest does not boot within $boot s"
        ;;
    hung)
        vm_tail
        vm_failed "no end after $limit s; it hung in: ${phase:-booting}" \
            "give it longer with --timeout SECONDS if that was too short."
        ;;
    esac
    return 1
}

# vm_alarms FILE: FILE from the first alarm of the kernel on, but for known false
# ones.
vm_alarms() {
    if [ -n "$KERNEL_KNOWN" ]; then
        sed "\\@$KERNEL_KNOWN@,/---\\[ end trace/d" "$1"
    else
        cat "$1"
    fi | sed -nE '/^(\[[ .0-9]+\] )?(WARNING: |BUG: |Oops: |UBSAN: |Kernel panic)/,$p'
}

vm_tail() {
    printf '%s\n' "--- end of $RUN_DIR/console.log" >&2
    tail -n 20 "$RUN_DIR/console.log" >&2
    printf '%s\n' "---" >&2
}

vm_failed() {
    printf 'lab: error: %s\n' "$1" >&2
    shift
    for line in "$@" "everything that is known is in $RUN_DIR"; do
        printf 'lab:        %s\n' "$line" >&2
    done
}

# machine_prepare: everything that a run needs, for the machine or --native.
machine_prepare() {
    if [ "$LAB_NATIVE" = yes ]; then
        native_check
        packages_need "$LAB_PACKAGES_NATIVE"
        ovs_prepare
        VM_ACCEL=native
        return
    fi
    packages_need "$LAB_PACKAGES_VM"
    kernel_prepare
    ovs_prepare
    vm_args
    vm_accel
}

# machine_run LIMIT: runs RUN_DIR/job; sets VM_STATUS.
machine_run() {
    if [ "$LAB_NATIVE" = yes ]; then
        native_run "$1"
    else
        vm_run "$1"
    fi
}
