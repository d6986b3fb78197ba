dist_cfxinclude_HEADERS += %reldir%/cfx/interp.h %reldir%/cfx/trace.h \
	%reldir%/cfx/check_finite.h

libcfx_all_la_SOURCES += %reldir%/interp.c %reldir%/interp_impl.h \
	%reldir%/run.c %reldir%/prepare.c %reldir%/nested.c %reldir%/scopes.c \
	%reldir%/trace.c \
	%reldir%/check_finite.c

# Tracing, and rewriting by interpreting.
dist_cfxinclude_HEADERS += %reldir%/cfx/tracer.h %reldir%/cfx/transformer.h
libcfx_all_la_SOURCES += %reldir%/tracer.c %reldir%/tracer_impl.h \
	%reldir%/tracer_known.c %reldir%/tracer_node.c \
	%reldir%/symbolic.c %reldir%/transformer.c %reldir%/wrap.c

# Two runs side by side, and the part where they differ.
dist_cfxinclude_HEADERS += %reldir%/cfx/compare.h %reldir%/cfx/minimize.h
libcfx_all_la_SOURCES += %reldir%/compare.c %reldir%/compare_value.c \
	%reldir%/minimize.c %reldir%/minimize_part.c %reldir%/minimize_impl.h

# Splitting and partitioning.
dist_cfxinclude_HEADERS += %reldir%/cfx/split.h %reldir%/cfx/partition.h
libcfx_all_la_SOURCES += %reldir%/carve.c %reldir%/carve.h \
	%reldir%/split.c %reldir%/split_impl.h %reldir%/split_parent.c \
	%reldir%/split_plan.c %reldir%/split_stages.c %reldir%/split_tags.c \
	%reldir%/contract.c %reldir%/contract.h %reldir%/partition.c \
	%reldir%/fuser.c %reldir%/support.c %reldir%/accelerate.c \
	%reldir%/acc_group.h %reldir%/acc_group.c

# Passes, and what applies them.
dist_cfxinclude_HEADERS += %reldir%/cfx/pass.h %reldir%/cfx/pass_manager.h
libcfx_all_la_SOURCES += %reldir%/pass.c %reldir%/pass_impl.h %reldir%/pass_text.c \
	%reldir%/pass_manager.c %reldir%/observer.c

include $(srcdir)/%reldir%/passes/local.mk

# Patterns and rewriting.
dist_cfxinclude_HEADERS += %reldir%/cfx/matcher.h %reldir%/cfx/rewriter.h \
	%reldir%/cfx/pattern.h %reldir%/cfx/source_matcher.h
libcfx_all_la_SOURCES += %reldir%/matcher_impl.h %reldir%/matcher.c \
	%reldir%/matcher_search.c %reldir%/matcher_call.c \
	%reldir%/matcher_check.c %reldir%/rewriter_impl.h %reldir%/rewriter.c \
	%reldir%/rewriter_place.c %reldir%/rewriter_adopt.c \
	%reldir%/rewriter_writes.c %reldir%/pattern.c %reldir%/source_matcher.c

# C code of graphs, and what compiles it.
dist_cfxinclude_HEADERS += %reldir%/cfx/codegen.h
libcfx_all_la_SOURCES += %reldir%/codegen.c %reldir%/codegen.h \
	%reldir%/codegen_build.c %reldir%/codegen_call.c \
	%reldir%/codegen_value.c %reldir%/compiled.c %reldir%/recompile.c
