"""Optimizers, scatters and segment sums on OpenCL devices, against those of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from compare import assert_as_cpu, assert_close
from kernel_harness import Device, Variable, registrations, run_kernel
from kernel_harness.samples import sample
from kernel_harness.table import registrations_of

from headrace.formats import op_catalogue

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
        if arg.is_ref or arg.dtype == 20:  # resource
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


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_segment_sums(device: Device, dtype: str) -> None:
    data = sample((600, 5), dtype, seed=1)
    ids = np.random.default_rng(0).integers(-1, 40, 600)
    assert_as_cpu(device, "UnsortedSegmentSum", data, ids, np.int32(40), scale=20)
    assert_as_cpu(device, "UnsortedSegmentSum", data.reshape(20, 30, 5), ids.reshape(20, 30),
                  np.int32(50), scale=20)  # fmt: skip
    assert_as_cpu(device, "SegmentSum", data, np.sort(np.abs(ids)), scale=20)
    assert_as_cpu(device, "SegmentSum", data[:0], ids[:0])
