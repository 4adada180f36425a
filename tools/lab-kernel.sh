# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# The guest's kernel: the distribution's source, our patches, tinyconfig and
# our fragment.  What was built is kept under a key made of exactly these.

# kernel_prepare: sets KERNEL_DIR (vmlinux, config, System.map, modules/) and
# KERNEL_RELEASE; builds the kernel first unless it is in the cache.
kernel_prepare() {
    local key fd patches=()
    fetch_deb "linux-source-$LAB_KERNEL" "$LAB_SUITE_KERNEL"
    KERNEL_VERSION=$FETCHED_VERSION
    mapfile -t patches < <(kernel_patches)
    key=$({
        printf '%s %s %s\n' "$LAB_KERNEL" "$KERNEL_VERSION" "$(uname -m)"
        hash_files "$TOP/kernel/config/$LAB_KERNEL.config" \
            "$TOP/tools/lab-kernel-build.sh" "${patches[@]}"
    } | hash_of)
    KERNEL_DIR=$CACHE/kernel-$LAB_KERNEL/$key
    KERNEL_KEY=$key
    if [ ! -e "$KERNEL_DIR/complete" ]; then
        lock "kernel-$LAB_KERNEL"
        fd=$LOCK_FD
        # Another run may have built it while this one waited.
        [ -e "$KERNEL_DIR/complete" ] || kernel_build "$FETCHED_DEB" "${patches[@]}"
        unlock "$fd"
    fi
    touch "$KERNEL_DIR"
    KERNEL_RELEASE=$(cat "$KERNEL_DIR/complete")
}

kernel_patches() {
    local dir=$TOP/kernel/patches/$LAB_KERNEL
    if [ -d "$dir" ]; then
        find "$dir" -maxdepth 1 -name '*.patch' | LC_ALL=C sort
    fi
}

kernel_build() {
    local deb=$1 build log=$CACHE/logs/kernel-$LAB_KERNEL.log rc=0
    shift
    packages_need "$LAB_PACKAGES_BUILD" "$LAB_PACKAGES_KERNEL"
    need_space 4500 "building the kernel"
    mkdir -p "$CACHE/kernel-$LAB_KERNEL"
    build=$(mktemp -d "$CACHE/kernel-$LAB_KERNEL/build.XXXXXX")
    LAB_TEMPS+=("$build")
    say "kernel: $LAB_KERNEL ($KERNEL_VERSION, $# patches) is not in the cache;" \
        "building it takes 5 to 10 minutes, once"
    step "kernel: building" "$log" "objects" '^ +(CC|AS|LD|AR|HOSTCC)( |$)' \
        bash "$TOP/tools/lab-kernel-build.sh" "$deb" "$LAB_KERNEL" \
        "$TOP/kernel/config/$LAB_KERNEL.config" "$build" "$@" || rc=$?
    if [ "$rc" != 0 ]; then
        rm -rf "$build"
        if grep -q '^lab-kernel-build: ' "$log"; then
            step_failed "$(sed -n 's/^lab-kernel-build: //p' "$log" | tail -n 1)" "$log"
        fi
        step_failed "the kernel does not build" "$log" \
            "if a package is missing, install it; then start again."
    fi
    rm -rf "$KERNEL_DIR"
    mv "$build/out" "$KERNEL_DIR"
    # Takes half a minute, and nothing waits for it.
    rm -rf "$build" &
    prune 2 "$CACHE/kernel-$LAB_KERNEL"/????????????????/
}
