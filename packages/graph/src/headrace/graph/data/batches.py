"""Batches of elements, windows, and rows of elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.formats.dtypes import DType, as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.indexed_slices import SparseTensor
from headrace.graph.builder.op_builder import op
from headrace.graph.data import element_nest as nest
from headrace.graph.data.component_specs import DatasetSpec, component
from headrace.graph.data.dataset_node import DatasetNode, make_dataset
from headrace.graph.data.element_specs import (
    batched,
    flat_structure,
    output_classes,
    output_shapes,
    output_types,
    specs_from,
    to_rows,
    unbatched,
)
from headrace.graph.data.mapping import map_elements
from headrace.graph.framework.constant_value import constant_value, value_as_shape
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.tensor_shape import Dimension, TensorShape

_INT64, _BOOL = as_dtype("int64"), as_dtype("bool")


def batch(dataset: DatasetNode, batch_size: Any, drop_remainder: Any) -> Any:
    """Returns a dataset of batches of successive elements."""
    size = convert_to_tensor(batch_size, _INT64, name="batch_size")
    drop = convert_to_tensor(drop_remainder, _BOOL, name="drop_remainder")
    specs = batched(dataset.element_spec, full_size(size, drop))
    node = op("BatchDatasetV2", dataset._variant_tensor, size, drop, **flat_structure(specs))
    return make_dataset(node, specs, [dataset])


def full_size(size: Tensor, drop_remainder: Tensor) -> int | None:
    """Returns the size of all batches, or None if the last one may be smaller."""
    drop, known = constant_value(drop_remainder), constant_value(size)
    return int(known) if drop is not None and drop and known is not None else None


# ---- padding -----------------------------------------------------------------------------------


def padded_batch(
    dataset: DatasetNode,
    batch_size: Any,
    padded_shapes: Any,
    padding_values: Any,
    drop_remainder: Any,
) -> Any:
    """Returns a dataset of batches whose elements are padded to one shape.

    Raises: TypeError for sparse tensors, and padding of another dtype; ValueError for shapes that
      elements do not fit into, and padding that is not a scalar.
    """
    specs = dataset.element_spec
    types, shapes = output_types(specs), output_shapes(specs)
    if any(kind is SparseTensor for kind in nest.flatten(output_classes(specs))):
        raise TypeError("Batching of padded sparse tensors is not currently supported")
    size = convert_to_tensor(batch_size, _INT64, name="batch_size")
    if padding_values is None:
        padding_values = nest.map_structure(_zero, types)
    flat_shapes = [
        _padded_shape(padded, shape)
        for shape, padded in zip(
            nest.flatten(shapes), nest.flatten_up_to(shapes, padded_shapes), strict=True
        )
    ]
    values = nest.map_structure_up_to(shapes, _padding, padding_values, types)
    drop = convert_to_tensor(drop_remainder, _BOOL, name="drop_remainder")
    rows = TensorShape([full_size(size, drop)])
    batch_shapes = [rows.concatenate(TensorShape(value_as_shape(s))) for s in flat_shapes]
    made = specs_from(types, nest.pack_sequence_as(shapes, batch_shapes), output_classes(specs))
    node = op(
        "PaddedBatchDatasetV2",
        dataset._variant_tensor,
        size,
        flat_shapes,
        nest.flatten(values),
        drop,
        output_shapes=flat_structure(made)["output_shapes"],
    )
    return make_dataset(node, made, [dataset])


def _zero(dtype: Any) -> Any:
    """Returns what a component of a dtype is padded with."""
    if not isinstance(dtype, DType) or dtype.base_dtype.name == "variant":
        raise TypeError(
            "Unable to create padding for field of type 'variant' because t.base_type == "
            f"dtypes.variant == {dtype}."
        )
    if dtype.base_dtype.name == "string":
        return ""
    return np.zeros_like(dtype.as_numpy_dtype())


def _padded_shape(padded: Any, component_shape: TensorShape) -> Tensor:
    """Returns the shape that a component is padded to, as a tensor; -1 is the largest of a batch.

    Raises: ValueError or TypeError for a shape that is no vector of int64, or one that is smaller.
    """
    try:
        shape = TensorShape(padded)
        dims = [-1 if d is None else d for d in shape.as_list()]
        tensor = convert_to_tensor(dims, _INT64)
    except (TypeError, ValueError):
        tensor = convert_to_tensor(padded, preferred_dtype=_INT64)
        if tensor.shape.ndims not in (None, 1):
            raise ValueError(
                f"Padded shape {padded} must be a 1-D tensor of tf.int64 values, but its shape was "
                f"{tensor.shape}."
            ) from None
        if tensor.dtype.base_dtype != _INT64:
            raise TypeError(
                f"Padded shape {padded} must be a 1-D tensor of tf.int64 values, but its element "
                f"type was {tensor.dtype.name}."
            ) from None
        shape = TensorShape(value_as_shape(tensor))
    if not _fits(shape, component_shape):
        raise ValueError(
            f"The padded shape {shape} is not compatible with the corresponding input component "
            f"shape {component_shape}."
        )
    return tensor


def _fits(padded: TensorShape, shape: TensorShape) -> bool:
    """Returns whether elements of a shape can be padded to another one."""
    if padded.ndims is None or shape.ndims is None:
        return True
    pairs = zip(padded.as_list(), shape.as_list(), strict=False)
    return padded.ndims == shape.ndims and all(p is None or s is None or p >= s for p, s in pairs)


def _padding(value: Any, dtype: DType) -> Tensor:
    tensor = convert_to_tensor(value, name="padding_value")
    if not tensor.shape.is_compatible_with([]):
        raise ValueError(f"Padding value should be a scalar, but is not: {tensor}")
    if tensor.dtype != dtype:
        raise TypeError(f"Padding value tensor ({tensor}) does not match output type: {dtype}")
    return tensor


# ---- windows and rows ----------------------------------------------------------------------------


def window(dataset: DatasetNode, size: Any, shift: Any, stride: Any, drop_remainder: Any) -> Any:
    """Returns a dataset whose elements have a nested dataset for each component."""
    numbers = [
        convert_to_tensor(value, _INT64, name=name)
        for name, value in (("size", size), ("shift", shift), ("stride", stride))
    ]
    drop = convert_to_tensor(drop_remainder, _BOOL, name="drop_remainder")
    specs = nest.map_structure(DatasetSpec, dataset.element_spec)
    node = op("WindowDataset", dataset._variant_tensor, *numbers, drop, **flat_structure(specs))
    return make_dataset(node, specs, [dataset])


def unbatch(dataset: DatasetNode) -> Any:
    """Returns a dataset of the rows of elements.

    Raises: ValueError for scalars, and components with different numbers of rows.
    """
    specs = dataset.element_spec

    def as_rows(*element: Any) -> Any:
        return to_rows(specs, element if type(specs) is tuple else element[0])

    rows = map_elements(dataset, as_rows)
    shapes = [component(spec).flat(spec).shape for spec in nest.flatten(specs)]
    if any(shape.ndims == 0 for shape in shapes):
        raise ValueError("Cannot unbatch an input with scalar components.")
    count = Dimension(None)
    for shape in shapes:
        try:
            count = count.merge_with(shape[0])
        except ValueError:
            raise ValueError(
                "Cannot unbatch an input whose components have different batch sizes."
            ) from None
    row_specs = unbatched(specs)
    node = op("UnbatchDataset", rows._variant_tensor, **flat_structure(row_specs))
    return make_dataset(node, row_specs, [rows])
