"""blocked -- PyTorch's definition of the operators torch.ops.cfx.

Images in blocks of 16 channels are taken apart, computed by PyTorch, and put
together again.  Importing this registers the operators.
"""

import torch
import torch.nn.functional as F

BLOCK = 16
LIBRARY = torch.library.Library("cfx", "DEF")


def blocks(x, axis, block=BLOCK):
    """Split an axis into whole blocks, which move to the end."""
    more = -x.shape[axis] % block
    pad = [0, 0] * (x.dim() - 1 - axis) + [0, more]
    return F.pad(x, pad).unflatten(axis, (-1, block)).movedim(axis + 1, -1)


def joined(x, axis, block=-1):
    return x.movedim(block, axis + 1).flatten(axis, axis + 1)


def row_major(x):
    return x.clone(memory_format=torch.contiguous_format)


def uninitialized(size, dtype=None):
    return torch.empty(size, dtype=dtype)


def to_blocked(x, block=BLOCK):
    if x.dim() != 4:
        raise ValueError("(N, C, H, W)")
    if not 1 <= block <= BLOCK:
        raise ValueError("block")
    return row_major(blocks(x, 1, block))


def from_blocked(x, channels):
    if x.dim() != 5 or x.shape[4] != BLOCK:
        raise ValueError("blocks")
    if -(-channels // BLOCK) != x.shape[1]:
        raise ValueError("channels")
    return row_major(joined(x, 1)[:, :channels])


def activated(y, name, args):
    """y after an activation of torch.nn.functional with these arguments."""
    known = {"relu": 0, "sigmoid": 0, "tanh": 0, "silu": 0, "mish": 0,
             "hardsigmoid": 0, "hardswish": 0, "gelu": 1, "leaky_relu": 1,
             "elu": 3, "softplus": 2}
    if len(args) > known[name]:
        raise ValueError("arguments")
    if name == "gelu":
        return F.gelu(y, approximate=args[0] if args else "none")
    if name == "elu":
        return torch.ops.aten.elu(y, *args)
    return getattr(F, name)(y, *args)


def finished(y, post_ops, images=True):
    """y after post-operations, which are in the order of the kernels."""
    order, last = ("add", "clamp", None, "to"), -1
    for name, *args in post_ops:
        form = order.index(name if name in order else None)
        if form <= last:
            raise ValueError("order")
        last = form
        if name == "add":
            add, = args
            add = widened(add) if images else add
            check_types(add, add)
            if add.shape != y.shape:
                raise ValueError("add")
            y = y + add
        elif name == "clamp":
            low, high = args
            y = y.clamp(low, high)
        elif name == "to":
            dtype, = args
            if dtype != torch.float32 and not (
                    images and dtype == torch.bfloat16):
                raise TypeError("float32 or bfloat16")
            y = y.to(dtype)
        else:
            y = activated(y, name, args)
    return row_major(y)


def check_types(x, weight, *others):
    """All float32, but the weight may be bfloat16."""
    for t in (x, *others):
        if t is not None and t.dtype != torch.float32:
            raise TypeError("float32")
    if weight.dtype not in (torch.float32, torch.bfloat16):
        raise TypeError("float32 or bfloat16")


def widened(image):
    """An image in blocks, which may be bfloat16, as float32."""
    narrow = (image is not None and image.dim() == 5
              and image.dtype == torch.bfloat16)
    return image.float() if narrow else image


def unpaired(weight):
    """(..., in / 2, out, 2) as (..., in, out) of float32."""
    if weight.shape[-1] != 2:
        raise ValueError("pairs")
    return weight.float().transpose(-1, -2).flatten(-3, -2)


def unpaired_rows(weight, channels):
    """(O, in / 2, kh, kw, 16, 2) as (O, in, kh, kw, 16) of float32."""
    if weight.shape[-1] != 2 or weight.shape[1] != (channels + 1) // 2:
        raise ValueError("pairs")
    weight = weight.float().movedim(-1, 2).flatten(1, 2)
    return weight[:, :channels]


def dense(x, weight, bias, *window, post_ops):
    """A convolution of (N, C, H, W), in blocks, and what may follow it."""
    y = blocks(F.conv2d(x, weight, bias, *window), 1)
    if not post_ops or post_ops[-1][0] != "blocked_depthwise_conv2d":
        return finished(y, post_ops)
    weight, *rest = post_ops[-1][1:]
    if weight.dim() != 4:
        raise ValueError("forms")
    for op in (*post_ops, *(rest[4] if len(rest) > 4 else ())):
        if op[0] == "add":
            raise ValueError("add")
    return blocked_depthwise_conv2d(finished(y, post_ops[:-1]), weight, *rest)


def blocked_conv2d(x, weight, bias=None, stride=(1, 1), padding=(0, 0),
                   dilation=(1, 1), groups=1, post_ops=(), in_channels=None,
                   input_scale=None):
    x = widened(x)
    if (x.dim(), x.shape[-1]) != (5, BLOCK):
        raise ValueError("forms")
    if groups != 1 and not (in_channels is None and input_scale is None):
        raise ValueError("groups")
    if input_scale is not None:
        check_types(x, input_scale)
        if input_scale.shape != x.shape[:2] + (1, 1, BLOCK):
            raise ValueError("input_scale")
        x = x * input_scale
    if in_channels is not None:
        if -(-in_channels // BLOCK) != x.shape[1]:
            raise ValueError("in_channels")
        kept = torch.arange(x.shape[1] * BLOCK) < in_channels
        x = torch.where(kept.reshape(-1, 1, 1, BLOCK), x, 0)
    check_types(x, weight, bias)
    if weight.dtype == torch.bfloat16:
        if weight.dim() != 7:
            raise ValueError("forms")
        weight = unpaired(weight)
    if weight.dim() != 6 or weight.shape[4:] != (BLOCK, BLOCK):
        raise ValueError("forms")
    if weight.shape[0] % groups:
        raise ValueError("blocks of a group")
    weight = joined(joined(weight, 0), 1, 4)
    return dense(joined(x, 1), weight, bias, stride, padding, dilation,
                 groups, post_ops=post_ops)


def blocked_row_major_conv2d(x, weight, bias=None, stride=(1, 1),
                             padding=(0, 0), dilation=(1, 1), post_ops=()):
    check_types(x, weight, bias)
    if x.dim() != 4:
        raise ValueError("forms")
    if weight.dtype == torch.bfloat16:
        if weight.dim() != 6:
            raise ValueError("forms")
        weight = unpaired_rows(weight, x.shape[1])
    if weight.dim() != 5 or weight.shape[4] != BLOCK:
        raise ValueError("forms")
    return dense(x, joined(weight, 0), bias, stride, padding, dilation,
                 post_ops=post_ops)


def blocked_depthwise_conv2d(x, weight, bias=None, stride=(1, 1),
                             padding=(0, 0), dilation=(1, 1), post_ops=()):
    x = widened(x)
    check_types(x, weight, bias)
    if weight.dtype != torch.float32:
        raise TypeError("float32")
    if x.dim() != 5 or (x.shape[4], weight.shape[-1]) != (BLOCK, BLOCK):
        raise ValueError("forms")
    if weight.dim() == 5:
        if weight.shape[0] != x.shape[0]:
            raise ValueError("images")
        y = torch.cat([blocked_depthwise_conv2d(
            x[i:i + 1], weight[i], bias, stride, padding, dilation)
            for i in range(x.shape[0])])
        return finished(y, post_ops)
    weight = joined(weight, 0).unsqueeze(1)
    y = F.conv2d(joined(x, 1), weight, bias, stride, padding, dilation,
                 weight.shape[0])
    return finished(blocks(y, 1), post_ops)


def matrices(points):
    """B^T and A^T of F(len(points) - 1, 3) for the points and infinity."""
    into = []
    for left_out in range(len(points)):
        p = [1.0]
        for i in range(len(points)):
            if i != left_out:  # times (x - point), the lowest power first
                p = [s - points[i] * t
                     for s, t in zip([0.0] + p, p + [0.0])]
        into.append(p + [0.0])
    last = [1.0]
    for q in points:
        last = [s - q * t for s, t in zip([0.0] + last, last + [0.0])]
    into.append(last)
    tile = len(points) - 1
    out = [[q ** i for q in points] + [float(i == tile - 1)]
           for i in range(tile)]
    return (torch.tensor(into, dtype=torch.float64),
            torch.tensor(out, dtype=torch.float64))


def blocked_winograd_conv2d(x, weight, bias=None, padding=(0, 0),
                            post_ops=()):
    x = widened(x)
    check_types(x, weight, bias)
    points = (0, 0.75, -0.75, 1.5, -1.5)
    if weight.dtype == torch.bfloat16:
        weight, points = unpaired(weight), (0, 1, -1)
    tile, edge = len(points) - 1, len(points) + 1
    if (x.dim() != 5 or weight.dim() != 5 or weight.shape[0] != edge ** 2
            or any(n != BLOCK for n in weight.shape[3:] + x.shape[4:])):
        raise ValueError("forms")
    if x.shape[1] != weight.shape[2] or any(p < 0 for p in padding):
        raise ValueError("channels or padding")
    size = [n + 2 * p - 2 for n, p in zip(x.shape[2:4], padding)]
    if any(n < 1 for n in size):
        raise ValueError("window")
    if bias is not None and bias.shape != (weight.shape[1] * BLOCK,):
        raise ValueError("bias")
    into, out = (t.to(x.device) for t in matrices(points))
    u = weight.double().unflatten(0, (edge, edge)).permute(0, 1, 2, 5, 3, 4)
    u = u.flatten(2, 3).flatten(3, 4)                     # (edge, edge, O, I)
    more = [-n % tile for n in size]
    image = F.pad(joined(x, 1).double(),
                  (padding[1], padding[1] + more[1],
                   padding[0], padding[0] + more[0]))
    tiles = image.unfold(2, edge, tile).unfold(3, edge, tile)
    v = torch.einsum("ai,ncyxij,bj->ncyxab", into, tiles, into)
    m = torch.einsum("aboc,ncyxab->noyxab", u, v)
    y = torch.einsum("ai,noyxij,bj->noyaxb", out, m, out)
    y = y.flatten(4, 5).flatten(2, 3)[:, :, :size[0], :size[1]]
    y = blocks(y.float(), 1)
    if bias is not None:
        y = y + blocks(bias[None, :, None, None], 1)
    return finished(y, post_ops)


def integers(weight):
    """(blocks, words, 16, of a word) from packed integers."""
    if weight.dim() != 4 or weight.shape[2:] != (BLOCK, 4):
        raise ValueError("forms")
    if weight.dtype == torch.uint8:  # two in a byte, 8 added
        weight = torch.stack((weight & 15, weight >> 4), -1).flatten(-2)
        weight = weight.to(torch.int8) - 8
    return weight


def scaled(weight, scale, zero=None):
    """(blocks, K, 16) of float32 from packed integers, scaled."""
    dtype, weight = weight.dtype, integers(weight)
    if scale.dim() == 1:
        scale = scale.unflatten(0, (-1, 1, BLOCK))
    groups, words = scale.shape[1], weight.shape[1]
    if scale.shape != (weight.shape[0], groups, BLOCK) or groups < 1 or \
            words % groups:
        raise ValueError("scale")
    # (blocks, words, 16, of a word) as (blocks, K, 16)
    weight = weight.transpose(2, 3).flatten(1, 2).float()
    weight = weight.unflatten(1, (groups, weight.shape[1] // groups))
    if zero is not None:
        if zero.dtype != dtype:
            raise TypeError("zero_point")
        zero = integers(zero)
        if zero.shape[:2] != (scale.shape[0], -(-groups // zero.shape[3])):
            raise ValueError("zero_point")
        weight = weight - zero.transpose(2, 3).flatten(1, 2)[
            :, :groups].unsqueeze(2)
    return (weight * scale.unsqueeze(2)).flatten(1, 2)


def packed_embedding(weight, indices, num_embeddings, scale, zero_point=None):
    if weight.dtype not in (torch.int8, torch.uint8):
        raise TypeError("integers")
    check_types(scale, scale)
    table = scaled(weight, scale, zero_point).transpose(1, 2).flatten(0, 1)
    if -(-num_embeddings // BLOCK) != weight.shape[0]:
        raise ValueError("rows")
    return row_major(F.embedding(indices, table[:num_embeddings]))


def packed_linear(x, weight, out_features, bias=None, post_ops=(),
                  scale=None, zero_point=None):
    if (weight.dtype in (torch.int8, torch.uint8)) != (scale is not None):
        raise ValueError("scale")
    if zero_point is not None and scale is None:
        raise ValueError("zero_point")
    if scale is not None:
        check_types(x, x, bias, scale)
        weight = scaled(weight, scale, zero_point)
    check_types(x, weight, bias)
    if weight.dtype == torch.bfloat16:
        if weight.dim() != 4:
            raise ValueError("forms")
        weight = unpaired(weight)
    if weight.dim() != 3 or weight.shape[2] != BLOCK:
        raise ValueError("blocks")
    if -(-out_features // BLOCK) != weight.shape[0]:
        raise ValueError("features")
    if bias is not None and bias.shape != (out_features,):
        raise ValueError("bias")
    weight = weight.transpose(1, 2).flatten(0, 1)[:out_features]
    return finished(F.linear(x, weight, bias), post_ops, images=False)


def unpacked(t, gates, units):
    """A packed weight or a bias of a recurrent layer as torch has it."""
    more = -(-units // BLOCK) * BLOCK
    if t.dim() == 1:
        if t.shape[0] != gates * more:
            raise ValueError("bias")
        return t.unflatten(0, (gates, -1))[:, :units].flatten()
    if t.dtype == torch.bfloat16:
        if t.dim() != 4:
            raise ValueError("forms")
        t = unpaired(t)
    if t.dim() != 3 or t.shape[0] * BLOCK != gates * more or \
            t.shape[2] != BLOCK:
        raise ValueError("blocks")
    t = t.transpose(1, 2).flatten(0, 1).unflatten(0, (gates, -1))
    return t[:, :units].flatten(0, 1)


def recurrent(name, gates):
    def packed(x, hx, params, has_biases, num_layers, dropout, train,
               bidirectional, batch_first):
        states = hx if gates == 4 else [hx]
        if not states:
            raise ValueError("states")
        check_types(x, x, *states)
        units = states[0].shape[-1]
        each = 4 if has_biases else 2
        if len(params) != num_layers * (1 + bidirectional) * each:
            raise ValueError("params")
        params = [unpacked(t, gates, units) for t in params]
        if any(t.shape[1] != units for t in params[1::each]):
            raise ValueError("units")
        return getattr(torch, name)(
            x, hx, params, has_biases, num_layers, dropout, train,
            bidirectional, batch_first)
    return packed


def pooled(pool, x, *settings):
    if x.dtype == torch.uint8 and pool is F.max_pool2d:
        return pooled(pool, x.float(), *settings).to(torch.uint8)
    if x.dtype == torch.bfloat16:
        return pooled(pool, x.float(), *settings).to(x.dtype)
    if x.dtype != torch.float32:
        raise TypeError("float32")
    if x.dim() != 5 or x.shape[4] != BLOCK:
        raise ValueError("blocks")
    return row_major(blocks(pool(joined(x, 1), *settings), 1))


def blocked_max_pool2d(x, kernel_size, stride=None, padding=(0, 0),
                       dilation=(1, 1), ceil_mode=False):
    return pooled(F.max_pool2d, x, kernel_size, stride, padding, dilation,
                  ceil_mode)


def blocked_avg_pool2d(x, kernel_size, stride=None, padding=(0, 0),
                       ceil_mode=False, count_include_pad=True,
                       divisor_override=None):
    return pooled(F.avg_pool2d, x, kernel_size, stride, padding, ceil_mode,
                  count_include_pad, divisor_override)


def fused_pointwise(operands, steps):
    values = list(operands)
    for name, *args in steps:
        kwargs = args.pop() if args and isinstance(args[-1], dict) else {}
        function = torch
        for part in name.split(".")[1:]:
            function = getattr(function, part)
        args = [value_of(values, a) for a in args]
        kwargs = {k: value_of(values, a) for k, a in kwargs.items()}
        values.append(function(*args, **kwargs))
    return values[-1]


def value_of(values, arg):
    named = isinstance(arg, str) and arg[:1] == "v" and arg[1:].isdigit()
    return values[int(arg[1:])] if named else arg


def add_without_schema(*functions):
    """Add operators with lists of tuples, which PyTorch's schemas cannot say."""
    for function in functions:
        function.default = function
        setattr(torch.ops.cfx, function.__name__, function)


add_without_schema(fused_pointwise, blocked_conv2d, blocked_row_major_conv2d,
                   blocked_depthwise_conv2d, blocked_winograd_conv2d,
                   packed_linear)

RECURRENT = [
    (f"packed_{name}(Tensor input, {states} hx, Tensor[] params, bool "
     "has_biases, int num_layers, float dropout, bool train, bool "
     f"bidirectional, bool batch_first) -> ({results})",
     recurrent(name, gates))
    for name, gates, states, results in (
        ("lstm", 4, "Tensor[]", "Tensor, Tensor, Tensor"),
        ("gru", 3, "Tensor", "Tensor, Tensor"),
        ("rnn_tanh", 1, "Tensor", "Tensor, Tensor"),
        ("rnn_relu", 1, "Tensor", "Tensor, Tensor"))]

for schema, function in (
        *RECURRENT,
        ("uninitialized(SymInt[] size, *, ScalarType? dtype=None) -> Tensor",
         uninitialized),
        ("to_blocked(Tensor self, int block=16) -> Tensor", to_blocked),
        ("from_blocked(Tensor self, SymInt channels) -> Tensor",
         from_blocked),
        ("blocked_max_pool2d(Tensor self, SymInt[2] kernel_size, SymInt[2]? "
         "stride=None, SymInt[2] padding=0, SymInt[2] dilation=1, bool "
         "ceil_mode=False) -> Tensor", blocked_max_pool2d),
        ("blocked_avg_pool2d(Tensor self, SymInt[2] kernel_size, SymInt[2]? "
         "stride=None, SymInt[2] padding=0, bool ceil_mode=False, bool "
         "count_include_pad=True, int? divisor_override=None) -> Tensor",
         blocked_avg_pool2d),
        ("packed_embedding(Tensor weight, Tensor indices, SymInt "
         "num_embeddings, Tensor scale, Tensor? zero_point=None) -> Tensor",
         packed_embedding)):
    LIBRARY.define(schema)
    LIBRARY.impl(schema.split("(")[0], function, "CompositeExplicitAutograd")
