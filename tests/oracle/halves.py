#!/usr/bin/env python3
"""halves -- every pointwise operator in 16-bit floats, bit for bit.

    halves.py CFX            compare the program CFX with PyTorch
    halves.py CFX --write    write ../golden/halves.tsv, then compare

Functions of one tensor get all 65,536 values, the others 8,192 pairs of them,
half around 1, half of any exponent, with infinities and NaN.  Each operator is
called in all its spellings: functions, methods, operators of Python, ATen's
overloads, in place; on tensors, numbers on either side, tensors of rank 0, with
gaps between their elements and of other types.  All NaN are equal.  ../golden/halves.tsv lists the functions
whose results are not always PyTorch's; whatever differs more than it says
fails.  The README beside this file tells why they differ.
"""

import operator
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import safetensors.torch
import torch
from torch import fx
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "..", "golden", "halves.tsv")
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
COUNT = 8192
ATEN = torch.ops.aten

# ------------------------------------------------------------------ the calls

UNARY = [
    torch.abs, torch.neg, torch.sign, torch.square, torch.floor, torch.ceil,
    torch.trunc, torch.frac, torch.round, torch.exp, torch.exp2, torch.expm1,
    torch.log, torch.log2, torch.log10, torch.log1p, torch.sqrt, torch.rsqrt,
    torch.reciprocal, torch.sin, torch.cos, torch.tan, torch.sinh, torch.cosh,
    torch.asin, torch.acos, torch.atan, torch.asinh, torch.acosh, torch.atanh,
    torch.tanh, torch.sigmoid, torch.erf, torch.erfc, torch.lgamma,
    torch.isnan, torch.isinf, torch.isfinite, torch.isposinf,
    torch.isneginf, torch.logical_not, torch.logit, torch.nan_to_num,
    F.relu, F.relu6, F.silu, F.mish, F.hardsigmoid, F.hardswish, F.leaky_relu,
    F.hardtanh, F.softplus, F.selu, F.celu, F.elu, F.gelu, F.hardshrink,
    F.softshrink, F.tanhshrink, F.softsign, F.logsigmoid, F.rrelu,
]
UNARY_WITH = [
    (torch.round, (), {"decimals": 2}), (torch.round, (), {"decimals": -1}),
    (torch.logit, (0.1,), {}), (torch.nan_to_num, (0.3, 1.7, -2.7), {}),
    (F.leaky_relu, (0.3,), {}), (F.hardtanh, (-0.3, 0.7), {}),
    (F.hardtanh, (0.0, 6.0), {}), (F.softplus, (1.7, 10.1), {}),
    (torch.threshold, (0.1, 0.3), {}), (F.celu, (1.3,), {}), (F.elu, (0.7,), {}),
    (ATEN.elu.default, (0.7, 1.3, 0.9), {}),
    (F.gelu, (), {"approximate": "tanh"}), (F.hardshrink, (0.3,), {}),
    (F.softshrink, (0.3,), {}), (F.rrelu, (0.1, 0.4), {}),
]
# Also of tensors and numbers, in every place.
BINARY = [
    torch.add, torch.sub, torch.mul, torch.div, torch.remainder, torch.fmod,
    torch.pow, torch.floor_divide, torch.xlogy, torch.eq, torch.ne, torch.lt,
    torch.le, torch.gt, torch.ge,
]
TENSORS = [
    torch.maximum, torch.minimum, torch.fmax, torch.fmin, torch.atan2,
    torch.hypot, torch.logaddexp, torch.logical_and, torch.logical_or,
    torch.logical_xor,
]
PYTHON = [
    operator.add, operator.sub, operator.mul, operator.truediv,
    operator.floordiv, operator.mod, operator.pow,
]
NUMBERS = [0.1, 0.3, -1.7, 3.1, 2.0, 3.0, 0.5, -0.5, -1.0, -2.0, 7, -3, 2, 257,
           0.0, 1e-5, 1e5]


class Calls:
    """A graph whose outputs are calls, each with a name."""

    def __init__(self):
        self.graph = fx.Graph()
        self.at = {name: self.graph.placeholder(name) for name in INPUTS}
        for name in ("x", "y"):
            pairs = self.graph.call_method("view", (self.at[name], -1, 2))
            self.at[name + "_gaps"] = self.graph.call_method(
                "select", (pairs, 1, 0))
        self.nodes = {}

    def add(self, name, node):
        if name in self.nodes:
            self.graph.erase_node(node)
        else:
            self.nodes[name] = node

    def function(self, target, *args, **kwargs):
        name = getattr(target, "__name__", str(target))
        if isinstance(target, torch._ops.OpOverload):
            name = str(target)
        elif target.__module__ in ("operator", "_operator"):
            name = "operator." + name
        self.add(spelled(name, args, kwargs), self.graph.call_function(
            target, self.nodes_of(args), kwargs))

    def method(self, target, *args, **kwargs):
        self.add(spelled("Tensor." + target, args, kwargs),
                 self.graph.call_method(target, self.nodes_of(args), kwargs))

    def inplace(self, target, *args, **kwargs):
        """On a copy of its first argument."""
        copy = self.graph.call_method("clone", (self.at[args[0]],))
        rest = self.nodes_of(args[1:])
        if isinstance(target, str):
            node = self.graph.call_method(target, (copy, *rest), kwargs)
        else:
            node = self.graph.call_function(target, (copy, *rest), kwargs)
            target = "operator." + target.__name__
        self.add(spelled(target, args, kwargs), node)

    def nodes_of(self, args):
        return tuple(self.at[a] if isinstance(a, str) and a in self.at else a
                     for a in args)


def spelled(name, args, kwargs):
    words = [a if isinstance(a, str) else repr(a) for a in args]
    words += [f"{k}={v!r}" for k, v in kwargs.items()]
    return f"{name}({', '.join(words)})"


# x and y are 8,192 pairs; `every` every value; s and r have rank 0, as q of
# float32 and k of int64; o has one element; i integers; z goes with x and y.
# x_gaps and y_gaps are every second element of x and y.
INPUTS = ["x", "y", "z", "every", "s", "r", "q", "o", "i", "k"]


def unary_calls(calls):
    for f in UNARY:
        calls.function(f, "every")
        calls.function(f, "s")
    for f, args, kwargs in UNARY_WITH:
        calls.function(f, "every", *args, **kwargs)
        calls.function(f, "s", *args, **kwargs)


def binary_calls(calls):
    for f in BINARY + TENSORS:
        name = f.__name__
        for a, b in PAIRS:
            calls.function(f, a, b)
        calls.method(name, "x", "y")
        if f is not torch.floor_divide:
            for a in ("y", "s", "q"):
                calls.inplace(name + "_", "x", a) if hasattr(
                    torch.Tensor, name + "_") else None
    for f in BINARY:
        name = f.__name__
        overloads = getattr(ATEN, name).overloads()
        for n in NUMBERS:
            calls.function(f, "x", n)
            calls.function(f, "s", n)
            calls.function(f, "o", n)
            calls.inplace(name + "_", "x", n)
            for o in ("Scalar", "Tensor_Scalar", "Scalar_Other"):
                if o in overloads:
                    calls.function(getattr(getattr(ATEN, name), o), "x", n)
        for n in NUMBERS:
            for o in ("Scalar_Tensor", "Scalar", "Scalar_Self"):
                if name in ("remainder", "pow", "xlogy") and o in overloads:
                    over = getattr(getattr(ATEN, name), o)
                    if over._schema.arguments[0].type.str() != "Tensor":
                        calls.function(over, n, "x")
                        calls.function(over, n, "s")


PAIRS = [("x", "y"), ("x", "s"), ("s", "x"), ("x", "q"), ("q", "x"),
         ("s", "r"), ("s", "q"), ("q", "s"), ("x", "o"), ("o", "x"),
         ("o", "s"), ("s", "o"), ("o", "q"), ("x", "i"), ("i", "x"),
         ("x", "k"), ("k", "x")]


def python_calls(calls):
    for f in PYTHON:
        for n in NUMBERS:
            calls.function(f, "x", n)
            calls.function(f, n, "x")
            calls.function(f, n, "s")
            calls.function(f, n, "o")
    for f in (torch.add, torch.sub, torch.mul, torch.div, torch.floor_divide):
        for n in NUMBERS:
            calls.function(f, n, "x")
        for a, b in PAIRS:
            calls.function(f, a, b)
    for f in (operator.iadd, operator.isub, operator.imul, operator.itruediv,
              operator.ifloordiv, operator.imod, operator.ipow):
        for n in NUMBERS[:4] + ["y", "s", "q"]:
            calls.inplace(f, "x", n)


def scaled_calls(calls):
    for f in (torch.add, torch.sub, torch.rsub):
        for a, b in PAIRS:
            for alpha in (0.3, 2, -1.7):
                calls.function(f, a, b, alpha=alpha)
        for n in NUMBERS:
            calls.function(f, "x", n, alpha=0.3)
            calls.function(f, "s", n, alpha=0.3)
            calls.function(f, "x", n, alpha=2)
    for n in NUMBERS:
        calls.function(torch.rsub, "x", n)
        calls.function(torch.rsub, "s", n)
        calls.function(ATEN.rsub.Scalar, "x", n)
        calls.function(ATEN.rsub.Scalar, "x", n, 0.3)
        calls.function(ATEN.add.Scalar, "x", n, 0.3)
        calls.function(ATEN.sub.Scalar, "x", n, 0.3)
        calls.inplace("add_", "x", n, alpha=0.3)
        calls.inplace("sub_", "x", n, alpha=0.3)
    for a in ("y", "s", "q"):
        calls.inplace("add_", "x", a, alpha=0.3)
        calls.inplace("sub_", "x", a, alpha=0.3)


def divide_calls(calls):
    for mode in ("trunc", "floor"):
        for a, b in PAIRS:
            calls.function(torch.div, a, b, rounding_mode=mode)
        for n in NUMBERS:
            calls.function(torch.div, "x", n, rounding_mode=mode)
            calls.function(torch.div, "s", n, rounding_mode=mode)
            calls.function(ATEN.div.Scalar_mode, "x", n, rounding_mode=mode)
            calls.inplace("div_", "x", n, rounding_mode=mode)
    for n in NUMBERS:
        calls.function(ATEN.div.Scalar, "x", n)


def clamp_calls(calls):
    for low, high in ((-0.3, 0.7), (-1, 1), (0.7, -0.3)):
        calls.function(torch.clamp, "x", low, high)
        calls.function(torch.clamp, "s", low, high)
        calls.function(torch.clamp, "x", min=low)
        calls.function(torch.clamp, "x", max=high)
        calls.function(torch.clamp_min, "x", low)
        calls.function(torch.clamp_max, "x", high)
        calls.inplace("clamp_", "x", low, high)
    calls.function(torch.clamp, "x", "y", "z")
    calls.function(torch.clamp, "x", "s", "r")
    calls.function(torch.clamp, "x", "q")
    calls.function(torch.clamp_min, "x", "y")
    calls.function(torch.clamp_max, "x", "s")
    calls.function(torch.clamp_max, "x", "q")


def three_calls(calls):
    for f in (torch.addcmul, torch.addcdiv):
        for args in (("x", "y", "z"), ("x", "s", "z"), ("s", "x", "z"),
                     ("x", "y", "s"), ("s", "r", "s"), ("x", "s", "r")):
            for value in (1, 0.3, -1.7, 2):
                calls.function(f, *args, value=value)
        calls.inplace(f.__name__ + "_", "x", "y", "z", value=0.3)
    for w in (0.1, 0.3, 0.5, 0.7, 1.3, -0.3, 1, "z", "s"):
        calls.function(torch.lerp, "x", "y", w)
        calls.function(torch.lerp, "s", "r", w)
        calls.function(torch.lerp, "s", "x", w)
        calls.inplace("lerp_", "x", "y", w)
    for a in ("x", "s", "q", 0.1, 0.3, 7):
        for b in ("y", "r", "q", 0.3):
            condition = calls.graph.call_function(torch.gt, (
                calls.at["x"], calls.at["z"]))
            calls.add(spelled("where", ("x > z", a, b), {}),
                      calls.graph.call_function(torch.where, (
                          condition, *calls.nodes_of((a, b)))))
    for a in (0.1, 0.3, 7, "s", "q"):
        calls.add(spelled("masked_fill", ("x", "x > z", a), {}),
                  calls.graph.call_method("masked_fill", (
                      calls.at["x"], condition, *calls.nodes_of((a,)))))
    for w in ("s", "o", "y"):
        calls.function(F.prelu, "x", w) if w != "y" else None
    calls.function(F.glu, "x")


def gaps_calls(calls):
    x, y = "x_gaps", "y_gaps"
    for f in UNARY:
        calls.function(f, x)
    for f in BINARY + TENSORS:
        calls.function(f, x, y)
        calls.function(f, x, "s")
    for f in BINARY:
        for n in NUMBERS:
            calls.function(f, x, n)
    for f in (torch.add, torch.sub, torch.rsub):
        for alpha in (0.3, 2, -1.7):
            calls.function(f, x, y, alpha=alpha)
            calls.function(f, x, "s", alpha=alpha)
            calls.function(f, x, 0.7, alpha=alpha)
    for mode in ("trunc", "floor"):
        calls.function(torch.div, x, y, rounding_mode=mode)
    calls.function(torch.clamp, x, -0.3, 0.7)


FAMILIES = [unary_calls, binary_calls, python_calls, scaled_calls,
            divide_calls, clamp_calls, three_calls, gaps_calls]

# ------------------------------------------------------------- the comparison


def quiet(values):
    """No signaling NaN, which no arithmetic gives."""
    bits = values.view(torch.int16)
    return torch.where(values.isnan(), bits | (1 << (
        6 if values.dtype == torch.bfloat16 else 9)), bits).view(values.dtype)


def inputs(dtype):
    rng = np.random.default_rng(1)

    def pairs(scale):
        near = torch.from_numpy(rng.standard_normal(COUNT // 2) * scale)
        any_bits = torch.from_numpy(rng.integers(
            0, 65536, COUNT // 2, dtype=np.uint16).view(np.int16))
        return torch.cat([near.to(dtype), quiet(any_bits.view(dtype))])

    every = torch.arange(65536, dtype=torch.int32).to(torch.int16)
    return {"x": pairs(2.0), "y": pairs(1.0), "z": pairs(3.0),
            "every": quiet(every.view(dtype)),
            "s": torch.tensor(-1.2345).to(dtype),
            "r": torch.tensor(0.7).to(dtype), "q": torch.tensor(0.3),
            "o": torch.tensor([2.2]).to(dtype),
            "i": torch.from_numpy(rng.integers(-1000, 1000, COUNT)),
            "k": torch.tensor(257)}


def steps(have, want):
    """How many results differ, and by how many representable numbers."""
    if have.dtype != want.dtype or have.shape != want.shape:
        return want.numel(), f"{have.dtype} {tuple(have.shape)}"
    if not want.dtype.is_floating_point:
        count = int((have != want).sum())
        return count, int(count > 0)
    bits = {2: torch.int16, 4: torch.int32}[want.element_size()]
    a, b = (t.reshape(-1).contiguous().view(bits).long() for t in (have, want))
    nan = have.isnan().reshape(-1) & want.isnan().reshape(-1)
    low = torch.iinfo(bits).min
    order = lambda v: torch.where(v < 0, low - v, v)
    apart = torch.where(nan | (a == b), 0, (order(a) - order(b)).abs().clamp(1))
    return int((apart > 0).sum()), int(apart.max()) if apart.numel() else 0


def example(have, want):
    if have.shape != want.shape:
        return ""
    wrong = ((have != want) & ~((have != have) & (want != want))).reshape(-1)
    if not wrong.any():
        return ""
    i = int(wrong.nonzero()[0])
    return f"first at {i}: {have.reshape(-1)[i]} for {want.reshape(-1)[i]}"


def run_torch(calls, given):
    """What each call gives; calls that PyTorch refuses leave the graph."""
    out = {}

    def value(node):
        if node.op == "placeholder":
            return given[node.name]
        args = fx.node.map_arg(node.args, value)
        if node.op == "call_method":
            return getattr(args[0], node.target)(*args[1:], **node.kwargs)
        return node.target(*args, **node.kwargs)

    for name, node in calls.nodes.items():
        try:
            out[name] = value(node)
        except (RuntimeError, TypeError, AttributeError):
            calls.graph.erase_node(node)
    return out


def run_cfx(cfx, calls, names, where):
    """What the program gives for these calls; one that it refuses leaves the
    graph, and the rest run again."""
    names = list(names)
    inputs_ = [w for n in INPUTS
               for w in ("-i", f"{n}={where}/in.safetensors:{n}")]
    while names:
        output = calls.graph.output(tuple(calls.nodes[n] for n in names))
        model = fx.GraphModule({}, calls.graph)
        with open(where + "/m.fx", "w", encoding="utf-8") as file:
            file.write(f"{model!r}\n\n{model.graph}\n")
        calls.graph.erase_node(output)
        words = [cfx, "run", where + "/m.fx", "-o", "/dev/null", *inputs_]
        for i, n in enumerate(names):
            words += ["--save",
                      f"{calls.nodes[n].name}={where}/{i}.safetensors"]
        done = subprocess.run(words, capture_output=True, text=True)
        if not done.returncode:
            break
        bad = re.search(r"While executing %(\w+)", done.stderr)
        if not bad:
            sys.exit(done.stderr)
        bad = next(n for n in names if calls.nodes[n].name == bad[1])
        calls.graph.erase_node(calls.nodes[bad])
        names.remove(bad)
    files = {n: safetensors.torch.load_file(f"{where}/{i}.safetensors")
             for i, n in enumerate(names)}
    return {n: next(iter(file.values())) for n, file in files.items()}


def compare(cfx, type_name, family, rows):
    """Add the calls of a family to the rows of the table: for each function how
    many calls there are, how many differ, and the worst of these."""
    given = inputs(TYPES[type_name])
    calls = Calls()
    family(calls)
    want = run_torch(calls, given)
    with tempfile.TemporaryDirectory() as where:
        safetensors.torch.save_file(given, where + "/in.safetensors")
        have = run_cfx(cfx, calls, want, where)
    for name in want:
        row = rows.setdefault((type_name, name.split("(")[0]), Row())
        row.calls += 1
        if name not in have:
            row.refused.append(name)
            continue
        count, most = steps(have[name], want[name])
        row.differ += count > 0
        row.steps = max(row.steps, most)
        if count > row.values:
            row.values, row.of = count, want[name].numel()
            row.call = name
            row.example = example(have[name], want[name])


class Row:
    """What is known of one function in one type."""

    def __init__(self):
        self.calls = self.differ = self.values = self.of = self.steps = 0
        self.call = self.example = ""
        self.refused = []

    def cells(self):
        return [str(v) for v in (self.differ, self.calls, self.values, self.of,
                                 self.steps, self.call)]


HEADER = ["type", "function", "calls that differ", "of", "values", "of",
          "steps", "worst call"]


def write_table(rows):
    with open(TABLE, "w", encoding="utf-8") as file:
        file.write("\t".join(HEADER) + "\n")
        for key, row in sorted(rows.items()):
            if row.differ:
                file.write("\t".join([*key, *row.cells()]) + "\n")


def allowed():
    """By type and function: calls that differ, values of one, steps."""
    with open(TABLE, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file][1:]
    return {(c[0], c[1]): (int(c[2]), int(c[4]), int(c[6])) for c in lines}


def is_right(key, row, table):
    bounds = table.get(key, (0, 0, 0))
    if row.refused:
        print(f"NOT OK {key[0]} {key[1]}: refused: {row.refused[0]}")
    elif any(n > most for n, most in zip(
            (row.differ, row.values, row.steps), bounds)):
        print(f"NOT OK {key[0]} {key[1]}: {row.differ} calls differ, "
              f"{row.call} in {row.values} of {row.of} values by at most "
              f"{row.steps} steps: {row.example}")
    else:
        return True
    return False


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--write"]):
        sys.exit(__doc__)
    rows = {}
    for type_name in TYPES:
        for family in FAMILIES:
            compare(os.path.abspath(sys.argv[1]), type_name, family, rows)
    if sys.argv[2:]:
        write_table(rows)
    table = allowed()
    calls = sum(row.calls for row in rows.values())
    same = calls - sum(row.differ + len(row.refused) for row in rows.values())
    passed = sum(is_right(key, row, table) for key, row in rows.items())
    print(f"halves: {same} of {calls} calls equal bit for bit")
    print(f"{passed} passed, {len(rows) - passed} failed")
    sys.exit(passed != len(rows))


if __name__ == "__main__":
    main()
