"""seeded -- weights and inputs that are made from a seed, to the bit.

The twin of what the C library does with --random-weights.  Both sides follow
this text; all integers are unsigned 64-bit and wrap.

    mix64(x)         x ^= x >> 30;  x *= 0xBF58476D1CE4E5B9
                     x ^= x >> 27;  x *= 0x94D049BB133111EB
                     x ^= x >> 31
    fnv1a64(bytes)   offset 0xcbf29ce484222325, prime 0x100000001b3
    key(seed, name)  mix64(seed + 0x9E3779B97F4A7C15) ^ fnv1a64(utf8 of name)
    r_i              mix64(key + (i + 1) * 0x9E3779B97F4A7C15), where i is the
                     flat row-major index in the tensor
    u_i              (r_i >> 11) * 2^-53, in [0, 1)
    z_i              ((sum of the four 16-bit fields of r_i) - 131070)
                     * (sqrt(3) / 65536): nearly normal, deviation 1

Every value is computed in float64, one operation after the other as written
(no fused multiply-add), and rounded once to the dtype of the tensor, to
nearest even.  Complex tensors have z_{2i} and z_{2i+1} where a floating one
has z_i, and use the formula of the floating one for both parts.

Parameters and buffers, by their full name (`layer1.0.bn1.weight`), the first
rule that fits:

    integer and bool                       0
    name ends with "running_mean"          0.1 * z
    name ends with "running_var"           0.5 + u
    rank >= 2                              z * sqrt(2 / fan_in), where fan_in
                                           is numel / shape[0] if shape[0] > 1,
                                           else shape[-1], and at least 1
    last path component starts "weight"    G * (1 + 0.1 * z)
    any other                              0.1 * z

    G = pow(max(1.0, A / 20.0), -1.0 / 10.0)   if M >= A
        pow(max(1.0, A / 4.0), -1.0 / 6.0)     otherwise

    with pow of the C library in float64.  A is the number of nodes of the
    graph that add two nodes: call_function operator.add, operator.iadd or
    torch.add, call_method add or add_, whose first two positional arguments
    are nodes; M is the same for operator.mul, operator.imul, torch.mul, mul
    and mul_.  G keeps residual networks from growing with their depth, and
    those with gates (M >= A), which lose half at every gate, from dying out.

Inputs, from key(seed, "input:" + name):

    floating and complex                   z
    integer                                r_i % 10
    bool                                   r_i & 1

Indices that a digest samples are r_k % numel of key(0, "sample:" + node).
"""

import math
import operator
import re

import numpy as np
import torch

GOLDEN_RATIO = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1
CHUNK = 1 << 16

DTYPES = {
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
    "f64": torch.float64, "i8": torch.int8, "i16": torch.int16,
    "i32": torch.int32, "i64": torch.int64, "u8": torch.uint8,
    "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64,
    "f8e4m3fn": torch.float8_e4m3fn, "f8e4m3fnuz": torch.float8_e4m3fnuz,
    "f8e5m2": torch.float8_e5m2, "f8e5m2fnuz": torch.float8_e5m2fnuz,
    "f8e8m0fnu": torch.float8_e8m0fnu,
    "bool": torch.bool, "c64": torch.complex64, "c128": torch.complex128,
}
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}
SPEC = re.compile(r"\A([a-z][a-z0-9]*)\[([0-9, ]*)\]\Z")


def parse_spec(text):
    """`f32[2,3]` to (torch.float32, (2, 3))."""
    match = SPEC.match(text.strip())
    if not match or match[1] not in DTYPES:
        raise ValueError(f"{text!r} is no type and shape such as f32[2,3]")
    dims = [d for d in match[2].replace(" ", "").split(",") if d]
    return DTYPES[match[1]], tuple(int(d) for d in dims)


def row_major(shape):
    """The strides that PyTorch gives a new tensor of this shape."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(1, extent)
    return tuple(reversed(strides))


def format_spec(tensor):
    """Type and shape, with the strides where they are not row-major."""
    dims = ",".join(str(d) for d in tensor.shape)
    text = f"{DTYPE_NAMES[tensor.dtype]}[{dims}]"
    if tensor.stride() != row_major(tensor.shape):
        text += "@(" + ",".join(str(s) for s in tensor.stride()) + ")"
    return text


def mix64(x):
    x &= MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def fnv1a64(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = ((h ^ byte) * 0x100000001B3) & MASK
    return h


def key(seed, name):
    return mix64(seed + GOLDEN_RATIO) ^ fnv1a64(name.encode("utf-8"))


def raw(k, start, count):
    """r_start, ..., r_{start + count - 1} as a uint64 array."""
    x = np.arange(start + 1, start + count + 1, dtype=np.uint64)
    x *= np.uint64(GOLDEN_RATIO)
    x += np.uint64(k)
    x ^= x >> np.uint64(30)
    x *= np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(27)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(31)
    return x


def uniform(r):
    return (r >> np.uint64(11)).astype(np.float64) * 2.0 ** -53


def normal(r):
    low = np.uint64(0x0000FFFF0000FFFF)
    pairs = (r & low) + ((r >> np.uint64(16)) & low)
    total = (pairs & np.uint64(0xFFFFFFFF)) + (pairs >> np.uint64(32))
    return (total.astype(np.int64) - 131070) * (math.sqrt(3.0) / 65536.0)


def round_to(x, dtype):
    """float64 to a numpy array of the dtype's bits, rounded once.

    PyTorch goes to the 16-bit types through float32, which rounds twice.
    """
    if dtype == torch.float64:
        return x
    if dtype == torch.float32:
        return x.astype(np.float32)
    if dtype == torch.float16:
        return x.astype(np.float16)
    if dtype.itemsize == 1:  # through float32, as PyTorch and cfx do
        small = torch.from_numpy(x.astype(np.float32)).to(dtype)
        return small.view(torch.int8).numpy()
    assert dtype == torch.bfloat16
    f = x.astype(np.float32)
    # Round to odd first: then the second rounding cannot meet a false tie.
    bits = f.view(np.uint32).copy()
    exact = f.astype(np.float64)
    over = np.abs(exact) > np.abs(x)
    bits = np.where(over, bits - 1, bits)
    bits = np.where(exact != x, bits | 1, bits).astype(np.uint32)
    bits += np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    return (bits >> np.uint32(16)).astype(np.uint16).view(np.int16)


def empty(shape, dtype):
    return torch.empty(shape, dtype=dtype)


def store(tensor, start, values):
    """Put numpy values at the flat place `start` of a contiguous tensor."""
    flat = tensor.detach().view(-1)
    if tensor.dtype == torch.bfloat16:
        flat = flat.view(torch.int16)
    elif tensor.dtype.itemsize == 1:
        flat = flat.view(torch.int8)
    flat[start:start + len(values)] = torch.from_numpy(values)


def fill(tensor, k, formula):
    """Fill a contiguous floating or complex tensor with formula(r)."""
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.detach())
    n = tensor.numel()
    for start in range(0, n, CHUNK):
        r = raw(k, start, min(CHUNK, n - start))
        store(tensor, start, round_to(formula(r), tensor.dtype))


def is_floating(dtype):
    return dtype.is_floating_point or dtype.is_complex


def fill_parameter(tensor, name, seed, gain):
    """Fill a contiguous parameter or buffer by its name, in place."""
    shape = tuple(tensor.shape)
    k = key(seed, name)
    if not is_floating(tensor.dtype):
        tensor.detach().zero_()
    elif name.endswith("running_mean"):
        fill(tensor, k, lambda r: 0.1 * normal(r))
    elif name.endswith("running_var"):
        fill(tensor, k, lambda r: 0.5 + uniform(r))
    elif len(shape) >= 2:
        fan_in = shape[-1]
        if shape[0] > 1:
            fan_in = tensor.numel() // shape[0]
        scale = math.sqrt(2.0 / max(1, fan_in))
        fill(tensor, k, lambda r: normal(r) * scale)
    elif name.rpartition(".")[2].startswith("weight"):
        fill(tensor, k, lambda r: gain * (1.0 + 0.1 * normal(r)))
    else:
        fill(tensor, k, lambda r: 0.1 * normal(r))


def make_input(name, dtype, shape, seed):
    """The seeded input `name`, as a new tensor."""
    tensor = empty(shape, dtype)
    k = key(seed, "input:" + name)
    if is_floating(dtype):
        fill(tensor, k, normal)
        return tensor
    r = raw(k, 0, tensor.numel())
    r = r & np.uint64(1) if dtype == torch.bool else r % np.uint64(10)
    return torch.from_numpy(r.astype(np.int64)).to(dtype).view(shape)


ADD = ((operator.add, operator.iadd, torch.add), ("add", "add_"))
MUL = ((operator.mul, operator.imul, torch.mul), ("mul", "mul_"))


def pairings(graph, functions, methods):
    """Number of nodes that apply one of these to two nodes."""
    count = 0
    for node in graph.nodes:
        if node.op == "call_function":
            fits = node.target in functions
        else:
            fits = node.op == "call_method" and node.target in methods
        first = node.args[:2]
        if fits and len(first) == 2 and \
                all(isinstance(a, torch.fx.Node) for a in first):
            count += 1
    return count


def gain_of(adds, muls):
    if muls >= adds:
        return math.pow(max(1.0, adds / 20.0), -1.0 / 10.0)
    return math.pow(max(1.0, adds / 4.0), -1.0 / 6.0)


def gain(graph):
    return gain_of(pairings(graph, *ADD), pairings(graph, *MUL))


def fill_module(module, graph, seed):
    """Fill everything a module owns, each entry under its own name."""
    g = gain(graph)
    for name, tensor in [*module.named_parameters(remove_duplicate=False),
                         *module.named_buffers(remove_duplicate=False)]:
        fill_parameter(tensor, name, seed, g)


VECTORS = (
    ("conv1.weight", "f32[2,3,1,2]"), ("fc.weight", "f32[1,5]"),
    ("bn1.weight", "f32[6]"), ("bn1.bias", "f32[6]"),
    ("bn1.running_mean", "f32[6]"), ("bn1.running_var", "f64[6]"),
    ("bn1.num_batches_tracked", "i64[]"), ("class_token", "f32[1,1,6]"),
    ("fc.weight", "f16[3,4]"), ("fc.weight", "bf16[3,4]"),
    ("a.in_proj_bias", "f16[6]"), ("a.in_proj_weight", "f64[3,2]"),
    ("w", "c64[2,2]"),
)
INPUTS = (("x", "f32[1,3,2,2]"), ("x", "f64[4]"), ("ids", "i64[2,6]"),
          ("ids", "u8[6]"), ("mask", "bool[2,6]"), ("x", "bf16[6]"),
          ("été", "f32[4]"))


def vectors():
    """Lines `seed A M kind name spec : values` that the C twin must meet."""
    lines = []
    for seed, adds, muls in ((0, 0, 0), (1, 8, 1), (MASK, 50, 60)):
        head = (seed, adds, muls)
        for name, spec in VECTORS:
            dtype, shape = parse_spec(spec)
            tensor = empty(shape, dtype)
            fill_parameter(tensor, name, seed, gain_of(adds, muls))
            lines.append((*head, "state", name, spec, tensor))
        for name, spec in INPUTS:
            tensor = make_input(name, *parse_spec(spec), seed)
            lines.append((*head, "input", name, spec, tensor))
    for *head, tensor in lines:
        if tensor.is_complex():
            tensor = torch.view_as_real(tensor)
        values = " ".join("%.17g" % v for v in tensor.reshape(-1).tolist())
        yield " ".join(str(h) for h in head) + " : " + values


if __name__ == "__main__":
    print("\n".join(vectors()))
