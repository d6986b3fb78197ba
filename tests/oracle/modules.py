#!/usr/bin/env python3
"""modules -- every module type of torch.nn, saved and run.

    modules.py CFX [TYPE...]

CFX is the program.  Each type is made in configurations that together reach
every argument of its constructor, saved by the recipe of doc/models.md (PyTorch's
own text, eval) and by models/export.py (the superset, eval and training), and
run.  A result is right to 1e-5 (of random ones shape and type are compared), or
the program refuses the model: an argument that the text does not tell is named
with the line to write, a type that cfx lacks by its name.  Anything else is a
silent difference.  The last line has the counts; status 1 if there is one.
"""

import inspect
import os
import subprocess
import sys
import tempfile

import numpy as np
import safetensors.torch
import torch
from torch import fx, nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "models"))
import export  # noqa: E402

LIMIT = 1e-5


def t(*shape):
    return torch.randn(*shape)


def ints(high, *shape):
    return torch.randint(high, shape)


def positive(*shape):
    return torch.rand(*shape) + 0.1


class Config:
    """One module, what it is given, and how its result is used."""

    def __init__(self, *args, x=(), use=None, random=False, **kwargs):
        self.args, self.kwargs, self.x = args, kwargs, x
        self.use, self.random = use, random


C = Config
IMAGE, ROW, CUBE = (t(2, 4, 9, 10),), (t(2, 4, 11),), (t(2, 4, 6, 7, 8),)
SPACE = {1: ROW, 2: IMAGE, 3: CUBE}
PLAIN = (t(3, 4),)
CONFIGS = {}


def sized(name, make):
    for n in (1, 2, 3):
        CONFIGS[f"{name}{n}d"] = make(n, SPACE[n])


def pointwise(*names, **each):
    for name in names:
        CONFIGS[name] = [C(x=PLAIN), C(x=(t(7),)), C(x=IMAGE)]
    for name, configs in each.items():
        CONFIGS[name] = [C(x=PLAIN, **k) for k in configs]


def read_again(m, x):
    """The input is used after the module may have written to it."""
    y = x + 1
    return m(y) + y


INPLACE = [{}, {"inplace": True}, {"use": read_again},
           {"inplace": True, "use": read_again}]
pointwise("Sigmoid", "Tanh", "LogSigmoid", "Softsign", "Tanhshrink",
          ReLU=INPLACE, ReLU6=INPLACE, SELU=INPLACE, SiLU=INPLACE,
          Mish=INPLACE, Hardswish=INPLACE, Hardsigmoid=INPLACE,
          ELU=[{}, {"alpha": .5}, {"inplace": True}],
          CELU=[{}, {"alpha": .5}, {"inplace": True}],
          GELU=[{}, {"approximate": "tanh"}, {"approximate": "none"}],
          LeakyReLU=[{}, {"negative_slope": .3}, {"inplace": True}],
          Hardtanh=[{}, {"min_val": -.3, "max_val": .2}, {"inplace": True}],
          Hardshrink=[{}, {"lambd": .2}, {"lambd": 1.5}],
          Softshrink=[{}, {"lambd": .2}, {"lambd": 1.5}],
          Softplus=[{}, {"beta": 2}, {"threshold": .1}],
          GLU=[{}, {"dim": 1}, {"dim": -1}],
          Threshold=[{"threshold": .1, "value": 2},
                     {"threshold": 0, "value": -1, "inplace": True},
                     {"threshold": -.5, "value": .5}],
          Softmax=[{"dim": 0}, {"dim": 1}, {"dim": -1}],
          LogSoftmax=[{"dim": 0}, {"dim": 1}, {"dim": -1}],
          Softmin=[{"dim": 0}, {"dim": 1}, {"dim": -1}])
CONFIGS["RReLU"] = [C(x=PLAIN, random=True), C(.2, .3, x=PLAIN, random=True),
                    C(inplace=True, x=PLAIN, random=True)]
CONFIGS["PReLU"] = [C(x=PLAIN), C(4, x=PLAIN), C(init=.5, x=PLAIN)]
CONFIGS["Softmax2d"] = [C(x=IMAGE), C(x=(t(4, 3, 3),)), C(x=(t(1, 1, 2, 2),))]
for name in ("Dropout", "AlphaDropout", "FeatureAlphaDropout"):
    CONFIGS[name] = [C(x=IMAGE, random=True), C(.2, x=IMAGE, random=True),
                     C(inplace=True, x=IMAGE, random=True)]
sized("Dropout", lambda n, x: [C(x=x, random=True), C(.2, x=x, random=True),
                               C(inplace=True, x=x, random=True)])

# ------------------------------------------------------------ learned ones
CONFIGS["Linear"] = [C(4, 5, x=PLAIN), C(4, 5, bias=False, x=PLAIN),
                     C(10, 2, x=IMAGE)]
CONFIGS["Bilinear"] = [C(4, 3, 5, x=(t(2, 4), t(2, 3))),
                       C(4, 3, 5, bias=False, x=(t(2, 4), t(2, 3))),
                       C(2, 2, 1, x=(t(3, 2, 2), t(3, 2, 2)))]
sized("Conv", lambda n, x: [
    C(4, 6, 3, x=x), C(4, 6, 3, 2, 1, 2, 2, False, x=x),
    *[C(4, 4, 3, padding=1, padding_mode=mode, x=x)
      for mode in ("reflect", "replicate", "circular")],
    C(4, 4, 3, padding="same", x=x), C(4, 4, 3, padding="valid", x=x)])
sized("ConvTranspose", lambda n, x: [
    C(4, 6, 3, x=x), C(4, 6, 3, 2, 1, 1, 2, False, x=x),
    C(4, 6, 3, dilation=2, x=x), C(4, 4, 2, padding_mode="zeros", x=x)])
sized("BatchNorm", lambda n, x: [
    C(4, x=x), C(4, 1e-2, .3, x=x), C(4, affine=False, x=x),
    C(4, track_running_stats=False, x=x), C(4, momentum=None, x=x),
    C(4, bias=False, x=x)])
CONFIGS["SyncBatchNorm"] = [C(4, x=IMAGE), C(4, 1e-2, .3, x=IMAGE),
                            C(4, affine=False, x=IMAGE)]
sized("InstanceNorm", lambda n, x: [
    C(4, x=x), C(4, 1e-2, .3, affine=True, x=x),
    C(4, track_running_stats=True, x=x), C(4, affine=True, bias=False, x=x)])
CONFIGS["LayerNorm"] = [C(10, x=IMAGE), C((9, 10), 1e-2, x=IMAGE),
                        C(10, elementwise_affine=False, x=IMAGE),
                        C(10, bias=False, x=IMAGE)]
CONFIGS["RMSNorm"] = [C(10, x=IMAGE), C((9, 10), 1e-2, x=IMAGE),
                      C(10, elementwise_affine=False, x=IMAGE)]
CONFIGS["GroupNorm"] = [C(2, 4, x=IMAGE), C(2, 4, 1e-2, x=IMAGE),
                        C(2, 4, affine=False, x=IMAGE),
                        C(2, 4, bias=False, x=IMAGE)]
CONFIGS["LocalResponseNorm"] = [C(3, x=IMAGE), C(3, .1, .5, 2., x=IMAGE),
                                C(2, k=.5, x=IMAGE)]
CONFIGS["CrossMapLRN2d"] = [C(3, x=IMAGE)]
CONFIGS["Embedding"] = [
    C(9, 4, x=(ints(9, 2, 3),)), C(9, 4, padding_idx=2, x=(ints(9, 5),)),
    C(9, 4, max_norm=.5, norm_type=1., x=(ints(9, 5),)),
    C(9, 4, scale_grad_by_freq=True, sparse=True, x=(ints(9, 5),))]
BAGS = (ints(9, 6), torch.tensor([0, 2, 3]))
CONFIGS["EmbeddingBag"] = [
    C(9, 4, x=(ints(9, 2, 3),)), C(9, 4, x=BAGS),
    C(9, 4, mode="sum", include_last_offset=True,
      x=(ints(9, 6), torch.tensor([0, 2, 6]))),
    C(9, 4, mode="max", x=BAGS), C(9, 4, mode="sum", sparse=True, x=BAGS),
    C(9, 4, padding_idx=1, x=BAGS), C(9, 4, scale_grad_by_freq=True, x=BAGS),
    C(9, 4, max_norm=.5, norm_type=1., x=BAGS)]

# ----------------------------------------------------------------- pooling


def used(m, x):
    return m(x) + 1


def indices(m, x):
    y = m(x)
    return y[0], y[1]


sized("MaxPool", lambda n, x: [
    C(2, x=x), C(2, use=used, x=x), C(3, 2, 1, use=used, x=x),
    C(2, 1, dilation=2, use=used, x=x), C(3, 2, ceil_mode=True, use=used, x=x),
    C(2, return_indices=True, use=indices, x=x)])
sized("AvgPool", lambda n, x: [
    C(2, x=x), C(3, 2, x=x), C(3, 2, 1, x=x), C(3, 2, ceil_mode=True, x=x),
    C(3, 2, 1, count_include_pad=False, x=x), C(3, 1, 1, x=x), C(3, 1, x=x),
    C(3, 2, 1, True, False, x=x),
    *([C(2, divisor_override=3, x=x)] if n > 1 else [])])
sized("AdaptiveAvgPool", lambda n, x: [C(1, x=x), C(3, x=x), C(4, x=x)])
sized("AdaptiveMaxPool", lambda n, x: [
    C(1, use=used, x=x), C(3, x=x), C(4, True, use=indices, x=x)])
sized("LPPool", lambda n, x: [C(2, 2, x=(x[0].abs(),)),
                              C(1, 3, 2, x=(x[0].abs(),)),
                              C(3, 3, 2, True, x=(x[0].abs(),))])
sized("MaxUnpool", lambda n, x: [
    C(2, x=tuple(getattr(nn, f"MaxPool{n}d")(2, return_indices=True)(*x)))])
for n in (2, 3):
    CONFIGS[f"FractionalMaxPool{n}d"] = [
        C(2, output_size=3, random=True, x=SPACE[n]),
        C(2, output_ratio=.5, random=True, x=SPACE[n])]

# ------------------------------------------------------- sizes and margins
CONFIGS["Upsample"] = [
    C(scale_factor=2, x=IMAGE), C(size=(5, 7), x=IMAGE),
    *[C(scale_factor=2, mode=mode, align_corners=align, x=x)
      for mode, x in (("linear", ROW), ("bilinear", IMAGE),
                      ("bicubic", IMAGE), ("trilinear", CUBE))
      for align in (None, True, False)],
    C(scale_factor=1.7, x=IMAGE), C(scale_factor=.5, x=IMAGE),
    C(scale_factor=1.7, recompute_scale_factor=True, x=IMAGE),
    C(scale_factor=1.7, mode="bilinear", recompute_scale_factor=True, x=IMAGE),
    C(scale_factor=(2, 3), mode="nearest-exact", x=IMAGE)]
for name in ("UpsamplingNearest2d", "UpsamplingBilinear2d"):
    CONFIGS[name] = [C(scale_factor=2, x=IMAGE), C(size=(5, 7), x=IMAGE),
                     C(scale_factor=(3, 2), x=IMAGE)]
for name in ("ZeroPad", "ReflectionPad", "ReplicationPad", "CircularPad"):
    sized(name, lambda n, x: [C(1, x=x), C((1, 2) * n, x=x),
                              C((2, 0) * n, x=x)])
sized("ConstantPad", lambda n, x: [C(1, 2., x=x), C((1, 2) * n, -1., x=x),
                                   C((2, 0) * n, .5, x=x)])
CONFIGS["PixelShuffle"] = [C(2, x=IMAGE), C(1, x=IMAGE),
                           C(3, x=(t(1, 9, 2, 2),))]
CONFIGS["PixelUnshuffle"] = [C(2, x=(t(1, 2, 4, 6),)), C(1, x=IMAGE),
                             C(3, x=(t(1, 1, 3, 6),))]
CONFIGS["ChannelShuffle"] = [C(2, x=IMAGE), C(4, x=IMAGE), C(1, x=IMAGE)]
CONFIGS["Flatten"] = [C(x=IMAGE), C(0, x=IMAGE), C(2, 3, x=IMAGE)]
CONFIGS["Unflatten"] = [C(1, (2, 2), x=IMAGE), C(-1, (5, 2), x=IMAGE),
                        C(1, (4, 1), x=IMAGE)]
CONFIGS["Identity"] = [C(x=IMAGE), C(3, x=PLAIN), C(x=ROW)]
CONFIGS["Fold"] = [C((4, 5), 2, x=(t(2, 8, 12),)),
                   C((4, 4), 2, 2, 1, 2, x=(t(2, 8, 4),)),
                   C((4, 5), (2, 2), padding=0, x=(t(1, 4, 12),))]
CONFIGS["Unfold"] = [C(2, x=IMAGE), C((3, 2), 2, 1, 2, x=IMAGE),
                     C(2, stride=3, x=IMAGE)]

# --------------------------------------------------------------- sequences
STEPS = (t(5, 2, 4),)
for name, more in (("LSTM", {"proj_size": 3}), ("GRU", {}),
                   ("RNN", {"nonlinearity": "relu"})):
    CONFIGS[name] = [
        C(4, 6, x=STEPS), C(4, 6, 2, bias=False, batch_first=True, x=STEPS),
        C(4, 6, bidirectional=True, x=STEPS),
        C(4, 6, 2, dropout=.5, random=True, x=STEPS), C(4, 6, x=STEPS, **more)]
    CONFIGS[name + "Cell"] = [C(4, 6, x=PLAIN), C(4, 6, bias=False, x=PLAIN),
                              C(4, 6, x=(t(4),))]
CONFIGS["RNNCell"].append(C(4, 6, nonlinearity="relu", x=PLAIN))
QKV = (t(5, 2, 8), t(6, 2, 8), t(6, 2, 8))
CONFIGS["MultiheadAttention"] = [
    C(8, 2, x=QKV), C(8, 4, .1, x=QKV, random=True),
    C(8, 2, bias=False, add_bias_kv=True, x=QKV),
    C(8, 2, add_zero_attn=True, x=QKV),
    C(8, 2, kdim=6, vdim=5, x=(t(5, 2, 8), t(6, 2, 6), t(6, 2, 5))),
    C(8, 2, batch_first=True, x=(t(2, 5, 8), t(2, 6, 8), t(2, 6, 8)))]
LAYER = (t(5, 2, 8),)
CONFIGS["TransformerEncoderLayer"] = [
    C(8, 2, 16, x=LAYER, random=True), C(8, 2, 16, dropout=0., x=LAYER),
    C(8, 4, 16, 0., "gelu", 1e-2, x=LAYER),
    C(8, 4, 16, 0., nn.GELU(), x=LAYER),
    C(8, 2, 16, 0., batch_first=True, norm_first=True, bias=False, x=LAYER)]
CONFIGS["TransformerDecoderLayer"] = [C(8, 2, 16, 0., x=LAYER + LAYER)]
CONFIGS["Transformer"] = [C(8, 2, 1, 1, 16, 0., x=LAYER + LAYER)]


def encoder(**kwargs):
    layer = nn.TransformerEncoderLayer(8, 2, 16, 0., **kwargs)
    return C(layer, 2, x=LAYER, enable_nested_tensor=False)


CONFIGS["TransformerEncoder"] = [encoder(), encoder(activation="gelu"),
                                 encoder(norm_first=True)]
CONFIGS["TransformerEncoder"][2].kwargs["norm"] = nn.LayerNorm(8)
CONFIGS["TransformerDecoder"] = [
    C(nn.TransformerDecoderLayer(8, 2, 16, 0.), 1, x=LAYER + LAYER)]

# ----------------------------------------------------------- pairs and losses
TWO = (t(3, 4), t(3, 4))
CONFIGS["CosineSimilarity"] = [C(x=TWO), C(0, x=TWO), C(eps=2., x=TWO)]
CONFIGS["PairwiseDistance"] = [C(x=TWO), C(1., x=TWO), C(eps=.5, x=TWO),
                               C(keepdim=True, x=TWO)]
REDUCTIONS = ("mean", "sum", "none")


def losses(name, x, *more):
    CONFIGS[name] = [C(reduction=r, x=x) for r in REDUCTIONS]
    CONFIGS[name] += [C(x=x, **kwargs) for kwargs in more]


SIGNS = torch.tensor([1., -1., 1.])
CLASSES, WEIGHT = (t(3, 4), ints(4, 3)), positive(4)
losses("L1Loss", TWO)
losses("MSELoss", TWO)
losses("SmoothL1Loss", TWO, {"beta": .3}, {"beta": 0.})
losses("HuberLoss", TWO, {"delta": .3})
losses("SoftMarginLoss", TWO)
losses("BCELoss", (torch.rand(3, 4), torch.rand(3, 4)), {"weight": WEIGHT})
losses("BCEWithLogitsLoss", (t(3, 4), torch.rand(3, 4)), {"weight": WEIGHT},
       {"pos_weight": WEIGHT})
losses("KLDivLoss", (t(3, 4), torch.rand(3, 4)), {"log_target": True},
       {"reduction": "batchmean"})
losses("PoissonNLLLoss", (positive(3, 4), positive(3, 4)), {"log_input": False},
       {"full": True}, {"eps": .1, "log_input": False})
losses("GaussianNLLLoss", (t(3, 4), t(3, 4), positive(3, 4)), {"full": True},
       {"eps": .5})
losses("NLLLoss", CLASSES, {"weight": WEIGHT}, {"ignore_index": 1})
losses("NLLLoss2d", (t(2, 4, 3, 3), ints(4, 2, 3, 3)))
losses("CrossEntropyLoss", CLASSES, {"weight": WEIGHT}, {"ignore_index": 1},
       {"label_smoothing": .2})
losses("HingeEmbeddingLoss", (t(3), SIGNS), {"margin": .2})
losses("MarginRankingLoss", (t(3), t(3), SIGNS), {"margin": .2})
losses("CosineEmbeddingLoss", (*TWO, SIGNS), {"margin": .2})
losses("TripletMarginLoss", (*TWO, t(3, 4)), {"margin": .2}, {"p": 1.},
       {"eps": .1}, {"swap": True})
losses("TripletMarginWithDistanceLoss", (*TWO, t(3, 4)), {"margin": .2},
       {"swap": True})
losses("MultiMarginLoss", CLASSES, {"p": 2}, {"margin": .2},
       {"weight": WEIGHT})
losses("MultiLabelMarginLoss", (t(3, 4), ints(4, 3, 4)))
losses("MultiLabelSoftMarginLoss", (t(3, 4), ints(2, 3, 4).float()),
       {"weight": WEIGHT})
LOGP = t(5, 2, 4).log_softmax(-1)
losses("CTCLoss", (LOGP, ints(3, 2, 2) + 1, torch.tensor([5, 5]),
                   torch.tensor([2, 2])), {"blank": 1}, {"zero_infinity": True})
CONFIGS["AdaptiveLogSoftmaxWithLoss"] = [
    C(4, 8, [2, 4], x=(t(3, 4), ints(8, 3)))]

# Parametrized ones, by the name of what makes them.


def normed(kind, *args, dim=0, **kwargs):
    m = getattr(nn, kind)(*args, **kwargs)
    return nn.utils.parametrizations.weight_norm(m, dim=dim)


def spectral(*args):
    return nn.utils.parametrizations.spectral_norm(nn.Linear(*args))


MADE = {"weight_norm": normed, "spectral_norm": spectral}
CONFIGS["weight_norm"] = [
    C("Conv2d", 4, 6, 3, x=IMAGE), C("Linear", 4, 5, dim=None, x=PLAIN),
    C("Linear", 4, 1, x=PLAIN), C("Linear", 1, 4, dim=1, x=(t(3, 1),)),
    C("Conv1d", 4, 4, 3, dim=1, bias=False, x=ROW),
    C("ConvTranspose2d", 4, 6, 3, dim=1, x=IMAGE)]
CONFIGS["spectral_norm"] = [C(4, 5, x=PLAIN)]

# Types without a forward of their own, or that no longer exist once called.
NONE = {"Module", "Container", "Sequential", "ModuleList", "ModuleDict",
        "ParameterList", "ParameterDict", "RNNBase", "RNNCellBase",
        "DataParallel", "LinearCrossEntropyLoss",
        *[name for name in dir(nn) if name.startswith("Lazy")]}


def names_of_all():
    return sorted(name for name in dir(nn)
                  if inspect.isclass(getattr(nn, name)) and
                  issubclass(getattr(nn, name), nn.Module) and
                  name not in NONE)


# ------------------------------------------------------------------ running


class Whole(nn.Module):
    def __init__(self, m, config):
        super().__init__()
        self.m = m
        self.use = config.use
        self.n = len(config.x)

    def forward(self, a, b, c, d):
        if self.use:
            return self.use(self.m, a)
        return self.m(*(a, b, c, d)[:self.n])


def traced(m, config):
    gm = fx.symbolic_trace(Whole(m, config))
    for node in reversed(list(gm.graph.find_nodes(op="placeholder"))):
        if not node.users:
            gm.graph.erase_node(node)
    gm.recompile()
    return gm


def flat(y):
    if isinstance(y, torch.Tensor):
        return [y]
    return [z for x in y for z in flat(x)] if y is not None else []


def fits(have, want, random):
    if have.shape != want.shape or have.dtype != want.dtype:
        return False
    if random or not want.size:
        return True
    if want.dtype.kind != "f":
        return np.array_equal(have, want)
    scale = max(float(np.nanmax(np.abs(want))), 1e-30)
    gap = np.abs(have.astype(np.float64) - want)
    return (np.isnan(have) == np.isnan(want)).all() and \
        float(np.nanmax(gap)) <= LIMIT * max(scale, 1)


def run(cfx, where, config, want, random, more=()):
    """'right', 'refused' or a sentence."""
    inputs = []
    for name, x in zip("abcd", config.x):
        np.save(os.path.join(where, name + ".npy"), x.numpy())
        inputs += ["-i", f"{name}={where}/{name}.npy"]
    done = subprocess.run(
        [cfx, "run", "m.fx", *more, "-O", "out", "-t", "1", *inputs],
        cwd=where, capture_output=True, text=True, check=False)
    message = done.stderr.strip()
    if done.returncode:
        ok = "write it into" in message or "is unknown" in message or \
            "not supported" in message or "which the model lacks" in message
        return "refused" if ok and "\n" not in message \
            else f"fails: {message}"
    if message:
        return f"says: {message}"
    out = os.path.join(where, "out")
    files = sorted(os.listdir(out), key=lambda f: (len(f), f))
    have = [np.load(os.path.join(out, f)) for f in files]
    if len(have) != len(want) or not all(
            fits(h, w.detach().numpy(), random) for h, w in zip(have, want)):
        return "wrong"
    return "right"


def save_text(gm, where):
    with open(os.path.join(where, "m.fx"), "w", encoding="utf-8") as file:
        file.write(f"{gm!r}\n\n{gm.graph}\n")
    safetensors.torch.save_file(
        {k: v.detach().clone(memory_format=torch.contiguous_format)
         for k, v in [*gm.named_parameters(remove_duplicate=False),
                      *gm.named_buffers(remove_duplicate=False)]},
        os.path.join(where, "m.safetensors"))


def one(cfx, name, config, how):
    torch.manual_seed(0)
    make = MADE.get(name) or getattr(nn, name)
    m = make(*config.args, **config.kwargs)
    for p in m.parameters():
        if not isinstance(p, nn.UninitializedParameter):
            torch.nn.init.normal_(p, std=.5)
    for key, b in m.named_buffers():
        if key.startswith("running"):
            torch.nn.init.uniform_(b, .5, 1.5)
    training = how == "training"
    m.train(training)
    try:
        gm = traced(m, config).train(training)
    except Exception as e:  # pylint: disable=broad-except
        return f"cannot be traced: {type(e).__name__}"
    with tempfile.TemporaryDirectory() as where:
        try:
            if how == "text":
                save_text(gm, where)
            else:
                export.export(gm, os.path.join(where, "m"))
        except TypeError:
            return "refused"
        try:
            with torch.no_grad():
                want = flat(gm(*[x.clone() for x in config.x]))
        except Exception:  # pylint: disable=broad-except
            return "PyTorch fails"
        random = config.random and training
        return run(cfx, where, config, want, random)


# ------------------------------------- what the recipe's text cannot hold


class Tied(nn.Module):
    """Two layers share a weight; a parameter stands bare; a tensor is made in
    the forward, which torch.export lifts."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.scale = nn.Parameter(torch.randn(4))
        self.register_buffer("shift", torch.randn(4), persistent=False)
        self.pool = nn.AvgPool1d(3, 2, 1, True, False)

    def forward(self, a):
        table = torch.tensor([1., -2., .5, 3.])
        y = self.second(self.first(a).relu()) * self.scale + self.shift
        return self.pool((y + table).unsqueeze(0)), y.mean(dim=(0,))


def whole(cfx, how):
    torch.manual_seed(0)
    model, x = Tied().eval(), torch.randn(3, 4)
    gm = (fx.symbolic_trace(model) if how == "traced" else
          torch.export.export(model, (x,)).module())
    with tempfile.TemporaryDirectory() as where:
        export.export(gm, os.path.join(where, "m"))
        return run(cfx, where, C(x=(x,)), flat(model(x)), False)


class Forgetful(nn.Module):
    """A type of torch.nn that does not keep what it was made with."""

    def __init__(self, factor, shift=1):
        super().__init__()
        self.scale, self.shift = 2 * factor, shift


Forgetful.__module__ = "torch.nn.modules.forgetful"


def refuses_what_is_not_kept():
    try:
        return f"says {export.arguments(Forgetful(3))}"
    except TypeError as e:
        return ("right" if "Forgetful does not keep the argument 'factor'"
                in str(e) else f"says {e}")


def main():
    cfx = os.path.abspath(sys.argv[1])
    counts, bad, missing = {}, 0, 0
    for name in sys.argv[2:] or names_of_all() + sorted(MADE):
        if name not in CONFIGS:
            print(f"{name}: no configuration")
            missing += 1
            continue
        words = []
        for i, config in enumerate(CONFIGS[name]):
            for how in ("text", "eval", "training"):
                verdict = one(cfx, name, config, how)
                kind = verdict if verdict in ("right", "refused",
                                              "PyTorch fails") else \
                    verdict.split(":")[0]
                counts[how, kind] = counts.get((how, kind), 0) + 1
                if verdict not in ("right", "refused", "PyTorch fails"):
                    bad += 1
                    print(f"{name} {i} {how}: {verdict}")
                words.append(verdict[:2])
        if len(sys.argv) > 2:
            print(name, words)
    for how in ("traced", "exported"):
        verdict = whole(cfx, how)
        print(f"shared, bare and lifted tensors, {how}: {verdict}")
        bad += verdict != "right"
    verdict = refuses_what_is_not_kept()
    print(f"an argument that is not kept: {verdict}")
    bad += verdict != "right"
    for how in ("text", "eval", "training"):
        print(how + ":", ", ".join(f"{n} {kind}" for (h, kind), n
                                   in sorted(counts.items()) if h == how))
    print(f"{len(CONFIGS)} types, {missing} without configuration, "
          f"{bad} silent or unclear")
    return 1 if bad or missing else 0


if __name__ == "__main__":
    sys.exit(main())
