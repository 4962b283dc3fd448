"""Strategies that choose the parameter server of a variable, for replica_device_setter."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from headrace.formats.dtypes import as_dtype
from headrace.graph.framework.operation import Operation
from headrace.graph.framework.tensor_shape import TensorShape


class RoundRobinStrategy:
    """Takes the tasks in turn.

    Args:
      num_tasks: number of parameter servers.
    """

    def __init__(self, num_tasks: int) -> None:
        self._num_tasks = num_tasks
        self._next_task = 0

    def __call__(self, op: Operation) -> int:
        """Returns the index of a task."""
        task = self._next_task
        self._next_task = (task + 1) % self._num_tasks
        return task


class RandomStrategy:
    """Chooses by a hash of the operation's name, so that all programs choose alike.

    Args:
      num_ps_tasks: number of parameter servers.
      seed: part of what is hashed.
    """

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        self._num_tasks = num_ps_tasks
        self._seed = seed

    def __call__(self, op: Operation) -> int:
        """Returns the index of a task."""
        digest = hashlib.md5(f"{op.name}_{self._seed}".encode(), usedforsecurity=False).hexdigest()
        return int(digest, 16) % self._num_tasks


class GreedyLoadBalancingStrategy:
    """Chooses the task with the least load so far; the first of several.

    Args:
      num_tasks: number of parameter servers.
      load_fn: returns the load of an operation, such as byte_size_load_fn.
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Operation], float]) -> None:
        self._load_fn = load_fn
        self._loads = [0.0] * num_tasks

    def __call__(self, op: Operation) -> int:
        """Returns the index of a task, and adds the operation's load to it. Raises: as load_fn."""
        task = self._loads.index(min(self._loads))
        self._loads[task] += self._load_fn(op)
        return task


def byte_size_load_fn(op: Operation) -> int:
    """Returns the number of bytes of the output of an operation, for GreedyLoadBalancingStrategy.

    For a resource variable it is that of the variable.

    Raises: ValueError for several outputs, or a shape that is not fully defined.
    """
    if len(op.outputs) != 1:
        raise ValueError(f"Op {op!r} must have a single output")
    output = op.outputs[0]
    dtype, shape = output.dtype, output.get_shape()
    if op.type == "VarHandleOp":
        dtype, shape = as_dtype(op.get_attr("dtype")), TensorShape(op.get_attr("shape"))
    shape.assert_is_fully_defined()
    return int(shape.num_elements() or 0) * int(dtype.base_dtype.size)
