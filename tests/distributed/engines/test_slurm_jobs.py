"""Jobs on a Slurm of one node: steps of an allocation, and batch scripts that Slurm requeues."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from engine_environments import NEEDS_SLURM, SALLOC, engine_command
from launched_job import LAUNCH, LaunchedJob, launched, processes_of, wait_for
from stand_in_scripts import CLIENT, kill_each_job_once, supervised_job, write_scripts

pytestmark = [pytest.mark.engines, NEEDS_SLURM]


@pytest.fixture(scope="module")
def environ() -> Iterator[dict[str, str]]:
    with ExitStack() as stack:
        yield engine_command("slurm", stack)[1]


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    write_scripts(tmp_path)
    return tmp_path


def test_killed_tasks_of_an_allocation_are_started_again(
    scripts: Path, environ: dict[str, str]
) -> None:
    arguments = ["--engine", "slurm", *supervised_job(scripts)]
    with launched(arguments, scripts, environ, within=SALLOC) as job:
        kill_each_job_once(job, scripts)
    assert "begin 1 slurm 0" in job.stdout


def test_interrupt_reaches_the_tasks_before_they_are_killed(
    scripts: Path, environ: dict[str, str]
) -> None:
    work = scripts / "work.py"
    work.write_text(
        f"{CLIENT}import signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('saved'), sys.exit(1)))\n"
        "print('ready', ask(0))\ntime.sleep(1000)\n"
    )
    arguments = ["--engine", "slurm", "--ps=1", f"--ps-script={scripts / 'serve.py'}", str(work)]
    with launched(arguments, scripts, environ, within=SALLOC) as job:
        job.wait_for("ready", lambda: "ready" in job.stdout)
        launchers = Path(f"/proc/{job.process.pid}/task/{job.process.pid}/children").read_text()
        os.kill(int(launchers.split()[0]), 15)
        assert job.end() == 143, job.stdout + job.stderr
        assert "saved" in job.stdout
        wait_for(lambda: str(processes_of(scripts)), lambda: not processes_of(scripts))


def test_batch_job_is_submitted_and_its_status_is_the_chiefs(
    scripts: Path, environ: dict[str, str]
) -> None:
    (scripts / "work.py").write_text(f"{CLIENT}print('asked', ask(0))\nraise SystemExit(6)\n")
    output = scripts / "output"
    options = ["--engine=slurm", "--wait", "--restarts=0", "--engine-option=--overcommit"]
    options += [f"--engine-option=--output={output}", *supervised_job(scripts)]
    with launched(options, scripts, environ) as job:
        assert job.end() == 6, job.stderr + output.read_text()
    assert "Submitted batch job" in job.stdout
    assert "worker:0 | asked ps 0" in output.read_text()


def test_requeued_job_counts_its_restarts(scripts: Path, environ: dict[str, str]) -> None:
    output = scripts / "output"
    options = ["--engine=slurm", "--engine-option=--overcommit"]
    options += [f"--engine-option=--output={output}", *supervised_job(scripts)]
    submitted = subprocess.run(
        [*LAUNCH, *options], cwd=scripts, env=environ, capture_output=True, text=True, timeout=50
    )
    number = re.search(r"Submitted batch job (\d+)", submitted.stdout)
    assert number, submitted
    wait_for_output(output, "begin 0 slurm 0", "begin 1 slurm 0")
    subprocess.run(["scontrol", "requeue", number[1]], env=environ, check=True, timeout=50)
    wait_for_output(output, "begin 0 slurm 1", "begin 1 slurm 1")
    (scripts / "end").touch()
    wait_for_output(output, "ps:0 stopped, worker:0 ended, worker:1 ended")
    wait_for(lambda: str(processes_of(scripts)), lambda: not processes_of(scripts))


def wait_for_output(output: Path, *texts: str) -> None:
    def there() -> bool:
        return output.exists() and all(text in output.read_text() for text in texts)

    wait_for(lambda: f"{texts} in {output.read_text() if output.exists() else 'no output'}", there)


def test_script_finds_its_cluster_under_srun_alone(scripts: Path, environ: dict[str, str]) -> None:
    (scripts / "work.py").write_text(
        f"{CLIENT}\nprint(cluster.job_name, me := cluster.task_index)\n"
    )
    (scripts / "train.py").write_text(
        "from headrace.distributed.engines import resolve\n"
        "c = resolve()\n"
        "print(c.engine, c.job_name, c.task_index, c.is_chief, c.master)\n"
    )
    srun = ["srun", "--ntasks=3", "--overcommit", LAUNCH[0], str(scripts / "train.py")]
    job = LaunchedJob(srun, environ | {"HEADRACE_JOBS": "ps=1,worker=2"}, scripts)
    try:
        assert job.end() == 0, job.stderr
    finally:
        job.close()
    lines = sorted(line.rpartition(":") for line in job.stdout.splitlines())
    assert [line[0].partition(" grpc://")[0] for line in lines] == [
        "slurm ps 0 False",
        "slurm worker 0 True",
        "slurm worker 1 False",
    ]
    ports = [int(line[2]) for line in lines]
    assert ports == [ports[0], ports[0] + 1, ports[0] + 2]
