"""A job as processes of mpiexec.

mpiexec starts one `run_task` for each rank; these learn each other's addresses through a folder
that all hosts see, and start their task again when it dies, which MPI itself does not do.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from headrace.distributed.cluster.tasks import Task
from headrace.distributed.engines.launchers.command_lines import run_task_command
from headrace.distributed.engines.launchers.console import Console
from headrace.distributed.engines.launchers.job_plan import JobPlan
from headrace.distributed.engines.launchers.job_token import token_variables
from headrace.distributed.engines.launchers.supervision import Supervision
from headrace.distributed.engines.launchers.supervisor import GRACE_S, Supervisor
from headrace.distributed.engines.resolvers.explicit import CLUSTER
from headrace.distributed.engines.resolvers.job_sizes import JOBS, sizes_to_text
from headrace.distributed.engines.resolvers.mpi import RENDEZVOUS
from headrace.distributed.engines.resolvers.tf_config import TF_CONFIG
from headrace.formats.errors import InvalidArgumentError, UnavailableError

_MPIEXEC = Task("mpiexec", 0)


def mpiexec_program() -> str:
    """Returns the mpiexec to run: that of this Python's environment, or the first of PATH.

    Raises: UnavailableError if there is none.
    """
    beside = Path(sys.executable).with_name("mpiexec")
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        raise UnavailableError(
            None,
            None,
            "there is no program mpiexec: install an MPI, such as headrace-distributed[mpi]",
        )
    return found


def launch_mpi(
    plan: JobPlan, options: Sequence[str] = (), folder: str = "", grace_s: float = GRACE_S
) -> int:
    """Runs a job under mpiexec; called in the main thread.

    Args:
      options: more options of mpiexec, such as "--hostfile=hosts".
      folder: seen by all hosts, for the exchange of addresses; "" for a temporary one of this host.
    Returns: the exit status of mpiexec; 128 + N after the signal N.
    Raises: InvalidArgumentError for an evaluator; UnavailableError if there is no mpiexec.
    """
    if plan.evaluator:
        raise InvalidArgumentError(
            None, None, "--evaluator is given, but --engine mpi starts tasks of the cluster only"
        )
    size = sum(plan.sizes().values())
    command = [mpiexec_program(), "-n", str(size), *options, *run_task_command(plan)]
    token = token_variables(os.environ)
    with tempfile.TemporaryDirectory(prefix="headrace-", dir=folder or None) as exchange:

        def commands(task: Task, restart: int) -> tuple[Sequence[str], Mapping[str, str]]:
            variables = plan.variables() | token
            return command, os.environ | variables | {
                JOBS: sizes_to_text(plan.sizes()),
                RENDEZVOUS: exchange,
                CLUSTER: "",
                TF_CONFIG: "",
            }

        # The tasks write their names before their output themselves.
        console = Console([_MPIEXEC], named=False)
        try:
            supervision = Supervision([_MPIEXEC], _MPIEXEC, restarts=0)
            return Supervisor(supervision, commands, console, grace_s).run()
        finally:
            console.close()
