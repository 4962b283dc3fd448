"""Jobs of mpiexec."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from engine_environments import NEEDS_MPI
from launched_job import launched, processes_of, wait_for
from stand_in_scripts import CLIENT, kill_each_job_once, supervised_job, write_scripts

pytestmark = [pytest.mark.engines, NEEDS_MPI]


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    write_scripts(tmp_path)
    return tmp_path


def test_killed_tasks_are_started_again(scripts: Path) -> None:
    with launched(["--engine", "mpi", *supervised_job(scripts)], scripts) as job:
        kill_each_job_once(job, scripts)
    assert "worker:0 | begin 0 mpi 0" in job.stdout


@pytest.mark.parametrize(("failing", "status"), [(0, 6), (1, 0)])
def test_status_is_the_chiefs(scripts: Path, failing: int, status: int) -> None:
    (scripts / "work.py").write_text(
        f"{CLIENT}print('asked', ask(0))\n"
        f"if cluster.task_index == {failing}: raise SystemExit(6)\n"
        "if not cluster.is_chief: time.sleep(1000)\n"
    )
    arguments = ["--engine", "mpi", "--restarts", "1", *supervised_job(scripts)]
    with launched(arguments, scripts) as job:
        assert job.end() == status, job.stderr
    assert f"worker:{failing} exited with status 6: not started again" in job.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_interrupted_launcher_leaves_no_process(scripts: Path, number: signal.Signals) -> None:
    with launched(["--engine", "mpi", *supervised_job(scripts)], scripts) as job:
        job.wait_for("workers", lambda: "begin 0" in job.stdout and "begin 1" in job.stdout)
        os.kill(job.process.pid, number)
        assert job.end() == (143 if number == signal.SIGTERM else -number)
        wait_for(lambda: str(processes_of(scripts)), lambda: not processes_of(scripts))


def test_folder_for_the_exchange_may_be_given(scripts: Path) -> None:
    (scripts / "work.py").write_text("print('done')\n")
    (scripts / "shared").mkdir()
    arguments = ["--engine=mpi", "--shared-folder=shared", str(scripts / "work.py")]
    with launched(arguments, scripts) as job:
        assert job.end() == 0, job.stderr
    assert list((scripts / "shared").iterdir()) == []
