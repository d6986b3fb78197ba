"""cfx -- run, analyse and rewrite models captured by PyTorch.

    m = cfx.load("m.pt2")        # .pt2, .onnx, .fx, Python code
    y = m(x)                     # x: of PyTorch, NumPy or any library with DLPack
    m.shapes(x), m.roofline(x)   # tables
    fast = m.optimize(x)         # a new model, as transform and quantize give

Results are of x's library and share no memory with later results.  What fails raises
cfx.Error, or its subclass for the kind: cfx.ShapeError, cfx.DTypeError, ...
"""

from cfx import _cfx
from cfx._cfx import *  # noqa: F401,F403 -- the exceptions and types
from cfx._cfx import __version__, passes, quantizers
from cfx.model import Model, Roofline, Shapes

__all__ = [name for name in vars(_cfx) if name[0].isupper()] + [
    "Model", "Roofline", "Shapes", "load", "passes", "quantizers",
    "__version__"]


def load(path, weights=None, *, random_weights=None, assume_defaults=False,
         no_weights=False, threads=0):
    """Load a model from a file of any format that cfx reads.

    `weights` names another file of tensors; `random_weights` is a seed to make
    them from instead.  `threads` 0 is one per processor.  With `assume_defaults`,
    arguments that the text of a module does not have take their defaults.
    """
    return Model._load(path, weights, random_weights, assume_defaults,
                       no_weights, threads)


def __getattr__(name):
    """What needs PyTorch is imported when it is first used."""
    module = {"from_fx": "capture", "from_exported": "capture",
              "compile": "capture", "explain": "explain"}.get(name)
    if module:
        import importlib
        value = getattr(importlib.import_module(f"cfx.{module}"), name)
        globals()[name] = value  # not the module of that name
        return value
    raise AttributeError(f"module 'cfx' has no attribute {name!r}")


def _message(warning, text):
    """What cfx has to say beside results."""
    if warning:
        import warnings
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    else:
        import logging
        logging.getLogger("cfx").info(text)
