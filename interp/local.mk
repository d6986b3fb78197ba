dist_cfxinclude_HEADERS += %reldir%/cfx/interp.h %reldir%/cfx/trace.h \
	%reldir%/cfx/check_finite.h %reldir%/cfx/tracer.h \
	%reldir%/cfx/transformer.h

libcfx_all_la_SOURCES += %reldir%/interp.c %reldir%/interp_impl.h \
	%reldir%/prepare.c %reldir%/trace.c %reldir%/check_finite.c \
	%reldir%/tracer.c %reldir%/tracer_impl.h %reldir%/symbolic.c \
	%reldir%/wrap.c %reldir%/transformer.c
