"""quantized -- PyTorch's definition of the operators torch.ops.cfx.quantized_*.

Sums of integers are exact in float64.  Importing this registers the operators.
"""

import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401: its operators
import torch.nn.functional as F

from blocked import (BLOCK, LIBRARY, add_without_schema, blocks, joined,
                     row_major)

QUAD = 4


def check_types(x, weight, offset, scale, bias):
    for t, dtype in ((x, torch.uint8), (weight, torch.int8),
                     (offset, torch.int32), (scale, torch.float32),
                     (bias, torch.float32)):
        if t is not None and t.dtype != dtype:
            raise TypeError(str(dtype))


def rounded(y, zero_point, min=None, max=None):
    """y, of float64, as float32 in a range; with a zero point as uint8."""
    y = y.float()
    if min is not None or max is not None:
        y = y.clamp(min, max)
    if zero_point is None:
        return y
    if not 0 <= zero_point <= 255:
        raise ValueError("zero point")
    return (y.clamp(-zero_point, 255 - zero_point).round().int()
            + zero_point).to(torch.uint8)


def post_ops_of(post_ops):
    """Names and arguments, which are in the order of the kernels."""
    order = ("clamp", "quantize", "quantized_add")
    at = [order.index(name) for name, *_ in post_ops]
    if at != sorted(set(at)) or at[-2:] in ([2], [0, 2]):
        raise ValueError("order")
    return [(name, args) for name, *args in post_ops]


def finished(y, offset, scale, bias, post_ops):
    """The end of sums, whose last axis is that of all channels in blocks."""
    known = dict(post_ops_of(post_ops))
    low, high = known.get("clamp", (None, None))
    zero_point, = known.get("quantize", (None,))
    for t in (offset, scale, bias):
        if t is not None and t.shape != y.shape[-1:]:
            raise ValueError("channels")
    y = (y + offset).float().double() * scale.double()
    if bias is not None:
        y = y + bias.double()
    return rounded(y, zero_point, low, high)


def filters(x, weight, out_features):
    """A packed weight as (out, in), with what fills up the last block."""
    if weight.dim() != 4 or weight.shape[2:] != (BLOCK, QUAD):
        raise ValueError("forms")
    if -(-out_features // BLOCK) != weight.shape[0]:
        raise ValueError("features")
    if x.shape[-1] * 255 * 128 > 2 ** 31 - 1:
        raise ValueError("a sum that does not fit into 32 bits")
    # (O, K / 4, 16, 4) as (O, 16, K / 4, 4)
    return weight.transpose(1, 2).flatten(2, 3).flatten(0, 1)


def quantized_linear(x, weight, out_features, offset, scale, bias=None,
                     post_ops=()):
    check_types(x, weight, offset, scale, bias)
    weight = filters(x, weight, out_features)
    y = F.linear(x.double(), weight.double())
    if "quantized_add" in dict(post_ops_of(post_ops)):
        raise ValueError("a sum")
    y = finished(y, offset, scale, bias, post_ops)
    return row_major(y[..., :out_features])


def dynamic_quantized_linear(x, x_scale, x_zero, weight, out_features,
                             weight_sums, scale, bias=None):
    if x.dtype not in (torch.uint8, torch.int8) or x_zero.dtype != torch.int64:
        raise TypeError(str(x.dtype))
    if x_scale.dtype not in (torch.float32, torch.float64):
        raise TypeError(str(x_scale.dtype))
    check_types(torch.zeros(0, dtype=torch.uint8), weight, weight_sums, scale,
                bias)
    rows = x.shape[:-1].numel()
    if x_scale.numel() not in (1, rows) or x_zero.numel() != x_scale.numel():
        raise ValueError("scales")
    limits = torch.iinfo(x.dtype)
    if ((x_zero < limits.min) | (x_zero > limits.max)).any():
        raise ValueError("zero point")
    weight = filters(x, weight, out_features)
    for t in (weight_sums, scale, bias):
        if t is not None and t.shape != weight.shape[:1]:
            raise ValueError("features")
    by_row = (x.shape[:-1] if x_scale.numel() > 1 else ()) + (1,)
    zero = x_zero.reshape(by_row).double()
    low = min(0, limits.min)  # sums of int8 are those of uint8, 128 less
    y = F.linear(x.double() - low, weight.double())
    y = (y - (zero - low) * weight_sums) * x_scale.reshape(by_row) * scale
    if bias is not None:
        y = y + bias
    return row_major(y.float()[..., :out_features])


def quantized_conv2d(x, weight, offset, scale, bias=None, stride=(1, 1),
                     padding=(0, 0), dilation=(1, 1), input_zero_point=0,
                     groups=1, post_ops=()):
    check_types(x, weight, offset, scale, bias)
    depthwise = weight.dim() == 4
    if depthwise:
        if x.dim() != 5 or (x.shape[4], weight.shape[3]) != (BLOCK, BLOCK):
            raise ValueError("forms")
        if weight.shape[1] * weight.shape[2] > 256:
            raise ValueError("taps")
    elif (x.dim() != 5 or weight.dim() != 7
            or weight.shape[5:] != (BLOCK, QUAD)
            or x.shape[4] != weight.shape[4] * QUAD):
        raise ValueError("forms")
    if groups < 1 or len(weight) % groups or depthwise and groups > 1:
        raise ValueError("groups")
    if not 0 <= input_zero_point <= 255 or any(p < 0 for p in padding):
        raise ValueError("zero point or padding")
    if depthwise:
        weight = joined(weight, 0).unsqueeze(1)
    else:
        # (O, I, kh, kw, B / 4, 16, 4) as (O, 16, I, B / 4, 4, kh, kw)
        weight = weight.permute(0, 5, 1, 4, 6, 2, 3)
        weight = weight.flatten(2, 4).flatten(0, 1)
    x = F.pad(joined(x, 1).double(), (padding[1], padding[1],
                                      padding[0], padding[0]),
              value=input_zero_point)
    y = F.conv2d(x, weight.double(), None, stride, 0, dilation,
                 len(weight) if depthwise else groups)
    y = finished(y.movedim(1, -1), offset, scale, bias, post_ops)
    y = row_major(blocks(y.movedim(-1, 1), 1))
    add = dict(post_ops_of(post_ops)).get("quantized_add")
    if add is None:
        return y
    if depthwise:
        raise ValueError("a sum")
    return quantized_add(y, *add)


def clamped(y, zero_point, quant_min, quant_max):
    if not 0 <= zero_point <= 255 or not 0 <= quant_min <= quant_max <= 255:
        raise ValueError("range")
    return (y.float().round() + zero_point).clamp(
        quant_min, quant_max).to(torch.uint8)


def check_bytes(*tensors):
    for t in tensors:
        if t.dtype != torch.uint8:
            raise TypeError("uint8")


def quantized_add(a, b, scale, other_scale, bias, zero_point, quant_min=0,
                  quant_max=255):
    check_bytes(a, b)
    if a.shape != b.shape:
        raise ValueError("shapes")
    k, m, c = (torch.tensor(v).float().double()
               for v in (scale, other_scale, bias))
    y = (b.double() * m + c).float().double()
    return row_major(clamped(a.double() * k + y, zero_point, quant_min,
                             quant_max))


def quantized_mean2d(x, scale, bias, zero_point, quant_min=0, quant_max=255):
    check_bytes(x)
    if x.dim() != 5 or x.shape[4] != BLOCK or 0 in x.shape[2:]:
        raise ValueError("blocks")
    k = torch.tensor(scale / (x.shape[2] * x.shape[3])).float().double()
    y = x.double().sum((2, 3), keepdim=True).float().double() * k
    return clamped(y + torch.tensor(bias).float().double(), zero_point,
                   quant_min, quant_max)


def quantize_to_blocked(x, scale, zero_point, quant_min=0, quant_max=255,
                        block=BLOCK):
    if x.dtype != torch.float32:
        raise TypeError("float32")
    if x.dim() != 4 or not 1 <= block <= BLOCK or not scale > 0:
        raise ValueError("(N, C, H, W), block, scale")
    clamped(x[:0], zero_point, quant_min, quant_max)
    y = torch.ops.quantized_decomposed.quantize_per_tensor(
        x, scale, zero_point, quant_min, quant_max, torch.uint8)
    return row_major(blocks(y, 1, block))


def quantized_lookup(x, table):
    check_bytes(x, table)
    if table.shape != (256,):
        raise ValueError("table")
    return row_major(table[x.long()])


def quantized_layer_norm(x, weight, bias, eps, zero_point, quant_min=0,
                         quant_max=255):
    check_bytes(x)
    if weight.dtype != torch.float32 or bias.dtype != torch.float32:
        raise TypeError("float32")
    if weight.shape != x.shape[-1:] or bias.shape != x.shape[-1:] or eps <= 0:
        raise ValueError("rows")
    v, n = x.double(), x.shape[-1]
    total, squares = v.sum(-1, True), (v * v).sum(-1, True)
    k = 1 / ((n * squares - total * total) / (n * n) + eps).sqrt()
    y = v * k.float().double() + (-total / n * k).float().double()
    y = y.float().double() * weight.double() + bias.double()
    return row_major(clamped(y.float().clamp(-999, 999), zero_point,
                             quant_min, quant_max))


def quantized_attention(query, key, value, attn_mask=None, is_causal=False, *,
                        scale, query_zero_point, value_scale,
                        value_zero_point, enable_gqa=False):
    """Keys have a zero point too, which takes no part: see attention.c."""
    check_bytes(query, key, value)
    if query.shape[-1] % QUAD:
        raise ValueError("fours")
    if not 0 <= query_zero_point <= 255 or not 0 <= value_zero_point <= 255:
        raise ValueError("zero point")
    if attn_mask is not None and attn_mask.dtype != torch.bool:
        if attn_mask.dtype != torch.float32:
            raise TypeError("mask")
        attn_mask = attn_mask.double()
    return F.scaled_dot_product_attention(
        query.double() - query_zero_point, key.double() - 128,
        (value.double() - value_zero_point) * value_scale, attn_mask,
        is_causal=is_causal, scale=scale, enable_gqa=enable_gqa).float()


# ---------------------------------------------------------- recurrent layers


def by_range(x):
    """x, quantized to 0..127 and back by its range."""
    ops = torch.ops.quantized_decomposed
    scale, zero = ops.choose_qparams(x, 0, 127, torch.finfo(x.dtype).eps,
                                     torch.uint8)
    q = ops.quantize_per_tensor(x, scale, zero, 0, 127, torch.uint8)
    return ops.dequantize_per_tensor(q, scale, zero, 0, 127, torch.uint8)


def lstm_step(x, h, state):
    i, f, g, o = (x + h).chunk(4, 1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def gru_step(x, h, state):
    (r, z, n), (hr, hz, hn) = x.chunk(3, 1), h.chunk(3, 1)
    n = (n + (r + hr).sigmoid() * hn).tanh()
    return (n + (z + hz).sigmoid() * (state[0] - n),)


def recurrent(step, x, hx, params, has_biases, num_layers, dropout, train,
              bidirectional, batch_first):
    """Layers whose products are of quantized inputs."""
    x = x.transpose(0, 1) if batch_first else x
    each, directions = (4 if has_biases else 2), 1 + bidirectional
    if len(params) != each * directions * num_layers:
        raise RuntimeError("the weights do not make so many layers")
    last = []
    for layer in range(num_layers):
        outs = []
        for d in range(directions):
            at = layer * directions + d
            w_ih, w_hh, *b = params[at * each:(at + 1) * each]
            b_ih, b_hh = b or (None, None)
            gates = torch.nn.functional.linear(by_range(x), w_ih, b_ih)
            state, out = tuple(h[at] for h in hx), [None] * len(x)
            for t in range(len(x))[::-1 if d else 1]:
                h = torch.nn.functional.linear(by_range(state[0]), w_hh, b_hh)
                state = step(gates[t], h, state)
                out[t] = state[0]
            outs.append(torch.stack(out))
            last.append(state)
        x = torch.cat(outs, -1)
    return (x.transpose(0, 1) if batch_first else x,
            *(torch.stack(h) for h in zip(*last)))


def dynamic_lstm(x, hx, *more):
    return recurrent(lstm_step, x, hx, *more)


def dynamic_gru(x, hx, *more):
    return recurrent(gru_step, x, [hx], *more)


add_without_schema(quantized_linear, quantized_conv2d)

LAYERS = ("Tensor[] params, bool has_biases, int num_layers, float dropout, "
          "bool train, bool bidirectional, bool batch_first) -> ")
RANGE = "int zero_point, int quant_min=0, int quant_max=255"

for schema, function in (
        ("quantized_add(Tensor self, Tensor other, float scale, float "
         "other_scale, float bias, " + RANGE + ") -> Tensor", quantized_add),
        ("dynamic_quantized_linear(Tensor input, Tensor input_scale, Tensor "
         "input_zero_point, Tensor weight, SymInt out_features, Tensor "
         "weight_sums, Tensor scale, Tensor? bias=None) -> Tensor",
         dynamic_quantized_linear),
        ("quantized_mean2d(Tensor self, float scale, float bias, " + RANGE
         + ") -> Tensor", quantized_mean2d),
        ("quantized_lookup(Tensor self, Tensor table) -> Tensor",
         quantized_lookup),
        ("quantized_layer_norm(Tensor self, Tensor weight, Tensor bias, float "
         "eps, " + RANGE + ") -> Tensor", quantized_layer_norm),
        ("quantized_scaled_dot_product_attention(Tensor query, Tensor key, "
         "Tensor value, Tensor? attn_mask=None, bool is_causal=False, *, "
         "float scale, int query_zero_point, float value_scale, int "
         "value_zero_point, bool enable_gqa=False) -> Tensor",
         quantized_attention),
        ("dynamic_lstm(Tensor input, Tensor[] hx, " + LAYERS
         + "(Tensor, Tensor, Tensor)", dynamic_lstm),
        ("dynamic_gru(Tensor input, Tensor hx, " + LAYERS
         + "(Tensor, Tensor)", dynamic_gru),
        ("quantize_to_blocked(Tensor self, float scale, " + RANGE
         + ", int block=16) -> Tensor", quantize_to_blocked)):
    LIBRARY.define(schema)
    LIBRARY.impl(schema.split("(")[0], function, "CompositeExplicitAutograd")
