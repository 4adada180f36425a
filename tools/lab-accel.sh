# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# How QEMU runs the machine: the arguments that are always the same, and KVM
# or TCG.  That /dev/kvm exists proves nothing (some hosts' KVM cannot run a
# stock guest and spins for ever), so KVM has to answer a trial boot first.

# vm_args: sets VM_ARGS, what all machines share.
vm_args() {
    local cpus
    cpus=$(nproc)
    [ "$cpus" -le 2 ] || cpus=2
    VM_CPUS=$cpus
    # Without erms and fsrm: with them guests clear and copy memory with "rep"
    # instructions, which TCG emulates word by word, and every figure lies.
    local image=$KERNEL_DIR/vmlinux
    [ -e "$image" ] || image=$KERNEL_DIR/vmlinuz
    VM_ARGS=(
        -nodefaults -no-user-config -display none -monitor none -no-reboot
        -cpu "max,-erms,-fsrm" -smp "$cpus" -m "${LAB_MEMORY:-$KERNEL_MEMORY}M"
        -kernel "$image"
        -fsdev "local,id=root,path=/,security_model=none,multidevs=remap,readonly=on"
        -device "virtio-9p-pci,fsdev=root,mount_tag=root"
    )
    [ ! -e "$KERNEL_DIR/initramfs" ] || VM_ARGS+=(-initrd "$KERNEL_DIR/initramfs")
    VM_CMDLINE="console=ttyS0 loglevel=5 panic=-1 oops=panic"
    [ -n "$KERNEL_KNOWN" ] || VM_CMDLINE+=" panic_on_warn=1"
    VM_CMDLINE+=" bonding.max_bonds=0 dummy.numdummies=0 ifb.numifbs=0"
    VM_CMDLINE+=" root=root rootfstype=9p ro"
    VM_CMDLINE+=" rootflags=trans=virtio,version=9p2000.L,msize=1048576,cache=loose"
}

# vm_accel: sets VM_ACCEL (for people) and VM_ACCEL_ARGS.
vm_accel() {
    local memo=$CACHE/accel-$LAB_KERNEL id answer=
    VM_ACCEL=tcg
    VM_ACCEL_ARGS=(-accel "tcg,thread=multi")
    case ${LAB_ACCEL:-auto} in
    tcg) return 0 ;;
    auto | kvm) ;;
    *) die "LAB_ACCEL=$LAB_ACCEL is not known" "it can be kvm, tcg or auto." ;;
    esac
    if [ ! -r /dev/kvm ] || [ ! -w /dev/kvm ]; then
        return 0
    fi
    # One answer for each boot of the host, kernel of the guest and QEMU.
    id="$(cat /proc/sys/kernel/random/boot_id) $KERNEL_KEY $(stat -Lc %Y "$(type -P qemu-system-x86_64)")"
    if [ -e "$memo" ] && [ "$(sed -n 1p "$memo")" = "$id" ]; then
        answer=$(sed -n 2p "$memo")
    else
        say "trying KVM (at most 8 s)"
        if vm_try_kvm; then
            answer=kvm
        else
            answer=tcg
            say "KVM does not answer on this host; using TCG from now on"
        fi
        printf '%s\n%s\n' "$id" "$answer" >"$memo.$$"
        mv "$memo.$$" "$memo"
    fi
    if [ "$answer" = kvm ]; then
        VM_ACCEL=kvm
        VM_ACCEL_ARGS=(-accel kvm)
    fi
}

vm_try_kvm() {
    local dir pid i rc=1
    dir=$(mktemp -d "$CACHE/trial.XXXXXX")
    LAB_TEMPS+=("$dir")
    : >"$dir/report"
    qemu-system-x86_64 "${VM_ARGS[@]}" -accel kvm \
        -serial "file:$dir/console" -serial "file:$dir/report" \
        -append "$VM_CMDLINE init=$TOP/tools/guest/probe-init" \
        </dev/null >"$dir/qemu" 2>&1 &
    pid=$!
    # QEMU may abort here; the shell need not say so.
    disown "$pid"
    VM_PID=$pid
    for ((i = 0; i < 80; i++)); do
        if grep -q alive "$dir/report"; then
            rc=0
            break
        fi
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    vm_kill
    rm -rf "$dir"
    return "$rc"
}

# vm_kill: ends the QEMU that this process started, whatever state it is in.
vm_kill() {
    local i
    [ -n "$VM_PID" ] || return 0
    kill "$VM_PID" 2>/dev/null || true
    for ((i = 0; i < 20; i++)); do
        kill -0 "$VM_PID" 2>/dev/null || break
        sleep 0.05
    done
    kill -9 "$VM_PID" 2>/dev/null || true
    wait "$VM_PID" 2>/dev/null || true
    VM_PID=
}
