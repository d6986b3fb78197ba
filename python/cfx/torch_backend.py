"""torch.compile(model, backend="cfx").

The only file that knows Dynamo.  AOTAutograd makes a graph of ATen's calls without
side effects, which becomes a model (aten.py).  Training runs in PyTorch, and what runs
there is said in a warning.
"""

import warnings

import torch
from functorch.compile import make_boxed_func
from torch._dynamo.backends.common import aot_autograd
from torch._functorch._aot_autograd.schemas import OutputType
from torch._guards import TracingContext
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch._subclasses.functional_tensor import FunctionalTensor

from cfx import Error
from cfx._cfx import _Guard
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


class Compiled(_Guard):
    """Runs a graph, optimized again when its parameters have changed."""

    def __new__(cls, graph):
        return super().__new__(cls)

    def __init__(self, graph):
        super().__init__(tuple(graph.static), tuple(graph.places), self._renew)
        self.graph = graph
        self._use(graph.plain)

    def _use(self, plain):
        with torch.no_grad():
            graph = self.graph
            model = graph.optimize(plain)
            self._set(model, tuple(graph.static.values()),
                      tuple(graph.is_packed(model)))

    def _renew(self, args):
        self.graph.static = {i: args[i] for i in self.graph.static}
        self._use(self.graph.parse())

    def boxed(self):
        """As AOTAutograd calls it: with a list, which it may empty."""
        def run(args):
            out = self.call(*args)
            args.clear()
            return out
        run._boxed_call = True
        # Autocast, which the wrapper turns off, would reach PyTorch's calls.
        run.direct = None if self.graph.in_torch else self.call
        return run


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


def _is_direct(meta, inputs, example_inputs, static):
    """Does AOTAutograd's wrapper only pass arguments and results on?

    It writes back what the graph changes, makes results that are views of inputs or
    of each other, marks extents of results as symbols, and turns gradients off.
    """
    return (meta is not None and len(inputs) == len(example_inputs)
            and not meta.mutated_inp_runtime_indices and not meta.tokens
            and not meta.is_rng_op_functionalized
            and not meta.num_intermediate_bases
            and all(type(t) in (torch.Tensor, torch.nn.Parameter,
                                torch.nn.Buffer, FakeTensor)
                    and (i in static or not t.requires_grad)
                    for i, t in enumerate(example_inputs)
                    if isinstance(t, torch.Tensor))
            and all(o.raw_type is FunctionalTensor and not o.dynamic_dims
                    and not o.requires_grad
                    and o.output_type in (OutputType.non_alias,
                                          OutputType.unsafe_view_alias)
                    for o in meta.output_info))


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
            function = compile(aot, inputs, static, options)
            if context and _is_direct(context.fw_metadata, inputs,
                                      example_inputs, static):
                direct.append(getattr(function, "direct", None))
            return function

        def train(aot, inputs):
            return _fall_back(aot, "gradients are computed by PyTorch", options)

        direct = []
        wrapped = aot_autograd(
            fw_compiler=train,
            bw_compiler=lambda g, _: make_boxed_func(g.forward),
            inference_compiler=infer)(gm, example_inputs)
        return direct[0] if len(direct) == 1 and direct[0] else wrapped

    return compiler


def _compile(aot, inputs, static, options):
    try:
        graph = graph_of(aot, inputs, static, options)
        with unset_fake_temporarily():
            compiled = Compiled(graph)
    except (Unsupported, TypeError, Error) as error:
        return _fall_back(aot, error, options)
    _report(graph, options)
    return compiled.boxed()


def backend(gm, example_inputs, *, options=None, mode=None):
    """A compiler of torch.compile.

    Options: threads (0: one per processor), bfloat16 (weights and products in
    bfloat16), fallback ("warn", "error" or "silent").
    """
    return compiler_of(_compile, options or {})(gm, example_inputs)
