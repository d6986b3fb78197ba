"""Goldens of replace_pattern: what PyTorch makes of random graphs.

    python tests/oracle/rewrite.py [-n CASES] [-s SEED] > tests/golden/rewrite/random.txt

A case is `=== NAME matches=N counts=C [ignore_literals]`, then str(graph) of
the graph, the pattern, the replacement and the result, with `---` lines
between. C are the numbers of matches for (match_output, match_placeholder) =
FF, TF, FT, TT, and with overlapping ones kept; `-` where torch.fx fails.
Patterns are cut out of the graph, so that they occur; what torch.fx itself
fails to replace, or leaves ill-formed, is not a case.
"""
import argparse
import operator
import random
import warnings

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.passes.utils.fuser_utils import validate_partition
from torch.fx.passes.utils.matcher_utils import SubgraphMatcher
from torch.fx.subgraph_rewriter import replace_pattern_with_filters

warnings.filterwarnings("ignore")

UNARY = [torch.relu, torch.neg, torch.sigmoid, torch.exp]
BINARY = [operator.add, operator.mul, operator.sub, torch.maximum]
METHODS = ["relu", "tanh", "abs"]


def new_node(g, r, pool):
    """One more node, of inputs in `pool`."""
    pick = lambda: r.choice(pool[-6:]) if r.random() < 0.8 else r.choice(pool)
    kind = r.randrange(12)
    if kind < 3:
        return g.call_function(r.choice(UNARY), (pick(),))
    if kind < 6:
        return g.call_function(r.choice(BINARY), (pick(), pick()))
    if kind == 6:
        return g.call_method(r.choice(METHODS), (pick(),))
    if kind == 7:
        n = r.choice([2, 2, 3])
        return g.call_function(torch.cat, ([pick() for _ in range(n)],),
                               {"dim": r.choice([0, 1])})
    if kind == 8:
        return g.call_function(r.choice(BINARY[:3]),
                               (pick(), r.choice([1, 2, 2.0, 0.5])))
    if kind == 9:
        return g.call_function(torch.clamp, (pick(),),
                               {"min": 0.0, "max": r.choice([1.0, 6.0])})
    if kind == 10:
        return g.call_method("sum", (pick(),),
                             {"dim": r.choice([-1, 0]), "keepdim": True})
    return g.call_function(torch.div, (pick(), pick()),
                           {"rounding_mode": r.choice(["floor", "trunc"])})


def random_graph(r, nodes):
    g = Graph()
    pool = [g.placeholder(n) for n in ["x", "y", "z"][:r.choice([1, 2, 3])]]
    for _ in range(nodes):
        pool.append(new_node(g, r, pool))
    loose = [n for n in pool if not n.users and n.op != "placeholder"]
    g.output(loose[0] if len(loose) == 1 else tuple(loose))
    return g


def chain_graph(r, nodes):
    """Of few operators, so that patterns overlap with themselves."""
    g = Graph()
    x = last = g.placeholder("x")
    ops = r.sample(UNARY, r.choice([1, 2]))
    for _ in range(nodes):
        if r.random() < 0.15:
            last = g.call_function(operator.add, (last, x))
        else:
            last = g.call_function(r.choice(ops), (last,))
    g.output(last)
    return g


def free_literals(p, first):
    """Let placeholders stand for the numbers in a pattern."""
    literals = {}
    for n in p.nodes:
        if len(n.args) != 2 or isinstance(n.args[1], (Node, list)):
            continue
        number = n.args[1]
        key = type(number), number  # 2 and 2.0 are two
        if key not in literals:
            with p.inserting_before(first):
                literals[key] = p.placeholder(f"lit{len(literals)}")
        n.args = (n.args[0], literals[key])


def cut_pattern(r, g):
    """A part of the graph as a pattern."""
    compute = [n for n in g.nodes if n.op.startswith("call")]
    anchor = r.choice(compute)
    inside = [anchor]
    for _ in range(r.choice([0, 1, 1, 2, 3, 4])):
        edge = [i for n in inside for i in n.all_input_nodes
                if i not in inside and i.op.startswith("call")]
        users = [u for n in inside for u in n.users
                 if u not in inside and u.op.startswith("call")]
        more = edge if r.random() < 0.8 or not users else users
        if not more:
            break
        inside.append(r.choice(more))
    inside = [n for n in g.nodes if n in inside]
    p = Graph()
    image = {}
    inputs = []
    for n in inside:
        for i in n.all_input_nodes:
            if i not in inside and i not in inputs:
                inputs.append(i)
    for k, i in enumerate(inputs):
        image[i] = p.placeholder("abcdefghij"[k])
    for n in inside:
        image[n] = p.node_copy(n, lambda i: image[i])
    if r.random() < 0.4:
        free_literals(p, image[inside[0]])
    outs = [image[n] for n in inside
            if not image[n].users or any(u not in inside for u in n.users)]
    if r.random() < 0.2:
        outs = [o for o in outs if not o.users] or outs
    p.output(outs[0] if len(outs) == 1 else tuple(outs))
    return p, len(outs)


def random_replacement(r, pattern, outs):
    g = Graph()
    pool = [g.placeholder(n.name) for n in pattern.nodes
            if n.op == "placeholder"]
    # Literals may be bound to these: use them as second operands only.
    tensors = [n for n in pool if not n.name.startswith("lit")]
    numbers = [n for n in pool if n.name.startswith("lit")]
    if not tensors:
        return None
    made = []
    for _ in range(r.choice([0, 1, 2, 3]) if r.random() < 0.9 else 5):
        if numbers and r.random() < 0.5:
            n = g.call_function(r.choice(BINARY[:3]),
                                (r.choice(tensors), r.choice(numbers)))
        else:
            n = new_node(g, r, tensors)
        tensors.append(n)
        made.append(n)
    out = [r.choice(made[-2:] if made and r.random() < 0.9 else tensors)
           for _ in range(outs)]
    g.output(out[0] if outs == 1 and r.random() < 0.8 else tuple(out))
    g.eliminate_dead_code()
    return g


def count(g, pattern, ignore, output, placeholder, keep):
    try:
        found = SubgraphMatcher(pattern, output, placeholder, not keep,
                                ignore).match(g)
    except Exception:
        return "-"
    # Where overlaps are kept torch.fx forgets to drop those with cycles.
    return str(sum(validate_partition(
        [gn for pn, gn in m.nodes_map.items()
         if pn.op not in ("placeholder", "output")]) for m in found))


def case(r, i):
    g = chain_graph(r, r.choice([5, 8, 12])) if r.random() < 0.45 else \
        random_graph(r, r.choice([4, 6, 8, 12, 16]))
    pattern, outs = cut_pattern(r, g)
    replacement = random_replacement(r, pattern, outs)
    if replacement is None:
        return None
    ignore = r.random() < 0.15
    before = str(g)
    counts = ",".join(
        count(g, pattern, ignore, o, p, k) for o, p, k in
        [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (0, 0, 1)])
    gm = GraphModule(torch.nn.Module(), g)
    try:
        found = replace_pattern_with_filters(
            gm, pattern, replacement, ignore_literals=ignore)
        gm.graph.lint()
    except Exception:
        return None
    if len(found) < 2 and r.random() < (0.6 if found else 0.9):
        return None
    head = f"=== case{i} matches={len(found)} counts={counts}"
    head += " ignore_literals" * ignore
    texts = [before, str(pattern), str(replacement), str(gm.graph)]
    return len(found), head + "\n" + "\n---\n".join(texts) + "\n"


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("-n", type=int, default=200)
    ap.add_argument("-s", type=int, default=1)
    a = ap.parse_args()
    r = random.Random(a.s)
    done = 0
    while done < a.n:
        c = case(r, done)
        if c is None:
            continue
        print(c[1], end="")
        done += 1


if __name__ == "__main__":
    main()
