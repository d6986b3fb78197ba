libcore_la_SOURCES += \
	%reldir%/atomic.h \
	%reldir%/blas.c \
	%reldir%/buf.c \
	%reldir%/context.c \
	%reldir%/context.h \
	%reldir%/cpu.c \
	%reldir%/dim.c \
	%reldir%/dim_text.c \
	%reldir%/env.c \
	%reldir%/env.h \
	%reldir%/error.c \
	%reldir%/expr.c \
	%reldir%/expr.h \
	%reldir%/heap.c \
	%reldir%/heap.h \
	%reldir%/number.c \
	%reldir%/pool.c \
	%reldir%/pool.h \
	%reldir%/prove.c \
	%reldir%/spans.c \
	%reldir%/spans.h \
	%reldir%/util.c \
	%reldir%/util.h
