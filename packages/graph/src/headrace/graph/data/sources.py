"""Datasets that read no other dataset: tensors, their rows, and ranges of numbers."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.data.dataset_node import make_dataset
from headrace.graph.data.element_specs import (
    as_element,
    flat_structure,
    spec_of,
    to_rows,
    to_tensors,
    unbatched,
)
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import as_dimension
from headrace.graph.framework.tensor_spec import TensorSpec

_INT64 = as_dtype("int64")


def optional_tensor(name: str, value: Any, default: Any = 0, dtype: Any = _INT64) -> Tensor:
    """Returns an argument as a tensor, with a default in the place of None."""
    if value is None:
        return constant(default, dtype, name=name)
    return convert_to_tensor(value, dtype, name=name)


def from_tensors(tensors: Any) -> Any:
    """Returns a dataset of one element."""
    element = as_element(tensors)
    specs = spec_of(element)
    shapes = flat_structure(specs)["output_shapes"]
    return make_dataset(
        op("TensorDataset", to_tensors(specs, element), output_shapes=shapes), specs
    )


def from_tensor_slices(tensors: Any) -> Any:
    """Returns a dataset of the rows of tensors.

    Raises: ValueError for scalars and for tensors with different numbers of rows.
    """
    element = as_element(tensors)
    specs = spec_of(element)
    rows = to_rows(specs, element)
    row_specs = unbatched(specs)
    count = as_dimension(rows[0].shape[0])
    for tensor in rows[1:]:
        count.assert_is_compatible_with(tensor.shape[0])
    shapes = flat_structure(row_specs)["output_shapes"]
    return make_dataset(op("TensorSliceDataset", rows, output_shapes=shapes), row_specs)


def from_sparse_tensor_slices(sparse_tensor: Any) -> Any:
    """Returns a dataset of the rows of a SparseTensor, each as (indices, values, dense_shape).

    Raises: TypeError for something else.
    """
    x = sparse_tensor
    if not isinstance(x, SparseTensor):
        raise TypeError(f"`sparse_tensor` must be a `tf.SparseTensor` object. Was {x}.")
    rank = (x.indices.shape[1] - 1).merge_with(x.dense_shape.shape[0] - 1)
    specs = (
        TensorSpec([None, rank], _INT64),
        TensorSpec([None], x.dtype),
        TensorSpec([rank], _INT64),
    )
    node = op("SparseTensorSliceDataset", x.indices, x.values, x.dense_shape)
    return make_dataset(node, specs)


def number_range(*args: Any) -> Any:
    """Returns a dataset of int64 numbers: range(stop), range(start, stop[, step]).

    Raises: ValueError for another number of arguments.
    """
    if not 1 <= len(args) <= 3:
        raise ValueError(f"Invalid arguments to RangeDataset: {args}")
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    bounds = [
        convert_to_tensor(value, _INT64, name=name)
        for name, value in (("start", start), ("stop", stop), ("step", step))
    ]
    spec = TensorSpec([], _INT64)
    return make_dataset(op("RangeDataset", *bounds, **flat_structure(spec)), spec)
