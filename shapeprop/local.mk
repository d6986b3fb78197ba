# What is known of a graph without running it, and what a run is held against.

# Shapes.

# Cost.

# The machine. Descriptions of others are found where they are installed.
dist_cfxinclude_HEADERS += %reldir%/cfx/machine.h
noinst_LTLIBRARIES += libmachine.la
libmachine_la_SOURCES = %reldir%/machine.c %reldir%/machine_impl.h \
	%reldir%/machine_json.c %reldir%/machine_find.c \
	%reldir%/machine_detect.c %reldir%/machine_measure.c \
	%reldir%/machine_cached.c %reldir%/machine_loops.h
libmachine_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DCFX_MACHINES_DIR='"$(machinesdir)"'
libcfx_all_la_LIBADD += libmachine.la

machinesdir = $(pkgdatadir)/machines
dist_machines_DATA = %reldir%/machines/epyc-9654.json \
	%reldir%/machines/nvidia-a100.json \
	%reldir%/machines/raspberry-pi-5.json

# The loops that are timed, for each level of instructions.
MACHINE_CFLAGS = $(AM_CFLAGS) -fno-math-errno -fno-trapping-math \
	-ffp-contract=fast
noinst_LTLIBRARIES += libmachine_plain.la
libmachine_plain_la_SOURCES = %reldir%/machine_level.c
libmachine_plain_la_CPPFLAGS = $(AM_CPPFLAGS) -DCFX_LEVEL=plain
libmachine_plain_la_CFLAGS = $(MACHINE_CFLAGS)
libcfx_all_la_LIBADD += libmachine_plain.la
if CFX_X86_64
noinst_LTLIBRARIES += libmachine_avx2.la libmachine_avx512.la
libmachine_avx2_la_SOURCES = %reldir%/machine_level.c
libmachine_avx2_la_CPPFLAGS = $(AM_CPPFLAGS) -DCFX_LEVEL=avx2
libmachine_avx2_la_CFLAGS = $(MACHINE_CFLAGS) -mavx2 -mfma
libmachine_avx512_la_SOURCES = %reldir%/machine_level.c
libmachine_avx512_la_CPPFLAGS = $(AM_CPPFLAGS) -DCFX_LEVEL=avx512
libmachine_avx512_la_CFLAGS = $(MACHINE_CFLAGS) -mavx512f -mavx512bw \
	-mavx512dq -mavx512vl -mfma -mprefer-vector-width=512
libcfx_all_la_LIBADD += libmachine_avx2.la libmachine_avx512.la
endif
if CFX_AARCH64
noinst_LTLIBRARIES += libmachine_neon.la
libmachine_neon_la_SOURCES = %reldir%/machine_level.c
libmachine_neon_la_CPPFLAGS = $(AM_CPPFLAGS) -DCFX_LEVEL=neon
libmachine_neon_la_CFLAGS = $(MACHINE_CFLAGS)
libcfx_all_la_LIBADD += libmachine_neon.la
endif

# Memory.

# Reports.
