"""Processes that mpiexec or mpirun started: MPICH, Intel MPI, Open MPI, MVAPICH.

MPI's environment tells a process its rank and the number of processes, not where the others are. In
order of precedence, the addresses come from

1. HEADRACE_ADDRESSES, "a:2222,b:2222" by rank;
2. a folder that all hosts see (HEADRACE_RENDEZVOUS): each process reserves a port, writes its
   address there and waits for the others (`resolve` does this);
3. if all processes run on one host, 127.0.0.1 and the ports from HEADRACE_PORT (default 2222) on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.distributed.engines.resolvers.explicit import restart_count_of
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
)

ADDRESSES, RENDEZVOUS = "HEADRACE_ADDRESSES", "HEADRACE_RENDEZVOUS"
# Of Hydra (MPICH, Intel MPI), Open MPI and MVAPICH.
RANKS = ("OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMI_RANK")
_SIZES = ("OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE", "PMI_SIZE")
_LOCAL_SIZES = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")


def rank_and_size(environ: Environment) -> tuple[int, int]:
    """Returns the rank of this process, and the number of processes.

    Raises: InvalidArgumentError for variables that are missing or malformed.
    """
    rank_name = first_set(environ, RANKS)
    if rank_name is None:
        raise invalid(f"none of {', '.join(RANKS)} is set: expected the environment of mpiexec")
    size_name = _SIZES[RANKS.index(rank_name)]
    return (
        number(environ, rank_name, "the rank of this process"),
        number(environ, size_name, "the number of processes"),
    )


def resolve_mpi(
    environ: Environment,
    jobs: Mapping[str, int] | None = None,
    addresses: Sequence[str] | None = None,
) -> ResolvedCluster:
    """Reads the environment of a process of mpiexec.

    Args:
      jobs: sizes by job, in the order of ranks; None: those of HEADRACE_JOBS ("ps=2,worker=3"),
        without which all are workers.
      addresses: address by rank; None: see the module.
    Raises: InvalidArgumentError for a variable that is missing or malformed, or where nothing says
      at which addresses the processes are.
    """
    rank, size = rank_and_size(environ)
    rank_name = first_set(environ, RANKS) or RANKS[-1]
    size_name = _SIZES[RANKS.index(rank_name)]
    sizes = sizes_of(environ, jobs, size, size_name)
    task = task_of_rank(sizes, rank, rank_name)
    found = _addresses(environ, size, size_name) if addresses is None else list(addresses)
    if len(found) != size:
        raise invalid(f"there are {len(found)} addresses, but {size_name} is {size}")
    return resolved(
        "mpi",
        f"{rank_name} is set: rank {rank} of {size}",
        cluster_of_ranks(sizes, found),
        task,
        restart_count=restart_count_of(environ),
    )


def _addresses(environ: Environment, size: int, size_name: str) -> list[str]:
    if environ.get(ADDRESSES):
        return environ[ADDRESSES].split(",")
    local_name = first_set(environ, _LOCAL_SIZES) or _LOCAL_SIZES[-1]
    if number(environ, local_name, "the number of processes on this host", 0) != size:
        raise invalid(
            f"{size_name} is {size}, and not all of the processes are on this host: set"
            f" {RENDEZVOUS} to a folder that all hosts share, or {ADDRESSES} to the addresses by"
            " rank"
        )
    first = port_number(environ, "HEADRACE_PORT", 2222)
    return [f"127.0.0.1:{first + rank}" for rank in range(size)]
