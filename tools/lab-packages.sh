# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# Packages that the lab needs, by what it needs of them: a package counts as
# missing only when neither the command nor the file named with it is there.

# "PACKAGE:PROBE", where PROBE is a command or an absolute path.
LAB_PACKAGES_VM="
qemu-system-x86:qemu-system-x86_64
iproute2:ip
iputils-ping:ping
kmod:modprobe
procps:pgrep
ethtool:ethtool
jq:jq
iperf3:iperf3
python3:/usr/bin/python3
"
LAB_PACKAGES_SUITE="
gawk:gawk
net-tools:netstat
tcpdump:tcpdump
nftables:nft
curl:curl
libc6-dev:/usr/include/stdio.h
"
LAB_PACKAGES_NATIVE="
iproute2:ip
iputils-ping:ping
kmod:modprobe
procps:pgrep
ethtool:ethtool
jq:jq
iperf3:iperf3
python3:/usr/bin/python3
util-linux:unshare
"
LAB_PACKAGES_BUILD="
build-essential:g++
dpkg-dev:dpkg-source
make:make
patch:patch
autoconf:autoconf
automake:automake
libtool:libtoolize
pkg-config:pkg-config
libmnl-dev:/usr/include/libmnl/libmnl.h
python3:/usr/bin/python3
gawk:gawk
xz-utils:xz
"
LAB_PACKAGES_KERNEL="
bc:bc
bison:bison
ccache:ccache
flex:flex
libelf-dev:/usr/include/libelf.h
libssl-dev:/usr/include/openssl/ssl.h
"
LAB_PACKAGES_UNPACK="
build-essential:gcc
cpio:cpio
kmod:depmod
xz-utils:xz
"
LAB_PACKAGES_UNIT="
libcmocka-dev:/usr/include/cmocka.h
"
LAB_PACKAGES_FUZZ="
clang:clang
libclang-rt-14-dev:/usr/lib/llvm-14/lib/clang/14.0.6/lib/linux/libclang_rt.fuzzer-x86_64.a
"
LAB_PACKAGES_BENCH="
valgrind:valgrind
jq:jq
"
LAB_PACKAGES_PERF="
linux-perf:perf
"
LAB_PACKAGES_PLOT="
gnuplot-nox:gnuplot
"
LAB_PACKAGES_LINT="
shellcheck:shellcheck
"

# packages_missing LIST...: the packages of the LISTs that are not there.
packages_missing() {
    local entry
    # Splitting the lists into words is the point.
    # shellcheck disable=SC2048
    for entry in $*; do
        case ${entry#*:} in
        /*) [ -e "${entry#*:}" ] && continue ;;
        *) PATH=$PATH:/usr/sbin:/sbin type -P "${entry#*:}" >/dev/null && continue ;;
        esac
        printf '%s\n' "${entry%%:*}"
    done
}

# packages_need LIST...: installs what is missing, and nothing else.
packages_need() {
    local missing=() sudo=() log=$CACHE/logs/packages.log
    mapfile -t missing < <(packages_missing "$@")
    [ "${#missing[@]}" -gt 0 ] || return 0

    if ! type -P apt-get >/dev/null; then
        die "missing here: ${missing[*]}" \
            "these are Debian's package names, and there is no apt-get to install" \
            "them with; install them by hand and start again."
    fi
    if [ "$(id -u)" != 0 ]; then
        if ! type -P sudo >/dev/null || ! sudo -v; then
            die "missing packages, and neither root nor a working sudo: ${missing[*]}" \
                "as root: apt-get install ${missing[*]}"
        fi
        sudo=(sudo)
    fi

    say "installing with apt-get: ${missing[*]}"
    local install=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive
        apt-get install -y --no-install-recommends "${missing[@]}")
    if step "packages: installing" "$log" "set up" '^Setting up ' "${install[@]}"; then
        return 0
    fi
    # Package lists that are absent or old are the usual reason.
    if ! step "packages: updating the lists" "$log.update" "lists" '^(Get|Hit):' \
        "${sudo[@]}" apt-get update; then
        step_failed "apt-get update failed" "$log.update" \
            "check the network and the package sources, then start again."
    fi
    step "packages: installing" "$log" "set up" '^Setting up ' "${install[@]}" ||
        step_failed "apt-get could not install: ${missing[*]}" "$log" \
            "install them by hand, then start again."
}
