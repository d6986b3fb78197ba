"""torch.compile(model, backend="cfx").

The only file that knows Dynamo.  AOTAutograd makes a graph of ATen's calls without
side effects; a model of cfx computes it, if cfx infers the type, shape and strides of
each node that PyTorch's FakeTensor has: there is no list of what is supported.  Else
the graph runs in PyTorch, and a warning says why.  Training runs in PyTorch, too.
"""

import warnings

import torch
import torch.nn.functional as F
from functorch.compile import make_boxed_func
from torch._decomp import decomposition_table
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext
from torch._subclasses.fake_tensor import unset_fake_temporarily
from torch.fx.experimental.proxy_tensor import make_fx

from cfx import Error, OperatorError
from cfx.capture import Program, dtype_text


class FallbackWarning(RuntimeWarning):
    """A graph runs in PyTorch."""


class Unsupported(Exception):
    """Why a graph is left to PyTorch, in one line."""


# --------------------------------------------------------------- what agrees


def _hint(v):
    return v.node.hint if isinstance(v, torch.SymInt) else v


def _tensor_text(t, of):
    return (f"{dtype_text(t.dtype)}[{', '.join(str(of(s)) for s in t.shape)}]"
            f"[{', '.join(str(of(s)) for s in t.stride())}]")


def _text(val, of=_hint):
    """An input for the inference, with numbers or symbols as extents."""
    if isinstance(val, torch.Tensor):
        return _tensor_text(val, of)
    if isinstance(val, torch.SymInt):
        return of(val) if of is _hint else str(val)
    return val


def _told(dtype, shape, stride):
    """What a value is; strides of axes with one element say nothing."""
    used = [] if 0 in shape else [s for n, s in zip(shape, stride) if n != 1]
    return dtype, list(shape), used


def _expected(val):
    if isinstance(val, torch.Tensor):
        return _told(str(val.dtype).removeprefix("torch."),
                     [_hint(s) for s in val.shape],
                     [_hint(s) for s in val.stride()])
    if isinstance(val, (tuple, list)):
        return [_expected(v) for v in val]
    return None  # numbers: what reads them shows them


def _inferred(value):
    if isinstance(value, dict) and "dtype" in value:
        return _told(value["dtype"], value["shape"], value["stride"])
    if isinstance(value, list):
        return [_inferred(v) for v in value]
    return None


def _is_random(node):
    """Does it draw from PyTorch's generator?  Attention without dropout does not."""
    if torch.Tag.nondeterministic_seeded not in getattr(node.target, "tags", ()):
        return False
    for i, a in enumerate(node.target._schema.arguments):
        if a.name == "dropout_p":
            p = (node.args[i] if i < len(node.args)
                 else node.kwargs.get(a.name, a.default_value))
            return p != 0
    return True


def _check_node(node):
    """Refuse what cfx would compute otherwise, or not at all."""
    val = node.meta.get("val")
    for t in val if isinstance(val, (tuple, list)) else [val]:
        if isinstance(t, torch.Tensor) and (t.device.type != "cpu"
                                            or t.layout != torch.strided):
            raise Unsupported(f"{node.name} is on {t.device}, {t.layout}")
    if _is_random(node):
        raise Unsupported(f"{node.target} draws from PyTorch's generator")


def _check_shapes(model, gm, inputs):
    rows = {row["name"]: row.get("value")
            for row in model.shapes(*map(_text, inputs)).json["nodes"]}
    for node in gm.graph.nodes:
        want = _expected(node.meta.get("val"))
        if node.op != "call_function" or want is None:
            continue
        have = _inferred(rows.get(node.name))
        if have != want:
            raise Unsupported(f"{node.target} gives {have} in cfx, {want} in "
                              "PyTorch")


# -------------------------------------------------------------------- models


def _ranges(vals):
    """The ranges that Dynamo knows of symbols."""
    for v in vals:
        sizes = v.shape if isinstance(v, torch.Tensor) else [v]
        for s in sizes:
            if isinstance(s, torch.SymInt):
                return s.node.shape_env.var_to_range
    return {}


def _version(t):
    """Changes whenever other numbers are in a tensor, or it is another one."""
    return (t.data_ptr(), 0 if t.is_inference() else t._version)


class Graph:
    """A graph of ATen's calls as a model, with parameters that it shares.

    `static` are the places of inputs that are parameters, with their tensors.
    """

    def __init__(self, gm, static, options):
        self.gm = gm
        self.options = options
        self.static = dict(static)
        self.nodes = gm.graph.find_nodes(op="placeholder")
        self.places = [i for i in range(len(self.nodes)) if i not in static]
        self.vals = [self.nodes[i].meta.get("val") for i in self.places]
        self.versions = None
        plain = self._parse()
        plain._prepare()
        _check_shapes(plain, gm, self.vals)
        self._optimize(plain)

    def _parse(self):
        program = Program(self.gm.graph)
        for i, node in enumerate(self.nodes):
            if i in self.static:
                program.fetch(node, f"p{i}", self.static[i], "parameter")
            else:
                program.input(node, node.target, declared=False)
        for node in self.gm.graph.nodes:
            if node.op == "get_attr":
                t = getattr(self.gm, node.target)
                if not isinstance(t, torch.Tensor):
                    raise Unsupported(f"the inner graph {node.target}")
                program.fetch(node, node.name, t, "buffer")
            elif node.op == "call_function":
                _check_node(node)
                program.call(node)
        program.result(self.gm.graph.output_node().args[0])
        return program.model(threads=self.options.get("threads", 0))

    def _optimize(self, plain):
        self.versions = [_version(t) for t in self.static.values()]
        self.model = plain.optimize(
            *(_text(v, str) for v in self.vals),
            bfloat16=self.options.get("bfloat16", False))

    def __call__(self, *args):
        with torch.no_grad():
            if [_version(args[i]) for i in self.static] != self.versions:
                self.static = {i: args[i] for i in self.static}
                self._optimize(self._parse())
            return self.model(*[args[i] for i in self.places])


# ------------------------------------------------------------------- Dynamo


def _encoder_layer(x, width, heads, qkv_w, qkv_b, out_w, out_b, gelu, norm_first,
                   eps, norm1_w, norm1_b, norm2_w, norm2_b, in_w, in_b, mid_w,
                   mid_b, mask=None, mask_type=None):
    """The fast path of nn.TransformerEncoderLayer, which PyTorch does not
    decompose."""
    if mask is not None:
        raise Unsupported("a mask in the fast path of TransformerEncoderLayer")

    def norm(x, w, b):
        return F.layer_norm(x, (width,), w, b, eps)

    def attend(x):
        q, k, v = (t.unflatten(-1, (heads, -1)).transpose(1, 2)
                   for t in F.linear(x, qkv_w, qkv_b).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v)
        return F.linear(y.transpose(1, 2).flatten(2), out_w, out_b)

    def feed(x):
        h = F.linear(x, in_w, in_b)
        return F.linear(F.gelu(h) if gelu else F.relu(h), mid_w, mid_b)

    if norm_first:
        x = x + attend(norm(x, norm1_w, norm1_b))
        return x + feed(norm(x, norm2_w, norm2_b))
    x = norm(x + attend(x), norm1_w, norm1_b)
    return norm(x + feed(x), norm2_w, norm2_b)


OWN = {torch.ops.aten._transformer_encoder_layer_fwd.default: _encoder_layer}


def _decompose(gm, inputs, error):
    """PyTorch's own decompositions of the operators that the registry lacks."""
    table = {}
    for node in gm.graph.nodes:
        how = OWN.get(node.target) or decomposition_table.get(node.target)
        if node.op == "call_function" and how and str(node.target) in str(error):
            table[node.target] = how
    if not table:
        raise error
    return make_fx(gm, decomposition_table=table)(*inputs)


def _build(gm, inputs, static, options):
    for _ in range(16):
        for node in gm.graph.nodes:
            if node.target is torch.ops.prims.convert_element_type.default:
                node.target = torch.ops.aten.to.dtype
        try:
            return Graph(gm, static, options)
        except OperatorError as error:
            gm = _decompose(gm, inputs, error)
    raise Unsupported("too many decompositions")


def _fall_back(gm, why, options):
    if options.get("fallback", "warn") == "error":
        raise RuntimeError(f"cfx: {why}")
    if options.get("fallback", "warn") == "warn":
        warnings.warn(f"cfx: a graph runs in PyTorch: {why}", FallbackWarning,
                      stacklevel=2)
    return make_boxed_func(gm.forward)


def backend(gm, example_inputs, *, options=None, mode=None):
    """A compiler of torch.compile.

    Options: threads (0: one per processor), bfloat16 (weights and products in
    bfloat16), fallback ("warn", "error" or "silent").
    """
    options = options or {}

    def infer(aot, inputs):
        context = TracingContext.try_get()
        places = (context.fw_metadata.static_input_indices
                  if context and context.fw_metadata
                  and len(inputs) == len(example_inputs) else ())
        static = {i: example_inputs[i] for i in places
                  if isinstance(example_inputs[i], torch.Tensor)}
        try:
            with unset_fake_temporarily():
                graph = _build(aot, inputs, static, options)
            return make_boxed_func(graph)
        except (Unsupported, TypeError, Error) as error:
            return _fall_back(aot, error, options)

    def train(aot, inputs):
        return _fall_back(aot, "gradients are computed by PyTorch", options)

    return aot_autograd(fw_compiler=train,
                        bw_compiler=lambda g, _: make_boxed_func(g.forward),
                        inference_compiler=infer)(gm, example_inputs)
