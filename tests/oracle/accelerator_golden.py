"""Where torch's accelerator partitioner puts random graphs.

    python accelerator_golden.py > ../golden/accelerator.txt

A case is a block of sections, each a line `-- NAME` and what belongs to it:
`case MODE RATE` (and `saturate`), `model` a tree and a graph, `sizes` a line
`NODE OUTPUT TOTAL MEMORY COMPUTE` for each node (bytes, and the latencies of
calls), `devices` a line `MEMORY ID` each, `given` what the mode `aot` is told
(`NODE PART`, then `@ PART ID...`), and `error` or `result`: a line for each part
in the order of calls, `latency` of the whole, and for each part its number, its
latency, and its calls.
"""

import operator
import random
import sys

import torch
from torch import fx
from torch.fx.experimental import accelerator_partitioner as ap
from torch.fx.experimental import partitioner_utils as pu
from torch.fx.passes.graph_manipulation import size_bytes

from split_golden import CALLS, grow, model_text, root_module

SOURCES = ("placeholder", "get_attr")


def calls_of(gm):
    return [n for n in gm.graph.nodes if n.op in CALLS]


def add_embeddings(rnd, gm):
    for n in calls_of(gm):
        if n.op == "call_module" and rnd.random() < 0.6:
            n.target = rnd.choice(["emb.0", "emb.1"])


def weigh(rnd, gm):
    """Sizes that are attributes of the nodes, as the partitioner reads them."""
    latency = {}
    for n in gm.graph.nodes:
        if n.op == "output":
            continue
        out = rnd.randint(1, 30)
        own = rnd.randint(1, 90) if n.op == "call_module" else 0
        n.size_bytes = size_bytes(out, out + own)
        if n.op in CALLS:
            latency[n] = pu.NodeLatency(float(rnd.randint(1, 60)),
                                        float(rnd.randint(1, 60)))
    return latency


def devices_for(rnd, gm, mode):
    total = sum(n.size_bytes.total_size for n in gm.graph.nodes
                if n.op != "output")
    n = rnd.randint(2, 6)
    share = total * rnd.uniform(0.9, 4) / n
    memory = [int(share if mode == "sparse_nn"
                  else share * rnd.uniform(0.6, 1.5)) for _ in range(n)]
    ids = rnd.sample(range(20), n)
    return [pu.Device(f"dev_{i}", memory[i], ids[i]) for i in range(n)]


def given_parts(rnd, gm, devices):
    calls = calls_of(gm)
    n = rnd.randint(1, 4)
    part_of = {x: i * n // len(calls) for i, x in enumerate(calls)}
    ids = [d.logical_id for d in devices]
    places = {p: rnd.sample(ids, rnd.randint(1, min(2, len(ids))))
              for p in range(n)}
    return part_of, places


def show(out, partitioner, result, config):
    parts = partitioner.partitions
    for node in result.dag.nodes:
        call = node.submodule_node
        ends = [u for u in call.users if u.target is operator.getitem]
        ins = ", ".join(x.name for x in node.input_nodes)
        outs = ", ".join(x.name for x in ends or [call])
        print(f"{call.name}: devices {node.logical_device_ids}, "
              f"{node.size_bytes} bytes, ({ins}) -> ({outs})", file=out)
    times = pu.get_partition_to_latency_mapping(
        parts, config.node_to_latency_mapping)
    for p in parts:
        p.children, p.parents = set(), set()
    ap.set_parents_and_children(parts)
    whole = pu.get_latency_of_partitioned_graph(
        parts, times, config.transfer_rate_bytes_per_sec)
    print(f"latency {whole:.6g}", file=out)
    order = {x: i for i, x in enumerate(partitioner.graph_module.graph.nodes)}
    for p in parts:
        names = [x.name for x in sorted(p.nodes, key=order.get)
                 if x.op in CALLS]
        print(f"part {p.partition_id} {times[p].overall_latency_sec:.6g}",
              *names, file=out)


def case(out, rnd, root, mode):
    gm = fx.GraphModule(root, grow(rnd))
    add_embeddings(rnd, gm)
    gm = fx.GraphModule(root, gm.graph)
    if not calls_of(gm):
        return False
    latency = weigh(rnd, gm)
    devices = devices_for(rnd, gm, mode)
    part_of, places = given_parts(rnd, gm, devices)
    config = pu.PartitionerConfig(
        devices, ap.PartitionMode[mode],
        transfer_rate_bytes_per_sec=float(rnd.choice([1, 2, 16])),
        node_to_latency_mapping=latency, node_to_partition_mapping=part_of,
        partition_to_logical_device_mapping={p: list(ids) for p, ids in
                                             places.items()},
        saturate_host=rnd.random() < 0.4)
    model = model_text(gm)
    partitioner = ap.Partitioner()
    error = None
    stdout, sys.stdout = sys.stdout, sys.stderr
    try:
        result = partitioner.partition_graph(gm, root, config)
        if not all(p.logical_device_ids for p in partitioner.partitions):
            error = "Cannot Get a Valid Partition to Logical Device Mapping"
    except RuntimeError as e:
        error = str(e)
    except AssertionError:
        error = "Cannot Get a Valid Partition to Logical Device Mapping"
    except (IndexError, TypeError):
        # Torch fails over its own work: no embeddings, no text to add to.
        return False
    finally:
        sys.stdout = stdout
    if (error or len(partitioner.partitions) < 2) and rnd.random() < 0.8:
        return False
    print("-- case", mode, f"{config.transfer_rate_bytes_per_sec:g}",
          *["saturate"] * config.saturate_host, file=out)
    print("-- model", file=out)
    print(model, file=out)
    print("-- sizes", file=out)
    for n in gm.graph.nodes:
        if n.op != "output":
            t = latency.get(n, (0.0, 0.0))
            print(n.name, *n.size_bytes, f"{t[0]:g} {t[1]:g}", file=out)
    print("-- devices", file=out)
    for d in devices:
        print(d.available_mem_bytes, d.logical_id, file=out)
    print("-- given", file=out)
    for n, p in part_of.items():
        print(n.name, p, file=out)
    for p, ids in places.items():
        print("@", p, *ids, file=out)
    if error:
        print("-- error", file=out)
        print(error, file=out)
    else:
        print("-- result", file=out)
        show(out, partitioner, result, config)
    return True


def main(out, seed=3):
    # The sizes are those that are there.
    ap.get_size_of_all_nodes = lambda gm: None
    rnd = random.Random(seed)
    root = root_module()
    root.emb = torch.nn.ModuleList([torch.nn.Embedding(5, 3),
                                    torch.nn.EmbeddingBag(7, 3)])
    for mode, cases in (("size_based", 16), ("sparse_nn", 16),
                        ("cost_aware", 16), ("aot_based", 8)):
        done = 0
        while done < cases:
            done += case(out, rnd, root, mode)


if __name__ == "__main__":
    main(sys.stdout)
