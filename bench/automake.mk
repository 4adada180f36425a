# SPDX-License-Identifier: Apache-2.0
#
# Programs of "lab bench", built with the tests.  What is measured comes from
# the library of the patched Open vSwitch, as for the tests of the provider.

ovs_benches = %D%/translate %D%/operate %D%/prio %D%/dump \
	%D%/beside
# The bed of the unit tests asserts with cmocka.
cmocka_benches = %D%/instructions
EXTRA_PROGRAMS += $(ovs_benches) $(cmocka_benches)

%D%/%.$(OBJEXT): DEFS = -DHAVE_CONFIG_H
if WITH_OVS
check_PROGRAMS += $(ovs_benches)
if HAVE_CMOCKA
check_PROGRAMS += $(cmocka_benches)
endif
$(bench_translate_OBJECTS) $(bench_operate_OBJECTS) $(bench_prio_OBJECTS) \
	$(bench_dump_OBJECTS) $(bench_beside_OBJECTS) \
	$(bench_instructions_OBJECTS): | ovs-lib
endif

profile_sources = %D%/profile.c %D%/profile.h
count_calls_sources = %D%/count-calls.c %D%/count-calls.h

bench_translate_SOURCES = %D%/translate.c $(flow_sources) $(in_tree_sources) \
	tests/unit-ovs/made-up-ports.c tests/unit-ovs/random-flow.c \
	tests/unit-ovs/random-flow.h
bench_translate_CPPFLAGS = $(ovs_test_cppflags) \
	-I$(srcdir)/tests/unit-ovs
bench_translate_CFLAGS = $(ovs_test_cflags)
bench_translate_LDADD = ovs/lib/libopenvswitch.la $(MNL_LIBS)
bench_translate_LDFLAGS = $(replacing) \
	$(call wrap_of,tests/unit-ovs/in-tree-wrap.c)

bench_operate_SOURCES = %D%/operate.c %D%/raw.c %D%/raw.h \
	$(profile_sources) $(count_calls_sources) \
	tests/oracle/twin.c tests/oracle/twin.h \
	$(flow_sources) tests/unit-ovs/random-flow.h
bench_operate_CPPFLAGS = $(ovs_test_cppflags) \
	-I$(srcdir)/tests/unit-ovs -I$(srcdir)/tests/oracle
bench_operate_CFLAGS = $(ovs_test_cflags)
bench_operate_LDADD = ovs/lib/libopenvswitch.la $(MNL_LIBS)
bench_operate_LDFLAGS = $(call wrap_of,bench/count-calls.c)

bench_prio_SOURCES = %D%/prio.c tests/oracle/twin.c tests/oracle/twin.h \
	$(flow_sources) tests/unit-ovs/random-flow.h
bench_prio_CPPFLAGS = $(bench_operate_CPPFLAGS)
bench_prio_CFLAGS = $(ovs_test_cflags)
bench_prio_LDADD = $(bench_operate_LDADD)

rounds_sources = %D%/rounds.c %D%/rounds.h

bench_dump_SOURCES = %D%/dump.c $(profile_sources) $(count_calls_sources) \
	$(rounds_sources) tests/oracle/twin.c tests/oracle/twin.h \
	$(flow_sources) tests/unit-ovs/random-flow.h
bench_dump_CPPFLAGS = $(bench_operate_CPPFLAGS)
bench_dump_CFLAGS = $(ovs_test_cflags)
bench_dump_LDADD = $(bench_operate_LDADD)
bench_dump_LDFLAGS = $(bench_operate_LDFLAGS)

bench_beside_SOURCES = %D%/beside.c $(profile_sources) $(rounds_sources) \
	tests/oracle/twin.c tests/oracle/twin.h \
	$(flow_sources) tests/unit-ovs/random-flow.h
bench_beside_CPPFLAGS = $(bench_operate_CPPFLAGS)
bench_beside_CFLAGS = $(ovs_test_cflags)
bench_beside_LDADD = $(bench_operate_LDADD)

bench_instructions_SOURCES = %D%/instructions.c $(profile_sources) \
	$(flow_sources) \
	$(bed_sources)
bench_instructions_CPPFLAGS = $(ovs_test_cppflags) \
	-I$(srcdir)/tests/unit-ovs
bench_instructions_CFLAGS = $(ovs_test_cflags)
bench_instructions_LDADD = $(ovs_test_ldadd)
bench_instructions_LDFLAGS = $(replacing) \
	$(call wrap_of,bench/instructions.c)
