#!/usr/bin/env python3
"""onnx_cases.py DIR [NAME...] -- the ONNX project's own node tests as folders.

Each case of onnx.backend.test becomes DIR/NAME: model.onnx, its data sets as
test_data_set_0/input_0.pb, output_0.pb, ..., and `tolerance` where the case is
compared less closely than others. `tests/case_tests onnx DIR/*` runs them. With NAMEs,
only cases that match one of these patterns are written.

onnx_cases.py DIR --light writes the project's `light` models in that form; its
`simple`, `pytorch-converted` and `pytorch-operator` ones, in the package's folder
onnx/backend/test/data, have it.

onnx_cases.py --pack FILE.tar.xz packs the cases of `make check`: small ones of the
ONNX project, and some of our own, whose results are ONNX Runtime's.
"""
import fnmatch
import os
import random
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases


def write(path, message):
    with open(path, "wb") as f:
        f.write(message.SerializeToString())


def message_of(value, info):
    kind = info.type.WhichOneof("value") if info is not None else "tensor_type"
    if isinstance(value, (onnx.TensorProto, onnx.SequenceProto,
                          onnx.OptionalProto)):
        return value
    if kind == "sequence_type":
        return numpy_helper.from_list(value, info.name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, info.name)
    return numpy_helper.from_array(np.asarray(value),
                                   info.name if info is not None else "")


def write_case(folder, case):
    os.makedirs(folder, exist_ok=True)
    write(os.path.join(folder, "model.onnx"), case.model)
    if case.rtol != 1e-3 or case.atol != 1e-7:
        with open(os.path.join(folder, "tolerance"), "w") as f:
            f.write(f"{case.rtol} {case.atol}\n")
    graph = case.model.graph
    for i, (inputs, outputs) in enumerate(case.data_sets):
        d = os.path.join(folder, f"test_data_set_{i}")
        os.makedirs(d, exist_ok=True)
        for kind, values, infos in (("input", inputs, graph.input),
                                    ("output", outputs, graph.output)):
            for k, v in enumerate(values):
                write(os.path.join(d, f"{kind}_{k}.pb"),
                      message_of(v, infos[k] if k < len(infos) else None))


# ---- Cases of our own ----

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
S = TensorProto.STRING
ML = "ai.onnx.ml"


def texts(*items):
    return np.array(items, object)


def model_of(nodes, inputs, outputs, constants=(), functions=(), domains=(),
             opset=18):
    graph = helper.make_graph(
        nodes, "own",
        [helper.make_tensor_value_info(*i) for i in inputs],
        [helper.make_tensor_value_info(*o) for o in outputs],
        [numpy_helper.from_array(np.asarray(v), k)
         for k, v in dict(constants).items()])
    opsets = [helper.make_opsetid("", opset)]
    opsets += [helper.make_opsetid(d, 4 if d == ML else 1) for d in domains]
    return helper.make_model(graph, functions=list(functions), ir_version=9,
                             opset_imports=opsets)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def own_models():
    x = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
    # Shape, Gather, Concat, Reshape, as exporters write them.
    yield "own_symbolic_reshape", model_of(
        [node("Shape", "x", "s"), node("Gather", "s zero", "n"),
         node("Unsqueeze", "n axes", "n1"),
         node("Concat", "n1 rest", "to", axis=0), node("Reshape", "x to", "y")],
        [("x", F, ["N", "M"])], [("y", F, None)],
        {"zero": np.int64(0), "axes": np.array([0]),
         "rest": np.array([2, -1])}), [x]
    # Expand to a shape that Where and Equal correct.
    yield "own_expand", model_of(
        [node("Shape", "x", "s"),
         node("Equal", "want minus", "is"), node("Where", "is s want", "to"),
         node("Expand", "x to", "y")],
        [("x", F, ["N", "M"])], [("y", F, None)],
        {"want": np.array([-1, 4]), "minus": np.array([-1, -1])}), [x]
    branch = [helper.make_graph([node(op, "x w", "r_" + op)], op, [],
                                [helper.make_tensor_value_info(
                                    "r_" + op, F, None)])
              for op in ("Add", "Sub")]
    yield "own_if", model_of(
        [node("ReduceSum", "x", "sum", keepdims=0),
         node("Greater", "sum zero", "is"),
         node("If", "is", "y", then_branch=branch[0], else_branch=branch[1])],
        [("x", F, [3, 4])], [("y", F, None)],
        {"zero": np.float32(0), "w": x[0]}), [x]
    body = helper.make_graph(
        [node("Add", "v i_f", "v_out"), node("Cast", "i", "i_f", to=F),
         node("Identity", "go", "go_out"), node("Mul", "v two", "row")][::-1],
        "body",
        [helper.make_tensor_value_info("i", I, []),
         helper.make_tensor_value_info("go", B, []),
         helper.make_tensor_value_info("v", F, [4])],
        [helper.make_tensor_value_info("go_out", B, []),
         helper.make_tensor_value_info("v_out", F, [4]),
         helper.make_tensor_value_info("row", F, [4])])
    # Constants that are read once, of a function and of a body.
    twice = helper.make_function(
        "own", "AddConstant", ["v"], ["w"],
        [node("Constant", "", "k", value=numpy_helper.from_array(
            np.float32([3]), "k")), node("Add", "v k", "w")],
        [helper.make_opsetid("", 18)])
    yield "own_function_twice", model_of(
        [helper.make_node("AddConstant", [a], [b], domain="own")
         for a, b in (("x", "h"), ("h", "y"))],
        [("x", F, [3, 4])], [("y", F, None)], {}, [twice], ["own"]), [x]
    constant_body = helper.make_graph(
        [node("Add", "v k", "v_out"), node("Identity", "go", "go_out")],
        "body",
        [helper.make_tensor_value_info("i", I, []),
         helper.make_tensor_value_info("go", B, []),
         helper.make_tensor_value_info("v", F, [3, 4])],
        [helper.make_tensor_value_info("go_out", B, []),
         helper.make_tensor_value_info("v_out", F, [3, 4])],
        [numpy_helper.from_array(np.float32([3]), "k")])
    yield "own_loop_constant", model_of(
        [helper.make_node("Loop", ["n", "", "x"], ["y"], body=constant_body)],
        [("x", F, [3, 4])], [("y", F, None)], {"n": np.int64(3)}), [x]
    # Scales in a list of one, of rows, and of the columns.
    yield "own_one_scale", model_of(
        [node("DequantizeLinear", "q s z", "a", axis=1),
         node("QuantizeLinear", "a s z", "y")],
        [("q", TensorProto.UINT8, [3])],
        [("a", F, None), ("y", TensorProto.UINT8, None)],
        {"s": np.float32([0.5]), "z": np.uint8([7])}), [np.uint8([1, 5, 9])]
    # ONNX Runtime refuses a scale for each row: ONNX's text gives the result.
    square = np.arange(-4, 5, dtype=np.int8).reshape(3, 3)
    for name, scale in (("rows", [0.1, 0.5, 2]), ("one", [0.5])):
        scale = np.float32(scale)
        product = ((square - 1.0) * scale[:, None]) @ (
            (square.T - 1.0) * scale)
        yield "own_scale_of_" + name, model_of(
            [node("QLinearMatMul", "x s z w s z t t0", "y")],
            [("x", TensorProto.INT8, [3, 3])],
            [("y", TensorProto.INT8, None)],
            {"s": scale, "z": np.int8([1] * len(scale)), "w": square.T,
             "t": np.float32(0.5), "t0": np.int8(0)}), [square], [
                 np.clip(np.rint(product / 0.5), -128, 127).astype(np.int8)]
    kernel = np.arange(18, dtype=np.float32).reshape(1, 2, 3, 3)
    for name, attributes in (
            ("beyond", dict(output_shape=[8, 4], strides=[2, 1])),
            ("beyond_lower", dict(output_shape=[8, 6], strides=[2, 3],
                                  auto_pad="SAME_LOWER")),
            ("within", dict(output_shape=[5, 3], strides=[2, 1])),
            ("upper", dict(auto_pad="SAME_UPPER", strides=[4, 2])),
            ("extra", dict(output_padding=[2, 0], strides=[3, 1],
                            dilations=[1, 2]))):
        yield "own_transposed_" + name, model_of(
            [node("ConvTranspose", "x w b", "y", **attributes)],
            [("x", F, [1, 1, 3, 2])], [("y", F, None)],
            {"w": kernel, "b": np.float32([1, -1])}), [
                kernel[:, :1, :, :2].copy()]
    # A scale times the extent that is no whole number; empty, flat and cropped.
    scales = {"s": np.float32([1, 1, 1.5, 1.5])}
    image = (np.arange(25, dtype=np.float32) ** 1.5).reshape(1, 1, 5, 5)
    for name, inputs, constants, attributes in (
            ("corners", "x '' s", scales, dict(
                mode="linear", coordinate_transformation_mode="align_corners")),
            ("corners_cubic", "x '' s", scales, dict(
                mode="cubic", coordinate_transformation_mode="align_corners",
                exclude_outside=1, cubic_coeff_a=-0.5)),
            ("all_axes", "x '' '' t", {"t": np.array([2, 3, 4, 7])}, dict(
                nearest_mode="ceil", coordinate_transformation_mode=
                "half_pixel")),
            ("cropped", "x r s", {
                **scales, "r": np.float32([0, 0, -.2, .3, 1, 1, .8, 1.4])},
             dict(mode="linear", extrapolation_value=9.5,
                  coordinate_transformation_mode="tf_crop_and_resize")),
            ("shrunk", "x '' '' t", {"t": np.array([3, 4])}, dict(
                mode="linear", antialias=1, axes=[2, 3],
                keep_aspect_ratio_policy="not_larger"))):
        yield "own_resize_" + name, model_of(
            [helper.make_node("Resize", [i.strip("'") for i in inputs.split()],
                              ["y"], **attributes)],
            [("x", F, [1, 1, 5, 5])], [("y", F, None)], constants), [image]
    yield "own_resize_rows", model_of(
        [helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear")],
        [("x", F, [5, 5])], [("y", F, None)],
        {"s": np.float32([1, 1.7])}), [image[0, 0].copy()]
    yield "own_loop", model_of(
        [node("Loop", "three yes x", "last rows", body=body)],
        [("x", F, [4])], [("last", F, [4]), ("rows", F, None)],
        {"three": np.int64(3), "yes": np.bool_(True),
         "two": np.float32(2)}), [x[0]]
    square = helper.make_function(
        "own", "Scaled", ["a"], ["b"],
        [helper.make_node("Mul", ["a", "a"], ["m"]),
         helper.make_node("LeakyRelu", ["m"], ["b"])],
        [helper.make_opsetid("", 18)], ["alpha"])
    ref = square.node[1].attribute.add()
    ref.name, ref.ref_attr_name = "alpha", "alpha"
    ref.type = onnx.AttributeProto.FLOAT
    yield "own_function", model_of(
        [helper.make_node("Scaled", ["x"], ["h"], domain="own", alpha=0.25),
         node("Neg", "h", "n"),
         helper.make_node("Scaled", ["n"], ["y"], domain="own", alpha=0.5)],
        [("x", F, ["N", 4])], [("y", F, None)], {}, [square], ["own"]), [x]
    yield "own_data", model_of(
        [node("MatMul", "x w", "h"), node("Add", "h b", "y")],
        [("x", F, ["N", 4])], [("y", F, None)],
        {"w": np.linspace(-1, 1, 20, dtype=np.float32).reshape(4, 5),
         "b": np.ones(5, np.float32)}), [x]
    boxes = np.random.default_rng(1).random((1, 9, 4), np.float32)
    scores = np.random.default_rng(2).random((1, 2, 9), np.float32)
    yield "own_regions", model_of(
        [node("NonMaxSuppression", "boxes scores most iou least", "kept"),
         node("Squeeze", "boxes axes", "rois"),
         node("RoiAlign", "image rois zeros", "y", output_height=2,
              output_width=3, sampling_ratio=2, spatial_scale=4.0)],
        [("boxes", F, [1, "N", 4]), ("scores", F, [1, 2, "N"]),
         ("image", F, [1, 2, 8, 8]), ("zeros", I, ["N"])],
        [("kept", I, None), ("y", F, None)],
        {"most": np.int64(4), "iou": np.float32(0.2),
         "least": np.float32(0.3), "axes": np.array([0])}), [
             boxes, scores,
             np.arange(128, dtype=np.float32).reshape(1, 2, 8, 8),
             np.zeros(9, np.int64)]
    yield "own_unsigned", model_of(
        [node("Add", "a b", "c"), node("Max", "c a", "m"),
         node("Cast", "m", "f", to=TensorProto.DOUBLE),
         node("Greater", "a b", "g")],
        [("a", TensorProto.UINT64, [4])],
        [("m", TensorProto.UINT64, None), ("f", TensorProto.DOUBLE, None),
         ("g", B, None)],
        {"b": np.array([1, 2**64 - 1, 2**63, 4], np.uint64)}), [
            np.array([2**64 - 2, 3, 2**63 - 1, 5], np.uint64)]
    yield "own_sequence", model_of(
        [node("SplitToSequence", "x two", "s", axis=1),
         node("Neg", "x", "n"), node("SequenceInsert", "s n zero", "t"),
         node("SequenceInsert", "t n before_last", "v"),
         node("SequenceErase", "v", "u"),
         node("ConcatFromSequence", "u", "y", axis=1),
         node("SequenceLength", "u", "count")],
        [("x", F, ["N", 5])], [("y", F, None), ("count", I, None)],
        {"two": np.int64(2), "zero": np.int64(0),
         "before_last": np.int64(-1)}), [
            np.arange(15, dtype=np.float32).reshape(3, 5)]
    # A shape in 32 bits, as tf2onnx has it.
    yield "own_shape_in_32_bits", model_of(
        [node("Shape", "x", "s"), node("Cast", "s", "s32", to=TensorProto.INT32),
         node("Slice", "s32 zero one zero", "n"),
         node("Concat", "n rest", "to32", axis=0),
         node("Cast", "to32", "to", to=I), node("Expand", "x to", "y")],
        [("x", F, ["N", 1])], [("y", F, None)],
        {"zero": np.array([0], np.int32), "one": np.array([1], np.int32),
         "rest": np.array([4], np.int32)}), [x[:, :1]]
    yield "own_pad_symbols", model_of(
        [node("Pad", "x pads", "y", mode="reflect"),
         node("Pad", "x pads", "z", mode="edge")],
        [("x", F, ["N", "M"])], [("y", F, None), ("z", F, None)],
        {"pads": np.array([0, 1, 0, 2])}), [x]
    yield "own_pad_row", model_of(
        [node("Pad", "x pads", "y", mode="reflect")],
        [("x", F, ["N"])], [("y", F, None)],
        {"pads": np.array([3, 6])}), [x.reshape(-1)]
    # An exporter's way to squeeze an axis if it has one item.
    branch = [helper.make_graph([node(op, i, "r_" + op)], op, [],
                                [helper.make_tensor_value_info(
                                    "r_" + op, F, None)])
              for op, i in (("Squeeze", "x axis"), ("Identity", "x"))]
    yield "own_if_of_shape", model_of(
        [node("Shape", "x", "s"), node("Gather", "s axis", "n"),
         node("Equal", "n one", "is"),
         node("If", "is", "q", then_branch=branch[0], else_branch=branch[1]),
         node("Concat", "q q", "y", axis=0)],
        [("x", F, ["N", "M"])], [("y", F, None)],
        {"axis": np.array([1]), "one": np.array([1])}), [x]
    yield from own_string_models(x)

    from onnx_fused import fused_models
    yield from fused_models()


def own_string_models(x):
    words = texts(["lorem", "ipsum"], ["dolor", "sit"], ["", "lorem"])
    yield "own_strings", model_of(
        [node("StringConcat", "x ends", "c"), node("Equal", "c one", "is"),
         node("StringSplit", "c", "parts counts", delimiter="o"),
         node("Constant", "", "shown", value_strings=["1.5", "-2e3", "INF"]),
         node("Cast", "shown", "numbers", to=F),
         node("Cast", "n", "texts", to=S), node("Cast", "texts", "m", to=I),
         node("Identity", "texts", "same")],
        [("x", S, ["N", 2]), ("n", I, [3])],
        [("c", S, None), ("is", B, None), ("parts", S, None),
         ("counts", I, None), ("numbers", F, None), ("same", S, None),
         ("m", I, None)],
        {"ends": texts("_a", "\u00e9"), "one": texts("lorem_a")},
        opset=20), [words, np.array([3, -17, 2**40])]
    patterns = [r"\w*[a-d]?or.*", r"(?:[^\W\d]{2}){1,3}\B.?", r"\x6c.+|^$",
                r"(lo|do)\D+?", r".{5}\b", r"[[-\]l-s]+"]
    yield "own_regex", model_of(
        [node("RegexFullMatch", "x", f"y{i}", pattern=p)
         for i, p in enumerate(patterns)],
        [("x", S, ["N", 2])],
        [(f"y{i}", B, None) for i in range(len(patterns))], opset=20), [words]
    yield "own_constant_strings", model_of(
        [node("RegexFullMatch", "x", "m", pattern=patterns[1]),
         node("StringNormalizer", "row", "n", locale="C.UTF-8",
              case_change_action="UPPER", is_case_sensitive=1,
              stopwords=["sit"]),
         node("StringSplit", "x", "parts counts", maxsplit=1),
         node("StringConcat", "x row", "c"), node("Equal", "c x", "is"),
         node("Cast", "shown", "i", to=I), node("Cast", "i", "t", to=S),
         helper.make_node("LabelEncoder", ["x"], ["l"], domain=ML,
                          keys_strings=["sit", "", "sit"],
                          values_int64s=[3, 1, 2]),
         node("TfIdfVectorizer", "row", "g", mode="IDF", min_gram_length=1,
              max_gram_length=2, max_skip_count=1, ngram_counts=[0, 2],
              ngram_indexes=[2, 0, 1],
              pool_strings=["sit", "a", "dolor", "sit"])],
        [], [("m", B, None), ("n", S, None), ("parts", S, None),
             ("counts", I, None), ("is", B, None), ("t", S, None),
             ("l", I, None), ("g", F, None)],
        {"x": words, "row": words[1], "shown": texts("12", "-7")}, (), [ML],
        opset=20), []
    branch = [helper.make_graph(
        [node("Equal", f"x word_{i}", f"is_{i}"),
         node("Cast", f"is_{i}", f"r_{i}", to=F)], f"branch_{i}", [],
        [helper.make_tensor_value_info(f"r_{i}", F, None)]) for i in (0, 1)]
    yield "own_if_of_strings", model_of(
        [node("ReduceSum", "a", "sum", keepdims=0),
         node("Greater", "sum zero", "is"),
         node("If", "is", "y", then_branch=branch[0], else_branch=branch[1])],
        [("a", F, [3, 4]), ("x", S, ["N", 2])], [("y", F, None)],
        {"zero": np.float32(0), "word_0": texts("lorem"),
         "word_1": texts("lorem", "sit")}, opset=20), [x, words]
    yield "own_labels", model_of(
        [helper.make_node("LabelEncoder", ["x"], ["y"], domain=ML,
                          keys_strings=["sit", "lorem", ""],
                          values_floats=[1.5, 2.5, -1.0], default_float=9.0),
         helper.make_node("LabelEncoder", ["n"], ["z"], domain=ML,
                          keys_int64s=[-17, 5, 3], values_int64s=[1, 2, 7]),
         helper.make_node("LabelEncoder", ["a"], ["w"], domain=ML,
                          keys_floats=[-5.0, 2.0, 0.0],
                          values_floats=[0.5, 0.25, 0.125])],
        [("x", S, ["N", 2]), ("n", I, [3]), ("a", F, [3, 4])],
        [("y", F, None), ("z", I, None), ("w", F, None)], {}, (), [ML]), [
            words, np.array([3, -17, 2**40]), x]
    # What follows needs the shape of the strings.
    yield "own_embedded_strings", model_of(
        [node("StringConcat", "x end", "c"),
         helper.make_node("LabelEncoder", ["c"], ["l"], domain=ML,
                          keys_strings=["sit_", "lorem_", "_"],
                          values_int64s=[1, 2, 3], default_int64=0),
         node("Gather", "table l", "e"), node("Equal", "x one", "is"),
         node("Cast", "is", "f", to=F), node("Unsqueeze", "f last", "u"),
         node("Add", "e u", "a"), node("ReduceMean", "a axes", "m", keepdims=0),
         node("MatMul", "m w", "y")],
        [("x", S, ["N", 2])], [("y", F, None)],
        {"end": texts("_"), "one": texts("lorem")[0], "last": np.array([-1]),
         "table": np.arange(12, dtype=np.float32).reshape(4, 3),
         "axes": np.array([1]), "w": x[:, :2]}, (), [ML], opset=20), [words]
    grams = dict(ngram_counts=[0, 2, 6], ngram_indexes=[0, 1, 2, 3, 4],
                 pool_strings=["sit", "lorem", "lorem", "ipsum", "dolor",
                               "sit", "ipsum", "dolor", "lorem"],
                 weights=[1.0, 2.0, 0.5, 3.0, 0.25])
    row = texts(["lorem", "ipsum", "dolor", "sit", "lorem"],
                ["sit", "lorem", "dolor", "ipsum", "x"])
    yield "own_grams", model_of(
        [node("TfIdfVectorizer", "x", "y", mode="TFIDF", min_gram_length=1,
              max_gram_length=3, max_skip_count=1, **grams),
         node("TfIdfVectorizer", "x", "z", mode="IDF", min_gram_length=2,
              max_gram_length=2, max_skip_count=2, **grams),
         node("TfIdfVectorizer", "x", "w", mode="TF", min_gram_length=1,
              max_gram_length=1, max_skip_count=0, **grams)],
        [("x", S, ["N", 5])], [("y", F, None), ("z", F, None), ("w", F, None)],
        {}), [row]


def random_models():
    """Arithmetic on extents, loops and recurrent steps."""
    from onnx_sweep import loops, recurrent, sizes

    for kind in (sizes, loops, recurrent):
        r, i = random.Random(20), 0
        while i < 24:
            model, inputs = kind(r)
            try:
                results = runtime_results(model, inputs)
            except Exception:
                continue
            yield f"own_{kind.__name__}_{i}", model, inputs, results
            i += 1


def external(folder):
    """The weights of own_data in a file of their own."""
    path = os.path.join(folder, "model.onnx")
    model = onnx.load(path)
    onnx.save(model, path, save_as_external_data=True, location="data.bin",
              size_threshold=0)


def runtime_results(model, inputs):
    import onnxruntime
    session = onnxruntime.InferenceSession(model.SerializeToString())
    names = [i.name for i in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs)))


def write_own(where):
    for name, model, inputs, *known in (*own_models(), *random_models()):
        if name == "own_loop":
            body = model.graph.node[0].attribute[0].g
            order = ["Cast", "Add", "Mul", "Identity"]
            nodes = sorted(body.node, key=lambda n: order.index(n.op_type))
            del body.node[:]
            body.node.extend(nodes)
        outputs = known[0] if known else runtime_results(model, inputs)
        folder = os.path.join(where, name)
        data = os.path.join(folder, "test_data_set_0")
        os.makedirs(data)
        write(os.path.join(folder, "model.onnx"), model)
        for kind, values in (("input", inputs), ("output", outputs)):
            for k, v in enumerate(values):
                write(os.path.join(data, f"{kind}_{k}.pb"),
                      numpy_helper.from_array(np.asarray(v)))
        if name == "own_data":
            external(folder)


# ---- The cases of make check ----

DATA = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data")
# Of operator set 6.
OLD = ("pytorch-operator/test_operator_add_size1_broadcast",
       "pytorch-operator/test_operator_add_size1_right_broadcast",
       "pytorch-converted/test_PReLU_2d_multiparam")


def is_packed(folder):
    """Small, and not written as a function: those have as many nodes again."""
    size = sum(os.path.getsize(os.path.join(d, f))
               for d, _, files in os.walk(folder) for f in files)
    return size < 6000 and not folder.endswith("_expanded")


def pack(to):
    with tempfile.TemporaryDirectory() as where:
        write_cases(where, ["*"])
        simple = os.path.join(DATA, "simple")
        for name in os.listdir(simple):
            shutil.copytree(os.path.join(simple, name),
                            os.path.join(where, name))
        for name in sorted(os.listdir(where)):
            if not is_packed(os.path.join(where, name)):
                subprocess.run(["rm", "-r", os.path.join(where, name)],
                               check=True)
        for name in OLD:
            shutil.copytree(os.path.join(DATA, name),
                            os.path.join(where, os.path.basename(name)))
        write_own(where)
        subprocess.run(["tar", "-cJf", os.path.abspath(to), "--sort=name",
                        "--mtime=2026-01-01", "--owner=0", "--group=0",
                        "--numeric-owner", "-C", where,
                        *sorted(os.listdir(where))], check=True)


def write_cases(where, patterns):
    failed = written = 0
    for case in collect_testcases(None):
        if case.model is None or case.data_sets is None:
            continue
        if not any(fnmatch.fnmatch(case.name, p) for p in patterns):
            continue
        try:
            write_case(os.path.join(where, case.name), case)
            written += 1
        except (TypeError, ValueError, NotImplementedError) as e:
            print(f"{case.name}: {e}", file=sys.stderr)
            failed += 1
    print(f"{written} cases written, {failed} not")


def write_light(where):
    """Known networks with constant weights; the inputs count up."""
    from onnx.backend.test.runner import Runner

    folder = os.path.join(DATA, "light")
    for file in sorted(f for f in os.listdir(folder) if f.endswith(".onnx")):
        name = file[len("light_"):-len(".onnx")]
        model = onnx.load(os.path.join(folder, file))
        data = os.path.join(where, name, "test_data_set_0")
        os.makedirs(data, exist_ok=True)
        write(os.path.join(where, name, "model.onnx"), model)
        known = {i.name for i in model.graph.initializer}
        inputs = [i for i in model.graph.input if i.name not in known]
        for k, info in enumerate(inputs):
            x = Runner.generate_dummy_data(info, seed=0, name="test_" + name,
                                           random=False)
            write(os.path.join(data, f"input_{k}.pb"),
                  numpy_helper.from_array(x))
        for k, _ in enumerate(model.graph.output):
            shutil.copy(
                os.path.join(folder, f"{file[:-5]}_output_{k}.pb"),
                os.path.join(data, f"output_{k}.pb"))


def main():
    if sys.argv[2:] == ["--light"]:
        write_light(sys.argv[1])
        return
    if sys.argv[1] == "--pack":
        pack(sys.argv[2])
    else:
        write_cases(sys.argv[1], sys.argv[2:] or ["*"])


if __name__ == "__main__":
    main()
