#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: lab-kernel-unpack.sh DEB INIT.C BUILD_DIR
#
# Leaves in BUILD_DIR/out what a guest needs of the binary kernel in DEB: the
# image, its modules, and an initramfs with INIT.C as its init and the modules
# that the root file system needs.  Its text is part of the cache key.
set -euo pipefail

deb=$1 init=$2 build=$3

fail() {
    printf 'lab-kernel-unpack: %s\n' "$*"
    exit 1
}

# Drivers that a virtual machine has no use for, most of the package.
unused=()
for dir in drivers/{gpu,infiniband,media,scsi,staging,usb,iio,ata,hid,input} \
    drivers/{mmc,mtd,nvme,platform,power,hwmon,bluetooth} \
    drivers/net/{ethernet,wireless,can,dsa,phy} net/{bluetooth,mac80211} sound; do
    unused+=(--exclude="*/kernel/$dir")
done

mkdir -p "$build/deb" "$build/out/modules/lib" "$build/initramfs/modules"
dpkg-deb --fsys-tarfile "$deb" |
    tar -x -C "$build/deb" --no-same-owner "${unused[@]}" ./boot \
        --wildcards '*lib/modules'
cd "$build"
mv deb/lib/modules out/modules/lib/ 2>/dev/null ||
    mv deb/usr/lib/modules out/modules/lib/ ||
    fail "$(basename "$deb") has no modules"
release=$(basename out/modules/lib/modules/*)
rm -f "out/modules/lib/modules/$release"/{build,source}
cp "deb/boot/vmlinuz-$release" out/vmlinuz
cp "deb/boot/config-$release" out/config

# The guest loads them over the host's file system, under emulation.
find out/modules -name '*.ko.xz' -exec xz -d {} +
depmod -b out/modules "$release"

# Each with those that it needs, in the order of loading.
n=100
for module in virtio_pci virtio_console 9pnet_virtio 9p overlay; do
    modprobe -d out/modules -S "$release" --show-depends "$module" >>depends ||
        fail "the module $module is not there"
done
while read -r kind path _; do
    [ "$kind" = insmod ] || continue
    printf 'module %s\n' "$path"
    cp "$path" "initramfs/modules/$n-${path##*/}"
    n=$((n + 1))
done < <(awk '!seen[$0]++' depends)

gcc -O2 -Wall -Werror -static -o initramfs/init "$init" ||
    fail "the initramfs's init does not compile"
(cd initramfs && find . | LC_ALL=C sort |
    cpio --quiet -o -H newc -R 0:0) >out/initramfs
printf '%s\n' "$release" >out/complete
