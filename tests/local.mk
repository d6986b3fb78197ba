# Test programs; the last line of each counts what passed.

# The source of tests/x is tests/x.c; LDADD below is for all of them.
AM_CPPFLAGS += $(CHECK_CFLAGS)
LDADD = libcfx_all.la $(CHECK_LIBS)

if HAVE_CHECK
CHECK_TESTS = tests/base_test tests/pool_test tests/dim_test \
	tests/dtype_test tests/tensor_test tests/copy_test tests/value_test \
	tests/graph_test tests/graph_whole_test tests/graph_fuzz_test \
	tests/names_test tests/text_test tests/file_test tests/load_test \
	tests/npz_test tests/stop_test tests/kernel_gemm_test tests/kernel_conv_test \
	tests/kernel_pool_test tests/kernel_pointwise_test \
	tests/kernel_reduce_test tests/kernel_norm_test \
	tests/kernel_index_test tests/kernel_resample_test \
	tests/kernel_attention_test tests/op_shape_test \
	tests/zoo_text_test tests/memory_test tests/threads_test \
	tests/symbols_test tests/peak_test tests/interp_test \
	tests/interp_nested_test \
	tests/device_test tests/nn_test
# Generated code and pictures.
CHECK_TESTS += tests/code_test tests/picture_test
CHECK_TESTS += tests/codegen_test tests/folder_test
tests_folder_test_SOURCES = %reldir%/folder_test.c $(SECTION_SOURCES)
tests_codegen_test_SOURCES = %reldir%/codegen_test.c %reldir%/compile.c \
	%reldir%/compile.h $(SECTION_SOURCES)
# Compiled graphs find the library's functions in the program.
tests_codegen_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
check_PROGRAMS += tests/codegen_zoo_test
tests_codegen_zoo_test_SOURCES = %reldir%/codegen_zoo_test.c \
	%reldir%/compile.c %reldir%/compile.h $(ZOO_SOURCES)
tests_codegen_zoo_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
SECTION_SOURCES = %reldir%/sections.c %reldir%/sections.h
tests_text_test_SOURCES = %reldir%/text_test.c $(SECTION_SOURCES)
tests_picture_test_SOURCES = %reldir%/picture_test.c $(SECTION_SOURCES)
tests_code_test_SOURCES = %reldir%/code_test.c $(SECTION_SOURCES)
tests_symbols_test_SOURCES = %reldir%/symbols_test.c $(ZOO_SOURCES)
tests_zoo_text_test_SOURCES = %reldir%/zoo_text_test.c $(ZOO_SOURCES)
check_PROGRAMS += $(CHECK_TESTS)
TESTS += $(CHECK_TESTS)

# GraphModules as children, graphs as arguments, the minimizer.
CONTROL_TESTS = tests/control_test tests/control_golden_test \
	tests/higher_order_test tests/scope_class_test tests/minimize_test
check_PROGRAMS += $(CONTROL_TESTS)
TESTS += $(CONTROL_TESTS)
endif

# Passes.
if HAVE_CHECK
PASS_TESTS = tests/pass_test tests/pass_manager_test tests/passes_test \
	tests/passes_rewrite_test tests/passes_meaning_test
check_PROGRAMS += $(PASS_TESTS)
TESTS += $(PASS_TESTS)
endif
EXTRA_DIST += %reldir%/pass_test.h %reldir%/behaviours %reldir%/said.sh
EXTRA_DIST += %reldir%/small_build.sh
check_PROGRAMS += tests/passes_zoo_test
tests_passes_zoo_test_SOURCES = %reldir%/passes_zoo_test.c %reldir%/zoo.c \
	%reldir%/zoo.h
SHELL_TESTS_OF_PASSES = %reldir%/passes_zoo.sh %reldir%/transform_test.sh
dist_check_SCRIPTS += $(SHELL_TESTS_OF_PASSES)
TESTS += $(SHELL_TESTS_OF_PASSES)

# Whole graphs: effects, copies, hooks, the tree below a GraphModule.
if HAVE_CHECK
GRAPH_TESTS = tests/graph_effects_test tests/graph_edit_test \
	tests/graph_module_test tests/graph_torch_test
check_PROGRAMS += $(GRAPH_TESTS)
TESTS += $(GRAPH_TESTS)
endif

# Operators, modules and models against what PyTorch computes.
CASE_SOURCES = %reldir%/case.c %reldir%/case_compare.c %reldir%/case.h
ZOO_SOURCES = %reldir%/zoo.c %reldir%/zoo.h
check_PROGRAMS += tests/opcases_test tests/opcases_memory_test \
	tests/registry_test tests/zoo_test tests/same_test
tests_opcases_test_SOURCES = %reldir%/opcases_test.c $(CASE_SOURCES)
tests_opcases_memory_test_SOURCES = %reldir%/opcases_memory_test.c \
	$(CASE_SOURCES)
tests_registry_test_SOURCES = %reldir%/registry_test.c $(CASE_SOURCES)
tests_zoo_test_SOURCES = %reldir%/zoo_test.c $(ZOO_SOURCES)
tests_same_test_SOURCES = %reldir%/same_test.c $(ZOO_SOURCES)
check_PROGRAMS += tests/opcases_effects_test
tests_opcases_effects_test_SOURCES = %reldir%/opcases_effects_test.c \
	$(CASE_SOURCES)
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
	%reldir%/install.sh
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
check-pytorch: cfx zoo/unpacked tests/graph_script tests/costs_zoo_test \
		tests/opcases_test
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
	costs) $$python $$oracle/costs.py zoo tests/costs_zoo_test $(MODELS);; \
	formats) for seed in $${SEEDS:-1}; do \
		$$python $$oracle/formats.py tests/opcases_test -s $$seed || \
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
if HAVE_CHECK
TRACE_TESTS = tests/tracer_test tests/tracer_module_test \
	tests/tracer_proxy_test tests/transformer_test
tests_transformer_test_SOURCES = %reldir%/transformer_test.c $(ZOO_SOURCES)
check_PROGRAMS += $(TRACE_TESTS)
TESTS += $(TRACE_TESTS)
endif
check_PROGRAMS += tests/traced_test
tests_traced_test_SOURCES = %reldir%/traced_test.c $(CASE_SOURCES)
dist_check_SCRIPTS += %reldir%/traced.sh
TESTS += %reldir%/traced.sh
# Patterns and rewriting.
if HAVE_CHECK
REWRITE_TESTS = tests/matcher_test tests/matcher_beyond_test \
	tests/rewriter_test tests/rewriter_beyond_test \
	tests/source_matcher_test
REWRITE_SOURCES = %reldir%/rewrite_graphs.c %reldir%/rewrite_test.h
tests_matcher_test_SOURCES = %reldir%/matcher_test.c %reldir%/matcher_test.h \
	$(REWRITE_SOURCES)
tests_matcher_beyond_test_SOURCES = %reldir%/matcher_beyond_test.c \
	%reldir%/matcher_test.h $(REWRITE_SOURCES)
tests_rewriter_test_SOURCES = %reldir%/rewriter_test.c %reldir%/rewriter_test.h \
	$(REWRITE_SOURCES)
tests_rewriter_beyond_test_SOURCES = %reldir%/rewriter_beyond_test.c \
	%reldir%/rewriter_test.h $(REWRITE_SOURCES)
tests_source_matcher_test_SOURCES = %reldir%/source_matcher_test.c \
	$(REWRITE_SOURCES)
check_PROGRAMS += $(REWRITE_TESTS)
TESTS += $(REWRITE_TESTS)
endif

# Random edits of graphs, as torch.fx does them.
check_PROGRAMS += tests/graph_script
dist_check_SCRIPTS += %reldir%/graph_script.sh
TESTS += %reldir%/graph_script.sh

# Fusion, splitting and partitioning.
if HAVE_CHECK
FUSION_TESTS = tests/split_test tests/partition_test tests/fusion_test
tests_fusion_test_SOURCES = %reldir%/fusion_test.c $(ZOO_SOURCES)
check_PROGRAMS += $(FUSION_TESTS)
TESTS += $(FUSION_TESTS)
endif
EXTRA_DIST += %reldir%/golden_text.h %reldir%/trace_test.h

# Shapes as types.
if HAVE_CHECK
check_PROGRAMS += tests/shape_types_test
TESTS += tests/shape_types_test
endif

# Shapes without numbers, cost, machine, memory, reports: a block each.
if HAVE_CHECK
SHAPE_TESTS =
# -- extents
SHAPE_TESTS += tests/dim_property_test tests/dim_limit_test

# -- shapes
SHAPE_TESTS += tests/shape_prop_test

# -- rules of shapes, operator by operator
check_PROGRAMS += tests/shape_walk_test
tests_shape_walk_test_SOURCES = %reldir%/shape_walk_test.c %reldir%/walk.c \
	%reldir%/walk.h %reldir%/mutant.c %reldir%/mutant_text.c \
	%reldir%/mutant.h $(CASE_SOURCES)
WALKS = %reldir%/shape_walk.sh %reldir%/shape_wild.sh
dist_check_SCRIPTS += $(WALKS)
TESTS += $(WALKS)

# -- cost
SHAPE_TESTS += tests/own_op_test tests/own_cost_test tests/cost_test \
	tests/roofline_test
tests_cost_test_SOURCES = %reldir%/cost_test.c %reldir%/cost_test.h
check_PROGRAMS += tests/costs_zoo_test
tests_costs_zoo_test_SOURCES = %reldir%/costs_zoo_test.c $(ZOO_SOURCES)
check_PROGRAMS += tests/cost_rules_test
tests_cost_rules_test_SOURCES = %reldir%/cost_rules_test.c $(CASE_SOURCES) \
	$(ZOO_SOURCES)
dist_check_SCRIPTS += %reldir%/costs_zoo.sh %reldir%/cost_rules.sh
TESTS += %reldir%/costs_zoo.sh %reldir%/cost_rules.sh

# -- machine
SHAPE_TESTS += tests/machine_test tests/machine_cached_test \
	tests/machine_doubt_test
dist_check_SCRIPTS += %reldir%/machine.sh
TESTS += %reldir%/machine.sh

# -- memory
check_PROGRAMS += tests/memory_zoo_test
tests_memory_zoo_test_SOURCES = %reldir%/memory_zoo_test.c \
	%reldir%/memory_check.h $(ZOO_SOURCES)
dist_check_SCRIPTS += %reldir%/memory_zoo.sh %reldir%/memory.sh \
	%reldir%/undecided.sh
TESTS += %reldir%/memory_zoo.sh %reldir%/memory.sh %reldir%/undecided.sh
SHAPE_TESTS += tests/memory_plan_test tests/memory_place_test \
	tests/memory_run_test
tests_memory_plan_test_SOURCES = %reldir%/memory_plan_test.c \
	%reldir%/memory_check.h %reldir%/memory_test.h
tests_memory_run_test_SOURCES = %reldir%/memory_run_test.c \
	%reldir%/memory_check.h %reldir%/memory_test.h

# -- reports
SHAPE_TESTS += tests/report_test
REPORT_SOURCES = %reldir%/report_document.c %reldir%/report_document.h
tests_report_test_SOURCES = %reldir%/report_test.c $(REPORT_SOURCES) \
	$(SECTION_SOURCES)
check_PROGRAMS += $(SHAPE_TESTS)
TESTS += $(SHAPE_TESTS)
endif

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
costs: tests/cost_rules_test
	tests/cost_rules_test $(srcdir)/shapeprop/COSTS.md --write
