"""Measure Headrace against TensorFlow, PyTorch and JAX on the same programs, and print ratios.

    python3 tools/bench.py                             # all rows
    python3 tools/bench.py --rows null,fed --rounds 5
    python3 tools/bench.py --rows models               # the rows with real arithmetic
    python3 tools/bench.py --rows opencl               # all OpenCL devices, PoCL's too
    python3 tools/bench.py --rows lstm --before ../old/.venv/bin/python
    python3 tools/bench.py --distributed               # several tasks: benchmarks/distributed

Each side runs in its own process on the same cores; they take turns within every round. Numbers are
the minimum and the median over the rounds, ratios are of the minimums (what else runs here only
adds). A row with several peers is compared with the fastest of them. The peers live in .peers
(HEADRACE_PEERS names another folder), made when first needed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.distributed import rows as distributed

ROOT = Path(__file__).resolve().parents[1]
HERE = Path(__file__).resolve().parent / "benchmarks"
NEEDS = {
    "tensorflow": ["tensorflow-cpu==2.21.*"],
    "torch": ["--index-url=https://download.pytorch.org/whl/cpu", "torch==2.13.*", "numpy"],
    "jax": ["jax[cpu]"],
}
IMPORTS = {
    "headrace": "import headrace.graph, headrace.runtime, headrace.kernels.cpu",
    "tensorflow": "import tensorflow",
}


@dataclass(frozen=True)
class Row:
    """A program and how many times faster than the best of `peers` the side `ours` shall be."""

    program: str
    goal: float
    ours: str = "headrace"
    peers: tuple[str, ...] = ("tensorflow",)
    unit: str = "us"
    most_rounds: int = 1000
    most_seconds: float | None = None  # the goal, where it is no ratio


ROWS = {
    "null": Row("null", 10),
    "fed": Row("fed", 15),
    "chain": Row("chain", 10, unit="ns"),
    "wide": Row("wide", 10, unit="ns"),
    "adam": Row("adam", 6),
    "adam-jax": Row("adam", 1.4, peers=("jax",)),
    "loop": Row("loop", 20, unit="ns"),
    "loop-dynamic": Row("loop", 4, ours="headrace-dynamic", unit="ns"),
    "rnn": Row("rnn", 1.5, unit="ms"),
    "rnn-train": Row("rnn_train", 1.5, unit="ms"),
    "records": Row("records", 2, unit="ms"),
    "data-records": Row("dataset_records", 2, unit="ms"),
    "data-batches": Row("dataset_record_batches", 2, unit="ms"),
    "data-files": Row("dataset_interleave", 1.5, unit="ms"),
    "data-map": Row("dataset_map", 1.5, unit="ms"),
    "data-threads": Row("dataset_parallel_map", 1.5, unit="ms"),
    "data-shuffle": Row("dataset_shuffle", 1.5, unit="ms"),
    "data-python": Row("dataset_generator", 1.5, ours="headrace-python", unit="ms"),
    "jpeg": Row("dataset_jpeg", 1, unit="ms"),
    "jpeg-crop": Row("dataset_jpeg_crop", 1, unit="ms"),
    "jpeg-queue": Row("queue_jpeg", 1, unit="ms"),
    "small": Row("small", 8),
    "dequeue": Row("dequeue", 5, ours="headrace-dynamic"),
    "build": Row("build", 20, unit="s", most_rounds=2),
}
MODELS = ("elementwise_chain", "matmul", "mlp", "mnist", "cifar", "lstm", "alexnet")
MODEL_PEERS = ("tensorflow", "tensorflow-function", "torch", "jax")
ROWS |= {name: Row(name, 1, peers=MODEL_PEERS, unit="ms") for name in MODELS}
OPENCL = {
    "opencl-matmul": Row("device_matmul", 1, ours="headrace-opencl", unit="ms"),
    "opencl-conv": Row("device_convolution", 1, ours="headrace-opencl", unit="ms"),
    "opencl-reduce": Row("device_reduce", 1, ours="headrace-opencl", unit="ms"),
    "opencl-add": Row("device_add", 1, ours="headrace-opencl", unit="ms"),
    "opencl-mlp": Row("mlp", 0.8, ours="headrace-opencl", unit="ms"),
    "opencl-mnist": Row("mnist", 0.8, ours="headrace-opencl", unit="ms"),
    "opencl-adds": Row("device_adds", 0, ours="headrace-opencl", most_seconds=10e-6),
    "opencl-small": Row("device_products", 0, ours="headrace-opencl", most_seconds=10e-6),
}
CHECK_TOLERANCE = 0.02  # relative, of a loss after some steps; PyTorch's LSTM has two biases
UNITS = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}
SPECIAL = ("index", "batches", "threads", "import", "size")  # measured in ways of their own
INDEX_PROMISE = 1.5  # a slice x[i], of the time of gather(x, i)
BATCH_PROMISE = 2  # a step of a new batch size, of the time of a known one
IMPORT_PROMISE_S = 0.25
THREADS_PROMISE = 1.8


class Failure(Exception):
    """A row has no number, and this is why."""


@dataclass
class Sides:
    """The worker processes, started at the first request."""

    ours: Path
    before: Path | None = None
    n_cores: int = 2
    _workers: dict[str, subprocess.Popen[str]] = field(default_factory=dict)

    def python(self, side: str) -> Path:
        if side == "headrace-before":
            return self.before
        return self.ours if side.startswith("headrace") else peer_python(side.split("-")[0])

    def seconds(self, side: str, program: str) -> float:
        """Returns: seconds a part of the program takes on that side, now."""
        return self.measure(side, program)["seconds"]

    def measure(self, side: str, program: str) -> dict[str, Any]:
        worker = self._workers.get(side)
        if worker is None or worker.poll() is not None:
            worker = self._workers[side] = subprocess.Popen(
                [str(self.python(side)), str(HERE / "worker.py"), side],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=environment()
                | {"HEADRACE_BENCH_CORES": str(self.n_cores)}
                | ({"HEADRACE_OPENCL_DEVICES": "all"} if side == "headrace-opencl" else {}),
            )
        try:
            print(program, file=worker.stdin, flush=True)
            line = worker.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Failure(f"{side}: its process ended with {worker.wait()}")
        reply = json.loads(line)
        if "error" in reply:
            raise Failure(f"{side}: {reply['error']}")
        return reply

    def close(self) -> None:
        for worker in self._workers.values():
            worker.stdin.close()
            worker.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = [*ROWS, *OPENCL, *SPECIAL]
    parser.add_argument("--rows", help="which, by comma (all)")
    parser.add_argument("--rounds", type=int, help="(10; 5 of the distributed rows)")
    parser.add_argument("--distributed", action="store_true", help="the rows with servers")
    parser.add_argument("--sides", default="headrace,tensorflow", help="of the distributed rows")
    parser.add_argument("--python", type=Path, help="of an environment that has Headrace")
    parser.add_argument("--before", type=Path, help="Python of an older Headrace, to compare with")
    parser.add_argument("--cores", type=int, default=2, help="that each side may use")
    options = parser.parse_args()
    if options.distributed:
        every = distributed.NAMES
    groups = {"models": MODELS, "opencl": tuple(OPENCL)}
    asked = options.rows.split(",") if options.rows else [n for n in every if n not in OPENCL]
    names = [name for row in asked for name in groups.get(row, (row,))]
    if unknown := [n for n in names if n not in every]:
        parser.error(f"no row {', '.join(unknown)}; there are {', '.join(every)}")
    if options.distributed:
        return measure_distributed(names, options)
    rounds = options.rounds or 10
    sides = Sides(options.python or own_python(), options.before, options.cores)
    print(
        f"{'row':13}{'ours min':>11}{'median':>11}{'peer min':>12}{'median':>11}"
        f"{'ratio':>8}{'goal':>7}"
    )
    missed = 0
    for name in names:
        try:
            reached = (
                special(name, sides, rounds) if name in SPECIAL else compare(name, sides, rounds)
            )
        except Failure as failure:
            print(f"{name:13}failed: {failure}", flush=True)
            reached = False
        missed += not reached
    sides.close()
    print(f"{len(names) - missed} of {len(names)} rows reach their goal")
    return 1 if missed else 0


def measure_distributed(names: list[str], options: argparse.Namespace) -> int:
    pythons = {
        side: (options.python or own_python()) if side == "headrace" else peer_python(side)
        for side in options.sides.split(",")
    }
    bench = distributed.Bench(pythons, environment(), options.rounds or 5, options.cores)
    missed = distributed.run(names, bench)
    print(f"{len(names) - missed} of {len(names)} rows reach their goal")
    return 1 if missed else 0


def compare(name: str, sides: Sides, rounds: int) -> bool:
    row = (ROWS | OPENCL)[name]
    measured = [row.ours, *row.peers] + (["headrace-before"] if sides.before else [])
    times: dict[str, list[float]] = {side: [] for side in measured}
    checks: dict[str, float] = {}
    for _ in range(min(rounds, row.most_rounds)):
        for side, found in times.items():
            reply = sides.measure(side, row.program)
            found.append(reply["seconds"])
            if reply.get("check") is not None:
                checks[side] = reply["check"]
    compare_checks(row, checks)
    peer = min(row.peers, key=lambda side: min(times[side]))
    goal = f"{row.goal:g}x"
    if row.most_seconds:
        goal = f"<{row.most_seconds * UNITS[row.unit]:g} {row.unit}"
    reached = show(name, times[row.ours], times[peer], row.unit, row.goal, goal)
    if row.most_seconds and min(times[row.ours]) > row.most_seconds:
        print(f"{'':13}missed", flush=True)
        reached = False
    if len(measured) > 2:
        others = (f"{side} {min(times[side]) * UNITS[row.unit]:.4g}" for side in measured[1:])
        print(f"{'':13}{row.unit}: {', '.join(others)}", flush=True)
    return reached


def compare_checks(row: Row, checks: dict[str, float]) -> None:
    ours = checks.get(row.ours)
    for side, value in checks.items():
        if abs(value - ours) > CHECK_TOLERANCE * abs(ours):
            raise Failure(f"{side} computes something else: {value:.6g}, ours {ours:.6g}")


def show(
    name: str, ours: list[float], peer: list[float], unit: str, goal: float, requested: str
) -> bool:
    ratio = min(peer) / min(ours)
    a, b, c, d = (
        f"{f(v) * UNITS[unit]:.4g} {unit}" for v in (ours, peer) for f in (min, statistics.median)
    )
    good = ratio >= goal
    print(
        f"{name:13}{a:>11}{b:>11}{c:>12}{d:>11}{ratio:>7.{1 if ratio > 10 else 2}f}x{requested:>7}"
        f"{'' if good else '  missed'}",
        flush=True,
    )
    return good


def special(name: str, sides: Sides, rounds: int) -> bool:
    measure = {
        "index": index, "batches": batches, "threads": threads, "import": imports, "size": size,
    }  # fmt: skip
    return measure[name](sides, rounds)


def index(sides: Sides, rounds: int) -> bool:
    """x[i] against gather(x, i): in a loop, and with an index that is fed."""
    return all(
        [
            pair(f"index, {how}", (f"index_{how}", f"gather_{how}"), unit, sides, rounds)
            <= INDEX_PROMISE
            for how, unit in (("loop", "ns"), ("fed", "us"))
        ]
    )


def batches(sides: Sides, rounds: int) -> bool:
    """A training step of the MLP with a batch size that is new against one that is known."""
    return pair("batches", ("batch_new", "batch_known"), "us", sides, rounds) < BATCH_PROMISE


def pair(name: str, programs: tuple[str, str], unit: str, sides: Sides, rounds: int) -> float:
    """Returns: our time of one program over that of the other, of medians; prints every side."""
    times: dict[tuple[str, str], list[float]] = {}
    names = ["headrace", "tensorflow"] + (["headrace-before"] if sides.before else [])
    for program in programs:
        for _ in range(rounds):
            for side in names:
                times.setdefault((side, program), []).append(sides.seconds(side, program))
    ratios = {}
    for side in names:
        one, other = (statistics.median(times[side, program]) for program in programs)
        ratios[side] = one / other
        scale = UNITS[unit]
        print(
            f"{name:13}{side}: {programs[0]} {one * scale:.4g} {unit}, {programs[1]} "
            f"{other * scale:.4g} {unit}, ratio {one / other:.2f}",
            flush=True,
        )
    return ratios["headrace"]


def threads(sides: Sides, rounds: int) -> bool:
    """Two threads on two sessions against one; TensorFlow's figure only beside ours."""
    best = {}
    for _ in range(rounds):
        for side in ("headrace", "tensorflow"):
            for program in ("threads_one", "threads"):
                seconds = sides.seconds(side, program)
                best[side, program] = min(seconds, best.get((side, program), seconds))
    ours, peer = (
        best[side, "threads_one"] / best[side, "threads"] for side in ("headrace", "tensorflow")
    )
    good = ours >= THREADS_PROMISE
    note = "" if good else "  missed"
    print(
        f"{'threads':13}two threads do {ours:.2f}x the work of one (TensorFlow {peer:.2f}x), "
        f"promised {THREADS_PROMISE}x{note}",
        flush=True,
    )
    return good


def imports(sides: Sides, rounds: int) -> bool:
    times: dict[str, list[float]] = {side: [] for side in IMPORTS}
    for _ in range(min(rounds, 5)):
        for side, found in times.items():
            program = (
                f"import time; t = time.perf_counter(); {IMPORTS[side]}; "
                "print(time.perf_counter() - t)"
            )
            command = [str(sides.python(side)), "-c", program]
            done = subprocess.run(command, capture_output=True, text=True, env=environment())
            if done.returncode:
                raise Failure(f"{side}: {done.stderr.strip().splitlines()[-1]}")
            found.append(float(done.stdout.split()[-1]))
    show("import", times["headrace"], times["tensorflow"], "s", 0, "<0.25s")
    return min(times["headrace"]) < IMPORT_PROMISE_S


def size(sides: Sides, rounds: int) -> bool:
    done = subprocess.run(
        [sys.executable, str(HERE.parent / "installed_size.py")], capture_output=True, text=True
    )
    lines = done.stdout.strip().splitlines()
    if not lines or "in all" not in lines[-1]:
        raise Failure("tools/installed_size.py: " + (done.stderr.strip().splitlines() or ["?"])[-1])
    print(f"{'size':13}{lines[-1].strip()}", flush=True)
    return done.returncode == 0


def environment() -> dict[str, str]:
    hidden = ("OPENBLAS_CORETYPE", "VIRTUAL_ENV", "PYTHONHOME")
    return {k: v for k, v in os.environ.items() if k not in hidden} | {"CUDA_VISIBLE_DEVICES": "-1"}


def own_python() -> Path:
    """Returns: the first Python found that has Headrace."""
    candidates = [Path(sys.executable)]
    candidates += [ROOT / home / "bin" / "python" for home in (".venv", ".quickstart/env")]
    for python in candidates:
        if python.exists():
            command = [str(python), "-c", "import headrace.graph, headrace.runtime"]
            if subprocess.run(command, capture_output=True).returncode == 0:
                return python
    raise SystemExit("bench: no Headrace here: run tools/quickstart.py first, or give --python")


def peer_python(name: str) -> Path:
    """Returns: the Python of .peers/<name>, made on the first call."""
    home = Path(os.environ.get("HEADRACE_PEERS", ROOT / ".peers")) / name
    python = home / "bin" / "python"
    if not python.exists():
        print(f"bench: making {home}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *NEEDS[name]], check=True)
    return python


if __name__ == "__main__":
    sys.exit(main())
