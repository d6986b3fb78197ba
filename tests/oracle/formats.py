#!/usr/bin/env python3
"""formats -- the strides of results, on arguments of every memory layout.

    formats.py PROGRAM [-s SEED] [-n COUNT] [NAME...]
                                 compare random cases with tests/case_tests
    formats.py --write           write ../cases/formats.cases, a part of them

Each generator makes one call of an operator that chooses a memory format, in
the grammar of opcases.py.  Its tensors are plain, channels_last, slices,
permuted, expanded, or have extents of 1 with strides that mean nothing.
PROGRAM compares values, shapes, strides and types with what PyTorch computes
on the CPU.  NAMEs choose generators.
"""

import argparse
import itertools
import math
import os
import random
import re
import subprocess
import sys
import tempfile
import warnings

import torch

import opcases

F = "torch.nn.functional."

# ----------------------------------------------------------------- layouts


def row_major(shape, order=None):
    """Dense strides; `order` names the axes from the outermost inwards."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(order or range(len(shape))):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return strides


def channels_last(shape):
    return row_major(shape, [0, *range(2, len(shape)), 1])


def cut(r, shape, dense):
    """A slice of a larger tensor: some extents were longer, some steps 2."""
    larger = [n + r.choice([0, 0, 1, 2]) for n in shape]
    steps = [r.choice([1, 1, 1, 2]) for _ in shape]
    larger = [(n - 1) * s + 1 + n - m if m else n
              for n, m, s in zip(larger, shape, steps)]
    return [d * s for d, s in zip(dense(larger), steps)]


def permuted(r, shape):
    order = list(range(len(shape)))
    r.shuffle(order)
    return row_major(shape, order)


def expanded(r, shape):
    axes = [r.random() < 0.4 for _ in shape]
    kept = [1 if e else n for e, n in zip(axes, shape)]
    dense = r.choice([row_major, channels_last])(kept)
    return [0 if e else d for e, d in zip(axes, dense)]


def odd_ones(r, shape):
    """Strides of axes of extent 1 mean nothing, but some rules read them."""
    dense = r.choice([row_major, channels_last])(shape)
    return [r.choice([1, 2, d, 7 * d]) if n == 1 else d
            for n, d in zip(shape, dense)]


def heads(r, shape):
    """(batch, heads, rows, width) made of (batch, rows, heads * width)."""
    if len(shape) != 4:
        return row_major(shape)
    return row_major(shape, [0, 2, 1, 3])


LAYOUTS = [
    (6, lambda r, shape: row_major(shape)),
    (6, lambda r, shape: channels_last(shape)),
    (3, lambda r, shape: cut(r, shape, row_major)),
    (3, lambda r, shape: cut(r, shape, channels_last)),
    (3, permuted),
    (2, expanded),
    (2, odd_ones),
    (1, heads),
]


def strides_for(r, shape):
    if len(shape) < 2:
        return row_major(shape) if r.random() < 0.8 else [2] * len(shape)
    weights = [w for w, _ in LAYOUTS]
    return r.choices([f for _, f in LAYOUTS], weights)[0](r, shape)


# ------------------------------------------------------------------ tensors

class Case:
    """Random choices for one case."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.dtype = self.r.choices(["f32", "f64", "bf16"], [8, 2, 1])[0]

    def wide(self):
        """Not in 16 bits, whose rounding is another matter."""
        self.dtype = "f32" if self.dtype == "bf16" else self.dtype
        return self

    def pick(self, *items):
        return self.r.choice(items)

    def extent(self, *weighted):
        return self.r.choice(weighted or (1, 1, 2, 3, 4))

    def shape(self, rank):
        return [self.extent() for _ in range(rank)]

    def image(self, spatial, batched=True, least=1, channels=None):
        """(N, C, in...), or (C, in...)"""
        shape = [self.extent(1, 1, 2, 3)] if batched else []
        shape.append(channels or self.extent(1, 2, 3, 4))
        return shape + [max(least, self.extent(1, 2, 4, 5, 6))
                        for _ in range(spatial)]

    def tensor(self, shape, dtype=None, fill="", spread=True):
        """`spread`: some axes may be expanded, with stride 0."""
        strides = strides_for(self.r, shape)
        while not spread and 0 in strides:
            strides = strides_for(self.r, shape)
        at = "" if strides == row_major(shape) and all(shape) else \
            "@(" + ",".join(map(str, strides)) + ")"
        dims = ",".join(map(str, shape))
        return f"{dtype or self.dtype}[{dims}]{at}{fill}"

    def like(self, shape):
        """A shape that broadcasts with this one."""
        kept = shape[self.pick(0, 0, 0, 1, 2):]
        return [1 if self.r.random() < 0.2 else n for n in kept]


def call(name, *args, **kwargs):
    words = [str(a) for a in args]
    words += [f"{k}={v!r}" if isinstance(v, str) and "." not in v and
              "[" not in v else f"{k}={v}" for k, v in kwargs.items()]
    return f"{name}({', '.join(words)})"


GENERATORS = {}


def generator(function):
    GENERATORS[function.__name__] = function
    return function


# ------------------------------------------------------------- convolutions

@generator
def convolution(c):
    n = c.pick(1, 2, 2, 2, 2, 3, 3)
    transposed = c.r.random() < 0.25
    groups = c.pick(1, 1, 2, "depthwise")
    inputs = c.extent(1, 2, 4, 6) * (2 if groups == 2 else 1)
    groups = inputs if groups == "depthwise" else groups
    outputs = groups * c.extent(1, 1, 2, 3)
    window = c.pick([1] * n, [3] * n, [c.extent(1, 2, 3) for _ in range(n)])
    x = c.image(n, c.r.random() < 0.9, 3, inputs)
    w = [inputs, outputs // groups, *window] if transposed else \
        [outputs, inputs // groups, *window]
    name = f"{F}conv_transpose{n}d" if transposed else f"{F}conv{n}d"
    bias = c.pick("None", f"{c.dtype}[{outputs}]")
    return call(name, c.tensor(x), c.tensor(w), bias,
                stride=c.pick(1, 1, 2), padding=c.pick(0, 1) if
                max(window) > 1 or not transposed else 0, groups=groups)


@generator
def aten_convolution(c):
    n = c.pick(1, 2, 3)
    channels = c.extent(1, 2, 4)
    x = c.image(n, True, 3, channels)
    w = [c.extent(1, 2, 4), channels, *[c.pick(1, 3)] * n]
    return call("torch.ops.aten.convolution.default", c.tensor(x),
                c.tensor(w), "None", [1] * n, [1] * n, [1] * n, False,
                [0] * n, 1)


# ------------------------------------------------------------------ pooling

@generator
def max_pool(c):
    n = c.pick(1, 2, 2, 3)
    x = c.tensor(c.image(n, c.r.random() < 0.85, 3))
    return call(f"{F}max_pool{n}d", x, c.pick(1, 2, 3), c.pick(1, 2),
                return_indices=c.pick(False, True))


@generator
def avg_pool(c):
    n = c.pick(1, 2, 2, 3)
    x = c.tensor(c.image(n, c.r.random() < 0.85, 3))
    return call(f"{F}avg_pool{n}d", x, c.pick(1, 2, 3), c.pick(1, 2))


@generator
def adaptive_pool(c):
    c = c.wide()
    n = c.pick(1, 2, 2, 2, 3)
    kind = c.pick("avg", "avg", "max")
    more = {"return_indices": c.pick(False, True)} if kind == "max" else {}
    x = c.tensor(c.image(n, c.r.random() < 0.85))
    return call(f"{F}adaptive_{kind}_pool{n}d", x, [c.extent(1, 2, 3)] * n,
                **more)


@generator
def lp_pool(c):
    n = c.pick(1, 2, 3)
    return call(f"{F}lp_pool{n}d", c.tensor(c.image(n, True, 3),
                fill="#0.5:1"), 2.0, c.pick(2, 3))


# ------------------------------------------------------------ normalization

@generator
def batch_norm(c):
    x = c.image(c.pick(1, 2, 2, 3)) if c.r.random() < 0.9 else c.shape(2)
    one = f"{c.dtype}[{x[1]}]"
    weight = c.pick("None", one)
    if c.r.random() < 0.3 and math.prod(x) > 4 * x[1]:
        return call(F + "batch_norm", c.tensor(x, spread=False), "None",
                    "None", weight, weight, True)
    return call(F + "batch_norm", c.tensor(x), one, one + "#0.5:1", weight,
                weight)


@generator
def instance_norm(c):
    x = c.image(c.pick(1, 2, 2, 3), True, 2)
    return call(F + "instance_norm", c.tensor(x, spread=False))


@generator
def group_norm(c):
    x = c.image(c.pick(1, 2, 2, 3), True, 2, c.pick(2, 4))
    weight = c.pick("None", f"{c.dtype}[{x[1]}]")
    return call(F + "group_norm", c.tensor(x, spread=False), c.pick(1, 2),
                weight, weight)


@generator
def layer_norm(c):
    x = c.shape(c.pick(2, 3, 4, 4)) + [c.pick(2, 3, 4)]
    weight = [c.tensor(x[-1:])] if c.r.random() < 0.4 else []
    return call(F + c.pick("layer_norm", "rms_norm"),
                c.tensor(x, spread=False), x[-1:], *weight)


@generator
def local_response_norm(c):
    return call(F + "local_response_norm",
                c.tensor(c.image(c.pick(1, 2, 3))), 2)


@generator
def normalize(c):
    return call(F + "normalize", c.tensor(c.image(2)), dim=c.pick(1, 2, 3))


# ---------------------------------------------------------------- resizing

@generator
def interpolate(c):
    c = c.wide()
    modes = {1: ["nearest", "nearest-exact", "linear", "area"],
             2: ["nearest", "nearest-exact", "bilinear", "bicubic", "area"],
             3: ["nearest", "nearest-exact", "trilinear", "area"]}
    n = c.pick(1, 2, 2, 3)
    mode = c.r.choice(modes[n])
    x = c.tensor(c.image(n, True, 1, c.pick(None, None, 4, 6)))
    size = {"size": [c.extent(1, 2, 3, 5) for _ in range(n)]} \
        if c.r.random() < 0.6 else {"scale_factor": c.pick(2.0, 1.5, 1.0)}
    if "linear" in mode or mode == "bicubic":
        size["align_corners"] = c.pick(False, True)
    return call(F + "interpolate", x, **size, mode=mode)


@generator
def pad(c):
    mode = c.pick("constant", "constant", "reflect", "replicate", "circular")
    n = c.pick(1, 2, 2, 3)
    x = c.image(n, c.r.random() < 0.85, 3)
    widths = [c.extent(0, 1, 2) for _ in range(2 * n)]
    if mode == "constant" and c.r.random() < 0.3:
        widths = [c.extent(-1, 0, 1) for _ in range(2 * c.pick(1, 2))]
    return call(F + "pad", c.tensor(x), widths, mode=mode)


@generator
def pixel_shuffle(c):
    if c.r.random() < 0.5:
        x = c.image(2, True, 1, 4 * c.pick(1, 2, 3))
        return call(F + "pixel_shuffle", c.tensor(x), 2)
    x = c.image(2)[:2] + [2 * c.pick(1, 2), 2 * c.pick(1, 2)]
    return call(F + "pixel_unshuffle", c.tensor(x), 2)


@generator
def channel_shuffle(c):
    x = c.image(c.pick(1, 2, 2, 3), True, 1, c.pick(2, 4, 6))
    return call(F + "channel_shuffle", c.tensor(x), 2)


@generator
def grid_sample(c):
    c = c.wide()
    n = c.pick(2, 2, 3)
    x = c.image(n)
    grid = [x[0], *[c.extent(1, 2, 3) for _ in range(n)], n]
    return call(F + "grid_sample", c.tensor(x), c.tensor(grid, fill="#-1:1"),
                padding_mode=c.pick("zeros", "border", "reflection"),
                align_corners=False)


@generator
def fold(c):
    if c.r.random() < 0.6:
        return call(F + "unfold", c.tensor(c.image(2, True, 3)), c.pick(2, 3))
    x = [c.extent(1, 2), 4 * c.extent(1, 2), 9]
    return call(F + "fold", c.tensor(x), [4, 4], 2)


# ---------------------------------------------------------------- pointwise

BINARY = ["torch.add", "torch.mul", "torch.sub", "torch.maximum", "torch.eq",
          "torch.atan2", "torch.hypot", "operator.add", "operator.lt",
          "torch.pow", "torch.true_divide", "torch.remainder",
          "torch.logical_and"]
NUMBERS = ["add", "mul", "sub", "eq", "lt", "pow", "true_divide", "remainder"]
UNARY = ["torch.relu", "torch.sigmoid", "torch.neg", "torch.isnan",
         F + "gelu", F + "silu", F + "hardswish", F + "leaky_relu",
         F + "softplus", F + "elu", F + "hardtanh", F + "mish", F + "selu",
         F + "logsigmoid", F + "softsign", F + "hardshrink", "torch.tanh",
         "torch.logit", "torch.nan_to_num", F + "dropout", "torch.abs"]


@generator
def unary(c):
    name = c.r.choice(UNARY)
    more = {"training": False} if name.endswith("dropout") else {}
    return call(name, c.tensor(c.shape(c.pick(2, 3, 4, 4, 5))), **more)


@generator
def binary(c):
    shape = c.shape(c.pick(2, 3, 4, 4, 4, 5))
    x, y = c.tensor(shape), c.tensor(c.like(shape))
    name = c.r.choice(BINARY)
    if name.rpartition(".")[2] in NUMBERS and c.r.random() < 0.4:
        y = c.pick(2, 0.5)
    if c.r.random() < 0.3 and not (isinstance(y, (int, float)) and
                                   name.startswith("torch")):
        x, y = y, x
    return call(name, x, y)


@generator
def ternary(c):
    shape = c.shape(c.pick(3, 4, 4, 5))
    x, y, z = c.tensor(shape), c.tensor(c.like(shape)), c.tensor(c.like(shape))
    name = c.pick("torch.addcmul", "torch.lerp", "torch.clamp", "torch.where")
    if name == "torch.where":
        mask = c.tensor(shape, "bool")
        return call(name, mask, y, c.pick(z, "0.5"))
    return call(name, x, y, z)


@generator
def mixed_types(c):
    shape = c.shape(c.pick(3, 4, 4, 5))
    return call(c.r.choice(BINARY[:6]), c.tensor(shape, "i64"),
                c.tensor(c.like(shape), c.pick("f32", "f64", "i32")))


@generator
def prelu(c):
    x = c.image(c.pick(1, 2, 2, 3))
    return call(F + "prelu", c.tensor(x), f"{c.dtype}[{c.pick(1, x[1])}]")


@generator
def glu(c):
    x = c.image(2, True, 1, c.pick(2, 4))
    return call(F + "glu", c.tensor(x), 1)


@generator
def in_place(c):
    shape = c.shape(4)
    y = c.tensor([1 if c.r.random() < 0.3 else n for n in shape])
    x = row_major(shape) if c.r.random() < 0.5 else channels_last(shape)
    dims = ",".join(map(str, shape))
    return call(c.pick("Tensor.add_", "Tensor.mul_", "Tensor.copy_"),
                f"{c.dtype}[{dims}]@({','.join(map(str, x))})", y)


@generator
def masked(c):
    shape = c.shape(c.pick(3, 4))
    return call("torch.masked_fill", c.tensor(shape),
                c.tensor(c.like(shape), "bool"), 1.0)


# ---------------------------------------------------------------- reductions

REDUCTIONS = ["torch.sum", "torch.mean", "torch.amax", "torch.logsumexp",
              "torch.var", "torch.std", "torch.any", "torch.prod",
              "torch.argmax", "torch.max", "torch.norm",
              "torch.linalg.vector_norm", "torch.count_nonzero"]
ONE_AXIS = ("prod", "argmax", "max")


@generator
def reduction(c):
    c = c.wide()
    rank = c.pick(2, 3, 4, 4, 5)
    name = c.r.choice(REDUCTIONS)
    shape = [max(2, n) for n in c.shape(rank)] if name in (
        "torch.var", "torch.std") else c.shape(rank)
    axes = sorted(c.r.sample(range(rank), c.pick(1, 2)))
    if name.rpartition(".")[2] in ONE_AXIS:
        axes = axes[0]
    keep = {} if name.endswith("nonzero") else {
        "keepdim": c.pick(True, True, False)}
    if name.endswith("vector_norm") or name == "torch.norm":
        return call(name, c.tensor(shape), c.pick(1, 2), axes, **keep)
    return call(name, c.tensor(shape), axes, **keep)


@generator
def softmax(c):
    rank = c.pick(2, 3, 4, 4, 5)
    return call(F + c.pick("softmax", "log_softmax"),
                c.tensor(c.shape(rank)), dim=c.r.randrange(rank))


@generator
def along(c):
    """One axis at a time; the result has all of it, or its parts in order."""
    rank = c.pick(2, 3, 4, 4)
    name = c.pick("torch.cumsum", "torch.cumprod", "torch.sort",
                  "torch.argsort", "torch.flip", "torch.roll", "torch.topk")
    shape, axis = c.shape(rank), c.r.randrange(rank)
    x = c.tensor(shape)
    if name == "torch.flip":
        return call(name, x, [axis])
    if name in ("torch.roll", "torch.topk"):
        return call(name, x, 1, axis)
    return call(name, x, axis)


# ------------------------------------------------------------------- moving

@generator
def cat(c):
    rank = c.pick(2, 3, 4, 4, 4, 5)
    shape, axis = c.shape(rank), c.r.randrange(rank)
    parts = []
    for _ in range(c.pick(1, 2, 2, 3)):
        part = list(shape)
        part[axis] = c.extent(1, 2, 3)
        dtype = c.dtype if c.r.random() < 0.9 else "f64"
        parts.append(c.tensor(part, dtype))
    if c.r.random() < 0.1:
        parts.insert(0, f"{c.dtype}[0]")
    return call("torch.cat", f"[{', '.join(parts)}]", axis)


@generator
def stack(c):
    shape = c.shape(c.pick(2, 3, 4))
    parts = ", ".join(c.tensor(shape) for _ in range(c.pick(1, 2)))
    name = c.pick("torch.stack", "torch.hstack", "torch.vstack",
                  "torch.dstack")
    return call(name, f"[{parts}]")


def memory_format(c, rank):
    last = {4: ["torch.channels_last"], 5: ["torch.channels_last_3d"]}
    return c.r.choice(["torch.contiguous_format", "torch.preserve_format",
                       *last.get(rank, [])])


@generator
def copy(c):
    rank = c.pick(2, 3, 4, 4, 5, 5)
    x, form = c.tensor(c.shape(rank)), memory_format(c, rank)
    kind = c.pick("clone", "to", "contiguous", "plain", "is_contiguous")
    if kind == "plain":
        return call(c.pick("torch.clone", "Tensor.contiguous"), x)
    if kind == "to":
        return call("Tensor.to", x, c.pick("torch.float64", "torch.float32",
                    "torch.bfloat16"), memory_format=form,
                    copy=c.pick(False, True))
    if kind != "clone" and form == "torch.preserve_format":
        form = "torch.contiguous_format"
    return call("Tensor." + kind, x, memory_format=form)


@generator
def convert(c):
    x = c.tensor(c.shape(c.pick(2, 3, 4, 4, 5)))
    name = c.pick("Tensor.double", "Tensor.float", "Tensor.half", "Tensor.int")
    return call(name, x)


@generator
def like(c):
    rank = c.pick(2, 3, 4, 4, 5)
    name = c.pick("zeros_like", "ones_like", "full_like")
    x, form = c.tensor(c.shape(rank)), memory_format(c, rank)
    fill = [1.5] if name == "full_like" else []
    more = {} if c.r.random() < 0.6 else {"memory_format": form}
    return call("torch." + name, x, *fill, **more)


@generator
def gather(c):
    rank = c.pick(2, 3, 4)
    shape, axis = c.shape(rank), c.r.randrange(rank)
    x, top = c.tensor(shape), shape[axis]
    kind = c.pick("index_select", "gather", "index", "take_along_dim")
    if kind == "index_select":
        return call("torch.index_select", x, axis, f"i64[2]#0:{top}")
    if kind == "index":
        places = ", ".join(["slice(None)"] * axis + [f"i64[2]#0:{top}"])
        return call("operator.getitem", x, f"({places},)")
    index = c.tensor(shape, "i64", f"#0:{top}")
    return call("torch." + kind, x, axis, index) if kind == "gather" else \
        call("torch." + kind, x, index, axis)


@generator
def repeat(c):
    rank = c.pick(2, 3, 4)
    x = c.tensor(c.shape(rank))
    if c.r.random() < 0.5:
        return call("Tensor.repeat", x, [c.extent(1, 2) for _ in range(rank)])
    return call("torch.repeat_interleave", x, 2, dim=c.r.randrange(rank))


@generator
def triangle(c):
    return call(c.pick("torch.tril", "torch.triu"),
                c.tensor(c.shape(c.pick(2, 3, 4))))


@generator
def reshape(c):
    rank = c.pick(2, 3, 4, 5)
    kind = c.pick("flatten", "reshape", "ravel")
    x = c.tensor(c.shape(rank))
    if kind == "flatten":
        start = c.r.randrange(rank)
        return call("torch.flatten", x, start, c.r.randrange(start, rank))
    return call("torch." + kind, x, *([[-1]] if kind == "reshape" else []))


@generator
def scatter(c):
    rank = c.pick(2, 3, 4)
    shape, axis = c.shape(rank), c.r.randrange(rank)
    index = c.tensor(shape, "i64", f"#0:{shape[axis]}")
    kind = c.pick("scatter_add", "index_fill", "scatter")
    x = c.tensor(shape)
    if kind == "scatter_add":
        return call("torch.scatter_add", x, axis, index, c.tensor(shape))
    if kind == "scatter":
        return call("torch.scatter", x, axis, index, 2.0)
    return call("torch.index_fill", x, axis, f"i64[1]#0:{shape[axis]}", 1.0)


@generator
def slice_scatter(c):
    shape = c.shape(4)
    part = [1, *shape[1:]]
    return call("torch.slice_scatter", c.tensor(shape), c.tensor(part), 0, 0,
                1)


# ----------------------------------------------------------------- products

@generator
def matmul(c):
    kind = c.pick("mm", "bmm", "matmul", "linear", "addmm", "baddbmm")
    m, k, n, b = (c.extent(1, 2, 3, 4) for _ in range(4))
    if kind in ("mm", "addmm"):
        args = [c.tensor([m, k]), c.tensor([k, n])]
    elif kind in ("bmm", "baddbmm"):
        args = [c.tensor([b, m, k]), c.tensor([b, k, n])]
    elif kind == "linear":
        args = [c.tensor(c.shape(c.pick(1, 2, 3)) + [k]), c.tensor([n, k])]
        return call(F + "linear", *args)
    else:
        lead = c.shape(c.pick(0, 1, 2))
        args = [c.tensor([*lead, m, k]), c.tensor([*c.like(lead), k, n])]
    if kind.startswith("add"):
        args.insert(0, c.tensor([m, n]))
    if kind.startswith("badd"):
        args.insert(0, c.tensor([b, m, n]))
    return call("torch." + kind, *args)


@generator
def attention(c):
    b, h, d = c.extent(1, 2), c.extent(1, 2), c.pick(4, 8)
    s, e = c.pick(2, 3), c.pick(d, d, d, 2)
    shape = [[b, h, c.pick(s, 4), d], [b, h, s, d], [b, h, s, e]]
    if c.r.random() < 0.3:
        shape[0] = [2 * b, h, 3, d] if b == 1 else [b, 2 * h, 3, d]
    if c.r.random() < 0.1:
        shape = [s[1:] for s in shape]
    q, k, v = (c.tensor(s) for s in shape)
    more = {"is_causal": True} if c.r.random() < 0.3 else {}
    if c.r.random() < 0.3 and not more:
        more["attn_mask"] = c.tensor([shape[0][-2], s], "bool", "={true}")
    if shape[0][1] == 2 * shape[1][1]:
        more["enable_gqa"] = True
    return call(F + "scaled_dot_product_attention", q, k, v, **more)


@generator
def embedding(c):
    index = c.tensor(c.shape(c.pick(1, 2, 3)), "i64", "#0:4")
    return call(F + "embedding", index, c.tensor([4, c.extent(1, 3)]))


# ------------------------------------------------------------------ running

def generate(seed, count, names):
    """(NAME, TEXT), each text once."""
    seen = set()
    for number in range(count):
        name = names[number % len(names)]
        for attempt in itertools.count():
            case = Case(f"{seed}:{name}:{number}:{attempt}")
            text = GENERATORS[name](case)
            if text not in seen or attempt == 50:
                break
        if text not in seen:
            seen.add(text)
            yield name, text


STRIDES = re.compile(r"@\([0-9,]*\)")


def is_sound(name, text, shown):
    """Are the values those of plain arguments?  oneDNN misreads some weights
    whose extents of 1 have odd strides; nothing is to be learned of these."""
    if name not in ("convolution", "aten_convolution") or \
            any("0" in s.strip("@()").split(",")
                for s in STRIDES.findall(text)):
        return True
    plain, _ = opcases.result(STRIDES.sub("", text))
    return opcases.close(STRIDES.sub("", plain), STRIDES.sub("", shown))


def golden_lines(seed, count, names):
    """Cases that PyTorch takes, with what it makes of them."""
    for name, text in generate(seed, count, names):
        shown, error = opcases.result(text)
        if error:
            print(f"{name}: {error}\n    {text}", file=sys.stderr)
        elif not is_sound(name, text, shown):
            print(f"{name}: PyTorch's values differ from those of plain "
                  f"arguments\n    {text}", file=sys.stderr)
        else:
            yield name, f"{text}\t{shown}"


def compare(program, lines):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "formats.golden")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
        done = subprocess.run([program, "opcases", path], stdout=subprocess.PIPE,
                              text=True, check=False)
    for line in done.stdout.splitlines():
        print(line.removeprefix(folder + os.sep))
    return done.returncode


def write():
    """A few of every generator, for tests that have no PyTorch."""
    path = os.path.join(opcases.CASES, "formats.cases")
    count = 8 * len(GENERATORS)
    lines = golden_lines("cases", count, list(GENERATORS))
    texts = [line.split("\t")[0] for _, line in lines]
    with open(path, "w", encoding="utf-8") as file:
        file.write("# Memory formats; written by oracle/formats.py --write.\n")
        file.writelines(text + "\n" for text in texts)
    print(f"{path}: {len(texts)} cases")


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(2)
    if sys.argv[1:] == ["--write"]:
        return write()
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("-s", dest="seed", default="1")
    parser.add_argument("-n", dest="count", type=int, default=6000)
    parser.add_argument("names", nargs="*")
    words = parser.parse_args()
    names = words.names or list(GENERATORS)
    lines = golden_lines(words.seed, words.count, names)
    return compare(words.program, [line for _, line in lines])


if __name__ == "__main__":
    sys.exit(main())
