"""names_golden -- the names that torch.fx gives to nodes.

    python names_golden.py > ../golden/names.txt

Runs random edits of graphs in torch.fx and prints what became of the names.
Fields are separated by tabs; every line of a graph is one edit, done to the
graph so far:

    graph
    create   OPCODE   TARGET   CANDIDATE or empty   name it got
    rename   name     CANDIDATE                     name it got
    erase    name

A target is written as torch.fx prints it.  Two things are left out: builtins
that Python 3.11 to 3.14 do not have in common, and `None`, which torch.fx takes
for a legal name and then writes code that Python does not read.
"""
import operator
import random
import sys

import torch
from torch.fx import Graph

# The example of the naming rules: candidates, in order, with what they give.
REFERENCE = [
    "a", "a_1", "a", "a_3", "a", "a_3", "a_3", "if", "if", "if_1", "é", "9",
    "_", "__", "_2", "_2", "x__1", "x__1", "A", "a.b", "a b", "a b", "list",
    "torch", "nan_1", "nan", "0a", "a_01", "a_01", "a_007", "a_7",
]

FUNCTIONS = [
    operator.add, operator.and_, operator.getitem, operator.matmul,
    getattr, len, abs, torch.relu, torch.add, torch.cat, torch.sum,
    torch.flatten, torch.nn.functional.relu, torch.nn.functional.max_pool2d,
    torch.nn.functional.scaled_dot_product_attention, torch.Tensor.add,
    torch.ops.aten.add.Tensor, torch.ops.aten.relu.default,
    torch.ops.aten.convolution.default, torch.ops.aten.mm, torch.Size,
    torch.sym_int,
]

METHODS = [
    "add", "relu_", "size", "__add__", "__getitem__", "__", "____", "__a",
    "toList", "view_as", "T", "sum", "_x",
]

PATHS = [
    "features.0", "features.1", "features.10.block.0.0", "layer1.0.conv1",
    "fc", "fcOut.Linear", "ABCDef", "0", "0.1", "a.b", "a_b", "if", "list",
    "é.ü", "mod.pascalCase", "mod.ALL_CAPS", "_tensor_constant0", "x_1",
    "x_01", "encoder.layers.encoder_layer_11.mlp.3",
]

PLACEHOLDERS = ["x", "y", "input", "*args", "**kwargs", "self", "inf", "mask",
                "X", "xY", "device", "a_1", "a"]

# Pieces that candidates are made of.
PIECES = ["a", "b", "x", "_", "__", "_1", "_2", "_3", "_01", "_007", "_10",
          "1", "0", ".", " ", "-", "é", "A", "if", "sum", "torch", "pytree",
          "True", "a_1", "add", "add_1", "relu_2", "ß漢", "%", "_99"]


def candidate(rng):
    kind = rng.random()
    if kind < 0.3:
        return rng.choice(REFERENCE)
    if kind < 0.6:
        return rng.choice("ab") + rng.choice(["", "_1", "_2", "_3", "_5",
                                              "_05", "_%d" % rng.randrange(200)])
    return "".join(rng.choice(PIECES) for _ in range(rng.randrange(5)))


def target_of(rng, op):
    if op == "call_function":
        return rng.choice(FUNCTIONS)
    if op == "output":
        return "output"
    return rng.choice({"call_method": METHODS, "call_module": PATHS,
                       "get_attr": PATHS, "placeholder": PLACEHOLDERS}[op])


def create(g, op, target, name):
    n = g.create_node(op, target, (), {}, name)
    spelled = n._pretty_print_target(target)
    print("create", op, spelled, "" if name is None else name, n.name,
          sep="\t")


def edit(g, rng, named):
    kind = rng.random()
    nodes = list(g.nodes)
    if kind < 0.15 and nodes:
        n = rng.choice(nodes)
        old, new = n.name, candidate(rng)
        n._rename(new)
        print("rename", old, new, n.name, sep="\t")
    elif kind < 0.35 and nodes:
        n = rng.choice(nodes)
        g.erase_node(n)
        print("erase", n.name, sep="\t")
    else:
        op = rng.choice(["call_function", "call_method", "call_module",
                         "get_attr", "placeholder", "output"])
        # An empty name is one too, but the field means that there is none.
        name = candidate(rng) or None if rng.random() < named else None
        create(g, op, target_of(rng, op), name)


def main():
    g = Graph()
    print("graph")
    for name in REFERENCE:
        create(g, "call_method", "m", name)
    for seed in range(120):
        rng = random.Random(seed)
        g = Graph()
        print("graph")
        named = rng.choice([0, 0.5, 1])
        for _ in range(rng.choice([10, 20, 60])):
            edit(g, rng, named)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    main()
