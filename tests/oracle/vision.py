"""vision -- torchvision, also where its operators are missing.

They are, where torchvision was built for another torch; to import it, their
names must be known.
"""

import importlib

import torch

OPERATORS = torch.library.Library("torchvision", "FRAGMENT")
for name in ("nms", "qnms"):
    if not hasattr(torch.ops.torchvision, name):
        OPERATORS.define(f"{name}(Tensor dets, Tensor scores, float threshold)"
                         " -> Tensor")


def function(target):
    """The function that a dotted name stands for."""
    module, _, name = target.rpartition(".")
    return getattr(importlib.import_module(module), name)
