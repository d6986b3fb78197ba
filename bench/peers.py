#!/usr/bin/env python3
"""peers -- compare optimized models with other engines, in turns.

    peers.py [OPTION]... BENCH-SERVE FOLDER

BENCH-SERVE is the program that runs cfx.  FOLDER gets the models of
peers_models.py, unless they are there.  Each engine runs in a process of its
own, which waits while the others run.  Before they are timed, each must give
PyTorch's output, to 1e-3 of its largest element, in bfloat16 to 0.2, in int8 to
0.3; a peer that does not has no time in the table.

    --models NAME,...   `more`: those of other kinds, default: the eleven of MODELS
    --engines NAME,...  of cfx, plain (cfx without -o), cfx_pt2 and cfx_onnx (the
                        model in these formats), onnxruntime, openvino, torch,
                        compiled; in bfloat16 cfx_bf16, openvino_bf16; in
                        int8 cfx_int8, which runs what cfx quantized, and
                        onnxruntime_int8, openvino_int8, which run what
                        onnxruntime quantized;
                        default: cfx, onnxruntime, openvino
    --cfx PROGRAM       the program that quantizes, default: cfx beside
                        BENCH-SERVE
    --threads N,...     default: 1,2
    --batch N,...       default: 1,8
    --rounds N          default: 5
    --seconds S         of each run in a round, default: 1
    --fastest           compare the fastest run of each round, not the median:
                        for a machine that has other work
    --processor         measure processor time, with one thread

Prints for each number of threads and batch size the medians over the rounds in
ms, the best peer, and its time divided by cfx's: above 1, cfx is faster.
"""

import argparse
import math
import os
import statistics
import subprocess
import sys
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
LIMITS = {"cfx_bf16": 0.2, "openvino_bf16": 0.2, "cfx_int8": 0.3,
          "onnxruntime_int8": 0.3, "openvino_int8": 0.3}  # of the largest element
LIMIT = 1e-3
MODELS = ("resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_small",
          "squeezenet1_1", "densenet121", "vgg11", "efficientnet_b0",
          "vit_b_16", "bert_base", "gpt2")
MORE = ("dlrm", "deepfm", "tcn", "conformer", "wav2vec2",
        "whisper_tiny_encoder", "regnet_y_400mf", "regnet_x_1_6gf",
        "resnext50_32x4d", "googlenet", "shufflenet_v2_x1_0", "mnasnet1_0",
        "convnext_tiny", "swin_t", "mixer", "lraspp", "deeplabv3", "detector",
        "edsr", "diffusion", "t5_encoder", "distilbert", "clip_text", "opt",
        "llama", "series", "gnn", "lstm_256", "gru_256")

# ------------------------------------------------- the engines, as functions


def onnxruntime(path, x, threads):
    import onnxruntime as ort
    o = ort.SessionOptions()
    o.intra_op_num_threads = threads
    o.inter_op_num_threads = 1
    session = ort.InferenceSession(path + ".onnx", o,
                                   providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda: session.run(None, {name: x})[0]


def openvino(path, x, threads, precision="f32"):
    import openvino as ov
    compiled = ov.Core().compile_model(path + ".onnx", "CPU", {
        "INFERENCE_PRECISION_HINT": precision, "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1})
    request = compiled.create_infer_request()

    def run():
        request.infer({0: x}, share_inputs=True)
        return request.get_output_tensor(0).data
    return run


def openvino_bf16(path, x, threads):
    return openvino(path, x, threads, "bf16")


def onnxruntime_int8(path, x, threads):
    return onnxruntime(path + ".int8", x, threads)


def openvino_int8(path, x, threads):
    return openvino(path + ".int8", x, threads)


def torch_model(path, x, threads):
    import torch
    sys.path.insert(0, HERE)
    import peers_models
    torch.set_num_threads(threads)
    model, _ = peers_models.build(os.path.basename(path), len(x))
    return torch, model, torch.from_numpy(x)


def torch(path, x, threads):
    lib, model, x = torch_model(path, x, threads)

    def run():
        with lib.inference_mode():
            return model(x).numpy()
    return run


def compiled(path, x, threads):
    lib, model, x = torch_model(path, x, threads)
    fast = lib.compile(model)

    def run():
        with lib.inference_mode():
            return fast(x).numpy()
    return run


ENGINES = {f.__name__: f for f in (onnxruntime, openvino, openvino_bf16,
                                   onnxruntime_int8, openvino_int8, torch,
                                   compiled)}
# The options of BENCH-SERVE, and how the model's name ends.
OWN = {"cfx": (["-o"], ".fx"), "cfx_bf16": (["-b"], ".fx"),
       "cfx_int8": (["-o"], ".int8.fx"), "plain": ([], ".fx"),
       "cfx_pt2": (["-o"], ".pt2"), "cfx_onnx": (["-o"], ".onnx")}


def measure(run, seconds, clock=time.perf_counter):
    took, begin = [], clock()
    while len(took) < 3 or clock() - begin < seconds:
        start = clock()
        run()
        took.append(clock() - start)
    return min(took), statistics.median(took)


def serve(engine, path, threads, clock):
    """The other side of Server."""
    run = ENGINES[engine](path, np.load(path + ".npy"), threads)
    run()
    print("ready", flush=True)
    for line in sys.stdin:
        word, rest = line.split()
        if word == "run":
            print("%.9f %.9f" % measure(run, float(rest), clock), flush=True)
        else:
            np.save(rest, run())
            print("written", flush=True)


# ---------------------------------------------------------------- the rounds


class Server:
    def __init__(self, o, engine, path, threads):
        if engine in OWN:
            options, end = OWN[engine]
            options = options + ["-c"] * o.processor
            command = [o.serve, *options, "-t", str(threads), path + end,
                       path + ".npy"]
        else:
            command = [sys.executable, os.path.abspath(__file__), "--serve",
                       engine, path, str(threads),
                       "processor" if o.processor else "wall"]
        env = dict(os.environ, OMP_NUM_THREADS=str(threads))
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            stderr=subprocess.DEVNULL if engine == "compiled" else None,
            env=env)
        self.engine = engine
        while self.answer() != "ready":
            pass

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.engine} has ended")
        return line.strip()

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.answer()

    def check(self, path):
        want = np.load(path + ".want.npy")
        file = f"{path}.{self.engine}.npy"
        self.ask("output " + file)
        got = np.load(file)
        os.remove(file)
        by = np.abs(got - want).max() / np.abs(want).max()
        if got.shape != want.shape or not by <= LIMITS.get(self.engine, LIMIT):
            raise RuntimeError(f"{self.engine}: {path}: the output differs by "
                               f"{by:.2g} of the largest")

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def start(o, path, threads):
    """The servers of the engines. A peer that cannot read the model, or computes
    something else, is left out."""
    for engine in o.engines:
        try:
            server = Server(o, engine, path, threads)
            server.check(path)
            yield server
        except RuntimeError as why:
            if engine in OWN:
                raise
            print(why, file=sys.stderr)


def compare(o, path, threads):
    """The seconds of each round by engine."""
    servers = list(start(o, path, threads))
    rounds = {s.engine: [] for s in servers}
    for _ in range(o.rounds):
        for server in servers:
            time.sleep(0.05)
            fastest, median = map(float, server.ask(
                f"run {o.seconds}").split())
            rounds[server.engine].append(fastest if o.fastest else median)
    for server in servers:
        server.close()
    return rounds


def best_of(rounds):
    peers = [e for e in rounds if e not in OWN]
    if not peers:
        return None, float("nan")
    best = min(peers, key=lambda e: statistics.median(rounds[e]))
    own = next(rounds[e] for e in OWN if e in rounds)
    return best, statistics.median(
        p / c for p, c in zip(rounds[best], own))


def make_models(folder, names, batch, end=".onnx", options=()):
    missing = [n for n in names
               if not os.path.exists(os.path.join(folder, n + end))]
    if missing:
        subprocess.run([sys.executable,
                        os.path.join(HERE, "peers_models.py"), "--batch",
                        str(batch), *options, folder, *missing], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_quantized(o, folder, batch):
    make_models(folder, o.models, batch, ".int8.onnx", ["--int8"])
    for name in o.models:
        path = os.path.join(folder, name)
        if not os.path.exists(path + ".int8.fx"):
            subprocess.run([o.cfx, "quantize", path + ".fx", "--calibrate",
                            path + ".calibration.npy", "--batch", str(batch),
                            "-q", "-o", path + ".int8.fx"], check=True)


def table(o, threads, batch):
    folder = os.path.join(o.folder, f"b{batch}")
    make_models(folder, o.models, batch)
    if any(e.endswith("_int8") for e in o.engines):
        make_quantized(o, folder, batch)
    print(f"\n{threads} thread{'s' * (threads > 1)}, batch {batch}\n")
    print("| model | " + " | ".join(o.engines) + " | best peer | ratio |")
    print("|---" * (len(o.engines) + 3) + "|")
    ratios = []
    for name in o.models:
        rounds = compare(o, os.path.join(folder, name), threads)
        best, ratio = best_of(rounds)
        ratios += [ratio] if best else []
        print(f"| {name} | " + " | ".join(
            f"{1e3 * statistics.median(rounds[e]):.2f}" if e in rounds else "-"
            for e in o.engines) +
            f" | {best or '-'} | {ratio:.2f} |", flush=True)
    mean = math.exp(statistics.fmean(map(math.log, ratios or [math.nan])))
    print("| geomean" + " |" * (len(o.engines) + 1) + f" | {mean:.3f} |")


def main():
    if sys.argv[1:2] == ["--serve"]:
        return serve(sys.argv[2], sys.argv[3], int(sys.argv[4]),
                     time.process_time if sys.argv[5] == "processor"
                     else time.perf_counter)

    def names(text):
        return text.split(",")

    def numbers(text):
        return [int(n) for n in text.split(",")]

    args = argparse.ArgumentParser()
    args.add_argument("--models", default=MODELS, type=lambda text:
                      MORE if text == "more" else names(text))
    args.add_argument("--engines", type=names,
                      default=["cfx", "onnxruntime", "openvino"])
    args.add_argument("--threads", type=numbers, default=[1, 2])
    args.add_argument("--batch", type=numbers, default=[1, 8])
    args.add_argument("--rounds", type=int, default=5)
    args.add_argument("--seconds", type=float, default=1)
    args.add_argument("--fastest", action="store_true")
    args.add_argument("--processor", action="store_true")
    args.add_argument("--cfx")
    args.add_argument("serve")
    args.add_argument("folder")
    o = args.parse_args()
    o.cfx = o.cfx or os.path.join(os.path.dirname(o.serve), "cfx")
    for batch in o.batch:
        for threads in o.threads:
            table(o, threads, batch)


if __name__ == "__main__":
    main()
