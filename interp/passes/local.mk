# Passes, one or a family a file, listed in passes.def.

libcfx_all_la_SOURCES += %reldir%/passes.def \
	%reldir%/legalize.c

# Fusion.
libcfx_all_la_SOURCES += %reldir%/affine.c %reldir%/affine.h \
	%reldir%/fuse_bn.c %reldir%/remove_noops.c \
	%reldir%/merge_linears.c %reldir%/merge_matmul.c \
	%reldir%/fuse_bias.c %reldir%/div_to_mul.c %reldir%/split.c
