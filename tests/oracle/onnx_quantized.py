#!/usr/bin/env python3
"""onnx_quantized.py DIR | --write CFX -- quantized models and ONNX Runtime.

DIR gets a small network and a product of matrices, quantized by ONNX Runtime with
activations in uint8, in int8, and by the range of each run; and its results on an
input: golden/onnx_quantized.

--write lets CFX quantize models, statically, in each run, and their weights only, and
write them as ONNX. ONNX Runtime must load them, compute what CFX does, and with
integers.
"""
import collections
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnx
import onnxruntime
import torch
from onnxruntime import quantization as q
from torch import nn
from torch.nn import functional as F

warnings.filterwarnings("ignore")
torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, stride=2)
        self.a = nn.Conv2d(16, 16, 3, padding=1)
        self.b = nn.Conv2d(16, 16, 1)
        self.depthwise = nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.fc = nn.Linear(32, 12)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.stem(x)), 2, 1)
        y = F.relu(self.a(x) + self.b(x))
        x = torch.cat([y, F.relu6(self.depthwise(y))], 1)
        return self.fc(x.mean((2, 3)))


class Rows(nn.Module):
    """Layers of rows, which are MatMul and Add in ONNX."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(32)
        self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


MODELS = {"net": (Net, (1, 3, 16, 16)), "rows": (Rows, (1, 6, 32))}


class Data(q.CalibrationDataReader):
    def __init__(self, shape):
        self.rows = iter(inputs(shape, 8))

    def get_next(self):
        x = next(self.rows, None)
        return None if x is None else {"x": x}


def inputs(shape, count):
    r = np.random.default_rng(1)
    return [r.standard_normal(shape).astype(np.float32) for _ in range(count)]


def model_of(name):
    torch.manual_seed(0)
    make, shape = MODELS[name]
    return make().eval(), torch.from_numpy(inputs(shape, 1)[0])


def run(path, x, optimizes=True):
    """The result, and the operators that ONNX Runtime makes of the model."""
    o = onnxruntime.SessionOptions()
    o.log_severity_level = 3
    o.intra_op_num_threads = 1
    o.optimized_model_filepath = path + ".optimized"
    if not optimizes:
        o.graph_optimization_level = \
            onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    s = onnxruntime.InferenceSession(path, o, ["CPUExecutionProvider"])
    y = s.run(None, {s.get_inputs()[0].name: x})[0]
    nodes = onnx.load(path + ".optimized").graph.node
    os.remove(path + ".optimized")
    return y, collections.Counter(n.op_type for n in nodes)


def write_models(folder):
    kinds = {"u8": q.QuantType.QUInt8, "s8": q.QuantType.QInt8}
    for name, (_, shape) in MODELS.items():
        model, x = model_of(name)
        path = os.path.join(folder, name)
        np.save(path + ".npy", x.numpy())
        with tempfile.TemporaryDirectory() as d:
            plain = os.path.join(d, "plain.onnx")
            torch.onnx.export(model, (x,), plain, input_names=["x"],
                              output_names=["y"], opset_version=17,
                              dynamo=False)
            for kind, of in kinds.items():
                q.quantize_static(plain, f"{path}_{kind}.onnx", Data(shape),
                                  activation_type=of, per_channel=True,
                                  weight_type=q.QuantType.QInt8)
            q.quantize_dynamic(plain, f"{path}_dynamic.onnx")
        for kind in [*kinds, "dynamic"]:
            np.save(f"{path}_{kind}.npy",
                    run(f"{path}_{kind}.onnx", x.numpy())[0])


def ratio(a, b):
    """Of signal to noise, in dB."""
    noise = np.square(a.astype(np.float64) - b).sum()
    return 10 * np.log10(np.square(a.astype(np.float64)).sum() /
                         max(noise, 1e-300))


# How cfx quantizes, and what ONNX Runtime must make of layers. It multiplies by
# weights of 8 and 4 bits with activations that it rounds to 8 bits.
HOW = {
    "static": (["--calibrate"], {"QLinearConv", "QGemm"}, 40),
    "dynamic": (["--dynamic"], {"DynamicQuantizeMatMul"}, 100),
    "rows": (["--quantizer", "dynamic_per_token"], set(), 30),
    "int8": (["--weights-only", "int8"], {"MatMulNBits"}, 30),
    "int4": (["--weights-only", "int4", "--group", "32"], {"MatMulNBits"}, 30),
    "asymmetric": (["--weights-only", "int4", "--asymmetric"], {"MatMulNBits"},
                   30),
}


def check(cfx, name, how, folder):
    options, fused, least = HOW[how]
    model, x = model_of(name)
    pt2, data, fx, path, out = (
        os.path.join(folder, k)
        for k in ("m.pt2", "x.npy", "q.fx", "q.onnx", "out"))
    torch.export.save(torch.export.export(model, (x,)), pt2)
    np.save(data, x.numpy())
    if options == ["--calibrate"]:
        options = options + [data, "--batch", str(len(x))]
    for command in (["quantize", pt2, "-q", "-o", fx, *options],
                    ["convert", fx, path, "-i", data],
                    ["run", fx, "-i", data, "-O", out]):
        subprocess.run([cfx, *command], check=True,
                       stdout=subprocess.DEVNULL)
    onnx.checker.check_model(onnx.load(path), full_check=True)
    y = np.load(os.path.join(out, os.listdir(out)[0]))
    plain = ratio(y, run(path, x.numpy(), False)[0])
    z, ops = run(path, x.numpy())
    ok = ratio(y, z) >= least and plain >= min(least, 60) and \
        (not fused or fused & set(ops))
    print(f"{'ok' if ok else 'FAIL'} {name} {how}: {plain:.0f} dB, "
          f"optimized {ratio(y, z):.0f} dB, {dict(ops)}")
    return ok


def main():
    if sys.argv[1] != "--write":
        os.makedirs(sys.argv[1], exist_ok=True)
        write_models(sys.argv[1])
        return
    failed = 0
    for name in MODELS:
        for how in HOW:
            with tempfile.TemporaryDirectory() as d:
                failed += not check(sys.argv[2], name, how, d)
    print(f"{len(MODELS) * len(HOW) - failed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
