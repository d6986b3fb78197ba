"""python -- what a call from Python costs, beside its peers in the same process.

    PYTHONPATH=... python bench/python.py        the package cfx, torch, onnxruntime

Prints the best of interleaved rounds, in microseconds; the last lines are whole
milliseconds. The MLP has three nodes; its matrices are small, so that the time is
that of the call.  Imports are processor time.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime
import torch
from torch import fx, nn

import cfx

ROUNDS, CALLS = 30, 300


def best(functions):
    """The best time of a call of each, in turns."""
    least = {name: float("inf") for name in functions}
    for _ in range(ROUNDS):
        for name, f in functions.items():
            f()
            start = time.perf_counter()
            for _ in range(CALLS):
                f()
            took = (time.perf_counter() - start) / CALLS
            least[name] = min(least[name], took)
    return least


def show(rows):
    for name, seconds in rows.items():
        print(f"{name:44} {1e6 * seconds:9.2f} us")


def calls():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8)).eval()
    x = torch.randn(1, 16)
    m = cfx.from_exported(torch.export.export(net, (x,)), threads=1)
    fast = m.optimize(x)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        m.save(path)
        session = onnxruntime.InferenceSession(path, options)
    name = session.get_inputs()[0].name
    n = x.numpy()
    nop = torch.compile(net, backend="eager")
    backend = torch.compile(net, backend="cfx", options={"threads": 1})
    show(best({
        "MLP: cfx, torch.Tensor": lambda: fast(x),
        "MLP: cfx, NumPy": lambda: fast(n),
        "MLP: cfx, not optimized": lambda: m(n),
        "MLP: onnxruntime, NumPy": lambda: session.run(None, {name: n}),
        "MLP: eager": lambda: net(x),
        "MLP: torch.compile, eager": lambda: nop(x),
        "MLP: torch.compile, cfx": lambda: backend(x)}))


def hooks():
    class Deep(nn.Module):
        def forward(self, x):
            for _ in range(200):
                x = torch.neg(x)
            return x

    def walk(base):
        class Count(base):
            def call_function(self, target, args, kwargs):
                return super().call_function(target, args, kwargs)
        return Count

    gm = fx.symbolic_trace(Deep())
    m = cfx.from_fx(gm, threads=1)
    x = torch.ones(1)
    plain, hooked = cfx.Interpreter(m), walk(cfx.Interpreter)(m)
    theirs = walk(fx.Interpreter)(gm)
    rows = best({"cfx.Interpreter": lambda: plain.run(x),
                 "cfx.Interpreter, a hook": lambda: hooked.run(x),
                 "torch.fx.Interpreter, a hook": lambda: theirs.run(x)})
    show({f"a node: {k}": v / 200 for k, v in rows.items()})


def once():
    def used():
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return children.ru_utime + children.ru_stime

    def importing(name):
        command = [sys.executable, "-c", f"import {name}"]
        least = float("inf")
        for _ in range(10):
            start = used()
            subprocess.run(command, check=True)
            least = min(least, used() - start)
        return least

    nothing = importing("sys")
    for name in "numpy", "numpy, cfx", "onnxruntime":
        print(f"import {name:37} {1e3 * (importing(name) - nothing):9.1f} ms")
    oracle = os.path.join(os.path.dirname(__file__), "..", "tests", "oracle")
    sys.path.insert(0, oracle)
    try:
        import vision  # noqa: F401 -- torchvision without its operators in C++
        import torchvision
    except ImportError:
        return
    ep = torch.export.export(torchvision.models.resnet50().eval(),
                             (torch.randn(1, 3, 224, 224),))
    least = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        cfx.from_exported(ep)
        least = min(least, time.perf_counter() - start)
    print(f"{'from_exported(resnet50)':44} {1e3 * least:9.1f} ms")


if __name__ == "__main__":
    print(f"cfx {cfx.__version__}, torch {torch.__version__}, onnxruntime "
          f"{onnxruntime.__version__}, NumPy {np.__version__}")
    with torch.no_grad():
        calls()
        hooks()
        once()
