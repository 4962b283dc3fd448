"""Parts of a tensor by ranges."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.ops.arrays.arrays import zeros
from headrace.kernels.reference.registry import Attrs, kernel


@kernel("Slice")
def slice_(attrs: Attrs, x: np.ndarray, begin: np.ndarray, size: np.ndarray) -> np.ndarray:
    if not begin.shape == size.shape == (x.ndim,):
        raise _invalid(
            f"Expected begin and size arguments to be 1-D tensors of size {x.ndim}, but got "
            f"shapes {list(begin.shape)} and {list(size.shape)} instead."
        )
    ranges = []
    for axis, (start, count) in enumerate(zip(begin.tolist(), size.tolist(), strict=True)):
        length = x.shape[axis]
        if not 0 <= start <= length:
            raise _invalid(f"Expected begin[{axis}] in [0, {length}], but got {start}")
        if not -1 <= count <= length - start:
            raise _invalid(f"Expected size[{axis}] in [0, {length - start}], but got {count}")
        stop = length if count == -1 else start + count
        ranges.append(slice(start, stop))
    return np.array(x[tuple(ranges)], x.dtype)


@kernel("StridedSlice")
def strided_slice(
    attrs: Attrs, x: np.ndarray, begin: np.ndarray, end: np.ndarray, strides: np.ndarray
) -> np.ndarray:
    return np.array(x[strided_index(attrs, x.shape, begin, end, strides)], x.dtype)


@kernel("StridedSliceGrad")
def strided_slice_grad(
    attrs: Attrs,
    shape: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    strides: np.ndarray,
    dy: np.ndarray,
) -> np.ndarray:
    result = zeros(tuple(shape.tolist()), dy.dtype)
    result[strided_index(attrs, result.shape, begin, end, strides)] = dy
    return result


@kernel("TensorStridedSliceUpdate")
def tensor_strided_slice_update(
    attrs: Attrs,
    x: np.ndarray,
    begin: np.ndarray,
    end: np.ndarray,
    strides: np.ndarray,
    value: np.ndarray,
) -> np.ndarray:
    result = x.copy()
    index = strided_index(attrs, x.shape, begin, end, strides)
    if result[index].size:
        result[index] = value
    return result


def strided_index(
    attrs: Attrs, shape: tuple[int, ...], begin: Any, end: Any, strides: Any
) -> tuple[Any, ...]:
    """The index that means to NumPy what the masks, begin, end and strides mean to TensorFlow."""
    if begin.ndim != 1 or not begin.shape == end.shape == strides.shape:
        raise _invalid(
            "Expected begin, end, and strides to be 1D equal size tensors, but got shapes "
            f"{list(begin.shape)}, {list(end.shape)}, and {list(strides.shape)} instead."
        )
    if attrs["ellipsis_mask"] & (attrs["ellipsis_mask"] - 1):
        raise _invalid("Multiple ellipses in slice spec not allowed")
    rows = list(zip(begin.tolist(), end.tolist(), strides.tolist(), strict=True))
    named = sum(
        not _bit(attrs, "ellipsis_mask", i) and not _bit(attrs, "new_axis_mask", i)
        for i in range(len(rows))
    )
    if named > len(shape):
        raise _invalid(
            f"Index out of range using input dim {len(shape)}; input has only {len(shape)} dims"
        )
    index: list[Any] = []
    axis = 0
    for i, (start, stop, step) in enumerate(rows):
        if _bit(attrs, "ellipsis_mask", i):
            index.append(Ellipsis)
            axis = len(shape) - (named - axis)
        elif _bit(attrs, "new_axis_mask", i):
            index.append(None)
        else:
            index.append(_entry(attrs, i, axis, shape[axis], (start, stop, step)))
            axis += 1
    return tuple(index)


def _entry(attrs: Attrs, i: int, axis: int, length: int, row: tuple[int, int, int]) -> int | slice:
    """The NumPy index of entry i, which selects from one axis."""
    start, stop, step = row
    if step == 0:
        raise _invalid(f"strides[{axis}] must be non-zero")
    if _bit(attrs, "shrink_axis_mask", i):
        if step < 0:
            raise _invalid("only stride 1 allowed on non-range indexing.")
        if not -length <= start < length:
            raise _invalid(f"slice index {start} of dimension {axis} out of bounds.")
        return start
    first = None if _bit(attrs, "begin_mask", i) else start
    last = None if _bit(attrs, "end_mask", i) else stop
    return slice(first, last, step)


def _invalid(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)


def _bit(attrs: Attrs, mask: str, position: int) -> bool:
    return bool(attrs[mask] >> position & 1)
