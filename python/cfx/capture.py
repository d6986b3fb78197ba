"""Models from PyTorch's graphs in memory, through the text of models.

The text is what cfx/export.py writes to files.  In place of a file of weights, the
model gets the tensors themselves, so that it shares their memory.
"""

import torch
from torch import fx
from torch.utils import _pytree as pytree

from cfx.export import DTYPES, Values, put_node, put_state, text_of
from cfx.model import Model


class Structured(Model):
    """A model whose arguments or result are structures that only PyTorch knows."""

    def __call__(self, *args, **kwargs):
        flat, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._in_spec:
            raise TypeError(f"the arguments have the structure {spec}; the "
                            f"model was exported for {self._in_spec}")
        out = super().__call__(*flat)
        return out if self._out_spec is None else pytree.tree_unflatten(
            out, self._out_spec)


def _share(model, state):
    for name, tensor in state.items():
        path, _, last = name.rpartition(".")
        model._set_state(path, last, tensor.detach())
    return model


def from_fx(gm, *, threads=0):
    """A model of a torch.fx.GraphModule; what is none is traced.

    Parameters and buffers share their memory.
    """
    if not isinstance(gm, fx.GraphModule):
        gm = fx.symbolic_trace(gm)
    text, state, tensors = text_of(gm)
    if tensors:
        raise TypeError("a tensor is an argument of a node: make it a buffer of "
                        "the module")
    return _share(Model._parse(text, type(gm).__name__, threads), state)


# ------------------------------------------------------------------- programs


def dtype_text(dtype):
    if dtype not in DTYPES:
        raise TypeError(f"cfx has no tensors of {dtype}")
    return DTYPES[dtype]


def shape_text(t):
    """The type, shape and strides of a FakeTensor, over its symbols."""
    def extents(sizes):
        return ", ".join(str(s) for s in sizes)
    return f"{dtype_text(t.dtype)}[{extents(t.shape)}][{extents(t.stride())}]cpu"


def _limit(v):
    return int(v) if str(v).lstrip("-").isdigit() else None


class Program:
    """The text of a graph of ATen's calls, whose parameters are placeholders."""

    def __init__(self, graph, ranges=()):
        self.graph = graph
        self.values = Values()
        self.state = {}       # path: (tensor, kind)
        self.lines = []
        self.ranges = {str(s): (_limit(r.lower), _limit(r.upper))
                       for s, r in dict(ranges).items()}

    def fetch(self, node, path, tensor, kind):
        """A placeholder that is a parameter or buffer."""
        self.state[path] = tensor, kind
        self.lines.append(f"    %{node.name} : [num_users=0] = "
                          f"get_attr[target={path}]\n")

    def input(self, node, target, declared=True):
        """An input of the model, which accepts only what the graph declares."""
        v = node.meta.get("val")
        annotation = ""
        if declared and isinstance(v, torch.Tensor):
            annotation = f'Tensor "{shape_text(v)}"'
        meta = f" meta = {{'range_constraints': {self.ranges!r}}}" \
            if declared and self.ranges else ""
        self.ranges = {}
        self.lines.append(f"    %{node.name} : {annotation}[num_users=0] = "
                          f"placeholder[target={target}]{meta}\n")

    def call(self, node):
        put_node(self.lines, self.values, node)
        stack = node.meta.get("nn_module_stack")
        if stack:
            paths = {str(k): (v[0], str(v[1])) for k, v in stack.items()}
            self.lines[-1] = f" meta = {{'nn_module_stack': {paths!r}}}\n"

    def torch_call(self, node, overload, result, symbols):
        """A node that calls PyTorch; `result` is the text of what it gives."""
        args = (f"torch.ops.{node.target}", result, tuple(node.args),
                dict(node.kwargs), symbols or None)
        self.lines.append(
            f"    %{node.name} : [num_users=0] = call_function[target="
            f"torch.ops.cfx.torch_call.{overload}](args = "
            f"{self.values.text(args)}, kwargs = {{}})\n")

    def write(self, node, value):
        """A result that replaces the contents of a buffer or an input."""
        self.lines.append(
            f"    %written_{len(self.lines)} : [num_users=0] = call_function["
            f"target=torch.ops.aten.copy_.default](args = (%{node.name}, "
            f"{self.values.text(value)}), kwargs = {{}})\n")

    def result(self, value):
        self.lines.append(f"    return {self.values.text(value)}\n")

    def text(self):
        out = ["# cfx 1\nGraphModule()\n\n"]
        put_state(out, self.state)
        return "".join(out + ["graph():\n"] + self.lines)

    def model(self, cls=Model, threads=0):
        if self.values.tensors:
            raise TypeError("a tensor is an argument of a node")
        return _share(cls._parse(self.text(), "program", threads),
                      {name: t for name, (t, _) in self.state.items()})


# ------------------------------------------------------------------- exports


def _takes_leaves(spec):
    """Is each argument positional, and one value?"""
    args, kwargs = spec.children()
    return (all(c.is_leaf() for c in args.children())
            and not kwargs.children())


def _put_inputs(program, ep):
    from torch.export.graph_signature import InputKind
    constants = {**ep.state_dict, **ep.constants}
    nodes = {}
    for node, spec in zip(ep.graph.find_nodes(op="placeholder"),
                          ep.graph_signature.input_specs):
        nodes[node.name] = node
        if spec.kind == InputKind.USER_INPUT:
            program.input(node, node.target)
        elif isinstance(constants.get(spec.target), torch.Tensor):
            kind = "parameter" if spec.kind == InputKind.PARAMETER else "buffer"
            program.fetch(node, spec.target, constants[spec.target], kind)
        else:
            raise TypeError(f"the input {node.name} is a {spec.kind.name}, "
                            "which cfx does not have")
    return nodes


def _is_plain(value):
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(map(_is_plain, value.values()))
    return isinstance(value, (fx.Node, int, float, bool, str, type(None)))


def _put_outputs(program, ep, nodes):
    """The writes and the result; True if the result has only plain containers."""
    from torch.export.graph_signature import OutputKind
    by_target = {s.target: nodes[s.arg.name]
                 for s in ep.graph_signature.input_specs if s.target}
    user = []
    out = ep.graph.output_node().args[0]
    for value, spec in zip(out, ep.graph_signature.output_specs):
        if spec.kind == OutputKind.USER_OUTPUT:
            user.append(value)
        elif spec.kind == OutputKind.USER_INPUT_MUTATION:
            program.write(nodes[spec.target], value)
        else:
            program.write(by_target[spec.target], value)
    structure = pytree.tree_unflatten(user, ep.call_spec.out_spec)
    plain = _is_plain(structure)
    program.result(structure if plain else tuple(user))
    return plain


def from_exported(ep, *, threads=0):
    """A model of a torch.export.ExportedProgram.

    Weights share their memory; symbols and their ranges are those of the export.
    """
    program = Program(ep.graph, ep.range_constraints)
    nodes = _put_inputs(program, ep)
    for node in ep.graph.nodes:
        if node.op == "get_attr":
            raise TypeError(f"the export has an inner graph, {node.target}: "
                            "save it, and cfx.load the file")
        if node.op not in ("placeholder", "output"):
            program.call(node)
    plain_out = _put_outputs(program, ep, nodes)
    plain_in = _takes_leaves(ep.call_spec.in_spec)
    model = program.model(Model if plain_in and plain_out else Structured,
                          threads)
    if isinstance(model, Structured):
        model._in_spec = ep.call_spec.in_spec
        model._out_spec = None if plain_out else ep.call_spec.out_spec
    return model


def compile(model, *args, dynamic=None, optimize=True, threads=0, **kwargs):
    """Export a module for inputs like these, once, and optimize it.

    `dynamic` names the extents that may differ: {"x": {0: "N"}}.  Inputs that the
    export does not cover are refused; no code of Python runs in a call.
    """
    shapes = None
    if dynamic is not None:
        import inspect
        dims = {}
        bound = inspect.signature(model.forward).bind(*args, **kwargs)
        shapes = {name: {axis: dims.setdefault(d, torch.export.Dim(d))
                         if isinstance(d, str) else d
                         for axis, d in dynamic.get(name, {}).items()} or None
                  for name in bound.arguments}
    with torch.no_grad():
        ep = torch.export.export(model, args, kwargs, dynamic_shapes=shapes)
        out = from_exported(ep, threads=threads)
    return out.optimize() if optimize else out
