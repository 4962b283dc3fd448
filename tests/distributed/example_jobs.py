"""Jobs of examples/distributed: tasks as processes, and what they print and log."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
from cluster_processes import PATIENCE_S, free_ports

import headrace.graph as tf
from headrace.formats.event_file import event_files, read_events

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = EXAMPLES / "distributed"
sys.path[:0] = [str(EXAMPLES), str(SCRIPTS), str(EXAMPLES.parent / "tests" / "end_to_end")]
import digits_data  # noqa: E402

# Options of language_model.py that make a step take some milliseconds.
SMALL_LANGUAGE = "--characters 60000 --words 300 --units 16 --time 8 --batch 8 --samples 20".split()
SMALL_LANGUAGE += ["--text", str(EXAMPLES.parent / "packages" / "graph")]


def run_job(
    line: list[str],
    folder: Path,
    n_ps: int,
    n_workers: int,
    env: dict[str, str] | None = None,
    chief_ready: Callable[[], bool] = lambda: True,
) -> str:
    """Runs a program as all tasks of a job, which flags name.

    Args:
      line: Python, script and arguments.
      folder: of what the tasks print.
      chief_ready: when the workers beside the chief are started.
    Returns: what the workers printed.
    """
    ports = free_ports(n_ps + n_workers)
    hosts = {"ps": ports[:n_ps], "worker": ports[n_ps:]}
    flags = [f"--{job}_hosts={','.join(f'127.0.0.1:{p}' for p in hosts[job])}" for job in hosts]
    processes: dict[tuple[str, int], subprocess.Popen[bytes]] = {}
    folder.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + 3 * PATIENCE_S
    try:
        for job in hosts:
            for i in range(len(hosts[job])):
                while (job, i) == ("worker", 1) and not chief_ready():
                    assert time.monotonic() < deadline and processes["worker", 0].poll() is None
                    time.sleep(0.02)
                with (folder / f"{job}-{i}.log").open("wb") as output:
                    processes[job, i] = subprocess.Popen(
                        [*line, *flags, f"--job_name={job}", f"--task_index={i}"],
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        env={**os.environ, **(env or {})},
                    )
        printed = ""
        for i in range(n_workers):
            status = processes["worker", i].wait(max(1.0, deadline - time.monotonic()))
            printed += (folder / f"worker-{i}.log").read_text()
            assert status == 0, printed
        return printed
    finally:
        for process in processes.values():
            process.kill()
            process.wait()


def own_steps(printed: str) -> list[int]:
    """Returns: how many steps each worker made."""
    found = re.findall(r"worker (\d): (\d+) steps of its own", printed)
    return [int(steps) for _, steps in sorted(found)]


def saved_step(folder: Path) -> int:
    """Returns: the step of the newest checkpoint; -1 without one."""
    latest = tf.train.latest_checkpoint(str(folder))
    return int(latest.rpartition("-")[2]) if latest else -1


def chief_losses(logdir: Path) -> dict[int, float]:
    """Returns: the logged losses of the chief's batches by the step as it was afterwards."""
    found = {}
    for path in event_files(logdir):
        for event in read_events(path):
            for value in event.summary.value:
                if value.tag == "training/loss":
                    found[event.step] = value.simple_value
    return found


def distributed_digits() -> ModuleType:
    """Imports examples/distributed/digits.py; examples/digits.py has its name."""
    spec = spec_from_file_location("distributed_digits", SCRIPTS / "digits.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def losses_of_one_process(data: Path, checkpoint: Path, steps: int, n_workers: int) -> list[float]:
    """Trains in this process on the batches of all workers together.

    Args:
      checkpoint: the values to begin with.
    Returns: the losses of the chief's batches.
    """
    module = distributed_digits()
    options = module.between_graph.parser("digits", "Digits.", steps, 64).parse_args([])
    with tf.Graph().as_default(), tf.Session() as session:
        step = tf.train.get_or_create_global_step()
        model = module.build_model(options, *digits_data.read_digits(data))
        update = model.optimizer.apply_gradients(model.gradients, global_step=step)
        tf.train.Saver().restore(session, str(checkpoint))
        losses = []
        for number in range(steps):
            feeds = [model.feed(number, replica) for replica in range(n_workers)]
            losses.append(session.run(model.loss, feeds[0]))
            together = {key: np.concatenate([feed[key] for feed in feeds]) for key in feeds[0]}
            session.run(update, together)
    return losses
