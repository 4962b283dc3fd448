"""gather, gather_nd and boolean_mask, for tensors and resource variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.formats.dtypes import int32, int64
from headrace.graph.builder.conversion import constant, convert_to_tensor
from headrace.graph.builder.indexed_slices import IndexedSlices
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.constant_value import constant_value, handle_data
from headrace.graph.framework.default_graph import count_nodes, counted_as
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import colocate_with, name_scope
from headrace.graph.framework.tensor_shape import TensorShape
from headrace.graph.typing.aliases import DTypeLike, TensorLike


def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: bool | None = None,
    name: str | None = None,
    axis: TensorLike | None = None,
    batch_dims: int = 0,
) -> Tensor:
    """Gathers slices of params along an axis by index.

    Args:
      params: [...] any dtype, or a variable.
      indices: [...] int32 or int64.
      validate_indices: ignored; an index out of range always fails the step.
      axis: axis of params, 0 by default.
      batch_dims: number of common leading dimensions.
    Returns: params.shape[:axis] + indices.shape[batch_dims:] + params.shape[axis + 1:].
    """
    axis = batch_dims if axis is None else axis
    read = getattr(params, "sparse_read", None)
    if read is not None and batch_dims == 0 and _is_zero(axis):
        return read(indices, name=name)
    return op("GatherV2", params, indices, axis, batch_dims=batch_dims, name=name)


def _is_zero(axis: Any) -> bool:
    value = constant_value(axis) if isinstance(axis, Tensor) else axis
    return value is not None and int(value) == 0


def gather_nd(
    params: TensorLike, indices: TensorLike, name: str | None = None, batch_dims: int = 0
) -> Tensor:
    """Gathers slices of params by coordinates.

    Args:
      params: [...] any dtype, or a variable. A resource variable is not read as a whole.
      indices: [..., k] int32 or int64: coordinates of each slice, in the k dimensions of params
        after the first batch_dims.
      batch_dims: number of leading dimensions that params and indices have in common.
    Returns: indices.shape[:-1] + params.shape[batch_dims + k:].
    Raises: ValueError for batch_dims that are not less than the ranks, or indices of unknown rank.
    """
    batch = constant_value(batch_dims) if isinstance(batch_dims, Tensor) else batch_dims
    if batch is None:
        raise ValueError("gather_nd: batch_dims must be known when the graph is built")
    if int(batch) == 0:
        read = getattr(params, "gather_nd", None)
        return op("GatherNd", params, indices, name=name) if read is None else read(indices, name)
    with name_scope(name, "BatchGatherNd", [params, indices]) as scope:
        params = convert_to_tensor(params, name="params")
        indices = convert_to_tensor(indices, name="indices")
        with counted_as(65 + 11 * int(batch)):
            return op("GatherNd", params, _with_batch(params, indices, int(batch)), name=scope)


def _with_batch(params: Tensor, indices: Tensor, batch: int) -> Tensor:
    """Puts the coordinates of the batch before the indices of gather_nd."""
    rank, params_rank = indices.get_shape().ndims, params.get_shape().ndims
    if rank is None:
        raise ValueError("gather_nd: the rank of indices must be known")
    if not 0 <= batch < rank:
        raise ValueError(f"batch_dims = {batch} must be less than rank(indices) = {rank}")
    if params_rank is not None and batch >= params_rank:
        raise ValueError(f"batch_dims = {batch} must be less than rank(params) = {params_rank}")
    shape = op("Shape", indices)
    column = op("ConcatV2", [op("Slice", shape, [0], [rank - 1]), [1]], 0)
    parts = []
    for axis in range(batch):
        size = op("StridedSlice", shape, [axis], [axis + 1], [1], shrink_axis_mask=1)
        places = op("Cast", op("Range", 0, size, 1), DstT=indices.dtype)
        along = [1] * axis + [-1] + [1] * (rank - 1 - axis)
        parts.append(op("BroadcastTo", op("Reshape", places, along), column))
    return op("ConcatV2", [*parts, indices], rank - 1)


def batch_gather(params: TensorLike, indices: TensorLike, name: str | None = None) -> Tensor:
    """Gathers with batch_dims = rank of indices - 1. Raises: ValueError for an unknown rank."""
    indices = convert_to_tensor(indices, name="indices")
    rank = indices.get_shape().ndims
    if rank is None:
        raise ValueError("batch_gather: the rank of indices must be known")
    params = convert_to_tensor(params, name="params")
    with counted_as(10 + rank * (rank + 14)):
        return gather(params, indices, batch_dims=rank - 1, axis=rank - 1, name=name)


def boolean_mask(
    tensor: TensorLike, mask: TensorLike, name: str = "boolean_mask", axis: int | None = None
) -> Tensor:
    """Selects the slices of a tensor where a mask is true.

    Args:
      tensor: [...] any dtype.
      mask: bool of known rank; its shape equals the dimensions of tensor from `axis` on.
      axis: first masked axis.
    Raises: ValueError for a mask of unknown rank or rank 0, or an incompatible shape.
    """
    with name_scope(name):
        tensor = convert_to_tensor(tensor, name="tensor")
        mask = convert_to_tensor(mask, name="mask")
        rank = mask.get_shape().ndims
        if rank == 0:
            raise ValueError("mask cannot be scalar.")
        if rank is None:
            raise ValueError(
                "Number of mask dimensions must be specified, even if some dimensions are None. "
                "E.g. shape=[None] is ok, but shape=None is not."
            )
        start = axis or 0
        known = tensor.get_shape()
        if known.ndims is not None:
            TensorShape(known.as_list()[start : start + rank]).assert_is_compatible_with(
                mask.get_shape()
            )
        shape = op("Shape", tensor)
        lead = op("Slice", shape, [0], [start])
        masked = op("Prod", op("Slice", shape, [start], [rank]), [0], keep_dims=True)
        rest = op("Slice", shape, [start + rank], [-1])
        flat = op("Reshape", tensor, op("ConcatV2", [lead, masked, rest], 0))
        count_nodes(6)
        places = op("Squeeze", op("Where", op("Reshape", mask, [-1])), squeeze_dims=[1])
        return op("GatherV2", flat, places, start)


# ---- gradients -----------------------------------------------------------------------------


def _rows_of(params: Tensor, indices: Tensor, grad: Tensor) -> IndexedSlices:
    """Returns the gradient of a gather of rows as IndexedSlices."""
    known = params.get_shape()
    # The table may be on another task: its shape is not asked for in every step if it is known.
    with colocate_with(params):
        if known.is_fully_defined():
            shape = constant(known.as_list(), int64, name="Shape")
        else:
            shape = op("Shape", params, out_type="int64")
        shape = op("Cast", shape, DstT="int32")
    count = op("Reshape", op("Size", indices), [1])
    with counted_as(5):
        if known.is_fully_defined():
            row = constant(known.as_list()[1:], int32)
        else:
            row = op("StridedSlice", shape, [1], [0], [1], end_mask=1)
    values = op("Reshape", convert_to_tensor(grad), op("ConcatV2", [count, row], 0))
    return IndexedSlices(values, op("Reshape", indices, [-1]), shape)


@gradient("Gather")
def _gather_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [_rows_of(node.inputs[0], node.inputs[1], grad), None]


@gradient("GatherV2")
def _gather_v2_gradient(node: Operation, grad: Tensor) -> list[Any]:
    params, indices, axis = node.inputs
    batch_dims = int(node.get_attr("batch_dims"))
    number = constant_value(axis)
    if number is not None and int(number) == 0 and batch_dims == 0:
        return [_rows_of(params, indices, grad), None, None]
    if number is None or params.get_shape().ndims is None or indices.get_shape().ndims is None:
        raise LookupError(
            f"GatherV2 '{node.name}': its gradient requires a static axis and static ranks"
        )
    rank: Any = params.get_shape().ndims
    axis_number = int(number) % rank
    index_rank: Any = indices.get_shape().ndims
    batch_dims %= max(index_rank, 1)
    return [_scatter_gradient(params, indices, grad, axis_number, batch_dims), None, None]


def _scatter_gradient(
    params: Tensor, indices: Tensor, grad: Tensor, axis: int, batch_dims: int
) -> Tensor:
    """Sums slices by index, as an unsorted segment sum over (batch, index)."""
    rank: Any = params.get_shape().ndims
    index_rank: Any = indices.get_shape().ndims
    inner = index_rank - batch_dims
    shape = op("Shape", params)
    # grad: batch, outer, index, rest -> batch, index, outer, rest
    batch = list(range(batch_dims))
    outer = list(range(batch_dims, axis))
    index = list(range(axis, axis + inner))
    rest = list(range(axis + inner, rank + inner - 1))
    turned = op("Transpose", grad, np.array(batch + index + outer + rest, np.int32))
    size = op("GatherV2", shape, axis, 0)
    batches = op("Prod", op("Slice", shape, [0], [batch_dims]), [0])
    flat_index = op("Reshape", indices, op("Pack", [batches, -1]))
    offsets = op("ExpandDims", op("Range", 0, batches * size, size) if batch_dims else [0], -1)
    if indices.dtype.base_dtype.name != "int32":
        offsets = op("Cast", offsets, DstT=indices.dtype.base_dtype)
    places = op("Reshape", flat_index + offsets, [-1])
    others = op(
        "ConcatV2",
        [
            op("Slice", shape, [batch_dims], [axis - batch_dims]),
            op("Slice", shape, [axis + 1], [-1]),
        ],
        0,
    )
    values = op(
        "Reshape", turned, op("ConcatV2", [op("Reshape", op("Size", places), [1]), others], 0)
    )
    summed = op("UnsortedSegmentSum", values, places, batches * size)
    front = op(
        "ConcatV2", [op("Slice", shape, [0], [batch_dims]), op("Reshape", size, [1]), others], 0
    )
    back = batch + [i + 1 for i in outer] + [batch_dims] + list(range(axis + 1, rank))
    return op("Transpose", op("Reshape", summed, front), np.array(back, np.int32))


@gradient("GatherNd")
def _gather_nd_gradient(node: Operation, grad: Tensor) -> list[Any]:
    params, indices = node.inputs
    shape = op("Shape", params, out_type=indices.dtype.base_dtype)
    if indices.get_shape().ndims == 2 and indices.get_shape().as_list()[-1] == 1:
        squeezed = op("Squeeze", indices, squeeze_dims=[-1])
        return [IndexedSlices(grad, squeezed, op("Cast", shape, DstT="int32")), None]
    return [op("ScatterNd", indices, grad, shape), None]


def _variable_shape(handle: Tensor, dtype: DTypeLike) -> Tensor:
    """Returns the shape of a resource variable: a constant where the graph knows it."""
    held = handle_data(handle)
    if held is not None and held[1] is not None and None not in held[1]:
        return convert_to_tensor(list(held[1]), dtype)
    return op("VariableShape", handle, out_type=dtype)


@gradient("ResourceGather")
def _resource_gather_gradient(node: Operation, grad: Tensor) -> list[Any]:
    handle, indices = node.inputs
    shape = _variable_shape(handle, int32)
    count = op("Reshape", op("Size", indices), [1])
    row = op("StridedSlice", shape, [1], [0], [1], end_mask=1)
    values = op("Reshape", convert_to_tensor(grad), op("ConcatV2", [count, row], 0))
    return [IndexedSlices(values, op("Reshape", indices, [-1]), shape), None]


@gradient("ResourceGatherNd")
def _resource_gather_nd_gradient(node: Operation, grad: Tensor) -> list[Any]:
    handle, indices = node.inputs
    shape = _variable_shape(handle, indices.dtype.base_dtype)
    if indices.get_shape().ndims == 2 and indices.get_shape().as_list()[-1] == 1:
        squeezed = op("Squeeze", indices, squeeze_dims=[-1])
        return [IndexedSlices(grad, squeezed, shape), None]
    return [op("ScatterNd", indices, grad, shape), None]


no_gradient("GatherTree", "ids have no gradient")
