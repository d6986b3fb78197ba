# Test programs; the last line of each counts what passed.

if HAVE_CHECK
CHECK_TESTS = tests/base_test tests/pool_test tests/dim_test \
	tests/dtype_test tests/tensor_test tests/copy_test tests/value_test \
	tests/graph_test tests/graph_whole_test tests/graph_fuzz_test \
	tests/names_test
check_PROGRAMS += $(CHECK_TESTS)
TESTS += $(CHECK_TESTS)
TEST_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
TEST_LIBS = libcfx_all.la $(CHECK_LIBS)

tests_base_test_SOURCES = %reldir%/base_test.c
tests_base_test_CPPFLAGS = $(TEST_CPPFLAGS)
tests_base_test_LDADD = $(TEST_LIBS)
tests_pool_test_SOURCES = %reldir%/pool_test.c
tests_pool_test_CPPFLAGS = $(TEST_CPPFLAGS)
tests_pool_test_LDADD = $(TEST_LIBS)
tests_dim_test_SOURCES = %reldir%/dim_test.c
tests_dim_test_CPPFLAGS = $(TEST_CPPFLAGS)
tests_dim_test_LDADD = $(TEST_LIBS)
tests_dtype_test_SOURCES = %reldir%/dtype_test.c %reldir%/tensor_test.h
tests_dtype_test_CPPFLAGS = $(TEST_CPPFLAGS)
tests_dtype_test_LDADD = $(TEST_LIBS)
tests_tensor_test_SOURCES = %reldir%/tensor_test.c %reldir%/tensor_test.h
tests_tensor_test_CPPFLAGS = $(TEST_CPPFLAGS)
tests_tensor_test_LDADD = $(TEST_LIBS)
tests_copy_test_SOURCES = %reldir%/copy_test.c %reldir%/tensor_test.h
tests_copy_test_CPPFLAGS = $(TEST_CPPFLAGS)
tests_copy_test_LDADD = $(TEST_LIBS)
tests_value_test_SOURCES = %reldir%/value_test.c %reldir%/tensor_test.h
tests_value_test_CPPFLAGS = $(TEST_CPPFLAGS)
tests_value_test_LDADD = $(TEST_LIBS)
tests_graph_test_SOURCES = %reldir%/graph_test.c %reldir%/graph_test.h
tests_graph_test_CPPFLAGS = $(TEST_CPPFLAGS)
tests_graph_test_LDADD = $(TEST_LIBS)
tests_graph_whole_test_SOURCES = %reldir%/graph_whole_test.c \
	%reldir%/graph_test.h
tests_graph_whole_test_CPPFLAGS = $(TEST_CPPFLAGS)
tests_graph_whole_test_LDADD = $(TEST_LIBS)
tests_graph_fuzz_test_SOURCES = %reldir%/graph_fuzz_test.c \
	%reldir%/graph_test.h
tests_graph_fuzz_test_CPPFLAGS = $(TEST_CPPFLAGS)
tests_graph_fuzz_test_LDADD = $(TEST_LIBS)
tests_names_test_SOURCES = %reldir%/names_test.c %reldir%/graph_test.h
tests_names_test_CPPFLAGS = $(TEST_CPPFLAGS)
tests_names_test_LDADD = $(TEST_LIBS)
endif

# Operators, modules and models against what PyTorch computes.
check_PROGRAMS += tests/opcases_test tests/zoo_test
tests_opcases_test_SOURCES = %reldir%/opcases_test.c %reldir%/case.c \
	%reldir%/case.h
tests_opcases_test_LDADD = libcfx_all.la
tests_zoo_test_SOURCES = %reldir%/zoo_test.c
tests_zoo_test_LDADD = libcfx_all.la
dist_check_SCRIPTS += %reldir%/opcases.sh %reldir%/zoo.sh %reldir%/demo.sh
TESTS += %reldir%/opcases.sh %reldir%/zoo.sh %reldir%/demo.sh

AM_TESTS_ENVIRONMENT = srcdir='$(srcdir)'; export srcdir; \
	builddir='$(builddir)'; export builddir; \
	CFX_ZOO='$(builddir)/zoo'; export CFX_ZOO;

EXTRA_DIST += %reldir%/README.md %reldir%/oracle %reldir%/cases \
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
