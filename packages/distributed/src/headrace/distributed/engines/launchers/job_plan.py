"""What `headrace-launch` is asked to start, and the command and environment of each task."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from headrace.distributed.cluster.cluster_text import cluster_to_text
from headrace.distributed.cluster.tasks import Task
from headrace.distributed.engines.resolvers.explicit import CLUSTER, ENGINE, RESTARTS
from headrace.distributed.engines.resolvers.job_sizes import cluster_of_ranks
from headrace.distributed.engines.resolvers.resolved_cluster import EVALUATOR, tf_config_text
from headrace.distributed.engines.resolvers.tf_config import TF_CONFIG
from headrace.formats.errors import InvalidArgumentError
from headrace.formats.proto.cluster_pb2 import ClusterDef

PS = "ps"
SERVER_MODULE = "headrace.distributed.command.server"


@dataclass(frozen=True)
class JobPlan:
    """A training script, and how many tasks run it.

    Attributes:
      command: the script and its arguments. A file ".py" and "-m MODULE" are run by Python.
      workers: how many tasks run the script.
      ps: how many parameter servers there are.
      chief: whether the first worker has the job `chief`, as programs for Estimators expect.
      evaluator: whether one more task, outside of the cluster, runs the script as `evaluator`.
      ps_script: a script that parameter servers run, with the arguments of `command`, instead of
        headrace-server.
      pass_flags: whether scripts get --job_name, --task_index, --ps_hosts and --worker_hosts.
      restarts: how often each task is started again after it failed.
      logdir: folder for the output of each task; "" for none.
      name: of the job, where an engine names jobs.
      env: further variables of the tasks, "NAME=VALUE".
      python: the Python that runs scripts and servers.
    """

    command: tuple[str, ...]
    workers: int = 1
    ps: int = 0
    chief: bool = False
    evaluator: bool = False
    ps_script: str = ""
    pass_flags: bool = False
    restarts: int = 3
    logdir: str = ""
    name: str = "headrace"
    env: tuple[str, ...] = ()
    python: str = sys.executable

    def sizes(self) -> dict[str, int]:
        """Returns how many tasks each job of the cluster has, in the order of ranks."""
        sizes = {PS: self.ps, "chief": int(self.chief), "worker": self.workers - int(self.chief)}
        return {job: count for job, count in sizes.items() if count}

    def tasks(self) -> list[Task]:
        """Returns the tasks of the cluster by rank, and then the evaluator."""
        tasks = [Task(job, i) for job, count in self.sizes().items() for i in range(count)]
        return [*tasks, Task(EVALUATOR, 0)] if self.evaluator else tasks

    def chief_task(self) -> Task:
        """Returns the task whose exit status is that of the job."""
        return Task("chief" if self.chief else "worker", 0)

    def variables(self) -> dict[str, str]:
        """Returns the further variables of the tasks."""
        return dict(entry.split("=", 1) for entry in self.env)

    def cluster(self, addresses: list[str]) -> ClusterDef:
        """Returns the cluster whose tasks have these addresses, by rank."""
        return cluster_of_ranks(self.sizes(), addresses)

    def check(self) -> None:
        """Raises: InvalidArgumentError for a plan that no engine can carry out."""
        if not self.command:
            raise _invalid("there is no script")
        if self.workers < 1:
            raise _invalid(f"--workers is {self.workers}: expected at least 1")
        if self.ps < 0:
            raise _invalid(f"--ps is {self.ps}: expected at least 0")
        if self.restarts < 0:
            raise _invalid(f"--restarts is {self.restarts}: expected at least 0")
        for entry in self.env:
            if not entry.partition("=")[0] or "=" not in entry:
                raise _invalid(f"--env is {entry!r}: expected NAME=VALUE")
        if self.ps_script and not self.ps:
            raise _invalid("--ps-script is given, but --ps is 0")
        if self.pass_flags and (self.chief or self.evaluator):
            raise _invalid(
                "--pass-flags knows the jobs ps and worker: leave out --chief/--evaluator"
            )


def task_label(task: Task) -> str:
    """Returns the name of a task in what a launcher prints: "worker:0"."""
    return f"{task.job}:{task.index}"


def task_command(plan: JobPlan, cluster: ClusterDef, task: Task) -> list[str]:
    """Returns the command that a task runs."""
    flags = _flags(cluster, task) if plan.pass_flags else []
    if task.job != PS:
        return [*_program(plan.command, plan.python), *flags]
    if plan.ps_script:
        arguments = plan.command[2:] if plan.command[0] == "-m" else plan.command[1:]
        return [*_program((plan.ps_script, *arguments), plan.python), *flags]
    server = [plan.python, "-m", SERVER_MODULE, "--job", task.job, "--task", str(task.index)]
    return [*server, "--cluster", cluster_to_text(cluster)]


def task_environment(engine: str, cluster: ClusterDef, task: Task, restart: int) -> dict[str, str]:
    """Returns the variables that tell a task its cluster, to be added to its environment."""
    return {
        TF_CONFIG: tf_config_text(cluster, task),
        CLUSTER: "",  # of an outer job: it would take precedence
        ENGINE: engine,
        RESTARTS: str(restart),
        "PYTHONUNBUFFERED": "1",  # output appears when it is printed
    }


def _program(command: tuple[str, ...], python: str) -> list[str]:
    if command[0].endswith(".py") or command[0] == "-m":
        return [python, *command]
    return list(command)


def _flags(cluster: ClusterDef, task: Task) -> list[str]:
    hosts = {job.name: ",".join(job.tasks[i] for i in sorted(job.tasks)) for job in cluster.job}
    return [
        f"--job_name={task.job}",
        f"--task_index={task.index}",
        f"--ps_hosts={hosts.get(PS, '')}",
        f"--worker_hosts={hosts.get('worker', '')}",
    ]


def _invalid(why: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, why)
