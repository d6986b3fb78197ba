"""Roofline documents at the edges, made from an ordinary one."""
import copy
import random

COSTS = ("macs", "flops", "ops", "bytes_read", "bytes_written", "live_bytes")

# What would break out of a script, an element or an attribute.
EVIL = ("</script><script>window.broken = 1</script><!--<img src=x "
        "onerror='window.broken = 1'>\"'&amp;\u2028\\u003c]]>")


def unmeasured(document):
    d = copy.deepcopy(document)
    for row in d["nodes"] + d["modules"] + [d["total"]]:
        row["seconds"] = row["efficiency"] = None
    return d


def symbolic(document):
    d = unmeasured(document)
    for row in d["nodes"] + [d["total"]]:
        for key in COSTS:
            if row.get(key):
                row[key] = f"{row[key]}*N"
        row["intensity"] = row["floor_seconds"] = None
    for n in d["nodes"]:
        n["bound"] = "compute for N >= 3" if n["macs"] else "memory"
        n["value"]["shape"][:1] = ["N"]
    d["symbols"] = {"N": {"min": 1, "max": None}, "H": {"min": 33, "max": 99}}
    d["guards"] = ["(H + 1)//2 == 17"]
    d["inputs"] = {"x": {"dtype": "float32", "shape": ["N", 3, "H", "H"]}}
    return d


def swept(document):
    d = symbolic(document)
    for n in d["nodes"]:
        n["bound"] = None
    d["turning_points"] = [
        {"node": "conv1", "symbol": "N", "from": 3, "bound": "compute",
         "bound_before": "memory"}]
    d["sweep"] = [
        {"N": n, "macs": 4e9 * n, "flops": 8e9 * n, "bytes": 1e8 + 3e8 * n,
         "peak_memory_bytes": 9633792 * n, "floor_seconds": .09 * n + .005,
         "compute_bound_seconds": .08 * n, "memory_bound_seconds":
         .01 * n + .005} for n in (1, 2, 4, 8, 16, 32, 64)]
    return d


def empty(_):
    return {"schema": "cfx.roofline/1", "nodes": []}


def one(document):
    return {"schema": "cfx.roofline/1", "machine": document["machine"],
            "nodes": document["nodes"][1:2]}


def hostile(document):
    d = one(document)
    d["model"] = EVIL
    d["machine"] = copy.deepcopy(d["machine"])
    d["machine"]["name"] = EVIL
    d["machine"]["peak_flops_per_second"][EVIL] = 1e12
    d["machine"]["levels"].append(
        {"level": EVIL, "triad_bytes_per_second": 29e9})
    d["symbols"], d["guards"] = {EVIL: {"min": 0}}, [EVIL]
    d["inputs"] = {EVIL: EVIL, "y": EVIL}
    for i in range(9):
        n = copy.deepcopy(document["nodes"][1 + i])
        n |= {"name": EVIL + str(i), "op": "call_function", "target": EVIL,
              "operator": EVIL, "module_path": EVIL, "bound": EVIL, "level": EVIL,
              "algorithm": EVIL, "dtype": EVIL,
              "value": {"dtype": EVIL, "shape": [EVIL, 3]}}
        d["nodes"].append(n)
    d["nodes"][3]["flops"] = d["nodes"][4]["bytes_read"] = EVIL
    return d


def extreme(document):
    """All ranges that doubles have, zeros, and what is missing."""
    d = one(document)
    d["machine"] = copy.deepcopy(d["machine"])
    for level in d["machine"]["levels"]:
        level["bytes"] = level["triad_bytes_per_second"] = None
    d["machine"]["levels"] += [{"level": None}, {}]
    values = [1e30, 1e-30, 0, 1, 1e300, 5e-324, 1.7e308, None, -1, 2 ** 80]
    for i, f in enumerate(values):
        for j, b in enumerate(values):
            t = values[(i + 3 * j) % len(values)]
            d["nodes"].append({
                "name": f"n{i}{j}", "op": "call_function", "target": "f",
                "operator": "f",
                "module_path": ".".join("m" * (i + 1)), "flops": f,
                "bytes_read": b, "bytes_written": 0, "seconds": t,
                "live_bytes": b})
    return d


def operators(document):
    """More operators, peaks, close levels and letters than a plot has room
    for."""
    d = copy.deepcopy(document)
    types = ["float32", "bfloat16", "int8", "WW " * 26]
    for i, n in enumerate(d["nodes"]):
        n["op"], n["dtype"] = "call_function", types[i % 4]
        n["target"] = n["operator"] = f"torch.function_{i % 23}"
    d["machine"]["peak_flops_per_second"] = {
        "float32": 92e9, "bfloat16": 85e9, "int8": 300e9, types[3]: 50e9}
    d["machine"]["levels"][1]["triad_bytes_per_second"] = 180e9
    return d


def large(document, count=5000):
    d, rng = copy.deepcopy(document), random.Random(1)
    rows = d["nodes"][1:-1]
    d["nodes"] = []
    for i in range(count):
        block, n = f"block{i // len(rows)}", copy.deepcopy(rows[i % len(rows)])
        n["name"] = f"{block}_{n['name']}"
        n["module_path"] = f"{block}.{n['module_path']}"
        if n["op"] == "call_module":
            n["target"] = n["module_path"]
        scale = 10 ** rng.uniform(-2, 1)
        for key in ("flops", "bytes_read", "bytes_written", "floor_seconds",
                    "seconds"):
            n[key] *= scale * rng.uniform(.5, 1)
        d["nodes"].append(n)
    d["modules"] = [
        {**m, "path": f"block{b}.{m['path']}"}
        for b in range(count // len(rows) + 1) for m in d["modules"]]
    d["total"] = {}
    return d


ALL = (unmeasured, symbolic, swept, empty, one, hostile, extreme, operators,
       large)
