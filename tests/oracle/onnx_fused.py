"""onnx_fused.py -- models of ONNX Runtime's own operators, for onnx_cases.py.

fused_models() gives (name, model, inputs), and the results where they are not
ONNX Runtime's: some operators are for GPUs only, and DynamicQuantizeLSTM
quantizes the state before each step, which cfx does not.
"""
import numpy as np
from onnx import TensorProto, helper

from onnx_cases import model_of, runtime_results

F, I64, I32 = TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32
U8, I8, B = TensorProto.UINT8, TensorProto.INT8, TensorProto.BOOL
MS = "com.microsoft"


def node(op, inputs, outputs="y", domain=MS, **attributes):
    """Names apart by blanks; "-" is an input or output that is left out."""
    names = [[n.strip("-") for n in text.split()] for text in (inputs, outputs)]
    return helper.make_node(op, *names, domain=domain, **attributes)


def model(nodes, inputs, outputs, constants=(), results=F):
    """Outputs are names, of one type or of a list of types."""
    names = outputs.split()
    types = results if isinstance(results, list) else [results] * len(names)
    return model_of(nodes, inputs, [(o, t, None) for o, t in zip(names, types)],
                    constants, (), [MS])


def activated(f):
    kinds = [("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.2]),
             ("Clip", [-0.5, 0.75]), ("HardSigmoid", [0.3, 0.4])]
    nodes = []
    for i, (kind, params) in enumerate(kinds):
        nodes.append(node("FusedConv", "x w b" + " z" * (i < 2), f"y{i}",
                          activation=kind, kernel_shape=[2, 2],
                          **({"activation_params": params} if params else {})))
    yield "fused_conv", model(
        nodes, [("x", F, ["N", 2, 3, 3]), ("z", F, ["N", 2, 2, 2])],
        "y0 y1 y2 y3 y4 y5", {"w": f(2, 2, 2, 2), "b": f(2)}), [
            f(2, 2, 3, 3), f(2, 2, 2, 2)]
    yield "fused_gemm", model(
        [node("FusedGemm", "x w b", "y", activation="LeakyRelu", transB=1,
              activation_alpha=0.3),
         node("FusedGemm", "x w b", "z", activation="Elu", transB=1, alpha=0.5,
              beta=2.0, activation_alpha=0.3)],
        [("x", F, ["N", 3])], "y z", {"w": f(4, 3), "b": f(4)}), [f(2, 3)]
    yield "fused_activations", model(
        [node("Gelu", "x", "a"), node("BiasGelu", "x b", "c"),
         node("FastGelu", "x", "d"), node("FastGelu", "x b", "e"),
         node("QuickGelu", "x", "g", alpha=1.5), node("Inverse", "s", "i")],
        [("x", F, ["N", 4]), ("s", F, [2, 2])], "a c d e g i", {"b": f(4)}), [
            f(2, 4), f(2, 2)]
    x, bias = f(2, 2, 3), f(2, 1, 3)
    e = np.exp(x + bias)
    yield "bias_softmax", model(
        [node("BiasSoftmax", "x b", "y", axis=2, is_inner_broadcast=1),
         node("BiasSoftmax", "x b", "z", axis=1, is_inner_broadcast=1)],
        [("x", F, ["N", 2, 3]), ("b", F, ["N", 1, 3])], "y z"), [x, bias], [
            e / e.sum(2, keepdims=True), e / e.sum((1, 2), keepdims=True)]


def products(f):
    yield "fused_matmul", model(
        [node("FusedMatMul", "a b", "y", transB=1, alpha=0.5),
         node("FusedMatMul", "c b", "z", transA=1, transB=1),
         node("FusedMatMul", "d e", "v", transBatchA=1, transBatchB=1),
         node("FusedMatMul", "h e", "w", transA=1, transBatchA=1,
              transBatchB=1)],
        [("a", F, ["N", 2, 3]), ("b", F, ["N", 4, 3]), ("c", F, ["N", 3, 2]),
         ("d", F, [2, "M", 3]), ("e", F, [3, "M", 4]), ("h", F, [3, "M", 2])],
        "y z v w"), [f(2, 2, 3), f(2, 4, 3), f(2, 3, 2), f(2, 5, 3),
                     f(3, 5, 4), f(3, 5, 2)]


def norms(f):
    yield "skip_norm", model(
        [node("SkipLayerNormalization", "x s g b", "a", epsilon=1e-5),
         node("SkipLayerNormalization", "x s g - c", "d - - e", epsilon=1e-3),
         node("SkipSimplifiedLayerNormalization", "x s g c", "h - - i",
              epsilon=1e-6),
         node("SimplifiedLayerNormalization", "x g", "k", "", axis=-1,
              epsilon=1e-6)],
        [("x", F, ["N", "S", 4]), ("s", F, ["N", "S", 4])], "a d e h i k",
        {"g": f(4), "b": f(4), "c": f(4)}), [f(2, 3, 4), f(2, 3, 4)]
    tables = {"w": f(5, 4), "p": f(4, 4), "t": f(2, 4), "g": f(4), "b": f(4)}
    ids = np.int32([[1, 4, 0], [2, 2, 3]])
    yield "embed_norm", model(
        [node("EmbedLayerNormalization", "ids seg w p t g b mask", "a i",
              epsilon=1e-5),
         node("EmbedLayerNormalization", "ids - w p - g b - at", "c j d",
              epsilon=1e-5)],
        [("ids", I32, ["N", "S"]), ("seg", I32, ["N", "S"]),
         ("mask", I32, ["N", "S"]), ("at", I32, ["N", "S"])], "a i c j d",
        tables, [F, I32, F, I32, F]), [
            ids, ids % 2, np.int32([[1, 1, 0], [1, 1, 1]]), ids[:, ::-1] % 4]


def attention(f):
    heads, size = 2, 3
    wide = heads * size
    weights = {"w": f(4, 3 * wide), "b": f(3 * wide)}
    x, past = f(2, 3, 4), f(2, 2, heads, 2, size)
    ends = np.int32([2, 3])
    flags = np.int32([[1, 1, 0], [1, 1, 1]])
    nodes = [
        node("Attention", "x w b", "a", num_heads=heads),
        node("Attention", "x w b", "c", num_heads=heads, unidirectional=1,
             scale=0.3),
        node("Attention", "x w b ends", "d", num_heads=heads),
        node("Attention", "x w b both", "e", num_heads=heads),
        node("Attention", "x w b flags", "g", num_heads=heads,
             unidirectional=1, mask_filter_value=-50.0),
        node("Attention", "x w b square", "h", num_heads=heads),
        node("Attention", "x w b - - bias", "i", num_heads=heads),
        node("Attention", "x w b - past", "j k", num_heads=heads,
             unidirectional=1),
        node("Attention", "x v - ", "l", num_heads=heads,
             qkv_hidden_sizes=[4, 4, wide])]
    yield "packed_attention", model(
        nodes,
        [("x", F, [2, "S", 4]), ("ends", I32, [2]),
         ("both", I32, [4]), ("flags", I32, [2, "S"]),
         ("square", I32, [2, "S", "S"]), ("bias", F, [2, heads, "S", "S"]),
         ("past", F, [2, 2, heads, "P", size])],
        "a c d e g h i j k l", {**weights, "v": f(4, 8 + wide)}), [
            x, ends, np.int32([2, 3, 0, 1]), flags,
            np.tril(np.ones((2, 3, 3), np.int32)), f(2, heads, 3, 3), past]
    nodes = [
        node("MultiHeadAttention", "q k v", "a", num_heads=heads),
        node("MultiHeadAttention", "q k v b flags", "c", num_heads=heads),
        node("MultiHeadAttention", "q k v - - bias", "d", num_heads=heads,
             scale=0.2),
        node("MultiHeadAttention", "q k v b - - pk pv", "e g h",
             num_heads=heads, unidirectional=1),
        node("MultiHeadAttention", "q ck cv", "i", num_heads=heads)]
    yield "multi_head_attention", model(
        nodes,
        [("q", F, ["N", "S", wide]), ("k", F, ["N", "L", wide]),
         ("v", F, ["N", "L", wide]), ("flags", I32, ["N", "L"]),
         ("bias", F, [1, heads, "S", "L"]),
         ("pk", F, ["N", heads, "P", size]),
         ("pv", F, ["N", heads, "P", size]),
         ("ck", F, ["N", heads, "L", size]),
         ("cv", F, ["N", heads, "L", size])],
        "a c d e g h i", {"b": f(3 * wide)}), [
            f(2, 3, wide), f(2, 3, wide), f(2, 3, wide), flags,
            f(1, heads, 3, 3), f(2, heads, 2, size), f(2, heads, 2, size),
            f(2, heads, 3, size), f(2, heads, 3, size)]
    q, k, v = (f(2, 3, heads, size) for _ in range(3))
    flat = [x.reshape(2, 3, wide) for x in (q, k, v)]
    known = runtime_results(model(
        [node("MultiHeadAttention", "q k v", "a", num_heads=heads)],
        [(n, F, [2, 3, wide]) for n in "qkv"], "a"), flat)
    yield "packed_heads", model(
        [node("MultiHeadAttention", "q kv", "a", num_heads=heads),
         node("MultiHeadAttention", "qkv", "b", num_heads=heads)],
        [("q", F, ["N", "S", wide]), ("kv", F, ["N", "S", heads, 2, size]),
         ("qkv", F, ["N", "S", heads, 3, size])], "a b"), [
             flat[0], np.stack([k, v], 3), np.stack([q, k, v], 3)], known * 2


def rotary(f):
    angles = np.arange(6)[:, None] / 10.0 ** (np.arange(4) / 2)
    caches = {"cos": np.cos(angles).astype(np.float32),
              "sin": np.sin(angles).astype(np.float32)}
    yield "rotary_by_positions", model(
        [node("RotaryEmbedding", "x at cos sin", "a"),
         node("RotaryEmbedding", "x one cos sin", "b", interleaved=1),
         node("RotaryEmbedding", "h at cos sin", "c"),
         node("RotaryEmbedding", "p at cos sin", "d", num_heads=2,
              rotary_embedding_dim=8)],
        [("x", F, ["N", "S", 16]), ("h", F, ["N", 2, "S", 8]),
         ("p", F, ["N", "S", 24]), ("at", I64, ["N", "S"]), ("one", I64, [1])],
        "a b c d", caches), [
            f(2, 3, 16), f(2, 2, 3, 8), f(2, 3, 24),
            np.int64([[0, 1, 2], [3, 4, 5]]), np.int64([2])]
    heads, kv, size = 4, 2, 16
    angles = np.arange(8)[:, None] / 10.0 ** (np.arange(8) / 4)
    caches = {"cos": np.cos(angles).astype(np.float32),
              "sin": np.sin(angles).astype(np.float32)}
    inputs = [("q", F, ["N", "S", heads * size]),
              ("k", F, ["N", "S", kv * size]), ("v", F, ["N", "S", kv * size]),
              ("pk", F, ["N", kv, "P", size]), ("pv", F, ["N", kv, "P", size]),
              ("last", I32, ["N"]), ("total", I32, [])]
    variants = {"": {}, "_rotary": {"do_rotary": 1}, "_window": {
        "local_window_size": 2, "do_rotary": 1, "rotary_interleaved": 1},
        "_softcap": {"softcap": 2.0, "scale": 0.3}}
    for name, attributes in variants.items():
        at = " cos sin" if attributes.get("do_rotary") else ""
        graph = model([node("GroupQueryAttention",
                            "q k v pk pv last total" + at, "y k1 v1",
                            num_heads=heads, kv_num_heads=kv, **attributes)],
                      inputs, "y k1 v1", caches if at else {})
        for length, past, last in ((1, 4, [3, 4]), (3, 0, [2, 2])):
            yield f"group_attention{name}_{past}", graph, [
                f(2, length, heads * size), f(2, length, kv * size),
                f(2, length, kv * size), f(2, kv, past, size),
                f(2, kv, past, size), np.int32(last),
                np.array(past + length, np.int32)]


    # As exporters tell the lengths: by a mask.
    ids = np.ones((2, 5), np.int64)
    ids[0, 4] = 0
    yield "group_attention_mask", model(
        [node("ReduceSum", "mask axis", "sum", "", keepdims=0),
         node("Sub", "sum one", "last64", ""),
         node("Cast", "last64", "last", "", to=I32),
         node("Shape", "mask", "shape", ""),
         node("Gather", "shape at", "total64", "", axis=0),
         node("Cast", "total64", "total", "", to=I32),
         node("GroupQueryAttention", "qkv - - pk pv last total", "y k1 v1",
              num_heads=heads, kv_num_heads=kv)],
        [("qkv", F, ["N", "S", (heads + 2 * kv) * size]),
         ("mask", I64, ["N", "T"])] + inputs[3:5], "y k1 v1",
        {"axis": np.int64([1]), "one": np.int64(1), "at": np.int64(1)}), [
            f(2, 1, (heads + 2 * kv) * size), ids, f(2, kv, 4, size),
            f(2, kv, 4, size)]


def integers(r, type, *shape):
    info = np.iinfo(type)
    return r.integers(info.min, info.max, shape, type, endpoint=True)


def quantized(r, f):
    x, y = integers(r, np.uint8, 2, 3, 4, 4), integers(r, np.uint8, 2, 3, 4, 4)
    k = {"s": np.float32(0.02), "z": np.uint8(120), "t": np.float32(0.03),
         "u": np.uint8(110), "o": np.float32(0.0437), "p": np.uint8(100),
         "one": np.float32(1 / 256), "none": np.uint8(0)}
    unary, binary = "x s z o p", "x s z y t u o p"
    outputs = "a b c d e g h j k"
    yield "q_linear", model(
        [node("QLinearAdd", binary, "a"), node("QLinearMul", binary, "b"),
         node("QLinearSigmoid", "x s z one none", "c"),
         node("QLinearLeakyRelu", unary, "d", alpha=0.3),
         node("QLinearSoftmax", "x s z one none", "e", axis=-1, opset=13),
         node("QLinearAveragePool", unary, "g", kernel_shape=[2, 2],
              strides=[2, 2]),
         node("QLinearGlobalAveragePool", unary, "h"),
         node("QLinearConcat", "o p x s z y t u", "j", axis=1),
         node("QLinearWhere", "w x s z y t u o p", "k")],
        [("x", U8, ["N", 3, 4, 4]), ("y", U8, ["N", 3, 4, 4]),
         ("w", B, ["N", 1, 4, 4])], outputs, k, U8), [
             x, y, r.random((2, 1, 4, 4)) < 0.5]
    x = integers(r, np.uint8, 2, 5, 5, 3)
    w = integers(r, np.int8, 4, 3, 2, 2)
    yield "nhwc", model(
        [node("QLinearConv", "x s z w ws wz o p b", "a", channels_last=1,
              strides=[2, 2], pads=[0, 0, 1, 1]),
         node("NhwcMaxPool", "x", "b1", kernel_shape=[2, 2], strides=[2, 1]),
         node("QLinearAveragePool", "x s z o p", "c", kernel_shape=[3, 3],
              channels_last=1),
         node("QLinearGlobalAveragePool", "x s z o p", "d", channels_last=1)],
        [("x", U8, ["N", 5, 5, 3])], "a b1 c d",
        {**k, "o": np.float32(0.0437), "w": w,
         "ws": np.float32([0.01, 0.02, 0.013, 0.03]),
         "wz": np.zeros(4, np.int8),
         "b": np.int32([100, -500, 2000, 0])}, U8), [x]
    # ONNX Runtime has no kernel for it.
    scale, zero = np.float32(0.02), 120
    means = (x.astype(np.float32) - zero).mean((1, 2)) * scale
    yield "q_linear_reduce_mean", model(
        [node("QLinearReduceMean", "x s z o p", axes=[1, 2], keepdims=0)],
        [("x", U8, ["N", 5, 5, 3])], "y", {
            "s": scale, "z": np.uint8(zero), "o": np.float32(0.0011),
            "p": np.uint8(100)}, U8), [x], [
                np.clip(np.rint(means / np.float32(0.0011)) + 100, 0,
                        255).astype(np.uint8)]
    layout = model([node("Conv", "x w", domain=MS + ".nchwc")],
                   [("x", F, [1, 8, 4, 4])], "y", {"w": f(8, 8, 1, 1)})
    layout.opset_import.append(helper.make_opsetid(MS + ".nchwc", 1))
    yield "blocked_layout", layout, [f(1, 8, 4, 4)], [f(1, 8, 4, 4)]
    scales = r.random(4, np.float32) / 50 + 0.01
    weights = {**k, "w": integers(r, np.int8, 4, 3), "ws": scales,
               "wz": np.zeros(4, np.int8), "v": integers(r, np.int8, 3, 4),
               "c": integers(r, np.int16, 4).astype(np.int32) // 16,
               "bias": f(4)}
    yield "q_products", model(
        [node("QGemm", "x s z w ws wz c o p", "a", transB=1),
         node("QGemm", "x s z v t zero c", "b", alpha=0.5),
         node("DynamicQuantizeMatMul", "f v ws wz bias", "d"),
         node("DynamicQuantizeMatMul", "f v t", "e"),
         node("MatMulIntegerToFloat", "x v s ws z wz bias", "g")],
        [("x", U8, ["N", 3]), ("f", F, ["N", 3])], "a b d e g",
        {**weights, "zero": np.int8(3)}, [U8, F, F, F, F]), [
            integers(r, np.uint8, 2, 3), f(2, 3)]
    constants = {"w": integers(r, np.uint8, 6, 2, 8), "s": f(12) / 16,
                 "z": integers(r, np.uint8, 6), "w8": integers(
                     r, np.uint8, 6, 2, 16), "z8": integers(r, np.uint8, 12),
                 "b": f(6)}
    yield "mat_mul_n_bits", model(
        [node("MatMulNBits", "x w s", "a", K=32, N=6, bits=4, block_size=16),
         node("MatMulNBits", "x w s z", "c", K=32, N=6, bits=4, block_size=16),
         node("MatMulNBits", "x w s z - b", "d", K=32, N=6, bits=4,
              block_size=16),
         node("MatMulNBits", "x w8 s z8", "e", K=32, N=6, bits=8,
              block_size=16)],
        [("x", F, ["N", "S", 32])], "a c d e", constants), [f(2, 2, 32)]
    yield "gather_block_quantized", model(
        [node("GatherBlockQuantized", "w at s", "a", block_size=16),
         node("GatherBlockQuantized", "w at s z", "b2", block_size=16),
         node("GatherBlockQuantized", "w8 at s z8", "c", block_size=16,
              bits=8)],
        [("at", I64, ["N", "S"])], "a b2 c",
        {**constants, "w": constants["w"].reshape(6, 16),
         "w8": constants["w8"].reshape(6, 32),
         "s": constants["s"].reshape(6, 2), "z": constants["z"].reshape(6, 1),
         "z8": constants["z8"].reshape(6, 2)}), [
             np.int64([[5, 0, 1], [2, 3, 3]])]
    yield "wide_n_bits", model(
        [node("MatMulNBits", "x w s", "y", K=512, N=5, bits=4, block_size=32)],
        [("x", F, ["N", 512])], "y",
        {"w": integers(r, np.uint8, 5, 16, 16), "s": f(80) / 16}), [f(2, 512)]
    yield "ms_quantize_linear", model(
        [node("QuantizeLinear", "x s z", "a"),
         node("DequantizeLinear", "a s z", "b"),
         node("QuantizeLinear", "x t u", "c", axis=1),
         node("DequantizeLinear", "c t u", "d", axis=1)],
        [("x", F, ["N", 3])], "a b c d",
        {"s": np.float32(0.01), "z": np.uint16(3000),
         "t": np.float32([0.1, 0.2, 0.3]), "u": np.int8([1, 2, 3])},
        [TensorProto.UINT16, F, I8, F]), [f(2, 3)]


def quantized_layers(r, f):
    """Attention, embeddings and LSTM of integers."""
    k = {"s": np.float32(0.02), "z": np.uint8(120), "t": np.float32(0.015),
         "o": np.int8(2)}
    yield "q_attention", model(
        [node("QAttention", "x w b s t - z o", "a", num_heads=2),
         node("QAttention", "x w b s t ends z o", "c", num_heads=2,
              unidirectional=1)],
        [("x", U8, [2, "S", 4]), ("ends", I32, [2])], "a c",
        {**k, "w": integers(r, np.int8, 4, 18), "b": f(18)}), [
            integers(r, np.uint8, 2, 3, 4), np.int32([2, 3])]
    tables = {"w": (5, 4), "p": (4, 4), "t2": (2, 4), "g": (4,), "b": (4,)}
    tables = {n: integers(r, np.uint8, *shape) for n, shape in tables.items()}
    yield "q_embed_norm", model(
        [node("QEmbedLayerNormalization",
              "ids seg w p t2 g b mask" + " s" * 5 + " z" * 5, "a i",
              epsilon=1e-5)],
        [(n, I32, ["N", "S"]) for n in ("ids", "seg", "mask")], "a i",
        {**tables, "s": k["s"], "z": k["z"]}, [F, I32]), [
            np.int32([[1, 4, 0], [2, 2, 3]]), np.int32([[1, 0, 0], [0, 1, 1]]),
            np.int32([[1, 1, 0], [1, 1, 1]])]
    hidden = 3
    w, u = (integers(r, np.int8, 2, n, 4 * hidden) for n in (2, hidden))
    scales = [r.random((2,), np.float32) / 90,
              r.random((2, 4 * hidden), np.float32) / 90]
    zeros = [np.int8([3, -4]), np.zeros((2, 4 * hidden), np.int8)]
    bias, x = f(2, 8 * hidden), f(3, 2, 2)
    floats = [((a.astype(np.float32) - z.reshape(2, 1, -1))
               * scale.reshape(2, 1, -1)).transpose(0, 2, 1)
              for a, scale, z in zip((w, u), scales, zeros)]
    layer = dict(direction="bidirectional", hidden_size=hidden)
    inputs = [("x", F, ["T", "N", 2])]
    known = runtime_results(model(
        [node("LSTM", "x w u b", "y h c", "", **layer)], inputs, "y h c",
        {"w": floats[0], "u": floats[1], "b": bias}), [x])
    yield "dynamic_quantize_lstm", model(
        [node("DynamicQuantizeLSTM", "x w u b - - - - ws wz us uz", "y h c",
              **layer)], inputs, "y h c",
        {"w": w, "u": u, "b": bias, "ws": scales[0], "wz": zeros[0],
         "us": scales[1], "uz": zeros[1]}), [x], known


def fused_models():
    r = np.random.default_rng(3)

    def f(*shape):
        return r.standard_normal(shape, np.float32)

    for cases in (activated(f), products(f), norms(f), attention(f), rotary(f),
                  quantized(r, f), quantized_layers(r, f)):
        for name, *case in cases:
            yield "own_" + name, *case
