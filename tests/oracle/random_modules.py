"""random_modules -- small modules whose forward does anything at all.

    gm = random_modules.traced(r)               a torch.fx.GraphModule

`r` is a random.Random.  Nothing of them runs: shapes fit nowhere, but what is
traced is everything that a graph may hold.  With `valid`, every call is one
that its operator takes, so that its effects are known.
"""

import math
import operator

import torch
from torch import fx, nn
from torch.nn import functional as F

from names_golden import candidate


def length_of(x):
    return len(x)


fx.wrap("length_of")

# ------------------------------------------------------------------- literals

STRINGS = ["", "a", "mean", "it's", 'say "a"', "it's \"a\"", "a, b", "{}", "%x",
           "é ü", "tab\tnew\nline", "back\\slash", "ij,jk->ik", "None", "1.5",
           "(", "x]", "\x00\x7f", "x = y", "torch.float32"]
INTEGERS = [0, 1, -1, 2, 3, 7, 10, 2 ** 31, 2 ** 63 - 1, -2 ** 63]
FLOATS = [0.0, -0.0, 0.1, 1.0, -2.5, 1e-5, 1e16, 1e22, 1e30, 123456789.125,
          math.pi, math.inf, -math.inf, math.nan, 5e-324]
# Others are written differently by torch 2.14 and those before it.
COMPLEX = [1 + 2j, -0.5 - 1e30j, 3 - 1j]
WORDS = [torch.float32, torch.int64, torch.bool, torch.bfloat16,
         torch.uint8, torch.channels_last, torch.contiguous_format,
         torch.strided, torch.device("cpu"), torch.device("cuda", 1)]
RARE = [None, True, False, Ellipsis]
KEYS = ["a", "b", "key one", "it's", "K", "x_1", ""]


def literal(r):
    kind = r.randrange(7)
    some = [STRINGS, INTEGERS, INTEGERS, FLOATS, COMPLEX, WORDS, RARE][kind]
    return r.choice(some)


def index(r, pick):
    """What may stand between the brackets of x[...]."""
    def part():
        return r.choice([0, -1, 3, None, Ellipsis, pick(), slice(None),
                         slice(1, None), slice(None, -1, 2),
                         slice(pick(), None), slice(0, pick(), 2)])
    if r.random() < 0.5:
        return part()
    return tuple(part() for _ in range(r.randrange(1, 4)))


def value(r, pick, depth=0):
    """Any argument at all; `pick` gives a node or proxy."""
    kind = r.random()
    if kind < 0.35:
        return pick()
    if kind < 0.7 or depth > 2:
        return literal(r)
    if kind < 0.74:
        return slice(*(r.choice([None, 0, 5, pick()]) for _ in range(3)))
    if kind < 0.76:
        return range(r.randrange(3), r.randrange(3, 9), r.choice([1, 2]))
    items = [value(r, pick, depth + 1) for _ in range(r.choice([0, 1, 2, 3]))]
    if kind < 0.86:
        return tuple(items)
    if kind < 0.95:
        return items
    return dict(zip(r.sample(KEYS, len(items)), items))


def arguments(r, pick, target=None):
    """Positional ones and keywords."""
    args = tuple(value(r, pick) for _ in range(r.choice([0, 1, 1, 2, 3])))
    operands = OPERANDS.get(target, 0)
    if operands:
        more = (value(r, pick) for _ in range(1, operands))
        args = (pick(), *more) + args[3:]
    names = r.sample(["dim", "alpha", "out", "inplace", "other", "k_1", "K"],
                     r.choice([0, 0, 0, 1, 2]))
    return args, {name: value(r, pick) for name in names}


# -------------------------------------------------------------------- targets

BINARY = [operator.add, operator.sub, operator.mul, operator.truediv,
          operator.floordiv, operator.mod, operator.pow, operator.matmul,
          operator.and_, operator.or_, operator.xor, operator.lshift,
          operator.rshift, operator.eq, operator.ne, operator.lt, operator.le,
          operator.gt, operator.ge]
UNARY = [operator.neg, operator.pos, operator.invert, operator.abs]
INPLACE = [operator.iadd, operator.isub, operator.imul, operator.itruediv,
           operator.iand, operator.ior, operator.ixor, operator.ipow,
           operator.imod, operator.ifloordiv, operator.imatmul,
           operator.ilshift, operator.irshift]
# Code is written of these as of operators, which have so many operands.
OPERANDS = {op: 2 for op in BINARY + INPLACE} | {op: 1 for op in UNARY} | {
    operator.getitem: 2, operator.setitem: 3, getattr: 2}
FUNCTIONS = BINARY + UNARY + INPLACE + [
    operator.getitem, operator.setitem, operator.not_, operator.contains,
    operator.truth, getattr, len, abs, max, sum, tuple, slice, round,
    torch.relu, torch.add, torch.cat, torch.sum, torch.flatten, torch.einsum,
    torch.where, torch.empty, torch.zeros_like, F.relu, F.max_pool2d, F.linear,
    F.scaled_dot_product_attention, F.interpolate, torch.Tensor.add,
    torch.Tensor.relu_, torch.ops.aten.add.Tensor,
    torch.ops.aten.relu.default, torch.ops.aten.convolution.default,
    torch.ops.aten.mm, math.sqrt, math.floor, torch.Size, torch._assert]
METHODS = ["add", "add_", "relu", "relu_", "view", "size", "toList", "to",
           "masked_fill_", "T", "sum", "_x", "long",
           "squeeze", "device", "input", "class_"]
# Method, arguments and keywords that it takes.
VALID_METHODS = [
    ("relu", (), {}), ("relu_", (), {}), ("add_", (1,), {}), ("abs", (), {}),
    ("view", (-1,), {}), ("reshape", ((2, -1),), {}), ("size", (), {}),
    ("size", (0,), {}), ("sum", (), {}), ("mean", ([2, 3],), {}),
    ("mean", (), {"dim": -1, "keepdim": True}), ("to", (torch.float16,), {}),
    ("to", (), {"dtype": torch.int8}), ("permute", (0, 2, 1), {}),
    ("transpose", (1, 2), {}), ("unsqueeze", (0,), {}), ("chunk", (2,), {}),
    ("clamp", (), {"min": 0.0}), ("clamp_", (), {"max": 6}), ("t", (), {}),
    ("softmax", (), {"dim": -1}), ("contiguous", (), {}), ("dim", (), {}),
    ("flatten", (1,), {}), ("zero_", (), {}), ("mul_", (2.5,), {}),
]
# Functions of one tensor, or of two, and what else they take.
VALID_UNARY = [
    (torch.relu, (), {}), (torch.neg, (), {}), (torch.sigmoid, (), {}),
    (torch.exp, (), {}), (torch.clamp, (), {"min": 0.0, "max": 6.0}),
    (torch.sum, (), {"dim": 0}), (torch.softmax, (-1,), {}),
    (torch.flatten, (1,), {}), (F.relu, (), {}), (F.gelu, (), {}),
    (F.relu, (), {"inplace": True}), (F.softmax, (), {"dim": 1}),
    (F.max_pool2d, (2,), {"stride": 1}), (F.pad, ((1, 1),), {"value": 0.5}),
    (torch.relu_, (), {}), (torch.abs, (), {}), (F.layer_norm, ((4,),), {}),
    (torch.topk, (3,), {"dim": -1}), (torch.permute, ((1, 0),), {}),
    (torch.zeros_like, (), {"dtype": torch.float64}),
]
VALID_BINARY = [
    (torch.add, (), {"alpha": 2}), (torch.mul, (), {}), (torch.matmul, (), {}),
    (torch.div, (), {"rounding_mode": "floor"}), (torch.maximum, (), {}),
    (F.linear, (), {}), (F.mse_loss, (), {"reduction": "sum"}),
]
ATTRIBUTES = ["shape", "T", "dtype", "device", "ndim", "weird", "is_cuda"]
VALID_ATTRIBUTES = ["shape", "dtype", "device", "ndim", "T"]
TYPES = [int, float, bool, str, torch.Tensor, list]

# -------------------------------------------------------------- modules below

LEAVES = [
    lambda: nn.Linear(4, 4), lambda: nn.Linear(4, 2, bias=False), nn.ReLU,
    lambda: nn.ReLU(inplace=True), lambda: nn.Conv2d(3, 8, 3, padding=1),
    lambda: nn.Conv1d(4, 4, 1, stride=2, groups=2, bias=False),
    lambda: nn.BatchNorm2d(8), lambda: nn.LayerNorm(4), nn.Sigmoid, nn.Identity,
    lambda: nn.Dropout(0.25), lambda: nn.Softmax(dim=-1), nn.GELU, nn.Flatten,
    lambda: nn.MaxPool2d(2), lambda: nn.Embedding(3, 4),
    lambda: nn.GroupNorm(2, 4), lambda: nn.AdaptiveAvgPool2d((1, 1)),
]
# torch.fx writes `self.for`, so no keywords.
NAMES = ["fc", "conv1", "0", "1", "my-key", "a b", "9lives", "Camel",
         "_private", "block", "relu", "add", "layer_1", "it's", "é", "input",
         "ABCDef", "x", "in:side"]
SHAPES = [(), (1,), (4,), (2, 3), (1, 4, 1)]
DTYPES = [torch.float32, torch.int64, torch.bool, torch.float16]


class Tree:
    """A root module, and the paths of what is in it."""

    def __init__(self, r, children, tensors):
        self.r = r
        self.root = nn.Module()
        self.leaves, self.tensors, self.parents = [], [], [("", self.root)]
        for _ in range(children):
            self.add_child()
        for _ in range(tensors):
            self.add_tensor()

    def add_child(self):
        path, parent = self.r.choice(self.parents)
        name = self.r.choice(NAMES)
        if name in parent._modules or name in parent._parameters or \
                name in parent._buffers:
            return
        path = f"{path}.{name}" if path else name
        leaf = self.r.random() < 0.6
        child = self.r.choice(LEAVES)() if leaf else nn.Module()
        parent.add_module(name, child)
        if not leaf:
            self.parents.append((path, child))
            return
        self.leaves.append(path)
        self.tensors += [f"{path}.{key}" for key, _ in child.named_parameters()]

    def add_tensor(self):
        path, parent = self.r.choice(self.parents)
        name = self.r.choice(["scale", "bias", "w0", "Weight", "b-c"])
        if name in parent._parameters or name in parent._buffers:
            return
        dtype = self.r.choice(DTYPES)
        tensor = torch.zeros(self.r.choice(SHAPES), dtype=dtype)
        if self.r.random() < 0.5 and dtype.is_floating_point:
            parent.register_parameter(name, nn.Parameter(tensor))
        else:
            parent.register_buffer(name, tensor)
        self.tensors.append(f"{path}.{name}" if path else name)


def below(module, path):
    """A module or tensor at a path."""
    for name in path.split("."):
        module = getattr(module, name)
    return module


# ------------------------------------------------------------------- forwards

SIGNATURES = [
    "x", "x, y", "x, y, z", "input, x_1", "x: torch.Tensor, y=None",
    "x, scale=0.5, mode='it is'", "x, flag: bool = True, n: int = -3",
    "x, *rest", "x, y=1e-05, *rest, **more", "X, sumOf, list",
    "x: torch.Tensor, y=(1, [2.0, 'a']), z=inf", "x, dtype=torch.float16",
    "self_1, device=None, *args, **kwargs",
]


class Body:
    """What a forward does with its inputs."""

    def __init__(self, r, tree, inputs, steps, valid):
        self.r, self.tree, self.valid = r, tree, valid
        self.pool = list(inputs)
        kinds = [self.binary, self.binary, self.unary, self.getitem,
                 self.method, self.attribute, self.function, self.function]
        if tree.leaves:
            kinds += [self.module, self.module]
        if tree.tensors:
            kinds += [self.tensor]
        if not valid:
            kinds += [self.anything, self.anything, self.wrapped]
        for _ in range(steps):
            self.pool.append(r.choice(kinds)())

    def pick(self):
        recent = self.r.random() < 0.6
        return self.r.choice(self.pool[-4:] if recent else self.pool)

    def binary(self):
        x, y = self.pick(), self.pick()
        kind = self.r.random()
        number = self.r.choice([1, 2, 0.5, -3])
        op = self.r.choice(BINARY)
        if kind < 0.5 or op is operator.matmul:
            return op(x, y)
        return op(x, number) if kind < 0.8 else op(number, x)

    def unary(self):
        return self.r.choice(UNARY)(self.pick())

    def getitem(self):
        if self.valid:
            return self.pick()[self.r.choice([0, -1, slice(1, None), None,
                                              (slice(None), 0)])]
        return self.pick()[index(self.r, self.pick)]

    def method(self):
        if self.valid or self.r.random() < 0.5:
            name, args, kwargs = self.r.choice(VALID_METHODS)
        else:
            name = self.r.choice(METHODS)
            args, kwargs = arguments(self.r, self.pick)
        return getattr(self.pick(), name)(*args, **kwargs)

    def attribute(self):
        names = VALID_ATTRIBUTES if self.valid else ATTRIBUTES
        x = getattr(self.pick(), self.r.choice(names))
        return x[0] if self.r.random() < 0.3 else +x

    def function(self):
        kind = self.r.random()
        if kind < 0.5:
            f, args, kwargs = self.r.choice(VALID_UNARY)
            return f(self.pick(), *args, **kwargs)
        if kind < 0.75:
            f, args, kwargs = self.r.choice(VALID_BINARY)
            return f(self.pick(), self.pick(), *args, **kwargs)
        if kind < 0.85:
            some = [self.pick() for _ in range(self.r.randrange(1, 4))]
            return torch.cat(some, dim=self.r.choice([0, -1]))
        if kind < 0.95:
            return torch.where(self.pick(), self.pick(), self.pick())
        return torch.einsum("ij,jk->ik", self.pick(), self.pick())

    def module(self):
        m = below(self.tree.root, self.r.choice(self.tree.leaves))
        if self.valid or self.r.random() < 0.7:
            return m(self.pick())
        args, kwargs = arguments(self.r, self.pick)
        return m(*args, **kwargs)

    def tensor(self):
        path = self.r.choice(self.tree.tensors)
        return torch.add(self.pick(), below(self.tree.root, path))

    def anything(self):
        """A call that no operator need take."""
        r, x = self.r, self.pick()
        name = candidate(r) or None if r.random() < 0.3 else None
        type_expr = r.choice(TYPES) if r.random() < 0.2 else None
        f = r.choice(FUNCTIONS)
        return x.tracer.create_proxy("call_function", f,
                                     *arguments(r, self.pick, f), name,
                                     type_expr)

    def wrapped(self):
        f = self.r.choice([length_of, math.sqrt, math.floor])
        return f(self.pick())

    def result(self):
        kind = self.r.random()
        if kind < 0.4:
            return self.pool[-1]
        if kind < 0.6:
            return tuple(self.pick() for _ in range(self.r.randrange(1, 4)))
        if kind < 0.75:
            return {k: self.pick() for k in self.r.sample(KEYS, 2)}
        return value(self.r, self.pick)


def traced(r, steps, valid=False, bare=False):
    """Trace a new module with so many steps in its forward; a bare one has no
    modules and tensors."""
    tree = Tree(r, 0, 0) if bare else \
        Tree(r, r.choice([1, 2, 4, 6]), r.choice([0, 1, 2]))
    params = r.choice(SIGNATURES)
    space = {"torch": torch, "inf": math.inf}
    names = [p.split(":")[0].split("=")[0].strip("* ")
             for p in split_parameters(params)]
    space["run"] = lambda *inputs: Body(r, tree, inputs, steps, valid).result()
    exec(f"def forward(self, {params}):\n"
         f"    return run({', '.join(names)})", space)
    tree.root.__class__ = type("Net", (nn.Module,),
                               {"forward": space["forward"]})
    return fx.symbolic_trace(tree.root.eval())


def split_parameters(params):
    """At the commas outside of brackets."""
    parts, depth = [""], 0
    for c in params:
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return parts
