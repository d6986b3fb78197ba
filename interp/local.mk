dist_cfxinclude_HEADERS += %reldir%/cfx/interp.h %reldir%/cfx/trace.h \
	%reldir%/cfx/check_finite.h %reldir%/cfx/tracer.h \
	%reldir%/cfx/transformer.h

libcfx_all_la_SOURCES += %reldir%/interp.c %reldir%/interp_impl.h \
	%reldir%/prepare.c %reldir%/nested.c %reldir%/trace.c \
	%reldir%/check_finite.c

# Two runs side by side, and the part where they differ.
dist_cfxinclude_HEADERS += %reldir%/cfx/compare.h %reldir%/cfx/minimize.h
libcfx_all_la_SOURCES += %reldir%/compare.c %reldir%/compare_value.c \
	%reldir%/minimize.c %reldir%/minimize_part.c %reldir%/minimize_impl.h

# Splitting and partitioning.
dist_cfxinclude_HEADERS += %reldir%/cfx/split.h
libcfx_all_la_SOURCES += %reldir%/carve.c %reldir%/carve.h \
	%reldir%/split.c %reldir%/split_impl.h %reldir%/split_parent.c \
	%reldir%/split_plan.c %reldir%/split_stages.c %reldir%/split_tags.c

# Passes, and what applies them.
dist_cfxinclude_HEADERS += %reldir%/cfx/pass.h
libcfx_all_la_SOURCES += %reldir%/pass.c %reldir%/pass_text.c

include $(srcdir)/%reldir%/passes/local.mk

# Patterns and rewriting.
dist_cfxinclude_HEADERS += %reldir%/cfx/matcher.h
libcfx_all_la_SOURCES += %reldir%/matcher_impl.h %reldir%/matcher.c \
	%reldir%/matcher_search.c %reldir%/matcher_call.c \
	%reldir%/matcher_check.c
