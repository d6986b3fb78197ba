#!/usr/bin/env python3
"""quantized_tensors -- does cfx run what torch.ao's convert_to_reference_fx and
convert_fx make?

    quantized_tensors.py CFX [NAME...]  compare the results
    quantized_tensors.py --golden       write golden/quantize/reference.*, lowered.*

CFX is the program. The graphs have quantized tensors (torch.quint8), which cfx reads
as integers with a scale beside them. Results may differ by one quantum of the last
tensor; also where cfx has made one graph of the modules and optimized it. Networks
of torchvision add up what they round: their results may differ by eight.
"""

import copy
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import safetensors.torch
import torch
from torch import fx, nn
from torch.ao.quantization import (default_dynamic_qconfig,
                                   float_qparams_weight_only_qconfig,
                                   get_default_qconfig_mapping, QConfigMapping,
                                   quantize_fx)
from torch.nn import functional as F

import vision

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "models"))
from export import export_quantized  # noqa: E402

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden" / "quantize"


class Net(nn.Module):
    """Of each kind of call one, between a convolution and a linear layer."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.bn = nn.BatchNorm2d(4)
        self.more = nn.Conv2d(4, 4, 3)
        self.fc = nn.Linear(4, 5)

    def forward(self, x):
        x = torch.relu(self.bn(self.conv(x)))
        y = self.more(x)
        z = torch.cat([y + x[:, :, 1:-1, 1:-1], y], 1)[:, :4]
        return self.fc(F.max_pool2d(z, 2).mean((2, 3)))


class Functions(nn.Module):
    """Weights that are quantized in the graph."""

    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.randn(6, 5))
        self.k = nn.Parameter(torch.randn(4, 2, 3))

    def forward(self, x):
        y = F.relu(F.linear(x, self.a))
        return torch.matmul(F.conv1d(y, self.k), y[:, :1, :4].transpose(1, 2))


class Modules(nn.Module):
    """Of each kind of module one, and functions with packed weights."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, bias=False)
        self.leaky = nn.LeakyReLU(0.1)
        self.norm = nn.LayerNorm(6)
        self.bn = nn.BatchNorm2d(8)
        self.relu = nn.ReLU()
        self.elu = nn.ELU()
        self.swish = nn.Hardswish()
        self.drop = nn.Dropout(0.1)
        self.gate = nn.Hardsigmoid()
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.weight = nn.Parameter(torch.randn(5, 2))
        self.kernel = nn.Parameter(torch.randn(8, 4, 3, 3))
        self.bias = nn.Parameter(torch.randn(8))
        self.fc = nn.Linear(5, 5, bias=False)

    def forward(self, x):
        x = self.norm(self.leaky(self.conv(x)))
        x = self.elu(self.relu(self.bn(x)))
        x = F.conv2d(x, self.kernel, self.bias, [1, 1], [1, 1], [1, 1], 2)
        x = F.hardswish(self.drop(self.swish(x)) * self.gate(x))
        x = F.relu(F.linear(self.pool(x), self.weight))
        x = torch.sigmoid(x) * torch.tanh(self.fc(x))
        return x.transpose(1, 2).reshape(x.shape[0], -1)


class Tagger(nn.Module):
    """Dynamic layers, whose table is quantized too."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(20, 8)
        self.weight = nn.Parameter(torch.randn(8, 8))
        self.mlp = nn.Sequential(nn.Linear(8, 12), nn.ReLU(),
                                 nn.Linear(12, 4, bias=False))

    def forward(self, x):
        return self.mlp(F.linear(self.table(x), self.weight))


class Bert(nn.Module):
    """A layer of BERT."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.ModuleList(nn.Linear(32, 32) for _ in range(3))
        self.out = nn.Linear(32, 32)
        self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)
        self.norm1, self.norm2 = nn.LayerNorm(32), nn.LayerNorm(32)

    def forward(self, x):
        q, k, v = (f(x).view(2, 5, 4, 8).permute(0, 2, 1, 3)
                   for f in self.qkv)
        scores = torch.matmul(q, k.transpose(-1, -2)) * 8 ** -0.5
        y = torch.matmul(torch.softmax(scores, -1), v)
        y = y.permute(0, 2, 1, 3).reshape(2, 5, 32)
        x = self.norm1(x + self.out(y))
        return self.norm2(x + self.down(F.gelu(self.up(x))))


class Recurrent(nn.Module):
    """Dynamic layers that a state goes through."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 6, 2, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(12, 5)
        self.fc = nn.Linear(5, 4)

    def forward(self, x):
        return self.fc(self.gru(self.lstm(x)[0])[0])


DYNAMIC = QConfigMapping().set_global(default_dynamic_qconfig)
NETWORKS = ("resnet18", "mobilenet_v2", "mobilenet_v3_small")


def made(name):
    """A model, its input and its configuration."""
    x86 = get_default_qconfig_mapping("x86")
    if name in NETWORKS:
        import torchvision
        model = getattr(torchvision.models, name)().train()
        with torch.no_grad():
            for _ in range(20):
                model(torch.randn(4, 3, 64, 64))
        return model, torch.randn(2, 3, 64, 64), x86
    table = float_qparams_weight_only_qconfig
    return {
        "net": lambda: (Net(), torch.randn(2, 3, 8, 8), x86),
        "functions": lambda: (Functions(), torch.randn(3, 2, 5), x86),
        "modules": lambda: (Modules(), torch.randn(2, 3, 8, 8), x86),
        "bert": lambda: (Bert(), torch.randn(2, 5, 32), x86),
        "bert_dynamic": lambda: (Bert(), torch.randn(2, 5, 32), DYNAMIC),
        "recurrent": lambda: (Recurrent(), torch.randn(3, 7, 8), DYNAMIC),
        "dynamic": lambda: (nn.Sequential(nn.Linear(6, 8), nn.ReLU(),
                                          nn.Linear(8, 3)),
                            torch.randn(4, 6), DYNAMIC),
        "tagger": lambda: (Tagger(), torch.randint(20, (2, 7)),
                           QConfigMapping().set_global(
                               default_dynamic_qconfig).set_object_type(
                                   nn.Embedding, table)),
    }[name]()


def prepared(name):
    torch.manual_seed(0)
    model, x, config = made(name)
    prepared = quantize_fx.prepare_fx(model.eval(), config, (x,))
    with torch.no_grad():
        for _ in range(3):
            prepared(x + torch.randn_like(x) / 4 if x.is_floating_point()
                     else x)
    return prepared, x


def save(model, x, path):
    """The text, the weights and the input of a model."""
    tree = repr(model).split("\n\n\n")[0]
    with open(path + ".fx", "w", encoding="utf-8") as file:
        file.write(f"{tree}\n\n{model.graph}\n")
    safetensors.torch.save_file(
        {k: v.contiguous().clone() for k, v in model.state_dict().items()
         if isinstance(v, torch.Tensor)}, path + ".safetensors")
    np.save(path + ".npy", x.numpy())


def quantum(model, x):
    """The scale of the last quantized tensor of a reference model; 1e-6 if there
    is none."""
    scales = [1e-6]

    class Walk(fx.Interpreter):
        def run_node(self, n):
            y = super().run_node(n)
            if n.target is torch.quantize_per_tensor:
                scales.append(y.q_scale())
            return y

    Walk(model).run(x)
    return scales[-1]


def run(cfx, path, *more):
    out = path + ".out"
    subprocess.run([cfx, "run", path + ".fx", "-i", f"{path}.npy", "-O", out,
                    "--assume-defaults", *more], check=True, capture_output=True)
    return torch.from_numpy(np.load(out + "/output.npy"))


def differences(cfx, path, x, want, step):
    """In quanta: of the model, in one graph, and optimized."""
    np.save(path + ".npy", x.numpy())
    subprocess.run([cfx, "transform", path + ".fx", "inline_modules",
                    "constant_folding", "--assume-defaults", "-o",
                    path + "_one.fx"], check=True, capture_output=True)
    np.save(path + "_one.npy", x.numpy())
    return [float((run(cfx, *how) - want).abs().max()) / step
            for how in ((path,), (path + "_one",),
                        (path + "_one", "--optimize"))]


def check(cfx, name, folder):
    made, x = prepared(name)
    path = os.path.join(folder, name)
    model = quantize_fx.convert_to_reference_fx(copy.deepcopy(made))
    with torch.no_grad():
        want = model(x)
        step = quantum(model, x)
    most = 8 if name in NETWORKS else 1
    good = True
    if name not in ("tagger", "recurrent"):
        # Tables and recurrent layers have no reference modules in cfx.
        save(model, x, path)
        off = differences(cfx, path, x, want, step)
        print(f"{name}: off by {off[0]:.2g} quanta, in one graph "
              f"{off[1]:.2g}, optimized {off[2]:.2g}")
        good = max(off[:2]) < most + 0.01 and off[2] < most + 1.01
    if name == "functions":    # without a bias torch.ao cannot pack a weight
        return good
    model = quantize_fx.convert_fx(made)
    export_quantized(model, path)
    with torch.no_grad():
        lowered = model(x)
    off = differences(cfx, path, x, lowered, step)
    theirs = float((want - lowered).abs().max()) / step
    print(f"{name}, lowered: off by {off[0]:.2g} quanta, in one graph "
          f"{off[1]:.2g}, optimized {off[2]:.2g}; torch.ao's reference by "
          f"{theirs:.2g}")
    return good and max(off) < max(most, theirs) + 1.01


def golden():
    for name, of, convert, write in (
            ("reference", "net", quantize_fx.convert_to_reference_fx, save),
            ("lowered", "modules", quantize_fx.convert_fx,
             lambda model, _, path: export_quantized(model, path))):
        made, x = prepared(of)
        model = convert(made)
        path = GOLDEN / name
        write(model, x, str(path))
        np.save(str(path) + ".npy", x.numpy())
        with torch.no_grad(), open(f"{path}.txt", "w",
                                   encoding="utf-8") as file:
            y = model(x)
            print(f"output f32{list(y.shape)}\n{y}", file=file)


def main(words):
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if words == ["--golden"]:
        golden()
        return 0
    names = words[1:] or ["net", "functions", "modules", "bert",
                          "bert_dynamic", "dynamic", "recurrent",
                          "tagger", *NETWORKS]
    with tempfile.TemporaryDirectory() as folder:
        good = [check(os.path.abspath(words[0]), name, folder)
                for name in names]
    return not all(good)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
