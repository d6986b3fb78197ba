"""Values of cfx.Transformer: what Python does with them is recorded in a graph."""

import functools
import operator

from cfx import _cfx
from cfx._values import target

# Data attributes of tensors; other attributes are methods.
DATA = frozenset("shape dtype device ndim T mT H mH real imag layout".split())


class Proxy(_cfx._Proxy):
    """A node of the new graph; a call with it is recorded."""

    @classmethod
    def __torch_function__(cls, f, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        proxy = _first((args, kwargs))
        if getattr(f, "__objclass__", None) is not None:
            return proxy._record(True, f.__name__, args, kwargs)
        return proxy._record(False, target(f), args, kwargs)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in DATA:
            return self._record(False, "builtins.getattr", (self, name), {})
        return functools.partial(_method, self, name)

    def __repr__(self):
        return f"Proxy({self._name})"

    def __bool__(self):
        raise TypeError("symbolically traced variables cannot be used as inputs "
                        "to control flow")

    def __iter__(self):
        raise TypeError("Proxy object cannot be iterated")

    def __len__(self):
        raise TypeError("'len' is not supported in symbolic tracing: use "
                        "x.size(0)")

    __hash__ = object.__hash__


def _method(proxy, name, /, *args, **kwargs):
    return proxy._record(True, name, (proxy, *args), kwargs)


def _first(value):
    """The first proxy in nested arguments."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return value if isinstance(value, Proxy) else None
    return next((p for p in map(_first, value) if p is not None), None)


def _operator(name, reflected=False):
    def call(self, *args):
        args = (*args, self) if reflected else (self, *args)
        return self._record(False, f"operator.{name}", args, {})
    word = name.strip("_")
    setattr(Proxy, f"__{'r' * reflected}{word}__", call)


BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul",
          "lshift", "rshift", "and_", "or_", "xor")
for name in (*BINARY, "lt", "le", "eq", "ne", "gt", "ge", "neg", "pos", "invert",
             "abs", "getitem"):
    assert hasattr(operator, name)
    _operator(name)
for name in BINARY:
    _operator(name, reflected=True)
