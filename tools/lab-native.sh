# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# --native: the same sessions in this kernel, without a machine.  They get
# namespaces of their own for the network and for the directories of Open
# vSwitch, so that one that serves this host is left alone.

# native_has MODULE OPTION: the running kernel has it, built in or as a module.
native_has() {
    local release
    release=$(uname -r)
    [ ! -d "/sys/module/${1//-/_}" ] || return 0
    ! grep -qs "/${1}.ko" "/lib/modules/$release/modules.builtin" || return 0
    ! modprobe -n "$1" 2>/dev/null || return 0
    if [ -r /proc/config.gz ]; then
        zcat /proc/config.gz | grep -qE "^$2=[ym]" && return 0
    fi
    [ -r "/boot/config-$release" ] && grep -q "^$2=y" "/boot/config-$release"
}

native_check() {
    local missing=() pair
    [ "$(id -u)" = 0 ] ||
        die "--native needs root" "start it as root, or leave --native out."
    for pair in cls_flower:CONFIG_NET_CLS_FLOWER sch_ingress:CONFIG_NET_SCH_INGRESS \
        act_mirred:CONFIG_NET_ACT_MIRRED act_police:CONFIG_NET_ACT_POLICE \
        act_gact:CONFIG_NET_ACT_GACT openvswitch:CONFIG_OPENVSWITCH veth:CONFIG_VETH; do
        native_has "${pair%%:*}" "${pair#*:}" || missing+=("${pair%%:*}")
    done
    [ "${#missing[@]}" = 0 ] ||
        die "the kernel of this machine ($(uname -r)) lacks: ${missing[*]}" \
            "leave --native out: the lab then boots a kernel that has them."
}

native_run() {
    local limit=$1 tails=() rc=0
    say "running in this kernel ($(uname -r)), results in $RUN_DIR"
    # shellcheck disable=SC2016
    local script='
        mkdir -p /run/openvswitch /etc/openvswitch /var/log/openvswitch /run/netns
        for dir in /run/openvswitch /etc/openvswitch /var/log/openvswitch /run/netns; do
            mount -t tmpfs -o mode=755 tmpfs "$dir"
        done
        ip link set lo up
        exec "$0"'
    if [ "$LAB_TTY" = '' ]; then
        tail -n +1 -f -s 0.2 --pid=$$ "$RUN_DIR/stdout" &
        tails=($!)
        tail -n +1 -f -s 0.2 --pid=$$ "$RUN_DIR/stderr" >&2 &
        tails+=($!)
    fi
    LAB_OUT=$RUN_DIR timeout --foreground --kill-after=10 "$limit" \
        unshare --net --mount --ipc bash -euc "$script" \
        "$TOP/tools/guest/session.sh" 9>>"$RUN_DIR/report" || rc=$?
    if [ "${#tails[@]}" -gt 0 ]; then
        sleep 0.5
        kill "${tails[@]}" 2>/dev/null || true
        wait "${tails[@]}" 2>/dev/null || true
    fi
    VM_STATUS=$rc
    if [ "$limit" != 0 ] && { [ "$rc" = 124 ] || [ "$rc" = 137 ]; }; then
        vm_failed "no end after $limit s; it hung in: $(sed -n 's/^phase //p' "$RUN_DIR/report" | tail -n 1)"
        VM_STATUS=1
        return 1
    fi
    printf 'exit %s\n' "$rc" >>"$RUN_DIR/report"
}
