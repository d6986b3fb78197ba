#!/usr/bin/env python3
"""train_resnet -- a small ResNet with depthwise blocks that reads digits.

Trains on scikit-learn's digits, enlarged to 16 x 16, as models/train_digits.py
does, and writes ../golden/quantize/resnet_digits.fx and its weights. The test
images are those of the digits model.
"""

import os
import sys

import torch
from torch import nn

import quantize
import train_digits

SEED = 1


def conv(cin, cout, size=3, stride=1, groups=1):
    return nn.Sequential(
        nn.Conv2d(cin, cout, size, stride, size // 2, groups=groups,
                  bias=False), nn.BatchNorm2d(cout))


class Basic(nn.Module):
    """Two convolutions beside the input, or a projection of it."""

    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv1 = conv(cin, cout, 3, stride)
        self.conv2 = conv(cout, cout)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Identity() if cin == cout and stride == 1 else \
            conv(cin, cout, 1, stride)

    def forward(self, x):
        y = self.conv2(self.relu(self.conv1(x)))
        return self.relu(y + self.shortcut(x))


class Inverted(nn.Module):
    """Wide, depthwise, narrow; with a sum where the shapes agree."""

    def __init__(self, cin, cout, stride=1):
        super().__init__()
        wide = 3 * cin
        self.layers = nn.Sequential(
            conv(cin, wide, 1), nn.ReLU6(inplace=True),
            conv(wide, wide, 3, stride, wide), nn.ReLU6(inplace=True),
            conv(wide, cout, 1))
        self.adds = cin == cout and stride == 1

    def forward(self, x):
        y = self.layers(x)
        return x + y if self.adds else y


class ResNetDigits(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Upsample(scale_factor=2.0)
        self.stem = nn.Sequential(conv(1, 12), nn.ReLU(inplace=True))
        self.blocks = nn.Sequential(
            Basic(12, 12), Inverted(12, 16, 2), Inverted(16, 16),
            Basic(16, 24, 2), Inverted(24, 24))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(24, 10)

    def forward(self, x):
        x = self.blocks(self.stem(self.up(x)))
        return self.fc(torch.flatten(self.pool(x), 1))


def main():
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    train_digits.EPOCHS = 25
    images, test_images, labels, test_labels = map(torch.from_numpy,
                                                   train_digits.load())
    model = ResNetDigits()
    train_digits.train(model, images, labels)
    quantize.export.export(torch.fx.symbolic_trace(model.eval()),
                           os.path.join(quantize.GOLDEN, "resnet_digits"))
    with torch.no_grad():
        right = int((model(test_images).argmax(1) == test_labels).sum())
    print(f"{right} of {len(test_labels)} test images right")


if __name__ == "__main__":
    sys.exit(main())
