"""Runs the stateful operations of a function in the order in which the program made them."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.formats.dtypes import resource
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.functions.graph_to_function import is_stateful

# Stateful ops that only read a variable: any number of them may run between two writes.
_READS = frozenset(("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape"))
# Stateful ops that a call need not run if no result depends on them, and whose order is free.
_FREE = frozenset(
    ("VarHandleOp", "VariableV2", "Variable", "VarIsInitializedOp", "Placeholder", "RandomUniform",
     "RandomUniformInt", "RandomStandardNormal", "ParameterizedTruncatedNormal", "TruncatedNormal",
     "RandomShuffle", "RandomGamma", "RandomPoisson", "RandomPoissonV2", "Multinomial")
)  # fmt: skip


def add_control_dependencies(operations: Iterable[Operation]) -> list[Operation]:
    """Orders the stateful operations of a function.

    A read of a resource follows the write before it, and a write follows the reads and the write
    before it. Other operations with side effects follow one another.

    Args:
      operations: all operations of the function, in order of creation.
    Returns: the operations that every call must run.
    """
    order = _Order()
    for node in operations:
        if not is_stateful(node) or node.type in _FREE:
            continue
        handles = [_source(t) for t in node.inputs if t.dtype.base_dtype is resource]
        if handles:
            for handle in dict.fromkeys(handles):
                order.use(node, handle, node.type in _READS)
        else:
            order.use(node, None, False)
    return list(order.required)


class _Order:
    """The last operations on each resource; None stands for all other side effects."""

    def __init__(self) -> None:
        self.required: dict[Operation, None] = {}  # in order
        self._writes: dict[Tensor | None, Operation] = {}
        self._reads: dict[Tensor | None, list[Operation]] = {}

    def use(self, node: Operation, handle: Tensor | None, is_read: bool) -> None:
        """Adds the control edges of an operation that uses a resource."""
        before = [self._writes[handle]] if handle in self._writes else []
        if is_read:
            self._reads.setdefault(handle, []).append(node)
        else:
            before += self._reads.pop(handle, [])
            self._writes[handle] = node
            if node._context is None:
                self.required.setdefault(node)
        sources = {t.op for t in node.inputs}
        for other in before:
            if other is not node and other not in sources and other._context is node._context:
                node._add_control_inputs([other])


def _source(handle: Tensor) -> Tensor:
    """Returns the tensor that a handle is a copy of."""
    while handle.op.type in ("Identity", "Switch", "Enter", "Merge") and handle.op.inputs:
        handle = handle.op.inputs[0]
    return handle
