#!/usr/bin/env python3
"""opcases -- what PyTorch computes for the operator cases of the tests.

    opcases.py [NAME...]            write ../golden/NAME.golden for every
                                    ../cases/NAME.cases (or these)
    opcases.py --check [NAME...]    only tell whether they are current
    opcases.py --try 'CASE'         print one result

The README beside this file has the grammar of both files.  Each case that
ends in an error is told on stderr with PyTorch's words, so that an error by
mistake does not stay unseen.
"""

import glob
import inspect
import math
import os
import re
import sys
import warnings

import numpy as np
import torch
from torch import nn

import blocked  # noqa: F401: registers torch.ops.cfx
import strings  # noqa: F401: registers more of it
import torch.ao.quantization.fx._decomposed  # noqa: F401: its operators
import fxtext
import golden
import quantized  # noqa: F401: registers torch.ops.cfx.quantized_*
import observing  # noqa: F401: registers observe_histogram
import one_rank
import regions  # noqa: F401: registers torch.ops.torchvision
import transformers.integrations.moe  # noqa: F401: grouped_mm_fallback
import seeded

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "..", "cases")
GOLDEN = os.path.join(HERE, "..", "golden")
SEED = 1
SHOWN = 24


class CaseError(ValueError):
    """The case itself is wrong, whatever PyTorch thinks of it."""


class Refused(Exception):
    """PyTorch does not make such a module."""


# ----------------------------------------------------------------- reading

WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(\.[A-Za-z_0-9]+)*")
NUMBER = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?j?")
SPEC = re.compile(r"(?P<dtype>[a-z][a-z0-9]*)\[(?P<dims>[0-9, ]*)\]"
                  r"(?:@\((?P<strides>[0-9, ]*)\))?"
                  r"(?:#(?P<lo>-?[0-9.]+):(?P<hi>-?[0-9.]+)"
                  r"|=\{(?P<values>[^}]*)\})?")
CONSTANTS = {"None": None, "True": True, "False": False, "inf": math.inf,
             "nan": math.nan, "Ellipsis": Ellipsis}


def integers(text):
    return tuple(int(d) for d in text.replace(" ", "").split(",") if d)


def parse_number(text):
    if text.endswith("j"):
        return complex(text)
    return float(text) if re.search(r"[.eE]", text) else int(text)


class Reader:
    """Reads one case from left to right."""

    def __init__(self, text):
        self.text = text
        self.at = 0
        self.tensors = []
        self.module = None

    def fail(self, what):
        raise CaseError(f"column {self.at + 1}: {what}")

    def skip(self):
        while self.at < len(self.text) and self.text[self.at] == " ":
            self.at += 1

    def peek(self, token):
        self.skip()
        return self.text.startswith(token, self.at)

    def accept(self, token):
        found = self.peek(token)
        if found:
            self.at += len(token)
        return found

    def expect(self, token):
        if not self.accept(token):
            self.fail(f"{token!r} expected")

    def match(self, pattern):
        self.skip()
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def sequence(self, end):
        """Values up to `end`, and whether a comma followed the last."""
        items, comma = [], False
        while not self.accept(end):
            items.append(self.value())
            comma = self.accept(",")
            if not comma and not self.peek(end):
                self.fail(f"',' or {end!r} expected")
        return items, comma

    def string(self):
        end = fxtext.quoted_end(self.text, self.at)
        if end is None:
            self.fail("the string does not end")
        body = self.text[self.at + 1:end - 1]
        self.at = end
        return body

    def value(self):
        self.skip()
        if self.accept("..."):
            return Ellipsis
        if self.accept("-inf"):
            return -math.inf
        if self.peek("'") or self.peek('"'):
            return self.string()
        if self.accept("["):
            return self.sequence("]")[0]
        if self.accept("("):
            items, comma = self.sequence(")")
            return items[0] if len(items) == 1 and not comma else tuple(items)
        if self.accept("{"):
            return self.dictionary()
        if spec := self.match(SPEC):
            return self.tensor(spec)
        if number := self.match(NUMBER):
            return parse_number(number[0])
        if word := self.match(WORD):
            return self.named(word[0])
        self.fail("a value expected")

    def dictionary(self):
        out = {}
        while not self.accept("}"):
            key = self.value()
            self.expect(":")
            out[key] = self.value()
            if not self.accept(",") and not self.peek("}"):
                self.fail("',' or '}' expected")
        return out

    def named(self, word):
        if word in CONSTANTS:
            return CONSTANTS[word]
        if word in ("slice", "range", "complex"):
            self.expect("(")
            kind = {"slice": slice, "range": range, "complex": complex}[word]
            return kind(*self.sequence(")")[0])
        if word.startswith("torch."):
            found = getattr(torch, word[6:], None)
            if isinstance(found, (torch.dtype, torch.layout,
                                  torch.memory_format)):
                return found
        self.fail(f"{word!r} is no value")

    def tensor(self, spec):
        tensor = make_tensor(f"arg{len(self.tensors)}", spec, self)
        self.tensors.append(tensor)
        return tensor

    def arguments(self):
        """The arguments of a call, after its opening bracket."""
        args, kwargs = [], {}
        while not self.accept(")"):
            mark = self.at
            word = self.match(WORD)
            if word and self.accept("="):
                kwargs[word[0]] = self.value()
            else:
                if kwargs:
                    self.fail("a positional argument after keywords")
                self.at = mark
                args.append(self.value())
            if not self.accept(",") and not self.peek(")"):
                self.fail("',' or ')' expected")
        return args, kwargs

    def construct(self, name, args, kwargs):
        self.module = make_module(name, args, kwargs)
        return self.module

    def case(self):
        """The whole line: a function of no arguments that does the call."""
        target = self.match(WORD)
        if not target:
            self.fail("the name of a function expected")
        self.expect("(")
        args, kwargs = self.arguments()
        training = self.accept(".train()")
        if training and not self.peek("("):
            self.fail("'(' expected")
        if self.accept("("):
            if self.tensors:
                self.fail("a constructor takes no tensors")
            module = self.construct(target[0], args, kwargs)
            args, kwargs = self.arguments()
            call = module.train(training)
        elif fxtext.module_class(target[0]):
            module = make_module(target[0], args, kwargs)
            args, kwargs = [], {}
            call = lambda: module
        else:
            call = function(target[0])
        self.skip()
        if self.at < len(self.text):
            self.fail("the end of the line expected")
        return lambda: call(*args, **kwargs)


# ------------------------------------------------------------------ making

def typed(values, dtype, shape):
    """Wide values as a tensor of dtype, rounded once."""
    if seeded.is_floating(dtype) and not dtype.is_complex:
        rounded = seeded.round_to(np.asarray(values, np.float64), dtype)
        tensor = torch.from_numpy(rounded.reshape(shape))
        is_bits = dtype == torch.bfloat16 or dtype.itemsize == 1
        return tensor.view(dtype) if is_bits else tensor
    wide = torch.complex128 if dtype.is_complex else None
    return torch.tensor(values, dtype=wide).to(dtype).reshape(shape)


def listed(text, dtype, count, reader):
    words = [w.strip() for w in text.split(",") if w.strip()]
    named = {"true": 1, "false": 0}
    if dtype.is_complex:
        values = [complex(w) for w in words]
    elif dtype.is_floating_point:
        values = [float(w) for w in words]
    else:
        values = [named[w] if w in named else int(w) for w in words]
    if len(values) == 1:
        values *= count
    if len(values) != count:
        reader.fail(f"{len(values)} values for {count} elements")
    return values


def ranged(name, dtype, count, lo, hi):
    r = seeded.raw(seeded.key(SEED, "input:" + name), 0, count)
    if seeded.is_floating(dtype):
        low = float(lo)
        return low + (float(hi) - low) * seeded.uniform(r)
    span = np.uint64(int(hi) - int(lo))
    return (r % span).astype(np.int64) + int(lo)


def make_tensor(name, spec, reader):
    if spec["dtype"] not in seeded.DTYPES:
        reader.fail(f"{spec['dtype']!r} is no type")
    dtype, shape = seeded.DTYPES[spec["dtype"]], integers(spec["dims"])
    count = math.prod(shape)
    if spec["values"] is not None:
        values = listed(spec["values"], dtype, count, reader)
        tensor = typed(values, dtype, shape)
    elif spec["lo"] is not None:
        values = ranged(name, dtype, count, spec["lo"], spec["hi"])
        tensor = typed(values, dtype, shape)
    else:
        tensor = seeded.make_input(name, dtype, shape, SEED)
    if spec["strides"] is None:
        return tensor
    return lay_out(tensor, integers(spec["strides"]), reader)


def lay_out(tensor, strides, reader):
    """The same elements at other strides; the last of several wins."""
    shape = tensor.shape
    if len(strides) != len(shape):
        reader.fail(f"{len(strides)} strides for rank {len(shape)}")
    offsets = np.zeros(shape, np.int64)
    for axis, stride in enumerate(strides):
        index = np.arange(shape[axis], dtype=np.int64) * stride
        offsets += index.reshape([-1] + [1] * (len(shape) - axis - 1))
    size = int(offsets.max()) + 1 if offsets.size else 0
    # Which element is the last one written to each place.
    owner = np.full(size, -1, np.int64)
    owner[offsets.reshape(-1)] = np.arange(offsets.size)
    storage = torch.zeros(size, dtype=tensor.dtype)
    used = torch.from_numpy(np.flatnonzero(owner >= 0))
    storage[used] = tensor.reshape(-1)[torch.from_numpy(owner[owner >= 0])]
    return storage.as_strided(shape, strides)


def function(target):
    space, _, name = target.rpartition(".")
    if space == "Tensor" and hasattr(torch.Tensor, name) and \
            name.startswith("__"):
        return getattr(torch.Tensor, name)
    if space == "Tensor":
        target = "torch.Tensor." + name
    try:
        return fxtext.resolve(target)
    except (fxtext.TextError, AttributeError):
        raise CaseError(f"there is no {target}")


def make_module(name, args, kwargs):
    cls = fxtext.module_class(name)
    if cls is None:
        raise CaseError(f"torch.nn has no {name}")
    try:
        module = cls(*args, **kwargs)
    except Exception as error:
        raise Refused(error) from error
    for path, tensor in [*module.named_parameters(remove_duplicate=False),
                         *module.named_buffers(remove_duplicate=False)]:
        seeded.fill_parameter(tensor, path, SEED, seeded.gain_of(0, 0))
    return module


# ----------------------------------------------------------------- writing

def show_number(value):
    if isinstance(value, complex):
        return "%.9g%+.9gj" % (value.real, value.imag)
    if isinstance(value, float):
        return "%.9g" % value
    return str(int(value))


def show_tensor(tensor):
    dims = ",".join(str(d) for d in tensor.shape)
    strides = ",".join(str(s) for s in tensor.stride())
    head = f"{seeded.DTYPE_NAMES[tensor.dtype]}[{dims}]@({strides})"
    n = tensor.numel()
    places = range(n)
    if n > SHOWN:
        places = [k * (n - 1) // (SHOWN - 1) for k in range(SHOWN)]
    flat = tensor.detach().resolve_conj().resolve_neg().reshape(-1)
    return " ".join([head, *[show_number(flat[i].item()) for i in places]])


def show_literal(value):
    """What is no tensor, as Python would write it."""
    if isinstance(value, torch.Size):
        value = tuple(value)
    if isinstance(value, nn.Module):
        return repr(value).replace("\n", "\\n")
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        raise CaseError("a symbolic result")
    return repr(value)


def flat_results(value):
    """Depth first: tensors, and literals for what holds none."""
    items = golden.children(value)
    if isinstance(value, torch.Tensor) or items is None or \
            not any(True for _ in golden.tensors("", value)):
        return [value]
    return [leaf for _, item in items for leaf in flat_results(item)]


def snapshot(tensor):
    return tensor.detach().reshape(-1).clone()


def unchanged(tensor, before):
    now = tensor.detach().reshape(-1)
    if now.shape != before.shape:
        return False
    return bool(((now == before) | ((now != now) & (before != before))).all())


def result(text):
    """The result of one case, and PyTorch's words if it is an error."""
    reader = Reader(text)
    try:
        call = reader.case()
    except Refused as refused:
        return "error", str(refused).split("\n")[0]
    before = [snapshot(t) for t in reader.tensors]
    buffers = dict(reader.module.named_buffers()) if reader.module else {}
    held = {name: snapshot(t) for name, t in buffers.items()}
    torch.manual_seed(0)
    try:
        with torch.enable_grad():
            value = call()
    except Exception as error:
        return "error", f"{type(error).__name__}: {error}".split("\n")[0]
    leaves = flat_results(value)
    if "_c10d_functional" in text:
        one_rank.wait(leaves)
    parts = [show_tensor(v) if isinstance(v, torch.Tensor)
             else show_literal(v) for v in leaves]
    for i, tensor in enumerate(reader.tensors):
        if not any(v is tensor for v in leaves) and \
                not unchanged(tensor, before[i]):
            parts.append(f"arg{i}: {show_tensor(tensor)}")
    parts += [f"state {name}: {show_tensor(t)}" for name, t in buffers.items()
              if not unchanged(t, held[name])]
    return " ; ".join(parts), None


def cases(path):
    """Line numbers and texts of the cases in a file."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if line and not line.startswith("#"):
                yield number, line


def lines_for(path):
    for number, text in cases(path):
        place = f"{os.path.basename(path)}:{number}"
        try:
            shown, error = result(text)
        except CaseError as problem:
            sys.exit(f"{place}: {problem}\n    {text}")
        if error:
            print(f"{place}: {error}", file=sys.stderr)
        yield f"{text}\t{shown}"


def close(a, b):
    """Equal, but for the last digits of floating numbers."""
    mine, theirs = a.split(" "), b.split(" ")
    if len(mine) != len(theirs):
        return False
    for x, y in zip(mine, theirs):
        if x == y:
            continue
        try:
            p, q = complex(x), complex(y)
        except ValueError:
            return False
        if not abs(p - q) <= 1e-5 * max(1.0, abs(p)):
            return False
    return True


def check(path, lines):
    """Whether a committed golden is what PyTorch says today."""
    if not os.path.exists(path):
        return False
    with open(path, encoding="utf-8") as file:
        old = file.read().split("\n")[:-1]
    return len(old) == len(lines) and \
        all(close(a, b) for a, b in zip(old, lines))


def main():
    words = sys.argv[1:]
    torch.set_num_threads(2)
    warnings.simplefilter("ignore")
    if words[:1] == ["--try"]:
        shown, error = result(words[1])
        print(shown if error is None else f"{shown}\t{error}")
        return
    only_check = words[:1] == ["--check"]
    names = words[1:] if only_check else words
    if any(n.startswith("-") for n in names):
        sys.exit(inspect.getdoc(sys.modules[__name__]))
    if not names:
        paths = sorted(glob.glob(os.path.join(CASES, "*.cases")))
        names = [os.path.splitext(os.path.basename(p))[0] for p in paths]
    stale = []
    for name in names:
        lines = list(lines_for(os.path.join(CASES, name + ".cases")))
        out = os.path.join(GOLDEN, name + ".golden")
        if only_check:
            if not check(out, lines):
                stale.append(name)
            continue
        with open(out, "w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
        print(f"{name}: {len(lines)} cases")
    if stale:
        sys.exit("not current: " + " ".join(stale))


if __name__ == "__main__":
    main()
