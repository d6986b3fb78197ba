#!/usr/bin/env python3
"""random_graphs -- random edits of random graphs, done by torch.fx and by cfx.

    random_graphs.py PROGRAM [-n CASES] [-s SEED] [-c CASE] [-e EDITS]
    random_graphs.py --write DIR [-n CASES] [-s SEED] [-e EDITS]

PROGRAM is graph_script.  Each case traces a random module, edits its graph
with torch.fx, writes a script of what was done and what torch.fx printed
meanwhile; the program must print the same bytes.  A script that gives other
text stays in the current directory, and its first difference is shown.
`--write` writes scripts and texts for `make check`.
"""

import argparse
import difflib
import operator
import os
import random
import subprocess
import sys
import warnings

import torch
from torch import fx, nn
from torch.fx.node import _type_repr
from torch.fx.subgraph_rewriter import replace_pattern

import random_modules as modules
import rewrite
from names_golden import METHODS, PLACEHOLDERS, candidate
from text_golden import Superset, spec

warnings.filterwarnings("ignore")


# Code is written of these as of statements, which assign to what is first.
INPLACE = (*modules.INPLACE, operator.setitem)


def writes(n):
    """Does cfx know, and torch.fx not, that a call must stay?  The node is one
    of those that random_modules makes when they are to be valid."""
    name = n.target if isinstance(n.target, str) else n.target.__name__
    if n.op == "call_module":
        m = n.graph.owning_module.get_submodule(n.target)
        return getattr(m, "inplace", False)
    return n.op.startswith("call") and (
        (name.endswith("_") and not name.endswith("__")
         and name not in ("and_", "or_")) or n.kwargs.get("inplace") is True)


def insert_arg(n, i, new):
    """Node.insert_arg, with all_input_nodes in the order that it promises:
    torch.fx puts new ones at the end, which shows in code."""
    n.insert_arg(i, new)
    n._input_nodes.clear()
    fx.node.map_arg((n.args, n.kwargs), n._input_nodes.setdefault)


def deep_copy(g):
    """copy.deepcopy, which in torch.fx forgets the name of the output, and
    nodes that come after it: of such graphs there is none."""
    new = fx.Graph()
    result = new.graph_copy(g, {}, return_output_node=True)
    if result is not None:
        value, old = result
        new.create_node("output", "output", (value,), {}, old.name, old.type)
    if len(new.nodes) != len(g.nodes):
        raise ValueError("nodes after the output")
    return new


def is_plain(v):
    """Is an argument of a pattern one that both matchers compare alike?  Unlike
    torch.fx's, that of cfx looks for nodes in slices and dicts, takes NaN for
    itself, and tells -0.0 from 0.0."""
    if isinstance(v, (tuple, list)):
        return all(map(is_plain, v))
    if isinstance(v, fx.Node):
        return True
    leaves = []
    fx.node.map_aggregate(v, leaves.append)
    return not any(isinstance(x, fx.Node) or
                   (isinstance(x, float) and (x != x or x == 0))
                   for x in leaves)


# ---------------------------------------------------------------------- texts

class Lossless(Superset):
    """The superset of a traced module: of meta, only what shows in code."""

    def __init__(self, gm):
        super().__init__()
        owners = [(path, m) for path, m in gm.named_modules()
                  if type(m) is nn.Module or isinstance(m, fx.GraphModule)]
        for path, m in owners:
            for kind, items in (("parameter", m._parameters),
                                ("buffer", m._buffers)):
                for name, t in items.items():
                    full = f"{path}.{name}" if path else name
                    self.state += (f"{full!r}: {spec(t)} {kind}",)

    def meta(self, n):
        wrapped = n.meta.get("is_wrapped")
        return " meta = {'is_wrapped': True}" if wrapped else ""


def graph_text(g):
    """The superset of a graph without modules."""
    return f"# cfx 1\n{Superset().graph(g)}"


def text(v):
    """A value, as the arguments of commands have it."""
    return Superset().value(v)


def target_name(target):
    return target if isinstance(target, str) else \
        fx.Node._pretty_print_target(target)


# ---------------------------------------------------------------------- cases

class Case:
    """A graph, the script of what was done to it, and what that printed."""

    def __init__(self, r, edits):
        self.r = r
        self.script, self.out = [], []
        self.edits = 0
        self.models = 0
        valid = r.random() < 0.3
        self.loose = not valid and r.random() < 0.1  # lets lint fail
        self.tidy = not self.loose and r.random() < 0.75  # code stays legal
        self.use(modules.traced(r, r.choice([2, 5, 9, 14]), valid))
        lossless = Lossless(self.gm)
        # What valid calls hold, PyTorch's own text tells; bare tensors, and
        # strings and devices that are returned, it does not.
        plain = valid and not lossless.state and r.random() < 0.7 and \
            not isinstance(self.output().args[0], (str, torch.device))
        self.add_model(f"{self.gm!r}\n\n{self.g}\n" if plain
                       else lossless.model(self.gm))
        self.look(True)
        if valid:
            self.dead_code(None)
        self.leave()
        self.replace()
        for i in range(edits):
            self.edit()
            if i % 4 == 3:
                self.look(r.random() < 0.3)
            if i == edits // 2:
                self.deep_copy()
                self.replace()
        self.finish()

    def use(self, gm):
        self.gm, self.g = gm, gm.graph

    def add_model(self, lines):
        """Another section of the script; gives its name."""
        name = f"m{self.models}"
        self.models += 1
        self.script += [f"==== {name}", lines.rstrip("\n"), "===="]
        return name

    def say(self, command, *args):
        line = f"{command}({', '.join(map(text, args))})"
        self.script.append(line)
        self.out.append(f"> {line}")

    def show(self, *lines):
        self.out += lines

    def show_names(self, nodes):
        self.show(" ".join(n.name for n in nodes))

    # -- what is looked at

    def graph(self):
        self.say("graph")
        self.show_names(self.g.nodes)
        self.show(str(self.g))

    def look(self, whole):
        self.graph()
        self.say("users")
        for n in self.g.nodes:
            inputs = [i.name for i in n.all_input_nodes]
            head = [*inputs, ":"] if inputs else []
            users = [u.name for u in n.users]
            self.show(" ".join([*head, n.name, ":", *users]))
        if whole:
            self.code()

    def code(self):
        try:
            code = self.g.python_code("self").src
            compile(code, "forward", "exec")
        except Exception:
            return  # Not code that torch.fx itself could use.
        self.say("code")
        self.show(code)

    def lint(self):
        self.say("lint")
        self.show(self.lint_error() or "ok")

    def lint_error(self):
        try:
            self.g.lint()
        except RuntimeError as e:
            return "error: " + str(e).split("\n")[0]
        return None

    def modules(self):
        self.say("modules")
        self.show(repr(self.gm))

    def find(self):
        n = self.r.choice(list(self.g.nodes))
        if self.r.random() < 0.7 or n.op == "call_function":
            self.say("find_nodes", n.op, target_name(n.target))
            self.show_names(self.g.find_nodes(op=n.op, target=n.target))
        else:
            self.say("find_nodes", n.op, None)
            self.show_names(self.g.find_nodes(op=n.op))

    # -- where things may stand

    def order(self):
        return list(self.g.nodes)

    def output(self):
        return next((n for n in self.g.nodes if n.op == "output"), None)

    def before(self, n):
        """What n may use."""
        order = self.order()
        if self.loose and self.r.random() < 0.2:
            return [m for m in order if m.op != "output"]
        return [m for m in order[:order.index(n)] if m.op != "output"]

    def here(self):
        """What a new node may use."""
        n, after = self.point
        if n is None:
            return [m for m in self.g.nodes if m.op != "output"] * after
        return self.before(n) + [n] * (after and n.op != "output")

    def one_of(self, nodes):
        return lambda: self.r.choice(nodes) if nodes else None

    def insert_at(self, n, after):
        self.point = n, after
        self.say("inserting_after" if after else "inserting_before",
                 *([] if n is None else [n]))
        if after:
            self.g.inserting_after(n)
        else:
            self.g.inserting_before(n)

    def leave(self):
        """New nodes go before the output, or to the end."""
        n = self.output()
        self.insert_at(n, n is None)

    def insert(self):
        kind = self.r.random()
        if kind < 0.06:
            self.insert_at(None, kind < 0.03 and not self.tidy)
        else:
            n = self.r.choice(self.order())
            after = self.r.random() < 0.4
            self.insert_at(n, after and not (self.tidy and n.op == "output"))

    # -- new nodes

    def new_name(self):
        return candidate(self.r) if self.r.random() < 0.3 else None

    def make(self, op, target, args=(), kwargs=None, name=None, kind=None):
        self.say("create", op, target_name(target), args, kwargs or {}, name,
                 None if kind is None else _type_repr(kind))
        n = self.g.create_node(op, target, args, kwargs or {}, name, kind)
        self.show(n.name)
        return n

    def create(self):
        r, pick = self.r, self.one_of(self.here())
        kind = r.choice(modules.TYPES) if r.random() < 0.1 else None
        op = r.choice(["call_function"] * 4 + ["call_method"] * 2 +
                      ["call_module", "get_attr"])
        target = self.target(op)
        if target is None:
            op, target = "call_method", self.target("call_method")
        args, kwargs = (), {}
        if op.startswith("call"):
            args, kwargs = modules.arguments(r, pick, target)
        if op == "call_method":
            args = (pick(),) + args
        self.make(op, target, args, kwargs, self.new_name(), kind)

    def target(self, op):
        """A target that exists, or None."""
        if op == "call_function":
            return self.r.choice(modules.FUNCTIONS)
        if op == "call_method":
            return self.r.choice(modules.METHODS + METHODS)
        if op == "call_module":
            found = [p for p, m in self.gm.named_modules() if p]
        else:
            found = [p for p, t in self.gm.named_parameters()] + \
                [p for p, t in self.gm.named_buffers()]
        return self.r.choice(found) if found else None

    def placeholder(self):
        if self.tidy and self.order():
            return
        inputs = [n for n in self.g.nodes if n.op == "placeholder"]
        if inputs and self.r.random() < 0.8:
            self.insert_at(inputs[-1], True)
        literal = lambda: modules.literal(self.r)
        args = (modules.value(self.r, literal),) * self.r.choice([0, 1, 1])
        self.make("placeholder", self.r.choice(PLACEHOLDERS), args, {},
                  self.new_name())

    def new_output(self):
        old = self.output()
        if old:
            self.erase(old)
        self.insert_at(None, True)
        result = modules.value(self.r, self.one_of(self.order()))
        kind = self.r.choice(modules.TYPES + [None] * 6)
        self.make("output", "output", (result,), {}, None, kind)
        self.leave()

    def copy_node(self):
        known = set(self.here())
        fit = [n for n in self.g.nodes if n.op != "output" and
               not (self.tidy and n.op == "placeholder") and
               all(i in known for i in n.all_input_nodes)]
        if fit:
            n = self.r.choice(fit)
            self.say("node_copy", n)
            self.show(self.g.node_copy(n).name)

    def copy_foreign(self):
        """A node of another graph, or all of them."""
        r = self.r
        other = modules.traced(r, r.choice([1, 3, 5]), bare=True).graph
        name = self.add_model(graph_text(other))
        pick = self.one_of(self.here())
        if r.random() < 0.4:
            fit = [n for n in other.nodes if n.op.startswith("call")]
            n = r.choice(fit)
            image = {i: pick() for i in n.all_input_nodes}
            if None in image.values():
                return
            self.say("node_copy", name, n.name,
                     {i.name: x for i, x in image.items()})
            self.show(self.g.node_copy(n, lambda i: image[i]).name)
            return
        # torch.fx turns the order around behind a node, and at the start.
        if self.point[1] != (self.point[0] is None):
            self.leave()
        pick = self.one_of(self.here())
        image = {n: modules.value(r, pick) for n in other.nodes
                 if n.op == "placeholder" and (self.tidy or r.random() < 0.8)}
        self.say("graph_copy", name, {i.name: x for i, x in image.items()})
        self.show(repr(self.g.graph_copy(other, image)))

    def copy_itself(self):
        first = next(iter(self.g.nodes))
        # torch.fx stops at the output.
        if self.order()[-1] is not self.output() or self.lint_error():
            return
        self.insert_at(first, False)
        self.say("graph_copy", None, {})
        self.show(repr(self.g.graph_copy(self.g, {})))
        self.leave()

    # -- edits of nodes

    def calls(self):
        """Those whose arguments may be anything."""
        fixed = INPLACE if self.tidy else ()
        return [n for n in self.g.nodes
                if n.op.startswith("call") and n.target not in fixed]

    def erase(self, n):
        self.say("erase_node", n)
        try:
            self.g.erase_node(n)
        except RuntimeError as e:
            self.show(f"error: {e}")
        if n is self.point[0] and n._erased:
            self.leave()

    def erase_some(self):
        unused = [n for n in self.g.nodes if not n.users and n.op != "output"]
        if unused and self.r.random() < 0.9:
            self.erase(self.r.choice(unused))
        else:
            self.erase(self.r.choice(self.order()))

    def replace_uses(self):
        used = [n for n in self.g.nodes if n.users]
        if not used:
            return
        n = self.r.choice(used)
        first = min(n.users, key=self.order().index)
        fit = self.before(first)
        if not fit:
            return
        new = self.r.choice(fit)
        if self.r.random() < 0.6:
            self.say("replace_all_uses_with", n, new)
            self.show_names(n.replace_all_uses_with(new))
        else:
            some = self.r.sample(list(n.users), self.r.randint(0, len(n.users)))
            self.say("replace_all_uses_with", n, new, some)
            self.show_names(n.replace_all_uses_with(new, lambda u: u in some))

    def replace_input(self):
        fit = [n for n in self.g.nodes if n.all_input_nodes]
        if not fit:
            return
        n = self.r.choice(fit)
        old = self.r.choice(n.all_input_nodes if self.r.random() < 0.9
                            else self.order())
        new = self.r.choice(self.before(n) or [old])
        self.say("replace_input_with", n, old, new)
        n.replace_input_with(old, new)

    def change_arguments(self):
        r, calls = self.r, self.calls()
        if not calls:
            return
        n = r.choice(calls)
        pick = self.one_of(self.before(n))
        new = modules.value(r, pick)
        kind = r.randrange(5)
        if kind == 0 and n.args:
            i = r.randrange(len(n.args))
            self.say("update_arg", n, i, new)
            n.update_arg(i, new)
        elif kind == 1:
            i = r.randint(0, len(n.args))
            self.say("insert_arg", n, i, new)
            insert_arg(n, i, new)
        elif kind == 2:
            key = r.choice([*n.kwargs, "dim", "other", "newKey"])
            self.say("update_kwarg", n, key, new)
            n.update_kwarg(key, new)
        elif kind == 3:
            args, _ = modules.arguments(r, pick, n.target)
            self.say("set_args", n, args)
            n.args = args
        else:
            _, kwargs = modules.arguments(r, pick)
            self.say("set_kwargs", n, kwargs)
            n.kwargs = kwargs

    def change_output(self):
        n = self.output()
        if n:
            new = modules.value(self.r, self.one_of(self.before(n)))
            self.say("update_arg", n, 0, new)
            n.update_arg(0, new)

    def move(self):
        order = self.order()
        x = self.r.choice(order)
        at = {n: i for i, n in enumerate(order)}
        low = max((at[i] for i in x.all_input_nodes), default=-1)
        if self.tidy and x.op in ("placeholder", "output"):
            return
        high = min((at[u] for u in x.users), default=len(order))
        if self.loose and self.r.random() < 0.2:
            low, high = -1, len(order)
        fit = [n for n in order if low <= at[n] < high and n is not x]
        if fit and self.r.random() < 0.5:
            n = self.r.choice(fit)
            self.say("append", n, x)
            n.append(x)
        fit = [n for n in order if low < at[n] <= high and n is not x]
        if fit and self.r.random() < 0.8:
            n = self.r.choice(fit)
            at = {n: i for i, n in enumerate(self.order())}
            self.say("prepend", n, x)
            n.prepend(x)

    def rename(self):
        n, name = self.r.choice(self.order()), candidate(self.r)
        self.say("rename", n, name)
        n._rename(name)
        self.show(n.name)

    def retarget(self):
        n = self.r.choice(self.order())
        # Code declares a wrapped function again when it is read.
        fixed = n.op in ("placeholder", "output") or "is_wrapped" in n.meta
        target = None if fixed else self.target(n.op)
        if target is not None:
            self.say("set_target", n, target_name(target))
            n.target = target

    def retype(self):
        n = self.r.choice(self.order())
        kind = self.r.choice([*modules.TYPES, None])
        self.say("set_type", n, None if kind is None else _type_repr(kind))
        n.type = kind

    EDITS = [(8, create), (3, insert), (1, placeholder), (1, new_output),
             (2, copy_node), (1, copy_foreign), (4, erase_some),
             (4, replace_uses), (3, replace_input), (6, change_arguments),
             (1, change_output), (3, move), (3, rename), (1, retarget),
             (1, retype), (1, find)]

    def edit(self):
        weights, edits = zip(*self.EDITS)
        if self.order():
            self.r.choices(edits, weights)[0](self)
        else:
            self.placeholder()
        self.edits += 1

    # -- whole graphs

    def dead_code(self, keep):
        """`keep`: what to take for impure; None: to find out."""
        if keep is None:
            self.say("eliminate_dead_code")
            impure = lambda n: n.is_impure() or writes(n)
        else:
            self.say("eliminate_dead_code", keep)
            impure = lambda n: n.op in ("placeholder", "output") or n in keep
        try:
            self.show(str(self.g.eliminate_dead_code(impure)))
        except RuntimeError as e:
            self.show("error: " + str(e).split("\n")[0])
        self.look(False)

    def copied(self):
        """A deep copy in a new GraphModule, or None where torch.fx fails."""
        try:
            return fx.GraphModule(self.gm, deep_copy(self.g),
                                  self.gm._get_name())
        except Exception:
            return None

    def deep_copy(self):
        gm = self.copied()
        if gm is not None:
            self.say("copy")
            self.use(gm)
            self.modules()
            self.look(True)
            self.leave()

    def replace(self):
        """A random pattern out of the graph."""
        trial = self.copied()
        try:
            pattern, outs = rewrite.cut_pattern(self.r, self.g)
            if not all(is_plain((n.args, *n.kwargs.values()))
                       for n in pattern.nodes):
                return
            new = rewrite.random_replacement(self.r, pattern, outs)
            replace_pattern(trial, pattern, new)
            trial.graph.lint()
        except Exception:
            return  # torch.fx cannot, or leaves something ill-formed.
        names = [self.add_model(graph_text(g)) for g in (pattern, new)]
        self.say("replace_pattern", *names)
        for m in replace_pattern(self.gm, pattern, new):
            self.show(" ".join(f"{n.name}={m.nodes_map[n]!r}"
                               for n in pattern.nodes if n in m.nodes_map))
        self.edits += 1
        self.look(True)

    def finish(self):
        self.look(True)
        self.lint()
        unused = [n for n in self.g.nodes if not n.users]
        self.dead_code(self.r.sample(unused, len(unused) // 2))
        self.leave()
        self.deep_copy()
        for _ in range(4):
            self.replace()
        for _ in range(6):
            self.edit()
        if self.r.random() < 0.3:
            self.copy_itself()
        self.look(True)
        self.lint()
        self.reread()

    def reread(self):
        """All is as it was, but for the order of users."""
        if self.order()[-1] is not self.output() or self.lint_error():
            return
        self.say("reread")
        self.modules()
        self.graph()
        self.code()


def make(seed, number, edits):
    c = Case(random.Random(f"{seed}:{number}"), edits)
    return c.edits, "\n".join(c.script) + "\n", "\n".join(c.out) + "\n"


# --------------------------------------------------------------------- running

def difference(have, want):
    lines = list(difflib.unified_diff(want.split("\n"), have.split("\n"),
                                      "torch.fx", "cfx", lineterm="", n=6))
    return "\n".join("    " + line for line in lines[:40])


def compare(program, seed, number, edits):
    """Run one case; the number of edits, or None where texts differ."""
    done, script, want = make(seed, number, edits)
    path = f"random_graphs-{seed}-{number}.script"
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(script)
    result = subprocess.run([program, path], capture_output=True)
    have = result.stdout.decode("utf-8", "backslashreplace")
    if result.returncode == 0 and have == want:
        os.remove(path)
        return done
    print(f"not ok: seed {seed}, case {number}, {path}, status "
          f"{result.returncode}")
    print(result.stderr.decode("utf-8", "backslashreplace")[:2000], end="")
    print(difference(have, want), flush=True)
    return None


def write(folder, seed, count, edits):
    """The first cases that are small, and text for every tool."""
    number = written = 0
    while written < count:
        _, script, out = make(seed, number, edits)
        number += 1
        if len(script) + len(out) > 9000 or "\0" in out:
            continue
        for end, content in (("script", script), ("out", out)):
            path = os.path.join(folder, f"random{written}.{end}")
            with open(path, "w", encoding="utf-8", newline="\n") as file:
                file.write(content)
        written += 1


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("program", nargs="?")
    ap.add_argument("-n", "--cases", type=int, default=200)
    ap.add_argument("-s", "--seed", type=int, default=1)
    ap.add_argument("-c", "--case", type=int)
    ap.add_argument("-e", "--edits", type=int, default=40)
    ap.add_argument("--write", metavar="DIR")
    a = ap.parse_args()
    if a.write:
        write(a.write, a.seed, a.cases, a.edits)
        return
    if not a.program:
        ap.error("it takes the program graph_script")
    numbers = range(a.cases) if a.case is None else [a.case]
    results = [compare(a.program, a.seed, k, a.edits) for k in numbers]
    passed = [n for n in results if n is not None]
    print(f"{len(results)} modules, {sum(passed)} edits: {len(passed)} passed, "
          f"{len(results) - len(passed)} failed")
    sys.exit(len(passed) != len(results))


if __name__ == "__main__":
    main()
