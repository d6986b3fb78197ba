"""cfx.Interpreter subclassed: torch.fx's own examples with another base class."""

import operator
import time
import unittest

import torch
from torch import fx, nn

import cfx


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.b = nn.Parameter(torch.rand(3))

    def forward(self, x, y=2):
        h = torch.relu(self.fc(x)) + self.b
        return torch.sigmoid(h.neg()) * y


class Interpreters(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        no_grad = torch.no_grad()
        no_grad.__enter__()
        self.addCleanup(no_grad.__exit__, None, None, None)
        self.net = Net().eval()
        self.gm = fx.symbolic_trace(self.net)
        self.m = cfx.from_fx(self.gm)
        self.x = torch.randn(2, 4)

    def both(self, body):
        """A class over torch.fx's Interpreter, and the same over cfx's."""
        return (type("Theirs", (body, fx.Interpreter), {})(self.gm),
                type("Ours", (body, cfx.Interpreter), {})(self.m))

    def test_without_hooks_it_is_a_run(self):
        torch.testing.assert_close(cfx.Interpreter(self.m).run(self.x),
                                   self.net(self.x))
        torch.testing.assert_close(cfx.Interpreter(self.m).run(self.x, 5),
                                   self.net(self.x, 5))

    def test_the_documentations_example_swaps_functions_and_methods(self):
        class Swap:
            def call_function(self, target, args, kwargs):
                if target == torch.sigmoid:
                    return torch.neg(*args, **kwargs)
                return super().call_function(target, args, kwargs)

            def call_method(self, target, args, kwargs):
                if target == "neg":
                    call_self, *rest = args
                    return call_self.sigmoid(*rest, **kwargs)
                return super().call_method(target, args, kwargs)

        theirs, ours = self.both(Swap)
        torch.testing.assert_close(ours.run(self.x), theirs.run(self.x))

    def test_super_takes_other_targets_and_arguments(self):
        class Change:
            def call_function(self, target, args, kwargs):
                if target == operator.add:
                    target = operator.mul
                return super().call_function(target, tuple(args), dict(kwargs))

            def call_module(self, target, args, kwargs):
                return super().call_module(target, (args[0] * 2,), kwargs)

            def placeholder(self, target, args, kwargs):
                v = super().placeholder(target, args, kwargs)
                return v + 1 if isinstance(v, torch.Tensor) else v

            def output(self, target, args, kwargs):
                return {"y": super().output(target, args, kwargs)}

        theirs, ours = self.both(Change)
        torch.testing.assert_close(ours.run(self.x), theirs.run(self.x))

    def test_run_node_sees_every_node(self):
        class Profile:
            def run_node(self, n):
                start = time.perf_counter()
                result = super().run_node(n)
                self.times[n.name] = time.perf_counter() - start
                self.results[n.name] = result
                return result

        theirs, ours = self.both(Profile)
        for i in theirs, ours:
            i.times, i.results = {}, {}
            i.run(self.x)
        self.assertEqual(list(theirs.times), list(ours.times))
        torch.testing.assert_close(ours.results["relu"],
                                   theirs.results["relu"])

    def test_hooks_at_two_levels(self):
        class Base(cfx.Interpreter):
            def call_function(self, target, args, kwargs):
                self.seen = getattr(self, "seen", 0) + 1
                return super().call_function(target, args, kwargs)

        class Derived(Base):
            def call_function(self, target, args, kwargs):
                return super().call_function(target, args, kwargs)

        i = Derived(self.m)
        torch.testing.assert_close(i.run(self.x), self.net(self.x))
        self.assertEqual(i.seen, 4)

    def test_exceptions_come_through(self):
        class Stop(cfx.Interpreter):
            def call_function(self, target, args, kwargs):
                raise KeyError("here")

        i = Stop(self.m)
        for _ in range(3):
            with self.assertRaisesRegex(KeyError, "here"):
                i.run(self.x)
        with self.assertRaises(cfx.ShapeError):
            cfx.Interpreter(self.m).run(torch.randn(2, 5))
        with self.assertRaises(RuntimeError):
            cfx.Interpreter(self.m).call_function(torch.relu, (self.x,), {})
        with self.assertRaises(RuntimeError):
            cfx.Interpreter(self.m).run_node(self.m.graph.nodes[-2])

    def test_hooks_run_other_interpreters(self):
        outer = self

        class Nested(cfx.Interpreter):
            def call_module(self, target, args, kwargs):
                cfx.Interpreter(outer.m).run(outer.x)
                outer.m(outer.x)
                return super().call_module(target, args, kwargs)

        torch.testing.assert_close(Nested(self.m).run(self.x),
                                   self.net(self.x))


if __name__ == "__main__":
    unittest.main()
