"""survey -- torch.compile(backend="cfx") over torchvision's and transformers' models.

    python tests/oracle/survey.py [-o FILE.csv] [-t SECONDS] [NAME...]

The models have random weights, and those of transformers are small: the ones of
transformers_models.py, and every other family that accepts the settings there. Names
are patterns, such as `torchvision/*` or `transformers/bert*`. A line of the CSV is a
model: `ok` if its results are PyTorch's to 1e-4, the nodes, those that cfx computes,
the error relative to the greatest value, seconds to the first result, milliseconds of
a call in PyTorch and in cfx, and the reason for what is not in cfx. Each model runs in
a process of its own. The last line counts.

PYTHONPATH has the package cfx.
"""

import argparse
import csv
import fnmatch
import os
import pickle
import signal
import sys
import time
import traceback
import warnings

import torch
from torch.utils import _pytree as pytree

import vision  # noqa: F401 (transformers imports torchvision)
import transformers_models

from cfx import torch_backend
from cfx.aten import size_of

COLUMNS = ("model", "status", "nodes", "in_cfx", "error", "first_s", "eager_ms",
           "cfx_ms", "reason")
LARGEST = 30e6      # parameters of a model of transformers
FULL = ("vit", "swin", "maxvit")    # torchvision's that need 224 x 224


# ------------------------------------------------------------------- models


def _image(name):
    if name.startswith("inception"):
        return 96
    return 224 if name.startswith(FULL) else 64


def _torchvision(name, module):
    import torchvision

    def make():
        more = {"weights_backbone": None} if module in (
            "detection", "segmentation") else {}
        m = torchvision.models.get_model(name, weights=None, **more).eval()
        if module == "detection":
            return m, ([torch.rand(3, 96, 128)],), {}
        if module == "optical_flow":
            return m, (torch.rand(1, 3, 128, 128),) * 2, {}
        if module == "video":
            size = 224 if name.startswith("mvit") else 112
            if name == "s3d":
                size = 224
            return m, (torch.rand(1, 3, 16, size, size),), {}
        size = _image(name)
        return m, (torch.randn(2, 3, size, size),), {}
    return make


def _torchvision_models():
    import torchvision

    for module in ("", "segmentation", "detection", "video", "optical_flow"):
        where = getattr(torchvision.models, module) if module \
            else torchvision.models
        for name in torchvision.models.list_models(module=where):
            yield f"torchvision/{name}", _torchvision(name, module)


def _listed(make):
    def make_listed():
        model, inputs = make()
        return model, (), inputs
    return make_listed


INPUTS = (transformers_models.ids, transformers_models.pair,
          transformers_models.pixels, transformers_models.pixels64,
          transformers_models.both, transformers_models.wave,
          transformers_models.mel)
# The names of the settings differ between families.
SETTINGS = {**transformers_models.DECODER, "pad_token_id": 0, "d_model": 32,
            "encoder_layers": 2, "decoder_layers": 2, "num_layers": 2,
            "encoder_attention_heads": 4, "decoder_attention_heads": 4,
            "num_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
            "d_kv": 8, "d_ff": 64, "n_embd": 32, "n_layer": 2, "n_head": 4,
            "n_positions": 64, "head_dim": 8, "image_size": 32, "patch_size": 8,
            "moe_intermediate_size": 16, "num_experts": 4, "num_local_experts": 4,
            "n_routed_experts": 4, "num_experts_per_tok": 2}


class NotTried(Exception):
    """The family needs settings or inputs of its own."""


def _works(model, inputs):
    try:
        model(**inputs())
        return True
    except Exception:       # whatever the code of a model raises
        return False


def _family(cls, config_cls):
    import transformers

    def make():
        try:
            config = getattr(transformers, config_cls)()
            for key, value in SETTINGS.items():
                # A list has an extent for each layer.
                if isinstance(getattr(config, key, None), (int, type(None))):
                    setattr(config, key, value)
            config = type(config)(**{k: v for k, v in SETTINGS.items()
                                     if getattr(config, k, None) == v})
            with torch.device("meta"):
                empty = getattr(transformers, cls)(config)
        except Exception as error:
            raise NotTried(f"{type(error).__name__}: {error}") from error
        n = sum(p.numel() for p in empty.parameters())
        if n > LARGEST:
            raise NotTried(f"{n} parameters")
        torch.manual_seed(0)
        model = getattr(transformers, cls)(config).eval()
        for inputs in INPUTS:
            if _works(model, inputs):
                return model, (), inputs()
        raise NotTried("none of the inputs is accepted")
    return make


def _transformers_models():
    from transformers.models.auto.configuration_auto import \
        CONFIG_MAPPING_NAMES
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    for name, make in transformers_models.MODELS.items():
        yield f"transformers/{name}", _listed(make)
    seen = {n.removesuffix("model") for n in transformers_models.MODELS}
    for family, cls in MODEL_MAPPING_NAMES.items():
        cls = cls[0] if isinstance(cls, tuple) else cls
        if cls.lower().removesuffix("model") not in seen:
            seen.add(cls.lower().removesuffix("model"))
            yield (f"transformers/{cls.lower().removesuffix('model')}",
                   _family(cls, CONFIG_MAPPING_NAMES[family]))


# ---------------------------------------------------------------------- a run


def _count(nodes):
    """Have the backend say how many nodes of each graph cfx computes."""
    report, fall_back = torch_backend._report, torch_backend._fall_back

    def counted(graph, options):
        nodes.append((graph.size, graph.size - len(graph.in_torch)))
        report(graph, options)

    def left(gm, *more):
        nodes.append((size_of(gm), 0))
        return fall_back(gm, *more)
    torch_backend._report, torch_backend._fall_back = counted, left


def _error(have, want):
    """The greatest difference, relative to the greatest value of each tensor."""
    a, b = ([t for t in pytree.tree_leaves(v) if isinstance(t, torch.Tensor)]
            for v in (have, want))
    if [(t.shape, t.dtype, t.stride()) for t in a] != [
            (t.shape, t.dtype, t.stride()) for t in b]:
        return float("inf")
    out = 0.
    for x, y in zip(a, b):
        if x.numel():
            x, y = x.to(torch.complex128), y.to(torch.complex128)
            same = (x == y) | (x.isnan() & y.isnan())
            scale = y[y.isfinite()].abs().max() if y.isfinite().any() else 1.
            d = torch.where(same, 0, (x - y).abs())
            out = max(out, float(d.max() / max(scale, 1e-30)))
    return out


def _milliseconds(f):
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        f()
        best = min(best, time.perf_counter() - start)
    return f"{1e3 * best:.3f}"


def _fill(model):
    """Random numbers for weights that start as zeros and would hide the rest."""
    with torch.no_grad():
        for p in model.parameters():
            if p.is_floating_point() and p.dim() > 1 and not p.any():
                p.normal_(0, 0.02)


def _survey(make):
    row = {}
    torch.manual_seed(0)
    model, args, kwargs = make()
    _fill(model)
    nodes = []
    _count(nodes)
    fast = torch.compile(model, backend="cfx")
    with torch.no_grad(), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", torch_backend.FallbackWarning)
        want = model(*args, **kwargs)
        start = time.perf_counter()
        have = fast(*args, **kwargs)
        row["first_s"] = f"{time.perf_counter() - start:.2f}"
        row["eager_ms"] = _milliseconds(lambda: model(*args, **kwargs))
        row["cfx_ms"] = _milliseconds(lambda: fast(*args, **kwargs))
    error = _error(have, want)
    reasons = [str(w.message) for w in said
               if issubclass(w.category, torch_backend.FallbackWarning)]
    return {**row, "status": "ok" if error <= 1e-4 else "differs",
            "nodes": sum(n for n, _ in nodes),
            "in_cfx": sum(n for _, n in nodes), "error": f"{error:.1e}",
            "reason": " | ".join(dict.fromkeys(reasons))}


def _try(make):
    try:
        return _survey(make)
    except NotTried as why:
        return {"status": "not tried", "reason": str(why)}
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return {"status": "fails", "reason": f"{type(error).__name__}: {error} "
                f"({os.path.basename(where.filename)}:{where.lineno})"}


def _in_process(make, seconds):
    """What _try gives, in another process, which may end in any way."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        signal.alarm(seconds)
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        with os.fdopen(write, "wb") as to:
            pickle.dump(_try(make), to)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as source:
        data = source.read()
    _, status = os.waitpid(child, 0)
    if data and not status:
        return pickle.loads(data)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        return {"status": "fails", "reason": f"not done after {seconds} s"}
    return {"status": "fails", "reason": f"ended with status {status}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", metavar="FILE", default="survey.csv")
    parser.add_argument("-t", metavar="SECONDS", type=int, default=300)
    parser.add_argument("name", nargs="*", default=["*"])
    options = parser.parse_args()
    rows = []
    with open(options.o, "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, COLUMNS, restval="")
        out.writeheader()
        for name, make in (*_torchvision_models(), *_transformers_models()):
            if not any(fnmatch.fnmatch(name, p) for p in options.name):
                continue
            row = _in_process(make, options.t)
            row["reason"] = " ".join(row["reason"].split())[:400]
            out.writerow({"model": name, **row})
            file.flush()
            if row["status"] != "not tried":
                rows.append(row)
    ok = [r for r in rows if r["status"] == "ok"]
    nodes, ours = (sum(r[k] for r in ok) for k in ("nodes", "in_cfx"))
    print(f"{len(ok)} of {len(rows)} models as in PyTorch, {ours} of {nodes} "
          "of their nodes in cfx")
    return len(ok) != len(rows)


if __name__ == "__main__":
    sys.exit(main())
