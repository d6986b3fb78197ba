"""Models with NumPy's arrays: calls, tensors, errors, rewrites, threads, signals."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

import cfx

TOP = os.environ["CFX_TOP"]
MLP = os.path.join(TOP, "tests", "golden", "pt2", "mlp.pt2")
DIGITS = os.path.join(TOP, "models", "digits.fx")
RESNET = os.path.join(TOP, "models", "resnet18.fx")


def graph(*lines, inputs="x"):
    """A model of placeholders and lines of text."""
    text = "# cfx 1\nM()\n\ngraph():\n"
    for name in inputs.split():
        text += f"    %{name} : [num_users=0] = placeholder[target={name}]\n"
    return cfx.Model._parse(text + "".join(f"    {x}\n" for x in lines), "t", 0)


def call(name, target, args, kwargs=""):
    return (f"%{name} : [num_users=0] = call_function[target={target}]"
            f"(args = {args}, kwargs = {{{kwargs}}})")


IDENTITY = graph("return %x")
TWICE = graph(call("y", "operator.add", "(%x, %x)"), "return %y")
SLOW = graph(call("y", "torch.cumsum", "(%x, 0)"),
             *(call(f"y{i}", "torch.sort", "(%x, 0)") for i in range(200)),
             "return %y")


class Calls(unittest.TestCase):
    def setUp(self):
        self.mlp = cfx.load(MLP)
        self.x = np.random.default_rng(0).random((4, 6), "f4")

    def test_a_call_computes_what_the_program_does(self):
        out = subprocess.run(
            [sys.executable, "-m", "cfx", "run", MLP, "-i", "input=x.npy", "-O",
             "."], cwd=self.folder(), capture_output=True, text=True)
        self.assertEqual(out.returncode, 0, out.stderr)
        have = np.load(os.path.join(self.dir.name, "output.npy"))
        np.testing.assert_array_equal(self.mlp(self.x), have)

    def folder(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)
        np.save(os.path.join(self.dir.name, "x.npy"), self.x)
        return self.dir.name

    def test_inputs_go_by_place_or_name(self):
        np.testing.assert_array_equal(self.mlp(self.x), self.mlp(input=self.x))
        for args, named in [((), {"other": 1}), ((self.x,), {"input": self.x}),
                            ((self.x, self.x), {"input": self.x})]:
            with self.assertRaises(TypeError):
                self.mlp(*args, **named)

    def test_results_stay_after_the_next_call(self):
        first = self.mlp(self.x)
        kept = first.copy()
        second = self.mlp(-self.x)
        np.testing.assert_array_equal(first, kept)
        self.assertFalse(np.shares_memory(first, second))
        self.assertTrue(first.flags.writeable)

    def test_all_types_of_numpy_pass_without_a_copy(self):
        for code in "?bBhHiIqQefdFD":
            for shape in (2, 3), (), (0, 3):
                x = np.ones(shape, code)
                y = IDENTITY(x)
                self.assertEqual((y.dtype, y.shape), (x.dtype, x.shape))
                self.assertTrue(not x.size or np.shares_memory(x, y), code)

    def test_strides_are_kept_or_copied(self):
        x = np.arange(24.0).reshape(4, 6)
        for view in x.T, x[::2], x[::-1], x[:, ::-2], x[1:, 3], x[None, 0]:
            np.testing.assert_array_equal(TWICE(view), view + view)
        table = np.zeros(3, [("a", "i1"), ("b", "<f8")])
        table["b"] = 1, 2, 3
        np.testing.assert_array_equal(TWICE(table["b"]), [2, 4, 6])

    def test_memory_that_may_not_be_written_is_not(self):
        add = graph(call("y", "torch.Tensor.add_", "(%x, 1)").replace(
            "call_function[target=torch.Tensor.add_]",
            "call_method[target=add_]"), "return %y")
        x = np.zeros(3)
        self.assertTrue(np.shares_memory(add(x), x))
        np.testing.assert_array_equal(x, [1, 1, 1])
        x.flags.writeable = False
        np.testing.assert_array_equal(add(x), [2, 2, 2])
        np.testing.assert_array_equal(x, [1, 1, 1])

    def test_values_that_are_no_tensors(self):
        for v in (None, True, 3, 2.5, 1 + 2j, "a", ..., (1, (2,)), [1, [2]],
                  {"a": 1}, slice(1, None, 2)):
            self.assertEqual(IDENTITY(v), v)
            self.assertIs(type(IDENTITY(v)), type(v))
        for v in object(), b"a", np.array(["a"]), np.array([1], ">f4"), 2 ** 70:
            with self.assertRaises((TypeError, OverflowError, BufferError)):
                IDENTITY(v)

    def test_a_result_without_inputs_is_a_tensor_of_cfx(self):
        t = graph(call("y", "torch.arange", "(3,)"), "return %y", inputs="")()
        self.assertIsInstance(t, cfx.Tensor)
        self.assertEqual((t.shape, t.strides, t.dtype, t.tolist(), len(t)),
                         ((3,), (1,), "int64", [0, 1, 2], 3))
        self.assertEqual(repr(t), "tensor([0, 1, 2])")
        np.testing.assert_array_equal(np.from_dlpack(t), [0, 1, 2])
        self.assertTrue(np.shares_memory(t.numpy(), np.asarray(t)))
        with self.assertRaises(ValueError):
            t.item()

    def test_a_tensor_of_one_element_is_a_number(self):
        t = graph(call("y", "torch.tensor", "(2.5,)"), "return %y", inputs="")()
        self.assertEqual((t.item(), float(t), int(t), bool(t)), (2.5, 2.5, 2, True))

    def test_a_named_tuple_has_its_fields(self):
        y = graph(call("y", "torch.topk", "(%x, 2)"), "return %y")(
            np.arange(5.0))
        self.assertEqual(type(y).__name__, "topk")
        np.testing.assert_array_equal(y.indices, [4, 3])


class Errors(unittest.TestCase):
    def test_each_kind_is_a_class(self):
        with self.assertRaises(cfx.FileError) as caught:
            cfx.load("/none.pt2")
        self.assertIsInstance(caught.exception, (cfx.Error, OSError))
        self.assertEqual(caught.exception.status, "CFX_EIO")
        with self.assertRaises(cfx.InputError) as caught:
            cfx.load(MLP)(np.zeros((4, 6)))
        self.assertIsInstance(caught.exception, ValueError)
        self.assertNotIn("\n", str(caught.exception))
        with self.assertRaisesRegex(cfx.ShapeError, "While executing %y"):
            graph(call("y", "torch.matmul", "(%x, %x)"), "return %y")(
                np.zeros((2, 3)))
        with self.assertRaises(cfx.OperatorError):
            graph(call("y", "no.such", "(%x,)"), "return %y")(1)
        with self.assertRaises(cfx.ParseError):
            cfx.Model._parse("graph(", "t", 0)

    def test_each_status_has_a_class(self):
        with open(os.path.join(TOP, "lib", "cfx", "status.h")) as file:
            header = file.read()
        names = {getattr(cfx, n).status for n in dir(cfx)
                 if n.endswith("Error") and n != "Error"}
        for word in header.split("typedef enum cfx_status {")[1].split(
                "}")[0].split():
            if word.startswith("CFX_E"):
                self.assertIn(word.strip(",="), names)

    def test_a_failed_call_leaves_the_model_usable(self):
        for _ in range(3):
            with self.assertRaises(cfx.Error):
                TWICE(None)
            np.testing.assert_array_equal(TWICE(np.ones(2)), [2, 2])


class Rewrites(unittest.TestCase):
    def setUp(self):
        self.m = cfx.load(MLP)
        self.x = np.random.default_rng(0).random((4, 6), "f4")

    def test_the_graph_can_be_read(self):
        nodes = self.m.graph.nodes
        self.assertEqual([n.name for n in nodes[-3:]],
                         ["linear_1", "relu_1", "output"])
        self.assertEqual(nodes[-1].args[0], nodes[-2])
        self.assertEqual(nodes[-2].users, [nodes[-1]])
        self.assertEqual(nodes[-2].target, "torch.ops.aten.relu.default")
        self.assertIn("def forward(self, input)", self.m.code)
        self.assertIn("return relu_1", str(self.m.graph))
        self.assertEqual(self.m.inputs, {"input": "f32[4, 6]"})

    def test_optimized_quantized_and_transformed_models_are_new(self):
        before = str(self.m.graph)
        y = self.m(self.x)
        fast = self.m.optimize(self.x)
        self.assertIn("packed_linear", str(fast.graph))
        np.testing.assert_allclose(fast(self.x), y, rtol=1e-5)
        small = self.m.quantize([self.x, (self.x,), {"input": self.x}])
        self.assertIn("quantize_per_tensor", str(small.graph))
        np.testing.assert_allclose(small(self.x), y, atol=0.05)
        same = self.m.transform("normalize", "common_subexpressions")
        np.testing.assert_array_equal(same(self.x), y)
        self.assertEqual(str(self.m.graph), before)
        self.assertIn("fuse_conv_bn", cfx.passes())
        with self.assertRaises(cfx.NotFoundError):
            self.m.transform("no_such_pass")
        with self.assertRaises(LookupError):
            self.m.quantize([self.x], "none")

    def test_saved_models_are_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in "m.fx", "m.pt2":
                path = os.path.join(folder, name)
                self.m.save(path)
                np.testing.assert_array_equal(cfx.load(path)(self.x),
                                              self.m(self.x))

    def test_shapes_have_symbols(self):
        s = cfx.load(DIGITS).shapes("f32[N,1,8,8]")
        self.assertEqual(s["fc"]["shape"], ["N", 10])
        self.assertIn("f32[N, 10]", str(s))
        self.assertIn("<pre>", s._repr_html_())
        self.assertEqual(cfx.load(MLP).shapes()["output"]["shape"], [4, 3])
        self.assertEqual(cfx.load(DIGITS).shapes(
            np.zeros((2, 1, 8, 8), "f4"))["fc"]["shape"], [2, 10])

    def test_a_roofline_has_the_floors_of_a_machine(self):
        r = self.m.roofline(self.x, machine="raspberry-pi-5", measure=True,
                            runs=3)
        self.assertEqual(r.json["schema"], "cfx.roofline/1")
        self.assertIn("linear", str(r))
        self.assertIn("<svg", r.print("svg"))
        self.assertIn("srcdoc", r._repr_html_())
        self.assertIn("compute", r.print(by="bound"))
        with self.assertRaises(ValueError):
            r.print("pdf")

    def test_weights_can_be_replaced_by_shared_ones(self):
        bias = np.full(3, 100, "f4")
        self.m._set_state("2", "bias", bias)
        self.assertGreater(self.m(self.x).min(), 90)
        self.assertTrue(np.shares_memory(self.m.state()["2.bias"].numpy(), bias))


class Threads(unittest.TestCase):
    def test_threads_call_one_model_at_a_time(self):
        m = cfx.load(DIGITS)
        rng = np.random.default_rng(0)
        inputs = [rng.random((n, 1, 8, 8), "f4") for n in range(1, 9)]
        want = [m(x) for x in inputs]
        wrong = []

        def work(k):
            for i in range(200):
                x = (i + k) % 8
                if not np.array_equal(m(inputs[x]), want[x]):
                    wrong.append(x)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_ctrl_c_stops_a_run_and_the_next_one_works(self):
        # A shell ignores the signal for what it runs in the background.
        old = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, old)
        x = np.random.default_rng(0).random((1 << 20,), "f4")
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        start = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            for _ in range(1000):
                SLOW(x)
        self.assertLess(time.monotonic() - start, 5)
        np.testing.assert_array_equal(TWICE(np.ones(2)), [2, 2])

    def test_a_fork_after_a_run_works(self):
        m = cfx.load(DIGITS)
        x = np.random.default_rng(0).random((64, 1, 8, 8), "f4")
        want = m(x)
        child = os.fork()
        if not child:
            os._exit(0 if np.array_equal(m(x), want) else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_memory_does_not_grow(self):
        def held():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096
        m = cfx.load(MLP)
        x = np.zeros((4, 6), "f4")
        for _ in range(1000):
            m(x)
        before = held()
        for _ in range(20000):
            m(x)
        self.assertLess(held() - before, 1 << 20)


if __name__ == "__main__":
    unittest.main()
