libcfx_all_la_SOURCES += \
	%reldir%/python/code_forms.c \
	%reldir%/python/code_forms.h \
	%reldir%/python/code_names.c \
	%reldir%/python/code_text.c \
	%reldir%/python/coder.h \
	%reldir%/text/diff.c \
	%reldir%/drawing/drawing.c \
	%reldir%/drawing/drawing.h \
	%reldir%/python/folder.c \
	%reldir%/formats.c \
	%reldir%/inputs.c \
	%reldir%/io.c \
	%reldir%/io.h \
	%reldir%/json.c \
	%reldir%/json.h \
	%reldir%/text/lexer.c \
	%reldir%/text/lexer.h \
	%reldir%/load.c \
	%reldir%/load_tensors.c \
	%reldir%/mapping.c \
	%reldir%/mapping.h \
	%reldir%/model_formats.c \
	%reldir%/model_formats.def \
	%reldir%/tensors/npy.c \
	%reldir%/tensors/npz.c \
	%reldir%/tensors/raw.c \
	%reldir%/pt2/pt2.c \
	%reldir%/pt2/write.c \
	%reldir%/pt2/write.h \
	%reldir%/pt2/write_argument.c \
	%reldir%/pt2/write_extent.c \
	%reldir%/pt2/write_graph.c \
	%reldir%/pt2/write_in_spec.c \
	%reldir%/pt2/write_json.c \
	%reldir%/pt2/write_pickle.c \
	%reldir%/pt2/write_state.c \
	%reldir%/print.h \
	%reldir%/python/print_code.c \
	%reldir%/drawing/print_dot.c \
	%reldir%/text/print_graph.c \
	%reldir%/text/print_model.c \
	%reldir%/text/print_modules.c \
	%reldir%/python/print_python.c \
	%reldir%/python/print_readable.c \
	%reldir%/text/print_tabular.c \
	%reldir%/text/print_value.c \
	%reldir%/random.c \
	%reldir%/python/read_code.c \
	%reldir%/python/read_init.c \
	%reldir%/python/read_operation.c \
	%reldir%/python/read_python.c \
	%reldir%/python/read_python.h \
	%reldir%/python/read_signature.c \
	%reldir%/text/quantized.c \
	%reldir%/text/quantized.h \
	%reldir%/text/raise_quantized.c \
	%reldir%/text/read_graph.c \
	%reldir%/text/read_loose.c \
	%reldir%/text/read_model.c \
	%reldir%/text/read_tree.c \
	%reldir%/text/read_value.c \
	%reldir%/text/reader.c \
	%reldir%/text/reader.h \
	%reldir%/text/repr.c \
	%reldir%/text/repr.h \
	%reldir%/tensors/safetensors.c \
	%reldir%/save_weights.c \
	%reldir%/text/shape_text.c \
	%reldir%/tensors/sharded.c \
	%reldir%/sink.c \
	%reldir%/tensors/tensor_formats.c \
	%reldir%/tensors/tensor_formats.def \
	%reldir%/text/text_file.c \
	%reldir%/zip_write.c \
	%reldir%/zip_write.h

# Zip archives, and the .pt2 and .npz in them, which need libzip to be read.
if HAVE_LIBZIP
libcfx_all_la_SOURCES += \
	%reldir%/pt2/archive.c \
	%reldir%/pt2/argument.c \
	%reldir%/pt2/declared.c \
	%reldir%/pt2/flat.c \
	%reldir%/pt2/graph.c \
	%reldir%/pt2/inputs.c \
	%reldir%/pt2/outputs.c \
	%reldir%/pt2/pickle.c \
	%reldir%/pt2/pickle.h \
	%reldir%/pt2/provenance.c \
	%reldir%/pt2/pt2.h \
	%reldir%/pt2/schema.c \
	%reldir%/pt2/signature.c \
	%reldir%/pt2/torch_file.c \
	%reldir%/pt2/torch_file.h \
	%reldir%/pt2/tree.c \
	%reldir%/pt2/weights.c \
	%reldir%/zip.c \
	%reldir%/zip.h \
	%reldir%/zip_place.c
endif

# ONNX, which needs protobuf-c. The compiler of messages writes beside the
# objects.
if HAVE_ONNX
libcfx_all_la_SOURCES += \
	%reldir%/onnx/image.c \
	%reldir%/onnx/loss.c \
	%reldir%/onnx/quantize.c \
	%reldir%/onnx/rnn.c %reldir%/onnx/rnn.h \
	%reldir%/onnx/attention.c \
	%reldir%/onnx/attr.c \
	%reldir%/onnx/captures.c \
	%reldir%/onnx/cast.c \
	%reldir%/onnx/control.c \
	%reldir%/onnx/conv.c \
	%reldir%/onnx/decode.c \
	%reldir%/onnx/file.c \
	%reldir%/onnx/index.c \
	%reldir%/onnx/ints.c \
	%reldir%/onnx/loop.c \
	%reldir%/onnx/lower.c \
	%reldir%/onnx/ml.c \
	%reldir%/onnx/norm.c \
	%reldir%/onnx/number_rules.c \
	%reldir%/onnx/numbers.c \
	%reldir%/onnx/numbers.h \
	%reldir%/onnx/onnx.h \
	%reldir%/onnx/pointwise.c \
	%reldir%/onnx/recorder.c \
	%reldir%/onnx/reduce.c \
	%reldir%/onnx/regions.c \
	%reldir%/onnx/rules.def \
	%reldir%/onnx/sequence.c \
	%reldir%/onnx/shape.c \
	%reldir%/onnx/signal.c \
	%reldir%/onnx/strings.c \
	%reldir%/onnx/uint64.c \
	%reldir%/onnx/tensor.c \
	%reldir%/onnx/unknown.c \
	%reldir%/onnx/values.c \
	%reldir%/onnx/writable.h \
	%reldir%/onnx/write.c \
	%reldir%/onnx/write_dim.c \
	%reldir%/onnx/write.h \
	%reldir%/onnx/write_file.c \
	%reldir%/onnx/write_groups.c %reldir%/onnx/write_image.c \
	%reldir%/onnx/write_index.c \
	%reldir%/onnx/write_layers.c \
	%reldir%/onnx/write_pointwise.c \
	%reldir%/onnx/write_put.c \
	%reldir%/onnx/write_rnn.c \
	%reldir%/onnx/write_rules.def \
	%reldir%/onnx/write_shape.c
nodist_libcfx_all_la_SOURCES += lib/format/onnx/onnx.pb-c.c
BUILT_SOURCES += lib/format/onnx/onnx.pb-c.h
CLEANFILES += lib/format/onnx/onnx.pb-c.c lib/format/onnx/onnx.pb-c.h

lib/format/onnx/onnx.pb-c.c: $(srcdir)/%reldir%/onnx/onnx.proto
	$(AM_V_GEN)$(MKDIR_P) lib/format/onnx && \
		$(PROTOC_C) -I$(srcdir)/%reldir%/onnx --c_out=lib/format/onnx \
		$(srcdir)/%reldir%/onnx/onnx.proto
lib/format/onnx/onnx.pb-c.h: lib/format/onnx/onnx.pb-c.c
endif
EXTRA_DIST += %reldir%/onnx/onnx.proto
