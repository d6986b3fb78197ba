"""torch.compile(backend="cfx"): what goes wrong in backends, a test each."""

import collections
import dataclasses
import threading
import unittest
import warnings

import torch
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend

import cfx
from cfx.torch_backend import FallbackWarning

STRICT = {"fallback": "error"}


def compiled(f, **how):
    return torch.compile(f, backend="cfx", options=STRICT, **how)


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(),
                         nn.Linear(8, 3)).eval()


class Case(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(0)
        no_grad = torch.no_grad()
        no_grad.__enter__()
        self.addCleanup(no_grad.__exit__, None, None, None)

    def check(self, f, *args, times=2, **kwargs):
        """The same results and the same writes to arguments, each time."""
        fast = compiled(f)
        for _ in range(times):
            ours = [a.clone() if isinstance(a, torch.Tensor) else a
                    for a in args]
            theirs = [a.clone() if isinstance(a, torch.Tensor) else a
                      for a in args]
            torch.testing.assert_close(fast(*ours, **kwargs),
                                       f(*theirs, **kwargs))
            torch.testing.assert_close(ours, theirs)


class Results(Case):
    def test_two_results_are_kept(self):
        f = compiled(net())
        a = f(torch.ones(2, 4))
        kept = a.clone()
        b = f(-torch.ones(2, 4))
        self.assertTrue(torch.equal(a, kept))
        self.assertFalse(torch.equal(a, b))

    def test_a_result_that_is_an_input(self):
        x = torch.ones(3)
        self.assertIs(compiled(lambda x: (x, x + 1))(x)[0], x)

    def test_a_result_that_is_a_view_of_an_input(self):
        x = torch.zeros(3, 4)
        y = compiled(lambda x: x.t()[1:])(x)
        x += 1
        self.assertEqual(y.sum(), 9)
        self.assertEqual(y.stride(), (1, 4))

    def test_results_that_are_views_of_one_result(self):
        self.check(lambda x: ((y := x * 2), y[0], y.view(-1)),
                   torch.randn(3, 4))

    def test_a_result_that_is_a_parameter(self):
        m = net()
        f = compiled(lambda x: (m[0].weight, m(x)))
        self.assertIs(f(torch.ones(1, 4))[0], m[0].weight)

    def test_no_tensor_among_the_results(self):
        self.check(lambda x: (x.shape[0], None, 2.5, x.dim()),
                   torch.ones(3, 2))

    def test_dicts_dataclasses_and_named_tuples(self):
        @dataclasses.dataclass
        class Out:
            y: torch.Tensor

        pair = collections.namedtuple("pair", "a b")
        f = compiled(lambda x: {"o": Out(x + 1), "p": pair(x * 2, [x - 1])})
        out = f(torch.ones(2))
        self.assertEqual(out["o"].y.tolist(), [2, 2])
        self.assertEqual(out["p"].b[0].tolist(), [0, 0])

    def test_strides_of_results(self):
        for f in (lambda x: x.permute(0, 2, 3, 1) + 1, lambda x: x * 2,
                  lambda x: x.sum(1, keepdim=True)):
            for x in (torch.randn(2, 3, 4, 5), torch.randn(2, 3, 4, 5).to(
                    memory_format=torch.channels_last)):
                self.assertEqual(compiled(f)(x).stride(), f(x).stride())


class Inputs(Case):
    def test_an_input_written_in_place(self):
        def f(x, y):
            x.add_(1)
            y[0].mul_(x[0])
            return x + y
        self.check(f, torch.randn(3, 4), torch.randn(3, 4))

    def test_two_inputs_of_one_memory(self):
        x = torch.zeros(4)

        def f(a, b):
            a.add_(1)
            return b * 2
        self.assertEqual(compiled(f)(x[:2], x[:3]).tolist(), [2, 2, 0])

    def test_numbers_and_strings_as_arguments(self):
        for k in 2, 3, 2.5, True:
            self.check(lambda x, k, mode: x * k + len(mode), torch.randn(3), k,
                       mode="abc")

    def test_types(self):
        for dtype in (torch.bfloat16, torch.float16, torch.float64,
                      torch.int64, torch.int8, torch.bool, torch.complex64):
            x = (torch.randn(3, 4) * 3).to(dtype)
            self.check(lambda x: (x == x.flip(0), x.t().contiguous()), x)
            if dtype != torch.bool:
                self.check(lambda x: x * x + 1, x)

    def test_shapes(self):
        for shape in (), (0,), (0, 3), (1, 1), (2, 1, 3):
            self.check(lambda x: (x + 1, x.sum(), x.reshape(-1)),
                       torch.randn(shape))

    def test_not_contiguous(self):
        x = torch.randn(6, 8)
        for v in x.t(), x[::2, 1::3], x[:1].expand(4, 8), x[3]:
            f = compiled(lambda x: torch.relu(x) * 2)
            torch.testing.assert_close(f(v), torch.relu(v) * 2)

    def test_five_batches_take_two_compilations(self):
        counter = CompileCounterWithBackend("cfx")
        m = net()
        f = torch.compile(m, backend=counter)
        for n in 2, 3, 5, 8, 13:
            x = torch.randn(n, 4)
            torch.testing.assert_close(f(x), m(x))
        self.assertLessEqual(counter.frame_count, 2)

    def test_extents_as_numbers(self):
        f = compiled(lambda x: x.reshape(x.shape[0] * 2, -1) * x.shape[1],
                     dynamic=True)
        for n, k in (2, 4), (3, 6), (5, 8):
            x = torch.randn(n, k)
            torch.testing.assert_close(f(x), x.reshape(n * 2, -1) * k)

    def test_extents_that_data_decides_break_the_graph(self):
        self.check(lambda x: x[x > 0] * 2, torch.randn(8))
        self.check(lambda x: x * x.sum().item(), torch.randn(3))


class Weights(Case):
    def setUp(self):
        super().setUp()
        self.m = net()
        self.f = compiled(self.m)
        self.x = torch.randn(5, 4)
        self.same()

    def same(self):
        torch.testing.assert_close(self.f(self.x), self.m(self.x))

    def test_load_state_dict(self):
        self.m.load_state_dict({k: v + 1
                                for k, v in self.m.state_dict().items()})
        self.same()

    def test_a_step_of_an_optimizer(self):
        with torch.enable_grad():
            self.m(self.x).sum().backward()
        torch.optim.SGD(self.m.parameters(), 0.1).step()
        self.same()

    def test_data_and_parameters_replaced(self):
        self.m[0].weight.data = torch.randn(8, 4)
        self.same()
        self.m[3].bias = nn.Parameter(torch.randn(3))
        self.same()

    def test_buffers_written_in_the_graph(self):
        m = nn.BatchNorm1d(4)
        with torch.no_grad():
            f = compiled(m)
            other = nn.BatchNorm1d(4)
            for _ in range(3):
                x = torch.randn(6, 4)
                torch.testing.assert_close(f(x), other(x))
        torch.testing.assert_close(m.state_dict(), other.state_dict())

    def test_tied_weights(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
                self.b.weight = self.a.weight

            def forward(self, x):
                return self.b(self.a(x))
        m = Tied()
        f = compiled(m)
        for _ in range(2):
            torch.testing.assert_close(f(self.x), m(self.x))
            m.a.weight += 1


class Modes(Case):
    def test_gradients_are_pytorchs_with_one_warning(self):
        m = net()
        with torch.enable_grad():
            f = torch.compile(m, backend="cfx")
            with self.assertWarnsRegex(FallbackWarning, "gradients"):
                y = f(torch.ones(2, 4))
            y.sum().backward()
        self.assertIsNotNone(m[0].weight.grad)

    def test_grad_after_no_grad(self):
        m = net()
        f = torch.compile(m, backend="cfx", options={"fallback": "silent"})
        x = torch.ones(2, 4)
        self.assertFalse(f(x).requires_grad)
        with torch.enable_grad():
            self.assertTrue(f(x).requires_grad)
        self.assertFalse(f(x).requires_grad)

    def test_inference_mode(self):
        with torch.inference_mode():
            self.check(net(), torch.randn(2, 4))

    def test_autocast(self):
        with torch.autocast("cpu", torch.bfloat16):
            m = net()
            y = compiled(m)(torch.ones(2, 4))
            self.assertEqual(y.dtype, torch.bfloat16)
            torch.testing.assert_close(y, m(torch.ones(2, 4)), rtol=0.02,
                                       atol=0.02)

    def test_dropout_in_training_draws_from_pytorchs_generator(self):
        m = nn.Dropout(0.5)
        f = torch.compile(m, backend="cfx", options={"fallback": "silent"})
        x = torch.ones(100)
        torch.manual_seed(1)
        a = f(x)
        torch.manual_seed(1)
        self.assertTrue(torch.equal(a, m(x)))
        self.assertTrue(torch.equal(compiled(nn.Dropout(0.5).eval())(x), x))

    def test_random_operators_warn_and_keep_seeds(self):
        def g(x):
            return torch.rand(3) + x
        f = torch.compile(g, backend="cfx")
        torch.manual_seed(1)
        with self.assertWarnsRegex(FallbackWarning, "rand"):
            a = f(torch.ones(3))
        torch.manual_seed(1)
        self.assertTrue(torch.equal(a, g(torch.ones(3))))

    def test_other_devices_fall_back(self):
        f = torch.compile(lambda x: x + 1, backend="cfx",
                          options={"fallback": "silent"})
        self.assertEqual(f(torch.ones(2, device="meta")).device.type, "meta")

    def test_fallback_can_be_an_error(self):
        with self.assertRaisesRegex(Exception, "rand"):
            compiled(lambda x: torch.rand(3) + x)(torch.ones(3))


class Programs(Case):
    def test_graph_breaks_inside_calls(self):
        def inner(x):
            torch._dynamo.graph_break()
            return x * 2

        def f(x):
            y = x + 1
            y = inner(y)
            return inner(y) - 1
        self.check(f, torch.randn(3))

    def test_exceptions_inside(self):
        def f(x):
            y = x + 1
            if x.shape[0] == 3:
                raise KeyError("three")
            return y
        g = compiled(f)
        self.assertEqual(g(torch.ones(2)).tolist(), [2, 2])
        with self.assertRaisesRegex(KeyError, "three"):
            g(torch.ones(3))

    def test_deep_modules(self):
        m = nn.Sequential(nn.Linear(4, 4))
        for _ in range(20):
            m = nn.Sequential(m, nn.ReLU())
        self.check(m.eval(), torch.randn(2, 4))

    def test_loops_and_closures(self):
        scale = [1.0, 2.0, 3.0]
        self.check(lambda x: sum(torch.tanh(x * s) for s in scale),
                   torch.randn(3))

    def test_decompositions_of_what_the_registry_lacks(self):
        self.check(lambda x: torch.special.entr(x.abs()) + torch.logit(
            x.sigmoid()), torch.randn(5))

    def test_two_threads(self):
        m = net()
        f = compiled(m)
        x = torch.randn(3, 4)
        want = f(x)
        wrong = []

        def work():
            with torch.no_grad():
                for _ in range(100):
                    if not torch.equal(f(x), want):
                        wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_attention_convolution_and_embedding(self):
        class Block(nn.Module):
            def __init__(self):
                super().__init__()
                self.e = nn.Embedding(10, 16)
                self.t = nn.TransformerEncoderLayer(16, 2, 32,
                                                    batch_first=True)
                self.c = nn.Conv1d(16, 4, 3, padding=1)

            def forward(self, i):
                return self.c(self.t(self.e(i)).transpose(1, 2)).softmax(1)
        m = Block().eval()
        f = compiled(m)
        for n in 2, 3:
            i = torch.randint(0, 10, (n, 7))
            torch.testing.assert_close(f(i), m(i))

    def test_the_name_is_listed(self):
        self.assertIn("cfx", torch._dynamo.list_backends())
        self.assertTrue(issubclass(cfx.Error, Exception))


if __name__ == "__main__":
    warnings.simplefilter("default")
    unittest.main()
