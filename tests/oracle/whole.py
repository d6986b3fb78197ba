#!/usr/bin/env python3
"""whole -- compare every node of whole models with PyTorch, element by element.

    whole.py CFX DIR [NAME...]

CFX is the program; DIR holds NAME.fx and NAME.shapes.json (a place where
zoo.tar.xz was unpacked).  Weights and inputs are made from a seed, written to
files for the program, and both run the graph; of each node's tensors the
largest difference, over the largest magnitude that PyTorch got, must stay
below 1e-4.  A line a model says the worst.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import safetensors.torch
import torch

import fxtext
import golden
import seeded
import zoo

LIMIT = 1e-4
AT_ONCE = 40  # nodes that one run of the program saves


def distance(have, want):
    """The largest difference over the largest magnitude."""
    if have.shape != want.shape or have.dtype != want.dtype:
        return float("inf")
    if not want.size:
        return 0.0
    if want.dtype.kind != "f":
        return 0.0 if np.array_equal(have, want) else float("inf")
    scale = max(float(np.abs(want).max()), 1e-30)
    return float(np.abs(have.astype(np.float64) - want).max()) / scale


def save_model(folder, name, model, where):
    path = os.path.join(where, "m.fx")
    given = os.path.join(folder, name + ".fx")
    with open(given, encoding="utf-8") as file:
        text = with_heads(file.read(), fxtext.shapes_file(given))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    state = {key: value.detach().clone(
                 memory_format=torch.contiguous_format)
             for key, value in model.state_dict().items()}
    safetensors.torch.save_file(state, os.path.join(where, "m.safetensors"))
    return path


def with_heads(text, shapes):
    """The text with what it does not tell of attention."""
    for heads in shapes.get("num_heads", {}).values():
        text = text.replace("MultiheadAttention(\n", "MultiheadAttention("
                            f"num_heads={heads}, batch_first=True, "
                            "add_bias_kv=False, add_zero_attn=False\n", 1)
    return text


def compare(cfx, folder, name):
    path = os.path.join(folder, name + ".fx")
    model = fxtext.load(path)
    seeded.fill_module(model, model.graph, zoo.SEED)
    specs = golden.default_inputs(path, zoo.BATCH, zoo.size_of(name))
    inputs = golden.make_inputs(model, specs, zoo.SEED)
    worst, nodes = (0.0, ""), []
    with tempfile.TemporaryDirectory() as where:
        text = save_model(folder, name, model, where)
        np.save(os.path.join(where, "x.npy"), inputs[0].numpy())

        def record(node, value):
            if isinstance(value, torch.Tensor):
                np.save(os.path.join(where, f"{node}.want.npy"),
                        value.detach().numpy())
                nodes.append(node)

        golden.run(model, inputs, record)
        for i in range(0, len(nodes), AT_ONCE):
            some = nodes[i:i + AT_ONCE]
            words = [cfx, "run", text, "-i", f"x={where}/x.npy", "-o",
                     "/dev/null"]
            for node in some:
                words += ["--save", f"{node}={where}/{node}.have.npy"]
            subprocess.run(words, check=True, stderr=subprocess.DEVNULL)
            for node in some:
                have = np.load(os.path.join(where, f"{node}.have.npy"))
                want = np.load(os.path.join(where, f"{node}.want.npy"))
                worst = max(worst, (distance(have, want), node))
                os.remove(os.path.join(where, f"{node}.have.npy"))
                os.remove(os.path.join(where, f"{node}.want.npy"))
    ok = worst[0] < LIMIT
    print(f"{'ok' if ok else 'NOT OK'} {name}: {len(nodes)} tensors, worst "
          f"{worst[0]:.2g} at {worst[1]}", flush=True)
    return ok


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    cfx, folder, *names = sys.argv[1:]
    torch.set_num_threads(2)
    names = names or zoo.model_names(folder)
    passed = sum(compare(os.path.abspath(cfx), folder, n) for n in names)
    print(f"{passed} passed, {len(names) - passed} failed")
    sys.exit(passed != len(names))


if __name__ == "__main__":
    main()
