libcore_la_SOURCES += %reldir%/cases.c %reldir%/dim.c %reldir%/dim_parse.c \
	%reldir%/dim_text.c %reldir%/dim_text.h %reldir%/env.c %reldir%/env.h %reldir%/expr.c \
	%reldir%/expr.h %reldir%/extremum.c %reldir%/guard.c \
	%reldir%/prove.c %reldir%/subst.c
