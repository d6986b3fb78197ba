#!/usr/bin/env python3
"""promote_golden -- torch.promote_types of all pairs of types.

    promote_golden.py > ../golden/promote.txt

A line has the two types and what they become.
"""

import torch

NAMES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16",
         "bfloat16", "float32", "float64", "complex64", "complex128"]

for a in NAMES:
    for b in NAMES:
        both = torch.promote_types(getattr(torch, a), getattr(torch, b))
        print(a, b, str(both).removeprefix("torch."))
