# Test programs; the last line of each counts what passed.

# LDADD below is for all of them.
AM_CPPFLAGS += $(CHECK_CFLAGS)
LDADD = libcfx_all.la $(CHECK_LIBS)

# The longest tests begin first, so that no job is left waiting for them.
if HAVE_CHECK
TESTS += tests/unit_ops
endif
dist_check_SCRIPTS += %reldir%/cli/memory_zoo.sh
TESTS += %reldir%/cli/memory_zoo.sh

if HAVE_CHECK
# Suites register themselves (unit.h): a line here is all that a new one needs.
UNIT_SOURCES = %reldir%/unit/unit.c %reldir%/unit/unit.h
UNIT_TESTS = tests/unit_base tests/unit_graph \
	tests/unit_format tests/unit_interp tests/unit_rewrite \
	tests/unit_shape tests/unit_zoo

tests_unit_base_SOURCES = $(UNIT_SOURCES) \
	%reldir%/unit/base/base_test.c %reldir%/unit/base/pool_test.c %reldir%/unit/base/dim_test.c \
	%reldir%/unit/base/dim_property_test.c %reldir%/unit/base/dim_limit_test.c \
	%reldir%/unit/base/dtype_test.c %reldir%/unit/base/tensor_test.c %reldir%/unit/base/copy_test.c \
	%reldir%/unit/base/value_test.c
tests_unit_ops_SOURCES = $(UNIT_SOURCES) \
	%reldir%/unit/ops/kernel_gemm_test.c %reldir%/unit/ops/kernel_conv_test.c \
	%reldir%/unit/ops/linalg_test.c %reldir%/unit/ops/vmap_test.c \
	%reldir%/unit/ops/kernel_pool_test.c %reldir%/unit/ops/kernel_pointwise_test.c \
	%reldir%/unit/ops/kernel_reduce_test.c %reldir%/unit/ops/kernel_norm_test.c \
	%reldir%/unit/ops/kernel_blocked_test.c %reldir%/unit/ops/kernel_quantized_test.c \
	%reldir%/unit/ops/kernel_index_test.c %reldir%/unit/ops/kernel_resample_test.c \
	%reldir%/unit/ops/kernel_attention_test.c %reldir%/unit/ops/op_shape_test.c \
	%reldir%/unit/ops/collective_test.c %reldir%/unit/ops/device_test.c %reldir%/unit/ops/edits_test.c \
	%reldir%/unit/ops/full_match_test.c \
	%reldir%/unit/ops/nn_test.c %reldir%/unit/ops/stop_test.c
tests_unit_graph_SOURCES = $(UNIT_SOURCES) \
	%reldir%/unit/graph/graph_test.c %reldir%/unit/graph/graph_whole_test.c \
	%reldir%/unit/graph/graph_fuzz_test.c %reldir%/unit/graph/graph_effects_test.c \
	%reldir%/unit/graph/graph_edit_test.c %reldir%/unit/graph/graph_module_test.c \
	%reldir%/unit/graph/graph_torch_test.c %reldir%/unit/graph/names_test.c
tests_unit_format_SOURCES = $(UNIT_SOURCES) $(SECTION_SOURCES) \
	%reldir%/unit/format/report_document.c %reldir%/unit/format/report_document.h \
	%reldir%/unit/format/text_test.c %reldir%/unit/format/file_test.c %reldir%/unit/format/load_test.c \
	%reldir%/unit/format/npz_test.c %reldir%/unit/format/pt2_test.c %reldir%/unit/format/code_test.c \
	%reldir%/unit/format/picture_test.c %reldir%/unit/format/folder_test.c \
	%reldir%/unit/format/report_test.c %reldir%/unit/format/python_test.c
tests_unit_interp_SOURCES = $(UNIT_SOURCES) $(ZOO_SOURCES) \
	%reldir%/unit/interp/interp_test.c %reldir%/unit/interp/interp_nested_test.c \
	%reldir%/unit/interp/call_test.c \
	%reldir%/unit/interp/control_test.c %reldir%/unit/interp/control_golden_test.c \
	%reldir%/unit/interp/higher_order_test.c %reldir%/unit/interp/scope_class_test.c \
	%reldir%/unit/interp/minimize_test.c %reldir%/unit/interp/tracer_test.c \
	%reldir%/unit/interp/tracer_module_test.c %reldir%/unit/interp/tracer_proxy_test.c \
	%reldir%/unit/interp/transformer_test.c %reldir%/unit/interp/memory_test.c \
	%reldir%/unit/interp/peak_test.c %reldir%/unit/interp/input_check_test.c
tests_unit_rewrite_SOURCES = $(UNIT_SOURCES) $(ZOO_SOURCES) \
	%reldir%/unit/rewrite/rewrite_graphs.c %reldir%/unit/rewrite/rewrite_test.h \
	%reldir%/unit/rewrite/matcher_test.c %reldir%/unit/rewrite/matcher_beyond_test.c \
	%reldir%/unit/rewrite/matcher_test.h %reldir%/unit/rewrite/rewriter_test.c \
	%reldir%/unit/rewrite/rewriter_beyond_test.c %reldir%/unit/rewrite/rewriter_test.h \
	%reldir%/unit/rewrite/source_matcher_test.c %reldir%/unit/rewrite/pass_test.c \
	%reldir%/unit/rewrite/pass_manager_test.c %reldir%/unit/rewrite/passes_test.c \
	%reldir%/unit/rewrite/passes_rewrite_test.c %reldir%/unit/rewrite/passes_meaning_test.c \
	%reldir%/unit/rewrite/split_test.c %reldir%/unit/rewrite/partition_test.c \
	%reldir%/unit/rewrite/fusion_test.c %reldir%/unit/rewrite/optimize_test.c \
	%reldir%/unit/rewrite/quantize_test.c %reldir%/unit/rewrite/quantize_writes_test.c
tests_unit_shape_SOURCES = $(UNIT_SOURCES) \
	%reldir%/unit/shape/shape_prop_test.c %reldir%/unit/shape/shape_prop_test.h \
	%reldir%/unit/shape/shape_text_test.c %reldir%/unit/shape/shape_types_test.c \
	%reldir%/unit/shape/own_op_test.c \
	%reldir%/unit/shape/own_cost_test.c %reldir%/unit/shape/cost_test.c %reldir%/unit/shape/cost_test.h \
	%reldir%/unit/shape/roofline_test.c %reldir%/unit/shape/machine_test.c \
	%reldir%/unit/shape/machine_cached_test.c %reldir%/unit/shape/machine_doubt_test.c \
	%reldir%/unit/shape/optimized_walk_test.c %reldir%/unit/shape/memory_plan_test.c \
	%reldir%/unit/shape/memory_place_test.c \
	%reldir%/unit/shape/memory_run_test.c %reldir%/unit/shape/memory_check.h \
	%reldir%/unit/shape/memory_test.h
tests_unit_zoo_SOURCES = $(UNIT_SOURCES) $(ZOO_SOURCES) \
	%reldir%/zoo/symbols_test.c %reldir%/zoo/zoo_text_test.c

# Compiled graphs find the library's functions in the program; the other has a
# pthread_create of its own.
UNIT_TESTS += tests/codegen_test tests/threads_test
tests_codegen_test_SOURCES = $(UNIT_SOURCES) $(SECTION_SOURCES) \
	%reldir%/unit/codegen_test.c %reldir%/unit/compile.c %reldir%/unit/compile.h
tests_codegen_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
tests_threads_test_SOURCES = $(UNIT_SOURCES) %reldir%/unit/threads_test.c

check_PROGRAMS += tests/unit_ops $(UNIT_TESTS)
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
SECTION_SOURCES = %reldir%/unit/sections.c %reldir%/unit/sections.h
check_PROGRAMS += tests/codegen_zoo_test
tests_codegen_zoo_test_SOURCES = %reldir%/zoo/codegen_zoo_test.c \
	%reldir%/unit/compile.c %reldir%/unit/compile.h $(ZOO_SOURCES)
tests_codegen_zoo_test_LDFLAGS = $(AM_LDFLAGS) -export-dynamic

# Passes.
EXTRA_DIST += %reldir%/unit/rewrite/pass_test.h %reldir%/behaviours %reldir%/cli/said.sh
EXTRA_DIST += %reldir%/cli/small_build.sh %reldir%/headers
EXTRA_DIST += %reldir%/cases/onnx.tar.xz %reldir%/cases/onnx.failures
SHELL_TESTS_OF_PASSES = %reldir%/cli/passes_zoo.sh %reldir%/cli/transform_test.sh \
	%reldir%/cli/pass_cases.sh
dist_check_SCRIPTS += $(SHELL_TESTS_OF_PASSES)
TESTS += $(SHELL_TESTS_OF_PASSES)

# Operators, modules and models against what PyTorch computes. A file more of
# either kind is one more line: it registers itself (program.h).
PROGRAM_SOURCES = %reldir%/cases/program.c %reldir%/cases/program.h
CASE_SOURCES = %reldir%/cases/case.c %reldir%/cases/case_compare.c %reldir%/cases/case.h
ZOO_SOURCES = %reldir%/zoo/zoo.c %reldir%/zoo/zoo.h
check_PROGRAMS += tests/case_tests tests/zoo_tests
tests_case_tests_SOURCES = $(PROGRAM_SOURCES) $(CASE_SOURCES) \
	%reldir%/cases/opcases_test.c %reldir%/cases/opcases_memory_test.c \
	%reldir%/cases/opcases_effects_test.c %reldir%/cases/registry_test.c \
	%reldir%/cases/tested_test.c %reldir%/cases/aten_names_test.c \
	%reldir%/cases/observers_test.c \
	%reldir%/cases/traced_test.c %reldir%/cases/cost_rules_test.c $(ZOO_SOURCES) \
	%reldir%/cases/expect.c %reldir%/cases/expect.h \
	%reldir%/cases/pass_cases_test.c %reldir%/cases/shape_cases_test.c \
	%reldir%/cases/shape_walk_test.c %reldir%/cases/walk.c %reldir%/cases/walk.h \
	%reldir%/cases/walk_run.c %reldir%/cases/walk_run.h \
	%reldir%/cases/walk_compare.c %reldir%/cases/walk_graph.c \
	%reldir%/cases/mutant.c %reldir%/cases/mutant_text.c %reldir%/cases/mutant.h \
	%reldir%/cases/random_models_test.c %reldir%/cases/random_model.c %reldir%/cases/random_model.h \
	%reldir%/cases/random_cnn.c %reldir%/cases/random_transformer.c
if HAVE_ONNX
tests_case_tests_SOURCES += %reldir%/cases/onnx_test.c
endif
tests_zoo_tests_SOURCES = $(PROGRAM_SOURCES) $(ZOO_SOURCES) \
	%reldir%/zoo/zoo_test.c %reldir%/zoo/same_test.c %reldir%/zoo/costs_zoo_test.c \
	%reldir%/zoo/memory_zoo_test.c %reldir%/unit/shape/memory_check.h \
	%reldir%/zoo/passes_zoo_test.c
dist_check_SCRIPTS += %reldir%/cli/opcases_effects.sh
TESTS += %reldir%/cli/opcases_effects.sh
SHELL_TESTS = %reldir%/cli/observers.sh %reldir%/cli/quantize.sh \
	%reldir%/cli/quantize_fx.sh \
	%reldir%/cli/opcases.sh %reldir%/cli/opcases_memory.sh \
	%reldir%/cli/registry.sh %reldir%/cli/aten_names.sh %reldir%/cli/zoo.sh %reldir%/cli/same.sh \
	%reldir%/cli/levels.sh %reldir%/cli/caches.sh %reldir%/cli/headers.sh \
	%reldir%/cli/header_examples.sh %reldir%/cli/bad_inputs.sh \
	%reldir%/cli/demo.sh %reldir%/cli/examples.sh %reldir%/cli/cli_test.sh \
	%reldir%/cli/stop.sh %reldir%/cli/foreign.sh %reldir%/cli/inputs.sh \
	%reldir%/cli/readme.sh %reldir%/cli/picture.sh \
	%reldir%/cli/blocked_zoo.sh %reldir%/cli/packed_zoo.sh %reldir%/cli/optimize.sh \
	%reldir%/cli/optimize_zoo.sh %reldir%/cli/expect.sh %reldir%/cli/shards.sh \
	%reldir%/cli/codegen_zoo.sh %reldir%/cli/codegen.sh %reldir%/cli/diff.sh \
	%reldir%/cli/folder.sh %reldir%/cli/manual.sh %reldir%/cli/behaviours.sh \
	%reldir%/cli/install.sh %reldir%/cli/limits.sh %reldir%/cli/literals.sh %reldir%/cli/patches.sh %reldir%/cli/docs.sh \
	%reldir%/cli/html.sh \
	%reldir%/cli/arrows.sh %reldir%/cli/symbols.sh %reldir%/cli/onnx.sh %reldir%/cli/onnx_quantized.sh %reldir%/cli/info.sh %reldir%/cli/pt2.sh %reldir%/cli/decoding.sh %reldir%/cli/convert.sh \
	%reldir%/cli/opens.sh
dist_check_SCRIPTS += $(SHELL_TESTS)
TESTS += $(SHELL_TESTS)

# Programs of another processor run in an emulator, which may not fork well.
LOG_COMPILER = $(CFX_EMULATOR)
AM_TESTS_ENVIRONMENT = srcdir='$(srcdir)'; export srcdir; \
	builddir='$(builddir)'; export builddir; \
	CFX_ZOO='$(builddir)/zoo'; export CFX_ZOO; \
	CFX='$(builddir)/cfx'; export CFX; \
	CFX_MACHINES=`cd '$(srcdir)' && pwd`/shapeprop/machines; \
	export CFX_MACHINES; \
	CFX_CACHES=$${CFX_CACHES:-32K,1M,32M}; export CFX_CACHES; \
	CC='$(CC)'; export CC; PYTHON='$(PYTHON)'; export PYTHON; \
	CFX_LDFLAGS='$(SANITIZE_FLAGS)'; export CFX_LDFLAGS; \
	CFX_EMULATOR='$(CFX_EMULATOR)'; export CFX_EMULATOR; \
	CK_FORK=$${CFX_EMULATOR:+no}; export CK_FORK; \
	CK_TIMEOUT_MULTIPLIER=20; export CK_TIMEOUT_MULTIPLIER;

# The Python package.
dist_check_SCRIPTS += %reldir%/python/python.sh
TESTS += %reldir%/python/python.sh
EXTRA_DIST += %reldir%/python/test_model.py %reldir%/python/test_torch.py \
	%reldir%/python/test_docs.py %reldir%/python/test_capture.py \
	%reldir%/python/test_compile.py %reldir%/python/test_interpreter.py \
	%reldir%/python/test_torch_call.py %reldir%/python/test_transformer.py \
	%reldir%/python/test_traps.py

# The zoo, unpacked once.
check_DATA = zoo/unpacked
zoo/unpacked: %reldir%/golden/zoo.tar.xz
	$(AM_V_GEN)xz -dc $(srcdir)/%reldir%/golden/zoo.tar.xz | tar xf - && \
		touch $@
clean-local:
	rm -rf zoo random_graphs-*.script

EXTRA_DIST += %reldir%/unit/interp/control_test.h %reldir%/unit/counted.h \
	%reldir%/unit/interp/interp_test.h %reldir%/unit/shape/machine_test.h %reldir%/unit/model_test.h \
	%reldir%/unit/failing_alloc.h \
	%reldir%/unit/graph_test.h %reldir%/unit/base/tensor_test.h \
	%reldir%/unit/format/file_test.h %reldir%/unit/ops/kernel_data.h %reldir%/README.md \
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
#   folders  the folders that cfx convert makes of the zoo, and what torch.fx's
#            to_folder writes
#   graphs   random edits of random graphs
#   costs    multiply-adds of the zoo
#   formats  the strides of operators that choose a memory format
#   halves   pointwise operators in 16-bit floats
#   modules  every module type of torch.nn, saved and run
#   numbers  tensors where numbers are asked for
#   symbols  the shapes of tests/cases/shapes, with symbols and with numbers
#   networks networks with weights of PyPI, which NETWORKS, a folder, holds
#   opinfo   Core ATen, and PyTorch's own samples of its operators; OPINFO gives
#            options
#   quantize what torch.ao quantizes, and results of quantized models
#   exports  what torch.export makes of ordinary models; EXPORTS names some
#   pt2      files of torch.export.save, of strict and decomposed exports, too;
#            EXPORTS likewise
#   pt2_write  what cfx convert writes for torch.export.load; EXPORTS likewise
#   decoders what examples/generate.c makes of decoders of transformers
CHECK_PYTORCH = models shapes folders graphs costs formats halves modules \
	numbers symbols exports pt2 pt2_write counts devices opinfo quantize \
	decoders
.PHONY: check-pytorch
check-pytorch: cfx generate zoo/unpacked tests/graph_script tests/zoo_tests \
		tests/case_tests
	@status=0; python=$${PYTHON:-python3}; \
	oracle=$(srcdir)/%reldir%/oracle; \
	for part in $${PARTS:-$(CHECK_PYTORCH)}; do \
	case $$part in \
	models) $$python $$oracle/whole.py ./cfx zoo $(MODELS);; \
	shapes) $$python $$oracle/shapes.py ./cfx zoo $(MODELS);; \
	folders) $$python $$oracle/folder.py ./cfx zoo $(MODELS) && \
		$$python $$oracle/to_folder.py ./cfx;; \
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
	symbols) $$python $$oracle/shape_cases.py \
		$(srcdir)/%reldir%/cases/shapes/*.test;; \
	exports) $$python $$oracle/exports.py ./cfx $(EXPORTS);; \
	pt2) $$python $$oracle/pt2.py ./cfx $(EXPORTS);; \
	pt2_write) $$python $$oracle/pt2_write.py ./cfx $(EXPORTS);; \
	decoders) $$python $$oracle/decoders.py .;; \
	counts) folder=$$(mktemp -d) && $$python $$oracle/counts.py $$folder && \
		diff $(srcdir)/%reldir%/golden/counts/counts.txt \
			$$folder/counts.txt; ended=$$?; rm -rf "$$folder"; \
		test $$ended = 0;; \
	devices) $$python $$oracle/devices.py | \
		diff $(srcdir)/%reldir%/golden/devices.tsv -;; \
	networks) $$python $$oracle/onnx_networks.py ./cfx $(NETWORKS);; \
	opinfo) $$python $$oracle/core_aten.py ./cfx && \
		$$python $$oracle/opinfo.py ./cfx $(OPINFO);; \
	quantize) $$python $$oracle/quantize.py --cfx ./cfx --zoo zoo && \
		$$python $$oracle/quantize_weights.py --check && \
		$$python $$oracle/gptq.py ./cfx && \
		$$python $$oracle/quantized_tensors.py ./cfx && \
		$$python $$oracle/onnx_quantized.py --write ./cfx;; \
	*) echo "no part $$part"; false;; \
	esac || status=1; done; exit $$status

# Tracing.
dist_check_SCRIPTS += %reldir%/cli/traced.sh
TESTS += %reldir%/cli/traced.sh
# Random edits of graphs, as torch.fx does them.
check_PROGRAMS += tests/graph_script
tests_graph_script_SOURCES = %reldir%/cases/graph_script.c
dist_check_SCRIPTS += %reldir%/cli/graph_script.sh
TESTS += %reldir%/cli/graph_script.sh

# What tests share.
EXTRA_DIST += %reldir%/unit/golden_text.h %reldir%/unit/interp/trace_test.h

# Shapes without numbers: every operator on arguments by chance, costs, what
# machines can do, memory.
SHAPE_TESTS = %reldir%/cli/shape_cases.sh %reldir%/cli/shape_walk.sh %reldir%/cli/shape_wild.sh %reldir%/cli/random_models.sh \
	%reldir%/cli/shape_kinds.sh \
	%reldir%/cli/costs_zoo.sh %reldir%/cli/cost_rules.sh %reldir%/cli/tested.sh %reldir%/cli/machine.sh \
	%reldir%/cli/memory.sh %reldir%/cli/undecided.sh
dist_check_SCRIPTS += $(SHAPE_TESTS)
TESTS += $(SHAPE_TESTS)

# cfx roofline.
dist_check_SCRIPTS += %reldir%/cli/roofline.sh %reldir%/cli/counts.sh \
	%reldir%/cli/against.sh
TESTS += %reldir%/cli/roofline.sh %reldir%/cli/counts.sh %reldir%/cli/against.sh

# Reports in a browser.
check_PROGRAMS += tests/report_page
tests_report_page_SOURCES = %reldir%/unit/report_page.c \
	%reldir%/unit/format/report_document.c %reldir%/unit/format/report_document.h
dist_check_SCRIPTS += %reldir%/cli/report_browser.sh
TESTS += %reldir%/cli/report_browser.sh
EXTRA_DIST += %reldir%/cli/browser.py %reldir%/cli/report_browser.py \
	%reldir%/cli/report_documents.py

# cfx shapes.
dist_check_SCRIPTS += %reldir%/cli/shapes.sh %reldir%/cli/unknown_numbers.sh
TESTS += %reldir%/cli/shapes.sh %reldir%/cli/unknown_numbers.sh

# Words on the terminal.
dist_check_SCRIPTS += %reldir%/cli/completion.sh %reldir%/cli/progress.sh \
	%reldir%/cli/words.sh
TESTS += %reldir%/cli/completion.sh %reldir%/cli/progress.sh %reldir%/cli/words.sh

# The table of costs, anew from the rules.
.PHONY: costs
costs: tests/case_tests
	tests/case_tests cost_rules $(srcdir)/shapeprop/COSTS.md --write

# The types in which operators are tested, anew from the cases.
.PHONY: tested
tested: tests/case_tests
	tests/case_tests tested $(srcdir)/tests/golden/tested.def --write \
		$(srcdir)/tests/golden/*.golden

# Does a new operator, module type, pass, command, format or dtype touch few
# files? Each is a patch, applied to a copy of the tree, built and used there.
.PHONY: check-patches
EXTRA_DIST += %reldir%/patches
check-patches:
	$(srcdir)/%reldir%/patches/check.sh '$(srcdir)' CC='$(CC)'

# Do the tests notice small changes of the code? MUTANTS names some of them.
.PHONY: mutants
EXTRA_DIST += %reldir%/mutants/run.sh %reldir%/mutants/list
mutants:
	CC='$(CC)' $(srcdir)/%reldir%/mutants/run.sh $(MUTANTS)

# Not in `make check`: it needs MPI, and takes a minute (.ci/mpi).
dist_check_SCRIPTS += %reldir%/mpi/ranks.sh
