from __future__ import annotations

from math import inf, nan
from math import sqrt as math_sqrt

import torch
import torch.fx
from torch import device

NoneType = type(None)


class Made(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('count', torch.zeros([], dtype=torch.int64))
        self.add_module('deep', torch.nn.Module())
        self.get_submodule('deep').register_parameter('scale', torch.nn.Parameter(torch.zeros([4], dtype=torch.float32)))
        self.get_submodule('deep').register_buffer('shift', torch.zeros([4], dtype=torch.float32))
        self.get_submodule('deep').add_module('lin', torch.nn.Linear(4, 4, bias=False))
        self.get_submodule('deep').add_module('drop', torch.nn.Dropout())
        self.eval()
        self.get_submodule('deep.lin').training = True

    def forward(self, x):
        size = x.shape
        n = len(size);  size = None
        root = math_sqrt(n);  n = None
        lin = self.deep.lin(x);  x = None
        drop = self.deep.drop(lin);  lin = None
        scale = self.deep.scale
        shift = self.deep.shift
        count = self.count
        mul = drop * scale;  drop = scale = None
        mul += shift;  add = mul;  mul = shift = None
        more = add + root;  add = root = None
        all_1 = torch.add(more, count);  more = count = None
        return {'y': all_1}
