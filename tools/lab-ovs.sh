# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# Open vSwitch with our provider in it.
#
# A *slot* is a work tree that stays configured and built.  A change of the
# provider or of the patches is brought in file by file, so that make has only
# that to do.  A slot in use by a machine is locked (shared) and is not
# touched; another one is taken, or made, for a run with other sources.

OVS_SLOTS=4
# Builds that are configured in another way for good have their own slots.
OVS_VARIANT=
OVS_CONFIGURE=(--prefix=/usr --localstatedir=/var --sysconfdir=/etc
    --disable-ssl --enable-silent-rules
    "CFLAGS=-O2 -g" PYTHON3=/usr/bin/python3)

# ovs_source: sets OVS_SOURCE (a pristine tree) and OVS_VERSION.
ovs_source() {
    local temp fd
    fetch_deb openvswitch-source "$LAB_SUITE_OVS"
    OVS_VERSION=$FETCHED_VERSION
    case $OVS_VERSION in
    "$LAB_OVS".*) ;;
    *) die "suite $LAB_SUITE_OVS has Open vSwitch $OVS_VERSION, not $LAB_OVS" \
        "name a suite that has it in LAB_SUITE_OVS." ;;
    esac
    OVS_SOURCE=$CACHE/ovs-source/$OVS_VERSION
    [ ! -e "$OVS_SOURCE/configure.ac" ] || return 0
    lock ovs-source
    fd=$LOCK_FD
    if [ ! -e "$OVS_SOURCE/configure.ac" ]; then
        need_space 200 "unpacking Open vSwitch"
        mkdir -p "$CACHE/ovs-source"
        temp=$(mktemp -d "$CACHE/ovs-source/unpack.XXXXXX")
        LAB_TEMPS+=("$temp")
        dpkg-deb -x "$FETCHED_DEB" "$temp" ||
            die "$FETCHED_DEB is damaged" "start again with --update."
        [ -e "$temp/usr/src/openvswitch/configure.ac" ] ||
            die "$FETCHED_DEB holds no usr/src/openvswitch"
        mv "$temp/usr/src/openvswitch" "$OVS_SOURCE"
        rm -rf "$temp"
    fi
    unlock "$fd"
}

# ovs_prepare: sets OVS_BUILD to a built tree that matches the sources here,
# and keeps a shared lock on it until this process ends.
ovs_prepare() {
    local base want n slot fd
    ovs_source
    base=$({
        printf '%s %s\n' "$OVS_VERSION" "$(uname -m)"
        gcc -dumpfullversion 2>/dev/null || true
        printf '%s\n' "${OVS_CONFIGURE[@]}"
    } | hash_of)
    want=$(hash_files "$TOP/ovs-patches/apply.sh" "$TOP/ovs-patches/$LAB_OVS" \
        "$TOP/provider" | hash_of)
    mkdir -p "$CACHE/ovs-$LAB_OVS$OVS_VARIANT"

    # One that is ready; ready ones are shared.
    for ((n = 0; n < OVS_SLOTS; n++)); do
        slot=$CACHE/ovs-$LAB_OVS$OVS_VARIANT/$base.$n
        if [ "$(cat "$slot/complete" 2>/dev/null)" = "$want" ] &&
            try_lock "ovs-$LAB_OVS.$base.$n" shared; then
            if [ "$(cat "$slot/complete" 2>/dev/null)" = "$want" ]; then
                ovs_use "$slot"
                return 0
            fi
            unlock "$LOCK_FD"
        fi
    done

    # One that nobody uses, a built one first; made ready for us alone.
    packages_need "$LAB_PACKAGES_BUILD"
    for n in $(ovs_slots_built_first "$base"); do
        if try_lock "ovs-$LAB_OVS.$base.$n"; then
            fd=$LOCK_FD
            break
        fi
        n=
    done
    if [ -z "$n" ]; then
        n=0
        lock "ovs-$LAB_OVS.$base.$n"
        fd=$LOCK_FD
    fi
    slot=$CACHE/ovs-$LAB_OVS$OVS_VARIANT/$base.$n
    ovs_refresh "$slot" "$want"
    # From exclusive to shared: what matters to us is that it stays as it is.
    flock -s "$fd"
    ovs_use "$slot"
    ovs_prune "$base"
}

ovs_use() {
    OVS_BUILD=$1/tree
    touch "$1"
}

ovs_slots_built_first() {
    local n built=() rest=()
    for ((n = 0; n < OVS_SLOTS; n++)); do
        if [ -e "$CACHE/ovs-$LAB_OVS$OVS_VARIANT/$1.$n/configured" ]; then
            built+=("$n")
        else
            rest+=("$n")
        fi
    done
    printf '%s\n' "${built[@]}" "${rest[@]}" | sed '/^$/d'
}

# ovs_prune BASE: the slots of other bases but the newest one.
ovs_prune() {
    local slot keep=1
    # shellcheck disable=SC2012
    ls -1dt "$CACHE/ovs-$LAB_OVS$OVS_VARIANT"/*.[0-9] 2>/dev/null | while read -r slot; do
        case ${slot##*/} in
        "$1".*) continue ;;
        esac
        if [ "$keep" -gt 0 ]; then
            keep=$((keep - 1))
        elif try_lock "ovs-$LAB_OVS.${slot##*/}"; then
            rm -rf "$slot"
        fi
    done
}

# ovs_refresh SLOT WANT: makes SLOT hold a built tree of the sources here.
ovs_refresh() {
    local slot=$1 want=$2 log=$1/build.log rc=0 label
    mkdir -p "$slot"
    rm -f "$slot/complete"
    if [ -e "$slot/configured" ]; then
        label="ovs: refreshing"
    else
        label="ovs: building"
        say "ovs: $LAB_OVS ($OVS_VERSION) is not in the cache; building it takes about 2 minutes"
    fi
    need_space 1200 "building Open vSwitch"
    ovs_build "$label" || rc=$?
    if [ "$rc" != 0 ] && [ "$label" = "ovs: refreshing" ] &&
        grep -q 'No rule to make target' "$log"; then
        say "ovs: a file went away; building anew"
        rm -f "$slot/configured"
        rc=0
        ovs_build "ovs: building" || rc=$?
    fi
    if [ "$rc" != 0 ]; then
        if grep -q '^lab-ovs-build: ' "$log"; then
            step_failed "$(sed -n 's/^lab-ovs-build: //p' "$log" | tail -n 1)" "$log"
        fi
        step_failed "Open vSwitch with the provider does not build" "$log" \
            "the first error:" "$(grep -m1 -E '[Ee]rror: |\*\*\* ' "$log" || echo '(not found; see the log)')"
    fi
    printf '%s\n' "$want" >"$slot/complete"
}

ovs_build() {
    step "$1" "$log" "objects" '^ +(CC|CCLD|AR|GEN)( |$)' \
        bash "$TOP/tools/lab-ovs-build.sh" "$OVS_SOURCE" \
        "$TOP/ovs-patches/apply.sh" "$LAB_OVS" "$slot" "${OVS_CONFIGURE[@]}"
}
