"""fxtext -- read the text that torch.fx prints, back into torch objects.

    model = fxtext.load("m.fx")            a torch.fx.GraphModule in eval mode
    tree, state, graph = fxtext.split(text)

Reads what any release of torch prints (`f"{gm!r}\\n\\n{gm.graph}\\n"`), and the
lossless superset of it whose first line is `# cfx 1`.  Nothing is evaluated:
literals are parsed here or by ast, and targets are looked up by name in a
fixed set of torch's own namespaces.

What the text hides is given in `hidden`, a dict from module path (or "" for
all) to constructor arguments, and `state`, a dict from path to type and shape
for bare parameters.
"""

import ast
import builtins
import inspect
import json
import math
import operator
import os
import re

import torch
from torch import fx, nn
from torch.ao.nn.quantized import reference as nnqr
from torch.ao.quantization import observer
from torch.nn import functional as F

import seeded

HEADER = "# cfx 1"


class TextError(ValueError):
    pass


# ---------------------------------------------------------------- literals

OPEN = {"(": ")", "[": "]", "{": "}"}
CLOSE = set(OPEN.values())


def quoted_end(text, at):
    """Index after the Python string that begins at `at`, or None."""
    quote = text[at]
    i = at + 1
    while i < len(text):
        if text[i] == "\\":
            i += 2
        elif text[i] == quote:
            return i + 1
        else:
            i += 1
    return None


def split_top(text, separator=", "):
    """Split at separators that stand outside brackets and strings."""
    parts, depth, begin, i = [], 0, 0, 0
    while i < len(text):
        c = text[i]
        if c in "'\"" and (i == begin or text[i - 1] in "([{ =:"):
            end = quoted_end(text, i)
            if end is not None:
                i = end
                continue
        if c in OPEN:
            depth += 1
        elif c in CLOSE:
            depth -= 1
        elif depth == 0 and text.startswith(separator, i):
            parts.append(text[begin:i])
            i += len(separator)
            begin = i
            continue
        i += 1
    parts.append(text[begin:])
    return parts


def inside(text, brackets):
    """The text between outer brackets, or None."""
    if len(text) >= 2 and text[0] == brackets[0] and text[-1] == brackets[1]:
        return text[1:-1]
    return None


INTEGER = re.compile(r"\A-?[0-9]+\Z")
FLOAT = re.compile(r"\A-?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))"
                   r"([eE][-+]?[0-9]+)?\Z")
WORDS = {"None": None, "True": True, "False": False, "Ellipsis": Ellipsis,
         "...": Ellipsis, "inf": math.inf, "-inf": -math.inf, "nan": math.nan}
TORCH_WORD = re.compile(r"\Atorch\.[a-z_0-9]+\Z")
CALL = re.compile(r"\A([A-Za-z_][A-Za-z_0-9.]*)\((.*)\)\Z", re.DOTALL)


class Bare(str):
    """A string that stood without quotes, and so may have been cut."""


class Values:
    """Parser of argument values; `nodes` maps names to graph nodes."""

    def __init__(self, nodes=None, percent=True):
        self.nodes = nodes or {}
        self.percent = percent

    def node(self, name):
        if name not in self.nodes:
            raise TextError(f"%{name} is used before it is defined")
        return self.nodes[name]

    def items(self, body):
        body = body.strip()
        if body.endswith(","):
            body = body[:-1]
        return [self.value(part) for part in split_top(body)] if body else []

    def pairs(self, body):
        out = {}
        for part in split_top(body) if body.strip() else []:
            halves = split_top(part, ": ")
            if len(halves) != 2:
                raise TextError(f"{part!r} is no `key: value`")
            key = halves[0]
            if key[:1] in "'\"":
                key = ast.literal_eval(key)
            elif INTEGER.match(key):
                key = int(key)
            out[key] = self.value(halves[1])
        return out

    def call(self, name, body):
        bare = Values(self.nodes, percent=False)
        if name == "slice":
            return slice(*bare.items(body))
        if name == "range":
            return range(*bare.items(body))
        if name == "torch.Size":
            return torch.Size(bare.items(body)[0])
        if name in ("device", "torch.device"):
            args = [p.rpartition("=")[2] for p in split_top(body)]
            return torch.device(*[ast.literal_eval(a) for a in args])
        if name == "complex":
            return complex(*bare.items(body))
        if name in ("float", "torch.nn.Parameter"):
            return float(ast.literal_eval(body))
        return None

    def value(self, text):
        text = text.strip()
        if text[:1] == "%":
            return self.node(text[1:])
        if not self.percent and text in self.nodes:
            return self.nodes[text]
        if text in WORDS:
            return WORDS[text]
        if INTEGER.match(text):
            return int(text)
        if FLOAT.match(text):
            return float(text)
        if text[:1] in ("'", '"') and quoted_end(text, 0) == len(text):
            return ast.literal_eval(text)
        if (body := inside(text, "[]")) is not None:
            return self.items(body)
        if (body := inside(text, "{}")) is not None:
            return self.pairs(body)
        if (body := inside(text, "()")) is not None:
            if body and not body.endswith(",") and len(split_top(body)) == 1:
                return complex(text)
            return tuple(self.items(body))
        if TORCH_WORD.match(text):
            word = getattr(torch, text[6:], None)
            if isinstance(word, (torch.dtype, torch.layout,
                                 torch.memory_format)):
                return word
        if (call := CALL.match(text)) is not None:
            made = self.call(call[1], call[2])
            if made is not None:
                return made
        try:
            return complex(text)
        except ValueError:
            return Bare(text)


def rejoin(args, surplus):
    """Join neighbouring bare strings until `surplus` arguments are gone."""
    out = []
    for arg in args:
        if surplus > 0 and out and isinstance(out[-1], Bare) and \
                isinstance(arg, (Bare, int, float)):
            out[-1] = Bare(f"{out[-1]}, {arg}")
            surplus -= 1
        else:
            out.append(arg)
    return out


def plain(value):
    """Bare strings to ordinary ones, all the way down."""
    if isinstance(value, Bare):
        return str(value)
    if isinstance(value, (tuple, list)) and not isinstance(value, torch.Size):
        return type(value)(plain(v) for v in value)
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return value


# ----------------------------------------------------------------- targets

def stochastic_depth(input, p, mode, training=True):
    """torchvision's, as far as evaluation goes: the identity."""
    if training and p > 0.0:
        raise TextError("stochastic_depth runs in evaluation mode only")
    return input


stochastic_depth.__module__ = "torchvision.ops.stochastic_depth"

BUILTINS = ("getattr", "len", "abs", "max", "min", "sum", "round", "int",
            "float", "bool", "divmod", "pow", "tuple", "list", "slice",
            "range")
NAMESPACES = {
    "torch.fx._symbolic_trace": torch.fx._symbolic_trace,
    "operator": operator, "_operator": operator, "math": math,
    "torch": torch, "torch.Tensor": torch.Tensor,
    "torch.nn.functional": nn.functional, "torch.functional": torch.functional,
    "torch._C._nn": torch._C._nn, "torch.special": torch.special,
    "torch._C._special": torch._C._special, "torch.fft": torch.fft,
    "torch._C._fft": torch._C._fft, "torch.linalg": torch.linalg,
    "torch._C._linalg": torch._C._linalg,
    "torch._VF": torch._VF, "torch._C._VariableFunctions":
    torch._C._VariableFunctions,
}
FUNCTIONS = {
    "torchvision.ops.stochastic_depth.stochastic_depth": stochastic_depth,
    "torch._C._set_grad_enabled": torch._C._set_grad_enabled,
    "torch.amp.autocast_mode._enter_autocast":
    torch.amp.autocast_mode._enter_autocast,
    "torch.amp.autocast_mode._exit_autocast":
    torch.amp.autocast_mode._exit_autocast,
}


def resolve(target):
    """The callable that `call_function[target=...]` names."""
    if target in FUNCTIONS:
        return FUNCTIONS[target]
    space, _, name = target.rpartition(".")
    if space == "builtins" and name in BUILTINS:
        return getattr(builtins, name)
    if target.startswith("torch._dynamo.utils.wrapped_"):
        from torch._dynamo import utils    # it takes a while
        return utils.numpy_to_tensor_wrapper(
            getattr(torch._numpy, target.rpartition("wrapped_")[2]))
    if target.startswith("torchvision.models."):
        import vision    # it takes a while
        return vision.function(target)
    if target.startswith("torch.ops."):
        found = torch.ops
        for part in target.split(".")[2:]:
            found = getattr(found, part)
        return found
    if space in NAMESPACES and not name.startswith("__"):
        found = getattr(NAMESPACES[space], name, None)
        if callable(found):
            return found
    raise TextError(f"no function {target!r} is known here")


def most_arguments(function):
    """How many positional arguments a function takes at most, or None."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        name = getattr(function, "__name__", "")
        found = torch._C._jit_get_schemas_for_operator("aten::" + name)
        counts = [sum(not a.kwarg_only for a in s.arguments) for s in found]
        return max(counts, default=None)
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    return sum(p.kind is not p.KEYWORD_ONLY for p in parameters)


def bind(function, args):
    """Repair what the missing quotes have cut, and unmark the rest."""
    cut = [i for i, a in enumerate(args[1:], 1)
           if isinstance(a, Bare) and isinstance(args[i - 1], Bare)]
    if cut and function in (torch.einsum, torch.functional.einsum):
        args = rejoin(args, len(args))
    elif cut:
        most = most_arguments(function)
        if most is not None and len(args) > most:
            args = rejoin(args, len(args) - most)
    return tuple(plain(a) for a in args)


# ------------------------------------------------------------------- graph

LINE = re.compile(
    r"\A%(?P<name>[A-Za-z_0-9]+) : (?:(?P<type>.+?) )??"
    r"\[(?:num_users=|#users=)(?P<users>[0-9]+)\] = "
    r"(?P<op>placeholder|get_attr|call_function|call_method|call_module)"
    r"\[target=(?P<rest>.*)\Z", re.DOTALL)
CALLED = re.compile(r"\A(?P<target>.*?)\]\(args = (?P<args>\(.*\)), "
                    r"kwargs = (?P<kwargs>\{.*\})\)\Z", re.DOTALL)
DEFAULT = re.compile(r"\A(?P<target>[^\]]*)\]"
                     r"(?:\(default=(?P<default>.*)\))?\Z", re.DOTALL)
TYPES = {"int": int, "float": float, "bool": bool, "str": str,
         "torch.Tensor": torch.Tensor, "list": list, "tuple": tuple}


def add_line(graph, nodes, line):
    match = LINE.match(line)
    if not match:
        raise TextError(f"{line!r} is no node")
    op, name, rest = match["op"], match["name"], match["rest"]
    values = Values(nodes)
    args, kwargs, target = (), {}, None
    if op in ("placeholder", "get_attr"):
        body = DEFAULT.match(rest)
        if not body:
            raise TextError(f"{line!r} is no {op}")
        target = body["target"]
        if body["default"] is not None:
            args = (plain(values.value(body["default"])),)
    else:
        body = CALLED.match(rest)
        if not body:
            raise TextError(f"{line!r} is no {op}")
        target = body["target"]
        args = values.items(body["args"][1:-1])
        kwargs = {k: plain(v)
                  for k, v in values.pairs(body["kwargs"][1:-1]).items()}
        if op == "call_function":
            target = resolve(target)
            args = bind(target, args)
        else:
            args = tuple(plain(a) for a in args)
    node = graph.create_node(op, target, args, kwargs, name=name,
                             type_expr=TYPES.get(match["type"]))
    if node.name != name:
        node.name = name
    nodes[name] = node


def parse_graph(text):
    """The text of a graph to a torch.fx.Graph."""
    lines = [line for line in text.strip("\n").split("\n")]
    if not re.match(r"\Agraph\(.*\):\Z", lines[0]):
        raise TextError(f"{lines[0]!r} does not begin a graph")
    graph, nodes = fx.Graph(), {}
    joined = []
    for line in lines[1:]:
        if line.startswith(("    %", "    return")) or not joined:
            joined.append(line.strip())
        else:
            joined[-1] += "\n" + line
    for line in joined:
        if line.startswith("return"):
            result = Values(nodes, percent=False).value(line[6:].strip())
            graph.output(plain(result))
        else:
            add_line(graph, nodes, line)
    return graph


# ------------------------------------------------------------- module tree

class Tree:
    """One line of a module tree: a name, arguments and children."""

    def __init__(self, name):
        self.name = name
        self.extra = ""
        self.children = {}


MODULE = re.compile(r"\A(?:\((?P<key>.+?)\): )?(?:(?P<times>[0-9]+) x )?"
                    r"(?P<name>[A-Za-z_][A-Za-z_0-9.]*)\((?P<extra>.*)\Z")


def parse_tree(lines):
    """Lines of `repr(module)` to a Tree."""
    root, stack = None, []
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        text = line.strip()
        if text == ")":
            stack.pop()
            continue
        match = MODULE.match(text)
        if not match or (stack and match["key"] is None):
            top = stack[-1][1]
            top.extra += (", " if top.extra else "") + text
            continue
        tree = Tree(match["name"])
        if stack:
            if indent != 2 * len(stack):
                raise TextError(f"{line!r} stands at a wrong depth")
            place(stack[-1][1], match["key"], match["times"], tree)
        elif root is None:
            root = tree
        else:
            raise TextError(f"{line!r} follows the end of the tree")
        extra = match["extra"]
        if extra.endswith(")") and extra.count("(") < extra.count(")"):
            tree.extra = extra[:-1]
        else:
            tree.extra = extra
            stack.append((indent, tree))
    if root is None or stack:
        raise TextError("the module tree ends too early")
    return root


def place(parent, key, times, tree):
    """Add a child; `(0-2): 3 x ReLU()` stands for three."""
    keys = [key]
    if times:
        first, last = (int(k) for k in key.split("-"))
        if last - first + 1 != int(times):
            raise TextError(f"({key}) is not {times} modules")
        keys = [str(k) for k in range(first, last + 1)]
    for k in keys:
        if k in parent.children:
            raise TextError(f"({k}) stands twice in the module tree")
        parent.children[k] = tree


def literal(node):
    """A constructor argument as ast to its value; a bare word is a string."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return WORDS.get(node.id, node.id)
    if isinstance(node, ast.Tuple):
        return tuple(literal(e) for e in node.elts)
    if isinstance(node, ast.List):
        return [literal(e) for e in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -literal(node.operand)
    if isinstance(node, ast.Attribute) and \
            isinstance(node.value, ast.Name) and node.value.id == "torch":
        return getattr(torch, node.attr)
    if isinstance(node, ast.Call):
        return Values().value(ast.unparse(node))
    raise TextError(f"{ast.unparse(node)!r} is no literal")


def arguments(tree):
    """Positional and keyword arguments of a module line."""
    try:
        call = ast.parse(f"f({tree.extra})", mode="eval").body
    except SyntaxError:
        raise TextError(f"{tree.name}({tree.extra}) is not understood")
    return ([literal(a) for a in call.args],
            {k.arg: literal(k.value) for k in call.keywords})


def child_argument(tree, child, name):
    found = tree.children.get(child)
    return arguments(found)[1].get(name) if found else None


def derive_attention(tree, path, kwargs, state):
    linear = tree.children["out_proj"]
    given = arguments(linear)[1]
    kwargs.setdefault("embed_dim", given["in_features"])
    kwargs.setdefault("bias", given["bias"])
    if path + ".bias_k" in state:
        kwargs.setdefault("add_bias_kv", True)
    for key in ("kdim", "vdim"):
        weight = state.get(f"{path}.{key[0]}_proj_weight")
        if weight:
            kwargs.setdefault(key, weight[1][1])


def derive_layer(tree, path, kwargs, state):
    linear = arguments(tree.children["linear1"])[1]
    kwargs.setdefault("d_model", linear["in_features"])
    kwargs.setdefault("dim_feedforward", linear["out_features"])
    kwargs.setdefault("bias", linear["bias"])
    kwargs.setdefault("layer_norm_eps", child_argument(tree, "norm1", "eps"))


DERIVE = {
    "MultiheadAttention": (derive_attention, ("num_heads",)),
    "TransformerEncoderLayer": (derive_layer, ("nhead", "norm_first")),
    "TransformerDecoderLayer": (derive_layer, ("nhead", "norm_first")),
}
CONTAINERS = ("Sequential", "ModuleList", "ModuleDict")


def reference_class(name):
    """A reference module of torch.ao with one scale, by the name that it has in
    cfx; None if there is none."""
    base = getattr(nnqr, name[len("Reference"):], None)
    if not name.startswith("Reference") or base is None:
        return None

    def init(self, *args, weight_dtype=torch.int8, **kwargs):
        if "bias" in kwargs and base is nnqr.Linear:
            kwargs["bias_"] = kwargs.pop("bias")
        types = {torch.int8: torch.qint8, torch.uint8: torch.quint8}
        base.__init__(self, *args, **kwargs, weight_qparams={
            "qscheme": torch.per_tensor_affine, "dtype": types[weight_dtype],
            "scale": torch.ones(1), "is_decomposed": True,
            "zero_point": torch.zeros(1, dtype=torch.int64)})
    return type(name, (base,), {"__init__": init})


def round_trip(x, scale, zero_point):
    """Quantized to uint8 and back."""
    for way in ("quantize", "dequantize"):
        x = getattr(torch.ops.quantized_decomposed, way + "_per_tensor").tensor(
            x, scale, zero_point, 0, 255, torch.uint8)
    return x


def quantized_base(name):
    """Of QuantizedConvReLU2d: Conv2d, whether it is dynamic, and whether a relu
    follows; None for other names."""
    found = re.fullmatch("(Dynamic)?Quantized([A-Za-z]+?)(ReLU)?([123]d)?",
                         name)
    if not found:
        return None
    of, relu = found[2] + (found[4] or ""), bool(found[3])
    if relu and hasattr(nn, found[2] + found[3]):    # LeakyReLU
        of, relu = found[2] + found[3], False
    base = getattr(nn, of.replace("BN", "BatchNorm"), None)
    return base and (base, bool(found[1]), relu)


def recurrent_class(name, base):
    """A dynamic LSTM or GRU, whose weights are 0, as integers are here."""
    def init(self, *args, **kwargs):
        nn.Module.__init__(self)
        plain = base(*args, **kwargs).eval()
        self.plain = [plain]
        for key, value in plain.named_parameters():
            self.register_parameter(key, value)
        for key, value in plain.named_parameters():
            if key.startswith("weight"):
                del self._parameters[key]
                self.register_buffer(key, torch.zeros(value.shape,
                                                      dtype=torch.int8))
                n = value.shape[0]
                self.register_buffer(key + "_scale", torch.zeros(n))
                self.register_buffer(key + "_zero_point", torch.zeros(
                    n, dtype=torch.int64))

    def forward(self, *inputs):
        state = {key: torch.zeros_like(value) if key.startswith("weight")
                 else getattr(self, key)
                 for key, value in self.plain[0].named_parameters()}
        return torch.func.functional_call(self.plain[0], state, inputs)
    return type(name, (nn.Module,), {"__init__": init, "forward": forward})


def quantized_class(name):
    """A module of torch.ao.nn.quantized as cfx has it: of floats, quantized and
    back; None if there is none of that name."""
    if quantized_base(name) is None:
        return None
    base, dynamic, relu = quantized_base(name)
    if issubclass(base, nn.RNNBase):
        return recurrent_class(name, base)
    weighted = base.__name__.startswith(("Conv", "Linear"))
    table = base is nn.Embedding

    def init(self, *args, dtype=None, qscheme=None, **kwargs):
        nn.Module.__init__(self)
        plain = base(*args, **kwargs).eval()
        self.plain = [plain]
        for key, value in [*plain.named_parameters(), *plain.named_buffers()]:
            if key == "weight" and (weighted or table):
                n = value.shape[0]
                self.register_buffer(key, torch.zeros(
                    value.shape, dtype=torch.uint8 if table else torch.int8))
                self.register_buffer(key + "_scale", torch.zeros(n))
                self.register_buffer(key + "_zero_point", torch.zeros(
                    n, dtype=torch.float32 if table else torch.int64))
            elif isinstance(value, nn.Parameter):
                self.register_parameter(key, value)
            else:
                self.register_buffer(key, value)
        if not dynamic and not table:
            self.register_buffer("scale", torch.zeros(()))
            self.register_buffer("zero_point",
                                 torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        state = dict([*self.named_parameters(), *self.named_buffers()])
        scale, zero = state.pop("scale", None), state.pop("zero_point", None)
        if weighted or table:
            w = state["weight"].float()
            shape = (-1,) + (1,) * (w.ndim - 1)
            zeros = state.pop("weight_zero_point").float().reshape(shape)
            state["weight"] = (w - zeros) * \
                state.pop("weight_scale").reshape(shape)
        if dynamic:
            x = round_trip(x, *torch.ops.quantized_decomposed.choose_qparams(
                x, 0, 127, torch.finfo(torch.float32).eps, torch.uint8))
        y = torch.func.functional_call(self.plain[0], state, (x,))
        y = F.relu(y) if relu else y
        return y if scale is None else round_trip(y, scale, zero)
    return type(name, (nn.Module,), {"__init__": init, "forward": forward})


def module_class(name):
    for made in reference_class(name), quantized_class(name):
        if made:
            return made
    if name == "NonDynamicallyQuantizableLinear":
        return nn.Linear
    found = getattr(nn, name, None) or getattr(observer, name, None)
    if isinstance(found, type) and issubclass(found, nn.Module) and \
            found is not nn.Module:
        return found
    return None


def construct(tree, cls, path, hidden, state):
    """The module of torch.nn that a line of the tree describes."""
    args, kwargs = arguments(tree)
    for key in ("", path):
        kwargs.update({k: v for k, v in hidden.get(key, {}).items()
                       if k in inspect.signature(cls).parameters})
    training = kwargs.pop("training", False)
    derive, needed = DERIVE.get(tree.name, (None, ()))
    missing = [n for n in needed if n not in kwargs]
    if missing:
        raise TextError(f"{path}: {tree.name}: its text does not tell "
                        + ", ".join(missing))
    if derive:
        derive(tree, path, kwargs, state)
    return cls(*args, **kwargs).train(training)


def build(tree, path="", hidden=None, state=None):
    """A Tree to modules; what torch.nn lacks becomes an empty nn.Module."""
    hidden, state = hidden or {}, state or {}
    cls = module_class(tree.name)
    container = cls is None or tree.name in CONTAINERS
    if cls is not None and not container:
        return construct(tree, cls, path, hidden, state)
    module = cls() if cls else nn.Module()
    module.train(False)
    prefix = path + "." if path else ""
    for key, child in tree.children.items():
        module.add_module(key, build(child, prefix + key, hidden, state))
    return module


def add_state(root, state):
    """Add the parameters and buffers that no module of the tree has made."""
    owned = dict([*root.named_parameters(remove_duplicate=False),
                  *root.named_buffers(remove_duplicate=False)])
    for path, (dtype, shape) in state.items():
        if path in owned:
            if (owned[path].dtype, owned[path].shape) != (dtype, shape):
                raise TextError(f"{path} is {seeded.format_spec(owned[path])}")
            continue
        parent_path, _, name = path.rpartition(".")
        parent = root
        for part in parent_path.split(".") if parent_path else []:
            if part not in parent._modules:
                parent.add_module(part, nn.Module().train(False))
            parent = parent._modules[part]
        tensor = torch.zeros(shape, dtype=dtype)
        if seeded.is_floating(dtype):
            parent.register_parameter(name, nn.Parameter(tensor))
        else:
            parent.register_buffer(name, tensor)


def check_targets(root, graph):
    """Everything that the graph names has to be there."""
    for node in graph.nodes:
        if node.op not in ("get_attr", "call_module"):
            continue
        found = root
        for part in node.target.split("."):
            found = getattr(found, part, None)
        if found is None:
            raise TextError(f"%{node.name}: nothing tells of {node.target}")


# -------------------------------------------------------------------- file

def split(text):
    """A file to (lines of the tree, state, text of the graph)."""
    lines = text.split("\n")
    if lines[0].strip() == HEADER:
        lines = lines[1:]
    start = next((i for i, line in enumerate(lines)
                  if re.match(r"\Agraph\(.*\):\Z", line)), None)
    if start is None:
        raise TextError("there is no graph")
    tree, state, in_state = [], {}, False
    for line in lines[:start]:
        if line.rstrip() == "state:":
            in_state = True
        elif in_state and line.strip():
            path, _, spec = line.strip().rpartition(": ")
            dtype, shape = seeded.parse_spec(spec)
            state[path] = (dtype, torch.Size(shape))
        elif line.strip():
            tree.append(line)
    return tree, state, "\n".join(lines[start:])


def shapes_file(path):
    """What NAME.shapes.json beside NAME.fx tells, or {}."""
    beside = os.path.splitext(path)[0] + ".shapes.json"
    if not os.path.exists(beside):
        return {}
    with open(beside, encoding="utf-8") as file:
        return json.load(file)


def state_from_shapes(shapes):
    return {path: (getattr(torch, entry["dtype"]), torch.Size(entry["shape"]))
            for path, entry in shapes.get("state", {}).items()}


def parse(text, hidden=None, state=None):
    """The text of a file to a GraphModule in eval mode, weights not set."""
    tree, own_state, graph_text = split(text)
    state = {**(state or {}), **own_state}
    graph = parse_graph(graph_text)
    top = parse_tree(tree)
    root = build(top, "", hidden, state)
    add_state(root, state)
    check_targets(root, graph)
    model = fx.GraphModule(root, graph, class_name=top.name)
    for module in model.modules():
        if type(module) is nn.Module:
            module.training = False
    return model


def load(path, hidden=None, state=None):
    """The file `path`; NAME.shapes.json beside it adds what it knows.

    The zoo's attention modules are all `batch_first`, which its json does not
    repeat.
    """
    with open(path, encoding="utf-8") as file:
        text = file.read()
    shapes = shapes_file(path)
    told = {p: {"num_heads": n, "batch_first": True}
            for p, n in shapes.get("num_heads", {}).items()}
    return parse(text, {**told, **(hidden or {})},
                 {**state_from_shapes(shapes), **(state or {})})
