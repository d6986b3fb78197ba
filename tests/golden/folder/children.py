from __future__ import annotations

from math import inf, nan

import torch
import torch.fx
from torch import device

NoneType = type(None)


class Made(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.add_module('0', torch.nn.Module())
        self.get_submodule('0').add_module('part', Made_0_part())
        self.add_module('seq', torch.nn.Sequential())
        self.get_submodule('seq').add_module('0', torch.nn.ReLU())
        self.get_submodule('seq').add_module('1', torch.nn.Softmax(dim=-1))
        self.eval()

    def forward(self, x):
        part = getattr(self, "0").part(x);  x = None
        seq = self.seq(part);  part = None
        return seq


class Made_0_part(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.add_module('lin', torch.nn.Linear(4, 3))

    def forward(self, a):
        lin = self.lin(a);  a = None
        return lin
