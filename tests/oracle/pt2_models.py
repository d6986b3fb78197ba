"""Models that pt2.py and pt2_write.py export, beside those that these have.

MODELS[name]() is a model, its arguments, which of their extents are dynamic (as
torch.export.export takes it, or None), and its keywords, which may be left out.
"""
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional as F

import transformers_models

BATCH = Dim("batch", min=2, max=256)
MODELS = {}


def model(f):
    MODELS[f.__name__] = f
    return f


# ---- transformers: the last hidden state, or what else is first ----

class First(nn.Module):
    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *args):
        out = self.model(**dict(zip(self.names, args)), return_dict=True)
        return next(v for v in out.values() if isinstance(v, torch.Tensor))


def of_transformers(name, axes):
    """The dynamic axes of every input, by their names; a batch of 2 first."""
    def make():
        m, inputs = transformers_models.MODELS[name]()
        args = tuple(inputs.values())
        dims = {"b": Dim("batch", min=2, max=256),
                "s": Dim("length", min=2, max=48)}
        dynamic = tuple({i: dims[a] for i, a in enumerate(axes) if a in dims}
                        for _ in args)
        return (First(m, tuple(inputs)), args,
                dynamic if axes.strip("-") else None)
    make.__name__ = name
    MODELS[name] = make


for name in ("roberta", "distilbert", "electra", "albert", "debertav2",
             "modernbert", "opt", "mistral", "qwen3", "gemma2", "phi3",
             "gptneox", "bloom", "olmo2"):
    of_transformers(name, "bs")
for name in ("fnet", "mamba"):
    of_transformers(name, "--")
for name in ("deit", "dinov2", "convnext", "resnet", "mobilenetv2",
             "segformer", "poolformer", "regnet"):
    of_transformers(name, "b")
for name in ("bart", "mt5", "wav2vec2", "siglip", "patchtst",
             "videomae", "swinv2"):
    of_transformers(name, "--")


# ---- torchvision ----

def of_torchvision(name, size=64, **settings):
    def make():
        import torchvision.models as models
        return (getattr(models, name)(weights=None, **settings),
                (torch.randn(2, 3, size, size),),
                ({0: Dim("batch", min=2, max=256)},))
    make.__name__ = name
    MODELS[name] = make


for name in ("resnet18", "mobilenet_v3_small", "shufflenet_v2_x0_5",
             "squeezenet1_1", "efficientnet_b0", "mnasnet0_5"):
    of_torchvision(name)


# ---- Others ----

@model
def cells():
    """Cells of recurrent layers, step by step, with a state that is returned."""
    class Cells(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.LSTMCell(5, 6), nn.GRUCell(6, 4)

        def forward(self, x, state):
            h, c, g = state
            for i in range(3):
                h, c = self.a(x[:, i], (h, c))
                g = self.b(h, g)
            return g, (h, c, g)
    state = (torch.randn(2, 6), torch.randn(2, 6), torch.randn(2, 4))
    return (Cells(), (torch.randn(2, 3, 5), state),
            ({0: BATCH}, tuple({0: BATCH} for _ in state)))


@model
def sequences():
    """A bidirectional LSTM over texts (PyTorch fixes their length)."""
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(30, 8)
            self.rnn = nn.LSTM(8, 6, bidirectional=True, batch_first=True)
            self.head = nn.Linear(12, 5)

        def forward(self, tokens):
            return F.log_softmax(self.head(self.rnn(self.embed(tokens))[0]),
                                 dim=-1)
    return (Tagger(), (torch.randint(0, 30, (2, 7)),),
            ({0: BATCH},))


@model
def attention():
    """Causal attention over any length, with a mask that is computed."""
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)

        def forward(self, x, lengths):
            b, n, _ = x.shape
            q, k, v = self.qkv(x).view(b, n, 3, 4, 4).permute(2, 0, 3, 1, 4)
            at = torch.arange(n)
            mask = (at[None, :] <= at[:, None]) & \
                (at[None, None, :] < lengths[:, None, None])
            y = F.scaled_dot_product_attention(q, k, v,
                                               attn_mask=mask[:, None])
            return self.out(y.transpose(1, 2).reshape(b, n, 16))
    return (Block(), (torch.randn(2, 6, 16), torch.tensor([6, 4])),
            ({0: BATCH, 1: Dim("n", min=2, max=99)}, {0: BATCH}))


@model
def key_values():
    """A cache of keys and values that comes in and goes out, longer by one."""
    class Step(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(8, 24)

        def forward(self, x, past):
            q, k, v = (t.view(1, -1, 2, 4).transpose(1, 2)
                       for t in self.qkv(x).chunk(3, -1))
            k = torch.cat([past["k"], k], 2)
            v = torch.cat([past["v"], v], 2)
            y = F.scaled_dot_product_attention(q, k, v)
            return y.transpose(1, 2).flatten(2), {"k": k, "v": v}
    past = {"k": torch.randn(1, 2, 5, 4), "v": torch.randn(1, 2, 5, 4)}
    n = Dim("past", min=1, max=128)
    return (Step(), (torch.randn(1, 1, 8), past),
            (None, {"k": {2: n}, "v": {2: n}}))


@model
def nested():
    """Inputs and outputs that nest, and one that is None."""
    class Nested(nn.Module):
        def forward(self, items, options):
            x, (y, z) = items
            scale = options["scale"] * options["more"][1]
            total = x @ y if z is None else x
            return {"total": total * scale, "parts": (x, [y])}
    return (Nested(), ((torch.randn(2, 3), (torch.randn(3, 2), None)),
                       {"scale": torch.tensor(2.), "more": [1, 3]}), None)


@model
def segments():
    """A graph network whose messages go by scatter_reduce and amax."""
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(6, 8)
            self.b = nn.Linear(16, 3)

        def forward(self, x, source, target):
            m = F.elu(self.a(x))[source]
            at = target[:, None].expand_as(m)
            zero = torch.zeros(x.shape[0], 8)
            mean = zero.scatter_reduce(0, at, m, "mean", include_self=False)
            most = zero.scatter_reduce(0, at, m, "amax", include_self=False)
            return self.b(torch.cat([mean, most], 1))
    edges = Dim("edges", min=2, max=999)
    return (Net(), (torch.randn(6, 6), torch.randint(0, 6, (11,)),
                    torch.randint(0, 6, (11,))),
            ({0: Dim("nodes", min=2, max=99)}, {0: edges}, {0: edges}))


@model
def pyramid():
    """Features of several scales, as detectors have them, and their anchors."""
    class Pyramid(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.ModuleList(
                nn.Conv2d(i, 8, 3, stride=2, padding=1) for i in (3, 8, 8))
            self.side = nn.ModuleList(nn.Conv2d(8, 4, 1) for _ in range(3))

        def forward(self, x):
            levels = []
            for down in self.down:
                x = F.leaky_relu(down(x))
                levels.append(x)
            y, out = None, []
            for level, side in zip(levels[::-1], self.side):
                s = side(level)
                y = s if y is None else s + F.interpolate(
                    y, size=s.shape[-2:], mode="nearest")
                out.append(y.flatten(2).transpose(1, 2))
            return torch.cat(out, 1)
    return (Pyramid(), (torch.randn(1, 3, 24, 40),), None)


@model
def branches():
    """Two levels of conditions, over buffers and inputs."""
    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("w", torch.arange(4.))
            self.fc = nn.Linear(4, 4)

        def forward(self, x, deep):
            def one(x):
                return torch.cond(x.mean() > 0.5, lambda x: x * self.w,
                                  lambda x: self.fc(x), (x,))

            def other(x):
                return x - self.w
            return torch.cond(deep, one, other, (x,))
    return Branches(), (torch.rand(3, 4), torch.tensor(True)), None


@model
def statistics():
    """Buffers that each run changes, of several dtypes."""
    class Statistics(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.tensor(0))
            self.register_buffer("mean", torch.zeros(3, dtype=torch.float64))
            self.register_buffer("seen", torch.zeros(5, dtype=torch.bool))

        def forward(self, x, at):
            self.count.add_(x.shape[0])
            self.mean.lerp_(x.double().mean(0), 0.25)
            self.seen.index_fill_(0, at, True)
            return (x - self.mean).float(), self.seen.sum() + self.count
    return (Statistics(), (torch.randn(4, 3), torch.tensor([1, 3])), None)


@model
def spectrum():
    """A spectrogram: complex numbers inside."""
    class Spectrum(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("window", torch.hann_window(16))
            self.fc = nn.Linear(9, 4)

        def forward(self, wave):
            x = wave.unfold(-1, 16, 8) * self.window
            return self.fc(torch.fft.rfft(x).abs().square().log1p())
    return (Spectrum(), (torch.randn(2, 80),), ({0: BATCH},))


@model
def moe():
    """The best two of four experts for each token."""
    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(8, 4)
            self.up = nn.Parameter(torch.randn(4, 8, 16) / 4)
            self.down = nn.Parameter(torch.randn(4, 16, 8) / 4)

        def forward(self, x):
            weight, at = torch.softmax(self.gate(x), -1).topk(2)
            h = torch.einsum("nd,edh->neh", x, self.up)
            y = torch.einsum("neh,ehd->ned", F.silu(h), self.down)
            y = y.gather(1, at[..., None].expand(-1, -1, 8))
            return (y * weight[..., None]).sum(1)
    return Experts(), (torch.randn(5, 8),), ({0: BATCH},)


@model
def quantized():
    """Weights in int8 with a scale for each row."""
    class Rows(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("w", torch.randint(-127, 128, (6, 8),
                                                    dtype=torch.int8))
            self.register_buffer("scale", torch.rand(6, 1) / 127)

        def forward(self, x):
            return F.linear(x, self.w.to(x.dtype) * self.scale)
    return Rows(), (torch.randn(3, 8),), ({0: BATCH},)


@model
def volumes():
    class Volumes(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(
                nn.Conv3d(1, 4, 3, padding=1), nn.BatchNorm3d(4), nn.PReLU(),
                nn.MaxPool3d(2), nn.ConvTranspose3d(4, 2, 2, stride=2))

        def forward(self, x):
            return self.net(x)
    return Volumes(), (torch.randn(2, 1, 4, 6, 4),), ({0: BATCH},)


@model
def vmap():
    """A mask as transformers has them, whose batches are of four levels, and
    functions that are not pointwise."""
    class Mask(nn.Module):
        def forward(self, x, pad):
            def mask(b, h, q, k):
                some = q.new_ones((), dtype=torch.bool)
                return some & (k <= q) & (k > q - 3) & \
                    torch.ops.aten.index(pad, [b, k])

            for at in (3, 2, 1, 0):
                dims = tuple(0 if i == at else None for i in range(4))
                mask = torch.vmap(mask, in_dims=dims)
            b, n = x.shape[:2]
            seen = mask(torch.arange(b), torch.arange(1), torch.arange(n),
                        torch.arange(n))
            ends = torch.vmap(lambda v, w: torch.where(v > 0, v * w, v - 1),
                              in_dims=(1, -1), out_dims=1)(x, x.mT)
            rows = torch.vmap(lambda v: (v.softmax(0) @ v.mT, v.sort(-1)[1]),
                              out_dims=(0, -1))(x)
            return seen, ends, rows, torch.vmap(lambda v: pad.sum())(x)
    pad = torch.ones(2, 5, dtype=torch.bool)
    pad[1, 3:] = False
    return Mask(), (torch.randn(2, 5, 4), pad), None
