"""A cluster that is written out: HEADRACE_CLUSTER, HEADRACE_JOB and HEADRACE_TASK."""

from __future__ import annotations

from headrace.distributed.cluster.cluster_text import cluster_from_text
from headrace.distributed.cluster.tasks import Task
from headrace.distributed.engines.resolvers.resolved_cluster import ResolvedCluster, resolved
from headrace.distributed.engines.resolvers.variables import Environment, number, text
from headrace.formats.proto.cluster_pb2 import ClusterDef

CLUSTER, JOB, TASK = "HEADRACE_CLUSTER", "HEADRACE_JOB", "HEADRACE_TASK"
ENGINE, RESTARTS = "HEADRACE_ENGINE", "HEADRACE_RESTART_COUNT"


def restart_count_of(environ: Environment) -> int | None:
    """Returns how often a launcher started this task again; None where no launcher tells.

    Raises: InvalidArgumentError if HEADRACE_RESTART_COUNT is not a number.
    """
    if not environ.get(RESTARTS):
        return None
    return number(environ, RESTARTS, "how often the task was started again")


def resolve_explicit(environ: Environment) -> ResolvedCluster:
    """Reads HEADRACE_CLUSTER ("ps=a:1|b:2,worker=c:3" or JSON), HEADRACE_JOB and HEADRACE_TASK.

    Raises: InvalidArgumentError for a variable that is missing or malformed; NotFoundError for a
      task that the cluster does not have.
    """
    cluster = cluster_from_text(text(environ, CLUSTER, "a cluster, such as 'ps=a:1,worker=b:2'"))
    task = Task(text(environ, JOB, "the job of this process"), number(environ, TASK, "its index"))
    return resolved(
        "explicit",
        f"{CLUSTER} is set",
        cluster,
        task,
        restart_count=restart_count_of(environ),
    )


def resolve_local(environ: Environment) -> ResolvedCluster:
    """Returns one local process: an empty cluster, of which this is the chief."""
    return ResolvedCluster(
        "none", "no engine's variables are set", ClusterDef(), "worker", 0, True, ""
    )
