"""Jobs as actors of a Ray of this machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from engine_environments import NEEDS_RAY, ray_environment
from launched_job import launched, processes_of, wait_for
from stand_in_scripts import CLIENT, kill_each_job_once, supervised_job, write_scripts

pytestmark = [pytest.mark.engines, NEEDS_RAY]


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    write_scripts(tmp_path)
    return tmp_path


@pytest.fixture
def environ() -> Iterator[dict[str, str]]:
    with ExitStack() as stack:
        yield ray_environment(stack)


@pytest.mark.parametrize("killed", ["the task", "the actor"])
def test_killed_tasks_are_started_again_by_ray(
    scripts: Path, environ: dict[str, str], killed: str
) -> None:
    with launched(["--engine", "ray", *supervised_job(scripts)], scripts, environ) as job:
        kill_each_job_once(job, scripts, parent=killed == "the actor")
    assert "ps:0 stopped" in job.stderr
    assert "begin 1 ray 0" in job.stdout


def test_status_is_the_chiefs(scripts: Path, environ: dict[str, str]) -> None:
    (scripts / "work.py").write_text(
        f"{CLIENT}import sys\n"
        "if cluster.task_index == 0: print('asked', ask(0)); sys.exit(6)\n"
        "time.sleep(1000)\n"
    )
    arguments = ["--engine", "ray", "--restarts", "1", *supervised_job(scripts)]
    with launched(arguments, scripts, environ) as job:
        assert job.end() == 6, job.stderr
    assert "worker:0 exited with status 6: Ray starts it again" in job.stderr
    assert "worker:0 has failed for good: stopping all tasks" in job.stderr


def test_interrupted_launcher_stops_the_tasks(scripts: Path, environ: dict[str, str]) -> None:
    (scripts / "work.py").write_text(
        f"{CLIENT}\ntry:\n    print('ready', ask(0)); time.sleep(1000)\n"
        "finally:\n    print('saved')\n"
    )
    with launched(["--engine", "ray", *supervised_job(scripts)], scripts, environ) as job:
        job.wait_for("ready", lambda: job.stdout.count("ready") == 2)
        os.kill(job.process.pid, signal.SIGINT)
        assert job.end() == 130
        wait_for(lambda: str(processes_of(scripts)), lambda: not processes_of(scripts))
    assert "worker:0 stopped, worker:1 stopped" in job.stderr
    assert job.stdout.count("saved") == 2
