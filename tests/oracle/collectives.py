#!/usr/bin/env python3
"""collectives -- what PyTorch's gloo computes in torch.ops._c10d_functional.

    collectives.py          write ../golden/collectives.txt

A case is a line `RANKS OPERATOR TYPE[EXTENTS]... [ARGUMENT]`; the lines below it
are the results, of every rank alike (`*`) or of each one.  Element i of rank r's
inputs is (7 i + 5 r) mod 6 - 2, or for bool whether that is positive.  The splits
of all_to_all_single are even, or `uneven`: rank r sends (r + 2 k) mod 3 rows to
rank k, of as many as that makes.
"""

import os
import socket
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "golden", "collectives.txt")
TYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16,
         "bf16": torch.bfloat16, "i64": torch.int64, "i32": torch.int32,
         "i8": torch.int8, "u8": torch.uint8, "b8": torch.bool,
         "c64": torch.complex64}
ABBR = {v: k for k, v in TYPES.items()}
SIMPLE = ["sum", "product", "min", "max"]


def cases(ranks):
    for t in TYPES:
        hows = ["sum"] if t == "c64" else SIMPLE
        if t[0] in "fbc" and t != "b8":
            hows = hows + ["avg"]
        elif t[0] in "iu" or t == "b8":
            hows = hows + ["band", "bor", "bxor"]
        for how in hows:
            yield f"all_reduce {t}[2,3] {how}"
        yield f"all_gather_into_tensor {t}[2,2]"
        yield f"broadcast {t}[3] {ranks - 1}"
    for t in ("f32", "f16", "bf16", "i64"):
        for how in ("sum", "max"):
            yield f"reduce_scatter_tensor {t}[{2 * ranks},2] {how}"
        yield f"all_to_all_single {t}[{2 * ranks},3] even"
    yield f"reduce_scatter_tensor f64[{ranks}] avg"
    yield "all_to_all_single f32[0,2] uneven"
    yield "all_to_all_single i32[0] uneven"
    yield "all_reduce f32[] sum"
    yield "all_reduce f32[0] sum"
    yield "all_reduce_ f32[4] sum"
    yield "broadcast_ i64[4] 0"
    yield "all_reduce_coalesced f32[2] f32[1,3] sum"
    yield "all_reduce_coalesced_ f32[2] f32[1,3] max"
    yield "all_gather_into_tensor_coalesced f32[2] i64[1,3]"
    yield f"reduce_scatter_tensor_coalesced f32[{ranks}] f32[{2 * ranks}] sum"
    yield "all_gather_into_tensor_out f32[2,2]"
    yield f"reduce_scatter_tensor_out f32[{ranks}] sum"


def tensor(text, rank, rows=None):
    name, shape = text[:-1].split("[")
    shape = [int(n) for n in shape.split(",") if n]
    if rows is not None:
        shape[0] = rows
    x = torch.arange(torch.Size(shape).numel(), dtype=torch.int64)
    x = (7 * x + 5 * rank) % 6 - 2
    x = x > 0 if name == "b8" else x.to(TYPES[name])
    return x.reshape(shape)


def show(value):
    if isinstance(value, (list, tuple)):
        return " ".join(show(v) for v in value)
    def number(v):
        if isinstance(v, complex):
            return f"{v.real:g}+{v.imag:g}j"
        return f"{float(v):.9g}"
    shape = ", ".join(map(str, value.shape))
    return " ".join([f"{ABBR[value.dtype]}[{shape}]"] +
                    [number(v) for v in value.flatten().tolist()])


def run(case, rank, ranks):
    ops = torch.ops._c10d_functional
    name, *rest = case.split()
    inputs = [t for t in rest if "[" in t]
    args = [t for t in rest if "[" not in t]
    sends = [(rank + 2 * k) % 3 for k in range(ranks)]
    rows = sum(sends) if args == ["uneven"] else None
    x = [tensor(t, rank, rows) for t in inputs]
    first = x if "coalesced" in name else x[0]
    call = getattr(ops, name).default
    if "gather" in name:
        args = [ranks]
    elif "scatter" in name:
        args.append(ranks)
    elif "all_to_all" in name:
        args = [[2] * ranks, [2] * ranks]
        if rows is not None:
            args = [[(k + 2 * rank) % 3 for k in range(ranks)], sends]
    elif "broadcast" in name:
        args = [int(args[0])]
    kwargs = {}
    if name.endswith("_out"):
        shape = [x[0].shape[0] * ranks if "gather" in name else
                 x[0].shape[0] // ranks, *x[0].shape[1:]]
        kwargs["out"] = torch.zeros(shape)
    y = call(first, *args, "0", **kwargs)
    if isinstance(y, (list, tuple)):
        return show([ops.wait_tensor(t) for t in y])
    return show(ops.wait_tensor(y))


def worker(rank, ranks, folder, port):
    dist.init_process_group("gloo", rank=rank, world_size=ranks,
                            init_method=f"tcp://127.0.0.1:{port}")
    with open(os.path.join(folder, str(rank)), "w") as f:
        for case in cases(ranks):
            try:
                f.write(run(case, rank, ranks) + "\n")
            except Exception as e:
                sys.exit(f"{ranks} {case}: {e}")
    dist.barrier()
    dist.destroy_process_group()


def main():
    with open(GOLDEN, "w") as out:
        out.write("# Written by tests/oracle/collectives.py.\n")
        for ranks in (2, 3, 4):
            with socket.socket() as s:
                s.bind(("127.0.0.1", 0))
                port = s.getsockname()[1]
            with tempfile.TemporaryDirectory() as folder:
                mp.spawn(worker, (ranks, folder, port), ranks)
                results = [open(os.path.join(folder, str(r))).read().splitlines()
                           for r in range(ranks)]
            for i, case in enumerate(cases(ranks)):
                lines = [r[i] for r in results]
                out.write(f"{ranks} {case}\n")
                if len(set(lines)) == 1:
                    out.write(f"*: {lines[0]}\n")
                    continue
                for r, line in enumerate(lines):
                    out.write(f"{r}: {line}\n")


if __name__ == "__main__":
    main()
