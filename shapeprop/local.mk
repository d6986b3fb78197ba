# What is known of a graph without running it, and what a run is held against.

# Shapes.

# Cost.

# The machine. Descriptions of others are found where they are installed.
dist_cfxinclude_HEADERS += %reldir%/cfx/machine.h
noinst_LTLIBRARIES += libmachine.la
libmachine_la_SOURCES = %reldir%/machine.c %reldir%/machine_impl.h \
	%reldir%/machine_json.c %reldir%/machine_find.c
libmachine_la_CPPFLAGS = $(AM_CPPFLAGS) \
	-DCFX_MACHINES_DIR='"$(pkgdatadir)/machines"'
libcfx_all_la_LIBADD += libmachine.la

# Memory.

# Reports.
