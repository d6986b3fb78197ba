#!/usr/bin/env python3
"""quantized_tensors -- does cfx run what torch.ao's convert_to_reference_fx makes?

    quantized_tensors.py CFX       compare the results
    quantized_tensors.py --golden  write golden/quantize/reference.*

CFX is the program. The graphs have quantized tensors (torch.quint8), which cfx reads
as integers with a scale beside them. Results may differ by one quantum of the last
tensor; also where cfx has made one graph of the modules and optimized it.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import safetensors.torch
import torch
from torch import nn
from torch.ao.quantization import (default_dynamic_qconfig,
                                   get_default_qconfig_mapping, QConfigMapping,
                                   quantize_fx)
from torch.nn import functional as F

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


def prepared(name):
    torch.manual_seed(0)
    if name == "net":
        model, x = Net(), torch.randn(2, 3, 8, 8)
    elif name == "functions":
        model, x = Functions(), torch.randn(3, 2, 5)
    else:
        model, x = nn.Sequential(nn.Linear(6, 8), nn.ReLU(),
                                 nn.Linear(8, 3)), torch.randn(4, 6)
    config = QConfigMapping().set_global(default_dynamic_qconfig) \
        if name == "dynamic" else get_default_qconfig_mapping("x86")
    made = quantize_fx.prepare_fx(model.eval(), config, (x,))
    with torch.no_grad():
        for _ in range(3):
            made(x + torch.randn_like(x) / 4)
    return made, x


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
    """The largest scale by which the last results are quantized."""
    scales = [float(v.max()) for k, v in model.state_dict().items()
              if "scale" in k and isinstance(v, torch.Tensor)]
    return max(scales + [1e-6])


def run(cfx, path, *more):
    out = path + ".out"
    subprocess.run([cfx, "run", path + ".fx", "-i", f"{path}.npy", "-O", out,
                    *more], check=True, capture_output=True)
    return torch.from_numpy(np.load(out + "/output.npy"))


def check(cfx, name, folder):
    made, x = prepared(name)
    model = quantize_fx.convert_to_reference_fx(made)
    path = os.path.join(folder, name)
    save(model, x, path)
    with torch.no_grad():
        want = model(x)
    step = quantum(model, x)
    subprocess.run([cfx, "transform", path + ".fx", "inline_modules",
                    "constant_folding", "-o", path + "_one.fx"], check=True,
                   capture_output=True)
    os.link(path + ".npy", path + "_one.npy")
    off = [float((run(cfx, *how) - want).abs().max()) / step
           for how in ((path,), (path + "_one",),
                       (path + "_one", "--optimize"))]
    print(f"{name}: off by {off[0]:.2g} quanta, in one graph {off[1]:.2g}, "
          f"optimized {off[2]:.2g}")
    return max(off[:2]) < 1.01 and off[2] < 2.01


def golden():
    made, x = prepared("net")
    model = quantize_fx.convert_to_reference_fx(made)
    save(model, x, str(GOLDEN / "reference"))
    with torch.no_grad(), open(GOLDEN / "reference.txt", "w",
                               encoding="utf-8") as file:
        print(f"output f32[2, 5]\n{model(x)}", file=file)


def main(words):
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if words == ["--golden"]:
        golden()
        return 0
    with tempfile.TemporaryDirectory() as folder:
        good = [check(os.path.abspath(words[0]), name, folder)
                for name in ("net", "functions", "dynamic")]
    return not all(good)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
