#!/usr/bin/env python3
"""families -- transformer families by their default settings, through every command.

    families.py export FOLDER [NAME...]
    families.py check CFX FOLDER [NAME...]

`export` makes a model of each family that transformers' AutoModel knows (or of
those named): its default configuration with fewer layers, channels, experts and
words, random weights from a seed, in eval mode, saved by torch.export for its
inputs, and once more with dynamic batch and length. FOLDER/NAME.pt2,
FOLDER/NAME.dynamic.pt2 and the inputs and PyTorch's results, in safetensors,
also for another batch and length. A family that torch.export cannot take is
listed with its reason.

`check` runs the program CFX on these files. A line per family tells each
column: ok, what was wrong, or - where there is no file.

    run       results of the sample inputs, to 1e-4 of the largest
    batch     results of other extents, of the dynamic file
    shapes    types, shapes and strides of all nodes, as `cfx shapes` has them
              and the file, in numbers for the inputs. A stride that the file has
              differently may be that of PyTorch's result: fake tensors of an
              export have other strides on axes of one element, and of dropout
              in eval mode, which PyTorch returns as it is
    optimize  results of what `cfx optimize` wrote
    pt2       results of what `cfx convert` wrote as .pt2, by torch.export.load
    onnx      results of what `cfx convert` wrote as .onnx, by ONNX Runtime

COLUMNS, in the environment, names some of them. Then the counts.
"""

import importlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import warnings
import zipfile

import numpy
import torch
from safetensors.torch import load_file, save_file
from torch.export import Dim
from torch.utils import _pytree as pytree

import vision  # noqa: F401 (transformers imports torchvision)
from families_models import make_model

LIMIT = 1e-4
SECONDS = int(os.environ.get("SECONDS_PER_FAMILY", 240))
BYTES = 8 << 30  # of memory, for an export
COLUMNS = "run batch shapes optimize pt2 onnx".split()

def tensors_of(result):
    """The results, those that are integers as tensors, too."""
    return [torch.as_tensor(t) for t in pytree.tree_leaves(result)
            if isinstance(t, (torch.Tensor, int))]


def register_caches():
    """Makes the caches that models return known to torch.export."""
    from transformers.cache_utils import EncoderDecoderCache
    from transformers.integrations.executorch import (
        register_dynamic_cache_export_support)
    register_dynamic_cache_export_support()
    pytree.register_pytree_node(
        EncoderDecoderCache,
        lambda c: ([c.self_attention_cache, c.cross_attention_cache], None),
        lambda values, _: EncoderDecoderCache(*values),
        serialized_type_name="transformers.EncoderDecoderCache",
        flatten_with_keys_fn=lambda c: (
            [(pytree.GetAttrKey("self_attention_cache"), c.self_attention_cache),
             (pytree.GetAttrKey("cross_attention_cache"), c.cross_attention_cache)],
            None))


def register_results(path):
    """Makes the types of results that a .pt2 file names known to
    torch.export.load, as transformers does when it makes the first of a type."""
    from transformers.utils.generic import _register_model_output_pytree_node
    with zipfile.ZipFile(path) as archive:
        text = "".join(archive.read(name).decode() for name in archive.namelist()
                       if name.endswith("models/model.json"))
    for module, name in set(re.findall(
            r"(transformers\.(?:\w+\.)+modeling_\w+)\.(\w+Output\w*)", text)):
        _register_model_output_pytree_node(
            getattr(importlib.import_module(module), name))


def save_tensors(path, tensors):
    tensors = {k: v.detach().clone().contiguous() for k, v in tensors.items()}
    save_file(tensors, path)


def save_example(folder, name, arguments, outputs):
    save_tensors(f"{folder}/{name}.inputs.safetensors", arguments)
    save_tensors(f"{folder}/{name}.outputs.safetensors",
                 {f"output_{i}": t for i, t in enumerate(outputs)})


def export(folder, name):
    model, make_inputs = make_model(name)
    try:
        return export_model(folder, name, model, make_inputs)
    except TimeoutError:
        raise
    except Exception:  # noqa: BLE001 (caches that torch.export does not know)
        if not getattr(model.config, "use_cache", False):
            raise
        model.config.use_cache = False
        return export_model(folder, name, model, make_inputs)


def export_model(folder, name, model, make_inputs):
    arguments, dims = make_inputs(2, 9)
    with torch.no_grad():
        outputs = tensors_of(model(**arguments))
        torch.manual_seed(1)
        again = tensors_of(model(**arguments))
        if any(not torch.equal(a.nan_to_num(), b.nan_to_num())
               for a, b in zip(outputs, again)):
            raise ValueError("results by chance")
        save_example(folder, name, arguments, outputs)
        program = torch.export.export(model, (), arguments, strict=False)
    torch.export.save(program, f"{folder}/{name}.pt2")
    try:
        shapes = {k: {i: Dim.AUTO for i in v} for k, v in dims.items()}
        with torch.no_grad():
            program = torch.export.export(model, (), arguments, dynamic_shapes=shapes,
                                          strict=False)
            arguments, _ = make_inputs(3, 12)
            outputs = tensors_of(program.module()(**arguments))
        save_example(folder, name + ".dynamic", arguments, outputs)
        torch.export.save(program, f"{folder}/{name}.dynamic.pt2")
    except Exception as e:  # noqa: BLE001
        return f"static only: {first_line(e)}"
    return "ok"


def first_line(error):
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:150]}"


# ------------------------------------------------------------------- check

class Failure(Exception):
    pass


def cfx(program, *arguments):
    try:
        done = subprocess.run([program, *arguments], capture_output=True, text=True,
                              timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Failure("timeout") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line]
        raise Failure((lines or [f"status {done.returncode}"])[0][:220])
    return done.stdout


def compare(got, wanted):
    if len(got) != len(wanted):
        raise Failure(f"{len(got)} results of {len(wanted)}")
    for i, (a, b) in enumerate(zip(got, wanted)):
        if a.shape != b.shape or a.dtype != b.dtype:
            raise Failure(f"result {i}: {a.dtype}{list(a.shape)} of {b.dtype}{list(b.shape)}")
        a, b = a.to(torch.float64), b.to(torch.float64)
        finite = b.isfinite()
        if not torch.equal(a[~finite], b[~finite]) and not b.isnan().any():
            raise Failure(f"result {i}: infinities differ")
        largest = max(b[finite].abs().max().item(), 1e-6) if finite.any() else 1
        wrong = ((a - b)[finite].abs().max().item() if finite.any() else 0) / largest
        if not wrong <= LIMIT:
            raise Failure(f"result {i}: differs by {wrong:.1e}")


def outputs_of(path):
    outputs = load_file(path)
    return [outputs[f"output_{i}"] for i in range(len(outputs))]


def in_numbers(extents, numbers):
    """Extents of torch, None for those that only data tell."""
    values = []
    for d in extents:
        expr = d.node.expr.subs(numbers) if isinstance(d, torch.SymInt) else d
        values.append(None if getattr(expr, "free_symbols", ()) else int(expr))
    return values


def same_type(name, row, val, numbers):
    """Whether the strides agree, too; what else differs is a Failure."""
    if row is None or "dtype" not in row:
        raise Failure(f"%{name} has the type {row}, not {val.dtype}")
    if "torch." + row["dtype"] != str(val.dtype):
        raise Failure(f"%{name} is {row['dtype']}, not {val.dtype}")
    shape = in_numbers(val.shape, numbers)
    if not same_extents(extents_of(row, "shape", numbers), shape):
        raise Failure(f"%{name} has the shape {row['shape']}, not {shape}")
    return same_extents(extents_of(row, "stride", numbers),
                        strides_of(row, shape, val.stride(), numbers))


def strides_of(row, shape, strides, numbers):
    """Strides in numbers, None for those of axes that a symbol gives one
    element: cfx was not told so."""
    return [None if isinstance(d, str) and n == 1 else stride for d, n, stride in
            zip(row["shape"], shape, in_numbers(strides, numbers))]


def extents_of(row, key, numbers):
    """Numbers of what cfx said, None for those that only data tell."""
    words = {str(symbol): n for symbol, n in numbers.items()}

    def number(d):
        try:
            return d if isinstance(d, int) else eval(d, {"min": min, "max": max}, words)
        except NameError:
            return None
    return [number(d) for d in row[key]]


def same_extents(got, wanted):
    return len(got) == len(wanted) and all(
        w is None or g == w for g, w in zip(got, wanted))


class Strides(torch.fx.Interpreter):
    """Notes the strides of all nodes, as PyTorch computes them."""

    def __init__(self, program, inputs):
        super().__init__(program.graph_module)
        self.of = {}
        with torch.no_grad():
            self.run(*program._graph_module_flat_inputs((), inputs))

    def run_node(self, n):
        result = super().run_node(n)
        if isinstance(result, torch.Tensor):
            self.of[n.name] = list(result.stride())
        return result


class Family:
    """The files of one family, and what the columns do with them."""

    def __init__(self, program, folder, name, scratch):
        self.program, self.scratch = program, scratch
        self.path = {d: f"{folder}/{name}{d}" for d in ("", ".dynamic")}

    def has(self, dynamic):
        return os.path.exists(self.path[dynamic] + ".pt2")

    def wanted(self, dynamic):
        return outputs_of(self.path[dynamic] + ".outputs.safetensors")

    def inputs(self, dynamic):
        path = self.path[dynamic] + ".inputs.safetensors"
        return [f"-i{name}={path}:{name}" for name in load_file(path)]

    def compare_run(self, model, dynamic):
        folder = tempfile.mkdtemp(dir=self.scratch)
        cfx(self.program, "run", model, *self.inputs(dynamic), "-O", folder)
        # written one after the other, in the order of the results
        files = sorted(os.scandir(folder), key=lambda f: f.stat().st_mtime_ns)
        compare([torch.from_numpy(numpy.load(f.path)) for f in files],
                self.wanted(dynamic))

    def run(self):
        self.compare_run(self.path[""] + ".pt2", "")

    def batch(self):
        self.compare_run(self.path[".dynamic"] + ".pt2", ".dynamic")

    def shapes(self):
        for dynamic in self.path:
            if self.has(dynamic):
                self.compare_shapes(dynamic)

    def compare_shapes(self, dynamic):
        path = self.path[dynamic] + ".pt2"
        said = json.loads(cfx(self.program, "shapes", path, "--format", "json"))
        rows = {row["name"]: row["value"] for row in said["nodes"]}
        program = torch.export.load(path)
        inputs = load_file(self.path[dynamic] + ".inputs.safetensors")
        metas = {n.name: n.meta["val"] for n in program.graph.nodes
                 if n.op == "placeholder"}
        numbers = {}
        for name, value in inputs.items():
            for have, d in zip(value.shape, metas[name].shape):
                if isinstance(d, torch.SymInt) and d.node.expr.is_Symbol:
                    numbers[d.node.expr] = have
        levels, eager = 0, None  # within vmap, cfx has all axes
        for n in program.graph.nodes:
            words, val = str(n.target), n.meta.get("val")
            levels += ("_increment_" in words) - ("_decrement_" in words)
            if isinstance(val, torch.Tensor) and not levels and n.op != "placeholder":
                if same_type(n.name, rows.get(n.name), val, numbers):
                    continue
                eager = eager or Strides(program, inputs).of
                row, shape = rows[n.name], in_numbers(val.shape, numbers)
                got = extents_of(row, "stride", numbers)
                wanted = strides_of(row, shape, eager[n.name], numbers)
                if not same_extents(got, wanted):
                    raise Failure(f"%{n.name} has the stride {got}, the file "
                                  f"{in_numbers(val.stride(), numbers)}, PyTorch "
                                  f"{eager[n.name]}")

    def optimize(self):
        dynamic = ".dynamic" if self.has(".dynamic") else ""
        made = f"{self.scratch}/optimized.fx"
        cfx(self.program, "optimize", self.path[dynamic] + ".pt2",
            *self.inputs(dynamic), "-o", made)
        self.compare_run(made, dynamic)

    def pt2(self):
        dynamic = ".dynamic" if self.has(".dynamic") else ""
        made = f"{self.scratch}/written.pt2"
        cfx(self.program, "convert", self.path[dynamic] + ".pt2", made)
        program = torch.export.load(made)
        inputs = load_file(self.path[dynamic] + ".inputs.safetensors")
        with torch.no_grad():
            result = program.module()(**inputs)
        compare(tensors_of(result), self.wanted(dynamic))

    def onnx(self):
        import onnxruntime
        dynamic = ".dynamic" if self.has(".dynamic") else ""
        made = f"{self.scratch}/written.onnx"
        cfx(self.program, "convert", self.path[dynamic] + ".pt2", made)
        session = onnxruntime.InferenceSession(made, providers=["CPUExecutionProvider"])
        inputs = load_file(self.path[dynamic] + ".inputs.safetensors")
        asked = {i.name for i in session.get_inputs()}
        got = session.run(None, {k: v.numpy() for k, v in inputs.items() if k in asked})
        compare([torch.from_numpy(g) for g in got], self.wanted(dynamic))


def check(program, folder, name):
    columns = os.environ.get("COLUMNS", "").split() or COLUMNS
    line = {}
    with tempfile.TemporaryDirectory() as scratch:
        family = Family(program, folder, name, scratch)
        for column in columns:
            if column == "batch" and not family.has(".dynamic"):
                line[column] = "-"
                continue
            try:
                getattr(family, column)()
                line[column] = "ok"
            except Failure as e:
                line[column] = str(e)
            except Exception as e:  # noqa: BLE001
                line[column] = first_line(e)
    return line


def all_names():
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES
    return list(MODEL_MAPPING_NAMES)


def give_up(*_):
    raise TimeoutError("takes too long")


def main(arguments):
    warnings.filterwarnings("ignore")
    import logging
    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    register_caches()
    signal.signal(signal.SIGALRM, give_up)
    if len(arguments) >= 2 and arguments[0] == "export":
        folder, names = arguments[1], arguments[2:] or all_names()
        os.makedirs(folder, exist_ok=True)
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
        for name in names:
            if os.path.exists(f"{folder}/{name}.pt2"):
                continue
            signal.alarm(SECONDS)
            try:
                done = export(folder, name)
            except Exception as e:  # noqa: BLE001
                done = f"not exported: {first_line(e)}"
                if os.path.exists(f"{folder}/{name}.pt2"):  # not all of a file
                    os.remove(f"{folder}/{name}.pt2")
            signal.alarm(0)
            torch._dynamo.reset()
            print(f"{name}: {done}", flush=True)
        return 0
    if len(arguments) >= 3 and arguments[0] == "check":
        program, folder = arguments[1:3]
        names = arguments[3:] or sorted(
            f[:-4] for f in os.listdir(folder)
            if f.endswith(".pt2") and not f.endswith(".dynamic.pt2"))
        counts = {}
        for name in names:
            register_results(f"{folder}/{name}.pt2")
            line = check(program, folder, name)
            wrong = {c: w for c, w in line.items() if w not in ("ok", "-")}
            print(f"{name}: {'ok' if not wrong else ''}", flush=True)
            for column, words in wrong.items():
                print(f"    {column}: {words}", flush=True)
            for column, words in line.items():
                if words != "-":
                    right, of = counts.get(column, (0, 0))
                    counts[column] = right + (words == "ok"), of + 1
        for column, (right, of) in counts.items():
            print(f"{column}: {right} of {of}")
        return 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
