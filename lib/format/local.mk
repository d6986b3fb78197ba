libcfx_all_la_SOURCES += \
	%reldir%/io.c \
	%reldir%/io.h \
	%reldir%/lexer.c \
	%reldir%/lexer.h \
	%reldir%/load.c \
	%reldir%/npy.c \
	%reldir%/npz.c \
	%reldir%/print.h \
	%reldir%/print_code.c \
	%reldir%/print_graph.c \
	%reldir%/print_readable.c \
	%reldir%/print_tabular.c \
	%reldir%/print_value.c \
	%reldir%/random.c \
	%reldir%/read_graph.c \
	%reldir%/read_loose.c \
	%reldir%/read_value.c \
	%reldir%/reader.c \
	%reldir%/reader.h \
	%reldir%/safetensors.c \
	%reldir%/sharded.c \
	%reldir%/sink.c \
	%reldir%/unicode.c \
	%reldir%/unicode.h
