libcore_la_SOURCES += %reldir%/op_impl.h %reldir%/all.c %reldir%/ops.def \
	%reldir%/schema.c %reldir%/bind.c %reldir%/registry.c \
	%reldir%/call.c %reldir%/device.c %reldir%/scope.c %reldir%/scope_impl.h \
	%reldir%/spell.c %reldir%/out.c %reldir%/overload.c \
	%reldir%/overload.h \
	%reldir%/cost.c %reldir%/cost.h \
	%reldir%/infer.c %reldir%/infer.h %reldir%/loop.c %reldir%/loop.h \
	%reldir%/rules.c %reldir%/rules.h

# One file an operator, or a family of them.
libcore_la_SOURCES += %reldir%/activation.c %reldir%/batch_norm.c \
	%reldir%/binary.c %reldir%/conv.c %reldir%/linear.c %reldir%/pool.c \
	%reldir%/arithmetic.c %reldir%/attention.c %reldir%/extreme.c \
	%reldir%/matmul.c %reldir%/reduce.c %reldir%/layer_norm.c %reldir%/softmax.c \
	%reldir%/shape.c %reldir%/unary.c

# Composites, and what moves or mixes pixels.
libcore_la_SOURCES += %reldir%/composite.c %reldir%/composite.h \
	%reldir%/fold.c %reldir%/gate.c %reldir%/instance_norm.c \
	%reldir%/grid_sample.c %reldir%/local_response_norm.c \
	%reldir%/interpolate.c %reldir%/similarity.c %reldir%/pad.c %reldir%/rnn.c \
	%reldir%/shrink.c

# Sums of products, distances, and what is made of the others.
libcore_la_SOURCES += %reldir%/combine.c %reldir%/distance.c \
	%reldir%/einsum.c %reldir%/exported.c %reldir%/lp_pool.c \
	%reldir%/multi_head.c %reldir%/multi_head.h %reldir%/products.c \
	%reldir%/rnn_cell.c %reldir%/weight_norm.c

# Composites of few operators.
libcore_la_SOURCES += %reldir%/elementary.c %reldir%/moments.c \
	%reldir%/view_copy.c

# Claims, differences, norms of matrices.
libcore_la_SOURCES += %reldir%/asserts.c %reldir%/diff.c \
	%reldir%/matrix_norm.c %reldir%/svdvals.c %reldir%/torchvision.c \
	%reldir%/torchvision_mvit.c

# Losses.
libcore_la_SOURCES += %reldir%/loss.c %reldir%/loss.h \
	%reldir%/margin_loss.c %reldir%/class_loss.c %reldir%/ctc_loss.c

# Python's numbers and sequences; views, indexing, joining, creating.
libcore_la_SOURCES += %reldir%/attr.c %reldir%/axes.c %reldir%/convert.c \
	%reldir%/create.c %reldir%/create.h %reldir%/dropout.c \
	%reldir%/effects.c %reldir%/embedding.c %reldir%/expand.c %reldir%/gather.c \
	%reldir%/getitem.c %reldir%/indexing.c %reldir%/indexing.h \
	%reldir%/item.c %reldir%/join.c %reldir%/list.c %reldir%/list.h \
	%reldir%/mask.c %reldir%/move.c %reldir%/number.c \
	%reldir%/number_unary.c %reldir%/permute.c %reldir%/repeat.c \
	%reldir%/sample.c %reldir%/scatter.c %reldir%/search.c \
	%reldir%/seq.c %reldir%/split.c %reldir%/triangle.c \
	%reldir%/view.c %reldir%/view.h %reldir%/write.c

# Operators whose arguments are graphs.
libcore_la_SOURCES += %reldir%/control.c %reldir%/control.h \
	%reldir%/control_loop.c

# The C functions of all operators, made from their schemas.
noinst_PROGRAMS += gen-ops
gen_ops_SOURCES = %reldir%/gen_ops.c %reldir%/c_names.h
gen_ops_LDADD = libcore.la
nodist_cfxinclude_HEADERS += lib/cfx/ops.h
BUILT_SOURCES += lib/cfx/ops.h
CLEANFILES += lib/cfx/ops.h lib/op/ops.c
nodist_libcfx_all_la_SOURCES = lib/op/ops.c

lib/cfx/ops.h: gen-ops$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) lib/cfx && $(CFX_EMULATOR) ./gen-ops$(EXEEXT) \
		header > $@.tmp && mv $@.tmp $@

lib/op/ops.c: gen-ops$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) lib/op && $(CFX_EMULATOR) ./gen-ops$(EXEEXT) \
		source > $@.tmp && mv $@.tmp $@
