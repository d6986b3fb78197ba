"""The partitions that torch's CapabilityBasedPartitioner proposes, and what
fuse_by_partitions makes of them.

    python partition_golden.py > ../golden/partition.txt

Sections as in split_golden.py: `case` a name and options, `model` a graph,
`parts` the names of supported nodes, `result` a line of names for each
partition, an empty line, and the fused graphs.
"""

import collections
import operator
import random
import sys

import torch
from torch import fx
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

aten = torch.ops.aten


def forward1(a, b, c):
    add = a + b
    add_1 = add + b
    add_2 = add_1 + c
    relu_1 = add_2.relu()
    add_3 = add_1 + add_2
    add_4 = add_1 + relu_1 + add_3
    relu_2 = add_4.relu()
    add_5 = relu_2 + add_4
    add_6 = add_5 + add_4
    return add_4, add_6


def forward2(a, b, c):
    add = a + b
    add_1 = add + b
    relu = add_1.relu()
    add_2 = add_1 + relu
    add_3 = add_1 + add_2
    return add_3, add_1


def forward3(a, b, c):
    return a + b, a + c, b + c


def forward4(a, b, c):
    add = a + b
    add_1 = a + c
    add_2 = b + c
    return torch.where(add > 0, add_1, add_2)


def forward5(a, b, c):
    add = a + 1
    return add.relu(), add + 2


def forward6(a, b, c):
    add = a + 1
    return add.relu(), add.relu()


def forward7(a, b, c):
    add = a + 1
    return (add + 2) + (add + 3)


def forward8(a, b, c):
    add = a + 1
    return add + 2, add + 3


def forward9(a, b, c):
    add = a + 1
    return torch.stack([add + 1, add + 2, add + 3])


def forward10(a, b, c):
    add = a + 1
    add_1 = add + 2
    add_2 = add_1 + 3
    return torch.stack([add_1, add_2, add_1 + add_2])


def forward11(a, b, c):
    add = a + 1
    return add, b + add.relu()


def forward12(a, b, c):
    b0 = a + 1.0
    c0 = a + 1.5
    x0 = b0.relu()
    x1 = c0.relu()
    b1 = b0 + x1
    c1 = c0 + 1.2
    c2 = x0 + c0
    return b1, c1, c2


def forward13(a, b, c):
    a0, a1, a2, a3 = [a.split(1)[i] for i in range(4)]
    return (a0 + b) + (a1 + c)


def forward14(a, b, c):
    pair = torch.std_mean(a)
    return pair[0] + 1.0, pair[1]


def forward15(a, b, c):
    a0 = aten.view(a, [2, 2])
    a1 = aten.permute(a0, [1, 0])
    a2 = a1 + 1.0
    a3 = aten.permute(a2, [1, 0])
    a4 = a3 + 1.0
    a5 = aten.permute(a4, [1, 0])
    return aten.permute(a5, [1, 0])


def forward16(a, b, c):
    a0 = a - 1.0
    a1 = aten.view(a0, [2, 2])
    a2 = aten.permute(a1, [1, 0])
    a3 = a2 + 1.0
    a4 = aten.permute(a3, [1, 0])
    a5 = a4 + 1.0
    a6 = aten.permute(a5, [1, 0])
    return aten.permute(a6, [1, 0]) - 1.0


def forward17(a, b, c, d, e, f):
    return a + b, c + d, e + f


def forward18(a, b, c):
    a0, a1 = [torch.var_mean(a)[i] for i in range(2)]
    return a0


def independent_output(a, b, c):
    return a.relu() + 1, b + c, a + b


SUPPORTED = {operator.add, operator.getitem, torch.std_mean, torch.var_mean,
             aten.view, aten.permute}
CASES = [forward1, forward2, forward3, forward4, forward5, forward6, forward7,
         forward8, forward9, forward10, forward11, forward12, forward13,
         forward14, forward15, forward16, forward17, forward18,
         independent_output]


class Supported(OperatorSupportBase):
    def __init__(self, names):
        self.names = names

    def is_node_supported(self, submodules, node):
        return node.name in self.names


def grow(rnd):
    g = fx.Graph()
    values = [g.placeholder("x"), g.placeholder("y")]

    def pick():
        near = values[-4:] if rnd.random() < 0.6 else values
        return rnd.choice(near)

    for _ in range(rnd.randint(4, 16)):
        kind = rnd.randrange(6)
        if kind <= 2:
            values.append(g.call_function(operator.add, (pick(), pick())))
        elif kind == 3:
            values.append(g.call_function(torch.relu, (pick(),)))
        elif kind == 4:
            values.append(g.call_function(torch.mul, (pick(), pick())))
        else:
            parts = g.call_function(torch.chunk, (pick(), 2))
            for i in range(2):
                values.append(g.call_function(operator.getitem, (parts, i)))
    g.output((pick(), pick(), values[-1]))
    return g


def is_acyclic(gm, partitions):
    """Can the partitions be run one after the other?"""
    of = {}
    for i, p in enumerate(partitions):
        for n in p.nodes:
            of[n] = i
    waits, users = collections.Counter(), collections.defaultdict(list)
    vertices = {of.get(n, n) for n in gm.graph.nodes}
    for n in gm.graph.nodes:
        for u in n.users:
            a, b = of.get(n, n), of.get(u, u)
            if a != b:
                waits[b] += 1
                users[a].append(b)
    ready = [v for v in vertices if not waits[v]]
    done = 0
    while ready:
        v = ready.pop()
        done += 1
        for u in users[v]:
            waits[u] -= 1
            if not waits[u]:
                ready.append(u)
    return done == len(vertices)


def show(out, name, gm, names, single, skip, trim, fuse=True):
    view = ["torch.ops.aten.view", "torch.ops.aten.permute"]
    partitioner = CapabilityBasedPartitioner(
        gm, Supported(names), allows_single_node_partition=single,
        non_compute_ops=view if trim else None, skip_horizontal_fusion=skip)
    model = str(gm.graph)
    partitions = partitioner.propose_partitions()
    if not is_acyclic(gm, partitions):
        return False
    if trim:
        partitioner.remove_bookend_non_compute_ops(partitions)
    lines = [" ".join(n.name for n in p.nodes) for p in partitions]
    print("-- case", name, *["single"] * single, *["skip"] * skip,
          *["trim"] * trim, *["nofuse"] * (not fuse), file=out)
    print("-- model", file=out)
    print(model, file=out)
    print("-- parts", file=out)
    print("", *[n.name for n in gm.graph.nodes if n.name in names], "",
          file=out)
    print("-- result", file=out)
    for line in lines:
        print(line, file=out)
    print(file=out)
    if not fuse:
        return True
    partitions = [p for p in partitions if p.nodes]
    fused = partitioner.fuse_partitions(partitions)
    fused = fx.GraphModule(fused, fused.graph)
    print(fused.graph, file=out)
    for i in range(len(partitions)):
        print(f"fused_{i}:", file=out)
        print(getattr(fused, f"fused_{i}").graph, file=out)
    return True


def main(out):
    skipped = 0
    for f in CASES:
        for single, skip, trim in ((True, False, False),
                                   (False, False, False),
                                   (True, False, True), (True, True, False)):
            if trim and f not in (forward15, forward16):
                continue
            gm = fx.symbolic_trace(f)
            names = {n.name for n in gm.graph.nodes
                     if n.op == "call_function" and n.target in SUPPORTED}
            show(out, f.__name__, gm, names, single, skip, trim)
    rnd = random.Random(5)
    done = 0
    while done < 60:
        gm = fx.GraphModule({}, grow(rnd))
        share = rnd.choice([0.5, 0.7, 0.9])
        names = {n.name for n in gm.graph.nodes
                 if n.op == "call_function" and rnd.random() < share}
        if show(out, "random", gm, names, rnd.random() < 0.6,
                rnd.random() < 0.3, False, done % 5 == 0):
            done += 1
        else:
            skipped += 1
    print(skipped, "skipped", file=sys.stderr)


if __name__ == "__main__":
    main(sys.stdout)
