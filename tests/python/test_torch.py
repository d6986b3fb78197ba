"""PyTorch's tensors in and out of models."""

import os
import unittest

import numpy as np
import torch
from torch import fx

import cfx

TYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32,
         torch.int64, torch.float16, torch.bfloat16, torch.float32,
         torch.float64, torch.complex64, torch.complex128]
STORED = [torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn,
          torch.float8_e5m2]


def model(forward):
    class Module(torch.nn.Module):
        pass

    Module.forward = forward
    gm = fx.symbolic_trace(Module())
    return cfx.Model._parse(f"{gm!r}\n\n{gm.graph}\n", "t", 0)


IDENTITY = model(lambda self, x: x)
TWICE = model(lambda self, x: x + x)


class Tensors(unittest.TestCase):
    def test_all_types_pass_without_a_copy(self):
        for dtype in TYPES + STORED:
            for shape in (2, 3), (), (0, 3):
                x = torch.ones(shape).to(dtype)
                y = IDENTITY(x)
                self.assertIs(type(y), torch.Tensor)
                self.assertEqual((y.dtype, y.shape), (x.dtype, x.shape))
                if x.numel():
                    self.assertEqual(y.data_ptr(), x.data_ptr())

    def test_all_types_are_computed_with_any_strides(self):
        base = torch.arange(120).reshape(2, 3, 4, 5) % 2
        for dtype in TYPES:
            x = base.to(dtype)
            for view in (x, x.permute(3, 1, 0, 2), x[:, 1:, ::2],
                         x.contiguous(memory_format=torch.channels_last),
                         x[1, 1, 1, 1], x[:0], x[:1].expand(3, 3, 4, 5)):
                y, want = TWICE(view), view + view
                self.assertTrue(torch.equal(y, want), dtype)
                self.assertEqual((y.dtype, y.stride()),
                                 (want.dtype, want.stride()))

    def test_views_that_conjugate_or_negate_are_computed(self):
        z = torch.randn(3, dtype=torch.complex64)
        for view in z.conj(), z.conj().imag:
            self.assertTrue(torch.equal(TWICE(view), view + view))

    def test_writes_reach_the_input(self):
        add = model(lambda self, x: x.add_(1))
        x = torch.zeros(4)
        y = add(x[1:3])
        self.assertEqual(x.tolist(), [0, 1, 1, 0])
        self.assertEqual(y.data_ptr(), x[1:].data_ptr())

    def test_results_live_on_without_the_model_and_inputs(self):
        m = model(lambda self, x: x[1:])
        y = m(torch.arange(1000.0))
        del m
        torch.zeros(1000)
        self.assertEqual(y.sum(), 999 * 500)

    def test_gradients_are_not_lost_silently(self):
        p = torch.nn.Parameter(torch.ones(3))
        with self.assertRaisesRegex(RuntimeError, "torch.no_grad"):
            TWICE(p)
        with torch.no_grad():
            self.assertEqual(TWICE(p).tolist(), [2, 2, 2])
        self.assertEqual(TWICE(p.detach()).tolist(), [2, 2, 2])

    def test_what_has_no_plain_memory_is_refused_in_one_line(self):
        from torch._subclasses import FakeTensorMode
        with FakeTensorMode():
            fake = torch.ones(3)
        for x in (torch.ones(2, device="meta"), torch.eye(2).to_sparse(),
                  fake):
            with self.assertRaises(TypeError) as caught:
                IDENTITY(x)
            self.assertNotIn("\n", str(caught.exception))

    def test_values_of_pytorch_come_back(self):
        for v in (torch.float32, torch.device("cpu"), torch.channels_last,
                  torch.strided):
            self.assertEqual(IDENTITY(v), v)

    def test_the_first_tensor_tells_what_results_are(self):
        both = model(lambda self, x, y: (x, y))
        for a, b in ((torch.ones(2), np.ones(2)), (np.ones(2), torch.ones(2))):
            self.assertEqual([type(v) for v in both(a, b)], [type(a)] * 2)
        self.assertEqual([type(v) for v in both(1, torch.ones(2))],
                         [int, torch.Tensor])

    def test_a_model_equals_pytorch(self):
        net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(),
                                  torch.nn.Flatten(), torch.nn.Linear(288, 4))
        x = torch.randn(2, 3, 8, 8)
        path = os.path.join(self.enterContext(
            __import__("tempfile").TemporaryDirectory()), "m.pt2")
        torch.export.save(torch.export.export(net.eval(), (x,)), path)
        m = cfx.load(path)
        with torch.no_grad():
            want = net(x)
        torch.testing.assert_close(m(x), want)
        torch.testing.assert_close(m.optimize(x)(x), want)


if __name__ == "__main__":
    unittest.main()
