"""torch.compile(model, backend="cfx").

The only file that knows Dynamo.  AOTAutograd makes a graph of ATen's calls without
side effects, which becomes a model (aten.py).  Training runs in PyTorch, and what runs
there is said in a warning.
"""

import warnings

import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch._guards import TracingContext
from torch._subclasses.fake_tensor import unset_fake_temporarily

from cfx import Error
from cfx.aten import Unsupported, build


class FallbackWarning(RuntimeWarning):
    """Nodes or a graph run in PyTorch."""


def _say(text, options):
    """As the option `fallback` says: raise, warn, or be silent."""
    how = options.get("fallback", "warn")
    if how == "error":
        raise RuntimeError(f"cfx: {text}")
    if how == "warn":
        warnings.warn(f"cfx: {text}", FallbackWarning, stacklevel=2)


def _version(t):
    """Changes whenever other numbers are in a tensor, or it is another one."""
    return (t.data_ptr(), -1 if t.is_inference() else t._version)


class Compiled:
    """Runs a graph, optimized again when its parameters have changed."""

    def __init__(self, graph):
        self.graph = graph
        self._optimize(graph.plain)

    def _optimize(self, plain):
        self.versions = [_version(t) for t in self.graph.static.values()]
        self.model = self.graph.optimize(plain)

    def __call__(self, *args):
        graph = self.graph
        with torch.no_grad():
            if [_version(args[i]) for i in graph.static] != self.versions:
                graph.static = {i: args[i] for i in graph.static}
                self._optimize(graph.parse())
            return self.model(*[args[i] for i in graph.places])


def _report(graph, options):
    """Say which nodes run in PyTorch, each reason once."""
    reasons = list(dict.fromkeys(graph.in_torch.values()))
    if reasons:
        _say(f"{len(graph.in_torch)} of {graph.size} nodes run in PyTorch: "
             + "; ".join(reasons[:4]) + ("; ..." if len(reasons) > 4 else ""),
             options)


def _fall_back(gm, why, options):
    _say(f"a graph runs in PyTorch: {why}", options)
    return make_boxed_func(gm.forward)


def graph_of(aot, inputs, static, options):
    """The Graph of what AOTAutograd made, while Dynamo's tensors are fake."""
    with unset_fake_temporarily():
        return build(aot, inputs, static, options)


def compiler_of(compile, options):
    """A compiler for Dynamo: compile(aot, inputs, static, options) makes a boxed
    function of a graph without gradients."""

    def compiler(gm, example_inputs):
        def infer(aot, inputs):
            context = TracingContext.try_get()
            places = (context.fw_metadata.static_input_indices
                      if context and context.fw_metadata
                      and len(inputs) == len(example_inputs) else ())
            # Nothing counts the writes to tensors of inference mode.
            static = {i: example_inputs[i] for i in places
                      if isinstance(example_inputs[i], torch.Tensor)
                      and not example_inputs[i].is_inference()}
            return compile(aot, inputs, static, options)

        def train(aot, inputs):
            return _fall_back(aot, "gradients are computed by PyTorch", options)

        return aot_autograd(fw_compiler=train,
                            bw_compiler=lambda g, _: make_boxed_func(g.forward),
                            inference_compiler=infer)(gm, example_inputs)

    return compiler


def _compile(aot, inputs, static, options):
    try:
        graph = graph_of(aot, inputs, static, options)
        with unset_fake_temporarily():
            compiled = Compiled(graph)
    except (Unsupported, TypeError, Error) as error:
        return _fall_back(aot, error, options)
    _report(graph, options)
    return make_boxed_func(compiled)


def backend(gm, example_inputs, *, options=None, mode=None):
    """A compiler of torch.compile.

    Options: threads (0: one per processor), bfloat16 (weights and products in
    bfloat16), fallback ("warn", "error" or "silent").
    """
    return compiler_of(_compile, options or {})(gm, example_inputs)
