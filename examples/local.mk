noinst_PROGRAMS += digits run-example count-flops swap swap-by-pattern \
	conv-bn-fusion

digits_SOURCES = %reldir%/digits.c
digits_LDADD = libcfx.la
run_example_SOURCES = %reldir%/run.c
run_example_LDADD = libcfx.la
count_flops_SOURCES = %reldir%/count_flops.c
count_flops_LDADD = libcfx.la
swap_SOURCES = %reldir%/swap.c
swap_LDADD = libcfx.la
swap_by_pattern_SOURCES = %reldir%/swap_by_pattern.c
swap_by_pattern_LDADD = libcfx.la
conv_bn_fusion_SOURCES = %reldir%/conv_bn_fusion.c
conv_bn_fusion_LDADD = libcfx.la

noinst_PROGRAMS += swap-by-edit swap-by-transformer decompose-relu own-module
swap_by_edit_SOURCES = %reldir%/swap_by_edit.c
swap_by_edit_LDADD = libcfx.la
swap_by_transformer_SOURCES = %reldir%/swap_by_transformer.c
swap_by_transformer_LDADD = libcfx.la
decompose_relu_SOURCES = %reldir%/decompose_relu.c
decompose_relu_LDADD = libcfx.la
own_module_SOURCES = %reldir%/own_module.c
own_module_LDADD = libcfx.la

noinst_PROGRAMS += own-cost
own_cost_SOURCES = %reldir%/own_cost.c
own_cost_LDADD = libcfx.la

noinst_PROGRAMS += shapes-example
shapes_example_SOURCES = %reldir%/shapes.c
shapes_example_LDADD = libcfx.la

EXTRA_DIST += %reldir%/twice.c %reldir%/scale.c
