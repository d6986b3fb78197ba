"""Small models of transformers, with random weights: what dynamo.py and pt2.py try.

MODELS[name]() is (model, inputs): a module in eval mode, and its keywords. A row
is the family, whose class and configuration are FamilyModel and FamilyConfig
unless the row names others, a function that makes inputs, and settings.
"""
import warnings

import torch

import vision  # noqa: F401 (transformers imports torchvision)

MODELS = {}

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 64}
TEXT = {"vocab_size": 99, "max_position_embeddings": 64, "pad_token_id": 0,
        "bos_token_id": 1, "eos_token_id": 2}
DECODER = {**SMALL, **TEXT, "num_key_value_heads": 2, "use_cache": False}


def ids(n=7):
    return {"input_ids": torch.randint(3, 90, (2, n))}


def masked():
    mask = torch.ones(2, 7, dtype=torch.int64)
    mask[1, 5:] = 0
    return {**ids(), "attention_mask": mask}


def pair():
    return {**ids(), "decoder_input_ids": torch.randint(3, 90, (2, 5))}


def pixels(size=32):
    return {"pixel_values": torch.randn(2, 3, size, size)}


def pixels64():
    return pixels(64)


def frames():
    return {"pixel_values": torch.randn(1, 2, 3, 32, 32)}


def wave():
    return {"input_values": torch.randn(1, 1600)}


def mel():
    return {"input_features": torch.randn(1, 8, 40),
            "decoder_input_ids": torch.randint(3, 90, (1, 5))}


def both():
    return {**ids(), **pixels()}


def row(family, inputs, settings, cls=None, config=None, **more):
    def make():
        import transformers

        c = getattr(transformers, config or family + "Config")(
            **{**settings, **more})
        c._attn_implementation = "sdpa"
        c._experts_implementation = "eager"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                m = getattr(transformers, cls or family + "Model")(c)
            except ValueError:      # it has no such attention
                c._attn_implementation = "eager"
                m = getattr(transformers, cls or family + "Model")(c)
        return m.eval(), inputs()
    MODELS[(cls or family).lower()] = make


# ---- Text: encoders ----

for family in ("Bert", "Roberta", "Electra", "Albert", "XLMRoberta",
               "Camembert", "MPNet", "RoFormer", "Ernie", "MegatronBert",
               "LayoutLM", "RemBert", "Splinter", "Data2VecText", "Esm",
               "IBert", "XLMRobertaXL", "RobertaPreLayerNorm",
               "ConvBert", "DebertaV2", "Deberta", "Nystromformer"):
    row(family, masked, {**SMALL, **TEXT})
row("DistilBert", masked, TEXT, dim=32, n_layers=2, n_heads=4, hidden_dim=64)
row("FNet", ids, {**SMALL, **TEXT}, use_tpu_fourier_optimizations=False)
row("SqueezeBert", masked, {**SMALL, **TEXT}, embedding_size=32)
row("MobileBert", masked, {**SMALL, **TEXT}, embedding_size=32,
    intra_bottleneck_size=32, true_hidden_size=32)
row("ModernBert", masked, {**SMALL, **TEXT}, cls_token_id=1, sep_token_id=2)
row("BigBird", masked, {**SMALL, **TEXT}, attention_type="original_full")
row("Canine", masked, {**SMALL, **TEXT}, num_hash_buckets=64,
    max_position_embeddings=64, local_attention_window=4,
    attend_from_chunk_width=4, attend_to_chunk_width=4)
row("XLNet", masked, {}, vocab_size=99, d_model=32, n_layer=2, n_head=4,
    d_inner=64)
row("XLM", ids, TEXT, emb_dim=32, n_layers=2, n_heads=4, n_words=99)
row("Flaubert", ids, TEXT, emb_dim=32, n_layers=2, n_heads=4, n_words=99)
row("T5", ids, TEXT, cls="T5EncoderModel", d_model=32, d_kv=8, d_ff=64,
    num_layers=2, num_heads=4)

# ---- Text: decoders ----

for family in ("Llama", "Mistral", "Qwen2", "Qwen3", "Gemma", "Gemma2",
               "Phi", "Phi3", "StableLm", "Starcoder2", "Cohere", "Cohere2",
               "Olmo", "Olmo2", "Granite", "Persimmon", "Nemotron", "Helium",
               "Glm", "Glm4", "SmolLM3", "Ernie4_5", "Exaone4", "Arcee",
               "SeedOss", "HunYuanDenseV1", "GPTNeoX", "Apertus", "Mixtral",
               "GraniteMoe", "Qwen2Moe", "Olmo3"):
    row(family, ids, DECODER)
for family in ("Gemma", "Gemma2", "Qwen3", "Helium", "Glm", "Glm4",
               "HunYuanDenseV1", "SeedOss"):
    row(family, ids, DECODER, head_dim=8)
row("Gemma3Text", ids, DECODER, cls="Gemma3TextModel", head_dim=8)
row("OPT", ids, {**DECODER, "word_embed_proj_dim": 32}, ffn_dim=64)
row("GPT2", ids, TEXT, n_embd=32, n_layer=2, n_head=4, use_cache=False,
    n_positions=64)
row("OpenAIGPT", ids, TEXT, n_embd=32, n_layer=2, n_head=4, n_positions=64)
row("GPTNeo", ids, {**SMALL, **TEXT}, num_layers=2, num_heads=4,
    attention_types=[[["global", "local"], 1]], use_cache=False)
row("GPTJ", ids, TEXT, n_embd=32, n_layer=2, n_head=4, rotary_dim=4,
    n_positions=64, use_cache=False)
row("CodeGen", ids, TEXT, n_embd=32, n_layer=2, n_head=4, rotary_dim=4,
    n_positions=64, n_ctx=64, use_cache=False)
row("GPTBigCode", ids, TEXT, n_embd=32, n_layer=2, n_head=4, use_cache=False,
    n_positions=64)
row("Bloom", ids, TEXT, hidden_size=32, n_layer=2, n_head=4, use_cache=False)
row("Falcon", ids, DECODER)
row("Mpt", ids, TEXT, d_model=32, n_layers=2, n_heads=4, max_seq_len=64,
    use_cache=False)
row("BioGpt", ids, DECODER)
row("XGLM", ids, TEXT, d_model=32, num_layers=2, attention_heads=4, ffn_dim=64,
    use_cache=False)
row("CTRL", ids, TEXT, n_embd=32, n_layer=2, n_head=4, dff=64, use_cache=False,
    n_positions=64)
row("Mamba", ids, TEXT, hidden_size=32, num_hidden_layers=2, state_size=4,
    use_cache=False)
row("FalconMamba", ids, TEXT, hidden_size=32, num_hidden_layers=2,
    state_size=4, use_cache=False)
row("Mamba2", ids, TEXT, hidden_size=32, num_hidden_layers=2, state_size=4,
    num_heads=8, head_dim=8, n_groups=2, chunk_size=4, use_cache=False)
row("RecurrentGemma", ids, DECODER, head_dim=8, lru_width=32)

# ---- Text: encoders with decoders ----

SEQ2SEQ = {**TEXT, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
           "encoder_attention_heads": 4, "decoder_attention_heads": 4,
           "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
           "decoder_start_token_id": 1, "use_cache": False}
for family in ("Bart", "MBart", "Pegasus", "Blenderbot", "BlenderbotSmall",
               "Marian", "M2M100", "PLBart"):
    row(family, pair, SEQ2SEQ)
for family in ("T5", "MT5", "UMT5"):
    row(family, pair, TEXT, d_model=32, d_kv=8, d_ff=64, num_layers=2,
        num_heads=4, decoder_start_token_id=0, use_cache=False)
row("Whisper", mel, {**SEQ2SEQ, "suppress_tokens": None,
                     "begin_suppress_tokens": None},
    num_mel_bins=8, max_source_positions=20, max_target_positions=30)
row("Speech2Text", lambda: {
    "input_features": torch.randn(1, 40, 8),
    "decoder_input_ids": torch.randint(3, 90, (1, 5))}, SEQ2SEQ,
    input_feat_per_channel=8, max_source_positions=40, max_target_positions=30,
    num_conv_layers=2, conv_kernel_sizes=(3, 3), conv_channels=16)

# ---- Images ----

PATCHES = {**SMALL, "image_size": 32, "patch_size": 8}
STAGES = {"image_size": 32, "embed_dim": 16, "depths": [1, 1],
          "num_heads": [2, 2], "window_size": 4, "patch_size": 2}
for family in ("ViT", "DeiT", "Beit", "Dinov2", "ViTMSN", "Data2VecVision",
               "IJepa", "Dinov2WithRegisters"):
    row(family, pixels, PATCHES)
row("Yolos", pixels, {**PATCHES, "image_size": [32, 32]})
row("DINOv3ViT", pixels, PATCHES)
row("Swin", pixels, STAGES)
row("Swinv2", pixels, STAGES)
row("CLIPVision", pixels, PATCHES, cls="CLIPVisionModel")
row("SiglipVision", pixels, PATCHES, cls="SiglipVisionModel")
for family in ("ConvNext", "ConvNextV2"):
    row(family, pixels, {}, hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1])
row("ResNet", pixels, {}, embedding_size=8, hidden_sizes=[8, 16, 16, 16],
    depths=[1, 1, 1, 1])
row("RegNet", pixels, {}, embedding_size=8, hidden_sizes=[8, 16, 16, 16],
    depths=[1, 1, 1, 1], groups_width=4)
row("MobileNetV1", pixels, {}, depth_multiplier=0.25, min_depth=4)
row("MobileNetV2", pixels, {}, depth_multiplier=0.25, image_size=32)
row("MobileViT", pixels64, {}, image_size=64, hidden_sizes=[16, 20, 24],
    neck_hidden_sizes=[8, 8, 16, 16, 16, 16, 32], num_attention_heads=4)
row("MobileViTV2", pixels64, {}, image_size=64, width_multiplier=0.25)
row("PoolFormer", pixels64, {}, hidden_sizes=[8, 16, 16, 16],
    depths=[1, 1, 1, 1])
row("Segformer", pixels64, {}, hidden_sizes=[8, 16, 16, 16],
    depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 2])
row("Pvt", pixels64, {}, image_size=64, hidden_sizes=[8, 16, 16, 16],
    depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 2])
row("PvtV2", pixels64, {}, image_size=64, hidden_sizes=[8, 16, 16, 16],
    depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 2, 2])
row("Levit", pixels64, {}, image_size=64, hidden_sizes=[16, 24, 32],
    num_attention_heads=[2, 2, 2], depths=[1, 1, 1], key_dim=[8, 8, 8])
row("FocalNet", pixels, {}, image_size=32, embed_dim=16, depths=[1, 1],
    hidden_sizes=[16, 32], patch_size=2, focal_levels=[1, 1],
    focal_windows=[3, 3])
row("Hiera", pixels64, {}, image_size=[64, 64], embed_dim=8,
    depths=[1, 1, 1, 1], num_heads=[1, 2, 2, 2])
row("Bit", pixels64, {}, embedding_size=32, hidden_sizes=[32, 32, 64, 64],
    depths=[1, 1, 1, 1], num_groups=8)
row("DPT", pixels, PATCHES, backbone_out_indices=[0, 0, 1, 1],
    neck_hidden_sizes=[8, 8, 16, 16])
row("Timesformer", frames, {**PATCHES, "num_frames": 2})
row("VideoMAE", frames, {**PATCHES, "num_frames": 2, "tubelet_size": 2})
row("Vivit", frames, {**PATCHES, "num_frames": 2, "tubelet_size": [2, 8, 8]})
row("ImageGPT", ids, TEXT, n_embd=32, n_layer=2, n_head=4, n_positions=64)

# ---- Sound ----

CONVOLUTIONS = {**SMALL, "conv_dim": (16, 16), "conv_stride": (5, 4),
                "conv_kernel": (10, 4), "num_feat_extract_layers": 2,
                "num_conv_pos_embeddings": 16,
                "num_conv_pos_embedding_groups": 2, "mask_time_prob": 0.}
for family in ("Wav2Vec2", "Hubert", "WavLM", "UniSpeech", "Data2VecAudio"):
    row(family, wave, CONVOLUTIONS)
row("ASTModel", lambda: {"input_values": torch.randn(1, 40, 16)},
    {**SMALL, "patch_size": 8, "max_length": 40, "num_mel_bins": 16},
    cls="ASTModel", config="ASTConfig")

# ---- Several ----

ENDS = {"text_config": {**SMALL, **TEXT}, "vision_config": PATCHES,
        "projection_dim": 24}
row("CLIP", both, ENDS)
row("CLIPText", ids, {**SMALL, **TEXT}, cls="CLIPTextModel")
row("Siglip", both, ENDS)
row("ChineseCLIP", both, ENDS)
row("AltCLIP", both, {**ENDS, "text_config": {**SMALL, **TEXT,
                                               "project_dim": 24}})
row("Vilt", both, {**PATCHES, **TEXT})
row("DecisionTransformer", lambda: {
    "states": torch.randn(1, 4, 5), "actions": torch.randn(1, 4, 3),
    "rewards": torch.randn(1, 4, 1), "returns_to_go": torch.randn(1, 4, 1),
    "timesteps": torch.arange(4)[None],
    "attention_mask": torch.ones(1, 4)}, {}, state_dim=5, act_dim=3,
    hidden_size=32, max_ep_len=16, n_layer=2, n_head=4)
row("PatchTST", lambda: {"past_values": torch.randn(1, 32, 2)}, {},
    num_input_channels=2, context_length=32, patch_length=8, patch_stride=8,
    d_model=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64)
row("PatchTSMixer", lambda: {"past_values": torch.randn(1, 32, 2)}, {},
    num_input_channels=2, context_length=32, patch_length=8, patch_stride=8,
    d_model=16, num_layers=2)
