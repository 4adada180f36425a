#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: edit.sh PROVIDER <SUITE >EDITED
#
# The changes that "lab suite" makes to the generated script of the tests
# before it runs it: all of them, each with its reason.  One that finds nothing
# to change is an error.
set -euo pipefail

provider=$1
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
cat >"$temp/suite"

# edit REASON SED-SCRIPT
edit() {
    sed -E "$2" "$temp/suite" >"$temp/edited"
    if cmp -s "$temp/suite" "$temp/edited"; then
        echo "edit.sh: finds nothing to change: $1" >&2
        exit 1
    fi
    mv "$temp/edited" "$temp/suite"
}

edit "Test 20 makes flows idle out after 2 s and expects one of them to be \
still there after a ping and two rounds of revalidation, which take longer \
than that in an emulated machine.  Later it waits for the flow to go away, \
for up to 30 s, so that 12 s change nothing else." \
    's/(other_config:max-idle=)2000\>/\112000/'

edit "Tests 8 and 9 send ten datagrams, one netcat each, through a meter of one \
packet a second and expect one of them to pass, so that all must be sent \
within a second.  The stand-in for netcat sends them all at once." \
    '/^for i in `seq 10`; do$/,/^done$/{
        s/`seq 10`/1/
        s/^(echo "mark" \| nc )(.NC_EOF_OPT -u 10\.1\.1\.2 5678 -p 6789)$/\1--times 10 \2/
    }'

edit "The same tests expect a meter to be younger than ten seconds." \
    's/duration:\[0-9\]\.\[0-9\]\*s/duration:[0-9]*.[0-9]*s/'

edit "The shell function seq starts one process for each number, half a \
second for each wait of a test in an emulated machine; seq of coreutils \
prints the same." \
    '/^seq \(\) \{$/,/^\}$/d'

edit "Programs of Open vSwitch that were not run for a second say so on the \
standard error, which tests compare." \
    's/^at_check_filter_trace=:$/at_check_filter_trace=at_fn_filter_slow/
    s/^(  at_check_trace=: at_check_filter=):$/\1at_fn_filter_slow/
    /^at_fn_filter_trace \(\)$/i\
at_fn_filter_slow ()\
{\
  test -s "$at_stderr" || return 0\
  mv "$at_stderr" "$at_stder1"\
  grep -vE "\\|(timeval\\|WARN|coverage\\|INFO)\\|" "$at_stder1" >"$at_stderr"\
}\
'

edit "Test 144 looks at a flow that the next round of revalidation removes, \
half a second after it was made." \
    '/^#AT_START_144$/,/^#AT_STOP_144$/{
        s/^\( \$at_check_trace; (ovs-ofctl --bundle add-flows)/( $at_check_trace; ovs-vsctl set Open_vSwitch . other_config:max-revalidator=30000 \&\& \1/
    }'

# What a test expects is changed only here, and only for our provider.

if [ "$provider" = tc-batch ]; then
    edit "Test 19 expects a flow to be shown with an exact priority of its VLAN \
tag, which neither the flow nor the filter matches.  Our provider shows what is \
matched." \
        '/^#AT_START_19$/,/^#AT_STOP_19$/s/vlan\(vid=4094,pcp=0\)/vlan(vid=4094)/'

    edit "Test 20 moves a flow that recirculates out of TC and expects the flow \
behind it to stay there, out of reach, until it idles out; meanwhile each of \
its packets is an upcall.  Our provider takes it along with the next round of \
revalidation, so that it may be in TC or in the datapath here.  That the first \
is in the datapath is still compared, and in the end that both are." \
        '/actions=controller\(\),ct\(table=1\)/,/^#AT_STOP_20$/{
            /^echo .*"recirc_id.*ipv4\(frag=no\), packets:2, bytes:168/{
                N
                s/recirc_id.*\n//
            }
            /^\( .at_check_trace; .* type=tc /s/$/\
                grep -v "ipv4(frag=no)" | \\/
            /^\( .at_check_trace; .* type=ovs /s/$/\
                grep userspace | \\/
        }'

    edit "Test 68 has userspace send copies of a packet one by one, and expects \
all of them to be upcalls.  Our flow may be in TC before the last, and TC does \
not count the 14 bytes of the Ethernet header of what comes in, whichever \
provider has put the filter there." \
        '/^#AT_START_68$/,/^#AT_STOP_68$/{
            /^\( .at_check_trace; .*dump-flows .*"in_port=3"/s/$/ | \
                sed -E "s,=(670|656|642)\\$,=684,"/
            /^\( .at_check_trace; .*dump-flows .*"in_port=5"/s/$/ | \
                sed -E "s,=(528|514)\\$,=542,"/
        }'
fi

cat "$temp/suite"
