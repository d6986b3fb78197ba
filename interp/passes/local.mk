# Passes, one or a family a file, listed in passes.def.

libcfx_all_la_SOURCES += %reldir%/passes.def \
	%reldir%/legalize.c
