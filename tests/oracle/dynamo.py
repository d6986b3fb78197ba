"""Models that Dynamo captures, read as Python code by cfx: dynamo.py CFX [NAME...]

Each model is compiled with a backend that keeps gm.print_readable() and gm.code.
cfx reads both; the graph's text must be str(gm.graph), and the shapes that cfx
propagates from the inputs those of the results. --write FOLDER keeps the code of
each model; --golden FOLDER writes golden/dynamo, of the small ones.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

import torch
import torch._dynamo
from torch import nn

import transformers_models
import vision  # noqa: F401 (torchvision can be imported)

torch.set_num_threads(1)
torch.manual_seed(0)

MODELS = {}


def model(f):
    MODELS[f.__name__] = f
    return f


def of_transformers(make):
    def made():
        m, inputs = make()
        return m, {}, inputs
    return made


MODELS.update({k: of_transformers(make)
               for k, make in transformers_models.MODELS.items()})


def torchvision_model(name, size=64, **settings):
    def make():
        import torchvision.models

        m = getattr(torchvision.models, name)(weights=None, **settings)
        return m.eval(), {}, {"x": torch.randn(2, 3, size, size)}
    MODELS[name] = make


for name in ("resnet18", "mobilenet_v2", "mobilenet_v3_small", "squeezenet1_1",
             "shufflenet_v2_x0_5", "densenet121", "efficientnet_b0",
             "convnext_tiny", "swin_t"):
    torchvision_model(name)


def positional(m, *args, **settings):
    return m.eval(), settings, args


@model
def dynamic_mlp():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Linear(3, 8)
            self.b = nn.Linear(8, 2)

        def forward(self, x):
            return self.b(torch.relu(self.a(x)).reshape(x.shape[0], 8)) * 2
    return positional(M(), torch.randn(5, 3), dynamic=True)


@model
def dynamic_attention():
    class M(nn.Module):
        def forward(self, q, k):
            n = q.shape[1]
            w = torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, -1)
            return w.view(-1, n, k.shape[1]), w[:, 1:, ::2]
    return positional(M(), torch.randn(2, 5, 8), torch.randn(2, 7, 8),
                      dynamic=True)


@model
def in_place():
    class M(nn.Module):
        def forward(self, x, y):
            z = x.clone()
            z += y
            z[0] = 1
            z[:, 1:2] *= 2
            a, b = torch.split(z, 2, dim=1)
            return {"a": a, "b": [b, -a, ~(a > 0)]}
    return positional(M(), torch.randn(3, 4), torch.randn(4))


@model
def modes():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(4, 4)

        def forward(self, x):
            with torch.no_grad():
                y = self.l(x)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                z = self.l(y)
            return y, z
    return positional(M(), torch.randn(2, 4))


@model
def branches():
    class M(nn.Module):
        def forward(self, x):
            def t(z):
                return z.sin()

            def f(z):
                return z.cos() + 1
            return torch.cond(x.sum() > 0, t, f, (x,))
    return positional(M(), torch.randn(3, 4))


@model
def lstm():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(10, 6)
            self.l = nn.GRUCell(6, 5)

        def forward(self, x, h):
            for i in range(3):
                h = self.l(self.e(x[:, i]), h)
            return h
    return positional(M(), torch.randint(0, 9, (2, 3)), torch.randn(2, 5))


# ---- Capturing ----

def capture(name):
    m, settings, inputs = MODELS[name]()
    found = []

    def backend(gm, example_inputs):
        readable = gm.print_readable(print_output=False)

        def run(*inputs):
            result = gm(*inputs)
            found.append((gm, readable, inputs, result))
            return result
        return run
    torch._dynamo.reset()
    f = torch.compile(m, backend=backend, **settings)
    with torch.no_grad():
        f(**inputs) if isinstance(inputs, dict) else f(*inputs)
    return found


# ---- cfx ----

KIND = {torch.float32: "f32", torch.float64: "f64", torch.float16: "f16",
        torch.bfloat16: "bf16", torch.int64: "i64", torch.int32: "i32",
        torch.bool: "b8", torch.uint8: "u8"}


def shape_text(v, numbers=False):
    if isinstance(v, torch.Tensor):
        return "%s[%s]" % (KIND[v.dtype], ",".join(str(int(n))
                                                   for n in v.shape))
    if isinstance(v, torch.SymInt):
        return str(int(v))
    return str(v)


def run(*args):
    r = subprocess.run(args, capture_output=True, text=True)
    return r.returncode, r.stdout, r.stderr.strip()


def check_graph(cfx, path, want):
    code, out, err = run(cfx, "print", path, "--format", "graph")
    if code:
        return err
    if out.rstrip("\n") == want:
        return None
    for a, b in zip(out.split("\n"), want.split("\n")):
        if a != b:
            return "has %s\n      not %s" % (a.strip(), b.strip())
    return "has another length"


def flat(v):
    if isinstance(v, (tuple, list)):
        return [y for x in v for y in flat(x)]
    return [v]


def check_shapes(cfx, path, gm, inputs, result):
    args = []
    names = [n for n in gm.graph.nodes if n.op == "placeholder"]
    for n, v in zip(names, inputs):
        args += ["-i", "%s=%s" % (n.target, shape_text(v))]
    code, out, err = run(cfx, "shapes", path, *args)
    if code:
        return err
    out_node = [n for n in gm.graph.nodes if n.op == "output"][0]
    rows = {}
    for line in out.split("\n"):
        m = re.match(r"(\w+) .* (\w+\[[\d, ]*\])$", line)
        if m:
            rows[m.group(1)] = m.group(2).replace(" ", "")
    for n, v in zip(flat(out_node.args[0]), flat(result)):
        if not isinstance(v, torch.Tensor):
            continue
        want = shape_text(v)
        have = rows.get(str(n))
        if have != want:
            return "%s is %s, not %s" % (n, have, want)
    return None


def bare_graph(gm):
    """str(gm.graph) without the types that shapes stand for."""
    types = [(n, n.type) for n in gm.graph.nodes if n.op == "placeholder"]
    for n, _ in types:
        n.type = None
    text = str(gm.graph)
    for n, type_ in types:
        n.type = type_
    return text


def write_golden(folder, name, gm, readable):
    code, graph = gm.code, str(gm.graph)
    readable = re.sub(r"# File: \S*/", "# File: ", readable)
    with open(os.path.join(folder, name + ".txt"), "w") as f:
        for mark, text in (("code", code), ("readable", readable),
                           ("graph", graph), ("bare", bare_graph(gm))):
            f.write("==== %s\n%s\n" % (mark, text.rstrip()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cfx")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--write")
    parser.add_argument("--golden")
    a = parser.parse_args()
    graphs = shapes = total = failed = 0
    for name in a.names or MODELS:
        try:
            found = capture(name)
        except Exception as e:
            print("%s: not captured: %s" % (name, str(e).split("\n")[0]))
            failed += 1
            continue
        for i, (gm, readable, inputs, result) in enumerate(found):
            with tempfile.TemporaryDirectory() as work:
                folder = a.write or work
                os.makedirs(folder, exist_ok=True)
                stem = "%s/%s%s" % (folder, name, "_%d" % i if i else "")
                total += 1
                said = []
                for kind, text, graph in (
                        ("code", gm.code, str(gm.graph)),
                        ("readable", readable, bare_graph(gm))):
                    path = "%s.%s.py" % (stem, kind)
                    with open(path, "w") as f:
                        f.write(text)
                    why = check_graph(a.cfx, path, graph)
                    if why:
                        said.append(kind + ": " + why)
                graphs += not said
                why = check_shapes(a.cfx, path, gm, inputs, result)
                if why:
                    said.append("shapes: " + why)
                shapes += not why
            n = len(list(gm.graph.nodes))
            if a.golden and n <= 20:
                write_golden(a.golden, os.path.basename(stem), gm, readable)
            print("%s%s: %d nodes: %s" % (name, "_%d" % i if i else "", n,
                                          "ok" if not said else ""))
            for s in said:
                print("   ", s[:400])
    print("%d graphs: %d read as they are, %d with the shapes of PyTorch; "
          "%d models not captured" % (total, graphs, shapes, failed))
    return graphs < total or shapes < total or failed > 0


if __name__ == "__main__":
    sys.exit(main())
