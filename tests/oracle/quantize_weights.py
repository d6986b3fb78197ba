#!/usr/bin/env python3
"""quantize_weights -- the digits model with weights only, and dynamic ranges.

    quantize_weights.py [--check]

writes ../golden/quantize/without_data.txt: a line for each quantizer of cfx that
needs no data, its name and PyTorch's results for the first four of all digits.
Weights and inputs are quantized by torch.ops.quantized_decomposed; what FX graph
mode makes of the dynamic one has to be the same.
"""

import os
import sys
import warnings

import numpy as np
import torch
from torch import nn
from torch.ao.quantization import (PerChannelMinMaxObserver, QConfigMapping,
                                   quantize_fx)
from torch.ao.quantization.qconfig import per_channel_dynamic_qconfig

import fxtext
import golden
import quantize

PATH = os.path.join(quantize.GOLDEN, "without_data.txt")
OPS = torch.ops.quantized_decomposed


def ranges(weight, low, high, qscheme=torch.per_channel_symmetric):
    """Scales and zero points of the rows of a matrix."""
    observer = PerChannelMinMaxObserver(
        dtype=torch.qint8, qscheme=qscheme, quant_min=low, quant_max=high)
    observer(weight)
    return observer.calculate_qparams()


def by_channel(weight):
    scale, zero = ranges(weight, -128, 127)
    args = (scale, zero, 0, -128, 127, torch.int8)
    return OPS.dequantize_per_channel(
        OPS.quantize_per_channel(weight, *args), *args)


def by_groups(weight, group, qscheme=torch.per_channel_symmetric):
    scale, zero = (t.reshape(weight.shape[0], -1) for t in ranges(
        weight.reshape(-1, group), -8, 7, qscheme))
    q = OPS.quantize_per_channel_group(weight, scale, zero, -8, 7, torch.int8,
                                       group)
    return OPS.dequantize_per_channel_group(q, scale, zero, -8, 7, torch.int8,
                                            group, torch.float32)


def by_run(x):
    scale, zero = OPS.choose_qparams.tensor(x, 0, 255, 2 ** -23, torch.uint8)
    args = (scale, zero, 0, 255, torch.uint8)
    return OPS.dequantize_per_tensor.tensor(
        OPS.quantize_per_tensor.tensor(x, *args), *args)


def by_token(x):
    scale, zero = OPS.choose_qparams_per_token_asymmetric(x, torch.int8)
    q = OPS.quantize_per_token(x, scale, zero, -128, 127, torch.int8)
    return OPS.dequantize_per_token(q, scale, zero, -128, 127, torch.int8,
                                    torch.float32)


# Quantizer: (modules, their weights, their inputs).
BOTH = (nn.Conv2d, nn.Linear)
WAYS = {
    "weights": (BOTH, by_channel, None),
    "dynamic": (nn.Linear, by_channel, by_run),
    "dynamic_per_token": (nn.Linear, by_channel, by_token),
    **{f"weights_int4_g{n}": (nn.Linear, lambda w, n=n: by_groups(w, n), None)
       for n in (32, 64, 128)},
    **{f"weights_int4_asymmetric_g{n}": (
        nn.Linear,
        lambda w, n=n: by_groups(w, n, torch.per_channel_affine), None)
       for n in (32, 64, 128)},
}


def digits():
    model = fxtext.load(os.path.join(quantize.MODELS, "digits.fx"))
    golden.load_weights(model, os.path.join(quantize.MODELS,
                                            "digits.safetensors"))
    return model


def results(classes, weights, inputs, images):
    model = quantize_fx.fuse_fx(digits())
    for module in model.modules():
        if isinstance(module, classes):
            module.weight.data = weights(module.weight.detach())
            if inputs:
                module.register_forward_pre_hook(
                    lambda _, args: (inputs(args[0]),))
    return model(images)


def graph_mode(images):
    mapping = QConfigMapping().set_object_type(nn.Linear,
                                               per_channel_dynamic_qconfig)
    prepared = quantize_fx.prepare_fx(digits(), mapping, (images,))
    return quantize_fx._convert_to_reference_decomposed_fx(prepared)(images)


@torch.no_grad()
def lines():
    images = torch.from_numpy(np.load(quantize.IMAGES))
    for name, way in WAYS.items():
        found = results(*way, images)
        if name == "dynamic":
            torch.testing.assert_close(found, graph_mode(images))
        yield " ".join([name, *(f"{v:.9g}" for v in found[:4].flatten())]) + "\n"


def same(expected, found):
    """Are the lines equal, but for the order of sums on another processor?"""
    pairs = list(zip(expected.splitlines(), found.splitlines(), strict=True))
    for a, b in pairs:
        (name, *a), (other, *b) = a.split(), b.split()
        if name != other or not np.allclose(np.float64(a), np.float64(b),
                                            rtol=1e-5, atol=1e-5):
            print(f"without_data.txt: {name} differs")
            return False
    print(f"without_data.txt: {len(pairs)} quantizers as PyTorch")
    return True


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    text = "".join(lines())
    if "--check" in sys.argv:
        with open(PATH, encoding="utf-8") as file:
            return not same(file.read(), text)
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
