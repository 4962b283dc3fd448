"""How many tasks each job has, for engines that only number their processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.distributed.cluster.cluster_text import cluster_from_jobs
from headrace.distributed.cluster.tasks import Task
from headrace.distributed.engines.resolvers.variables import Environment, invalid
from headrace.formats.proto.cluster_pb2 import ClusterDef

JOBS = "HEADRACE_JOBS"


def sizes_from_text(text: str) -> dict[str, int]:
    """Reads "ps=2,worker=3".

    Returns: the number of tasks by job, in the order of the text.
    Raises: InvalidArgumentError.
    Example:
      >>> sizes_from_text("ps=2,worker=3")
      {'ps': 2, 'worker': 3}
    """
    sizes: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        job, _, count = part.partition("=")
        if not (count.isascii() and count.isdigit() and len(count) < 10):
            raise invalid(f"{text!r}: expected JOB=COUNT,JOB=COUNT, such as 'ps=2,worker=3'")
        if job in sizes:
            raise invalid(f"{text!r}: the job {job!r} occurs twice")
        if int(count):
            sizes[job] = int(count)
    if not sizes:
        raise invalid(f"{text!r} names no job with tasks: expected such as 'ps=2,worker=3'")
    return sizes


def sizes_to_text(sizes: Mapping[str, int]) -> str:
    """Writes sizes as `sizes_from_text` reads them.

    Example:
      >>> sizes_to_text({"ps": 2, "worker": 3})
      'ps=2,worker=3'
    """
    return ",".join(f"{job}={count}" for job, count in sizes.items() if count)


def sizes_of(
    environ: Environment, jobs: Mapping[str, int] | None, processes: int, counted_by: str
) -> dict[str, int]:
    """Returns the sizes of jobs that share an engine's processes.

    Args:
      jobs: sizes by job; None: those of HEADRACE_JOBS, without which all processes are workers.
      processes: how many processes the engine started.
      counted_by: the variable that says so, for the message of an error.
    Raises: InvalidArgumentError if the sizes do not add up to the number of processes.
    """
    if jobs is None:
        text = environ.get(JOBS, "")
        sizes = sizes_from_text(text) if text else {"worker": processes}
    else:
        sizes = {job: count for job, count in jobs.items() if count}
    total = sum(sizes.values())
    if total != processes:
        raise invalid(
            f"the jobs {sizes_to_text(sizes)} have {total} tasks, but {counted_by} is {processes}:"
            f" start {total} processes, or set {JOBS}"
        )
    return sizes


def task_of_rank(sizes: Mapping[str, int], rank: int, named_by: str) -> Task:
    """Returns the task of a process: jobs take the ranks in the order in which they are given.

    Args:
      named_by: the variable that holds the rank, for the message of an error.
    Raises: InvalidArgumentError for a rank outside of the jobs.
    Example:
      >>> task_of_rank({"ps": 2, "worker": 3}, 4, "RANK")
      Task(job='worker', index=2)
    """
    first = 0
    for job, count in sizes.items():
        if first <= rank < first + count:
            return Task(job, rank - first)
        first += count
    raise invalid(f"{named_by} is {rank}, but the jobs {sizes_to_text(sizes)} have {first} tasks")


def cluster_of_ranks(sizes: Mapping[str, int], addresses: Sequence[str]) -> ClusterDef:
    """Returns a cluster whose jobs take addresses by rank, in the order in which they are given.

    Raises: InvalidArgumentError if two addresses are equal, or one is not host:port.
    """
    jobs: dict[str, list[str]] = {}
    first = 0
    for job, count in sizes.items():
        jobs[job] = list(addresses[first : first + count])
        first += count
    return cluster_from_jobs(jobs)
