#!/usr/bin/env python3
"""golden -- run a model with PyTorch and write what every node computes.

    golden.py MODEL.fx [--seed S] [-i NAME=SPEC]... [-w FILE.safetensors]
              [-m PATH:ARG=VALUE]... [--batch 2] [--size 64]
              [--digest OUT.json [--samples 16]] [--full OUT.safetensors]

Weights are those of FILE, else seeded; inputs are seeded.  Without -i, the
input is that of MODEL.shapes.json with its batch, and with --size its spatial
extents, replaced.  -m tells a module's hidden argument, for all modules when
PATH is empty.  The README beside this file describes what is written.

Gradients are enabled, as they are when PyTorch runs a model without further
words: that decides the strides of attention.  A value is recorded before an
in-place node can overwrite it.  A golden is refused when it would prove
little: values that are not finite, a deviation outside of [1e-3, 1e3], or an
output that is nearly the same for all of the batch.
"""

import argparse
import ast
import json
import math
import os
import sys

import numpy as np
import torch
from torch import fx

import fxtext
import seeded

SCHEMA = "cfx-digest-1"
LEAST_SPREAD = 2e-3
OUTPUT_SAMPLES = 16


class Refused(Exception):
    pass


class Recorder(fx.Interpreter):
    """Runs a model and shows every node's value to `record` at once."""

    def __init__(self, model, record):
        super().__init__(model)
        self.record = record

    def run_node(self, n):
        # Without its history a value frees what autograd has saved for it.
        value = detach(super().run_node(n))
        self.record(n.name, value)
        return value


def detach(value):
    if isinstance(value, torch.Tensor):
        return value.detach()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[detach(v) for v in value])
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return type(value)(detach(v) for v in value)
    if isinstance(value, dict):
        return {k: detach(v) for k, v in value.items()}
    return value


def children(value):
    """Items of an aggregate with their names, or None for a leaf."""
    if isinstance(value, dict):
        return [(str(k), v) for k, v in value.items()]
    if isinstance(value, (tuple, list)):
        return [(str(i), v) for i, v in enumerate(value)]
    return None


def tensors(name, value):
    """All tensors in a value, named NODE, NODE.0, NODE.0.1, NODE.key."""
    items = children(value)
    if isinstance(value, torch.Tensor):
        yield name, value
    for key, item in items or []:
        yield from tensors(f"{name}.{key}", item)


def rounded(x):
    """Six significant digits, in the fewest characters JSON allows."""
    if not math.isfinite(x):
        return str(x)
    if x == int(x) and abs(x) < 1e6:
        return int(x)
    return float("%.6g" % x)


def tensor_digest(name, tensor, samples):
    entry = [seeded.format_spec(tensor)]
    if tensor.numel() == 0:
        return entry
    numbers = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    flat = numbers.reshape(-1)
    r = seeded.raw(seeded.key(0, "sample:" + name), 0, samples)
    picked = flat[torch.from_numpy((r % np.uint64(len(flat))).astype(np.int64))]
    x = flat.double()
    stats = [x.mean(), x.abs().mean(), x.abs().max()]
    entry += [rounded(float(s)) for s in stats]
    entry.append([rounded(float(v)) for v in picked])
    return entry


def digest(name, value, samples):
    """Digest of a value; None where there is no tensor in it."""
    if isinstance(value, torch.Tensor):
        return tensor_digest(name, value, samples)
    items = children(value)
    if items is None or not any(True for _ in tensors(name, value)):
        return None
    entries = [(k, digest(f"{name}.{k}", v, samples)) for k, v in items]
    return dict(entries) if isinstance(value, dict) else \
        [entry for _, entry in entries]


def check_output(value):
    """Refuse an output that a wrong program could hit; its figures else."""
    figures = []
    for name, tensor in tensors("output", value):
        if not tensor.is_floating_point():
            continue
        x = tensor.double()
        if not torch.isfinite(x).all():
            raise Refused(f"{name} is not finite")
        deviation = float(x.std(correction=0))
        spread = float((x - x.mean(0)).square().mean().sqrt()) / \
            max(deviation, 1e-300)
        figures.append((deviation, spread))
        if not 1e-3 <= deviation <= 1e3:
            raise Refused(f"{name} has deviation {deviation:.3g}")
        if x.dim() and x.shape[0] > 1 and spread < LEAST_SPREAD:
            raise Refused(f"{name} is nearly constant over the batch "
                          f"({spread:.3g} of its deviation)")
    return figures


def default_inputs(path, batch, size):
    shape = fxtext.shapes_file(path).get("input")
    if shape is None:
        raise Refused("there is no .shapes.json, so -i is needed")
    shape = [batch or shape[0], *shape[1:]]
    if size:
        shape[2:] = [size] * len(shape[2:])
    return {"x": f"f32[{','.join(str(d) for d in shape)}]"}


def make_inputs(model, specs, seed):
    """Values for the placeholders, in order; a default stands for itself."""
    values = []
    for node in model.graph.nodes:
        if node.op != "placeholder":
            continue
        name = node.target.lstrip("*")
        if name in specs:
            values.append(seeded.make_input(
                name, *seeded.parse_spec(specs[name]), seed))
        elif not node.args:
            raise Refused(f"-i {name}=... is missing")
    unknown = set(specs) - {n.target.lstrip("*") for n in model.graph.nodes
                            if n.op == "placeholder"}
    if unknown:
        raise Refused(f"the model has no input {sorted(unknown)[0]}")
    return values


def load_weights(model, path):
    from safetensors.torch import load_file
    weights = load_file(path)
    for name, tensor in [*model.named_parameters(remove_duplicate=False),
                         *model.named_buffers(remove_duplicate=False)]:
        if name not in weights:
            raise Refused(f"{path} has no {name}")
        tensor.data.copy_(weights[name])


def weights_state(path):
    """Types and shapes that a weights file tells of bare parameters."""
    from safetensors import safe_open
    with safe_open(path, "pt") as file:
        return {k: (t.dtype, t.shape) for k in file.keys()
                for t in [file.get_tensor(k)]}


def run(model, inputs, record):
    model.requires_grad_(True)
    with torch.enable_grad():
        return Recorder(model, record).run(*inputs)


def bare_state(path, hidden):
    """What the text of the model does not tell and a reader has to know."""
    shapes = fxtext.shapes_file(path)
    if not shapes:
        return {}, {}
    with open(path, encoding="utf-8") as file:
        tree, _, _ = fxtext.split(file.read())
    told = {p: {"num_heads": n, "batch_first": True}
            for p, n in shapes.get("num_heads", {}).items()}
    with torch.device("meta"):
        root = fxtext.build(fxtext.parse_tree(tree), "", {**told, **hidden})
    owned = dict([*root.named_parameters(remove_duplicate=False),
                  *root.named_buffers(remove_duplicate=False)])
    state = fxtext.state_from_shapes(shapes)
    bare = {p: f"{seeded.DTYPE_NAMES[d]}[{','.join(str(e) for e in s)}]"
            for p, (d, s) in state.items() if p not in owned}
    return told, bare


def shared(hidden):
    """The same for every module is told once, under the empty path."""
    first = next(iter(hidden.values()))
    same = all(arguments == first for arguments in hidden.values())
    return {"": first} if same else hidden


def write_digest(out, head, nodes):
    """One line for each node, so that differences are easy to read."""
    def compact(value):
        return json.dumps(value, separators=(",", ":"))

    lines = [f"{json.dumps(k)}: {compact(v)}" for k, v in head.items()]
    body = ",\n".join(f"{json.dumps(k)}:{compact(v)}"
                      for k, v in nodes.items())
    lines.append('"nodes": {\n' + body + "\n}")
    with open(out, "w", encoding="utf-8") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


def make(path, seed=1, inputs=None, weights=None, hidden=None, batch=2,
         size=None, samples=16, digest_out=None, full_out=None):
    """Run one model and write its goldens; the figures of its output."""
    hidden = hidden or {}
    specs = inputs or default_inputs(path, batch, size)
    state = weights_state(weights) if weights else {}
    model = fxtext.load(path, hidden, state)
    if weights:
        load_weights(model, weights)
    else:
        seeded.fill_module(model, model.graph, seed)
    nodes, whole = {}, {}

    def record(name, value):
        if digest_out:
            count = max(samples, OUTPUT_SAMPLES) if name == "output" \
                else samples
            entry = digest(name, value, count)
            if entry is not None:
                nodes[name] = entry
        if full_out:
            for key, tensor in tensors(name, value):
                whole[key] = tensor.clone(
                    memory_format=torch.contiguous_format)

    result = run(model, make_inputs(model, specs, seed), record)
    figures = check_output(detach(result))
    if digest_out:
        told, bare = bare_state(path, hidden)
        name = os.path.splitext(os.path.basename(path))[0]
        head = {"schema": SCHEMA, "model": name, "seed": seed,
                "inputs": specs}
        if weights:
            head["weights"] = os.path.basename(weights)
        if told or hidden:
            head["hidden"] = shared({**told, **hidden})
        if bare:
            head["state"] = bare
        write_digest(digest_out, head, nodes)
    if full_out:
        from safetensors.torch import save_file
        save_file(whole, full_out)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-i", "--input", action="append", default=[])
    parser.add_argument("-w", "--weights")
    parser.add_argument("-m", "--module", action="append", default=[])
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--size", type=int)
    parser.add_argument("--samples", type=int, default=16)
    parser.add_argument("--digest")
    parser.add_argument("--full")
    options = parser.parse_args()
    hidden = {}
    for text in options.module:
        path, _, rest = text.rpartition(":")
        name, _, value = rest.partition("=")
        hidden.setdefault(path, {})[name] = ast.literal_eval(value)
    torch.set_num_threads(2)
    try:
        figures = make(options.model, options.seed,
                       dict(i.split("=", 1) for i in options.input),
                       options.weights, hidden, options.batch, options.size,
                       options.samples, options.digest, options.full)
    except (Refused, fxtext.TextError) as error:
        sys.exit(f"golden.py: {options.model}: {error}")
    for deviation, spread in figures:
        print(f"{options.model}: deviation {deviation:.4g}, over the batch "
              f"{spread:.3g} of it")


if __name__ == "__main__":
    main()
