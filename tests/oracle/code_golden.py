#!/usr/bin/env python3
"""code_golden -- what torch.fx's options make of generated code.

    code_golden.py [-o tests/golden/code] [CASE...]

Writes one file a case of text_golden and of those below, NAME.txt, of
sections that begin with `==== SECTION`; the C test knows what each stands
for (tests/unit/format/code_test.c):

    lossless    the superset's text, which the C test reads
    verbose     gm.graph.python_code("self", verbose=True).src
    places      print_readable(include_stride=True, include_device=True)
    colored     print_readable(colored=True), strides and device
    expanded    print_readable(expanded_def=True)
    meta        print_readable(additional_meta=["seq_nr", "stage"])
    boxed       the code of a boxed CodeGen
    unpacked    the code of a CodeGen whose function takes one list
    changed     the code after two transformers: one puts a line first, the
                other one behind each line
    lines       of each line of gm.code in the body: its number and its node

A section ends before the newline that precedes the next `====`.
"""

import argparse
import math
import operator
import os
import typing

import torch
from torch import fx
from torch.fx import graph as fx_graph

import text_golden as text
from text_golden import FRAME, Maker, case


class Unpacked(fx.CodeGen):
    """A function of one list, as the test of torch.fx has it."""

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        return (f"def forward(self, args_list: List[torch.Tensor])"
                f"{maybe_return_annotation}:\n"
                f"    {', '.join(free_vars)} = args_list")

    def generate_output(self, output_args):
        return f"return [{output_args!r}]"


# ------------------------------------------------------------ more cases

@case
def described():
    m = Maker(text.small_net())
    x = m.input()
    x.meta["desc"] = "the picture"
    x.meta["val"] = torch.zeros(2, 3, 8, 8)
    flag = m.g.placeholder("flag", type_expr=int, default_value=3)
    y = m.module("0", x)
    y.meta["desc"] = "not shown"
    z = m.call(operator.add, y, flag)
    m.returns((y, z), type_expr=typing.Tuple[torch.Tensor, torch.Tensor])
    next(reversed(m.g.nodes)).meta["desc"] = ["the features", "their sum"]
    return m


@case
def numbered_stages():
    m = Maker(text.small_net())
    x = m.input()
    x.meta["seq_nr"] = 0
    a = m.module("0", x)
    a.meta["seq_nr"] = 1
    b = m.call(torch.relu, a)
    b.meta["seq_nr"] = 1
    b.meta["stage"] = "it's"
    c = m.call(torch.relu, b)
    c.meta["stage"] = ["a", 2.0]
    c.meta["stack_trace"] = FRAME.format("m.py", 1, "f", "relu(x)")
    return m.returns(c)


@case
def colors():
    m = Maker()
    x = m.input()
    x.meta["val"] = torch.zeros(2, 3)
    a = m.call(torch.cat, [x, 1, (2, 'three')], dim=-1)
    a.meta["val"] = torch.zeros(4, 3)
    b = m.call(operator.getitem, a, (slice(None, x, 2), Ellipsis, None))
    c = m.method("to", b, torch.float16, device=torch.device("cpu"))
    d = m.call(torch.stack, (c,), key={"a": 1, "b": [x]})
    e = m.call(operator.iadd, d, math.inf)
    m.call(operator.setitem, e, 0, True)
    return m.returns({"out": (e, 1), "more": [e, "text"]})


@case
def keywords_and_builtins():
    m = Maker()
    x = m.input("input")
    y = m.input("print")
    z = m.input("device")
    a = m.g.create_node("call_method", "relu", (x,), name="list")
    b = m.g.create_node("call_method", "relu", (a,), name="torch")
    c = m.g.create_node("call_method", "relu", (b,), name="inf")
    d = m.g.create_node("call_method", "relu", (c,), name="self")
    e = m.call(max, d, y, key=None)
    f = m.call(abs, e)
    g = m.call(getattr, f, "shape")
    h = m.call(getattr, f, "not a name")
    i = m.call(getattr, f, "dtype", None)
    return m.returns((g, h, i, z))


@case
def several_outputs_in_place():
    m = Maker()
    x, y = m.input(), m.input("y")
    a = m.call(operator.imul, x, 2)
    b = m.call(operator.isub, a, y)
    c = m.call(operator.ipow, b, 2)
    d = m.call(operator.imatmul, c, y)
    e = m.call(operator.ifloordiv, d, 2)
    m.call(operator.setitem, e, (0, slice(1, None, None)), y)
    f = m.call(operator.not_, e)
    return m.returns([f, e, e])


# ------------------------------------------------------------ test_fx.py

def signature(**parameters):
    m = Maker()
    nodes = [m.g.placeholder(name, **more) for name, more in
             parameters.items()]
    y = nodes[0]
    for n in nodes[1:]:
        y = m.call(operator.add, y, n)
    return m.returns(y)


@case
def single_default_arg():
    return signature(y=dict(default_value=1))


@case
def multiple_default_args():
    return signature(y=dict(default_value=1), z=dict(default_value=2))


@case
def regular_and_default_args():
    return signature(x={}, y=dict(default_value=1))


@case
def string_literal_return():
    m = Maker()
    m.input()
    return m.returns("foo")


@case
def return_tuple():
    m = Maker()
    x = m.input()
    return m.returns((x, m.call(operator.add, x, x)))


@case
def snake_case():
    m = Maker()
    for path in ("activation_functions", "activations", "ReLU", "someCamel",
                 "ABCDef"):
        m.root.add_module(path.replace(".", "_"), torch.nn.ReLU())
    x = m.input("inputPicture")
    for path in ("activation_functions", "activations", "ReLU", "someCamel",
                 "ABCDef"):
        x = m.module(path, x)
    return m.returns(m.method("__getitem__", x, 0))


@case
def reserved_getattr():
    m = Maker()
    a = m.g.create_node("call_function", getattr, (m.input(), "dtype"))
    return m.returns((a, m.call(getattr, a, "itemsize")))


@case
def pretty_print_targets():
    m = Maker()
    x = m.input()
    y = m.call(operator.add, x, 1)
    z = m.call(torch.relu, y)
    w = m.call(torch.nn.functional.relu, z)
    return m.returns(m.call(torch.ops.aten.add.Tensor, w, 1))


@case
def ellipsis():
    m = Maker()
    return m.returns(m.call(operator.getitem, m.input(),
                            (Ellipsis, slice(2, None, None), 0)))


@case
def inf_nan():
    m = Maker()
    x = m.input()
    a = m.call(operator.add, x, math.inf)
    b = m.call(operator.add, a, -math.inf)
    return m.returns(m.call(operator.add, b, math.nan))


@case
def inf_nan_kwds():
    m = Maker()
    x = m.input()
    b = m.g.create_node("call_function", operator.add, (x, math.inf), {},
                        name="inf")
    c = m.g.create_node("call_function", operator.add, (x, math.nan), {},
                        name="nan")
    return m.returns((b, c))


@case
def imul_code_print():
    m = Maker()
    a, b = m.input("a"), m.input("b")
    m.call(operator.imul, a, b)
    return m.returns(a)


@case
def layout():
    m = Maker()
    return m.returns(m.call(torch.empty_like, m.input(),
                            layout=torch.strided, pin_memory=False))


@case
def delete_unused_values():
    m = Maker()
    x = m.input()
    m.call(torch._assert, m.call(operator.gt, x, 0), "positive")
    m.call(torch.relu, x)
    return m.returns(m.call(torch.neg, x))


@case
def typename_print():
    m = Maker()
    x = m.input()
    y = m.g.create_node("call_function", torch.relu, (x,), {},
                        type_expr=typing.List[float])
    return m.returns(y)


@case
def fn_type_annotations():
    m = Maker()
    p = m.input("p", type_expr=typing.List[torch.Tensor])
    q = m.input("q", type_expr=typing.Optional[int])
    r = m.input("r", type_expr=typing.Dict[str, typing.Tuple[int, ...]])
    return m.returns((p, q, r),
                     type_expr=typing.Union[typing.List[torch.Tensor], None])


@case
def nonetype_annotation():
    m = Maker()
    x = m.input("x", type_expr=type(None))
    return m.returns(x, type_expr=typing.Optional[torch.Tensor])


@case
def tuple_no_subscript():
    m = Maker()
    return m.returns(m.input("x", type_expr=typing.Tuple),
                     type_expr=typing.Tuple)


@case
def annotation_of_lists():
    m = Maker()
    x = m.input("x", type_expr=typing.List[typing.Optional[torch.Tensor]])
    y = m.input("y", type_expr=list[int])
    return m.returns((x, y))


# ------------------------------------------------------------ what is printed

def first(body):
    return ["import pdb\n", *body]


def doubled(body):
    lines = "".join(body).split("\n")[:-1]
    return [s for line in lines for s in
            ([line + "\n"] if line.startswith("# COUNTER") or not line
             else [line + "\n", "# behind\n"])]


def changed(g):
    with g.on_generate_code(lambda _: first):
        with g.on_generate_code(lambda old: lambda body: doubled(old(body))):
            return g.python_code("self").src


def lines(g):
    code = g.python_code("self")
    names = [n.name for n in g.nodes]
    last = code.src.count("\n") + 1
    known = ((k + code._prologue_start, i)
             for k, i in code._lineno_map.items())
    return "\n".join(f"{k} {names[i]}" for k, i in known
                     if i is not None and k < last)


def with_codegen(gm, codegen):
    was = gm.graph._codegen
    gm.graph.set_codegen(codegen)
    try:
        return gm.graph.python_code("self").src
    finally:
        gm.graph.set_codegen(was)


def sections(gm, hidden, state):
    lossless = text.Superset(hidden, state).model(gm)
    text.adjust(gm)

    def readable(**options):
        return gm.print_readable(print_output=False, **options)

    return {
        "lossless": lossless,
        "verbose": gm.graph.python_code("self", verbose=True).src,
        "places": readable(include_stride=True, include_device=True),
        "colored": readable(colored=True, include_stride=True,
                            include_device=True),
        "expanded": readable(expanded_def=True),
        "meta": readable(additional_meta=["seq_nr", "stage"]),
        "boxed": with_codegen(gm, fx_graph._BoxedCodeGen()),
        "unpacked": with_codegen(gm, Unpacked()),
        "changed": changed(gm.graph),
        "lines": lines(gm.graph),
    }


def main():
    parser = argparse.ArgumentParser()
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("-o", default=os.path.join(here, "../golden/code"))
    parser.add_argument("cases", nargs="*", metavar="CASE")
    options = parser.parse_args()
    os.makedirs(options.o, exist_ok=True)
    for name in options.cases or text.CASES:
        m = text.CASES[name]()
        parts = sections(m.finish(), m.hidden, m.state)
        path = os.path.join(options.o, name + ".txt")
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            for section, body in parts.items():
                file.write(f"==== {section}\n{body}\n")
            file.write("==== end\n")


if __name__ == "__main__":
    main()
