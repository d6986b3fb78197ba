"""peers_networks -- networks of kinds that torchvision and transformers do not have, for
peers_models.py: each takes one tensor and returns one.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


def mlp(*widths):
    layers = [m for i, o in zip(widths, widths[1:])
              for m in (nn.Linear(i, o), nn.ReLU())]
    return nn.Sequential(*layers)


class Dlrm(nn.Module):
    """Recommendation: 26 tables, products of all pairs of features, two MLPs.  x has 13
    numbers, then 26 indices as floats."""

    def __init__(self, tables=26, rows=10000, width=64):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width)
                                    for _ in range(tables))
        self.bottom = mlp(13, 512, 256, width)
        pairs = torch.tril_indices(tables + 1, tables + 1, -1)
        self.register_buffer("pairs", pairs[0] * (tables + 1) + pairs[1])
        self.top = nn.Sequential(
            mlp(width + len(self.pairs), 512, 256), nn.Linear(256, 1),
            nn.Sigmoid())

    def forward(self, x):
        dense = self.bottom(x[:, :13])
        at = x[:, 13:].long()
        all_ = torch.stack([dense] + [t(at[:, i]) for i, t in
                                      enumerate(self.tables)], 1)
        pairs = torch.bmm(all_, all_.transpose(1, 2)).flatten(1)
        return self.top(torch.cat((dense, pairs[:, self.pairs]), 1))


class DeepFm(nn.Module):
    """Recommendation: sums of squares of embeddings beside an MLP.  x has indices."""

    def __init__(self, fields=39, rows=5000, width=16):
        super().__init__()
        self.fields = fields
        self.register_buffer("first", torch.arange(fields) * rows)
        self.linear = nn.Embedding(fields * rows, 1)
        self.table = nn.Embedding(fields * rows, width)
        self.deep = nn.Sequential(mlp(fields * width, 400, 400),
                                  nn.Linear(400, 1))

    def forward(self, x):
        x = x + self.first
        v = self.table(x)
        second = (v.sum(1).square() - v.square().sum(1)).sum(1, keepdim=True)
        return torch.sigmoid(self.linear(x).sum(1) + 0.5 * second
                             + self.deep(v.flatten(1)))


class TcnBlock(nn.Module):
    def __init__(self, channels, hidden, dilation):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(channels, hidden, 1), nn.PReLU(),
            nn.GroupNorm(1, hidden),
            nn.Conv1d(hidden, hidden, 3, padding=dilation, dilation=dilation,
                      groups=hidden),
            nn.PReLU(), nn.GroupNorm(1, hidden),
            nn.Conv1d(hidden, channels, 1))

    def forward(self, x):
        return x + self.net(x)


def tcn(channels=128, hidden=256, blocks=8):
    """Speech separation: a temporal convolutional network."""
    return nn.Sequential(*(TcnBlock(channels, hidden, 2 ** i)
                           for i in range(blocks)))


class MixerBlock(nn.Module):
    def __init__(self, tokens, width):
        super().__init__()
        self.norms = nn.ModuleList((nn.LayerNorm(width), nn.LayerNorm(width)))
        self.tokens = nn.Sequential(nn.Linear(tokens, tokens * 2), nn.GELU(),
                                    nn.Linear(tokens * 2, tokens))
        self.channels = nn.Sequential(nn.Linear(width, width * 4), nn.GELU(),
                                      nn.Linear(width * 4, width))

    def forward(self, x):
        x = x + self.tokens(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norms[1](x))


class Mixer(nn.Module):
    """An MLP-mixer of patches of 16 x 16 pixels."""

    def __init__(self, width=256, blocks=8):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 16, 16)
        self.blocks = nn.Sequential(*(MixerBlock(196, width)
                                      for _ in range(blocks)))
        self.head = nn.Linear(width, 1000)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        return self.head(self.blocks(x).mean(1))


class SuperBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(width, width, 3, padding=1),
                                 nn.ReLU(),
                                 nn.Conv2d(width, width, 3, padding=1))

    def forward(self, x):
        return x + self.net(x) * 0.1


def edsr(width=64, blocks=8):
    """Super-resolution by two."""
    return nn.Sequential(nn.Conv2d(3, width, 3, padding=1),
                         *(SuperBlock(width) for _ in range(blocks)),
                         nn.Conv2d(width, 4 * width, 3, padding=1),
                         nn.PixelShuffle(2), nn.Conv2d(width, 3, 3, padding=1))


class Diffusion(nn.Module):
    """Blocks of a diffusion U-Net: group norms, SiLU, a time, attention."""

    def __init__(self, width=128):
        super().__init__()
        self.stem = nn.Conv2d(4, width, 3, padding=1)
        self.norms = nn.ModuleList(nn.GroupNorm(32, width) for _ in range(5))
        self.convs = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1)
                                   for _ in range(4))
        self.time = nn.Linear(width, width)
        self.register_buffer("t", torch.randn(1, width))
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.end = nn.Conv2d(width, 4, 3, padding=1)

    def residual(self, x, i):
        h = self.convs[i](F.silu(self.norms[i](x)))
        h = h + self.time(F.silu(self.t))[:, :, None, None]
        return x + self.convs[i + 1](F.silu(self.norms[i + 1](h)))

    def attend(self, x):
        n, c, h, w = x.shape
        y = self.norms[4](x).flatten(2).transpose(1, 2)
        q, k, v = (t.unflatten(2, (4, c // 4)).transpose(1, 2)
                   for t in self.qkv(y).chunk(3, 2))
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return x + self.proj(y).transpose(1, 2).unflatten(2, (h, w))

    def forward(self, x):
        x = self.residual(self.stem(x), 0)
        return self.end(self.residual(self.attend(x), 2))


class Gnn(nn.Module):
    """A graph network: messages along edges, added where they arrive."""

    def __init__(self, nodes=2000, edges=10000, width=64, layers=3):
        super().__init__()
        self.register_buffer("src", torch.randint(nodes, (edges,)))
        self.register_buffer("dst", torch.randint(nodes, (edges,)))
        self.message = nn.ModuleList(mlp(2 * width, width, width)
                                     for _ in range(layers))
        self.update = nn.ModuleList(mlp(2 * width, width)
                                    for _ in range(layers))

    def forward(self, x):
        for message, update in zip(self.message, self.update):
            m = message(torch.cat((x[self.src], x[self.dst]), 1))
            at = self.dst.unsqueeze(1).expand_as(m)
            got = torch.zeros_like(x).scatter_add(0, at, m)
            x = x + update(torch.cat((x, got), 1))
        return x


def patches_of(width, heads, layers):
    layer = nn.TransformerEncoderLayer(width, heads, 2 * width, 0.0, "gelu",
                                       batch_first=True)
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)


class Series(nn.Module):
    """Forecasts of time series by a transformer over patches."""

    def __init__(self, steps=512, patch=16, width=128, ahead=96):
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(patch, width)
        self.where = nn.Parameter(torch.randn(steps // patch, width) * 0.02)
        self.encoder = patches_of(width, 8, 3)
        self.head = nn.Linear(steps // patch * width, ahead)

    def forward(self, x):  # (series, steps)
        mean = x.mean(1, keepdim=True)
        std = (x.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()
        y = ((x - mean) / std).unflatten(1, (-1, self.patch))
        y = self.encoder(self.embed(y) + self.where)
        return self.head(y.flatten(1)) * std + mean


class Conformer(nn.Module):
    """A block of speech recognition: two halves of an MLP around attention and a
    convolution along time."""

    def __init__(self, width=256, heads=4, kernel=31):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(5))
        self.mlps = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(),
                          nn.Linear(4 * width, width)) for _ in range(2))
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.conv = nn.Sequential(
            nn.Conv1d(width, 2 * width, 1), nn.GLU(1),
            nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width),
            nn.BatchNorm1d(width), nn.SiLU(), nn.Conv1d(width, width, 1))

    def attend(self, x):
        q, k, v = (t.unflatten(2, (self.heads, -1)).transpose(1, 2)
                   for t in self.qkv(x).chunk(3, 2))
        scores = torch.softmax(
            q @ k.transpose(2, 3) / math.sqrt(q.shape[-1]), -1)
        return self.proj((scores @ v).transpose(1, 2).flatten(2))

    def forward(self, x):
        x = x + 0.5 * self.mlps[0](self.norms[0](x))
        x = x + self.attend(self.norms[1](x))
        x = x + self.conv(self.norms[2](x).transpose(1, 2)).transpose(1, 2)
        x = x + 0.5 * self.mlps[1](self.norms[3](x))
        return self.norms[4](x)


def conformer(blocks=4):
    return nn.Sequential(*(Conformer() for _ in range(blocks)))


def conv_silu(i, o, kernel=3, stride=1):
    return nn.Sequential(nn.Conv2d(i, o, kernel, stride, kernel // 2,
                                   bias=False), nn.BatchNorm2d(o), nn.SiLU())


class Split(nn.Module):
    """Half of the channels go through two convolutions, all through another."""

    def __init__(self, width):
        super().__init__()
        self.first = conv_silu(width, width, 1)
        self.inner = nn.Sequential(conv_silu(width // 2, width // 2),
                                   conv_silu(width // 2, width // 2))
        self.last = conv_silu(width * 3 // 2, width, 1)

    def forward(self, x):
        a, b = self.first(x).chunk(2, 1)
        return self.last(torch.cat((a, b, b + self.inner(b)), 1))


class Detector(nn.Module):
    """One-stage detection: three scales, upsampled and joined, boxes and classes."""

    def __init__(self, width=32, outputs=84):
        super().__init__()
        w = width
        self.stem = nn.Sequential(conv_silu(3, w, 3, 2),
                                  conv_silu(w, 2 * w, 3, 2), Split(2 * w))
        self.down = nn.ModuleList(
            nn.Sequential(conv_silu(2 * w * 2 ** i, 4 * w * 2 ** i, 3, 2),
                          Split(4 * w * 2 ** i)) for i in range(3))
        self.up = nn.ModuleList(
            conv_silu(12 * w * 2 ** i, 4 * w * 2 ** i, 1) for i in range(2))
        self.heads = nn.ModuleList(nn.Conv2d(4 * w * 2 ** i, outputs, 1)
                                   for i in range(3))

    def forward(self, x):
        levels, x = [], self.stem(x)
        for down in self.down:
            x = down(x)
            levels.append(x)
        for i in (1, 0):
            x = F.interpolate(x, scale_factor=2.0, mode="nearest")
            x = levels[i] = self.up[i](torch.cat((x, levels[i]), 1))
        return torch.cat([head(level).flatten(2) for head, level in
                          zip(self.heads, levels)], 2)
