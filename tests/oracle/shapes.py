#!/usr/bin/env python3
"""shapes -- does `cfx shapes` find what torch.fx's ShapeProp finds?

    shapes.py CFX DIR [NAME...]

CFX is the program; DIR holds NAME.fx and NAME.shapes.json, as for whole.py.
Each model runs in PyTorch under ShapeProp, on row-major images and on
channels_last ones. Every TensorMetadata must be what cfx finds without numbers:
shape, dtype, stride (but along axes of extent 1), in the same tuples; and each
line that torch prints with include_tensor_metadata what cfx writes.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

import torch
from torch.fx.passes.shape_prop import ShapeProp, TensorMetadata

import fxtext
import whole
import zoo

LAYOUTS = {"row-major": torch.contiguous_format,
           "channels_last": torch.channels_last}


class Noting(ShapeProp):
    """Keeps what torch annotates lines by: values without their numbers."""

    def run_node(self, n):
        value = super().run_node(n)
        if isinstance(value, torch.Tensor):
            n.meta["val"] = torch.empty_strided(
                value.shape, value.stride(), dtype=value.dtype)
        return value


def told(meta):
    """Metadata as cfx.shapes/1 has it."""
    if isinstance(meta, TensorMetadata):
        return {"dtype": str(meta.dtype)[len("torch."):],
                "shape": list(meta.shape), "stride": list(meta.stride)}
    if isinstance(meta, dict):
        return {"dict": {k: told(v) for k, v in meta.items()}}
    if isinstance(meta, (tuple, list)):
        return [told(x) for x in meta]
    return meta if type(meta) is int else None


def same(have, want):
    if isinstance(have, dict) and isinstance(want, dict) and "shape" in want:
        return (have["dtype"], have["shape"]) == (
            want["dtype"], want["shape"]) and all(
            n == 1 or a == b for n, a, b in
            zip(want["shape"], have["stride"], want["stride"]))
    if isinstance(have, list) and isinstance(want, list):
        return len(have) == len(want) and all(map(same, have, want))
    return have == want


def ask(cfx, text, spec, form):
    return subprocess.run(
        [cfx, "shapes", text, "-i", f"x={spec}", "-f", form], check=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()


def annotated(line):
    """%NAME and the shape of a line, or None."""
    found = re.match(r' *(%\S+) : Tensor "([^"]*)"\[num_users', line)
    return found and found.groups()


def without_ones(text):
    """Strides along axes of extent 1 are anything."""
    found = re.match(r"(\w+)\[(.*?)\]\[(.*?)\](.*)", text)
    if not found or not found[2]:
        return text
    shape = found[2].split(", ")
    stride = [s if n != "1" else "_" for n, s in
              zip(shape, found[3].split(", "))]
    return f"{found[1]}[{found[2]}][{', '.join(stride)}]{found[4]}"


def compare(cfx, folder, name, layout):
    given = os.path.join(folder, name + ".fx")
    model = fxtext.load(given)
    size = zoo.size_of(name) or 224
    x = torch.zeros(zoo.BATCH, 3, size, size).to(
        memory_format=LAYOUTS[layout])
    spec = f"f32{list(x.shape)}{list(x.stride())}"
    with torch.no_grad():
        Noting(model).propagate(x)
    bad = []
    with tempfile.TemporaryDirectory() as where:
        text = whole.save_model(folder, name, model, where)
        found = {n["name"]: n["value"]
                 for n in json.loads(ask(cfx, text, spec, "json"))["nodes"]}
        lines = dict(filter(None, map(
            annotated, ask(cfx, text, spec, "graph").split("\n"))))
    for node in model.graph.nodes:
        want = told(node.meta.get("tensor_meta"))
        if want is not None and not same(found[node.name], want):
            bad.append(f"{node.name}: {found[node.name]}, not {want}")
        line = annotated(node.format_node(include_tensor_metadata=True) or "")
        if line and without_ones(lines.get(line[0], "")) != without_ones(
                line[1]):
            bad.append(f"{node.name}: {lines.get(line[0])}, not {line[1]}")
    print(f"{'NOT OK' if bad else 'ok'} {name}, {layout}: {len(found)} nodes",
          *bad[:5], sep="\n    ", flush=True)
    return not bad


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    cfx, folder, *names = sys.argv[1:]
    torch.set_num_threads(2)
    # What attention gives in evaluation, the fast path has in other strides.
    torch.backends.mha.set_fastpath_enabled(False)
    cases = [(n, layout) for n in names or zoo.model_names(folder)
             for layout in LAYOUTS]
    passed = sum(compare(os.path.abspath(cfx), folder, *c) for c in cases)
    print(f"{passed} passed, {len(cases) - passed} failed")
    sys.exit(passed != len(cases))


if __name__ == "__main__":
    main()
