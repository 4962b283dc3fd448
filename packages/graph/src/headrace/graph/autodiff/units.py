"""What a gradient goes through: operations, and whole loops as one unit each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from headrace.formats.dtypes import variant
from headrace.graph.control_flow.context import WhileContext
from headrace.graph.control_flow.context_edges import is_constant_enter
from headrace.graph.control_flow.loop_variables import is_loop_merge
from headrace.graph.control_flow.while_gradients import exit_of, loop_sources, merge_of
from headrace.graph.framework.operation import Operation, Tensor

Unit = Operation | WhileContext


class Units:
    """The units of one level: the body of a loop, or what is outside of all loops.

    Args:
      loop: the loop, or None.
      replaced: tensors of branches that operations read, and what they count as reading instead:
        Switches of a Merge, which is an argument of the function.
    """

    def __init__(
        self, loop: WhileContext | None, replaced: Mapping[Tensor, Tensor] | None = None
    ) -> None:
        self._loop = loop
        self._replaced = replaced or {}
        self._ends = {_merge_behind(t) for t in self._replaced.values()}
        self._sources: dict[Unit, list[Unit]] = {}

    @property
    def is_body(self) -> bool:
        """Whether this is the level of a loop's body."""
        return self._loop is not None

    def of(self, operation: Operation) -> Unit:
        """Returns the unit of an operation: the outermost loop around it here, or itself."""
        context = operation._context
        loop = None if context is None else context.while_context
        unit: Unit = operation
        while loop is not None and loop is not self._loop:
            unit = loop
            outer = loop.outer_context
            loop = None if outer is None else outer.while_context
        return unit

    def is_boundary(self, operation: Operation) -> bool:
        """Returns whether an operation brings values into an iteration of the loop."""
        if self._loop is None or operation._context is not self._loop:
            return False
        return operation.type in ("Enter", "RefEnter") or is_loop_merge(operation)

    def sources(self, unit: Unit) -> list[Unit]:
        """Returns the units whose values a unit reads, each once."""
        found = self._sources.get(unit)
        if found is None:
            found = self._sources[unit] = list(
                dict.fromkeys(self.of(t.op) for t in self.inputs(unit))
            )
        return found

    def inputs(self, unit: Unit) -> Sequence[Tensor]:
        """Returns the tensors that a unit reads."""
        if isinstance(unit, WhileContext):
            return [self.source(t.op.inputs[0]) for t in loop_sources(unit)]
        if self.is_boundary(unit) or unit in self._ends:
            return ()
        return [self.source(t) for t in unit.inputs] if self._replaced else unit.inputs

    def source(self, tensor: Tensor) -> Tensor:
        """Returns the tensor that the gradient of a read of `tensor` belongs to."""
        return self._replaced.get(tensor, tensor)

    def in_order(self, starts: Iterable[Unit]) -> list[Unit]:
        """Returns all units that lead to `starts`, each after its sources."""
        order: list[Unit] = []
        seen: set[Unit] = set()
        for start in starts:
            if start in seen:
                continue
            seen.add(start)
            stack: list[tuple[Unit, Iterator[Unit]]] = [(start, iter(self.sources(start)))]
            while stack:
                unit, rest = stack[-1]
                for source in rest:
                    if source not in seen:
                        seen.add(source)
                        stack.append((source, iter(self.sources(source))))
                        break
                else:
                    order.append(unit)
                    stack.pop()
        return order


def _merge_behind(tensor: Tensor) -> Operation:
    node = tensor.op
    while node.type == "Switch":
        node = node.inputs[0].op
    return node


def active_enters(
    loop: WhileContext, grads: dict[Tensor, Any], is_requested: Callable[[Tensor], bool]
) -> list[Tensor]:
    """Returns the Enters of a loop that a requested value comes in by and a gradient leaves by.

    Args:
      loop: the loop.
      grads: gradients of its Exits.
      is_requested: whether the gradient of what an Enter reads is requested.
    """
    units = Units(loop)
    enters = loop_sources(loop)
    variables = {merge_of(t): t for t in enters if not is_constant_enter(t.op)}
    merges: dict[Unit, Tensor] = {merged.op: enter for merged, enter in variables.items()}
    following = {e: units.of(m.op.inputs[1].op.inputs[0].op) for m, e in variables.items()}

    def behind(unit: Unit) -> Iterable[Unit]:  # a variable is read where its next value is needed
        return [following[merges[unit]]] if unit in merges else units.sources(unit)

    needed = _closed([merged.op for merged in variables if exit_of(merged) in grads], behind)
    readers: dict[Unit, list[Unit]] = {}
    for unit in needed:
        for source in behind(unit):
            readers.setdefault(source, []).append(unit)
    # From what a requested value enters by: the Merge of a variable, or the Enter of a constant.
    entries = {t: merge.op for merge, t in variables.items()}
    requested = [entries.get(t, t.op) for t in enters if is_requested(t)]
    reached = _closed(requested, lambda unit: readers.get(unit, ()))
    active = needed & reached
    return [t for t in enters if entries.get(t, t.op) in active and _has_gradient(t)]


def _closed(starts: Iterable[Unit], following: Callable[[Unit], Iterable[Unit]]) -> set[Unit]:
    """Returns units and all that follow them, directly or not."""
    found = set(starts)
    ahead = list(found)
    while ahead:
        new = [unit for unit in following(ahead.pop()) if unit not in found]
        found.update(new)
        ahead += new
    return found


def _has_gradient(enter: Tensor) -> bool:
    dtype = enter.dtype.base_dtype
    if is_constant_enter(enter.op) and dtype.name == "resource":
        return True
    return dtype.is_floating or dtype.is_complex or dtype is variant
