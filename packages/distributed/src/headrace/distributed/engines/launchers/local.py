"""A job as processes of this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from headrace.distributed.cluster.tasks import Task
from headrace.distributed.engines.launchers.console import Console
from headrace.distributed.engines.launchers.job_plan import JobPlan, task_command, task_environment
from headrace.distributed.engines.launchers.supervision import Supervision
from headrace.distributed.engines.launchers.supervisor import GRACE_S, Supervisor
from headrace.distributed.engines.resolvers.port_reservation import reserving_socket

_HOST = "127.0.0.1"


def launch_local(plan: JobPlan, grace_s: float = GRACE_S) -> int:
    """Runs a job on loopback addresses; called in the main thread.

    The ports stay reserved until the job ends, also while a task is started again.

    Returns: the exit status of the chief; 128 + N after the signal N.
    """
    tasks = plan.tasks()
    with ExitStack() as stack:
        addresses = []
        for _ in range(sum(plan.sizes().values())):
            reserving = stack.enter_context(reserving_socket(_HOST))
            addresses.append(f"{_HOST}:{reserving.getsockname()[1]}")
        cluster = plan.cluster(addresses)

        def commands(task: Task, restart: int) -> tuple[Sequence[str], Mapping[str, str]]:
            variables = plan.variables() | task_environment("local", cluster, task, restart)
            return task_command(plan, cluster, task), os.environ | variables

        console = Console(tasks, plan.logdir)
        stack.callback(console.close)
        supervision = Supervision(tasks, plan.chief_task(), plan.restarts)
        return Supervisor(supervision, commands, console, grace_s).run()
