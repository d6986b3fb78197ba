"""observing -- PyTorch's definitions of what only cfx has to observe with.

torch.ops.cfx.observe_histogram is the forward of HistogramObserver; importing
this registers it. PerGroupMinMaxObserver is PerChannelMinMaxObserver on rows of
groups, and is put beside it.
"""

import torch
from torch.ao.quantization import observer
from torch.ao.quantization.observer import HistogramObserver

import blocked


def observe_histogram(x, histogram, min_val, max_val):
    if x.isnan().any():
        raise ValueError("NaN")
    module = HistogramObserver(bins=len(histogram))
    state = {"histogram": histogram, "min_val": min_val, "max_val": max_val}
    for name, tensor in state.items():
        getattr(module, name).copy_(tensor)
    module(x)
    for name, tensor in state.items():
        tensor.copy_(getattr(module, name))


blocked.LIBRARY.define(
    "observe_histogram(Tensor input, Tensor(a!) histogram, "
    "Tensor(b!) min_val, Tensor(c!) max_val) -> ()")
blocked.LIBRARY.impl("observe_histogram", observe_histogram,
                     "CompositeExplicitAutograd")


class PerGroupMinMaxObserver(observer.PerChannelMinMaxObserver):
    def __init__(self, group_size, ch_axis=0, **kwargs):
        super().__init__(ch_axis=0, **kwargs)
        if group_size < 2:
            raise ValueError("group_size")
        self.group_size = group_size
        self.group_axis = ch_axis

    def forward(self, x_orig):
        if x_orig.numel() == 0:
            return x_orig
        x = x_orig.detach().transpose(0, self.group_axis)
        if x.dim() != 2 or x.shape[1] % self.group_size:
            raise ValueError("the groups do not divide a row")
        super().forward(x.reshape(-1, self.group_size))
        return x_orig


observer.PerGroupMinMaxObserver = PerGroupMinMaxObserver
