# SPDX-License-Identifier: Apache-2.0
#
# Builds of Open vSwitch what the tests of the provider link with, the library.
# Open vSwitch's own Makefile makes the generated headers, which the library
# needs, only on the way to everything.

include Makefile

.PHONY: ovs-lib
ovs-lib: $(BUILT_SOURCES)
	$(MAKE) lib/libopenvswitch.la
