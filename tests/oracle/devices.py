#!/usr/bin/env python3
"""devices -- on which device PyTorch's fake tensors say that results are.

    devices.py > ../golden/devices.tsv

A line is a function or method, its tensors, its keywords, and the device of the
result, or `error` where PyTorch refuses tensors of two devices.
"""

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_map

import fxtext

X, Y = "f32[2,3]cuda:0", "f32[2,3]cuda:1"
C, S, M = "f32[2,3]cpu", "f32[]cpu", "f32[2,3]mps:0"
CASES = [
    ("torch.relu", [X], {}), ("torch.relu", [M], {}),
    ("torch.relu", ["f32[2]xpu:1"], {}),
    ("torch.add", [X, X], {}), ("torch.add", [X, S], {}),
    ("torch.add", [S, X], {}), ("torch.add", [S, S], {}),
    ("torch.add", [X, C], {}), ("torch.add", [C, X], {}),
    ("torch.add", [X, Y], {}), ("torch.add", [X, M], {}),
    ("torch.add", [X, "f32[]cuda:1"], {}),
    ("torch.add", ["f32[]cuda:1", S], {}),
    ("torch.matmul", [X, "f32[3,2]cuda:0"], {}),
    ("torch.matmul", [X, "f32[3,2]cpu"], {}),
    ("torch.where", ["bool[2,3]cuda:0", X, S], {}),
    ("torch.where", ["bool[2,3]cpu", X, X], {}),
    ("torch.addcmul", [S, S, X], {}), ("torch.addcmul", [C, S, X], {}),
    ("Tensor.reshape", [X], {"shape": (3, 2)}),
    ("Tensor.t", [M], {}), ("Tensor.expand_as", ["f32[1,3]cuda:0", X], {}),
    ("torch.zeros_like", [X], {}), ("torch.zeros_like", [X], {"device": "cpu"}),
    ("torch.ones_like", [C], {"device": "cuda:0"}),
    ("Tensor.new_zeros", [X], {"size": (4,)}),
    ("Tensor.new_full", [X], {"size": (4,), "fill_value": 1.5,
                              "device": "mps"}),
    ("torch.zeros", [], {"size": (4,)}),
    ("torch.zeros", [], {"size": (4,), "device": "cuda"}),
    ("torch.arange", [], {"end": 4, "device": "cuda:3"}),
    ("torch.full", [], {"size": (4,), "fill_value": 1.5, "device": "xpu"}),
    ("torch.eye", [], {"n": 3, "device": "mps"}),
    ("torch.randn", [], {"size": (3,), "device": "cuda:0"}),
    ("torch.tensor", [], {"data": [1.0, 2.0], "device": "cpu"}),
    ("Tensor.to", [X], {"device": "cpu"}),
    ("Tensor.to", [C], {"device": "cuda:1"}),
    ("Tensor.to", [X], {"dtype": torch.float64}),
    ("Tensor.to", [C, "f16[]cuda:0"], {}), ("Tensor.to", [X, C], {}),
    ("Tensor.type_as", [X, C], {}), ("Tensor.cpu", [X], {}),
    ("Tensor.cuda", [C], {"device": "cuda:1"}),
    ("Tensor.clone", [M], {}), ("Tensor.contiguous", [X], {}),
    ("Tensor.detach", [X], {}), ("Tensor.float", [X], {}),
    ("torch.cat", [(X, X)], {}), ("torch.cat", [(X, C)], {}),
    ("torch.stack", [(M, M)], {}),
    ("torch.nn.functional.linear", [X, "f32[4,3]cuda:0", "f32[4]cuda:0"], {}),
    ("torch.nn.functional.linear", [X, "f32[4,3]cpu"], {}),
    ("torch.nn.functional.embedding", ["i64[5]cuda:0", X], {}),
    ("torch.nn.functional.embedding", ["i64[5]cpu", X], {}),
    ("torch.take_along_dim", [X, "i64[2,3]cuda:0"], {"dim": 1}),
    ("torch.sum", [X], {"dim": 1}), ("torch.softmax", [M], {"dim": 1}),
    ("torch.maximum", [X, S], {}), ("torch.eq", [X, S], {}),
    ("Tensor.add_", [X, S], {}), ("Tensor.add_", [X, C], {}),
    ("Tensor.mul_", [S, S], {}),
    ("Tensor.masked_fill", [X, "bool[2,3]cuda:0"], {"value": 0.0}),
    ("torch.conv2d", ["f32[1,3,8,8]cuda:0", "f32[4,3,3,3]cuda:0"], {}),
    ("torch.ops.aten.index.Tensor", [X, ("i64[2]cpu", "i64[2]cpu")], {}),
    ("torch.ops.aten.index.Tensor", [X, ("i64[2]cuda:0", "i64[2]cuda:0")], {}),
]


def tensor(spec):
    """f32[2,3]cuda:0"""
    head, _, device = spec.partition("]")
    dtype, _, dims = head.partition("[")
    names = {"f32": torch.float32, "f16": torch.float16, "i64": torch.int64,
             "bool": torch.bool}
    return torch.empty([int(d) for d in dims.split(",") if d],
                       dtype=names[dtype], device=device)


def result(target, tensors, kwargs):
    with FakeTensorMode():
        args = tree_map(tensor, list(tensors))
        try:
            if target.startswith("Tensor."):
                out = getattr(args[0], target[7:])(*args[1:], **kwargs)
            else:
                out = fxtext.resolve(target)(*args, **kwargs)
        except RuntimeError as error:
            if "devices" not in str(error):
                raise
            return "error"
    return str(out.device)


def main():
    print("\t".join(["target", "tensors", "keywords", "device"]))
    for target, tensors, kwargs in CASES:
        words = ["(" + ", ".join(t) + ")" if isinstance(t, tuple) else t
                 for t in tensors]
        print("\t".join([target, "(" + ", ".join(words) + "," * (
            len(words) == 1) + ")", repr(kwargs),
            result(target, tensors, kwargs)]))


if __name__ == "__main__":
    main()
