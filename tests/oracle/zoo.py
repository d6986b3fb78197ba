#!/usr/bin/env python3
"""zoo -- goldens of the zoo: real models, as PyTorch prints them.

    zoo.py DIR            write ../golden/zoo/NAME.json for every DIR/NAME.fx
    zoo.py DIR NAME...    the same for these only
    zoo.py DIR --pack     write ../golden/zoo.tar.xz from DIR
    zoo.py DIR --native   compare with DIR/NAME.shapes.json at full size

DIR holds NAME.fx and NAME.shapes.json: a place where zoo.tar.xz was unpacked
will do.  One model at a time, on two threads: the largest takes 3 GB.
"""

import glob
import io
import os
import sys
import tarfile

import torch

import fxtext
import golden
import seeded

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "golden")
SEED = 1
SAMPLES = 4
BATCH = 2


def size_of(name):
    """Spatial extent that keeps a golden cheap to check."""
    if name.startswith("vit"):
        return None
    return 96 if name == "inception_v3" else 64


def model_names(folder):
    paths = glob.glob(os.path.join(folder, "*.fx"))
    return sorted(os.path.splitext(os.path.basename(p))[0] for p in paths)


def make(folder, name):
    os.makedirs(os.path.join(GOLDEN, "zoo"), exist_ok=True)
    out = os.path.join(GOLDEN, "zoo", name + ".json")
    figures = golden.make(os.path.join(folder, name + ".fx"), seed=SEED,
                          batch=BATCH, size=size_of(name), samples=SAMPLES,
                          digest_out=out)
    deviation, spread = figures[0]
    print(f"{name}: deviation {deviation:.4g}, over the batch {spread:.3g} "
          f"of it, {os.path.getsize(out)} bytes", flush=True)


def reported(value):
    """A value as .shapes.json tells it."""
    if isinstance(value, torch.Tensor):
        return {"dtype": str(value.dtype)[len("torch."):],
                "shape": list(value.shape), "stride": list(value.stride())}
    items = golden.children(value)
    if items is None or not any(True for _ in golden.tensors("", value)):
        return None
    return [reported(v) for _, v in items]


def compare_native(folder, name):
    """Run at full size; every shape and stride must be as recorded."""
    path = os.path.join(folder, name + ".fx")
    shapes = fxtext.shapes_file(path)
    model = fxtext.load(path)
    with open(path, encoding="utf-8") as file:
        if f"{model!r}\n\n{model.graph}\n" != file.read():
            raise golden.Refused("prints differently")
    seeded.fill_module(model, model.graph, SEED)
    wrong = []

    def record(node, value):
        if node in shapes["nodes"] and reported(value) != shapes["nodes"][node]:
            wrong.append(node)

    inputs = golden.make_inputs(model, golden.default_inputs(path, BATCH, None),
                                SEED)
    result = golden.run(model, inputs, record)
    if wrong:
        raise golden.Refused(f"{len(wrong)} nodes differ: {wrong[:3]}")
    deviation, spread = golden.check_output(golden.detach(result))[0]
    print(f"{name}: {len(shapes['nodes'])} nodes agree, deviation "
          f"{deviation:.4g}, over the batch {spread:.3g} of it", flush=True)


def pack(folder):
    """An archive that is the same for the same files."""
    with tarfile.open(os.path.join(GOLDEN, "zoo.tar.xz"), "w:xz",
                      preset=9) as archive:
        for name in model_names(folder):
            for ending in (".fx", ".shapes.json"):
                with open(os.path.join(folder, name + ending), "rb") as file:
                    data = file.read()
                entry = tarfile.TarInfo("zoo/" + name + ending)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    flags = set(sys.argv[1:]) - set(words)
    if not words or flags - {"--pack", "--native"}:
        sys.exit(__doc__)
    folder, *names = words
    torch.set_num_threads(2)
    if "--pack" in flags:
        return pack(folder)
    failed = False
    for name in names or model_names(folder):
        try:
            (compare_native if "--native" in flags else make)(folder, name)
        except (golden.Refused, fxtext.TextError) as error:
            print(f"zoo.py: {name}: {error}", file=sys.stderr, flush=True)
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
