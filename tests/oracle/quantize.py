#!/usr/bin/env python3
"""quantize -- what torch.ao's FX graph mode quantizes, call by call.

    quantize.py [--zoo DIR] [--cfx PROGRAM] [--write]

prepares, calibrates and converts the digits model, resnet18, mobilenet_v2 (of
the zoo), mobilenet_v3_small, a BERT layer and an LSTM tagger with
torch.ao.quantization.quantize_fx for x86, with all 256 integers for
activations, and compares with what PROGRAM quantizes; PROGRAM then runs what
PyTorch converted, whose integers may differ by one from what PyTorch makes of
the values before. --write writes ../golden/quantize/NAME.txt and the texts of
the last two models, by which tests/cli/quantize_fx.sh holds cfx to this without
PyTorch. README.md tells the form and the reasons.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import safetensors.torch
import torch
from torch import nn
from torch.ao.quantization import (HistogramObserver, QConfig, observer,
                                   get_default_qconfig_mapping, quantize_fx)

import fxtext
import golden
import seeded

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MODELS = os.path.join(ROOT, "models")
GOLDEN = os.path.join(ROOT, "tests", "golden", "quantize")
sys.path.insert(0, MODELS)
import export  # noqa: E402

IMAGES = os.path.join(MODELS, "digits_images.npy")
BATCH = 32

# ------------------------------------------------------------------- models


class BertLayer(nn.Module):
    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.dense = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.intermediate = nn.Linear(width, 4 * width)
        self.output = nn.Linear(4 * width, width)
        self.output_norm = nn.LayerNorm(width)

    def split(self, x):
        return x.reshape(2, 8, self.heads, 8).permute(0, 2, 1, 3)

    def forward(self, x):
        q, k, v = (self.split(f(x)) for f in (self.query, self.key,
                                              self.value))
        scores = torch.matmul(q, k.transpose(-1, -2)) * 0.35
        context = torch.matmul(torch.softmax(scores, -1), v)
        context = context.permute(0, 2, 1, 3).reshape(2, 8, 32)
        x = self.norm(self.dense(context) + x)
        y = nn.functional.gelu(self.intermediate(x))
        return self.output_norm(self.output(y) + x)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.lstm = nn.LSTM(16, 12, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(24, 7)

    def forward(self, words):
        states, _ = self.lstm(self.embedding(words))
        return self.tags(torch.relu(states))


SMALL = {"bert_layer": (BertLayer, "x", "f32[2,8,32]"),
         "lstm_tagger": (Tagger, "words", "i64[3,9]")}


def models(zoo):
    """(name, path of the text, input, specification or file)."""
    yield "digits", os.path.join(MODELS, "digits.fx"), "x", IMAGES
    for name, folder in [("resnet18", MODELS), ("mobilenet_v3_small", MODELS),
                         ("mobilenet_v2", zoo)]:
        path = os.path.join(folder, name + ".fx")
        if os.path.exists(path):
            yield name, path, "x", "f32[2,3,64,64]"
    for name, (_, given, spec) in SMALL.items():
        yield name, os.path.join(GOLDEN, name + ".fx"), given, spec


def traced(cls):
    return torch.fx.symbolic_trace(cls().eval())


def write_texts():
    for name, (cls, _, _) in SMALL.items():
        path = os.path.join(GOLDEN, name)
        export.export(traced(cls), path)
        os.remove(path + ".safetensors")


def load(name, path, given, spec):
    """The model with weights, and its batches."""
    model = (traced(SMALL[name][0]) if name in SMALL else fxtext.load(path))
    if spec == IMAGES:
        golden.load_weights(model, path[:-3] + ".safetensors")
        images = torch.from_numpy(np.load(IMAGES))
        return model, list(images.split(BATCH))
    seeded.fill_module(model, model.graph, 1)
    return model, golden.make_inputs(model, {given: spec}, 0)


# -------------------------------------------------------------- torch.ao


def mapping():
    """That of x86, without its halved range for products of 16 bits."""
    activation = HistogramObserver.with_args(reduce_range=False)
    result = get_default_qconfig_mapping("x86")
    for key, config in [*result.object_type_qconfigs.items()]:
        partial = getattr(config.activation, "p", None)
        if partial and partial.func is HistogramObserver:
            result.set_object_type(key, QConfig(activation, config.weight))
    return result.set_global(QConfig(
        activation, observer.default_per_channel_weight_observer))


def converted(model, batches):
    prepared = quantize_fx.prepare_fx(model, mapping(), (batches[0],))
    for batch in batches:
        prepared(batch)
    return quantize_fx._convert_to_reference_decomposed_fx(prepared)


# ------------------------------------------------------------------ calls

KINDS = {"iadd": "add", "imul": "mul", "hardtanh": "relu6", "mat_mul":
         "matmul"}
SKIPPED = {"dropout", "identity", "getattr", "size", "eq", "_assert"}


def kind(name):
    """conv2d for Conv2d, torch.conv2d and torch.conv2d_."""
    name = name.rsplit(".", 1)[-1].strip("_")
    if name != name.lower():
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
        name = name.replace("re_lu", "relu").replace("batch_norm2d",
                                                     "batch_norm")
    return KINDS.get(name, name)


def kinds_of(model, node):
    """The kinds of calls that a node makes: those of a fused module."""
    if node.op != "call_module" or not model:
        name = node.target
        return [kind(name if isinstance(name, str) else name.__name__)]
    module = model.get_submodule(node.target)
    parts = list(module) if isinstance(module, nn.Sequential) else [module]
    return [kind(type(part).__name__) for part in parts]


def params(node):
    """Type, scale and zero point by which a value is quantized."""
    return next((tuple(params_of(user)) for user in node.users
                 if params_of(user)), None)


def calls(graph, model=None):
    """(kind, params) of each input and call with users."""
    rows = []
    for node in graph.nodes:
        if node.op in ("get_attr", "output") or not node.users or \
                "quantized_decomposed" in str(node.target):
            continue
        kinds = ["placeholder"] if node.op == "placeholder" else \
            kinds_of(model, node)
        rows += [(k, None) for k in kinds[:-1]] + [(kinds[-1], params(node))]
    return [row for row in rows if row[0] not in SKIPPED]


def run_cfx(cfx, *args):
    return subprocess.run([cfx, *map(str, args)], check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def quantized(cfx, folder, path, given, spec):
    """The graph that cfx makes of it."""
    out = os.path.join(folder, "q.fx")
    weights = [] if spec == IMAGES else ["--random-weights", "1"]
    run_cfx(cfx, "quantize", path, *weights, "-q", "-o", out, "--calibrate",
            f"{given}={spec}", "--quantizer", "x86_all")
    with open(out, encoding="utf-8") as file:
        text = file.read()
    text = re.sub(" (meta = |as %).*", "", text[text.index("\ngraph(") + 1:])
    return fxtext.parse_graph(text)


# ---------------------------------------------------------------- reasons


def is_near(a, b):
    return a and b and abs(a[0] - b[0]) <= 1e-3 * a[0] and \
        abs(a[1] - b[1]) <= 1


def reason(rows, ours, i):
    """Why call i is quantized in another way; None: it is not."""
    name, theirs = rows[i]
    after = rows[i + 1][0] if i + 1 < len(rows) else ""
    mine = ours[i][1]
    if bool(theirs) == bool(mine) and (not theirs or is_near(theirs, mine)):
        return None
    if theirs and not mine and after in ("relu", "relu6"):
        return "fused"
    if theirs and not mine and name in PASSES:
        return "float"
    if theirs and mine and name in OWN | PASSES:
        return "own"
    if name == "softmax" and mine:
        return "softmax"
    return "unknown"


OWN = {"relu", "relu6", "add", "mul"}
PASSES = {"adaptive_avg_pool2d", "flatten", "getitem", "permute", "reshape",
          "transpose"}


def compare(rows, ours):
    """The lines of a golden."""
    if [r[0] for r in rows] != [r[0] for r in ours]:
        raise SystemExit(f"other calls:\n{rows}\n{ours}")
    for i, (name, theirs) in enumerate(rows):
        text = f"{theirs[0]:.6g} {theirs[1]}" if theirs else "float"
        why = reason(rows, ours, i)
        if why == "unknown":
            print(f"    {i} {name}: {theirs}, cfx {ours[i][1]}")
        yield f"{name} {text}" + (f" # {why}" if why else ""), why


# --------------------------------------------------------------- the whole


def save_text(model, path):
    """A converted model as PyTorch prints it, and its tensors."""
    with open(path + ".fx", "w", encoding="utf-8") as file:
        file.write(f"{model!r}\n\n{model.graph}\n")
    safetensors.torch.save_file(
        {k: v.contiguous().clone() for k, v in model.state_dict().items()
         if isinstance(v, torch.Tensor)}, path + ".safetensors")


class Beside(torch.fx.Interpreter):
    """PyTorch's run of a converted model in which each quantized value is the
    one that cfx has, after it was compared with PyTorch's."""

    def __init__(self, model, folder):
        super().__init__(model)
        self.folder = folder
        self.largest = self.differ = self.total = 0

    def run_node(self, n):
        value = super().run_node(n)
        if params_of(n) is None:
            return value
        ours = torch.from_numpy(np.load(file_of(self.folder, n)))
        steps = (ours.int() - value.int()).abs()
        self.largest = max(self.largest, int(steps.max()))
        self.differ += int((steps > 0).sum())
        self.total += steps.numel()
        return ours


def params_of(n):
    return n.args[1:3] if getattr(n.target, "_opname", "") == \
        "quantize_per_tensor" else None


def file_of(folder, n):
    return os.path.join(folder, n.name + ".npy")


@torch.no_grad()
def quanta(cfx, folder, model, batch, given):
    """How far quantized values of cfx's run of a converted model are from what
    PyTorch makes of the same values before, in quanta at most, and the part of
    them that differs."""
    path, data = os.path.join(folder, "ao"), os.path.join(folder, "in.npy")
    save_text(model, path)
    np.save(data, batch.numpy())
    saved = [word for n in model.graph.nodes if params_of(n)
             for word in ("--save", f"{n.name}={file_of(folder, n)}")]
    run_cfx(cfx, "run", path + ".fx", "-i", f"{given}={data}", *saved)
    beside = Beside(model, folder)
    beside.run(batch)
    return beside.largest, beside.differ / beside.total


@torch.no_grad()
def write_converted(folder, name, model, batches):
    """What FX graph mode makes of it, and its results for four images."""
    save_text(model, os.path.join(folder, name + "_ao"))
    with open(os.path.join(folder, name + "_ao.txt"), "w",
              encoding="utf-8") as file:
        file.write(" ".join([name] + [f"{v:.9g}" for v in
                                      model(batches[0][:4]).flatten()]) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--zoo", default="/nonexistent")
    parser.add_argument("--cfx", default="cfx")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    unknown = 0
    if options.write:
        os.makedirs(GOLDEN, exist_ok=True)
        write_texts()
    for name, path, given, spec in models(options.zoo):
        with tempfile.TemporaryDirectory() as folder:
            ours = calls(quantized(options.cfx, folder, path, given, spec))
            model, batches = load(name, path, given, spec)
            reference = converted(model, batches)
            steps = quanta(options.cfx, folder, reference, batches[0], given)
            lines = list(compare(calls(reference.graph, reference), ours))
        whys = [why for _, why in lines if why]
        unknown += whys.count("unknown") + (steps[0] > 1)
        print(f"{name}: {len(lines)} calls, {len(whys)} with a reason "
              f"({', '.join(sorted(set(whys)))}); run by cfx, {steps[1]:.3%} "
              f"of the integers differ, by {steps[0]} at most")
        if options.write:
            with open(os.path.join(GOLDEN, name + ".txt"), "w",
                      encoding="utf-8") as file:
                file.writelines(line + "\n" for line, _ in lines)
            if name == "digits":
                write_converted(GOLDEN, name, reference, batches)
    return unknown > 0


if __name__ == "__main__":
    sys.exit(main())
