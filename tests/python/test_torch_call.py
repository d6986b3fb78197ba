"""Nodes that cfx lacks call PyTorch; cfx.explain tells which."""

import unittest
import warnings

import torch
from torch import Tensor, nn

import cfx
from cfx.torch_backend import FallbackWarning

SILENT = {"fallback": "silent"}
seen = {}


@torch.library.custom_op("cfx_test::halves", mutates_args=())
def halves(x: Tensor, k: int, add: list[float]) -> tuple[Tensor, Tensor]:
    if k == 9:
        raise KeyError("nine")
    seen["input"] = x.data_ptr()
    return x[:, :1] * k, (x[:, 1:] + add[0]).t().contiguous().t()


@halves.register_fake
def _(x, k, add):
    n, m = x.shape
    return x.new_empty(n, 1), x.new_empty(m - 1, n).t()


@torch.library.custom_op("cfx_test::casts", mutates_args=())
def casts(xs: list[Tensor], dtype: torch.dtype, *, by: float = 2.0
          ) -> list[Tensor]:
    return [(x * by).to(dtype) for x in xs]


@casts.register_fake
def _(xs, dtype, *, by=2.0):
    return [x.new_empty(x.shape, dtype=dtype) for x in xs]


@torch.library.custom_op("cfx_test::twice", mutates_args=())
def twice(x: Tensor) -> Tensor:
    seen["output"] = x * 2
    return seen["output"]


@twice.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("cfx_test::wrong", mutates_args=())
def wrong(x: Tensor) -> Tensor:
    return x[1:].clone()


@wrong.register_fake
def _(x):
    return torch.empty_like(x)


def work(x, k=2):
    y = torch.relu(x) * 2
    a, b = halves(y * x.shape[0], k, [0.5])
    c, d = casts([a, b], torch.float64, by=3.0)
    return c + 1, d.sum(), a * 2, torch.sigmoid(b)


def compiled(f, **how):
    return torch.compile(f, backend="cfx", options=SILENT, **how)


class Calls(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(0)
        no_grad = torch.no_grad()
        no_grad.__enter__()
        self.addCleanup(no_grad.__exit__, None, None, None)

    def test_results_are_pytorchs_for_all_sizes(self):
        for dynamic in False, True:
            f = compiled(work, dynamic=dynamic)
            for n, m in (4, 3), (5, 3), (6, 7):
                x = torch.randn(n, m)
                torch.testing.assert_close(f(x), work(x))

    def test_tensors_are_shared(self):
        f = compiled(lambda x: torch.relu(halves(x, 3, [1.])[0] + 1))
        x = torch.ones(4, 3)
        f(x)
        self.assertEqual(seen["input"], x.data_ptr())
        g = compiled(lambda x: (twice(x + 1), x * x))
        y = g(x)[0]
        self.assertEqual(y.data_ptr(), seen["output"].data_ptr())

    def test_operators_of_aten_that_return_a_view_of_an_argument(self):
        m = cfx.Model._parse(
            "graph():\n    %x : [num_users=0] = placeholder[target=x]\n"
            "    %r : [num_users=0] = call_function[target=torch.relu]"
            "(args = (%x,), kwargs = {})\n"
            "    %v : [num_users=0] = call_function[target="
            "torch.ops.cfx.torch_call.default](args = ('torch.ops.aten.t."
            "default', 'f32[3, 2][1, 3]', (%r,), {}), kwargs = {})\n"
            "    return v\n", "view", 1)
        x = torch.randn(2, 3)
        a, b = m(x), m(-x)
        torch.testing.assert_close(a, torch.relu(x).t())
        torch.testing.assert_close(b, torch.relu(-x).t())
        self.assertEqual(a.stride(), (1, 3))

    def test_exceptions_come_through(self):
        f = compiled(work)
        x = torch.ones(4, 3)
        for _ in range(2):
            with self.assertRaisesRegex(KeyError, "nine"):
                f(x, 9)
        torch.testing.assert_close(f(x), work(x))
        g = compiled(lambda x: wrong(x + 1) * 2 - 3)
        with self.assertRaisesRegex(cfx.ShapeError,
                                    r"wrong.default is f32\[1, 3\], not f32\[2"):
            g(torch.ones(2, 3))

    def test_random_operators_keep_seeds_within_a_graph(self):
        def g(x):
            return (torch.relu(x) * 2 + torch.rand_like(x)) @ x.t() \
                + torch.randn(4, 4).sigmoid()
        f = compiled(g)
        x = torch.ones(4, 3)
        torch.manual_seed(1)
        a, b = f(x), f(x)
        torch.manual_seed(1)
        torch.testing.assert_close((a, b), (g(x), g(x)))
        self.assertFalse(torch.equal(a, b))

    def test_a_warning_names_the_operators(self):
        f = torch.compile(work, backend="cfx")
        with self.assertWarnsRegex(FallbackWarning,
                                   r"2 of \d+ nodes run in PyTorch: cfx has no "
                                   "operator cfx_test.halves.default"):
            f(torch.ones(4, 3))
        f = torch.compile(lambda x: twice(x), backend="cfx")
        with self.assertWarnsRegex(FallbackWarning,
                                   "a graph runs in PyTorch: 1 of 1 nodes"):
            self.assertEqual(f(torch.ones(2)).tolist(), [2, 2])

    def test_two_threads(self):
        import threading
        f = compiled(work)
        x = torch.randn(4, 3)
        want, wrong_ones = f(x), []

        def run():
            with torch.no_grad():
                for _ in range(50):
                    if not torch.equal(f(x)[0], want[0]):
                        wrong_ones.append(1)
        threads = [threading.Thread(target=run) for _ in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong_ones, [])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.bn = nn.BatchNorm1d(3)

    def forward(self, x):
        a, b = halves(self.bn(self.fc(x)), 3, [0.5])
        torch._dynamo.graph_break()
        y = nn.functional.dropout(torch.relu(a), training=self.training) + b
        return y + 1 if y.sum() > 0 else y


class Explain(unittest.TestCase):
    def test_it_tells_where_nodes_run_and_runs_nothing(self):
        m = Net()
        before = {k: v.clone() for k, v in m.state_dict().items()}
        seen.clear()
        e = cfx.explain(m, torch.ones(4, 3))
        self.assertEqual(seen, {})
        torch.testing.assert_close(m.state_dict(), before)
        first, second = e.parts
        self.assertEqual(first.in_torch, {"halves": (
            "cfx_test.halves.default",
            "cfx has no operator cfx_test.halves.default")})
        self.assertIn("generator", str(second))
        self.assertRegex(repr(e), r"^\d+ of \d+ nodes in cfx, in 2 graphs\n")
        self.assertIn("_local_scalar_dense.default needs numbers", e.end)

    def test_the_models_of_parts_print_and_report(self):
        e = cfx.explain(work, torch.ones(4, 3))
        m = e.parts[0].model
        self.assertIn("torch_call.list", str(m.graph))
        r = m.roofline("f32[4,3]", machine="raspberry-pi-5")
        rows = {n["name"]: n for n in r.json["nodes"]}
        self.assertEqual(rows["halves"]["algorithm"], "in PyTorch")
        e = cfx.explain(work, torch.ones(4, 3), dynamic=True)
        m = e.parts[0].model
        shapes = m.shapes("N", "M", "f32[N, M]", 2)
        self.assertEqual(shapes["getitem_3"]["shape"], ["N", "M - 1"])

    def test_what_is_left_to_pytorch_has_a_reason(self):
        part, = cfx.explain(lambda x: twice(twice(x)) + 1,
                            torch.ones(2)).parts
        self.assertIsNone(part.model)
        self.assertEqual(part.in_cfx, 0)
        self.assertIn("3 nodes, all in PyTorch: 2 of 3", str(part))
        part, = cfx.explain(lambda x: x + 1,
                            torch.ones(2, device="meta")).parts
        self.assertIn("is on meta", part.reason)

    def test_it_leaves_no_trace(self):
        m = nn.Linear(3, 3)
        e = cfx.explain(m, torch.ones(1, 3))
        self.assertEqual((len(e.parts), e.end), (1, None))
        with torch.no_grad():
            torch.testing.assert_close(compiled(m)(torch.ones(1, 3)),
                                       m(torch.ones(1, 3)))


if __name__ == "__main__":
    warnings.simplefilter("default")
    unittest.main()
