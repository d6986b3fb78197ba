#!/usr/bin/env python3
"""onnx_write.py CFX [NAME...] -- models that cfx writes as ONNX compute what
PyTorch does.

Each model is exported by torch.export, converted by `cfx convert m.pt2 m.onnx`,
checked by onnx.checker, and run by ONNX Runtime; the file is read back by cfx,
too. Two sizes of the batch show that it stays symbolic. With NAMEs, only the
models that match one of these patterns.
"""
import fnmatch
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
import torch
from torch import nn
from torch.nn import functional as F

import vision  # noqa: F401: torchvision is imported without its library

torch.set_num_threads(1)


class Pointwise(nn.Module):
    def forward(self, x):
        y = F.gelu(x) + F.gelu(x, approximate="tanh") * F.silu(x)
        y = y - F.hardswish(x) / (2 + torch.sigmoid(x)) + F.elu(x)
        y = y + F.softplus(x) + F.hardsigmoid(x) + F.leaky_relu(x, 0.2)
        y = torch.where(x > 0.5, y, x.clamp(-1, 1)) + x.abs().sqrt()
        y = y.masked_fill(x < -1, 2.0) + torch.rsqrt(x * x + 1) + F.relu6(x)
        return y + (x != 0).float() + (1 - x) ** 2 + x.pow(3) + x.exp().log()


class Shapes(nn.Module):
    def forward(self, x):
        b = x.shape[0]
        y = x.reshape(b, 4, -1).transpose(1, 2)
        a, c = y.chunk(2, dim=1)
        y = torch.cat([a, c * 2], dim=1)[:, 1:, None].squeeze(2)
        y = torch.stack([y, y + 1], dim=1).flatten(1, 2)
        z = x[:, 0, ..., -1].unsqueeze(1).expand(-1, 3, -1)
        z = F.pad(z.repeat(1, 1, 2), (1, 2), value=0.5)
        p, q, r = x.unbind(1)[:3]
        s = x.select(1, 1).narrow(1, 1, 2).permute(0, 2, 1)
        return y, z, p - q * r, s, x.amax((2, 3)), x.sum(1), x.mean(-1, True), \
            x.argmax(1), x.flatten(1).softmax(-1), x.view(b, -1).cumsum(1)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(8)
        self.act = nn.ReLU(inplace=True)
        self.deep = nn.Conv2d(8, 8, 3, padding="same", groups=8, dilation=2)
        self.norm = nn.GroupNorm(2, 8)
        self.up = nn.ConvTranspose2d(8, 8, 2, stride=2)
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        x = self.act(self.bn(self.conv(x)))
        x = self.act(self.norm(self.deep(x)) + x)
        x = F.max_pool2d(self.up(x), 3, 2, 1)
        x = x + F.interpolate(x[..., ::2, ::2], scale_factor=2)
        x = x * F.interpolate(x[..., :4, :2], size=(16, 16), mode="bilinear")
        x = F.avg_pool2d(x, 4) + F.adaptive_avg_pool2d(x, 4)
        return F.log_softmax(self.fc(x.mean((2, 3))), -1)


class Attention(nn.Module):
    def __init__(self, causal):
        super().__init__()
        self.table = nn.Embedding(50, 16)
        self.qkv = nn.Linear(16, 48)
        self.norm = nn.LayerNorm(16)
        self.rms = nn.RMSNorm(16)
        self.out = nn.Linear(16, 50, bias=False)
        self.causal = causal

    def forward(self, ids):
        x = self.table(ids)
        b, n, _ = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, n, 3, 2, 8).permute(
            2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + y.transpose(1, 2).reshape(b, n, 16)
        return self.out(self.rms(x))


def torchvision_model(name, size=64):
    import torchvision
    m = getattr(torchvision.models, name)(weights=None)
    return m, torch.rand(2, 3, size, size)


def transformers_model(kind):
    import transformers as t
    sizes = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                 intermediate_size=64, vocab_size=99)
    if kind == "bert":
        m = t.BertModel(t.BertConfig(**sizes))
    else:
        m = t.GPT2Model(t.GPT2Config(n_embd=32, n_layer=2, n_head=4,
                                     vocab_size=99, use_cache=False))

    class Wrapped(nn.Module):
        def __init__(self):
            super().__init__()
            self.m = m

        def forward(self, ids):
            return self.m(ids).last_hidden_state
    return Wrapped(), torch.randint(0, 99, (2, 7))


def models():
    image = torch.randn(2, 4, 3, 5)
    ids = torch.randint(0, 50, (2, 7))
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    yield "pointwise", lambda: (Pointwise(), image)
    yield "shapes", lambda: (Shapes(), image)
    yield "residual", lambda: (Residual(), torch.randn(2, 3, 16, 16))
    yield "attention", lambda: (Attention(False), ids)
    yield "attention_causal", lambda: (Attention(True), ids)
    yield "encoder", lambda: (nn.TransformerEncoder(
        layer, 2, enable_nested_tensor=False), torch.randn(2, 7, 16))
    yield "mlp", lambda: (nn.Sequential(
        nn.Flatten(), nn.Linear(60, 9), nn.PReLU(9), nn.Dropout(),
        nn.Linear(9, 3), nn.Softmax(1)), image)
    for name in ("resnet18", "mobilenet_v2", "squeezenet1_1", "densenet121",
                 "efficientnet_b0", "shufflenet_v2_x1_0", "convnext_tiny"):
        yield name, lambda name=name: torchvision_model(name)
    yield "vit_b_32", lambda: torchvision_model("vit_b_32", 224)
    yield "bert", lambda: transformers_model("bert")
    yield "gpt2", lambda: transformers_model("gpt2")


def flat(y):
    return [t for v in y for t in flat(v)] if isinstance(y, (tuple, list)) \
        else [y]


def distance(got, want):
    assert len(got) == len(want), f"{len(got)} outputs, not {len(want)}"
    worst = 0
    for a, b in zip(got, want):
        b = b.numpy()
        assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape)
        scale = np.abs(b).max(initial=0) + 1e-6
        worst = max(worst, np.abs(a - b).max(initial=0) / scale)
    return worst


def read_back(cfx, folder, path, x):
    """What cfx computes of the file that it wrote."""
    npy, out = os.path.join(folder, "x.npy"), os.path.join(folder, "out")
    np.save(npy, x.numpy())
    subprocess.run([cfx, "run", path, "-i", npy, "-O", out], check=True,
                   capture_output=True, text=True)
    one = os.path.join(out, "output.npy")
    if os.path.exists(one):
        return [np.load(one)]
    return [np.load(os.path.join(out, f"output_{i}.npy"))
            for i in range(len(os.listdir(out)))]


def check(cfx, folder, make):
    torch.manual_seed(1)
    m, x = make()
    m = m.eval()
    for name, b in m.named_buffers():
        if "running_mean" in name:
            b.data.uniform_(-0.1, 0.1)
    for p in m.parameters():
        if not p.any():
            p.data.normal_(0, 0.1)
    batch = torch.export.Dim("N", min=2, max=64)
    pt2 = os.path.join(folder, "m.pt2")
    out = os.path.join(folder, "m.onnx")
    torch.export.save(torch.export.export(m, (x,), dynamic_shapes=({0: batch},)),
                      pt2)
    subprocess.run([cfx, "convert", pt2, out], check=True,
                   capture_output=True, text=True)
    model = onnx.load(out)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(out)
    for v in (x, torch.cat([x, x.flip(0)])):
        with torch.no_grad():
            want = flat(m(v))
        runs = session.run(None, {session.get_inputs()[0].name: v.numpy()})
        worst = max(distance(runs, want),
                    distance(read_back(cfx, folder, out, v), want))
        assert worst < 1e-4, f"differs by {worst:.2g}"
    return f"{len(model.graph.node)} nodes, {worst:.2g}"


def main():
    cfx = os.path.abspath(sys.argv[1])
    failed = passed = 0
    for name, make in models():
        if sys.argv[2:] and not any(fnmatch.fnmatch(name, p)
                                    for p in sys.argv[2:]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(f"{name}: {check(cfx, folder, make)}")
                passed += 1
            except subprocess.CalledProcessError as e:
                print(f"{name}: {(e.stderr or e.stdout).strip()[:600]}")
                failed += 1
            except Exception as e:
                print(f"{name}: {type(e).__name__}: {str(e)[:600]}")
                failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
