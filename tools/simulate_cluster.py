"""Simulate clusters of up to 1,000 tasks: what a step costs its master, and how training scales.

    python tools/simulate_cluster.py scale                  # one client, 10 to 1,000 tasks
    python tools/simulate_cluster.py scale --tasks 20,40
    python tools/simulate_cluster.py null-step              # Figure 6 of the TensorFlow paper
    python tools/simulate_cluster.py inception              # Figure 7
    python tools/simulate_cluster.py backup                 # Figure 8
    python tools/simulate_cluster.py measure                # the costs that are assumed, here
    python tools/simulate_cluster.py all --figures docs/figures

Planner, partitions and state machines are the real ones; network, kernels and time are simulated
(docs/scale.md). A simulation gives the same numbers each time; only what is marked as measured
depends on this machine.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from simulation import figures
from simulation.line_chart import line_chart
from simulation.scaling import Row, scale_row

MOST_PS = 16
SCALE_COLUMNS = {
    "tasks": lambda r: f"{r.n_tasks}",
    "ps": lambda r: f"{r.n_ps}",
    "nodes": lambda r: f"{r.n_nodes}",
    "edges": lambda r: f"{r.n_edges}",
    "plan*": lambda r: f"{r.plan_s * 1e3:.1f} ms",
    "plan size": lambda r: f"{r.plan_bytes / 1e6:.2f} MB",
    "requests*": lambda r: f"{r.requests_s * 1e3:.1f} ms",
    "session machine*": lambda r: f"{r.session_machine_s * 1e3:.2f} ms",
    "step machine*": lambda r: f"{r.step_machine_s * 1e6:.1f} us",
    "frames": lambda r: f"{r.frames:.0f}",
    "of the master": lambda r: f"{r.master_frames:.0f}",
    "master CPU": lambda r: f"{r.master_cpu_s * 1e3:.2f} ms",
    "step": lambda r: f"{r.step_s * 1e3:.2f} ms",
    "task killed": lambda r: f"{r.killed_s * 1e3:.2f} ms",
    "cut off": lambda r: f"{r.cut_off_s:.2f} s",
}


def table(header: list[str], rows: list[list[str]]) -> None:
    """Prints a table, as Markdown."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for i, row in enumerate([header, *rows]):
        print("| " + " | ".join(cell.rjust(width) for cell, width in zip(row, widths)) + " |")
        if not i:
            print("|" + "|".join("-" * (width + 1) + ":" for width in widths) + "|")


def scale(options: argparse.Namespace) -> None:
    print("\nOne client and n tasks, null steps (* CPU time, measured on this machine)\n")
    rows: list[Row] = []
    for n in options.tasks or [10, 30, 100, 300, 1000]:
        rows.append(scale_row(n, max(1, min(MOST_PS, n // 5))))
    table(list(SCALE_COLUMNS), [[text(row) for text in SCALE_COLUMNS.values()] for row in rows])
    if options.figures:
        per_step = {
            "step": [(r.n_tasks, r.step_s * 1e3) for r in rows],
            "master CPU, frames": [(r.n_tasks, r.master_cpu_s * 1e3) for r in rows],
            "master CPU, decisions": [(r.n_tasks, r.step_machine_s * 1e3) for r in rows],
        }
        line_chart(
            options.figures / "scale_step.svg", "A null step of one client", "tasks", "ms",
            per_step, log_x=True, log_y=True,
        )  # fmt: skip
        once = {
            "plan": [(r.n_tasks, r.plan_s) for r in rows],
            "requests": [(r.n_tasks, r.requests_s) for r in rows],
            "session machine": [(r.n_tasks, r.session_machine_s) for r in rows],
        }
        line_chart(
            options.figures / "scale_prepare.svg", "Once for each signature", "tasks",
            "s", once, log_x=True, log_y=True,
        )  # fmt: skip


def null_step(options: argparse.Namespace) -> None:
    workers = options.workers or [1, 2, 5, 10, 25, 50, 100]
    print("\nMedian synchronous null step, 16 parameter servers (Figure 6), ms\n")
    times = figures.null_steps_by_workers(workers)
    header = ["workers", *map(str, workers)]
    table(header, [[m, *(f"{t * 1e3:.2f}" for t in found.values())] for m, found in times.items()])
    if options.figures:
        figures.draw_null_steps(options.figures, times)


def inception(options: argparse.Namespace) -> None:
    workers = options.workers or [25, 50, 100, 200, 400]
    print("\nInception-v3, 17 parameter servers (Figure 7)\n")
    times = figures.inception_by_workers(workers)
    rows = []
    for (way, n), found in times.items():
        shares = [f"{found[int(q * (len(found) - 1))]:.2f} s" for q in (0.1, 0.5, 0.9)]
        rows.append([way, str(n), f"{figures.images_per_s(n, found):.0f}", *shares])
    table(["training", "workers", "images / s", "10 %", "median", "90 %"], rows)
    if options.figures:
        figures.draw_inception(options.figures, times)


def backup(options: argparse.Namespace) -> None:
    print("\n50 workers and backup workers (Figure 8)\n")
    times = figures.backup_workers(sorted({0, *(options.workers or range(7))}))
    speedup = figures.normalized_speedup
    rows = [[str(b), f"{t:.3f} s", f"{speedup(times, b):.3f}"] for b, t in times.items()]
    table(["backup workers", "median step", "normalized speedup"], rows)
    if options.figures:
        figures.draw_backup(options.figures, times)


def measure(options: argparse.Namespace) -> None:
    from simulation.frame_costs import frame_costs, link_bytes

    print("\nCosts measured on this machine: CPU time, unless said\n")
    rows = []
    for name, seconds in frame_costs(10).items():
        rows.append(
            [name, f"{seconds * 1e6:.2f} us" if "byte" not in name else f"{seconds * 1e9:.3f} ns"]
        )
    rows.append(["a link, of memory", f"{link_bytes() / 1e3:.1f} kB"])
    table(["what", "each"], rows)


COMMANDS = {"scale": scale, "null-step": null_step, "inception": inception, "backup": backup}


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=[*COMMANDS, "measure", "all"])
    parser.add_argument("--tasks", type=numbers, help="of scale, by comma")
    parser.add_argument("--workers", type=numbers, help="by comma; of backup, backup workers")
    parser.add_argument("--figures", type=Path, help="a folder for plots (SVG)")
    options = parser.parse_args()
    if options.figures:
        options.figures.mkdir(parents=True, exist_ok=True)
    if options.what == "measure":
        measure(options)
        return
    for name, command in COMMANDS.items():
        if options.what in (name, "all"):
            command(options)


if __name__ == "__main__":
    main()
