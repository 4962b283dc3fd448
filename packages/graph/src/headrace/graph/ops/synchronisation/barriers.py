"""Barriers: tuples whose components arrive one by one, by key."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.op_registry import no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.tensor_shape import TensorShape, as_shape
from headrace.graph.typing.aliases import TensorLike


class Barrier:
    """Collects the components of tuples by key; a tuple can be taken once it has all of them.

    Args:
      types: dtypes of the components.
      shapes: fully known shapes of the components, none of them empty.
      shared_name: name under which sessions share the barrier.
    Raises: ValueError for an empty or a partly unknown shape.
    """

    def __init__(
        self,
        types: Any,
        shapes: Any = None,
        shared_name: str | None = None,
        name: str = "barrier",
    ) -> None:
        self._types = [
            as_dtype(t) for t in (types if isinstance(types, (list, tuple)) else [types])
        ]
        self._shapes = [TensorShape(None)] * len(self._types)
        if shapes is not None:
            self._shapes = _known_shapes(shapes)
        self._barrier_ref: Tensor = op(
            "Barrier",
            component_types=self._types,
            shapes=self._shapes,
            shared_name=shared_name or "",
            name=name,
        )
        self._name = self._barrier_ref.op.name.rpartition("/")[2]

    @property
    def barrier_ref(self) -> Tensor:
        """The handle's tensor."""
        return self._barrier_ref

    @property
    def name(self) -> str:
        """The name of the barrier's operation."""
        return self._barrier_ref.op.name

    def insert_many(
        self,
        component_index: int,
        keys: TensorLike,
        values: TensorLike,
        name: str | None = None,
    ) -> Operation:
        """Creates an operation that assigns one component of several keys.

        Args:
          component_index: the component.
          keys: [n] string.
          values: [n, ...] of the component's dtype and shape.
        Raises: in a run InvalidArgumentError if a key has a value, CancelledError if the barrier is
          closed and a key is new.
        """
        return op(
            "BarrierInsertMany",
            self._barrier_ref,
            keys,
            values,
            component_index=component_index,
            name=f"{self._name}_BarrierInsertMany" if name is None else name,
        )

    def take_many(
        self,
        num_elements: TensorLike,
        allow_small_batch: bool = False,
        timeout: int | None = None,
        name: str | None = None,
    ) -> Any:
        """Removes complete tuples, the oldest keys first; waits until there are num_elements.

        Args:
          num_elements: [] int32.
          allow_small_batch: once the barrier is closed, return those that are complete.
          timeout: not supported, as in TensorFlow.
        Returns: (indices, keys, values): [n] int64, the number of the insertion that began a tuple,
          from -2^63 on; [n] string; a list of [n, ...] tensors, one for each component.
        Raises: in a run OutOfRangeError if the barrier is closed and has too few tuples.
        """
        taken = op(
            "BarrierTakeMany",
            self._barrier_ref,
            num_elements,
            component_types=self._types,
            allow_small_batch=allow_small_batch,
            timeout_ms=-1 if timeout is None else timeout,
            name=f"{self._name}_BarrierTakeMany" if name is None else name,
        )
        node = taken[0].op
        known = None if allow_small_batch else constant_value(node.inputs[1])
        batch = TensorShape([None if known is None else int(known)])
        for output, shape in zip(node.outputs, [[], [], *self._shapes]):
            output.set_shape(batch.concatenate(shape))
        return taken

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Creates an operation after which no new key can be inserted.

        Args:
          cancel_pending_enqueues: also drop the incomplete tuples.
        """
        return op(
            "BarrierClose",
            self._barrier_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=f"{self._name}_BarrierClose" if name is None else name,
        )

    def ready_size(self, name: str | None = None) -> Tensor:
        """Returns the number of complete tuples, [] int32."""
        name = f"{self._name}_BarrierReadySize" if name is None else name
        return op("BarrierReadySize", self._barrier_ref, name=name)

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """Returns the number of incomplete tuples, [] int32."""
        name = f"{self._name}_BarrierIncompleteSize" if name is None else name
        return op("BarrierIncompleteSize", self._barrier_ref, name=name)


def _known_shapes(shapes: Any) -> list[TensorShape]:
    if isinstance(shapes, TensorShape) or all(s is None or isinstance(s, int) for s in shapes):
        shapes = [shapes]
    known = [as_shape(shape) for shape in shapes]
    if not all(shape.is_fully_defined() for shape in known):
        raise ValueError(f"All shapes must be fully defined: {known}")
    for i, shape in enumerate(known):
        if shape.num_elements() == 0:
            raise ValueError(
                f"Empty tensors are not supported, but received shape '{shape}' at index {i}"
            )
    return known


no_gradient("Barrier", "its output is a handle")
no_gradient("BarrierInsertMany", "it has no output")
no_gradient("BarrierTakeMany", "values pass through a barrier between steps, not within one")
no_gradient("BarrierClose", "it has no output")
no_gradient("BarrierReadySize", "a number of tuples")
no_gradient("BarrierIncompleteSize", "a number of tuples")
