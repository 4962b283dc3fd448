"""One unchanged training program trains on every engine, and survives the loss of its tasks."""

from __future__ import annotations

import os
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from engine_environments import ENGINES, engine_command
from launched_job import LaunchedJob, launched, wait_for

PROGRAM = Path(__file__).with_name("training_on_engine.py")


@pytest.fixture(params=ENGINES)
def engine(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[str, list[str], dict[str, str]]]:
    """The name of an engine, the command within which headrace-launch runs, and its environment."""
    with ExitStack() as stack:
        command, environ = engine_command(request.param, stack)
        yield request.param, command, environ


def steps_of(job: LaunchedJob, worker: int) -> list[int]:
    """Returns the global steps that a worker printed."""
    found = re.findall(rf"worker {worker} steps \d+ global (\d+)", job.stdout)
    return [int(step) for step in found]


def test_training_survives_the_loss_of_a_worker_and_of_a_parameter_server(
    tmp_path: Path, engine: tuple[str, list[str], dict[str, str]]
) -> None:
    name, within, environ = engine
    program = shutil.copy(PROGRAM, tmp_path / "train.py")  # its path marks the processes
    options = ["--engine", name, "--workers", "2", "--ps", "1"]
    with launched([*options, program, str(tmp_path)], tmp_path, environ, within) as job:
        job.wait_for("training", lambda: all(len(steps_of(job, i)) > 2 for i in range(2)))
        (first,) = re.findall(r"begin 1 pid (\d+)", job.stdout)
        os.kill(int(first), signal.SIGKILL)
        job.wait_for("the worker again", lambda: len(re.findall("begin 1 pid", job.stdout)) == 2)
        reached = len(steps_of(job, 1))
        job.wait_for("its steps", lambda: len(steps_of(job, 1)) > reached + 1)

        (server,) = server_processes(job)
        os.kill(server, signal.SIGKILL)
        job.wait_for("another server", lambda: job.stdout.count("/job:ps/task:0 serves") == 2)
        reached_by = [len(steps_of(job, i)) for i in range(2)]
        job.wait_for(
            "steps with it",
            lambda: all(len(steps_of(job, i)) > reached_by[i] + 2 for i in range(2)),
        )
        (tmp_path / "end").touch()
        assert job.end() == 0, job.stdout + job.stderr
    wait_for("the end of the servers", lambda: not server_processes(job))
    losses = re.findall(r"finished \d loss ([\d.]+)", job.stdout)
    assert len(losses) == 2
    assert all(float(loss) < 1.0 for loss in losses), "9.0 at the start"


def server_processes(job: LaunchedJob) -> list[int]:
    """Returns the processes of the parameter server, found by its address."""
    address = re.findall(r"/job:ps/task:0 serves grpc://(\S+)", job.stdout)[0]
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().split(b"\0")
            except (FileNotFoundError, ProcessLookupError):
                continue
            of_server = b"headrace.distributed.command.server" in command[1:3]
            if of_server and any(f"ps={address}".encode() in part for part in command):
                found.append(int(entry.name))
    return found
