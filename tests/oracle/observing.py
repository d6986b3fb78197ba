"""observing -- PyTorch's definitions of what only cfx has to observe with.

torch.ops.cfx.observe_histogram is the forward of HistogramObserver; importing
this registers it. PerGroupMinMaxObserver is PerChannelMinMaxObserver on rows of
groups, and is put beside it. PercentileObserver and EntropyObserver keep another part
of HistogramObserver's histogram.
"""

import numpy as np
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


class PercentileObserver(HistogramObserver):
    def __init__(self, percentile=99.99, **kwargs):
        super().__init__(**kwargs)
        self.percentile = percentile

    def _non_linear_param_search(self):
        if not 0 < self.percentile <= 100:
            raise ValueError("percentile")
        count = self.histogram.double().numpy()
        ends = np.linspace(float(self.min_val), float(self.max_val),
                           len(count) + 1)
        cut = count.sum() * (100 - self.percentile) / 200
        low = int((count.cumsum() <= cut)[:-1].sum())
        high = len(count) - int((count[::-1].cumsum() <= cut).sum())
        return (torch.tensor(ends[low], dtype=torch.float32),
                torch.tensor(ends[max(high, low + 1)], dtype=torch.float32))


class EntropyObserver(HistogramObserver):
    def _non_linear_param_search(self):
        low, high = float(self.min_val), float(self.max_val)
        count = self.histogram.double().numpy().copy()
        n, levels, best, found = len(count), 256, np.inf, (low, high)
        if low == high:
            return self.min_val, self.max_val
        place = lambda x: int(np.clip(  # noqa: E731
            np.floor((x - low) / (high - low) * n), 0, n))
        zero = place(0)
        if zero < n:
            count[zero] = count[zero + 1 if zero + 1 < n else zero - 1]
        for i in range(128, 0, -1):
            reach = max(abs(low), abs(high)) * i / 128
            a, b = place(-reach), place(reach)
            part = count[a:b]
            if b - a < levels or not part.sum() > count.sum() / 2:
                break
            p, q = part.copy(), np.zeros_like(part)
            p[0] += count[:a].sum()
            p[-1] += count[b:].sum()
            for k in range(levels):
                step = slice(k * (b - a) // levels, (k + 1) * (b - a) // levels)
                some = part[step] > 0
                q[step][some] = part[step].sum() / max(some.sum(), 1)
            p, q = p / count.sum(), np.maximum(q / part.sum(), 1e-9)
            loss = (p[p > 0] * np.log(p[p > 0] / q[p > 0])).sum()
            if loss < best:
                best, found = loss, (max(low, -reach), min(high, reach))
        return tuple(torch.tensor(v, dtype=torch.float32) for v in found)


observer.PercentileObserver = PercentileObserver
observer.EntropyObserver = EntropyObserver
