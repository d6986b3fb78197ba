"""Tests of the oracle itself: python -m unittest in this folder."""

import operator
import os
import unittest

import numpy as np
import torch
from torch import fx, nn

import fxtext
import golden
import opcases
import seeded

HERE = os.path.dirname(os.path.abspath(__file__))


def text_of(gm):
    return f"{gm!r}\n\n{gm.graph}\n"


def graph_with(line):
    return fxtext.parse_graph(
        "graph():\n    %x : [num_users=1] = placeholder[target=x]\n"
        f"    %y : [num_users=0] = {line}\n    return x")


def args_of(line):
    return list(graph_with(line).nodes)[1].args[1:]


class Everything(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3, padding="same",
                              padding_mode="circular", bias=False)
        self.up = nn.Upsample(scale_factor=2.0, mode="nearest")
        self.norms = nn.ModuleDict({"my-key": nn.GroupNorm(2, 4),
                                    "b": nn.LayerNorm(8)})
        self.lstm = nn.LSTM(8, 3, batch_first=True, bidirectional=True)
        self.register_buffer("table", torch.arange(6))

    def forward(self, x, flag: int = 3, word="a b"):
        y = self.norms["b"](self.up(self.conv(x)))
        y = self.norms["my-key"](y)[:, None, ..., : y.size(3)]
        z = torch.einsum("nchw,ndhw->ncd", y[:, 0], x[..., :1].expand_as(x))
        z = z.to(torch.float64, copy=True).clamp(min=-1e30, max=float("inf"))
        s = torch.nn.functional.pad(z, (1, 0), mode="constant", value=0.5)
        out, (h, c) = self.lstm(y.flatten(0, 3))
        return {"s": s, "t": (out, [h, None, 1.5, "s"]), "b": self.table + 1}


class Text(unittest.TestCase):
    def test_any_model_reads_back_the_same(self):
        gm = fx.symbolic_trace(Everything().eval())
        state = {k: (v.dtype, v.shape) for k, v in gm.named_buffers()}
        again = fxtext.parse(text_of(gm), state=state)
        self.assertEqual(text_of(again), text_of(gm))

    def test_old_releases_are_read(self):
        gm = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
        old = text_of(gm).replace("num_users=", "#users=")
        self.assertEqual(text_of(fxtext.parse(old)), text_of(gm))

    def test_repeated_modules_are_unfolded(self):
        tree = fxtext.parse_tree(["ModuleList(", "  (0-2): 3 x ReLU()", ")"])
        self.assertEqual(list(tree.children), ["0", "1", "2"])

    def test_values(self):
        for text, value in (
                ("1", 1), ("-0.0", -0.0), ("1e+30", 1e30), ("1j", 1j),
                ("(1+2j)", 1 + 2j), ("(1,)", (1,)), ("()", ()), ("None", None),
                ("[1, [2, a]]", [1, [2, "a"]]), ("torch.int8", torch.int8),
                ("torch.channels_last", torch.channels_last), ("cpu", "cpu"),
                ("slice(1, None, None)", slice(1, None, None)),
                ("Ellipsis", Ellipsis), ("range(0, 3)", range(0, 3)),
                ("{a: 1, 'b c': (2,)}", {"a": 1, "b c": (2,)}),
                ("'a, b)'", "a, b)"), ("device('cpu')", torch.device("cpu")),
                ("device(type='cuda', index=0)", torch.device("cuda:0"))):
            self.assertEqual(fxtext.plain(fxtext.Values().value(text)), value)

    def test_cut_strings_are_joined(self):
        line = "call_function[target=torch.einsum](args = (ij, jk -> ik, " \
            "%x, %x), kwargs = {})"
        node = list(graph_with(line).nodes)[1]
        self.assertEqual(node.args[0], "ij, jk -> ik")
        self.assertEqual(len(node.args), 3)

    def test_nodes_stand_in_slices_without_percent(self):
        (index,) = args_of("call_function[target=operator.getitem](args = "
                           "(%x, (slice(None, x, None), Ellipsis, None)), "
                           "kwargs = {})")
        self.assertIsInstance(index[0].stop, fx.Node)

    def test_the_superset(self):
        gm = fxtext.parse(
            "# cfx 1\nNet(\n  (attn): MultiheadAttention(\n"
            "    num_heads=2, batch_first=True\n"
            "    (out_proj): NonDynamicallyQuantizableLinear("
            "in_features=8, out_features=8, bias=True)\n  )\n"
            "  (pool): AvgPool1d(kernel_size=(2,), stride=(2,), "
            "padding=(0,), ceil_mode=True, count_include_pad=False)\n"
            "  (drop): Dropout(p=0.5, inplace=False, training=True)\n"
            ")\nstate:\n  class_token: f32[1, 1, 8]\n\ngraph():\n"
            "    %x : [num_users=1] = placeholder[target=x](default='a, b')\n"
            "    %t : [num_users=1] = get_attr[target=class_token]\n"
            "    %a : [num_users=1] = call_module[target=attn]"
            "(args = (%t, %t, %t), kwargs = {})\n"
            "    %p : [num_users=1] = call_module[target=pool]"
            "(args = (%t,), kwargs = {})\n"
            "    %d : [num_users=1] = call_module[target=drop]"
            "(args = (%p,), kwargs = {})\n"
            "    return (a, d, 'x')\n")
        self.assertEqual((gm.attn.num_heads, gm.attn.batch_first), (2, True))
        self.assertFalse(gm.pool.count_include_pad)
        self.assertTrue(gm.drop.training and not gm.pool.training)
        self.assertEqual(gm.class_token.shape, (1, 1, 8))
        self.assertEqual(next(iter(gm.graph.nodes)).args, ("a, b",))
        out = gm()
        self.assertEqual((out[0][0].shape, out[2]), ((1, 1, 8), "x"))

    def test_hidden_arguments_without_default_are_missed(self):
        with self.assertRaisesRegex(fxtext.TextError, "num_heads"):
            fxtext.parse("A(\n  (m): MultiheadAttention(\n    (out_proj): "
                         "NonDynamicallyQuantizableLinear(in_features=8, "
                         "out_features=8, bias=True)\n  )\n)\n\ngraph():")

    def test_unknown_names_are_refused(self):
        with self.assertRaisesRegex(fxtext.TextError, "nothing tells"):
            fxtext.parse("A()\n\ngraph():\n    %w : [num_users=0] = "
                         "get_attr[target=w]\n    return w")
        for name in ("builtins.eval", "os.system", "torch.no_such_thing",
                     "operator.__dict__"):
            with self.assertRaises(fxtext.TextError):
                fxtext.resolve(name)


class Seeded(unittest.TestCase):
    def test_vectors_are_current(self):
        path = os.path.join(HERE, "..", "golden", "seeded.txt")
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read().split("\n")[:-1],
                             list(seeded.vectors()))

    def test_numpy_agrees_with_python(self):
        k = seeded.key(7, "a.weight")
        r = [seeded.mix64(k + (i + 1) * seeded.GOLDEN_RATIO)
             for i in range(50)]
        self.assertEqual(r, [int(v) for v in seeded.raw(k, 0, 50)])
        fields = [sum((v >> s) & 0xFFFF for s in (0, 16, 32, 48)) for v in r]
        z = [(f - 131070) * (3.0 ** 0.5 / 65536.0) for f in fields]
        self.assertEqual(z, list(seeded.normal(np.array(r, np.uint64))))

    def test_chunks_make_no_difference(self):
        whole = seeded.make_input("x", torch.float32, (3, seeded.CHUNK), 5)
        r = seeded.raw(seeded.key(5, "input:x"), seeded.CHUNK * 2 - 3, 6)
        part = seeded.normal(r).astype(np.float32)
        flat = whole.reshape(-1)[seeded.CHUNK * 2 - 3:seeded.CHUNK * 2 + 3]
        self.assertEqual(flat.tolist(), part.tolist())

    def test_values_are_rounded_once(self):
        x = np.array([1 + 2.0 ** -8 + 2.0 ** -40, 1 + 2.0 ** -8, -1 - 2.0 ** -8
                      - 2.0 ** -40, 1 + 3 * 2.0 ** -8 - 2.0 ** -40])
        bits = torch.from_numpy(seeded.round_to(x, torch.bfloat16))
        self.assertEqual(bits.view(torch.bfloat16).tolist(),
                         [1.0078125, 1.0, -1.0078125, 1.0078125])

    def test_gain_counts_pairs_of_nodes(self):
        gm = fx.symbolic_trace(lambda x: ((x + x).add(x) + 1) * 2)
        self.assertEqual(seeded.pairings(gm.graph, *seeded.ADD), 2)
        self.assertEqual(seeded.pairings(gm.graph, *seeded.MUL), 0)


class Golden(unittest.TestCase):
    def test_values_are_seen_before_they_are_overwritten(self):
        gm = fx.symbolic_trace(lambda x: torch.relu_(torch.neg(x)))
        seen = {}

        def record(name, value):
            seen[name] = golden.digest(name, value, 4)

        golden.run(gm, [torch.tensor([1.0, -2.0])], record)
        self.assertEqual(seen["neg"][1], 0.5)
        self.assertEqual(seen["relu_"][1], 1)

    def test_worthless_outputs_are_refused(self):
        for bad in (torch.zeros(2, 3), torch.tensor([[1.0, 2], [1, 2]]),
                    torch.tensor([1.0, float("nan")]),
                    torch.tensor([[1e5, 0.0], [0, 1e5]])):
            with self.assertRaises(golden.Refused):
                golden.check_output(bad)

    def test_aggregates_are_nested(self):
        entry = golden.digest("n", (torch.ones(2), [3, {"k": torch.ones(1)}]),
                              1)
        self.assertEqual(entry[0][:2], ["f32[2]", 1])
        self.assertEqual(entry[1][1]["k"][0], "f32[1]")


class Cases(unittest.TestCase):
    def test_results(self):
        for case, shown in (
                ("operator.add(i64[2]={1,2}, 3)", "i64[2]@(1) 4 5"),
                ("operator.setitem(i64[2]={1,2}, 0, 3)",
                 "None ; arg0: i64[2]@(1) 3 2"),
                ("Tensor.add_(i64[2]={1,2}, 1)", "i64[2]@(1) 2 3"),
                ("Tensor.contiguous(f32[2,2]@(1,2)={1,2,3,4})",
                 "f32[2,2]@(2,1) 1 2 3 4"),
                ("Tensor.t(f32[2,2]@(1,2)={1,2,3,4})",
                 "f32[2,2]@(2,1) 1 3 2 4"),
                ("Tensor.neg(f32[2,2]@(0,1)={1,2,3,4})",
                 "f32[2,2]@(2,1) -3 -4 -3 -4"),
                ("Tensor.neg(f32[2]={inf,nan})", "f32[2]@(1) -inf nan"),
                ("Tensor.conj(c64[1]={1+2j})", "c64[1]@(1) 1-2j"),
                ("Tensor.gt(f32[2]={1,3}, 2)", "bool[2]@(1) 0 1"),
                ("Tensor.item(f64[]={0.1})", "0.1"),
                ("Tensor.size(f32[2,3])", "(2, 3)"),
                ("torch.cat([f32[2,3], f32[4,5]])", "error"),
                ("Tensor.view(f32[0,3], -1, 0)", "error")):
            self.assertEqual(opcases.result(case)[0], shown, case)

    def test_broken_cases_are_not_errors(self):
        for case in ("torch.cat([f32[2]", "torch.nothing(f32[2])",
                     "Tensor.neg(f33[2])", "Tensor.neg(f32[2]={1,2,3})",
                     "Tensor.neg(f32[2]) x", "Tensor.neg(f32[2]@(1,1))"):
            with self.assertRaises(opcases.CaseError):
                opcases.result(case)


if __name__ == "__main__":
    unittest.main()
