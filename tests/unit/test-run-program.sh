#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Shows that tests/run-program.sh lets no failure pass.

# shellcheck source=tests/unit/tap.sh
. "$(dirname "$0")/tap.sh"

run=$TOP_SRCDIR/tests/run-program.sh

# Runs a script, which stands for a test program, and compares what comes out
# with $1, in which the lines are separated by "|".
expect () {
    echo "#!/bin/sh" > "$tmp/program"
    cat >> "$tmp/program"
    chmod +x "$tmp/program"
    got=$(TEST_TIMEOUT=${limit:-10} sh "$run" "$tmp/program" |
          grep -Ev '^# (Segmentation fault|Aborted)' | tr '\n' '|')
    [ "$got" = "$1|" ] || fail "got $got instead of $1|"
}

begin "the groups of cmocka become one stream"
expect 'ok 1 - a|ok 2 - b|# ok - first|ok 3 - c|1..3' <<'END'
printf '1..2\nok 1 - a\nok 2 - b\n# ok - first\n1..1\nok 1 - c\n'
END
end

begin "a failure stays one"
expect 'ok 1 - a|not ok 2 - b|# 1 != 2|1..2' <<'END'
printf '1..2\nok 1 - a\nnot ok 2 - b\n# 1 != 2\n'; exit 1
END
end

begin "a skipped case is not a failure"
expect 'ok 1 - a # SKIP|1..1' <<'END'
printf '1..1\nnot ok 1 # SKIP a\n'
END
end

begin "a crash is a failure, before and after the last case"
expect 'ok 1 - a|not ok 2 - only 1 of 2 cases ran|not ok 3 - the program died of signal 11|1..3' <<'END'
printf '1..2\nok 1 - a\n'; kill -11 $$
END
expect 'ok 1 - a|not ok 2 - the program died of signal 6|1..2' <<'END'
printf '1..1\nok 1 - a\n'; kill -6 $$
END
end

begin "a program that ends early and with 0 is a failure"
expect 'ok 1 - a|not ok 2 - only 1 of 3 cases ran|1..2' <<'END'
printf '1..3\nok 1 - a\n'
END
expect 'not ok 1 - the program has run no case|1..1' <<'END'
END
end

begin "an exit status without a failed case, a leak say, is a failure"
expect 'ok 1 - a|not ok 2 - the program ended with status 23|1..2' <<'END'
printf '1..1\nok 1 - a\n'; exit 23
END
end

begin "what the program prints otherwise becomes comments"
expect 'ok 1 - a|# hello|# SUMMARY: LeakSanitizer|not ok 2 - the program ended with status 23|1..2' <<'END'
printf '1..1\nok 1 - a\nhello\n'; echo SUMMARY: LeakSanitizer >&2; exit 23
END
end

begin "a program that hangs is a failure"
limit=1
expect 'ok 1 - a|not ok 2 - only 1 of 2 cases ran|not ok 3 - the program was stopped at the time limit|1..3' <<'END'
printf '1..2\nok 1 - a\n'; exec sleep 60
END
end

done_testing
