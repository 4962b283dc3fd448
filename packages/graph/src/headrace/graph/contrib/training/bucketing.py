"""Batches of examples of similar length, or of the same class: a queue for each bucket."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.formats.errors import CancelledError, OutOfRangeError
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.indexed_slices import convert_to_tensor_or_indexed_slices
from headrace.graph.control_flow.cond import cond
from headrace.graph.control_flow.control_flow_ops import group, no_op
from headrace.graph.framework.constant_value import constant_value
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.layers.smart_cond import smart_cond
from headrace.graph.ops.elementwise.elementwise import (
    cast,
    equal,
    less,
    less_equal,
    logical_and,
    where,
)
from headrace.graph.ops.queues import PaddingFIFOQueue, QueueBase
from headrace.graph.ops.reduction import reduce_min
from headrace.graph.ops.synchronisation.queue_runner import QueueRunner, add_queue_runner
from headrace.graph.summary.summaries import scalar
from headrace.graph.training.batching import (
    as_given,
    checked_keep_input,
    dense_components,
    dtypes_of,
    queue_class,
    shapes_of,
    sparse_again,
    tensors_of,
)
from headrace.graph.typing.aliases import TensorLike


def bucket(
    tensors: Any,
    which_bucket: TensorLike,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: TensorLike = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Tensor, Any]:
    """Returns batches of examples of one bucket.

    Each bucket has a queue; once it holds batch_size examples, they go to a common queue of
    batches. Queue runners move them.

    Args:
      tensors: list or dict of tensors: one example.
      which_bucket: [] int32, from 0 to num_buckets - 1.
      batch_size: number of examples in a batch, or a list with one for each bucket.
      num_buckets: number of buckets.
      num_threads: number of threads that enqueue examples.
      capacity: of the queue of batches, and of each bucket unless bucket_capacities tells.
      bucket_capacities: capacity of each bucket.
      shapes, dynamic_pad, allow_smaller_final_batch, shared_name: as for `hr.train.batch`.
      keep_input: [] bool, whether to use the example.
    Returns: ([] int32 the bucket, the batch as a list or dict).
    Raises: ValueError for lists of other than num_buckets elements, or unknown shapes.
    """
    sizes = _sizes(batch_size, num_buckets)
    capacities = [capacity] * num_buckets if bucket_capacities is None else bucket_capacities
    if len(capacities) != num_buckets:
        raise ValueError(
            f"The list bucket_capacities ({bucket_capacities}) must have exactly num_buckets "
            f"({num_buckets}) elements."
        )
    listed = tensors_of(tensors)
    with name_scope(name, "bucket", listed):
        converted = [convert_to_tensor_or_indexed_slices(t) for t in listed]
        if not converted:
            raise ValueError("Expected at least one tensor in bucket().")
        keep = checked_keep_input(keep_input, enqueue_many=False)
        dense, kinds = dense_components(converted, enqueue_many=False)
        types = dtypes_of([dense])
        known = shapes_of([dense], shapes, enqueue_many=False)
        which = convert_to_tensor(which_bucket, dtype=as_dtype("int32"), name="which_bucket")
        queues = [
            queue_class(dynamic_pad)(
                capacity=capacities[i],
                dtypes=types,
                shapes=known,
                shared_name=None if shared_name is None else f"{shared_name}_{i}",
                name=f"bucket_queue_{i}",
            )
            for i in range(num_buckets)
        ]
        same_size = not allow_smaller_final_batch and not isinstance(batch_size, (list, tuple))
        static = sizes[-1] if same_size and isinstance(sizes[-1], int) else None
        # Batches may be smaller than batch_size, so that their shapes are not fully known.
        batched = [TensorShape([static]).concatenate(s) for s in queues[0].shapes]
        top = PaddingFIFOQueue(
            capacity=capacity,
            dtypes=[as_dtype("int32"), *types],
            shapes=[TensorShape([]), *batched],
            shared_name=shared_name,
            name="top_queue",
        )
        enqueue = smart_cond(keep, lambda: _enqueue_one(queues, which, dense), no_op)
        _run_queues(queues, top, sizes, [enqueue] * num_threads, allow_smaller_final_batch)
        _summarise(queues, top, capacity)
        taken = top.dequeue(name="dequeue_top")
        return taken[0], _as_given(tensors, sparse_again(taken[1:], kinds))


def _as_given(example: Any, batched: list[Any]) -> Any:
    one = isinstance(example, dict) and len(example) == 1
    return as_given(example, batched[0] if one else batched)


def _sizes(batch_size: Any, num_buckets: int) -> list[Any]:
    """Returns the batch size of each bucket: an int if it is known, else a tensor."""
    if isinstance(batch_size, (list, tuple)):
        if len(batch_size) != num_buckets:
            raise ValueError("If batch_size is a list it must have num_buckets elements")
        given = list(batch_size)
    else:
        given = [batch_size] * num_buckets
    sizes = []
    for one in given:
        tensor = convert_to_tensor(one, dtype=as_dtype("int32"), name="batch_size")
        known = constant_value(tensor)
        sizes.append(tensor if known is None else int(known))
    return sizes


def _enqueue_one(queues: list[QueueBase], which: Tensor, example: list[Tensor]) -> Operation:
    """Returns an operation that enqueues the example into the queue of its bucket."""

    def into(queue: QueueBase) -> Any:
        return lambda: queue.enqueue(example)

    return group(
        *[cond(equal(which, i), into(queue), no_op) for i, queue in enumerate(queues)],
        name="group_enqueues",
    )


def _run_queues(
    queues: list[QueueBase],
    top: QueueBase,
    sizes: list[Any],
    enqueues: list[Operation],
    smaller: bool,
) -> None:
    """Adds the queue runners: one for all buckets, and one for the examples.

    When the examples end, their runner closes the buckets; when these are empty, their runner
    closes the queue of batches.
    """
    ends = (OutOfRangeError, CancelledError)
    to_top = []
    for i, (queue, size) in enumerate(zip(queues, sizes)):
        dequeue = queue.dequeue_up_to if smaller else queue.dequeue_many
        number = constant(i)
        taken = dequeue(size, name=f"read_bucket_{i}")
        parts = list(taken) if isinstance(taken, (list, tuple)) else [taken]
        to_top.append(top.enqueue([number, *parts], name=f"enqueue_from_bucket_{i}"))
    add_queue_runner(
        QueueRunner(
            queues[0],
            to_top,
            close_op=top.close(),
            cancel_op=top.close(cancel_pending_enqueues=True),
            queue_closed_exception_types=ends,
        )
    )
    add_queue_runner(
        QueueRunner(
            top,
            enqueues,
            close_op=group(*[queue.close() for queue in queues]),
            cancel_op=group(*[queue.close(cancel_pending_enqueues=True) for queue in queues]),
            queue_closed_exception_types=ends,
        )
    )


def _summarise(queues: list[QueueBase], top: QueueBase, capacity: int) -> None:
    for queue in queues:
        scalar(f"bucket/{queue.name}/size", cast(top.size(), as_dtype("float32")))
    full = cast(top.size(), as_dtype("float32")) * (1.0 / capacity)
    scalar(f"bucket/{top.name}/fraction_of_{capacity}_full", full)


def bucket_by_sequence_length(
    input_length: TensorLike,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Sequence[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: TensorLike = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Tensor, Any]:
    """Returns batches of examples of similar length.

    Args:
      input_length: [] int32, length of the example.
      bucket_boundaries: increasing lengths; n of them make n + 1 buckets, the first for lengths
        below the first boundary, the last for those from the last boundary on.
      Others as for `bucket`.
    Returns: ([n] int32 lengths of the batch's examples, the batch as a list or dict).
    Raises: TypeError if bucket_boundaries is not a list of integers; ValueError if it is empty or
      not increasing; as bucket.
    """
    _check_boundaries(bucket_boundaries)
    listed = tensors_of(tensors)
    with name_scope(name, "bucket_by_sequence_length", [input_length, *listed]):
        length = convert_to_tensor(input_length, dtype=as_dtype("int32"), name="input_length")
        limits = np.iinfo(np.int32)
        least = np.array([limits.min, *bucket_boundaries], np.int32)
        most = np.array([*bucket_boundaries, limits.max], np.int32)
        inside = logical_and(less_equal(least, length), less(length, most))
        which = cast(reduce_min(where(inside)), as_dtype("int32"))
        _, batch = bucket(
            tensors=[length, *listed],
            which_bucket=which,
            batch_size=batch_size,
            num_buckets=len(bucket_boundaries) + 1,
            num_threads=num_threads,
            capacity=capacity,
            bucket_capacities=bucket_capacities,
            shapes=None if shapes is None else [TensorShape([]), *shapes],
            dynamic_pad=dynamic_pad,
            allow_smaller_final_batch=allow_smaller_final_batch,
            keep_input=keep_input,
            shared_name=shared_name,
        )
        return batch[0], _as_given(tensors, batch[1:])


def _check_boundaries(boundaries: Any) -> None:
    if not isinstance(boundaries, (list, tuple)):
        raise TypeError(f"bucket_boundaries must be a list or tuple, but received: {boundaries}")
    if not boundaries:
        raise ValueError("bucket_boundaries must not be empty")
    for low, high in zip(boundaries[:-1], boundaries[1:]):
        if not isinstance(low, int) or not isinstance(high, int):
            raise TypeError(f"bucket boundaries must be integers, but saw: {low} and {high}")
        if low >= high:
            raise ValueError(
                f"Buckets must contain sequential increasing lengths, but saw: {low} before {high}"
            )
