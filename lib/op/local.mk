libcore_la_SOURCES += %reldir%/op_impl.h %reldir%/../ops/all.c %reldir%/../ops/ops.def \
	%reldir%/schema.c %reldir%/bind.c %reldir%/registry.c \
	%reldir%/call.c %reldir%/device.c %reldir%/scope.c %reldir%/scope_impl.h \
	%reldir%/spell.c %reldir%/out.c %reldir%/overload.c \
	%reldir%/overload.h \
	%reldir%/cost.c %reldir%/cost.h \
	%reldir%/infer.c %reldir%/infer.h %reldir%/loop.c %reldir%/loop.h \
	%reldir%/rules.c %reldir%/rules.h

# One file an operator, or a family of them.
libcore_la_SOURCES += %reldir%/../ops/pointwise/activation.c %reldir%/../ops/norm/batch_norm.c \
	%reldir%/../ops/pointwise/binary.c %reldir%/../ops/conv/conv.c %reldir%/../ops/linalg/linear.c %reldir%/../ops/pool/pool.c \
	%reldir%/../ops/pointwise/arithmetic.c %reldir%/../ops/attention/attention.c %reldir%/../ops/reduce/extreme.c \
	%reldir%/../ops/linalg/matmul.c %reldir%/../ops/reduce/reduce.c %reldir%/../ops/norm/layer_norm.c %reldir%/../ops/norm/softmax.c \
	%reldir%/../ops/shape/shape.c %reldir%/../ops/pointwise/unary.c

# Composites, and what moves or mixes pixels.
libcore_la_SOURCES += %reldir%/composite.c %reldir%/composite.h \
	%reldir%/../ops/conv/fold.c %reldir%/../ops/pointwise/gate.c %reldir%/../ops/norm/instance_norm.c \
	%reldir%/../ops/image/grid_sample.c %reldir%/../ops/norm/local_response_norm.c \
	%reldir%/../ops/image/interpolate.c %reldir%/../ops/linalg/similarity.c %reldir%/../ops/image/pad.c %reldir%/../ops/recurrent/rnn.c \
	%reldir%/../ops/pointwise/shrink.c

# Sums of products, distances, and what is made of the others.
libcore_la_SOURCES += %reldir%/../ops/shape/combine.c %reldir%/../ops/linalg/distance.c \
	%reldir%/../ops/linalg/einsum.c %reldir%/../ops/conv/exported.c %reldir%/../ops/pool/lp_pool.c \
	%reldir%/../ops/attention/multi_head.c %reldir%/../ops/attention/multi_head.h %reldir%/../ops/linalg/products.c \
	%reldir%/../ops/recurrent/rnn_cell.c %reldir%/../ops/norm/weight_norm.c

# Composites of few operators.
libcore_la_SOURCES += %reldir%/../ops/pointwise/elementary.c %reldir%/../ops/reduce/moments.c \
	%reldir%/../ops/shape/view_copy.c

# Claims, differences, norms of matrices.
libcore_la_SOURCES += %reldir%/../ops/python/asserts.c %reldir%/../ops/linalg/diff.c \
	%reldir%/../ops/linalg/matrix_norm.c %reldir%/../ops/linalg/svdvals.c %reldir%/../ops/image/torchvision.c \
	%reldir%/../ops/image/torchvision_mvit.c

# Losses.
libcore_la_SOURCES += %reldir%/../ops/loss/loss.c %reldir%/../ops/loss/loss.h \
	%reldir%/../ops/loss/margin_loss.c %reldir%/../ops/loss/class_loss.c %reldir%/../ops/loss/ctc_loss.c

# Python's numbers and sequences; views, indexing, joining, creating.
libcore_la_SOURCES += %reldir%/../ops/python/attr.c %reldir%/../ops/shape/axes.c %reldir%/../ops/create/convert.c \
	%reldir%/../ops/create/create.c %reldir%/../ops/create/create.h %reldir%/../ops/pointwise/dropout.c \
	%reldir%/effects.c %reldir%/../ops/index/embedding.c %reldir%/../ops/shape/expand.c %reldir%/../ops/index/gather.c \
	%reldir%/../ops/index/getitem.c %reldir%/../ops/index/indexing.c %reldir%/../ops/index/indexing.h \
	%reldir%/../ops/create/item.c %reldir%/../ops/shape/join.c %reldir%/list.c %reldir%/list.h \
	%reldir%/../ops/index/mask.c %reldir%/../ops/shape/move.c %reldir%/../ops/python/number.c \
	%reldir%/../ops/python/number_unary.c %reldir%/../ops/shape/permute.c %reldir%/../ops/shape/repeat.c \
	%reldir%/../ops/create/sample.c %reldir%/../ops/index/scatter.c %reldir%/../ops/reduce/search.c \
	%reldir%/../ops/python/seq.c %reldir%/../ops/shape/split.c %reldir%/../ops/index/triangle.c \
	%reldir%/../ops/shape/view.c %reldir%/../ops/shape/view.h %reldir%/../ops/index/write.c

# Operators whose arguments are graphs.
libcore_la_SOURCES += %reldir%/../ops/control/control.c %reldir%/../ops/control/control.h \
	%reldir%/../ops/control/control_loop.c

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
