# The operators, a folder a family.
libcore_la_SOURCES += %reldir%/all.c %reldir%/ops.def
libcore_la_SOURCES += %reldir%/attention/attention.c %reldir%/attention/flash.c \
	%reldir%/attention/multi_head.c %reldir%/attention/multi_head.h
libcore_la_SOURCES += %reldir%/blocked/blocked_ops.h %reldir%/blocked/blocked_conv.c \
	%reldir%/blocked/blocked_conv.h %reldir%/blocked/blocked_conv_depthwise.c \
	%reldir%/blocked/blocked_layout.c %reldir%/blocked/blocked_pool.c
libcore_la_SOURCES += %reldir%/blocked/blocked_post_ops.c \
	%reldir%/blocked/blocked_post_ops.h %reldir%/blocked/blocked_linear.c \
	%reldir%/blocked/blocked_packed_weight.c %reldir%/blocked/blocked_packed_weight.h \
	%reldir%/blocked/blocked_table.c \
	%reldir%/blocked/blocked_dynamic.c %reldir%/blocked/blocked_quantized.c \
	%reldir%/blocked/blocked_quantized.h %reldir%/blocked/blocked_quantized_elements.c \
	%reldir%/blocked/blocked_quantized_functions.c %reldir%/blocked/blocked_range.h \
	%reldir%/blocked/blocked_window.c %reldir%/blocked/blocked_window.h \
	%reldir%/blocked/blocked_winograd.c
libcore_la_SOURCES += %reldir%/control/autocast.c \
	%reldir%/control/control.c %reldir%/control/control.h \
	%reldir%/control/control_loop.c
libcore_la_SOURCES += %reldir%/conv/conv.c %reldir%/conv/core_aten.c \
	%reldir%/conv/fold.c
libcore_la_SOURCES += %reldir%/create/convert.c %reldir%/create/create.c \
	%reldir%/create/create.h %reldir%/create/distribution.c \
	%reldir%/create/item.c \
	%reldir%/create/range.c %reldir%/create/sample.c \
	%reldir%/create/window_functions.c
libcore_la_SOURCES += %reldir%/distributed/collective.c
libcore_la_SOURCES += %reldir%/fft/fft.c %reldir%/fft/spectrum.c \
	%reldir%/fft/stft.c
libcore_la_SOURCES += %reldir%/image/affine_grid.c \
	%reldir%/image/grid_sample.c \
	%reldir%/image/interpolate.c %reldir%/image/pad.c \
	%reldir%/image/regions.c %reldir%/image/deform_conv.c \
	%reldir%/image/torchvision.c %reldir%/image/torchvision.h %reldir%/image/torchvision_mvit.c
libcore_la_SOURCES += %reldir%/index/compiler.c \
	%reldir%/index/embedding.c %reldir%/index/gather.c \
	%reldir%/index/getitem.c %reldir%/index/indexing.c \
	%reldir%/index/indexing.h %reldir%/index/mask.c \
	%reldir%/index/scatter.c %reldir%/index/triangle.c \
	%reldir%/index/unique.c %reldir%/index/unravel_index.c \
	%reldir%/index/write.c
libcore_la_SOURCES += %reldir%/linalg/diff.c %reldir%/linalg/distance.c \
	%reldir%/linalg/gradient.c \
	%reldir%/linalg/einsum.c %reldir%/linalg/linear.c \
	%reldir%/linalg/matmul.c %reldir%/linalg/matrix_norm.c \
	%reldir%/linalg/grouped_mm.c %reldir%/linalg/matrix_power.c \
	%reldir%/linalg/trapezoid.c \
	%reldir%/linalg/products.c %reldir%/linalg/similarity.c \
	%reldir%/linalg/matrices.c %reldir%/linalg/matrices.h \
	%reldir%/linalg/factor.c %reldir%/linalg/triangular.c \
	%reldir%/linalg/solve.c %reldir%/linalg/det.c \
	%reldir%/linalg/qr.c %reldir%/linalg/eigen.c \
	%reldir%/linalg/eig.c \
	%reldir%/linalg/svd.c %reldir%/linalg/lowrank.c \
	%reldir%/linalg/check_errors.c \
	%reldir%/linalg/lstsq.c %reldir%/linalg/lu.c \
	%reldir%/linalg/pinv.c %reldir%/linalg/tensor_solve.c \
	%reldir%/linalg/matrix_exp.c
libcore_la_SOURCES += %reldir%/loss/class_loss.c %reldir%/loss/ctc_loss.c \
	%reldir%/loss/loss.c %reldir%/loss/loss.h \
	%reldir%/loss/margin_loss.c
libcore_la_SOURCES += %reldir%/norm/batch_norm.c \
	%reldir%/norm/instance_norm.c %reldir%/norm/layer_norm.c \
	%reldir%/norm/local_response_norm.c %reldir%/norm/softmax.c \
	%reldir%/norm/weight_norm.c
libcore_la_SOURCES += %reldir%/pointwise/activation.c \
	%reldir%/pointwise/arithmetic.c %reldir%/pointwise/binary.c \
	%reldir%/pointwise/complex.c \
	%reldir%/pointwise/dropout.c %reldir%/pointwise/elementary.c \
	%reldir%/pointwise/fused.c %reldir%/pointwise/fused.h \
	%reldir%/pointwise/gate.c %reldir%/pointwise/reflected.c \
	%reldir%/pointwise/rrelu.c %reldir%/pointwise/shrink.c \
	%reldir%/pointwise/special.c %reldir%/pointwise/unary.c
libcore_la_SOURCES += %reldir%/pool/fractional_pool.c \
	%reldir%/pool/lp_pool.c %reldir%/pool/pool.c \
	%reldir%/pool/unpool.c \
	%reldir%/pool/pool_windows.c %reldir%/pool/pool_windows.h
libcore_la_SOURCES += %reldir%/python/asserts.c %reldir%/python/attr.c \
	%reldir%/python/python_number.c %reldir%/python/number_unary.c \
	%reldir%/python/numpy.c \
	%reldir%/python/seq.c
libcore_la_SOURCES += %reldir%/quantize/fake_quantize.c %reldir%/quantize/observed.c \
	%reldir%/quantize/quantize_histogram.c \
	%reldir%/quantize/qparams.c %reldir%/quantize/quantize.c \
	%reldir%/quantize/quantize_ops.h
libcore_la_SOURCES += %reldir%/recurrent/rnn.c %reldir%/recurrent/rnn_cell.c
libcore_la_SOURCES += %reldir%/reduce/reduce_compare.c \
	%reldir%/reduce/extreme.c %reldir%/reduce/hash.c \
	%reldir%/reduce/empty.h \
	%reldir%/reduce/histogram.c \
	%reldir%/reduce/moments.c %reldir%/reduce/reduce_order.c \
	%reldir%/reduce/reduce.c %reldir%/reduce/search.c \
	%reldir%/reduce/segment.c %reldir%/reduce/statistics.c \
	%reldir%/reduce/sum_to_size.c
libcore_la_SOURCES += %reldir%/shape/axes.c %reldir%/shape/combine.c \
	%reldir%/shape/complex_view.c \
	%reldir%/shape/expand.c %reldir%/shape/fftshift.c %reldir%/shape/join.c %reldir%/shape/move.c \
	%reldir%/shape/pad_sequence.c \
	%reldir%/shape/permute.c %reldir%/shape/repeat.c \
	%reldir%/shape/shape.c %reldir%/shape/split.c %reldir%/shape/view.c \
	%reldir%/shape/view.h %reldir%/shape/view_copy.c %reldir%/shape/vmap.c
libcore_la_SOURCES += %reldir%/strings/full_match.c %reldir%/strings/string_normalize.c \
	%reldir%/strings/string_numbers.c \
	%reldir%/strings/split_text.c %reldir%/strings/strings.c \
	%reldir%/strings/strings.h

# The C functions of all operators, made from their schemas.
noinst_PROGRAMS += gen-ops
gen_ops_SOURCES = %reldir%/gen_ops.c %reldir%/c_names.h
gen_ops_LDADD = libcore.la
nodist_cfxinclude_HEADERS += lib/cfx/ops.h
BUILT_SOURCES += lib/cfx/ops.h
CLEANFILES += lib/cfx/ops.h lib/ops/ops.c
nodist_libcfx_all_la_SOURCES = lib/ops/ops.c

# They are written anew only if they differ, so that an edit of an operator that
# leaves its schema alone compiles its own file and no other.
CLEANFILES += lib/ops/ops.stamp
lib/cfx/ops.h lib/ops/ops.c: lib/ops/ops.stamp
	@test -e $@ || { rm -f $< && $(MAKE) $(AM_MAKEFLAGS) $<; }
lib/ops/ops.stamp: gen-ops$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) lib/cfx lib/ops && \
		for made in header:lib/cfx/ops.h source:lib/ops/ops.c; do \
			$(CFX_EMULATOR) ./gen-ops$(EXEEXT) $${made%:*} > $@.tmp && \
			{ cmp -s $@.tmp $${made#*:} || mv $@.tmp $${made#*:}; } || \
			exit 1; \
		done; rm -f $@.tmp; touch $@
