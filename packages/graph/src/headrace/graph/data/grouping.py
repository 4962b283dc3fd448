"""Transformations that group elements by a key: windows of one key, buckets of equal lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.data import element_nest as nest
from headrace.graph.data.component_specs import DatasetSpec
from headrace.graph.data.dataset import Dataset
from headrace.graph.data.dataset_node import DatasetNode, make_dataset
from headrace.graph.data.element_specs import flat_structure, is_scalar_of, output_shapes
from headrace.graph.data.user_functions import UserFunction
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import control_dependencies, name_scope
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.framework.tensor_spec import TensorSpec
from headrace.graph.ops.assertions import assert_less
from headrace.graph.ops.elementwise.elementwise import less, less_equal, logical_and, where
from headrace.graph.ops.reduction import reduce_min
from headrace.graph.typing.aliases import TensorLike

Transformation = Callable[[Any], Any]

_INT64 = as_dtype("int64")
_NAME = "tf.data.experimental.group_by_window()"


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: TensorLike | None = None,
    window_size_func: Callable[[Any], Any] | None = None,
) -> Transformation:
    """Returns a transformation that makes a dataset of each window of elements of one key.

    Args:
      key_func: function of an element that returns its key, [] int64.
      reduce_func: function of a key and the dataset of a window that returns a dataset.
      window_size: number of elements of a window.
      window_size_func: function of a key that returns this number; either this or window_size.
    Raises: ValueError unless exactly one of both sizes is given; the transformation raises
      ValueError for keys that are no scalars, TypeError if reduce_func does not return a dataset.

    >>> import headrace.graph as hr
    >>> pairs = hr.data.experimental.group_by_window(
    ...     lambda x: x % 2, lambda key, window: window.batch(2), window_size=2)
    >>> element = hr.data.Dataset.range(4).apply(pairs).make_one_shot_iterator().get_next()
    >>> with hr.Session() as session:
    ...     print(session.run(element), session.run(element))
    [0 2] [1 3]
    """
    if (window_size is None) == (window_size_func is None):
        raise ValueError("Must pass either window_size or window_size_func.")

    def size_of(key: Any) -> Tensor:
        size = window_size if window_size_func is None else window_size_func(key)
        return convert_to_tensor(size, _INT64)

    return lambda dataset: _grouped(dataset, key_func, reduce_func, size_of)


def _grouped(
    dataset: DatasetNode,
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    size_of: Callable[[Any], Tensor],
) -> Any:
    def key_of(*element: Any) -> Tensor:
        return convert_to_tensor(key_func(*element), _INT64)

    scalar = TensorSpec([], _INT64)
    keys = UserFunction(key_of, _NAME, dataset.element_spec)
    if not is_scalar_of(keys.output_spec, _INT64):
        raise ValueError("`key_func` must return a single tf.int64 scalar tensor.")
    reduced = UserFunction(reduce_func, _NAME, (scalar, DatasetSpec(dataset.element_spec)))
    if not isinstance(reduced.output_spec, DatasetSpec):
        raise TypeError("`reduce_func` must return a `Dataset` object.")
    sizes = UserFunction(size_of, _NAME, scalar)
    if not is_scalar_of(sizes.output_spec, _INT64):
        raise ValueError("`window_size_func` must return a single tf.int64 scalar tensor.")
    specs = reduced.output_spec._element_spec
    node = op(
        "GroupByWindowDataset",
        dataset._variant_tensor,
        keys.captured_inputs,
        reduced.captured_inputs,
        sizes.captured_inputs,
        key_func=keys.function,
        reduce_func=reduced.function,
        window_size_func=sizes.function,
        **flat_structure(specs),
    )
    return make_dataset(node, specs, [dataset], [keys, reduced, sizes])


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """Returns a transformation that batches elements of similar lengths.

    Args:
      element_length_func: function of an element that returns its length, [] int32.
      bucket_boundaries: upper bounds of the lengths of buckets, exclusive, ascending; the last
        bucket has none.
      bucket_batch_sizes: size of the batches of each bucket, one more than boundaries.
      padded_shapes, padding_values: as Dataset.padded_batch; by default unknown sizes are padded.
      pad_to_bucket_boundary: pad unknown sizes to the greatest length of the bucket instead of that
        of the batch. In a run, lengths of the last bucket then fail.
      no_padding: batch elements of one shape, or sparse ones, without padding.
      drop_remainder: whether to leave out last batches that are smaller.
    Raises: ValueError for another number of batch sizes.
    """
    with name_scope("bucket_by_seq_length"):
        if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
            raise ValueError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")
        batch_sizes = constant(list(bucket_batch_sizes), _INT64)
        lowest, highest = np.iinfo(np.int32).min, np.iinfo(np.int32).max

        def bucket_of(*element: Any) -> Tensor:
            length = element_length_func(*element)
            above = less_equal([lowest, *bucket_boundaries], length)
            below = less(length, [*bucket_boundaries, highest])
            return reduce_min(where(logical_and(above, below)))

        def size_of(bucket: Tensor) -> Tensor:
            return batch_sizes[bucket]

        def batched(bucket: Tensor, window: Dataset) -> Dataset:
            size = size_of(bucket)
            if no_padding:
                return window.batch(size, drop_remainder=drop_remainder)
            fill = None
            if pad_to_bucket_boundary:
                fill = _greatest_length(bucket, bucket_boundaries)
            shapes = _with_sizes(padded_shapes or output_shapes(window.element_spec), fill)
            return window.padded_batch(size, shapes, padding_values, drop_remainder=drop_remainder)

        grouped = group_by_window(bucket_of, batched, window_size_func=size_of)
        return lambda dataset: dataset.apply(grouped)


def _greatest_length(bucket: Tensor, boundaries: Sequence[int]) -> Tensor:
    """Returns the greatest length in a bucket, after a check that it is not the last one."""
    check = assert_less(
        bucket,
        constant(len(boundaries), _INT64),
        message="When pad_to_bucket_boundary=True, elements must have length < "
        "max(bucket_boundaries).",
    )
    with control_dependencies([check]):
        return constant(list(boundaries), _INT64)[bucket] - 1


def _with_sizes(shapes: Any, size: Tensor | None) -> Any:
    """Returns shapes with a size in the place of unknown ones."""

    def filled(shape: Any) -> list[Any]:
        dims = TensorShape(shape).as_list()
        return [size if d is None else d for d in dims]

    flat = [filled(shape) for shape in nest.flatten(shapes)]
    return nest.pack_sequence_as(shapes, flat)


class Reducer:
    """Functions that reduce a dataset.

    Args:
      init_func: function of a key that returns the first state.
      reduce_func: function of (state, element) that returns the new state.
      finalize_func: function of the last state that returns the result.
    """

    def __init__(
        self,
        init_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        finalize_func: Callable[..., Any],
    ) -> None:
        self._init_func = init_func
        self._reduce_func = reduce_func
        self._finalize_func = finalize_func

    @property
    def init_func(self) -> Callable[..., Any]:
        """The function of a key that returns the first state."""
        return self._init_func

    @property
    def reduce_func(self) -> Callable[..., Any]:
        """The function of (state, element) that returns the new state."""
        return self._reduce_func

    @property
    def finalize_func(self) -> Callable[..., Any]:
        """The function of the last state that returns the result."""
        return self._finalize_func


def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Transformation:
    """Returns a transformation that reduces all elements of one key to one element.

    The results are in the order of the keys. TensorFlow has an op for it; here it consists of a
    window for each key.

    Args:
      key_func: function of an element that returns its key, [] int64.
      reducer: the functions that reduce the elements.
    """

    def reduced(key: Tensor, window: Dataset) -> Dataset:
        state = window.reduce(reducer.init_func(key), reducer.reduce_func)
        parts = state if type(state) is tuple else (state,)
        result = reducer.finalize_func(*parts)
        return Dataset.from_tensors(tuple(result) if isinstance(result, list) else result)

    return group_by_window(key_func, reduced, window_size=np.iinfo(np.int64).max)
