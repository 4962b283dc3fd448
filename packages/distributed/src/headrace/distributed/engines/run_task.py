"""`python -m headrace.distributed.engines.run_task SCRIPT ...` becomes a task of an engine's job.

It resolves the cluster from the environment of the engine, sets TF_CONFIG, and runs the script, or
a server if the task is a parameter server. On Kubernetes it is replaced by that program. Under MPI,
which neither starts a process again nor ends the parameter servers, it stays and does both: each
task notes its end in the folder where the addresses were exchanged.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from headrace.distributed.cluster.tasks import Task
from headrace.distributed.engines.launchers.command_lines import add_command, given_command
from headrace.distributed.engines.launchers.console import Console
from headrace.distributed.engines.launchers.job_plan import (
    PS,
    JobPlan,
    task_command,
    task_environment,
    task_label,
)
from headrace.distributed.engines.launchers.supervision import Supervision
from headrace.distributed.engines.launchers.supervisor import Supervisor
from headrace.distributed.engines.resolvers.address_exchange import ended_ranks, mark_ended
from headrace.distributed.engines.resolvers.detection import resolve
from headrace.distributed.engines.resolvers.job_sizes import sizes_of
from headrace.distributed.engines.resolvers.mpi import RENDEZVOUS, rank_and_size
from headrace.distributed.engines.resolvers.resolved_cluster import ResolvedCluster, is_chief
from headrace.formats.errors import OpError


def main(arguments: list[str] | None = None) -> int:
    """Runs the task of this process.

    Returns: the exit status of the task; 2 for an environment that does not say which task it is.
    """
    parser = argparse.ArgumentParser(
        prog="python -m headrace.distributed.engines.run_task", allow_abbrev=False
    )
    parser.add_argument("--ps-script", default="", help="what parameter servers run")
    parser.add_argument("--pass-flags", action="store_true", help="append --job_name and so on")
    parser.add_argument("--restarts", type=int, default=0, help="where the engine starts none")
    parser.add_argument("--logdir", default="", help="folder for the output of the task")
    add_command(parser)
    options = parser.parse_args(arguments)
    plan = JobPlan(
        given_command(options),
        ps_script=options.ps_script,
        pass_flags=options.pass_flags,
        restarts=options.restarts,
        logdir=options.logdir,
    )
    try:
        if not plan.command:
            parser.error("there is no script")
        cluster = resolve()
    except OpError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    task = Task(cluster.job_name, cluster.task_index)
    if cluster.engine == "mpi" and os.environ.get(RENDEZVOUS):
        return _supervise(plan, cluster, task)
    command, environ = _command(plan, cluster, task, cluster.restart_count or 0)
    print(f"headrace: {task_label(task)}, engine {cluster.engine}: {cluster.reason}", flush=True)
    os.execvpe(command[0], command, environ)


def _command(
    plan: JobPlan, cluster: ResolvedCluster, task: Task, restart: int
) -> tuple[list[str], dict[str, str]]:
    variables = task_environment(cluster.engine, cluster.cluster_def, task, restart)
    return task_command(plan, cluster.cluster_def, task), os.environ | variables


def _supervise(plan: JobPlan, cluster: ResolvedCluster, task: Task) -> int:
    """Runs a task of MPI, and starts it again when it fails.

    The rules for the end of the job are those of `Supervision`.

    Returns: the exit status, for mpiexec, whose own is then that of the job: 0 for a worker that is
      not the chief, since its failure does not end the job.
    """
    folder = Path(os.environ[RENDEZVOUS])
    rank, size = rank_and_size(os.environ)
    sizes = sizes_of(os.environ, None, size, "the number of processes")
    tasks = [Task(job, i) for job, count in sizes.items() for i in range(count)]
    training = {i for i, task in enumerate(tasks) if task.job != PS}
    needed = {i for i, task in enumerate(tasks) if task.job == PS}
    needed |= {i for i, task in enumerate(tasks) if is_chief(cluster.cluster_def, task)}

    def commands(_: Task, restart: int) -> tuple[Sequence[str], Mapping[str, str]]:
        return _command(plan, cluster, task, restart)

    def completed() -> bool:
        ended = ended_ranks(folder)
        failed = any(ended.get(i) for i in needed)
        return failed or (rank not in training and training <= ended.keys())

    console = Console([task], plan.logdir)
    try:
        supervision = Supervision([task], task, plan.restarts)
        status = Supervisor(supervision, commands, console, completed=completed).run()
    finally:
        console.close()
    mark_ended(folder, rank, status)
    return status if rank in needed else 0


if __name__ == "__main__":
    sys.exit(main())
