# Programs that use the library; `make examples` builds only them.
EXAMPLES = digits run-example count-flops swap swap-by-pattern \
	conv-bn-fusion swap-by-edit swap-by-transformer decompose-relu \
	own-module own-pass own-cost shapes-example embed generate
noinst_PROGRAMS += $(EXAMPLES)
.PHONY: examples
examples: $(EXAMPLES)

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

swap_by_edit_SOURCES = %reldir%/swap_by_edit.c
swap_by_edit_LDADD = libcfx.la
swap_by_transformer_SOURCES = %reldir%/swap_by_transformer.c
swap_by_transformer_LDADD = libcfx.la
decompose_relu_SOURCES = %reldir%/decompose_relu.c
decompose_relu_LDADD = libcfx.la
own_module_SOURCES = %reldir%/own_module.c
own_module_LDADD = libcfx.la

own_pass_SOURCES = %reldir%/own_pass.c
own_pass_LDADD = libcfx.la

own_cost_SOURCES = %reldir%/own_cost.c
own_cost_LDADD = libcfx.la

generate_SOURCES = %reldir%/generate.c
generate_LDADD = libcfx.la

shapes_example_SOURCES = %reldir%/shapes.c
shapes_example_LDADD = libcfx.la

# The bytes of a model as C arrays, for a program that opens no file.
embed_SOURCES = %reldir%/embed.c
nodist_embed_SOURCES = %reldir%/digits_model.h
embed_CPPFLAGS = $(AM_CPPFLAGS) -I$(builddir)/%reldir%
embed_LDADD = libcfx.la
BUILT_SOURCES += %reldir%/digits_model.h
CLEANFILES += %reldir%/digits_model.h
$(swap_by_pattern_OBJECTS) $(conv_bn_fusion_OBJECTS) \
	$(decompose_relu_OBJECTS) $(own_module_OBJECTS) $(own_pass_OBJECTS) \
	$(embed_OBJECTS) $(generate_OBJECTS): | $(BUILT_SOURCES)

%reldir%/digits_model.h: models/digits.fx models/digits.safetensors
	$(AM_V_GEN)$(MKDIR_P) %reldir% && { \
		for array in 'model_text fx' 'model_weights safetensors'; do \
			echo "static const _Alignas(64) unsigned char" \
				"$${array% *}[] = {"; \
			od -An -v -tx1 $(srcdir)/models/digits.$${array#* } | \
				sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'; \
			echo '};'; \
		done; } > $@.tmp && mv $@.tmp $@

# Their texts are installed beside the documents.
examplesdir = $(docdir)/examples
dist_examples_DATA = %reldir%/digits.c %reldir%/run.c %reldir%/count_flops.c \
	%reldir%/swap.c %reldir%/swap_by_pattern.c %reldir%/swap_by_edit.c \
	%reldir%/swap_by_transformer.c %reldir%/conv_bn_fusion.c \
	%reldir%/decompose_relu.c %reldir%/own_module.c %reldir%/own_pass.c %reldir%/own_cost.c \
	%reldir%/shapes.c %reldir%/generate.c %reldir%/embed.c %reldir%/twice.c %reldir%/scale.c
