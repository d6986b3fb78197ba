"""strings -- Python's definition of the operators of strings, torch.ops.cfx.

A tensor of strings is a nested list of str.  Importing this registers the
operators, by NumPy and re.
"""

import re

import numpy as np
import torch


def array(x):
    """A nested list as an array; each str is one item."""
    def shape(v):
        if isinstance(v, str):
            return ()
        if not isinstance(v, list):
            raise TypeError("str")
        inner = {shape(item) for item in v}
        if len(inner) > 1:
            raise ValueError("ragged")
        return (len(v), *(inner.pop() if inner else ()))

    out = np.empty(shape(x), object)
    flat = np.array(x, object).reshape(-1) if out.ndim else [x]
    for i, text in enumerate(flat):
        out.reshape(-1)[i] = text
    return out


def tensor(values, dtype):
    return torch.from_numpy(np.asarray(values, dtype)).clone(
        memory_format=torch.contiguous_format)


def each(function, x, dtype):
    a = array(x)
    return tensor(np.array([function(t) for t in a.reshape(-1)],
                           dtype).reshape(a.shape), dtype)


def two(self, other, function):
    a, b = np.broadcast_arrays(array(self), array(other))
    out = np.empty(a.shape, object)
    for i in np.ndindex(a.shape):
        out[i] = function(a[i], b[i])
    return out


def string_concat(self, other):
    return two(self, other, lambda a, b: a + b).tolist()


def string_equal(self, other):
    return tensor(two(self, other, lambda a, b: a == b).astype(bool), bool)


def string_index(self, keys):
    return each(lambda t: keys.index(t) if t in keys else len(keys), self,
                np.int64)


def string_full_match(self, pattern):
    compiled = re.compile(pattern, re.ASCII)
    return each(lambda t: compiled.fullmatch(t) is not None, self, bool)


def pieces(text, delimiter, maxsplit):
    return text.split(delimiter or None, -1 if maxsplit is None else maxsplit)


def string_split(self, delimiter=None, maxsplit=None):
    a = array(self)
    parts = [pieces(t, delimiter, maxsplit) for t in a.reshape(-1)]
    most = max(map(len, parts), default=0)
    out = np.empty((*a.shape, most), object)
    for row, part in zip(out.reshape(-1, most) if most else [], parts):
        row[:] = part + [""] * (most - len(part))
    return out.tolist()


def string_split_lengths(self, delimiter=None, maxsplit=None):
    return each(lambda t: len(pieces(t, delimiter, maxsplit)), self, np.int64)


def string_normalize(self, case_change="NONE", case_sensitive=False,
                     stopwords=()):
    a = array(self)
    if a.ndim != 1 and (a.ndim != 2 or len(a) != 1):
        raise ValueError("shape")
    change = {"UPPER": str.upper, "LOWER": str.lower, "NONE": str}[case_change]
    same = str if case_sensitive else str.lower
    stop = {same(w) for w in stopwords}
    left = [change(t) for t in a.reshape(-1) if same(t) not in stop] or [""]
    return left if a.ndim == 1 else [left]


def string_to_tensor(self, dtype):
    if dtype is torch.bool or dtype.is_complex:
        raise TypeError("dtype")
    number = float if dtype.is_floating_point else int
    a = array(self)
    if any(t.strip() != t or "_" in t for t in a.reshape(-1)):
        raise ValueError("number")
    values = [number(t) for t in a.reshape(-1)]
    if number is int and any(not torch.iinfo(dtype).min <= v
                             <= torch.iinfo(dtype).max for v in values):
        raise OverflowError("number")
    return torch.tensor(values, dtype=dtype).reshape(a.shape)


def string_from_tensor(self):
    if self.dtype is torch.bool or self.dtype.is_complex:
        raise TypeError("dtype")
    if self.dtype is torch.bfloat16:
        raise TypeError("NumPy has no bfloat16")
    a = self.numpy()
    out = np.empty(a.shape, object)
    for i in np.ndindex(a.shape):
        # NumPy's fewest digits, in Python's form.
        out[i] = repr(float(str(a[i]))) if a.dtype.kind == "f" else str(a[i])
    return out.tolist()


for function in (string_concat, string_equal, string_index, string_full_match,
                 string_split, string_split_lengths, string_normalize,
                 string_to_tensor, string_from_tensor):
    # PyTorch's schemas have no lists of lists of str.
    function.default = function
    setattr(torch.ops.cfx, function.__name__, function)
