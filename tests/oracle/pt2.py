#!/usr/bin/env python3
"""pt2 -- does cfx read and run what torch.export.save writes?

    pt2.py CFX [NAME...]           compare them
    pt2.py --save DIR [NAME...]    only write NAME.pt2, NAME.in.safetensors and
                                   NAME.out.safetensors
    pt2.py --golden                write the files of tests/golden/pt2

CFX is the program. Small models with random weights are exported, as training
IR, traced by Dynamo (strict) or not, as Core ATen, and with all extents dynamic
that can be (auto), and saved. Of each, `cfx print` must give the graph of
`torch.export.load(file).module()`, line for line; `cfx run` PyTorch's results to
1e-4 of the largest, on the inputs that the file holds, too, and on larger ones
where their sizes are dynamic; `cfx shapes` the shapes that the file has, with
symbols in them at three sizes; and `cfx convert` a model of the same graph. A
line each, then the counts. IRS=strict,auto in the environment names some.
"""

import collections
import copy
import dataclasses
import inspect
import io
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings
import zipfile

import numpy as np
import safetensors.torch
import torch
from torch import nn
from torch.export import Dim
from torch.export.graph_signature import InputKind
from torch.nn import functional as F
from torch.utils import _pytree as pytree

import exports
import pt2_models

LIMIT = 1e-4
GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden" / "pt2"


# ------------------------------------------------------------------ models
#
# A model, its arguments, and which of their extents are dynamic.

class CNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.bn = nn.BatchNorm2d(4)
        self.fc = nn.Linear(4, 5)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.bn(self.conv(x))), 2)
        return self.fc(x.mean((2, 3)))


def cnn():
    return CNN(), (torch.randn(2, 3, 8, 8),), ({0: Dim("batch", max=64)},)


def mlp():
    return exports.mlp(6, 8, 3), (torch.randn(4, 6),), None


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.rnn = kind(5, 6, num_layers=2, batch_first=True)

    def forward(self, x):
        return self.rnn(x)[0]


def lstm():
    return Recurrent(nn.LSTM), (torch.randn(2, 4, 5),), None


def gru():
    return Recurrent(nn.GRU), (torch.randn(2, 4, 5),), None


def encoder():
    layer = nn.TransformerEncoderLayer(16, 4, 24, batch_first=True)
    return (nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
            (torch.randn(2, 5, 16),), None)


def whisper():
    from transformers import WhisperConfig, WhisperModel
    model = WhisperModel(WhisperConfig(
        vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=1,
        encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=37, decoder_ffn_dim=37, num_mel_bins=16,
        max_source_positions=20, max_target_positions=20, pad_token_id=0,
        bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        suppress_tokens=None, begin_suppress_tokens=None, use_cache=False))
    return (exports.First(model, ("input_features", "decoder_input_ids")),
            (torch.randn(2, 16, 40), exports.tokens(2, 5)), None)


class Branches(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: (x.sin(), x + 1),
                          lambda x: (x.cos(), x - 1), (x,))


def cond():
    return Branches(), (torch.randn(3),), None


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(2))
        self.register_buffer("scale", torch.full((2,), 3.), persistent=False)

    def forward(self, x):
        self.n.add_(x.sum())
        return self.n * self.scale + x


def mutated():
    return Counter(), (torch.randn(2),), None


class Named(nn.Module):
    def forward(self, pair, *, table, flag=True):
        a, b = pair
        y = a + b * table["k"]
        return {"sum": y if flag else a, "both": [a, {"b": b}]}


def dicts():
    x = torch.randn(2, 3)
    return (Named(), ((x, x + 1),), None,
            {"table": {"k": torch.randn(3)}, "flag": False})


Pair = collections.namedtuple("Pair", "low high")
pytree._register_namedtuple(Pair, serialized_type_name="Pair")


@dataclasses.dataclass
class Boxes:
    corners: torch.Tensor
    scores: torch.Tensor


torch.export.register_dataclass(Boxes, serialized_type_name="Boxes")


class Structure(nn.Module):
    """A result of everything that a pytree knows."""

    def forward(self, x):
        low = x.clamp(max=0)
        return collections.OrderedDict(
            pair=Pair(low, x - low), none=None, size=x.shape,
            boxes=Boxes(x * 2, [x.sum(), 7]),
            table=collections.defaultdict(list, {3: x + 1}))


def structure():
    return Structure(), (torch.randn(2, 3),), None


class Twice(nn.Module):
    """Of b * 2 and b * 2 * 2, which decomposed linears compute of extents, only
    the latter is used: torch has it from the first linear."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x):
        return self.fc(self.fc(x).unflatten(1, (2, 2)))


def twice():
    return Twice(), (torch.randn(2, 4, 3),), ({0: Dim("b", max=64)},)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 4)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        return self.head(self.embed(tokens))


def tied():
    return Tied(), (torch.tensor([[1, 6, 3]]),), None


class Half(nn.Module):
    """NumPy has no bfloat16: the result is float32."""

    def __init__(self):
        super().__init__()
        self.net = exports.mlp(6, 8, 3).to(torch.bfloat16)

    def forward(self, x):
        return self.net(x).float()


def bfloat16():
    return Half(), (torch.randn(4, 6, dtype=torch.bfloat16),), None


class Views(nn.Module):
    """State that is not row-major, shares its memory, is empty or a scalar."""

    def __init__(self):
        super().__init__()
        base = torch.arange(24.).reshape(2, 3, 4)
        self.register_buffer("turned", base.permute(2, 0, 1))
        self.register_buffer("part", base[:, 1:, ::2])
        self.register_buffer("wide", torch.tensor([[2.], [3.]]).expand(2, 5))
        self.register_buffer("empty", torch.zeros(0, 3))
        self.register_buffer("scalar", torch.tensor(5, dtype=torch.int32))
        self.register_buffer("flags", torch.tensor([True, False]))

    def forward(self, x):
        y = self.turned.sum(0) + self.part.sum(2).mean() + self.wide.sum()
        y = torch.where(self.flags[:, None], y, -y) * self.scalar
        return y + x + self.empty.sum()


def views():
    return Views(), (torch.randn(2, 3),), None


class Constants(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.tensor([1., 2., 4.])

    def forward(self, x):
        return x * self.table + torch.tensor([5, 6, 7])


def constants():
    return Constants(), (torch.randn(2, 3),), None


class Several(nn.Module):
    """Calls with several results, some of which nothing uses."""

    def forward(self, x):
        values, _ = torch.topk(x, 2)
        first, _, last = x.split([1, 2, 1], dim=1)
        mean = torch.var_mean(x, dim=1)[1]
        return values + first, last * mean[:, None]


def several():
    return Several(), (torch.randn(3, 4),), None


class Sizes(nn.Module):
    def forward(self, x, y):
        n, m = x.shape[0], y.shape[0]
        z = torch.cat([x, y]).reshape((n + m) * 2, -1)
        return z * (2 * n + m // 2), z.new_zeros(max(n, m), 1)


def sizes():
    return (Sizes(), (torch.randn(3, 4), torch.randn(5, 4)),
            ({0: Dim("n", min=2, max=50)}, {0: Dim("m", min=2, max=70)}))


class Guarded(nn.Module):
    """Rows in a range, as many as the other input has, and an even extent."""

    def forward(self, x, y):
        return x.reshape(x.shape[0], 2, -1).sum(-1) + y.unsqueeze(1)


def guarded():
    n = Dim("n", min=8, max=64)
    return (Guarded(), (torch.randn(8, 4), torch.randn(8)),
            ({0: n, 1: Dim.AUTO}, {0: n}))


class Baked(nn.Module):
    """A size of the export is a constant of the graph."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return self.fc(x) * x.shape[0]


def baked():
    return Baked(), (torch.randn(2, 4),), None


class Kinds(nn.Module):
    """Arguments that are types, devices, formats and special numbers."""

    def forward(self, x):
        y = torch.full_like(x, float("inf"), dtype=torch.float64)
        y = torch.clamp(y.to(torch.float32), max=3.)
        z = torch.zeros(2, 2, dtype=torch.int64, device="cpu")
        return (y + x.contiguous(memory_format=torch.channels_last),
                z.masked_fill(z == 0, 9223372036854775807),
                x[:, 1:].to(torch.float16), x.sum(dim=None))


def kinds():
    return Kinds(), (torch.randn(1, 2, 2, 2),), None


def of_exports(name, dynamic):
    """A model of exports.py, as what the functions above return."""
    def make():
        model, args_of = getattr(exports, name)()
        args = args_of(2)
        batch = Dim("batch", min=2, max=1024)
        return model, args, tuple({0: batch} for _ in args) if dynamic \
            else None
    make.__name__ = name
    return make


OWN = (cnn, mlp, lstm, gru, encoder, cond, mutated, dicts, structure, twice,
       tied, bfloat16, views, constants, several, sizes, guarded, baked, kinds,
       whisper)
MODELS = {f.__name__: f for f in OWN}
MODELS.update({name: of_exports(name, name not in ("t5", "swin"))
               for name in ("bert", "gpt2", "llama", "t5", "clip", "vit",
                            "swin", "unet", "dcgan")})
MODELS.update(pt2_models.MODELS)
STRICT = ("vmap",)          # which other exports do not take
IRS = os.environ.get("IRS", "training,core,strict,auto").split(",")


def every_axis(v):
    return {i: Dim.AUTO for i in range(v.dim())} \
        if isinstance(v, torch.Tensor) else None


def dynamic_shapes(model, args, kwargs, dynamic, auto):
    """The extents that are dynamic: those of the model, or all (auto)."""
    if auto:
        dynamic = pytree.tree_map(every_axis, args)
    if dynamic is None:
        return None
    names = list(inspect.signature(model.forward).parameters)
    if names[:1] == ["args"]:
        dynamic = (dynamic,)
    if not kwargs:
        return dynamic
    return {**dict(zip(names, dynamic)),
            **pytree.tree_map(every_axis, kwargs)}


def export(name, ir):
    torch.manual_seed(0)
    model, args, dynamic, *rest = MODELS[name]()
    kwargs = rest[0] if rest else {}
    for parameter in model.parameters():
        if parameter.dim() == 1 and parameter.dtype is torch.float32:
            nn.init.normal_(parameter, 0.5, 0.2)
    shapes = dynamic_shapes(model, args, kwargs, dynamic, ir == "auto")
    program = torch.export.export(model.eval(), args, kwargs,
                                  strict=ir == "strict",
                                  dynamic_shapes=shapes)
    if ir == "core":
        program = program.run_decompositions()
    return program, args, kwargs


# ------------------------------------------------------------------ files

def named(values):
    """Tensors as safetensors holds them: t0, t1, ..., numbers too."""
    return {f"t{i}": torch.as_tensor(v).detach().contiguous().clone()
            for i, v in enumerate(values)}


def plain(value):
    """A result whose objects are dicts, as cfx returns them."""
    if hasattr(value, "_fields"):
        value = value._asdict()
    if dataclasses.is_dataclass(value) and not isinstance(value, dict):
        value = {f.name: getattr(value, f.name)
                 for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return tuple(map(plain, value)) if isinstance(value, tuple) else value


def flatten(value, name="output"):
    """The tensors and numbers of a result by their names in `cfx run`."""
    value = plain(value)
    if isinstance(value, (torch.Tensor, int, float)):
        return {name: value}
    items = value.items() if isinstance(value, dict) else \
        enumerate(value) if isinstance(value, (list, tuple)) else ()
    return {k: v for key, part in items
            for k, v in flatten(part, f"{name}_{key}").items()}


def text_of(module):
    """The graph, which returns what the module does."""
    graph = copy.deepcopy(module.graph)
    output = next(iter(reversed(graph.nodes)))
    output.args = (plain(pytree.tree_unflatten(
        output.args[0], module._out_spec)),)
    return str(graph)


def write(path, program, args, kwargs):
    """Save a program, its inputs, and the results of two runs."""
    torch.export.save(program, path + ".pt2")
    module = torch.export.load(path + ".pt2").module(check_guards=False)
    graph = text_of(module)
    tensors = [t for t in pytree.tree_leaves((args, kwargs))
               if isinstance(t, torch.Tensor)]
    names = [n.name for n in module.graph.nodes if n.op == "placeholder"]
    used = [n for n, t in zip(names, pytree.tree_leaves((args, kwargs)))
            if isinstance(t, torch.Tensor)]
    safetensors.torch.save_file(named(tensors), path + ".in.safetensors")
    with torch.no_grad():
        first = flatten(module(*args, **kwargs))
    safetensors.torch.save_file(named(first.values()),
                                path + ".out.safetensors")
    return graph, used, first


def old_flat(path, program):
    """The archive that torch 2.1 to 2.7 wrote: parts pickled by torch.save."""
    from torch._export.serde.serialize import serialize
    parts = serialize(program)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        file.writestr("serialized_exported_program.json",
                      parts.exported_program)
        file.writestr("serialized_state_dict.pt", parts.state_dict)
        file.writestr("serialized_constants.pt", parts.constants)
        file.writestr("serialized_example_inputs.pt", parts.example_inputs)
        file.writestr("version", "8.7")


def older(value):
    """What the schema 5.3 of torch 2.4 had of a program."""
    if isinstance(value, list):
        return [older(v) for v in value]
    if not isinstance(value, dict):
        return value
    if list(value) == ["as_none"]:
        return {"as_none": []}
    if "schema_version" in value:
        value = {**value, "schema_version": {"major": 5, "minor": 3},
                 "dialect": value["verifiers"][0] if value["verifiers"]
                 else ""}
    new = {"kind", "torch_version", "guards_code", "verifiers",
           "sym_float_values", "treespec_namedtuple_fields",
           "is_hop_single_tensor_return", "forward_arg_names"}
    if "target" in value:
        new.add("name")
    return {k: older(v) for k, v in value.items() if k not in new}


def schema_5(path, program):
    """The flat archive of torch 2.4, whose schema is 5.3."""
    old_flat(path, program)
    with zipfile.ZipFile(path) as file:
        parts = {n: file.read(n) for n in file.namelist()}
    name = "serialized_exported_program.json"
    parts[name] = json.dumps(older(json.loads(parts[name]))).encode()
    parts["version"] = b"5.3"
    parts["extra_files/notes.txt"] = b"which no reader of models needs"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for n, data in parts.items():
            file.writestr(n, data)


def forget_places(program):
    """Drop the paths of this machine from the nodes."""
    for m in program.graph_module.modules():
        for n in getattr(m, "graph", torch.fx.Graph()).nodes:
            if "stack_trace" in n.meta:
                n.meta["stack_trace"] = 'File "m.py", line 1, in forward'


def golden():
    GOLDEN.mkdir(exist_ok=True)
    for name in ("mlp", "tied", "mutated", "cond", "views", "constants",
                 "dicts", "structure", "sizes", "twice", "vmap"):
        program, args, kwargs = export(
            name, "core" if name == "twice"
            else "strict" if name in STRICT else "training")
        forget_places(program)
        write(str(GOLDEN / name), program, args, kwargs)
    for name in ("guarded", "baked"):   # only their files, for cli/inputs.sh
        program, _, _ = export(name, "training")
        forget_places(program)
        torch.export.save(program, str(GOLDEN / name) + ".pt2")
    program, args, kwargs = export("mlp", "training")
    forget_places(program)
    old_flat(GOLDEN / "mlp_flat.pt2", program)
    program, args, kwargs = export("dicts", "training")
    forget_places(program)
    schema_5(GOLDEN / "dicts_schema5.pt2", program)
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.trace(exports.mlp(2, 3), torch.ones(1, 2)),
                   buffer)
    (GOLDEN / "torchscript.pt").write_bytes(buffer.getvalue())


# --------------------------------------------------------------- comparing

class Fails(Exception):
    """The program did not do as PyTorch does."""


class NoExport(Exception):
    """PyTorch itself does not export the model, or run the export."""


def call(cfx, *words):
    done = subprocess.run([cfx, *words], capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr.strip() or "nothing").split("\n")[-1]
        raise Fails(f"{words[0]}: status {done.returncode}: {said[:300]}")
    return done.stdout


def check_print(cfx, path, graph):
    said = call(cfx, "print", path + ".pt2").rstrip("\n").split("\n")
    want = graph.split("\n")
    for have, line in zip(said, want):
        if have.split("(default=")[0] != line:
            raise Fails(f"print: {have.strip()[:150]}, "
                        f"not {line.strip()[:150]}")
    if len(said) != len(want):
        raise Fails(f"print: {len(said)} lines, not {len(want)}")


def check_run(cfx, path, used, want):
    words = []
    for i, name in enumerate(used):
        words += ["-i", f"{name}={path}.in.safetensors:t{i}"]
    out = path + ".out"
    call(cfx, "run", path + ".pt2", *words, "-O", out)
    files = {f.stem for f in pathlib.Path(out).glob("*.npy")}
    if files != set(want):
        raise Fails(f"run: {' '.join(files ^ set(want))} are not among both")
    worst = 0.
    for name, t in want.items():
        have = np.load(f"{out}/{name}.npy")
        t = torch.as_tensor(t).detach()
        t = (t.float() if t.dtype is torch.bfloat16 else t).numpy()
        worst = max(worst, exports.whole.distance(have, t))
    limit = 2e-2 if "bfloat16" in path else LIMIT
    if not worst < limit:
        raise Fails(f"run: off by {worst:.2g}")
    return worst


def check_samples(cfx, path):
    """Without -i the inputs are those that the file holds."""
    call(cfx, "run", path + ".pt2", "-O", path + ".sample")
    for file in sorted(pathlib.Path(path + ".out").rglob("*.npy")):
        other = os.path.join(path + ".sample",
                             os.path.relpath(file, path + ".out"))
        if file.read_bytes() != pathlib.Path(other).read_bytes():
            raise Fails(f"run: {file.name} of the samples differs")


def user_inputs(program):
    """The types and shapes of inputs, in the order of the leaves."""
    metas = {n.name: n.meta.get("val") for n in program.graph.nodes
             if n.op == "placeholder"}
    return [metas[s.arg.name] for s in program.graph_signature.input_specs
            if s.kind is InputKind.USER_INPUT]


def hints(program, args, kwargs):
    """The numbers for which a program was traced, of its symbols."""
    found = {}
    for meta, v in zip(user_inputs(program),
                       pytree.tree_leaves((args, kwargs))):
        if isinstance(meta, torch.Tensor):
            found.update((d.node.expr, n) for d, n in zip(meta.shape, v.shape)
                         if isinstance(d, torch.SymInt)
                         and d.node.expr.is_Symbol)
    return found


def holds(guard, numbers):
    try:
        return eval(guard, {"min": min, "max": max},
                    {str(s): n for s, n in numbers.items()})
    except ZeroDivisionError:
        return False


def sizes_of(program, args, kwargs, guards):
    """Numbers for the symbols of a program, in their ranges, that fulfil what
    cfx says that they must: first those for which it was traced."""
    known = hints(program, args, kwargs)
    symbols = [s for s in program.range_constraints if str(s)[0] == "s"]
    sizes = []
    for k, by in enumerate((lambda n, i: n, lambda n, i: 2 * n,
                            lambda n, i: n + 1, lambda n, i: 3 * n + i,
                            lambda n, i: max(n - i, 1))):
        numbers = {}
        for i, symbol in enumerate(symbols):
            limits = program.range_constraints[symbol]
            low, high = max(int(limits.lower), 2), limits.upper
            numbers[symbol] = int(min(max(by(known.get(symbol, low + i), i),
                                          low), high))
        kept = all(holds(g, numbers) for g in guards)
        if not kept and not k and set(symbols) <= set(known):
            raise Fails(f"shapes: not for its own sizes: {guards}")
        if kept and numbers not in sizes:
            sizes.append(numbers)
    return sizes


def check_shapes(cfx, path, program, args, kwargs):
    """How many values have the file's types and shapes, and at how many
    sizes."""
    said = json.loads(call(cfx, "shapes", path + ".pt2", "--format", "json"))
    rows = {row["name"]: row["value"] for row in said["nodes"]}
    sizes = sizes_of(program, args, kwargs, said["guards"])
    count, levels = 0, 0
    for n in program.graph.nodes:
        v, row = n.meta.get("val"), rows.get(n.name)
        words = str(n.target)       # within vmap, cfx has all axes
        levels += ("_increment_" in words) - ("_decrement_" in words)
        if not isinstance(v, torch.Tensor) or row is None or \
                n.op == "placeholder" or levels:
            continue
        count += 1
        for numbers in sizes:
            check_shape(n.name, v, row, numbers)
    return count, len(sizes)


def check_shape(name, v, row, numbers):
    words = {str(s): i for s, i in numbers.items()}
    want = [int(d.node.expr.subs(numbers)) if isinstance(d, torch.SymInt)
            and not d.node.expr.free_symbols - set(numbers) else
            d if isinstance(d, int) else None for d in v.shape]
    have = [d if isinstance(d, int) or want[i] is None else
            int(eval(d, {"min": min, "max": max}, words))
            for i, d in enumerate(row["shape"])]
    if len(have) != len(want) or any(
            w is not None and h != w for h, w in zip(have, want)):
        raise Fails(f"shapes: {name} is {row['shape']}, not {v.shape}")
    if row["dtype"] != str(v.dtype)[6:]:
        raise Fails(f"shapes: {name} is {row['dtype']}, not {v.dtype}")


def grow(t, shape):
    """A tensor of another shape that repeats the numbers of `t`."""
    for axis, n in enumerate(shape):
        at = torch.arange(n) % max(t.shape[axis], 1)
        t = t.index_select(axis, at)
    return t


def grown_inputs(program, args, kwargs, by):
    """Inputs whose dynamic extents are by(n); None where none is dynamic."""
    leaves, spec = pytree.tree_flatten((args, kwargs))
    numbers = {}
    for symbol, n in hints(program, args, kwargs).items():
        limits = program.range_constraints.get(symbol)
        most = int(min(limits.upper, 1 << 20)) if limits else 1 << 20
        numbers[symbol] = min(by(n), most)
    if not numbers:
        return None
    for i, meta in enumerate(user_inputs(program)):
        if isinstance(meta, torch.Tensor):
            leaves[i] = grow(leaves[i], [
                int(d.node.expr.subs(numbers)) if isinstance(d, torch.SymInt)
                else d for d in meta.shape])
    return pytree.tree_unflatten(leaves, spec)


def larger(program, module, args, kwargs):
    """Larger inputs that PyTorch accepts, and its results; or None.

    A model may have limits that its ranges do not tell, such as the number of
    positions of an embedding.
    """
    for by in (lambda n: 2 * n, lambda n: n + 1):
        grown = grown_inputs(program, args, kwargs, by)
        if grown is None:
            return None
        try:
            with torch.no_grad():
                kept = pytree.tree_map(
                    lambda v: v.clone() if isinstance(v, torch.Tensor) else v,
                    grown)
                return grown, flatten(module(*kept[0], **kept[1]))
        except (RuntimeError, IndexError):
            continue
    return None


def check_larger(cfx, path, program, used, args, kwargs):
    module = torch.export.load(path + ".pt2").module(check_guards=False)
    found = larger(program, module, args, kwargs)
    if not found:
        return None
    grown, want = found
    tensors = [t for t in pytree.tree_leaves(grown)
               if isinstance(t, torch.Tensor)]
    safetensors.torch.save_file(named(tensors), path + ".in.safetensors")
    return check_run(cfx, path, used, want)


def try_export(name, ir, path):
    """Export a model and write its files, where PyTorch can."""
    try:
        program, args, kwargs = export(name, ir)
        return program, args, kwargs, write(path, program, args, kwargs)
    except Exception as why:            # whatever PyTorch raises
        raise NoExport(f"{type(why).__name__}: {str(why)[:200]}") from why


def check(cfx, name, ir, folder):
    path = os.path.join(folder, f"{name}_{ir}")
    program, args, kwargs, written = try_export(name, ir, path)
    graph, used, want = written
    check_print(cfx, path, graph)
    worst = check_run(cfx, path, used, want)
    check_samples(cfx, path)
    shapes, sizes = check_shapes(cfx, path, program, args, kwargs)
    more = check_larger(cfx, path, program, used, args, kwargs)
    call(cfx, "convert", path + ".pt2", path + ".fx")
    if call(cfx, "print", path + ".fx") != call(cfx, "print", path + ".pt2"):
        raise Fails("convert: another graph")
    others = "" if more is None else f", larger by {more:.2g}"
    return (f"{len(want)} results, off by {worst:.2g}{others}, "
            f"{shapes} shapes at {sizes} sizes")


def summary(counts):
    """Print how many are good, bad, and beyond PyTorch, of each kind."""
    for ir, (good, bad, none) in counts.items():
        print(f"{ir}: {good} good, {bad} bad" +
              (f", {none} that PyTorch does not run" if none else ""))
    return any(bad for _, bad, _ in counts.values())


def save(name, ir, folder):
    write(os.path.join(folder, f"{name}_{ir}"), *export(name, ir))
    return "saved"


def main(words):
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    if words[:1] == ["--golden"]:
        golden()
        return 0
    saved = words.pop(0) and words.pop(0) if words[0] == "--save" else None
    cfx = None if saved else words.pop(0)
    counts = {ir: [0, 0, 0] for ir in IRS}
    with tempfile.TemporaryDirectory() as folder:
        for name in words or MODELS:
            for ir in ("strict",) if name in STRICT else IRS:
                try:
                    said = save(name, ir, saved) if saved else \
                        check(cfx, name, ir, folder)
                    counts[ir][0] += 1
                except NoExport as why:
                    said = f"PyTorch fails: {why}"
                    counts[ir][2] += 1
                except Exception as why:        # of any export, too
                    said = f"FAILS: {type(why).__name__}: {str(why)[:400]}"
                    counts[ir][1] += 1
                print(f"{name} {ir}: {said}", flush=True)
    return summary(counts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
