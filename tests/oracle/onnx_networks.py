#!/usr/bin/env python3
"""onnx_networks.py CFX FOLDER -- networks that packages of PyPI ship, with weights.

FOLDER has the packages, unpacked:

    pip download --no-deps --dest FOLDER magika silero-vad
    cd FOLDER && for f in *.whl; do unzip -qo $f; done

magika (Apache 2.0) tells the type of a file, silero-vad (MIT) where speech is.
`cfx run` must give ONNX Runtime's results to 1e-4: the classifier those of files of
this tree, the detectors those of a sound, block after block with their state.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                    os.pardir)
LIMIT = 1e-4
FILES = ("lib/base/buf.c", "README.md", "tests/oracle/onnx_networks.py",
         "tests/cli/onnx.sh", "shapeprop/machines/raspberry-pi-5.json",
         "tests/cases/onnx.tar.xz", "doc/cfx.1", "Makefile.am")
# Blocks of 512 samples at 16 kHz, of which the detectors want the 64 before, too.
BLOCK, BEFORE, RATE = 512, 64, 16000


def cfx_run(cfx, model, feed, folder):
    words = []
    for name, value in feed.items():
        np.save(f"{folder}/{name}.npy", value)
        words += ["-i", f"{name}={folder}/{name}.npy"]
    out = os.path.join(folder, "out")
    subprocess.run([cfx, "run", model, *words, "-O", out], check=True,
                   stdout=subprocess.DEVNULL)
    return [np.load(os.path.join(out, f)) for f in sorted(os.listdir(out))]


def compare(cfx, session, model, feed):
    """ONNX Runtime's results, and how far those of cfx are from them."""
    want = session.run(None, feed)
    with tempfile.TemporaryDirectory() as folder:
        have = cfx_run(cfx, model, feed, folder)
    assert len(have) == len(want)
    return want, max(float(np.abs(a - b).max()) for a, b in zip(have, want))


def bytes_of(path):
    """What magika looks at: 1024 bytes of each end, without white space."""
    with open(path, "rb") as file:
        data = file.read()
    ends = np.full((1, 2048), 256, np.int32)
    first, last = data.lstrip()[:1024], data.rstrip()[-1024:]
    ends[0, :len(first)] = list(first)
    ends[0, 2048 - len(last):] = list(last)
    return ends


def classify(cfx, folder):
    model = os.path.join(folder, "magika/models/standard_v3_3/model.onnx")
    session, worst, kinds = onnxruntime.InferenceSession(model), 0., []
    for path in FILES:
        want, off = compare(cfx, session, model,
                            {"bytes": bytes_of(os.path.join(ROOT, path))})
        worst = max(worst, off)
        kinds.append(int(want[0].argmax()))
    return f"{len(kinds)} files of {len(set(kinds))} kinds", worst


def sound(n):
    """A voice of sorts: a note that swells, with overtones and noise."""
    t = np.arange(n) / RATE
    notes = sum(np.sin(2 * np.pi * 140 * k * t) / k for k in range(1, 12))
    noise = np.random.default_rng(0).standard_normal(n)
    return (0.2 * notes * np.sin(3 * t) ** 2 + 0.01 * noise).astype(np.float32)


def detect(cfx, folder, name):
    model = os.path.join(folder, "silero_vad/data", name)
    session = onnxruntime.InferenceSession(model)
    named = {i.name for i in session.get_inputs()}
    wave, worst = sound(BEFORE + 10 * BLOCK), 0.
    state = np.zeros((2, 1, 128), np.float32)
    for i in range(10):
        feed = {"input": wave[None, i * BLOCK:(i + 1) * BLOCK + BEFORE],
                "state": state, "sr": np.array(RATE)}
        want, off = compare(cfx, session, model,
                            {k: v for k, v in feed.items() if k in named})
        worst, state = max(worst, off), want[1]
    return "10 blocks", worst


def main():
    cfx, folder = sys.argv[1:]
    onnxruntime.set_default_logger_severity(3)
    tests = [("magika", lambda: classify(cfx, folder))]
    for name in sorted(os.listdir(os.path.join(folder, "silero_vad/data"))):
        if name.endswith(".onnx") and "sequence" not in name:
            tests.append((name, lambda name=name: detect(cfx, folder, name)))
    bad = 0
    for name, test in tests:
        what, worst = test()
        bad += not worst < LIMIT
        print(f"{name}: {what}, off by {worst:.2g}", flush=True)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
