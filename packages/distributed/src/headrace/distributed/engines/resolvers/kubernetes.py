"""Pods of Kubernetes: of an Indexed Job, or of a JobSet.

Kubernetes numbers the pods of an Indexed Job (JOB_COMPLETION_INDEX) and names their hosts after job
and index; a headless service makes these names known. What else the resolvers need, a manifest
copies to variables of the container, as `headrace-launch --engine kubernetes` does.
"""

from __future__ import annotations

from collections.abc import Mapping

from headrace.distributed.engines.resolvers.explicit import RESTARTS
from headrace.distributed.engines.resolvers.job_sizes import (
    JOBS,
    cluster_of_ranks,
    sizes_from_text,
    task_of_rank,
)
from headrace.distributed.engines.resolvers.resolved_cluster import ResolvedCluster, resolved
from headrace.distributed.engines.resolvers.variables import (
    Environment,
    invalid,
    number,
    port_number,
    text,
)

INDEX = "JOB_COMPLETION_INDEX"
SERVICE, PORT = "HEADRACE_SERVICE", "HEADRACE_PORT"
JOBSET, REPLICATED_JOB, JOB_INDEX = "JOBSET_NAME", "REPLICATED_JOB_NAME", "JOB_INDEX"
JOBSET_RESTARTS = "JOBSET_RESTART_ATTEMPT"
DEFAULT_PORT = 2222


def resolve_indexed_job(
    environ: Environment, jobs: Mapping[str, int] | None = None
) -> ResolvedCluster:
    """Reads the environment of a pod of an Indexed Job.

    Variables: JOB_COMPLETION_INDEX and HOSTNAME, which Kubernetes sets; HEADRACE_JOBS
    ("ps=2,worker=3": who takes which index, in this order) unless `jobs` are given;
    HEADRACE_SERVICE, the headless service (default: the name of the Job); HEADRACE_PORT
    (default 2222); HEADRACE_RESTART_COUNT, from the annotation
    batch.kubernetes.io/job-index-failure-count.

    Raises: InvalidArgumentError for a variable that is missing or malformed.
    """
    index = number(environ, INDEX, "the index of this pod within its Job")
    sizes = _sizes(environ, jobs)
    task = task_of_rank(sizes, index, INDEX)
    host = text(environ, "HOSTNAME", "the name of the Job and the index of the pod")
    job = host.removesuffix(f"-{index}")
    if job == host:
        raise invalid(
            f"HOSTNAME is {host!r}: expected JOB-{index}, which Kubernetes sets for pods whose Job"
            " has completionMode: Indexed"
        )
    service = environ.get(SERVICE) or job
    port = port_number(environ, PORT, DEFAULT_PORT)
    addresses = [f"{job}-{i}.{service}:{port}" for i in range(sum(sizes.values()))]
    return resolved(
        "kubernetes",
        f"{INDEX} is set: the Job {job}",
        cluster_of_ranks(sizes, addresses),
        task,
        restart_count=_failures(environ),
        environment="cloud",
    )


def resolve_jobset(environ: Environment, jobs: Mapping[str, int] | None = None) -> ResolvedCluster:
    """Reads the environment of a pod of a JobSet with one Indexed Job for each job of the cluster.

    Variables: JOB_COMPLETION_INDEX, which Kubernetes sets; JOBSET_NAME, REPLICATED_JOB_NAME,
    JOB_INDEX (the Job within its replicated job: 0) and JOBSET_RESTART_ATTEMPT, from the labels
    and annotations jobset.sigs.k8s.io/...; HEADRACE_JOBS unless `jobs` are given; HEADRACE_SERVICE,
    the subdomain (default: the name of the JobSet); HEADRACE_PORT (default 2222).

    Raises: InvalidArgumentError for a variable that is missing or malformed.
    """
    name = text(environ, JOBSET, "the name of the JobSet")
    job = text(environ, REPLICATED_JOB, "the replicated job of this pod")
    sizes = _sizes(environ, jobs)
    index = number(environ, INDEX, "the index of this pod within its Job")
    replica = number(environ, JOB_INDEX, "the index of the Job within its replicated job", 0)
    if replica:
        raise invalid(
            f"{JOB_INDEX} is {replica}: expected replicated jobs of one Job (replicas: 1), whose"
            " pods are the tasks"
        )
    if index >= sizes.get(job, 0):
        raise invalid(
            f"{REPLICATED_JOB} is {job!r} and {INDEX} is {index}: {JOBS} has no such task"
            f" ({', '.join(f'{known}={count}' for known, count in sizes.items())})"
        )
    service = environ.get(SERVICE) or name
    port = port_number(environ, PORT, DEFAULT_PORT)
    addresses = [
        f"{name}-{known}-0-{i}.{service}:{port}"
        for known, count in sizes.items()
        for i in range(count)
    ]
    restarts = _failures(environ)
    if environ.get(JOBSET_RESTARTS):
        restarts = (restarts or 0) + number(environ, JOBSET_RESTARTS, "restarts of the JobSet")
    first = sum(count for known, count in _before(sizes, job))
    return resolved(
        "jobset",
        f"{JOBSET} is set: the JobSet {name}",
        cluster_of_ranks(sizes, addresses),
        task_of_rank(sizes, first + index, INDEX),
        restart_count=restarts,
        environment="cloud",
    )


def _before(sizes: Mapping[str, int], job: str) -> list[tuple[str, int]]:
    names = list(sizes)
    return [(name, sizes[name]) for name in names[: names.index(job)]]


def _sizes(environ: Environment, jobs: Mapping[str, int] | None) -> dict[str, int]:
    if jobs is not None:
        return {job: count for job, count in jobs.items() if count}
    return sizes_from_text(text(environ, JOBS, "the sizes of the jobs, such as 'ps=2,worker=3'"))


def _failures(environ: Environment) -> int | None:
    # The annotation is missing before the first failure on some versions: then it is empty.
    if RESTARTS not in environ:
        return None
    return number(environ, RESTARTS, "how often the pod of this index failed", 0)
