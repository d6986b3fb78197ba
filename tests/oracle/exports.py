#!/usr/bin/env python3
"""exports -- does cfx run what torch.export makes of ordinary models?

    exports.py CFX [NAME...]            compare them
    exports.py --save DIR [NAME...]     only write the files

CFX is the program. Small models with random weights are exported with a
dynamic batch, as training IR and as Core ATen, and saved twice: by the recipe
of doc/models.md, and in the superset by models/export.py; models of torchvision
whose functions are wrapped are traced. Of each, `cfx run` must give PyTorch's results
to 1e-4 of the largest, also for a batch that was not traced; `cfx shapes`, with
a symbol for the batch, the type and shape of every tensor; and `cfx roofline` a
report, by node and by module. Where the recipe leaves out something that the graph takes (lifted
tensors, graphs within graphs), cfx must refuse it. A line each, then the counts.
"""

import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import safetensors.torch
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional as F

import vision  # noqa: F401: transformers imports torchvision
import whole

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                    os.pardir)
sys.path.insert(0, os.path.join(ROOT, "models"))
import export as recipe  # noqa: E402

MACHINE = os.path.join(ROOT, "shapeprop", "machines", "raspberry-pi-5.json")
LIMIT = 1e-4
TRACED, OTHER = 2, 3      # batches


# ------------------------------------------------------------------ models

class First(nn.Module):
    """The first of a model's results, or those that are named."""

    def __init__(self, model, names, keys=()):
        super().__init__()
        self.model, self.names, self.keys = model, names, keys

    def forward(self, *args):
        out = self.model(**dict(zip(self.names, args)), return_dict=True)
        return tuple(out[k] for k in self.keys) if self.keys else out[0]


def tokens(*shape, high=90):
    return torch.randint(1, high, shape)


def bert():
    from transformers import BertConfig, BertModel
    model = BertModel(BertConfig(
        vocab_size=99, hidden_size=32, num_hidden_layers=2,
        num_attention_heads=4, intermediate_size=37,
        max_position_embeddings=64))
    return (First(model, ("input_ids", "attention_mask"),
                  ("last_hidden_state", "pooler_output")),
            lambda n: (tokens(n, 7), (torch.arange(7) < 5).long()
                       .expand(n, 7).contiguous()))


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    model = GPT2LMHeadModel(GPT2Config(
        vocab_size=99, n_positions=64, n_embd=32, n_layer=2, n_head=4,
        use_cache=False, attn_implementation="eager"))
    return First(model, ("input_ids",)), lambda n: (tokens(n, 7),)


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=99, hidden_size=32, intermediate_size=37,
        num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=64, use_cache=False))
    return First(model, ("input_ids",)), lambda n: (tokens(n, 7),)


def t5():
    from transformers import T5Config, T5Model
    model = T5Model(T5Config(
        vocab_size=99, d_model=32, d_kv=8, d_ff=37, num_layers=2,
        num_heads=4, use_cache=False, decoder_start_token_id=0))
    return (First(model, ("input_ids", "decoder_input_ids")),
            lambda n: (tokens(n, 7), tokens(n, 5)))


def clip():
    from transformers import CLIPConfig, CLIPModel
    same = {"hidden_size": 32, "intermediate_size": 37,
            "num_hidden_layers": 2, "num_attention_heads": 4}
    model = CLIPModel(CLIPConfig(
        text_config={**same, "vocab_size": 99, "eos_token_id": 98,
                     "max_position_embeddings": 16},
        vision_config={**same, "image_size": 32, "patch_size": 8},
        projection_dim=24))
    return (First(model, ("input_ids", "pixel_values"),
                  ("logits_per_text", "text_embeds", "image_embeds")),
            lambda n: (tokens(n, 7), torch.randn(n, 3, 32, 32)))


def whisper_encoder():
    from transformers import WhisperConfig, WhisperModel
    model = WhisperModel(WhisperConfig(
        vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=1,
        encoder_attention_heads=4, decoder_attention_heads=4,
        encoder_ffn_dim=37, decoder_ffn_dim=37, num_mel_bins=16,
        max_source_positions=20, max_target_positions=20, pad_token_id=0,
        bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        suppress_tokens=None, begin_suppress_tokens=None))
    return (First(model.encoder, ("input_features",)),
            lambda n: (torch.randn(n, 16, 40),))


def vit():
    from transformers import ViTConfig, ViTModel
    model = ViTModel(ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=37, image_size=32, patch_size=8))
    return (First(model, ("pixel_values",)),
            lambda n: (torch.randn(n, 3, 32, 32),))


def swin():
    from transformers import SwinConfig, SwinModel
    model = SwinModel(SwinConfig(
        image_size=32, patch_size=2, embed_dim=16, depths=[2, 2],
        num_heads=[2, 4], window_size=4))
    return (First(model, ("pixel_values",)),
            lambda n: (torch.randn(n, 3, 32, 32),))


def pair_of_convolutions(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True),
        nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout),
        nn.ReLU(inplace=True))


class UNet(nn.Module):
    """Ronneberger et al. 2015: one half up-samples, the other transposes."""

    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([pair_of_convolutions(3, 8),
                                   pair_of_convolutions(8, 16)])
        self.pool = nn.MaxPool2d(2)
        self.middle = pair_of_convolutions(16, 32)
        self.up = nn.ModuleList([
            nn.ConvTranspose2d(32, 16, 2, stride=2),
            nn.Sequential(nn.Upsample(scale_factor=2, mode="bilinear",
                                      align_corners=True),
                          nn.Conv2d(16, 8, 1))])
        self.join = nn.ModuleList([pair_of_convolutions(32, 16),
                                   pair_of_convolutions(16, 8)])
        self.head = nn.Conv2d(8, 2, 1)

    def forward(self, x):
        kept = []
        for down in self.down:
            x = down(x)
            kept.append(x)
            x = self.pool(x)
        x = self.middle(x)
        for up, join in zip(self.up, self.join):
            x, beside = up(x), kept.pop()
            rows = beside.size(2) - x.size(2)
            columns = beside.size(3) - x.size(3)
            x = F.pad(x, [columns // 2, columns - columns // 2,
                          rows // 2, rows - rows // 2])
            x = join(torch.cat([beside, x], dim=1))
        return self.head(x)


def unet():
    return UNet(), lambda n: (torch.randn(n, 3, 18, 22),)


def dcgan():
    """The generator of Radford et al. 2016."""
    layers, sizes = [], (20, 32, 16, 8)
    for i, (cin, cout) in enumerate(zip(sizes, sizes[1:])):
        layers += [nn.ConvTranspose2d(cin, cout, 4, 2 if i else 1,
                                      1 if i else 0, bias=False),
                   nn.BatchNorm2d(cout), nn.ReLU(True)]
    layers += [nn.ConvTranspose2d(sizes[-1], 3, 4, 2, 1, bias=False),
               nn.Tanh()]
    return nn.Sequential(*layers), lambda n: (torch.randn(n, 20, 1, 1),)


def mlp(*sizes):
    layers = []
    for cin, cout in zip(sizes, sizes[1:]):
        layers += [nn.Linear(cin, cout), nn.ReLU()]
    return nn.Sequential(*layers)


class DLRM(nn.Module):
    """Naumov et al. 2019: bags of categories, and products of all pairs."""

    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList(
            nn.EmbeddingBag(rows, 8, mode="sum") for rows in (20, 30, 40))
        self.bottom, self.top = mlp(13, 16, 8), mlp(8 + 6, 16, 1)

    def forward(self, dense, *sparse):
        x = self.bottom(dense)
        all_of = [x] + [bag(s) for bag, s in zip(self.bags, sparse)]
        t = torch.stack(all_of, dim=1)
        z = torch.bmm(t, t.transpose(1, 2))
        i, j = torch.tril_indices(4, 4, offset=-1)
        r = torch.cat([x, z[:, i, j]], dim=1)
        return torch.sigmoid(self.top(r))


def dlrm():
    return DLRM(), lambda n: (torch.randn(n, 13), *(
        tokens(n, 4, high=rows) for rows in (20, 30, 40)))


# torchvision's, traced: functions that are wrapped stand in their graphs.

def swin_of_torchvision(**options):
    from torchvision.models.swin_transformer import SwinTransformer
    model = SwinTransformer(patch_size=[4, 4], embed_dim=16, depths=[2, 2],
                            num_heads=[2, 4], window_size=[4, 4],
                            num_classes=10, **options)
    return model, lambda n: (torch.randn(n, 3, 44, 36),)


def swin_v1():
    return swin_of_torchvision()


def swin_v2():
    from torchvision.models import swin_transformer as of
    return swin_of_torchvision(block=of.SwinTransformerBlockV2,
                               downsample_layer=of.PatchMergingV2)


def mvit():
    from torchvision.models.video.mvit import MSBlockConfig, MViT
    blocks = [MSBlockConfig(
        num_heads=1 + i, input_channels=16 * (1 + i), output_channels=32,
        kernel_q=[3, 3, 3], kernel_kv=[3, 3, 3],
        stride_q=[1, 1 + i, 1 + i], stride_kv=[1, 2, 2])
        for i in range(2)]
    model = MViT(spatial_size=(32, 32), temporal_size=4, block_setting=blocks,
                 residual_pool=False, residual_with_cls_embed=True,
                 rel_pos_embed=False, proj_after_attn=False, num_classes=10)
    return model, lambda n: (torch.randn(n, 3, 4, 32, 32),)


IRS = ("training", "core")
MODELS = {f.__name__: (f, IRS) for f in (
    bert, gpt2, llama, t5, clip, whisper_encoder, vit, swin, unet, dcgan,
    dlrm)}
MODELS.update({f.__name__: (f, ("traced",)) for f in (swin_v1, swin_v2, mvit)})


# ------------------------------------------------------------------ saving

def export(model, args, ir):
    if ir == "traced":
        return torch.fx.symbolic_trace(model)
    batch = Dim("batch", min=2, max=1024)
    dynamic = tuple({0: batch} for _ in args)
    if not isinstance(model, nn.Sequential) and \
            model.forward.__code__.co_flags & 4:    # def forward(*args)
        fixed = model.forward.__code__.co_argcount - 1
        dynamic = (*dynamic[:fixed], dynamic[fixed:])
    program = torch.export.export(model, args, dynamic_shapes=dynamic)
    if ir == "core":
        program = program.run_decompositions()
    return program.module()


def save_text(gm, path):
    """As doc/models.md has it."""
    with open(path + ".fx", "w", encoding="utf-8") as file:
        file.write(f"{gm!r}\n\n{gm.graph}\n")
    safetensors.torch.save_file(
        {k: v.detach().clone(memory_format=torch.contiguous_format)
         for k, v in [*gm.named_parameters(remove_duplicate=False),
                      *gm.named_buffers(remove_duplicate=False)]},
        path + ".safetensors")


SAVE = {"text": save_text, "superset": recipe.export}


def lost(gm):
    """What the graph takes and the recipe of doc/models.md does not save."""
    saved = {n for n, _ in [*gm.named_parameters(remove_duplicate=False),
                            *gm.named_buffers(remove_duplicate=False)]}
    return [n.target for n in gm.graph.nodes
            if n.op == "get_attr" and n.target not in saved]


# --------------------------------------------------------------- comparing

class Fails(Exception):
    """The program did not do as PyTorch does."""


def call(cfx, *words):
    done = subprocess.run([cfx, *words], capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr.strip() or "nothing").split("\n")[-1]
        raise Fails(f"{words[0]}: status {done.returncode}: {said[:300]}")
    return done.stdout


def names_of(gm):
    return [n.name for n in gm.graph.nodes if n.op == "placeholder"]


def check_run(cfx, gm, path, args):
    """The largest distance of a result from PyTorch's."""
    where, words = os.path.dirname(path), []
    for name, t in zip(names_of(gm), args):
        np.save(f"{where}/{name}.npy", t.numpy())
        words += ["-i", f"{name}={where}/{name}.npy"]
    with torch.no_grad():
        want = gm(*args)
    want = list(want) if isinstance(want, (tuple, list)) else [want]
    out = os.path.join(where, "out")
    call(cfx, "run", path + ".fx", *words, "-O", out)
    files = sorted(os.listdir(out))
    if len(files) != len(want):
        raise Fails(f"run: {len(files)} results, not {len(want)}")
    worst = max(whole.distance(np.load(os.path.join(out, file)), t.numpy())
                for file, t in zip(files, want))
    if not worst < LIMIT:
        raise Fails(f"run: off by {worst:.2g} with a batch of {len(args[0])}")
    return worst


class Shapes(torch.fx.Interpreter):
    """The type and shape of every tensor, as PyTorch computes it."""

    def __init__(self, gm):
        super().__init__(gm)
        self.seen = {}

    def run_node(self, n):
        value = super().run_node(n)
        if isinstance(value, torch.Tensor):
            self.seen[n.name] = (str(value.dtype)[6:], list(value.shape))
        return value


TYPES = {torch.float32: "f32", torch.int64: "i64"}


def input_words(gm, args):
    """Inputs whose first extent is N."""
    words = []
    for name, t in zip(names_of(gm), args):
        dims = ",".join(["N", *map(str, t.shape[1:])])
        words += ["-i", f"{name}={TYPES[t.dtype]}[{dims}]"]
    return words


def extent(shown, n):
    """An extent, which may be a formula, where N is n."""
    return shown if isinstance(shown, int) else \
        int(eval(shown, {"min": min, "max": max}, {"N": n}))


def check_shapes(cfx, gm, path, args):
    """How many nodes have PyTorch's types and shapes."""
    said = call(cfx, "shapes", path + ".fx", *input_words(gm, args),
                "--format", "json")
    rows = {row["name"]: row["value"] for row in json.loads(said)["nodes"]}
    shapes = Shapes(gm)
    with torch.no_grad():
        shapes.run(*args)
    for name, want in shapes.seen.items():
        row = rows.get(name) or {}
        have = (row.get("dtype"),
                [extent(d, len(args[0])) for d in row.get("shape", [])])
        if have != want:
            raise Fails(f"shapes: {name} is {have}, not {want}")
    return len(shapes.seen)


def check_roofline(cfx, gm, path, args):
    words = [path + ".fx", *input_words(gm, args), "--machine", MACHINE]
    for by in ([], ["--by", "module"]):
        if "MACs" not in call(cfx, "roofline", *words, *by):
            raise Fails("roofline: no MACs")


def check_all(cfx, gm, path, make):
    worst = max(check_run(cfx, gm, path, make(n)) for n in (TRACED, OTHER))
    nodes = check_shapes(cfx, gm, path, make(OTHER))
    check_roofline(cfx, gm, path, make(OTHER))
    return f"{nodes} tensors, off by {worst:.2g}"


def check_refused(cfx, gm, path, args):
    """What was not saved must not be guessed."""
    try:
        check_run(cfx, gm, path, args)
    except Fails as why:
        if "status 1" in str(why):
            return "refused, as it lacks " + ", ".join(lost(gm))
        raise
    raise Fails("runs, without " + ", ".join(lost(gm)))


def check(cfx, gm, make, form):
    with tempfile.TemporaryDirectory() as where:
        path = os.path.join(where, "m")
        SAVE[form](gm, path)
        if form == "text" and lost(gm):
            return check_refused(cfx, gm, path, make(TRACED))
        return check_all(cfx, gm, path, make)


def exported(name, ir):
    torch.manual_seed(1)
    model, make = MODELS[name][0]()
    return export(model.eval(), make(TRACED), ir), make


def write(where, names):
    os.makedirs(where, exist_ok=True)
    for name in names:
        for ir in MODELS[name][1]:
            recipe.export(exported(name, ir)[0],
                          os.path.join(where, f"{name}.{ir}"))


def compare(cfx, name, ir):
    """How many of both forms pass."""
    gm, make = exported(name, ir)
    passed = 0
    for form in SAVE:
        try:
            print(f"ok {name} {ir} {form}: {check(cfx, gm, make, form)}",
                  flush=True)
            passed += 1
        except Fails as why:
            print(f"NOT OK {name} {ir} {form}: {why}", flush=True)
    return passed


def main():
    words = sys.argv[1:]
    torch.set_num_threads(2)
    warnings.simplefilter("ignore")
    if words[:1] == ["--save"] and len(words) > 1:
        write(words[1], words[2:] or MODELS)
        return
    if not words or words[0].startswith("-"):
        sys.exit(__doc__)
    cfx, names = os.path.abspath(words[0]), words[1:] or list(MODELS)
    both = [(name, ir) for name in names for ir in MODELS[name][1]]
    passed = sum(compare(cfx, name, ir) for name, ir in both)
    failed = len(both) * len(SAVE) - passed
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
