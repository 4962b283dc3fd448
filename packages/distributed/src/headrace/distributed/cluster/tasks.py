"""Names of tasks: "/job:ps/replica:0/task:3"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headrace.formats.errors import InvalidArgumentError, NotFoundError
from headrace.formats.proto.cluster_pb2 import ClusterDef

_NAME = re.compile(r"/job:([A-Za-z]\w*)(?:/replica:(\d+))?/task:(\d+)(?:/|$)", re.ASCII)


@dataclass(frozen=True, order=True)
class Task:
    """A task of a job.

    Example:
      >>> str(Task("ps", 3))
      '/job:ps/replica:0/task:3'
    """

    job: str
    index: int

    def __str__(self) -> str:
        return f"/job:{self.job}/replica:0/task:{self.index}"


def task_of_device(name: str) -> Task:
    """Returns the task of a full device or task name.

    Raises: InvalidArgumentError for a name without job and task, or of another replica than 0.
    Example:
      >>> task_of_device("/job:ps/replica:0/task:3/device:CPU:0")
      Task(job='ps', index=3)
    """
    match = _NAME.match(name)
    if match is None or match[2] not in (None, "0"):
        raise InvalidArgumentError(
            None, None, f"{name!r} names no task: expected /job:NAME/replica:0/task:NUMBER"
        )
    return Task(match[1], int(match[3]))


def tasks_of(cluster: ClusterDef) -> dict[Task, str]:
    """Returns the addresses of all tasks of a cluster."""
    return {
        Task(job.name, index): job.tasks[index]
        for job in sorted(cluster.job, key=lambda job: job.name)
        for index in sorted(job.tasks)
    }


def address_of(cluster: ClusterDef, task: Task) -> str:
    """Returns the address of a task.

    Raises: NotFoundError, with the tasks that the cluster has.
    """
    found = tasks_of(cluster)
    if task not in found:
        known = ", ".join(f"{t.job}:{t.index}" for t in found) or "none"
        raise NotFoundError(
            None, None, f"the cluster has no task {task.job}:{task.index} (its tasks: {known})"
        )
    return found[task]
