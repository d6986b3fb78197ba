libcfx_all_la_SOURCES += %reldir%/module.c %reldir%/module_impl.h \
	%reldir%/call.c %reldir%/undecided.c %reldir%/registry.c \
	%reldir%/all.c %reldir%/modules.def

# One file a module type, or a family of them.
libcfx_all_la_SOURCES += %reldir%/attention.c %reldir%/dropout.c \
	%reldir%/normalization.c %reldir%/activation.c %reldir%/batchnorm.c \
	%reldir%/norm_state.c %reldir%/norm_state.h \
	%reldir%/conv.c %reldir%/reference.c %reldir%/reference.h \
	%reldir%/quantized.c \
	%reldir%/linear.c %reldir%/pooling.c %reldir%/shape.c

# More module types.
libcfx_all_la_SOURCES += %reldir%/containers.c \
	%reldir%/embedding.c %reldir%/fold.c \
	%reldir%/instancenorm.c %reldir%/similarity.c %reldir%/transformer.c \
	%reldir%/padding.c %reldir%/pixels.c %reldir%/recurrent.c %reldir%/cells.c \
	%reldir%/softmax.c %reldir%/loss.c %reldir%/parametrize.c \
	%reldir%/observer.c %reldir%/observer.h %reldir%/observer_qparams.c \
	%reldir%/observer_search.c
