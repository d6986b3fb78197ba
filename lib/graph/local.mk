libcfx_all_la_SOURCES += \
	%reldir%/aliases.c \
	%reldir%/aliases.h \
	%reldir%/args.c \
	%reldir%/construct.c \
	%reldir%/graph_copy.c \
	%reldir%/dead_code.c \
	%reldir%/decide.c \
	%reldir%/decide.h \
	%reldir%/effects.c \
	%reldir%/effects_seen.c \
	%reldir%/effects_seen.h \
	%reldir%/find.c \
	%reldir%/graph.c \
	%reldir%/graph_impl.h \
	%reldir%/graph_module.c \
	%reldir%/hooks.c \
	%reldir%/lint.c \
	%reldir%/meta.c \
	%reldir%/module_effects.c \
	%reldir%/module_effects.h \
	%reldir%/names.c \
	%reldir%/names.h \
	%reldir%/node.c \
	%reldir%/node_map.c \
	%reldir%/normalized.c \
	%reldir%/opcode.c %reldir%/graph_operators.c %reldir%/graph_operators.h %reldir%/order.c \
	%reldir%/provenance.c %reldir%/provenance.h \
	%reldir%/same.c \
	%reldir%/store.c \
	%reldir%/store.h \
	%reldir%/submodules.c \
	%reldir%/target.c \
	%reldir%/uses.c
