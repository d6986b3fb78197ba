"""observing -- PyTorch's definition of torch.ops.cfx.observe_histogram.

It is the forward of HistogramObserver.  Importing this registers the operator.
"""

import torch
from torch.ao.quantization.observer import HistogramObserver

import blocked


def observe_histogram(x, histogram, min_val, max_val):
    if x.isnan().any():
        raise ValueError("NaN")
    observer = HistogramObserver(bins=len(histogram))
    state = {"histogram": histogram, "min_val": min_val, "max_val": max_val}
    for name, tensor in state.items():
        getattr(observer, name).copy_(tensor)
    observer(x)
    for name, tensor in state.items():
        tensor.copy_(getattr(observer, name))


blocked.LIBRARY.define(
    "observe_histogram(Tensor input, Tensor(a!) histogram, "
    "Tensor(b!) min_val, Tensor(c!) max_val) -> ()")
blocked.LIBRARY.impl("observe_histogram", observe_histogram,
                     "CompositeExplicitAutograd")
