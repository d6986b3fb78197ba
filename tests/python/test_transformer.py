"""cfx.Transformer and cfx.ShapeProp: the classes of torch.fx's tutorials."""

import operator
import statistics
import time
import unittest

import torch
import torch.nn.functional as F
from torch import fx, nn
from torch.fx.passes.shape_prop import ShapeProp

import cfx


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.b = nn.Parameter(torch.rand(3))

    def forward(self, x, y=2):
        h = F.relu(self.fc(x)) + self.b
        return torch.sigmoid(h.neg()) * y


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        no_grad = torch.no_grad()
        no_grad.__enter__()
        self.addCleanup(no_grad.__exit__, None, None, None)
        self.net = Net().eval()
        self.gm = fx.symbolic_trace(self.net)
        self.x = torch.randn(2, 4)

    def both(self, body, theirs=fx.Transformer, ours=cfx.Transformer):
        """The class over torch.fx's base, and over cfx's, for the same module."""
        return (type("Theirs", (body, theirs), {})(self.gm),
                type("Ours", (body, ours), {})(self.gm))


class Transformers(Case):
    def check(self, body, same_graph=True):
        theirs, ours = (t.transform() for t in self.both(body))
        torch.testing.assert_close(ours(self.x), theirs(self.x))
        if same_graph:
            self.assertEqual(
                [(n.op, n.name) for n in ours.graph.nodes],
                [(n.op, n.name) for n in theirs.graph.nodes])
        return ours

    def test_without_hooks_the_graph_is_copied(self):
        class Copy:
            pass
        m = self.check(Copy)
        self.assertEqual(m.state()["b"].torch().data_ptr(),
                         self.net.b.data_ptr())

    def test_add_to_mul(self):
        class AddToMul:
            def call_function(self, target, args, kwargs):
                if target in (operator.add, torch.add):
                    return super().call_function(operator.mul, args, kwargs)
                return super().call_function(target, args, kwargs)
        self.assertIn("operator.mul", str(self.check(AddToMul).graph))

    def test_the_documentations_example(self):
        class NegSigmSwapXformer:
            def call_function(self, target, args, kwargs):
                if target == torch.sigmoid:
                    return torch.neg(*args, **kwargs)
                return super().call_function(target, args, kwargs)

            def call_method(self, target, args, kwargs):
                if target == "neg":
                    call_self, *args_tail = args
                    return call_self.sigmoid(*args_tail, **kwargs)
                return super().call_method(target, args, kwargs)
        self.check(NegSigmSwapXformer)

    def test_relu_decomposition(self):
        class Decompose:
            def call_function(self, target, args, kwargs):
                if target is F.relu:
                    x = args[0]
                    return (x > 0) * x
                return super().call_function(target, args, kwargs)
        m = self.check(Decompose, same_graph=False)
        self.assertNotIn("relu", str(m.graph))
        self.assertIn("operator.gt", str(m.graph))

    def test_proxies_take_operators_methods_and_functions(self):
        class Operators:
            def call_method(self, target, args, kwargs):
                x, = args
                y = 1 - x * 2 + x / (2 + x * x) - (-x) ** 2
                y = y + x[:, None].sum(1).view(x.shape[0], -1)
                y = torch.where(y >= 0, y, torch.zeros_like(y))
                return torch.cat([y, F.gelu(y), torch.ones(2, 3)], dim=1) @ \
                    torch.full((9, 3), 0.5)
        self.check(Operators, same_graph=False)

    def test_modules_are_replaced_and_nodes_dropped(self):
        class Drop:
            def call_module(self, target, args, kwargs):
                return super().call_module(target, args, kwargs) * 3

            def call_method(self, target, args, kwargs):
                return args[0]

            def output(self, target, args, kwargs):
                return super().output(target, args, kwargs)
        self.check(Drop, same_graph=False)

    def test_exceptions_and_proxies_after_the_end(self):
        kept = []

        class Keep(cfx.Transformer):
            def call_function(self, target, args, kwargs):
                kept.append(args[0])
                return super().call_function(target, args, kwargs)

        t = Keep(self.gm)
        t.transform()
        for use in (lambda p: p + 1, lambda p: cfx.from_fx(self.net)(p),
                    lambda p: t.transform(), lambda p: t.run(self.x)):
            with self.assertRaises(RuntimeError):
                use(kept[0])
        self.assertEqual(repr(kept[0]), "Proxy(?)")

        class Branch(cfx.Transformer):
            def call_function(self, target, args, kwargs):
                return args[0] if args[0] > 0 else None
        with self.assertRaisesRegex(TypeError, "control flow"):
            Branch(self.gm).transform()


class Interpreters(Case):
    def test_the_profiler_of_the_tutorial(self):
        class ProfilingInterpreter:
            def __init__(self, mod):
                gm = torch.fx.symbolic_trace(mod)
                super().__init__(gm)
                self.total_runtime_sec = []
                self.runtimes_sec = {}

            def run(self, *args):
                t_start = time.time()
                return_val = super().run(*args)
                self.total_runtime_sec.append(time.time() - t_start)
                return return_val

            def run_node(self, n):
                t_start = time.time()
                return_val = super().run_node(n)
                self.runtimes_sec.setdefault(n, [])
                self.runtimes_sec[n].append(time.time() - t_start)
                return return_val

            def summary(self):
                return [[str(node), node.op, len(times),
                         statistics.mean(times) > 0]
                        for node, times in self.runtimes_sec.items()]

        theirs, ours = self.both(ProfilingInterpreter, fx.Interpreter,
                                 cfx.Interpreter)
        for _ in range(2):
            torch.testing.assert_close(ours.run(self.x), theirs.run(self.x))
        self.assertEqual(ours.summary(), theirs.summary())


class Shapes(Case):
    def test_shape_propagation_equals_pytorchs(self):
        ShapeProp(self.gm).propagate(self.x)
        m = cfx.from_fx(self.gm)
        y = cfx.ShapeProp(m).propagate(self.x)
        self.assertEqual((y.shape, y.dtype), ((2, 3), "float32"))
        for ours, theirs in zip(m.graph.nodes, self.gm.graph.nodes):
            want = theirs.meta.get("tensor_meta")
            have = ours.meta.get("tensor_meta")
            self.assertEqual(have and tuple(have.shape),
                             want and tuple(want.shape))
            if want is not None:
                self.assertEqual((have.dtype, have.stride),
                                 (want.dtype, want.stride))

    def test_symbols(self):
        m = cfx.from_fx(self.gm)
        cfx.ShapeProp(m).propagate("f32[N, 4]")
        self.assertEqual(m.graph.nodes[-2].meta["tensor_meta"].shape,
                         ("N", 3))

    def test_meta_that_hooks_write_stays(self):
        class Own(cfx.Interpreter):
            def run_node(self, n):
                result = super().run_node(n)
                if isinstance(result, torch.Tensor):
                    n.meta["tensor_meta"] = tuple(result.shape), result.dtype
                n.meta["type"] = type(result)
                return result
        i = Own(self.gm)
        i.run(self.x)
        *_, mul, out = i.module.graph.nodes
        self.assertEqual(mul.meta["tensor_meta"], ((2, 3), torch.float32))
        self.assertEqual(out.meta["type"], torch.Tensor)

    def test_hooks_see_tensors_without_numbers(self):
        class Look(cfx.ShapeProp):
            def call_function(self, target, args, kwargs):
                y = super().call_function(target, args, kwargs)
                self.seen = getattr(self, "seen", []) + [y.shape]
                return y
        look = Look(self.gm)
        look.run("f32[N, 4]")
        self.assertEqual(look.seen, [("N", 3)] * 4)


if __name__ == "__main__":
    unittest.main()
