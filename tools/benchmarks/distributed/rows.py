"""The rows of `tools/bench.py --distributed`: Headrace's servers against TensorFlow's.

Both sides' clusters are real processes on the loopback. They take turns within every round, and the
one whose turn it is not is idle.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.distributed.cluster import Cluster, Failure

OURS, PEER = "headrace", "tensorflow"
MEGABYTES = 100  # of the transfers, as in step_programs
TRANSFERS = 5


@dataclass(frozen=True)
class Row:
    """A program on a cluster, and how many times faster than TensorFlow ours shall be."""

    program: str
    goal: float
    n_ps: int = 1
    n_workers: int = 1
    sync: bool = False
    transport: str = ""  # that our side is forced to use
    unit: str = "us"
    seconds: float = 0.5  # of a round

    @property
    def trains(self) -> bool:
        return self.program == "mlp"

    def spec(self, side: str, n_cores: int) -> dict[str, Any]:
        return {
            "side": side,
            "role": "train" if self.trains else "client",
            "program": self.program,
            "n_ps": self.n_ps,
            "n_workers": self.n_workers,
            "sync": self.sync,
            "n_cores": n_cores,
        }


ROWS = {
    "noop_worker": Row("noop_worker", 4),
    "noop_ps-1": Row("noop_ps", 6, 1),
    "noop_ps-2": Row("noop_ps", 6, 2),
    "noop_ps-4": Row("noop_ps", 8, 4),
    "fig6_scalar-1": Row("fig6_scalar", 5, 1),
    "fig6_scalar-2": Row("fig6_scalar", 5, 2),
    "fig6_scalar-4": Row("fig6_scalar", 5, 4),
    "fetch_scalar-1": Row("fetch_scalar", 5, 1),
    "fetch_scalar-2": Row("fetch_scalar", 5, 2),
    "fetch_scalar-4": Row("fetch_scalar", 5, 4),
    "fig6_sparse32": Row("fig6_sparse32", 5, 2),
    "read_dense": Row("read_dense", 5, unit="ms", seconds=2),
    "read_dense-tcp": Row("read_dense", 1.3, transport="grpc+tcp", unit="ms", seconds=2),
    "read_dense-grpc": Row("read_dense", 0.8, transport="grpc+stream", unit="ms", seconds=2),
    "fig6_dense": Row("fig6_dense", 3, unit="ms", seconds=2),
    "mlp_async": Row("mlp", 1.4, n_workers=2, unit="ms", seconds=3),
    "mlp_sync": Row("mlp", 1.6, n_workers=2, sync=True, unit="ms", seconds=3),
}
LOCAL = Row("mlp", 1, n_ps=0, unit="ms", seconds=2)
DISTRIBUTED = Row("mlp", 1, n_ps=1, unit="ms", seconds=2)
SPECIAL = ("mlp_local", "memory")
NAMES = [*ROWS, *SPECIAL]
COST_PROMISE = 0.10  # of local speed, for one worker with a parameter server
COPIES_PROMISE = 1.0  # of a transferred tensor, on each side, beyond the received one
UNITS = {"us": 1e6, "ms": 1e3}


@dataclass
class Bench:
    """What all rows share."""

    pythons: dict[str, Path]  # by side, the measured ones
    env: dict[str, str]
    rounds: int
    n_cores: int
    found: dict[str, Any] = field(default_factory=dict)

    def cluster(self, row: Row, side: str) -> Cluster:
        env = dict(self.env)
        if side == OURS and row.transport:
            env["HEADRACE_TRANSPORT"] = row.transport
        return Cluster(self.pythons[side], env, row.spec(side, self.n_cores))

    def measure(self, rows: dict[str, tuple[Row, str]]) -> dict[str, Times]:
        """Measures clusters by turns; rows has the row and the side of each."""
        times = {name: Times() for name in rows}
        with ExitStack() as stack:
            clusters = {}
            for name, (row, side) in rows.items():
                clusters[name] = stack.enter_context(self.cluster(row, side))
                clusters[name].open()
            for number in range(self.rounds):
                for name in list(rows)[:: 1 if number % 2 else -1]:
                    row = rows[name][0]
                    times[name].add(row, clusters[name].measure(row.seconds))
                    if row.trains:
                        clusters[name].halt()
        return times


@dataclass
class Times:
    """Seconds of the steps of one side; of a training, the mean of all workers in each round."""

    steps: list[float] = field(default_factory=list)

    def add(self, row: Row, replies: list[dict[str, Any]]) -> None:
        if not row.trains:
            self.steps += replies[0]["seconds"]
        elif row.sync:
            self.steps.append(replies[0]["elapsed"] / replies[0]["global_steps"])
        else:
            rate = sum(reply["steps"] / reply["elapsed"] for reply in replies)
            self.steps.append(1 / rate)

    @property
    def least(self) -> float:
        return min(self.steps)

    @property
    def median(self) -> float:
        return statistics.median(self.steps)


def run(names: Sequence[str], bench: Bench) -> int:
    """Measures rows and prints each. Returns: how many miss their goal."""
    print(
        f"{'row':16}{'ours min':>11}{'p50':>11}{'peer min':>11}{'p50':>11}"
        f"{'ratio min':>11}{'p50':>7}{'goal':>7}",
        flush=True,
    )
    missed = 0
    for name in names:
        special: dict[str, Callable[[Bench], bool]] = {"mlp_local": local, "memory": memory}
        try:
            reached = special[name](bench) if name in special else compare(name, bench)
        except Failure as failure:
            print(f"{name:16}failed: {failure}", flush=True)
            reached = False
        missed += not reached
    return missed


def compare(name: str, bench: Bench) -> bool:
    row = ROWS[name]
    times = bench.measure({side: (row, side) for side in bench.pythons})
    cells = []
    for side in (OURS, PEER):
        cells += shown(row, times[side]) if side in times else ["", ""]
    line = f"{name:16}" + "".join(f"{cell:>11}" for cell in cells)
    if len(times) < 2:
        print(line, flush=True)
        return True
    least, median = (
        getattr(times[PEER], which) / getattr(times[OURS], which) for which in ("least", "median")
    )
    good = least >= row.goal
    print(
        f"{line}{least:>10.2f}x{median:>6.2f}x{row.goal:>6g}x{'' if good else '  missed'}",
        flush=True,
    )
    return good


def shown(row: Row, times: Times) -> list[str]:
    if row.trains:
        return [f"{1 / value:.4g} /s" for value in (times.least, times.median)]
    scale = UNITS[row.unit]
    return [f"{value * scale:.4g} {row.unit}" for value in (times.least, times.median)]


def local(bench: Bench) -> bool:
    """One worker with a parameter server against a session without servers, on each side."""
    kinds = {"local": LOCAL, "distributed": DISTRIBUTED}
    times = bench.measure(
        {f"{side} {kind}": (row, side) for side in bench.pythons for kind, row in kinds.items()}
    )
    costs = {}
    for side in bench.pythons:
        one, other = (times[f"{side} {kind}"] for kind in kinds)
        costs[side] = 1 - one.least / other.least
        print(
            f"{'mlp_local':16}{side}: local {1 / one.least:.4g} /s, 1 worker and 1 ps "
            f"{1 / other.least:.4g} /s: {costs[side]:.1%} of local speed lost (medians "
            f"{1 - one.median / other.median:.1%})",
            flush=True,
        )
    return costs.get(OURS, 0) <= COST_PROMISE


def memory(bench: Bench) -> bool:
    """The resident memory that transfers of 100 MB take at both ends, at most.

    What was received is one copy at the worker; memory that both ends share counts where it is
    touched.
    """
    row = ROWS["read_dense"]
    good = True
    for side in bench.pythons:
        with bench.cluster(row, side) as cluster:
            ends = {"ps": cluster.ps[0], "worker": cluster.workers[0]}
            cluster.open()
            before = {end: process.ask("resident") for end, process in ends.items()}
            cluster.clients[0].ask("step", n=TRANSFERS)
            copies = {
                end: (process.ask("peak") - before[end]) / (MEGABYTES * 1e6)
                for end, process in ends.items()
            }
        print(
            f"{'memory':16}{side}: transfers take {copies['ps']:.2f} copies of the tensor at the "
            f"ps and {copies['worker']:.2f} at the worker",
            flush=True,
        )
        extra = max(copies["ps"], copies["worker"] - 1)
        good = good and (side != OURS or extra <= COPIES_PROMISE + 0.1)
    return good
