#!/usr/bin/env python3
"""onnx_sweep.py KIND DIR [COUNT [SEED]] -- random ONNX models of one kind as folders.

KIND is resize, conv_transpose, quantize, recurrent, sizes, or loops. Each model that ONNX Runtime
runs becomes DIR/NUMBER, whose results are ONNX Runtime's;
`tests/case_tests onnx DIR/*` compares. COUNT is 500 if it is not given.
"""
import os
import random
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from onnx_cases import message_of, write

F, I = TensorProto.FLOAT, TensorProto.INT64


def model_of(nodes, inputs, outputs, constants, opset=20, symbols=False):
    kinds = {np.dtype(np.float32): F, np.dtype(np.int64): I,
             np.dtype(np.int32): TensorProto.INT32,
             np.dtype(np.uint8): TensorProto.UINT8,
             np.dtype(np.int8): TensorProto.INT8,
             np.dtype(bool): TensorProto.BOOL}
    graph = helper.make_graph(
        nodes, "sweep",
        [helper.make_tensor_value_info(
            k, kinds[v.dtype], [f"{k}{i}" for i in range(v.ndim)] if symbols
            else v.shape) for k, v in inputs.items()],
        [helper.make_tensor_value_info(*o) for o in outputs],
        [numpy_helper.from_array(np.asarray(v), k)
         for k, v in constants.items()])
    return helper.make_model(graph, ir_version=9,
                             opset_imports=[helper.make_opsetid("", opset)])


def floats(r, shape):
    return np.random.default_rng(r.randrange(1 << 30)).standard_normal(
        shape).astype(np.float32)


def resize(r):
    rank = r.choice([1, 2, 3, 4, 4, 4, 5])
    shape = [r.randint(1, 7) for _ in range(rank)]
    mode = r.choice(["nearest", "linear", "cubic"])
    own = {"mode": mode}
    own["coordinate_transformation_mode"] = coordinates = r.choice(
        ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
         "align_corners", "asymmetric", "tf_crop_and_resize"])
    if mode == "nearest":
        own["nearest_mode"] = r.choice(
            ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic" and r.random() < 0.5:
        own["cubic_coeff_a"] = -0.5
    if mode == "cubic" and r.random() < 0.3:
        own["exclude_outside"] = 1
    if mode != "nearest" and r.random() < 0.3 and not coordinates.startswith(
            "tf"):
        own["antialias"] = 1
    axes = list(range(rank))
    free = axes if rank < 3 else axes[2:] if r.random() < 0.8 else axes
    if r.random() < 0.4:
        axes = r.sample(free, r.randint(1, len(free)))
        own["axes"] = axes
    constants, inputs = {}, ["x", "", ""]
    if coordinates.startswith("tf"):
        constants["roi"] = np.array(
            [r.choice([0, 0.1, -0.2, 0.25]) for _ in axes] +
            [r.choice([1, 0.9, 1.3, 0.75]) for _ in axes], np.float32)
        inputs[1] = "roi"
        own["extrapolation_value"] = 2.5
    if r.random() < 0.5:
        constants["s"] = np.array(
            [r.choice([0.5, 0.6, 0.75, 1, 1.3, 1.5, 2, 2.4, 3])
             if a in free else 1 for a in axes], np.float32)
        inputs[2] = "s"
    else:
        constants["s"] = np.array(
            [r.randint(1, 12) if a in free else shape[a] for a in axes])
        inputs.append("s")
        if r.random() < 0.3 and axes == free:
            own["keep_aspect_ratio_policy"] = r.choice(
                ["not_larger", "not_smaller"])
    x = floats(r, shape)
    return model_of([helper.make_node("Resize", inputs, ["y"], **own)],
                    {"x": x}, [("y", F, None)], constants), [x]


def conv_transpose(r):
    nd = r.randint(1, 3)
    group = r.choice([1, 1, 2])
    own = {"group": group}
    kernel = [r.randint(1, 4) for _ in range(nd)]
    strides = [r.randint(1, 3) for _ in range(nd)]
    if r.random() < 0.6:
        own["strides"] = strides
    else:
        strides = [1] * nd
    if r.random() < 0.3:
        own["dilations"] = [r.randint(1, 3) for _ in range(nd)]
    if r.random() < 0.3:
        own["output_padding"] = [r.randint(0, 2) for _ in range(nd)]
    size = [r.randint(1, 5) for _ in range(nd)]
    how = r.random()
    if how < 0.4:
        own["pads"] = [r.randint(0, 2) for _ in range(2 * nd)]
    elif how < 0.6:
        own["auto_pad"] = r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    if r.random() < 0.4:
        own["output_shape"] = [
            max(1, s * t + r.randint(-2, 6)) for s, t in zip(size, strides)]
        if r.random() < 0.5:
            own["auto_pad"] = r.choice(["SAME_UPPER", "SAME_LOWER", "NOTSET"])
    x = floats(r, [2, 2 * group] + size)
    w = floats(r, [2 * group, 3] + kernel)
    inputs, constants = ["x", "w"], {"w": w}
    if r.random() < 0.5:
        inputs.append("b")
        constants["b"] = floats(r, [3 * group])
    return model_of(
        [helper.make_node("ConvTranspose", inputs, ["y"], **own)], {"x": x},
        [("y", F, None)], constants), [x]


def quantize(r):
    kind = r.choice(["dequantize", "quantize", "matmul", "integer"])
    t = r.choice([np.uint8, np.int8])
    low, high = np.iinfo(t).min, np.iinfo(t).max
    g = np.random.default_rng(r.randrange(1 << 30))

    def ints(shape):
        return g.integers(low, high, shape, endpoint=True).astype(t)

    def scales(shape):
        return g.uniform(0.01, 0.1, shape).astype(np.float32)
    if kind in ("dequantize", "quantize"):
        shape = [r.randint(1, 4) for _ in range(r.randint(1, 4))]
        own, per = {}, r.choice([[], [1], None])
        axis = r.randrange(-len(shape), len(shape))
        if per is None or r.random() < 0.5:
            own["axis"] = axis
        per = [shape[axis]] if per is None else per
        constants = {"s": scales(per), "z": ints(per)}
        zero = ["z"] if kind == "quantize" or r.random() < 0.7 else []
        x = ints(shape) if kind == "dequantize" else floats(r, shape)
        op = "DequantizeLinear" if kind == "dequantize" else "QuantizeLinear"
        out = F if kind == "dequantize" else helper.np_dtype_to_tensor_dtype(
            np.dtype(t))
        return model_of([helper.make_node(op, ["x", "s"] + zero, ["y"],
                                          **own)],
                        {"x": x}, [("y", out, None)], constants), [x]
    m, k, n = (r.randint(1, 4) for _ in range(3))
    batch = r.choice([[], [2]])
    x, w = ints(batch + [m, k]), ints(r.choice([[], batch]) + [k, n])
    rows, columns = r.choice([[], [1], [m]]), r.choice([[], [1], [n]])
    if kind == "integer":
        return model_of(
            [helper.make_node("MatMulInteger", ["x", "w", "xz", "wz"],
                              ["y"])], {"x": x},
            [("y", TensorProto.INT32, None)],
            {"w": w, "xz": ints(rows), "wz": ints(columns)}), [x]
    out = helper.np_dtype_to_tensor_dtype(np.dtype(t))
    return model_of(
        [helper.make_node("QLinearMatMul", ["x", "xs", "xz", "w", "ws", "wz",
                                            "ys", "yz"], ["y"])], {"x": x},
        [("y", out, None)],
        {"w": w, "xs": scales(rows), "xz": ints(rows), "ws": scales(columns),
         "wz": ints(columns), "ys": np.float32(0.2), "yz": ints([])}), [x]


def recurrent(r):
    op = r.choice(["LSTM", "GRU", "RNN"])
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    time, batch, size, hidden = (r.randint(1, 4) for _ in range(4))
    direction = r.choice(["forward", "reverse", "bidirectional"])
    d = 2 if direction == "bidirectional" else 1
    own = {"hidden_size": hidden, "direction": direction}
    if op == "GRU":
        own["linear_before_reset"] = r.randint(0, 1)
    x = floats(r, [time, batch, size])
    lens = np.array([r.randint(1, time) for _ in range(batch)], np.int32)
    inputs, feeds = {"x": x}, [x]
    constants = {"w": floats(r, [d, gates * hidden, size]),
                 "r": floats(r, [d, gates * hidden, hidden])}
    names = ["x", "w", "r", "", "", "", ""]
    if r.random() < 0.7:
        names[3] = "b"
        constants["b"] = floats(r, [d, 2 * gates * hidden])
    how = r.random()
    if how < 0.8:
        names[4] = "l"
        if how < 0.4:
            inputs["l"] = lens
            feeds.append(lens)
        else:
            constants["l"] = lens
    for i in (5, 6)[:1 + (op == "LSTM")]:
        if r.random() < 0.5:
            names[i] = f"h{i}"
            constants[names[i]] = floats(r, [d, batch, hidden])
    names = names[:5 + (names[5] != "") + (op == "LSTM")]
    outputs = [("y", F, None), ("yh", F, None)]
    if op == "LSTM":
        outputs.append(("yc", F, None))
        if len(names) == 6 and names[5] == "":
            names.append("")
        if r.random() < 0.4:
            names += [""] * (7 - len(names)) + ["p"]
            constants["p"] = floats(r, [d, 3 * hidden])
    if r.random() < 0.2:
        own["clip"] = 0.5
    if r.random() < 0.2:
        one = {"LSTM": ["HardSigmoid", "Relu", "Tanh"],
               "GRU": ["Sigmoid", "Softsign"], "RNN": ["Relu"]}[op]
        own["activations"] = one * d
    return model_of(
        [helper.make_node(op, names, [o[0] for o in outputs], **own)], inputs,
        outputs, constants), feeds


class Expression:
    """Random arithmetic on the extents of x, by nodes."""

    def __init__(self, r):
        self.r, self.nodes, self.constants = r, [], {}

    def add(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name],
                                           **attributes))
        return name

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(value)
        return name

    def ints(self, depth):
        """A row of two ints."""
        r = self.r
        if depth == 0:
            if r.random() < 0.3:
                return self.constant(np.array([r.randint(1, 6),
                                               r.randint(1, 6)]))
            shape = self.add("Shape", "x")
            if r.random() < 0.5:
                return shape
            one = self.add("Gather", shape, self.constant(
                np.array(r.choice([[0, 0], [1, 0], [-1, 0]]))))
            return one
        op = r.choice(["Add", "Sub", "Mul", "Div", "Mod", "Min", "Max", "Neg",
                       "Abs", "Pow", "Clip", "Where", "ReduceMax", "ReduceSum",
                       "ReduceProd", "ReduceMin", "Half", "CumSum", "Scatter",
                       "Tile", "Slice", "Concat", "Squeeze", "Cast"])
        a = self.ints(depth - 1)
        if op in ("Add", "Sub", "Min", "Max"):
            return self.add(op, a, self.ints(depth - 1))
        if op == "Mul":
            return self.add(op, a, self.constant(np.array([r.randint(-2, 3)])))
        if op in ("Div", "Mod"):
            return self.add(op, a, self.constant(np.array([r.randint(1, 4)])))
        if op in ("Neg", "Abs"):
            return self.add(op, a)
        if op == "Pow":
            return self.add(op, a, self.constant(np.int64(2)))
        if op == "Clip":
            return self.add(op, a, self.constant(np.int64(r.randint(-3, 2))),
                            *[self.constant(np.int64(9))] * r.randint(0, 1))
        if op == "Where":
            b = self.ints(depth - 1)
            test = self.add(r.choice(["Greater", "Less", "Equal",
                                      "GreaterOrEqual", "LessOrEqual"]), a, b)
            if r.random() < 0.3:
                test = self.add("Not", test)
            return self.add(op, test, *r.choice([(a, b), (b, a),
                                                 (self.ints(0), b)]))
        if op.startswith("Reduce"):
            one = self.add(op, a, keepdims=1)
            return self.add("Concat", one, self.add(
                "Gather", a, self.constant(np.array([1]))), axis=0)
        if op == "Half":
            half = self.add(r.choice(["Div", "Mul"]),
                            self.add("Cast", a, to=F), self.constant(
                                np.float32(r.choice([2, 0.5, 4, 0.25]))))
            if r.random() < 0.7:
                half = self.add(r.choice(["Ceil", "Floor"]), half)
            return self.add("Cast", half, to=I)
        if op == "CumSum":
            return self.add(op, a, self.constant(np.int64(0)),
                            exclusive=r.randint(0, 1), reverse=r.randint(0, 1))
        if op == "Scatter":
            return self.add("ScatterElements", a, self.constant(np.array([1])),
                            self.add("Gather", self.ints(depth - 1),
                                     self.constant(np.array([0]))))
        if op == "Tile":
            twice = self.add("Tile", a, self.constant(np.array([2])))
            return self.add("Slice", twice, self.constant(np.array([1])),
                            self.constant(np.array([3])))
        if op == "Slice":
            return self.add("Slice", a, self.constant(np.array([1])),
                            self.constant(np.array([-9])),
                            self.constant(np.array([0])),
                            self.constant(np.array([-1])))
        if op == "Concat":
            parts = [self.add("Gather", self.ints(depth - 1),
                              self.constant(np.array([k]))) for k in (0, 1)]
            return self.add("Concat", *parts, axis=0)
        if op == "Squeeze":
            first = self.add("Squeeze", self.add("Gather", a, self.constant(
                np.array([0]))))
            return self.add("Expand", self.add("Unsqueeze", first,
                                               self.constant(np.array([0]))),
                            self.constant(np.array([2])))
        some = self.add("Cast", self.add("Cast", a, to=TensorProto.BOOL), to=I)
        return self.add("Add", some, self.ints(0))


def sizes(r):
    e = Expression(r)
    row = e.ints(r.randint(1, 4))
    bounded = e.add("Min", e.add("Max", row, e.constant(np.int64(1))),
                    e.constant(np.int64(12)))
    filled = e.add("ConstantOfShape", bounded)
    end = e.add("Gather", bounded, e.constant(np.array([0])))
    part = e.add("Slice", "x", e.constant(np.array([0])), end,
                 e.constant(np.array([0])))
    x = floats(r, [r.randint(1, 9), r.randint(1, 9)])
    model = model_of(e.nodes, {"x": x},
                     [(row, I, None), (filled, F, None), (part, F, None)],
                     e.constants, symbols=True)
    return model, [x]


def loops(r):
    """Trip counts and conditions that are constants, inputs, or computed."""
    x = floats(r, [r.randint(1, 3), 2])
    inputs, constants, feeds = {"x": x}, {"w": np.float32(0.5)}, [x]
    trips, go = "", ""
    how = r.choice(["input", "constant", "large", "none"])
    if how == "input":
        trips, inputs["n"] = "n", np.int64(r.randint(0, 5))
        feeds.append(inputs["n"])
    elif how == "constant":
        trips, constants["n"] = "n", np.int64(r.randint(0, 5))
    elif how == "large":
        trips, constants["n"] = "n", np.int64(r.choice([300, 2 ** 63 - 1]))
    stops = how in ("large", "none") or r.random() < 0.4
    if r.random() < 0.5:
        go, constants["go"] = "go", np.array(r.random() < 0.9)
    body = [helper.make_node("Mul", ["v", "w"], ["half"]),
            helper.make_node("Cast", ["i"], ["f"], to=F),
            helper.make_node("Add", ["half", "f"], ["v_out"])]
    if stops:
        constants["most"] = np.int64(r.randint(0, 6))
        body.append(helper.make_node(
            r.choice(["Less", "LessOrEqual"]), ["i", "most"], ["go_out"]))
    else:
        body.append(helper.make_node("Identity", ["go_in"], ["go_out"]))
    outs = [("go_out", TensorProto.BOOL, []), ("v_out", F, None)]
    results = [("y", F, None)]
    if r.random() < 0.7:
        body.append(helper.make_node("Mul", ["v_out", "x"], ["row"]))
        outs.append(("row", F, list(x.shape)))
        results.append(("rows", F, None))
    if r.random() < 0.4:
        body.append(helper.make_node("Neg", ["i"], ["back"]))
        outs.append(("back", I, []))
        results.append(("indices", I, None))
    graph = helper.make_graph(
        body, "body",
        [helper.make_tensor_value_info(*o) for o in (
            ("i", I, []), ("go_in", TensorProto.BOOL, []), ("v", F, None))],
        [helper.make_tensor_value_info(*o) for o in outs])
    nodes = [helper.make_node("Loop", [trips, go, "x"],
                              [o[0] for o in results], body=graph)]
    return model_of(nodes, inputs, results, constants, symbols=True), feeds


def main():
    kind, where = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 500
    r = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 0)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    refused = 0
    for i in range(count):
        model, inputs = globals()[kind](r)
        try:
            session = onnxruntime.InferenceSession(model.SerializeToString(),
                                                   options)
            names = [one.name for one in session.get_inputs()]
            outputs = session.run(None, dict(zip(names, inputs)))
        except Exception:
            refused += 1
            continue
        folder = os.path.join(where, f"{kind}_{i}")
        data = os.path.join(folder, "test_data_set_0")
        os.makedirs(data, exist_ok=True)
        write(os.path.join(folder, "model.onnx"), model)
        with open(os.path.join(folder, "tolerance"), "w") as f:
            f.write("1e-3 1e-5\n")
        for what, values in (("input", inputs), ("output", outputs)):
            for k, v in enumerate(values):
                write(os.path.join(data, f"{what}_{k}.pb"),
                      message_of(v, None))
    print(f"{count - refused} models, {refused} that ONNX Runtime refuses")


if __name__ == "__main__":
    main()
