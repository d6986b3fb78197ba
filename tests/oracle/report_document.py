#!/usr/bin/env python3
"""A roofline document of a model of the zoo, for the tests of reports.

    report_document.py ZOO/resnet50.fx >golden/report_resnet50.json

The shapes beside the model are PyTorch's; costs follow from them by the rules
for the few modules that ResNets have, and the machine and the times are made
up (from a seed): a report must draw them, not believe them.
"""
import json
import math
import random
import re
import sys

PEAK = 92.4e9
LEVELS = [("L1", 32768, 212e9), ("L2", 1048576, 88e9),
          ("L3", 37486592, 31e9), ("memory", None, 11.8e9)]


def numel(shape):
    return math.prod(shape)


def modules(text):
    """Path -> (type, arguments), of PyTorch's module tree."""
    found, path = {}, []
    for line in text.split("\n\ngraph():")[0].split("\n")[1:]:
        m = re.match(r"( +)\((\w+)\): (\w+)\((.*)", line)
        if m:
            path[len(m[1]) // 2 - 1:] = [m[2]]
            found[".".join(path)] = (m[3], m[4])
    return found


def nodes(text):
    for m in re.finditer(r"^    %(\w+) .*?\] = (\w+)\[target=([\w.]+)\]"
                         r"(?:\(args = \((.*)\), kwargs)?", text, re.M):
        yield m[1], m[2], m[3], re.findall(r"%(\w+)", m[4] or "")
    m = re.search(r"^    return (\w+)", text, re.M)
    yield "output", "output", "output", [m[1]]


def cost(kind, call, shape, inputs):
    """macs, other operations, elements of weights."""
    n = numel(shape)
    if kind == "Conv2d":
        c_in, c_out = map(int, re.findall(r"\d+", call)[:2])
        k = int(re.search(r"kernel_size=\((\d+)", call)[1])
        weights = c_in * c_out * k * k
        return n * c_in * k * k, 0, weights
    if kind == "Linear":
        i, o = map(int, re.findall(r"\d+", call)[:2])
        return n * i, n, i * o + o
    if kind == "BatchNorm2d":
        return 0, 2 * n, 4 * shape[1]
    if kind == "MaxPool2d":
        return 0, 0, 0
    if kind == "AdaptiveAvgPool2d":
        return 0, numel(inputs[0]), 0
    if kind in ("ReLU", "flatten"):
        return 0, 0, 0
    return 0, n, 0


def level_of(work):
    for name, size, rate in LEVELS:
        if size is None or work <= size:
            return name, rate


def main(path):
    rng = random.Random(1)
    text = open(path).read()
    shapes = json.load(open(path.replace(".fx", ".shapes.json")))["nodes"]
    shape = {name: [1] + v["shape"][1:] for name, v in shapes.items()}
    tree = modules(text)
    graph = list(nodes(text))
    last = {}
    for i, (_, _, _, args) in enumerate(graph):
        for a in args:
            last[a] = i
    alive, rows = {}, []
    for i, (name, op, target, args) in enumerate(graph):
        kind, call = tree.get(target, (target.split(".")[-1], ""))
        out = shape.get(name, shape[args[0]] if args else [])
        inputs = [shape[a] for a in args]
        macs, ops, weights = cost(kind, call, out, inputs)
        read = 4 * (sum(map(numel, inputs)) + weights)
        written = 4 * numel(out)
        if op in ("placeholder", "output") or kind == "flatten":
            macs = ops = read = written = 0
        alive[name] = 0 if kind == "flatten" else 4 * numel(out)
        live = sum(alive.values())
        for a in args:
            if last[a] == i:
                alive.pop(a, None)
        flops = 2 * macs + ops
        level, rate = level_of(read + written)
        floor = max(flops / PEAK, (read + written) / rate)
        ridge = PEAK / rate
        bound = "free" if not floor else (
            "compute" if flops / PEAK > (read + written) / rate else "memory")
        used = rng.uniform(.55, .93) if macs else rng.uniform(.25, .8)
        seconds = floor / used if floor else rng.uniform(2e-7, 6e-7)
        rows.append({
            "name": name, "op": op, "target": target,
            "operator": kind if op == "call_module" else target
            if op.startswith("call_") else op,
            "module_path": target if op == "call_module"
            else rows[-1]["module_path"].rsplit(".", 1)[0]
            if op == "call_function" and "." in rows[-1]["module_path"]
            else "",
            "value": {"dtype": "float32", "shape": out}, "dtype": "float32",
            "macs": macs, "flops": flops, "ops": ops, "transcendental": 0,
            "bytes_read": read, "bytes_written": written,
            "intensity": flops / (read + written) if read else None,
            "ridge": ridge, "bound": bound, "level": level,
            "algorithm": "direct", "floor_seconds": floor,
            "seconds": seconds, "efficiency": floor / seconds,
            "live_bytes": live})
    total = {k: sum(r[k] for r in rows) for k in (
        "macs", "flops", "bytes_read", "bytes_written", "floor_seconds",
        "seconds")}
    for r in rows:
        r["share"] = r["seconds"] / total["seconds"]
    parameters = sum(cost(k, c, [1, 1, 1, 1], [])[2] // (
        2 if k == "BatchNorm2d" else 1) for k, c in tree.values()
        if k in ("Conv2d", "Linear"))
    parameters += sum(2 * int(re.match(r"\d+", c)[0])
                      for k, c in tree.values() if k == "BatchNorm2d")
    total |= {"parameters": parameters, "parameter_bytes": 4 * parameters,
              "peak_memory_bytes": max(r["live_bytes"] for r in rows)}
    tree = {"": (text.split("(")[0], "")} | tree
    sums = []
    for path, (kind, _) in tree.items():
        inside = [r for r in rows if not path or r["module_path"] == path
                  or r["module_path"].startswith(path + ".")]
        sums.append({"path": path, "type": kind,
                     "depth": path.count(".") + 1 if path else 0} | {
            k: sum(r[k] for r in inside) for k in (
                "macs", "flops", "bytes_read", "bytes_written",
                "floor_seconds", "seconds")})
    head = {
        "schema": "cfx.roofline/1", "model": "resnet50",
        "inputs": {"x": "f32[1, 3, 224, 224]"}, "symbols": {}, "guards": [],
        "machine": {"name": "Example CPU @ 2.9 GHz", "threads": 1,
                    "peak_flops_per_second": {
                        "float64": PEAK / 2, "float32": PEAK,
                        "bfloat16": None, "int8": 4 * PEAK},
                    "levels": [{
                        "level": n, "bytes": s, "read_bytes_per_second": r,
                        "write_bytes_per_second": r * .7,
                        "triad_bytes_per_second": r * .9, "spread": .02}
                        for n, s, r in LEVELS]},
        "total": total}

    def short(v):
        if isinstance(v, float):
            return float(f"{v:.4g}")
        if isinstance(v, dict):
            return {k: short(x) for k, x in v.items()}
        return [short(x) for x in v] if isinstance(v, list) else v

    def line(v):
        return json.dumps(short(v), separators=(",", ":"))

    print(line(head)[:-1] + ',\n"modules":[')
    print(",\n".join(map(line, sums)) + '],\n"nodes":[')
    print(",\n".join(map(line, rows)) + "]}")


if __name__ == "__main__":
    main(sys.argv[1])
