#!/usr/bin/env python3
"""walk -- what PyTorch makes of the cases that shape_walk_test tries.

    shape_walk_test -p GOLDEN... | walk.py

Each line is a case, a TAB, and what cfx gives: the types of tensors with their
strides, `-` for what holds none, or `error`. Prints the cases of which PyTorch
thinks otherwise, by operator, at most SHOWN of each and kind.
"""

import collections
import os
import re
import sys
import warnings

import torch

import opcases

SHOWN = int(os.environ.get("SHOWN", "3"))


def got(text):
    """What PyTorch gives, in the same notation."""
    reader = opcases.Reader(text)
    try:
        call = reader.case()
    except opcases.Refused as refused:
        return "error", str(refused).split("\n")[0]
    try:
        value = call()
    except Exception as error:
        return "error", f"{type(error).__name__}: {error}".split("\n")[0]
    parts = []
    for leaf in opcases.flat_results(value):
        if isinstance(leaf, torch.Tensor):
            dims = ",".join(str(d) for d in leaf.shape)
            strides = ",".join(str(s) for s in leaf.stride())
            name = opcases.seeded.DTYPE_NAMES[leaf.dtype]
            name = "b8" if name == "bool" else name
            parts.append(f"{name}[{dims}]" + (f"@({strides})" if dims else ""))
        else:
            parts.append("-")
    return " ; ".join(parts), ""


def kind(have, want):
    if "error" in (have, want):
        return "cfx refuses" if have == "error" else "PyTorch refuses"
    shapes = [re.sub(r"@\([0-9,-]*\)", "", t) for t in (have, want)]
    return "strides" if shapes[0] == shapes[1] else "shapes or types"


def main():
    warnings.simplefilter("ignore")
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    seen, total, counts = collections.Counter(), 0, collections.Counter()
    for line in sys.stdin:
        if "\t" not in line or line.startswith(" "):
            continue
        text, have = line.rstrip("\n").split("\t")
        total += 1
        try:
            want, why = got(text)
        except Exception as error:
            counts["not read"] += 1
            continue
        if have == want:
            continue
        what = kind(have, want)
        counts[what] += 1
        key = (what, text.split("(")[0])
        seen[key] += 1
        if seen[key] <= SHOWN:
            print(f"{what}: {text}\n    cfx {have}\n    PyTorch {want} {why}")
    print(f"{total} cases, " + ", ".join(
        f"{n} {what}" for what, n in sorted(counts.items())))


if __name__ == "__main__":
    main()
