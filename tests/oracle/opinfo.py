#!/usr/bin/env python3
"""opinfo -- PyTorch's own samples of its operators, run by cfx.

    opinfo.py CFX [--only NAME]... [--samples N] [--dtypes f32,i64,bool]
                  [--spellings torch,aten,method,inplace] [--keep DIR] [-v]
                  [--reference] [--errors]

CFX is the program.  Each OpInfo of torch.testing gives samples of arguments.
A sample is traced by symbolic_trace ("torch"; "method" and "inplace" are the
variants of class Tensor) and by make_fx ("aten"), written as text and
safetensors, and run.  NAME is that of an OpInfo, with its variant after a point
if it has one, or a pattern as in `special.*`.  At most N samples of a type are
taken (8), evenly from all.

Values must be close as torch.testing.assert_close has it, or at least as near
as PyTorch's to those that PyTorch computes in float64; where PyTorch gives other
values with another seed, they are random, and only types, shapes and strides are
compared.  Factors of matrices are compared by their product, since their signs
and the order of equal values are arbitrary.  `cfx shapes` must tell the same
types, shapes and strides.  A line for each OpInfo and spelling counts

    equal      all of this
    excepted   opinfo.tsv tells why it is not
    different  anything else than PyTorch's, a crash, or more than one line of
               an error
    unknown    the function is not registered
    refused    it is, and does not take these arguments
    untraced   PyTorch cannot trace or write it

and is followed by the first sample of each kind but equal.  Places of equal elements may be other ones.  The last lines have
the totals, and the percentage of the OpInfos that PyTorch traces of which all
samples are equal, by type.  Status 1 if a sample is different.  --keep saves the
models of samples that are not equal.  Needs the package expecttest.

With --reference the samples are reference_inputs, which are more and larger, of
the OpInfos that have such.

With --errors the samples are error_inputs: arguments that PyTorch refuses.  They
are not traced but written as the text of one call, in the first spelling.

    refused    cfx refuses them, in one line, in run and in shapes
    accepted   it computes them; shapes may accept what data decide
    different  a crash, or more than one line of an error
    untraced   they are not written as text, or PyTorch takes them, too

Status 1 if one is accepted or different.

Lines of opinfo.tsv have an OpInfo (a pattern), spellings, types (* for all), and
the reason.
"""

import argparse
import collections
import fnmatch
import inspect
import json
import operator
import os
import shutil
import subprocess
import sys
import tempfile
import warnings

import numpy
import safetensors.torch
import torch
from torch import fx
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "models"))
import export  # noqa: E402

TYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16,
         "bf16": torch.bfloat16, "i8": torch.int8, "i16": torch.int16,
         "i32": torch.int32, "i64": torch.int64, "u8": torch.uint8,
         "bool": torch.bool, "c64": torch.complex64, "c128": torch.complex128}
KINDS = ("equal", "excepted", "different", "unknown", "refused", "untraced",
         "accepted")
SPELLINGS = ("torch", "aten", "method", "inplace")
SECONDS = 60
MACHINE = os.path.join(HERE, "..", "..", "shapeprop", "machines",
                       "nvidia-a100.json")


class Untraced(Exception):
    pass


# ---------------------------------------------------------------- samples

def name_of(info):
    return info.name + ("." + info.variant_test_name
                        if info.variant_test_name else "")


def some(items, n):
    """At most n of them, evenly, with the first and the last."""
    if len(items) <= n:
        return items
    return [items[k * (len(items) - 1) // max(n - 1, 1)] for k in range(n)]


def samples_of(info, dtype, n, reference):
    torch.manual_seed(0)
    samples = info.reference_inputs if reference else info.sample_inputs
    try:
        found = list(samples("cpu", dtype, requires_grad=False))
    except Exception:  # pylint: disable=broad-except
        return []
    return some(found, n)


def dense(x):
    """A row-major copy; of what has other layouts, itself."""
    if x.layout != torch.strided:
        return x
    return x.detach().clone(memory_format=torch.contiguous_format)


class Call:
    """A sample as a function of its tensors alone."""

    def __init__(self, function, sample):
        self.function = function
        leaves, self.spec = pytree.tree_flatten(
            ((sample.input, *sample.args), sample.kwargs))
        self.leaves = leaves
        self.tensors = [dense(x) for x in leaves
                        if isinstance(x, torch.Tensor)]
        self.names = [f"a{i}" for i in range(len(self.tensors))]

    def __call__(self, *tensors):
        rest = iter(tensors)
        leaves = [next(rest) if isinstance(x, torch.Tensor) else x
                  for x in self.leaves]
        args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        return self.function(*args, **kwargs)

    def copies(self):
        return [x.clone() for x in self.tensors]

    def trace(self, spelling):
        if spelling == "aten":
            return make_fx(self)(*self.copies())
        names = ", ".join(self.names)
        return fx.symbolic_trace(
            eval(f"lambda {names}: call({names})", {"call": self}))


def function_of(info, spelling):
    found = {"torch": info.op, "aten": info.op, "method": info.method_variant,
             "inplace": info.inplace_variant}[spelling]
    if inspect.ismethoddescriptor(found):   # a proxy has it by its name only
        return lambda x, *args, **kwargs: getattr(x, found.__name__)(
            *args, **kwargs)
    return found


# ----------------------------------------------------------------- models

def leaves_of(graph, value, result):
    """Nodes of the tensors and numbers in a result, made where it is a tuple
    that one node gives."""
    if isinstance(result, (torch.Tensor, bool, int, float)):
        return [(value, result)] if isinstance(value, fx.Node) else []
    if isinstance(result, dict):
        pairs = [(key, result[key]) for key in result]
    elif isinstance(result, (tuple, list)):
        pairs = list(enumerate(result))
    else:
        return []
    found = []
    for key, part in pairs:
        at = (graph.call_function(operator.getitem, (value, key))
              if isinstance(value, fx.Node) else value[key])
        found += leaves_of(graph, at, part)
    return found


def is_inplace(n):
    name = getattr(n.target, "__name__", n.target).split(".")[0]
    return n.op.startswith("call") and name.endswith("_") and \
        not name.endswith("__")


def with_leaves(gm, result):
    """The graph, returning every tensor and number of its result."""
    output = next(iter(gm.graph.find_nodes(op="output")))
    with gm.graph.inserting_before(output):
        found = leaves_of(gm.graph, output.args[0], result)
        if any(is_inplace(n) for n in gm.graph.nodes):   # what is there at last
            found = [(gm.graph.call_function(torch.ops.aten.alias.default,
                                             (node,)), part)
                     if isinstance(part, torch.Tensor) else (node, part)
                     for node, part in found]
    output.args = (tuple(node for node, _ in found),)
    gm.recompile()
    return found


def prepare(call, spelling, where):
    """Write the model and its inputs; the nodes and values to compare."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gm = call.trace(spelling)
            if not any(n.op.startswith("call") for n in gm.graph.nodes):
                raise Untraced("tracing computes it")
            result = seeded(gm, call, 1)
            random = any(differs(result, seeded(gm, call, seed))
                         for seed in range(2, 6))
            leaves = with_leaves(gm, result)
            export.export(gm, os.path.join(where, "m"))
    except Untraced:
        raise
    except Exception as e:  # pylint: disable=broad-except
        raise Untraced(f"{type(e).__name__}: {e}".split("\n", maxsplit=1)[0])
    places = [n.name for n in gm.graph.find_nodes(op="placeholder")]
    if any(x.layout != torch.strided for x in call.tensors):
        raise Untraced("a tensor is not strided")
    given = [w for place, x in zip(places, call.tensors)
             for w in ("-i", f"{place}={save(where, place, x)}")]
    return Model(gm, call, given, leaves, random)


Model = collections.namedtuple("Model", "gm call given leaves random")


def file_of(name, x):
    """safetensors has no complex128, npy no bfloat16."""
    return name + (".npy" if x.dtype == torch.complex128 else ".safetensors")


def save(where, name, x):
    file = file_of(name, x)
    if file.endswith(".npy"):
        numpy.save(os.path.join(where, file), x.resolve_conj().numpy())
        return file
    safetensors.torch.save_file({name: x.resolve_conj()},
                                os.path.join(where, file))
    return f"{file}:{name}"


def load(where, file):
    path = os.path.join(where, file)
    if file.endswith(".npy"):
        return torch.from_numpy(numpy.load(path))
    return next(iter(safetensors.torch.load_file(path).values()))


def seeded(gm, call, seed):
    torch.manual_seed(seed)
    return gm.forward(*call.copies())


def differs(a, b):
    """Does a result change from run to run?"""
    for x, y in zip(pytree.tree_leaves(a), pytree.tree_leaves(b)):
        if isinstance(x, torch.Tensor) and x.shape == y.shape:
            if not close(x, y):
                return True
        elif isinstance(x, torch.Tensor):
            return True
    return False


def close(have, want):
    try:
        torch.testing.assert_close(have, want, equal_nan=True,
                                   check_stride=False)
    except AssertionError:
        return False
    return True


# ---------------------------------------------------------------- running

def run(words, where):
    try:
        return subprocess.run(words, cwd=where, capture_output=True, text=True,
                              check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, -14, "", "takes too long")


def failed(done):
    """The kind and the words of a failure."""
    message = done.stderr.strip()
    if done.returncode < 0 or "\n" in message or not message:
        return "different", f"ends with {done.returncode}: {message[-300:]}"
    unknown = "unknown function" in message or "unknown method" in message
    return ("unknown" if unknown else "refused",
            message.split("; While executing")[0])


def metas(where, nodes):
    with open(os.path.join(where, "shapes.json"), encoding="utf-8") as file:
        values = {n["name"]: n.get("value")
                  for n in json.load(file)["nodes"]}
    return [values.get(node) for node in nodes]


def spelled(x):
    if x.layout != torch.strided:
        return str(x.layout)
    return f"{str(x.dtype)[6:]}{list(x.shape)}@{list(x.stride())}"


def compare_meta(meta, want):
    """None, or a sentence. A size that data decide is a name."""
    if not isinstance(meta, dict) or "dtype" not in meta:
        return f"shapes: {meta} for {spelled(want)}"
    same = meta["dtype"] == str(want.dtype)[6:] and \
        len(meta["shape"]) == want.dim()
    for key, numbers in (("shape", want.shape), ("stride", want.stride())):
        for have, number, extent in zip(meta[key], numbers, want.shape):
            free = key == "stride" and (extent == 1 or want.numel() == 0)
            same &= free or isinstance(have, str) or have == number
    return None if same else \
        f"shapes: {meta['dtype']}{meta['shape']}@{meta['stride']} for " \
        f"{spelled(want)}"


WIDE = {torch.float16: torch.float64, torch.bfloat16: torch.float64,
        torch.float32: torch.float64, torch.complex64: torch.complex128}


def widened(x):
    """The same numbers in a type of 64 bits, in arguments of any kind."""
    if isinstance(x, torch.Tensor):
        return x.to(WIDE.get(x.dtype, x.dtype))
    return WIDE.get(x, x) if isinstance(x, torch.dtype) else x


def precise(model):
    """The results computed in 64 bits, or None."""
    graph = torch.fx.Graph()
    copied = graph.graph_copy(model.gm.graph, {})
    graph.output(copied)
    for n in graph.nodes:
        n.args, n.kwargs = pytree.tree_map(widened, (n.args, n.kwargs))
    gm = fx.GraphModule(model.gm, graph)
    try:
        return pytree.tree_leaves(
            gm.forward(*[widened(x) for x in model.call.copies()]))
    except Exception:  # pylint: disable=broad-except
        return None


def is_nearer(have, want, exact):
    """Is the greatest error at most that of PyTorch, or four epsilons of the
    greatest element?"""
    if not isinstance(exact, torch.Tensor) or exact.shape != want.shape or \
            not (want.is_floating_point() or want.is_complex()):
        return False
    exact = exact.to(WIDE.get(want.dtype, want.dtype))
    mine, theirs = ((x.to(exact.dtype) - exact).abs() for x in (have, want))
    same = (have == want) | (have.isnan() & want.isnan())
    mine, theirs = mine[~same], theirs[~same]
    finite = exact[exact.isfinite()].abs()
    if not len(mine) or not len(finite):
        return not len(mine)
    near = max(theirs.max(),
               4 * torch.finfo(want.dtype).eps * finite.max())
    return bool((mine <= near).all())


def compare_value(have, want, model, at):
    if not isinstance(want, torch.Tensor):
        want = torch.tensor(want, dtype=torch.float64 if
                            isinstance(want, float) else None)
    if have.dtype != want.dtype or have.shape != want.shape:
        return f"{spelled(have)} for {spelled(want)}"
    if model.random:
        return None
    try:
        torch.testing.assert_close(have, want, equal_nan=True)
    except AssertionError as e:
        exact = precise(model)
        if exact and is_nearer(have, want, exact[at]):
            return None
        lines = [x for x in str(e).split("\n") if x]
        return " ".join(lines[:1] + lines[1:4])[:300]
    return None


# Products of the factors that an OpInfo gives, and results that are unique.

def by_values(u, s, vh):
    return [u[..., :s.shape[-1]] * s.to(u.dtype).unsqueeze(-2)
            @ vh[..., :s.shape[-1], :], s]


def by_eigen(values, vectors):
    return [(vectors * values.to(vectors.dtype).unsqueeze(-2))
            @ torch.linalg.pinv(vectors), values.abs().sort(-1)[0]]


FACTORS = {
    "svd": lambda u, s, v: by_values(u, s, v.mH),
    "linalg.svd": by_values,
    "svd_lowrank": lambda u, s, v: by_values(u, s, v.mH),
    "pca_lowrank": lambda u, s, v: by_values(u, s, v.mH),
    "linalg.eigh": by_eigen,
    "linalg.eig": by_eigen,
    "linalg.eigvals": lambda values: [values.abs().sort(-1)[0]],
    "linalg.qr": lambda q, r: [q @ r if q.numel() else r.mH @ r, r.abs()],
    "qr": lambda q, r: [q @ r if q.numel() else r.mH @ r, r.abs()],
}


# Places that are arbitrary among equal elements.
TIES = ("sort", "argsort", "topk", "kthvalue", "mode", "median", "nanmedian",
        "msort", "max.reduction_with_dim", "min.reduction_with_dim")


def picked(x, index, dim):
    """The elements of x at the places of an axis, which may be gone."""
    if index.dim() < x.dim():
        index = index.unsqueeze(dim)
    return x.gather(dim, index)


def have_ties(model, have, want):
    """Are places other ones of the same elements, along some axis?"""
    x = model.call.tensors[0]
    for dim in range(x.dim()):
        try:
            if torch.equal(picked(x, have, dim), picked(x, want, dim)):
                return True
        except (RuntimeError, IndexError):
            pass
    return False


def compare_factors(name, have, want):
    """None if the products are close."""
    try:
        for a, b in zip(FACTORS[name](*have), FACTORS[name](*want)):
            torch.testing.assert_close(a, b, equal_nan=True, rtol=1e-3,
                                       atol=1e-3)
    except (AssertionError, RuntimeError) as e:
        return str(e).split("\n", maxsplit=1)[0]
    return None


def compare_values(name, have, model):
    wrong = None
    for at, (a, (_, want)) in enumerate(zip(have, model.leaves)):
        found = compare_value(a, want, model, at)
        if found and name in TIES and a.dtype == torch.int64 and \
                a.shape == want.shape and have_ties(model, a, want):
            found = None
        wrong = wrong or found
    if wrong and name in FACTORS and all(
            spelled(a) == spelled(b) or a.shape == b.shape
            for a, (_, b) in zip(have, model.leaves)):
        return compare_factors(name, have, [b for _, b in model.leaves])
    return wrong


def outcome(cfx, call, name, spelling, where):
    try:
        model = prepare(call, spelling, where)
    except Untraced as e:
        return "untraced", str(e)
    if "empty" in name:
        model = model._replace(random=True)
    files = [file_of(f"out{i}", torch.as_tensor(want))
             for i, (_, want) in enumerate(model.leaves)]
    saved = [w for file, (node, _) in zip(files, model.leaves)
             for w in ("--save", f"{node.name}={file}")]
    done = run([cfx, "run", "m.fx", "-t", "1", *model.given, *saved, "-o",
                "/dev/null"], where)
    if done.returncode:
        return failed(done)
    wrong = compare_values(name, [load(where, file) for file in files], model)
    if wrong:
        return "different", wrong
    if not any(isinstance(x, torch.Tensor) for _, x in model.leaves):
        return "equal", ""
    done = run([cfx, "shapes", "m.fx", *model.given, "-f", "json", "-o",
                "shapes.json"], where)
    if done.returncode:
        return failed(done)
    for meta, (_, want) in zip(
            metas(where, [n.name for n, _ in model.leaves]), model.leaves):
        wrong = isinstance(want, torch.Tensor) and compare_meta(meta, want)
        if wrong:
            return "different", wrong
    return "equal", ""


# ----------------------------------------------------------------- errors

DTYPES = {v: str(v)[6:] for v in TYPES.values()}


def literal(x, tensors):
    """The text of an argument; tensors become inputs."""
    if isinstance(x, torch.Tensor):
        if x.layout != torch.strided or x.dtype not in DTYPES or x.is_meta:
            raise Untraced(f"a tensor of {x.layout} {x.dtype}")
        tensors.append(x)
        return f"%a{len(tensors) - 1}"
    if isinstance(x, (tuple, list)):
        inner = ", ".join(literal(v, tensors) for v in x)
        comma = "," if len(x) == 1 and isinstance(x, tuple) else ""
        return f"({inner}{comma})" if isinstance(x, tuple) else f"[{inner}]"
    if x is None or isinstance(x, (bool, int, float, complex, str,
                                   torch.dtype, torch.memory_format)):
        return repr(x)
    raise Untraced(f"a {type(x).__name__}")


def target_of(info):
    """How a graph calls an OpInfo's function: the opcode, the target."""
    name = getattr(torch.overrides, "resolve_name")(info.op)
    if name or hasattr(torch, info.name):
        return "call_function", name or f"torch.{info.name}"
    if hasattr(torch.Tensor, info.name):
        return "call_method", info.name
    raise Untraced("no function and no method")


def call_text(info, sample):
    """The text of one call, and its tensors."""
    tensors = []
    opcode, name = target_of(info)
    args = ", ".join(literal(x, tensors) for x in (sample.input, *sample.args))
    kwargs = ", ".join(f"{k}: {literal(v, tensors)}"
                       for k, v in sample.kwargs.items())
    lines = [f"    %a{i} : [num_users=1] = placeholder[target=a{i}]"
             for i in range(len(tensors))]
    lines += [f"    %y : [num_users=1] = {opcode}[target={name}](args = "
              f"({args},), kwargs = {{{kwargs}}})",
              "    return y"]
    return "graph():\n" + "\n".join(lines) + "\n", tensors


def refuses(info, sample):
    """Does PyTorch refuse the arguments as files have them: each a tensor of its
    own?"""
    args, kwargs = pytree.tree_map_only(
        torch.Tensor, dense, ((sample.input, *sample.args), sample.kwargs))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            info.op(*args, **kwargs)
    except Exception:  # pylint: disable=broad-except
        return True
    return False


def refusal(cfx, info, sample, where):
    try:
        text, tensors = call_text(info, sample)
        if not refuses(info, sample):
            raise Untraced("PyTorch takes it")
        given = [w for i, x in enumerate(tensors)
                 for w in ("-i", f"a{i}={save(where, f'a{i}', dense(x))}")]
    except (Untraced, RuntimeError) as e:
        return "untraced", str(e)
    with open(os.path.join(where, "m.fx"), "w", encoding="utf-8") as file:
        file.write(text)
    done = run([cfx, "run", "m.fx", "-t", "1", *given, "-o", "/dev/null"],
               where)
    if not done.returncode:
        return "accepted", text.strip().split("\n")[-2]
    kind, words = failed(done)
    done = run([cfx, "roofline", "m.fx", "--machine", MACHINE, *given, "-o",
                "/dev/null"], where)
    if done.returncode < 0 or "\n" in done.stderr.strip():
        return failed(done)
    return kind, words


def errors(options, info):
    """Kinds of the error_inputs of an OpInfo."""
    counts, first = collections.Counter(), {}
    if not info.error_inputs_func:
        return counts
    torch.manual_seed(0)
    for error in info.error_inputs("cpu"):
        sample = error.sample_input
        with tempfile.TemporaryDirectory() as where:
            kind, words = refusal(options.cfx, info, sample, where)
            if kind != "refused" and options.keep:
                keep(options.keep, where, name_of(info), "error",
                     sum(counts.values()))
        counts[kind] += 1
        if kind != "refused":
            first.setdefault(kind, []).append(words)
    report(name_of(info), "errors", {"all": counts}, first)
    return counts


# ---------------------------------------------------------------- reports

def spelled_sample(call):
    words = [spelled(x) if isinstance(x, torch.Tensor) else repr(x)
             for x in call.leaves]
    return ", ".join(words)[:200]


def keep(folder, where, name, spelling, number):
    to = os.path.join(folder, f"{name}.{spelling}.{number}")
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(where, to)


def exceptions():
    """Lines of opinfo.tsv: OpInfo, spellings, types, the reason."""
    with open(os.path.join(HERE, "opinfo.tsv"), encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file
                 if not line.startswith("#")]
    return lines


def is_excepted(lines, name, spelling, key):
    return any(fnmatch.fnmatchcase(name, line[0]) and
               (line[1] == "*" or spelling in line[1].split(",")) and
               (line[2] == "*" or key in line[2].split(","))
               for line in lines)


def one(options, info, spelling):
    """Kinds of the samples of an OpInfo, counted by type."""
    counts, first, number = {}, {}, 0
    function, name = function_of(info, spelling), name_of(info)
    if function is None:
        return counts
    for key in options.dtypes.split(","):
        if TYPES[key] not in info.dtypes:
            continue
        counts[key] = collections.Counter()
        for sample in samples_of(info, TYPES[key], options.samples,
                                 options.reference):
            if spelling == "inplace" and sample.broadcasts_input:
                continue
            call = Call(function, sample)
            with tempfile.TemporaryDirectory() as where:
                kind, words = outcome(options.cfx, call, name, spelling, where)
                if kind not in ("equal", "untraced") and is_excepted(
                        options.exceptions, name, spelling, key):
                    kind = "excepted"
                if kind != "equal" and options.keep:
                    keep(options.keep, where, name, spelling, number)
            number += 1
            counts[key][kind] += 1
            if kind != "equal":
                if kind not in first or options.verbose:
                    first.setdefault(kind, []).append(
                        f"({spelled_sample(call)}): {words}")
    report(name, spelling, counts, first)
    return counts


def report(name, spelling, counts, first):
    whole = sum(counts.values(), collections.Counter())
    told = ", ".join(f"{whole[k]} {k}" for k in KINDS if whole[k])
    print(f"{name} {spelling}: {told or 'no samples'}")
    for kind, lines in first.items():
        for line in lines:
            print(f"    {kind} {line}")
    sys.stdout.flush()


def word_of(counts):
    """One word for an OpInfo."""
    kinds = [k for k in KINDS if counts[k]]
    if not kinds:
        return "no samples"
    if "different" in kinds or len(kinds) == 1:
        return "different" if "different" in kinds else kinds[0]
    worst = next((k for k in ("unknown", "refused", "excepted", "untraced")
                  if k in kinds), "equal")
    return worst + (" in part" if "equal" in kinds else "")


def percent(all_counts):
    """Of the OpInfos with traced samples, those whose samples are equal."""
    traced = [c for c in all_counts if any(c[k] for k in KINDS[:-1])]
    equal = [c for c in traced
             if not any(c[k] for k in KINDS if k not in ("equal", "untraced"))]
    return f"{len(equal)}/{len(traced)}" + (
        f" {100 * len(equal) / len(traced):.1f} %" if traced else "")


def totals(spelling, all_counts, types):
    whole = [sum(c.values(), collections.Counter()) for c in all_counts]
    words = collections.Counter(word_of(c) for c in whole)
    samples = sum(whole, collections.Counter())
    print(f"{spelling}: operators:",
          ", ".join(f"{n} {w}" for w, n in words.most_common()))
    print(f"{spelling}: samples:",
          ", ".join(f"{samples[k]} {k}" for k in KINDS if samples[k]))
    print(f"{spelling}: equal: {percent(whole)};", ", ".join(
        f"{key} {percent([c[key] for c in all_counts if key in c])}"
        for key in types))
    return samples["different"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cfx")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--dtypes", default="f32,i64,bool")
    parser.add_argument("--spellings", default="torch,aten")
    parser.add_argument("--keep")
    parser.add_argument("--reference", action="store_true")
    parser.add_argument("--errors", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    options.cfx = os.path.abspath(options.cfx)
    options.exceptions = exceptions()
    unknown = set(options.dtypes.split(",")) - set(TYPES) or \
        set(options.spellings.split(",")) - set(SPELLINGS)
    if unknown:
        parser.error(f"{', '.join(unknown)}: not one of "
                     f"{', '.join([*TYPES, *SPELLINGS])}")
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    torch.set_num_threads(1)
    from torch.testing._internal.common_methods_invocations import op_db
    infos = [i for i in op_db if not options.only or any(
        fnmatch.fnmatch(n, p) for p in options.only
        for n in (name_of(i), i.name))]
    if options.reference:
        infos = [i for i in infos if i.reference_inputs_func]
    if not infos:
        parser.error("no OpInfo has such a name")
    if options.errors:
        found = sum((errors(options, info) for info in infos),
                    collections.Counter())
        print("errors:", ", ".join(f"{found[k]} {k}"
                                   for k in KINDS if found[k]))
        return 1 if found["accepted"] or found["different"] else 0
    different = 0
    for spelling in options.spellings.split(","):
        different += totals(spelling, [one(options, info, spelling)
                                       for info in infos],
                            options.dtypes.split(","))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
