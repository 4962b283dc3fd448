"""What the nodes of simulated partitions do: values of scalars, state, and waiting.

A tensor with several elements has the value None: only its size counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulation.partitions import Node
from simulation.state import Accumulator, Queue

WAITS = object()  # the value comes later, by `done`
_SCALARS: dict[str, Callable[..., Any]] = {
    "Sub": lambda a, b: a - b,
    "Add": lambda a, b: a + b,
    "AddV2": lambda a, b: a + b,
    "Minimum": min,
    "Maximum": max,
    "Identity": lambda a: a,
    "Cast": lambda a: int(a),
    "Reshape": lambda a, shape: a,
    "Fill": lambda n, value: (n, value),
}


def run_kernel(
    node: Node, args: list[Any], state: dict[str, Any], done: Callable[[Any], None]
) -> Any:
    """Runs a node.

    Args:
      args: the values of its inputs.
      state: of the task, by key.
      done: takes the value of a node that waits.
    Returns: the value of the node, or WAITS.
    Raises: ValueError if a number that decides is not known.
    """
    op = node.op
    if op == "Const":
        return node.value
    if op == "VariableV2":
        state.setdefault(node.key, node.value)
        return _Variable(node.key)
    if op in ("Assign", "AssignAdd") and isinstance(args[0], _Variable):
        known = state[args[0].key] is not None and args[1] is not None
        if op == "Assign":
            state[args[0].key] = args[1]
        elif known:
            state[args[0].key] += args[1]
        return args[0]
    args = [state[a.key] if isinstance(a, _Variable) else a for a in args]
    if op.endswith("ConditionalAccumulator"):
        return state.setdefault(node.key, Accumulator(node.is_sum))
    if op.endswith("AccumulatorApplyGradient"):
        args[0].apply(_known(node, args[1]), args[2])
        return None
    if op.endswith("AccumulatorTakeGradient"):
        args[0].take(_known(node, args[1]), done)
        return WAITS
    if op.endswith("AccumulatorSetGlobalStep"):
        args[0].global_step = _known(node, args[1])
        return None
    if op == "FIFOQueueV2":
        return state.setdefault(node.key, Queue())
    if op == "QueueSizeV2":
        return len(args[0].items)
    if op == "QueueDequeueV2":
        args[0].take(done)
        return WAITS
    if op == "QueueEnqueueManyV2":
        count, value = args[1]
        for _ in range(_known(node, count)):
            args[0].put(value)
        return None
    function = _SCALARS.get(op)
    return function(*args) if function and all(a is not None for a in args) else None


class _Variable:
    """A reference to a variable of a task."""

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        self.key = key


def _known(node: Node, value: Any) -> Any:
    if value is None:
        raise ValueError(f"{node.op} {node.name}: the simulation does not know a value it needs")
    return value
