#!/usr/bin/env python3
"""families -- transformer families by their default settings, through every command.

    families.py export FOLDER [NAME...]
    families.py check CFX FOLDER [NAME...]

`export` makes a model of each family that transformers' AutoModel knows (or of
those named): its default configuration with fewer layers, channels, experts and
words, random weights from a seed, in eval mode, saved by torch.export for its
inputs, and once more with dynamic batch and length. FOLDER/NAME.pt2,
FOLDER/NAME.dynamic.pt2 and the inputs and PyTorch's results, in safetensors,
also for another batch and length. A family that torch.export cannot take is
listed with its reason.

`check` runs the program CFX on these files. A line per family tells each
column: ok, what was wrong, or - where there is no file.

    run       results of the sample inputs, to 1e-4 of the largest
    batch     results of other extents, of the dynamic file
    shapes    types, shapes and strides of all nodes, as `cfx shapes` has them
              and the file, in numbers for the inputs
    optimize  results of what `cfx optimize` wrote
    pt2       results of what `cfx convert` wrote as .pt2, by torch.export.load
    onnx      results of what `cfx convert` wrote as .onnx, by ONNX Runtime

COLUMNS, in the environment, names some of them. Then the counts.
"""

import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
import warnings

import numpy
import torch
from safetensors.torch import load_file, save_file
from torch.export import Dim
from torch.utils import _pytree as pytree

import vision  # noqa: F401 (transformers imports torchvision)

LIMIT = 1e-4
SECONDS = 240
COLUMNS = "run batch shapes optimize pt2 onnx".split()

# Numbers of a configuration, by the name that most families use; the default
# is replaced where it is larger.
SMALL = {
    2: """num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers
        num_encoder_layers num_decoder_layers num_kv_heads num_key_value_heads n_group
        num_experts_per_tok moe_topk topk_group num_attention_groups""",
    4: """num_attention_heads n_head n_heads num_heads encoder_attention_heads
        decoder_attention_heads num_experts n_routed_experts num_local_experts
        moe_num_experts""",
    8: "rotary_dim qk_rope_head_dim qk_nope_head_dim v_head_dim index_head_dim",
    16: "head_dim kv_channels attention_head_size d_kv kv_lora_rank q_lora_rank",
    64: """hidden_size d_model n_embd embed_dim dim embedding_size max_position_embeddings
        n_positions moe_intermediate_size shared_expert_intermediate_size""",
    96: "n_inner intermediate_size ffn_dim encoder_ffn_dim decoder_ffn_dim d_ff hidden_dim",
    128: "vocab_size",
}


def shrink(config, seen=()):
    """Sets the numbers of CONFIG and of the configurations in it."""
    from transformers import PretrainedConfig
    for value, names in SMALL.items():
        for name in names.split():
            old = getattr(config, name, None)
            if type(old) is int and old > value:
                try:
                    setattr(config, name, value)
                except (AttributeError, NotImplementedError, ValueError):
                    pass
    rope = getattr(config, "qk_rope_head_dim", None)
    if type(rope) is int:  # latent attention: heads of two parts
        config.head_dim = rope
        config.qk_head_dim = rope + config.qk_nope_head_dim
    layers = getattr(config, "num_hidden_layers", None)
    vocab = getattr(config, "vocab_size", None)
    for name, old in list(vars(config).items()):
        if isinstance(old, PretrainedConfig) and id(old) not in seen:
            shrink(old, (*seen, id(config)))
        elif name == "layer_types" and isinstance(old, list) and type(layers) is int:
            kinds = list(dict.fromkeys(old))
            setattr(config, name, (kinds + old)[:layers])
        elif (name.endswith("_token_id") and type(old) is int and type(vocab) is int
              and old >= vocab):
            setattr(config, name, vocab - 1)
    return config


def milder(config):
    """Only fewer layers and words: where extents depend on each other."""
    for name in SMALL[2].split()[:8]:
        old = getattr(config, name, None)
        if type(old) is int and old > 2 and name.endswith(("layer", "layers")):
            setattr(config, name, 2)
    if type(getattr(config, "vocab_size", None)) is int:
        config.vocab_size = min(config.vocab_size, 1000)
    return config


def make_model(name):
    from transformers import AutoConfig, AutoModel
    error = None
    for smaller in (shrink, milder, lambda c: c):
        try:
            config = smaller(AutoConfig.for_model(name))
            torch.manual_seed(0)
            model = AutoModel.from_config(config).eval()
            if sum(p.numel() for p in model.parameters()) > 60e6:
                raise ValueError("too large")
            arguments, dims = make_inputs(model, 2, 9)
            with torch.no_grad():
                model(**arguments)
            return model
        except Exception as e:  # noqa: BLE001 (each family fails in its own way)
            error = error or e
    raise error


def channels_of(config, name, default):
    for c in (config, getattr(config, "vision_config", None)):
        value = getattr(c, name, None)
        if value is not None:
            return value[0] if isinstance(value, (list, tuple)) else value
    return default


def make_inputs(model, batch, length):
    """What MODEL's forward asks for, and for each input the axes that may grow."""
    g = torch.Generator().manual_seed(batch * 100 + length)
    config = model.config
    asked = inspect.signature(model.forward).parameters
    main = getattr(model, "main_input_name", "input_ids")
    main = main if isinstance(main, str) else main[0]
    words = 100
    text = lambda n: torch.randint(3, words, (batch, n), generator=g)  # noqa: E731
    both = {0: "batch", 1: "length"}
    if main in ("pixel_values", "pixel_values_videos"):
        size = channels_of(config, "image_size", 64)
        channels = channels_of(config, "num_channels", 3)
        arguments = {main: torch.randn(batch, channels, size, size, generator=g)}
        dims = {main: {0: "batch"}}
        if "input_ids" in asked:
            arguments["input_ids"], dims["input_ids"] = text(length), both
        return arguments, dims
    if main == "input_values":
        return {main: torch.randn(batch, 3040, generator=g)}, {main: {0: "batch"}}
    if main == "input_features":
        bins = getattr(config, "num_mel_bins", None) or 80
        frames = 2 * getattr(config, "max_source_positions", 50 * length)
        arguments = {main: torch.randn(batch, bins, frames, generator=g)}
        dims = {main: {0: "batch"}}
        if "decoder_input_ids" in asked:
            arguments["decoder_input_ids"], dims["decoder_input_ids"] = text(length), both
        return arguments, dims
    arguments, dims = {"input_ids": text(length)}, {"input_ids": both}
    if "attention_mask" in asked:
        mask = torch.ones(batch, length, dtype=torch.int64)
        mask[-1, length // 2:] = 0
        arguments["attention_mask"], dims["attention_mask"] = mask, both
    if "decoder_input_ids" in asked:
        arguments["decoder_input_ids"] = text(length)
        dims["decoder_input_ids"] = both
    if "pixel_values" in asked and getattr(config, "text_config", None) is not None \
            and getattr(config, "projection_dim", None):
        size = channels_of(config, "image_size", 64)
        arguments["pixel_values"] = torch.randn(batch, 3, size, size, generator=g)
        dims["pixel_values"] = {0: "batch"}
    return arguments, dims


def tensors_of(result):
    return [t for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor)]


def register_caches():
    """Makes the caches that models return known to torch.export."""
    from transformers.cache_utils import EncoderDecoderCache
    from transformers.integrations.executorch import (
        register_dynamic_cache_export_support)
    register_dynamic_cache_export_support()
    pytree.register_pytree_node(
        EncoderDecoderCache,
        lambda c: ([c.self_attention_cache, c.cross_attention_cache], None),
        lambda values, _: EncoderDecoderCache(*values),
        serialized_type_name="transformers.EncoderDecoderCache",
        flatten_with_keys_fn=lambda c: (
            [(pytree.GetAttrKey("self_attention_cache"), c.self_attention_cache),
             (pytree.GetAttrKey("cross_attention_cache"), c.cross_attention_cache)],
            None))


def register_results(name):
    """Makes the results of a family known to torch.export.load."""
    import transformers
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES
    model = MODEL_MAPPING_NAMES.get(name, ())
    for one in model if isinstance(model, (list, tuple)) else [model]:
        getattr(transformers, one)


def save_tensors(path, tensors):
    tensors = {k: v.detach().clone().contiguous() for k, v in tensors.items()}
    save_file(tensors, path)


def save_example(folder, name, arguments, outputs):
    save_tensors(f"{folder}/{name}.inputs.safetensors", arguments)
    save_tensors(f"{folder}/{name}.outputs.safetensors",
                 {f"output_{i}": t for i, t in enumerate(outputs)})


def export(folder, name):
    model = make_model(name)
    arguments, dims = make_inputs(model, 2, 9)
    with torch.no_grad():
        save_example(folder, name, arguments, tensors_of(model(**arguments)))
        program = torch.export.export(model, (), arguments, strict=False)
    torch.export.save(program, f"{folder}/{name}.pt2")
    try:
        shapes = {k: {i: Dim.AUTO for i in v} for k, v in dims.items()}
        with torch.no_grad():
            program = torch.export.export(model, (), arguments, dynamic_shapes=shapes,
                                          strict=False)
            arguments, _ = make_inputs(model, 3, 12)
            outputs = tensors_of(program.module()(**arguments))
        save_example(folder, name + ".dynamic", arguments, outputs)
        torch.export.save(program, f"{folder}/{name}.dynamic.pt2")
    except Exception as e:  # noqa: BLE001
        return f"static only: {first_line(e)}"
    return "ok"


def first_line(error):
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:150]}"


# ------------------------------------------------------------------- check

class Failure(Exception):
    pass


def cfx(program, *arguments):
    try:
        done = subprocess.run([program, *arguments], capture_output=True, text=True,
                              timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Failure("timeout") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line]
        raise Failure((lines or [f"status {done.returncode}"])[0][:220])
    return done.stdout


def compare(got, wanted):
    if len(got) != len(wanted):
        raise Failure(f"{len(got)} results of {len(wanted)}")
    for i, (a, b) in enumerate(zip(got, wanted)):
        if a.shape != b.shape or a.dtype != b.dtype:
            raise Failure(f"result {i}: {a.dtype}{list(a.shape)} of {b.dtype}{list(b.shape)}")
        a, b = a.to(torch.float64), b.to(torch.float64)
        finite = b.isfinite()
        if not torch.equal(a[~finite], b[~finite]) and not b.isnan().any():
            raise Failure(f"result {i}: infinities differ")
        largest = max(b[finite].abs().max().item(), 1e-6) if finite.any() else 1
        wrong = ((a - b)[finite].abs().max().item() if finite.any() else 0) / largest
        if not wrong <= LIMIT:
            raise Failure(f"result {i}: differs by {wrong:.1e}")


def outputs_of(path):
    outputs = load_file(path)
    return [outputs[f"output_{i}"] for i in range(len(outputs))]


def in_numbers(extents, numbers):
    """Extents of torch, None for those that only data tell."""
    values = []
    for d in extents:
        expr = d.node.expr.subs(numbers) if isinstance(d, torch.SymInt) else d
        values.append(None if getattr(expr, "free_symbols", ()) else int(expr))
    return values


def compare_type(name, row, val, numbers):
    if row is None or "dtype" not in row:
        raise Failure(f"%{name} has the type {row}, not {val.dtype}")
    words = {str(symbol): n for symbol, n in numbers.items()}
    for key, wanted in (("shape", val.shape), ("stride", val.stride())):
        wanted = in_numbers(wanted, numbers)
        got = [d if w is None or isinstance(d, int) else
               eval(d, {"min": min, "max": max}, words)
               for d, w in zip(row[key], wanted)]
        if len(row[key]) != len(wanted) or any(
                w is not None and g != w for g, w in zip(got, wanted)):
            raise Failure(f"%{name} has the {key} {got}, not {wanted}")
    if "torch." + row["dtype"] != str(val.dtype):
        raise Failure(f"%{name} is {row['dtype']}, not {val.dtype}")


class Family:
    """The files of one family, and what the columns do with them."""

    def __init__(self, program, folder, name, scratch):
        self.program, self.scratch = program, scratch
        self.path = {d: f"{folder}/{name}{d}" for d in ("", ".dynamic")}

    def has(self, dynamic):
        return os.path.exists(self.path[dynamic] + ".pt2")

    def wanted(self, dynamic):
        return outputs_of(self.path[dynamic] + ".outputs.safetensors")

    def inputs(self, dynamic):
        path = self.path[dynamic] + ".inputs.safetensors"
        return [f"-i{name}={path}:{name}" for name in load_file(path)]

    def compare_run(self, model, dynamic):
        folder = tempfile.mkdtemp(dir=self.scratch)
        cfx(self.program, "run", model, *self.inputs(dynamic), "-O", folder)
        # written one after the other, in the order of the results
        files = sorted(os.scandir(folder), key=lambda f: f.stat().st_mtime_ns)
        compare([torch.from_numpy(numpy.load(f.path)) for f in files],
                self.wanted(dynamic))

    def run(self):
        self.compare_run(self.path[""] + ".pt2", "")

    def batch(self):
        self.compare_run(self.path[".dynamic"] + ".pt2", ".dynamic")

    def shapes(self):
        for dynamic in self.path:
            if self.has(dynamic):
                self.compare_shapes(dynamic)

    def compare_shapes(self, dynamic):
        path = self.path[dynamic] + ".pt2"
        said = json.loads(cfx(self.program, "shapes", path, "--format", "json"))
        rows = {row["name"]: row["value"] for row in said["nodes"]}
        program = torch.export.load(path)
        inputs = load_file(self.path[dynamic] + ".inputs.safetensors")
        metas = {n.name: n.meta["val"] for n in program.graph.nodes
                 if n.op == "placeholder"}
        numbers = {}
        for name, value in inputs.items():
            for have, d in zip(value.shape, metas[name].shape):
                if isinstance(d, torch.SymInt) and d.node.expr.is_Symbol:
                    numbers[d.node.expr] = have
        levels = 0  # within vmap, cfx has all axes
        for n in program.graph.nodes:
            words, val = str(n.target), n.meta.get("val")
            levels += ("_increment_" in words) - ("_decrement_" in words)
            if isinstance(val, torch.Tensor) and not levels and n.op != "placeholder":
                compare_type(n.name, rows.get(n.name), val, numbers)

    def optimize(self):
        dynamic = ".dynamic" if self.has(".dynamic") else ""
        made = f"{self.scratch}/optimized.fx"
        cfx(self.program, "optimize", self.path[dynamic] + ".pt2",
            *self.inputs(dynamic), "-o", made)
        self.compare_run(made, dynamic)

    def pt2(self):
        dynamic = ".dynamic" if self.has(".dynamic") else ""
        made = f"{self.scratch}/written.pt2"
        cfx(self.program, "convert", self.path[dynamic] + ".pt2", made)
        program = torch.export.load(made)
        inputs = load_file(self.path[dynamic] + ".inputs.safetensors")
        with torch.no_grad():
            result = program.module()(**inputs)
        compare(tensors_of(result), self.wanted(dynamic))

    def onnx(self):
        import onnxruntime
        dynamic = ".dynamic" if self.has(".dynamic") else ""
        made = f"{self.scratch}/written.onnx"
        cfx(self.program, "convert", self.path[dynamic] + ".pt2", made)
        session = onnxruntime.InferenceSession(made, providers=["CPUExecutionProvider"])
        inputs = load_file(self.path[dynamic] + ".inputs.safetensors")
        asked = {i.name for i in session.get_inputs()}
        got = session.run(None, {k: v.numpy() for k, v in inputs.items() if k in asked})
        compare([torch.from_numpy(g) for g in got], self.wanted(dynamic))


def check(program, folder, name):
    columns = os.environ.get("COLUMNS", "").split() or COLUMNS
    line = {}
    with tempfile.TemporaryDirectory() as scratch:
        family = Family(program, folder, name, scratch)
        for column in columns:
            if column == "batch" and not family.has(".dynamic"):
                line[column] = "-"
                continue
            try:
                getattr(family, column)()
                line[column] = "ok"
            except Failure as e:
                line[column] = str(e)
            except Exception as e:  # noqa: BLE001
                line[column] = first_line(e)
    return line


def all_names():
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES
    return list(MODEL_MAPPING_NAMES)


def give_up(*_):
    raise TimeoutError("takes too long")


def main(arguments):
    warnings.filterwarnings("ignore")
    import logging
    logging.disable(logging.ERROR)
    torch.set_num_threads(1)
    register_caches()
    signal.signal(signal.SIGALRM, give_up)
    if len(arguments) >= 2 and arguments[0] == "export":
        folder, names = arguments[1], arguments[2:] or all_names()
        os.makedirs(folder, exist_ok=True)
        for name in names:
            if os.path.exists(f"{folder}/{name}.pt2"):
                continue
            signal.alarm(SECONDS)
            try:
                done = export(folder, name)
            except Exception as e:  # noqa: BLE001
                done = f"not exported: {first_line(e)}"
            signal.alarm(0)
            print(f"{name}: {done}", flush=True)
        return 0
    if len(arguments) >= 3 and arguments[0] == "check":
        program, folder = arguments[1:3]
        names = arguments[3:] or sorted(
            f[:-4] for f in os.listdir(folder)
            if f.endswith(".pt2") and not f.endswith(".dynamic.pt2"))
        counts = {}
        for name in names:
            register_results(name)
            line = check(program, folder, name)
            wrong = {c: w for c, w in line.items() if w not in ("ok", "-")}
            print(f"{name}: {'ok' if not wrong else ''}", flush=True)
            for column, words in wrong.items():
                print(f"    {column}: {words}", flush=True)
            for column, words in line.items():
                if words != "-":
                    right, of = counts.get(column, (0, 0))
                    counts[column] = right + (words == "ok"), of + 1
        for column, (right, of) in counts.items():
            print(f"{column}: {right} of {of}")
        return 0
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
