"""replica_device_setter: variables on parameter servers, all other operations on a worker."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.graph.cluster.cluster_spec import ClusterLike, ClusterSpec
from headrace.graph.cluster.ps_strategies import RoundRobinStrategy
from headrace.graph.framework.device_spec import DeviceSpec
from headrace.graph.framework.operation import Operation
from headrace.graph.platform import logging

# The ops with state that workers share.
STANDARD_PS_OPS = (
    "Variable",
    "VariableV2",
    "AutoReloadVariable",
    "MutableHashTable",
    "MutableHashTableV2",
    "MutableHashTableOfTensors",
    "MutableHashTableOfTensorsV2",
    "MutableDenseHashTable",
    "MutableDenseHashTableV2",
    "VarHandleOp",
    "BoostedTreesEnsembleResourceHandleOp",
    "BoostedTreesQuantileStreamResourceHandleOp",
    "ResourceConditionalAccumulator",
    "DecisionTreeResource",
)


class _ReplicaDeviceChooser:
    """The device function of replica_device_setter."""

    def __init__(
        self,
        ps_tasks: int,
        ps_device: str,
        worker_device: str,
        merge_devices: bool,
        ps_ops: Sequence[str],
        ps_strategy: Callable[[Operation], int],
    ) -> None:
        self._ps_tasks = ps_tasks
        self._ps_device = ps_device
        self._worker_device = worker_device
        self._merge_devices = merge_devices
        self._ps_ops = ps_ops
        self._ps_strategy = ps_strategy

    def device_function(self, op: Operation) -> str:
        """Returns the device of an operation."""
        if not self._merge_devices and op.device:
            return op.device
        current = DeviceSpec.from_string(op.device or "")
        # A NodeDef has its op's type in another attribute.
        kind = op.type if isinstance(op, Operation) else op.op
        if self._ps_tasks and self._ps_device and kind in self._ps_ops:
            ps = DeviceSpec.from_string(self._ps_device)
            # Without a job, or where an outer device names another one, no task is chosen.
            if ps.job and (not current.job or current.job == ps.job):
                ps = ps.replace(task=self._ps_strategy(op))
            return ps.make_merged_spec(current).to_string()
        worker = DeviceSpec.from_string(self._worker_device or "")
        return worker.make_merged_spec(current).to_string()


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: ClusterLike | None = None,
    ps_ops: Sequence[str] | None = None,
    ps_strategy: Callable[[Operation], int] | None = None,
) -> Callable[[Any], str] | None:
    """Returns a device function that places variables on parameter servers, in turn.

    Args:
      ps_tasks: number of parameter servers; ignored with a cluster.
      ps_device: device of parameter servers; a task is chosen if it names a job.
      worker_device: device of all other operations.
      merge_devices: fill the missing parts of devices that are set; False leaves them as they are.
      cluster: ClusterSpec, or what it is made from; its job of ps_device counts ps_tasks.
      ps_ops: types of operations on parameter servers; by default variables, mutable tables and
        accumulators.
      ps_strategy: returns the task of an operation of ps_ops.
    Returns: an argument of hr.device; None without parameter servers.
    Raises: TypeError if ps_strategy is not callable, or for an invalid cluster.
    """
    if cluster is not None:
        jobs = ClusterSpec(cluster).as_dict()
        ps_job = DeviceSpec.from_string(ps_device).job
        ps_tasks = len(jobs.get(ps_job or "", ()))
    if ps_tasks == 0:
        return None
    if not merge_devices:
        logging.warning(
            "DEPRECATION: It is recommended to set merge_devices=true in replica_device_setter"
        )
    if ps_strategy is None:
        ps_strategy = RoundRobinStrategy(ps_tasks)
    if not callable(ps_strategy):
        raise TypeError("ps_strategy must be callable")
    if ps_ops is None:
        ps_ops = STANDARD_PS_OPS
    return _ReplicaDeviceChooser(
        ps_tasks, ps_device, worker_device, merge_devices, ps_ops, ps_strategy
    ).device_function
