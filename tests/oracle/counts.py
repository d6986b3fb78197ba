"""counts -- how many parameters and buffers models have, by PyTorch.

    counts.py FOLDER

writes small models to FOLDER by the recipe of doc/models.md (an export, one in
Core ATen, a subclass of Conv3d, a bare parameter, bfloat16), and counts.txt: a
line `MODEL INPUT MODULE PARAMETERS` for each module that has any, `(model)` the
whole, and `MODEL INPUT (buffers) BYTES`. tests/cli/counts.sh holds cfx to them.
"""

import os
import sys

import safetensors.torch
import torch
from torch import nn


class Encoder(nn.Module):
    """Its bare parameter and buffer come before and after its modules."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(8))
        self.emb = nn.Embedding(10, 8)
        self.enc = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True)
        self.unused = nn.Linear(7, 7)
        self.bn = nn.BatchNorm1d(4)
        self.register_buffer("pos", torch.zeros(4, 8))

    def forward(self, x):
        return self.bn(self.enc(self.emb(x) * self.scale + self.pos))


class Conv3DSimple(nn.Conv3d):
    """Traced through, and of a type that torch.nn does not have."""


class Video(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = Conv3DSimple(3, 4, (3, 3, 3), bias=False)
        self.gamma = nn.Parameter(torch.ones(4, 1, 1, 1))
        self.register_buffer("table", torch.arange(4))
        self.bn = nn.BatchNorm3d(4)

    def forward(self, x):
        return self.bn(self.conv(x) * self.gamma) + self.table[0]


class Tracer(torch.fx.Tracer):
    def is_leaf_module(self, m, path):
        return super().is_leaf_module(m, path) and not isinstance(
            m, Conv3DSimple)


def traced(model):
    return torch.fx.GraphModule(model, Tracer().trace(model),
                                type(model).__name__)


def exported(model, x):
    return torch.export.export(model, (x,))


def save(gm, path):
    with open(path + ".fx", "w", encoding="utf-8") as file:
        file.write(f"{gm!r}\n\n{gm.graph}\n")
    safetensors.torch.save_file(
        {k: v.detach().clone(memory_format=torch.contiguous_format)
         for k, v in [*gm.named_parameters(remove_duplicate=False),
                      *gm.named_buffers(remove_duplicate=False)]},
        path + ".safetensors")
    os.chmod(path + ".safetensors", 0o644)


def count(file, name, spec, gm):
    """A module whose state another one's forward reads is not in the graph."""
    for path, module in gm.named_modules():
        n = sum(p.numel() for p in module.parameters())
        if n:
            file.write(f"{name} {spec} {path or '(model)'} {n}\n")
    size = sum(b.numel() * b.element_size() for b in gm.buffers())
    file.write(f"{name} {spec} (buffers) {size}\n")


def main(folder):
    torch.manual_seed(0)
    ids = torch.zeros(2, 4, dtype=torch.int64)
    encoder = exported(Encoder().eval(), ids)
    models = {
        "export": ("x=i64[2,4]", encoder.module()),
        "core": ("x=i64[2,4]", encoder.run_decompositions().module()),
        "video": ("x=f32[1,3,4,6,6]", traced(Video().eval())),
        "bf16": ("x=bf16[1,3,4,6,6]", traced(Video().eval().bfloat16())),
    }
    with open(os.path.join(folder, "counts.txt"), "w",
              encoding="utf-8") as file:
        for name, (spec, gm) in models.items():
            save(gm, os.path.join(folder, name))
            count(file, name, spec, gm)


main(sys.argv[1])
