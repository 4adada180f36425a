# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What demo.sh prints with and asks with.

demo_failed=0
demo_rows=0
tmp=${tmp:-}                    # Set by demo.sh before it asks anything.

say() {
    printf '%s\n' "$*"
}

# section TITLE: and half a sentence on what one sees below it.
section() {
    printf '\n%s\n' "$1"
}

# check WHAT EXPECTED MEASURED HINT COMMAND...: one row of the table, which
# holds when COMMAND succeeds; otherwise HINT says what to look at.
check() {
    local what=$1 expected=$2 measured=$3 hint=$4 verdict=ok
    shift 4
    demo_rows=$((demo_rows + 1))
    "$@" || verdict=FAIL
    printf '  %-4s  %-34s  %-24s  %s\n' "$verdict" "$what" "$expected" "$measured"
    if [ "$verdict" = FAIL ]; then
        demo_failed=$((demo_failed + 1))
        printf '        look at: %s\n' "$hint"
    fi
}

# holds EXPRESSION: an arithmetic comparison, with fractions.
holds() {
    awk "BEGIN { exit !($1) }"
}

# calc FORMAT EXPRESSION
calc() {
    awk "BEGIN { printf \"$1\", $2 }"
}

# poll SECONDS COMMAND...: until it succeeds; fails after so long.
poll() {
    local end=$((SECONDS + $1 * ${LAB_SLOW:-1}))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.1
    done
}

# ask COMMAND FILTER: what tc-batch says, through jq; nothing when there is no
# datapath any more.
ask() {
    ovs-appctl --format json "tc-batch/$1" 2>/dev/null | jq -r ".[] | $2"
}

# ovs_flows TYPE: Open vSwitch's view, a flow per line, with tabs: cookie,
# packets, bytes, in_port, source and destination as they end, type, actions.
# The cookie is the ufid with the bytes of each word in the machine's order,
# as the kernel has it.
ovs_flows() {
    ovs-appctl dpctl/dump-flows -m "type=$1" | awk -v OFS='\t' '
        function field(re, skip,    s) {
            if (!match($0, re)) {
                return ""
            }
            s = substr($0, RSTART + skip, RLENGTH - skip)
            sub(/[,)]$/, "", s)
            return s
        }
        /^ufid:/ {
            ufid = substr($0, 6, 36)
            gsub(/-/, "", ufid)
            cookie = ""
            for (i = 1; i <= 32; i += 8) {
                for (j = 6; j >= 0; j -= 2) {
                    cookie = cookie substr(ufid, i + j, 2)
                }
            }
            macs = substr(field("src=[0-9a-f:]*", 4), 16) ">" \
                substr(field("dst=[0-9a-f:]*", 4), 16)
            type = /0x0806/ ? "arp" : /0x0800/ ? "ip" : /0x86dd/ ? "ip6" : "?"
            if (/proto=[1-9]/) {
                type = /proto=17/ ? "udp" : /proto=6[^0-9]/ ? "tcp" : \
                    /proto=1[^0-9]/ ? "icmp" : type
            }
            port = field("udp\\(src=[0-9]+[^)]*dst=[0-9]+", 4)
            sub(/.*dst=/, "", port)
            print cookie, field("packets:[0-9]+", 8) + 0, \
                field("bytes:[0-9]+", 6) + 0, field("in_port\\([^)]*", 8), \
                macs, type port, field("actions:.*", 8)
        }'
}

# tc_hooks: "DEVICE HOOK" for each place where filters hang.
tc_hooks() {
    tc qdisc show | awk '
        $2 == "clsact" || $2 == "ingress" { print $5, "ingress" }
        $2 == "clsact" { print $5, "egress" }'
}

# tc_filters: the kernel's view in the same way: cookie, packets, bytes,
# device, handle, source and destination, type, actions.
tc_filters() {
    tc_hooks >"$tmp/hooks"
    sed 's/^/filter show dev /' "$tmp/hooks" | tc -s -j -batch - |
        jq -nr --rawfile hooks "$tmp/hooks" '
        def action:
            if .kind == "mirred" then .mirred_action + " " + .to_dev
            elif .kind == "vlan" then
                .vlan_action + if .id then " \(.id)" else "" end
            else .kind end;
        [$hooks | split("\n")[] | split(" ")[0]] as $devs |
        [inputs] | range(length) as $i | .[$i][].options | select(.handle) |
        (.actions | map(select(.cookie)) | max_by(.stats.packets)) as $a |
        # What keeps a prio alive is no flow.
        select($a.cookie != "74632d62617463682f7072696f202020") |
        [$a.cookie, $a.stats.packets, $a.stats.bytes, $devs[$i], .handle,
         (.keys | (.src_mac // "?")[15:] + ">" + (.dst_mac // "?")[15:]),
         (.keys | .ip_proto // .vlan_ethtype // .eth_type | sub("ipv4"; "ip")),
         (.actions | map(action) | join(", "))] | @tsv'
}

# snapshot: both views, in $tmp/ovs and $tmp/tc, sorted by cookie.
snapshot() {
    ovs_flows tc | sort >"$tmp/ovs"
    tc_filters | sort >"$tmp/tc"
}

# agree: both views are of the same flows, with the same packets and bytes.
agree() {
    snapshot
    cmp -s <(cut -f 1-3 "$tmp/ovs") <(cut -f 1-3 "$tmp/tc")
}

# same_flows: how many flows are the same in both views.
same_flows() {
    comm -12 <(cut -f 1-3 "$tmp/ovs") <(cut -f 1-3 "$tmp/tc") | wc -l
}

# flow_sum WHAT WHERE TYPE: flows, packets or bytes of the flows in Open
# vSwitch's view in the snapshot that are of TYPE (ip: not ARP) and that come
# in at port WHERE or go between the addresses WHERE.
flow_sum() {
    awk -F '\t' -v what="$1" -v where="$2" -v type="$3" '
        ($4 == where || $5 == where) &&
        ($6 == type || type == "ip" && $6 != "arp") {
            n += what == "flows" ? 1 : what == "packets" ? $2 : $3
        }
        END { printf "%.0f\n", n }' "$tmp/ovs"
}

# slow_path: packets that the kernel datapath has looked up.
slow_path() {
    ovs-appctl dpctl/show | awk -F '[: ]+' '
        /lookups:/ { for (i = 1; i < NF; i++) if ($i ~ /^(hit|missed)$/) n += $(i + 1) }
        END { print n + 0 }'
}

# two_columns "IN_PORT MACS"...: these flows as both say it, side by side.
two_columns() {
    printf '%s\n' "$@" | awk -F '\t' '
        FILENAME == ARGV[1] {
            ours[$1] = $4 " " $5 " " $6 " packets:" $2 " " $7
            gsub(/vid=|,pcp=0/, "", ours[$1])
            if ($6 != "arp") cookie[$4 " " $5] = $1
            next
        }
        FILENAME == ARGV[2] {
            theirs[$1] = $4 " #" $5 " " $6 " " $7 " " $2 " pkt " $8
            next
        }
        {
            c = cookie[$0]
            printf "  %-46.46s | %.48s\n", c ? ours[c] : "(no flow)", \
                c in theirs ? theirs[c] : "(no filter)"
        }' "$tmp/ovs" "$tmp/tc" -
}

# bars: "LABEL COUNT" lines as a bar chart; empty ones at the end are left out.
bars() {
    awk '{
            label[NR] = $1
            n[NR] = $2
            if ($2) last = NR
            if ($2 > max) max = $2
        }
        END {
            for (i = 1; i <= last; i++) {
                len = int(n[i] * 40 / max + 0.999)
                bar = len ? "  " : ""
                while (length(bar) < len + 2 * !!len) bar = bar "#"
                printf "        %8s  %5d%s\n", label[i], n[i], bar
            }
        }'
}
