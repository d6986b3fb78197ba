#!/usr/bin/env python3
"""peer -- torch's side of bench-speed: runs models eagerly.

    peer.py THREADS

Reads commands from stdin and prints one line for each to stdout:

    model BYTES NAME=SHAPE...   the text of a model follows; its inputs
    run SECONDS PART CLOCK      run it for about so long; print the quantile PART
                                of the seconds of all runs; CLOCK is `wall` or
                                `processor`
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "tests", "oracle"))

import torch  # noqa: E402

import fxtext  # noqa: E402
import seeded  # noqa: E402

SEED = 1
LEAST_RUNS = 3
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


def load(text, inputs):
    """Return the model, filled as cfx does, and its inputs."""
    model = fxtext.parse(text)
    seeded.fill_module(model, model.graph, SEED)
    made = []
    for name, spec in (i.split("=", 1) for i in inputs):
        dtype, shape = seeded.parse_spec(spec)
        made.append(seeded.make_input(name, dtype, shape, SEED))
    return model, made


def measure(model, inputs, seconds, part, now):
    took = []
    begin = now()
    while len(took) < LEAST_RUNS or now() - begin < seconds:
        start = now()
        model(*inputs)
        took.append(now() - start)
    took.sort()
    return took[int(part * len(took))]


def main():
    torch.set_num_threads(int(sys.argv[1]))
    commands = sys.stdin.buffer
    model = inputs = None
    with torch.inference_mode():
        for line in commands:
            word, *rest = line.decode().split()
            if word == "model":
                text = commands.read(int(rest[0])).decode()
                model, inputs = load(text, rest[1:])
                print("ready", flush=True)
            else:
                print(measure(model, inputs, float(rest[0]), float(rest[1]),
                              CLOCKS[rest[2]]), flush=True)


if __name__ == "__main__":
    main()
