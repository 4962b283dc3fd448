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
        raise ValueError(f"begin and size must have {x.ndim} elements: {begin} and {size}")
    ranges = []
    for axis, (start, count) in enumerate(zip(begin.tolist(), size.tolist(), strict=True)):
        stop = x.shape[axis] if count == -1 else start + count
        if not 0 <= start <= stop <= x.shape[axis]:
            raise InvalidArgumentError(
                None,
                None,
                f"Expected begin[{axis}] in [0, {x.shape[axis]}] and size[{axis}] in "
                f"[-1, {x.shape[axis] - start}], but got {start} and {count}",
            )
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
    if begin.ndim != 1 or not begin.shape == end.shape == strides.shape:
        raise InvalidArgumentError(
            None,
            None,
            "Expected begin, end, and strides to be 1D equal size tensors, but got shapes "
            f"{list(begin.shape)}, {list(end.shape)}, and {list(strides.shape)} instead.",
        )
    result = x.copy()
    index = strided_index(attrs, x.shape, begin, end, strides)
    if result[index].size:
        result[index] = value
    return result


def strided_index(
    attrs: Attrs, shape: tuple[int, ...], begin: Any, end: Any, strides: Any
) -> tuple[Any, ...]:
    """The index that means to NumPy what the masks, begin, end and strides mean to TensorFlow."""
    rows = list(zip(begin.tolist(), end.tolist(), strides.tolist(), strict=True))
    named = sum(
        not _bit(attrs, "ellipsis_mask", i) and not _bit(attrs, "new_axis_mask", i)
        for i in range(len(rows))
    )
    index: list[Any] = []
    axis = 0
    for i, (start, stop, step) in enumerate(rows):
        if _bit(attrs, "ellipsis_mask", i):
            index.append(Ellipsis)
            axis = len(shape) - (named - axis)
        elif _bit(attrs, "new_axis_mask", i):
            index.append(None)
        elif step == 0:
            raise InvalidArgumentError(None, None, f"strides[{i}] must be non-zero")
        elif _bit(attrs, "shrink_axis_mask", i):
            if not -shape[axis] <= start < shape[axis]:
                raise InvalidArgumentError(
                    None, None, f"slice index {start} of dimension {axis} out of bounds."
                )
            index.append(start)
            axis += 1
        else:
            first = None if _bit(attrs, "begin_mask", i) else start
            last = None if _bit(attrs, "end_mask", i) else stop
            index.append(slice(first, last, step))
            axis += 1
    return tuple(index)


def _bit(attrs: Attrs, mask: str, position: int) -> bool:
    return bool(attrs[mask] >> position & 1)
