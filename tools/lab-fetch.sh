# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# Packages from suites that this machine does not use, never installed.  The mirror is
# the one that this machine is configured for; apt itself fetches and
# verifies, with a private state directory, so that nothing of the machine's
# own package state changes.

# fetch_sources_of FILE: one line "SIGNED-BY URI" for each entry of FILE that
# offers binary packages of component main of suite $codename.  SIGNED-BY is
# "-" when there is none, or when it is a key and not a file.
fetch_sources_of() {
    local file=$1
    case $file in
    *.sources)
        awk -v codename="$codename" '
            function flush(   i, n, m, u, s) {
                n = split(f["suites"], s, /[ \t]+/)
                m = 0
                for (i = 1; i <= n; i++) {
                    if (s[i] == codename) m = 1
                }
                if (m && tolower(f["enabled"]) != "no" &&
                    f["types"] ~ /(^|[ \t])deb([ \t]|$)/ &&
                    f["components"] ~ /(^|[ \t])main([ \t]|$)/) {
                    n = split(f["uris"], u, /[ \t]+/)
                    for (i = 1; i <= n; i++) {
                        if (u[i] != "") {
                            print (f["signed-by"] ~ /^\// ? f["signed-by"] : "-"), u[i]
                        }
                    }
                }
                delete f
                key = ""
            }
            /^#/ { next }
            /^[ \t]*$/ { flush(); next }
            /^[ \t]/ { if (key != "") f[key] = f[key] " " $0; next }
            {
                key = tolower(substr($0, 1, index($0, ":") - 1))
                value = substr($0, index($0, ":") + 1)
                gsub(/^[ \t]+|[ \t]+$/, "", value)
                f[key] = value
            }
            END { flush() }' "$file"
        ;;
    *)
        awk -v codename="$codename" '
            $1 == "deb" {
                signed = "-"
                i = 2
                if ($i ~ /^\[/) {
                    for (; i <= NF; i++) {
                        option = $i
                        gsub(/[][]/, "", option)
                        if (option ~ /^signed-by=\//) signed = substr(option, 11)
                        if ($i ~ /\]$/) { i++; break }
                    }
                }
                for (j = i + 2; j <= NF && $j !~ /^#/; j++) {
                    if ($(i + 1) == codename && $j == "main") print signed, $i
                }
            }' "$file"
        ;;
    esac
}

# fetch_mirror: sets FETCH_URI and FETCH_KEYRING from apt's own configuration.
fetch_mirror() {
    local codename file etc line uri found=''
    local root=${LAB_APT_ETC:-/etc/apt}
    codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME-}")
    [ -n "$codename" ] ||
        die "/etc/os-release names no VERSION_CODENAME" \
            "the lab derives the mirror from a Debian machine's package sources."
    etc=("$root/sources.list" "$root"/sources.list.d/*.sources
        "$root"/sources.list.d/*.list)
    for file in "${etc[@]}"; do
        [ -r "$file" ] || continue
        while read -r line; do
            uri=${line#* }
            case $uri in
            cdrom:* | *-security* | */security) continue ;;
            esac
            # An archive that is named "debian" is better than another one
            # that happens to have a suite of the same name.
            if [ -z "$found" ] || [[ $uri =~ debian/?$ && ! ${found#* } =~ debian/?$ ]]; then
                found=$line
            fi
        done < <(fetch_sources_of "$file")
    done
    [ -n "$found" ] ||
        die "no package source in $root offers Debian's \"$codename main\"" \
            "add one (see sources.list(5)), so that the lab knows a mirror."
    FETCH_URI=${found#* }
    FETCH_KEYRING=${found%% *}
    if [ "$FETCH_KEYRING" = - ]; then
        FETCH_KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
    fi
    FETCH_KEYRING=${FETCH_KEYRING%%[ ,]*}
    [ -r "$FETCH_KEYRING" ] ||
        die "the keyring $FETCH_KEYRING is missing" \
            "apt-get install debian-archive-keyring"
}

# fetch_apt: apt-get with a state of its own in $state.  A mirror that stands
# still is good enough for sources: its lists are signed, however old they are.
fetch_apt() {
    apt-get -q \
        -o "Dir::State=$state/state" \
        -o "Dir::State::status=$state/status" \
        -o "Dir::Cache=$state/cache" \
        -o "Dir::Etc::sourcelist=$state/sources.list" \
        -o "Dir::Etc::sourceparts=/dev/null" \
        -o "Dir::Etc::preferences=/dev/null" \
        -o "Dir::Etc::preferencesparts=/dev/null" \
        -o "Acquire::Languages=none" \
        -o "Acquire::Retries=3" \
        -o "Acquire::Check-Valid-Until=false" \
        -o "Acquire::AllowInsecureRepositories=false" \
        -o "APT::Get::AllowUnauthenticated=false" \
        -o "APT::Update::Error-Mode=any" \
        -o "APT::Sandbox::User=$(id -un)" \
        -o "Debug::NoLocking=true" "$@"
}

# fetch_deb PACKAGE SUITE [NAME]: sets FETCHED_DEB and FETCHED_VERSION.  A package
# that was fetched once is kept, under NAME if two suites have another one each;
# "--update" looks for a newer one.
fetch_deb() {
    local package=$1 suite=$2 state log dir=$CACHE/debs/${3:-$1} fd
    log=$CACHE/logs/fetch-$package.log
    lock "fetch-${dir##*/}"
    fd=$LOCK_FD
    if [ "$LAB_UPDATE" = yes ] || [ ! -e "$dir/complete" ]; then
        fetch_deb_anew
    fi
    FETCHED_DEB=$(find "$dir" -name "${package}_*.deb" | head -n 1)
    [ -n "$FETCHED_DEB" ] || die "$dir is damaged" "remove it and start again."
    FETCHED_VERSION=$(cat "$dir/complete")
    unlock "$fd"
}

fetch_deb_anew() {
    fetch_mirror
    need_space 700 "fetching $package"
    say "fetching $package from suite $suite of this machine's own mirror"
    state=$(mktemp -d "$CACHE/fetch.XXXXXX")
    LAB_TEMPS+=("$state")
    mkdir -p "$state/state/lists/partial" "$state/cache/archives/partial" "$state/new"
    : >"$state/status"
    printf 'deb [signed-by=%s] %s %s main\n' \
        "$FETCH_KEYRING" "$FETCH_URI" "$suite" >"$state/sources.list"

    if ! step "fetch: lists of $suite" "$log" "lists" '^(Get|Hit):' fetch_apt update; then
        if grep -qE 'NO_PUBKEY|not signed|EXPKEYSIG|BADSIG' "$log"; then
            step_failed "the signature of suite $suite does not verify" "$log" \
                "a newer debian-archive-keyring package may know the key."
        elif grep -qE 'does not have a Release file|404' "$log"; then
            step_failed "the mirror does not have the suite $suite" "$log" \
                "configure a complete Debian mirror for apt, then start again."
        fi
        step_failed "the mirror cannot be reached" "$log" \
            "check the network (and apt's proxy settings), then start again."
    fi
    if ! (cd "$state/new" && step "fetch: $package" "$log" "files" '^Get:' \
        fetch_apt download "$package"); then
        if grep -q 'Unable to locate package' "$log"; then
            step_failed "suite $suite has no package $package" "$log" \
                "the distribution moved on; name the suite that has it (LAB_SUITE_*)."
        fi
        step_failed "$package could not be downloaded" "$log" \
            "check the network and the free disk space, then start again."
    fi
    dpkg-deb -f "$state/new/"*.deb Version >"$state/new/complete"
    mkdir -p "$CACHE/debs"
    rm -rf "$dir"
    mv "$state/new" "$dir"
    rm -rf "$state"
}
