# Passes, one or a family a file, listed in passes.def.

dist_cfxinclude_HEADERS += interp/cfx/fold_constants.h \
	interp/cfx/decompose.h
libcfx_all_la_SOURCES += %reldir%/passes.def \
	%reldir%/clone_value.c \
	%reldir%/functionalize.c \
	%reldir%/dead_code_pass.c %reldir%/common_subexpressions.c \
	%reldir%/constant_folding.c %reldir%/constants.c \
	%reldir%/constants.h %reldir%/normalize.c \
	%reldir%/legalize.c \
	%reldir%/annotate_getitem.c \
	%reldir%/annotate_returns.c %reldir%/replace_targets.c \
	%reldir%/inline_modules.c \
	%reldir%/inline_subgraphs.c %reldir%/inline_numbers.c \
	%reldir%/decompose.c %reldir%/decompositions.c \
	%reldir%/recompose.c \
	%reldir%/canonicalize.c %reldir%/reinplace.c

# Passes that use the operators of lib/ops/blocked.
libcfx_all_la_SOURCES += %reldir%/lower/lowering.c %reldir%/lower/lowering.h \
	%reldir%/lower/post_ops.c %reldir%/lower/post_ops.h \
	%reldir%/lower/pack_winograd.c %reldir%/lower/pack_winograd.h \
	%reldir%/lower/narrow_weights.c \
	%reldir%/lower/fuse_depthwise.c \
	%reldir%/lower/narrow_activations.c \
	%reldir%/lower/lower_quantized.c %reldir%/lower/lower_quantized.h \
	%reldir%/lower/unsigned_activations.c \
	%reldir%/lower/quantized_product.c %reldir%/lower/lower_quantized_elements.c \
	%reldir%/lower/lower_quantized_functions.c %reldir%/lower/quantized_attention.c \
	%reldir%/lower/frozen.c %reldir%/lower/frozen.h \
	%reldir%/lower/pack_weight.c %reldir%/lower/pack_weight.h \
	%reldir%/lower/pack_linear.c %reldir%/lower/pack_quantized.c \
	%reldir%/lower/pack_recurrent.c \
	%reldir%/lower/fuse_pointwise.c \
	%reldir%/lower/image_rows.c \
	%reldir%/lower/block_channels.c %reldir%/lower/block_channels.h \
	%reldir%/lower/block_cat.c %reldir%/lower/block_conv.c \
	%reldir%/lower/block_norm.c %reldir%/lower/block_part.c \
	%reldir%/lower/block_pointwise.c \
	%reldir%/lower/block_pool.c

# Fusion.
libcfx_all_la_SOURCES += %reldir%/fuse_attention.c
libcfx_all_la_SOURCES += %reldir%/group_heads.c
libcfx_all_la_SOURCES += %reldir%/fuse_bn.c %reldir%/remove_noops.c \
	%reldir%/merge_linears.c %reldir%/merge_matmul.c \
	%reldir%/fuse_bias.c %reldir%/fuse_gelu.c \
	%reldir%/fuse_layer_norm.c %reldir%/div_to_mul.c \
	%reldir%/inplace_cat.c %reldir%/split_pass.c
