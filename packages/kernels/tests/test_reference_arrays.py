"""The reference kernels of arrays, slicing, gather, scatter and segment."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.formats.errors import InvalidArgumentError
from headrace.kernels.reference.oracle import run

INT32 = np.int32


def ints(*values: object) -> np.ndarray:
    return np.array(values, INT32)


def test_gradient_args_of_a_broadcast_name_the_axes_to_sum_over() -> None:
    a, b = run("BroadcastGradientArgs", ints(1, 2, 1), ints(2, 2, 5))
    assert (a.tolist(), b.tolist()) == ([0, 2], [])
    a, b = run("BroadcastGradientArgs", ints(1), ints(1))
    assert (a.tolist(), b.tolist()) == ([], [])


def test_space_to_batch_and_back() -> None:
    x = np.arange(24.0).reshape(1, 4, 6, 1)
    block, none = ints(2, 3), np.zeros((2, 2), INT32)
    y = run("SpaceToBatchND", x, block, none)[0]
    assert y.shape == (6, 2, 2, 1) and y[1].ravel().tolist() == [1, 4, 13, 16]
    assert np.array_equal(run("BatchToSpaceND", y, block, none)[0], x)


def test_depth_to_space_of_the_smallest_image() -> None:
    y = run("DepthToSpace", np.array([[[[1, 2, 3, 4]]]]), block_size=2)[0]
    assert y.tolist() == [[[[1], [2]], [[3], [4]]]]


def test_unique_keeps_the_order_and_every_nan() -> None:
    y, idx = run("Unique", np.array([3.0, np.nan, 3.0, np.nan]))
    assert np.array_equal(y, [3.0, np.nan, np.nan], equal_nan=True)
    assert idx.tolist() == [0, 1, 0, 2]


def test_mirror_pad_wider_than_the_axis_is_rejected() -> None:
    with pytest.raises(InvalidArgumentError, match="no greater than 1"):
        run("MirrorPad", np.ones(2), np.array([[2, 0]], INT32), mode="REFLECT")


def test_strided_slice_reads_all_its_masks() -> None:
    x = np.arange(24).reshape(2, 3, 4)
    y = run(
        "StridedSlice",
        x,
        ints(0, 0, -1),
        ints(0, 0, 0),
        ints(1, 1, 1),
        ellipsis_mask=1,
        new_axis_mask=2,
        shrink_axis_mask=4,
    )[0]
    assert np.array_equal(y, x[..., None, -1])


def test_gather_rejects_an_index_outside_and_names_it() -> None:
    with pytest.raises(InvalidArgumentError, match=r"indices\[1\] = 5 is not in \[0, 3\)"):
        run("Gather", np.ones(3), ints(0, 5))


def test_scatter_nd_adds_what_meets() -> None:
    y = run("ScatterNd", np.array([[1], [1], [0]], INT32), np.array([2.0, 3.0, 4.0]), ints(3))[0]
    assert y.tolist() == [4.0, 5.0, 0.0]


def test_dynamic_stitch_lets_the_last_one_win() -> None:
    y = run("DynamicStitch", [ints(0, 1), ints(1)], [np.array([1.0, 2.0]), np.array([9.0])])[0]
    assert y.tolist() == [1.0, 9.0]


def test_a_segment_without_rows_is_the_empty_value() -> None:
    data, ids = np.array([1.0, 2.0]), ints(0, 2)
    assert run("SegmentMax", data, ids)[0].tolist() == [1.0, 0.0, 2.0]
    assert run("SegmentProd", data, ids)[0].tolist() == [1.0, 1.0, 2.0]
    least = run("UnsortedSegmentMax", data, ids, INT32(3))[0]
    assert least.tolist() == [1.0, np.finfo(np.float64).min, 2.0]


def test_segment_ids_out_of_order_are_rejected() -> None:
    with pytest.raises(InvalidArgumentError, match="not increasing"):
        run("SegmentSum", np.ones(2), ints(1, 0))


def test_one_hot_of_an_index_outside_is_all_off() -> None:
    y = run("OneHot", ints(0, -1, 3), INT32(3), np.float32(5), np.float32(1))[0]
    assert y.tolist() == [[5, 1, 1], [1, 1, 1], [1, 1, 1]]


def test_empty_strings_fill_unwritten_elements() -> None:
    y = run("ZerosLike", np.array([b"x", b"y"], object))[0]
    assert y.tolist() == [b"", b""]
