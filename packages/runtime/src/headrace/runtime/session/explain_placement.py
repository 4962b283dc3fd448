"""Prints why the nodes of a graph run where they do.

python -m headrace.runtime.session.explain_placement GRAPH.pb --fetch y --devices NAME ...

It plans like the master of a cluster with these devices, and runs nothing.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from google.protobuf import text_format

from headrace.formats.proto.graph_pb2 import GraphDef
from headrace.formats.proto.run_pb2 import ConfigProto
from headrace.runtime.passes.placement_config import SIMULATIONS
from headrace.runtime.session.planner import GraphPlanner


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command.

    Args:
      arguments: of the command line; None: those of the process.
    """
    options = _parser().parse_args(arguments)
    config = ConfigProto(
        allow_soft_placement=options.soft, intra_op_parallelism_threads=options.threads
    )
    config.experimental.placement_simulation = options.simulate
    config.experimental.transfer_latency_us = options.latency_us
    config.experimental.transfer_gigabytes_per_second = options.gigabytes_per_second
    planner = GraphPlanner(config.SerializeToString())
    planner.extend(_graph(options.graph))
    for trace in options.trace:
        planner.observe(trace.read_bytes())
    signature = (options.feed, options.fetch, options.target, options.devices)
    if options.message:
        options.message.write_bytes(planner.placement(*signature))
    print(planner.explain(*signature))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m headrace.runtime.session.explain_placement",
        description="Prints why the nodes of a graph run where they do, and what they are expected "
        "and were measured to take.",
    )
    parser.add_argument("graph", type=Path, help="a GraphDef; as text if it ends in .pbtxt")
    for kind, what in (("feed", "tensor"), ("fetch", "tensor"), ("target", "operation")):
        parser.add_argument(
            f"--{kind}", action="append", default=[], metavar=what.upper(), help=f"a {what}"
        )
    parser.add_argument(
        "--devices",
        nargs="+",
        required=True,
        metavar="DEVICE",
        help="full names, /job:worker/replica:0/task:0/device:CPU:0; the first is the default",
    )
    parser.add_argument(
        "--simulate",
        choices=SIMULATIONS,
        default=SIMULATIONS[0],
        help="among which devices the simulation chooses",
    )
    parser.add_argument(
        "--trace",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="a RunMetadata with the times of a traced step",
    )
    parser.add_argument("--soft", action="store_true", help="as allow_soft_placement")
    parser.add_argument(
        "--threads", type=int, default=0, help="as intra_op_parallelism_threads, of each task"
    )
    parser.add_argument("--latency-us", type=float, default=0.0, help="between tasks")
    parser.add_argument("--gigabytes-per-second", type=float, default=0.0, help="between tasks")
    parser.add_argument(
        "--message", type=Path, metavar="FILE", help="also writes the PlacementReport there"
    )
    return parser


def _graph(path: Path) -> bytes:
    if path.suffix != ".pbtxt":
        return path.read_bytes()
    return text_format.Parse(path.read_text(), GraphDef()).SerializeToString()


if __name__ == "__main__":
    main()
