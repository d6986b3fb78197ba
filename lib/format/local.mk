libcfx_all_la_SOURCES += \
	%reldir%/python/code_forms.c \
	%reldir%/python/code_forms.h \
	%reldir%/python/code_names.c \
	%reldir%/python/code_text.c \
	%reldir%/python/coder.h \
	%reldir%/text/text_diff.c \
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
	%reldir%/pt2/pt2_write.c \
	%reldir%/pt2/pt2_write.h \
	%reldir%/pt2/pt2_write_argument.c \
	%reldir%/pt2/pt2_write_extent.c \
	%reldir%/pt2/pt2_write_graph.c \
	%reldir%/pt2/pt2_write_in_spec.c \
	%reldir%/pt2/pt2_write_json.c \
	%reldir%/pt2/pt2_write_pickle.c \
	%reldir%/pt2/pt2_write_state.c \
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
	%reldir%/text/text_quantized.c \
	%reldir%/text/text_quantized.h \
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
	%reldir%/pt2/pt2_archive.c \
	%reldir%/pt2/pt2_argument.c \
	%reldir%/pt2/pt2_declared.c \
	%reldir%/pt2/pt2_flat.c \
	%reldir%/pt2/pt2_graph.c \
	%reldir%/pt2/pt2_inputs.c \
	%reldir%/pt2/pt2_outputs.c \
	%reldir%/pt2/pt2_pickle.c \
	%reldir%/pt2/pt2_pickle.h \
	%reldir%/pt2/pt2_provenance.c \
	%reldir%/pt2/pt2.h \
	%reldir%/pt2/pt2_schema.c \
	%reldir%/pt2/pt2_signature.c \
	%reldir%/pt2/torch_file.c \
	%reldir%/pt2/torch_file.h \
	%reldir%/pt2/pt2_tree.c \
	%reldir%/pt2/pt2_weights.c \
	%reldir%/zip.c \
	%reldir%/zip.h \
	%reldir%/zip_place.c
endif

# ONNX, which needs protobuf-c. The compiler of messages writes beside the
# objects.
if HAVE_ONNX
libcfx_all_la_SOURCES += \
	%reldir%/onnx/onnx_image.c \
	%reldir%/onnx/onnx_loss.c \
	%reldir%/onnx/onnx_quantize.c %reldir%/onnx/onnx_decomposed.c \
	%reldir%/onnx/onnx_rnn.c %reldir%/onnx/onnx_rnn.h \
	%reldir%/onnx/onnx_attention.c %reldir%/onnx/onnx_attention.h \
	%reldir%/onnx/onnx_fused.c \
	%reldir%/onnx/onnx_fused_attention.c \
	%reldir%/onnx/onnx_fused_quantize.c \
	%reldir%/onnx/onnx_attr.c \
	%reldir%/onnx/onnx_captures.c \
	%reldir%/onnx/onnx_cast.c \
	%reldir%/onnx/onnx_control.c \
	%reldir%/onnx/onnx_conv.c \
	%reldir%/onnx/onnx_decode.c \
	%reldir%/onnx/onnx_file.c \
	%reldir%/onnx/onnx_index.c \
	%reldir%/onnx/onnx_ints.c \
	%reldir%/onnx/onnx_loop.c \
	%reldir%/onnx/onnx_import.c \
	%reldir%/onnx/onnx_ml.c \
	%reldir%/onnx/onnx_norm.c \
	%reldir%/onnx/onnx_number_rules.c \
	%reldir%/onnx/onnx_numbers.c \
	%reldir%/onnx/onnx_numbers.h %reldir%/onnx/onnx_pairs.def \
	%reldir%/onnx/onnx.h \
	%reldir%/onnx/onnx_pointwise.c \
	%reldir%/onnx/onnx_recorder.c \
	%reldir%/onnx/onnx_reduce.c \
	%reldir%/onnx/onnx_regions.c \
	%reldir%/onnx/onnx_rules.def \
	%reldir%/onnx/onnx_sequence.c \
	%reldir%/onnx/onnx_shape.c \
	%reldir%/onnx/onnx_signal.c \
	%reldir%/onnx/onnx_strings.c \
	%reldir%/onnx/onnx_uint64.c \
	%reldir%/onnx/onnx_tensor.c \
	%reldir%/onnx/onnx_unknown.c \
	%reldir%/onnx/onnx_values.c \
	%reldir%/onnx/onnx_writable.h \
	%reldir%/onnx/onnx_write.c \
	%reldir%/onnx/onnx_write_dim.c \
	%reldir%/onnx/onnx_write.h \
	%reldir%/onnx/onnx_write_file.c \
	%reldir%/onnx/onnx_write_groups.c %reldir%/onnx/onnx_write_image.c \
	%reldir%/onnx/onnx_write_index.c \
	%reldir%/onnx/onnx_write_layers.c \
	%reldir%/onnx/onnx_write_pointwise.c \
	%reldir%/onnx/onnx_write_put.c \
	%reldir%/onnx/onnx_write_quantize.c \
	%reldir%/onnx/onnx_write_rnn.c \
	%reldir%/onnx/onnx_write_rules.def \
	%reldir%/onnx/onnx_write_shape.c
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
