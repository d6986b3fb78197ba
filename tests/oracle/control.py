#!/usr/bin/env python3
"""control -- programs whose operators take graphs, as torch.export writes them.

    control.py > ../golden/control.txt

A program is

    == NAME
    the model: the tree, a block `state:`, the graph, and of each child that is
    a GraphModule its graph, headed `graph PATH():`
    -- code
    the root's generated code
    -- state PATH, for each parameter, buffer and constant
    -- run, for each set of inputs; then lines of inputs, and of results
    in SPEC : numbers
    out SPEC : numbers

A SPEC is `f32[2,3]`, or `int`; numbers are in row-major order.
"""

import copy
import warnings

import torch
import torch._higher_order_ops as ho

DTYPES = {torch.float32: "f32", torch.bfloat16: "bf16", torch.int64: "i64",
          torch.bool: "b8"}


def spec(t):
    shape = ",".join(str(n) for n in t.shape)
    return f"{DTYPES[t.dtype]}[{shape}]"


def line(word, v):
    if isinstance(v, int):
        return f"{word} int : {v}"
    numbers = " ".join(repr(float(x)) for x in v.detach().reshape(-1).tolist())
    return f"{word} {spec(v)} : {numbers}"


class Cond(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 3)

    def forward(self, x):
        return torch.cond(x.sum() > 0, self.lin, lambda x: x - 1, (x,))


class Nested(torch.nn.Module):
    def forward(self, x, y):
        def small(x, y):
            return torch.cond(y.sum() > 0, lambda x: x.sin(), lambda x: -x,
                              (x,)), y * 2

        return torch.cond(x.max() < 1, small, lambda x, y: (x + y, y - x),
                          (x, y))


class While(torch.nn.Module):
    def forward(self, x, n):
        return ho.while_loop(lambda i, x: i < n.sum(),
                             lambda i, x: (i + 1, x * 2 + n),
                             (torch.tensor(0), x))


class Number(torch.nn.Module):
    def forward(self, x):
        return ho.while_loop(lambda i, x: i < 4,
                             lambda i, x: (i + 1, x + i), (0, x))


class Map(torch.nn.Module):
    def forward(self, xs, y):
        return ho.map(lambda x, y: (x + y, x.sum() > 0), xs, y)


class MapOfWhile(torch.nn.Module):
    def forward(self, xs):
        def f(x):
            return ho.while_loop(lambda x: x.sum() < 10, lambda x: (x * 2,),
                                 (x,))[0]

        return ho.map(f, xs)


class Scan(torch.nn.Module):
    def forward(self, init, xs, z):
        return ho.scan(lambda c, x: (c + x, (c * x + z, c.sum())), init, xs)


class ScanBackwards(torch.nn.Module):
    def forward(self, init, xs):
        return ho.scan(lambda c, x: (c + x, c * x), init, xs, dim=1,
                       reverse=True)


class NoGrad(torch.nn.Module):
    def forward(self, x):
        with torch.no_grad():
            y = x * 3
            z = y + x
        with torch.autocast("cpu", enabled=False):
            w = z @ x.t()
        return w + 1


class Autocast(torch.nn.Module):
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x.t()
            both = torch.cat([y, x], 1)
            product = torch.einsum("ij,kj->ik", x, y)
            with torch.autocast("cpu", enabled=False):
                off = x @ x
            after = product.prod(1)
        return y, both, product, off, after, x @ x


T = torch.tensor
PROGRAMS = [
    ("cond", Cond(), [(T([[1.0, 2, 3], [4, 5, 6]]),),
                      (T([[1.0, 2, 3], [4, 5, -60]]),)]),
    ("nested", Nested(), [(T([0.5, -2]), T([1.0, 2])),
                          (T([0.5, -2]), T([1.0, -2])),
                          (T([1.5, -2]), T([1.0, -2]))]),
    ("while", While(), [(T([1.0, -1]), T([1.0, 3])),
                        (T([1.0, -1]), T([-1.0, 1]))]),
    ("number", Number(), [(T([1.0, -1]),)]),
    ("map", Map(), [(T([[1.0, 2], [3, 4], [-5, 2]]), T([10.0, 20]))]),
    ("map_of_while", MapOfWhile(), [(T([[1.0, 2], [3, 4], [50, 2]]),)]),
    ("scan", Scan(), [(T([0.0, 1]), T([[1.0, 2], [3, 4], [5, 6]]),
                       T([0.5, 0.25]))]),
    ("scan_backwards", ScanBackwards(), [(T([0.0, 1]),
                                          T([[1.0, 2, 3], [4, 5, 6]]))]),
    ("no_grad", NoGrad(), [(T([[1.0, 2], [3, 4]]),)]),
    ("autocast", Autocast(), [(T([[1.125, 2], [3, 4.375]]),)]),
]


def graph_modules(gm):
    return [(n, m) for n, m in gm.named_modules()
            if n and isinstance(m, torch.fx.GraphModule)]


def state(gm):
    """What the tree of an exported program does not tell: all of it."""
    seen = {}
    for n in gm.graph.nodes:
        if n.op == "get_attr":
            v = gm
            for atom in n.target.split("."):
                v = getattr(v, atom)
            if isinstance(v, torch.Tensor):
                seen[n.target] = v
    return seen


def code(gm):
    plain = copy.deepcopy(gm.graph)
    plain.set_codegen(torch.fx.graph.CodeGen())
    return torch.fx.GraphModule(gm, plain).code.strip("\n")


def show(name, module, runs):
    gm = torch.export.export(module.eval(), runs[0]).module()
    held = state(gm)
    print(f"== {name}\n{gm!r}\n")
    if held:
        print("state:")
        for path, v in held.items():
            print(f"    {path}: {spec(v).replace(',', ', ')}")
        print()
    print(gm.graph)
    for path, m in graph_modules(gm):
        print("\n" + str(m.graph).replace("graph(", f"graph {path}(", 1))
    print(f"-- code\n{code(gm)}")
    for path, v in held.items():
        print(f"-- state {path}\n{line('is', v)}")
    for args in runs:
        print("-- run")
        for a in args:
            print(line("in", a))
        for v in torch.utils._pytree.tree_leaves(module(*args)):
            print(line("out", v))


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    for program in PROGRAMS:
        show(*program)


if __name__ == "__main__":
    main()
