#!/usr/bin/env python3
"""decoders -- decoders of transformers with their caches, token by token.

    decoders.py --write          golden/decoders.txt: what models/small_llama.pt2
                                 generates by PyTorch
    decoders.py BUILD [NAME...]  small models with random weights, exported as
                                 doc/decoding.md does it: BUILD/generate has to
                                 give PyTorch's tokens, of the model as it is,
                                 optimized, and with int8 weights most of them

Each line of the golden has a prompt of ids, and the ids that follow, the likeliest
ones.
"""

import os
import subprocess
import sys
import tempfile

import vision  # noqa: F401
import torch
import transformers
from transformers.integrations.executorch import (
    TorchExportableModuleWithStaticCache)

HERE = os.path.dirname(os.path.abspath(__file__))
TOKENS = 24
PROMPTS = [[1, 99, 27, 157], [1, 127, 129], [1], [1, 3, 97, 37, 21, 134]]

small = dict(vocab_size=512, hidden_size=64, intermediate_size=176,
             num_hidden_layers=2, num_attention_heads=4, bos_token_id=1,
             eos_token_id=2, pad_token_id=0, max_position_embeddings=256)
grouped = dict(small, num_key_value_heads=2)
FAMILIES = {
    "Llama": grouped, "Qwen2": grouped, "Mistral": grouped, "Phi": small,
    "Phi3": grouped, "GPTNeoX": small, "Olmo2": grouped, "SmolLM3": grouped,
    "Granite": grouped, "Cohere": grouped, "StableLm": grouped,
    "Mixtral": dict(grouped, num_local_experts=4),
    "Qwen3": dict(grouped, head_dim=16),
    "Gemma": dict(grouped, head_dim=16), "Gemma2": dict(grouped, head_dim=16),
    "Gemma3Text": dict(grouped, head_dim=16),
    "GPT2": dict(vocab_size=512, n_embd=64, n_layer=2, n_head=4,
                 n_positions=256, bos_token_id=1, eos_token_id=2),
}


def model_of(name):
    torch.manual_seed(0)
    config = getattr(transformers, name + "Config")(**FAMILIES[name])
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() > 1:
                p.normal_(std=0.1)
    return model


def export(model, path, context=64):
    model.generation_config.cache_implementation = "static"
    model.generation_config.use_cache = True
    n = torch.export.Dim("n", max=context)
    with torch.no_grad():
        program = torch.export.export(
            TorchExportableModuleWithStaticCache(
                model, batch_size=1, max_cache_len=context),
            (),
            {"input_ids": torch.ones(1, 2, dtype=torch.long),
             "cache_position": torch.arange(2)},
            dynamic_shapes={"input_ids": {1: n}, "cache_position": {0: n}})
    torch.export.save(program, path)
    return program.module()


def continued(module, ids, n=TOKENS):
    ids, at = list(ids), 0
    for _ in range(n):
        with torch.no_grad():
            y = module(input_ids=torch.tensor([ids[at:]]),
                       cache_position=torch.arange(at, len(ids)))
        at = len(ids)
        ids.append(int(y[0, -1].argmax()))
    return ids


def write():
    path = os.path.join(HERE, "..", "..", "models", "small_llama.pt2")
    module = torch.export.load(path).module()
    with open(os.path.join(HERE, "..", "golden", "decoders.txt"), "w") as f:
        for prompt in PROMPTS:
            print(*continued(module, prompt), file=f)


def generated(build, model, prompt):
    run = subprocess.run(
        [os.path.join(build, "generate"), "-n", str(TOKENS), model],
        input=" ".join(map(str, prompt)), text=True, capture_output=True)
    if run.returncode:
        return [run.stderr.strip()]
    return [int(i) for i in run.stdout.split()]


def same(build, path, prompts, wanted):
    """Of all tokens, those that are PyTorch's; in each text up to an other one."""
    n = 0
    for prompt, want in zip(prompts, wanted):
        have = generated(build, path, prompt)
        if isinstance(have[0], str):
            print(have[0])
        for a, b in zip(have[len(prompt):], want[len(prompt):]):
            if a != b:
                break
            n += 1
    return n


def check(build, name, folder):
    path = os.path.join(folder, name)
    module = export(model_of(name), path + ".pt2")
    wanted = [continued(module, p) for p in PROMPTS]
    cfx = os.path.join(build, "cfx")
    for command in (["optimize", path + ".pt2", "-o", path + ".fast.fx"],
                    ["quantize", path + ".pt2", "--weights-only", "int8", "-o",
                     path + ".int8.fx"],
                    ["optimize", path + ".int8.fx", "-o", path + ".narrow.fx"]):
        subprocess.run([cfx, *command, "-q"], check=True)
    counts = [same(build, path + end, PROMPTS, wanted)
              for end in (".pt2", ".fast.fx", ".narrow.fx")]
    every = TOKENS * len(PROMPTS)
    right = counts[0] == counts[1] == every and counts[2] > 0
    print("ok" if right else "not ok", name, *counts, "of", every, flush=True)
    return right


def main():
    if sys.argv[1:] == ["--write"]:
        return write()
    build, names = sys.argv[1], sys.argv[2:] or FAMILIES
    transformers.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as folder:
        wrong = [name for name in names if not check(build, name, folder)]
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main())
