#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs oracle.c, which compares our provider with OVS's own on this kernel.
# ORACLE_PROGRAM is the built program.
set -euo pipefail

program=${ORACLE_PROGRAM:?}
# shellcheck source=tests/oracle/twin-devices.sh
. "${OVS_TCB_SRC:?}/tests/oracle/twin-devices.sh"
status=0
"$program" || status=$?
for twin in 0 1; do
    for port in 1 2; do
        ip link delete "twin$twin$port"
    done
done
exit "$status"
