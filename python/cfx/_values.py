"""Values of cfx that have no counterpart in the C API of Python."""

import collections
import functools
import sys


@functools.lru_cache(None)
def _class(name, fields):
    return collections.namedtuple(name.rpartition(".")[2], fields,
                                  module=name.rpartition(".")[0])


def named(name, fields, items):
    """A named tuple, such as torch.return_types.topk."""
    return _class(name, fields)(*items)


def name(text):
    """torch.float32, device('cpu') and the like: PyTorch's own where it is there."""
    torch = sys.modules.get("torch")
    if torch is None:
        return text
    if text.startswith("torch."):
        return getattr(torch, text[6:], text)
    if text.startswith("device("):
        return torch.device(text.split("'")[1])
    return text


def slice(start, stop, step):
    return __builtins__["slice"](start, stop, step)


def range(start, stop, step):
    return __builtins__["range"](start, stop, step)


@functools.lru_cache(None)
def function(text):
    """The function of a qualified name; the name, if it is none of Python's."""
    import importlib
    first, *rest = text.split(".")
    try:
        v = importlib.import_module(first if rest else "builtins")
        for atom in rest or [text]:
            v = getattr(v, atom)
        return v
    except (ImportError, AttributeError):
        return text


TensorMetadata = collections.namedtuple(
    "TensorMetadata", "shape dtype requires_grad stride memory_format "
    "is_quantized qparams")


def tensor_meta(value):
    """torch.fx's metadata of the tensors in a value."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(tensor_meta, value))
    if isinstance(value, dict):
        return {k: tensor_meta(v) for k, v in value.items()}
    if not hasattr(value, "strides"):
        return value
    return TensorMetadata(value.shape, name(f"torch.{value.dtype}"), False,
                          value.strides, None, False, {})


def torch_tensor():
    """Any tensor of PyTorch."""
    import torch
    return torch.empty(0)


def call_torch(name, args, kwargs):
    """Call a function of PyTorch by its qualified name, for torch_call."""
    f = function(name)
    if isinstance(f, str):
        raise LookupError(f"PyTorch has no function {name}")
    out = f(*args, **kwargs)
    return tuple(out) if isinstance(out, (tuple, list)) else out


def target(f):
    """The qualified name of what a node may call."""
    if isinstance(f, str):
        return f
    from torch.fx.node import _get_qualified_name
    module = getattr(f, "__module__", None)
    if module in ("builtins", "_operator"):
        return ("operator." if module == "_operator" else "") + f.__name__
    return _get_qualified_name(f)
