"""Slices against NumPy, and their errors, which the reference kernels word alike."""

from __future__ import annotations

import re

import numpy as np
import pytest
from kernel_harness import run_kernel
from kernel_harness.samples import sample

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.oracle import run

# One dtype per size of element, and the one whose elements are counted.
KINDS = ["bool", "float16", "float32", "float64", "complex128", object]


def same(actual, expected):
    expected = np.asarray(expected)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("dtype", KINDS)
def test_slice(dtype):
    x = sample((4, 65, 3), dtype)
    same(run_kernel("Slice", x, np.int32([1, 2, 0]), np.int32([2, -1, 3])), x[1:3, 2:])
    same(run_kernel("Slice", x, np.int64([4, 0, 0]), np.int64([0, 1, 1])), x[4:, :1, :1])


def strided(x, index):
    """The inputs of StridedSlice for a NumPy index."""
    begin, end, strides, masks = (
        [],
        [],
        [],
        dict.fromkeys(
            ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"], 0
        ),
    )
    for i, item in enumerate(index):
        b, e, s = 0, 0, 1
        if item is Ellipsis:
            masks["ellipsis_mask"] |= 1 << i
        elif item is None:
            masks["new_axis_mask"] |= 1 << i
        elif isinstance(item, slice):
            masks["begin_mask"] |= (item.start is None) << i
            masks["end_mask"] |= (item.stop is None) << i
            b, e, s = item.start or 0, item.stop or 0, item.step or 1
        else:
            masks["shrink_axis_mask"] |= 1 << i
            b, e = item, item + 1
        begin.append(b)
        end.append(e)
        strides.append(s)
    return [np.array(v, np.int32) for v in (begin, end, strides)], masks


INDICES = [
    (0,),
    (-1, 2, 1),
    (slice(1, 3),),
    (slice(None, None, -1), slice(5, 60, 7)),
    (Ellipsis, 0),
    (slice(None), None, Ellipsis, slice(2, 0, -1)),
    (None, 1),
    (slice(-100, 100), slice(60, 5)),
    (slice(3, None, -2), 7, Ellipsis),
    (),
]


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("index", INDICES)
def test_strided_slice_and_its_gradient(dtype, index):
    x = sample((4, 65, 3), dtype)
    (begin, end, strides), masks = strided(x, index)
    expected = np.array(x[index], dtype=x.dtype)
    same(run_kernel("StridedSlice", x, begin, end, strides, **masks), expected)
    updated = x.copy()
    updated[index] = value = sample(expected.shape, dtype, seed=9)
    same(run_kernel("TensorStridedSliceUpdate", x, begin, end, strides, value, **masks), updated)
    if dtype is not object:
        gradient = np.zeros_like(x)
        gradient[index] = value
        shape = np.int32(x.shape)
        same(run_kernel("StridedSliceGrad", shape, begin, end, strides, value, **masks), gradient)


# begin, end, strides and masks of an input [4, 5], and the error.
INVALID_STRIDED_SLICES = [
    (([4], [5], [1]), {"shrink_axis_mask": 1}, "slice index 4 of dimension 0 out of bounds."),
    (([0, -6], [1, 0], [1, 1]), {"shrink_axis_mask": 3},
     "slice index -6 of dimension 1 out of bounds."),
    (([0], [4], [0]), {}, "strides[0] must be non-zero"),
    (([0, 0], [0, 4], [1, 0]), {"ellipsis_mask": 1}, "strides[1] must be non-zero"),
    (([0], [4], [-1]), {"shrink_axis_mask": 1}, "only stride 1 allowed on non-range indexing."),
    (([0, 0], [0, 0], [1, 1]), {"ellipsis_mask": 3},
     "Multiple ellipses in slice spec not allowed"),
    (([0, 0, 0], [1, 1, 1], [1, 1, 1]), {},
     "Index out of range using input dim 2; input has only 2 dims"),
    (([0], [1, 1], [1]), {},
     "Expected begin, end, and strides to be 1D equal size tensors, but got shapes [1], [2], and "
     "[1] instead."),
]  # fmt: skip
INVALID_SLICES = [
    ([5, 0], [0, 1], "Expected begin[0] in [0, 4], but got 5"),
    ([0, -1], [1, 1], "Expected begin[1] in [0, 5], but got -1"),
    ([3, 0], [2, 1], "Expected size[0] in [0, 1], but got 2"),
    ([0, 0], [1, -2], "Expected size[1] in [0, 5], but got -2"),
    ([0], [1, 1], "Expected begin and size arguments to be 1-D tensors of size 2, but got shapes "
     "[1] and [2] instead."),
]  # fmt: skip


def fails(run_one, message, op, *inputs, **attrs):
    with pytest.raises(InvalidArgumentError, match=re.escape(message)):
        run_one(op, *inputs, **attrs)


@pytest.mark.parametrize("run_one", [run_kernel, run])
@pytest.mark.parametrize(("entries", "masks", "message"), INVALID_STRIDED_SLICES)
def test_an_invalid_strided_slice_fails_with_the_words_of_tensorflow(
    run_one, entries, masks, message
):
    x, shape, value = np.ones((4, 5), "f"), np.int32([4, 5]), np.ones((), "f")
    entries = [np.int32(e) for e in entries]
    fails(run_one, message, "StridedSlice", x, *entries, **masks)
    fails(run_one, message, "StridedSliceGrad", shape, *entries, value, **masks)
    fails(run_one, message, "TensorStridedSliceUpdate", x, *entries, value, **masks)


@pytest.mark.parametrize("run_one", [run_kernel, run])
@pytest.mark.parametrize(("begin", "size", "message"), INVALID_SLICES)
def test_an_invalid_slice_fails_with_the_words_of_tensorflow(run_one, begin, size, message):
    fails(run_one, message, "Slice", np.ones((4, 5), "f"), np.int32(begin), np.int32(size))
