#!/usr/bin/env python3
"""train_digits -- a small network that reads handwritten digits.

Trains on the digits that come with scikit-learn (1797 images of 8 x 8, from
the UCI repository) and writes, beside this file,

    digits.fx, digits.safetensors   the model: f32[N,1,8,8] in [0, 1] to
                                    f32[N,10]
    digits_images.npy               the test images, f32[360,1,8,8]
    digits_labels.npy               their digits, i64[360]

The test images are a stratified fifth that is set aside first: nothing is
trained on it, and nothing (length of training, width, rate) was chosen by it;
it is looked at once, at the end.  Needs torch, scikit-learn and safetensors.
"""

import os

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

from export import export_text

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = 0
EPOCHS = 60
BATCH = 64


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(32)
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(2)
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(32 * 4 * 4, 10)

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.pool(self.relu(self.bn2(self.conv2(x))))
        return self.fc(self.drop(torch.flatten(x, 1)))


def load():
    """Images in [0, 1] and labels, for training and for the test."""
    digits = load_digits()
    images = (digits.images / 16.0).astype(np.float32)[:, None]
    labels = digits.target.astype(np.int64)
    return train_test_split(images, labels, test_size=0.2, stratify=labels,
                            random_state=SEED)


def shifted(images):
    """Each image moved by at most one pixel, at random."""
    padded = nn.functional.pad(images, (1, 1, 1, 1))
    moved = torch.empty_like(images)
    for i, (dy, dx) in enumerate(torch.randint(0, 3, (len(images), 2))):
        moved[i] = padded[i, :, dy:dy + 8, dx:dx + 8]
    return moved


def train(model, images, labels):
    batches = -(-len(images) // BATCH)
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=1e-2, total_steps=EPOCHS * batches)
    model.train()
    for _ in range(EPOCHS):
        for index in torch.randperm(len(images)).split(BATCH):
            loss = nn.functional.cross_entropy(
                model(shifted(images[index])), labels[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()


def main():
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    train_images, test_images, train_labels, test_labels = load()
    model = Digits()
    train(model, torch.from_numpy(train_images),
          torch.from_numpy(train_labels))
    export_text(model, os.path.join(HERE, "digits"))
    np.save(os.path.join(HERE, "digits_images.npy"), test_images)
    np.save(os.path.join(HERE, "digits_labels.npy"), test_labels)
    with torch.no_grad():
        found = model(torch.from_numpy(test_images)).argmax(1).numpy()
    right = int((found == test_labels).sum())
    print(f"{right} of {len(test_labels)} test images right: "
          f"{100.0 * right / len(test_labels):.2f} %")


if __name__ == "__main__":
    main()
