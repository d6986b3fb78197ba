libcore_la_SOURCES += \
	%reldir%/atomic.h \
	%reldir%/blas.c \
	%reldir%/buf.c \
	%reldir%/caches.c \
	%reldir%/caches.h \
	%reldir%/class.c \
	%reldir%/class.h \
	%reldir%/comm.c \
	%reldir%/comm_combine.c \
	%reldir%/comm_impl.h \
	%reldir%/comm_threads.c \
	%reldir%/context.c \
	%reldir%/context_impl.h \
	%reldir%/convert.h \
	%reldir%/cpu.c \
	%reldir%/dtype.c \
	%reldir%/error.c \
	%reldir%/fork.c \
	%reldir%/fork.h \
	%reldir%/heap.c \
	%reldir%/heap.h \
	%reldir%/mutex.h \
	%reldir%/nearest.c \
	%reldir%/number.c \
	%reldir%/thread_pool.h \
	%reldir%/spans.c \
	%reldir%/spans.h \
	%reldir%/stop.c \
	%reldir%/stop.h \
	%reldir%/unicode.c \
	%reldir%/unicode.h \
	%reldir%/util.c \
	%reldir%/util.h \
	%reldir%/version.c

# cfx_parallel_for, on threads or without.
if CFX_THREADS
libcore_la_SOURCES += %reldir%/thread_pool.c
else
libcore_la_SOURCES += %reldir%/pool_serial.c
endif
