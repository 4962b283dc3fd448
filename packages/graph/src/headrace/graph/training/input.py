"""Producers of input: queues of file names, numbers and slices, filled by queue runners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.indexed_slices import convert_to_tensor_or_indexed_slices
from headrace.graph.control_flow.assertion import Assert
from headrace.graph.control_flow.control_flow_ops import identity
from headrace.graph.framework.graph_keys import GraphKeys
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import control_dependencies, name_scope
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.ops.arrays.creation import range as number_range
from headrace.graph.ops.arrays.shapes import shape, size
from headrace.graph.ops.elementwise.elementwise import cast, greater
from headrace.graph.ops.files import matching_files
from headrace.graph.ops.gather import gather
from headrace.graph.ops.queues import FIFOQueue, QueueBase
from headrace.graph.ops.random.random import random_shuffle
from headrace.graph.ops.synchronisation.queue_runner import QueueRunner, add_queue_runner
from headrace.graph.summary.summaries import scalar
from headrace.graph.typing.aliases import ShapeLike, TensorLike
from headrace.graph.variables.variable import Variable


def match_filenames_once(pattern: TensorLike, name: str | None = None) -> Any:
    """Returns a local variable with the matching paths, read once at its initialisation."""
    with name_scope(name or "matching_filenames") as scope:
        return Variable(
            matching_files(pattern),
            trainable=False,
            validate_shape=False,
            name=scope,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )


def limit_epochs(tensor: TensorLike, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Returns a tensor that can be read num_epochs times, and then raises OutOfRangeError.

    The count is a local variable: run `local_variables_initializer()` first.

    Args:
      num_epochs: greater than 0; None returns `tensor` itself.
    Raises: ValueError if num_epochs is not positive.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name, "limit_epochs", [tensor]) as scope:
        epochs = Variable(
            constant(0, as_dtype("int64")),
            name="epochs",
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )
        with control_dependencies([epochs.count_up_to(num_epochs)]):
            return identity(tensor, name=scope)


def input_producer(
    input_tensor: TensorLike,
    element_shape: ShapeLike = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> FIFOQueue:
    """Returns a queue that a queue runner fills with the rows of a tensor.

    Args:
      input_tensor: [n, ...] the rows.
      element_shape: shape of a row, if the tensor's is not known.
      num_epochs: number of times that each row occurs; None for no end.
      shuffle: shuffle the rows in each epoch, by `seed`.
      capacity: of the queue.
      shared_name: name under which sessions share the queue.
      summary_name: name of a scalar summary of how full the queue is.
      cancel_op: operation that ends the queue runner.
    Raises: ValueError if the shape of a row is not known.
    """
    with name_scope(name, "input_producer", [input_tensor]):
        rows = convert_to_tensor(input_tensor, name="input_tensor")
        row_shape = rows.shape[1:].merge_with(TensorShape(element_shape))
        if not row_shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be "
                "specified"
            )
        if shuffle:
            rows = random_shuffle(rows, seed=seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(
            capacity=capacity,
            dtypes=[rows.dtype.base_dtype],
            shapes=[row_shape],
            shared_name=shared_name,
            name=name,
        )
        enqueue = queue.enqueue_many([rows])
        add_queue_runner(QueueRunner(queue, [enqueue], cancel_op=cancel_op))
        if summary_name is not None:
            scalar(summary_name, cast(queue.size(), as_dtype("float32")) * (1.0 / capacity))
        return queue


def string_input_producer(
    string_tensor: TensorLike,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> QueueBase:
    """Returns a queue of strings, such as file names, that a queue runner fills.

    Args: as for input_producer; string_tensor: [n] string.
    Raises: ValueError for an empty list; in a run InvalidArgumentError for an empty tensor.
    """
    empty = "string_input_producer requires a non-null input tensor"
    if not isinstance(string_tensor, Tensor) and not _has_elements(string_tensor):
        raise ValueError(empty)
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        strings = convert_to_tensor(string_tensor, dtype=as_dtype("string"))
        with control_dependencies([Assert(greater(size(strings), 0), [empty])]):
            strings = identity(strings)
        return input_producer(
            input_tensor=strings,
            element_shape=[],
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
            name=scope,
            summary_name=f"fraction_of_{capacity}_full",
            cancel_op=cancel_op,
        )


def _has_elements(values: Any) -> bool:
    length = getattr(values, "size", None)
    return bool(values) if not isinstance(length, int) else length > 0


def range_input_producer(
    limit: TensorLike,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """Returns a queue of the numbers from 0 to limit - 1. Args: as for input_producer."""
    with name_scope(name, "input_producer", [limit]) as scope:
        return input_producer(
            number_range(limit),
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            scope,
        )


def slice_input_producer(
    tensor_list: Sequence[TensorLike],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """Returns one row of each tensor, the same in all, another one in each run.

    Args: as for input_producer; tensor_list: tensors with the same first dimension.
    Raises: ValueError for an empty list.
    """
    with name_scope(name, "input_producer", tensor_list):
        tensors = [convert_to_tensor_or_indexed_slices(t) for t in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        queue = range_input_producer(
            shape(tensors[0])[0],
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
        )
        index = queue.dequeue()
        return [gather(t, index) for t in tensors]
