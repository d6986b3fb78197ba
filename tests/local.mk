# Test programs; the last line of each counts what passed.

# The source of tests/x is tests/x.c; LDADD below is for all of them.
AM_CPPFLAGS += $(CHECK_CFLAGS)
LDADD = libcfx_all.la $(CHECK_LIBS)

if HAVE_CHECK
CHECK_TESTS = tests/base_test tests/pool_test tests/dim_test \
	tests/dtype_test tests/tensor_test tests/copy_test tests/value_test \
	tests/graph_test tests/graph_whole_test tests/graph_fuzz_test \
	tests/names_test tests/text_test tests/file_test tests/load_test \
	tests/npz_test tests/kernel_gemm_test tests/kernel_conv_test \
	tests/kernel_pool_test tests/kernel_pointwise_test \
	tests/kernel_reduce_test tests/kernel_norm_test \
	tests/kernel_index_test tests/kernel_resample_test \
	tests/kernel_attention_test tests/op_shape_test \
	tests/zoo_text_test tests/memory_test tests/threads_test \
	tests/symbols_test tests/peak_test
tests_symbols_test_SOURCES = %reldir%/symbols_test.c %reldir%/zoo.c \
	%reldir%/zoo.h
tests_zoo_text_test_SOURCES = %reldir%/zoo_text_test.c %reldir%/zoo.c \
	%reldir%/zoo.h
check_PROGRAMS += $(CHECK_TESTS)
TESTS += $(CHECK_TESTS)
endif

# Operators, modules and models against what PyTorch computes.
check_PROGRAMS += tests/opcases_test tests/opcases_memory_test \
	tests/zoo_test tests/same_test
tests_opcases_memory_test_SOURCES = %reldir%/opcases_memory_test.c \
	%reldir%/case.c %reldir%/case.h
tests_same_test_SOURCES = %reldir%/same_test.c %reldir%/zoo.c %reldir%/zoo.h
tests_opcases_test_SOURCES = %reldir%/opcases_test.c %reldir%/case.c \
	%reldir%/case.h
tests_zoo_test_SOURCES = %reldir%/zoo_test.c %reldir%/zoo.c %reldir%/zoo.h
dist_check_SCRIPTS += %reldir%/opcases.sh %reldir%/opcases_memory.sh \
	%reldir%/zoo.sh \
	%reldir%/demo.sh %reldir%/cli_test.sh %reldir%/readme.sh \
	%reldir%/same.sh %reldir%/levels.sh %reldir%/headers.sh \
	%reldir%/bad_inputs.sh %reldir%/examples.sh
TESTS += %reldir%/opcases.sh %reldir%/opcases_memory.sh \
	%reldir%/zoo.sh %reldir%/demo.sh \
	%reldir%/cli_test.sh %reldir%/readme.sh %reldir%/same.sh \
	%reldir%/levels.sh %reldir%/headers.sh %reldir%/bad_inputs.sh \
	%reldir%/examples.sh

AM_TESTS_ENVIRONMENT = srcdir='$(srcdir)'; export srcdir; \
	builddir='$(builddir)'; export builddir; \
	CFX_ZOO='$(builddir)/zoo'; export CFX_ZOO; \
	CFX='$(builddir)/cfx'; export CFX; \
	CC='$(CC)'; export CC;

# The zoo, unpacked once.
check_DATA = zoo/unpacked
zoo/unpacked: %reldir%/golden/zoo.tar.xz
	$(AM_V_GEN)xz -dc $(srcdir)/%reldir%/golden/zoo.tar.xz | tar xf - && \
		touch $@
clean-local:
	rm -rf zoo

EXTRA_DIST += %reldir%/graph_test.h %reldir%/tensor_test.h \
	%reldir%/file_test.h %reldir%/kernel_data.h %reldir%/README.md %reldir%/oracle %reldir%/cases \
	%reldir%/golden

# One line that adds up all programs.
check-local: check-TESTS
	@$(AWK) '/[0-9]+ passed, [0-9]+ failed/ { \
	    for (i = 1; i < NF; i++) { \
	        if ($$(i + 1) ~ /^passed/) p += $$i; \
	        if ($$(i + 1) ~ /^failed/) f += $$i } } \
	    /^[0-9]+%: Checks:/ { gsub(",", ""); p += $$3 - $$5 - $$7; \
	        f += $$5 + $$7 } \
	    END { printf "%d passed, %d failed\n", p, f }' \
	    $(TEST_LOGS)
