#!/usr/bin/env python3
"""onnx_models.py CFX [DIR] -- models that PyTorch exports, against ONNX Runtime.

Each of a few models is exported by torch.onnx.export, by its old exporter and its
new one, for several operator sets, with a symbolic batch where that is possible.
`CFX run` and ONNX Runtime run it on the same numbers; their results must agree
within 1e-4. DIR keeps the models.
"""
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import onnxruntime
import torch

import vision  # noqa: F401: transformers imports torchvision

warnings.filterwarnings("ignore")
torch.set_num_threads(1)


class Cnn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.features = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8),
            torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(8, 16, 3, stride=2), torch.nn.SiLU(),
            torch.nn.AvgPool2d(2, ceil_mode=True))
        self.head = torch.nn.Linear(16 * 2 * 2, 10)

    def forward(self, x):
        x = self.features(x)
        x = torch.nn.functional.interpolate(x, scale_factor=2.0)[:, :, ::2, 1::2]
        return torch.softmax(self.head(x.flatten(1)), -1)


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(20, 8)
        self.lstm = torch.nn.LSTM(8, 6, 2, batch_first=True, bidirectional=True)
        self.gru = torch.nn.GRU(12, 5, batch_first=True)

    def forward(self, ids):
        x, _ = self.lstm(self.embed(ids))
        x, h = self.gru(x)
        return x, h


def bert():
    from transformers import BertConfig, BertModel
    config = BertConfig(vocab_size=50, hidden_size=32, num_hidden_layers=2,
                        num_attention_heads=4, intermediate_size=64,
                        max_position_embeddings=64)

    class Bert(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bert = BertModel(config)

        def forward(self, input_ids, attention_mask):
            return self.bert(input_ids, attention_mask).last_hidden_state

    return Bert()


def mobilenet():
    from torchvision.models import mobilenet_v2
    return mobilenet_v2(weights=None)


def models():
    ids = torch.randint(0, 20, (2, 7))
    mask = torch.ones(2, 7, dtype=torch.int64)
    mask[1, 5:] = 0
    yield "cnn", Cnn, (torch.randn(2, 3, 18, 18),), {"x": {0: "batch"}}
    yield "lstm", Recurrent, (ids,), {"ids": {1: "time"}}
    yield "bert", bert, (ids, mask), {"input_ids": {0: "batch", 1: "time"},
                                      "attention_mask": {0: "batch", 1: "time"}}
    yield ("mobilenet", mobilenet, (torch.randn(1, 3, 64, 64),),
           {"x": {0: "batch"}})


def export(model, args, axes, path, opset, dynamo):
    names = list(axes)
    if dynamo:
        shapes = tuple({k: torch.export.Dim.DYNAMIC for k in axes[n]}
                       for n in names)
        torch.onnx.export(model, args, path, input_names=names,
                          opset_version=opset, dynamo=True, verbose=False,
                          dynamic_shapes=shapes, external_data=False)
    else:
        torch.onnx.export(model, args, path, input_names=names,
                          opset_version=opset, dynamo=False,
                          dynamic_axes=axes)


def run(cfx, path, inputs, where):
    args = [cfx, "run", path, "-O", where]
    for name, value in inputs.items():
        file = os.path.join(where, f"in_{name}.npy")
        np.save(file, value)
        args += ["-i", f"{name}={file}"]
    done = subprocess.run(args, capture_output=True, text=True)
    if done.returncode:
        return done.stderr.strip()
    return None


def results(where, count):
    files = sorted(f for f in os.listdir(where) if f.startswith("out"))
    return [np.load(os.path.join(where, f)) for f in files][:count]


def check(cfx, path, args, names):
    session = onnxruntime.InferenceSession(path)
    inputs = {i.name: a.numpy() for i, a in zip(session.get_inputs(), args)}
    want = session.run(None, inputs)
    with tempfile.TemporaryDirectory() as where:
        failed = run(cfx, path, inputs, where)
        if failed:
            return failed
        got = results(where, len(want))
    if len(got) != len(want):
        return f"{len(got)} results, not {len(want)}"
    worst = max(float(np.abs(a - b).max()) if a.shape == b.shape else np.inf
                for a, b in zip(want, got))
    return None if worst <= 1e-4 else f"differs by {worst}"


def main():
    cfx = sys.argv[1]
    where = sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()
    os.makedirs(where, exist_ok=True)
    bad = 0
    for name, make, args, axes in models():
        torch.manual_seed(0)
        model = make().eval()
        for opset, dynamo in ((11, False), (13, False), (17, False),
                              (18, True), (20, True)):
            path = os.path.join(where, f"{name}-{opset}.onnx")
            try:
                with torch.no_grad():
                    export(model, args, axes, path, opset, dynamo)
            except Exception as e:
                print(f"{name} {opset}: not exported: "
                      f"{type(e).__name__} {str(e).splitlines()[:1]}")
                continue
            failed = check(cfx, path, args, list(axes))
            bad += failed is not None
            print(f"{name} opset {opset}"
                  f"{' dynamo' if dynamo else ''}: {failed or 'ok'}")
    sys.exit(bad != 0)


if __name__ == "__main__":
    main()
