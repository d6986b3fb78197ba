#!/usr/bin/env python3
"""shape_cases -- what PyTorch thinks of the symbolic shapes in cases/shapes.

    shape_cases.py FILE...

Each case is called three ways.  With fake tensors whose extents are symbols of
a ShapeEnv: the result must have the extents that the case expects, as
expressions that are equal wherever the guards of the case hold.  With meta
tensors of numbers that fulfil the guards: the result must have the expected
shape.  With numbers that do not: the call must fail, or give another shape.
Where PyTorch's own rule makes a number of a symbol, the expressions are held
against that one number, and the summary counts the case.  An expected
error must be one in PyTorch, but for results of complex32, which cfx does not
have; where cfx refuses what depends on a symbol's number, PyTorch must guard on
that number, or refuse it too.
"""

import itertools
import logging
import random
import re
import sys
import warnings

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensorMode
from torch._dynamo.source import ConstantSource
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

import fxtext
import opcases
import seeded

SYMBOL = re.compile(r"\b[A-Z]\b")
EXPRESSION = re.compile(r"-?(?:[0-9]+|[A-Z])(?:(?:\*|//|[-+])"
                        r"(?:[0-9]+|[A-Z]))*(?![A-Za-z0-9_.(])")
SPEC = re.compile(r"([a-z]+[0-9]*)\[([^\]'\"]*)\]")
EXTENT = re.compile(r"(?:[^,()]|\([^()]*\))+")  # f(x, y) is one
PRIMES = [7, 11, 13, 17, 19, 23]
SAMPLES = 24


class Reader(opcases.Reader):
    """Reads a case whose extents are expressions of symbols."""

    def __init__(self, text, symbols, device):
        super().__init__(text)
        self.symbols, self.device = symbols, device

    def value(self):
        self.skip()
        if spec := self.match(SPEC):
            shape = [self.extent(e) for e in spec[2].split(",") if e.strip()]
            tensor = torch.empty(shape, dtype=seeded.DTYPES[spec[1]],
                                 device=self.device)
            self.tensors.append(tensor)
            return tensor
        found = EXPRESSION.match(self.text, self.at)
        if found and SYMBOL.search(found[0]):
            self.at = found.end()
            return self.extent(found[0])
        return super().value()

    def extent(self, text):
        return eval(text, {}, self.symbols)

    def construct(self, name, args, kwargs):
        with torch.device(self.device):
            return fxtext.module_class(name)(*args, **kwargs)


# ---------------------------------------------------------------- the cases

class Case:
    def __init__(self, path, line, call):
        self.where, self.call = f"{path}:{line}", call
        self.result, self.guards = "", []
        self.specialized = False

    def add(self, line):
        if line.startswith("guard: "):
            self.guards.append(line[7:])
        else:
            self.result = line

    def names(self):
        return sorted(set(SYMBOL.findall(self.call)))

    def holds(self, values):
        return all(eval(g, {}, values) for g in self.guards)


def read(path):
    found = []
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        line = line.rstrip("\n")
        if line.startswith("    "):
            found[-1].add(line.strip())
        elif line and line[0] != "#":
            found.append(Case(path, number, line))
    return found


# -------------------------------------------------------- numbers for symbols

def numbers(case):
    """Numbers for the symbols, at first those that differ, and are prime."""
    names = case.names()
    constants = [int(n) for n in re.findall(r"\b[0-9]+\b", case.call +
                                            " ".join(case.guards))]
    own = sorted({n for n in constants if n > 1} | set(range(2, 9)))
    for chosen in itertools.permutations(PRIMES, len(names)):
        yield dict(zip(names, chosen))
        break
    for chosen in itertools.product([*PRIMES[:3], *own], repeat=len(names)):
        yield dict(zip(names, chosen))


def sample(case, keep):
    """Some of the numbers that do (keep), or do not, fulfil the guards."""
    found = [v for v in itertools.islice(numbers(case), 20000)
             if case.holds(v) == keep]
    rest = found[1:]
    random.Random(1).shuffle(rest)
    return found[:1] + rest[:SAMPLES]


# --------------------------------------------------------------- the results

def leaves(value):
    if isinstance(value, (tuple, list)):
        return [x for v in value for x in leaves(v)]
    if isinstance(value, torch.Tensor):
        return [str(value.dtype), *value.shape]
    if isinstance(value, torch.SymBool):
        return [bool(value)]
    return [value]


TYPES = {name: str(dtype) for name, dtype in seeded.DTYPES.items()}
TYPES["b8"] = str(torch.bool)


def expected(text):
    """The leaves of a result's text: names of types, texts of extents."""
    out = []
    for spec in re.finditer(r"([a-z]+[0-9]*)\[([^\]]*)\]|[^][(),\s]"
                            r"(?:[^][(),]|\([^()]*\))*", text):
        if spec[1] in TYPES:
            out.append(TYPES[spec[1]])
            out += [e.strip() for e in EXTENT.findall(spec[2]) if e.strip()]
        else:
            out.append(spec[0].strip())
    return out


def call(case, values, device):
    with torch.no_grad():
        return Reader(case.call, values, device).case()()


def symbolic(case, hints):
    """Call with symbols: the result's leaves and the environment."""
    env = ShapeEnv(duck_shape=False)
    symbols = {}
    for name, hint in hints.items():
        source = ConstantSource(name)
        symbol = env.create_symbol(hint, source, DimDynamic.DYNAMIC, None)
        symbols[name] = env.create_symintnode(symbol, hint=hint, source=source)
    with FakeTensorMode(shape_env=env), enable_python_dispatcher():
        out = leaves(call(case, symbols, "cpu"))
    return out, env, {n: s.node.expr for n, s in symbols.items()}


# ------------------------------------------------------------ the comparison

def value_of(text, values):
    found = eval(text, {}, values)
    whole = isinstance(found, float) and found.is_integer()
    return int(found) if whole else found


def same_leaf(leaf, want, values, symbols, env, made):
    """Is a leaf what the text says, where the symbols have these values?"""
    if not isinstance(leaf, (torch.SymInt, int)) or isinstance(leaf, bool):
        return str(leaf) == want
    expr = leaf.node.expr if isinstance(leaf, torch.SymInt) else None
    free = expr.free_symbols if expr is not None else set()
    own = set(symbols.values())
    if free - own and not any(env.replacements.get(s) for s in free - own):
        return made.setdefault(str(expr), want) == want
    if expr is None:
        return leaf == value_of(want, values)
    number = expr.subs({symbols[n]: v for n, v in values.items()})
    return number == value_of(want, values)


def check_symbols(case, kept):
    try:
        got, env, symbols = symbolic(case, kept[0])
    except Exception as error:  # PyTorch has no single class for refusals
        return f"PyTorch, with symbols: {str(error).splitlines()[0]}"
    want, made = expected(case.result), {}
    if len(got) != len(want):
        return f"PyTorch gives {got}"
    case.specialized = any(type(leaf) is int and SYMBOL.search(text)
                           for leaf, text in zip(got, want))
    for values in kept[:1] if case.specialized else kept:
        for leaf, text in zip(got, want):
            if not same_leaf(leaf, text, values, symbols, env, made):
                return f"PyTorch gives {got}, not {text} for {values}"
    return None


def check_numbers(case, kept):
    """With numbers; what depends on data has no such run."""
    want = expected(case.result)
    if any(re.fullmatch(r"u[0-9]+", w) for w in want):
        return None
    for values in kept + sample(case, False):
        try:
            got = [str(v) for v in leaves(call(case, values, "meta"))]
        except Exception as error:
            got = [str(error).splitlines()[0]]
        try:
            told = [w if w in TYPES.values() or not re.search("[A-Z0-9]", w)
                    else str(value_of(w, values)) for w in want]
        except NameError:
            told = want
        if case.holds(values) != (got == told):
            return f"PyTorch gives {got} for {values}, the case {told}"
    return None


def check_error(case):
    """PyTorch refuses it too, by its symbols or its numbers, or guards on the
    number of a symbol, or has a type that cfx says that it lacks."""
    for values in itertools.islice(numbers(case), 1, 8):
        try:
            got, env, _ = symbolic(case, values)
            call(case, values, "cpu")
        except Exception:
            continue
        if "the result would be complex32" in case.result and \
                "torch.complex32" in got:
            continue
        if "depends on" in case.result and env.guards:
            continue
        return f"PyTorch does not refuse it for {values}"
    return None


def check(case):
    if case.result.startswith("error: "):
        return check_error(case)
    kept = sample(case, True)
    if not kept:
        return "no numbers were found that fulfil the guards"
    return check_symbols(case, kept) or check_numbers(case, kept)


def main():
    passed = failed = specialized = 0
    logging.disable(logging.ERROR)
    warnings.simplefilter("ignore")
    for path in sys.argv[1:]:
        for case in read(path):
            why = check(case)
            passed += why is None
            failed += why is not None
            specialized += case.specialized
            if why:
                print(f"{case.where}: {case.call}\n    {case.result}\n"
                      f"    {why}")
    print(f"in {specialized} of them PyTorch makes a number of a symbol")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
