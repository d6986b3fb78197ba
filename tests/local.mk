# Test programs; the last line of each counts what passed.

# The source of tests/x is tests/x.c; LDADD below is for all of them.
AM_CPPFLAGS += $(CHECK_CFLAGS)
LDADD = libcfx_all.la $(CHECK_LIBS)

if HAVE_CHECK
# Suites register themselves (unit.h): a line here is all that a new one needs.
UNIT_SOURCES = %reldir%/unit.c %reldir%/unit.h
UNIT_TESTS = tests/unit_base tests/unit_ops tests/unit_graph \
	tests/unit_format tests/unit_interp tests/unit_rewrite \
	tests/unit_shape tests/unit_zoo

tests_unit_base_SOURCES = $(UNIT_SOURCES) \
	%reldir%/base_test.c %reldir%/pool_test.c %reldir%/dim_test.c \
	%reldir%/dim_property_test.c %reldir%/dim_limit_test.c \
	%reldir%/dtype_test.c %reldir%/tensor_test.c %reldir%/copy_test.c \
	%reldir%/value_test.c
tests_unit_ops_SOURCES = $(UNIT_SOURCES) \
	%reldir%/kernel_gemm_test.c %reldir%/kernel_conv_test.c \
	%reldir%/kernel_pool_test.c %reldir%/kernel_pointwise_test.c \
	%reldir%/kernel_reduce_test.c %reldir%/kernel_norm_test.c \
	%reldir%/kernel_index_test.c %reldir%/kernel_resample_test.c \
	%reldir%/kernel_attention_test.c %reldir%/op_shape_test.c \
	%reldir%/device_test.c %reldir%/nn_test.c %reldir%/stop_test.c
tests_unit_graph_SOURCES = $(UNIT_SOURCES) \
	%reldir%/graph_test.c %reldir%/graph_whole_test.c \
	%reldir%/graph_fuzz_test.c %reldir%/graph_effects_test.c \
	%reldir%/graph_edit_test.c %reldir%/graph_module_test.c \
	%reldir%/graph_torch_test.c %reldir%/names_test.c
tests_unit_format_SOURCES = $(UNIT_SOURCES) $(SECTION_SOURCES) \
	%reldir%/report_document.c %reldir%/report_document.h \
	%reldir%/text_test.c %reldir%/file_test.c %reldir%/load_test.c \
	%reldir%/npz_test.c %reldir%/code_test.c %reldir%/picture_test.c \
	%reldir%/folder_test.c %reldir%/report_test.c
tests_unit_interp_SOURCES = $(UNIT_SOURCES) $(ZOO_SOURCES) \
	%reldir%/interp_test.c %reldir%/interp_nested_test.c \
	%reldir%/control_test.c %reldir%/control_golden_test.c \
	%reldir%/higher_order_test.c %reldir%/scope_class_test.c \
	%reldir%/minimize_test.c %reldir%/tracer_test.c \
	%reldir%/tracer_module_test.c %reldir%/tracer_proxy_test.c \
	%reldir%/transformer_test.c %reldir%/memory_test.c \
	%reldir%/peak_test.c
tests_unit_rewrite_SOURCES = $(UNIT_SOURCES) $(ZOO_SOURCES) \
	%reldir%/rewrite_graphs.c %reldir%/rewrite_test.h \
	%reldir%/matcher_test.c %reldir%/matcher_beyond_test.c \
	%reldir%/matcher_test.h %reldir%/rewriter_test.c \
	%reldir%/rewriter_beyond_test.c %reldir%/rewriter_test.h \
	%reldir%/source_matcher_test.c %reldir%/pass_test.c \
	%reldir%/pass_manager_test.c %reldir%/passes_test.c \
	%reldir%/passes_rewrite_test.c %reldir%/passes_meaning_test.c \
	%reldir%/split_test.c %reldir%/partition_test.c \
	%reldir%/fusion_test.c
tests_unit_shape_SOURCES = $(UNIT_SOURCES) \
	%reldir%/shape_prop_test.c %reldir%/shape_prop_test.h \
	%reldir%/shape_text_test.c %reldir%/shape_types_test.c \
	%reldir%/own_op_test.c \
	%reldir%/own_cost_test.c %reldir%/cost_test.c %reldir%/cost_test.h \
	%reldir%/roofline_test.c %reldir%/machine_test.c \
	%reldir%/machine_cached_test.c %reldir%/machine_doubt_test.c \
	%reldir%/memory_plan_test.c %reldir%/memory_place_test.c \
	%reldir%/memory_run_test.c %reldir%/memory_check.h \
	%reldir%/memory_test.h
tests_unit_zoo_SOURCES = $(UNIT_SOURCES) $(ZOO_SOURCES) \
	%reldir%/symbols_test.c %reldir%/zoo_text_test.c

# Compiled graphs find the library's functions in the program; the other has a
# pthread_create of its own.
UNIT_TESTS += tests/codegen_test tests/threads_test
tests_codegen_test_SOURCES = $(UNIT_SOURCES) $(SECTION_SOURCES) \
	%reldir%/codegen_test.c %reldir%/compile.c %reldir%/compile.h
tests_codegen_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_threads_test_SOURCES = $(UNIT_SOURCES) %reldir%/threads_test.c

check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
endif
TEST_OBJECTS = $(tests_unit_base_OBJECTS) $(tests_unit_ops_OBJECTS) \
	$(tests_unit_graph_OBJECTS) $(tests_unit_format_OBJECTS) \
	$(tests_unit_interp_OBJECTS) $(tests_unit_rewrite_OBJECTS) \
	$(tests_unit_shape_OBJECTS) $(tests_unit_zoo_OBJECTS) \
	$(tests_codegen_test_OBJECTS) $(tests_threads_test_OBJECTS) \
	$(tests_codegen_zoo_test_OBJECTS) $(tests_case_tests_OBJECTS) \
	$(tests_zoo_tests_OBJECTS) $(tests_graph_script_OBJECTS) \
	$(tests_report_page_OBJECTS) $(tests_fuzz_replay_OBJECTS)
SECTION_SOURCES = %reldir%/sections.c %reldir%/sections.h
check_PROGRAMS += tests/codegen_zoo_test
tests_codegen_zoo_test_SOURCES = %reldir%/codegen_zoo_test.c \
	%reldir%/compile.c %reldir%/compile.h $(ZOO_SOURCES)
tests_codegen_zoo_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic

# Passes.
EXTRA_DIST += %reldir%/pass_test.h %reldir%/behaviours %reldir%/said.sh
EXTRA_DIST += %reldir%/small_build.sh
SHELL_TESTS_OF_PASSES = %reldir%/passes_zoo.sh %reldir%/transform_test.sh
dist_check_SCRIPTS += $(SHELL_TESTS_OF_PASSES)
TESTS += $(SHELL_TESTS_OF_PASSES)

# Operators, modules and models against what PyTorch computes. A file more of
# either kind is one more line: it registers itself (program.h).
PROGRAM_SOURCES = %reldir%/program.c %reldir%/program.h
CASE_SOURCES = %reldir%/case.c %reldir%/case_compare.c %reldir%/case.h
ZOO_SOURCES = %reldir%/zoo.c %reldir%/zoo.h
check_PROGRAMS += tests/case_tests tests/zoo_tests
tests_case_tests_SOURCES = $(PROGRAM_SOURCES) $(CASE_SOURCES) \
	%reldir%/opcases_test.c %reldir%/opcases_memory_test.c \
	%reldir%/opcases_effects_test.c %reldir%/registry_test.c \
	%reldir%/traced_test.c %reldir%/cost_rules_test.c $(ZOO_SOURCES) \
	%reldir%/shape_walk_test.c %reldir%/walk.c %reldir%/walk.h \
	%reldir%/mutant.c %reldir%/mutant_text.c %reldir%/mutant.h
tests_zoo_tests_SOURCES = $(PROGRAM_SOURCES) $(ZOO_SOURCES) \
	%reldir%/zoo_test.c %reldir%/same_test.c %reldir%/costs_zoo_test.c \
	%reldir%/memory_zoo_test.c %reldir%/memory_check.h \
	%reldir%/passes_zoo_test.c
dist_check_SCRIPTS += %reldir%/opcases_effects.sh
TESTS += %reldir%/opcases_effects.sh
SHELL_TESTS = %reldir%/opcases.sh %reldir%/opcases_memory.sh \
	%reldir%/registry.sh %reldir%/zoo.sh %reldir%/same.sh \
	%reldir%/levels.sh %reldir%/headers.sh %reldir%/bad_inputs.sh \
	%reldir%/demo.sh %reldir%/examples.sh %reldir%/cli_test.sh \
	%reldir%/stop.sh \
	%reldir%/readme.sh %reldir%/picture.sh \
	%reldir%/codegen_zoo.sh %reldir%/codegen.sh %reldir%/diff.sh \
	%reldir%/folder.sh %reldir%/manual.sh %reldir%/behaviours.sh \
	%reldir%/install.sh %reldir%/limits.sh %reldir%/docs.sh
dist_check_SCRIPTS += $(SHELL_TESTS)
TESTS += $(SHELL_TESTS)

# Programs of another processor run in an emulator, which may not fork well.
LOG_COMPILER = $(CFX_EMULATOR)
AM_TESTS_ENVIRONMENT = srcdir='$(srcdir)'; export srcdir; \
	builddir='$(builddir)'; export builddir; \
	CFX_ZOO='$(builddir)/zoo'; export CFX_ZOO; \
	CFX='$(builddir)/cfx'; export CFX; \
	CC='$(CC)'; export CC; \
	CFX_LDFLAGS='$(SANITIZE_FLAGS)'; export CFX_LDFLAGS; \
	CFX_EMULATOR='$(CFX_EMULATOR)'; export CFX_EMULATOR; \
	CK_FORK=$${CFX_EMULATOR:+no}; export CK_FORK; \
	CK_TIMEOUT_MULTIPLIER=20; export CK_TIMEOUT_MULTIPLIER;

# The zoo, unpacked once.
check_DATA = zoo/unpacked
zoo/unpacked: %reldir%/golden/zoo.tar.xz
	$(AM_V_GEN)xz -dc $(srcdir)/%reldir%/golden/zoo.tar.xz | tar xf - && \
		touch $@
clean-local:
	rm -rf zoo random_graphs-*.script

EXTRA_DIST += %reldir%/control_test.h %reldir%/counted.h \
	%reldir%/interp_test.h %reldir%/machine_test.h %reldir%/model_test.h \
	%reldir%/failing_alloc.h \
	%reldir%/graph_test.h %reldir%/tensor_test.h \
	%reldir%/file_test.h %reldir%/kernel_data.h %reldir%/README.md \
	%reldir%/oracle %reldir%/cases %reldir%/golden

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

# Compare with a PyTorch: make check-pytorch PYTHON=... one that has torch.
# PARTS names some of them; MODELS names models of the zoo; SEEDS gives other
# random cases than 1.
#   models   every element of every node of the zoo
#   shapes   the shapes of all nodes of the zoo, in two layouts
#   folders  the folders that cfx convert makes of the zoo
#   graphs   random edits of random graphs
#   costs    multiply-adds of the zoo
#   formats  the strides of operators that choose a memory format
#   halves   pointwise operators in 16-bit floats
#   modules  every module type of torch.nn, saved and run
#   numbers  tensors where numbers are asked for
#   exports  what torch.export makes of ordinary models; EXPORTS names some
CHECK_PYTORCH = models shapes folders graphs costs formats halves modules \
	numbers exports counts devices
.PHONY: check-pytorch
check-pytorch: cfx zoo/unpacked tests/graph_script tests/zoo_tests \
		tests/case_tests
	@status=0; python=$${PYTHON:-python3}; \
	oracle=$(srcdir)/%reldir%/oracle; \
	for part in $${PARTS:-$(CHECK_PYTORCH)}; do \
	case $$part in \
	models) $$python $$oracle/whole.py ./cfx zoo $(MODELS);; \
	shapes) $$python $$oracle/shapes.py ./cfx zoo $(MODELS);; \
	folders) $$python $$oracle/folder.py ./cfx zoo $(MODELS);; \
	graphs) for seed in $${SEEDS:-1}; do \
		$$python $$oracle/random_graphs.py tests/graph_script \
			-s $$seed || status=1; done;; \
	costs) $$python $$oracle/costs.py zoo tests/zoo_tests $(MODELS);; \
	formats) for seed in $${SEEDS:-1}; do \
		$$python $$oracle/formats.py tests/case_tests -s $$seed || \
			status=1; done;; \
	halves) $$python $$oracle/halves.py ./cfx;; \
	modules) $$python $$oracle/modules.py ./cfx;; \
	numbers) $$python $$oracle/unknown_numbers.py | \
		diff $(srcdir)/%reldir%/golden/unknown_numbers.txt -;; \
	exports) $$python $$oracle/exports.py ./cfx $(EXPORTS);; \
	counts) folder=$$(mktemp -d) && $$python $$oracle/counts.py $$folder && \
		diff $(srcdir)/%reldir%/golden/counts/counts.txt \
			$$folder/counts.txt; ended=$$?; rm -rf "$$folder"; \
		test $$ended = 0;; \
	devices) $$python $$oracle/devices.py | \
		diff $(srcdir)/%reldir%/golden/devices.tsv -;; \
	*) echo "no part $$part"; false;; \
	esac || status=1; done; exit $$status

# Tracing.
dist_check_SCRIPTS += %reldir%/traced.sh
TESTS += %reldir%/traced.sh
# Random edits of graphs, as torch.fx does them.
check_PROGRAMS += tests/graph_script
dist_check_SCRIPTS += %reldir%/graph_script.sh
TESTS += %reldir%/graph_script.sh

# What tests share.
EXTRA_DIST += %reldir%/golden_text.h %reldir%/trace_test.h

# Shapes without numbers: every operator on arguments by chance, costs, what
# machines can do, memory.
SHAPE_TESTS = %reldir%/shape_walk.sh %reldir%/shape_wild.sh \
	%reldir%/costs_zoo.sh %reldir%/cost_rules.sh %reldir%/machine.sh \
	%reldir%/memory_zoo.sh %reldir%/memory.sh %reldir%/undecided.sh
dist_check_SCRIPTS += $(SHAPE_TESTS)
TESTS += $(SHAPE_TESTS)

# cfx roofline.
dist_check_SCRIPTS += %reldir%/roofline.sh %reldir%/counts.sh \
	%reldir%/against.sh
TESTS += %reldir%/roofline.sh %reldir%/counts.sh %reldir%/against.sh

# Reports in a browser.
check_PROGRAMS += tests/report_page
tests_report_page_SOURCES = %reldir%/report_page.c \
	%reldir%/report_document.c %reldir%/report_document.h
dist_check_SCRIPTS += %reldir%/report_browser.sh
TESTS += %reldir%/report_browser.sh
EXTRA_DIST += %reldir%/browser.py %reldir%/report_browser.py \
	%reldir%/report_documents.py

# cfx shapes.
dist_check_SCRIPTS += %reldir%/shapes.sh %reldir%/unknown_numbers.sh
TESTS += %reldir%/shapes.sh %reldir%/unknown_numbers.sh

# Words on the terminal.
dist_check_SCRIPTS += %reldir%/completion.sh %reldir%/progress.sh \
	%reldir%/words.sh
TESTS += %reldir%/completion.sh %reldir%/progress.sh %reldir%/words.sh

# The table of costs, anew from the rules.
.PHONY: costs
costs: tests/case_tests
	tests/case_tests cost_rules $(srcdir)/shapeprop/COSTS.md --write

# Do the tests notice small changes of the code? MUTANTS names some of them.
.PHONY: mutants
EXTRA_DIST += %reldir%/mutants/run.sh %reldir%/mutants/list
mutants:
	CC='$(CC)' $(srcdir)/%reldir%/mutants/run.sh $(MUTANTS)
