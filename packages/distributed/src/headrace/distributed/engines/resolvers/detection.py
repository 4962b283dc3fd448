"""Finding the engine that started this process."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

from headrace.distributed.engines.resolvers.address_exchange import exchange_addresses
from headrace.distributed.engines.resolvers.explicit import (
    CLUSTER,
    ENGINE,
    resolve_explicit,
    resolve_local,
)
from headrace.distributed.engines.resolvers.kubernetes import (
    INDEX,
    JOBSET,
    resolve_indexed_job,
    resolve_jobset,
)
from headrace.distributed.engines.resolvers.mpi import (
    ADDRESSES,
    RANKS,
    RENDEZVOUS,
    rank_and_size,
    resolve_mpi,
)
from headrace.distributed.engines.resolvers.resolved_cluster import ResolvedCluster
from headrace.distributed.engines.resolvers.slurm import PROCID, resolve_slurm
from headrace.distributed.engines.resolvers.tf_config import TF_CONFIG, resolve_tf_config
from headrace.distributed.engines.resolvers.variables import Environment, first_set, invalid

Jobs = Mapping[str, int] | None

# Addresses by folder and rank: a process has one address, however often it resolves its cluster.
_exchanged: dict[tuple[str, int], list[str]] = {}

_log = logging.getLogger(__name__)


def resolve(
    engine: str = "auto",
    environ: Environment | None = None,
    jobs: Mapping[str, int] | None = None,
) -> ResolvedCluster:
    """Returns the cluster that this process belongs to, and its task in it.

    The first of these whose variables are set is taken: explicit (HEADRACE_CLUSTER), tf_config,
    jobset, kubernetes, mpi, slurm. Ray and headrace-launch set TF_CONFIG. Where none is set, the
    process is on its own, and its session's target is "".

    Args:
      engine: "auto", or one of `ENGINES`.
      environ: the environment; None: that of this process.
      jobs: how many tasks each job has, for the engines that number their processes (kubernetes,
        jobset, mpi, slurm); ranks go to jobs in this order. None: HEADRACE_JOBS says it.
    Returns: the cluster; its `reason` says why this engine was chosen, and is logged.
    Raises: InvalidArgumentError for an unknown engine, or an environment that is incomplete or
      contradicts itself; for MPI with HEADRACE_RENDEZVOUS also what `exchange_addresses` raises.
    Example:
      >>> config = '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}'
      >>> resolve(environ={"TF_CONFIG": config}).master
      'grpc://b:1'
    """
    environ = os.environ if environ is None else environ
    if engine == "auto":
        engine = detect(environ)
    if engine not in ENGINES:
        raise invalid(f"there is no engine {engine!r} (known: auto, {', '.join(ENGINES)})")
    cluster = ENGINES[engine](environ, jobs)
    _log.info("cluster: %s (%s)", cluster.engine, cluster.reason)
    return cluster


def detect(environ: Environment) -> str:
    """Returns the engine whose variables an environment has, "none" if there is none."""
    if environ.get(CLUSTER):
        return "explicit"
    if environ.get(TF_CONFIG):
        return "tf_config"
    if environ.get(INDEX):
        return "jobset" if environ.get(JOBSET) else "kubernetes"
    if first_set(environ, RANKS) and not _srun_set_pmi(environ):
        return "mpi"
    # A batch script has SLURM_PROCID too, but is no process of a step.
    if environ.get(PROCID) and environ.get("SLURM_STEP_ID"):
        return "slurm"
    return "none"


def _srun_set_pmi(environ: Environment) -> bool:
    """Says whether MPI's variables come from `srun --mpi=pmi2`, which tells the nodes as well."""
    return (
        environ.get("PMI_RANK", "") == environ.get(PROCID)
        and environ.get("PMI_SIZE") == environ.get("SLURM_STEP_NUM_TASKS")
        and first_set(environ, RANKS) == "PMI_RANK"
    )


def _ray(environ: Environment, jobs: Jobs) -> ResolvedCluster:
    # An actor of headrace-launch sets TF_CONFIG for its task.
    if environ.get(ENGINE) != "ray":
        raise invalid(
            f"{ENGINE} is {environ.get(ENGINE, '')!r}: expected 'ray', which the actors of"
            " `headrace-launch --engine ray` set with TF_CONFIG"
        )
    return resolve_tf_config(environ)


def _mpi(environ: Environment, jobs: Jobs) -> ResolvedCluster:
    if environ.get(ADDRESSES) or not environ.get(RENDEZVOUS):
        return resolve_mpi(environ, jobs)
    rank, size = rank_and_size(environ)
    key = environ[RENDEZVOUS], rank
    if key not in _exchanged:
        host = own_host(environ, size)
        _exchanged[key] = exchange_addresses(Path(environ[RENDEZVOUS]), rank, size, host)
    return resolve_mpi(environ, jobs, _exchanged[key])


def own_host(environ: Environment, size: int) -> str:
    """Returns the name under which the processes of MPI reach this host.

    HEADRACE_HOST where it is set; 127.0.0.1 if all processes are on this host.
    """
    if environ.get("HEADRACE_HOST"):
        return environ["HEADRACE_HOST"]
    local = environ.get("MPI_LOCALNRANKS") or environ.get("OMPI_COMM_WORLD_LOCAL_SIZE")
    return "127.0.0.1" if local == str(size) else socket.gethostname()


ENGINES: dict[str, Callable[[Environment, Jobs], ResolvedCluster]] = {
    "explicit": lambda environ, jobs: resolve_explicit(environ),
    "tf_config": lambda environ, jobs: resolve_tf_config(environ),
    "jobset": resolve_jobset,
    "kubernetes": resolve_indexed_job,
    "mpi": _mpi,
    "slurm": resolve_slurm,
    "ray": _ray,
    "none": lambda environ, jobs: resolve_local(environ),
}
