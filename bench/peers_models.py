#!/usr/bin/env python3
"""peers_models -- the models of peers.py, for cfx, by torch.export and as ONNX.

    peers_models.py [--batch N] [--int8] FOLDER NAME...

Writes NAME.fx with NAME.safetensors, NAME.pt2, NAME.onnx, NAME.npy, the input, and
NAME.want.npy, the output, with seeded weights.  The models are torchvision's at 224
x 224 pixels, those of transformers' configurations in MADE at 128 tokens, those of
peers_networks.py, and two layers of an LSTM or GRU over 64 steps: lstm_256 has 256
units, bilstm_256 in both directions, gru_256 is a GRU.

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
sys.path[:0] = [HERE, os.path.join(HERE, "..", "models"),
                os.path.join(HERE, "..", "tests", "oracle")]

import vision  # noqa: E402, F401: lets torchvision be imported
import torchvision  # noqa: E402
from export import export  # noqa: E402
import peers_networks as networks  # noqa: E402

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


class Output(nn.Module):
    """A model whose only output is one of several."""

    def __init__(self, model, which=0, **arguments):
        super().__init__()
        self.model = model
        self.which = which
        self.arguments = arguments

    def forward(self, x):
        return self.model(x, **self.arguments)[self.which]


def of_config(config, cls, **settings):
    """A transformer by the names of its classes and its settings."""
    import transformers
    config = getattr(transformers, config)(**settings)
    config._attn_implementation = "sdpa"
    model = getattr(transformers, cls)(config)
    return Output(model, 0, return_dict=False)


def decoder(config, cls, **settings):
    model = of_config(config, cls, **settings)
    model.arguments["use_cache"] = False
    return model


def tokens(batch):
    return torch.randint(0, 30000, (batch, TOKENS))


def randn(*shape):
    return lambda batch: torch.randn(batch, *shape)


def dlrm_input(batch):
    return torch.cat((torch.randn(64 * batch, 13),
                      torch.randint(10000, (64 * batch, 26)).float()), 1)


# Models and their inputs that are not torchvision's classifiers.
MADE = {
    "bert_base": (lambda: of_config("BertConfig", "BertModel"), tokens),
    "gpt2": (lambda: decoder("GPT2Config", "GPT2LMHeadModel"), tokens),
    "distilbert": (lambda: of_config("DistilBertConfig", "DistilBertModel"),
                   tokens),
    "t5_encoder": (lambda: of_config("T5Config", "T5EncoderModel"), tokens),
    "clip_text": (lambda: of_config("CLIPTextConfig", "CLIPTextModel"),
                  lambda batch: torch.randint(0, 49000, (batch, 77))),
    "opt": (lambda: decoder("OPTConfig", "OPTForCausalLM", hidden_size=512,
                            num_hidden_layers=6, num_attention_heads=8,
                            ffn_dim=2048, word_embed_proj_dim=512), tokens),
    "llama": (lambda: decoder("LlamaConfig", "LlamaForCausalLM",
                              hidden_size=512, intermediate_size=1376,
                              num_hidden_layers=6, num_attention_heads=8,
                              num_key_value_heads=4), tokens),
    "whisper_tiny_encoder": (
        lambda: Output(of_config("WhisperConfig", "WhisperModel", d_model=384,
                                 encoder_layers=4, decoder_layers=4,
                                 encoder_attention_heads=6,
                                 decoder_attention_heads=6,
                                 encoder_ffn_dim=1536,
                                 decoder_ffn_dim=1536).model.encoder,
                       return_dict=False),
        randn(80, 3000)),
    "wav2vec2": (lambda: of_config("Wav2Vec2Config", "Wav2Vec2Model",
                                   num_hidden_layers=4), randn(16000)),
    "lraspp": (lambda: Output(
        torchvision.models.segmentation.lraspp_mobilenet_v3_large(
            weights=None, weights_backbone=None), "out"), randn(3, 224, 224)),
    "deeplabv3": (lambda: Output(
        torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(
            weights=None, weights_backbone=None), "out"), randn(3, 224, 224)),
    "dlrm": (networks.Dlrm, dlrm_input),
    "deepfm": (networks.DeepFm,
               lambda batch: torch.randint(5000, (64 * batch, 39))),
    "tcn": (networks.tcn, randn(128, 1000)),
    "mixer": (networks.Mixer, randn(3, 224, 224)),
    "edsr": (networks.edsr, randn(3, 128, 128)),
    "diffusion": (networks.Diffusion, randn(4, 32, 32)),
    "gnn": (networks.Gnn, lambda batch: torch.randn(2000, 64)),
    "series": (networks.Series, lambda batch: torch.randn(7 * batch, 512)),
    "conformer": (networks.conformer, randn(200, 256)),
    "detector": (networks.Detector, randn(3, 320, 320)),
}


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


def made(name):
    """What makes the model, and what makes its input of a batch."""
    if name in MADE:
        return MADE[name]
    if RECURRENT.fullmatch(name):
        units = int(RECURRENT.fullmatch(name)[3])
        return lambda: recurrent(name), randn(STEPS, units)
    return (lambda: getattr(torchvision.models, name)(weights=None),
            randn(3, 224, 224))


def input_of(name, batch):
    return made(name)[1](batch)


def build(name, batch):
    torch.manual_seed(0)
    model = made(name)[0]().eval()
    x = input_of(name, batch)
    if name == "vit_b_16":  # whose head begins with zeros
        nn.init.normal_(model.heads.head.weight, std=0.02)
    spread_out(model, torch.cat((x[:1], -x[:1])) if x.dim() == 4 else x)
    return model, x


def graph_of(model, x):
    """The model as a GraphModule, traced by torch.fx if it can."""
    try:
        graph = fx.symbolic_trace(model)
        graph(x)
        return graph
    except Exception:  # of any kind, as the code of models is
        return torch.export.export(model, (x,)).module()


def write(folder, name, batch):
    model, x = build(name, batch)
    path = os.path.join(folder, name)
    with torch.no_grad():
        export(graph_of(model, x), path)
        torch.export.save(torch.export.export(model, (x,)), path + ".pt2")
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
    args.add_argument("names", nargs="+")
    o = args.parse_args()
    os.makedirs(o.folder, exist_ok=True)
    for name in o.names:
        (quantize if o.int8 else write)(o.folder, name, o.batch)
        print(name, flush=True)


if __name__ == "__main__":
    main()
