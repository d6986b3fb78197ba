#!/usr/bin/env python3
"""onnx_write_models.py CFX FOLDER [NAME...] -- what share of real models cfx
writes as ONNX, and rightly.

Each model of transformers_models.py and of torchvision is exported by
torch.export, with the settings that its family has by default, once with the
extents of its inputs and once (NAME.dynamic) with their axes marked
Dim.AUTO. FOLDER keeps these files, so that a second run only converts. The
model that `cfx convert m.pt2 m.onnx` writes is checked by onnx.checker, run by
ONNX Runtime and compared with PyTorch. With NAMEs, only the models that match
one of these patterns. It prints a line for each model and the counts.
"""
import fnmatch
import os
import subprocess
import sys
import warnings

import numpy as np
import onnx
import onnxruntime
import torch

import transformers_models
import vision  # noqa: F401: torchvision is imported without its library

torch.set_num_threads(1)
warnings.simplefilter("ignore")

VISION = {"resnet18": 64, "resnext50_32x4d": 64, "wide_resnet50_2": 64,
          "alexnet": 64, "vgg11_bn": 32, "squeezenet1_1": 64,
          "densenet121": 64, "inception_v3": 96, "googlenet": 64,
          "shufflenet_v2_x1_0": 64, "mobilenet_v2": 64,
          "mobilenet_v3_small": 64, "mnasnet1_0": 64, "efficientnet_b0": 64,
          "efficientnet_v2_s": 64, "regnet_y_400mf": 64, "convnext_tiny": 64,
          "vit_b_32": 224, "swin_t": 64, "swin_v2_t": 64, "maxvit_t": 224}
SEGMENTATION = ("fcn_resnet50", "deeplabv3_mobilenet_v3_large",
                "lraspp_mobilenet_v3_large")


def with_tensors(model, names):
    """The model with parameters of these names and a tuple of tensors as its
    result."""
    class Tensors(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

    scope = {"tensors": tensors}
    exec(f"def forward(self, {', '.join(names)}):\n"
         f"    return tuple(tensors(self.model("
         f"{', '.join(f'{n}={n}' for n in names)})))", scope)
    Tensors.forward = scope["forward"]
    return Tensors()


def tensors(v):
    if isinstance(v, torch.Tensor):
        return [v]
    if hasattr(v, "values") and callable(v.values):
        v = v.values()
    if isinstance(v, (tuple, list)) or hasattr(v, "__iter__"):
        return [t for item in v if item is not None for t in tensors(item)]
    return []


def torchvision_model(name, size):
    import torchvision
    models = torchvision.models
    if name in SEGMENTATION:
        m = getattr(models.segmentation, name)(weights=None,
                                               weights_backbone=None)
    else:
        more = {"init_weights": False} if name in ("googlenet",
                                                   "inception_v3") else {}
        m = getattr(models, name)(weights=None, **more)
    first = "input" if name in SEGMENTATION else "x"
    if name == "maxvit_t" or name not in SEGMENTATION:
        import inspect
        first = next(iter(inspect.signature(m.forward).parameters))
    return m.eval(), {first: torch.rand(2, 3, size, size)}


def models():
    for name, make in transformers_models.MODELS.items():
        yield name, make
    for name, size in VISION.items():
        yield name, lambda name=name, size=size: torchvision_model(name, size)
    for name in SEGMENTATION:
        yield name, lambda name=name: torchvision_model(name, 64)


def axes_of(x):
    """Axes that are dynamic: the batch, and of text and sound the length."""
    dynamic = {0: torch.export.Dim.AUTO}
    if x.dim() == 2:
        dynamic[1] = torch.export.Dim.AUTO
    return dynamic


def export(folder, name, make):
    """NAME.pt, the inputs and results, and NAME.pt2 and NAME.dynamic.pt2."""
    if os.path.exists(os.path.join(folder, name + ".pt")):
        return
    torch.manual_seed(1)
    m, inputs = make()
    m = with_tensors(m, list(inputs)).eval()
    for b, v in m.named_buffers():
        if "running_mean" in b:
            v.data.uniform_(-0.1, 0.1)
    with torch.no_grad():
        want = m(**inputs)
    for kind in ("", ".dynamic"):
        marks = {k: axes_of(v) for k, v in inputs.items()} if kind else None
        path = os.path.join(folder, name + kind + ".pt2")
        try:
            with torch.no_grad():
                torch.export.save(torch.export.export(
                    m, (), inputs, dynamic_shapes=marks), path)
        except Exception as e:
            with open(path + ".failed", "w") as f:
                f.write(f"{type(e).__name__}: {e}")
    torch.save((inputs, want), os.path.join(folder, name + ".pt"))


def check(cfx, folder, name, base):
    inputs, want = torch.load(os.path.join(folder, base + ".pt"))
    path = os.path.join(folder, name + ".onnx")
    done = subprocess.run([cfx, "convert", path[:-5] + ".pt2", path],
                          capture_output=True, text=True)
    if done.returncode:
        return "refused: " + done.stderr.strip()[:600]
    try:
        onnx.checker.check_model(path, full_check=True)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        s = onnxruntime.InferenceSession(path, options)
        feeds = {v.name: inputs[v.name].numpy()
                 for v in s.get_inputs()}
        got = s.run(None, feeds)
    except Exception as e:
        return f"invalid: {type(e).__name__}: {str(e)[:500]}"
    finally:
        os.remove(path)
    if len(got) != len(want):
        return f"wrong: {len(got)} results, not {len(want)}"
    for i, (a, b) in enumerate(zip(got, want)):
        b = b.detach().numpy()
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"wrong: result {i} is {a.dtype}{list(a.shape)}, " \
                   f"not {b.dtype}{list(b.shape)}"
        scale = np.abs(b).max(initial=0) + 1e-6
        worst = np.abs(a.astype(float) - b).max(initial=0) / scale
        if not worst < 1e-4:
            return f"wrong: result {i} differs by {worst:.2g}"
    return "right"


def main():
    cfx, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    counts = {}
    for name, make in models():
        if sys.argv[3:] and not any(fnmatch.fnmatch(name, p)
                                    for p in sys.argv[3:]):
            continue
        try:
            export(folder, name, make)
        except Exception as e:
            print(f"{name}: not made: {type(e).__name__}: {str(e)[:200]}")
            continue
        if cfx.endswith("/true"):
            continue
        for kind in ("", ".dynamic"):
            if not os.path.exists(os.path.join(folder, name + kind + ".pt2")):
                continue
            how = check(cfx, folder, name + kind, name)
            print(f"{name}{kind}: {how}", flush=True)
            word = how.split(":")[0]
            counts[word] = counts.get(word, 0) + 1
    print(", ".join(f"{n} {word}" for word, n in sorted(counts.items())))
    return set(counts) - {"right"} != set()


if __name__ == "__main__":
    sys.exit(main())
