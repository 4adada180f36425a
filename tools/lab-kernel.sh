# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# The guest's kernel.  $LAB_KERNEL is VERSION or VERSION-VARIANT, see
# kernel/README.md.  What was built is kept under a key made of exactly the
# files and the package that it was built from, in a directory of the kernel's
# own.

KERNEL_MEMORY=3072              # Of the machine, MiB, unless LAB_MEMORY is set.
KERNEL_SLOW=1                   # By how much the limits of time are longer.
KERNEL_KNOWN=                   # A false alarm of its own: a regular expression.

# kernel_prepare: sets KERNEL_DIR, KERNEL_RELEASE (for people), KERNEL_MEMORY
# and KERNEL_SLOW; builds the kernel first unless it is in the cache.
# KERNEL_DIR has config, modules/ and either vmlinux, or vmlinuz and initramfs.
kernel_prepare() {
    local key fd
    KERNEL_BASE=${LAB_KERNEL%%-*}
    KERNEL_VARIANT=${LAB_KERNEL#"$KERNEL_BASE"}
    KERNEL_VARIANT=${KERNEL_VARIANT#-}
    case $KERNEL_VARIANT in
    debian) kernel_inputs_debian ;;
    *) kernel_inputs_ours ;;
    esac
    key=$({
        printf '%s %s %s\n' "$KERNEL_BASE" "$KERNEL_VERSION" "$(uname -m)"
        hash_files "${KERNEL_INPUTS[@]}"
    } | hash_of)
    KERNEL_DIR=$CACHE/kernel-$LAB_KERNEL/$key
    KERNEL_KEY=$key
    if [ ! -e "$KERNEL_DIR/complete" ]; then
        lock "kernel-$LAB_KERNEL"
        fd=$LOCK_FD
        # Another run may have built it while this one waited.
        [ -e "$KERNEL_DIR/complete" ] || kernel_copy || kernel_build
        unlock "$fd"
    fi
    touch "$KERNEL_DIR"
    KERNEL_RELEASE=$(cat "$KERNEL_DIR/complete")
    KERNEL_RELEASE+=${KERNEL_VARIANT:+ ($KERNEL_VARIANT)}
}

# kernel_inputs_ours: the distribution's source, our options and patches.
kernel_inputs_ours() {
    local baseline=$TOP/kernel/baseline/$KERNEL_BASE
    KERNEL_OPTIONS=("$TOP/kernel/config/$KERNEL_BASE.config")
    KERNEL_PATCHES=()
    [ "$KERNEL_VARIANT" = unpatched ] ||
        kernel_patches "$TOP/kernel/patches/$KERNEL_BASE"
    case $KERNEL_VARIANT in
    debug)
        KERNEL_OPTIONS+=("$TOP/kernel/config/debug.config")
        KERNEL_MEMORY=6144 KERNEL_SLOW=5
        ;;
    baseline)
        [ -d "$baseline" ] ||
            die "there is no kernel $LAB_KERNEL: $baseline is not there"
        kernel_patches "$baseline"
        ;;
    esac
    fetch_deb "linux-source-$KERNEL_BASE" "$LAB_SUITE_KERNEL"
    KERNEL_VERSION=$FETCHED_VERSION
    KERNEL_INPUTS=("${KERNEL_OPTIONS[@]}" "$TOP/tools/lab-kernel-build.sh"
        "${KERNEL_PATCHES[@]}")
}

# kernel_patches DIR: adds its patches.
kernel_patches() {
    local patches=()
    [ -d "$1" ] || return 0
    mapfile -t patches < <(find "$1" -maxdepth 1 -name '*.patch' | LC_ALL=C sort)
    KERNEL_PATCHES+=("${patches[@]}")
}

# kernel_inputs_debian: the package with the distribution's binary kernel, which
# "linux-image-amd64" of the suite names.
kernel_inputs_debian() {
    local image
    fetch_deb linux-image-amd64 "$LAB_SUITE_KERNEL" \
        "linux-image-amd64-$LAB_SUITE_KERNEL"
    image=$(dpkg-deb -f "$FETCHED_DEB" Depends |
        grep -o "linux-image-${KERNEL_BASE//./\\.}\.[^ ,]*" | head -n 1) ||
        die "the kernel of suite $LAB_SUITE_KERNEL is not $KERNEL_BASE" \
            "name a suite that has it (LAB_SUITE_KERNEL)."
    fetch_deb "$image" "$LAB_SUITE_KERNEL"
    prune 2 "$CACHE/debs/linux-image-$KERNEL_BASE".*/
    KERNEL_VERSION=$FETCHED_VERSION
    # With CONFIG_FORTIFY_SOURCE, and without a field for a tunnel's options behind
    # struct ip_tunnel_info, each write of them is taken for an overflow.
    KERNEL_KNOWN='memcpy: detected field-spanning write .* at include/net/ip_tunnels\.h'
    KERNEL_INPUTS=("$TOP/tools/lab-kernel-unpack.sh"
        "$TOP/tools/guest/initramfs.c")
}

# kernel_copy: where another variant was built from the same, its files do.
kernel_copy() {
    local other
    for other in "$CACHE/kernel-$KERNEL_BASE"{,-*}/"$KERNEL_KEY"; do
        [ -e "$other/complete" ] || continue
        rm -rf "$KERNEL_DIR"
        mkdir -p "${KERNEL_DIR%/*}"
        if cp -al "$other" "$KERNEL_DIR.$$" && mv "$KERNEL_DIR.$$" "$KERNEL_DIR"; then
            return 0
        fi
        rm -rf "$KERNEL_DIR.$$"
    done
    return 1
}

# kernel_options: what a later file says of an option counts.
kernel_options() {
    awk '/^(CONFIG_|# CONFIG_.* is not set)/ {
            match($0, /CONFIG_[A-Za-z0-9_]+/)
            line[substr($0, RSTART, RLENGTH)] = $0
        }
        END { for (option in line) print line[option] }' \
        "${KERNEL_OPTIONS[@]}" | LC_ALL=C sort
}

kernel_build() {
    local build log=$CACHE/logs/kernel-$LAB_KERNEL.log rc=0 recipe
    if [ "$KERNEL_VARIANT" = debian ]; then
        packages_need "$LAB_PACKAGES_UNPACK"
    else
        packages_need "$LAB_PACKAGES_BUILD" "$LAB_PACKAGES_KERNEL"
    fi
    need_space 4500 "building the kernel"
    mkdir -p "$CACHE/kernel-$LAB_KERNEL"
    build=$(mktemp -d "$CACHE/kernel-$LAB_KERNEL/build.XXXXXX")
    LAB_TEMPS+=("$build")
    if [ "$KERNEL_VARIANT" = debian ]; then
        say "kernel: unpacking $KERNEL_BASE ($KERNEL_VERSION) of the distribution"
        recipe=("$TOP/tools/lab-kernel-unpack.sh" "$FETCHED_DEB"
            "$TOP/tools/guest/initramfs.c" "$build")
    else
        say "kernel: $LAB_KERNEL ($KERNEL_VERSION, ${#KERNEL_PATCHES[@]} patches) is not in" \
            "the cache; building it takes 5 to 10 minutes, once"
        kernel_options >"$build/options"
        export CCACHE_DIR=$CACHE/ccache CCACHE_MAXSIZE=1G CCACHE_DEPEND=1 \
            CCACHE_NOHASHDIR=1
        recipe=("$TOP/tools/lab-kernel-build.sh" "$FETCHED_DEB" "$KERNEL_BASE"
            "$build/options" "$build" "${KERNEL_PATCHES[@]}")
    fi
    step "kernel: building" "$log" "objects" '^ +(CC|AS|LD|AR|HOSTCC)( |$)' \
        bash "${recipe[@]}" || rc=$?
    if [ "$rc" != 0 ]; then
        rm -rf "$build"
        if grep -qE '^lab-kernel-[a-z]+: ' "$log"; then
            step_failed "$(sed -nE 's/^lab-kernel-[a-z]+: //p' "$log" | tail -n 1)" "$log"
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

# tc_testing_prepare: sets TC_TESTING to the directory of the kernel's own tests
# of tc, tools/testing/selftests/tc-testing.  That of 6.12 is used with every
# kernel; that of 6.1 wants its plugins elsewhere.
tc_testing_prepare() {
    local new fd
    fetch_deb linux-source-6.12 trixie
    TC_TESTING=$CACHE/tc-testing/$FETCHED_VERSION
    lock tc-testing
    fd=$LOCK_FD
    if [ ! -e "$TC_TESTING/tdc.py" ]; then
        say "unpacking the kernel's tests of tc, half a minute, once"
        rm -rf "$CACHE/tc-testing"
        new=$CACHE/tc-testing/new
        mkdir -p "$new"
        dpkg-deb --fsys-tarfile "$FETCHED_DEB" |
            tar -xO ./usr/src/linux-source-6.12.tar.xz |
            tar -xJ -C "$new" --strip-components=5 --no-same-owner --wildcards \
                '*/tools/testing/selftests/tc-testing/*'
        mv "$new" "$TC_TESTING"
    fi
    unlock "$fd"
}
