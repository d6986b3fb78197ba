#!/usr/bin/env python3
"""core_aten -- every forward operator of Core ATen is known to cfx.

    core_aten.py CFX

Core ATen is what has the tag torch.Tag.core.  Prints the overloads that
`cfx ops` does not know, and a count; status 1 if there are any but gradients.
"""

import subprocess
import sys

import torch


def overloads():
    for name in dir(torch.ops.aten):
        packet = getattr(torch.ops.aten, name)
        for overload in getattr(packet, "overloads", list)():
            op = getattr(packet, overload)
            if torch.Tag.core in op.tags:
                yield str(op)


def is_known(cfx, name):
    # An overload with out= is its plain one.
    plain = name.replace(".out", ".default")
    return not subprocess.run([cfx, "ops", plain], capture_output=True,
                              check=False).returncode


def main():
    names = list(overloads())
    forward = [n for n in names if "_backward." not in n]
    unknown = [n for n in forward if not is_known(sys.argv[1], n)]
    for name in unknown:
        print(f"{name}: unknown")
    print(f"{len(forward) - len(unknown)} of {len(forward)} forward overloads, "
          f"{len(names) - len(forward)} gradients left out")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
