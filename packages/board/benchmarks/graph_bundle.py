"""Times the server from the bytes of G36 to the compressed bundle.

    python packages/board/benchmarks/graph_bundle.py [--tries 5] [--tensorboard]

With --tensorboard, run by a Python that has it, its part of the same: the text of the graph, which
its page then parses and lays out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

_STAGES = (
    "parse", "columns", "scopes", "shapes", "edges", "modules", "templates", "families", "series",
    "side", "encode", "gzip",
)  # fmt: skip


def ours(data: bytes) -> tuple[dict[str, float], int]:
    """Returns seconds of each stage, and the bytes that are sent."""
    from headrace.board.graph import graph_bundle as bundle
    from headrace.board.graph.delta_encoding import packed
    from headrace.board.web.columns import encode_columns
    from headrace.formats.proto.graph_pb2 import GraphDef

    marks = [time.perf_counter()]

    def mark() -> None:
        marks.append(time.perf_counter())

    graph = GraphDef.FromString(data)
    mark()
    columns = bundle.read_columns(graph)
    mark()
    tree = bundle.scope_tree(columns)
    mark()
    shapes = bundle.output_shapes(graph, columns)
    mark()
    metaedges = bundle.find_metaedges(columns, tree, shapes.edge_bytes)
    mark()
    bookkeeping = bundle.is_bookkeeping(columns, tree, shapes)
    folded = bundle.with_modules(columns, tree, metaedges, bookkeeping)
    if folded is not tree:
        tree, metaedges = folded, bundle.find_metaedges(columns, folded, shapes.edge_bytes)
        bookkeeping = bundle.is_bookkeeping(columns, tree, shapes)
    mark()
    templates = bundle.find_templates(columns, tree, metaedges)
    mark()
    families = bundle.find_families(columns, tree, metaedges, templates)
    mark()
    series = bundle.find_series(
        columns, tree, metaedges, templates.of_vertex, families.of_template, bookkeeping
    )
    mark()
    side = bundle.auxiliary_nodes(columns, tree, metaedges, shapes)
    mark()
    picture = bundle.GraphAnalysis(
        columns, tree, shapes, metaedges, templates, families, series, side
    )
    body = encode_columns(*packed(*picture.header_and_columns()))
    mark()
    sent = gzip.compress(body, 1)
    mark()
    return dict(zip(_STAGES, (b - a for a, b in zip(marks, marks[1:])))), len(sent)


def tensorboards(data: bytes) -> tuple[float, int]:
    """Returns seconds to the compressed text of the graph, and its bytes."""
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    from tensorboard.plugins.graph import graphs_plugin  # noqa: F401 (must be there)
    from tensorboard.util import tensor_util  # noqa: F401

    start = time.perf_counter()
    graph = GraphDef.FromString(data)
    text = str(graph).encode()  # as its /graph endpoint replies
    sent = gzip.compress(text, 6)
    return time.perf_counter() - start, len(sent)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("--file", help="bytes of a GraphDef; G36 by default")
    parser.add_argument("--tensorboard", action="store_true")
    arguments = parser.parse_args()
    if arguments.file:
        data = Path(arguments.file).read_bytes()
    else:
        from fixtures.graphs import g36

        data = g36().SerializeToString()
    if arguments.tensorboard:
        seconds, sent = min(tensorboards(data) for _ in range(arguments.tries))
        print(json.dumps({"graph_def": len(data), "seconds": round(seconds, 3), "sent": sent}))
        return
    runs = [ours(data) for _ in range(arguments.tries)]
    stages, sent = min(runs, key=lambda run: sum(run[0].values()))
    print(
        json.dumps(
            {
                "graph_def": len(data),
                "seconds": round(sum(stages.values()), 3),
                "all_tries": [round(sum(run[0].values()), 3) for run in runs],
                "sent": sent,
                "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
                "stages_ms": {name: round(1000 * s, 1) for name, s in stages.items()},
            }
        )
    )


if __name__ == "__main__":
    main()
