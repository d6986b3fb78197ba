#!/usr/bin/env python3
"""onnx_run.py CFX DIR... -- cases of ONNX by `cfx run` and by ONNX Runtime.

Each DIR is a case as onnx_cases.py writes it. Both get its inputs, `cfx run` as
files or, of strings and sequences, as texts; the results are compared with the
expected ones as ONNX's own runner does. A line for each case that either fails,
and the counts.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import types

import numpy as np
import ml_dtypes
import onnx
import onnxruntime
from onnx import numpy_helper

# Types that .npy files have not, by their names in .safetensors files.
SHORT = {
    "BF16": ml_dtypes.bfloat16, "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E4M3FNUZ": ml_dtypes.float8_e4m3fnuz, "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "F8_E8M0": ml_dtypes.float8_e8m0fnu,
}
# cfx has its numbers as float8_e4m3fn.
FLOAT4 = ml_dtypes.float4_e2m1fn


def message(path, info):
    kind = info.type.WhichOneof("value")
    proto = {"sequence_type": onnx.SequenceProto,
             "optional_type": onnx.OptionalProto}.get(kind, onnx.TensorProto)()
    with open(path, "rb") as f:
        proto.ParseFromString(f.read())
    return proto


def value_of(path, info):
    proto = message(path, info)
    if isinstance(proto, onnx.SequenceProto):
        return numpy_helper.to_list(proto)
    if isinstance(proto, onnx.OptionalProto):
        return numpy_helper.to_optional(proto)
    return numpy_helper.to_array(proto)


def data_of(folder, kind, infos):
    paths = sorted(glob.glob(os.path.join(folder, kind + "_*.pb")),
                   key=lambda p: int(p.rsplit("_", 1)[1][:-3]))
    return paths, [value_of(p, i) for p, i in zip(paths, infos)]


def compare(got, want, rtol, atol):
    if want is None or got is None:
        assert got is want, "None and a value"
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want), f"{len(got)} items, not {len(want)}"
        for one, other in zip(got, want):
            compare(one, other, rtol, atol)
    else:
        want, got = np.asarray(want), np.asarray(got)
        assert got.shape == want.shape, f"{got.shape}, not {want.shape}"
        if want.dtype.kind in "OUS":
            assert [str(t) for t in got.ravel()] == \
                [t.decode() if isinstance(t, bytes) else str(t)
                 for t in want.ravel()], "strings differ"
            return
        if want.dtype.kind == "V" or want.dtype.name not in np.sctypeDict:
            if got.dtype != want.dtype and got.dtype.itemsize == \
                    want.dtype.itemsize and \
                    (got.dtype.kind == "u" or got.dtype.type is np.void):
                got = got.view(want.dtype)
            if want.dtype in SHORT.values():
                assert got.dtype == want.dtype, \
                    f"{got.dtype}, not {want.dtype}"
            got, want = got.astype(np.float32), want.astype(np.float32)
        assert got.dtype == want.dtype, f"{got.dtype}, not {want.dtype}"
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)


def text_of(value):
    """A list of strings as cfx takes it."""
    return repr(np.asarray(value).tolist())


def by_runtime(folder, names, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        os.path.join(folder, "model.onnx"), options,
        providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip(names, inputs)))


def by_cfx(cfx, folder, graph, paths, inputs, want):
    args, to = [], tempfile.TemporaryDirectory()
    for info, path, value in zip(graph.input, paths, inputs):
        if isinstance(value, np.ndarray) and value.dtype.kind in "OUS":
            path = text_of(value)
        args += ["-i", f"{info.name}={path}"]
    strings = any(np.asarray(w).dtype.kind in "OUS" for w in want
                  if isinstance(w, np.ndarray))
    how = [] if strings else ["-O", to.name]
    short = [isinstance(w, np.ndarray) and
             w.dtype in [*SHORT.values(), FLOAT4] for w in want]
    saves = [f"{to.name}/{i}.{'safetensors' if is_short else 'npy'}"
             for i, is_short in enumerate(short)] if any(short) else []
    if saves:
        how = []
        for i, path in enumerate(saves):
            name = "output" if len(want) == 1 else f"output_{i}"
            how += ["--save", f"{name}={path}"]
    with to:
        done = subprocess.run(
            [cfx, "run", os.path.join(folder, "model.onnx"), *args, *how],
            capture_output=True, text=True)
        assert not done.returncode, done.stderr.strip().split("\n")[-1]
        if strings:
            return printed(done.stdout)
        if saves:
            return [saved(p) if p.endswith("s") else np.load(p)
                    for p in saves]
        return results(to.name, len(want), want, done.stdout)


def saved(path):
    """The one tensor of a file of safetensors."""
    with open(path, "rb") as f:
        data = f.read()
    start = 8 + int.from_bytes(data[:8], "little")
    entry = next(v for k, v in json.loads(data[8:start]).items()
                 if k != "__metadata__")
    return np.frombuffer(data[start:], SHORT[entry["dtype"]]).reshape(
        entry["shape"])


def printed(text):
    """Lists of strings, and tensors of ints, as they are printed."""
    out = []
    for part in re.split(r"^output\S* .*\n", text, flags=re.M)[1:]:
        if part.startswith("tensor("):
            names = {"tensor": lambda v, size=None, **_: (v, size),
                     "torch": types.SimpleNamespace(int64=None)}
            numbers, size = eval(part, names)
            numbers = np.array(numbers, np.int64)
            out.append(numbers if size is None else numbers.reshape(size))
        else:
            out.append(np.array(eval(part), object))
    return out


def results(folder, count, want, told):
    """The files of the results, in the order of the graph's outputs."""
    files = [line.split()[-1] for line in told.splitlines()
             if line.split()[-1:] and os.path.exists(line.split()[-1])]
    if not files:
        files = sorted(glob.glob(os.path.join(folder, "*")),
                       key=lambda p: [int(t) if t.isdigit() else 0
                                      for t in p[:-4].split("_")])
    flat = [np.load(f, allow_pickle=True) for f in files]
    if count == 1 and not isinstance(want[0], list):
        assert len(flat) == 1, f"{len(flat)} results"
        return flat
    out = []
    for w in want:
        if isinstance(w, list):
            out.append(flat[:len(w)])
            flat = flat[len(w):]
        else:
            out.append(flat.pop(0))
    return out


def main():
    cfx, folders = sys.argv[1], sys.argv[2:]
    passed = {"cfx": 0, "onnxruntime": 0, "both": 0}
    for folder in folders:
        graph = onnx.load(os.path.join(folder, "model.onnx")).graph
        name = os.path.basename(folder.rstrip("/"))
        why = {}
        rtol, atol = 1e-3, 1e-7
        tolerance = os.path.join(folder, "tolerance")
        if os.path.exists(tolerance):
            with open(tolerance) as f:
                rtol, atol = map(float, f.read().split())
        for data in sorted(glob.glob(os.path.join(folder, "test_data_set_*"))):
            paths, inputs = data_of(data, "input", graph.input)
            _, want = data_of(data, "output", graph.output)
            for who, run in (
                    ("cfx", lambda: by_cfx(cfx, folder, graph, paths, inputs,
                                           want)),
                    ("onnxruntime", lambda: by_runtime(
                        folder, [i.name for i in graph.input], inputs))):
                try:
                    compare(list(run()), list(want), rtol, atol)
                except Exception as e:
                    lines = [t for t in str(e).splitlines() if t.strip()]
                    why[who] = " ".join(lines[:4])[:200] or repr(e)
        for who in ("cfx", "onnxruntime"):
            passed[who] += who not in why
        passed["both"] += not why
        if "cfx" in why:
            also = "both fail" if "onnxruntime" in why else "cfx fails"
            print(f"{name}: {also}: {why['cfx']}", flush=True)
    print(f"{len(folders)} cases: cfx run {passed['cfx']}, onnxruntime "
          f"{passed['onnxruntime']}, both {passed['both']}")


if __name__ == "__main__":
    main()
