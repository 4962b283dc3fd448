"""Rows picked, written and folded by number, against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from kernel_harness import Variable, run_kernel
from kernel_harness.samples import FLOATS, NUMBERS, REALS, assert_near, is_float, sample

from headrace.formats.errors import FailedPreconditionError, InvalidArgumentError

KINDS = ["bool", "float16", "float32", "float64", "complex128", object]


def same(actual, expected):
    assert actual.shape == np.shape(expected)
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("index", ["int32", "int64"])
def test_gather(dtype, index):
    x = sample((5, 7, 65), dtype)
    for shape in [(), (4,), (2, 3), (0,)]:
        i = np.array(np.random.default_rng(0).integers(0, 5, shape), index)
        for axis in (0, 1, -1):
            expected = np.take(x, i, axis)
            same(run_kernel("GatherV2", x, i, np.int32(axis), threads=2), expected)
        same(run_kernel("Gather", x, i), x[i])


def test_gather_in_batches():
    x, i = sample((3, 5, 4, 2), "float32"), np.random.default_rng(0).integers(0, 4, (3, 6))
    expected = np.stack([np.take(x[b], i[b], 1) for b in range(3)])
    same(run_kernel("GatherV2", x, i, np.int32(2), batch_dims=1), expected)


def test_gather_names_the_index_that_is_outside():
    x = sample((5, 2), "float32")
    with pytest.raises(InvalidArgumentError, match=r"^indices\[1,0\] = 5 is not in \[0, 5\)$"):
        run_kernel("GatherV2", x, np.int32([[0, 1], [5, 2]]), np.int32(0))
    with pytest.raises(InvalidArgumentError, match=r"^indices = -1 is not in \[0, 5\)$"):
        run_kernel("GatherV2", x, np.int32(-1), np.int32(0))


@pytest.mark.parametrize("dtype", KINDS)
def test_gather_nd(dtype):
    x = sample((5, 7, 3), dtype)
    rng = np.random.default_rng(0)
    for depth in range(4):
        i = np.stack([rng.integers(0, x.shape[d], (2, 6)) for d in range(depth)], -1) if depth \
            else np.zeros((2, 6, 0), np.int64)  # fmt: skip
        got = run_kernel("GatherNd", x, i)
        same(got, x[tuple(i[..., d] for d in range(depth))] if depth else
             np.broadcast_to(x, (2, 6, 5, 7, 3)))  # fmt: skip
    with pytest.raises(
        InvalidArgumentError, match=r"indices\[1\] = \[0, 7\] does not index into shape \[5, 7, 3\]"
    ):
        run_kernel("GatherNd", x, np.int32([[0, 0], [0, 7]]))  # fmt: skip


def test_gather_from_a_variable():
    x = sample((5, 3), "float32")
    v = Variable(x)
    i = np.int32([[4, 0], [1, 1]])
    same(run_kernel("ResourceGather", v, i, dtype="float32"), x[i])
    same(run_kernel("ResourceGatherNd", v, i[:, :1], dtype="float32"), x[i[:, 0]])
    with pytest.raises(FailedPreconditionError):
        run_kernel("ResourceGather", Variable(None, "float32"), i, dtype="float32")


WAYS = {
    "Update": lambda a, i, u: a.__setitem__(i, u),
    "Add": np.add.at,
    "Sub": np.subtract.at,
    "Mul": np.multiply.at,
    "Min": np.minimum.at,
    "Max": np.maximum.at,
}


@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_scatter_into_variables(way, dtype):
    x, i = sample((5, 3), dtype), np.int32([[4, 0], [1, 4]])
    for updates in (sample((2, 2, 3), dtype, 1), sample((), dtype, 2)):
        expected = x.copy()
        WAYS[way](expected, i, updates)
        for op in ("Scatter" + way, "ResourceScatter" + way):
            v = Variable(x)
            run_kernel(op, v, i, updates, **({"dtype": dtype} if op[0] == "R" else {}))
            assert_near(v.value, expected)
    if way != "Mul":
        nd = np.int32([[4], [0], [4]])
        updates = sample((3, 3), dtype, 1)
        expected = x.copy()
        WAYS[way](expected, nd[:, 0], updates)
        for op in ("ScatterNd" + way, "ResourceScatterNd" + way):
            v = Variable(x)
            run_kernel(op, v, nd, updates)
            assert_near(v.value, expected)
        got = run_kernel("TensorScatter" + way, x, nd, updates)
        assert_near(got, expected)


def test_scatter_rejects_rows_outside_and_leaves_the_variable():
    x = sample((5, 3), "float32")
    v = Variable(x)
    with pytest.raises(InvalidArgumentError, match=r"indices\[1\] = 5 is not in \[0, 5\)"):
        run_kernel("ScatterAdd", v, np.int32([0, 5]), np.ones((2, 3), "f"))
    same(v.value, x)
    run_kernel("ScatterAdd", v, np.int32([0]), np.ones((1, 3), "f"))  # the lock was given back
    with pytest.raises(InvalidArgumentError, match="^Integer division by zero$"):
        run_kernel("ScatterDiv", Variable(np.ones(3, "i4")), np.int32([0]), np.int32([0]))


@pytest.mark.parametrize("dtype", [*NUMBERS, "bool"])
def test_scatter_nd_adds_into_zeros(dtype):
    i = np.int32([[1, 2], [0, 0], [1, 2]])
    updates = sample((3, 4), dtype)
    expected = np.zeros((2, 3, 4), updates.dtype)
    for row, update in zip(i, updates, strict=True):
        expected[tuple(row)] += update
    assert_near(run_kernel("ScatterNd", i, updates, np.int32([2, 3, 4])), expected)


def wide(x):
    return x.astype(np.float32) if is_float(x.dtype) and x.dtype.itemsize == 2 else x


FOLDS = {
    "Sum": (lambda r: r.sum(0, dtype=r.dtype), 0),
    "Mean": (lambda r: r.sum(0, dtype=r.dtype) / r.dtype.type(len(r)), 0),
    "Prod": (lambda r: r.prod(0, dtype=r.dtype), 1),
    "Min": (lambda r: r.min(0), 0),
    "Max": (lambda r: r.max(0), 0),
    "SqrtN": (lambda r: r.sum(0) / np.sqrt(len(r)), 0),
}


def fold(way, data, ids, segments, blank=None):
    f, empty = FOLDS[way]
    empty = empty if blank is None else blank
    rows = [wide(data)[ids == s] for s in range(segments)]
    folded = [f(r) if len(r) else np.full(data.shape[ids.ndim :], empty) for r in rows]
    return np.array(folded).astype(data.dtype).reshape(segments, *data.shape[ids.ndim :])


@pytest.mark.parametrize("way", ["Sum", "Mean", "Prod", "Min", "Max"])
@pytest.mark.parametrize("dtype", REALS)
def test_sorted_segments(way, dtype):
    if way == "Mean" and not is_float(dtype):
        dtype = "float32"
    data, ids = sample((7, 65), dtype, low=0), np.int64([0, 0, 2, 2, 2, 3, 5])
    assert_near(run_kernel("Segment" + way, data, ids), fold(way, data, ids, 6), scale=8)
    for bad in ([0, 2, 1, 1, 1, 1, 1], [-1, 0, 0, 0, 0, 0, 0]):
        with pytest.raises(InvalidArgumentError, match="sorted"):
            run_kernel("Segment" + way, data, np.int32(bad))


@pytest.mark.parametrize("way", ["Sum", "Prod", "Min", "Max"])
@pytest.mark.parametrize("dtype", [*FLOATS, "int32", "int8"])
def test_unsorted_segments(way, dtype):
    data, ids = sample((4, 3, 5), dtype), np.int32([[3, 0, 3], [-1, 1, 0], [3, 3, 1], [0, -1, 1]])
    limits = ml_dtypes.finfo(dtype) if is_float(dtype) else np.iinfo(dtype)
    blank = {"Sum": 0, "Prod": 1, "Min": limits.max, "Max": limits.min}[way]
    got = run_kernel("UnsortedSegment" + way, data, ids, np.int32(5))
    assert_near(got, fold(way, data, ids, 5, blank), scale=4)
    with pytest.raises(InvalidArgumentError, match=r"segment_ids\[0,0\] = 3 is not in \[0, 3\)"):
        run_kernel("UnsortedSegment" + way, data, ids, np.int32(3))


@pytest.mark.parametrize("way", ["Sum", "Mean", "SqrtN"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_sparse_segments_and_their_gradient(way, dtype):
    data = sample((6, 4), dtype)
    rows, ids = np.int32([5, 0, 0, 3]), np.int32([0, 0, 2, 2])
    expected = fold(way, data[rows], ids, 3)
    op = "SparseSegment" + way
    assert_near(run_kernel(op, data, rows, ids), expected, scale=4)
    padded = np.concatenate([expected, np.zeros((1, 4), expected.dtype)])
    assert_near(run_kernel(op + "WithNumSegments", data, rows, ids, np.int32(4)), padded, scale=4)
    grad = sample((3, 4), dtype, 1)
    scale = {"Sum": 1, "Mean": 0.5, "SqrtN": np.sqrt(0.5)}[way]
    reference = np.zeros((6, 4), np.float64)
    for row, s in zip(rows, ids, strict=True):
        reference[row] += grad[s].astype(np.float64) * scale
    got = run_kernel(op + "Grad", grad, rows, ids, np.int32(6))
    assert_near(got, reference.astype(data.dtype), scale=4)


@pytest.mark.parametrize("dtype", KINDS)
def test_partition_and_stitch(dtype):
    data, parts = sample((7, 3), dtype), np.int32([0, 2, 2, 0, 1, 0, 2])
    dealt = run_kernel("DynamicPartition", data, parts, num_partitions=4)
    for p in range(4):
        same(dealt[p], data[parts == p])
    where = [np.flatnonzero(parts == p).astype("i4") for p in range(4)]
    for op in ("DynamicStitch", "ParallelDynamicStitch"):
        same(run_kernel(op, where, dealt), data)
    with pytest.raises(InvalidArgumentError, match=r"partitions\[1\] = 2 is not in \[0, 2\)"):
        run_kernel("DynamicPartition", data, parts, num_partitions=2)
