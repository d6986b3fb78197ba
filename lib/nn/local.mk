libcfx_all_la_SOURCES += %reldir%/module.c %reldir%/module_impl.h \
	%reldir%/nn_call.c %reldir%/nn_undecided.c %reldir%/nn_registry.c \
	%reldir%/nn_all.c %reldir%/modules.def

# One file a module type, or a family of them.
libcfx_all_la_SOURCES += %reldir%/nn_attention.c %reldir%/nn_dropout.c \
	%reldir%/nn_normalization.c %reldir%/nn_activation.c %reldir%/nn_batchnorm.c \
	%reldir%/nn_norm_state.c %reldir%/nn_norm_state.h \
	%reldir%/nn_conv.c %reldir%/nn_reference.c %reldir%/nn_reference.h \
	%reldir%/nn_quantized.c \
	%reldir%/nn_linear.c %reldir%/nn_pooling.c %reldir%/nn_shape.c

# More module types.
libcfx_all_la_SOURCES += %reldir%/nn_containers.c \
	%reldir%/nn_embedding.c %reldir%/nn_fold.c \
	%reldir%/nn_instancenorm.c %reldir%/nn_similarity.c %reldir%/nn_transformer.c \
	%reldir%/nn_padding.c %reldir%/nn_pixels.c %reldir%/nn_recurrent.c %reldir%/nn_cells.c \
	%reldir%/nn_softmax.c %reldir%/nn_loss.c %reldir%/nn_parametrize.c \
	%reldir%/nn_observer.c %reldir%/nn_observer.h %reldir%/nn_observer_qparams.c \
	%reldir%/nn_observer_search.c %reldir%/nn_observer_clip.c
