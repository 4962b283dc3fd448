"""Batches of examples, made by queues that queue runners fill."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from headrace.formats.dtypes import DType, as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import (
    SparseTensor,
    convert_to_tensor_or_indexed_slices,
)
from headrace.graph.control_flow.control_flow_ops import no_op
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.default_graph import count_nodes
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.layers.smart_cond import smart_cond
from headrace.graph.ops.elementwise.elementwise import cast, maximum
from headrace.graph.ops.queues import FIFOQueue, PaddingFIFOQueue, QueueBase, RandomShuffleQueue
from headrace.graph.ops.scatter import dynamic_partition
from headrace.graph.ops.sparse.layout import (
    deserialize_many_sparse,
    serialize_many_sparse,
    serialize_sparse,
)
from headrace.graph.ops.synchronisation.queue_runner import QueueRunner, add_queue_runner
from headrace.graph.summary.summaries import scalar
from headrace.graph.typing.aliases import TensorLike


class SparseComponent(NamedTuple):
    """A component that is sparse: it passes through the queue as bytes."""

    dtype: DType
    rank: int | None


def tensors_of(tensors: Any) -> list[Any]:
    """Returns the tensors of an example: those of a dict in the order of its keys."""
    if isinstance(tensors, dict):
        return [tensors[key] for key in sorted(tensors, key=str)]
    return list(tensors)


def as_given(example: Any, batched: Any) -> Any:
    """Returns batched tensors as the caller gave the example: a dict, or as dequeued."""
    if not isinstance(example, dict):
        return batched
    values = [batched] if len(example) == 1 else batched
    return {key: values[i] for i, key in enumerate(sorted(example, key=str))}


def dense_components(
    tensors: list[Any], enqueue_many: bool
) -> tuple[list[Tensor], list[SparseComponent | None]]:
    """Serialises the sparse tensors of an example.

    Returns: (dense tensors, what `sparse_again` needs).
    """
    dense: list[Tensor] = []
    kinds: list[SparseComponent | None] = []
    for t in tensors:
        if not isinstance(t, SparseTensor):
            dense.append(t)
            kinds.append(None)
            continue
        count_nodes(2)  # TensorFlow 1.15 expands the shape of each component
        rank = t.dense_shape.shape.with_rank(1)[0].value
        if rank is not None and enqueue_many:
            rank -= 1
        dense.append(serialize_many_sparse(t) if enqueue_many else serialize_sparse(t))
        kinds.append(SparseComponent(t.dtype, rank))
    return dense, kinds


def sparse_again(dequeued: Any, kinds: list[SparseComponent | None]) -> Any:
    """Returns the tensors of a batch, those sparse again that were serialised."""
    if not isinstance(dequeued, (list, tuple)):
        return sparse_again([dequeued], kinds)[0]
    # TensorFlow 1.15 takes sparse tensors from a map: it also squeezes, and waits for each part.
    sparse = sum(kind is not None for kind in kinds)
    if sparse:
        count_nodes(4 * sparse + len(kinds) - sparse)
    return [
        tensor
        if kind is None
        else deserialize_many_sparse(
            tensor, kind.dtype, rank=None if kind.rank is None else kind.rank + 1
        )
        for tensor, kind in zip(dequeued, kinds)
    ]


def checked_keep_input(keep_input: TensorLike, enqueue_many: bool) -> Tensor:
    """Converts keep_input to a bool tensor. Raises: ValueError for another rank."""
    keep = convert_to_tensor(keep_input)
    rank = keep.shape.ndims
    if rank is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not enqueue_many and rank == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if rank > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep


def dtypes_of(examples: list[list[Tensor]]) -> list[DType]:
    """Returns the dtypes of the components. Raises: TypeError if examples have different ones."""
    types = [t.dtype.base_dtype for t in examples[0]]
    for example in examples[1:]:
        others = [t.dtype.base_dtype for t in example]
        if others != types:
            raise TypeError(
                f"Expected types to be consistent: {', '.join(t.name for t in types)} vs. "
                f"{', '.join(t.name for t in others)}."
            )
    return types


def shapes_of(examples: list[list[Tensor]], shapes: Any, enqueue_many: bool) -> Any:
    """Returns the given shapes, or those of the examples.

    Raises: ValueError for an unknown rank, or shapes that are not compatible.
    """
    if shapes is not None:
        return shapes
    found = []
    for i in range(len(examples[0])):
        inferred = []
        for example in examples:
            if example[i].shape.ndims is None:
                raise ValueError(f"Cannot infer Tensor's rank: {example[i]}")
            one = example[i].shape
            inferred.append(one.with_rank_at_least(1)[1:] if enqueue_many else one)
        for other in inferred[1:]:
            inferred[0].assert_is_compatible_with(other)
        found.append(inferred[0])
    return found


def queue_class(dynamic_pad: bool) -> Callable[..., QueueBase]:
    """Returns the class of a queue for batches: padded to the largest element or not."""
    return PaddingFIFOQueue if dynamic_pad else FIFOQueue


class _Batching(NamedTuple):
    """How examples become batches; the arguments of the public functions."""

    scope: str
    batch_size: Any
    capacity: int
    enqueue_many: bool
    shapes: Any
    allow_smaller_final_batch: bool
    shared_name: str | None
    name: str | None
    keep_input: Any = True
    num_threads: int | None = None  # None: one for each of several examples
    dynamic_pad: bool = False
    min_after_dequeue: int | None = None  # None: no shuffling
    seed: int | None = None


def _batches(examples: list[Any], how: _Batching) -> Any:
    """Returns batches of one example that several threads enqueue, or of one example each."""
    if not examples:
        raise ValueError("Expected at least one set of tensors")
    if isinstance(examples[0], dict) and any(set(e) != set(examples[0]) for e in examples):
        raise ValueError("All dictionaries in tensors_list must have the same keys")
    listed = [tensors_of(example) for example in examples]
    values = [t for example in listed for t in example]
    with name_scope(how.name, how.scope, [*values, how.keep_input]) as scope:
        _check_room(how)
        converted = [[convert_to_tensor_or_indexed_slices(t) for t in e] for e in listed]
        if not converted[0]:
            raise ValueError("Expected at least one tensor in batch().")
        keep = checked_keep_input(how.keep_input, how.enqueue_many)
        stored = [dense_components(e, how.enqueue_many) for e in converted]
        if constant_value(keep) is None:  # and it stores them in a conditional
            each = 9 if not how.enqueue_many else 14 if keep.shape.ndims else 18
            count_nodes(each * sum(kind is not None for _, kinds in stored for kind in kinds))
        kinds = stored[0][1]
        for example, (_, others) in zip(converted, stored):
            if not all(map(_alike, kinds, others)):
                raise ValueError(f"Inconsistent SparseTensors list: {converted[0]} vs. {example}")
        dense = [tensors for tensors, _ in stored]
        queue = _queue_of(dense, how)
        _fill(queue, dense, keep, how)
        _summarise(queue, how)
        dequeue = queue.dequeue_up_to if how.allow_smaller_final_batch else queue.dequeue_many
        return as_given(examples[0], sparse_again(dequeue(how.batch_size, name=scope), kinds))


def _alike(one: SparseComponent | None, other: SparseComponent | None) -> bool:
    """Returns whether components of two examples are both dense, or sparse of one rank."""
    if one is None or other is None:
        return one is other
    return None in (one.rank, other.rank) or one.rank == other.rank


def _check_room(how: _Batching) -> None:
    if how.min_after_dequeue is not None and how.capacity <= how.min_after_dequeue:
        raise ValueError(
            f"capacity {how.capacity} must be bigger than min_after_dequeue "
            f"{how.min_after_dequeue}."
        )


def _queue_of(examples: list[list[Tensor]], how: _Batching) -> QueueBase:
    types = dtypes_of(examples)
    shapes = shapes_of(examples, how.shapes, how.enqueue_many)
    if how.min_after_dequeue is None:
        return queue_class(how.dynamic_pad)(
            capacity=how.capacity, dtypes=types, shapes=shapes, shared_name=how.shared_name
        )
    return RandomShuffleQueue(
        capacity=how.capacity,
        min_after_dequeue=how.min_after_dequeue,
        seed=how.seed,
        dtypes=types,
        shapes=shapes,
        shared_name=how.shared_name,
    )


def _fill(queue: QueueBase, examples: list[list[Tensor]], keep: Tensor, how: _Batching) -> None:
    """Adds a queue runner for the enqueue operations."""
    enqueue = queue.enqueue_many if how.enqueue_many else queue.enqueue

    def enqueue_kept(example: list[Tensor]) -> Any:
        if keep.shape.ndims == 1:
            chosen = cast(keep, as_dtype("int32"))
            return enqueue([dynamic_partition(t, chosen, num_partitions=2)[1] for t in example])
        return smart_cond(keep, lambda: enqueue(example), no_op)

    operations = [enqueue_kept(example) for example in examples]
    if how.num_threads is not None:
        operations = operations * how.num_threads
    add_queue_runner(QueueRunner(queue, operations))


def _summarise(queue: QueueBase, how: _Batching) -> None:
    """Adds a scalar summary of how full the queue is."""
    least = how.min_after_dequeue
    if least is None:
        full = cast(queue.size(), as_dtype("float32")) * (1.0 / how.capacity)
        scalar(f"fraction_of_{how.capacity}_full", full)
        return
    room = how.capacity - least
    over = cast(maximum(0, queue.size() - least), as_dtype("float32")) * (1.0 / room)
    scalar(f"fraction_over_{least}_of_{room}_full", over)


def batch(
    tensors: Any,
    batch_size: TensorLike,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches of an example that changes in each run.

    A queue runner enqueues the example; start it with `hr.train.start_queue_runners`. The last
    batch raises OutOfRangeError.

    Args:
      tensors: list or dict of tensors: one example, dense or sparse.
      batch_size: number of examples in a batch.
      num_threads: number of threads that enqueue; more than one give another order in each run.
      capacity: of the queue.
      enqueue_many: the tensors have several examples, along their first dimension.
      shapes: shapes of an example; by default those of the tensors, which must be known.
      dynamic_pad: pad unknown dimensions to the largest of the batch, with zeros or empty strings.
      allow_smaller_final_batch: the last batch may be smaller; otherwise it is dropped.
      shared_name: name under which sessions share the queue.
    Returns: list or dict of batched tensors; the tensor itself for a list of one.
    Raises: ValueError for shapes that are not known.
    """
    return maybe_batch(
        tensors, True, batch_size, num_threads, capacity, enqueue_many, shapes, dynamic_pad,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_batch(
    tensors: Any,
    keep_input: TensorLike,
    batch_size: TensorLike,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches of those examples for which keep_input is true.

    Args: as for batch, and
      keep_input: [] bool; with enqueue_many also [n], for each example.
    Returns, Raises: as batch; ValueError for keep_input of another shape.
    """
    how = _Batching(
        "batch", batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch,
        shared_name, name, keep_input, num_threads, dynamic_pad,
    )  # fmt: skip
    return _batches([tensors], how)


def batch_join(
    tensors_list: list[Any],
    batch_size: TensorLike,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches of several examples, each of which has its own enqueuing thread.

    Args: as for batch; tensors_list: list of such examples.
    Returns, Raises: as batch; TypeError for examples of different dtypes.
    """
    return maybe_batch_join(
        tensors_list, True, batch_size, capacity, enqueue_many, shapes, dynamic_pad,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_batch_join(
    tensors_list: list[Any],
    keep_input: TensorLike,
    batch_size: TensorLike,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """As batch_join, for those examples for which keep_input is true, as in maybe_batch."""
    how = _Batching(
        "batch_join", batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch,
        shared_name, name, keep_input, None, dynamic_pad,
    )  # fmt: skip
    return _batches(tensors_list, how)


def shuffle_batch(
    tensors: Any,
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Returns batches of examples in random order, from a RandomShuffleQueue.

    Args: as for batch, and
      min_after_dequeue: number of examples that remain in the queue, less than capacity: the more,
        the better they are mixed.
      seed: op seed.
    Returns, Raises: as batch; ValueError if capacity is not greater than min_after_dequeue.
    """
    return maybe_shuffle_batch(
        tensors, batch_size, capacity, min_after_dequeue, True, num_threads, seed, enqueue_many,
        shapes, allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_shuffle_batch(
    tensors: Any,
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    keep_input: TensorLike,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """As shuffle_batch, for those examples for which keep_input is true, as in maybe_batch."""
    how = _Batching(
        "shuffle_batch", batch_size, capacity, enqueue_many, shapes, allow_smaller_final_batch,
        shared_name, name, keep_input, num_threads, False, min_after_dequeue, seed,
    )  # fmt: skip
    return _batches([tensors], how)


def shuffle_batch_join(
    tensors_list: list[Any],
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """As shuffle_batch, for several examples, as in batch_join."""
    return maybe_shuffle_batch_join(
        tensors_list, batch_size, capacity, min_after_dequeue, True, seed, enqueue_many, shapes,
        allow_smaller_final_batch, shared_name, name,
    )  # fmt: skip


def maybe_shuffle_batch_join(
    tensors_list: list[Any],
    batch_size: TensorLike,
    capacity: int,
    min_after_dequeue: int,
    keep_input: TensorLike,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """As shuffle_batch_join, for those examples for which keep_input is true."""
    how = _Batching(
        "shuffle_batch_join", batch_size, capacity, enqueue_many, shapes,
        allow_smaller_final_batch, shared_name, name, keep_input, None, False, min_after_dequeue,
        seed,
    )  # fmt: skip
    return _batches(tensors_list, how)
