"""Queues of tuples of tensors: FIFO, padding FIFO, random shuffle, priority."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.default_graph import get_seed
from headrace.graph.framework.op_registry import no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import TensorShape, as_shape
from headrace.graph.typing.aliases import TensorLike


class QueueBase:
    """Base class of queues; elements are tuples of tensors of fixed dtypes.

    Args:
      dtypes: dtypes of the components.
      shapes: shapes of the components, each a TensorShape or None.
      names: names of the components; elements are then dicts.
      queue_ref: handle of the queue.
    """

    def __init__(
        self, dtypes: Any, shapes: Any, names: str | Sequence[str], queue_ref: Tensor
    ) -> None:
        self._dtypes = dtypes
        self._shapes = shapes
        self._names = names
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.rpartition("/")[2]

    queue_ref = property(lambda self: self._queue_ref, doc="The handle's tensor.")
    name = property(lambda self: self._queue_ref.op.name, doc="Name of the queue's operation.")
    dtypes = property(lambda self: self._dtypes, doc="Types of the components.")
    shapes = property(lambda self: self._shapes, doc="Shapes of the components.")
    names = property(lambda self: self._names, doc="Names of the components, or None.")

    # -- enqueue ---------------------------------------------------------------------------

    def enqueue(
        self, vals: TensorLike | Mapping[str, TensorLike], name: str | None = None
    ) -> Operation:
        """Creates an operation that adds one element; it blocks while the queue is full.

        Args:
          vals: tensor, tuple of tensors, or a dict if the components have names.
        Raises: ValueError for another number or names of components; in a run CancelledError if the
          queue is closed.
        """
        with name_scope(name, f"{self._name}_enqueue", self._listed(vals)) as scope:
            tensors = self._tensors(vals)
            for tensor, shape in zip(tensors, self._shapes):
                tensor.shape.assert_is_compatible_with(shape)
            return op("QueueEnqueueV2", self._queue_ref, tensors, name=scope)

    def enqueue_many(
        self, vals: TensorLike | Mapping[str, TensorLike], name: str | None = None
    ) -> Operation:
        """Creates an operation that adds the slices of the first axis as elements.

        Raises: as enqueue.
        """
        with name_scope(name, f"{self._name}_EnqueueMany", self._listed(vals)) as scope:
            tensors = self._tensors(vals)
            batch = tensors[0].shape.with_rank_at_least(1)[0]
            for tensor, shape in zip(tensors, self._shapes):
                batch = batch.merge_with(tensor.shape.with_rank_at_least(1)[0])
                tensor.shape[1:].assert_is_compatible_with(shape)
            return op("QueueEnqueueManyV2", self._queue_ref, tensors, name=scope)

    def _listed(self, vals: Any) -> list[Any]:
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names, key=str) != sorted(vals.keys(), key=str):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue. "
                    f"Dictionary: {sorted(vals)}, Queue: {sorted(self._names)}"
                )
            return [vals[name] for name in self._names]
        if self._names:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        return list(vals) if isinstance(vals, (list, tuple)) else [vals]

    def _tensors(self, vals: Any) -> list[Tensor]:
        values = self._listed(vals)
        if len(values) != len(self._dtypes):
            raise ValueError(
                f"an element of queue {self.name!r} has {len(self._dtypes)} components, "
                f"got {len(values)}"
            )
        return [
            convert_to_tensor(value, dtype, name=f"component_{i}")
            for i, (value, dtype) in enumerate(zip(values, self._dtypes))
        ]

    # -- dequeue ---------------------------------------------------------------------------

    def dequeue(self, name: str | None = None) -> Any:
        """Removes one element; blocks while the queue is empty.

        Returns: a tensor, a list of tensors, or a dict.
        Raises: in a run OutOfRangeError if the queue is closed and empty.
        """
        outputs = op(
            "QueueDequeueV2",
            self._queue_ref,
            component_types=self._dtypes,
            name=f"{self._name}_Dequeue" if name is None else name,
        )
        for tensor, shape in zip(outputs, self._shapes):
            tensor.set_shape(shape)
        return self._returned(outputs)

    def dequeue_many(self, n: TensorLike, name: str | None = None) -> Any:
        """Removes n elements, stacked along a new first axis; blocks until n are available."""
        from headrace.graph.framework.constant_value import constant_value

        outputs = op(
            "QueueDequeueManyV2",
            self._queue_ref,
            n,
            component_types=self._dtypes,
            name=f"{self._name}_DequeueMany" if name is None else name,
        )
        known = constant_value(outputs[0].op.inputs[1])
        size = None if known is None else int(known)
        for tensor, shape in zip(outputs, self._shapes):
            tensor.set_shape(TensorShape([size]).concatenate(shape))
        return self._returned(outputs)

    def dequeue_up_to(self, n: TensorLike, name: str | None = None) -> Any:
        """Same as dequeue_many, but returns fewer elements at the end of a closed queue."""
        outputs = op(
            "QueueDequeueUpToV2",
            self._queue_ref,
            n,
            component_types=self._dtypes,
            name=f"{self._name}_DequeueUpTo" if name is None else name,
        )
        for tensor, shape in zip(outputs, self._shapes):
            tensor.set_shape(TensorShape([None]).concatenate(shape))
        return self._returned(outputs)

    def _returned(self, outputs: list[Tensor]) -> Any:
        if self._names:
            return dict(zip(self._names, outputs))
        return outputs[0] if len(outputs) == 1 else outputs

    # -- state -----------------------------------------------------------------------------

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Creates an operation that closes the queue; remaining elements can be dequeued.

        Args:
          cancel_pending_enqueues: cancel blocked enqueues.
        """
        return op(
            "QueueCloseV2",
            self._queue_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=f"{self._name}_Close" if name is None else name,
        )

    def is_closed(self, name: str | None = None) -> Tensor:
        """Returns whether the queue is closed, [] bool."""
        return op(
            "QueueIsClosedV2",
            self._queue_ref,
            name=f"{self._name}_Is_Closed" if name is None else name,
        )

    def size(self, name: str | None = None) -> Tensor:
        """Returns the number of elements, [] int32."""
        return op(
            "QueueSizeV2", self._queue_ref, name=f"{self._name}_Size" if name is None else name
        )

    @staticmethod
    def from_list(index: TensorLike, queues: Sequence[QueueBase]) -> QueueBase:
        """Selects a queue of a list by an int32 tensor.

        Raises: TypeError for different dtypes, or if it is not a list of queues.
        """
        if not queues or not all(isinstance(q, QueueBase) for q in queues):
            raise TypeError("A list of queues expected")
        dtypes = queues[0].dtypes
        if any(q.dtypes != dtypes for q in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        refs = op("Pack", [q.queue_ref for q in queues])
        shapes = [
            s[0] if all(x == s[0] for x in s) else TensorShape(None)
            for s in zip(*[q.shapes for q in queues])
        ]
        return QueueBase(dtypes, shapes, queues[0].names, op("GatherV2", refs, index, 0))


def _types(dtypes: Any) -> list[Any]:
    return [as_dtype(d) for d in (dtypes if isinstance(dtypes, (list, tuple)) else [dtypes])]


def _as_shapes(shapes: Any, dtypes: list[Any], partial: bool) -> list[TensorShape]:
    if shapes is None:
        return [TensorShape(None)] * len(dtypes)
    if isinstance(shapes, TensorShape) or (
        len(dtypes) == 1 and not any(isinstance(s, (list, tuple, TensorShape)) for s in shapes)
    ):
        shapes = [shapes]
    out = [as_shape(s) for s in shapes]
    if len(out) != len(dtypes):
        raise ValueError(
            "Queue shapes must have the same length as dtypes: "
            f"{len(out)} shapes, {len(dtypes)} dtypes"
        )
    if not partial and not all(s.is_fully_defined() for s in out):
        raise ValueError(f"All shapes must be fully defined: {out}")
    return out


def _as_names(names: Any, dtypes: list[Any]) -> Any:
    if not names:
        return None
    names = [names] if isinstance(names, str) else list(names)
    if len(names) != len(dtypes):
        raise ValueError(
            f"Length of names and dtypes lists must match: {len(names)} names, {len(dtypes)} dtypes"
        )
    return names


class FIFOQueue(QueueBase):
    """A first-in first-out queue.

    Args:
      capacity: maximum number of elements; negative for no limit.
      dtypes: dtypes of the components.
      shapes: fully known shapes of the components; None allows any, without the _many methods.
      names: names of the components.
      shared_name: name under which sessions share the queue.
    Raises: ValueError for shapes or names of another number, or unknown shapes.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: str | Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str | None = "fifo_queue",
    ) -> None:
        dtypes = _types(dtypes)
        known = _as_shapes(shapes, dtypes, partial=False)
        ref = op(
            "FIFOQueueV2",
            component_types=dtypes,
            shapes=[] if shapes is None else known,
            capacity=capacity,
            shared_name=shared_name or "",
            name=name,
        )
        super().__init__(dtypes, known, _as_names(names, dtypes), ref)


class PaddingFIFOQueue(QueueBase):
    """A FIFO queue whose dequeue_many pads dimensions of size None with zeros.

    Args: as in FIFOQueue; shapes of known rank are required.
    Raises: ValueError for missing shapes or unknown ranks.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: str | Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        dtypes = _types(dtypes)
        known = _as_shapes(shapes, dtypes, partial=True)
        if any(s.ndims is None for s in known):
            raise ValueError(f"a PaddingFIFOQueue needs shapes of known rank, got {shapes}")
        ref = op(
            "PaddingFIFOQueueV2",
            component_types=dtypes,
            shapes=known,
            capacity=capacity,
            shared_name=shared_name or "",
            name=name,
        )
        super().__init__(dtypes, known, _as_names(names, dtypes), ref)


class RandomShuffleQueue(QueueBase):
    """A queue that returns random elements.

    Args: as in FIFOQueue, and
      min_after_dequeue: number of elements that remain in the queue until it is closed.
      seed: op seed.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: str | Sequence[str] | None = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        dtypes = _types(dtypes)
        known = _as_shapes(shapes, dtypes, partial=False)
        seed1, seed2 = get_seed(seed)
        ref = op(
            "RandomShuffleQueueV2",
            component_types=dtypes,
            shapes=[] if shapes is None else known,
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=seed1 or 0,
            seed2=seed2 or 0,
            shared_name=shared_name or "",
            name=name,
        )
        super().__init__(dtypes, known, _as_names(names, dtypes), ref)


class PriorityQueue(QueueBase):
    """A queue ordered by the first component, an int64 scalar, in ascending order.

    Args:
      capacity: maximum number of elements; negative for no limit.
      types: dtypes of the components after the priority.
      shapes: shapes of the components after the priority.
    """

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: str | Sequence[str] | None = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        types = _types(types)
        known = _as_shapes(shapes, types, partial=False)
        ref = op(
            "PriorityQueueV2",
            component_types=types,
            shapes=known if shapes is not None else [],
            capacity=capacity,
            shared_name=shared_name or "",
            name=name,
        )
        dtypes = [as_dtype("int64"), *types]
        super().__init__(dtypes, [TensorShape([]), *known], _as_names(names, dtypes), ref)


for _op_type in (
    "FIFOQueueV2", "PaddingFIFOQueueV2", "RandomShuffleQueueV2", "PriorityQueueV2",
    "QueueEnqueueV2", "QueueEnqueueManyV2", "QueueDequeueV2", "QueueDequeueManyV2",
    "QueueDequeueUpToV2", "QueueCloseV2", "QueueIsClosedV2", "QueueSizeV2",
):  # fmt: skip
    no_gradient(_op_type, "values pass through a queue between steps, not within one")
