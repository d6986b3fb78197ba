"""cfx.explain: what torch.compile(backend="cfx") would do with a model."""

import torch
from torch._functorch.aot_autograd import make_boxed_func
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

from cfx import Error
from cfx.aten import Unsupported, size_of
from cfx.torch_backend import compiler_of, graph_of


class Part:
    """A graph between two graph breaks.

    `model` is its model for cfx, not optimized, or None if the whole graph runs in
    PyTorch, because of `reason`.  `in_torch` names the nodes that call PyTorch, with
    the reasons.
    """

    def __init__(self, gm, graph=None, reason=None):
        self.model = graph and graph.plain
        self.reason = reason
        self.nodes = graph.size if graph else size_of(gm)
        self.in_torch = {n.name: (str(n.target), why) for n, why in
                         graph.in_torch.items()} if graph else {}

    @property
    def in_cfx(self):
        """The number of nodes that run in cfx."""
        return self.nodes - len(self.in_torch) if self.model else 0

    def __str__(self):
        if self.model is None:
            return f"{self.nodes} nodes, all in PyTorch: {self.reason}"
        lines = [f"{self.nodes} nodes, {self.in_cfx} in cfx"]
        lines += [f"  {name}  {target}  in PyTorch: {why}"
                  for name, (target, why) in self.in_torch.items()]
        return "\n".join(lines)


class Explanation:
    """The graphs of a model, in `parts`, and what each node runs in.

    `end` tells why the rest is not known, if numbers decide how it goes on.
    """

    def __init__(self, parts, end=None):
        self.parts = parts
        self.end = end

    def __repr__(self):
        nodes, ours = (sum(getattr(p, what) for p in self.parts)
                       for what in ("nodes", "in_cfx"))
        lines = [f"{ours} of {nodes} nodes in cfx, in {len(self.parts)} graph"
                 + "s" * (len(self.parts) != 1)]
        lines += [f"graph {i}: {part}" for i, part in enumerate(self.parts)]
        if self.end:
            lines.append(f"then: {self.end}")
        return "\n".join(lines)


def explain(model, *args, dynamic=None, **kwargs):
    """What would run in cfx, what in PyTorch, and why, of an inference.

    The model is captured with tensors that have no numbers: nothing runs, and
    nothing is written.  `dynamic` is that of torch.compile.
    """
    parts = []

    def look(aot, inputs, static, options):
        try:
            parts.append(Part(aot, graph_of(aot, inputs, static, options)))
        except (Unsupported, TypeError, Error) as error:
            parts.append(Part(aot, reason=str(error)))
        return make_boxed_func(aot.forward)

    mode = FakeTensorMode(allow_non_fake_inputs=True)
    args, kwargs = pytree.tree_map_only(torch.Tensor, mode.from_tensor,
                                        (args, kwargs))
    torch._dynamo.reset()
    try:
        with torch.no_grad(), mode:
            torch.compile(model, backend=compiler_of(look, {}),
                          dynamic=dynamic)(*args, **kwargs)
    except torch._subclasses.fake_tensor.DataDependentOutputException as error:
        return Explanation(parts, f"{error.func} needs numbers")
    finally:
        torch._dynamo.reset()
    return Explanation(parts)
