"""Tensors where numbers are asked for, and numbers out of tensors, as PyTorch
takes them: graphs that torch.fx traces, and the types of their results.

    python3 unknown_numbers.py >../golden/unknown_numbers.txt
"""
import os
import sys
from math import floor

import torch
import torch.fx
import torch.nn.functional as F

torch.fx.wrap("floor")
NAMES = {torch.float32: "f32", torch.int64: "i64", torch.bool: "b8"}


def i(x, n):
    return x.new_full((), n, dtype=torch.int64)


def f(x, v):
    return x.new_full((), v)


CASES = {
    # Numbers that only a run knows.
    "dropout": lambda x: F.dropout(x, f(x, 0.5).item(), True),
    "alpha_dropout": lambda x: F.alpha_dropout(x, f(x, 0.5).item(), True),
    "bernoulli": lambda x: torch.bernoulli(x, f(x, 0.5).item()),
    "interpolate_scale": lambda x: F.interpolate(
        x[None], scale_factor=f(x, 1.5).item()),
    "interpolate_list": lambda x: F.interpolate(
        x[None, None], scale_factor=[f(x, 1.5).item(), 2.0]),
    "interpolate_int": lambda x: F.interpolate(
        x[None], scale_factor=i(x, 2).item()),
    "interpolate_size": lambda x: F.interpolate(x[None], size=i(x, 2).item()),
    "arange_float": lambda x: torch.arange(f(x, 3.5).item()),
    "arange_step": lambda x: torch.arange(0, 4, f(x, 0.5).item()),
    "arange_mixed": lambda x: torch.arange(0.5, i(x, 3).item()),
    "linspace": lambda x: torch.linspace(0, f(x, 1).item(), 5),
    "cdist": lambda x: torch.cdist(x, x, f(x, 2).item()),
    "pdist": lambda x: torch.pdist(x, f(x, 2).item()),
    "normal": lambda x: x.normal_(0.0, f(x, 0.5).item()),
    "uniform": lambda x: x.uniform_(0.0, f(x, 0.5).item()),
    "softshrink": lambda x: F.softshrink(x, f(x, 0.5).item()),
    "slice_floor": lambda x: x[:floor(f(x, 2.5).item())],
    "clamp": lambda x: torch.clamp(x, 0.0, f(x, 0.5).item()),
    # A tensor without axes stands for a number.
    "as_clamp": lambda x: torch.clamp(x, f(x, 0.5), 2.0),
    "as_full": lambda x: torch.full((2, 3), f(x, 0.5)),
    "as_full_int": lambda x: torch.full((2, 3), i(x, 2)),
    "as_alpha": lambda x: torch.add(x, x, alpha=f(x, 0.5)),
    "as_value": lambda x: torch.addcmul(x, x, x, value=i(x, 2)),
    "as_end": lambda x: torch.arange(i(x, 3)),
    "as_dropout": lambda x: F.dropout(x, f(x, 0.5), True),
    "as_dropout_of_one": lambda x: F.dropout(f(x, 1), f(x, 0.5), True),
    "as_slope": lambda x: F.leaky_relu(x, f(x, 0.5)),
    "as_hardtanh": lambda x: F.hardtanh(x, f(x, 0.5), 1.0),
    "as_pad_value": lambda x: F.pad(x, (1, 1), "constant", f(x, 0.5)),
    "as_nan": lambda x: torch.nan_to_num(x, f(x, 0.5)),
    # For ints and lists of them.
    "as_length": lambda x: torch.narrow(x, 0, 0, i(x, 2)),
    "as_size": lambda x: torch.zeros(i(x, 2)),
    "as_sizes": lambda x: torch.zeros((i(x, 2), 3)),
    "as_view": lambda x: x.view(i(x, 2), 16),
    "as_repeat": lambda x: x.repeat(i(x, 2), 1),
    "as_expand": lambda x: x.expand(i(x, 2), 4, 8),
    "as_pad": lambda x: F.pad(x, (i(x, 2), 1)),
    "as_interpolate": lambda x: F.interpolate(x[None], size=i(x, 2)),
    # For a slice's bounds and a list's factor.
    "slice_from": lambda x: x[i(x, 2):],
    "slice_to": lambda x: x[:i(x, 2)],
    "slice_step": lambda x: x[:, ::i(x, 2)],
    "slice_both": lambda x: x[i(x, 1):i(x, 3), ::2],
}
# A run alone can tell how long a list is.
RUN_ONLY = {
    "as_chunks": lambda x: torch.chunk(x, i(x, 2))[0],
    "times": lambda x: torch.cat([x] * i(x, 2)),
    "times_first": lambda x: torch.cat(i(x, 3) * [x]),
    "list_slice": lambda x: torch.cat(torch.split(x, 1)[:i(x, 2)]),
    "as_axis": lambda x: torch.unsqueeze(x, i(x, 2)),
    "as_shift": lambda x: torch.roll(x, i(x, 2), 0),
    "as_topk": lambda x: torch.topk(x, i(x, 2))[0],
}
REFUSED = {
    "float_bound": (lambda x: x[f(x, 1):], "only integer tensors"),
    "float_times": (lambda x: [x] * f(x, 2), "only integer tensors"),
    "float_size": (lambda x: torch.zeros(f(x, 2)), "must be"),
    "axis_for_number": (lambda x: torch.full((2,), x), "must be"),
    "scale_tensor": (lambda x: F.interpolate(x[None], scale_factor=f(x, 2)),
                     "must be"),
    "probability": (lambda x: F.dropout(x, 1.5, True), "between 0 and 1"),
}


def section(name, what, fn):
    x = torch.rand(4, 8)
    gm = torch.fx.symbolic_trace(fn)
    sys.stderr = open(os.devnull, "w")
    try:
        y = gm(x)
        end = "%s[%s]" % (NAMES[y.dtype], ", ".join(map(str, y.shape)))
    except Exception:
        end = what
        what = "refused"
    print("== %s %s %s" % (what, name, end))
    print(gm.graph)


for name, fn in CASES.items():
    section(name, "shapes", fn)
for name, fn in RUN_ONLY.items():
    section(name, "run", fn)
for name, (fn, text) in REFUSED.items():
    section(name, text, fn)
