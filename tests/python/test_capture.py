"""Models from graphs in memory: cfx.from_fx, from_exported, compile."""

import dataclasses
import os
import sys
import unittest

import torch
from torch import fx, nn

import cfx


class Mixed(nn.Module):
    """A parameter, a buffer, a constant, and a structured result."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.register_buffer("b", torch.ones(3))
        self.c = torch.arange(3.0)

    def forward(self, x):
        return {"y": self.fc(x) + self.b + self.c, "n": x.shape[0]}


def export(model, *args, **how):
    return torch.export.export(model.eval(), args, **how)


@torch.no_grad()
def same(model, want, *args, **kwargs):
    torch.testing.assert_close(model(*args, **kwargs), want(*args, **kwargs))


class Exported(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.m = Mixed()
        self.x = torch.randn(5, 4)
        n = torch.export.Dim("N", min=2, max=64)
        self.ep = export(self.m, self.x, dynamic_shapes={"x": {0: n}})

    def test_weights_are_shared_and_symbols_kept(self):
        c = cfx.from_exported(self.ep)
        same(c, self.m, self.x)
        same(c.optimize(), self.m, self.x[:3])
        state = c.state()
        for name, t in self.m.state_dict().items():
            self.assertEqual(state[name].torch().data_ptr(), t.data_ptr())
        with torch.no_grad():
            self.m.fc.bias += 1
        same(c, self.m, self.x)
        with self.assertRaisesRegex(cfx.InputError, "<= 64"):
            c(torch.randn(65, 4))
        self.assertEqual(c.shapes("f32[M,4]")["linear"]["shape"], ["M", 3])

    def test_it_equals_what_the_file_gives(self):
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.pt2")
            torch.export.save(self.ep, path)
            want = cfx.load(path)(self.x)
        self.assertTrue(torch.equal(cfx.from_exported(self.ep)(self.x)["y"],
                                    want["y"]))

    def test_writes_to_buffers_and_inputs_are_made(self):
        class Count(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("n", torch.zeros(2))

            def forward(self, x):
                self.n.add_(1)
                x.mul_(2)
                return x + self.n

        m = Count()
        c = cfx.from_exported(export(m, torch.ones(2)))
        x = torch.ones(2)
        self.assertEqual(c(x).tolist(), [3, 3])
        self.assertEqual(x.tolist(), [2, 2])
        self.assertEqual(m.n.tolist(), [1, 1])
        self.assertEqual(c(x).tolist(), [6, 6])

    def test_structures_go_in_and_out(self):
        @dataclasses.dataclass
        class Out:
            y: torch.Tensor
            z: int

        torch.export.register_dataclass(Out, serialized_type_name="test.Out")

        class Nested(nn.Module):
            def forward(self, pair, *, scale):
                return Out(pair["a"] * scale[0] + pair["b"][0], 3)

        args = ({"a": torch.ones(2), "b": [torch.ones(2)]},)
        scale = {"scale": (torch.full((2,), 4.0),)}
        ep = torch.export.export(Nested(), args, scale)
        for c in cfx.from_exported(ep), cfx.from_exported(ep).optimize():
            out = c(*args, **scale)
            self.assertIsInstance(out, Out)
            self.assertEqual((out.y.tolist(), out.z), ([5, 5], 3))
            with self.assertRaises(TypeError):
                c(*args)

    def test_compile_exports_once(self):
        c = cfx.compile(self.m, self.x, dynamic={"x": {0: "N"}})
        self.assertIn("packed_linear", str(c.graph))
        for n in 2, 5, 9:
            same(c, self.m, torch.randn(n, 4))
        with self.assertRaises(cfx.InputError):
            c(torch.randn(2, 5))


class Traced(unittest.TestCase):
    def test_modules_functions_and_methods_are_kept(self):
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
                self.scale = nn.Parameter(torch.rand(4, 1, 1))

            def forward(self, x, y=2):
                return torch.relu(self.conv(x) * self.scale).flatten(1) + y

        m = Net().eval()
        gm = fx.symbolic_trace(m)
        c = cfx.from_fx(gm)
        x = torch.randn(2, 3, 6, 6)
        same(c, m, x)
        same(c, m, x, y=3)
        self.assertEqual([n.op for n in c.graph.nodes],
                         [n.op for n in gm.graph.nodes])
        same(c.transform("fuse_conv_bn"), m, x)
        self.assertEqual(c.state()["conv.0.weight"].torch().data_ptr(),
                         m.conv[0].weight.data_ptr())

    def test_models_of_torchvision_equal_pytorch(self):
        sys.path.insert(0, os.path.join(os.environ["CFX_TOP"], "tests",
                                        "oracle"))
        try:
            import vision  # noqa: F401
            import torchvision.models as models
        except ImportError:
            self.skipTest("no torchvision")
        x = torch.randn(1, 3, 64, 64)
        for name in "resnet18", "mobilenet_v3_small", "squeezenet1_1":
            m = getattr(models, name)().eval()
            with torch.no_grad():
                want = m(x)
            for c in cfx.from_exported(export(m, x)), cfx.from_fx(m):
                torch.testing.assert_close(c(x), want, rtol=1e-3, atol=1e-4)


if __name__ == "__main__":
    unittest.main()
