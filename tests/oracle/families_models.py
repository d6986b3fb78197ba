"""families_models -- small models of transformers' families, and their inputs.

A default configuration is made smaller by the names of its numbers (SMALL), in
nested configurations, too. Numbers that depend on each other may contradict
each other afterwards; then the next of PLANS is tried: scale() divides all
widths by one factor, milder() only takes layers and words away.

The inputs follow from the parameters of the model's forward. Where a name does
not tell the layout, the layouts of LAYOUTS are tried until one fits.
"""

import inspect
import itertools
import re

import torch

PARAMETERS = 16e6  # more do not fit into small files
WORDS = 128
SPECIAL = 104  # ids of special tokens begin here; words are below

# What a number is, by its name, and what replaces a larger one; the first rule
# that matches.
SMALL = [
    # never
    (r"(kernel_size|stride|padding|kernel|_ratio|_factor|scale|_rate|num_channels"
     r"|num_labels|groups?|pretraining_tp|patch_size|_fps|_std|audio_channels"
     r"|chunk_size_feed_forward|multiple_of|divisor|divisible_by|mlp_ratio|buckets"
     r"|(in|input)_channels|type_vocab_size|_offset)$", None),
    (r"(vocab_size|vocab_size_per_layer_input|n_vocab)$", WORDS),
    (r"^(num_experts_per_tok|moe_topk|moe_top_k|moe_k|topk_group|n_group"
     r"|num_experts_per_token|num_expert_group)$", 2),
    (r"(kv_heads|key_value_heads|kv_n_heads|num_attention_groups|num_key_heads)$", 2),
    (r"(heads|n_head|num_value_heads)$", 4),
    (r"(experts|expert_num)$", 4),
    (r"(layers?|depth|num_blocks|layers_per_block|num_encoder_blocks)$", 2),
    (r"(conv_kernel|n_positions|num_queries|query_tokens|num_latents|latent_query_num"
     r"|num_proposals|num_frames|num_denoising)$", 16),
    (r"^(rotary_dim|qk_rope_head_dim|qk_nope_head_dim|v_head_dim|index_head_dim)$", 8),
    (r"^(index_topk|topk)$", 4),
    (r"(head_dim|kv_channels|attention_head_size|d_kv|lora_rank|d_head|dim_head"
     r"|head_size|key_dim|state_size|d_state|rank)$", 16),
    (r"(num_codevectors_per_group|codebook_size|num_mel_bins|max_position_embeddings"
     r"|max_2d_position_embeddings|hash_buckets)$", 64),
    (r"(intermediate_size|ffn_dim|d_ff|dff|n_inner|mlp_dim|feedforward_dim|dim_ff"
     r"|feedforward|ffn_hidden_size|linear_units|d_inner)$", 96),
    (r"(hidden_size|d_model|n_embd|dim|embedding_size|moe_intermediate_size|width"
     r"|embed_dim|hidden_dim|channels?|output_size|feature_size|projection_size"
     r"|hidden|units|hidden_size_per_layer_input|emb_size|latents)$", 64),
]
WIDTHS = re.compile("|".join(p for p, v in SMALL[-2:]))
INDICES = re.compile(r"(ind(ex|ice)e?s|idxs?|hook_ids|layer_ids|extract_layers"
                     r"|target_layers|_blocks|vision_feature_layer"
                     r"|cross_attention_layers|mlp_only_layers|moe_layers)$")
LAYERS = ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "depth",
          "encoder_layers", "layers")


def rule(name):
    for pattern, value in SMALL:
        if re.search(pattern, name):
            return value
    return None


def is_config(value):
    from transformers import PretrainedConfig
    return isinstance(value, PretrainedConfig)


def numbers_of(value):
    return (list(value) if isinstance(value, (list, tuple)) and value
            and all(type(n) is int for n in value) else None)


def set_number(config, name, value):
    try:
        setattr(config, name, value)
    except Exception:  # noqa: BLE001 (attributes that are computed)
        pass


def attributes(config):
    names = dict.fromkeys([*vars(config), *getattr(config, "attribute_map", ())])
    return [(name, getattr(config, name, None)) for name in names
            if not name.startswith("__")]


def number_of_layers(config):
    return next((n for n in (getattr(config, k, None) for k in LAYERS)
                 if type(n) is int and n > 0), None)


def few_layers(config, old):
    """As few layers as each kind and each index of a list needs."""
    most = 2
    for name, value in attributes(config):
        if name in ("layer_types", "layers_block_type", "mlp_layer_types",
                    "attention_types") and isinstance(value, (list, tuple)):
            most = max(most, len(set(map(str, value))))
        elif INDICES.search(name) and numbers_of(value) and old and max(value) <= old:
            most = max(most, len(value) if len(value) < old else 0)
    return min(most, 5)


def shorten(name, value, old, layers):
    """A list of VALUEs per layer, or of layers, for fewer of them."""
    if not isinstance(value, (list, tuple)) or not old or old <= layers:
        return value
    if len(value) == old:
        if numbers_of(value) == list(range(old)):
            return list(range(layers))
        kinds = list({str(v): v for v in value}.values())
        return type(value)((kinds + list(value))[:layers])
    if numbers_of(value) and INDICES.search(name) and max(value) <= old:
        counted = max(value) == old  # from one
        moved = [v if v < 0 else max(v * layers // old, 0) for v in value]
        if len(value) <= layers and len(set(moved)) < len(moved):
            moved = list(range(layers - len(value), layers))
        return type(value)([v + counted if v >= 0 and not counted else v for v in moved]
                           if counted else moved)
    return value


def smaller_list(name, value):
    """Widths and depths of stages."""
    numbers = numbers_of(value)
    if not numbers:
        return value
    if re.search(r"(depths|layers|repeats|blocks_per_stage|num_blocks|block_sizes)$",
                 name):
        return type(value)([min(n, 2) for n in numbers])
    if re.search(r"(hidden_sizes|embed_dims?|channels|dims?|dim_per_stage"
                 r"|channel_list|channels_list|embed_dim|out_features)$", name):
        factor = 8
        while factor > 1 and any(n % factor or n // factor < 8 for n in numbers
                                 if n > 8):
            factor //= 2
        return type(value)([n // factor if n > 8 else n for n in numbers])
    return value


def set_heads(config):
    """Heads of two parts, and those that have to divide a width."""
    rope = getattr(config, "qk_rope_head_dim", None)
    nope = getattr(config, "qk_nope_head_dim", None)
    if type(rope) is int and type(nope) is int:
        set_number(config, "head_dim", rope)
        set_number(config, "qk_head_dim", rope + nope)
    section = getattr(config, "rope_parameters", None)
    width = getattr(config, "head_dim", None)
    if type(width) is not int:
        hidden = getattr(config, "hidden_size", None)
        heads = getattr(config, "num_attention_heads", None)
        width = hidden // heads if type(hidden) is int and type(heads) is int and heads \
            else None
    if isinstance(section, dict) and width and numbers_of(section.get("mrope_section")):
        have = section["mrope_section"]
        half = int(width * section.get("partial_rotary_factor", 1)) // 2
        if sum(have) != half and half >= len(have):
            part = half // len(have)
            section["mrope_section"] = [half - part * (len(have) - 1),
                                        *[part] * (len(have) - 1)]


def set_image(config):
    patch = getattr(config, "patch_size", None)
    patch = patch[-1] if isinstance(patch, (list, tuple)) and patch else patch
    small = 64 if type(patch) is not int else patch * 8 if patch < 32 else patch * 2
    for name in ("image_size", "pretrain_image_size", "img_size", "crop_size"):
        old = getattr(config, name, None)
        if type(old) is int and old > small:
            set_number(config, name, small)
        elif numbers_of(old) and len(old) == 2:
            set_number(config, name, type(old)([min(n, small) for n in old]))


def set_tokens(config, vocab):
    """Ids of special tokens that the words of the inputs do not meet."""
    given = {}
    for name, old in attributes(config):
        if re.search(r"token_(id|index)$", name) and type(old) is int and old >= vocab:
            given.setdefault(old, max(vocab - 1 - len(given), 0))
            set_number(config, name, given[old])
        elif re.search(r"token_ids?$", name) and numbers_of(old) and max(old) >= vocab:
            set_number(config, name, [min(n, vocab - 1) for n in old])


def visit(config, change, seen=()):
    """Calls CHANGE for the configurations in CONFIG, then for itself."""
    if any(config is s for s in seen):
        return config
    for _, old in attributes(config):
        for c in old if isinstance(old, (list, tuple)) else [old]:
            if is_config(c):
                visit(c, change, (*seen, config))
    change(config)
    return config


def words_of(config):
    sizes = [getattr(c, "vocab_size", None) for c in
             (config, *(v for _, v in attributes(config) if is_config(v)))]
    return min((s for s in sizes if type(s) is int and s > 8), default=WORDS)


def shrink(config):
    def change(c):
        old = number_of_layers(c)
        layers = few_layers(c, old)
        one_each = getattr(c, "num_key_value_heads", 0) == getattr(
            c, "num_attention_heads", None)
        for name, value in attributes(c):
            small = rule(name)
            if small == 2 and name in LAYERS + ("decoder_layers",):
                small = layers
            if type(value) is int and small and value > small:
                set_number(c, name, small)
            elif isinstance(value, (list, tuple)):
                shorter = shorten(name, value, old, layers)
                set_number(c, name, smaller_list(name, shorter))
        if one_each:
            set_number(c, "num_key_value_heads", c.num_attention_heads)
        set_heads(c)
        set_image(c)
        set_tokens(c, words_of(c))
    return visit(config, change)


def fill(config):
    """Like shrink, and numbers that no default tells have the small ones."""
    shrink(config)

    def change(c):
        for name, value in attributes(c):
            if value is None and rule(name) and not re.search(r"lora_rank$", name):
                set_number(c, name, rule(name))
        if getattr(c, "pad_token_id", 0) is None:
            c.pad_token_id = 1
        if getattr(c, "layer_types", 0) is None and number_of_layers(c):
            c.layer_types = ["full_attention"] * number_of_layers(c)
        set_heads(c)
    return visit(config, change)


def keep_lists(config):
    """Fewer layers and words, all lists as they are but those of layers."""
    def change(c):
        old = number_of_layers(c)
        layers = few_layers(c, old)
        for name, value in attributes(c):
            if type(value) is int and name in LAYERS + ("decoder_layers",):
                if value > layers:
                    set_number(c, name, layers)
            elif isinstance(value, (list, tuple)):
                set_number(c, name, shorten(name, value, old, layers))
            elif type(value) is int and name.endswith("vocab_size") and value > 1000:
                set_number(c, name, 1000)
        set_tokens(c, words_of(c))
    return visit(config, change)


def scale(config):
    """Widths divided by one factor, with as many heads fewer."""
    keep_lists(config)

    def change(c):
        width = max((v for k, v in attributes(c) if type(v) is int
                     and k in ("hidden_size", "d_model", "n_embd", "dim", "embed_dim")),
                    default=0)
        factor = 1
        while width // factor > 256 and width % (factor * 2) == 0:
            factor *= 2
        for name, value in attributes(c):
            if type(value) is not int or value <= 1:
                continue
            if name.endswith("heads") or name == "n_head":
                set_number(c, name, max(value // factor, 1))
            elif (WIDTHS.search(name) and not name.endswith("head_dim")
                  and value % factor == 0 and value // factor >= 8):
                set_number(c, name, value // factor)
            elif name.endswith("experts") and value > 4:
                set_number(c, name, 4)
            elif rule(name) == 2 and value > 2 and name not in LAYERS:
                set_number(c, name, 2)
    return visit(config, change)


PLANS = (shrink, fill, scale, keep_lists, lambda c: c)


def count_parameters(config, build):
    try:
        with torch.device("meta"):
            model = build(config)
    except Exception:  # noqa: BLE001 (constructors that need numbers)
        return 0
    return sum(p.numel() for p in model.parameters())


def builder(name):
    """NAME of a family, or NAME@CLASS with one of transformers' Auto classes."""
    import transformers
    family, _, auto = name.partition("@")
    return family, getattr(transformers, auto or "AutoModel").from_config


def make_model(name):
    """A small model of the family NAME, and a function (BATCH, LENGTH) that makes
    its inputs, with the axes that may grow."""
    from transformers import AutoConfig
    family, build = builder(name)
    errors = []
    for plan in PLANS:
        try:
            config = plan(AutoConfig.for_model(family))
            config.architectures = config.architectures or []
            if count_parameters(config, build) > PARAMETERS:
                raise ValueError("too large")
            torch.manual_seed(0)
            model = build(config).eval()
            if sum(p.numel() for p in model.parameters()) > PARAMETERS:
                raise ValueError("too large")
        except TimeoutError:
            raise
        except Exception as e:  # noqa: BLE001 (each family fails in its own way)
            errors.append(e)
            continue
        for choice in choices(model):
            try:
                arguments, _ = choice(2, 9)
                with torch.no_grad():
                    model(**arguments)
                return model, choice
            except TimeoutError:
                raise
            except Exception as e:  # noqa: BLE001
                errors.append(e)
    raise errors[0]


# ------------------------------------------------------------------ inputs

def find(config, names, default, kinds=(int, tuple, list)):
    """The first of NAMES that CONFIG, or one within, has."""
    configs = [config] + [v for _, v in attributes(config) if is_config(v)]
    for c in configs:
        for name in names:
            value = getattr(c, name, None)
            if isinstance(value, dict):
                value = value.get("height", value.get("shortest_edge"))
            if isinstance(value, kinds) and value and value is not True:
                return value[0] if isinstance(value, (list, tuple)) else value
    return default


class Maker:
    """Makes inputs by their names; k chooses among layouts."""

    def __init__(self, config, batch, length, layout):
        self.config, self.b, self.n, self.layout = config, batch, length, layout
        self.g = torch.Generator().manual_seed(batch * 100 + length)

    def randn(self, *shape):
        return torch.randn(*shape, generator=self.g)

    def ids(self):
        return torch.randint(30, 100, (self.b, self.n), generator=self.g), TEXT

    def mask(self):
        mask = torch.ones(self.b, self.n, dtype=torch.int64)
        mask[-1, self.n // 2:] = 0
        return mask, TEXT

    def zeros(self):
        return torch.zeros(self.b, self.n, dtype=torch.int64), TEXT

    def bbox(self):
        corner = torch.randint(0, 30, (self.b, self.n, 2), generator=self.g)
        size = torch.randint(0, 30, (self.b, self.n, 2), generator=self.g)
        return torch.cat([corner, corner + size], -1), TEXT

    def image(self):
        size = find(self.config, ["image_size", "img_size", "input_size"], 64)
        channels = find(self.config, ["num_channels", "in_channels", "in_chans"], 3)
        channels = channels if channels in (1, 3, 4, 9) else 3
        frames = find(self.config, ["num_frames", "frames_per_clip"], 4)
        shape = ((self.b, channels, size, size), (self.b, frames, channels, size, size),
                 (self.b, 2, channels, size, size), (self.b, channels, 128, 128)
                 )[self.layout % 4]
        return self.randn(*shape), BATCH

    def video(self):
        size = find(self.config, ["image_size", "crop_size"], 64)
        frames = find(self.config, ["num_frames", "frames_per_clip"], 4)
        return self.randn(self.b, frames, 3, size, size), BATCH

    def patches(self):
        """Patches of images after each other, as towers of any size take them."""
        c = self.config
        patch = find(c, ["patch_size"], 14)
        depth = find(c, ["temporal_patch_size"], 1)
        channels = find(c, ["in_channels", "num_channels", "in_chans"], 3)
        return self.randn(self.b * 32, channels * depth * patch * patch), {}

    def grid(self):
        return torch.tensor([[1, 4, 8]] * self.b), {}

    def samples(self):
        bins = find(self.config, ["num_mel_bins"], 128)
        frames = find(self.config, ["max_length"], 100)
        shape = ((self.b, 3040), (self.b, 1, 3840), (self.b, frames, bins))
        return self.randn(*shape[self.layout % 3]), BATCH

    def features(self):
        bins = find(self.config, ["num_mel_bins", "feature_projection_input_dim",
                                  "input_feat_per_channel", "input_feat_size",
                                  "input_dim"], 80)
        frames = 2 * find(self.config, ["max_source_positions"], 32)
        shape = ((self.b, bins, frames), (self.b, 64, bins),
                 (self.b, 1, 1001, bins))[self.layout % 3]
        return self.randn(*shape), BATCH

    def series(self):
        n = find(self.config, ["context_length", "num_frames"], 32)
        channels = find(self.config, ["num_input_channels", "input_size"], 1)
        shape = ((self.b, n, channels), (self.b, n))[self.layout % 2]
        return self.randn(*shape), BATCH

    def hidden(self):
        width = find(self.config, ["hidden_size", "d_model", "encoder_hidden_size"], 64)
        shape = ((self.b, self.n, width), (self.b, width, self.n))[self.layout % 2]
        return self.randn(*shape), BATCH

    def table(self, width):
        return self.randn(self.b, self.n, width), TEXT

    def returns(self):
        return self.table(1)

    def states(self):
        return self.table(find(self.config, ["state_dim"], 17))

    def actions(self):
        return self.table(find(self.config, ["act_dim"], 4))

    def steps(self):
        return torch.arange(self.n).expand(self.b, -1).contiguous(), TEXT

    def visual(self):
        width = find(self.config, ["visual_embedding_dim", "visual_feat_dim"], 64)
        return self.randn(self.b, 7, width), BATCH

    def boxes(self):
        return torch.rand(self.b, 7, 4, generator=self.g), BATCH


TEXT, BATCH = {0: "batch", 1: "length"}, {0: "batch"}
INPUTS = {
    "input_ids": Maker.ids, "decoder_input_ids": Maker.ids, "attention_mask": Maker.mask,
    "token_type_ids": Maker.zeros, "bbox": Maker.bbox, "pixel_values": Maker.image,
    "pixel_values_videos": Maker.video, "input_values": Maker.samples,
    "input_features": Maker.features, "audio_values": Maker.samples,
    "past_values": Maker.series, "grid_thw": Maker.grid, "image_grid_thw": Maker.grid,
    "states": Maker.states, "actions": Maker.actions, "rewards": Maker.returns,
    "returns_to_go": Maker.returns, "timesteps": Maker.steps, "hidden_states": Maker.hidden,
    "spectrogram": Maker.hidden, "visual_feats": Maker.visual, "visual_pos": Maker.boxes,
    "inputs": Maker.ids, "pixel_values_images": Maker.image, "audio_input_ids": Maker.ids,
    "input_audio": Maker.samples, "qformer_input_ids": Maker.ids,
    "encoder_hidden_states": Maker.hidden, "query_embeds": Maker.hidden,
}
SECOND = ("pixel_values", "input_features", "input_values", "bbox",
          "token_type_ids")


def choices(model):
    """The inputs that MODEL may take: for each choice a function that makes them."""
    asked = {n: p for n, p in inspect.signature(model.forward).parameters.items()
             if p.kind is not p.VAR_KEYWORD and p.kind is not p.VAR_POSITIONAL}
    main = getattr(model, "main_input_name", "input_ids")
    main = main if isinstance(main, str) else main[0]
    if main not in asked:
        main = "input_ids" if "input_ids" in asked else next(iter(asked))
    names = [main] + [n for n, p in asked.items()
                      if p.default is p.empty and n != main]
    two = "projection_dim" in dir(model.config) and "input_ids" in asked
    if two:
        names += [n for n in ("input_ids", "pixel_values") if n in asked]
    if "input_ids" in names and "attention_mask" in asked:
        names.append("attention_mask")
    if "decoder_input_ids" in asked:
        names.append("decoder_input_ids")
    names = list(dict.fromkeys(names))
    sets = [names]
    if "input_ids" in asked and "input_ids" not in names:
        sets.append([*names, "input_ids"])
    sets += [[*names, n] for n in SECOND if n in asked and n not in names]
    if names == ["input_ids", "attention_mask"]:
        sets.append(["input_ids"])
    sets.append([n for n in asked if n in INPUTS])
    if "grid_thw" in names:
        sets = [names]
    for chosen, layout in itertools.product(sets, range(4)):
        unknown = [n for n in chosen if n not in INPUTS]
        if unknown:
            raise ValueError(f"inputs {', '.join(unknown)} are not known")

        def make(batch, length, chosen=chosen, layout=layout):
            maker = Maker(model.config, batch, length, layout)
            made = {n: maker.patches() if "grid_thw" in chosen and n in (
                "pixel_values", "hidden_states") else INPUTS[n](maker) for n in chosen}
            return ({n: t for n, (t, _) in made.items()},
                    {n: axes for n, (_, axes) in made.items()})
        yield make
