"""Scatter ops, dynamic_partition and dynamic_stitch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.graph.builder.op_builder import op
from headrace.graph.framework.op_registry import gradient, no_gradient
from headrace.graph.framework.operation import Operation, Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import TensorLike

if TYPE_CHECKING:
    from headrace.graph.typing.functions import TensorScatter


def scatter_nd(
    indices: TensorLike, updates: TensorLike, shape: TensorLike, name: str | None = None
) -> Tensor:
    """Adds slices to a tensor of zeros, by coordinates.

    Args:
      indices: [..., k] int32 or int64: k leading coordinates of each slice.
      updates: indices.shape[:-1] + shape[k:].
      shape: shape of the result.
    """
    return op("ScatterNd", indices, updates, shape, name=name)


def _tensor_scatter(kind: str, summary: str) -> TensorScatter:
    def function(
        tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> Tensor:
        return op(f"TensorScatter{kind}", tensor, indices, updates, name=name)

    function.__name__ = function.__qualname__ = f"tensor_scatter_nd_{kind.lower()}"
    function.__doc__ = f"""A copy of a tensor, {summary} the slices that index vectors name.

    Args:
      indices: [..., k] int32 or int64: k leading coordinates of each slice.
      updates: indices' shape without its last axis, then the slice's.
    """
    return function


tensor_scatter_nd_update = _tensor_scatter("Update", "with updates in place of")
tensor_scatter_nd_add = _tensor_scatter("Add", "with updates added to")
tensor_scatter_nd_sub = _tensor_scatter("Sub", "with updates subtracted from")
tensor_scatter_nd_max = _tensor_scatter("Max", "with the greater of updates and")
tensor_scatter_nd_min = _tensor_scatter("Min", "with the lesser of updates and")


def batch_scatter_update(
    ref: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    use_locking: bool = True,
    name: str | None = None,
) -> Tensor:
    """Sets slices of a variable [batch..., n, ...]; the indices are relative to each batch.

    Args:
      ref: variable.
      indices: [batch..., k] int32.
      updates: [batch..., k, ...].
    Returns: the new value of the variable.
    Raises: ValueError for indices of unknown rank.
    """
    from headrace.graph.builder.conversion import convert_to_tensor
    from headrace.graph.ops.state import scatter_nd_update

    with name_scope(name or "batch_scatter_update"):
        indices = convert_to_tensor(indices, name="indices", dtype="int32")
        dims = indices.get_shape().ndims
        if dims is None:
            raise ValueError("batch_scatter_update: the rank of indices must be known")
        shape = op("Shape", indices)
        columns = []
        for axis in range(dims - 1):
            count = op("GatherV2", shape, axis, 0)
            form = [1] * dims
            form[axis] = -1
            columns.append(op("BroadcastTo", op("Reshape", op("Range", 0, count, 1), form), shape))
        places = op("Pack", [*columns, indices], axis=dims)
        return scatter_nd_update(ref, places, updates, use_locking)


def dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """Distributes the slices of a tensor to num_partitions tensors.

    Args:
      data: partitions.shape + slice shape.
      partitions: int32, index of the partition of each slice.
      num_partitions: number of partitions.
    Returns: list of num_partitions tensors [?, slice...].
    """
    return op("DynamicPartition", data, partitions, num_partitions=num_partitions, name=name)


def dynamic_stitch(indices: TensorLike, data: TensorLike, name: str | None = None) -> Tensor:
    """Merges slices of several tensors to one by index; of equal indices the last is used.

    Args:
      indices: list of int32 tensors.
      data: list of tensors, each of shape indices[i].shape + slice shape.
    Returns: [greatest index + 1, slice...].
    """
    return op("DynamicStitch", indices, data, name=name)


# ---- gradients -----------------------------------------------------------------------------


@gradient("DynamicPartition")
def _partition_gradient(node: Operation, *grads: Tensor) -> list[Any]:
    data, partitions = node.inputs
    shape = op("Shape", partitions)
    places = op("Reshape", op("Range", 0, op("Size", partitions), 1), shape)
    parts = op(
        "DynamicPartition", places, partitions, num_partitions=node.get_attr("num_partitions")
    )
    whole = op("ParallelDynamicStitch", parts, list(grads))
    return [op("Reshape", whole, op("Shape", data)), None]


@gradient("DynamicStitch")
def _stitch_gradient(node: Operation, grad: Tensor) -> list[Any]:
    """Gathers the gradients of the slices; 0 for slices that others replaced."""
    indices = node.inputs[: len(node.inputs) // 2]
    numbers, start = [], op("Cast", 0, DstT="int32")
    for index in indices:
        end = start + op("Size", index)
        numbers.append(op("Reshape", op("Range", start, end, 1), op("Shape", index)))
        start = end
    owners = op("DynamicStitch", list(indices), numbers)
    result = []
    for index, number in zip(indices, numbers, strict=True):
        got = op("GatherV2", grad, index, 0)
        kept = op("Equal", op("GatherV2", owners, index, 0), number)
        inner = op("Fill", op("ExpandDims", op("Rank", got) - op("Rank", index), 0), 1)
        kept = op("Reshape", kept, op("ConcatV2", [op("Shape", index), inner], 0))
        result.append(op("SelectV2", kept, got, op("ZerosLike", got)))
    return [*[None] * len(indices), *result]


@gradient("ParallelDynamicStitch")
def _parallel_stitch_gradient(node: Operation, grad: Tensor) -> list[Any]:
    """Gathers the gradients of the slices; the op requires distinct indices."""
    indices = node.inputs[: len(node.inputs) // 2]
    return [*[None] * len(indices), *[op("GatherV2", grad, index, 0) for index in indices]]


@gradient("ScatterNd")
def _scatter_nd_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [None, op("GatherNd", grad, node.inputs[0]), None]


@gradient("ScatterNdNonAliasingAdd")
def _scatter_add_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [grad, None, op("GatherNd", grad, node.inputs[1])]


gradient("TensorScatterAdd")(_scatter_add_gradient)


@gradient("TensorScatterSub")
def _scatter_sub_gradient(node: Operation, grad: Tensor) -> list[Any]:
    return [grad, None, -op("GatherNd", grad, node.inputs[1])]


@gradient("TensorScatterUpdate")
def _scatter_update_gradient(node: Operation, grad: Tensor) -> list[Any]:
    _, indices, updates = node.inputs
    kept = op("TensorScatterUpdate", grad, indices, op("ZerosLike", updates))
    return [kept, None, op("GatherNd", grad, indices)]


def _scatter_extreme_gradient(node: Operation, grad: Tensor) -> list[Any]:
    """Distributes the gradient equally between equal extremes."""
    tensor, indices, updates = node.inputs
    result, dtype = node.outputs[0], grad.dtype.base_dtype
    own = op("Cast", op("Equal", tensor, result), DstT=dtype)
    put = op("Cast", op("Equal", updates, op("GatherNd", result, indices)), DstT=dtype)
    shape = op("Shape", tensor, out_type=indices.dtype.base_dtype)
    share = grad / (own + op("ScatterNd", indices, put, shape))
    return [own * share, None, put * op("GatherNd", share, indices)]


gradient("TensorScatterMax")(_scatter_extreme_gradient)
gradient("TensorScatterMin")(_scatter_extreme_gradient)

for _kind in "Add Div Max Min Mul NdAdd NdMax NdMin NdSub NdUpdate Sub Update".split():
    for _prefix in ("", "Resource"):
        no_gradient(f"{_prefix}Scatter{_kind}", "it changes state, not a value")
