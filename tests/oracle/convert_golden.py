#!/usr/bin/env python3
"""convert_golden -- what numbers become as another type, by Tensor.to.

    convert_golden.py > ../golden/convert.txt

A line has a type, a number of it, another type, and the number there. Floats
are written as hexadecimal, to be exact.
"""

import torch

NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16",
         "bfloat16", "float32", "float64"]
INF, NAN = float("inf"), float("nan")
FLOATS = [0.0, -0.0, 0.4, -0.6, 1.0, -1.0, 1.5, 2.5, -1.5, 127.9, 128.5, -129.0,
          255.5, 300.7, -300.7, 2049.0, 2051.0, 32768.0, 65503.9, 65519.99,
          65520.0, 70000.0, -40000.0, 2147483648.0, 2147483647.5,
          -2147483648.5, -2147483649.0, 3e9 + 517, -3e9, 2.0**53 + 2, 1e19,
          -1e19, 9.2e18, 1e-3, 6.1e-5, 6.0e-5, 5.97e-8, 2.99e-8, 2.98e-8, 1e-10,
          1e-42, 3e38, 1e300, 1.00048828125, 1.00390625, 1.01171875, INF, -INF,
          NAN]
INTS = [0, 1, -1, 2, 127, 128, -128, -129, 255, 256, 257, 2049, 2051, 32767,
        32768, -32769, 65504, 65519, 65520, 2**24 + 1, 2**24 + 3, 2**31 - 1,
        2**31, -2**31, -2**31 - 1, 2**53 + 1, 2**63 - 1, -2**63]


def number(x):
    return str(int(x)) if isinstance(x, (bool, int)) else float(x).hex()


def main():
    for a in NAMES:
        source = torch.tensor(
            FLOATS if getattr(torch, a).is_floating_point else INTS,
            dtype=torch.float64 if getattr(torch, a).is_floating_point
            else torch.int64)
        x = source.to(getattr(torch, a))
        for b in NAMES:
            # Many at a time, which is another loop in PyTorch than one.
            y = x.repeat(16).to(getattr(torch, b))[:len(x)]
            for p, q in zip(x.tolist(), y.tolist()):
                print(a, number(p), b, number(q))


if __name__ == "__main__":
    main()
