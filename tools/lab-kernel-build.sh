#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: lab-kernel-build.sh DEB VERSION FRAGMENT BUILD_DIR [PATCH...]
#
# Unpacks the kernel source from DEB into BUILD_DIR, applies the patches,
# configures, checks the configuration, builds, and leaves in BUILD_DIR/out
# what a guest needs.  Compiles through ccache: kernels of one version differ
# in few files.  Its text is part of the cache key: what is not needed to build
# belongs into lab-kernel.sh.
set -euo pipefail

deb=$1 version=$2 fragment=$3 build=$4
shift 4

fail() {
    printf 'lab-kernel-build: %s\n' "$*"
    exit 1
}

# Code of drivers and architectures that are not built, half of the tree, is
# left out; their Kconfig files are needed.
unused=()
for dir in drivers/{gpu,infiniband,media,scsi,staging,usb,iio,clk,crypto,accel,soc} \
    drivers/net/{ethernet,wireless,can,dsa} sound \
    arch/{arm,arm64,mips,powerpc,s390,riscv,sparc,sh,m68k,parisc,loongarch}; do
    unused+=(--exclude="*/$dir/*."{c,h,S,dts,dtsi})
done

mkdir -p "$build/src" "$build/out"
dpkg-deb --fsys-tarfile "$deb" |
    tar -xO "./usr/src/linux-source-$version.tar.xz" |
    tar -xJ -C "$build/src" --strip-components=1 --no-same-owner "${unused[@]}"
cd "$build/src"

for patch in "$@"; do
    printf 'applying %s\n' "$patch"
    patch -p1 --batch --forward --fuzz=0 --no-backup-if-mismatch <"$patch" ||
        fail "the patch $(basename "$patch") does not apply to Linux $version"
done

kmake() {
    make CC="ccache gcc" "$@"
}

kmake tinyconfig
# merge_config.sh complains of lines that are not options.
grep -E '^(CONFIG_|# CONFIG_.* is not set)' "$fragment" >"$build/fragment"
scripts/kconfig/merge_config.sh -m .config "$build/fragment"
kmake olddefconfig

missing=()
while read -r line; do
    case $line in
    '# CONFIG_'*)
        # An option that is off may also be absent from .config.
        option=${line#'# '}
        option=${option%% *}
        grep -q "^$option=" .config && missing+=("$option=n")
        ;;
    *) grep -qxF -- "$line" .config || missing+=("$line") ;;
    esac
done <"$build/fragment"
[ "${#missing[@]}" = 0 ] ||
    fail "options that did not survive the configuration: ${missing[*]}"

export KBUILD_BUILD_USER=lab KBUILD_BUILD_HOST=lab
# QEMU boots vmlinux as it is (PVH), which saves packing it here and unpacking
# it under emulation.
kmake -j"$(nproc)" vmlinux modules
kmake modules_install INSTALL_MOD_PATH="$build/out/modules" INSTALL_MOD_STRIP=1
release=$(kmake -s kernelrelease)
# These point into the source tree, which goes away.
rm -f "$build/out/modules/lib/modules/$release"/{build,source}
cp vmlinux System.map "$build/out/"
cp .config "$build/out/config"
printf '%s\n' "$release" >"$build/out/complete"
