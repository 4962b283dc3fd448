"""A job on Slurm: submitted as a batch script, or as steps of the allocation that this process has.

The batch script runs headrace-launch again, within the allocation. There each task is a job step of
its own (`srun`), so that a task that dies is started again as a new step while the others go on;
when a node dies or the job is preempted, Slurm requeues the whole job.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence

from headrace.distributed.cluster.tasks import Task
from headrace.distributed.engines.launchers.child_processes import ChildProcess
from headrace.distributed.engines.launchers.command_lines import launch_arguments
from headrace.distributed.engines.launchers.console import Console
from headrace.distributed.engines.launchers.job_plan import (
    JobPlan,
    task_command,
    task_environment,
)
from headrace.distributed.engines.launchers.job_token import token_variables
from headrace.distributed.engines.launchers.supervision import Supervision
from headrace.distributed.engines.launchers.supervisor import GRACE_S, Supervisor
from headrace.distributed.engines.resolvers.hostlist import expand_counts, expand_hostlist
from headrace.distributed.engines.resolvers.slurm import RESTART_COUNT, first_port
from headrace.distributed.engines.resolvers.variables import Environment, number, text
from headrace.formats.errors import UnavailableError

JOB_ID = "SLURM_JOB_ID"
_COMMAND_TIMEOUT_S = 30


def within_allocation(environ: Environment) -> bool:
    """Says whether a process runs within an allocation: in a batch script, or under salloc."""
    return bool(environ.get(JOB_ID))


def batch_script(plan: JobPlan, options: Sequence[str] = ()) -> str:
    """Returns a script for sbatch.

    Args:
      options: more options of sbatch, such as "--partition=gpu".
    """
    directives = [
        f"--job-name={plan.name}",
        f"--ntasks={len(plan.tasks())}",
        "--requeue",
        "--open-mode=append",
        *options,
    ]
    lines = [f"#SBATCH {option}" for option in directives]
    command = [plan.python, "-m", "headrace.distributed.command.launch"]
    command += ["--engine", "slurm", *launch_arguments(plan)]
    return "\n".join(["#!/bin/bash", *lines, "", f"exec {shlex.join(command)}", ""])


def submit(script: str, wait: bool) -> int:
    """Submits a batch script and prints sbatch's answer.

    Args:
      wait: whether to wait for the end of the job.
    Returns: the exit status of sbatch, which with `wait` is that of the job.
    Raises: UnavailableError if there is no sbatch.
    """
    command = ["sbatch", *(["--wait"] if wait else [])]
    try:
        return subprocess.run(command, input=script, text=True).returncode
    except FileNotFoundError:
        raise UnavailableError(
            None,
            None,
            "there is no program sbatch: run this on a host of the Slurm cluster,"
            " or write the script with --output FILE",
        ) from None


def task_nodes(plan: JobPlan, environ: Environment) -> list[tuple[str, int]]:
    """Returns a node for each task, and its place on that node.

    Nodes are filled in their order up to the number of tasks that Slurm allocated on each; what is
    left over is dealt out in turn.

    Raises: InvalidArgumentError for variables that are missing or malformed.
    """
    nodes = expand_hostlist(text(environ, "SLURM_JOB_NODELIST", "the nodes of the allocation"))
    counts = expand_counts(environ.get("SLURM_TASKS_PER_NODE") or f"1(x{len(nodes)})")
    order = [node for node, n in zip(nodes, counts, strict=False) for _ in range(n)]
    tasks = len(plan.tasks())
    order += [nodes[i % len(nodes)] for i in range(tasks - len(order))]
    return [(node, order[:i].count(node)) for i, node in enumerate(order[:tasks])]


def launch_steps(plan: JobPlan, environ: Environment, grace_s: float = GRACE_S) -> int:
    """Runs a job in the allocation of this process, as one step for each task.

    Returns: the exit status of the chief; 128 + N after the signal N.
    Raises: InvalidArgumentError for variables that are missing or malformed.
    """
    tasks, places = plan.tasks(), task_nodes(plan, environ)
    port = first_port(environ)
    ranks = sum(plan.sizes().values())
    cluster = plan.cluster([f"{node}:{port + place}" for node, place in places[:ranks]])
    token = token_variables(environ)
    requeued = number(environ, RESTART_COUNT, "how often Slurm requeued the job", 0)

    def commands(task: Task, restart: int) -> tuple[Sequence[str], Mapping[str, str]]:
        node, _ = places[tasks.index(task)]
        variables = plan.variables() | token
        variables |= task_environment("slurm", cluster, task, requeued + restart)
        command = [*_srun(node, _step_name(task)), *task_command(plan, cluster, task)]
        return command, os.environ | variables

    def stop(task: Task, child: ChildProcess, signal_number: int) -> None:
        # srun answers SIGTERM by killing its step; scancel passes a signal on to the task.
        step = None
        if signal_number != signal.SIGKILL:
            step = _step_id(environ[JOB_ID], _step_name(task))
        if step is None:
            child.kill(signal_number)
        else:
            name = signal.Signals(signal_number).name
            subprocess.run(["scancel", f"--signal={name}", step], timeout=_COMMAND_TIMEOUT_S)

    console = Console(tasks, plan.logdir)
    try:
        supervision = Supervision(tasks, plan.chief_task(), plan.restarts)
        return Supervisor(supervision, commands, console, grace_s, stop).run()
    finally:
        console.close()


def _srun(node: str, name: str) -> list[str]:
    # --overlap: the steps share the processors of the allocation, as the tasks of one machine do.
    return [
        *("srun", "--nodes=1", "--ntasks=1", f"--nodelist={node}", "--overlap"),
        *(f"--job-name={name}", "--unbuffered", "--quiet", "--export=ALL"),
    ]


def _step_name(task: Task) -> str:
    return f"{task.job}-{task.index}"


def _step_id(job: str, name: str) -> str | None:
    """Returns the running step of a name, "12.3"."""
    listed = subprocess.run(
        ["squeue", "--steps", "--noheader", f"--jobs={job}", "--format=%i %j"],
        capture_output=True,
        text=True,
        timeout=_COMMAND_TIMEOUT_S,
    )
    for line in listed.stdout.splitlines():
        step, _, step_name = line.partition(" ")
        if step_name == name:
            return step
    return None
