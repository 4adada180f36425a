# SPDX-License-Identifier: Apache-2.0
#
# A unit test is one file tests/unit/test-NAME.c with a main() that runs
# cmocka groups, a fuzz target one file tests/fuzz/fuzz-NAME.c with an
# LLVMFuzzerTestOneInput().  To add one, add a line here; a program that needs
# more than its own file gets its own _SOURCES.

unit_tests = \
	%D%/unit/test-ack \
	%D%/unit/test-action \
	%D%/unit/test-batch \
	%D%/unit/test-buffer \
	%D%/unit/test-dump \
	%D%/unit/test-filter \
	%D%/unit/test-flower \
	%D%/unit/test-kinds \
	%D%/unit/test-pedit \
	%D%/unit/test-police \
	%D%/unit/test-probe \
	%D%/unit/test-qdisc \
	%D%/unit/test-shape \
	%D%/unit/test-socket \
	%D%/unit/test-stats

fuzz_targets = \
	%D%/fuzz/fuzz-ack \
	%D%/fuzz/fuzz-dump \
	%D%/fuzz/fuzz-filter \
	%D%/fuzz/fuzz-police

script_tests = \
	%D%/unit/test-apply.sh \
	%D%/unit/test-run-program.sh \
	%D%/unit/test-source-rules.sh

# Tests of the provider, which need Open vSwitch.  Unlike the others each of
# them needs lines of its own below.
ovs_tests = \
	%D%/unit-ovs/test-bad-input \
	%D%/unit-ovs/test-branches \
	%D%/unit-ovs/test-delta \
	%D%/unit-ovs/test-flow-table \
	%D%/unit-ovs/test-in-tree \
	%D%/unit-ovs/test-meters \
	%D%/unit-ovs/test-modify \
	%D%/unit-ovs/test-operate \
	%D%/unit-ovs/test-pending \
	%D%/unit-ovs/test-placeholder \
	%D%/unit-ovs/test-rounds \
	%D%/unit-ovs/test-shapes \
	%D%/unit-ovs/test-template \
	%D%/unit-ovs/test-translate

# What tests share, above all the scripted kernel.
fake_sources = \
	%D%/fake/fake-input.c \
	%D%/fake/fake-input.h \
	%D%/fake/fake-kernel.c \
	%D%/fake/fake-kernel.h \
	%D%/fake/fake-sample.c \
	%D%/fake/fake-sample.h \
	%D%/fake/fake-tc-police.c \
	%D%/fake/fake-tc-socket.c \
	%D%/fake/fake-tc-table.h \
	%D%/fake/fake-tc.c \
	%D%/fake/fake-tc.h

# The main() of a fuzz target outside of libFuzzer is in the library too: the
# linker takes it only for programs that have none of their own.
check_LIBRARIES += tests/libfake.a
tests_libfake_a_SOURCES = $(fake_sources) %D%/fuzz/standalone.c

AM_CPPFLAGS += -I$(top_srcdir)/tests
AM_CFLAGS += $(CMOCKA_CFLAGS)
LDADD = tests/libfake.a libtcnl-all.la

TESTS += $(script_tests) $(fuzz_targets)
check_PROGRAMS += $(fuzz_targets)

# Run in a machine with a kernel of its own, by vm/test-tcnl.sh.
check_PROGRAMS += %D%/vm/tcnl-fence %D%/vm/tcnl-real
tests_vm_tcnl_fence_SOURCES = %D%/vm/tcnl-fence.c %D%/tap.c %D%/tap.h
tests_vm_tcnl_real_SOURCES = %D%/vm/tcnl-real.c %D%/tap.c %D%/tap.h

if HAVE_CMOCKA
LDADD += $(CMOCKA_LIBS)
check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests)
endif
EXTRA_PROGRAMS = $(unit_tests) $(ovs_tests) $(ovs_programs)

# ## Tests of the provider.
#
# They link with the library of the patched Open vSwitch, of which nothing else
# is built for them.  Programs that put something of their own in the place of
# a function of it say so: all definitions of a program come before those of
# the library, and WRAP(FUNCTION) in a source makes an option of the linker.

# Run in a machine with a kernel of its own, by oracle/oracle.sh and
# vm/test-churn.sh.
ovs_programs = %D%/oracle/oracle %D%/vm/churn

if WITH_OVS
check_PROGRAMS += $(ovs_programs)
if HAVE_CMOCKA
check_PROGRAMS += $(ovs_tests)
TESTS += $(ovs_tests)
endif
endif

ovs_test_cppflags = -I$(builddir)/ovs -I$(builddir)/ovs/include \
	-I$(builddir)/ovs/lib $(AM_CPPFLAGS)
ovs_test_cflags = $(OVS_TEST_WARN_CFLAGS) $(SAN_CFLAGS) $(CMOCKA_CFLAGS)
ovs_test_ldadd = tests/libfake.a ovs/lib/libopenvswitch.la $(CMOCKA_LIBS) \
	$(MNL_LIBS)
bed_sources = %D%/unit-ovs/bed.c %D%/unit-ovs/bed.h
flow_sources = %D%/unit-ovs/flow-text.c %D%/unit-ovs/flow-text.h
in_tree_sources = %D%/unit-ovs/in-tree.c %D%/unit-ovs/in-tree-wrap.c \
	%D%/unit-ovs/in-tree.h
translate_sources = $(flow_sources) %D%/unit-ovs/made-up-ports.c \
	%D%/unit-ovs/translate.c \
	%D%/unit-ovs/translate-flows.c %D%/unit-ovs/translate.h
oracle_sources = %D%/unit-ovs/difference.c %D%/unit-ovs/difference.h \
	%D%/unit-ovs/random-flow.c %D%/unit-ovs/random-flow.h
replacing = -Wl,--allow-multiple-definition
wrap_of = $(shell $(SED) -n 's/.*WRAP(\([a-z_]*\)).*/-Wl,--wrap=\1/p' \
	$(srcdir)/$(1) | sort -u)

# The sources include the config.h of Open vSwitch.
%D%/unit-ovs/%.$(OBJEXT) %D%/oracle/%.$(OBJEXT) \
%D%/vm/churn-%.$(OBJEXT): DEFS = -DHAVE_CONFIG_H
ovs_test_objects = \
	$(tests_oracle_oracle_OBJECTS) \
	$(tests_unit_ovs_test_bad_input_OBJECTS) \
	$(tests_unit_ovs_test_branches_OBJECTS) \
	$(tests_unit_ovs_test_delta_OBJECTS) \
	$(tests_unit_ovs_test_flow_table_OBJECTS) \
	$(tests_unit_ovs_test_in_tree_OBJECTS) \
	$(tests_unit_ovs_test_modify_OBJECTS) \
	$(tests_unit_ovs_test_operate_OBJECTS) \
	$(tests_unit_ovs_test_pending_OBJECTS) \
	$(tests_unit_ovs_test_placeholder_OBJECTS) \
	$(tests_unit_ovs_test_rounds_OBJECTS) \
	$(tests_unit_ovs_test_shapes_OBJECTS) \
	$(tests_unit_ovs_test_template_OBJECTS) \
	$(tests_unit_ovs_test_translate_OBJECTS) \
	$(tests_vm_churn_OBJECTS)
if WITH_OVS
$(ovs_test_objects): | ovs-lib
ovs/lib/libopenvswitch.la: ovs-lib
	@:
endif

tests_oracle_oracle_SOURCES = %D%/oracle/oracle.c \
	%D%/oracle/coverage.c %D%/oracle/coverage.h \
	%D%/oracle/filter-text.c %D%/oracle/filter-text.h \
	%D%/oracle/round-trip.c %D%/oracle/round-trip.h \
	%D%/oracle/twin.c %D%/oracle/twin.h %D%/tap.c %D%/tap.h \
	$(flow_sources) $(oracle_sources)
tests_oracle_oracle_CPPFLAGS = $(ovs_test_cppflags) \
	-I$(srcdir)/tests/unit-ovs
tests_oracle_oracle_CFLAGS = $(ovs_test_cflags)
tests_oracle_oracle_LDADD = ovs/lib/libopenvswitch.la $(MNL_LIBS)

tests_unit_ovs_test_bad_input_SOURCES = %D%/unit-ovs/test-bad-input.c \
	$(bed_sources)
tests_unit_ovs_test_bad_input_CPPFLAGS = $(ovs_test_cppflags)
tests_unit_ovs_test_bad_input_CFLAGS = $(ovs_test_cflags)
tests_unit_ovs_test_bad_input_LDADD = $(ovs_test_ldadd)

tests_unit_ovs_test_branches_SOURCES = %D%/unit-ovs/test-branches.c \
	$(translate_sources)
tests_unit_ovs_test_branches_CPPFLAGS = $(ovs_test_cppflags)
tests_unit_ovs_test_branches_CFLAGS = $(ovs_test_cflags)
tests_unit_ovs_test_branches_LDADD = $(ovs_test_ldadd)
tests_unit_ovs_test_branches_LDFLAGS = $(replacing)

tests_unit_ovs_test_delta_SOURCES = %D%/unit-ovs/test-delta.c $(bed_sources)
tests_unit_ovs_test_delta_CPPFLAGS = $(ovs_test_cppflags)
tests_unit_ovs_test_delta_CFLAGS = $(ovs_test_cflags)
tests_unit_ovs_test_delta_LDADD = $(ovs_test_ldadd)

tests_unit_ovs_test_flow_table_SOURCES = %D%/unit-ovs/test-flow-table.c
tests_unit_ovs_test_flow_table_CPPFLAGS = $(ovs_test_cppflags)
tests_unit_ovs_test_flow_table_CFLAGS = $(ovs_test_cflags)
tests_unit_ovs_test_flow_table_LDADD = $(ovs_test_ldadd)

tests_unit_ovs_test_in_tree_SOURCES = %D%/unit-ovs/test-in-tree.c \
	$(in_tree_sources) $(translate_sources) $(oracle_sources)
tests_unit_ovs_test_in_tree_CPPFLAGS = $(ovs_test_cppflags)
tests_unit_ovs_test_in_tree_CFLAGS = $(ovs_test_cflags)
tests_unit_ovs_test_in_tree_LDADD = $(ovs_test_ldadd)
tests_unit_ovs_test_in_tree_LDFLAGS = $(replacing) \
	$(call wrap_of,%D%/unit-ovs/in-tree-wrap.c)

tests_unit_ovs_test_meters_SOURCES = %D%/unit-ovs/test-meters.c \
	$(bed_sources)
tests_unit_ovs_test_meters_CPPFLAGS = $(ovs_test_cppflags)
tests_unit_ovs_test_meters_CFLAGS = $(ovs_test_cflags)
tests_unit_ovs_test_meters_LDADD = $(ovs_test_ldadd)

tests_unit_ovs_test_modify_SOURCES = %D%/unit-ovs/test-modify.c \
	$(bed_sources)
tests_unit_ovs_test_modify_CPPFLAGS = $(ovs_test_cppflags)
tests_unit_ovs_test_modify_CFLAGS = $(ovs_test_cflags)
tests_unit_ovs_test_modify_LDADD = $(ovs_test_ldadd)

tests_unit_ovs_test_operate_SOURCES = %D%/unit-ovs/test-operate.c \
	$(bed_sources)
tests_unit_ovs_test_operate_CPPFLAGS = $(ovs_test_cppflags)
tests_unit_ovs_test_operate_CFLAGS = $(ovs_test_cflags)
tests_unit_ovs_test_operate_LDADD = $(ovs_test_ldadd)

tests_unit_ovs_test_pending_SOURCES = %D%/unit-ovs/test-pending.c \
	$(bed_sources)
tests_unit_ovs_test_pending_CPPFLAGS = $(ovs_test_cppflags)
tests_unit_ovs_test_pending_CFLAGS = $(ovs_test_cflags)
tests_unit_ovs_test_pending_LDADD = $(ovs_test_ldadd)

tests_unit_ovs_test_placeholder_SOURCES = \
	%D%/unit-ovs/test-placeholder.c $(bed_sources)
tests_unit_ovs_test_placeholder_CPPFLAGS = $(ovs_test_cppflags)
tests_unit_ovs_test_placeholder_CFLAGS = $(ovs_test_cflags)
tests_unit_ovs_test_placeholder_LDADD = $(ovs_test_ldadd)

tests_unit_ovs_test_rounds_SOURCES = %D%/unit-ovs/test-rounds.c \
	$(bed_sources)
tests_unit_ovs_test_rounds_CPPFLAGS = $(ovs_test_cppflags)
tests_unit_ovs_test_rounds_CFLAGS = $(ovs_test_cflags)
tests_unit_ovs_test_rounds_LDADD = $(ovs_test_ldadd)

tests_unit_ovs_test_shapes_SOURCES = %D%/unit-ovs/test-shapes.c \
	$(bed_sources)
tests_unit_ovs_test_shapes_CPPFLAGS = $(ovs_test_cppflags)
tests_unit_ovs_test_shapes_CFLAGS = $(ovs_test_cflags)
tests_unit_ovs_test_shapes_LDADD = $(ovs_test_ldadd)

tests_unit_ovs_test_template_SOURCES = %D%/unit-ovs/test-template.c \
	$(bed_sources) $(flow_sources) %D%/unit-ovs/random-flow.c \
	%D%/unit-ovs/random-flow.h
tests_unit_ovs_test_template_CPPFLAGS = $(ovs_test_cppflags)
tests_unit_ovs_test_template_CFLAGS = $(ovs_test_cflags)
tests_unit_ovs_test_template_LDADD = $(ovs_test_ldadd)

tests_unit_ovs_test_translate_SOURCES = %D%/unit-ovs/test-translate.c \
	$(translate_sources)
tests_unit_ovs_test_translate_CPPFLAGS = $(ovs_test_cppflags)
tests_unit_ovs_test_translate_CFLAGS = $(ovs_test_cflags)
tests_unit_ovs_test_translate_LDADD = $(ovs_test_ldadd)
tests_unit_ovs_test_translate_LDFLAGS = $(replacing)

tests_vm_churn_SOURCES = %D%/vm/churn.c %D%/tap.c %D%/tap.h \
	%D%/oracle/twin.c %D%/oracle/twin.h \
	%D%/vm/disturbance.c %D%/vm/disturbance.h \
	%D%/vm/faulty-socket.c %D%/vm/faulty-socket.h \
	%D%/unit-ovs/random-flow.c %D%/unit-ovs/random-flow.h \
	$(flow_sources)
tests_vm_churn_CPPFLAGS = $(ovs_test_cppflags) -I$(srcdir)/tests/oracle \
	-I$(srcdir)/tests/unit-ovs
tests_vm_churn_CFLAGS = $(ovs_test_cflags)
tests_vm_churn_LDADD = ovs/lib/libopenvswitch.la $(MNL_LIBS)
tests_vm_churn_LDFLAGS = $(call wrap_of,%D%/vm/faulty-socket.c)

# Every test speaks TAP, so that the summary counts cases and not files.
# Programs run under run-program.sh, which makes a failure out of a crash, a
# sanitizer's finding or a leak.
TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) \
	$(top_srcdir)/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
LOG_COMPILER = $(SHELL) $(srcdir)/tests/run-program.sh
SH_LOG_COMPILER = $(SHELL)
AM_TESTS_ENVIRONMENT = \
	TOP_SRCDIR='$(abs_top_srcdir)'; export TOP_SRCDIR; \
	OVS_SOURCE='$(OVS_SOURCE)'; export OVS_SOURCE; \
	AWK='$(AWK)'; export AWK; \
	TSAN_OPTIONS="suppressions=$(abs_srcdir)/tests/tsan.supp $$TSAN_OPTIONS"; \
	export TSAN_OPTIONS; \
	FUZZ_CORPUS='$(abs_top_srcdir)/tests/fuzz/corpus'; \
	export FUZZ_CORPUS;

# ## Fuzzing.

FUZZ_SECONDS = 60
FUZZ_WORK = tests/fuzz/work

if ENABLE_FUZZ
fuzzers = $(addsuffix -libfuzzer,$(fuzz_targets))
CLEANFILES += $(fuzzers)

$(fuzzers): %-libfuzzer: %.$(OBJEXT) libtcnl-all.la tests/libfake.a
	$(AM_V_CCLD)$(LIBTOOL) $(AM_V_lt) --tag=CC --mode=link $(CC) \
	  $(AM_CFLAGS) $(CFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $< \
	  libtcnl-all.la tests/libfake.a $(MNL_LIBS)

fuzz-run: $(fuzzers)
	@$(SHELL) $(srcdir)/tests/fuzz/run.sh $(FUZZ_SECONDS) $(FUZZ_WORK) \
	  $(abs_top_srcdir)/tests/fuzz/corpus $(fuzzers)
else
fuzz-run:
	@echo "make fuzz-run needs configure --enable-fuzz CC=clang" >&2; exit 1
endif

fuzz-clean:
	rm -rf $(FUZZ_WORK)

.PHONY: fuzz-run fuzz-clean
