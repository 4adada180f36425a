# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# The environment of everything that runs in the machine.  The caller has set
# OVS_BUILD (a built tree of Open vSwitch), OVS_TCB_SRC (this repository) and
# LAB_OUT (a directory whose contents survive).

: "${OVS_BUILD:?}" "${OVS_TCB_SRC:?}" "${LAB_OUT:?}"
export OVS_BUILD OVS_TCB_SRC LAB_OUT

# The build tree comes first: an installed Open vSwitch must not answer.
PATH=$OVS_BUILD/utilities:$OVS_BUILD/ovsdb:$OVS_BUILD/vswitchd
PATH=$PATH:$OVS_TCB_SRC/tools/guest
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
export PYTHONPATH=$OVS_BUILD/python
export LC_ALL=C

OVS_RUN=/var/run/openvswitch
OVS_LOG=/var/log/openvswitch
OVS_ETC=/etc/openvswitch

ulimit -c 0

# lab_alive NAME: the daemon NAME runs.
lab_alive() {
    local pid
    [ -e "$OVS_RUN/$1.pid" ] && read -r pid <"$OVS_RUN/$1.pid" &&
        [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null
}

# lab_crashed NAME: the daemon NAME ended without being asked to; one that is
# asked removes its pid file.
lab_crashed() {
    [ -e "$OVS_RUN/$1.pid" ] && ! lab_alive "$1"
}
