#!/usr/bin/env python3
"""train_llama -- train small_llama.pt2 on the documents, as token ids.

    spm_train --input=README.md,... --model_prefix=small_llama --vocab_size=320
    cat README.md ... | spm_encode --model=small_llama.model \
        --output_format=id --extra_options=bos | train_llama.py OUT.pt2

A Llama of transformers with 68,000 parameters, exported with its cache of keys and
values as doc/decoding.md does it.  Its words are English, but not its sense.
"""

import io
import sys
import zipfile

import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.integrations.executorch import (
    TorchExportableModuleWithStaticCache)

CONTEXT = 128


def train(model, ids, steps=2000, batch=16, length=64):
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3,
                                  weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, steps)
    for step in range(steps):
        at = torch.randint(len(ids) - length, (batch,))
        rows = torch.stack([ids[i:i + length] for i in at])
        loss = model(rows, labels=rows).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 0:
            print(step, round(loss.item(), 3), file=sys.stderr)


def export(model):
    model.generation_config.cache_implementation = "static"
    n = torch.export.Dim("n", max=CONTEXT)
    with torch.no_grad():
        return torch.export.export(
            TorchExportableModuleWithStaticCache(
                model, batch_size=1, max_cache_len=CONTEXT),
            (),
            {"input_ids": torch.ones(1, 2, dtype=torch.long),
             "cache_position": torch.arange(2)},
            dynamic_shapes={"input_ids": {1: n}, "cache_position": {0: n}})


def save(program, path):
    """Without the lines of Python, and with compressed members: a sixth of it."""
    for node in program.graph.nodes:
        for key in ("stack_trace", "nn_module_stack", "source_fn_stack"):
            node.meta.pop(key, None)
    program._example_inputs = None
    whole = io.BytesIO()
    torch.export.save(program, whole)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(
            path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for name in old.namelist():
            new.writestr(zipfile.ZipInfo(name), old.read(name),
                         zipfile.ZIP_DEFLATED, 9)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    ids = torch.tensor([int(i) for i in sys.stdin.read().split()])
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=320, hidden_size=48, intermediate_size=128,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=CONTEXT, tie_word_embeddings=True))
    train(model.train(), ids)
    save(export(model.eval()), sys.argv[1])


if __name__ == "__main__":
    main()
