"""Batch scripts for Slurm, and where the tasks of an allocation go."""

from __future__ import annotations

import shlex

import pytest

from headrace.distributed.command import launch
from headrace.distributed.engines.launchers.command_lines import launch_arguments
from headrace.distributed.engines.launchers.job_plan import JobPlan
from headrace.distributed.engines.launchers.slurm import (
    batch_script,
    task_nodes,
    within_allocation,
)
from headrace.formats.errors import InvalidArgumentError

PLAN = JobPlan(
    ("train.py", "a b", "--ps", "$HOME"),
    workers=3,
    ps=2,
    chief=True,
    evaluator=True,
    ps_script="serve it.py",
    restarts=7,
    logdir="/log dir",
    name="digits",
    env=("A=1 2", "B="),
)


def test_batch_script_launches_the_same_plan() -> None:
    script = batch_script(PLAN, ["--partition=gpu"])
    lines = script.splitlines()
    assert lines[0] == "#!/bin/bash"
    assert lines[1:6] == [
        "#SBATCH --job-name=digits",
        "#SBATCH --ntasks=6",
        "#SBATCH --requeue",
        "#SBATCH --open-mode=append",
        "#SBATCH --partition=gpu",
    ]
    words = shlex.split(lines[-1])
    assert words[:4] == ["exec", PLAN.python, "-m", "headrace.distributed.command.launch"]
    options = launch._parser().parse_args(words[4:])
    assert options.engine == "slurm"
    assert launch._plan(options) == PLAN


@pytest.mark.parametrize(
    "plan", [PLAN, JobPlan(("-m", "a.b", "x")), JobPlan(("x.py",), ps=1, pass_flags=True)]
)
def test_arguments_make_the_same_plan_again(plan: JobPlan) -> None:
    assert launch._plan(launch._parser().parse_args(launch_arguments(plan))) == plan


@pytest.mark.parametrize(
    ("nodes", "counts", "expected"),
    [
        ("a", "3", [("a", 0), ("a", 1), ("a", 2)]),
        ("n[1-2]", "2,1", [("n1", 0), ("n1", 1), ("n2", 0)]),
        ("n[1-3]", "1(x3)", [("n1", 0), ("n2", 0), ("n3", 0)]),
        ("n[1-3]", "2(x3)", [("n1", 0), ("n1", 1), ("n2", 0)]),
        # fewer than there are tasks: salloc without --ntasks
        ("n[1-2]", "1(x2)", [("n1", 0), ("n2", 0), ("n1", 1)]),
        ("n[1-2]", "", [("n1", 0), ("n2", 0), ("n1", 1)]),
    ],
)
def test_tasks_fill_the_nodes_of_an_allocation(
    nodes: str, counts: str, expected: list[tuple[str, int]]
) -> None:
    environ = {"SLURM_JOB_NODELIST": nodes, "SLURM_TASKS_PER_NODE": counts}
    assert task_nodes(JobPlan(("x.py",), workers=2, ps=1), environ) == expected


def test_allocation_without_nodes_is_an_error() -> None:
    with pytest.raises(InvalidArgumentError, match="SLURM_JOB_NODELIST is not set"):
        task_nodes(PLAN, {"SLURM_JOB_ID": "1"})
    assert within_allocation({"SLURM_JOB_ID": "1"})
    assert not within_allocation({})


def test_script_is_written_instead_of_submitted(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--engine", "slurm", "--output", "-", "--cpus", "4", "--engine-option=--mem=8G"]
    assert launch.main([*arguments, "x.py"]) == 0
    text = capsys.readouterr().out
    assert "#SBATCH --cpus-per-task=4\n#SBATCH --mem=8G\n" in text


def test_missing_programs_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert launch.main(["--engine", "slurm", "x.py"]) == 2
    assert "there is no program sbatch" in capsys.readouterr().err
