#!/usr/bin/env python3
"""print_golden -- tensors and how PyTorch prints them.

    print_golden.py > ../golden/print.txt

A case is a line `== DTYPE EXTENT,EXTENT,...` (`-` for rank 0, `meta` after it
for a tensor without numbers), a line of its numbers in row-major order, and
what str() gives, up to the next case.
"""

import sys

import torch

INF, NAN = float("inf"), float("nan")


def spread(shape, scale, shift, dtype=torch.float32):
    """Numbers that differ in length and sign, the same on every machine."""
    n = 1
    for extent in shape:
        n *= extent
    i = torch.arange(n, dtype=torch.float64)
    x = (i * 7919 % 1009 - 504) * scale + shift
    return x.reshape(shape).to(dtype)


def cases():
    f = torch.tensor
    # Integers, truth values, and floats that are whole.
    yield f([1.0, 2.0, 3.0])
    yield f([[1.0, 2.0], [3.0, 4.0]])
    yield f([1.0, -2.0, 300.0])
    yield f([0.0, 0.0])
    yield f([0.0, -0.0, 1.0])
    yield f([-0.0])
    yield f(3.0)
    yield f(-1.5)
    yield f(7)
    yield f(True)
    yield f([True, False, True])
    yield f([[1, -20], [300, 4]])
    yield f([-9223372036854775808, 9223372036854775807])
    yield f([1, 2, 255], dtype=torch.uint8)
    yield f([-128, 127], dtype=torch.int8)
    yield f([[1, 2], [3, 4]], dtype=torch.int16)
    yield f([1, 2], dtype=torch.int32)
    # Digits behind the point, and exponents.
    yield f([0.1, 0.25, 100.0])
    yield f([0.5, 1.5, -2.25])
    yield f([1e-5, 1.0])
    yield f([1e-4, 0.1])
    yield f([0.00011, 0.1])
    yield f([1e8, 1.0])
    yield f([1e8, 2e8])
    yield f([1e9, 2e9])
    yield f([1000.0, 1.0])
    yield f([1001.0, 1.0])
    yield f([1001.5, 1.0])
    yield f([999.5, 1.0])
    yield f([1e-40, 1e38])
    yield f([-1e-10, 3e20, 1.0])
    yield f(1e-10)
    yield f(123456789.0)
    yield f([0.99999, 0.5])
    yield f([9.99999, 0.5])
    # What is not finite.
    yield f([INF, -INF, NAN])
    yield f([1.0, INF, -INF, NAN])
    yield f([0.5, INF, -INF, NAN])
    yield f([1e-7, INF, -INF, NAN])
    yield f([NAN, 0.0])
    yield f(NAN)
    yield f(-INF)
    # Types that are named.
    yield f([0.5, 1.0], dtype=torch.float64)
    yield f([1.0, 2.0], dtype=torch.float64)
    yield f([0.1, 2.0], dtype=torch.float16)
    yield f([0.1, 65504.0], dtype=torch.float16)
    yield f([0.1, 2.0], dtype=torch.bfloat16)
    yield f([1e300, -1e-300], dtype=torch.float64)
    yield f(2, dtype=torch.int32)
    yield f(1.0, dtype=torch.float64)
    # Nothing in it.
    yield torch.empty(0)
    yield torch.empty(0, 3)
    yield torch.empty(2, 0, 4, dtype=torch.float64)
    yield torch.empty(0, dtype=torch.int64)
    yield torch.empty(3, 0, dtype=torch.bool)
    # Lines that break.
    yield spread((30,), 0.375, 0)
    yield spread((30,), 1, 0)
    yield spread((2, 25), 0.0625, 1)
    yield spread((40,), 1, 0, torch.int64)
    yield spread((60,), 1, 0).gt(0)
    yield spread((13,), 0.1, 0, torch.float64)
    for n in range(5, 11):
        yield spread((n,), 1e-9, 0, torch.float64)
        yield spread((n,), 0.01, 0, torch.float16)
    yield spread((2, 3, 4), 0.5, 0)
    yield spread((2, 2, 2, 3), 0.125, 0)
    yield spread((1, 1, 1, 1, 2), 1, 0)
    yield spread((1,) * 16, 0.5, 0.25)
    yield spread((3, 1), 0.5, 0)
    yield spread((12, 20), 1e-3, 0)
    # Too many to show.
    yield spread((1000,), 1, 0)
    yield spread((1001,), 1, 0)
    yield spread((1001,), 0.015625, 0)
    yield spread((1001,), 1, 0, torch.int32)
    yield spread((40, 40), 0.015625, 0)
    yield spread((6, 200), 0.015625, 0)
    yield spread((7, 200), 0.015625, 0)
    yield spread((200, 6), 0.015625, 0)
    yield spread((200, 7), 0.015625, 0)
    yield spread((10, 11, 12), 0.015625, 0)
    yield spread((2, 2, 3, 7, 13), 1, 0, torch.int64)
    yield spread((1100,), 1, 0).gt(0)
    yield spread((1100,), 1e-6, 0, torch.float64)
    yield torch.cat([spread((1000,), 1e-6, 1e9), torch.ones(100)])
    yield torch.cat([torch.ones(5), torch.full((1000,), 1e20), torch.ones(5)])
    # Complex numbers, whose parts are formatted apart.
    yield f([1 + 2j, -3.5 - 1j, 0.25j])
    yield f([1 + 2j, -3j], dtype=torch.complex128)
    yield f(1e-10 - 3j)
    yield f([[complex(NAN, INF), 1], [-INF, 123456.5j]])
    yield f([complex(0, -0.0), complex(-0.0, 2)])
    yield torch.complex(spread((40,), 0.375, 0), spread((40,), 10, -3))
    yield torch.complex(spread((3, 500), 0.375, 0), spread((3, 500), 1e-9, 0))
    yield torch.empty(0, 3, dtype=torch.complex64)
    # No numbers at all.
    yield torch.empty(2, 3, device="meta")
    yield torch.empty((), dtype=torch.int64, device="meta")
    yield torch.empty(5, dtype=torch.bool, device="meta")
    yield torch.empty(123456, 234567, 3, dtype=torch.bfloat16, device="meta")


def number(x):
    if isinstance(x, complex):
        return f"{x.real!r} {x.imag!r}"
    return str(int(x)) if isinstance(x, (bool, int)) else repr(x)


def main():
    for t in cases():
        dtype = str(t.dtype).removeprefix("torch.")
        shape = ",".join(map(str, t.shape)) or "-"
        meta = " meta" if t.is_meta else ""
        print(f"== {dtype} {shape}{meta}")
        values = [] if t.is_meta else t.reshape(-1).tolist()
        print(" ".join(map(number, values)))
        print(t)


if __name__ == "__main__":
    sys.exit(main())
