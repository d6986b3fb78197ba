"""Graphs of ATen's calls, as AOTAutograd makes them, as models of cfx.

A node is computed by cfx if cfx infers the type, shape and strides that PyTorch's
FakeTensor has: there is no list of what is supported.  What cfx lacks is decomposed
where PyTorch has a decomposition; else the node becomes torch_call, an operator that
calls PyTorch.  A graph of which more than half would be such is left to PyTorch.
"""

import operator
import re

import torch
import torch.nn.functional as F
from torch._decomp import decomposition_table
from torch.fx.experimental.proxy_tensor import make_fx

from cfx import Error, OperatorError
from cfx.capture import Program, dtype_text


class Unsupported(Exception):
    """Why a graph is left to PyTorch, in one line."""


# --------------------------------------------------------------- what agrees


def hint(v):
    """A number: of a symbol, the one that PyTorch saw."""
    return v.node.hint if isinstance(v, torch.SymInt) else v


def _tensor_text(t, of):
    return (f"{dtype_text(t.dtype)}[{', '.join(str(of(s)) for s in t.shape)}]"
            f"[{', '.join(str(of(s)) for s in t.stride())}]")


def shape_of(val, of=hint):
    """An input for the inference, with numbers (or, of=str, symbols) as extents."""
    if isinstance(val, torch.Tensor):
        return _tensor_text(val, of)
    if isinstance(val, torch.SymInt):
        return of(val) if of is hint else str(val)
    return val


def _told(dtype, shape, stride):
    """What a value is; strides of axes with one element say nothing."""
    used = [] if 0 in shape else [s for n, s in zip(shape, stride) if n != 1]
    return dtype, list(shape), used


def _expected(val):
    if isinstance(val, torch.Tensor):
        return _told(str(val.dtype).removeprefix("torch."),
                     [hint(s) for s in val.shape],
                     [hint(s) for s in val.stride()])
    if isinstance(val, (tuple, list)):
        return [_expected(v) for v in val]
    return None  # numbers: what reads them shows them


def _inferred(value):
    if isinstance(value, dict) and "dtype" in value:
        return _told(value["dtype"], value["shape"], value["stride"])
    if isinstance(value, list):
        return [_inferred(v) for v in value]
    return None


def _described(told):
    if isinstance(told, tuple):
        return f"{told[0]}{told[1]} of strides {told[2]}"
    if isinstance(told, list):
        return f"({', '.join(map(_described, told))})"
    return "no tensor"


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


def _check_place(node):
    val = node.meta.get("val")
    for t in val if isinstance(val, (tuple, list)) else [val]:
        if isinstance(t, torch.Tensor) and (t.device.type != "cpu"
                                            or t.layout != torch.strided):
            raise Unsupported(f"{node.name} is on {t.device}, {t.layout}")


# -------------------------------------------------------------------- models


def ranges_of(vals):
    """The ranges that Dynamo knows of symbols."""
    for v in vals:
        sizes = v.shape if isinstance(v, torch.Tensor) else [v]
        for s in sizes:
            if isinstance(s, torch.SymInt):
                return s.node.shape_env.var_to_range
    return {}


def _free_symbols(val):
    """The symbols in the extents and strides of a tensor, by name."""
    return {str(s) for n in (*val.shape, *val.stride())
            if isinstance(n, torch.SymInt) for s in n.node.expr.free_symbols}


def _check_callable(node, why):
    """Refuse what cannot be an operator: writes, views, numbers, inner graphs."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        raise Unsupported(f"{node.target}: {why}")
    if schema.is_mutable or any(r.alias_info for r in schema.returns):
        raise Unsupported(f"{node.target} returns or writes an argument: {why}")
    val = node.meta.get("val")
    many = isinstance(val, (tuple, list))
    if not all(isinstance(v, torch.Tensor) or (many and v is None)
               for v in (val if many else [val])):
        raise Unsupported(f"{node.target} gives no tensor: {why}")


def size_of(gm):
    """The number of calls that compute something."""
    return sum(n.op == "call_function" and n.target is not operator.getitem
               for n in gm.graph.nodes)


class Graph:
    """A graph of ATen's calls as a model, with parameters that it shares.

    `static` are the places of inputs that are parameters, with their tensors;
    `in_torch` are the nodes that call PyTorch, with the reasons; `size` is the number
    of nodes that compute something.
    """

    def __init__(self, gm, static, options, lacking=()):
        self.gm = gm
        self.options = options
        self.static = dict(static)
        self.nodes = gm.graph.find_nodes(op="placeholder")
        self.places = [i for i in range(len(self.nodes)) if i not in static]
        self.vals = [self.nodes[i].meta.get("val") for i in self.places]
        self.symbols = {str(n.meta["val"]): n for n in self.nodes
                        if isinstance(n.meta.get("val"), torch.SymInt)}
        self.calls = [n for n in gm.graph.nodes if n.op == "call_function"]
        self.size = size_of(gm)
        self.in_torch = {}
        for node in gm.graph.nodes:
            _check_place(node)
        for node in self.calls:
            if node.target in lacking:
                self._leave(node, f"cfx has no operator {node.target}")
            elif _is_random(node):
                self._leave(node, f"{node.target} draws from PyTorch's generator")
        self._settle()

    def _leave(self, node, why):
        _check_callable(node, why)
        self.in_torch[node] = why

    def _settle(self):
        """Find the nodes that cfx does not compute as PyTorch does."""
        while True:
            if 2 * len(self.in_torch) > self.size:
                node, why = next(iter(self.in_torch.items()))
                raise Unsupported(f"{len(self.in_torch)} of {self.size} "
                                  f"nodes would run there: {why}")
            try:
                self.plain = self.parse()
                self.plain._prepare()
                found = self._disagreements()
            except OperatorError:
                raise
            except Error as error:
                found = {self._culprit(error): str(error)}
            if not found:
                return
            for node, why in found.items():
                self._leave(node, why)

    def _culprit(self, error):
        """The node that an error names."""
        name = re.search(r"While executing %(\w+)", str(error))
        for node in self.calls:
            if name and node.name == name[1] and node not in self.in_torch:
                return node
        raise error

    def _disagreements(self):
        """The nodes whose inference differs, and not only that of their inputs."""
        rows = {row["name"]: row.get("value") for row in
                self.plain.shapes(*map(shape_of, self.vals)).json["nodes"]}
        out = {}
        for node in self.calls:
            want = _expected(node.meta.get("val"))
            have = _inferred(rows.get(node.name))
            if want is not None and have != want and not any(
                    i in out for i in node.all_input_nodes):
                out[node] = (f"{node.target} is {_described(have)} in cfx, "
                             f"{_described(want)} in PyTorch")
        return out

    def _torch_call(self, program, node):
        val = node.meta["val"]
        many = isinstance(val, (tuple, list))
        parts = val if many else [val]
        names = set().union(*(_free_symbols(v) for v in parts if v is not None))
        for name in names - set(self.symbols):
            raise Unsupported(f"{node.target}: {name} is no input of the graph")
        texts = ["None" if v is None else _tensor_text(v, str) for v in parts]
        program.torch_call(
            node, "list" if many else "default",
            f"({', '.join(texts)},)" if many else texts[0],
            {name: self.symbols[name] for name in sorted(names)})

    def parse(self):
        """The model of the graph, not optimized."""
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
            elif node.op != "call_function":
                continue
            elif node in self.in_torch:
                self._torch_call(program, node)
            else:
                program.call(node)
        program.result(self.gm.graph.output_node().args[0])
        return program.model(threads=self.options.get("threads", 0))

    def _reshape_views(self):
        """Let views copy where they must: PyTorch checked them for its strides.
        False if there are none."""
        views = [n for n in self.calls if n.target is torch.ops.aten.view.default
                 and n not in self.in_torch]
        for node in views:
            node.target = torch.ops.aten.reshape.default
        return bool(views)

    def optimize(self, plain):
        """The model that runs."""
        def optimized(model):
            return model.optimize(*(shape_of(v, str) for v in self.vals),
                                  bfloat16=self.options.get("bfloat16", False))
        try:
            return optimized(plain)
        except Error:
            # Fused operators may have other strides than what they replace.
            if not self._reshape_views():
                raise
        return optimized(self.parse())

    def is_packed(self, model):
        """Of each parameter: may `model` have other numbers made of it?  Not if
        its only reader still reads its memory."""
        state = model.state()
        for i, t in self.static.items():
            own = state.get(f"p{i}")
            yield not (own is not None and len(self.nodes[i].users) == 1
                       and own.torch().data_ptr() == t.data_ptr())


# ------------------------------------------------------------- decomposition


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


def _named(gm, error):
    """The operators that an error names."""
    return {n.target for n in gm.graph.nodes if n.op == "call_function"
            and str(n.target) in str(error)}


def build(gm, inputs, static, options):
    """The Graph of a GraphModule, decomposed as far as cfx lacks operators."""
    lacking = set()
    for _ in range(64):
        for node in gm.graph.nodes:
            if node.target is torch.ops.prims.convert_element_type.default:
                node.target = torch.ops.aten.to.dtype
        try:
            return Graph(gm, static, options, lacking)
        except OperatorError as error:
            targets = _named(gm, error)
            table = {t: how for t in targets if
                     (how := OWN.get(t) or decomposition_table.get(t))}
            if not targets:
                raise
            if table:
                gm = make_fx(gm, decomposition_table=table)(*inputs)
            else:
                lacking |= targets
    raise Unsupported("too many decompositions")
