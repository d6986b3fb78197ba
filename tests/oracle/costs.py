#!/usr/bin/env python3
"""costs -- the multiply-adds of the zoo, as torch.utils.flop_counter has them.

    costs.py DIR                     write ../golden/costs.tsv
    costs.py DIR PROGRAM [NAME...]   compare with what PROGRAM prints

DIR holds NAME.fx and NAME.shapes.json (a place where zoo.tar.xz was unpacked).
Models run on the meta device, on one image of 224 by 224; half of the counter's
flops are multiply-adds.  PROGRAM is tests/zoo_tests: it prints the ones it
counts, a line "NAME<tab>MACS" for each model.
"""

import os
import subprocess
import sys

import torch
from torch.utils.flop_counter import FlopCounterMode

import fxtext
import zoo

SHAPE = (1, 3, 224, 224)


def macs_of(folder, name):
    path = os.path.join(folder, name + ".fx")
    with torch.device("meta"), torch.no_grad():
        model = fxtext.load(path).to("meta").eval()
        counter = FlopCounterMode(display=False)
        with counter:
            model(torch.empty(SHAPE))
    flops = counter.get_total_flops()
    assert flops % 2 == 0, name
    return flops // 2


def write(folder):
    with open(os.path.join(zoo.GOLDEN, "costs.tsv"), "w",
              encoding="utf-8") as out:
        for name in zoo.model_names(folder):
            out.write(f"{name}\t{macs_of(folder, name)}\n")


def compare(folder, program, names):
    passed = 0
    said = subprocess.run([program, "costs_zoo", folder, zoo.GOLDEN,
                           *names], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    have = dict(line.split("\t") for line in said.splitlines())
    for name in names:
        want = macs_of(folder, name)
        if have.get(name) == str(want):
            passed += 1
        else:
            print(f"NOT OK {name}: {have.get(name)}, PyTorch counts {want}")
    print(f"{passed} passed, {len(names) - passed} failed")
    return passed == len(names)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    # The fast path of attention is one operator that the counter does not know.
    torch.backends.mha.set_fastpath_enabled(False)
    folder, *rest = sys.argv[1:]
    if not rest:
        return write(folder)
    program, *names = rest
    sys.exit(not compare(folder, os.path.abspath(program),
                         names or zoo.model_names(folder)))


if __name__ == "__main__":
    main()
