#!/usr/bin/env python3
"""gptq -- int4 weights of three small models: cfx beside a reference GPTQ.

    gptq.py CFX [-v]

The reference is the published algorithm: layer by layer in the order of the run, with
the inputs that a layer has when those before it are rounded, columns with the largest
inputs first, the ranges of groups as they are before rounding, 1 % damping, and blocks
of 128 columns. Prints the signal-to-noise ratios of the outputs on other data than that
for calibration, in dB, and fails where cfx is more than 0.5 dB below the reference.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from torch import fx, nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "models"))
import export  # noqa: E402

GROUP = 32
MARGIN = 0.5

# ------------------------------------------------------------------- models


class Block(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width,
                                                                    width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width,
                                                                    width)

    def forward(self, x):
        parts = self.qkv(self.norm1(x)).chunk(3, -1)
        q, k, v = (parts[i].unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for i in range(3))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, width, heads, depth, outputs, causal=False):
        super().__init__()
        self.first = nn.Linear(width, width)
        self.blocks = nn.Sequential(*(Block(width, heads, causal)
                                      for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, outputs)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.first(x))))


class Layers(nn.Sequential):
    def __init__(self, *widths):
        super().__init__(*(layer for a, b in zip(widths, widths[1:])
                           for layer in (nn.Linear(a, b), nn.ReLU())))


def spread(model):
    """Rows of different sizes and heavy tails, as trained weights have them."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            w = torch.distributions.StudentT(4.).sample(module.weight.shape)
            rows = torch.exp(0.4 * torch.randn(w.shape[0], 1))
            module.weight.data = w * rows / (2 * w.shape[1]) ** 0.5
            module.bias.data.normal_(0, 0.1)
        elif isinstance(module, nn.LayerNorm):
            module.weight.data = torch.exp(0.5 * torch.randn(
                module.weight.shape))
    return model.eval()


def data(count, *shape):
    """Inputs whose last axis has few strong directions."""
    directions = torch.randn(shape[-1] // 4, shape[-1])
    return torch.randn(count, *shape[:-1], directions.shape[0]) @ directions \
        / directions.shape[0] ** 0.5 + 0.3 * torch.randn(count, *shape)


MODELS = {
    "encoder": (lambda: Transformer(128, 4, 3, 64), (24, 128)),
    "decoder": (lambda: Transformer(192, 6, 2, 96, True), (16, 192)),
    "layers": (lambda: Layers(256, 512, 512, 256, 64), (256,)),
}

# ---------------------------------------------------------------- reference


def ranges(weight, symmetric):
    """Scale and zero point of each element, from its group."""
    groups = weight.unflatten(1, (-1, GROUP))
    low = groups.amin(2).clamp(max=0)
    high = groups.amax(2).clamp(min=0)
    if symmetric:
        scale, zero = torch.maximum(-low, high) / 7.5, torch.zeros_like(low)
    else:
        scale = (high - low) / 15
        zero = (-8 - torch.round(low / scale)).clamp(-8, 7)
    return (t.repeat_interleave(GROUP, 1) for t in (scale, zero))


def nearest(w, scale, zero):
    return ((torch.round(w / scale) + zero).clamp(-8, 7) - zero) * scale


def compensated(weight, hessian, scale, zero, damping=0.01, size=128):
    order = torch.argsort(hessian.diag(), descending=True)
    w, scale, zero = (t[:, order].double() for t in (weight, scale, zero))
    h = hessian[order][:, order].double()
    h += damping * h.diag().mean() * torch.eye(len(h))
    upper = torch.linalg.cholesky(
        torch.cholesky_inverse(torch.linalg.cholesky(h)), upper=True)
    out = torch.empty_like(w)
    for begin in range(0, w.shape[1], size):
        end = min(begin + size, w.shape[1])
        errors = torch.zeros_like(w[:, begin:end])
        for j in range(begin, end):
            out[:, j] = nearest(w[:, j], scale[:, j], zero[:, j])
            error = (w[:, j] - out[:, j]) / upper[j, j]
            w[:, j:end] -= error[:, None] * upper[j, j:end]
            errors[:, j - begin] = error
        w[:, end:] -= errors @ upper[begin:end, end:]
    return out[:, torch.argsort(order)].float()


def rounded(model, x, symmetric, gptq):
    """Round the weights of all linear layers, in the order of the run."""
    order, seen = [], {}
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_pre_hook(
                lambda m, args: order.append(m) if m not in order else None)
    model(x[:1])

    def look(module, args):
        rows = args[0].flatten(0, -2).double()
        seen[module] = rows.T @ rows

    for module in order:
        scale, zero = ranges(module.weight, symmetric)
        if gptq:
            hook = module.register_forward_pre_hook(look)
            model(x)
            hook.remove()
            module.weight.data = compensated(module.weight, seen.pop(module),
                                             scale, zero)
        else:
            module.weight.data = nearest(module.weight, scale, zero)
    return model


def snr(expected, found):
    noise = (found.double() - expected.double()).square().sum()
    return float(10 * torch.log10(expected.double().square().sum() / noise))


# --------------------------------------------------------------------- cfx


def by_cfx(cfx, folder, model, calibration, test, symmetric, gptq):
    path = os.path.join(folder, "m")
    graph = fx.symbolic_trace(model)
    name = next(iter(graph.graph.nodes)).name
    export.export(graph, path)
    np.save(os.path.join(folder, "c.npy"), calibration.numpy())
    np.save(os.path.join(folder, "t.npy"), test.numpy())
    run = [cfx, "quantize", path + ".fx", "--weights-only", "int4", "--group",
           str(GROUP), "-q", "-o", os.path.join(folder, "q.fx"),
           "--calibrate", os.path.join(folder, "c.npy")]
    run += [] if symmetric else ["--asymmetric"]
    subprocess.run(run + ["--gptq"] * gptq, check=True)
    subprocess.run([cfx, "run", os.path.join(folder, "q.fx"), "-i",
                    name + "=" + os.path.join(folder, "t.npy"), "-O", folder],
                   check=True, stdout=subprocess.DEVNULL)
    return torch.from_numpy(np.load(os.path.join(folder, "output.npy")))


@torch.no_grad()
def compare(cfx, name, folder):
    make, shape = MODELS[name]
    torch.manual_seed(len(name))
    model = spread(make())
    calibration, test = data(96, *shape).split((64, 32))
    expected = model(test)
    state = {k: v.clone() for k, v in model.state_dict().items()}
    bad = False
    for symmetric in (True, False):
        for gptq in (False, True):
            ours = snr(expected, by_cfx(cfx, folder, model, calibration, test,
                                        symmetric, gptq))
            other = make().eval()
            other.load_state_dict(state)
            reference = snr(expected, rounded(other, calibration, symmetric,
                                              gptq)(test))
            bad |= not ours >= reference - MARGIN
            print(f"{name:8} {'symmetric' if symmetric else 'asymmetric':10} "
                  f"{'gptq' if gptq else 'nearest':8} reference "
                  f"{reference:5.2f}  cfx {ours:5.2f}")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cfx")
    cfx = os.path.abspath(parser.parse_args().cfx)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        return max([compare(cfx, name, folder) for name in MODELS])


if __name__ == "__main__":
    sys.exit(main())
