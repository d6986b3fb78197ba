# What is known of a graph without running it, and what a run is held against.

# Shapes.

# Cost.

# The machine.

# Memory.
dist_cfxinclude_HEADERS += %reldir%/cfx/memory_plan.h
libcfx_all_la_SOURCES += %reldir%/memory_impl.h %reldir%/memory_plan.c \
	%reldir%/memory_walk.c %reldir%/memory_place.c \
	%reldir%/memory_sweep.c %reldir%/memory_run.c

# Reports.
