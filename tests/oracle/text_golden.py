#!/usr/bin/env python3
"""text_golden -- graphs in every form in which torch.fx prints them.

    text_golden.py [-o tests/golden/text] [CASE...]

Writes one file a case, NAME.txt, of sections that begin with `==== SECTION`:

    lossless    the superset's text, written here; what the C test reads
    model       repr(gm), an empty line, gm.graph
    graph       str(gm.graph) with tensor metadata
    tabular     gm.graph.print_tabular(), qualified names for addresses
    code        gm.code
    readable    gm.print_readable()

A section ends before the newline that precedes the next `====`.  A node's
meta `type` stands for the tensor in its meta "val".  Needs tabulate.  Where
torch 2.14 prints other text than the torch that runs here, `adjust` says so.
"""

import argparse
import cmath
import math
import operator
import os
import re
import typing

import torch
from torch import fx, nn
from torch.fx.node import _type_repr

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


# ---------------------------------------------------------- the superset

class Superset:
    """Writes a GraphModule as `# cfx 1`."""

    def __init__(self, hidden=None, state=()):
        self.hidden = hidden or {}
        self.state = state
        self.tensors = []

    def tensor(self, t):
        number = next((i for i, u in enumerate(self.tensors) if u is t), None)
        if number is None:
            number = len(self.tensors)
            self.tensors.append(t)
        return f"tensor('%tensor{number}', {spec(t)})"

    def value(self, v):
        if isinstance(v, fx.Node):
            return f"%{v.name}"
        if isinstance(v, torch.Tensor):
            return self.tensor(v)
        if isinstance(v, complex):
            return f"complex({v.real!r}, {v.imag!r})"
        if isinstance(v, torch.device):
            return f"device('{v}')"
        if isinstance(v, slice):
            parts = (v.start, v.stop, v.step)
            return f"slice({', '.join(self.value(p) for p in parts)})"
        if isinstance(v, range):
            return f"range({v.start}, {v.stop}, {v.step})"
        if isinstance(v, tuple):
            items = ", ".join(self.value(x) for x in v)
            return f"({items},)" if len(v) == 1 else f"({items})"
        if isinstance(v, list):
            return f"[{', '.join(self.value(x) for x in v)}]"
        if isinstance(v, dict):
            pairs = (f"{self.value(k)}: {self.value(x)}" for k, x in v.items())
            return f"{{{', '.join(pairs)}}}"
        return repr(v)

    def meta(self, n):
        known = {}
        for key, v in n.meta.items():
            known["type" if key == "val" else key] = \
                spec(v) if key == "val" else v
        return f" meta = {self.value(known)}" if known else ""

    def body(self, n):
        text = f"{n.op}[target={n._pretty_print_target(n.target)}]"
        if n.op == "placeholder":
            return text + (f"(default={self.value(n.args[0])})"
                           if n.args else "")
        if n.op == "get_attr":
            return text
        kwargs = ", ".join(f"{k}: {self.value(v)}"
                           for k, v in n.kwargs.items())
        return f"{text}(args = {self.value(n.args)}, kwargs = {{{kwargs}}})"

    def node(self, n):
        if n.op == "output":
            kind = f" -> {_type_repr(n.type)!r}" if n.type is not None else ""
            name = f" as %{n.name}" if n.name != "output" else ""
            return f"return {self.value(n.args[0])}{kind}{name}{self.meta(n)}"
        kind = f"{_type_repr(n.type)} " if n.type is not None else ""
        return (f"%{n.name} : {kind}[num_users={len(n.users)}] = "
                f"{self.body(n)}{self.meta(n)}")

    def graph(self, g, path=""):
        lines = [f"graph {path}():" if path else "graph():"]
        return "\n    ".join(lines + [self.node(n) for n in g.nodes]) + "\n"

    def tree(self, m, path=""):
        shown = [] if isinstance(m, fx.GraphModule) else \
            [re.sub(r"(?<=padding_mode=)(\w+)", r"'\1'", m.extra_repr())] \
            if m.extra_repr() else []
        if path in self.hidden:
            shown.append(self.hidden[path])
        line = f"{m._get_name()}({', '.join(shown)}"
        children = list(m.named_children())
        if not children:
            return line + ")"
        lines = [line]
        for name, child in children:
            below = self.tree(child, f"{path}.{name}" if path else name)
            lines.append(f"({name}): " + below.replace("\n", "\n  "))
        return "\n  ".join(lines) + "\n)"

    def model(self, gm):
        text = f"# cfx 1\n{self.tree(gm)}\n\n"
        if self.state:
            text += "state:\n" + "".join(f"    {s}\n" for s in self.state)
            text += "\n"
        text += self.graph(gm.graph)
        for path, m in gm.named_modules(remove_duplicate=False):
            if path and isinstance(m, fx.GraphModule):
                text += "\n" + self.graph(m.graph, path)
        return text


def spec(t):
    names = {torch.float32: "f32", torch.int64: "i64", torch.bool: "b8",
             torch.float16: "f16"}
    return f"{names[t.dtype]}[{', '.join(map(str, t.shape))}]"


# ------------------------------------------------------------ what is printed

def cell(n):
    """A target as print_tabular has it, without addresses."""
    text = str(n.target)
    return n._pretty_print_target(n.target) if " at 0x" in text else text


def tabular(g):
    import tabulate
    rows = [[n.op, n.name, cell(n), n.args, n.kwargs] for n in g.nodes]
    return tabulate.tabulate(
        rows, headers=["opcode", "name", "target", "args", "kwargs"])


def with_metadata(g):
    lines = [n.format_node(include_tensor_metadata=True) for n in g.nodes]
    return "\n    ".join(["graph():"] + lines)


class Written(complex):
    """A complex number as torch 2.14 writes it in code."""

    def __repr__(self):
        odd = 0 in (self.real, self.imag) or not cmath.isfinite(self)
        return f"complex({self.real!r}, {self.imag!r})" if odd \
            else repr(complex(self))


def adjust(gm):
    """Change what torch 2.13 would write other code of than 2.14."""
    def written(v):
        return Written(v) if isinstance(v, complex) else v
    for n in gm.graph.nodes:
        n.args = fx.node.map_aggregate(n.args, written)
    gm.recompile()


def visible(text):
    """cfx escapes what a terminal acts on, where torch.fx prints it as it is."""
    controls = "[\x01-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]"
    return re.sub(controls, lambda found: repr(found.group())[1:-1], text)


def sections(gm, hidden, state):
    parts = {
        "lossless": Superset(hidden, state).model(gm),
        "model": visible(f"{gm!r}\n\n{gm.graph}\n"),
        "graph": visible(with_metadata(gm.graph)),
        "tabular": tabular(gm.graph) + "\n",
    }
    adjust(gm)
    parts["code"] = gm.code
    parts["readable"] = gm.print_readable(print_output=False)
    return parts


# ------------------------------------------------------------ short ways

class Maker:
    """A graph, and short ways to make its nodes."""

    def __init__(self, root=None):
        self.g = fx.Graph()
        self.root = root or nn.Module()
        self.hidden, self.state = {}, []

    def input(self, name="x", **more):
        return self.g.create_node("placeholder", name, **more)

    def call(self, target, *args, **kwargs):
        return self.g.call_function(target, args, kwargs)

    def method(self, name, *args, **kwargs):
        return self.g.call_method(name, args, kwargs)

    def module(self, path, *args, **kwargs):
        return self.g.call_module(path, args, kwargs)

    def returns(self, value, **more):
        self.g.create_node("output", "output", (value,), **more)
        return self

    def finish(self, name="Net"):
        return fx.GraphModule(self.root, self.g, name)


def untraced(x, scale=1.0):
    return x * scale


untraced.__module__ = "my_package.ops"


# ------------------------------------------------------------ values

@case
def numbers():
    m = Maker()
    x = m.input()
    a = m.call(torch.add, x, 1, alpha=2)
    for v in (1e30, -0.0, 0.1, 1e-05, 100000.0, 1e16, -7, True, None,
              math.inf, -math.inf, math.nan, 2 ** 62, 5e-324, 1.5):
        a = m.call(operator.mul, a, v)
    return m.returns(a)


@case
def complex_numbers():
    m = Maker()
    x = m.input()
    a = m.call(torch.add, x, 1j)
    b = m.call(torch.add, a, (1 + 2j))
    c = m.call(torch.add, b, complex(math.inf, 1))
    d = m.call(torch.add, c, (0.5 - 1e-05j))
    return m.returns(d)


@case
def strings():
    m = Maker()
    x = m.input()
    f = torch.nn.functional.pad
    a = m.call(f, x, [1, 1], "reflect")
    b = m.call(f, a, [1, 1], mode="it's")
    c = m.call(f, b, [1, 1], mode='say "hi"')
    d = m.call(f, c, [1, 1], mode='it\'s "both"')
    e = m.call(f, d, [1, 1], mode="back\\slash tab\t nul\x01 del\x7f")
    h = m.call(f, e, [1, 1], mode="caf\u00e9 \u4e2d\u6587 \u00a0\u2028 \U0001f600")
    return m.returns((h, "text", "it's"))


@case
def types_of_torch():
    m = Maker()
    x = m.input()
    a = m.method("to", x, torch.float16)
    b = m.method("to", a, device=torch.device("cpu"), dtype=torch.int8)
    c = m.method("to", b, torch.device("cuda", 0))
    d = m.method("contiguous", c, memory_format=torch.channels_last)
    e = m.call(torch.zeros, [2, 3], layout=torch.strided, dtype=torch.bool,
               device=torch.device("cpu"))
    f = m.method("contiguous", d, memory_format=torch.preserve_format)
    return m.returns([f, e, torch.float32, torch.device("cuda", 1)])


@case
def devices_of_exports():
    m = Maker()
    x = m.input()
    aten = torch.ops.aten
    device = torch.device("cuda", 0)
    a = m.call(aten._to_copy.default, x, dtype=torch.float16, device=device)
    b = m.call(aten.to.device, a, torch.device("cpu"), torch.float32)
    c = m.call(aten.arange.start_step, 0, 4, layout=torch.strided,
               device=device, pin_memory=False)
    d = m.call(aten.full.default, [2, 3], 1, dtype=torch.int64, device=device)
    return m.returns((b, c, d))


@case
def indexing():
    m = Maker()
    x, n = m.input(), m.input("n")
    get = operator.getitem
    a = m.call(get, x, 0)
    b = m.call(get, x, (slice(None), slice(1, None, 2), Ellipsis, None))
    c = m.call(get, b, slice(n, None, None))
    d = m.call(get, c, (slice(None, n, -1), n))
    e = m.call(get, d, Ellipsis)
    return m.returns((a, e))


@case
def aggregates():
    m = Maker()
    x, y = m.input(), m.input("y")
    a = m.call(torch.cat, [x, y], 1)
    b = m.call(torch.stack, (a,), dim=0)
    c = m.call(untraced, {"a": x, "b": [y, {"c": (1, "s")}]}, [[], (), {}])
    d = m.call(untraced, {1: "one", 2.5: None}, [(1,), [2], (x,)])
    return m.returns({"cat": b, "deep": (c, [d, None, 1.5, "s"]), "n": {}})


@case
def ranges():
    m = Maker()
    x = m.input()
    a = m.call(untraced, x, range(0, 3))
    b = m.call(untraced, a, range(5, 0, -2))
    return m.returns(b)


@case
def tensors():
    m = Maker()
    x = m.input()
    t = torch.arange(3.0)
    u = torch.tensor(True)
    a = m.call(torch.add, x, t)
    b = m.call(torch.mul, a, t)
    c = m.call(torch.where, u, b, [t, torch.zeros(2, dtype=torch.int64)])
    return m.returns(c)


# ------------------------------------------------------------ operators

@case
def infix_operators():
    m = Maker()
    x, y = m.input(), m.input("y")
    for name in ("eq", "ne", "lt", "gt", "le", "ge", "add", "sub", "mul",
                 "floordiv", "truediv", "mod", "pow", "lshift", "rshift",
                 "and_", "or_", "xor", "matmul", "getitem"):
        x = m.call(getattr(operator, name), x, y)
    for name in ("pos", "neg", "invert"):
        x = m.call(getattr(operator, name), x)
    x = m.call(operator.sub, 1, x)
    return m.returns(x)


@case
def inplace_operators():
    m = Maker()
    x, y = m.input(), m.input("y")
    for name in ("iadd", "iand", "ifloordiv", "ilshift", "imod", "imul",
                 "imatmul", "ior", "ipow", "irshift", "isub", "itruediv",
                 "ixor"):
        x = m.call(getattr(operator, name), x, y)
    z = m.call(operator.setitem, x, (0, slice(None)), y)
    w = m.call(operator.setitem, z, 0, 1.0)
    return m.returns((x, w))


@case
def other_operators():
    m = Maker()
    x = m.input()
    a = m.call(operator.abs, x)
    b = m.call(operator.contains, a, 1)
    c = m.call(operator.not_, b)
    d = m.call(operator.concat, c, x)
    return m.returns(d)


@case
def attributes():
    m = Maker()
    x = m.input()
    a = m.call(getattr, x, "shape")
    b = m.call(getattr, a, "my-key")
    c = m.call(getattr, b, "dtype", None)
    d = m.call(getattr, c, "T")
    e = m.method("size", d)
    return m.returns(e)


@case
def functions():
    m = Maker()
    x = m.input()
    a = m.call(torch.nn.functional.relu, x, inplace=True)
    b = m.call(torch.flatten, a, 1)
    c = m.call(torch._C._nn.gelu, b, approximate="tanh")
    d = m.call(torch.ops.aten.add.Tensor, c, c, alpha=2)
    e = m.call(torch.ops.aten.relu.default, d)
    f = m.call(torch.nn.functional.linear, e, x)
    h = m.call(torch.special.expm1, f)
    i = m.call(torch.Tensor.add, h, 1)
    j = m.call(torch.sum, i, dim=[1, 2], keepdim=True)
    return m.returns(j)


@case
def other_functions():
    m = Maker()
    x = m.input()
    a = m.call(math.sqrt, x)
    b = m.call(len, a)
    c = m.call(untraced, b, scale=2.0)
    d = m.call(math.sqrt, c)
    e = m.call(float, d)
    f = m.call(max, e, 1)
    g = m.call(int, f)
    return m.returns(g)


@case
def wrapped_functions():
    m = Maker()
    x = m.input()
    a = m.call(math.sqrt, x)
    a.meta["is_wrapped"] = True
    b = m.call(untraced, a)
    b.meta["is_wrapped"] = True
    c = m.call(math.sqrt, b)
    c.meta["is_wrapped"] = True
    return m.returns(c)


@case
def names_that_meet_globals():
    m = Maker()
    x = m.input()
    y = m.g.create_node("call_method", "relu", (x,), name="math_sqrt")
    a = m.call(math.sqrt, y)
    b = m.g.create_node("call_method", "relu", (a,),
                        name="my_package_ops_untraced")
    c = m.call(untraced, b)
    d = m.call(abs, c)
    return m.returns(d)


@case
def methods():
    m = Maker()
    x = m.input()
    a = m.method("view", x, -1, 4)
    b = m.method("mean", a, [2, 3], keepdim=True)
    c = m.method("my-method", b)
    d = m.method("__call__", c, 1)
    return m.returns(d)


# ------------------------------------------------------------ nodes

@case
def placeholders():
    m = Maker()
    x = m.input("x", type_expr=torch.Tensor)
    y = m.input("y", args=(3,), type_expr=int)
    i = m.input("input", args=(None,))
    z = m.input("z", args=(None,))
    s = m.input("s", args=("text",))
    t = m.input("t", args=([1, "a", (2.5,)],))
    v = m.input("*args")
    w = m.input("**kwargs")
    return m.returns((x, y, z, s, t, i, v, w))


@case
def parameter_called_self():
    m = Maker()
    x = m.input("self")
    y = m.input("other")
    return m.returns(m.call(operator.add, x, y))


@case
def typed_nodes():
    m = Maker()
    x = m.input("x", type_expr=typing.List[torch.Tensor])
    y = m.input("y", type_expr=typing.Optional[torch.Tensor], args=(None,))
    a = m.g.create_node("call_function", torch.cat, (x,),
                        type_expr=torch.Tensor)
    b = m.g.create_node("call_function", operator.getitem, (x, 0),
                        type_expr=typing.Union[typing.List[torch.Tensor],
                                               int])
    c = m.g.create_node("call_method", "size", (a,),
                        type_expr=typing.Dict[str, typing.Optional[int]])
    d = m.g.create_node("call_function", operator.iadd, (a, b),
                        type_expr=typing.Tuple[int, str])
    return m.returns((c, d, y), type_expr=typing.Tuple[
        typing.Dict[str, int], torch.Tensor])


@case
def returns_a_type():
    m = Maker()
    x = m.input()
    return m.returns(x, type_expr=torch.Tensor)


@case
def returns_nothing():
    m = Maker()
    m.input()
    return m.returns(None)


@case
def returns_constants():
    m = Maker()
    x = m.input()
    return m.returns([x, {"a": slice(x, 1, None), "b": (x,)}, 1, 2.0, True,
                      None, "s", Ellipsis, torch.float16])


@case
def unused_values():
    m = Maker()
    x, y = m.input(), m.input("y")
    a = m.call(torch.relu, x)
    m.call(torch._assert, a, "never used, nor freed before")
    b = m.call(operator.add, a, a)
    c = m.call(operator.add, b, y)
    d = m.call(torch.cat, [c, a, b], dim=1)
    m.method("relu_", d)
    return m.returns(x)


@case
def last_uses():
    m = Maker()
    x, y, z = m.input(), m.input("y"), m.input("z")
    a = m.call(torch.cat, [z, y, x], dim=0)
    b = m.call(torch.add, a, a, alpha=x)
    c = m.call(torch.addmm, b, y, z, beta=a)
    return m.returns((c, a))


@case
def numbered_names():
    m = Maker()
    x = m.input()
    for _ in range(4):
        x = m.call(operator.add, x, 1)
    x = m.call(torch.sum, x)
    x = m.call(torch.abs, x)
    x = m.call(torch.nn.functional.max_pool2d, x, 2)
    x = m.g.create_node("call_method", "relu", (x,), name="a_01")
    x = m.g.create_node("call_method", "relu", (x,), name="_2")
    m.g.create_node("call_method", "relu", (x,), name="output")
    return m.returns(x)


@case
def only_a_return():
    return Maker().returns((1, 2))


# ------------------------------------------------------------ modules

def small_net():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8),
        nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(8, 10)).eval()


@case
def modules():
    m = Maker(small_net())
    x = m.input()
    for i in range(6):
        x = m.module(str(i), x)
    return m.returns(x)


@case
def module_paths():
    root = nn.Module()
    root.sub = nn.Module()
    root.sub.add_module("1", nn.Module())
    setattr(getattr(root.sub, "1"), "0", nn.ReLU())
    root.block = nn.ModuleDict({"my-key": nn.Sigmoid(), "a b": nn.ReLU()})
    m = Maker(root)
    x = m.module("sub.1.0", m.input())
    x = m.module("block.my-key", x)
    x = m.module("block.a b", x)
    return m.returns(x)


@case
def parameters():
    root = nn.Module()
    root.scale = nn.Parameter(torch.ones(4))
    root.deep = nn.Module()
    root.deep.add_module("0", nn.Module())
    getattr(root.deep, "0").register_buffer("count", torch.tensor(0))
    root.deep.register_buffer("mean", torch.zeros(2, 3))
    root.fc = nn.Linear(4, 4)
    m = Maker(root)
    x = m.input()
    a = m.call(operator.mul, x, m.g.get_attr("scale"))
    b = m.call(operator.add, a, m.g.get_attr("deep.0.count"))
    c = m.call(operator.add, b, m.g.get_attr("deep.mean"))
    d = m.call(operator.matmul, c, m.g.get_attr("fc.weight"))
    m.state = ["scale: f32[4]", "deep.mean: f32[2, 3] buffer",
               "deep.0.count: i64[]"]
    return m.returns(d)


@case
def convolutions():
    root = nn.Module()
    root.a = nn.Conv2d(3, 8, (3, 5), stride=2, padding=(1, 2), dilation=2)
    root.b = nn.Conv2d(8, 8, 1, groups=8, padding_mode="reflect")
    root.c = nn.Conv2d(8, 8, 3, padding=(0, 1))
    root.d = nn.BatchNorm2d(8, eps=1e-3, momentum=None, affine=False,
                            track_running_stats=False)
    m = Maker(root)
    x = m.input()
    for path in "abcd":
        x = m.module(path, x)
    return m.returns(x)


@case
def hidden_arguments():
    root = nn.Module()
    root.pool = nn.AvgPool2d(2, ceil_mode=True)
    root.drop = nn.Dropout(0.1)
    root.mha = nn.MultiheadAttention(16, 4, batch_first=True)
    root.up = nn.Upsample(scale_factor=2, mode="bilinear",
                          align_corners=True)
    root.eval()
    root.drop.train()
    m = Maker(root)
    x = m.input()
    for path in ("pool", "drop", "mha", "up"):
        x = m.module(path, x)
    m.hidden = {"pool": "ceil_mode=True", "drop": "training=True",
                "mha": "num_heads=4, batch_first=True",
                "up": "align_corners=True"}
    return m.returns(x)


# ------------------------------------------------------------ print_readable

FRAME = '  File "{}", line {}, in {}\n    {}\n'


@case
def annotated():
    root = small_net()
    m = Maker(root)
    x = m.input()
    x.meta["val"] = torch.zeros(2, 3, 8, 8)
    y = m.module("0", x)
    y.meta["val"] = torch.zeros(2, 8, 8, 8)
    z = m.call(torch.relu, y)
    z.type = torch.Tensor
    w = m.call(operator.iadd, z, 1)
    w.meta["val"] = torch.zeros(2, dtype=torch.int64)
    v = m.method("sum", w)
    v.meta["val"] = torch.tensor(False)
    return m.returns(v)


@case
def places_in_the_source():
    m = Maker(small_net())
    x = m.input()
    one = FRAME.format("/a/model.py", 46, "forward", "y = self.conv(x)")
    two = FRAME.format("/a/layer.py", 7, "call", "return x * 2")
    a = m.module("0", x)
    a.meta["stack_trace"] = one
    b = m.call(operator.mul, a, 2)
    b.meta["stack_trace"] = one + two
    c = m.call(operator.add, b, 2)
    c.meta["stack_trace"] = one + two
    d = m.call(operator.add, c, 2)
    e = m.call(operator.add, d, 2)
    e.meta["stack_trace"] = "nothing of the kind"
    f = m.call(operator.add, e, 2)
    f.meta["custom"] = {"stage": 1, "note": "x" * 50, "short": "it's"}
    g = m.call(operator.add, f, 2)
    g.meta["stack_trace"] = one
    return m.returns(g)


@case
def input_needs_a_line():
    m = Maker()
    x = m.input("input")
    a = m.call(torch.relu, x)
    a.meta["stack_trace"] = FRAME.format("m.py", 1, "f", "relu(x)")
    return m.returns(a)


@case
def graphs_in_modules():
    inner = Maker(nn.Sequential(nn.Linear(4, 4)))
    y = inner.module("0", inner.input("y"))
    inner = inner.returns(y).finish("Inner")
    middle = Maker()
    middle.root.submod_0 = inner
    middle.root.act = nn.ReLU()
    z = middle.module("submod_0", middle.input("z"))
    middle = middle.returns(middle.module("act", z)).finish("Middle")
    outer = Maker()
    outer.root.first = middle
    outer.root.second = inner
    x = outer.module("first", outer.input("x"))
    return outer.returns(outer.module("second", x))


@case
def wraps_in_readable():
    m = Maker()
    a = m.call(math.sqrt, m.input())
    a.meta["is_wrapped"] = True
    return m.returns(a)


# ------------------------------------------------------------ main

def write(folder, name):
    m = CASES[name]()
    parts = sections(m.finish(), m.hidden, m.state)
    path = os.path.join(folder, name + ".txt")
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for section, text in parts.items():
            file.write(f"==== {section}\n{text}\n")
        file.write("==== end\n")


def main():
    parser = argparse.ArgumentParser()
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("-o", default=os.path.join(here, "../golden/text"))
    parser.add_argument("cases", nargs="*", metavar="CASE")
    options = parser.parse_args()
    os.makedirs(options.o, exist_ok=True)
    for name in options.cases or CASES:
        write(options.o, name)


if __name__ == "__main__":
    main()
