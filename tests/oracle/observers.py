#!/usr/bin/env python3
"""observers -- what PyTorch's observers choose after several batches.

    observers.py [--check]      write ../golden/observers_qparams.txt, or only
                                tell whether it is current

A line is a case as in ../cases, whose arguments are batches, a TAB, and scales,
zero points, min_val and max_val after them; `error` if PyTorch refuses.  A
qscheme stands in quotes.
"""

import os
import sys
import warnings

import torch
from torch.ao.quantization import observer

import observing  # noqa: F401
import opcases

PATH = os.path.join(opcases.GOLDEN, "observers_qparams.txt")
TENSOR = [
    "", "dtype=torch.int8", "dtype=torch.int8, qscheme='per_tensor_symmetric'",
    "qscheme='per_tensor_symmetric'", "dtype=torch.int8, reduce_range=True",
    "reduce_range=True", "dtype=torch.int8, quant_min=-127, quant_max=127",
    "quant_min=0, quant_max=127, qscheme='per_tensor_symmetric'",
    "dtype=torch.int8, quant_min=-8, quant_max=7, reduce_range=True",
    "dtype=torch.int32", "dtype=torch.int16", "dtype=torch.int16, "
    "qscheme='per_tensor_symmetric'", "eps=0.25", "quant_min=0, quant_max=15",
]
BATCHES = [
    "f32[4,8], f32[4,8]#-3:1, f32[2,8]#-1:9",
    "f32[4,8]#1:3, f32[4,8]#2:5",
    "f32[4,8]#-5:-3, f32[4,8]#-4:-3.5",
    "f32[4,8]={0}", "f32[3]={2.5}, f32[3]={2.5}",
    "f32[2]={1e-40,-1e-41}", "f32[2]={3e38,-3e38}",
    "f32[0]", "f32[0,3], f32[2,3]", "f32[1]={-7}, f32[5]={1,2,3,4,-9}",
    "bf16[4,8], bf16[4,8]#-3:1", "f32[64,33]@(1,64), f32[100]#-1:0.3",
]
HISTOGRAM = [
    "f32[4096]", "f32[4096], f32[4096]#-3:1, f32[300]#-1:9",
    "f32[4096], f32[2]={-90,80}", "f32[5000]#0:6, f32[3]={7,8,100}",
    "f32[4,8]={0}", "f32[3]={2.5}, f32[3]={2.5}", "f32[3]={2.5}, f32[3]={7}",
    "f32[0]", "f32[10]={inf,1,2,3,4,5,6,7,8,-inf}, f32[64]",
    "f32[64,33]@(1,64), f32[100]#-1:0.3", "f32[1000]#-0.001:0.001",
]
CHANNEL = ["", "ch_axis=1", "dtype=torch.int8, qscheme='per_channel_symmetric'",
           "dtype=torch.int8, quant_min=-127, quant_max=127, "
           "qscheme='per_channel_symmetric'", "reduce_range=True, ch_axis=-1",
           "qscheme='per_channel_symmetric'"]
CHANNELS = ["f32[4,3,4]", "f32[4,3,4], f32[4,3,4]#-3:1, f32[4,3,4]#-1:9",
            "f32[2,2]={0,0,1e-40,3}", "f32[0,3]",
            "f32[4,3,2,4]@(24,1,12,3), f32[4,3,2,4]#-9:9"]


def texts():
    for name, extra in [("MinMaxObserver", ""),
                        ("MovingAverageMinMaxObserver", ""),
                        ("MovingAverageMinMaxObserver",
                         "averaging_constant=0.3, ")]:
        for given in TENSOR if name == "MinMaxObserver" else TENSOR[:3]:
            for batches in BATCHES:
                yield f"{name}({(extra + given).rstrip(', ')})({batches})"
    for name, extra in [("PerChannelMinMaxObserver", ""),
                        ("MovingAveragePerChannelMinMaxObserver",
                         "averaging_constant=0.3, ")]:
        for given in CHANNEL:
            for batches in CHANNELS:
                yield f"{name}({(extra + given).rstrip(', ')})({batches})"
    for given in ["", "bins=100", "dtype=torch.int8", "dtype=torch.int8, "
                  "qscheme='per_tensor_symmetric'", "bins=300, quant_min=0, "
                  "quant_max=15", "reduce_range=True", "dtype=torch.int16"]:
        for batches in HISTOGRAM:
            yield f"HistogramObserver({given})({batches})"
    for name in ["PercentileObserver", "EntropyObserver"]:
        for given in ["", "bins=600", "dtype=torch.int8, "
                      "qscheme='per_tensor_symmetric'"]:
            for batches in HISTOGRAM + ["f32[60,70]#0:1, f32[5]={0,0,5,9,-3}"]:
                yield f"{name}({given})({batches})"
    yield "PercentileObserver(90)(f32[4096], f32[2]={-90,80})"
    yield "PercentileObserver(100)(f32[4096], f32[2]={-90,80})"
    yield "FixedQParamsObserver(0.1, 3)(f32[2])"
    yield "FixedQParamsObserver(0.00390625, 0, dtype=torch.uint8)(f32[2])"


class Reader(opcases.Reader):
    """A case whose module has the state of a new one."""

    def construct(self, name, args, kwargs):
        if "qscheme" in kwargs:
            kwargs["qscheme"] = getattr(torch, kwargs["qscheme"])
        try:
            self.module = getattr(observer, name)(*args, **kwargs)
        except Exception as error:
            raise opcases.Refused(error) from error
        return self.module


def numbers(tensor):
    return " ".join(opcases.show_number(v) for v in tensor.reshape(-1).tolist())


def result(text):
    reader = Reader(text)
    try:
        reader.case()
        for batch in reader.tensors:
            reader.module(batch)
        scale, zero_point = reader.module.calculate_qparams()
    except Exception:
        return "error"
    state = [getattr(reader.module, name) for name in ("min_val", "max_val")
             if hasattr(reader.module, name)]
    return " ; ".join(numbers(t) for t in [scale, zero_point, *state])


def main():
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    lines = "".join(f"{text}\t{result(text)}\n" for text in texts())
    if sys.argv[1:] == ["--check"]:
        with open(PATH, encoding="utf-8") as f:
            sys.exit(f.read() != lines and f"{PATH} is not current")
    with open(PATH, "w", encoding="utf-8") as f:
        f.write(lines)


if __name__ == "__main__":
    main()
