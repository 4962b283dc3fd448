"""A process of an engine becomes its task."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

RUN_TASK = [sys.executable, "-m", "headrace.distributed.engines.run_task"]
POD = {
    "JOB_COMPLETION_INDEX": "1",
    "HOSTNAME": "train-1",
    "HEADRACE_JOBS": "ps=1,worker=1",
    "HEADRACE_RESTART_COUNT": "2",
}


def run(arguments: list[str], variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RUN_TASK, *arguments],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "train.py"
    path.write_text(
        "import os, sys\n"
        "print(os.environ['TF_CONFIG'])\n"
        "names = ['HEADRACE_RESTART_COUNT', 'HEADRACE_ENGINE']\n"
        "print(*(os.environ[name] for name in names), *sys.argv[1:])\n"
        "sys.exit(5)\n"
    )
    return str(path)


def test_pod_runs_the_script_with_its_cluster(script: str) -> None:
    done = run([script, "--rate", "1"], POD)
    assert done.returncode == 5, done.stderr
    said, config, rest = done.stdout.splitlines()
    assert (
        said == "headrace: worker:0, engine kubernetes: JOB_COMPLETION_INDEX is set: the Job train"
    )
    assert json.loads(config) == {
        "cluster": {"ps": ["train-0.train:2222"], "worker": ["train-1.train:2222"]},
        "task": {"type": "worker", "index": 0},
        "environment": "cloud",
    }
    assert rest == "2 kubernetes --rate 1"


def test_parameter_server_runs_the_script_for_servers(script: str) -> None:
    first = POD | {"JOB_COMPLETION_INDEX": "0", "HOSTNAME": "train-0"}
    done = run(["--ps-script", script, "other.py", "x"], first)
    assert done.returncode == 5, done.stderr
    assert done.stdout.splitlines()[-1] == "2 kubernetes x"


def test_environment_that_says_too_little(script: str) -> None:
    done = run([script], POD | {"HEADRACE_JOBS": ""})
    assert done.returncode == 2
    assert "HEADRACE_JOBS is not set" in done.stderr
    done = run([], POD)
    assert done.returncode == 2
    assert "there is no script" in done.stderr


def test_rank_of_mpi_starts_its_task_again_and_notes_its_end(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import sys\nfrom headrace.distributed.engines import resolve\n"
        "c = resolve()\nprint(c.engine, c.job_name, c.restart_count)\n"
        "sys.exit(0 if c.restart_count else 3)\n"
    )
    environ = {
        "PMI_RANK": "0",
        "PMI_SIZE": "1",
        "MPI_LOCALNRANKS": "1",
        "HEADRACE_RENDEZVOUS": str(tmp_path / "exchange"),
    }
    done = run(["--restarts=1", str(script)], environ)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "worker:0 | mpi worker 0\nworker:0 | mpi worker 1\n"
    assert (tmp_path / "exchange" / "ended-0").exists()
