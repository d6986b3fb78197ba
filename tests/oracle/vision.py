"""vision -- torchvision, also where its operators are missing.

They are, where torchvision was built for another torch; to import it, their
names must be known.
"""

import importlib

import torch

import regions  # nms and others

if not hasattr(torch.ops.torchvision, "qnms"):
    regions.LIBRARY.define("qnms(Tensor dets, Tensor scores, float threshold)"
                           " -> Tensor")


def function(target):
    """The function that a dotted name stands for."""
    module, _, name = target.rpartition(".")
    return getattr(importlib.import_module(module), name)
