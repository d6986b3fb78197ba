"""Traps that backends of torch.compile fell into, a test each; test_compile.py has
the first of them."""

import copy
import gc
import os
import threading
import unittest
import weakref

import torch
import torch.nn.functional as F
from torch import nn

import cfx

STRICT = {"fallback": "error"}


def compiled(f, options=STRICT, **how):
    return torch.compile(f, backend="cfx", options=options, **how)


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 3)).eval()


class Case(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(0)
        no_grad = torch.no_grad()
        no_grad.__enter__()
        self.addCleanup(no_grad.__exit__, None, None, None)

    def same(self, f, *args, fast=None, **exact):
        """The results, types, strides and writes are PyTorch's."""
        fast = fast or compiled(f)
        ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
        for _ in range(2):
            have, want = fast(*ours), f(*theirs)
            torch.testing.assert_close(have, want, check_stride=True,
                                       equal_nan=True, **exact)
            torch.testing.assert_close(ours, theirs, equal_nan=True)


class Memory(Case):
    def test_writing_a_result_changes_no_later_one(self):
        f = compiled(net())
        x = torch.ones(2, 4)
        want = f(x).clone()
        f(x).zero_()
        self.assertTrue(torch.equal(f(x), want))

    def test_writing_a_result_that_is_a_constant_changes_no_later_one(self):
        w = nn.Parameter(torch.ones(3), requires_grad=False)
        f = compiled(lambda x: (w * 2 + 1, torch.arange(3) * 2, x + 1))
        for _ in range(3):
            a, b, _ = f(torch.ones(1))
            self.assertEqual((a.tolist(), b.tolist()), ([3] * 3, [0, 2, 4]))
            a.zero_()
            b.zero_()
        self.assertEqual(w.tolist(), [1] * 3)

    def test_a_result_that_is_a_view_of_a_parameter(self):
        m = net()
        w = compiled(lambda x: (m[0].weight.t(), m(x)))(torch.ones(1, 4))[0]
        w.fill_(2)
        self.assertEqual(m[0].weight.sum(), 64)

    def test_one_tensor_as_two_arguments(self):
        x = torch.ones(3)

        def f(a, b):
            a.mul_(3)
            return a + b
        self.assertEqual(compiled(f)(x, x).tolist(), [6] * 3)

    def test_a_parameter_as_an_argument(self):
        m = nn.Linear(4, 4)
        f = compiled(lambda x: m(x) + x)
        w = m.weight.detach()
        for _ in range(2):
            torch.testing.assert_close(f(w), m(w) + w)
            m.weight.mul_(2)

    def test_memory_that_is_not_aligned(self):
        bytes_ = torch.zeros(4 * 33 + 4, dtype=torch.uint8)
        x = bytes_[4:].view(torch.float32)[1:]
        x.copy_(torch.randn(32))
        f = compiled(lambda x: (torch.exp(x), x @ x, x.sort()))
        torch.testing.assert_close(f(x), (torch.exp(x), x @ x, x.sort()))

    def test_lazy_conjugates_and_negatives(self):
        x = torch.randn(3, 3, dtype=torch.complex64)
        f = compiled(lambda x: x * 2, options={"fallback": "silent"})
        for v in x.conj(), x.conj().t(), x.conj().imag:
            torch.testing.assert_close(f(v), v * 2)

    def test_results_outlive_arguments_and_the_function(self):
        f = compiled(lambda x: (x[1:] + 1, x * 2))
        y, z = f(torch.ones(1000))
        del f
        torch._dynamo.reset()
        gc.collect()
        [torch.full((1000,), 7.) for _ in range(10)]
        self.assertEqual((y.sum(), z.sum()), (2 * 999, 2000))

    def test_arguments_are_not_kept(self):
        f = compiled(lambda x: x * 2 + 1)
        x = torch.ones(5)
        f(x)
        gone = weakref.ref(x)
        del x
        gc.collect()
        self.assertIsNone(gone())

    def test_arguments_of_inference_mode(self):
        f = compiled(net())
        with torch.inference_mode():
            x = torch.ones(2, 4)
        torch.testing.assert_close(f(x), net()(x))


class Writes(Case):
    def test_a_cache_of_keys(self):
        def step(cache, k, at):
            cache.index_copy_(1, at, k)
            return cache.sum(-1)
        fast = compiled(step)
        ours, theirs = torch.zeros(2, 8, 4), torch.zeros(2, 8, 4)
        for i in range(4):
            k, at = torch.randn(2, 1, 4), torch.tensor([i])
            torch.testing.assert_close(fast(ours, k, at), step(theirs, k, at))
        torch.testing.assert_close(ours, theirs)

    def test_a_part_of_an_argument(self):
        def f(x):
            x[::2] = 1
            x[:, 1].add_(x[:, 0])
            return x.t() * 2
        self.same(f, torch.randn(4, 3))

    def test_an_argument_that_is_written_and_returned(self):
        x = torch.ones(3)
        self.assertIs(compiled(lambda x: x.add_(1))(x), x)
        self.assertEqual(x.tolist(), [2] * 3)

    def test_out(self):
        def f(x, y):
            torch.add(x, 1, out=y)
            return y * 2
        self.same(f, torch.randn(3), torch.zeros(3))

    def test_a_buffer_that_is_replaced_or_counts(self):
        class Counter(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("n", torch.zeros(()))

            def forward(self, x):
                self.n += 1
                return x * self.n
        m = Counter()
        f = compiled(m)
        x = torch.ones(2)
        for want in 1, 2, 3:
            self.assertEqual(f(x).tolist(), [want] * 2)
        m.n = torch.full((), 9.)
        self.assertEqual(f(x).tolist(), [10] * 2)
        self.assertEqual(m.n, 10)


class Weights(Case):
    def test_each_change_is_noticed_between_many_calls(self):
        m = net()
        f = compiled(m)
        x = torch.randn(2, 4)
        changes = (lambda p: p.add_(1), lambda p: torch._foreach_mul_([p], 2),
                   lambda p: p[1:].zero_(), lambda p: p.copy_(p * 3),
                   lambda p: p.detach().sub_(1))
        for change in changes:
            for p in m.parameters():
                change(p)
                for _ in range(2):
                    torch.testing.assert_close(f(x), m(x))

    def test_weights_of_inference_mode(self):
        with torch.inference_mode():
            m = net()
            f = compiled(m)
            x = torch.randn(2, 4)
            for _ in range(3):
                torch.testing.assert_close(f(x), m(x))
                m[0].weight.add_(1)

    def test_parametrized_weights(self):
        m = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))
        f = compiled(m)
        x = torch.randn(2, 4)
        for _ in range(2):
            torch.testing.assert_close(f(x), m(x))
            m.parametrizations.weight.original0.mul_(2)

    def test_two_modules_of_one_code(self):
        class Scale(nn.Module):
            def __init__(self, k):
                super().__init__()
                self.w = nn.Parameter(torch.full((3,), float(k)))

            def forward(self, x):
                return x * self.w
        a, b = Scale(2), Scale(5)
        fa, fb = compiled(a), compiled(b)
        x = torch.ones(3)
        for _ in range(2):
            self.assertEqual((fa(x)[0], fb(x)[0]), (2, 5))

    def test_a_parameter_with_two_readers(self):
        w = nn.Parameter(torch.randn(4, 4))
        f = compiled(lambda x: (x @ w, x + w.exp(), F.linear(x, w.t())))
        x = torch.randn(4, 4)
        for _ in range(3):
            torch.testing.assert_close(f(x), (x @ w, x + w.exp(), x @ w))
            w.add_(1)

    def test_weights_that_are_not_contiguous_or_share_memory(self):
        both = torch.randn(8, 4)
        a, b = nn.Linear(4, 4), nn.Linear(4, 4)
        a.weight = nn.Parameter(both[:4].t())
        b.weight = nn.Parameter(both[2:6])
        f = compiled(lambda x: b(torch.relu(a(x))))
        x = torch.randn(2, 4)
        for _ in range(2):
            torch.testing.assert_close(f(x), b(torch.relu(a(x))))
            a.weight.mul_(2)
            torch.testing.assert_close(f(x), b(torch.relu(a(x))))
            b.weight.add_(1)

    def test_a_copy_has_weights_of_its_own(self):
        f = compiled(net())
        x = torch.randn(2, 4)
        want = f(x)
        g = copy.deepcopy(f)
        for p in g.parameters():
            p.zero_()
        self.assertEqual(g(x).abs().sum(), 0)
        self.assertTrue(torch.equal(f(x), want))

    def test_train_and_eval(self):
        m = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
        other = copy.deepcopy(m)
        f = compiled(m)
        for mode in True, False, True, False:
            x = torch.randn(5, 4)
            torch.testing.assert_close(f.train(mode)(x), other.train(mode)(x))
        torch.testing.assert_close(m.state_dict(), other.state_dict())


class Numbers(Case):
    def test_float32_stays_float32(self):
        a, b = torch.randn(64, 256), torch.randn(256, 64)
        exact = a.double() @ b.double()
        error = (compiled(torch.matmul)(a, b) - exact).abs().max()
        self.assertLess(error, 1e-4)

    def test_types_of_mixed_arithmetic(self):
        i, h = torch.arange(4), torch.randn(4).half()
        self.same(lambda i, h: (i + 2.5, i / 2, h * 2.5, h + i, i * True,
                                h + torch.tensor(1., dtype=torch.float64),
                                i // 3, i % 3, i ** 2), i, h)

    def test_the_default_type(self):
        self.addCleanup(torch.set_default_dtype, torch.get_default_dtype())

        def f(x):
            return torch.ones(3) + x, torch.arange(3) / 2
        fast = compiled(f, {"fallback": "silent"})
        for dtype in torch.float32, torch.float64:
            torch.set_default_dtype(dtype)
            self.same(f, torch.arange(3), fast=fast)

    def test_not_a_number_infinity_and_minus_zero(self):
        inf = float("inf")
        x = torch.tensor([float("nan"), inf, -inf, -0., 0., 1e-42])
        self.same(lambda x: (torch.relu(x), x.max(), x.amin(), torch.sign(x),
                             x.clamp(-1, 1), torch.maximum(x, -x), 1 / x,
                             x.softmax(0), x.isnan(), x == x), x,
                  rtol=0, atol=0)

    def test_integers_wrap(self):
        x = torch.tensor([127, -128, 100], dtype=torch.int8)
        self.same(lambda x: (x + 1, x * 2, -x, x.sum(), x >> 1, x // -3), x)

    def test_numbers_that_change_at_each_call(self):
        f = compiled(lambda x, a, n: x * a + n)
        x = torch.ones(3)
        for i in range(6):
            self.assertEqual(f(x, i + 0.5, 2 ** 40 + i)[0].item(),
                             (x * (i + 0.5) + 2 ** 40 + i)[0].item())

    def test_extents_of_nought_and_one_after_others(self):
        f = compiled(net(), dynamic=True)
        for n in 5, 1, 0, 7, 0:
            x = torch.randn(n, 4)
            torch.testing.assert_close(f(x), net()(x))

    def test_another_type_or_rank_at_the_next_call(self):
        f = compiled(lambda x: x.sum(-1) * 2)
        for x in (torch.ones(3), torch.ones(3).double(), torch.ones(2, 3),
                  torch.ones(2, 3, dtype=torch.int32), torch.ones(1, 2, 3)):
            torch.testing.assert_close(f(x), x.sum(-1) * 2)


class Control(Case):
    def test_conditions_with_inner_graphs(self):
        def f(x):
            return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1,
                              (x,)) * 2
        self.same(f, torch.ones(3), fast=compiled(f, {"fallback": "silent"}))

    def test_vmap_and_functional_call(self):
        m = net()
        state = {k: torch.stack([v, v * 2])
                 for k, v in m.named_parameters()}

        def f(x):
            return torch.vmap(lambda p: torch.func.functional_call(
                m, p, (x,)))(state)
        self.same(f, torch.randn(2, 4))

    def test_no_tensor_among_the_arguments(self):
        w = nn.Parameter(torch.ones(3))
        self.same(lambda n: (torch.arange(n) * 2, torch.ones(2, n) + 1), 3)
        self.same(lambda n: w * n + 1, 3)
        f = compiled(lambda n: torch.arange(n) * 2, dynamic=True)
        for n in 2, 3, 5:
            self.assertEqual(f(n).tolist(), [2 * i for i in range(n)])

    def test_views_of_what_the_optimizer_lays_out_anew(self):
        w = nn.Parameter(torch.randn(3, 32, 32))
        scale = nn.Parameter(torch.randn(8))

        def heads(x, w):
            y = (x @ w).view(2, 7, 4, 8).transpose(1, 2)
            return y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6) * scale

        def f(x):
            y = F.scaled_dot_product_attention(*(heads(x, v) for v in w))
            return y.transpose(1, 2).view(2, 7, -1) * 2
        self.same(f, torch.randn(2, 7, 32))

    def test_hooks_of_modules(self):
        m = net()
        m[0].register_forward_hook(lambda m, args, out: out * 2)
        self.same(m, torch.randn(2, 4))

    def test_subclasses_of_tensors(self):
        class Named(torch.Tensor):
            pass
        x = torch.ones(3).as_subclass(Named)
        y = compiled(lambda x: x + 1, {"fallback": "silent"})(x)
        self.assertIsInstance(y, Named)
        self.assertEqual(y.tolist(), [2] * 3)

    def test_sparse_tensors(self):
        x = torch.eye(3).to_sparse()
        f = compiled(lambda x, y: x @ y, {"fallback": "silent"})
        self.assertEqual(f(x, torch.ones(3, 1)).tolist(), [[1]] * 3)

    def test_an_index_out_of_range_is_an_exception(self):
        m = nn.Embedding(4, 2)
        f = compiled(m)
        f(torch.tensor([1]))
        with self.assertRaisesRegex(cfx.Error, "out of range"):
            f(torch.tensor([4]))
        torch.testing.assert_close(f(torch.tensor([3])), m.weight[3:])

    def test_an_exception_leaves_modes_as_they_were(self):
        f = compiled(nn.Embedding(4, 2), {"fallback": "silent"})
        with self.assertRaisesRegex(cfx.Error, "out of range"):
            f(torch.tensor([9]))
        self.assertFalse(torch.is_grad_enabled())
        with torch.enable_grad():
            with self.assertRaises(IndexError):
                f(torch.tensor([9]))
            self.assertTrue(torch.is_grad_enabled())

    def test_structures_with_none_and_lists(self):
        def f(x, more):
            a, b, c = more["l"]
            return [x + a, None, {"y": (c * 2,)}], b
        x = torch.ones(2)
        out, b = compiled(f)(x, {"l": [x, None, x]})
        self.assertEqual((out[0][0], out[1], b), (2, None, None))
        self.assertEqual(out[2]["y"][0].tolist(), [2, 2])

    def test_autocast_after_calls_without_it(self):
        m = net()
        f = compiled(m)
        x = torch.randn(2, 4)
        for on in False, True, False:
            with torch.autocast("cpu", torch.bfloat16, enabled=on):
                self.assertEqual(f(x).dtype,
                                 torch.bfloat16 if on else torch.float32)

    def test_an_argument_with_gradients_and_a_result_without(self):
        x = torch.randn(3, requires_grad=True)
        with torch.enable_grad():
            for f in (lambda x: x > 0, lambda x: x.detach() * 2,
                      lambda x: (x.argmax(), x.detach().view(3, 1) + 1)):
                g = compiled(f, {"fallback": "silent"})
                for _ in range(2):
                    torch.testing.assert_close(g(x), f(x))

    def test_gradients_after_and_between_inference(self):
        m = net()
        f = compiled(m, {"fallback": "silent"})
        x = torch.randn(2, 4)
        for _ in range(2):
            torch.testing.assert_close(f(x), m(x))
            with torch.enable_grad():
                f(x).sum().backward()
            for p in m.parameters():
                self.assertIsNotNone(p.grad)
                p.sub_(p.grad)
                p.grad = None


class Processes(Case):
    def test_a_fork_after_a_run(self):
        f = compiled(nn.Linear(256, 256))
        x = torch.randn(64, 256)
        want = f(x)
        child = os.fork()
        if not child:
            os._exit(0 if torch.equal(f(x), want) else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_pytorchs_threads_stay_as_set(self):
        n = torch.get_num_threads()
        compiled(net(), {**STRICT, "threads": 1})(torch.ones(2, 4))
        self.assertEqual(torch.get_num_threads(), n)

    def test_threads_that_change_weights_and_call(self):
        m = net()
        f = compiled(m)
        x = torch.randn(2, 4)
        f(x)
        failed = []

        def call():
            with torch.no_grad():
                for _ in range(30):
                    try:
                        m[0].bias.add_(0)
                        f(x)
                    except Exception as error:
                        failed.append(error)
        threads = [threading.Thread(target=call) for _ in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failed, [])
        torch.testing.assert_close(f(x), m(x))

    def test_modes_of_gradients_belong_to_threads(self):
        m = net()
        f = compiled(m, {"fallback": "silent"})
        x = torch.randn(2, 4)
        grads = {}

        def call(on):
            with torch.set_grad_enabled(on):
                for _ in range(10):
                    grads.setdefault(on, set()).add(f(x).requires_grad)
        for on in True, False:
            call(on)
        threads = [threading.Thread(target=call, args=(on,))
                   for on in (True, False)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(grads, {True: {True}, False: {False}})

    def test_padding_that_reads_an_argument_at_other_places(self):
        self.same(lambda x: (F.pad(x, (1, 2), "reflect"), F.pad(x, (1, -1)),
                             x.roll(1, -1), x.as_strided((2, 2), (1, 2), 1)),
                  torch.randn(2, 3, 4))


if __name__ == "__main__":
    unittest.main()
