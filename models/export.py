"""export -- write a model the way that cfx reads it: text and weights."""

import os

import safetensors.torch
import torch


def export(model, path):
    """Trace `model` and write PATH.fx and PATH.safetensors."""
    gm = torch.fx.symbolic_trace(model.eval())
    with open(path + ".fx", "w", encoding="utf-8") as file:
        file.write(f"{gm!r}\n\n{gm.graph}\n")
    safetensors.torch.save_file(
        {k: v.detach().clone(memory_format=torch.contiguous_format)
         for k, v in [*gm.named_parameters(remove_duplicate=False),
                      *gm.named_buffers(remove_duplicate=False)]},
        path + ".safetensors")
    os.chmod(path + ".safetensors", 0o644)
    return gm
