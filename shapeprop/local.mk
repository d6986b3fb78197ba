# What is known of a graph without running it, and what a run is held against.

# Shapes.

# Cost.

# The machine.

# Memory.
dist_cfxinclude_HEADERS += %reldir%/cfx/memory_plan.h

# Reports.
