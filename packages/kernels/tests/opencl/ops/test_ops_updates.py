"""Optimizers, scatters and folds of segments on OpenCL devices, against those of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import assert_as_cpu, assert_close
from kernel_harness import Device, Variable, registrations, run_kernel
from kernel_harness.samples import sample
from kernel_harness.table import registrations_of
from ml_dtypes import bfloat16

from headrace.formats import op_catalogue
from headrace.formats.errors import InvalidArgumentError

SPARSE = {"grad", "indices"}


def run_both(device: Device, op: str, arguments: list[Any], **attrs: Any) -> tuple:
    """Runs an op on variables of the CPU and of the device. Returns: what each then holds."""
    results = []
    for there in (None, device):
        inputs = [Variable(a.copy(), device=there) if kind == "v" else a for kind, a in arguments]
        run_kernel(op, *inputs, device=there, **attrs)
        results.append([v.value for v in inputs if isinstance(v, Variable)])
    return tuple(results)


def optimizer_arguments(op: str, n: int, dtype: str = "float32") -> list[tuple[str, Any]]:
    arguments = []
    rows = np.array([3, 0, 3, n // 2, 3], np.int64)  # a row that comes thrice counts thrice
    for seed, arg in enumerate(op_catalogue.signature(op).inputs):
        if arg.name == "mg":  # a mean whose square is less than ms, as of every training
            arguments.append(("v", sample((n, 7), dtype, seed=seed, low=-0.2, high=0.2)))
        elif arg.is_ref or arg.dtype == 20:  # resource
            arguments.append(("v", sample((n, 7), dtype, seed=seed, low=0.1, high=2)))
        elif arg.name in ("grad", "gradient", "delta"):
            count = len(rows) if "Sparse" in op else n
            arguments.append(("g", sample((count, 7), dtype, seed=seed, low=-1, high=1)))
        elif arg.name == "indices":
            arguments.append(("i", rows))
        elif arg.name == "global_step":
            arguments.append(("s", np.array(3, np.int64)))
        elif arg.name == "lr_power":
            arguments.append(("s", np.array(-0.5, dtype)))
        else:
            arguments.append(("s", np.array(0.1 + 0.05 * seed, dtype)))
    return arguments


OPTIMIZERS = sorted({op for op, _ in registrations() if "Apply" in op})


@pytest.mark.parametrize("op", OPTIMIZERS)
def test_optimizers_equal_the_cpus(device: Device, op: str) -> None:
    assert registrations_of(op, device), f"the device has no {op}"
    for n in (5, 3000):
        expected, actual = run_both(device, op, optimizer_arguments(op, n))
        assert_close(actual, expected, scale=4)


@pytest.mark.parametrize("dtype", ["float64", "float16"])
@pytest.mark.parametrize("op", ["ApplyGradientDescent", "ApplyMomentum", "ResourceApplyAdam"])
def test_optimizers_of_other_dtypes(device: Device, op: str, dtype: str) -> None:
    expected, actual = run_both(device, op, optimizer_arguments(op, 9, dtype))
    assert_close(actual, expected, scale=2)


@pytest.mark.parametrize(
    "op, attrs",
    [("ApplyMomentum", {"use_nesterov": True}), ("ApplyAdam", {"use_nesterov": True}),
     ("ResourceSparseApplyMomentum", {"use_nesterov": True}),
     ("ApplyAdagrad", {"update_slots": False}), ("ApplyFtrlV2", {"multiply_linear_by_lr": True})],
)  # fmt: skip
def test_optimizers_look_at_their_attributes(device: Device, op: str, attrs: dict) -> None:
    expected, actual = run_both(device, op, optimizer_arguments(op, 9), **attrs)
    assert_close(actual, expected, scale=4)


def test_ftrl_takes_any_power_of_the_learning_rate(device: Device) -> None:
    arguments = optimizer_arguments("ApplyFtrl", 9)
    arguments[-1] = ("s", np.array(-0.7, np.float32))
    expected, actual = run_both(device, "ApplyFtrl", arguments)
    assert_close(actual, expected, scale=4)


@pytest.mark.parametrize(
    "op", ["AssignAdd", "AssignSub", "AssignAddVariableOp", "AssignSubVariableOp"]
)
@pytest.mark.parametrize("dtype", ["float32", "int64", "float16"])
def test_additions_to_variables(device: Device, op: str, dtype: str) -> None:
    a, b = sample((300,), dtype, seed=1), sample((300,), dtype, seed=2)
    variable = Variable(a, device=device)
    run_kernel(op, variable, b, device=device)
    assert_close(variable.value, a + b if "Add" in op else a - b)


WAYS = ["Update", "Add", "Sub", "Mul", "Div", "Min", "Max"]


@pytest.mark.parametrize("kind", ["Scatter", "ResourceScatter"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_scatters_equal_the_cpus(device: Device, kind: str, way: str, dtype: str) -> None:
    if way == "Div" and dtype == "int64":
        return
    op = kind + way
    for rows, inner, n in ((10, 3, 40), (500, 64, 300), (10, 1, 1), (5, 2, 0)):
        var = sample((rows, inner), dtype, seed=1, low=1, high=5)
        indices = np.random.default_rng(2).integers(0, rows, n).astype(np.int32)
        updates = sample((n, inner), dtype, seed=3, low=1, high=2)
        attrs = {"dtype": dtype} if kind.startswith("Resource") else {}
        expected, actual = run_both(
            device, op, [("v", var), ("i", indices), ("u", updates)], **attrs
        )
        assert_close(actual, expected, scale=20)
        if n:
            expected, actual = run_both(
                device, op, [("v", var), ("i", indices[:1]), ("u", updates[0, 0])], **attrs
            )
            assert_close(actual, expected)


def test_scatters_give_the_same_bits_each_time(device: Device) -> None:
    var = sample((50, 33), "float32", seed=1)
    indices = np.random.default_rng(2).integers(0, 50, 2000)
    updates = sample((2000, 33), "float32", seed=3)
    results = []
    for _ in range(3):
        variable = Variable(var, device=device)
        run_kernel("ResourceScatterAdd", variable, indices, updates, device=device, dtype="float32")
        results.append(variable.value)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_indices_out_of_range_change_nothing(device: Device) -> None:
    variable = Variable(np.zeros((3, 2), np.float32), device=device)
    run_kernel(
        "ScatterAdd", variable, np.int32([0, 3, -1]), np.ones((3, 2), np.float32), device=device
    )
    np.testing.assert_array_equal(variable.value, np.float32([[1, 1], [0, 0], [0, 0]]))


SLICE_WAYS = ["Update", "Add", "Sub", "Min", "Max"]


@pytest.mark.parametrize("kind", ["ScatterNd", "ResourceScatterNd", "TensorScatter"])
@pytest.mark.parametrize("way", SLICE_WAYS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", bfloat16, "int64"])
def test_updates_of_slices_equal_the_cpus(device: Device, kind: str, way: str, dtype: Any) -> None:
    rng = np.random.default_rng(2)
    for shape, depth, n in (((7, 5, 3), 2, 40), ((40, 70), 1, 90), ((6, 5, 4), 3, 300),
                            ((6, 5), 2, 0), ((5, 3), 0, 4)):  # fmt: skip
        value = sample(shape, dtype, seed=1, low=1, high=5)
        indices = np.stack([rng.integers(0, d, (n // 2, 2)) for d in shape[:depth]], -1) \
            if depth else np.zeros((n // 2, 2, 0), np.int64)  # fmt: skip
        indices = indices.astype(rng.choice([np.int32, np.int64]))
        updates = sample((n // 2, 2, *shape[depth:]), dtype, seed=3, low=1, high=2)
        if kind == "TensorScatter":
            if indices.size == 0:
                continue  # such indices have no updates there
            assert_as_cpu(device, kind + way, value, indices, updates)
            continue
        expected, actual = run_both(
            device, kind + way, [("v", value), ("i", indices), ("u", updates)]
        )
        assert_close(actual, expected, scale=4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", bfloat16, "int64"])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_scatters_into_zeros_equal_the_cpus(device: Device, dtype: Any, index: type) -> None:
    rng = np.random.default_rng(0)
    for shape, depth, n in (((9, 4), 1, 30), ((9, 4, 5), 2, 30), ((3, 4), 2, 1), ((3, 4), 1, 0)):
        indices = np.stack([rng.integers(0, d, n) for d in shape[:depth]], -1).astype(index)
        updates = sample((n, *shape[depth:]), dtype, seed=1)
        assert_as_cpu(device, "ScatterNd", indices, updates, np.array(shape, index), scale=4)


def test_slices_out_of_range_change_nothing(device: Device) -> None:
    indices = np.int32([[0, 1], [2, 0], [0, 2], [-1, 0], [1, -1]])
    updates = np.arange(1, 6, dtype=np.float32)
    got = run_kernel("ScatterNd", indices, updates, np.int32([2, 2]), device=device)
    np.testing.assert_array_equal(got, np.float32([[0, 1], [0, 0]]))


def test_slices_that_do_not_fit_are_errors(device: Device) -> None:
    variable = Variable(np.zeros((3, 2), np.float32), device=device)
    with pytest.raises(InvalidArgumentError, match="do not fit"):
        run_kernel("ScatterNdAdd", variable, np.int32([[0]]), np.ones((1, 3), np.float32),
                   device=device)  # fmt: skip
    with pytest.raises(InvalidArgumentError, match="do not fit"):
        run_kernel("ScatterNdAdd", variable, np.int32([[0, 0, 0]]), np.ones(1, np.float32),
                   device=device)  # fmt: skip


SEGMENT_FOLDS = ["Sum", "Prod", "Min", "Max"]
SPECIALS = np.array([np.nan, np.inf, -np.inf, 0.5, 1, 2])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", bfloat16, "int64"])
@pytest.mark.parametrize("fold", [*SEGMENT_FOLDS, "Mean"])
def test_folds_of_sorted_segments(device: Device, fold: str, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    op = "Segment" + fold
    for rows, inner, segments in ((600, 5, 90), (50, 200, 300), (2000, 1, 3), (3, 64, 3)):
        data = sample((rows, inner), dtype, seed=1, low=0.6, high=1.5)
        ids = np.sort(rng.integers(0, segments, rows))
        assert_as_cpu(device, op, data, ids, scale=20)
        assert_as_cpu(device, op, data, ids.astype(np.int32), scale=20)
    assert_as_cpu(device, op, data[:0], ids[:0])
    assert_as_cpu(device, op, data.reshape(3, 8, 8), np.int32([0, 0, 7]), scale=4)
    assert_as_cpu(device, op, data[:, :0], ids)
    for wrong in ([1, 0, 2], [-1, 0, 1]):
        with pytest.raises(InvalidArgumentError, match="sorted and not negative"):
            run_kernel(op, data, np.int32(wrong), device=device)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", bfloat16, "int64"])
@pytest.mark.parametrize("fold", SEGMENT_FOLDS)
def test_folds_of_unsorted_segments(device: Device, fold: str, dtype: Any) -> None:
    op = "UnsortedSegment" + fold
    data = sample((600, 5), dtype, seed=1, low=0.6, high=1.5)
    ids = np.random.default_rng(0).integers(-1, 40, 600)
    assert_as_cpu(device, op, data, ids, np.int32(40), scale=20)
    assert_as_cpu(device, op, data, ids.astype(np.int32), np.int32(70), scale=20)
    assert_as_cpu(device, op, data.reshape(20, 30, 5), ids.reshape(20, 30), np.int32(50), scale=20)
    assert_as_cpu(device, op, data[:0], ids[:0], np.int32(4))
    assert_as_cpu(device, op, data[:, :0], ids, np.int32(40))
    assert_as_cpu(device, op, data[:0], ids[:0], np.int32(0))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", bfloat16])
@pytest.mark.parametrize("fold", SEGMENT_FOLDS)
def test_segments_of_specials(device: Device, fold: str, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    data = SPECIALS[rng.integers(0, 6, (60, 4))].astype(dtype)
    data[:8] = -np.inf
    data[8:16] = np.inf
    ids = np.arange(60) // 4
    assert_as_cpu(device, "Segment" + fold, data, ids * 2, scale=4)
    assert_as_cpu(device, "UnsortedSegment" + fold, data, rng.permutation(ids), np.int32(20),
                  scale=4)  # fmt: skip
    assert_as_cpu(device, "UnsortedSegment" + fold, data, ids, np.int32(20), scale=4)


@pytest.mark.parametrize("op", ["UnsortedSegmentSum", "SegmentSum", "ScatterNd"])
def test_folds_give_the_same_bits_each_time(device: Device, op: str) -> None:
    data = sample((2000, 33), "float32", seed=3)
    ids = np.sort(np.random.default_rng(2).integers(0, 50, 2000))
    more = {"UnsortedSegmentSum": [data, ids, np.int32(50)], "SegmentSum": [data, ids],
            "ScatterNd": [ids[:, None], data, np.int64([50, 33])]}[op]  # fmt: skip
    first, second, third = (run_kernel(op, *more, device=device) for _ in range(3))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, third)


MANY = 5000  # indices: a GPU sorts these first


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("inner", [1, 3, 70])
def test_many_updates_equal_the_cpus(device: Device, index: type, inner: int) -> None:
    rng = np.random.default_rng(4)
    for n, rows in ((MANY, 700), (2 * MANY, 5), (8192, 8192)):
        ids = rng.integers(0, rows, n).astype(index)
        data = sample((n, inner), "float32", seed=1, low=0.9, high=1.1)
        variable = ("v", sample((rows, inner), "float32", seed=2))
        expected, actual = run_both(
            device, "ResourceScatterUpdate", [variable, ("i", ids), ("u", data)], dtype="float32"
        )
        assert_close(actual, expected)
        arguments = [variable, ("v", np.ones_like(variable[1]) * 0.1), ("s", np.float32(0.1)),
                     ("g", data), ("i", ids)]  # fmt: skip
        expected, actual = run_both(device, "ResourceSparseApplyAdagrad", arguments)
        assert_close(actual, expected, scale=20)
        assert_as_cpu(
            device, "ScatterNd", ids[:, None], data, np.array([rows, inner], index), scale=20
        )
        ids[rng.integers(0, n, 9)] = -1  # segments that count for nothing
        for fold in ("Sum", "Max"):
            assert_as_cpu(device, "UnsortedSegment" + fold, data, ids, np.int32(rows + 5), scale=20)


def test_many_updates_of_slices_out_of_range_change_nothing(device: Device) -> None:
    indices = np.random.default_rng(5).integers(-3, 9, (MANY, 2)).astype(np.int32)
    updates = np.ones(MANY, np.float32)
    expected = np.zeros((6, 5), np.float32)
    for row, column in indices:
        if 0 <= row < 6 and 0 <= column < 5:
            expected[row, column] += 1
    got = run_kernel("ScatterNd", indices, updates, np.int32([6, 5]), device=device)
    np.testing.assert_array_equal(got, expected)


def test_many_updates_give_the_same_bits_each_time(device: Device) -> None:
    data = sample((MANY, 33), "float32", seed=3)
    ids = np.random.default_rng(2).integers(0, 50, MANY)
    first, second = (
        run_kernel("UnsortedSegmentSum", data, ids, np.int32(50), device=device) for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
