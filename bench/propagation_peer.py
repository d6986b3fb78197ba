#!/usr/bin/env python3
"""propagation_peer -- torch's side of bench-propagation.

    propagation_peer.py MODEL.fx

Propagates the shapes of a model with ShapeProp on the meta device and with
FakeTensorProp, and calls the model on the meta device. Each run has another
batch size. Prints the median and minimum in us, and the minimal processor time,
which is more reliable on a busy machine.
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "tests", "oracle"))

import torch  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.fx.passes.fake_tensor_prop import FakeTensorProp  # noqa: E402
from torch.fx.passes.shape_prop import ShapeProp  # noqa: E402

import fxtext  # noqa: E402


def measure(name, once, runs):
    once(1)
    took, worked = [], []
    for i in range(runs):
        start, work = time.perf_counter(), time.process_time()
        once(i + 2)
        took.append(time.perf_counter() - start)
        worked.append(time.process_time() - work)
    took.sort()
    print("%-28s %10.1f us   least %10.1f us   on the processor %10.1f us" %
          (name, 1e6 * took[len(took) // 2], 1e6 * took[0],
           1e6 * min(worked)), flush=True)


def main():
    torch.set_num_threads(1)
    with open(sys.argv[1]) as f:
        model = fxtext.parse(f.read()).eval()
    meta = model.to("meta")

    def forward(n):
        meta(torch.empty(n, 3, 224, 224, device="meta"))

    def shape_prop(n):
        ShapeProp(meta).propagate(torch.empty(n, 3, 224, 224, device="meta"))

    def fake_prop(n):
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        FakeTensorProp(meta, mode).propagate(
            torch.empty(n, 3, 224, 224, device="meta"))

    with torch.no_grad():
        measure("torch forward, meta", forward, 31)
        measure("torch ShapeProp, meta", shape_prop, 31)
        measure("torch FakeTensorProp", fake_prop, 9)


if __name__ == "__main__":
    main()
