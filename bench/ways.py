"""ways -- one network by every way in: what `cfx optimize` makes of each.

    make bench-of-ways PYTHON=python3 WAYS_FLAGS='resnet18 googlenet'

A model of torchvision, or "encoder", one whose attention is written as products and
softmax, is written with seeded weights as the text of torch.fx, by torch.export, as
Core ATen, and by both ONNX exporters of PyTorch.  Each file is
optimized and run on one input.  The table has the fastest run in ms, the largest
difference from PyTorch relative to its largest result, and how many calls of each
operator there are, without getitem.  The way should not matter.  Status 1: it does,
by an operator of cfx or a difference above 1e-5.
"""

import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "oracle"))
import vision  # noqa: E402, F401: lets torchvision be imported
import torchvision  # noqa: E402

WAYS = {"torch.fx": "fx.fx", "torch.export": "export.pt2",
        "Core ATen": "core.pt2", "ONNX": "dynamo.onnx",
        "ONNX, traced": "traced.onnx"}


class Layer(torch.nn.Module):
    """A layer of an encoder, as BERT has them."""

    def __init__(self, width, heads):
        super().__init__()
        linear = torch.nn.Linear
        self.q, self.k, self.v, self.out = (linear(width, width)
                                            for _ in range(4))
        self.up, self.down = linear(width, 4 * width), linear(4 * width, width)
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(width)
                                         for _ in range(2))
        self.dropout, self.heads = torch.nn.Dropout(0.1), heads

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)

    def forward(self, x, mask):
        q, k, v = (self.split(f(x)) for f in (self.q, self.k, self.v))
        scale = (self.q.in_features // self.heads) ** 0.5
        scores = torch.matmul(q, k.transpose(-1, -2)) / scale
        weights = torch.softmax(scores + mask, dim=-1)
        y = torch.matmul(self.dropout(weights), v).transpose(1, 2)
        y = self.out(y.contiguous().view(x.size(0), x.size(1), -1))
        x = self.norms[0](x + self.dropout(y))
        y = self.down(torch.nn.functional.gelu(self.up(x)))
        return self.norms[1](x + self.dropout(y))


class Encoder(torch.nn.Module):
    def __init__(self, width=768, heads=12, layers=4):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer(width, heads)
                                          for _ in range(layers))

    def forward(self, x, seen):
        mask = (1.0 - seen[:, None, None, :]) * torch.finfo(torch.float32).min
        for layer in self.layers:
            x = layer(x, mask)
        return x


def inputs_of(name):
    if name != "encoder":
        return (torch.randn(1, 3, 224, 224),)
    seen = torch.ones(1, 128)
    seen[:, 100:] = 0
    return torch.randn(1, 128, 768), seen


def seeded(name):
    torch.manual_seed(0)
    model = (Encoder() if name == "encoder"
             else getattr(torchvision.models, name)(weights=None)).eval()
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.uniform_(-0.1, 0.1)
            module.running_var.uniform_(0.8, 1.2)
    return model


def write(model, inputs, where):
    """The model by all ways, in a folder."""
    traced = torch.fx.symbolic_trace(model)
    with open(os.path.join(where, "fx.fx"), "w", encoding="utf-8") as out:
        out.write(f"{traced!r}\n\n{traced.graph}\n")
    save_file({k: v.clone().contiguous()
               for k, v in traced.state_dict().items()},
              os.path.join(where, "fx.safetensors"))
    program = torch.export.export(model, inputs)
    torch.export.save(program, os.path.join(where, "export.pt2"))
    torch.export.save(program.run_decompositions(),
                      os.path.join(where, "core.pt2"))
    torch.onnx.export(model, inputs, os.path.join(where, "dynamo.onnx"),
                      dynamo=True, external_data=False, verbose=False)
    torch.onnx.export(model, inputs, os.path.join(where, "traced.onnx"),
                      dynamo=False)


def measure(cfx, path, inputs, where, runs):
    """The operators that are called, the fastest run in ms, and the result."""
    fast, out = os.path.join(where, "fast.fx"), os.path.join(where, "out")
    given, shapes = [], []
    for i, x in enumerate(inputs):
        given += ["-i", os.path.join(where, f"{i}.npy")]
        shapes += ["-i", "f32" + str(list(x.shape))]
    subprocess.run([cfx, "optimize", path, "-q", *shapes, "-o", fast],
                   check=True)
    with open(fast, encoding="utf-8") as text:
        names = re.findall(r"call_\w+\[target=([^\]]*)\]", text.read())
    run = [cfx, "run", fast, "-t", "1", *given]
    said = subprocess.run(run + ["--repeat", str(runs), "--top", "1"],
                          check=True, text=True, capture_output=True)
    subprocess.run(run + ["-O", out], check=True)
    ms = re.search(r"fastest ([0-9.]+) ms", said.stdout + said.stderr)
    result = np.load(os.path.join(out, os.listdir(out)[0]))
    return collections.Counter(names), float(ms[1]), result


def compare(name, cfx, runs):
    model, inputs, same = seeded(name), inputs_of(name), True
    want = model(*inputs).detach().numpy()
    first = None
    with tempfile.TemporaryDirectory() as where:
        for i, x in enumerate(inputs):
            np.save(os.path.join(where, f"{i}.npy"), x.numpy())
        write(model, inputs, where)
        for way, file in WAYS.items():
            calls, ms, got = measure(cfx, os.path.join(where, file), inputs,
                                     where, runs)
            off = abs(got - want).max() / abs(want).max()
            own = {k: n for k, n in calls.items() if ".cfx." in k}
            first = first or own
            same = same and own == first and off < 1e-5
            words = ", ".join(f"{n} {k.removeprefix('torch.ops.')}"
                              for k, n in calls.most_common()
                              if k != "operator.getitem")
            print(f"| {name} | {way} | {ms:.3f} | {off:.1e} | {words} |",
                  flush=True)
    return same


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cfx")
    parser.add_argument("models", nargs="*", default=[
        "resnet18", "mobilenet_v2", "mobilenet_v3_small", "efficientnet_b0",
        "densenet121", "convnext_tiny", "encoder"])
    parser.add_argument("-n", type=int, default=20, help="runs of each")
    args = parser.parse_intermixed_args()
    warnings.simplefilter("ignore")
    print("| model | way | ms | difference | calls |\n|---|---|---|---|---|")
    return 0 if all([compare(name, args.cfx, args.n)
                     for name in args.models]) else 1


if __name__ == "__main__":
    sys.exit(main())
