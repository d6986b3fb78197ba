#!/usr/bin/env python3
"""peers_models -- the models of peers.py, for cfx and as ONNX.

    peers_models.py [--batch N] [--int8] FOLDER [NAME...]

Writes NAME.fx with NAME.safetensors, NAME.onnx and NAME.npy, the input, with
seeded weights.  The models are torchvision's, BERT-base and GPT-2 at 128 tokens by
transformers' configurations, and two layers of an LSTM or GRU over 64 steps:
lstm_256 has 256 units, bilstm_256 in both directions, gru_256 is a GRU.  Without
names, it writes all but the last.

With --int8 it writes NAME.int8.onnx instead, which onnxruntime makes of NAME.onnx
(static, QDQ, weights by channel, activations in uint8), and NAME.calibration.npy,
the inputs that it is calibrated with.
"""

import argparse
import os
import re
import sys

import numpy as np
import torch
from torch import fx, nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "models"),
                os.path.join(HERE, "..", "tests", "oracle")]

import vision  # noqa: E402, F401: lets torchvision be imported
import torchvision  # noqa: E402
from export import export  # noqa: E402

IMAGES = ("resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_small",
          "squeezenet1_1", "densenet121", "vgg11", "efficientnet_b0",
          "vit_b_16")
TEXTS = ("bert_base", "gpt2")
RECURRENT = re.compile(r"(bi)?(lstm|gru)_(\d+)")
TOKENS = 128
STEPS = 64
CALIBRATION = 4  # batches


class First(nn.Module):
    """A recurrent layer whose only output is its first."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


class Logits(nn.Module):
    """A transformer whose only output is its first."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids):
        return self.model(input_ids, use_cache=False, return_dict=False)[0]


def transformer(name):
    import transformers
    if name == "bert_base":
        config = transformers.BertConfig()
        model = transformers.BertModel(config, add_pooling_layer=False)
    else:
        config = transformers.GPT2Config()
        model = transformers.GPT2LMHeadModel(config)
    return Logits(model)


def recurrent(name):
    both, kind, units = RECURRENT.fullmatch(name).groups()
    layer = nn.LSTM if kind == "lstm" else nn.GRU
    return First(layer(int(units), int(units), num_layers=2, batch_first=True,
                       bidirectional=bool(both)))


def spread_out(model, x):
    """Take the statistics of batch norms from the input, so that values neither
    vanish nor explode."""
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.momentum = 1.0
            m.train()
    with torch.no_grad():
        model(x)
    model.eval()


def input_of(name, batch):
    if name in TEXTS:
        return torch.randint(0, 30000, (batch, TOKENS))
    if name not in IMAGES:
        units = int(RECURRENT.fullmatch(name)[3])
        return torch.randn(batch, STEPS, units)
    return torch.randn(batch, 3, 224, 224)


def build(name, batch):
    torch.manual_seed(0)
    if name in TEXTS:
        model = transformer(name).eval()
        return model, input_of(name, batch)
    if name not in IMAGES:
        return recurrent(name).eval(), input_of(name, batch)
    model = getattr(torchvision.models, name)(weights=None).eval()
    x = input_of(name, batch)
    if name == "vit_b_16":  # whose head begins with zeros
        nn.init.normal_(model.heads.head.weight, std=0.02)
    spread_out(model, torch.randn(1, 3, 224, 224))
    return model, x


def graph_of(name, model, x):
    """The model as a GraphModule."""
    if name not in TEXTS and name != "vit_b_16":
        return fx.symbolic_trace(model)
    return torch.export.export(model, (x,)).module()


def write(folder, name, batch):
    model, x = build(name, batch)
    path = os.path.join(folder, name)
    with torch.no_grad():
        export(graph_of(name, model, x), path)
        np.save(path + ".npy", x.numpy())
        np.save(path + ".want.npy", model(x).numpy())
        torch.onnx.export(model, (x,), path + ".onnx", dynamo=True,
                          external_data=False, verbose=False)


def quantize(folder, name, batch):
    import onnxruntime
    import onnxruntime.quantization as ort
    from onnxruntime.quantization import shape_inference

    class Inputs(ort.CalibrationDataReader):
        def __init__(self, inputs):
            self.rest = iter(inputs)

        def get_next(self):
            x = next(self.rest, None)
            return None if x is None else {input_name: x}

    path = os.path.join(folder, name)
    torch.manual_seed(1)
    inputs = [input_of(name, batch).numpy() for _ in range(CALIBRATION)]
    np.save(path + ".calibration.npy", np.concatenate(inputs))
    shape_inference.quant_pre_process(path + ".onnx", path + ".folded.onnx",
                                      skip_symbolic_shape=True)
    session = onnxruntime.InferenceSession(path + ".folded.onnx")
    input_name = session.get_inputs()[0].name
    ort.quantize_static(path + ".folded.onnx", path + ".int8.onnx",
                        Inputs(inputs), quant_format=ort.QuantFormat.QDQ,
                        per_channel=True, activation_type=ort.QuantType.QUInt8,
                        weight_type=ort.QuantType.QInt8)
    os.remove(path + ".folded.onnx")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--batch", type=int, default=1)
    args.add_argument("--int8", action="store_true")
    args.add_argument("folder")
    args.add_argument("names", nargs="*")
    o = args.parse_args()
    os.makedirs(o.folder, exist_ok=True)
    for name in o.names or IMAGES + TEXTS:
        (quantize if o.int8 else write)(o.folder, name, o.batch)
        print(name, flush=True)


if __name__ == "__main__":
    main()
