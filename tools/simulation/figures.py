"""The experiments of Figures 6 to 8 of the TensorFlow paper (OSDI 2016), simulated."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from simulation.line_chart import line_chart
from simulation.programs import dense_model, layered_model, sparse_model
from simulation.tasks import SimulatedCluster
from simulation.training import Training

NULL_PS, INCEPTION_PS = 16, 17
BATCH = 32
NULL_MODELS = {
    "scalar": dense_model(NULL_PS),
    "sparse, 1 GB": sparse_model(1_000_000_000),
    "sparse, 16 GB": sparse_model(16_000_000_000),
    "dense, 100 MB": dense_model(25_000_000),
    "dense, 1 GB": dense_model(250_000_000),
}
# The time of a training step on a worker that shares its machine: some steps are slower, few much.
COMPUTE_S, SPREAD = 1.6, 0.03
SLOW, SLOWER_BY = 0.07, (1.15, 1.4)
STALLED, STALLED_BY = 0.001, 2.0


def inception_s(draw: random.Random) -> float:
    """Draws the time of a training step without the network."""
    seconds = COMPUTE_S * draw.lognormvariate(0, SPREAD)
    kind = draw.random()
    if kind < STALLED:
        return seconds * STALLED_BY
    return seconds * draw.uniform(*SLOWER_BY) if kind < STALLED + SLOW else seconds


def train(model: Any, n_ps: int, n_workers: int, n_averaged: int, n_steps: int) -> Training:
    """Returns a training that has run."""
    training = Training(SimulatedCluster(compute_s=inception_s), model, n_ps, n_workers, n_averaged)
    training.run(n_steps)
    return training


def null_steps_by_workers(workers: Sequence[int], n_steps: int = 6) -> dict[str, dict[int, float]]:
    """Figure 6: the median time of a synchronous null step, by model and number of workers."""
    return {
        name: {n: median(train(model, NULL_PS, n, n, n_steps).step_times()) for n in workers}
        for name, model in NULL_MODELS.items()
    }


def inception_by_workers(
    workers: Sequence[int], n_steps: int = 14
) -> dict[tuple[str, int], list[float]]:
    """Figure 7: the times of steps, sorted, by way of training and number of workers."""
    return {
        (way, n): train(layered_model, INCEPTION_PS, n, averaged * n, n_steps).step_times()
        for way, averaged in (("asynchronous", 0), ("synchronous", 1))
        for n in workers
    }


def images_per_s(n_workers: int, times: Sequence[float]) -> float:
    return BATCH * n_workers * len(times) / sum(times)


def backup_workers(
    backups: Sequence[int], n_workers: int = 50, n_steps: int = 60
) -> dict[int, float]:
    """Figure 8: the median time of a synchronous step, by number of backup workers."""
    return {
        b: median(
            train(layered_model, INCEPTION_PS, n_workers + b, n_workers, n_steps).step_times()
        )
        for b in backups
    }


def normalized_speedup(times: dict[int, float], backup: int, n_workers: int = 50) -> float:
    """The speedup by backup workers, less what they cost: t(0) / t(b) * n / (n + b)."""
    return times[0] / times[backup] * n_workers / (n_workers + backup)


def draw_null_steps(folder: Path, times: dict[str, dict[int, float]]) -> None:
    line_chart(
        folder / "null_steps.svg", "Null steps, 16 parameter servers", "workers", "steps / s",
        {name: [(n, 1 / t) for n, t in found.items()] for name, found in times.items()},
        log_x=True, log_y=True,
    )  # fmt: skip


def draw_inception(folder: Path, times: dict[tuple[str, int], list[float]]) -> None:
    ways = list(dict.fromkeys(way for way, _ in times))
    line_chart(
        folder / "inception_throughput.svg", "Training of Inception-v3, 17 parameter servers",
        "workers", "images / s",
        {w: [(n, images_per_s(n, t)) for (way, n), t in times.items() if way == w] for w in ways},
    )  # fmt: skip
    for way in ways:
        line_chart(
            folder / f"inception_{way}.svg", f"Times of {way} steps", "seconds", "share of steps",
            {
                f"{n} workers": [(t, (i + 1) / len(found)) for i, t in _thinned(found)]
                for (w, n), found in times.items()
                if w == way
            },
        )  # fmt: skip


def _thinned(values: list[float], most: int = 60) -> list[tuple[int, float]]:
    stride = max(1, len(values) // most)
    return [(i, v) for i, v in enumerate(values) if i % stride == 0 or i == len(values) - 1]


def draw_backup(folder: Path, times: dict[int, float]) -> None:
    line_chart(
        folder / "backup_step_time.svg", "50 workers and backup workers", "backup workers",
        "median step time (s)", {"step time": list(times.items())}, y_from_zero=False,
    )  # fmt: skip
    line_chart(
        folder / "backup_speedup.svg", "Speedup less the cost of backup workers", "backup workers",
        "t(0) / t(b) * 50 / (50 + b)",
        {"normalized speedup": [(b, normalized_speedup(times, b)) for b in times]},
        y_from_zero=False,
    )  # fmt: skip
