#!/usr/bin/env python3
"""walk -- what PyTorch makes of the cases that shape_walk_test tries.

    case_tests shape_walk -p GOLDEN... | walk.py

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


def answers(lines):
    """What PyTorch gives for each line, in order, from processes that may die:
    some calls end PyTorch itself."""
    at = 0
    while at < len(lines):
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            with os.fdopen(writing, "w") as out:
                for line in lines[at:]:
                    try:
                        want, why = got(line.split("\t")[0])
                    except Exception as error:
                        want, why = "not read", str(error).split("\n")[0]
                    print(want, why, sep="\t", file=out, flush=True)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as back:
            for answer in back:
                yield answer.rstrip("\n").split("\t", 1)
                at += 1
        os.waitpid(child, 0)
        if at < len(lines):
            yield "crash", ""
            at += 1


def main():
    warnings.simplefilter("ignore")
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    seen, counts = collections.Counter(), collections.Counter()
    lines = [line.rstrip("\n") for line in sys.stdin
             if "\t" in line and not line.startswith(" ")]
    for line, (want, why) in zip(lines, answers(lines)):
        text, have = line.split("\t")
        if have == want:
            continue
        what = want if want in ("crash", "not read") else kind(have, want)
        counts[what] += 1
        key = (what, text.split("(")[0])
        seen[key] += 1
        if seen[key] <= SHOWN:
            print(f"{what}: {text}\n    cfx {have}\n    PyTorch {want} {why}")
    print(f"{len(lines)} cases, " + ", ".join(
        f"{n} {what}" for what, n in sorted(counts.items())))


if __name__ == "__main__":
    main()
