"""ClusterSpec: the jobs of a cluster, and the addresses of their tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, Union

from headrace.formats.proto.cluster_pb2 import ClusterDef
from headrace.graph.platform.compat import as_bytes, as_text

# What describes a cluster: addresses by job, in order or by task; or the message.
ClusterLike: TypeAlias = Union[
    "ClusterSpec", ClusterDef, Mapping[str, Sequence[str] | Mapping[int, str]]
]


class ClusterSpec:
    """The jobs of a cluster, and the addresses of their tasks.

    Args:
      cluster: dict from names of jobs to lists of addresses ("host:port"), or to dicts from
        indices of tasks to addresses; a ClusterDef; or a ClusterSpec.
    Raises: TypeError for anything else.
    """

    def __init__(self, cluster: ClusterLike) -> None:
        self._jobs: dict[str, dict[int, str]]
        if isinstance(cluster, dict):
            self._jobs = {_job_name(job): _tasks(job, tasks) for job, tasks in cluster.items()}
            self._cluster_def = ClusterDef()
            for job, tasks in sorted(self._jobs.items()):
                message = self._cluster_def.job.add(name=job)
                for index, address in sorted(tasks.items()):
                    message.tasks[index] = address
            return
        if isinstance(cluster, ClusterSpec):
            self._cluster_def = ClusterDef()
            self._cluster_def.CopyFrom(cluster.as_cluster_def())
        elif isinstance(cluster, ClusterDef):
            self._cluster_def = cluster
        else:
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network "
                f"addresses, or a `ClusterDef` protocol buffer, not {cluster!r}"
            )
        self._jobs = {job.name: dict(sorted(job.tasks.items())) for job in self._cluster_def.job}

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        return bool(self._jobs == other)

    def __ne__(self, other: object) -> bool:
        return bool(self._jobs != other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        jobs = self.as_dict()
        return "ClusterSpec({" + ", ".join(f"{job!r}: {jobs[job]!r}" for job in sorted(jobs)) + "})"

    def as_dict(self) -> dict[str, Any]:
        """Returns a dict from jobs to lists of addresses, or to dicts where indices are missing."""
        found: dict[str, Any] = {}
        for job, tasks in self._jobs.items():
            dense = bool(tasks) and max(tasks) + 1 == len(tasks)
            found[job] = self.job_tasks(job) if dense else {i: tasks[i] for i in sorted(tasks)}
        return found

    def as_cluster_def(self) -> ClusterDef:
        """Returns the message."""
        return self._cluster_def

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """Returns the number of tasks of a job. Raises: ValueError for an unknown job."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Returns the indices of the tasks of a job. Raises: ValueError for an unknown job."""
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Returns the address of a task. Raises: ValueError for an unknown job or task."""
        job = self._job(job_name)
        if task_index not in job:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return job[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Returns the addresses of a job by task; None where an index is missing.

        Raises: ValueError for an unknown job.
        """
        job = self._job(job_name)
        return [job.get(index) for index in range(max(job, default=-1) + 1)]

    def _job(self, name: str) -> dict[int, str]:
        if name not in self._jobs:
            raise ValueError(f"No such job in cluster: {name!r}")
        return self._jobs[name]


def _job_name(name: Any) -> str:
    try:
        return as_text(as_bytes(name))
    except TypeError:
        raise TypeError(f"Job name {name!r} must be bytes or unicode") from None


def _tasks(job: str, tasks: Any) -> dict[int, str]:
    if isinstance(tasks, (list, tuple)):
        tasks = dict(enumerate(tasks))
    elif not isinstance(tasks, dict):
        raise TypeError(
            f"The tasks for job {job!r} must be a list or a dictionary from integers to strings."
        )
    found: dict[int, str] = {}
    for index, address in tasks.items():
        try:
            found[index] = as_text(as_bytes(address))
        except TypeError:
            raise TypeError(f"Task address {address!r} must be bytes or unicode") from None
    return found
