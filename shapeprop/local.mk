# What is known of a graph without running it, and what a run is held against.

# Shapes.

# Cost.

# The machine.

# Memory.

# Reports.
