"""Array ops: padding, reversal, unique elements, space to depth and batch, diagonals."""

from __future__ import annotations

from typing import Any

from headrace.formats.dtypes import as_dtype
from headrace.graph.builder.conversion import convert_to_tensor
from headrace.graph.builder.op_builder import op
from headrace.graph.framework.operation import Tensor
from headrace.graph.framework.scopes import name_scope
from headrace.graph.typing.aliases import DTypeLike, TensorLike


def pad(
    tensor: TensorLike,
    paddings: TensorLike,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: TensorLike = 0,
) -> Tensor:
    """Pads a tensor.

    Args:
      tensor: [...] of rank n.
      paddings: [n, 2] ints: elements to add before and after each dimension.
      mode: "CONSTANT" (constant_values), "REFLECT" or "SYMMETRIC": mirrors the border without or
        with the outermost element.
      constant_values: scalar value of the padding.
    Raises: ValueError for an unknown mode.
    """
    mode = mode.upper()
    if mode == "CONSTANT":
        if isinstance(constant_values, int | float) and constant_values == 0:
            return op("Pad", tensor, paddings, name=name)
        return op("PadV2", tensor, paddings, constant_values, name=name)
    if mode in ("REFLECT", "SYMMETRIC"):
        return op("MirrorPad", tensor, paddings, mode=mode, name=name)
    raise ValueError(f"Unknown padding mode: {mode}; CONSTANT, REFLECT and SYMMETRIC are")


def reverse(tensor: TensorLike, axis: TensorLike, name: str | None = None) -> Tensor:
    """Reverses the order of elements along axes."""
    return op("ReverseV2", tensor, axis, name=name)


reverse_v2 = reverse


def reverse_sequence(
    input: TensorLike,  # noqa: A002
    seq_lengths: TensorLike,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """Reverses the first seq_lengths[i] elements along seq_axis, for each i of batch_axis."""
    along = seq_axis if seq_axis is not None else seq_dim
    batch = batch_axis if batch_axis is not None else batch_dim
    return op("ReverseSequence", input, seq_lengths, seq_dim=along, batch_dim=batch or 0, name=name)


def roll(input: TensorLike, shift: TensorLike, axis: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """Rolls elements by shift along axes; elements that pass the end re-enter at the start."""
    return op("Roll", input, shift, axis, name=name)


def invert_permutation(x: TensorLike, name: str | None = None) -> Tensor:
    """Computes the inverse of a permutation. Args: x: [n] int32 or int64."""
    return op("InvertPermutation", x, name=name)


def unique(x: TensorLike, out_idx: DTypeLike = "int32", name: str | None = None) -> Any:
    """Returns the distinct elements in order of appearance, and each element's index in them."""
    return op("Unique", x, out_idx=as_dtype(out_idx), name=name)


def unique_with_counts(x: TensorLike, out_idx: DTypeLike = "int32", name: str | None = None) -> Any:
    """Same as unique, with the number of occurrences of each value."""
    return op("UniqueWithCounts", x, out_idx=as_dtype(out_idx), name=name)


def setdiff1d(
    x: TensorLike, y: TensorLike, index_dtype: DTypeLike = "int32", name: str | None = None
) -> Any:
    """Returns the elements of x that are not in y, and their indices in x."""
    return op("ListDiff", x, y, out_idx=as_dtype(index_dtype), name=name)


def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    side: str = "left",
    out_type: DTypeLike = "int32",
    name: str | None = None,
) -> Tensor:
    """Returns the positions at which to insert values into sorted rows.

    Args:
      sorted_sequence: [..., n], sorted.
      values: [..., m].
      side: "left" or "right": before or after equal elements.
      out_type: int32 or int64.
    Returns: [..., m] of out_type.
    Raises: ValueError for another side.
    """
    with name_scope(name or "searchsorted"):
        rows = convert_to_tensor(sorted_sequence)
        values = convert_to_tensor(values, dtype=rows.dtype.base_dtype)
        width = op("StridedSlice", op("Shape", rows), [-1], [0], [1], shrink_axis_mask=1)
        flat = op("Reshape", rows, op("Pack", [-1, width]))
        computed = op(
            "Reshape",
            values,
            op(
                "Pack",
                [op("StridedSlice", op("Shape", flat), [0], [1], [1], shrink_axis_mask=1), -1],
            ),
        )
        kind = {"left": "LowerBound", "right": "UpperBound"}.get(side)
        if kind is None:
            raise ValueError(f"searchsorted: side is 'left' or 'right', not {side!r}")
        found = op(kind, flat, computed, out_type=as_dtype(out_type))
        return op("Reshape", found, op("Shape", values))


def space_to_depth(
    input: TensorLike,
    block_size: int,
    name: str | None = None,
    data_format: str = "NHWC",  # noqa: A002
) -> Tensor:
    """Moves spatial blocks of block_size^2 pixels to the channel dimension."""
    return op("SpaceToDepth", input, block_size=block_size, data_format=data_format, name=name)


def depth_to_space(
    input: TensorLike,
    block_size: int,
    name: str | None = None,
    data_format: str = "NHWC",  # noqa: A002
) -> Tensor:
    """Moves channels to spatial blocks; the inverse of space_to_depth."""
    return op("DepthToSpace", input, block_size=block_size, data_format=data_format, name=name)


def space_to_batch_nd(
    input: TensorLike,
    block_shape: TensorLike,
    paddings: TensorLike,
    name: str | None = None,  # noqa: A002
) -> Tensor:
    """Pads the spatial dimensions, and moves their blocks to the batch dimension."""
    return op("SpaceToBatchND", input, block_shape, paddings, name=name)


def batch_to_space_nd(
    input: TensorLike,
    block_shape: TensorLike,
    crops: TensorLike,
    name: str | None = None,  # noqa: A002
) -> Tensor:
    """Inverts space_to_batch_nd, and crops the result."""
    return op("BatchToSpaceND", input, block_shape, crops, name=name)


def diag(diagonal: TensorLike, name: str | None = None) -> Tensor:
    """Creates a diagonal tensor. Args: diagonal: shape s. Returns: shape s + s."""
    return op("Diag", diagonal, name=name)


def diag_part(input: TensorLike, name: str | None = None) -> Tensor:  # noqa: A002
    """Returns the diagonal of a tensor. Args: input: shape s + s. Returns: shape s."""
    return op("DiagPart", input, name=name)
