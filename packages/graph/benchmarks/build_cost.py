"""Time to build and to serialise a graph of 36,000 nodes: `python benchmarks/build_cost.py`."""

from __future__ import annotations

import gc
import time

import headrace.graph as hr
from headrace.graph.builder.op_builder import op


def layers(n: int) -> None:
    """Six nodes a round: constants, arithmetic with and without attributes, scopes."""
    x = op("Placeholder", dtype=hr.float32, shape=[None, 64], name="x")
    w = op("Placeholder", dtype=hr.float32, shape=[64, 64], name="w")
    for _ in range(n):
        with hr.name_scope("layer"):
            h = op("MatMul", x, w, transpose_b=True)
            h = h + x
            h = op("Tanh", h)
            x = h * 0.5  # two nodes
            x = op("Identity", x, name="out")


def measure(n_nodes: int) -> tuple[float, float, int, int]:
    """Seconds to build, seconds to serialise, nodes, bytes."""
    graph = hr.Graph()
    with graph.as_default():
        start = time.process_time()
        layers(n_nodes // 6)
        built = time.process_time() - start
    from headrace.graph.framework.graph_codec import graph_wire

    start = time.process_time()
    wire = graph_wire(graph, 0)
    return built, time.process_time() - start, graph.version, len(wire)


if __name__ == "__main__":
    measure(600)
    for _ in range(5):
        gc.collect()
        built, written, nodes, size = measure(36_000)
        print(
            f"{nodes} nodes: built in {built:.3f} s ({built / nodes * 1e6:.2f} us each), "
            f"written in {written:.3f} s ({size} bytes)"
        )
