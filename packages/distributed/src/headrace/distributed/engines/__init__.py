"""Clusters of the engines that exist: which task a process is, and how jobs are started."""

from headrace.distributed.engines.resolvers.detection import ENGINES as ENGINES
from headrace.distributed.engines.resolvers.detection import detect as detect
from headrace.distributed.engines.resolvers.detection import resolve as resolve
from headrace.distributed.engines.resolvers.explicit import resolve_explicit as resolve_explicit
from headrace.distributed.engines.resolvers.hostlist import expand_hostlist as expand_hostlist
from headrace.distributed.engines.resolvers.kubernetes import (
    resolve_indexed_job as resolve_indexed_job,
)
from headrace.distributed.engines.resolvers.kubernetes import resolve_jobset as resolve_jobset
from headrace.distributed.engines.resolvers.mpi import resolve_mpi as resolve_mpi
from headrace.distributed.engines.resolvers.resolved_cluster import (
    ResolvedCluster as ResolvedCluster,
)
from headrace.distributed.engines.resolvers.slurm import resolve_slurm as resolve_slurm
from headrace.distributed.engines.resolvers.tf_config import resolve_tf_config as resolve_tf_config
