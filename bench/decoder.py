#!/usr/bin/env python3
"""decoder -- a decoder with a cache of keys and values in its graph.

    decoder.py [--llama] [--layers N] [--width N] [--context N] [--tokens N]
               [--prompt N] FOLDER

Writes decoder.fx and decoder.safetensors, with seeded weights of GPT-2 small by
default, and decoder.tokens.npy: the tokens that PyTorch chooses one after the
other, beginning with token 0.  The inputs of the model are the last token and
its position, i64[1] both.  The result is the logits of the next token.

--llama writes llama.pt2 and its tokens: a Llama of transformers with 1.1 billion
parameters (22 layers, 2,048 channels, 32 heads over 4 of keys and values, 5,632
hidden channels, a vocabulary of 32,000), as torch.export makes it with its
StaticCache; its tokens are i64[1,1].  --prompt N: the graph reads N tokens at a
time, as for a prompt of which it is the beginning.
"""

import argparse
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "models"))
from export import export_text  # noqa: E402

HEAD = 64


class Attention(nn.Module):
    def __init__(self, width, context):
        super().__init__()
        self.heads = width // HEAD
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        cache = torch.zeros(1, self.heads, context, HEAD)
        self.register_buffer("keys", cache.clone())
        self.register_buffer("values", cache.clone())

    def forward(self, x, position, mask):
        q, k, v = self.qkv(x).view(1, 1, 3, self.heads, HEAD).permute(
            2, 0, 3, 1, 4).unbind(0)
        keys = self.keys.index_copy_(2, position, k)
        values = self.values.index_copy_(2, position, v)
        y = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        return self.proj(y.transpose(1, 2).reshape(1, self.heads * HEAD))


class Block(nn.Module):
    def __init__(self, width, context):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, context)
        self.ln_2 = nn.LayerNorm(width)
        self.fc = nn.Linear(width, 4 * width)
        self.gelu = nn.GELU(approximate="tanh")
        self.proj = nn.Linear(4 * width, width)

    def forward(self, x, position, mask):
        x = x + self.attn(self.ln_1(x), position, mask)
        return x + self.proj(self.gelu(self.fc(self.ln_2(x))))


class Decoder(nn.Module):
    def __init__(self, layers, width, context, vocabulary):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(
            Block(width, context) for _ in range(layers))
        self.ln = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.wte.weight
        self.register_buffer("places", torch.arange(context))

    def forward(self, token, position):
        x = self.wte(token) + self.wpe(position)
        mask = (self.places <= position).view(1, 1, 1, -1)
        for block in self.blocks:
            x = block(x, position, mask)
        return self.head(self.ln(x))


def make_llama(o):
    """The module, and the sample inputs."""
    from transformers import LlamaConfig, LlamaForCausalLM
    from transformers.integrations.executorch import (
        TorchExportableModuleWithStaticCache)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=o.vocabulary, hidden_size=o.width,
        intermediate_size=o.width * 11 // 4, num_hidden_layers=o.layers,
        num_attention_heads=o.width // HEAD,
        num_key_value_heads=o.width // HEAD // 8 or 1,
        max_position_embeddings=o.context)).eval()
    model.generation_config.cache_implementation = "static"
    return TorchExportableModuleWithStaticCache(
        model, batch_size=1, max_cache_len=o.context)


def export_llama(module, n):
    inputs = {"input_ids": torch.zeros(1, n, dtype=torch.long),
              "cache_position": torch.arange(n)}
    return torch.export.export(module, (), inputs)


class Tracer(torch.fx.Tracer):
    def is_leaf_module(self, m, qualified_name):
        return not isinstance(m, (Decoder, Block, Attention))


def decode(step, n):
    """The n tokens with the largest logits, one after the other."""
    token, chosen = 0, []
    for i in range(n):
        token = int(step(token, torch.tensor([i])).argmax(-1))
        chosen.append(token)
    return np.array(chosen, dtype=np.int64)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--llama", action="store_true")
    args.add_argument("--layers", type=int)
    args.add_argument("--width", type=int)
    args.add_argument("--context", type=int, default=512)
    args.add_argument("--vocabulary", type=int)
    args.add_argument("--tokens", type=int, default=16)
    args.add_argument("--prompt", type=int, default=1)
    args.add_argument("folder")
    o = args.parse_args()
    for name, value in zip(("layers", "width", "vocabulary"),
                           (22, 2048, 32000) if o.llama else
                           (12, 768, 50257)):
        setattr(o, name, getattr(o, name) or value)
    torch.manual_seed(0)
    model = make_llama(o) if o.llama else Decoder(
        o.layers, o.width, o.context, o.vocabulary).eval()
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() > 1:
                p.normal_(std=0.05)
    os.makedirs(o.folder, exist_ok=True)
    name = "llama" if o.llama else "decoder"
    path = os.path.join(o.folder, name + (str(o.prompt) * (o.prompt > 1)))
    with torch.no_grad():
        if o.llama:
            torch.export.save(export_llama(model, o.prompt), path + ".pt2")
            step = lambda t, at: model(  # noqa: E731
                input_ids=torch.tensor([[t]]), cache_position=at)[0, 0]
        else:
            gm = torch.fx.GraphModule(model, Tracer().trace(model))
            export_text(gm, path)
            step = lambda t, at: model(torch.tensor([t]), at)  # noqa: E731
        if o.prompt == 1:
            np.save(path + ".tokens.npy", decode(step, o.tokens))


if __name__ == "__main__":
    main()
