"""Slices, joins, transpositions and gathers on OpenCL devices, against those of the CPU."""

from __future__ import annotations

import numpy as np
import pytest
from compare import assert_as_cpu, assert_close
from hypothesis import given, settings
from hypothesis import strategies as st
from kernel_harness import Device, Variable, run_kernel
from kernel_harness.samples import sample

DTYPES = ["float32", "float64", "float16", "int64", "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape, perm", [((5, 7), [1, 0]), ((2, 3, 4), [2, 0, 1]), ((4, 5), [0, 1]),
                                         ((3, 4, 5, 6), [0, 3, 1, 2]), ((3, 4, 5, 6), [0, 2, 3, 1]),
                                         ((0, 3), [1, 0])])  # fmt: skip
def test_transpose(device: Device, shape: tuple, perm: list, dtype: str) -> None:
    assert_as_cpu(device, "Transpose", sample(shape, dtype), np.array(perm, np.int32))


def test_large_transposes(device: Device) -> None:
    x = sample((700, 301), "float32")
    assert_as_cpu(device, "Transpose", x, np.int32([1, 0]))
    assert_as_cpu(device, "Transpose", x.reshape(7, 100, 301), np.int32([0, 2, 1]))
    assert_as_cpu(device, "Transpose", x.reshape(7, -1, 7), np.int32([0, 2, 1]))
    assert_as_cpu(device, "Transpose", x.reshape(7, 4, -1), np.int32([0, 2, 1]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_tile_reverse_and_blocks_of_space(device: Device, dtype: str) -> None:
    x = sample((2, 4, 6, 8), dtype)
    assert_as_cpu(device, "Tile", x, np.int32([2, 1, 3, 1]))
    assert_as_cpu(device, "ReverseV2", x, np.int32([1, 3]))
    assert_as_cpu(device, "ReverseV2", x.ravel(), np.int32([0]))
    for data_format in ("NHWC", "NCHW"):
        y = run_kernel("SpaceToDepth", x, block_size=2, data_format=data_format)
        assert_as_cpu(device, "SpaceToDepth", x, block_size=2, data_format=data_format)
        assert_as_cpu(device, "DepthToSpace", y, block_size=2, data_format=data_format)


@pytest.mark.parametrize("dtype", DTYPES)
def test_identities_of_several_tensors(device: Device, dtype: str) -> None:
    parts = [sample((3, 5), dtype), sample((0, 2), dtype), sample((), "float32")]
    assert_as_cpu(device, "IdentityN", parts)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_concat_and_split(device: Device, axis: int, dtype: str) -> None:
    parts = []
    for i, n in enumerate([3, 1, 0, 8]):
        shape = [4, 5, 6]
        shape[axis] = n
        parts.append(sample(shape, dtype, seed=i))
    whole = assert_as_cpu(device, "ConcatV2", parts, np.int32(axis))
    assert_as_cpu(device, "Concat", np.int32(axis), parts)
    sizes = np.array([3, 1, 0, 8], np.int64)
    assert_as_cpu(device, "SplitV", whole, sizes, np.int32(axis), num_split=4)
    assert_as_cpu(device, "Split", np.int32(axis), whole, num_split=3)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("n", [1, 2, 40])
def test_pack_and_unpack(device: Device, n: int, axis: int) -> None:
    parts = [sample((3, 5), "float32", seed=i) for i in range(n)]
    whole = assert_as_cpu(device, "Pack", parts, axis=axis)
    assert_as_cpu(device, "Unpack", whole, num=n, axis=axis)


def test_large_concats_are_shared_among_items(device: Device) -> None:
    parts = [sample((600, 100), "float32", seed=i) for i in range(3)]
    for axis in (0, 1):
        assert_as_cpu(device, "ConcatV2", parts, np.int32(axis))


@pytest.mark.parametrize("dtype", DTYPES)
def test_slices(device: Device, dtype: str) -> None:
    x = sample((5, 6, 7), dtype)
    assert_as_cpu(device, "Slice", x, np.int32([1, 0, 2]), np.int32([2, 6, -1]))
    assert_as_cpu(device, "Slice", x, np.int32([1, 2, 3]), np.int32([1, 1, 1]))
    assert_as_cpu(device, "Slice", x, np.int32([1, 2, 3]), np.int32([0, 1, 1]))


strides = st.sampled_from([1, 2, 3, -1, -2])


@settings(max_examples=60, deadline=None)
@given(data=st.data(), shape=st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_strided_slices_and_their_gradients(
    device: Device, data: st.DataObject, shape: list
) -> None:
    step = np.array([data.draw(strides) for _ in shape], np.int32)
    begin = np.array([data.draw(st.integers(0, n - 1)) for n in shape], np.int32)
    end = np.where(step > 0, shape, -1 - np.array(shape)).astype(np.int32)
    shrink = data.draw(st.integers(0, 2 ** len(shape) - 1))
    step = np.where([shrink >> d & 1 for d in range(len(shape))], 1, step).astype(np.int32)
    end = np.where(step > 0, shape, -1 - np.array(shape)).astype(np.int32)
    x = sample(shape, "float32")
    entries = [begin, end, step]
    y = assert_as_cpu(device, "StridedSlice", x, *entries, shrink_axis_mask=shrink)
    grad = np.asarray(y) + np.float32(1)
    assert_as_cpu(device, "StridedSliceGrad", np.array(shape, np.int32), *entries, grad,
                  shrink_axis_mask=shrink)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_pad(device: Device, dtype: str) -> None:
    x = sample((3, 4, 5), dtype)
    paddings = np.int32([[1, 2], [0, 0], [3, 1]])
    assert_as_cpu(device, "Pad", x, paddings)
    assert_as_cpu(device, "PadV2", x, paddings, x[0, 0, 0])
    assert_as_cpu(device, "Pad", x, np.zeros((3, 2), np.int32))
    assert_as_cpu(device, "Pad", x[:0], paddings)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
def test_mirror_pad(device: Device, mode: str, dtype: str) -> None:
    x = sample((3, 4, 2, 1, 5), dtype)
    margins = np.int32([[1, 2], [0, 0], [1, 1], [0, 0], [4, 3]])
    for paddings in (margins, np.minimum(margins, [[0, 2]]), 0 * margins):
        y = assert_as_cpu(device, "MirrorPad", x, paddings, mode=mode)
        if dtype != "bool":
            gradient = np.arange(y.size).reshape(y.shape) % 5  # sums are exact
            gradient = gradient.astype(dtype)
            assert_as_cpu(device, "MirrorPadGrad", gradient, paddings, mode=mode)
    assert_as_cpu(device, "MirrorPad", x[0, 0, 0, 0, 0], np.zeros((0, 2), np.int64), mode=mode)
    assert_as_cpu(device, "MirrorPad", x[:, :, :0, :, 0], np.zeros((4, 2), np.int64),
                  mode="SYMMETRIC")  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(data=st.data(), shape=st.lists(st.integers(1, 4), max_size=8))
def test_any_borders_are_mirrored(device: Device, data: st.DataObject, shape: list) -> None:
    mode = data.draw(st.sampled_from(["REFLECT", "SYMMETRIC"]))
    most = [min(2, n - (mode == "REFLECT")) for n in shape]
    paddings = [[data.draw(st.integers(0, m)), data.draw(st.integers(0, m))] for m in most]
    paddings = np.array(paddings, np.int32).reshape(len(shape), 2)
    y = assert_as_cpu(device, "MirrorPad", sample(shape, "float32"), paddings, mode=mode)
    gradient = np.array(np.arange(np.size(y)).reshape(np.shape(y)) % 5, np.float32)
    assert_as_cpu(device, "MirrorPadGrad", gradient, paddings, mode=mode)


def test_margins_wider_than_what_they_mirror_are_named(device: Device) -> None:
    for where in ({}, {"device": device}):
        with pytest.raises(Exception, match="paddings 3 and 0 of dimension 1 must be no greater"):
            run_kernel("MirrorPad", sample((4, 3), "float32"), np.int32([[3, 3], [3, 0]]),
                       mode="REFLECT", **where)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_gather(device: Device, dtype: str, index: str) -> None:
    x = sample((6, 7, 8), dtype)
    indices = np.array([[0, 5], [3, 3], [1, 2]], index)
    for axis in range(3):
        assert_as_cpu(device, "GatherV2", x, indices, np.int32(axis))
    assert_as_cpu(device, "GatherV2", x[:3], indices, np.int32(1), batch_dims=1)
    assert_as_cpu(device, "Gather", x, indices)
    for depth in (1, 2, 3):
        points = np.array([[0, 1, 2], [5, 6, 7], [3, 3, 3]], index)[:, :depth]
        assert_as_cpu(device, "GatherNd", x, points)


def test_indices_out_of_range_gather_zeros(device: Device) -> None:
    x = sample((3, 2), "float32") + 10
    y = run_kernel("GatherV2", x, np.int32([0, 3, -1]), np.int32(0), device=device)
    assert_close(y, np.stack([x[0], np.zeros(2, "f4"), np.zeros(2, "f4")]))
    assert not run_kernel("GatherNd", x, np.int32([[3], [-1]]), device=device).any()


def test_gather_from_a_variable(device: Device) -> None:
    table = sample((50, 16), "float32")
    variable = Variable(table, device=device)
    y = run_kernel("ResourceGather", variable, np.int32([[3, 4], [49, 0]]), device=device,
                   dtype="float32")  # fmt: skip
    np.testing.assert_array_equal(y, table[[[3, 4], [49, 0]]])


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_one_hot(device: Device, dtype: str) -> None:
    indices = np.int64([[0, 2, -1], [4, 1, 9]])
    on, off = np.ones((), dtype), np.zeros((), dtype)
    for axis in (-1, 0, 1):
        assert_as_cpu(device, "OneHot", indices, np.int32(5), on, off, axis=axis)
