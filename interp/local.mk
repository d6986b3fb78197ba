dist_cfxinclude_HEADERS += %reldir%/cfx/interp.h %reldir%/cfx/trace.h \
	%reldir%/cfx/check_finite.h

libcfx_all_la_SOURCES += %reldir%/interp.c %reldir%/interp_impl.h \
	%reldir%/prepare.c %reldir%/trace.c %reldir%/check_finite.c

# Patterns and rewriting.
dist_cfxinclude_HEADERS += %reldir%/cfx/matcher.h
libcfx_all_la_SOURCES += %reldir%/matcher_impl.h %reldir%/matcher.c \
	%reldir%/matcher_search.c %reldir%/matcher_call.c \
	%reldir%/matcher_check.c
