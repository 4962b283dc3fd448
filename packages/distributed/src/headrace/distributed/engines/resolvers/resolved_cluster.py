"""What a resolver returns: the cluster, and this process' task in it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from headrace.distributed.cluster.tasks import Task, address_of, tasks_of
from headrace.formats.errors import InvalidArgumentError
from headrace.formats.proto.cluster_pb2 import ClusterDef

CHIEF_JOBS = ("chief", "master")
EVALUATOR = "evaluator"


@dataclass(frozen=True)
class ResolvedCluster:
    """A cluster and a task in it.

    Attributes:
      engine: the resolver that read the environment, such as "slurm"; "none" outside of engines.
      reason: why this resolver was chosen, and where the cluster came from.
      cluster_def: all tasks; empty for one local process and for an evaluator.
      job_name: job of this process: `train.Server(cluster_def, job_name, task_index)`.
      task_index: index of this process within its job.
      is_chief: whether this process initializes variables and writes checkpoints.
      master: target for a session: "grpc://HOST:PORT" of this task; "" where the cluster has no
        other task, as in TensorFlow.
      restart_count: how often the engine started this task again; None where it does not tell.
      environment: TF_CONFIG's field of that name.
    """

    engine: str
    reason: str
    cluster_def: ClusterDef
    job_name: str
    task_index: int
    is_chief: bool
    master: str
    restart_count: int | None = None
    environment: str = ""

    def to_tf_config(self) -> str:
        """Returns the value of TF_CONFIG for this task.

        Raises: InvalidArgumentError for a cluster whose indices have gaps: TF_CONFIG has lists.
        """
        return tf_config_text(self.cluster_def, Task(self.job_name, self.task_index))

    def describe(self) -> dict[str, Any]:
        """Returns all fields as JSON values."""
        return {
            "engine": self.engine,
            "reason": self.reason,
            "cluster": addresses_by_job(self.cluster_def),
            "job_name": self.job_name,
            "task_index": self.task_index,
            "is_chief": self.is_chief,
            "master": self.master,
            "restart_count": self.restart_count,
            "environment": self.environment,
        }


def resolved(
    engine: str,
    reason: str,
    cluster: ClusterDef,
    task: Task,
    *,
    master: str | None = None,
    restart_count: int | None = None,
    environment: str = "",
) -> ResolvedCluster:
    """Fills in what follows from a cluster and a task.

    Args:
      master: target for a session, where it is not the address of the task.
    Raises: NotFoundError if the cluster does not have the task.
    """
    if master is None:
        address = address_of(cluster, task)
        master = "" if len(tasks_of(cluster)) == 1 else f"grpc://{address}"
    return ResolvedCluster(
        engine,
        reason,
        cluster,
        task.job,
        task.index,
        is_chief(cluster, task),
        master,
        restart_count,
        environment,
    )


def is_chief(cluster: ClusterDef, task: Task) -> bool:
    """Says whether a task is the chief: of the job `chief` or `master`; without these, worker 0.

    The chief of a cluster with gaps is the worker of the lowest index.
    Source: TensorFlow 1.15, multi_worker_util.is_chief and RunConfig; as in RunConfig, an
      evaluator is not a chief.
    """
    for job in CHIEF_JOBS:
        if task.job == job:
            return True
        if any(known.name == job for known in cluster.job):
            return False
    workers = [known.index for known in tasks_of(cluster) if known.job == "worker"]
    return task.job == "worker" and task.index == min(workers, default=0)


def addresses_by_job(cluster: ClusterDef) -> dict[str, list[str] | dict[str, str]]:
    """Returns lists of addresses by job, or addresses by index where indices have gaps."""
    found: dict[str, list[str] | dict[str, str]] = {}
    for job in cluster.job:
        indices = sorted(job.tasks)
        if indices == list(range(len(indices))):
            found[job.name] = [job.tasks[i] for i in indices]
        else:
            found[job.name] = {str(i): job.tasks[i] for i in indices}
    return found


def tf_config_text(cluster: ClusterDef, task: Task) -> str:
    """Returns the JSON that TensorFlow programs read from TF_CONFIG.

    Raises: InvalidArgumentError for a cluster whose indices have gaps.
    """
    jobs = addresses_by_job(cluster)
    for job, addresses in jobs.items():
        if isinstance(addresses, dict):
            raise InvalidArgumentError(
                None,
                None,
                f"the job {job!r} has the tasks {', '.join(addresses)}: TF_CONFIG lists addresses,"
                " so that indices must be 0, 1, 2 and so on",
            )
    value: dict[str, Any] = {"cluster": jobs} if jobs else {}
    value["task"] = {"type": task.job, "index": task.index}
    value["environment"] = "cloud" if jobs else "local"
    return json.dumps(value)
