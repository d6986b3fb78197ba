#!/usr/bin/env python3
"""mutants.py CFX FOLDER [-n COUNT] [--seed SEED] [--keep DIR] -- broken files.

FOLDER is the tree. Of its models and tensors COUNT mutants are made (default: 2,000):
bits turned, bytes replaced, the end cut off, a part of it or of another file of the
format put in. `cfx info`, `shapes` and `run` read each. None may crash, take more
than 20 seconds, say more than one line of a failure, or, but for `run`, more memory
than 64 MB and 16 times what describes the model: its JSON, protobuf or text. The
mutants that fail are kept in DIR.
"""
import argparse
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

MEMORY = 64 << 20
SECONDS = 20
LONGEST = 1 << 20
# What models whose text has no shapes take.
INPUTS = {"digits.fx": ["-i", "x=f32[1,1,8,8]"],
          "mymodule.fx": ["-i", "x=f32[3,4]"], "topk.fx": ["-i", "x=f32[5,4]"],
          "resnet18.fx": ["-i", "x=f32[1,3,32,32]"],
          "mobilenet_v3_small.fx": ["-i", "x=f32[1,3,32,32]"]}


def files_of(tree, work):
    """Files by kind: name, bytes, and the arguments of run behind the model."""
    kinds = {}

    def add(kind, path):
        if path.stat().st_size <= LONGEST:
            kinds.setdefault(kind, []).append(path)

    for path in sorted((tree / "tests/golden/pt2").iterdir()):
        add("tensors" if path.suffix == ".safetensors" else "pt2", path)
    with tarfile.open(tree / "tests/cases/onnx.tar.xz") as tar:
        members = [m for m in tar.getmembers()
                   if m.name.endswith("model.onnx")][::13]
        for m in members:
            path = work / (m.name.replace("/", "-"))
            path.write_bytes(tar.extractfile(m).read())
            add("onnx", path)
    for path in sorted((tree / "models").iterdir()):
        if path.suffix in (".fx", ".py", ".npy", ".safetensors"):
            add({".fx": "fx", ".py": "py"}.get(path.suffix, "tensors"), path)
    for path in sorted((tree / "tests/golden/dynamo").iterdir()):
        text = path.read_text().split("==== ")
        code = work / (path.stem + ".py")
        code.write_text(text[1].split("\n", 1)[1])
        add("py", code)
    for path in sorted((tree / "tests/fuzz/seeds").glob("npz/*")):
        add("tensors", path)
    return kinds


def turn_bits(r, data, _):
    for _ in range(r.choice((1, 1, 1, 2, 8))):
        data[r.randrange(len(data))] ^= 1 << r.randrange(8)


def replace_bytes(r, data, _):
    at = r.randrange(len(data))
    n = r.choice((1, 2, 4, 8))
    data[at:at + n] = r.choice((b"\xff" * n, b"\0" * n, b"\x7f" * n, b"9" * n,
                                r.randbytes(n)))


def cut(r, data, _):
    del data[r.randrange(len(data)):]


def splice(r, data, other):
    at, to = r.randrange(len(data)), r.randrange(len(data))
    source = r.choice((bytes(data), other))
    start = r.randrange(max(len(source), 1))
    part = source[start:start + r.choice((1, 8, 64, 512))]
    data[at:at + (len(part) if r.random() < 0.5 else 0)] = part
    if r.random() < 0.2:
        del data[min(at, to):min(max(at, to), min(at, to) + 64)]


def inner(r, data, other):
    """The largest entry of an archive is broken, and its checksums are right."""
    import io
    try:
        with zipfile.ZipFile(io.BytesIO(bytes(data))) as z:
            parts = {i.filename: z.read(i) for i in z.infolist()}
    except Exception:       # of an archive that is broken already
        turn_bits(r, data, other)
        return
    names = [n for n in parts if parts[n] and
             n.endswith((".json", ".pt", ".npy", "_config"))] or list(parts)
    name = r.choice(names)
    part = bytearray(parts[name])
    if part:
        r.choice((turn_bits, replace_bytes, cut, splice))(r, part, other)
    parts[name] = bytes(part)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as z:
        for n, p in parts.items():
            z.writestr(n, p)
    data[:] = out.getvalue()


def mutate(r, path, others):
    data = bytearray(path.read_bytes())
    ways = [turn_bits, replace_bytes, cut, splice]
    if data[:2] == b"PK":
        ways = [inner, inner, *ways]
    for _ in range(r.choice((1, 1, 1, 1, 2))):
        if data:
            r.choice(ways)(r, data, r.choice(others).read_bytes())
    return bytes(data)


def described(path):
    """The bytes of a file that describe a model."""
    if path.suffix != ".pt2":
        return path.stat().st_size
    try:
        with zipfile.ZipFile(path) as z:
            return sum(i.file_size for i in z.infolist()
                       if i.filename.endswith((".json", ".pt")))
    except Exception:       # of a broken archive
        return path.stat().st_size


def run(words):
    """Status (negative: a signal, None: too long), memory in bytes, stderr."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as err:
        p = subprocess.Popen(words, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=err)
        while True:
            pid, status, usage = os.wait4(p.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - began > SECONDS:
                p.kill()
                os.wait4(p.pid, 0)
                return None, 0, ""
            time.sleep(0.001)
        p.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        return (p.returncode, usage.ru_maxrss << 10,
                err.read(1 << 16).decode(errors="replace"))


def problem(command, path, answer, limits):
    status, memory, said = answer
    if status is None:
        return f"takes more than {SECONDS} seconds"
    if status < 0 or status > 2 or "Sanitizer" in said:
        return f"status {status}: {said[-2000:]}"
    lines = [x for x in said.splitlines() if not x.startswith("cfx: note") and
             not x.startswith("cfx: warning")]
    if status and (len(lines) != 1 or len(lines[0]) > 4096):
        return f"says {len(lines)} lines: {said[:200]}"
    if limits and command != "run" and \
            memory > MEMORY + 16 * described(path) + path.stat().st_size:
        return f"takes {memory >> 20} MB"
    return None


def inputs_of(cfx, source):
    """-i for what the file that was broken takes; symbols become 2."""
    said = subprocess.run([cfx, "info", str(source)], capture_output=True,
                          text=True).stdout
    words = []
    for name, shape in re.findall(r"^  (\w+) +(\w+\[.*\])$",
                                  said.split("\noutputs")[0], re.M):
        words += ["-i", f"{name}=" + re.sub(r"\b[a-zA-Z_]\w*\b(?!\[)", "2",
                                            shape)]
    return words or INPUTS.get(source.name, [])


def commands(cfx, kind, source, path, model):
    if kind == "tensors":
        key = ":t0" if path.suffix == ".safetensors" else ""
        return [[cfx, "run", str(model), "-i", f"x={path}{key}", "--max-mem",
                 "1G"],
                [cfx, "info", str(model), "-w", str(path)]]
    given = inputs_of(cfx, source)
    words = ["--max-mem", "1G", *([] if kind == "pt2" else given)]
    if kind == "fx":
        words += ["--random-weights", "1"]
    return [[cfx, "info", str(path)], [cfx, "shapes", str(path), *given],
            [cfx, "run", str(path), *words]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cfx")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("-n", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep")
    parser.add_argument("--no-limits", action="store_true",
                        help="do not measure memory: of a sanitized build")
    a = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    r, bad, reads = random.Random(a.seed), 0, {}
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        kinds = files_of(a.folder, work)
        model = work / "same.fx"
        model.write_text("graph():\n    %x : [num_users=1] = "
                         "placeholder[target=x]\n    return x\n")
        for i in range(a.n):
            kind = r.choice(sorted(kinds))
            source = r.choice(kinds[kind])
            path = work / f"mutant{i}{source.suffix or '.npz'}"
            path.write_bytes(mutate(r, source, kinds[kind]))
            for words in commands(a.cfx, kind, source, path, model):
                answer = run(words)
                key = kind, "read" if answer[0] == 0 else "refused"
                reads[key] = reads.get(key, 0) + 1
                why = problem(words[1], path, answer, not a.no_limits)
                if why:
                    bad += 1
                    print(f"mutant {i} of {source.name}, {words[1]}: {why}",
                          flush=True)
                    if a.keep:
                        os.makedirs(a.keep, exist_ok=True)
                        (pathlib.Path(a.keep) / path.name).write_bytes(
                            path.read_bytes())
            path.unlink()
    for (kind, what), n in sorted(reads.items()):
        print(f"{kind}: {what} {n} times")
    print(f"{a.n} mutants, {bad} problems")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
