libcfx_all_la_SOURCES += \
	%reldir%/args.c \
	%reldir%/copy.c \
	%reldir%/graph.c \
	%reldir%/graph_impl.h \
	%reldir%/graph_module.c \
	%reldir%/lint.c \
	%reldir%/meta.c \
	%reldir%/names.c \
	%reldir%/names.h \
	%reldir%/node.c \
	%reldir%/order.c \
	%reldir%/store.c \
	%reldir%/store.h \
	%reldir%/uses.c
