"""Writes the seeds that are not text of this tree: seeds.py FOLDER"""
import io
import os
import sys
import zipfile

import numpy as np
import torch
from safetensors.torch import save

out = sys.argv[1]


def write(target, name, data):
    os.makedirs(os.path.join(out, target), exist_ok=True)
    with open(os.path.join(out, target, name), "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def npy(x):
    f = io.BytesIO()
    np.save(f, x)
    return f.getvalue()


def npz(compressed, **arrays):
    f = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(f, **arrays)
    return f.getvalue()


arrays = {
    "f4": np.arange(6, dtype="<f4").reshape(2, 3),
    "fortran": np.asfortranarray(np.arange(6, dtype="<f8").reshape(2, 3)),
    "big": np.arange(4, dtype=">i4"),
    "bool": np.array([True, False]),
    "scalar": np.array(3, dtype="<i8"),
    "empty": np.zeros((0, 4), dtype="<f2"),
    "u1": np.arange(5, dtype="u1"),
}
for name, x in arrays.items():
    write("npy", name, npy(x))
write("npz", "stored", npz(False, a=arrays["f4"], b=arrays["u1"]))
write("npz", "deflated", npz(True, a=np.zeros((40, 40), "<f4")))
write("npz", "folder", npz(True, **{"a/b": arrays["bool"]}))

write("safetensors", "two", save({"a": torch.arange(6.).reshape(2, 3),
                                  "b": torch.arange(3, dtype=torch.int64)}))
write("safetensors", "halves", save({"x": torch.ones(3, dtype=torch.bfloat16),
                                     "y": torch.ones(2, dtype=torch.float16),
                                     "z": torch.tensor(True)},
                                    {"format": "pt"}))
write("safetensors", "none", save({}))

for i, s in enumerate([
        "f32[2, 3]", "f32[N, 3, H, W]", "f32[2, 4][4, 1]cpu", "i64[]",
        "(f32[2], i64[N + 1])", "[f32[2], N, None]", "{'a': bf16[2*N]}",
        "bool[N // 2, max(N, 3)]cuda:0"]):
    write("shape", str(i), s)
for i, s in enumerate([
        "2*N + 1", "(N + 3) // 4", "max(N, M) - min(N, 3)", "N % 8",
        "FloorDiv(s0, 2)", "CeilToInt(IntTrueDiv(s0, 2))",
        "Symbol('s0', integer=True) + 1", "Mod(s1, 3)*2**3",
        "ModularIndexing(s0, 2, 4)", "Rational(1, 2)*s0",
        "9223372036854775807", "-N", "Add(Mul(2, s0), Pow(s1, 2))"]):
    write("extent", str(i), s)
for i, s in enumerate([
        "(1, 2.5, None, True)", "[x, 'a\\n', \"b\"]", "{'k': [1, (2,)]}",
        "slice(None, -1, 2)", "torch.float32", "device(type='cuda', index=0)",
        "-inf", "1e-45", "(3,)", "1+2j", "Ellipsis", "'\\u00e9\\x07'"]):
    write("value", str(i), s)

golden = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                      "golden", "pt2")
for name in ("tied", "cond", "mutated", "sizes", "structure"):
    with zipfile.ZipFile(os.path.join(golden, name + ".pt2")) as file:
        write("pt2", name + ".json", file.read(name + "/models/model.json"))
with zipfile.ZipFile(os.path.join(golden, "tied.pt2")) as file:
    inputs = file.read("tied/data/sample_inputs/model.pt")
f = io.BytesIO()
torch.save({"w": torch.nn.Parameter(torch.ones(2)),
            "v": torch.ones(4)[1::2]}, f)
for name, saved in (("inputs", inputs), ("weights", f.getvalue())):
    with zipfile.ZipFile(io.BytesIO(saved)) as file:
        pickles = [n for n in file.namelist() if n.endswith("data.pkl")]
        write("pt2", name + ".pkl", file.read(pickles[0]))
