"""Processes of a Slurm job step, which `srun` starts."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.distributed.engines.resolvers.explicit import restart_count_of
from headrace.distributed.engines.resolvers.hostlist import expand_counts, expand_hostlist
from headrace.distributed.engines.resolvers.job_sizes import (
    cluster_of_ranks,
    sizes_of,
    task_of_rank,
)
from headrace.distributed.engines.resolvers.resolved_cluster import ResolvedCluster, resolved
from headrace.distributed.engines.resolvers.variables import (
    Environment,
    first_set,
    invalid,
    number,
    port_number,
    text,
)

PROCID = "SLURM_PROCID"
RESTART_COUNT = "SLURM_RESTART_COUNT"
_SIZE = ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS")
_NODES = ("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST")
_PER_NODE = ("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE")
_RESERVED = "SLURM_STEP_RESV_PORTS"
_PORT = "HEADRACE_PORT"


def resolve_slurm(environ: Environment, jobs: Mapping[str, int] | None = None) -> ResolvedCluster:
    """Reads the environment of a process of a Slurm step.

    Ranks (SLURM_PROCID) go to jobs in the order of `jobs`, or of HEADRACE_JOBS ("ps=2,worker=3");
    without either all are workers. A task's host is its node, its port depends on its place on the
    node: see `first_port`.

    Raises: InvalidArgumentError for a variable that is missing or malformed, or values that
      contradict one another.
    """
    rank = number(environ, PROCID, "the rank of this process")
    size_name = first_set(environ, _SIZE) or _SIZE[0]
    size = number(environ, size_name, "the number of processes")
    sizes = sizes_of(environ, jobs, size, size_name)
    task = task_of_rank(sizes, rank, PROCID)
    places = _places(environ, size)
    node, local = places[rank]
    told = number(environ, "SLURM_LOCALID", "the place of this process on its node", local)
    if told != local:
        raise invalid(
            f"SLURM_LOCALID is {told}, but rank {rank} of {size} is process {local} on {node} when"
            " ranks are laid out by --distribution=block: use block or cyclic"
        )
    ports = _ports(environ, max(place for _, place in places) + 1)
    restarts = number(environ, RESTART_COUNT, "how often Slurm requeued the job", 0)
    return resolved(
        "slurm",
        f"{PROCID} is set: rank {rank} of {size} on {node}",
        cluster_of_ranks(sizes, [f"{host}:{ports[place]}" for host, place in places]),
        task,
        restart_count=restarts + (restart_count_of(environ) or 0),
    )


def _places(environ: Environment, size: int) -> list[tuple[str, int]]:
    """Returns the node of each rank, and its place among the processes of that node."""
    nodes_name = first_set(environ, _NODES) or _NODES[0]
    nodes = expand_hostlist(text(environ, nodes_name, "the nodes of the step"))
    counts_name = first_set(environ, _PER_NODE)
    if counts_name is None:
        if len(nodes) > 1:
            raise invalid(
                f"{_PER_NODE[0]} is not set: expected the number of processes of each node"
            )
        counts = [size]
    else:
        counts = expand_counts(environ[counts_name])
    if len(counts) != len(nodes) or sum(counts) != size:
        raise invalid(
            f"{nodes_name} has {len(nodes)} nodes and {size} processes, but the processes per node"
            f" are {counts}"
        )
    if environ.get("SLURM_DISTRIBUTION", "block").startswith("cyclic"):
        turns = range(max(counts))
        return [
            (node, turn)
            for turn in turns
            for node, n in zip(nodes, counts, strict=True)
            if turn < n
        ]
    return [(node, place) for node, n in zip(nodes, counts, strict=True) for place in range(n)]


def _ports(environ: Environment, most: int) -> list[int]:
    """Returns the ports of a node's processes, by their place on it."""
    reserved = environ.get(_RESERVED)
    if reserved and not environ.get(_PORT):
        names = expand_hostlist(f"[{reserved}]")
        if len(names) < most:
            raise invalid(
                f"{_RESERVED} is {reserved!r}, {len(names)} ports, but a node has {most} processes"
            )
        return [int(name) for name in names]
    first = first_port(environ)
    return [first + place for place in range(most)]


def first_port(environ: Environment) -> int:
    """Returns the port of the first process of each node; the next processes have the next ports.

    It is HEADRACE_PORT if that is set. Otherwise it depends on the number of the job, so that jobs
    that share a node rarely meet, and is below the ports that Linux gives to clients (32768).
    `srun --resv-ports` excludes collisions where the administrator allows it: its ports are used.

    Raises: InvalidArgumentError if HEADRACE_PORT is not a port.
    """
    job = number(environ, "SLURM_JOB_ID", "the number of the job", 0)
    return port_number(environ, _PORT, 20000 + 48 * (job % 250))
