# What is known of a graph without running it, and what a run is held against.

# Shapes.
dist_cfxinclude_HEADERS += %reldir%/cfx/shape_prop.h
libcfx_all_la_SOURCES += %reldir%/shape_prop.c %reldir%/shape_scope.c \
	%reldir%/node_path.c %reldir%/json_value.c %reldir%/json_value.h \
	%reldir%/symbols.c %reldir%/symbols.h %reldir%/shape_match.c \
	%reldir%/shape_rows.c %reldir%/shape_rows.h %reldir%/shape_table.c \
	%reldir%/shape_json.c

# Cost.

# The machine.

# Memory.

# Reports.
