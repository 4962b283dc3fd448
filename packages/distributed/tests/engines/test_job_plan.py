"""Which tasks a job has, and what each of them runs."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from headrace.distributed.cluster.tasks import Task
from headrace.distributed.command import launch
from headrace.distributed.engines import resolve
from headrace.distributed.engines.launchers.job_plan import (
    JobPlan,
    task_command,
    task_environment,
)
from headrace.formats.errors import InvalidArgumentError

PY = sys.executable


def plan(*command: str, **fields: Any) -> JobPlan:
    return JobPlan(command or ("train.py", "--steps", "3"), **fields)


def test_ranks_go_to_parameter_servers_first() -> None:
    job = plan(workers=2, ps=2)
    assert job.sizes() == {"ps": 2, "worker": 2}
    assert job.tasks() == [Task("ps", 0), Task("ps", 1), Task("worker", 0), Task("worker", 1)]
    assert job.chief_task() == Task("worker", 0)


def test_chief_is_one_of_the_workers_and_the_evaluator_is_outside() -> None:
    job = plan(workers=2, ps=1, chief=True, evaluator=True)
    assert job.sizes() == {"ps": 1, "chief": 1, "worker": 1}
    assert job.tasks()[-1] == Task("evaluator", 0)
    assert job.chief_task() == Task("chief", 0)
    cluster = job.cluster(["p:1", "c:1", "w:1"])
    found = resolve(environ=task_environment("local", cluster, Task("evaluator", 0), 0))
    assert (found.job_name, found.master) == ("evaluator", "")
    assert plan(chief=True).sizes() == {"chief": 1}


def test_each_task_finds_itself_in_its_environment() -> None:
    job = plan(workers=2, ps=1)
    cluster = job.cluster(["p:1", "a:1", "b:1"])
    outer = {"HEADRACE_CLUSTER": "worker=x:1", "HEADRACE_JOB": "worker", "HEADRACE_TASK": "0"}
    for task in job.tasks():
        found = resolve(environ=outer | task_environment("local", cluster, task, 2))
        assert (found.job_name, found.task_index) == (task.job, task.index)
        assert (found.engine, found.restart_count) == ("local", 2)
        assert found.cluster_def == cluster


@pytest.mark.parametrize(
    ("job", "task", "command"),
    [
        (plan(), Task("worker", 1), [PY, "train.py", "--steps", "3"]),
        (plan("-m", "a.train", "x"), Task("worker", 0), [PY, "-m", "a.train", "x"]),
        (plan("./train", "x"), Task("worker", 0), ["./train", "x"]),
        (
            plan(),
            Task("ps", 0),
            [
                *(PY, "-m", "headrace.distributed.command.server"),
                *("--job", "ps", "--task", "0", "--cluster", "ps=p:1,worker=a:1|b:1"),
            ],
        ),
        (plan(ps_script="serve.py"), Task("ps", 0), [PY, "serve.py", "--steps", "3"]),
        (plan("-m", "a", "x", ps_script="serve.py"), Task("ps", 0), [PY, "serve.py", "x"]),
        (
            plan("train.py", pass_flags=True, ps_script="train.py"),
            Task("ps", 0),
            [
                *(PY, "train.py", "--job_name=ps", "--task_index=0"),
                *("--ps_hosts=p:1", "--worker_hosts=a:1,b:1"),
            ],
        ),
        (
            plan("train.py", "x", pass_flags=True),
            Task("worker", 1),
            [
                *(PY, "train.py", "x", "--job_name=worker", "--task_index=1"),
                *("--ps_hosts=p:1", "--worker_hosts=a:1,b:1"),
            ],
        ),
    ],
)
def test_command_of_a_task(job: JobPlan, task: Task, command: list[str]) -> None:
    cluster = plan(workers=2, ps=1).cluster(["p:1", "a:1", "b:1"])
    assert task_command(job, cluster, task) == command


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "there is no script"),
        (["--workers", "0", "x.py"], "--workers is 0"),
        (["--ps", "-1", "x.py"], "--ps is -1"),
        (["--restarts", "-1", "x.py"], "--restarts is -1"),
        (["--ps-script", "y.py", "x.py"], "--ps-script is given, but --ps is 0"),
        (["--pass-flags", "--chief", "x.py"], "leave out --chief"),
        (["--env", "A", "x.py"], "--env is 'A': expected NAME=VALUE"),
        (["--image", "i", "x.py"], "--image is given, but --engine is local: it is for kubernetes"),
        (["--engine=mpi", "--cpus=2", "x.py"], "it is for ray and slurm and kubernetes"),
        (["--engine=mpi", "--evaluator", "x.py"], "--evaluator is given, but --engine mpi"),
    ],
)
def test_command_rejects_what_does_not_fit(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert launch.main(arguments) == 2
    assert why in capsys.readouterr().err


def test_options_after_the_script_are_the_scripts() -> None:
    for command in (["x.py", "--workers", "3", "--ps"], ["-m", "x", "--workers", "3", "-m", "y"]):
        for separator in ([], ["--"]) if command[0] != "-m" else ([],):
            arguments = ["--workers", "2", *separator, *command]
            plan = launch._plan(launch._parser().parse_args(arguments))
            assert (plan.workers, plan.command) == (2, tuple(command))


def test_plan_checks_that_tasks_exist() -> None:
    with pytest.raises(InvalidArgumentError, match="there is no script"):
        JobPlan(()).check()
