# What is known of a graph without running it, and what a run is held against.

# Shapes.

# Cost.
dist_cfxinclude_HEADERS += %reldir%/cfx/cost.h
libcfx_all_la_SOURCES += %reldir%/cost.c %reldir%/cost_groups.c \
	%reldir%/cost_impl.h %reldir%/cost_weights.c

# The machine.

# Memory.

# Reports.
