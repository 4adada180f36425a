#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Makes ./configure.  Run it once after a checkout.
set -e
cd "$(dirname "$0")"
exec autoreconf --force --install
