"""Transformations of hr.data.experimental that combine methods of Dataset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.formats.dtypes import DType, as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.data import batches, order
from headrace.graph.data.dataset import Dataset
from headrace.graph.data.dataset_node import DatasetNode, make_dataset
from headrace.graph.data.element_specs import (
    batched,
    flat_structure,
    from_tensors,
    output_types,
    specs_from,
)
from headrace.graph.data.option_sets import Options
from headrace.graph.data.readers import parallel_interleave as _interleaved
from headrace.graph.data.sources import number_range
from headrace.graph.data.user_functions import UserFunction
from headrace.graph.framework.scopes import name_scope
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.ops.arrays.shapes import shape
from headrace.graph.ops.elementwise.elementwise import cast
from headrace.graph.ops.gather import gather_nd
from headrace.graph.typing.aliases import DTypeLike, ShapeLike, TensorLike

Transformation = Callable[[Any], Any]

_INT64 = as_dtype("int64")


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: TensorLike,
    num_parallel_batches: int | None = None,
    drop_remainder: TensorLike = False,
    num_parallel_calls: TensorLike | None = None,
) -> Transformation:
    """Returns a transformation that maps elements in parallel and batches the results.

    Args:
      map_func: as Dataset.map.
      batch_size, drop_remainder: as Dataset.batch.
      num_parallel_batches: number of batches to compute at once.
      num_parallel_calls: number of elements to compute at once, batch_size by default; either this
        or num_parallel_batches.
    Raises: ValueError if both are given.
    """
    return _map_and_batch(
        map_func, batch_size, num_parallel_batches, drop_remainder, num_parallel_calls, False
    )


def map_and_batch_with_legacy_function(
    map_func: Callable[..., Any],
    batch_size: TensorLike,
    num_parallel_batches: int | None = None,
    drop_remainder: TensorLike = False,
    num_parallel_calls: TensorLike | None = None,
) -> Transformation:
    """Same as map_and_batch, with a function that Defun makes."""
    return _map_and_batch(
        map_func, batch_size, num_parallel_batches, drop_remainder, num_parallel_calls, True
    )


def _map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any,
    drop_remainder: Any,
    num_parallel_calls: Any,
    legacy: bool,
) -> Transformation:
    if num_parallel_calls is not None:
        if num_parallel_batches is not None:
            raise ValueError(
                "The `num_parallel_batches` and `num_parallel_calls` arguments are mutually "
                "exclusive."
            )
        calls = num_parallel_calls
    else:
        calls = batch_size * (1 if num_parallel_batches is None else num_parallel_batches)

    def apply(dataset: DatasetNode) -> Any:
        name = "tf.data.experimental.map_and_batch()"
        function = UserFunction(map_func, name, dataset.element_spec, legacy=legacy)
        size = convert_to_tensor(batch_size, _INT64, name="batch_size")
        parallel = convert_to_tensor(calls, _INT64, name="num_parallel_calls")
        drop = convert_to_tensor(drop_remainder, as_dtype("bool"), name="drop_remainder")
        specs = batched(function.output_spec, batches.full_size(size, drop))
        node = op(
            "MapAndBatchDataset",
            dataset._variant_tensor,
            function.captured_inputs,
            size,
            parallel,
            drop,
            f=function.function,
            preserve_cardinality=True,
            **flat_structure(specs),
        )
        return make_dataset(node, specs, [dataset], [function])

    return apply


def shuffle_and_repeat(
    buffer_size: TensorLike, count: TensorLike | None = None, seed: int | None = None
) -> Transformation:
    """Returns a transformation that shuffles and repeats, with one buffer for all repetitions.

    Args: as Dataset.shuffle and Dataset.repeat.
    """
    return lambda dataset: order.shuffle_and_repeat(dataset, buffer_size, count, seed)


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: TensorLike,
    block_length: TensorLike = 1,
    sloppy: bool = False,
    buffer_output_elements: TensorLike | None = None,
    prefetch_input_elements: TensorLike | None = None,
) -> Transformation:
    """Returns a transformation that interleaves datasets and reads them in parallel.

    Args:
      map_func, cycle_length, block_length: as Dataset.interleave.
      sloppy: whether the order may depend on which dataset is faster.
      buffer_output_elements, prefetch_input_elements: numbers of elements to compute ahead.
    Raises: the transformation raises TypeError if map_func does not return a dataset.
    """
    return lambda dataset: _interleaved(
        dataset,
        map_func,
        cycle_length,
        block_length,
        sloppy,
        buffer_output_elements,
        prefetch_input_elements,
    )


def enumerate_dataset(start: TensorLike = 0) -> Transformation:
    """Returns a transformation that numbers elements; as Dataset.enumerate."""
    return lambda dataset: dataset.enumerate(start)


def unbatch() -> Transformation:
    """Returns a transformation to the rows of elements; as Dataset.unbatch."""
    return lambda dataset: dataset.unbatch()


def dense_to_sparse_batch(batch_size: TensorLike, row_shape: ShapeLike) -> Transformation:
    """Returns a transformation that batches tensors of different shapes to SparseTensors.

    Args:
      batch_size: number of elements of a batch.
      row_shape: shape of a row of the result; None takes the greatest size of the batch.
    Raises: the transformation raises TypeError for elements of several components.
    """
    dims = TensorShape(row_shape)

    def as_sparse(x: Any) -> SparseTensor:
        everywhere = op("Where", op("Fill", shape(x), True))
        sizes = shape(x, out_type=_INT64)
        rows = [
            sizes[i] if d is None else constant(d, _INT64) for i, d in enumerate(dims.as_list())
        ]
        return SparseTensor(everywhere, gather_nd(x, everywhere), op("Pack", rows))

    def apply(dataset: Dataset) -> Dataset:
        types = output_types(dataset.element_spec)
        if not isinstance(types, DType):
            raise TypeError(
                "DenseToSparseDataset requires an input whose elements have a single component, "
                f"whereas the input has {types!r}."
            )
        made = dataset.map(as_sparse).batch(batch_size)
        spec = specs_from(types, TensorShape([None]).concatenate(dims), SparseTensor)
        return make_dataset(made._variant_tensor, spec, [made])

    return apply


def prefetch_to_device(device: str, buffer_size: TensorLike | None = None) -> Transformation:
    """Returns a transformation that prefetches elements; all devices share the memory of the CPU.

    Args:
      device: name of a device.
      buffer_size: number of elements; None chooses one.
    """
    return lambda dataset: dataset.apply(copy_to_device(device)).prefetch(buffer_size)


def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Transformation:
    """Returns a transformation that passes elements on: all devices share the memory of the CPU."""

    def apply(dataset: Dataset) -> Dataset:
        options = Options()
        options.experimental_optimization.apply_default_optimizations = False
        options.experimental_optimization.autotune = False
        return dataset.with_options(options)

    return apply


def Counter(  # noqa: N802 - TF's name
    start: TensorLike = 0, step: TensorLike = 1, dtype: DTypeLike = _INT64
) -> Dataset:
    """Returns a dataset of the numbers start, start + step, … without end.

    >>> import headrace.graph as hr
    >>> element = hr.data.experimental.Counter(5, -2).make_one_shot_iterator().get_next()
    >>> with hr.Session() as session:
    ...     print(session.run(element), session.run(element))
    5 3
    """
    kind = as_dtype(dtype)
    with name_scope("counter"):
        first = convert_to_tensor(start, kind, name="start")
        each = convert_to_tensor(step, kind, name="step")
        numbers = number_range(0, 2**63 - 1, 1)
        return numbers.map(lambda n: first + cast(n, kind) * each)


def get_single_element(dataset: Dataset) -> Any:
    """Returns the only element of a dataset, as tensors.

    Raises: TypeError for something else; in a run InvalidArgumentError for another number of
      elements.
    """
    if not isinstance(dataset, DatasetNode):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    specs = dataset.element_spec
    found = op("DatasetToSingleElement", dataset._variant_tensor, **flat_structure(specs))
    return from_tensors(specs, found)


def from_variant(variant: TensorLike, structure: Any) -> Dataset:
    """Returns the dataset of a [] variant tensor. Args: structure: the specs of its elements."""
    return make_dataset(convert_to_tensor(variant), structure)


def to_variant(dataset: Dataset) -> Any:
    """Returns the [] variant tensor of a dataset."""
    return dataset._variant_tensor
