dist_cfxinclude_HEADERS += %reldir%/cfx/interp.h %reldir%/cfx/trace.h \
	%reldir%/cfx/check_finite.h %reldir%/cfx/input_check.h

libcfx_all_la_SOURCES += %reldir%/walk/interp.c %reldir%/walk/interp_impl.h \
	%reldir%/walk/run.c %reldir%/walk/prepare.c %reldir%/walk/nested.c %reldir%/walk/scopes.c \
	%reldir%/walk/trace.c %reldir%/walk/input_check.c \
	%reldir%/walk/check_finite.c

# Tracing, and rewriting by interpreting.
dist_cfxinclude_HEADERS += %reldir%/cfx/tracer.h %reldir%/cfx/transformer.h
libcfx_all_la_SOURCES += %reldir%/trace/tracer.c %reldir%/trace/tracer_impl.h \
	%reldir%/trace/tracer_known.c %reldir%/trace/tracer_node.c \
	%reldir%/trace/symbolic.c %reldir%/trace/transformer.c %reldir%/trace/wrap.c

# Two runs side by side, and the part where they differ.
dist_cfxinclude_HEADERS += %reldir%/cfx/compare.h %reldir%/cfx/minimize.h
libcfx_all_la_SOURCES += %reldir%/compare/compare.c %reldir%/compare/compare_value.c \
	%reldir%/compare/compare_rows.c %reldir%/compare/compare_rows.h \
	%reldir%/compare/minimize.c %reldir%/compare/minimize_part.c %reldir%/compare/minimize_impl.h

# Splitting and partitioning.
dist_cfxinclude_HEADERS += %reldir%/cfx/split.h %reldir%/cfx/partition.h
libcfx_all_la_SOURCES += %reldir%/split/extract.c %reldir%/split/extract.h \
	%reldir%/split/split_module.c %reldir%/split/split_impl.h %reldir%/split/split_parent.c \
	%reldir%/split/split_plan.c %reldir%/split/split_stages.c %reldir%/split/split_tags.c \
	%reldir%/split/contract.c %reldir%/split/contract.h %reldir%/split/split_order.c \
	%reldir%/split/split_order.h %reldir%/split/topological_sort.c \
	%reldir%/split/partition.c \
	%reldir%/split/fuser.c %reldir%/split/support.c %reldir%/split/accelerate.c \
	%reldir%/split/acc_group.h %reldir%/split/acc_group.c

# Passes, and what applies them.
dist_cfxinclude_HEADERS += %reldir%/cfx/pass.h %reldir%/cfx/pass_manager.h
libcfx_all_la_SOURCES += %reldir%/passes/pass.c %reldir%/passes/pass_impl.h %reldir%/passes/pass_text.c \
	%reldir%/passes/missed.c \
	%reldir%/passes/pass_manager.c %reldir%/passes/graph_observer.c

include $(srcdir)/%reldir%/passes/local.mk

# Quantization.
dist_cfxinclude_HEADERS += %reldir%/cfx/quantize.h
libcfx_all_la_SOURCES += %reldir%/quantize/config.c %reldir%/quantize/quantize_convert.c \
	%reldir%/quantize/quantize_lower.c %reldir%/quantize/measure.c \
	%reldir%/quantize/quantize_prepare.c %reldir%/quantize/quantizer.c \
	%reldir%/quantize/quantize_report.c %reldir%/quantize/sensitivity.c \
	%reldir%/quantize/patterns.c %reldir%/quantize/min_snr.c \
	%reldir%/quantize/gptq.c %reldir%/quantize/correct_bias.c \
	%reldir%/quantize/smooth.c \
	%reldir%/quantize/quantize_impl.h

# Patterns and rewriting.
dist_cfxinclude_HEADERS += %reldir%/cfx/matcher.h %reldir%/cfx/rewriter.h \
	%reldir%/cfx/pattern.h %reldir%/cfx/source_matcher.h
libcfx_all_la_SOURCES += %reldir%/match/matcher_impl.h %reldir%/match/matcher.c \
	%reldir%/match/matcher_search.c %reldir%/match/matcher_call.c \
	%reldir%/match/matcher_check.c %reldir%/match/rewriter_impl.h %reldir%/match/rewriter.c \
	%reldir%/match/rewriter_place.c %reldir%/match/rewriter_adopt.c \
	%reldir%/match/rewriter_build.c \
	%reldir%/match/rewriter_writes.c %reldir%/match/pattern.c %reldir%/match/source_matcher.c

# What passes are made of.
libcfx_all_la_SOURCES += %reldir%/rewrite/rewrite_rules.h %reldir%/rewrite/facts.h \
	%reldir%/rewrite/facts.c %reldir%/rewrite/rewrite_rules.c \
	%reldir%/rewrite/affine.c %reldir%/rewrite/affine.h \
	%reldir%/rewrite/pass_weights.c %reldir%/rewrite/binding.c %reldir%/rewrite/binding.h \
	%reldir%/rewrite/retrace.c %reldir%/rewrite/retrace.h

# C code of graphs, and what compiles it.
dist_cfxinclude_HEADERS += %reldir%/cfx/codegen.h
libcfx_all_la_SOURCES += %reldir%/codegen/codegen.c %reldir%/codegen/codegen_impl.h \
	%reldir%/codegen/codegen_build.c %reldir%/codegen/codegen_call.c \
	%reldir%/codegen/codegen_value.c %reldir%/codegen/compiled.c
