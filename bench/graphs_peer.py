#!/usr/bin/env python3
"""graphs_peer -- torch.fx's side of bench-graphs: the same operations on the
same graph, which is built again for each run.

    graphs_peer.py THREADS

Reads commands from stdin, `ROW NODES CLOCK`, where the clock is `wall` or
`processor`, and prints the seconds to stdout.
"""

import operator
import pickle
import sys
import time

import torch
from torch.fx import Graph, GraphModule, replace_pattern
from torch.fx.passes.dialect.common.cse_pass import CSEPass

BLOCK = 10
MATCH_EVERY = 10
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


def build(size):
    g = Graph()
    x = y = g.placeholder("x")
    for i in range(size // BLOCK):
        call = g.call_function
        relu = call(torch.relu, (call(operator.add, (x, y)),))
        twice = call(operator.mul, (relu, 2))
        again = call(torch.relu, (call(operator.add, (x, y)),))
        sub = call(operator.sub, (twice, again))
        neg = call(torch.neg, (sub,))
        call(torch.relu, (call(operator.mul, (sub, 3)),))
        last = torch.sigmoid if i % MATCH_EVERY else torch.tanh
        x, y = call(last, (neg,)), x
    g.output(x)
    return g


def module(size):
    return GraphModule(torch.nn.Module(), build(size))


def iterate(g):
    for _ in g.nodes:
        pass


def read_op(g):
    for n in g.nodes:
        n.op


def copy(g):
    new = Graph()
    new.output(new.graph_copy(g, {}))


def pattern(x):
    return torch.tanh(torch.neg(x))


def replacement(x):
    return torch.sin(x)


# A row: its setup, and the work that is timed. torch.fx does not read text;
# instead it runs and traces the code that it has generated.
ROWS = {
    "build": (lambda size: size, build),
    "iterate": (build, iterate),
    "read_op": (build, read_op),
    "lint": (build, Graph.lint),
    "print": (build, str),
    "parse": (lambda size: pickle.dumps(module(size)), pickle.loads),
    "copy": (build, copy),
    "dead_code": (build, Graph.eliminate_dead_code),
    "common_subexpressions": (module, lambda gm: CSEPass()(gm)),
    "replace_pattern": (
        module,
        lambda gm: replace_pattern(gm, pattern, replacement)),
}


def main():
    torch.set_num_threads(int(sys.argv[1]))
    sys.setrecursionlimit(10000)
    for line in sys.stdin:
        row, size, clock = line.split()
        make, run = ROWS[row]
        made = make(int(size))
        now = CLOCKS[clock]
        start = now()
        run(made)
        print(now() - start, flush=True)


if __name__ == "__main__":
    main()
