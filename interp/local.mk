dist_cfxinclude_HEADERS += %reldir%/cfx/interp.h %reldir%/cfx/trace.h \
	%reldir%/cfx/check_finite.h

libcfx_all_la_SOURCES += %reldir%/interp.c %reldir%/interp_impl.h \
	%reldir%/prepare.c %reldir%/trace.c %reldir%/check_finite.c

# Passes, and what applies them.
dist_cfxinclude_HEADERS += %reldir%/cfx/pass.h
libcfx_all_la_SOURCES += %reldir%/pass.c %reldir%/pass_text.c

include $(srcdir)/%reldir%/passes/local.mk
