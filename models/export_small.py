#!/usr/bin/env python3
"""export_small -- the two modules that torch.fx's documentation begins with.

Writes mymodule.fx and topk.fx with their weights beside this file.  Inputs:
f32[3,4] for mymodule (or anything that adds to it), f32[5,4] for topk.
"""

import os

import torch
from torch import nn

from export import export_text

HERE = os.path.dirname(os.path.abspath(__file__))


class MyModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.param = nn.Parameter(torch.rand(3, 4))
        self.linear = nn.Linear(4, 5)

    def forward(self, x):
        return self.linear(x + self.param).clamp(min=0.0, max=1.0)


class TopK(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 5)

    def forward(self, x):
        return torch.topk(torch.sum(
            self.linear(x + self.linear.weight).relu(), dim=-1), 3)


def main():
    torch.manual_seed(0)
    export_text(MyModule(), os.path.join(HERE, "mymodule"))
    export_text(TopK(), os.path.join(HERE, "topk"))


if __name__ == "__main__":
    main()
