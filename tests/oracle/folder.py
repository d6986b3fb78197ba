#!/usr/bin/env python3
"""folder -- do the folders that `cfx convert` writes compute in PyTorch?

    folder.py CFX DIR [NAME...]

CFX is the program; DIR holds NAME.fx and NAME.shapes.json, as for whole.py.
Each model, its weights made from a seed, is written as a folder and imported;
what the class computes must be, bit by bit, what the model computes in PyTorch.
A few graphs with functions that are not torch's, buffers of containers, training
flags and graphs as children are in golden/folder; their module.py there is
what convert writes (folder.sh compares it).
"""

import importlib
import os
import subprocess
import sys
import tempfile
import types

import torch

import fxtext
import golden
import seeded
import vision  # noqa: F401: torchvision without its operators
import whole
import zoo

SMALL = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                     "golden", "folder")
NAMES = ["functions", "children"]


def stand_in_for_torchvision():
    """Its one function that models call by name, where it is not installed."""
    try:
        importlib.import_module("torchvision")
        return
    except ImportError:
        pass
    dotted = "torchvision.ops.stochastic_depth"
    parts = dotted.split(".")
    for i in range(len(parts)):
        name = ".".join(parts[:i + 1])
        sys.modules[name] = types.ModuleType(name)
    sys.modules[dotted].stochastic_depth = fxtext.stochastic_depth


def leaves(value):
    if isinstance(value, dict):
        return [x for v in value.values() for x in leaves(v)]
    if isinstance(value, (tuple, list)):
        return [x for v in value for x in leaves(v)]
    return [value]


def same(a, b):
    a, b = leaves(a), leaves(b)
    return len(a) == len(b) and all(
        torch.equal(x, y) and x.dtype == y.dtype if isinstance(x, torch.Tensor)
        else x == y for x, y in zip(a, b))


def convert(cfx, text, where, *options):
    """The class of a model, imported from the folder it is written to."""
    subprocess.run([cfx, "convert", text, os.path.join(where, "made") + "/",
                    "--name", "Made", *options],
                   check=True, stderr=subprocess.DEVNULL)
    sys.path.insert(0, where)
    try:
        importlib.invalidate_caches()
        return importlib.import_module("made").Made
    finally:
        sys.path.remove(where)
        for name in [n for n in sys.modules if n.split(".")[0] == "made"]:
            del sys.modules[name]


def compare(cfx, folder, name):
    path = os.path.join(folder, name + ".fx")
    model = fxtext.load(path)
    seeded.fill_module(model, model.graph, zoo.SEED)
    specs = golden.default_inputs(path, zoo.BATCH, zoo.size_of(name))
    inputs = golden.make_inputs(model, specs, zoo.SEED)
    with tempfile.TemporaryDirectory() as where:
        # The zoo's text hides arguments that fxtext gives their defaults.
        made = convert(cfx, whole.save_model(folder, name, model, where),
                       where, "--assume-defaults")()
        return same_runs(model, made, inputs)


def same_runs(model, made, inputs):
    with torch.no_grad():
        return same(model(*inputs), made(*inputs))


def small(cfx, name):
    """What the class computes is what the program computes."""
    with tempfile.TemporaryDirectory() as where:
        text = os.path.join(SMALL, name + ".fx")
        made = convert(cfx, text, where, "--random-weights", "3")()
        assert not made.training
        if name == "functions":
            assert made.deep.lin.training and not made.deep.drop.training
            assert isinstance(made.deep.scale, torch.nn.Parameter)
            assert set(dict(made.named_buffers())) == {"deep.shift", "count"}
        whole.np.save(os.path.join(where, "x.npy"),
                      torch.linspace(-1, 1, 8).reshape(2, 4).numpy())
        subprocess.run([cfx, "run", text, "-i", f"x={where}/x.npy", "-O",
                        where, "--random-weights", "3"], check=True)
        out = [n for n in os.listdir(where) if n.startswith("output")]
        want = torch.from_numpy(whole.np.load(os.path.join(where, out[0])))
        with torch.no_grad():
            have = leaves(made(torch.linspace(-1, 1, 8).reshape(2, 4)))[0]
        return torch.allclose(have, want, rtol=1e-6, atol=1e-6)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    cfx, folder, *names = sys.argv[1:]
    cfx = os.path.abspath(cfx)
    torch.set_num_threads(2)
    stand_in_for_torchvision()
    passed = failed = 0
    for name in names or [*NAMES, *zoo.model_names(folder)]:
        ok = small(cfx, name) if name in NAMES else compare(cfx, folder, name)
        print(f"{'ok' if ok else 'NOT OK'} {name}", flush=True)
        passed, failed = passed + ok, failed + (not ok)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
