"""Cluster specifications as text: of command lines, JSON, and ClusterDef messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.distributed.cluster.addresses import check_address
from headrace.formats.errors import InvalidArgumentError
from headrace.formats.proto.cluster_pb2 import ClusterDef

Jobs = Mapping[str, Sequence[str] | Mapping[int, str]]

_JOB_CHARACTERS = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def cluster_from_text(text: str) -> ClusterDef:
    """Reads a cluster specification.

    Args:
      text: "ps=host:2222|host:2223,worker=0@host:2224": jobs with the addresses of their tasks,
        each with its index where the indices have gaps; or a JSON object of job names to lists of
        addresses, or to objects of indices to addresses.
    Raises: InvalidArgumentError for text that is neither, or a specification that
      `cluster_from_jobs` rejects.
    Example:
      >>> cluster = cluster_from_text("ps=a:1|b:2,worker=7@c:3")
      >>> [(job.name, dict(job.tasks)) for job in cluster.job]
      [('ps', {0: 'a:1', 1: 'b:2'}), ('worker', {7: 'c:3'})]
    """
    if text.lstrip().startswith("{"):
        return cluster_from_json(text)
    jobs: dict[str, dict[int, str]] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, equals, addresses = part.partition("=")
        if not equals:
            raise _invalid(f"{part!r} has no '=': write it as job=host:port|host:port")
        if name in jobs:
            raise _invalid(f"the job {name!r} occurs twice")
        tasks = jobs[name] = {}
        for place, address in enumerate(addresses.split("|")):
            index, at, rest = address.partition("@")
            if at and not index.isdigit():
                raise _invalid(f"{address!r}: {index!r} is not the index of a task")
            number = int(index) if at else place
            if number in tasks:
                raise _invalid(f"the job {name!r} has two tasks {number}")
            tasks[number] = rest if at else address
    return cluster_from_jobs(jobs)


def cluster_from_json(text: str) -> ClusterDef:
    """Reads a JSON object of job names to lists of addresses, or to addresses by index.

    Raises: InvalidArgumentError.
    Example:
      >>> dict(cluster_from_json('{"worker": {"3": "a:1"}}').job[0].tasks)
      {3: 'a:1'}
    """
    try:
        found = json.loads(text)
    except ValueError as error:
        raise _invalid(f"not JSON: {error}") from None
    if not isinstance(found, dict):
        raise _invalid(f"expected an object of jobs, got {type(found).__name__}")
    jobs: dict[str, Any] = {}
    for name, tasks in found.items():
        if isinstance(tasks, dict):
            if not all(index.isdigit() for index in tasks):
                raise _invalid(f"job {name!r}: the keys of its tasks must be their indices")
            tasks = {int(index): address for index, address in tasks.items()}
        elif not isinstance(tasks, list):
            raise _invalid(f"job {name!r}: expected a list or an object of addresses")
        jobs[name] = tasks
    return cluster_from_jobs(jobs)


def cluster_from_jobs(jobs: Jobs) -> ClusterDef:
    """Makes a ClusterDef of lists of addresses by job, or of addresses by index.

    Raises: InvalidArgumentError for a job name that a device name cannot contain, a job without
      tasks, an index below 0, an address that is not host:port, or two tasks at one address.
    """
    cluster = ClusterDef()
    seen: dict[str, str] = {}
    for name in sorted(jobs):
        if not name or not set(name) <= _JOB_CHARACTERS or not name[0].isalpha():
            raise _invalid(
                f"{name!r} is not the name of a job: letters, digits and '_', a letter first"
            )
        listed = jobs[name]
        tasks = dict(listed) if isinstance(listed, Mapping) else dict(enumerate(listed))
        if not tasks:
            raise _invalid(f"the job {name!r} has no tasks")
        job = cluster.job.add(name=name)
        for index in sorted(tasks):
            if index < 0:
                raise _invalid(f"job {name!r}: the index of a task is {index}, below 0")
            address = check_address(tasks[index])
            task = f"/job:{name}/task:{index}"
            if address in seen:
                raise _invalid(f"{seen[address]} and {task} have one address, {address}")
            seen[address] = task
            job.tasks[index] = address
    if not cluster.job:
        raise _invalid("it names no job")
    return cluster


def cluster_to_text(cluster: ClusterDef) -> str:
    """Writes a ClusterDef as `cluster_from_text` reads it.

    Example:
      >>> cluster_to_text(cluster_from_text("ps=a:1|b:2,worker=7@c:3"))
      'ps=a:1|b:2,worker=7@c:3'
    """
    parts = []
    for job in sorted(cluster.job, key=lambda job: job.name):
        dense = sorted(job.tasks) == list(range(len(job.tasks)))
        addresses = [job.tasks[i] if dense else f"{i}@{job.tasks[i]}" for i in sorted(job.tasks)]
        parts.append(f"{job.name}={'|'.join(addresses)}")
    return ",".join(parts)


def _invalid(why: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, f"cluster specification: {why}")
